//! A simulated job: its machine, its ranks, and its reports.

use std::cell::Cell;
use std::fmt::Display;
use std::io::ErrorKind;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{BootstrapError, Fault, Parts};
use pelago_report::files;
pub(crate) use pelago_simulator::{Processes, begin_thread, end_process, end_thread, is_unwinding, thread};
use pelago_simulator::{
    Settings, SimulationOutcome, SimulationRequest, SimulationSummary, Summary, VIRTUAL_TIME_MAX, WaitReason, disturbances,
};

use super::departure::DepartureWatch;
use super::launched;
pub(crate) use super::monitor::say;
use super::monitor::{SimulationMonitor, milliseconds};
use crate::exit_code::exit_code;
use crate::{Error, World};

/// Virtual memory for the stacks of all ranks that are processes, if the user has not chosen the stack size.
const STACKS_BYTES: u64 = 64 << 30;

/// A job to simulate.
pub(crate) struct Simulation {
    settings: Settings,
    request: SimulationRequest,
    monitor: SimulationMonitor,
    /// Whether a report could not be written, which was told because the job has a fault.
    has_lost_report: Cell<bool>,
}

/// Maximum number of blocked ranks that an error message names.
const STUCK_MAX: usize = 16;

const PICOSECONDS_PER_DAY: u64 = 86_400 * 1_000_000_000_000;

/// Returns the simulation request of the environment, if there is one.
pub(crate) fn request() -> Result<Option<SimulationRequest>, Error> {
    SimulationRequest::from_environment().map_err(|error| unreadable(&error).into())
}

/// `pelago sim` checks what it requests, so that the program refuses only the requests of another version.
fn unreadable(error: &dyn std::error::Error) -> BootstrapError {
    let version = env!("CARGO_PKG_VERSION");
    BootstrapError::Start(format!(
        "{error}; if pelago sim has started this program, the program or its library is built from other sources of Pelago (version \
         {version}) than the command: build both from the same sources"
    ))
}

/// Creates the simulation that the environment requests, if it does.
pub(crate) fn simulation() -> Result<Option<Simulation>, Error> {
    let start = |error: &dyn Display| BootstrapError::Start(error.to_string());
    let Some(request) = request()? else { return Ok(None) };
    launched::once()?;
    let settings = request.settings().map_err(|error| unreadable(&error))?;
    let limit = request.time_limit_seconds.and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok());
    let progress = request.progress.then_some(request.ranks);
    let monitor = SimulationMonitor::new(settings.watch.clone(), limit, progress).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock => start(&format_args!("{error}: raise the limit of processes (ulimit -u, or pids.max)")),
        _ => start(&error),
    })?;
    Ok(Some(Simulation { settings, request, monitor, has_lost_report: Cell::new(false) }))
}

/// Runs `body` as every rank of a simulated job.
pub(crate) fn simulate<R, E: From<Error>>(
    simulation: &Simulation,
    body: impl Fn(Box<World>) -> Result<R, E>,
) -> Result<SimulationOutcome<Result<R, E>>, Error> {
    let watch = DepartureWatch::new(simulation.settings.watch.clone());
    let outcome = pelago_simulator::simulate(&simulation.settings, |parts| body(join_simulated(parts)?));
    drop(watch);
    let outcome = outcome.map_err(|error| BootstrapError::Start(error.to_string()))?;
    simulation.tell(&outcome, false)?;
    Ok(outcome)
}

/// Runs processes as the ranks of a simulated job.
pub(crate) fn simulate_processes(simulation: &Simulation, processes: &dyn Processes) -> Result<SimulationOutcome<()>, Error> {
    let outcome = pelago_simulator::simulate_processes(&simulation.settings, processes);
    let outcome = outcome.map_err(|error| BootstrapError::Start(error.to_string()))?;
    simulation.tell(&outcome, processes.is_over())?;
    Ok(outcome)
}

/// Joins a simulated job. A separate function, so that its frames are no longer on the rank's small stack when the body runs; the world is boxed for the
/// same reason.
#[inline(never)]
#[expect(clippy::boxed_local, reason = "the caller's stack is what the box spares")]
fn join_simulated(parts: Box<Parts>) -> Result<Box<World>, Error> {
    World::new(*parts).map(Box::new)
}

impl Simulation {
    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.settings.ranks
    }

    /// The user's name for the program.
    pub(crate) fn program(&self) -> &str {
        &self.request.program
    }

    /// Gives each rank a stack of `bytes` bytes, or less if there are many ranks, unless the user has specified a size.
    pub(crate) fn prefer_stacks(&mut self, bytes: u64) {
        if self.request.stack_bytes.is_none() {
            let most = STACKS_BYTES / u64::from(self.settings.ranks.max(1));
            self.settings.stack_bytes = self.settings.stack_bytes.max(bytes.min(most) as usize);
        }
    }

    /// Whether a report could not be written, and was told.
    pub(crate) fn has_lost_report(&self) -> bool {
        self.has_lost_report.get()
    }

    /// Prints and writes the reports that the user has requested. `is_over`: the job ended before its ranks did, so that its exit code is known.
    ///
    /// # Errors
    /// A report cannot be written. If the job has failed, this is told here, as the exit code is that of the failure.
    fn tell<R>(&self, outcome: &SimulationOutcome<R>, is_over: bool) -> Result<(), Error> {
        self.monitor.end_progress();
        match self.request.summary {
            Summary::None => {}
            Summary::Text => say(format_args!("pelago: {}", self.summarize(outcome))),
            Summary::Json => say(format_args!("{}", SimulationSummary::new(outcome).to_json())),
        }
        let Err(error) = self.write_reports(outcome) else { return Ok(()) };
        let is_fine = outcome.failed.is_none() && fault_of(outcome).is_none_or(|fault| exit_code(fault) == 0);
        if is_fine && !is_over {
            return Err(BootstrapError::Report(error).into());
        }
        say(format_args!("pelago: {error}"));
        self.has_lost_report.set(true);
        Ok(())
    }

    fn write_reports<R>(&self, outcome: &SimulationOutcome<R>) -> Result<(), String> {
        let Some(report) = &outcome.report else { return Ok(()) };
        let page = self.request.report.as_ref().map_or(Ok(()), |path| {
            let is_page = path.extension().is_some_and(|extension| extension == "html");
            files::write(path, |file| file.write_all(if is_page { report.to_html() } else { report.to_json() }.as_bytes()))
        });
        let trace = self.request.trace.as_ref().map_or(Ok(()), |path| files::write(path, |file| report.trace(file)));
        match (page, trace) {
            (Err(page), Err(trace)) => Err(format!("{page}; {trace}")),
            (page, trace) => page.and(trace),
        }
    }

    /// Returns one line that summarizes the simulation.
    fn summarize<R>(&self, outcome: &SimulationOutcome<R>) -> String {
        let Settings { machine, ranks, per_node, .. } = &self.settings;
        let nodes = ranks.div_ceil(*per_node);
        let statistics = &outcome.statistics;
        // On machines where atomics take no time, no unit is busy.
        let busiest = statistics.busiest_atomics.filter(|unit| unit.busy > Duration::ZERO);
        let atomics = busiest.map_or_else(String::new, |unit| {
            let microseconds = unit.busy.as_seconds() * 1e6;
            let atomics = if unit.count == 1 { "1 atomic" } else { &format!("{} atomics", unit.count) };
            format!("; the atomic unit of node {} was the busiest: {atomics} in {microseconds:.3} us", unit.node)
        });
        let happened = disturbances(statistics).kinds().into_iter().filter(|&(_, number)| number > 0);
        let disturbed: String = happened.map(|(what, number)| format!(", {number} {what}")).collect();
        format!(
            "simulated {ranks} ranks on {nodes} nodes of {} for {:.6} ms: {} events, {} packets{disturbed}{atomics}",
            machine.name(),
            outcome.end.since(Instant::ZERO).as_seconds() * 1e3,
            statistics.events,
            statistics.packets,
        )
    }
}

/// Returns the fault of the whole job.
fn fault_of<R>(outcome: &SimulationOutcome<R>) -> Option<Fault> {
    let lost = outcome.lost.first().map(|&rank| Fault::PeerLost(rank));
    match (outcome.fault, outcome.failed) {
        // A rank that failed by itself reports the reason, unless another had failed before: then this is the reason.
        (Some(Fault::PeerLost(rank)), Some(failed)) if rank == failed => lost,
        // A failure that no rank has noticed counts as well.
        (fault, _) => fault.or(lost),
    }
}

/// Reports a fault of the whole job in one line: the errors of its ranks are not reported in addition. Returns the exit code.
pub(crate) fn job_fault<R>(simulation: &Simulation, outcome: &SimulationOutcome<R>) -> Option<i32> {
    let fault = fault_of(outcome)?;
    let when = milliseconds(outcome.end);
    match simulation.monitor.cause().filter(|_| fault == Fault::Aborted) {
        Some(cause) => {
            say(format_args!("pelago: {cause}; the job was ended at {when} of virtual time"));
            Some(cause.exit_code())
        }
        None if fault == Fault::Aborted && outcome.end >= VIRTUAL_TIME_MAX => {
            say(format_args!(
                "pelago: the job was ended after {} days of virtual time, the maximum: a time that the program declares, or a value of the \
                 machine, is too large",
                VIRTUAL_TIME_MAX.as_picoseconds() / PICOSECONDS_PER_DAY
            ));
            Some(exit_code(fault))
        }
        None => {
            let given_up = outcome.first_given_up.map_or_else(String::new, |(rank, target)| {
                let count = match outcome.given_up {
                    1 => format!("an operation of rank {rank}"),
                    count => format!("{count} operations, the first of rank {rank}"),
                };
                format!(
                    "; before, the network has given up {count} on rank {target}, after as many repetitions as the machine permits"
                )
            });
            let dead = if fault == Fault::Deadlock { dead(&outcome.lost) } else { String::new() };
            say(format_args!("pelago: {fault}, after {when}{}{dead}{given_up}", told(&outcome.stuck)));
            Some(exit_code(fault))
        }
    }
}

/// Reports in one line that a rank had failed before another ended with an error; returns the exit code.
pub(crate) fn loss<R>(outcome: &SimulationOutcome<R>) -> Option<i32> {
    let fault = Fault::PeerLost(*outcome.lost.first()?);
    say(format_args!("pelago: {fault}, after {}", milliseconds(outcome.end)));
    Some(exit_code(fault))
}

/// Lists ranks that had died without the knowledge of those that wait.
fn dead(lost: &[Rank]) -> String {
    let names: Vec<String> = lost.iter().take(STUCK_MAX).map(|rank| format!("rank {rank}")).collect();
    let more = match lost.len().saturating_sub(STUCK_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match lost.len() {
        0 => String::new(),
        _ => format!("; {}{more} had been killed by --faults, of which told=TIME would inform the others", names.join(", ")),
    }
}

/// Lists blocked ranks, grouped by the awaited event.
fn told(stuck: &[(Rank, WaitReason)]) -> String {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (rank, waiting) in stuck.iter().take(STUCK_MAX) {
        let what = waiting.to_string();
        match groups.iter_mut().find(|(known, _)| *known == what) {
            Some((_, ranks)) => ranks.push(format!("rank {rank}")),
            None => groups.push((what, vec![format!("rank {rank}")])),
        }
    }
    let each = |(what, ranks): (String, Vec<String>)| match &ranks[..] {
        [rank] => format!("{rank} waits {}", what.replace("their own", "its own")),
        ranks => format!("{} wait {what}", ranks.join(", ")),
    };
    let groups: Vec<String> = groups.into_iter().map(each).collect();
    let more = stuck.len().saturating_sub(STUCK_MAX);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    if groups.is_empty() { String::new() } else { format!(": {}{more}", groups.join("; ")) }
}
