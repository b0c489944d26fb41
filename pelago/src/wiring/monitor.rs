//! Ends a simulation on a signal or at its time limit. Shows its progress meanwhile.

use std::fmt;
use std::io::{ErrorKind, IsTerminal, Read, Write, stderr};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use pelago_report::files;
use pelago_simulator::{SimulationControl, SimulationSnapshot};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::{exit, pipe, signal_name};

/// Maximum time between the ends of two ranks of a job that is being ended. If a rank computes for longer without a call of the library, the process
/// ends.
const GRACE: Duration = Duration::from_secs(1);

/// Period of the checks for a rank that does not call the library.
const LOOK: Duration = Duration::from_secs(1);
/// Number of checks without a call after which the rank is named.
const LOOKS_MAX: u32 = 3;

/// Number of checks between two lines of progress if standard error is not a terminal.
const LOOKS_PER_LINE: u32 = 10;

/// The reason why a simulation is ended from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cause {
    Signal(i32),
    TimeLimit(Duration),
}

/// The monitor of a simulation, a thread that ends it on a signal or at its time limit.
pub(crate) struct SimulationMonitor {
    cause: Arc<OnceLock<Cause>>,
    progress: Arc<Mutex<Option<Progress>>>,
}

impl SimulationMonitor {
    /// Ends the simulation of `watch` on an interrupt or at the time limit: its ranks are notified, and the results so far are
    /// reported. If the ranks do not end, the process does. `progress`: the number of ranks whose progress is shown.
    pub(crate) fn new(watch: Arc<SimulationControl>, limit: Option<Duration>, progress: Option<u32>) -> std::io::Result<Self> {
        let (bell, rope) = UnixStream::pair()?;
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            // Before the pipe, so that the number is stored when the pipe becomes readable.
            flag::register_usize(number, signal.clone(), number as usize)?;
            pipe::register(number, rope.try_clone()?)?;
        }
        let cause = Arc::new(OnceLock::new());
        let shows = progress.is_some();
        let progress = Arc::new(Mutex::new(progress.map(Progress::new)));
        let thread = MonitorThread { bell, signal, watch, cause: cause.clone(), progress: progress.clone(), shows };
        std::thread::Builder::new().name("pelago-watch".into()).spawn(move || thread.run(limit))?;
        Ok(Self { cause, progress })
    }

    /// Stops showing progress.
    pub(crate) fn end_progress(&self) {
        if let Some(progress) = self.progress.lock().unwrap_or_else(PoisonError::into_inner).take() {
            progress.clear();
        }
    }

    /// Returns the reason why the simulation was ended from outside, if it was.
    pub(crate) fn cause(&self) -> Option<Cause> {
        self.cause.get().copied()
    }
}

impl Cause {
    /// The exit code of the process; at the time limit that of `pelago run`.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Self::Signal(signal) => 128 + signal,
            Self::TimeLimit(_) => 4,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => {
                write!(f, "interrupted by signal {signal}")?;
                signal_name(*signal).map_or(Ok(()), |name| write!(f, " ({name})"))
            }
            Self::TimeLimit(limit) => write!(f, "the time limit of {} s has passed", limit.as_secs_f64()),
        }
    }
}

/// The state of the thread.
struct MonitorThread {
    /// Becomes readable when a signal has arrived.
    bell: UnixStream,
    /// The most recent signal.
    signal: Arc<AtomicUsize>,
    watch: Arc<SimulationControl>,
    cause: Arc<OnceLock<Cause>>,
    progress: Arc<Mutex<Option<Progress>>>,
    /// Whether progress was requested.
    shows: bool,
}

/// The progress of a simulation, as lines on standard error.
struct Progress {
    ranks: u32,
    /// Number of events and time at the last check.
    last: (u64, Instant),
    looks: u32,
    is_terminal: bool,
}

impl Progress {
    fn new(ranks: u32) -> Self {
        Self { ranks, last: (0, Instant::now()), looks: 0, is_terminal: stderr().is_terminal() }
    }

    fn show(&mut self, snapshot: &SimulationSnapshot) {
        let now = Instant::now();
        self.looks += 1;
        if !self.is_terminal && !self.looks.is_multiple_of(LOOKS_PER_LINE) {
            return;
        }
        let (events, last) = std::mem::replace(&mut self.last, (snapshot.events, now));
        let line = self.line(snapshot, snapshot.events.saturating_sub(events), now.duration_since(last));
        let _ = if self.is_terminal { write!(stderr(), "\r\x1b[K{line}") } else { writeln!(stderr(), "pelago: {line}") };
    }

    /// Returns the text after `events` further events in `time`.
    fn line(&self, snapshot: &SimulationSnapshot, events: u64, time: Duration) -> String {
        let rate = events as f64 / time.as_secs_f64().max(1e-9) / 1e6;
        let (now, total) = (milliseconds(snapshot.now), snapshot.events as f64 / 1e6);
        format!(
            "{now} of virtual time; {} of {} ranks have ended; {total:.1} million events, {rate:.2} million/s",
            snapshot.ended, self.ranks
        )
    }

    fn clear(&self) {
        if self.is_terminal {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

impl MonitorThread {
    fn run(mut self, limit: Option<Duration>) {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let signal = self.wait_and_look(end);
        let cause = signal.map(Cause::Signal).unwrap_or(Cause::TimeLimit(limit.unwrap_or_default()));
        if self.watch.is_over() {
            // The report is being written, or the program goes on without its job.
            give_up(cause, "after its simulation");
        }
        let _ = self.cause.set(cause);
        self.watch.stop();
        let mut before = self.watch.snapshot();
        loop {
            let again = self.wait(Some(Instant::now() + GRACE));
            let now = self.watch.snapshot();
            if let Some(signal) = again {
                give_up(Cause::Signal(signal), &at_work(now));
            }
            if self.watch.is_over() {
                break;
            }
            if now.map(|now| now.ended) == before.map(|before| before.ended) {
                give_up(cause, &at_work(now));
            }
            before = now;
        }
        // The simulation is over, and the process is about to end, which it can do without waiting for this thread.
        if let Some(signal) = self.wait(None) {
            give_up(Cause::Signal(signal), "after its simulation");
        }
    }

    /// Shows the progress of the simulation.
    fn show(&self, snapshot: Option<SimulationSnapshot>) {
        if let (Some(snapshot), Some(progress)) = (snapshot, &mut *self.progress.lock().unwrap_or_else(PoisonError::into_inner)) {
            progress.show(&snapshot);
        }
    }

    /// As `wait`; reports once a rank that runs for seconds without a call, if such ranks are to be interrupted. Shows progress meanwhile.
    fn wait_and_look(&mut self, end: Option<Instant>) -> Option<i32> {
        let (mut before, mut looks, mut running, mut is_named) = (None, 0, None, false);
        loop {
            let look = Instant::now() + LOOK;
            let until = if is_named && !self.shows { end } else { Some(end.map_or(look, |end| end.min(look))) };
            let signal = self.wait(until);
            if signal.is_some() || end.is_some_and(|end| Instant::now() >= end) {
                return signal;
            }
            let now = self.watch.snapshot();
            self.show(now);
            if is_named {
                continue;
            }
            let (calls, rank) = (now.and_then(|now| now.calls), now.and_then(|now| now.running));
            running = rank.or(running);
            let silent = now.and_then(|now| now.silent);
            running = silent.or(running);
            looks = if calls.is_some() && calls == before && !self.watch.is_over() { looks + 1 } else { 0 };
            before = calls;
            is_named = silent.is_some() || looks >= LOOKS_MAX;
            if let (true, Some(rank), Some(now)) = (is_named, running, now) {
                let seconds = LOOK.as_secs() * u64::from(LOOKS_MAX);
                say(format_args!(
                    "pelago: rank {rank} has run for {seconds} s without a call of the library, at {} of virtual time: a loop that waits for \
                     other ranks has to call the library there; --time-limit ends the job",
                    milliseconds(now.now)
                ));
            }
        }
    }

    /// Returns the next signal; `None` if none arrives until the given time.
    fn wait(&mut self, until: Option<Instant>) -> Option<i32> {
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1)));
            // Only a limit of zero is refused.
            let _ = self.bell.set_read_timeout(left);
            match self.bell.read(&mut [0; 64]) {
                Ok(1..) => return Some(self.signal.load(Ordering::SeqCst) as i32),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && until.is_some_and(|until| Instant::now() < until) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && until.is_none() => {}
                _ => return None,
            }
        }
    }
}

/// Describes the running rank of a simulation that does not end, with the virtual time.
fn at_work(glance: Option<SimulationSnapshot>) -> String {
    let Some(SimulationSnapshot { running, now, .. }) = glance else { return "before its simulation began".into() };
    let who = running.map_or_else(|| "its ranks did not end".into(), |rank| format!("rank {rank} was running, and did not end"));
    format!("at {} of virtual time: {who}", milliseconds(now))
}

/// Writes a line to standard error. A line that cannot be written is lost: a panic, as of `eprintln!`, would end the monitor, or keep reports and the exit
/// code from the user.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    let _ = stderr().write_all(format!("{line}\n").as_bytes());
}

/// Formats a virtual time.
pub(crate) fn milliseconds(time: pelago_base::Instant) -> String {
    format!("{:.3} ms", time.since(pelago_base::Instant::ZERO).as_seconds() * 1e3)
}

/// Ends the process at any point; removes files that are being written.
fn give_up(cause: Cause, when: &str) -> ! {
    files::discard();
    say(format_args!("pelago: {cause}; the job was ended {when}"));
    exit(cause.exit_code())
}
