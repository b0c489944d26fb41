//! The ranks of a job as coroutines of one process, on a simulated machine in virtual time.
//!
//! | part | for |
//! |---|---|
//! | [`simulate`] | runs the body of every rank, and the network between them, to the end |
//! | [`simulate_processes`] | the same for ranks that take themselves for processes: each may end anywhere, and knows when it goes on |
//! | `rank` | the platform as a rank sees it: `Transport`, `Clock`, `Wait`, `VirtualTime`, `Bootstrap` |
//! | `core` | ranks that wait and go on, moved by one event after another |
//! | `operations`, `work`, `order`, `effects` | what is under way, what it does, the order that fences ask for, and what becomes of it |
//! | `stations`, `faults` | the library's own protocol over the simulated network, and what goes wrong there |
//! | `progress_threads` | what the library does with cores, where the machine says so |
//! | `computing` | what computing costs in virtual time |
//! | `memory` | the heaps of all ranks, of which only touched pages exist |
//! | `near` | operations between ranks that share the memory of their node |
//! | `fiber`, `stacks` | a rank as a coroutine, on a stack of its own |
//! | `status`, `crash` | what other threads and handlers of signals know of a simulation; faults that name their rank |
//!
//! Exactly one rank runs at any time, and only while time stands still: from one event to the next, in an order that the events alone
//! determine. The same program, machine and seed give the same events.
//!
//! Absent on purpose: how long anything takes (the network below knows), and what a program computes.

mod computing;
mod core;
mod crash;
mod effects;
mod environment;
mod faults;
mod fiber;
mod memory;
mod messages;
mod near;
mod operations;
mod order;
mod progress_threads;
mod protocol;
mod rank;
mod stacks;
mod stations;
mod status;
mod work;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pelago_base::{Counters, Duration, Instant, Rank};
use pelago_netsim::{End, LinkStatistics, Machine, MachineError, Netsim, Statistics};
use pelago_platform::{Fault, Parts};
use pelago_report::{Facts, Limits, LinkUse, Recorder, Report};
use serde::{Deserialize, Serialize};

pub use crate::computing::Computing;
use crate::core::Core;
pub use crate::core::Waiting;
pub use crate::environment::{Request, RequestError, VARIABLE};
pub use crate::faults::{Faults, Partition};
use crate::fiber::{Bodies, Fibers, Rest, with_fibers};
use crate::memory::Memory;
pub use crate::protocol::{Protocol, ProtocolError};
use crate::rank::Shared;
use crate::stacks::{STACK_BYTES_MIN, Stacks};
use crate::stations::Stations;
use crate::status::{Entry, Status};
pub use crate::status::{Glance, Watch};

/// What to simulate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine.
    pub machine: Machine,
    /// How many ranks, at least one.
    pub ranks: u32,
    /// How many consecutive ranks share a node.
    pub per_node: u32,
    /// What chance depends on.
    pub seed: u64,
    /// Bytes of each heap of a rank; only touched pages exist.
    pub heap_bytes: u64,
    /// Bytes of the stack of a rank, with its guard; only touched pages exist.
    pub stack_bytes: usize,
    /// The library's own protocol, if it is to carry what ranks send, over datagrams that may be lost. Without it the NICs of the machine
    /// put, get and work on words by themselves.
    pub protocol: Option<Protocol>,
    /// What operations move.
    pub data: Data,
    /// What computing costs in virtual time.
    pub computing: Computing,
    /// What to call the program in a report, if one is wanted.
    pub report: Option<String>,
    /// By which others look at the simulation, and end it.
    pub watch: Arc<Watch>,
}

/// What operations move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Their bytes.
    #[default]
    Real,
    /// Of puts, gets and copies between ranks that are longer than 64 bytes only the size: they take as long, and the memory of both ends
    /// stays as it is. For programs that neither check nor compute with what they are sent; see `World::moves_data` in `pelago-rma`. The
    /// library's own protocol carries bytes, so that the two exclude each other.
    Sizes,
}

/// What a simulation has brought.
#[derive(Debug)]
pub struct Outcome<R> {
    /// What the bodies returned, by rank; `None` for those that never ended.
    pub results: Vec<Option<R>>,
    /// The first rank whose body failed.
    pub failed: Option<Rank>,
    /// The virtual time at the end.
    pub end: Instant,
    /// What passed over the network.
    pub statistics: Statistics,
    /// What passed over the library's own protocol, for each rank, if that was simulated.
    pub counters: Vec<Counters>,
    /// What happened, if a report was wanted.
    pub report: Option<Report>,
    /// What was wrong with the job, if anything.
    pub fault: Option<Fault>,
    /// Ranks that waited when nothing could happen any more, with what each waited for.
    pub stuck: Vec<(Rank, Waiting)>,
    /// Ranks that have died, or that others have taken for lost, before anything else was wrong with the job,
    /// unless it goes on without them; in the order of their numbers.
    pub lost: Vec<Rank>,
}

/// A simulation cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The machine does not fit.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// There is no room for the stacks.
    #[error("no room for {count} stacks of {bytes} bytes: {source}")]
    Stacks {
        /// How many.
        count: u32,
        /// How large each.
        bytes: usize,
        /// Why.
        source: std::io::Error,
    },
    /// There is no room for the memory of the ranks.
    #[error("no room for the memory of the ranks: {0}")]
    Memory(String),
    /// The library's own protocol was to carry only sizes.
    #[error("the library's own protocol carries bytes: sizes alone are simulated without it, and without faults")]
    SizesByProtocol,
    /// The machine says what a page costs that is used for the first time.
    #[error(
        "on this machine a page takes time that is used for the first time, which sizes alone do not tell (node.shared.page_ns)"
    )]
    SizesOfPages,
    /// There are no ranks, or none on a node.
    #[error("a simulation needs at least one rank, and one rank on a node")]
    Empty,
}

/// Runs `body` as every rank, each with its own parts, which take no room of its stack, until all have ended.
///
/// A rank whose body fails counts as lost, and a rank that waits for ever is a deadlock: all hear of either. Cost: a switch of stacks for each time that a rank goes on, and the events of
/// the network.
///
/// # Errors
/// The simulation cannot begin.
///
/// # Panics
/// A body panics; the other ranks are dropped where they stand.
pub fn simulate<R, E>(
    settings: &Settings,
    body: impl Fn(Box<Parts>) -> Result<R, E>,
) -> Result<Outcome<Result<R, E>>, SimulationError> {
    let Prepared { shared, entry, stacks } = prepare(settings)?;
    let results = RefCell::new((0..settings.ranks).map(|_| None).collect());
    let failed = Cell::new(None);
    let take_part = |number| {
        let rank = Rank::new(number);
        let result = body(parts(&shared, rank));
        if result.is_err() {
            failed.set(failed.get().or(Some(rank)));
            shared.core().fail(Fault::PeerLost(rank));
        }
        let results: &mut Vec<Option<Result<R, E>>> = &mut results.borrow_mut();
        results[number as usize] = Some(result);
    };
    let (watch, status) = (&*settings.watch, entry.status());
    let mut drive = Drive { shared: &shared, watch, status, stops_at_once: false, enter: &mut |_| {}, is_over: &|| false };
    let fibers = Bodies { count: settings.ranks, stacks: &stacks, rest: Rest::Dropped, status };
    let stuck = with_fibers(fibers, take_part, |fibers| drive.run(fibers));
    watch.finish();
    let (results, failed) = (results.into_inner(), failed.get());
    Ok(outcome(settings, &shared, results, failed, stuck))
}

/// What ranks that take themselves for processes share with those who run them.
pub trait Processes {
    /// `rank` is about to go on: what the process has for each rank is that one's from now on.
    fn enter(&self, rank: Rank);

    /// All of a rank, from its beginning to its end; it may also end by [`end_process`].
    fn main(&self, parts: Box<Parts>);

    /// Whether the job is over, also for ranks that have not ended: those never go on.
    fn is_over(&self) -> bool;
}

/// Runs ranks that take themselves for processes until all have ended or the job is over. Nothing that those who have not ended have on
/// their stacks is dropped. Results are those of nobody: whoever implements [`Processes`] keeps what it wants to know.
///
/// Cost: as [`simulate`], and what [`Processes::enter`] takes each time that another rank goes on.
///
/// # Errors
/// The simulation cannot begin.
pub fn simulate_processes(settings: &Settings, processes: &dyn Processes) -> Result<Outcome<()>, SimulationError> {
    let Prepared { shared, entry, stacks } = prepare(settings)?;
    let mut entered = None;
    let mut enter = |rank| {
        if entered.replace(rank) != Some(rank) {
            processes.enter(rank);
        }
    };
    let is_over = || processes.is_over();
    let (watch, status) = (&*settings.watch, entry.status());
    let mut drive = Drive { shared: &shared, watch, status, stops_at_once: true, enter: &mut enter, is_over: &is_over };
    let take_part = |number| processes.main(parts(&shared, Rank::new(number)));
    let fibers = Bodies { count: settings.ranks, stacks: &stacks, rest: Rest::Abandoned, status };
    let stuck = with_fibers(fibers, take_part, |fibers| drive.run(fibers));
    watch.finish();
    Ok(outcome(settings, &shared, Vec::new(), None, stuck))
}

/// Ends the running rank of [`simulate_processes`] where it stands. Nothing that it has on its stack is dropped, so that nobody else may
/// have borrowed from there.
///
/// # Panics
/// No rank is running.
pub fn end_process() -> ! {
    fiber::abandon()
}

/// A job none of whose ranks has begun.
struct Prepared {
    shared: Arc<Shared>,
    entry: Entry,
    stacks: Stacks,
}

fn prepare(settings: &Settings) -> Result<Prepared, SimulationError> {
    let mut core = core(settings, settings.stack_bytes.max(STACK_BYTES_MIN))?;
    core.recorder = settings.report.is_some().then(|| Recorder::new(Limits::default()));
    let entry = Entry::new(&settings.watch);
    let stacks = Stacks::new(&core.memory, settings.ranks, entry.status())?;
    crash::tell_faults();
    Ok(Prepared { shared: Shared::new(core, settings), entry, stacks })
}

/// Begins a thread of the running rank of [`simulate_processes`], with a stack of so many bytes and a number other than 0 that no other thread
/// of the rank has. It runs when the rank waits, and is over with its rank at the latest. Threads of a rank look every microsecond of virtual
/// time whether they may go on.
///
/// # Errors
/// There is no room for its stack.
pub fn begin_thread(number: usize, stack_bytes: usize, body: impl FnOnce() + 'static) -> std::io::Result<()> {
    fiber::begin_thread(number, stacks::ThreadStack::new(stack_bytes)?, body);
    Ok(())
}

/// The thread that runs, of the running rank: 0 is its first.
pub fn thread() -> usize {
    fiber::thread()
}

/// Ends the running thread where it stands, as [`end_process`] a rank.
///
/// # Panics
/// No rank is running, or its first thread.
pub fn end_thread() -> ! {
    assert_ne!(fiber::thread(), 0, "a rank's first thread ends with its rank");
    fiber::abandon_thread()
}

/// Whether what the calling rank of [`simulate`] has on its stack is being dropped, as the rank never goes on. Who catches the panic by which that
/// is done has to resume it.
pub fn is_unwinding() -> bool {
    fiber::is_unwinding()
}

/// What a simulation that is over has brought.
fn outcome<R>(
    settings: &Settings,
    shared: &Shared,
    results: Vec<Option<R>>,
    failed: Option<Rank>,
    stuck: Vec<(Rank, Waiting)>,
) -> Outcome<R> {
    let mut core = shared.core();
    let (end, mut statistics, fault) = (core.now(), core.network.statistics(), core.fault.take());
    statistics.drops += core.stations.as_ref().map_or(0, Stations::lost);
    let counters = core.stations.as_ref().map(Stations::counters).unwrap_or_default();
    let facts = || facts(settings, &statistics, end, fault);
    let report = core.recorder.take().map(|recorder| recorder.finish(facts()));
    let lost = core.gone().collect();
    Outcome { results, failed, end, statistics, counters, report, fault, stuck, lost }
}

/// The parts of a rank; apart, so that none of the work is left on its stack.
#[inline(never)]
fn parts(shared: &Arc<Shared>, rank: Rank) -> Box<Parts> {
    Box::new(shared.parts(rank))
}

/// The parts of all ranks of a job that nobody runs: whoever makes progress with a transport moves the network.
///
/// # Errors
/// The simulation cannot begin.
pub fn ends(settings: &Settings) -> Result<Vec<Parts>, SimulationError> {
    let shared = Shared::new(core(settings, 0)?, settings);
    Ok((0..settings.ranks).map(|rank| shared.parts(Rank::new(rank))).collect())
}

/// What a report begins with.
fn facts(settings: &Settings, statistics: &Statistics, end: Instant, fault: Option<Fault>) -> Facts {
    let name = |end: &End| match end {
        End::Nic { node, nic } => format!("node {node} nic {nic}"),
        End::Router(router) => format!("router {router}"),
    };
    let link = |link: &LinkStatistics| LinkUse {
        from: name(&link.from),
        to: name(&link.to),
        bytes: link.bytes,
        busy: link.busy,
        longest_queue: link.queue_max,
    };
    Facts {
        program: settings.report.clone().unwrap_or_default(),
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
        links: statistics.links.iter().map(link).collect(),
        fault: fault.map(|fault| fault.to_string()),
    }
}

/// What is simulated, with stacks of so many bytes.
fn core(settings: &Settings, stack_bytes: usize) -> Result<Core, SimulationError> {
    let Settings { ranks, per_node, .. } = *settings;
    if ranks == 0 || per_node == 0 {
        return Err(SimulationError::Empty);
    }
    let costs_pages = settings.machine.page() > Duration::ZERO;
    if settings.data == Data::Sizes && settings.protocol.is_some() {
        return Err(SimulationError::SizesByProtocol);
    }
    if settings.data == Data::Sizes && costs_pages {
        return Err(SimulationError::SizesOfPages);
    }
    let network = Netsim::new(&settings.machine, ranks.div_ceil(per_node), settings.seed)?;
    let memory = Memory::new(ranks, settings.heap_bytes, stack_bytes, !costs_pages)?;
    let layout = memory.addresses();
    let stations = settings.protocol.clone().map(|protocol| Stations::new(protocol, layout, ranks, settings.seed));
    Ok(Core::new(network, memory, stations, settings))
}

/// What moves ranks and network.
struct Drive<'d> {
    shared: &'d Shared,
    /// By which others may end the job.
    watch: &'d Watch,
    /// Where they see how far it is.
    status: &'static Status,
    /// Whether a job that others end is over at once; otherwise its ranks hear of it.
    stops_at_once: bool,
    /// Called before a rank goes on.
    enter: &'d mut dyn FnMut(Rank),
    /// Whether nobody goes on any more.
    is_over: &'d dyn Fn() -> bool,
}

impl Drive<'_> {
    /// Moves ranks and network until all ranks have ended; returns who was stuck.
    fn run(&mut self, fibers: &mut Fibers<'_>) -> Vec<(Rank, Waiting)> {
        let shared = self.shared;
        let mut stuck = Vec::new();
        loop {
            let mut core = shared.core();
            if self.is_stopped(&mut core) {
                return stuck;
            }
            while let Some(number) = core.ready.pop_front() {
                let rank = Rank::new(number);
                // A rank that has died never goes on.
                if core.is_ended(rank) {
                    continue;
                }
                core.go_on(rank);
                let now = core.now();
                drop(core);
                (self.enter)(rank);
                self.status.enter(rank, now);
                let ended = fibers.resume(number);
                core = shared.core();
                core.running = None;
                if ended {
                    core.end_rank(rank);
                }
                self.status.leave(core.ended);
                if (self.is_over)() || self.is_stopped(&mut core) {
                    return stuck;
                }
            }
            if core.ended == core.size() {
                return stuck;
            }
            if !core.step() {
                if core.fault.is_some() {
                    // They were told and wait again: nothing will ever come.
                    return stuck;
                }
                stuck = core.waiting().collect();
                core.fail(Fault::Deadlock);
            }
        }
    }

    /// Ends the job if others want that; returns whether it is over without its ranks.
    fn is_stopped(&self, core: &mut Core) -> bool {
        let is_stopped = self.watch.is_asked();
        if is_stopped && core.fault.is_none() {
            core.fail(Fault::Aborted);
        }
        is_stopped && self.stops_at_once
    }
}
