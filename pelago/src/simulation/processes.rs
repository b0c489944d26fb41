//! Simulated ranks of programs that take themselves for processes: they have a `main`, join and leave the job by [`Job`](crate::Job), and
//! end wherever they like. For bindings to other languages.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use pelago_platform::{BootstrapError, Clock, Fault, For, Parts, Wait};

use crate::wiring::simulated;
use crate::{Duration, Instant, Rank, Result, World};

/// A program whose `main` is called for each rank.
pub trait Program {
    /// `rank` is about to go on: what the process has for each rank is that one's from now on.
    fn enter(&self, rank: Rank);

    /// All that `rank` does; its exit code.
    fn main(&self, rank: Rank) -> i32;

    /// Addresses of the program's own code. A rank that polls memory there, without a call, lets virtual time pass: it is suspended between two
    /// instructions. Code of libraries that hold locks of the process is no part of it.
    fn code(&self) -> Vec<Range<usize>> {
        Vec::new()
    }
}

/// How a rank ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Code(i32),
    /// As one that this signal kills.
    Signal(i32),
}

/// Why a job was ended before all of its ranks had.
enum Verdict {
    Failed(Rank, i32),
    Killed(Rank, i32),
    /// With exit code 0 in the middle of the job.
    Silent(Rank),
    /// Without joining the job, which others have joined.
    Left(Rank),
    /// By a rank, for all ranks, without an error.
    Ended,
}

/// A rank.
#[derive(Default)]
struct SimulatedProcess {
    /// Until it joins.
    parts: Option<Box<Parts>>,
    clock: Option<Arc<dyn Clock>>,
    wait: Option<Arc<dyn Wait>>,
    is_joined: bool,
    has_left: bool,
    has_ended: bool,
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

/// What [`simulate`] needs to run: the program, and its job.
struct Running<'p> {
    program: &'p dyn Program,
    job: Rc<SimulatedJob>,
}

/// How many ranks the environment asks for.
///
/// # Errors
/// The environment asks for no simulation, or for none that there can be.
pub fn ranks() -> Result<u32> {
    let nobody = || BootstrapError::Start("no simulation was requested (pelago sim starts one)".into()).into();
    simulated::request()?.map(|request| request.ranks).ok_or_else(nobody)
}

/// Runs `program` as all ranks of the job that the environment asks for, on stacks of `stack_bytes` bytes unless the user says how many;
/// returns the exit code of the process. What is wrong with the job was told then in one line.
///
/// # Errors
/// The environment asks for no simulation, or for one that cannot begin.
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
            return Ok(verdict.exit_code());
        }
        eprintln!("pelago: {verdict}; the job was ended");
        return Ok(verdict.exit_code());
    }
    if let Some(code) = simulated::job_fault(&simulation, &outcome) {
        return Ok(code);
    }
    if !job.seats.borrow().iter().any(|seat| seat.is_joined) {
        eprintln!("pelago: {} ended without joining the job: is it a Pelago program?", simulation.program());
        return Ok(1);
    }
    Ok(0)
}

/// Ends the running rank where it stands. Nothing that it has on its stack is dropped, so that nobody else may have borrowed from there.
///
/// # Panics
/// No rank of [`simulate`] is running.
pub fn end(end: End) -> ! {
    let job = job().expect("a simulated rank is running");
    job.note(end);
    drop(job);
    simulated::end_process()
}

/// Ends the job for all ranks, without an error. The rank that is running ends next.
pub(crate) fn end_for_all() {
    if let Some(job) = job() {
        job.judge(Verdict::Ended);
    }
}

/// The rank that is running, of [`simulate`].
pub fn running() -> Option<Rank> {
    job().map(|job| Rank::new(job.running.get() as u32))
}

/// The virtual time. A rank that asks again and again, and never waits, sees it pass. `None` outside of [`simulate`].
pub fn now() -> Option<Instant> {
    let clock = job()?.seats.borrow()[running()?.index()].clock.clone()?;
    Some(clock.now())
}

/// Lets virtual time pass for the rank that is running; returns at once outside of [`simulate`], and when the job is at fault.
pub fn sleep(duration: Duration) {
    let Some(until) = now().map(|now| now + duration) else { return };
    let Some(job) = job() else { return };
    let wait = job.seats.borrow()[job.running.get()].wait.clone();
    let Some(wait) = wait else { return };
    while now().is_some_and(|now| now < until) && wait.fault().is_none() {
        wait.park(For::Anything, Some(until), &mut || false);
    }
}

/// Lets others go on, if this rank only looks again and again; nothing happens outside of [`simulate`].
pub fn yield_now() {
    let Some(job) = job() else { return };
    let wait = job.seats.borrow()[job.running.get()].wait.clone();
    if let Some(wait) = wait {
        wait.yield_now();
    }
}

/// How long a thread that waits for another of its rank sleeps before it looks again.
const LOOK_AFTER: Duration = Duration::from_microseconds(1);

/// Begins a thread of the running rank, with a stack of so many bytes and a number other than 0 that no other of its threads has. Threads of a
/// rank take turns whenever one waits in the library.
///
/// # Errors
/// There is no room for its stack.
pub fn begin_thread(number: usize, stack_bytes: usize, body: impl FnOnce() + 'static) -> std::io::Result<()> {
    simulated::begin_thread(number, stack_bytes, body)
}

/// The thread that runs, of the running rank: 0 is its first.
pub fn thread() -> usize {
    simulated::thread()
}

/// Ends the running thread where it stands, as [`end`] a rank.
///
/// # Panics
/// No rank of [`simulate`] is running, or its first thread.
pub fn end_thread() -> ! {
    simulated::end_thread()
}

/// Lets other threads of the running rank go on.
pub fn let_threads_run() {
    sleep(LOOK_AFTER);
}

/// Takes part in the job as the rank that is running; `None` if none is.
pub(crate) fn join() -> Option<Result<World>> {
    let job = job()?;
    let late = job.seats.borrow().iter().position(|seat| seat.has_ended && !seat.is_joined);
    if let Some(rank) = late {
        job.judge(Verdict::Left(Rank::new(rank as u32)));
        drop(job);
        simulated::end_process()
    }
    let parts = {
        let seat = &mut job.seats.borrow_mut()[job.running.get()];
        seat.is_joined = true;
        seat.parts.take()
    };
    // Whoever ends its part in the middle never comes back for it.
    drop(job);
    let joined_twice = || BootstrapError::Start("this rank has joined the job already".into()).into();
    Some(parts.ok_or_else(joined_twice).and_then(|parts| World::new(*parts)))
}

/// The rank that is running has left the job in good order.
pub(crate) fn left() {
    if let Some(job) = job() {
        job.seats.borrow_mut()[job.running.get()].has_left = true;
    }
}

/// With which exit code the rank that is running has to end without a word, because the job is at fault.
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

    /// The rank that is running ends.
    fn note(&self, end: End) {
        let number = self.running.get();
        let rank = Rank::new(number as u32);
        // What is wrong with the job as a whole is told once.
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

    /// The first verdict counts.
    fn judge(&self, verdict: Verdict) {
        self.verdict.borrow_mut().get_or_insert(verdict);
    }
}

impl simulated::Processes for Running<'_> {
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
