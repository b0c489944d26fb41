//! Runs a scenario and judges it.
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): the layers around the transport pass operations on, or refuse them.
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use pelago_base::{Duration, Event, Instant, Rank};
use pelago_kit::{Count, Fault as Unruly, Faults};
use pelago_netsim::Machine;
use pelago_platform::{BootstrapError, Failure, Fault, Transport, TrustedTransport};
use pelago_rma::Parts;
use pelago_rma::{Error, World};
use pelago_simulator::{Computing, Data, Settings, SimulationOutcome, simulate};

use crate::crew::Stage;
use crate::limit::{BrokenCounters, Limit, failed};
use crate::process;
use crate::program::{Program, Trouble};
use crate::programs;
use crate::scenario::{Brief, BrokenConnection, Chosen, Death, MACHINE, Scenario};

/// Bytes of each heap: room for scratch memory of two teams and for the programs.
const HEAP_BYTES: u64 = 1 << 20;

/// Bytes of each heap in scenarios whose borders are long enough to be transferred in parts, and of teams that start many operations.
const LARGE_HEAP_BYTES: u64 = 4 << 20;

const STACK_BYTES: usize = 256 << 10;

/// The limit of virtual time: more than ten times the duration of the slowest job.
const LIMIT: Duration = Duration::from_milliseconds(300_000);

/// Maximum time from the announcement of a failure to the end of a rank, in addition to its computations.
const MARGIN: Duration = Duration::from_milliseconds(100);

/// Number of scenarios of which one runs twice.
const REPEATED: u64 = 50;

/// Of so many consecutive seeds, those in the first quarter run twice if their machine is drawn. Must be more than 16: of sixteen seeds one has a drawn machine
/// by itself, always at the same place.
const DIVIDED_ONE_IN: u64 = 64;

/// Statistics of scenarios.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of scenarios.
    pub scenarios: u64,
    /// Number of runs: a scenario with a failure first runs without it.
    pub runs: u64,
    /// Number of ranks of all runs.
    pub ranks: u64,
    /// Number of failures before the end of the job.
    pub deaths: u64,
    /// Number of jobs that continued after a failure.
    pub survived: u64,
    /// Number of jobs in which operations failed because of a broken connection.
    pub broken: u64,
    /// Number of datagrams sent.
    pub sent: u64,
    /// Number of datagrams that the network lost.
    pub lost: u64,
    /// Number of retransmitted datagrams.
    pub repeated: u64,
    /// Virtual time of all runs, in nanoseconds.
    pub virtual_ns: u64,
    /// The longest virtual time of a run, in nanoseconds.
    pub virtual_ns_max: u64,
    /// Number of scenarios of C programs, of which only the outcome is known.
    pub processes: u64,
    /// Number of scenarios that were skipped, as there is no C compiler.
    pub skipped: u64,
}

impl Tally {
    /// Adds the statistics of other scenarios.
    pub fn add(&mut self, other: &Self) {
        self.scenarios += other.scenarios;
        self.runs += other.runs;
        self.ranks += other.ranks;
        self.deaths += other.deaths;
        self.survived += other.survived;
        self.broken += other.broken;
        self.sent += other.sent;
        self.lost += other.lost;
        self.repeated += other.repeated;
        self.virtual_ns += other.virtual_ns;
        self.virtual_ns_max = self.virtual_ns_max.max(other.virtual_ns_max);
        self.processes += other.processes;
        self.skipped += other.skipped;
    }
}

/// A scenario that violates a property. Its text is one line, with the command that repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed of the scenario.
    pub seed: u64,
    /// The choices that override the seed.
    pub chosen: Chosen,
    /// The violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, chosen, what } = self;
        let scenario = Scenario::new(*seed).chosen(*chosen);
        write!(f, "seed {seed}: {what}; {scenario}; again: cargo xtask sweep --seed {seed}{chosen}")
    }
}

/// Runs the scenario of a seed, and judges it.
///
/// Cost: up to three simulations of some thousand datagrams.
///
/// # Errors
/// A property is violated. A panic counts as a violation.
pub fn examine(seed: u64) -> Result<Tally, Violation> {
    examine_by(seed, Chosen::default())
}

/// Like [`examine`], with choices that override the seed.
///
/// # Errors
/// Those of [`examine`].
pub fn examine_by(seed: u64, chosen: Chosen) -> Result<Tally, Violation> {
    examine_all(seed, chosen, &|transport| transport)
}

/// Like [`examine`], with the transport of each rank wrapped by another one: tests check that errors of the wrapper are found. C programs have no wrapper.
///
/// # Errors
/// Those of [`examine`].
pub fn examine_through(seed: u64, around: &Around<'_>) -> Result<Tally, Violation> {
    examine_all(seed, Chosen::default(), around)
}

fn examine_all(seed: u64, chosen: Chosen, around: &Around<'_>) -> Result<Tally, Violation> {
    let scenario = Scenario::new(seed).chosen(chosen);
    let judged = catch_unwind(AssertUnwindSafe(|| judge(&scenario, around)));
    let judged = judged.unwrap_or_else(|panic| Err(format!("panic: {}", message(panic.as_ref()))));
    judged.map_err(|what| Violation { seed, chosen, what: what.replace('\n', " ") })
}

/// A function that wraps a transport.
type Around<'a> = dyn Fn(Box<dyn Transport>) -> Box<dyn Transport> + 'a;

/// A simulation that has ended.
struct Run<'s> {
    stage: Stage<'s>,
    outcome: SimulationOutcome<Ended>,
    late: bool,
    /// Number of operations that failed because of a broken connection.
    failed: u64,
}

fn judge(scenario: &Scenario, around: &Around<'_>) -> Result<Tally, String> {
    let mut tally = Tally { scenarios: 1, ..Tally::default() };
    if let Some((program, interface)) = scenario.programs.iter().find_map(|program| Some((*program, program.interface()?))) {
        let ran = process::run(scenario, program, interface)?;
        let (processes, skipped) = (u64::from(ran), u64::from(!ran));
        return Ok(Tally { processes, skipped, runs: processes, ranks: processes * u64::from(scenario.ranks), ..tally });
    }
    let peaceful = run(scenario, Harm::None, 1, around)?;
    tally.count(&peaceful);
    check_peaceful(&peaceful)?;
    let is_drawn = scenario.networks.as_ref().is_some_and(|networks| networks.is_drawn);
    // Several threads simulate the same job, on machines that can be divided.
    let threads = if is_drawn { 3 } else { 1 };
    if scenario.seed.is_multiple_of(REPEATED) || (is_drawn && scenario.seed % DIVIDED_ONE_IN < DIVIDED_ONE_IN / 4) {
        let again = run(scenario, Harm::None, threads, around)?;
        tally.count(&again);
        check_same(&peaceful, &again)?;
    }
    if let Some(broken) = scenario.broken {
        let run = run(scenario, Harm::Broken(broken), 1, around)?;
        tally.count(&run);
        check_broken(&run, broken)?;
        tally.broken += u64::from(run.failed > 0);
    }
    let Some(death) = scenario.death else { return Ok(tally) };
    let dies = moment(&death, &peaceful);
    let run = run(scenario, Harm::Death(dies), 1, around)?;
    tally.count(&run);
    check_mourning(&run, &death, dies).map_err(|what| format!("{what} (death at {})", Brief(dies.since(Instant::ZERO))))?;
    let came = run.outcome.results[death.rank.index()].is_none();
    tally.deaths += u64::from(came);
    tally.survived += u64::from(came && death.survival);
    Ok(tally)
}

/// Returns the time at which a rank fails, from a run of the same job without a failure. In jobs that survive the failure, all ranks have begun by then.
fn moment(death: &Death, peaceful: &Run<'_>) -> Instant {
    let first = if death.survival { peaceful.stage.ready.get() } else { Instant::ZERO };
    let span = peaceful.outcome.end.since(first).as_picoseconds();
    first + Duration::from_picoseconds(span / 1000 * death.per_mille + 1)
}

/// What happens to the ranks of a run.
#[derive(Clone, Copy)]
enum Harm {
    None,
    /// The rank of the scenario's failure fails at this time.
    Death(Instant),
    Broken(BrokenConnection),
}

fn run<'s>(scenario: &'s Scenario, harm: Harm, threads: u32, around: &Around<'_>) -> Result<Run<'s>, String> {
    static PARSED: LazyLock<Machine> =
        LazyLock::new(|| Machine::bundled(MACHINE).and_then(|text| Machine::parse(text).ok()).expect("a bundled machine"));
    let Scenario { seed, ranks, per_node, ref networks, .. } = *scenario;
    let machine = match networks {
        None => PARSED.clone(),
        Some(networks) => networks.parsed().map_err(|error| format!("no such machine: {error}"))?,
    };
    let dies = if let Harm::Death(at) = harm { Some(at) } else { None };
    let needs_much = networks.is_some() || scenario.programs.contains(&Program::Teams);
    let settings = Settings {
        machine,
        ranks,
        per_node,
        seed,
        heap_bytes: if needs_much { LARGE_HEAP_BYTES } else { HEAP_BYTES },
        stack_bytes: STACK_BYTES,
        shared_stack: false,
        protocol: networks.as_ref().is_none_or(|networks| networks.by_datagrams).then(|| scenario.protocol(dies)),
        data: Data::Real,
        computing: Computing::Declared,
        threads,
        report: None,
        watch: Arc::default(),
    };
    let (stage, late) = (Stage::new(scenario, dies, programs::stage), Arc::new(AtomicBool::new(false)));
    let broken = Arc::new(BrokenCounters::new());
    let until = Instant::ZERO + LIMIT;
    let outcome = simulate(&settings, |parts| {
        let Parts { reach, clock, wait, virtual_time, bootstrap, transport } = *parts;
        let lost = match harm {
            Harm::Broken(BrokenConnection { to, is_reported: true, .. }) => Some((to, broken.clone())),
            _ => None,
        };
        let limit = Arc::new(Limit { inner: wait, clock: clock.clone(), until, late: late.clone(), lost });
        let transport = transport.into_inner();
        let transport = match networks.as_ref().filter(|networks| !networks.manners.is_empty()) {
            None => around(transport),
            Some(networks) => {
                let me = bootstrap.rank();
                let peer_failed = match harm {
                    Harm::Broken(BrokenConnection { from, to, after, .. }) if from == me => Some((to, after)),
                    _ => None,
                };
                let faults =
                    Faults { seed: seed ^ u64::from(me), full_per_mille: networks.refused, peer_failed, ..Faults::default() };
                let inner = Unruly::new(around(transport), reach.addresses(), faults).by_rail(networks.manners.clone());
                match peer_failed {
                    None => Box::new(inner) as Box<dyn Transport>,
                    Some(_) => {
                        let counted = Count::new(inner);
                        broken.get_or_init(|| counted.counters());
                        Box::new(counted)
                    }
                }
            }
        };
        // SAFETY: U1.
        let transport = unsafe { TrustedTransport::new(transport) };
        let parts = Parts { reach, clock: clock.clone(), wait: limit, virtual_time, bootstrap, transport };
        let play = || {
            let world = World::new(parts)?;
            stage.play(&world)?;
            Ok(world.finish()?)
        };
        let result: Result<(), Trouble> = play();
        let now = clock.now();
        result.map(|()| now).map_err(|trouble| Box::new((now, trouble)))
    });
    let outcome = outcome.map_err(|error| format!("it cannot begin: {error}"))?;
    Ok(Run { stage, outcome, late: late.load(Ordering::Relaxed), failed: failed(&broken) })
}

/// Without a failure of a rank, all ranks must succeed.
fn check_peaceful(run: &Run<'_>) -> Result<(), String> {
    check_violations(run)?;
    check_end(run)?;
    for (rank, result) in ranks(run) {
        match result.map(|ended| ended.as_ref().map_err(Box::as_ref)) {
            Some(Ok(_)) => {}
            Some(Err((at, trouble))) => {
                return Err(format!("rank {rank} failed after {}, though nobody died: {trouble}", since(at)));
            }
            None => return Err(format!("rank {rank} never ended")),
        }
    }
    match run.outcome.fault {
        None => Ok(()),
        Some(fault) => Err(format!("the job is at fault, though nobody died: {fault}")),
    }
}

/// After a failure, the other ranks succeed or get the error of that failure.
fn check_mourning(run: &Run<'_>, death: &Death, dies: Instant) -> Result<(), String> {
    check_violations(run)?;
    check_end(run)?;
    // A rank that computes at the announcement detects the failure only afterwards.
    let computes = if run.stage.scenario.rests { Scenario::REST_MAX } else { run.stage.scenario.pause_max };
    let told = dies + death.told_after + computes + MARGIN;
    for (rank, result) in ranks(run) {
        match result.map(|ended| ended.as_ref().map_err(Box::as_ref)) {
            None if rank == death.rank => {}
            None => return Err(format!("rank {rank} never ended")),
            Some(Ok(_)) => {}
            Some(Err((at, trouble))) if rank == death.rank || death.survival => {
                return Err(format!("rank {rank} failed after {}, though it did not need the dead one: {trouble}", since(at)));
            }
            Some(Err((at, trouble))) => {
                if lost_by(trouble) != Some(death.rank) {
                    return Err(format!(
                        "rank {rank} failed after {}, not because rank {} died: {trouble}",
                        since(at),
                        death.rank
                    ));
                }
                if !(dies..=told).contains(at) {
                    return Err(format!("rank {rank} learned after {} that rank {} was lost", since(at), death.rank));
                }
            }
        }
    }
    let allowed = if death.survival { None } else { Some(Fault::PeerLost(death.rank)) };
    if run.outcome.fault.is_some() && run.outcome.fault != allowed {
        return Err(format!("the job is at fault: {:?}", run.outcome.fault));
    }
    Ok(())
}

/// If operations have failed, no rank finds wrong results or waits forever; each succeeds or gets an error of the library.
fn check_broken(run: &Run<'_>, BrokenConnection { is_reported, .. }: BrokenConnection) -> Result<(), String> {
    check_violations(run)?;
    match check_end(run) {
        // An operation that fails may be the one for which another rank waits.
        Err(_) if run.failed > 0 && !is_reported => return Ok(()),
        end => end?,
    }
    for (rank, result) in ranks(run) {
        match result.map(|ended| ended.as_ref().map_err(Box::as_ref)) {
            None => return Err(format!("rank {rank} never ended")),
            Some(Ok(_)) => {}
            // The rank of the operation gets its error, others those of the job or of a team that has failed.
            Some(Err(_)) if run.failed > 0 => {}
            Some(Err((at, trouble))) => {
                let failed = run.failed;
                return Err(format!("rank {rank} failed after {}, when {failed} operations had failed: {trouble}", since(at)));
            }
        }
    }
    match run.outcome.fault {
        Some(fault) if run.failed == 0 => Err(format!("the job is at fault, though no operation failed: {fault}")),
        _ => Ok(()),
    }
}

/// Checks that no program has found a violation.
fn check_violations(run: &Run<'_>) -> Result<(), String> {
    let violated = ranks(run).filter_map(|(rank, result)| match result?.as_ref().map_err(Box::as_ref) {
        Err((at, Trouble::Violated(what))) => Some((at, rank, what)),
        _ => None,
    });
    match violated.min() {
        None => Ok(()),
        Some((at, rank, what)) => Err(format!("rank {rank} after {}: {what}", since(at))),
    }
}

/// Checks that all ranks have ended within the time limit.
fn check_end(run: &Run<'_>) -> Result<(), String> {
    let SimulationOutcome { stuck, fault, .. } = &run.outcome;
    if !stuck.is_empty() || *fault == Some(Fault::Deadlock) {
        let stuck: Vec<String> = stuck.iter().map(|(rank, _)| format!("rank {rank}")).collect();
        return Err(format!("deadlock: {} wait and nothing is under way", stuck.join(", ")));
    }
    if run.late {
        let waiting =
            ranks(run).filter(|(_, result)| matches!(result, Some(Err(end)) if end.1 == Error::Fault(Fault::Aborted).into()));
        let waiting: Vec<String> = waiting.map(|(rank, _)| format!("rank {rank}")).collect();
        return Err(format!("{} still waited after {}", waiting.join(", "), Brief(LIMIT)));
    }
    Ok(())
}

fn check_same(one: &Run<'_>, other: &Run<'_>) -> Result<(), String> {
    let (one, other) = (&one.outcome, &other.outcome);
    if one.end != other.end {
        return Err(format!("it ended after {} and then after {}", since(&one.end), since(&other.end)));
    }
    if one.counters != other.counters || one.statistics != other.statistics {
        return Err("two runs ended at the same time and counted differently".into());
    }
    Ok(())
}

/// Returns the rank whose failure ended a program.
fn lost_by(trouble: &Trouble) -> Option<Rank> {
    match trouble {
        Trouble::Library(
            Error::Failed(Failure::PeerLost(rank))
            | Error::Fault(Fault::PeerLost(rank))
            | Error::Bootstrap(BootstrapError::Fault(Fault::PeerLost(rank))),
        ) => Some(*rank),
        _ => None,
    }
}

/// Outcome of a rank, and the time of its end.
type Ended = Result<Instant, Box<(Instant, Trouble)>>;

/// Returns the outcomes of all ranks, beginning with the rank that failed first, as others may have failed because of it.
fn ranks<'r>(run: &'r Run<'_>) -> impl Iterator<Item = (Rank, Option<&'r Ended>)> {
    let all = || (0..).map(Rank::new).zip(run.outcome.results.iter().map(Option::as_ref));
    let is_first = |rank: Rank| run.outcome.failed == Some(rank);
    all().filter(move |(rank, _)| is_first(*rank)).chain(all().filter(move |(rank, _)| !is_first(*rank)))
}

fn since(at: &Instant) -> Brief {
    Brief(at.since(Instant::ZERO))
}

impl Tally {
    fn count(&mut self, run: &Run<'_>) {
        let SimulationOutcome { counters, statistics, end, results, .. } = &run.outcome;
        let sum = |event| counters.iter().map(|counters| counters.of(event)).sum::<u64>();
        let virtual_ns = end.since(Instant::ZERO).as_nanoseconds();
        self.runs += 1;
        self.ranks += results.len() as u64;
        self.sent += sum(Event::DatagramSent);
        self.repeated += sum(Event::DatagramRepeated);
        self.lost += statistics.drops;
        self.virtual_ns += virtual_ns;
        self.virtual_ns_max = self.virtual_ns_max.max(virtual_ns);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of unknown kind").to_owned()
}
