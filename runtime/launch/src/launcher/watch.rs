//! The loop that starts the ranks of a job, watches them and ends them.

use std::os::fd::BorrowedFd;
use std::process::{Command, Stdio};

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::{Clock, Fault};
use pelago_shm::{Host, Stage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Rlimit, Signal, getpid, set_child_subreaper};

use super::course::{Action, Census, Course};
use super::guard::Guard;
use super::limits::{READER, STARTS_PER_ROUND, WATCH};
use super::outcome::Outcome;
use super::process::RankProcess;
use super::ready::Ready;
use super::signals::Signals;
use super::stream::Stream;
use crate::OsClock;

/// A job under way.
pub(super) struct Watch<'a, C> {
    host: &'a Host,
    memory: BorrowedFd<'a>,
    command: C,
    limit: Rlimit,
    clock: OsClock,
    ranks: Vec<RankProcess>,
    /// Ranks by their number, then the signals.
    ready: Ready,
    signals: Signals,
    guard: Guard,
    streams: [Stream; 2],
    course: Course,
}

impl<'a, C: FnMut(Rank) -> Command> Watch<'a, C> {
    /// A job whose ranks are started by what `command` returns for each.
    pub(super) fn new(
        (host, memory): (&'a Host, BorrowedFd<'a>),
        command: C,
        limit: Rlimit,
        clock: OsClock,
        course: Course,
        streams: [Stream; 2],
    ) -> std::io::Result<Self> {
        let (ready, signals, guard) = (Ready::new()?, Signals::watch()?, Guard::start()?);
        // Whatever ranks start and leave behind becomes this process's to collect.
        set_child_subreaper(Some(getpid()))?;
        for (place, descriptor) in signals.descriptors().enumerate() {
            ready.add(descriptor, u64::from(host.ranks()) + place as u64)?;
        }
        Ok(Self { host, memory, command, limit, clock, ranks: Vec::new(), ready, signals, guard, streams, course })
    }

    /// From the first rank's start to the last one's end and the last byte of their output.
    pub(super) fn run(mut self) -> Result<Outcome, Errno> {
        while !self.course.is_over() {
            self.start_some();
            self.wait()?;
            self.look()?;
            self.pump()?;
            self.act();
        }
        self.drain()?;
        Ok(self.course.into_outcome())
    }

    /// Starts the next ranks; between rounds those that run are looked at.
    fn start_some(&mut self) {
        for _ in 0..STARTS_PER_ROUND {
            if !self.course.wants_start() {
                return;
            }
            let rank = Rank::new(self.ranks.len() as u32);
            let started = self.start(rank);
            match (started, self.clock.now()) {
                (Ok(()), now) => self.course.handle_start(now),
                (Err(error), now) => self.course.handle_start_failure(now, rank, error.to_string()),
            }
        }
    }

    fn start(&mut self, rank: Rank) -> std::io::Result<()> {
        let mut command = (self.command)(rank);
        // A process group of its own may not read the terminal.
        let reads = rank == Rank::new(0) && !std::io::IsTerminal::is_terminal(&std::io::stdin());
        command.stdin(if reads { Stdio::inherit() } else { Stdio::null() });
        let started = RankProcess::start(command, rank, self.memory, self.limit)?;
        self.guard.add(started.process.process().process);
        self.ranks.push(started.process);
        if let Some(running) = self.ranks.last().and_then(RankProcess::running) {
            self.ready.add(running, u64::from(rank.number()))?;
        }
        for (stream, pipe) in self.streams.iter_mut().zip(started.pipes) {
            stream.add(pipe)?;
        }
        Ok(())
    }

    /// Sleeps until something happens or a moment has come.
    fn wait(&mut self) -> Result<(), Errno> {
        let now = self.clock.now();
        let deadline = self.course.next_deadline().map_or(WATCH, |deadline| deadline.since(now).min(WATCH));
        let pause = if self.course.wants_start() { Duration::ZERO } else { deadline };
        sleep(pause, self.streams.iter().flat_map(Stream::interest).chain([PollFd::new(self.ready.descriptor(), PollFlags::IN)]))
    }

    /// Takes notice of what has happened.
    fn look(&mut self) -> Result<(), Errno> {
        let ready = self.ready.poll()?;
        let now = self.clock.now();
        // Before the ends that follow from it.
        if let (Some(fault), false) = (self.host.job().fault(), self.course.is_ending()) {
            let lost = if let Fault::PeerLost(rank) = fault { self.ranks.get(rank.index()) } else { None };
            self.course.handle_fault(now, fault, lost.map(RankProcess::process));
        }
        for number in ready {
            self.note(number as usize, now)?;
        }
        let (host, ranks) = (self.host, &self.ranks);
        self.course.handle_time(now, || census(host, ranks));
        Ok(())
    }

    /// Takes notice of what stands behind a number of `ready`.
    fn note(&mut self, number: usize, now: Instant) -> Result<(), Errno> {
        if let Some(rank) = self.ranks.get_mut(number) {
            if let Some(running) = rank.running() {
                self.ready.remove(running);
            }
            if let Some(end) = rank.take_end(&self.guard)? {
                let stage = self.host.control(rank.process().rank).map_or(Stage::Absent, |control| control.stage());
                self.course.handle_end(now, rank.process(), end, stage);
            }
        } else if let Some(signal) = self.signals.take(number - self.host.ranks() as usize) {
            self.course.handle_signal(now, signal);
        }
        Ok(())
    }

    /// Passes output on.
    fn pump(&mut self) -> Result<bool, Errno> {
        let mut busy = false;
        for stream in &mut self.streams {
            busy |= stream.pump()?;
            if let Some(error) = stream.broken() {
                self.course.handle_output(self.clock.now(), error);
            }
        }
        Ok(busy)
    }

    /// Does to the ranks what is to be done now.
    fn act(&mut self) {
        let now = self.clock.now();
        while let Some(action) = self.course.poll_action(now) {
            match action {
                Action::Tell(rank) => self.host.fail(Fault::PeerLost(rank)),
                Action::Terminate => self.ranks.iter().for_each(|rank| rank.signal(Signal::TERM)),
                Action::Kill => self.ranks.iter().for_each(|rank| rank.signal(Signal::KILL)),
            }
        }
    }

    /// Passes on what the ranks, all ended by now, have left in their pipes. Whoever else holds a pipe open is not waited for.
    fn drain(&mut self) -> Result<(), Errno> {
        let begun = self.clock.now();
        let mut finished = false;
        loop {
            if !self.pump()? {
                if finished {
                    return Ok(());
                }
                finished = true;
                let [output, error] = &mut self.streams;
                output.finish(false);
                // The line that says how the job ended follows here.
                error.finish(self.course.is_ending());
                continue;
            }
            let now = self.clock.now();
            if self.course.is_ending() && now.since(begun) >= READER {
                return Ok(());
            }
            let signals = PollFd::new(self.ready.descriptor(), PollFlags::IN);
            sleep(WATCH.min(READER), self.streams.iter().flat_map(Stream::interest).chain([signals]))?;
            for number in self.ready.poll()? {
                self.note(number as usize, now)?;
            }
        }
    }
}

fn census(host: &Host, ranks: &[RankProcess]) -> Census {
    let stage = |rank: &RankProcess| host.control(rank.process().rank).map(|control| control.stage());
    let mut absent = ranks.iter().filter(|rank| rank.running().is_some() && stage(rank) == Some(Stage::Absent));
    Census {
        joined: host.controls().any(|(_, control)| control.stage() != Stage::Absent),
        absent: absent.next().map(RankProcess::process),
        absent_besides: absent.count() as u32,
    }
}

fn sleep<'a>(pause: Duration, descriptors: impl Iterator<Item = PollFd<'a>>) -> Result<(), Errno> {
    let pause = std::time::Duration::from(pause);
    let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
    match poll(&mut descriptors.collect::<Vec<_>>(), Some(&pause)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}
