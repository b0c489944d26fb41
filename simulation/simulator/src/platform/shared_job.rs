//! The job behind a lock that all ranks share, with its clock, waiting and virtual time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{Duration, Instant, Rank, Topology};
use pelago_netsim::{Machine, MessageTimes, RailInfo};
use pelago_platform::{
    Activity, Capabilities, Clock, Fault, For, NativeAtomics, Protection, Rail, VirtualTime, Wait, WaitPolicy, Woken,
};

use super::NAME;
use crate::costs::computing::{ComputeMeter, Computing, wall_time};
use crate::costs::cores::Cores;
use crate::job::{CLOCK_READING, POLL, SimulatedJob};
use crate::ranks::fiber;
use crate::ranks::polling::Stop;
use crate::ranks::status::SimulationStatus;
use crate::settings::{Data, Settings};

const BY_NIC: Capabilities = Capabilities {
    inject_size: INJECT_SIZE,
    latency: Duration::from_microseconds(1),
    bytes_per_second: 4e9,
    atomics: NativeAtomics::ALL,
    ..Capabilities::of(NAME)
};

const BY_PROTOCOL: Capabilities = Capabilities {
    inject_size: pelago_protocol::INJECT_SIZE,
    blocks_max: pelago_protocol::LIST_BLOCKS_MAX,
    atomics: NativeAtomics::NONE,
    protection: Protection::Authenticated,
    ..BY_NIC
};

/// Maximum size in bytes of a transfer that moves bytes even if only sizes are simulated, so that counters, flags and descriptors are
/// real.
const SIZED_BYTES_MAX: u64 = 64;

/// The job as its ranks share it. Only one rank runs at any time, so that the lock is never contended; it is not held while a rank is suspended.
pub(crate) struct SharedJob {
    job: Mutex<SimulatedJob>,
    /// Number of ranks.
    pub(super) size: u32,
    /// The capabilities of the endpoint by which the machine chooses the rail of each operation.
    pub(super) capabilities: Capabilities,
    machine: Machine,
    pub(super) topology: Topology,
    /// The machine's rails, unless the library's own protocol is simulated, which has one.
    pub(super) rails: Vec<Capabilities>,
    /// Whether ranks share cores.
    is_oversubscribed: bool,
    /// Whether computing takes the time that the program declares.
    declared: bool,
    /// Measures computing time, for [`Computing::Measured`].
    meter: Option<Mutex<ComputeMeter>>,
    /// Counts the calls of ranks.
    status: &'static SimulationStatus,
}

impl SharedJob {
    pub(crate) fn new(job: SimulatedJob, settings: &Settings, status: &'static SimulationStatus) -> Arc<Self> {
        let meter = match settings.computing {
            Computing::Measured { scale } => Some(Mutex::new(ComputeMeter::new(settings.ranks, scale))),
            _ => None,
        };
        let data_bytes_max = if settings.data == Data::Sizes { SIZED_BYTES_MAX } else { u64::MAX };
        let declared = settings.computing == Computing::Declared;
        let operations_max = if job.stations.is_some() { u32::MAX } else { job.in_flight_max };
        let (capabilities, mut rails) = match job.stations {
            Some(_) => {
                let by_protocol = by_protocol(&settings.machine);
                (by_protocol, vec![by_protocol])
            }
            None => (BY_NIC, rails_of(&settings.machine)),
        };
        let limited = |network| Capabilities { data_bytes_max, operations_max, ..network };
        rails.iter_mut().for_each(|rail| *rail = limited(*rail));
        let capabilities = limited(capabilities);
        let is_oversubscribed = job.cores.as_ref().is_some_and(Cores::are_shared);
        let machine = settings.machine.clone();
        let topology = machine.topology(settings.ranks, settings.per_node);
        let (size, job) = (job.size(), Mutex::new(job));
        Arc::new(Self { job, size, capabilities, machine, topology, rails, is_oversubscribed, declared, meter, status })
    }

    /// Locks the job for a call of the running rank, which is counted.
    pub(crate) fn job(&self) -> MutexGuard<'_, SimulatedJob> {
        self.status.count_call();
        self.scheduled()
    }

    /// Locks the job for the scheduler, between the turns of ranks.
    pub(crate) fn scheduled(&self) -> MutexGuard<'_, SimulatedJob> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the time pass for which the core of the running rank works for `duration`.
    pub(super) fn pass(&self, duration: Duration) {
        let job = self.job();
        let Some(rank) = job.running else { return };
        let until = job.busy_until(rank, duration);
        drop(job);
        self.sleep_until(rank, until);
    }

    /// Lets time pass for the running rank, whose core does nothing meanwhile.
    pub(super) fn wait_for(&self, duration: Duration) {
        let job = self.job();
        let Some(rank) = job.running else { return };
        let until = job.now() + duration;
        drop(job);
        self.sleep_until(rank, until);
    }

    fn sleep_until(&self, rank: Rank, until: Instant) {
        loop {
            let mut job = self.job();
            // A rank with several threads may wake earlier.
            job.sleep(rank, until);
            drop(job);
            fiber::suspend();
            if self.job().now() >= until || self.fault().is_some() {
                return;
            }
        }
    }

    /// Lets the time pass for which the running rank computes, and resets its count of polls.
    fn pass_computing(&self, duration: Duration) {
        let running = self.job().running;
        self.pass(duration);
        if duration > Duration::ZERO
            && let Some(rank) = running
        {
            self.job().note_computed(rank);
        }
    }

    /// Lets the time pass for which an operation keeps the core of the rank busy.
    pub(super) fn stay_busy(&self, duration: Duration) {
        if duration > Duration::ZERO {
            self.pass(duration);
        }
    }

    /// Stops the running rank, which polls memory without a call; returns whether the job has a fault. This does not count as a call.
    pub(crate) fn stop_polling(&self, stop: Stop) -> bool {
        let calls = self.status.calls();
        // If computing time is measured, the time that the rank has computed passes now.
        self.entered();
        let mut job = self.job();
        if let Some(rank) = job.running.filter(|_| job.fault.is_none()) {
            let now = job.now();
            match stop {
                Stop::AtMost(duration) => job.stop_polling(rank, Some(now + duration)),
                Stop::For(duration) => job.sleep(rank, now + duration),
                Stop::Certain => job.stop_polling(rank, None),
            }
            drop(job);
            self.status.set_calls(calls);
            fiber::suspend();
        } else {
            drop(job);
        }
        let calls = self.status.calls();
        let is_at_fault = self.fault().is_some();
        self.left();
        self.status.set_calls(calls);
        is_at_fault
    }

    /// Counts a poll or a clock reading, and lets time pass after many of them: otherwise a rank that polls and never waits would stop time.
    pub(super) fn count_poll(&self, weight: u32) {
        let mut job = self.job();
        let lasts = job.running.and_then(|rank| job.count_poll(rank, weight));
        drop(job);
        if let Some(duration) = lasts {
            self.pass(duration);
        }
    }
}

impl Clock for SharedJob {
    fn now(&self) -> Instant {
        self.entered();
        let mut job = self.job();
        let lasts = job.running.and_then(|rank| job.count_poll(rank, CLOCK_READING));
        if let Some(duration) = lasts {
            drop(job);
            self.pass(duration);
            job = self.job();
        }
        let now = job.now();
        drop(job);
        self.left();
        now
    }
}

impl Wait for SharedJob {
    /// Ranks are coroutines of one thread, so that spinning is useless and no other thread may use the library. All lines of a rank for
    /// collectives, each with a word and a value, take a quarter of a page.
    fn policy(&self) -> WaitPolicy {
        WaitPolicy { line_bytes: 16, takes_threads: false, is_oversubscribed: self.is_oversubscribed, ..WaitPolicy::default() }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        let mut job = self.job();
        if let Some(fault) = job.fault {
            return Woken::Fault(fault);
        }
        job.begin_check();
        drop(job);
        if ready() {
            return Woken::Look;
        }
        let mut job = self.job();
        let Some(rank) = job.running.filter(|&rank| !job.has_missed_event(rank)) else { return Woken::Look };
        job.park(rank, until, what);
        drop(job);
        fiber::suspend();
        self.fault().map_or(Woken::Look, Woken::Fault)
    }

    fn yield_now(&self) -> bool {
        self.count_poll(POLL);
        true
    }

    fn note(&self, _: Activity) {}

    fn fault(&self) -> Option<Fault> {
        self.job().fault
    }

    fn tolerate_peer_failures(&self) {
        self.job().tolerates_peer_failures = true;
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.job().tolerated_failures.get(known).copied()
    }
}

impl VirtualTime for SharedJob {
    fn compute(&self, duration: Duration) {
        if self.declared {
            self.pass_computing(duration);
        }
    }

    fn gather(&self, bytes: u64) {
        let duration = self.machine.gather(bytes);
        if self.declared {
            self.pass_computing(duration);
        }
    }

    fn entered(&self) {
        let Some(meter) = &self.meter else { return };
        // The clock is read first: the time after this point is not the program's.
        let now = wall_time();
        let Some(rank) = self.job().running else { return };
        let computed = meter.lock().unwrap_or_else(PoisonError::into_inner).entered(rank, now);
        if computed > Duration::ZERO {
            self.pass(computed);
        }
    }

    fn left(&self) {
        let Some(meter) = &self.meter else { return };
        let Some(rank) = self.job().running else { return };
        meter.lock().unwrap_or_else(PoisonError::into_inner).left(rank);
    }
}

/// Returns the capabilities of the library's own protocol, with the times of the machine's datagrams if it describes them.
fn by_protocol(machine: &Machine) -> Capabilities {
    let Some(costs) = machine.datagrams() else { return BY_PROTOCOL };
    let (times, (way, _)) = (MessageTimes::of(costs), costs.way());
    let (latency, bytes_per_second) = (times.send(0) + way + times.receive(0), costs.bytes_per_second().min(1e12));
    Capabilities { latency, bytes_per_second, ..BY_PROTOCOL }
}

/// Returns the rails of a machine as programs see them. A machine without a network has one rail, for its memory.
fn rails_of(machine: &Machine) -> Vec<Capabilities> {
    let of = |rail: RailInfo| Capabilities {
        name: interned(rail.name),
        latency: rail.latency,
        bytes_per_second: rail.bytes_per_second,
        ..BY_NIC
    };
    let rails: Vec<_> = machine.rails().take(Rail::MAX).map(of).collect();
    if rails.is_empty() { vec![BY_NIC] } else { rails }
}

/// Returns a copy of a name that lives as long as the process; equal names share their memory.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let name: &'static str = name.leak();
    names.insert(name);
    name
}
