//! The node daemon as a controller: reports events to the launcher of the job, and passes its commands on to the ranks of the host.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use pelago_base::{Instant, Rank};
use pelago_platform::Fault;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

use crate::launcher::cluster::protocol::frame::{LauncherFrame, parse};
use crate::launcher::cluster::protocol::link::FrameLink;
use crate::launcher::cluster::protocol::message::{FromHost, HostAssignment, ToHost};
use crate::launcher::job::controller::{Controller, RankEvent};
use crate::launcher::job::state_machine::{Census, RankAction};
use crate::launcher::limits::{COLLECT, DOWN_BYTES_MAX, LEADER_SILENCE, ROOM_BYTES, WAITING_BYTES_MAX};
use crate::launcher::system::call_error::SystemCallError;

/// One host, with its connection to the launcher of the job.
pub(crate) struct NodeDaemon {
    link: FrameLink,
    /// Time of the launcher's last message.
    heard: Instant,
    /// Whether the launcher has gone.
    is_disconnected: bool,
    /// Commands that have not been executed.
    pending: PendingCommands,
    /// Whether the job ends.
    is_ending: bool,
    /// Whether a fault of the ranks has been reported to the launcher.
    has_told: bool,
    unstarted: u32,
    /// Ranks that were started and have not ended.
    running: u32,
    /// Time at which ranks that cannot be killed are left to the kernel.
    give_up_at: Option<Instant>,
    /// The last barrier of the bootstrap that is known.
    met: u64,
    /// Credit of each stream: negative if the last piece was larger than the credit.
    room: [i64; 2],
}

/// Commands of the launcher that are not executed yet, the latest of each kind.
#[derive(Default)]
struct PendingCommands {
    plan: Option<Box<HostAssignment>>,
    start: Option<StartCommand>,
    meeting: Option<u64>,
    fault: Option<Fault>,
    failed: VecDeque<Rank>,
    to_kill: VecDeque<Rank>,
    terminate: bool,
    kill: bool,
    report: bool,
    ping: Option<u64>,
}

/// The command to start the ranks, when all hosts are ready.
pub(crate) struct StartCommand {
    /// The first rank of each host and its datagram address; empty without a network.
    pub(crate) hosts: Vec<(u32, SocketAddr)>,
    pub(crate) heap_bytes: u64,
}

impl NodeDaemon {
    /// Creates a daemon that reads from `input` and writes to `output`.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd, now: Instant) -> Result<Self, SystemCallError> {
        Ok(Self {
            link: FrameLink::new(input, output, DOWN_BYTES_MAX)?,
            heard: now,
            is_disconnected: false,
            pending: PendingCommands::default(),
            is_ending: false,
            has_told: false,
            unstarted: 0,
            running: 0,
            give_up_at: None,
            met: 0,
            room: [ROOM_BYTES as i64; 2],
        })
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        if !self.is_disconnected {
            self.link.send(message);
        }
    }

    /// Returns the assignment of the host, once it is known.
    pub(crate) fn take_plan(&mut self) -> Option<Box<HostAssignment>> {
        self.pending.plan.take()
    }

    /// Returns the command to start, which all hosts get when all are ready; from then on the host starts `count` ranks.
    pub(crate) fn take_start(&mut self, count: u32) -> Option<StartCommand> {
        let start = self.pending.start.take()?;
        self.unstarted = count;
        Some(start)
    }

    /// Whether nothing is left to do for the job.
    pub(crate) fn is_dismissed(&self) -> bool {
        self.is_disconnected || self.is_ending
    }

    /// Whether the other side has received all messages.
    pub(crate) fn is_flushed(&self) -> bool {
        self.is_disconnected || self.link.waiting_bytes() == 0
    }

    /// Handles the messages of the job's launcher.
    fn listen(&mut self, now: Instant) {
        if !self.is_disconnected && !self.link.receive() {
            self.disconnect();
        }
        while !self.is_disconnected {
            match self.link.take() {
                Ok(None) => return,
                Ok(Some(LauncherFrame::Message(message))) => {
                    self.heard = now;
                    match parse(message) {
                        Ok(message) => self.understand(message),
                        Err(_) => self.disconnect(),
                    }
                }
                Ok(Some(LauncherFrame::Output { .. })) | Err(_) => self.disconnect(),
            }
        }
    }

    fn understand(&mut self, message: ToHost) {
        match message {
            ToHost::Plan(plan) => self.pending.plan = Some(plan),
            ToHost::Start { hosts, heap_bytes } => self.pending.start = Some(StartCommand { hosts, heap_bytes }),
            ToHost::Release(meeting) => self.pending.meeting = Some(meeting),
            ToHost::Fault(wire_fault) => {
                self.pending.fault = Some(wire_fault.into());
                self.end();
            }
            ToHost::RankFailed(rank) => self.pending.failed.push_back(Rank::new(rank)),
            ToHost::KillOne(rank) => self.pending.to_kill.push_back(Rank::new(rank)),
            ToHost::Terminate => {
                self.pending.terminate = true;
                self.end();
            }
            ToHost::Kill => {
                self.pending.kill = true;
                self.end();
            }
            ToHost::Report => self.pending.report = true,
            ToHost::Ping(round) => self.pending.ping = Some(round),
            ToHost::Room { stream, bytes } => {
                if let Some(room) = self.room.get_mut(stream) {
                    *room = room.saturating_add_unsigned(bytes);
                }
            }
        }
    }

    /// Handles the end of the job's launcher: the ranks must end as well.
    fn disconnect(&mut self) {
        self.is_disconnected = true;
        self.pending.kill = true;
        self.end();
    }

    fn end(&mut self) {
        self.is_ending = true;
        self.unstarted = 0;
    }
}

impl Controller for NodeDaemon {
    fn handle(&mut self, _now: Instant, event: RankEvent) {
        match event {
            RankEvent::Started => {
                self.running += 1;
                self.unstarted -= 1;
                if self.unstarted == 0 {
                    self.send(&FromHost::Started);
                }
            }
            RankEvent::NotStarted(rank, why) => {
                self.unstarted = 0;
                self.send(&FromHost::NotStarted { rank: rank.number(), why });
            }
            RankEvent::Ended(process, end, stage) => {
                self.running = self.running.saturating_sub(1);
                self.send(&FromHost::Ended { rank: process.rank.number(), end, stage });
            }
            RankEvent::Fault(fault, _) if !self.has_told => {
                self.has_told = true;
                self.send(&FromHost::Fault(fault.into()));
            }
            RankEvent::Met(meeting) if meeting > self.met => {
                self.met = meeting;
                self.send(&FromHost::Arrived(meeting));
            }
            RankEvent::Signal(signal) => self.send(&FromHost::Signal(signal)),
            RankEvent::FaultTolerant => self.send(&FromHost::FaultTolerant),
            RankEvent::Stopped(process) => self.send(&FromHost::Stopped { rank: process.rank.number() }),
            RankEvent::Continued(rank) => self.send(&FromHost::Continued { rank: rank.number() }),
            RankEvent::Fault(..) | RankEvent::Met(_) => {}
        }
    }

    fn handle_time(&mut self, now: Instant) {
        if !self.is_disconnected && now >= self.heard + LEADER_SILENCE {
            self.disconnect();
        }
        if self.give_up_at.is_some_and(|end| now >= end) {
            self.running = 0;
        }
    }

    fn wants_census(&self, _now: Instant) -> bool {
        self.pending.ping.is_some()
    }

    fn handle_census(&mut self, _now: Instant, census: Census) {
        if let Some(round) = self.pending.ping.take() {
            let Census { joined, absent, absent_besides, still } = census;
            let absent = absent.map(|process| process.rank.number());
            self.send(&FromHost::Pong { round, joined, absent, absent_besides, still });
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

    fn poll_action(&mut self, now: Instant) -> Option<RankAction> {
        if self.pending.kill {
            self.give_up_at.get_or_insert(now + COLLECT);
        }
        let pending = &mut self.pending;
        let meeting = pending.meeting.take().map(RankAction::Release);
        // A report comes before the fault that ends the waits which it shows.
        meeting
            .or_else(|| std::mem::take(&mut pending.report).then_some(RankAction::Report))
            .or_else(|| pending.fault.take().map(RankAction::Tell))
            .or_else(|| pending.failed.pop_front().map(RankAction::ContinueWithout))
            .or_else(|| pending.to_kill.pop_front().map(RankAction::KillOne))
            .or_else(|| std::mem::take(&mut pending.terminate).then_some(RankAction::Terminate))
            .or_else(|| std::mem::take(&mut pending.kill).then_some(RankAction::Kill))
    }

    fn next_deadline(&self) -> Option<Instant> {
        let silence = (!self.is_disconnected).then(|| self.heard + LEADER_SILENCE);
        silence.into_iter().chain(self.give_up_at).min()
    }

    fn push(&mut self, stream: usize, rank: Rank, bytes: &[u8]) {
        if !self.is_disconnected {
            self.room[stream] -= bytes.len() as i64;
            self.link.send_output(stream, rank, bytes);
        }
    }

    fn has_room(&self, stream: usize) -> bool {
        self.is_disconnected || self.room[stream] > 0 && self.link.waiting_bytes() < WAITING_BYTES_MAX
    }

    fn interest(&self) -> impl Iterator<Item = PollFd<'_>> {
        let input = self.link.input();
        let input = (!self.is_disconnected).then(|| PollFd::from_borrowed_fd(input, PollFlags::IN));
        input.into_iter().chain(self.link.interest())
    }

    fn pump(&mut self, now: Instant) -> bool {
        self.link.flush();
        self.listen(now);
        !self.is_disconnected && (self.link.waiting_bytes() > 0 || self.room.iter().any(|room| *room <= 0))
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use pelago_base::Duration;
    use pelago_shm::RankStage;
    use rustix::pipe::{PipeFlags, pipe_with};

    use super::*;
    use crate::launcher::cluster::protocol::message::WireFault;
    use crate::launcher::job::outcome::{ProcessLocation, RankProcess};
    use crate::launcher::job::state_machine::ProcessEnd;
    use crate::launcher::limits::UP_BYTES_MAX;

    const START: ToHost = ToHost::Start { hosts: Vec::new(), heap_bytes: 4096 };

    /// Returns a node daemon, and its launcher.
    fn pair() -> (NodeDaemon, FrameLink) {
        let ((input, to), (from, output)) = (pipe_with(PipeFlags::CLOEXEC).unwrap(), pipe_with(PipeFlags::CLOEXEC).unwrap());
        (NodeDaemon::new(input, output, Instant::ZERO).unwrap(), FrameLink::new(from, to, UP_BYTES_MAX).unwrap())
    }

    /// The same, with two running ranks.
    fn running() -> (NodeDaemon, FrameLink) {
        let (mut daemon, mut launcher) = pair();
        tell(&mut daemon, &mut launcher, &START);
        assert_eq!(daemon.take_start(2).unwrap().heap_bytes, 4096);
        for _ in 0..2 {
            assert!(daemon.wants_start());
            daemon.handle(Instant::ZERO, RankEvent::Started);
        }
        assert_eq!(heard(&mut launcher), [FromHost::Started]);
        (daemon, launcher)
    }

    fn tell(daemon: &mut NodeDaemon, launcher: &mut FrameLink, message: &ToHost) {
        launcher.send(message);
        daemon.pump(Instant::ZERO);
    }

    /// Returns the messages that the launcher receives; output as a signal whose number is the number of bytes.
    fn heard(launcher: &mut FrameLink) -> Vec<FromHost> {
        launcher.receive();
        let mut heard = Vec::new();
        while let Some(frame) = launcher.take().unwrap() {
            heard.push(match frame {
                LauncherFrame::Message(message) => parse(message).unwrap(),
                LauncherFrame::Output { bytes, .. } => FromHost::Signal(bytes.len() as i32),
            });
        }
        heard
    }

    fn actions(daemon: &mut NodeDaemon) -> Vec<RankAction> {
        std::iter::from_fn(|| daemon.poll_action(Instant::ZERO)).collect()
    }

    fn ended(rank: u32) -> RankEvent {
        let process = RankProcess { rank: Rank::new(rank), location: ProcessLocation::Local(7) };
        RankEvent::Ended(process, ProcessEnd::Signal(9), RankStage::Joined)
    }

    #[test]
    fn what_happens_is_passed_on() {
        let (mut daemon, mut launcher) = running();
        daemon.handle(Instant::ZERO, RankEvent::Met(1));
        daemon.handle(Instant::ZERO, RankEvent::Met(1));
        daemon.handle(Instant::ZERO, RankEvent::Fault(Fault::Deadlock, None));
        daemon.handle(Instant::ZERO, RankEvent::Fault(Fault::Deadlock, None));
        daemon.handle(Instant::ZERO, ended(4));
        let process = RankProcess { rank: Rank::new(4), location: ProcessLocation::Local(7) };
        daemon.handle(Instant::ZERO, RankEvent::Stopped(process));
        daemon.handle(Instant::ZERO, RankEvent::Continued(Rank::new(4)));
        let end = FromHost::Ended { rank: 4, end: ProcessEnd::Signal(9), stage: RankStage::Joined };
        let stops = [FromHost::Stopped { rank: 4 }, FromHost::Continued { rank: 4 }];
        let [stopped, continued] = stops;
        assert_eq!(
            heard(&mut launcher),
            [FromHost::Arrived(1), FromHost::Fault(WireFault::Deadlock), end, stopped, continued],
            "each once"
        );
        assert!(!daemon.is_over());
        daemon.handle(Instant::ZERO, ended(5));
        assert!(daemon.is_over() && !daemon.is_ending());
    }

    #[test]
    fn what_is_said_is_done() {
        let (mut daemon, mut launcher) = running();
        tell(&mut daemon, &mut launcher, &ToHost::Release(3));
        assert!(actions(&mut daemon) == [RankAction::Release(3)] && !daemon.is_ending());
        tell(&mut daemon, &mut launcher, &ToHost::KillOne(4));
        assert!(actions(&mut daemon) == [RankAction::KillOne(Rank::new(4))] && !daemon.is_ending());
        for message in [ToHost::Fault(WireFault::PeerLost(9)), ToHost::Terminate, ToHost::Kill] {
            tell(&mut daemon, &mut launcher, &message);
        }
        assert_eq!(
            actions(&mut daemon),
            [RankAction::Tell(Fault::PeerLost(Rank::new(9))), RankAction::Terminate, RankAction::Kill]
        );
        assert!(daemon.is_ending() && actions(&mut daemon).is_empty());
    }

    #[test]
    fn ranks_that_are_not_started_yet_need_not_be_when_the_job_ends() {
        for message in [ToHost::Fault(WireFault::Aborted), ToHost::Terminate, ToHost::Kill] {
            let (mut daemon, mut launcher) = pair();
            tell(&mut daemon, &mut launcher, &START);
            assert!(daemon.take_start(2).is_some() && !daemon.is_over());
            tell(&mut daemon, &mut launcher, &message);
            assert!(!daemon.wants_start() && daemon.is_over());
        }
    }

    #[test]
    fn questions_are_answered_with_how_the_ranks_do() {
        let (mut daemon, mut launcher) = running();
        assert!(!daemon.wants_census(Instant::ZERO));
        tell(&mut daemon, &mut launcher, &ToHost::Ping(5));
        assert!(daemon.wants_census(Instant::ZERO));
        let absent = RankProcess { rank: Rank::new(4), location: ProcessLocation::Local(7) };
        daemon.handle_census(Instant::ZERO, Census { joined: true, absent: Some(absent), absent_besides: 1, still: Some(7) });
        let pong = FromHost::Pong { round: 5, joined: true, absent: Some(4), absent_besides: 1, still: Some(7) };
        assert_eq!(heard(&mut launcher), [pong]);
        assert!(!daemon.wants_census(Instant::ZERO));
    }

    #[test]
    fn output_waits_for_room() {
        let (mut daemon, mut launcher) = running();
        let half = vec![0; ROOM_BYTES as usize / 2 + 1];
        daemon.push(1, Rank::new(0), &half);
        assert!(daemon.has_room(1) && !daemon.pump(Instant::ZERO));
        assert_eq!(heard(&mut launcher), [FromHost::Signal(half.len() as i32)]);
        daemon.push(1, Rank::new(0), &half);
        assert!(!daemon.has_room(1) && daemon.has_room(0));
        heard(&mut launcher);
        assert!(daemon.pump(Instant::ZERO), "more may be waiting in the pipes of the ranks");
        tell(&mut daemon, &mut launcher, &ToHost::Room { stream: 1, bytes: 2 });
        assert!(!daemon.has_room(1), "it had sent two bytes more than there was room");
        tell(&mut daemon, &mut launcher, &ToHost::Room { stream: 1, bytes: 1 });
        assert!(daemon.has_room(1) && !daemon.pump(Instant::ZERO));
        tell(&mut daemon, &mut launcher, &ToHost::Room { stream: 7, bytes: u64::MAX });
        assert!(!daemon.is_ending(), "there is no such stream");
    }

    #[test]
    fn ranks_end_when_their_leader_is_gone_talks_nonsense_or_is_silent_for_long() {
        let silence = Instant::ZERO + LEADER_SILENCE;
        for way in ["gone", "nonsense", "silent"] {
            let (mut daemon, mut launcher) = running();
            daemon.handle_time(Instant::from_picoseconds(silence.as_picoseconds() - 1));
            assert!(!daemon.is_ending() && daemon.next_deadline() == Some(silence));
            match way {
                "gone" => drop(launcher),
                "nonsense" => launcher.send(&"no message"),
                _ => daemon.handle_time(silence),
            }
            daemon.pump(silence);
            assert!(daemon.is_ending() && daemon.is_dismissed() && daemon.is_flushed(), "{way}");
            assert_eq!(actions(&mut daemon), [RankAction::Kill]);
            daemon.push(0, Rank::new(0), &[0; 1_000_000]);
            assert!(daemon.has_room(0) && !daemon.pump(silence), "nobody is waited for");
            assert_eq!((daemon.interest().count(), daemon.next_deadline()), (0, Some(Instant::ZERO + COLLECT)));
            daemon.handle_time(Instant::ZERO + COLLECT);
            assert!(daemon.is_over(), "ranks that cannot be killed are left");
        }
    }

    #[test]
    fn whoever_leads_is_flushed_again_and_again() {
        let (mut daemon, mut launcher) = running();
        launcher.send(&ToHost::Ping(1));
        let later = Instant::ZERO + Duration::from_milliseconds(30_000);
        daemon.pump(later);
        daemon.handle_time(Instant::ZERO + LEADER_SILENCE);
        assert!(!daemon.is_ending() && daemon.next_deadline() == Some(later + LEADER_SILENCE));
    }
}
