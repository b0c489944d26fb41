//! The launcher on a host, as far as it listens to the launcher of the job: passes on what happens, and does what it is told.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use pelago_base::{Instant, Rank};
use pelago_platform::Fault;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

use crate::launcher::cluster::protocol::frame::{Frame, parse};
use crate::launcher::cluster::protocol::link::Link;
use crate::launcher::cluster::protocol::message::{Down, Plan, Up};
use crate::launcher::job::controller::{Event, Lead};
use crate::launcher::job::state_machine::{Action, Census};
use crate::launcher::limits::{COLLECT, DOWN_BYTES_MAX, LEADER_SILENCE, ROOM_BYTES, WAITING_BYTES_MAX};
use crate::launcher::system::call_error::Refusal;

/// Speaks for a host.
pub(crate) struct Deputy {
    link: Link,
    /// When the launcher of the job last said something.
    heard: Instant,
    /// Whether it will say nothing any more.
    is_left: bool,
    /// What it said that has not been acted on.
    told: Told,
    /// Whether the job ends.
    is_ending: bool,
    /// Whether it was told what the ranks have found.
    has_told: bool,
    unstarted: u32,
    /// Ranks that were started and have not ended.
    running: u32,
    /// When ranks that cannot be killed are left to the kernel.
    give_up_at: Option<Instant>,
    /// The last meeting that it knows of.
    met: u64,
    /// How much of each stream may be sent: less than nothing if the last piece was larger than the room.
    room: [i64; 2],
}

/// Things said, each the last of its kind.
#[derive(Default)]
struct Told {
    plan: Option<Box<Plan>>,
    start: Option<Start>,
    meeting: Option<u64>,
    fault: Option<Fault>,
    lost: VecDeque<Rank>,
    condemned: VecDeque<Rank>,
    terminate: bool,
    kill: bool,
    ping: Option<u64>,
}

/// What is known when all hosts are ready.
pub(crate) struct Start {
    /// The first rank of each host and where that receives datagrams; none without a network.
    pub(crate) hosts: Vec<(u32, SocketAddr)>,
    pub(crate) heap_bytes: u64,
}

impl Deputy {
    /// Listens to `input` and speaks to `output`.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, now: Instant) -> Result<Self, Refusal> {
        Ok(Self {
            link: Link::new(input, output, DOWN_BYTES_MAX)?,
            heard: now,
            is_left: false,
            told: Told::default(),
            is_ending: false,
            has_told: false,
            unstarted: 0,
            running: 0,
            give_up_at: None,
            met: 0,
            room: [ROOM_BYTES as i64; 2],
        })
    }

    /// Says something.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        if !self.is_left {
            self.link.send(message);
        }
    }

    /// The part of the host, once it is known.
    pub(crate) fn take_plan(&mut self) -> Option<Box<Plan>> {
        self.told.plan.take()
    }

    /// What every host knows when all are ready; from then on the host starts `count` ranks.
    pub(crate) fn take_start(&mut self, count: u32) -> Option<Start> {
        let start = self.told.start.take()?;
        self.unstarted = count;
        Some(start)
    }

    /// Whether there is nothing more to do for the job.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.is_left || self.is_ending
    }

    /// Whether something that was said has not been taken by the other side.
    pub(crate) fn is_heard(&self) -> bool {
        self.is_left || self.link.waiting_bytes() == 0
    }

    /// Takes what the launcher of the job has said.
    fn listen(&mut self, now: Instant) {
        if !self.is_left && !self.link.receive() {
            self.leave();
        }
        while !self.is_left {
            match self.link.take() {
                Ok(None) => return,
                Ok(Some(Frame::Message(message))) => {
                    self.heard = now;
                    match parse(message) {
                        Ok(message) => self.understand(message),
                        Err(_) => self.leave(),
                    }
                }
                Ok(Some(Frame::Output { .. })) | Err(_) => self.leave(),
            }
        }
    }

    fn understand(&mut self, message: Down) {
        match message {
            Down::Plan(plan) => self.told.plan = Some(plan),
            Down::Start { hosts, heap_bytes } => self.told.start = Some(Start { hosts, heap_bytes }),
            Down::Release(meeting) => self.told.meeting = Some(meeting),
            Down::Fault(trouble) => {
                self.told.fault = Some(trouble.into());
                self.end();
            }
            Down::Lost(rank) => self.told.lost.push_back(Rank::new(rank)),
            Down::KillOne(rank) => self.told.condemned.push_back(Rank::new(rank)),
            Down::Terminate => {
                self.told.terminate = true;
                self.end();
            }
            Down::Kill => {
                self.told.kill = true;
                self.end();
            }
            Down::Ping(round) => self.told.ping = Some(round),
            Down::Room { stream, bytes } => {
                if let Some(room) = self.room.get_mut(stream) {
                    *room = room.saturating_add_unsigned(bytes);
                }
            }
        }
    }

    /// The launcher of the job is gone: so must the ranks be.
    fn leave(&mut self) {
        self.is_left = true;
        self.told.kill = true;
        self.end();
    }

    fn end(&mut self) {
        self.is_ending = true;
        self.unstarted = 0;
    }
}

impl Lead for Deputy {
    fn handle(&mut self, _now: Instant, event: Event) {
        match event {
            Event::Started => {
                self.running += 1;
                self.unstarted -= 1;
                if self.unstarted == 0 {
                    self.send(&Up::Started);
                }
            }
            Event::NotStarted(rank, why) => {
                self.unstarted = 0;
                self.send(&Up::NotStarted { rank: rank.number(), why });
            }
            Event::Ended(process, end, stage) => {
                self.running = self.running.saturating_sub(1);
                self.send(&Up::Ended { rank: process.rank.number(), end, stage });
            }
            Event::Fault(fault, _) if !self.has_told => {
                self.has_told = true;
                self.send(&Up::Fault(fault.into()));
            }
            Event::Met(meeting) if meeting > self.met => {
                self.met = meeting;
                self.send(&Up::Arrived(meeting));
            }
            Event::Signal(signal) => self.send(&Up::Signal(signal)),
            Event::Survives => self.send(&Up::Survives),
            Event::Stopped(process) => self.send(&Up::Stopped { rank: process.rank.number() }),
            Event::Continued(rank) => self.send(&Up::Continued { rank: rank.number() }),
            Event::Fault(..) | Event::Met(_) => {}
        }
    }

    fn handle_time(&mut self, now: Instant) {
        if !self.is_left && now >= self.heard + LEADER_SILENCE {
            self.leave();
        }
        if self.give_up_at.is_some_and(|end| now >= end) {
            self.running = 0;
        }
    }

    fn wants_census(&self, _now: Instant) -> bool {
        self.told.ping.is_some()
    }

    fn handle_census(&mut self, _now: Instant, census: Census) {
        if let Some(round) = self.told.ping.take() {
            let absent = census.absent.map(|process| process.rank.number());
            self.send(&Up::Pong { round, joined: census.joined, absent, absent_besides: census.absent_besides });
        }
    }

    fn wants_start(&self) -> bool {
        self.unstarted > 0
    }

    fn is_over(&self) -> bool {
        self.unstarted == 0 && self.running == 0
    }

    fn is_ending(&self) -> bool {
        self.is_ending
    }

    fn poll_action(&mut self, now: Instant) -> Option<Action> {
        if self.told.kill {
            self.give_up_at.get_or_insert(now + COLLECT);
        }
        let told = &mut self.told;
        let meeting = told.meeting.take().map(Action::Release);
        meeting
            .or_else(|| told.fault.take().map(Action::Tell))
            .or_else(|| told.lost.pop_front().map(Action::Lose))
            .or_else(|| told.condemned.pop_front().map(Action::KillOne))
            .or_else(|| std::mem::take(&mut told.terminate).then_some(Action::Terminate))
            .or_else(|| std::mem::take(&mut told.kill).then_some(Action::Kill))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let silence = (!self.is_left).then(|| self.heard + LEADER_SILENCE);
        silence.into_iter().chain(self.give_up_at).min()
    }

    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        if !self.is_left {
            self.room[stream] -= bytes.len() as i64;
            self.link.send_output(stream, rank, bytes);
        }
    }

    fn has_room(&self, stream: usize) -> bool {
        self.is_left || self.room[stream] > 0 && self.link.waiting_bytes() < WAITING_BYTES_MAX
    }

    fn interest(&self) -> impl Iterator<Item = PollFd<'_>> {
        let input = self.link.input();
        let input = (!self.is_left).then(|| PollFd::from_borrowed_fd(input, PollFlags::IN));
        input.into_iter().chain(self.link.interest())
    }

    fn pump(&mut self, now: Instant) -> bool {
        self.link.flush();
        self.listen(now);
        !self.is_left && (self.link.waiting_bytes() > 0 || self.room.iter().any(|room| *room <= 0))
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use pelago_base::Duration;
    use pelago_shm::RankStage;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;
    use crate::launcher::cluster::protocol::message::Trouble;
    use crate::launcher::job::outcome::{Place, Process};
    use crate::launcher::job::state_machine::End;
    use crate::launcher::limits::UP_BYTES_MAX;

    const START: Down = Down::Start { hosts: Vec::new(), heap_bytes: 4096 };

    /// A deputy, and the launcher that it listens to.
    fn pair() -> (Deputy, Link) {
        let ((input, to), (from, output)) = (pipe_with(PipeFlags::CLOEXEC).unwrap(), pipe_with(PipeFlags::CLOEXEC).unwrap());
        (Deputy::new(input, output, Instant::ZERO).unwrap(), Link::new(from, to, UP_BYTES_MAX).unwrap())
    }

    /// The same, with two ranks that run.
    fn running() -> (Deputy, Link) {
        let (mut deputy, mut launcher) = pair();
        tell(&mut deputy, &mut launcher, &START);
        assert_eq!(deputy.take_start(2).unwrap().heap_bytes, 4096);
        for _ in 0..2 {
            assert!(deputy.wants_start());
            deputy.handle(Instant::ZERO, Event::Started);
        }
        assert_eq!(heard(&mut launcher), [Up::Started]);
        (deputy, launcher)
    }

    fn tell(deputy: &mut Deputy, launcher: &mut Link, message: &Down) {
        launcher.send(message);
        deputy.pump(Instant::ZERO);
    }

    /// What the launcher hears now; output as the signal of its number of bytes.
    fn heard(launcher: &mut Link) -> Vec<Up> {
        launcher.receive();
        let mut heard = Vec::new();
        while let Some(frame) = launcher.take().unwrap() {
            heard.push(match frame {
                Frame::Message(message) => parse(message).unwrap(),
                Frame::Output { bytes, .. } => Up::Signal(bytes.len() as i32),
            });
        }
        heard
    }

    fn actions(deputy: &mut Deputy) -> Vec<Action> {
        std::iter::from_fn(|| deputy.poll_action(Instant::ZERO)).collect()
    }

    fn ended(rank: u32) -> Event {
        let process = Process { rank: Rank::new(rank), place: Place::Here(7) };
        Event::Ended(process, End::Signal(9), RankStage::Joined)
    }

    #[test]
    fn what_happens_is_passed_on() {
        let (mut deputy, mut launcher) = running();
        deputy.handle(Instant::ZERO, Event::Met(1));
        deputy.handle(Instant::ZERO, Event::Met(1));
        deputy.handle(Instant::ZERO, Event::Fault(Fault::Deadlock, None));
        deputy.handle(Instant::ZERO, Event::Fault(Fault::Deadlock, None));
        deputy.handle(Instant::ZERO, ended(4));
        let process = Process { rank: Rank::new(4), place: Place::Here(7) };
        deputy.handle(Instant::ZERO, Event::Stopped(process));
        deputy.handle(Instant::ZERO, Event::Continued(Rank::new(4)));
        let end = Up::Ended { rank: 4, end: End::Signal(9), stage: RankStage::Joined };
        let stops = [Up::Stopped { rank: 4 }, Up::Continued { rank: 4 }];
        let [stopped, continued] = stops;
        assert_eq!(heard(&mut launcher), [Up::Arrived(1), Up::Fault(Trouble::Deadlock), end, stopped, continued], "each once");
        assert!(!deputy.is_over());
        deputy.handle(Instant::ZERO, ended(5));
        assert!(deputy.is_over() && !deputy.is_ending());
    }

    #[test]
    fn what_is_said_is_done() {
        let (mut deputy, mut launcher) = running();
        tell(&mut deputy, &mut launcher, &Down::Release(3));
        assert!(actions(&mut deputy) == [Action::Release(3)] && !deputy.is_ending());
        tell(&mut deputy, &mut launcher, &Down::KillOne(4));
        assert!(actions(&mut deputy) == [Action::KillOne(Rank::new(4))] && !deputy.is_ending());
        for message in [Down::Fault(Trouble::Lost(9)), Down::Terminate, Down::Kill] {
            tell(&mut deputy, &mut launcher, &message);
        }
        assert_eq!(actions(&mut deputy), [Action::Tell(Fault::PeerLost(Rank::new(9))), Action::Terminate, Action::Kill]);
        assert!(deputy.is_ending() && actions(&mut deputy).is_empty());
    }

    #[test]
    fn ranks_that_are_not_started_yet_need_not_be_when_the_job_ends() {
        for message in [Down::Fault(Trouble::Aborted), Down::Terminate, Down::Kill] {
            let (mut deputy, mut launcher) = pair();
            tell(&mut deputy, &mut launcher, &START);
            assert!(deputy.take_start(2).is_some() && !deputy.is_over());
            tell(&mut deputy, &mut launcher, &message);
            assert!(!deputy.wants_start() && deputy.is_over());
        }
    }

    #[test]
    fn questions_are_answered_with_how_the_ranks_do() {
        let (mut deputy, mut launcher) = running();
        assert!(!deputy.wants_census(Instant::ZERO));
        tell(&mut deputy, &mut launcher, &Down::Ping(5));
        assert!(deputy.wants_census(Instant::ZERO));
        let absent = Process { rank: Rank::new(4), place: Place::Here(7) };
        deputy.handle_census(Instant::ZERO, Census { joined: true, absent: Some(absent), absent_besides: 1 });
        assert_eq!(heard(&mut launcher), [Up::Pong { round: 5, joined: true, absent: Some(4), absent_besides: 1 }]);
        assert!(!deputy.wants_census(Instant::ZERO));
    }

    #[test]
    fn output_waits_for_room() {
        let (mut deputy, mut launcher) = running();
        let half = vec![0; ROOM_BYTES as usize / 2 + 1];
        deputy.push(1, Rank::new(0), &half);
        assert!(deputy.has_room(1) && !deputy.pump(Instant::ZERO));
        assert_eq!(heard(&mut launcher), [Up::Signal(half.len() as i32)]);
        deputy.push(1, Rank::new(0), &half);
        assert!(!deputy.has_room(1) && deputy.has_room(0));
        heard(&mut launcher);
        assert!(deputy.pump(Instant::ZERO), "more may be waiting in the pipes of the ranks");
        tell(&mut deputy, &mut launcher, &Down::Room { stream: 1, bytes: 2 });
        assert!(!deputy.has_room(1), "it had sent two bytes more than there was room");
        tell(&mut deputy, &mut launcher, &Down::Room { stream: 1, bytes: 1 });
        assert!(deputy.has_room(1) && !deputy.pump(Instant::ZERO));
        tell(&mut deputy, &mut launcher, &Down::Room { stream: 7, bytes: u64::MAX });
        assert!(!deputy.is_ending(), "there is no such stream");
    }

    #[test]
    fn ranks_end_when_their_leader_is_gone_talks_nonsense_or_is_silent_for_long() {
        let silence = Instant::ZERO + LEADER_SILENCE;
        for way in ["gone", "nonsense", "silent"] {
            let (mut deputy, mut launcher) = running();
            deputy.handle_time(Instant::from_picoseconds(silence.as_picoseconds() - 1));
            assert!(!deputy.is_ending() && deputy.next_deadline() == Some(silence));
            match way {
                "gone" => drop(launcher),
                "nonsense" => launcher.send(&"no message"),
                _ => deputy.handle_time(silence),
            }
            deputy.pump(silence);
            assert!(deputy.is_ending() && deputy.is_dismissed() && deputy.is_heard(), "{way}");
            assert_eq!(actions(&mut deputy), [Action::Kill]);
            deputy.push(0, Rank::new(0), &[0; 1_000_000]);
            assert!(deputy.has_room(0) && !deputy.pump(silence), "nobody is waited for");
            assert_eq!((deputy.interest().count(), deputy.next_deadline()), (0, Some(Instant::ZERO + COLLECT)));
            deputy.handle_time(Instant::ZERO + COLLECT);
            assert!(deputy.is_over(), "ranks that cannot be killed are left");
        }
    }

    #[test]
    fn whoever_leads_is_heard_again_and_again() {
        let (mut deputy, mut launcher) = running();
        launcher.send(&Down::Ping(1));
        let later = Instant::ZERO + Duration::from_milliseconds(30_000);
        deputy.pump(later);
        deputy.handle_time(Instant::ZERO + LEADER_SILENCE);
        assert!(!deputy.is_ending() && deputy.next_deadline() == Some(later + LEADER_SILENCE));
    }
}
