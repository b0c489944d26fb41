//! The monitor of one rank for the others of its host, from its adoption to its end.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use pelago_base::{Duration, Rank};
use pelago_platform::{Clock, Fault};
use pelago_shm::HostMemory;
use rustix::event::{EventfdFlags, eventfd};

use crate::OsClock;
use crate::adoption::AdoptionError;
use crate::adoption::launcher_store::{SharedStore, locked};
use crate::adoption::monitor::exit_abort;
use crate::adoption::monitor::ring::{LauncherLink, RingMonitor, exit_code, say, sweep};

/// Maximum time for which a rank that ends waits for the launcher's acknowledgement.
pub(crate) const LEAVE_LIMIT: Duration = Duration::from_milliseconds(2000);

/// Stack of the thread, which needs little.
const STACK_BYTES: usize = 128 * 1024;

/// Monitors other ranks of the host, in a separate thread, while this rank participates.
pub(crate) struct RankMonitor {
    host: Arc<HostMemory>,
    rank: Rank,
    store: SharedStore,
    call: Arc<MonitorSignal>,
    clock: OsClock,
}

/// The signal from the rank to its monitor thread.
pub(crate) struct MonitorSignal {
    event: OwnedFd,
    part: AtomicU32,
    /// Number of barriers across hosts that the rank has entered.
    meetings: AtomicU64,
}

/// The participation of a rank in its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Participation {
    /// The rank participates.
    Taken,
    /// The rank has left without finishing, because of an error. The launcher may close the connection.
    Left,
    /// The rank has finished: it ignores ends of other ranks.
    Finished,
}

impl MonitorSignal {
    pub(crate) fn new() -> Result<Self, AdoptionError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(AdoptionError::system("eventfd2"))?;
        Ok(Self { event, part: AtomicU32::new(Participation::Taken as u32), meetings: AtomicU64::new(0) })
    }

    pub(crate) fn tell(&self, part: Participation) {
        self.part.store(part as u32, Ordering::Release);
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Returns the participation that was set last.
    pub(crate) fn part(&self) -> Participation {
        match self.part.load(Ordering::Acquire) {
            0 => Participation::Taken,
            1 => Participation::Left,
            _ => Participation::Finished,
        }
    }

    /// Counts a barrier across hosts that the rank has entered.
    pub(crate) fn note_meeting(&self) {
        self.meetings.fetch_add(1, Ordering::AcqRel);
    }

    /// Number of barriers across hosts that the rank has entered.
    pub(crate) fn meetings(&self) -> u64 {
        self.meetings.load(Ordering::Acquire)
    }

    /// Returns a descriptor that is readable if there was a signal since [`hear`](Self::hear).
    pub(crate) fn event(&self) -> &OwnedFd {
        &self.event
    }

    pub(crate) fn hear(&self) {
        let _nothing_new = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl RankMonitor {
    /// Starts to monitor for `rank`, which has joined.
    pub(crate) fn start(
        host: Arc<HostMemory>,
        rank: Rank,
        store: SharedStore,
        failure_limit: Duration,
        clock: OsClock,
    ) -> Result<Self, AdoptionError> {
        let call = Arc::new(MonitorSignal::new()?);
        let launcher = locked(&store).descriptor().try_clone_to_owned().map_err(|error| spawn_error(&error))?;
        let link = LauncherLink { store: store.clone(), descriptor: Some(launcher) };
        let watch = RingMonitor::new(host.clone(), rank, call.clone(), link, failure_limit, clock);
        // The thread ends when the rank has finished, and keeps running in a process that has not.
        let thread = std::thread::Builder::new().name("pelago-monitor".into()).stack_size(STACK_BYTES);
        thread.spawn(move || watch.run()).map_err(|error| spawn_error(&error))?;
        Ok(Self { host, rank, store, call, clock })
    }

    /// Enters a barrier of the bootstrap across hosts: a fence of the launcher. The monitor thread notices
    /// its end.
    pub(crate) fn arrive(&self) {
        let arrived = locked(&self.store).arrive(self.clock.now() + LEAVE_LIMIT);
        self.call.note_meeting();
        if let Err(error) = arrived {
            say(self.rank, &error.to_string());
            self.host.fail(Fault::Aborted);
        }
    }

    /// Marks the rank as finished: it is no longer monitored.
    pub(crate) fn finish(&mut self) {
        self.call.tell(Participation::Finished);
        locked(&self.store).leave(self.clock.now() + LEAVE_LIMIT);
    }
}

impl Drop for RankMonitor {
    fn drop(&mut self) {
        if self.call.part() == Participation::Finished {
            return;
        }
        self.call.tell(Participation::Left);
        let fault = self.host.job().fault();
        if let Some(fault) = fault.filter(|_| !self.host.is_whole_job()) {
            // Ranks of other hosts cannot see the failure.
            exit_abort::at_exit(self.store.clone(), exit_code(fault), self.clock);
        } else {
            // Otherwise many launchers kill the other processes before they can report why they end.
            locked(&self.store).leave(self.clock.now() + LEAVE_LIMIT);
        }
        if fault.is_some() {
            sweep(&self.host, self.rank);
        }
    }
}

fn spawn_error(error: &std::io::Error) -> AdoptionError {
    AdoptionError::System("clone3", error.raw_os_error().map_or(rustix::io::Errno::AGAIN, rustix::io::Errno::from_raw_os_error))
}
