//! Simulated ranks of programs that expect to be processes: they have a `main`, join and leave the job by [`Job`](crate::Job), and
//! can end at any point. For bindings to other languages.
//!
//! Invariant **E1** of `pelago-simulator` (`run.rs`): the program promises it as an implementation of [`Program`], without which no rank runs here.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use pelago_platform::{BootstrapError, Clock, Fault, For, Parts, Wait};

use crate::wiring::simulated::{self, say};
use crate::{Duration, Instant, Rank, Result, World};

/// A program whose `main` is called for each rank.
///
/// # Safety
/// Ranks may end without a drop of the values on their stacks (E1): by [`end`], [`end_thread`] or [`Job::join`](crate::Job::join), or because the job is
/// over. Nothing else may borrow from those stacks, such as a scoped thread. [`code`](Self::code) is as it says there.
pub unsafe trait Program {
    /// Called before `rank` continues: the per-rank state of the process is that of `rank` from now on.
    fn enter(&self, rank: Rank);

    /// Runs all code of `rank`; returns its exit code.
    fn main(&self, rank: Rank) -> i32;

    /// Returns the addresses of the program's own code. If a rank polls memory in this code, without a call, virtual time passes: the rank is
    /// suspended between two instructions. Code of libraries that hold locks of the process must not be included.
    fn code(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// The end of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By an exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// The reason why a job was ended before all of its ranks had ended.
enum Verdict {
    Failed(Rank, i32),
    Killed(Rank, i32),
    /// A rank ended with exit code 0 in the middle of the job.
    Silent(Rank),
    /// A rank ended without joining the job, which others have joined.
    Left(Rank),
    /// A rank ended the job for all ranks, without an error.
    Ended,
}

/// A simulated rank.
#[derive(Default)]
struct SimulatedProcess {
    /// Present until the rank joins.
    parts: Option<Box<Parts>>,
    clock: Option<Arc<dyn Clock>>,
    wait: Option<Arc<dyn Wait>>,
    is_joined: bool,
    has_left: bool,
    has_ended: bool,
    /// Number of times that it has slept after the job had a fault.
    late_sleeps: u32,
}

struct SimulatedJob {
    seats: RefCell<Vec<SimulatedProcess>>,
    running: Cell<usize>,
    verdict: RefCell<Option<Verdict>>,
}

thread_local! {
    /// The job whose ranks this thread runs.
    static JOB: RefCell<Option<Rc<SimulatedJob>>> = const { RefCell::new(None) };
}

/// The program of [`simulate`], and its job.
struct Running<'p> {
    program: &'p dyn Program,
    job: Rc<SimulatedJob>,
}

/// Number of ranks that the environment requests.
///
/// # Errors
/// The environment requests no simulation, or an invalid one.
pub fn ranks() -> Result<u32> {
    let nobody = || BootstrapError::Start("no simulation was requested (pelago sim starts one)".into()).into();
    simulated::request()?.map(|request| request.ranks).ok_or_else(nobody)
}

/// Runs `program` as all ranks of the job that the environment requests, on stacks of `stack_bytes` bytes unless the user specifies a size;
/// returns the exit code of the process. A fault of the job has then been reported in one line.
///
/// # Errors
/// The environment requests no simulation, or one that cannot start.
pub fn simulate(program: &dyn Program, stack_bytes: u64) -> Result<i32> {
    let Some(mut simulation) = simulated::simulation()? else {
        return Err(BootstrapError::Start("no simulation was requested (pelago sim starts one)".into()).into());
    };
    simulation.prefer_stacks(stack_bytes);
    let seats = RefCell::new((0..simulation.ranks()).map(|_| SimulatedProcess::default()).collect());
    let job = Rc::new(SimulatedJob { seats, running: Cell::new(0), verdict: RefCell::new(None) });
    JOB.set(Some(job.clone()));
    let outcome = simulated::simulate_processes(&simulation, &Running { program, job: job.clone() });
    JOB.set(None);
    let outcome = outcome?;
    if let Some(verdict) = &*job.verdict.borrow() {
        if let Some(code) = simulated::loss(&outcome) {
            return Ok(code);
        }
        if matches!(verdict, Verdict::Ended) {
            return Ok(if simulation.has_lost_report() { 1 } else { verdict.exit_code() });
        }
        say(format_args!("pelago: {verdict}; the job was ended"));
        return Ok(verdict.exit_code());
    }
    if let Some(code) = simulated::job_fault(&simulation, &outcome) {
        return Ok(code);
    }
    if !job.seats.borrow().iter().any(|seat| seat.is_joined) {
        say(format_args!("pelago: {} ended without joining the job: is it a Pelago program?", simulation.program()));
        return Ok(1);
    }
    Ok(0)
}

/// Ends the running rank at this point. Its stack is not dropped.
///
/// # Panics
/// No rank of [`simulate`] is running.
pub fn end(end: End) -> ! {
    let job = job().expect("a simulated rank is running");
    job.note(end);
    drop(job);
    // SAFETY: E1.
    unsafe { simulated::end_process() }
}

/// Ends the job for all ranks, without an error. The running rank ends next.
pub(crate) fn end_for_all() {
    if let Some(job) = job() {
        job.judge(Verdict::Ended);
    }
}

/// Returns the running rank of [`simulate`].
pub fn running() -> Option<Rank> {
    job().map(|job| Rank::new(job.running.get() as u32))
}

/// Returns the virtual time. For a rank that polls it and never waits, virtual time passes. `None` outside of [`simulate`].
pub fn now() -> Option<Instant> {
    let clock = job()?.seats.borrow()[running()?.index()].clock.clone()?;
    Some(clock.now())
}

/// Lets virtual time pass for the running rank; returns at once outside of [`simulate`], and when the job has a fault. A rank that continues to sleep then
/// is ended, as the launcher of a real job kills it after a grace period.
pub fn sleep(duration: Duration) {
    let Some(until) = now().map(|now| now + duration) else { return };
    let Some(job) = job() else { return };
    let wait = job.seats.borrow()[job.running.get()].wait.clone();
    let Some(wait) = wait else { return };
    if wait.fault().is_some() && job.sleeps_late() {
        drop((job, wait));
        end(End::Code(1));
    }
    while now().is_some_and(|now| now < until) && wait.fault().is_none() {
        wait.park(For::Anything, Some(until), &mut || false);
    }
}

/// Maximum number of sleeps of a rank after a fault of the job.
const LATE_SLEEPS_MAX: u32 = 1 << 16;

/// Lets other ranks run, if this rank only polls; without effect outside of [`simulate`].
pub fn yield_now() {
    let Some(job) = job() else { return };
    let wait = job.seats.borrow()[job.running.get()].wait.clone();
    if let Some(wait) = wait {
        wait.yield_now();
    }
}

/// Interval between the polls of a thread that waits for another thread of its rank.
const LOOK_AFTER: Duration = Duration::from_microseconds(1);

/// Starts a thread of the running rank, with a stack of `stack_bytes` bytes and a non-zero number that is unique among its threads. The threads of a
/// rank switch whenever one waits in the library.
///
/// # Errors
/// There is no room for its stack.
pub fn begin_thread(number: usize, stack_bytes: usize, body: impl FnOnce() + 'static) -> std::io::Result<()> {
    simulated::begin_thread(number, stack_bytes, body)
}

/// Number of the running thread of the running rank: 0 is its first thread.
pub fn thread() -> usize {
    simulated::thread()
}

/// Ends the running thread at this point, as [`end`] does for a rank.
///
/// # Panics
/// No rank of [`simulate`] is running, or its first thread.
pub fn end_thread() -> ! {
    assert!(running().is_some(), "no simulated rank is running");
    // SAFETY: E1.
    unsafe { simulated::end_thread() }
}

/// Lets other threads of the running rank run.
pub fn let_threads_run() {
    sleep(LOOK_AFTER);
}

/// Joins the job as the running rank; `None` if no rank is running.
pub(crate) fn join() -> Option<Result<World>> {
    let job = job()?;
    let late = job.seats.borrow().iter().position(|seat| seat.has_ended && !seat.is_joined);
    if let Some(rank) = late {
        job.judge(Verdict::Left(Rank::new(rank as u32)));
        drop(job);
        // SAFETY: E1.
        unsafe { simulated::end_process() }
    }
    let parts = {
        let seat = &mut job.seats.borrow_mut()[job.running.get()];
        seat.is_joined = true;
        seat.parts.take()
    };
    // A rank that ends inside `World::new` never returns to drop its reference.
    drop(job);
    let joined_twice = || BootstrapError::Start("this rank has joined the job already".into()).into();
    Some(parts.ok_or_else(joined_twice).and_then(|parts| World::new(*parts)))
}

/// Records that the running rank has left the job in good order.
pub(crate) fn left() {
    if let Some(job) = job() {
        job.seats.borrow_mut()[job.running.get()].has_left = true;
    }
}

/// Returns the exit code with which the running rank has to end silently, because the job has a fault.
pub(crate) fn exit_code() -> Option<i32> {
    job()?.fault().map(crate::exit_code::exit_code)
}

fn job() -> Option<Rc<SimulatedJob>> {
    JOB.with_borrow(Clone::clone)
}

impl SimulatedJob {
    fn fault(&self) -> Option<Fault> {
        let seats = self.seats.borrow();
        seats[self.running.get()].wait.as_ref().and_then(|wait| wait.fault())
    }

    /// Counts a call of [`sleep`] after a fault; returns whether the running rank has made too many.
    fn sleeps_late(&self) -> bool {
        let seat = &mut self.seats.borrow_mut()[self.running.get()];
        seat.late_sleeps += 1;
        seat.late_sleeps > LATE_SLEEPS_MAX
    }

    /// Records the end of the running rank.
    fn note(&self, end: End) {
        let number = self.running.get();
        let rank = Rank::new(number as u32);
        // A fault of the whole job is reported once.
        let is_at_fault = self.fault().is_some();
        let (is_joined, has_left) = {
            let seat = &mut self.seats.borrow_mut()[number];
            seat.has_ended = true;
            (seat.is_joined, seat.has_left)
        };
        if is_at_fault {
            return;
        }
        match end {
            End::Signal(signal) => self.judge(Verdict::Killed(rank, signal)),
            End::Code(0) if is_joined && has_left => {}
            End::Code(0) if is_joined => self.judge(Verdict::Silent(rank)),
            End::Code(0) if self.seats.borrow().iter().any(|seat| seat.is_joined) => self.judge(Verdict::Left(rank)),
            End::Code(0) => {}
            End::Code(code) => self.judge(Verdict::Failed(rank, code)),
        }
    }

    /// Records a verdict; the first one counts.
    fn judge(&self, verdict: Verdict) {
        self.verdict.borrow_mut().get_or_insert(verdict);
    }
}

// SAFETY: E1.
unsafe impl simulated::Processes for Running<'_> {
    fn enter(&self, rank: Rank) {
        self.job.running.set(rank.index());
        self.program.enter(rank);
    }

    fn main(&self, parts: Box<Parts>) {
        let rank = parts.bootstrap.rank();
        {
            let seat = &mut self.job.seats.borrow_mut()[rank.index()];
            seat.clock = Some(parts.clock.clone());
            seat.wait = Some(parts.wait.clone());
            seat.parts = Some(parts);
        }
        let code = self.program.main(rank);
        self.job.note(End::Code(code));
    }

    fn is_over(&self) -> bool {
        self.job.verdict.borrow().is_some()
    }

    fn code(&self) -> Vec<Range<usize>> {
        self.program.code()
    }
}

impl Verdict {
    fn exit_code(&self) -> i32 {
        match self {
            Self::Ended => 0,
            Self::Failed(..) | Self::Left(_) => 1,
            Self::Killed(..) | Self::Silent(_) => 3,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(rank, code) => write!(f, "rank {rank} failed with exit code {code}"),
            Self::Killed(rank, signal) => {
                write!(f, "rank {rank} was killed by signal {signal}")?;
                signal_hook::low_level::signal_name(*signal).map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            Self::Silent(rank) => write!(f, "rank {rank} ended with exit code 0 in the middle of the job"),
            Self::Ended => write!(f, "a rank ended the job"),
            Self::Left(rank) => write!(f, "rank {rank} ended without joining the job, which other ranks joined"),
        }
    }
}
