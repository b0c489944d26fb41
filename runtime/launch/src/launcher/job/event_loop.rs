//! The event loop of a host: starts its ranks, converts their ends, output and signals to events, and executes the resulting actions.

use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Clock, Fault};
use pelago_shm::{HostMemory, RankStage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Rlimit, Signal, getpid, set_child_subreaper};
use signal_hook::consts::SIGQUIT;

use crate::launcher::error::reason;
use crate::launcher::job::controller::{Controller, RankEvent};
use crate::launcher::job::state_machine::{Census, RankAction};
use crate::launcher::limits::{COLLECT, READER, STARTS_PER_ROUND, STARTS_PER_ROUND_LIMIT, WATCH};
use crate::launcher::output::lines::LineSink;
use crate::launcher::output::stream::OutputStream;
use crate::launcher::process::child::{ChildProcess, ChildProcesses};
use crate::launcher::process::guard::ProcessGuard;
use crate::launcher::process::oom_kills::OomKills;
use crate::launcher::process::orphans::Orphans;
use crate::launcher::process::signals::Signals;
use crate::launcher::process::stopped_ranks::StoppedRanks;
use crate::launcher::system::call_error::{NamedCall, SystemCallError};
use crate::launcher::system::poll_set::PollSet;
use crate::launcher::system::program::start_error;
use crate::system::report::{HostReport, monotonic_ns};
use crate::system::stillness::{is_stopped, stillness};
use crate::{OsClock, names};

/// The number of the stream.
const STANDARD_ERROR: usize = 1;

/// Maximum pause between two checks for killed processes.
const COLLECT_PAUSE_MAX: Duration = Duration::from_milliseconds(5);

/// The resources with which the ranks of a host are started.
pub(crate) struct JobResources<'a, C> {
    /// The memory of the host, and its descriptor.
    pub(crate) host: &'a HostMemory,
    pub(crate) memory: BorrowedFd<'a>,
    /// One per rank, in their order; empty without a network.
    pub(crate) sockets: Vec<UdpSocket>,
    /// The two ends of the pipe to which the last rank of the host to enter a barrier of the bootstrap writes; `None` if the job has no other hosts.
    pub(crate) call: Option<(BorrowedFd<'a>, BorrowedFd<'a>)>,
    /// Whether rank 0 has this process's standard input.
    pub(crate) input: bool,
    /// Returns the command of a rank.
    pub(crate) command: C,
    /// The descriptor limit of the ranks.
    pub(crate) limit: Rlimit,
    /// Maximum time for which a rank may be stopped while others run.
    pub(crate) failure_limit: Duration,
}

/// The ranks of this host while a job runs.
pub(crate) struct RankEventLoop<'a, C, L> {
    host: &'a HostMemory,
    memory: BorrowedFd<'a>,
    /// Sockets of the ranks that are not started: the launcher's copy is closed when a rank has its own.
    sockets: std::vec::IntoIter<UdpSocket>,
    call: Option<(BorrowedFd<'a>, BorrowedFd<'a>)>,
    input: bool,
    command: C,
    limit: Rlimit,
    clock: OsClock,
    ranks: ChildProcesses,
    /// Ranks by their index in `ranks`, then the pipe `call`, then the signals.
    ready: PollSet,
    signals: Signals,
    guard: ProcessGuard,
    streams: [OutputStream; 2],
    stops: StoppedRanks,
    orphans: Orphans,
    kills: OomKills,
    /// Whether the controller knows that the job is fault tolerant.
    fault_tolerant: bool,
    controller: L,
}

impl<'a, C: FnMut(Rank) -> Command, L: Controller> RankEventLoop<'a, C, L> {
    /// Creates a job whose ranks are started with `supplies`. If the system refuses, the controller comes back, which may report it.
    pub(crate) fn new(supplies: JobResources<'a, C>, clock: OsClock, controller: L) -> Result<Self, (SystemCallError, L)> {
        let Watches { ready, signals, guard, streams } = match Watches::new(supplies.host, supplies.call) {
            Ok(watches) => watches,
            Err(error) => return Err((error, controller)),
        };
        let JobResources { host, memory, sockets, call, input, command, limit, failure_limit } = supplies;
        // This process becomes the parent of orphans of the ranks and collects them; if this is refused, the system does.
        let _ = set_child_subreaper(Some(getpid()));
        let (sockets, ranks) = (sockets.into_iter(), ChildProcesses::default());
        let (stops, kills) = (StoppedRanks::new(failure_limit, clock.now()), OomKills::note());
        let orphans = Orphans::new(clock.now());
        Ok(Self {
            host,
            memory,
            sockets,
            call,
            input,
            command,
            limit,
            clock,
            ranks,
            ready,
            signals,
            guard,
            streams,
            stops,
            orphans,
            kills,
            fault_tolerant: false,
            controller,
        })
    }

    /// Runs from the start of the first rank to the end of the last and the last byte of their output. Returns the controller.
    pub(crate) fn run(mut self) -> Result<L, SystemCallError> {
        while !self.controller.is_over() {
            self.start_some();
            self.wait()?;
            self.look()?;
            self.pump()?;
            self.act();
        }
        // A process that has left the group of its rank is not ended with it: it may join only now, or wait for ranks that have ended.
        self.host.fail(Fault::Aborted);
        self.collect()?;
        self.drain()?;
        Ok(self.controller)
    }

    /// Waits for a limited time for processes in the groups of the ranks, which have all ended and whose groups were killed.
    fn collect(&mut self) -> Result<(), SystemCallError> {
        let end = self.clock.now() + COLLECT;
        let mut pause = Duration::from_microseconds(50);
        while !self.ranks.0.iter_mut().all(ChildProcess::is_gone) && self.clock.now() < end {
            self.sleep(pause)?;
            pause = (pause + pause).min(COLLECT_PAUSE_MAX);
            let now = self.clock.now();
            for number in self.ready.poll()? {
                self.note(number as usize, now)?;
            }
            self.pump()?;
        }
        Ok(())
    }

    /// Starts the next ranks; between rounds the running ones are handled.
    fn start_some(&mut self) {
        let mut round = StartRound::new(self.clock.now());
        while self.controller.wants_start() && round.takes_another(self.clock.now()) {
            let rank = Rank::new(self.host.first().number() + self.ranks.0.len() as u32);
            let event = match self.start(rank) {
                Ok(()) => RankEvent::Started,
                Err(error) => RankEvent::NotStarted(rank, error.to_string()),
            };
            self.controller.handle(self.clock.now(), event);
        }
    }

    fn start(&mut self, rank: Rank) -> std::io::Result<()> {
        let mut command = (self.command)(rank);
        // A process in its own process group may not read the terminal.
        let reads = self.input && rank == Rank::new(0) && !std::io::IsTerminal::is_terminal(&std::io::stdin());
        command.stdin(if reads { Stdio::inherit() } else { Stdio::null() });
        let socket = self.sockets.next();
        let socket = socket.as_ref().map(|socket| (names::SOCKET, socket.as_fd()));
        let call = self.call.map(|(_, call)| (names::CALL, call));
        let descriptors: Vec<_> = [(names::MEMORY, self.memory)].into_iter().chain(socket).chain(call).collect();
        let program = PathBuf::from(command.get_program());
        let named = |error: std::io::Error| match error.raw_os_error() {
            Some(_) => std::io::Error::other(format!("{}: {}", program.display(), reason(&start_error(&program, error)))),
            None => error,
        };
        let started = ChildProcess::start(command, rank, &self.guard, &descriptors, self.limit).map_err(named)?;
        let place = self.ranks.0.len() as u64;
        // From here on the process is ended with the others, whatever fails.
        self.ranks.0.push(started.process);
        if let Some(running) = self.ranks.0.last().and_then(ChildProcess::running) {
            self.ready.add(running, place).map_err(std::io::Error::other)?;
        }
        for (stream, pipe) in self.streams.iter_mut().zip(started.pipes) {
            stream.add(pipe).map_err(std::io::Error::other)?;
        }
        Ok(())
    }

    /// Sleeps until an event or a deadline.
    fn wait(&mut self) -> Result<(), SystemCallError> {
        let now = self.clock.now();
        let deadline = self.controller.next_deadline().map_or(WATCH, |deadline| deadline.since(now).min(WATCH));
        let deadline = deadline.min(self.stops.next().since(now));
        self.sleep(if self.controller.wants_start() { Duration::ZERO } else { deadline })
    }

    /// Handles all events.
    fn look(&mut self) -> Result<(), SystemCallError> {
        let ready = self.ready.poll()?;
        let now = self.clock.now();
        if !self.fault_tolerant && self.host.is_fault_tolerant() {
            self.fault_tolerant = true;
            self.controller.handle(now, RankEvent::FaultTolerant);
        }
        // Before the ends of ranks that result from the fault.
        if let (Some(fault), false) = (self.host.job().fault(), self.controller.is_ending()) {
            let is_it = |rank| fault == Fault::PeerLost(rank) || fault == Fault::Unreachable(rank);
            let concerned = self.ranks.0.iter().find(|process| is_it(process.rank()));
            self.controller.handle(now, RankEvent::Fault(fault, concerned.map(ChildProcess::process)));
        }
        for number in ready {
            self.note(number as usize, now)?;
        }
        for event in self.stops.look(now, &self.ranks.0, self.host) {
            self.controller.handle(now, event);
        }
        self.orphans.look(now, &self.ranks.0);
        self.controller.handle_time(now);
        self.count(now);
        Ok(())
    }

    /// Handles an event of a number of `ready`.
    fn note(&mut self, number: usize, now: Instant) -> Result<(), SystemCallError> {
        let calls = self.host.count() as usize;
        if let Some(rank) = self.ranks.0.get_mut(number) {
            // Until the end can be collected, its descriptor stays readable.
            if let Some((end, running)) = rank.take_end(&self.guard, &self.kills)? {
                self.ready.remove(running);
                let stage = self.host.control(rank.rank()).map_or(RankStage::Absent, |control| control.stage());
                self.controller.handle(now, RankEvent::Ended(rank.process(), end, stage));
            }
        } else if let (true, Some((end, _))) = (number == calls, self.call) {
            // Bytes written later are read the next time. The read does not block, and the other end stays open.
            let _ = rustix::io::read(end, &mut [0; 64][..]);
            self.controller.handle(now, RankEvent::Met(self.host.meeting()));
        } else if let Some(signal) = self.signals.take(number.saturating_sub(calls + 1)) {
            if signal == SIGQUIT {
                self.report();
                return Ok(());
            }
            self.controller.handle(now, RankEvent::Signal(signal));
        }
        Ok(())
    }

    /// Writes the waits of the ranks of this host to the standard error of the job. The lines are few, so that room is not checked.
    fn report(&mut self) {
        for (rank, line) in HostReport::of(self.host, monotonic_ns()).lines() {
            self.controller.push(STANDARD_ERROR, rank, format!("pelago: {line}\n").as_bytes());
        }
    }

    /// Reports the participation of the ranks, if it is relevant.
    fn count(&mut self, now: Instant) {
        if self.controller.wants_census(now) {
            self.controller.handle_census(now, census(self.host, &self.ranks.0));
        }
    }

    /// Forwards output; `false` if there is none and none is queued.
    fn pump(&mut self) -> Result<bool, SystemCallError> {
        // In this order: if no output is queued, there is room, so that every pipe is read.
        let mut busy = self.controller.pump(self.clock.now());
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if stream.pump(&mut StreamOutput { controller: &mut self.controller, stream: number })? {
                busy = true;
                // A write error is detected immediately.
                self.controller.pump(self.clock.now());
            }
        }
        Ok(busy)
    }

    /// Executes the pending actions on the ranks.
    fn act(&mut self) {
        let now = self.clock.now();
        while let Some(action) = self.controller.poll_action(now) {
            match action {
                RankAction::Release(meeting) => self.host.release(meeting),
                RankAction::Report => self.report(),
                RankAction::Tell(fault) => self.host.fail(fault),
                RankAction::ContinueWithout(rank) => self.go_on_without(rank),
                RankAction::KillOne(rank) => {
                    self.ranks.0.iter().filter(|process| process.rank() == rank).for_each(|process| process.signal(Signal::KILL));
                }
                RankAction::Terminate => self.ranks.0.iter().for_each(|rank| rank.signal(Signal::TERM)),
                RankAction::Kill => self.ranks.0.iter().for_each(|rank| rank.signal(Signal::KILL)),
            }
        }
    }

    /// Notifies the ranks that one has failed, and the controller if a barrier waited only for that rank.
    fn go_on_without(&mut self, rank: Rank) {
        self.host.set_fault_tolerant();
        self.host.mark_failed(rank);
        if self.call.is_some() {
            self.controller.handle(self.clock.now(), RankEvent::Met(self.host.meeting()));
        }
    }

    /// Forwards the output that the ranks, all ended by now, have left in their pipes. Other processes that hold a pipe open are not waited for.
    fn drain(&mut self) -> Result<(), SystemCallError> {
        let begun = self.clock.now();
        let mut finished = false;
        self.streams.iter_mut().for_each(OutputStream::close);
        loop {
            if !self.pump()? {
                if finished {
                    return Ok(());
                }
                finished = true;
                for (number, stream) in self.streams.iter_mut().enumerate() {
                    stream.finish(&mut StreamOutput { controller: &mut self.controller, stream: number });
                }
                self.controller.finish();
                continue;
            }
            if self.controller.is_ending() && self.clock.now().since(begun) >= READER {
                return Ok(());
            }
            // Without queued output, what the pipes still contain is read at once: no event may follow.
            if self.controller.pump(self.clock.now()) {
                self.sleep(WATCH.min(READER))?;
            }
            let now = self.clock.now();
            for number in self.ready.poll()? {
                self.note(number as usize, now)?;
            }
            self.controller.handle_time(now);
            self.count(now);
        }
    }

    fn sleep(&self, pause: Duration) -> Result<(), SystemCallError> {
        let streams = self.streams.iter().enumerate().filter(|(number, _)| self.controller.has_room(*number));
        let ready = PollFd::new(self.ready.descriptor(), PollFlags::IN);
        sleep(pause, streams.map(|(_, stream)| stream.interest()).chain(self.controller.interest()).chain([ready]))
    }
}

/// The parts of the event loop that the system may refuse.
struct Watches {
    ready: PollSet,
    signals: Signals,
    guard: ProcessGuard,
    streams: [OutputStream; 2],
}

impl Watches {
    fn new(host: &HostMemory, call: Option<(BorrowedFd<'_>, BorrowedFd<'_>)>) -> Result<Self, SystemCallError> {
        let (ready, signals, guard) = (PollSet::new()?, Signals::watch().named("sigaction")?, ProcessGuard::start()?);
        if let Some((end, _)) = call {
            ready.add(end, u64::from(host.count()))?;
        }
        for (place, descriptor) in signals.descriptors().enumerate() {
            ready.add(descriptor, u64::from(host.count()) + 1 + place as u64)?;
        }
        let streams = [OutputStream::new(host.first())?, OutputStream::new(host.first())?];
        Ok(Self { ready, signals, guard, streams })
    }
}

/// A stream to the controller.
struct StreamOutput<'a, L> {
    controller: &'a mut L,
    stream: usize,
}

impl<L: Controller> LineSink for StreamOutput<'_, L> {
    fn push(&mut self, rank: Rank, bytes: &[u8]) {
        self.controller.push(self.stream, rank, bytes);
    }

    fn has_room(&self) -> bool {
        self.controller.has_room(self.stream)
    }
}

/// The starts of ranks between two times at which other events are handled.
struct StartRound {
    until: Instant,
    started: u32,
}

impl StartRound {
    fn new(now: Instant) -> Self {
        Self { until: now + STARTS_PER_ROUND_LIMIT, started: 0 }
    }

    /// Counts another start, unless there were enough or they have taken long enough. The first is always taken.
    fn takes_another(&mut self, now: Instant) -> bool {
        let takes = self.started == 0 || self.started < STARTS_PER_ROUND && now < self.until;
        self.started += u32::from(takes);
        takes
    }
}

fn census(host: &HostMemory, ranks: &[ChildProcess]) -> Census {
    let stage = |rank: &ChildProcess| host.control(rank.rank()).map(|control| control.stage());
    let mut absent = ranks.iter().filter(|rank| rank.running().is_some() && stage(rank) == Some(RankStage::Absent));
    Census {
        joined: host.controls().any(|(_, control)| control.stage() != RankStage::Absent),
        absent: absent.next().map(ChildProcess::process),
        absent_besides: absent.count() as u32,
        still: stillness(host).filter(|_| !is_stopped(host)),
    }
}

/// Sleeps until one of the descriptors is ready or the time has passed.
pub(crate) fn sleep<'a>(pause: Duration, descriptors: impl Iterator<Item = PollFd<'a>>) -> Result<(), SystemCallError> {
    let pause = std::time::Duration::from(pause);
    let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
    match poll(&mut descriptors.collect::<Vec<_>>(), Some(&pause)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error).named("poll"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launcher::limits::{PING, PINGS_MAX};

    /// Returns the number of starts of a round if each takes so long, and how long the round takes.
    fn round(each: Duration) -> (u32, Duration) {
        let begin = Instant::ZERO + PING;
        let (mut now, mut round) = (begin, StartRound::new(begin));
        while round.takes_another(now) {
            now = now + each;
        }
        (round.started, now.since(begin))
    }

    #[test]
    fn a_host_that_starts_ranks_slowly_answers_pings_between_them() {
        assert_eq!(round(Duration::from_milliseconds(1)).0, STARTS_PER_ROUND);
        for milliseconds in [20, 100, 500, 2000] {
            let each = Duration::from_milliseconds(milliseconds);
            let (started, took) = round(each);
            assert!(started > 0 && took <= STARTS_PER_ROUND_LIMIT + each, "{milliseconds} ms: {took:?}");
            assert!(took < Duration::from_picoseconds(PING.as_picoseconds() * u64::from(PINGS_MAX)));
        }
    }
}
