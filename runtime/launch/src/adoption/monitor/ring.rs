//! Ranks monitor each other in a ring: each rank monitors the next ones, up to the first that runs, so that a live rank notices every end.
//!
//! ```text
//!   rank 0 ----> rank 1 ----> rank 2 (stopped) ----> rank 3 ----> rank 0
//!                rank 1 ---------------------------> rank 3
//! ```
//!
//! The ring needs no extra process, whichever ranks die; it costs a thread and a descriptor for each rank. A stopped rank monitors no other:
//! the rank before it monitors those after it as well.

use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Clock, Fault};
use pelago_shm::{HostMemory, RankStage};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process, pidfd_send_signal};

use crate::OsClock;
use crate::adoption::PROCESS_KEY;
use crate::adoption::hosts::order::HostOrder;
use crate::adoption::launcher_store::pmi::timespec;
use crate::adoption::launcher_store::{JobFacts, SharedStore, StoreError, StoreEvent, locked};
use crate::adoption::monitor::exit_abort;
use crate::adoption::monitor::process_identity::{ProcessIdentity, ProcessLookup};
use crate::adoption::monitor::rank_monitor::{MonitorSignal, Participation};
use crate::limits::{LEAVE, STOP_LOOKS, TERMINATE};

/// Minimum pause between two checks for stopped ranks.
const PAUSE_MIN: Duration = Duration::from_milliseconds(20);
/// Maximum pause between two checks for stopped ranks.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1250);

/// The monitor thread of one rank.
pub(crate) struct RingMonitor {
    host: Arc<HostMemory>,
    rank: Rank,
    clock: OsClock,
    call: Arc<MonitorSignal>,
    launcher: LauncherLink,
    /// Number of barriers across hosts that the launcher has reported as complete.
    met: u64,
    /// Whether the launcher ends a barrier without failed ranks; then its end is awaited for as long as a remaining rank has not entered it.
    ends_fences_without_failed: bool,
    /// Number of consecutive checks that found a barrier waiting for a failed rank.
    looks_at_meeting: u64,
    /// The ranks that this one monitors, in the order of the ring; all but the last are stopped.
    links: Vec<MonitoredRank>,
    /// Distance of the last rank in the ring that was examined.
    reach: u32,
    pause: Duration,
    failure_limit: Duration,
    /// Number of checks after which a stopped rank counts as failed.
    looks_max: u64,
    look_at: Instant,
    /// Time at which this process is ended, after a fault of the job.
    terminate_at: Option<Instant>,
    kill_at: Option<Instant>,
}

/// The connection to the launcher.
pub(crate) struct LauncherLink {
    pub(crate) store: SharedStore,
    /// The descriptor of the store, until the launcher has closed the connection, or may close it.
    pub(crate) descriptor: Option<OwnedFd>,
}

/// A rank that this one monitors.
struct MonitoredRank {
    rank: Rank,
    /// Distance in the ring.
    distance: u32,
    identity: ProcessIdentity,
    /// Becomes readable when the process has ended.
    running: OwnedFd,
    is_stopped: bool,
    /// Number of consecutive checks that found the rank stopped.
    looks: u64,
}

impl RingMonitor {
    pub(crate) fn new(
        host: Arc<HostMemory>,
        rank: Rank,
        call: Arc<MonitorSignal>,
        launcher: LauncherLink,
        failure_limit: Duration,
        clock: OsClock,
    ) -> Self {
        let quarter = Duration::from_picoseconds(failure_limit.as_picoseconds() / u64::from(STOP_LOOKS));
        let pause = quarter.clamp(PAUSE_MIN, PAUSE_MAX);
        let ends_fences_without_failed = locked(&launcher.store).ends_fences_without_failed();
        Self {
            host,
            rank,
            clock,
            call,
            launcher,
            met: 0,
            ends_fences_without_failed,
            looks_at_meeting: 0,
            links: Vec::new(),
            reach: 0,
            pause,
            failure_limit,
            looks_max: failure_limit.as_picoseconds().div_ceil(pause.as_picoseconds()),
            look_at: clock.now() + pause,
            terminate_at: None,
            kill_at: None,
        }
    }

    /// Monitors until the rank has finished.
    pub(crate) fn run(mut self) {
        while self.call.part() != Participation::Finished {
            self.reach_out();
            self.wait();
            self.call.hear();
            let now = self.clock.now();
            if now >= self.look_at {
                self.look_at = now + self.pause;
                self.look();
            }
            self.end(now);
        }
    }

    /// Extends the monitoring to further ranks until one of them runs, or none is left.
    fn reach_out(&mut self) {
        while self.links.last().is_none_or(|link| link.is_stopped) && self.reach + 1 < self.host.count() {
            let distance = self.reach + 1;
            let rank = behind(&self.host, self.rank, distance);
            if is_watched(&self.host, rank) {
                match identity(&self.host, self.rank, rank).map_or(ProcessLookup::Ended, ProcessIdentity::find) {
                    ProcessLookup::Running(running) => self.links.extend(identity(&self.host, self.rank, rank).map(|identity| {
                        MonitoredRank { rank, distance, identity, running, is_stopped: identity.is_stopped(), looks: 0 }
                    })),
                    ProcessLookup::Ended => note_end(&self.host, rank),
                    // For example, no descriptor is left: the next check tries again.
                    ProcessLookup::Unknown(_) => return,
                }
            }
            self.reach = distance;
        }
    }

    /// Sleeps until an event or a deadline, and handles the events.
    fn wait(&mut self) {
        let due = [Some(self.look_at), self.terminate_at, self.kill_at].into_iter().flatten().min().unwrap_or(self.look_at);
        let left = timespec(due.since(self.clock.now()));
        // The end of a connection is always reported. For a rank that is leaving, other data is the launcher's reply.
        let takes_part = self.call.part() == Participation::Taken;
        let flags = if takes_part { PollFlags::IN } else { PollFlags::empty() };
        let launcher = self.launcher.descriptor.as_ref().map(|launcher| PollFd::new(launcher, flags));
        let call = PollFd::new(self.call.event(), PollFlags::IN);
        let links = self.links.iter().map(|link| PollFd::new(&link.running, PollFlags::IN));
        let mut polled: Vec<PollFd<'_>> = links.chain([call]).chain(launcher).collect();
        match poll(&mut polled, Some(&left)) {
            Ok(_) => {}
            Err(Errno::INTR) => return,
            // For example, the kernel has no memory: tried again after a pause.
            Err(_) => return std::thread::sleep(PAUSE_MIN.into()),
        }
        let told: Vec<bool> = polled.iter().map(|polled| !polled.revents().is_empty()).collect();
        let (ended, others) = told.split_at(self.links.len());
        let has_launcher_told = others.get(1) == Some(&true);
        let mut ended = ended.iter();
        let host = &self.host;
        self.links.retain(|link| {
            let has_ended = ended.next() == Some(&true);
            if has_ended {
                note_end(host, link.rank);
            }
            !has_ended
        });
        if has_launcher_told && !self.hear_launcher() {
            self.launcher.descriptor = None;
            if self.call.part() == Participation::Taken && self.host.job().fault().is_none() {
                self.say("the launcher has gone");
                self.host.fail(Fault::Aborted);
            }
        }
    }

    /// Handles the launcher's next event; returns whether the rank still takes part and the launcher is still connected.
    fn hear_launcher(&mut self) -> bool {
        let mut store = locked(&self.launcher.store);
        // `RankMonitor` announces that the rank leaves before it sends that to the launcher through the store, which is locked here. The launcher
        // closes the connection in answer: that is neither the end of the launcher nor the failure of the rank that serves the store.
        if self.call.part() != Participation::Taken {
            return false;
        }
        let heard = store.hear().map(|event| match event {
            // Converted to the rank's number in this job.
            Some(StoreEvent::Lost(process)) => {
                Some(StoreEvent::Lost(HostOrder::of(&JobFacts { rank: process, ..store.facts().clone() }).rank))
            }
            other => other,
        });
        drop(store);
        match heard {
            Ok(None) => {}
            Ok(Some(StoreEvent::Met)) => {
                self.met += 1;
                self.host.release(self.met);
            }
            Ok(Some(StoreEvent::Lost(rank))) => _ = self.host.mark_failed(Rank::new(rank)),
            Ok(Some(StoreEvent::Aborted)) => self.host.fail(Fault::Aborted),
            Ok(Some(StoreEvent::Over)) => self.launcher.descriptor = None,
            Err(StoreError::Gone) => return false,
            Err(error) => {
                self.say(&error.to_string());
                self.host.fail(Fault::Aborted);
                self.launcher.descriptor = None;
            }
        }
        true
    }

    /// Checks which ranks are stopped; ranks that have been stopped for too long are ended, so that others may continue without them.
    fn look(&mut self) {
        for link in &mut self.links {
            link.is_stopped = link.identity.is_stopped();
            link.looks = if link.is_stopped { link.looks + 1 } else { 0 };
        }
        // A rank that runs again monitors those after it.
        if let Some(first) = self.links.iter().position(|link| !link.is_stopped) {
            self.links.truncate(first + 1);
            self.reach = self.links[first].distance;
        }
        for link in self.links.iter().filter(|link| link.looks == self.looks_max + 1) {
            self.say(&format!(
                "rank {} (process {}) was stopped (not killed) for longer than the failure limit of {} s (PELAGO_FAILURE_SECONDS allows more)",
                link.rank.number(),
                link.identity.process,
                self.failure_limit.as_seconds()
            ));
            let _unless_it_has_ended = pidfd_send_signal(&link.running, Signal::KILL);
        }
        self.look_at_meeting();
    }

    /// Checks whether ranks wait in a barrier for a failed rank: the fence of a launcher that does not know of the failure never
    /// ends. The ranks continue after the failure limit.
    fn look_at_meeting(&mut self) {
        if self.ends_fences_without_failed {
            return;
        }
        let meeting = self.call.meetings();
        let is_open = meeting > self.met && self.host.failed_ranks().next().is_some();
        self.looks_at_meeting = if is_open { self.looks_at_meeting + 1 } else { 0 };
        if self.looks_at_meeting > self.looks_max {
            self.met = meeting;
            self.host.release(meeting);
        }
    }

    /// Ends this process if the job has a fault and the rank does not leave by itself, and ranks that cannot leave because they are stopped.
    fn end(&mut self, now: Instant) {
        if self.host.job().fault().is_none() || self.call.part() == Participation::Finished {
            return;
        }
        let terminate_at = *self.terminate_at.get_or_insert_with(|| {
            sweep(&self.host, self.rank);
            now + LEAVE
        });
        let kill_at = *self.kill_at.get_or_insert(terminate_at + TERMINATE);
        if now >= kill_at {
            let _ = kill_process(getpid(), Signal::KILL);
        } else if now >= terminate_at {
            self.terminate_at = Some(kill_at);
            // This may end the process.
            sweep(&self.host, self.rank);
            if let (Some(fault), Participation::Taken) = (self.host.job().fault(), self.call.part()) {
                tell_fault(self.rank, fault);
                if !self.host.is_whole_job() {
                    exit_abort::abort_now(&self.launcher.store, exit_code(fault), self.clock);
                }
            }
            let _ = kill_process(getpid(), Signal::TERM);
        }
    }

    fn say(&self, line: &str) {
        say(self.rank, line);
    }
}

/// Reports on standard error why this rank ends.
pub fn tell_fault(rank: Rank, fault: Fault) {
    match fault {
        Fault::Aborted => say(rank, &fault.to_string()),
        Fault::Ended => {}
        fault => say(rank, &format!("{fault}; the job was ended")),
    }
}

/// Returns the exit code for a launcher that is asked to end the job, the same as that of the ranks.
pub(crate) fn exit_code(fault: Fault) -> i32 {
    match fault {
        Fault::PeerLost(_) | Fault::Unreachable(_) => 3,
        Fault::Ended => 0,
        _ => 1,
    }
}

/// Writes a line in one call: other ranks may write to the same output at the same time.
pub(crate) fn say(rank: Rank, line: &str) {
    // If the write fails, the rank's exit code is the only report.
    let _ = std::io::stderr().write_all(format!("pelago: rank {}: {line}\n", rank.number()).as_bytes());
}

/// Ends the ranks after this one, up to the first that runs, that are stopped and thus cannot end by themselves. For a job with a fault.
pub(crate) fn sweep(host: &HostMemory, own: Rank) {
    for distance in 1..host.count() {
        let rank = behind(host, own, distance);
        let Some(identity) = identity(host, own, rank).filter(|_| is_watched(host, rank)) else { continue };
        let ProcessLookup::Running(running) = identity.find() else { continue };
        if !identity.is_stopped() {
            return;
        }
        let _unless_it_has_ended = pidfd_send_signal(running.as_fd(), Signal::KILL);
    }
}

/// Returns the rank of the same host at this distance in the ring.
fn behind(host: &HostMemory, rank: Rank, distance: u32) -> Rank {
    let first = host.first().number();
    Rank::new(first + (rank.number() - first + distance) % host.count())
}

/// Whether the end of a rank would be a failure.
fn is_watched(host: &HostMemory, rank: Rank) -> bool {
    host.control(rank).is_some_and(|control| matches!(control.stage(), RankStage::Absent | RankStage::Joined))
}

/// Returns the process of a rank, which the leader of the host has published, as `own`, the rank of this process, sees it.
fn identity(host: &HostMemory, own: Rank, rank: Rank) -> Option<ProcessIdentity> {
    let published = |rank| String::from_utf8(host.published(rank, PROCESS_KEY)?).ok()?.parse::<ProcessIdentity>().ok();
    Some(published(rank)?.seen_here(published(own)?))
}

/// Handles the end of a rank's process: a rank that had not finished has failed.
fn note_end(host: &HostMemory, rank: Rank) {
    if is_watched(host, rank) {
        host.mark_failed(rank);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::BorrowedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};
    use std::sync::Mutex;

    use crate::adoption::launcher_store::{KeyValue, Placement};

    use pelago_shm::HostPlan;
    use rustix::event::Timespec;
    use rustix::process::{Pid, WaitOptions, waitpid};

    const ME: Rank = Rank::new(0);
    const LIMIT: Duration = Duration::from_milliseconds(80);

    /// A launcher that reports at most one event and then closes the connection.
    struct BriefLauncher(UnixStream, JobFacts, Option<StoreEvent>);

    impl KeyValue for BriefLauncher {
        fn facts(&self) -> &JobFacts {
            &self.1
        }

        fn put(&mut self, _: &str, _: &str, _: Instant) -> Result<(), StoreError> {
            Ok(())
        }

        fn get(&mut self, _: u32, _: &str, _: Instant) -> Result<String, StoreError> {
            Err(StoreError::Gone)
        }

        fn arrive(&mut self, _: Instant) -> Result<(), StoreError> {
            Ok(())
        }

        fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
            self.2.take().map(Some).ok_or(StoreError::Gone)
        }

        fn leave(&mut self, _: Instant) {}

        fn abort(&mut self, _: i32, _: Instant) {}

        fn descriptor(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    /// The monitor of rank 0, and processes as the next ranks; the job is fault tolerant, so that no process is ended.
    struct Ring {
        host: Arc<HostMemory>,
        watch: RingMonitor,
        others: Vec<Child>,
        launcher: Option<UnixStream>,
    }

    impl Ring {
        fn of(ranks: u32) -> Self {
            Self::described(ranks, 0)
        }

        /// A ring whose leader sees start times that are this much later.
        fn described(ranks: u32, ticks: u64) -> Self {
            let host = Arc::new(HostMemory::create(&HostPlan::local(ranks, Some(1 << 20))).unwrap().0);
            let others: Vec<Child> = (1..ranks).map(|_| Command::new("sleep").arg("1000").spawn().unwrap()).collect();
            for (rank, process) in (0..).zip([std::process::id()].into_iter().chain(others.iter().map(Child::id))) {
                host.join(Rank::new(rank));
                let process = ProcessIdentity::of(process).shifted(ticks);
                assert!(host.publish(Rank::new(rank), PROCESS_KEY, process.to_string().as_bytes()));
            }
            host.set_fault_tolerant();
            let (theirs, ours) = UnixStream::pair().unwrap();
            let call = Arc::new(MonitorSignal::new().unwrap());
            let descriptor = Some(ours.try_clone().unwrap().into());
            let facts = JobFacts { rank: 0, size: ranks, job: String::new(), placement: Placement::one_host(ranks) };
            let ours = LauncherLink { store: Arc::new(Mutex::new(Box::new(BriefLauncher(ours, facts, None)))), descriptor };
            // No periodic check becomes due: the tests check explicitly.
            let mut watch = RingMonitor::new(host.clone(), ME, call, ours, LIMIT, OsClock::start());
            watch.look_at = watch.clock.now() + Duration::from_seconds(1000.0);
            watch.reach_out();
            Self { host, watch, others, launcher: Some(theirs) }
        }

        fn pid(&self, rank: usize) -> Pid {
            Pid::from_child(&self.others[rank - 1])
        }

        fn kill(&mut self, rank: usize) {
            kill_process(self.pid(rank), Signal::KILL).unwrap();
            self.others[rank - 1].wait().unwrap();
        }

        /// Whether a rank's process ends without being killed here; the time limit, which turns a hang into a failure, is long.
        fn ends(&mut self, rank: usize) -> bool {
            const HANG: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };
            let ProcessLookup::Running(running) = ProcessIdentity::of(self.others[rank - 1].id()).find() else { return true };
            poll(&mut [PollFd::new(&running, PollFlags::IN)], Some(&HANG)) == Ok(1)
        }

        fn stop(&self, rank: usize) {
            kill_process(self.pid(rank), Signal::STOP).unwrap();
            let (_, status) = waitpid(Some(self.pid(rank)), WaitOptions::UNTRACED).unwrap().unwrap();
            assert!(status.stopped(), "it runs");
        }

        fn go_on(&self, rank: usize) {
            kill_process(self.pid(rank), Signal::CONT).unwrap();
            waitpid(Some(self.pid(rank)), WaitOptions::CONTINUED).unwrap();
        }

        /// Returns the ranks that rank 0 monitors.
        fn watched(&self) -> Vec<u32> {
            self.watch.links.iter().map(|link| link.rank.number()).collect()
        }

        fn failed(&self) -> Vec<u32> {
            self.host.failed_ranks().map(|rank| rank.number()).collect()
        }

        /// The launcher reports an event.
        fn announce(&mut self, event: StoreEvent) {
            let (stream, _) = UnixStream::pair().unwrap();
            let facts = locked(&self.watch.launcher.store).facts().clone();
            self.watch.launcher.store = Arc::new(Mutex::new(Box::new(BriefLauncher(stream, facts, Some(event)))));
        }

        /// Handles the next event.
        fn turn(&mut self) {
            self.watch.wait();
            self.watch.reach_out();
        }
    }

    impl Drop for Ring {
        fn drop(&mut self) {
            for other in &mut self.others {
                let _ = other.kill();
                let _ = other.wait();
            }
        }
    }

    #[test]
    fn ranks_whose_leader_is_in_another_time_namespace_are_monitored() {
        let mut ring = Ring::described(3, 1000);
        assert_eq!((ring.watched(), ring.failed()), (vec![1], vec![]));
        ring.kill(1);
        ring.turn();
        assert_eq!((ring.watched(), ring.failed()), (vec![2], vec![1]));
    }

    #[test]
    fn whoever_ends_the_next_that_lives_is_watched() {
        let mut ring = Ring::of(4);
        assert_eq!(ring.watched(), [1], "one is enough");
        ring.kill(2);
        assert!(ring.failed().is_empty(), "that is rank 1's to see");
        ring.kill(1);
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![1, 2], vec![3]), "rank 1 saw nothing any more");
        ring.kill(3);
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![1, 2, 3], vec![]));
    }

    #[test]
    fn who_has_finished_is_not_lost() {
        let mut ring = Ring::of(4);
        ring.host.finish(Rank::new(1));
        ring.host.finish(Rank::new(2));
        ring.kill(1);
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![], vec![3]));
    }

    #[test]
    fn who_is_stopped_hides_nobody() {
        let mut ring = Ring::of(4);
        ring.stop(1);
        ring.watch.look();
        ring.watch.reach_out();
        assert_eq!(ring.watched(), [1, 2]);
        ring.kill(2);
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![2], vec![1, 3]));
        ring.go_on(1);
        ring.watch.look();
        assert_eq!(ring.watched(), [1], "it watches over the others again");
        ring.kill(1);
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![2, 1], vec![3]));
    }

    #[test]
    fn who_is_stopped_for_longer_than_the_limit_is_ended() {
        let mut ring = Ring::of(3);
        ring.stop(1);
        let looks = STOP_LOOKS as usize;
        (0..looks).for_each(|_| ring.watch.look());
        ring.go_on(1);
        ring.watch.look();
        ring.stop(1);
        (0..looks).for_each(|_| ring.watch.look());
        assert!(ring.others[0].try_wait().unwrap().is_none(), "it ran in between");
        ring.watch.look();
        assert!(ring.ends(1));
        ring.turn();
        assert_eq!((ring.failed(), ring.watched()), (vec![1], vec![2]));
    }

    #[test]
    fn a_job_at_fault_leaves_nobody_stopped() {
        let mut ring = Ring::of(4);
        [1, 2].into_iter().for_each(|rank| ring.stop(rank));
        sweep(&ring.host, ME);
        assert!(ring.ends(1) && ring.ends(2));
        // A running process leaves by itself.
        ring.stop(3);
    }

    /// A rank of another host may compute for longer than the limit before it enters the barrier, and may need the memory of this one.
    #[test]
    fn a_meeting_ends_after_the_limit_only_if_the_launcher_never_ends_it() {
        for ends_fences in [false, true] {
            let mut ring = Ring::of(2);
            let part = HostMemory::create(&HostPlan { ranks: 4, ..HostPlan::local(2, Some(1 << 20)) }).unwrap().0;
            part.set_fault_tolerant();
            (ring.watch.host, ring.watch.ends_fences_without_failed) = (Arc::new(part), ends_fences);
            ring.watch.call.note_meeting();
            let looks = ring.watch.looks_max;
            let has_met = |watch: &mut RingMonitor, looks| {
                (0..looks).for_each(|_| watch.look_at_meeting());
                watch.host.have_met(1)
            };
            assert!(!has_met(&mut ring.watch, looks + 1), "no rank has failed");
            ring.watch.host.mark_failed(Rank::new(2));
            assert!(!has_met(&mut ring.watch, looks));
            assert_eq!(has_met(&mut ring.watch, 1), !ends_fences);
        }
    }

    #[test]
    fn a_connection_that_closes_because_the_rank_leaves_is_no_failure() {
        for (part, failed) in [(Participation::Taken, vec![1]), (Participation::Left, vec![]), (Participation::Finished, vec![])]
        {
            let mut ring = Ring::of(3);
            ring.announce(StoreEvent::Lost(1));
            // The rank leaves after the monitor's poll has returned.
            ring.watch.call.tell(part);
            assert_eq!((ring.watch.hear_launcher(), ring.failed()), (part == Participation::Taken, failed), "{part:?}");
        }
    }

    #[test]
    fn a_job_ends_with_its_launcher_unless_the_rank_has_left() {
        for (part, fault) in [(Participation::Taken, Some(Fault::Aborted)), (Participation::Left, None)] {
            let mut ring = Ring::of(2);
            ring.watch.call.tell(part);
            ring.watch.call.hear();
            drop(ring.launcher.take());
            ring.turn();
            assert_eq!((ring.host.job().fault(), ring.watched()), (fault, vec![1]), "{part:?}");
        }
    }
}
