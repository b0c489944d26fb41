//! Running a simulation: ranks and events alternate until all ranks have ended.
//!
//! Invariant **E1** of the unsafe code: when a rank or a thread ends early, nothing but its own frames refers to its stack. The implementation of
//! [`Processes`] and the callers of [`end_process`] and [`end_thread`] promise it.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use pelago_base::{Counters, Duration, Instant, Rank};
use pelago_netsim::{LinkEnd, LinkStatistics, Netsim, Statistics};
use pelago_platform::{Fault, Parts};
use pelago_report::{Disturbances, Facts, Limits, LinkUse, Recorder, Report};

use crate::error::SimulationError;
use crate::job::{SimulatedJob, WaitReason};
use crate::memory::RankMemory;
use crate::platform::{self, SharedJob};
use crate::protocol::stations::Stations;
use crate::ranks::fiber::{self, FiberSettings, Fibers, Unfinished, with_fibers};
use crate::ranks::polling::{PollingDetector, Sample, Stop};
use crate::ranks::stacks::{STACK_BYTES_MIN, Stacks, ThreadStack};
use crate::ranks::status::{AtWork, SimulationControl, SimulationStatus, StatusEntry};
use crate::ranks::ticks::{TickHandlers, with_ticks};
use crate::ranks::{closed_output, crash};
use crate::settings::{Data, Settings};

/// Maximum virtual time of a job, which then counts as aborted: 2⁶³ picoseconds, some 106 days. Events that are scheduled before have times
/// that 64 bits can express.
pub const VIRTUAL_TIME_MAX: Instant = Instant::from_picoseconds(1 << 63);

/// The results of a simulation.
#[derive(Debug)]
pub struct SimulationOutcome<R> {
    /// The results of the bodies, by rank; `None` for bodies that never ended.
    pub results: Vec<Option<R>>,
    /// The first rank whose body failed.
    pub failed: Option<Rank>,
    /// The virtual time at the end.
    pub end: Instant,
    /// Counters of the network.
    pub statistics: Statistics,
    /// Counters of the library's own protocol for each rank, if that was simulated.
    pub counters: Vec<Counters>,
    /// The report, if one was requested.
    pub report: Option<Report>,
    /// The fault of the job, if there was one.
    pub fault: Option<Fault>,
    /// Ranks that waited when no event was left, with the reason of each.
    pub stuck: Vec<(Rank, WaitReason)>,
    /// Ranks that died, or that others considered failed, before the job had another fault, unless the job continued without them; by number.
    pub lost: Vec<Rank>,
    /// Number of operations that the simulated NICs have given up, as they had been repeated for as often as the machine permits.
    pub given_up: u64,
    /// The initiator and the target of the first of these operations.
    pub first_given_up: Option<(Rank, Rank)>,
}

/// Runs `body` as every rank until all have ended. Each rank gets its own platform, which takes no space on its stack.
///
/// A rank whose body fails counts as failed. If ranks wait and no event is left, the job is in a deadlock. All ranks get either of them as the
/// fault of the job. Cost: a switch of stacks each time that a rank continues, and the events of the network.
///
/// # Errors
/// The simulation cannot begin.
///
/// # Panics
/// A body panics; the stacks of the other ranks are unwound.
pub fn simulate<R, E>(
    settings: &Settings,
    body: impl Fn(Box<Parts>) -> Result<R, E>,
) -> Result<SimulationOutcome<Result<R, E>>, SimulationError> {
    let Prepared { shared, entry, stacks } = prepare(settings, settings.shared_stack)?;
    let results = RefCell::new((0..settings.ranks).map(|_| None).collect());
    let failed = Cell::new(None);
    let take_part = |number| {
        let rank = Rank::new(number);
        let result = body(parts(&shared, rank));
        if result.is_err() {
            failed.set(failed.get().or(Some(rank)));
            shared.job().fail(Fault::PeerLost(rank));
        }
        let results: &mut Vec<Option<Result<R, E>>> = &mut results.borrow_mut();
        results[number as usize] = Some(result);
    };
    let (watch, status) = (&*settings.watch, entry.status());
    let mut simulation =
        SimulationLoop { shared: &shared, watch, status, stops_at_once: false, enter: &mut |_| {}, is_over: &|| false };
    let fibers = FiberSettings { count: settings.ranks, stacks: &stacks, unfinished: Unfinished::Dropped, status };
    let stuck = with_fibers(fibers, take_part, |fibers| simulation.run(fibers));
    watch.finish();
    let (results, failed) = (results.into_inner(), failed.get());
    Ok(outcome(settings, &shared, results, failed, stuck))
}

/// Ranks that are written as processes, as the caller of [`simulate_processes`] implements them.
///
/// # Safety
/// Ranks may end without a drop of the values on their stacks (E1): nothing else may borrow from those stacks, such as a scoped thread. Ranks that are
/// interrupted in [`code`](Self::code) may be suspended there.
pub unsafe trait Processes {
    /// Switches the state that the process keeps per rank, such as global variables, before `rank` continues.
    fn enter(&self, rank: Rank);

    /// Executes a rank from its beginning to its end; a rank may also end by [`end_process`].
    fn main(&self, parts: Box<Parts>);

    /// Whether the job is over, including ranks that have not ended, which then never continue.
    fn is_over(&self) -> bool;

    /// Returns the addresses of the program's own code, in which a rank that runs for long without a call may be suspended: code that holds
    /// no lock of the process and that may be interrupted between any two instructions. Ranks that poll memory there let virtual time pass.
    /// Without such code, as by default, a rank that polls memory without a call never ends.
    fn code(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// Runs ranks that are written as processes until all have ended or the job is over. Values on the stacks of ranks that have not ended are
/// not dropped. There are no results: an implementation of [`Processes`] keeps its own.
///
/// Cost: as [`simulate`], and a call of [`Processes::enter`] each time that another rank continues.
///
/// # Errors
/// The simulation cannot begin.
pub fn simulate_processes(settings: &Settings, processes: &dyn Processes) -> Result<SimulationOutcome<()>, SimulationError> {
    let Prepared { shared, entry, stacks } = prepare(settings, false)?;
    let mut entered = None;
    let mut enter = |rank| {
        if entered.replace(rank) != Some(rank) {
            processes.enter(rank);
        }
    };
    let is_over = || processes.is_over();
    let (watch, status) = (&*settings.watch, entry.status());
    let mut simulation =
        SimulationLoop { shared: &shared, watch, status, stops_at_once: true, enter: &mut enter, is_over: &is_over };
    let take_part = |number| processes.main(parts(&shared, Rank::new(number)));
    let fibers = FiberSettings { count: settings.ranks, stacks: &stacks, unfinished: Unfinished::Abandoned, status };
    let interruptions = Interruptions { shared: &shared, watch, status, detector: RefCell::default() };
    let (running, tick) = (|| interruptions.running(), |state| interruptions.tick(state));
    let handlers = TickHandlers { running: &running, tick: &tick };
    let code = processes.code();
    if !code.is_empty() {
        status.has_interruptions();
    }
    let stuck = with_fibers(fibers, take_part, |fibers| with_ticks(code, handlers, || simulation.run(fibers)));
    watch.finish();
    Ok(outcome(settings, &shared, Vec::new(), None, stuck))
}

/// Ends the running rank of [`simulate_processes`] immediately.
///
/// # Safety
/// Values on its stack are not dropped: nothing else has borrowed them.
///
/// # Panics
/// No rank is running.
pub unsafe fn end_process() -> ! {
    fiber::abandon()
}

/// Suspends ranks that poll memory without a call.
struct Interruptions<'s> {
    shared: &'s SharedJob,
    watch: &'s SimulationControl,
    status: &'static SimulationStatus,
    detector: RefCell<PollingDetector>,
}

impl Interruptions<'_> {
    /// Returns whether the running thread is not its rank's first; `None` unless a rank runs outside of the simulator.
    fn running(&self) -> Option<bool> {
        matches!(self.status.at_work(), AtWork::Rank(_)).then(|| fiber::thread() != 0)
    }

    /// Handles a tick of a rank that computes; `state` is a hash of its state.
    fn tick(&self, state: u64) {
        let AtWork::Rank(rank) = self.status.at_work() else { return };
        let sample = Sample { rank, thread: fiber::thread(), calls: self.status.calls(), state, now: self.status.now() };
        let decision = self.detector.borrow_mut().tick(sample);
        // A job that ends does not wait for a rank that computes.
        let decision = if self.watch.is_asked() { decision.or(Some(Stop::Certain)) } else { decision };
        if let Some(rank) = self.detector.borrow().silent() {
            self.status.set_silent(rank);
        }
        let Some(stop) = decision else { return };
        self.status.count_stop();
        let stretch = self.detector.borrow_mut().suspend();
        if self.shared.stop_polling(stop) {
            // No other code refers to the stack of a rank that was interrupted in the program.
            drop(stretch);
            fiber::abandon();
        }
        self.detector.borrow_mut().resume(stretch, self.status.calls(), self.status.now());
    }
}

/// A job whose ranks have not begun.
struct Prepared {
    shared: Arc<SharedJob>,
    entry: StatusEntry,
    stacks: Stacks,
}

fn prepare(settings: &Settings, shares_stack: bool) -> Result<Prepared, SimulationError> {
    let mut job = simulated_job(settings, settings.stack_bytes.max(STACK_BYTES_MIN))?;
    job.recorder =
        settings.report.as_ref().map(|report| Recorder::new(Limits { sample: report.sample.clone(), ..Limits::default() }));
    let entry = StatusEntry::new(&settings.watch);
    job.status = entry.status();
    // The library's own protocol keeps pointers to the buffers of puts and gets.
    let stacks = if shares_stack && job.stations.is_none() {
        Stacks::one(&mut job.memory, entry.status())?
    } else {
        Stacks::new(&job.memory, settings.ranks, entry.status())?
    };
    crash::report_faults();
    closed_output::end_without_reader();
    let shared = SharedJob::new(job, settings, entry.status());
    Ok(Prepared { shared, entry, stacks })
}

/// Begins a thread of the running rank of [`simulate_processes`], with a stack of `stack_bytes` bytes and a number other than 0 that no other
/// thread of the rank has. The thread runs when the rank waits, and ends with its rank at the latest. Threads of a rank check every
/// microsecond of virtual time whether they can continue.
///
/// # Errors
/// There is no memory for its stack.
pub fn begin_thread(number: usize, stack_bytes: usize, body: impl FnOnce() + 'static) -> std::io::Result<()> {
    fiber::begin_thread(number, ThreadStack::new(stack_bytes)?, body);
    Ok(())
}

/// Returns the number of the running thread within the running rank; 0 is the rank's first thread.
pub fn thread() -> usize {
    fiber::thread()
}

/// Ends the running thread immediately, as [`end_process`] ends a rank.
///
/// # Safety
/// As for [`end_process`].
///
/// # Panics
/// No rank is running, or its first thread.
pub unsafe fn end_thread() -> ! {
    assert_ne!(fiber::thread(), 0, "a rank's first thread ends with its rank");
    fiber::abandon_thread()
}

/// Whether the stack of the calling rank of [`simulate`] is being unwound because the rank never continues. Code that catches the panic of
/// this unwinding must resume it.
pub fn is_unwinding() -> bool {
    fiber::is_unwinding()
}

/// Returns the results of a completed simulation.
fn outcome<R>(
    settings: &Settings,
    shared: &SharedJob,
    results: Vec<Option<R>>,
    failed: Option<Rank>,
    stuck: Vec<(Rank, WaitReason)>,
) -> SimulationOutcome<R> {
    let mut job = shared.job();
    let (end, fault) = (job.now(), job.fault.take());
    if fault != Some(Fault::Aborted) {
        // The counters cover whole operations, also those that no rank waits for. Hence they do not depend on how far threads are ahead.
        while job.network.next().is_some() {}
    }
    let mut statistics = job.network.statistics();
    statistics.drops += job.stations.as_ref().map_or(0, Stations::dropped);
    let counters = job.stations.as_ref().map(Stations::counters).unwrap_or_default();
    let facts = || facts(settings, &statistics, end, fault);
    let report = job.recorder.take().map(|recorder| recorder.finish(facts()));
    let (lost, given_up, first_given_up) = (job.failed_ranks().collect(), job.given_up, job.first_given_up);
    SimulationOutcome { results, failed, end, statistics, counters, report, fault, stuck, lost, given_up, first_given_up }
}

/// Makes the platform of a rank. Not inlined, so that its frame does not stay on the stack of the rank.
#[inline(never)]
fn parts(shared: &Arc<SharedJob>, rank: Rank) -> Box<Parts> {
    Box::new(platform::parts(shared, rank))
}

/// Makes the platforms of all ranks of a job without coroutines: progress by a transport advances the network.
///
/// # Errors
/// The simulation cannot begin.
pub fn ends(settings: &Settings) -> Result<Vec<Parts>, SimulationError> {
    let shared = SharedJob::new(simulated_job(settings, 0)?, settings, SimulationStatus::unknown());
    Ok((0..settings.ranks).map(|rank| platform::parts(&shared, Rank::new(rank))).collect())
}

/// The facts at the head of a report.
fn facts(settings: &Settings, statistics: &Statistics, end: Instant, fault: Option<Fault>) -> Facts {
    let name = |end: &LinkEnd| match end {
        LinkEnd::Nic { node, nic } => format!("node {node} nic {nic}"),
        LinkEnd::Router(router) => format!("router {router}"),
    };
    let link = |link: &LinkStatistics| LinkUse {
        from: name(&link.from),
        to: name(&link.to),
        bytes: link.bytes,
        busy: link.busy,
        longest_queue: link.queue_max,
    };
    Facts {
        program: settings.report.as_ref().map(|report| report.program.clone()).unwrap_or_default(),
        machine: settings.machine.name().into(),
        machine_source: settings.machine.about().into(),
        ranks: settings.ranks,
        nodes: settings.ranks.div_ceil(settings.per_node),
        per_node: settings.per_node,
        seed: settings.seed,
        computing: settings.computing.to_string(),
        end,
        events: statistics.events,
        packets: statistics.packets,
        packet_hops: statistics.packet_hops,
        disturbances: disturbances(statistics),
        links: statistics.links.iter().map(link).collect(),
        fault: fault.map(|fault| fault.to_string()),
        recording: None,
    }
}

/// Returns what disturbed the packets of a network.
pub fn disturbances(statistics: &Statistics) -> Disturbances {
    let &Statistics { drops: lost, retries: repetitions, pauses, marks: marked, .. } = statistics;
    Disturbances { lost, repetitions, pauses, marked }
}

/// Makes the job with stacks of `stack_bytes` bytes.
fn simulated_job(settings: &Settings, stack_bytes: usize) -> Result<SimulatedJob, SimulationError> {
    let Settings { ranks, per_node, .. } = *settings;
    if ranks == 0 || per_node == 0 {
        return Err(SimulationError::Empty);
    }
    if let Some(protocol) = &settings.protocol {
        protocol.faults.check(ranks)?;
    }
    let costs_pages = settings.machine.page() > Duration::ZERO;
    if settings.data == Data::Sizes && settings.protocol.is_some() {
        return Err(SimulationError::SizesByProtocol);
    }
    if settings.data == Data::Sizes && costs_pages {
        return Err(SimulationError::SizesOfPages);
    }
    let network = Netsim::with_threads(&settings.machine, ranks.div_ceil(per_node), settings.seed, settings.threads)?;
    let memory = RankMemory::new(ranks, settings.heap_bytes, stack_bytes, !costs_pages)?;
    let layout = memory.addresses();
    let stations = settings
        .protocol
        .clone()
        .map(|protocol| Stations::new(protocol, layout, ranks, settings.seed, settings.machine.datagrams()));
    Ok(SimulatedJob::new(network, memory, stations, settings))
}

/// Runs ranks and network.
struct SimulationLoop<'d> {
    shared: &'d SharedJob,
    /// Through which another thread may end the job.
    watch: &'d SimulationControl,
    /// The state of the simulation for other threads.
    status: &'static SimulationStatus,
    /// Whether a job that another thread ends is over at once; otherwise its ranks get a fault.
    stops_at_once: bool,
    /// Called before a rank continues.
    enter: &'d mut dyn FnMut(Rank),
    /// Whether no rank will continue.
    is_over: &'d dyn Fn() -> bool,
}

/// Fails the job in a panic, before the ranks' stacks are unwound: no event that they wait for would happen then.
struct FailsInPanic<'s>(&'s SharedJob);

impl Drop for FailsInPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.scheduled().fail(Fault::Aborted);
        }
    }
}

impl SimulationLoop<'_> {
    /// Runs ranks and network until all ranks have ended; returns the ranks that were stuck.
    fn run(&mut self, fibers: &mut Fibers<'_>) -> Vec<(Rank, WaitReason)> {
        let shared = self.shared;
        let mut stuck = Vec::new();
        let _fails = FailsInPanic(shared);
        // Locked from one event to the next, and released while a rank runs.
        let mut job = shared.scheduled();
        loop {
            if self.is_stopped(&mut job) {
                return stuck;
            }
            while let Some(number) = job.ready.pop_front() {
                let rank = Rank::new(number);
                // A rank that has died never continues.
                if job.is_ended(rank) {
                    continue;
                }
                job.resume(rank);
                let (now, events) = (job.now(), job.network.events());
                drop(job);
                (self.enter)(rank);
                self.status.enter(rank, now, events);
                let ended = fibers.resume(number);
                job = shared.scheduled();
                job.running = None;
                if ended {
                    job.end_rank(rank);
                }
                self.status.leave(job.ended);
                if (self.is_over)() || self.is_stopped(&mut job) {
                    return stuck;
                }
            }
            if job.ended == job.size() {
                return stuck;
            }
            if !job.step() {
                if job.fault.is_some() {
                    // All ranks have received the fault and wait again: no further event will happen.
                    return stuck;
                }
                stuck = job.waiting().collect();
                job.fail(Fault::Deadlock);
            }
            if job.now() >= VIRTUAL_TIME_MAX && job.fault.is_none() {
                job.fail(Fault::Aborted);
            }
        }
    }

    /// Ends the job if another thread has requested that; returns whether it is over although ranks have not ended.
    fn is_stopped(&self, job: &mut SimulatedJob) -> bool {
        let is_stopped = self.watch.is_asked();
        if is_stopped && job.fault.is_none() {
            job.fail(Fault::Aborted);
        }
        is_stopped && self.stops_at_once
    }
}
