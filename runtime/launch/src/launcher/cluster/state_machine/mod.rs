//! The job state machine of several hosts: its input is messages of hosts with their times, its output messages to hosts.
//!
//! ```text
//!   phase of a host:  Called --Hello--> Greeted --all greeted: Plan--> Planned --Bound--> Bound --all bound: Start--> Running --Done--> Done
//!                     any phase --closed pipe, silence, unexpected message--> Gone
//! ```
//!
//! The launcher starts the node daemon of a host through a remote shell. When all have greeted, the launcher chooses a network and sends each
//! its assignment; when all are ready, all start their ranks. From then on
//! a [`JobStateMachine`] decides as on one host, and its actions go to every host. A host has failed when its pipe closes, when it leaves pings
//! unanswered, or when it sends an unexpected message.

mod host;

use std::collections::VecDeque;
use std::net::SocketAddr;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use rustix::io::Errno;

use crate::launcher::cluster::host_list::HostRanks;
use crate::launcher::cluster::protocol::message::{FromHost, HostAssignment, JobDescription, ToHost, VERSION, WireFault};
use crate::launcher::cluster::state_machine::host::{HostPhase, HostState};
use crate::launcher::job::outcome::JobOutcome;
use crate::launcher::job::state_machine::{Census, JobStateMachine, RankAction};
use crate::launcher::limits::{HOST_LEAVE, HOST_START, PING, PINGS_MAX};
use crate::system::network::{IpNetwork, choose};

/// An action on a host, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostAction {
    Send(usize, ToHost),
    /// Close the connection: there are no more messages.
    HangUp(usize),
}

/// The state of one job.
pub(crate) struct ClusterStateMachine {
    job: JobStateMachine,
    work: JobDescription,
    /// The network between ranks, if they use one.
    network: Option<NetworkChoice>,
    hosts: Vec<HostState>,
    /// Bounded: each event adds a few per host, and all are taken before the next event.
    actions: VecDeque<HostAction>,
    /// The last barrier of the bootstrap that all ranks have entered.
    released: u64,
    /// Number of pings so far, and the time of the last.
    round: u64,
    asked_at: Instant,
    ping_at: Instant,
    /// Time for which the ranks of all hosts have to be still before a deadlock is declared.
    deadlock_after: Option<Duration>,
    /// The last pings that all hosts answered with the same counts of events, if all were still.
    still: Option<StillRounds>,
    /// Deadline for hosts to end their ranks.
    kill_end: Option<Instant>,
    now: Instant,
}

/// Consecutive pings to which all hosts gave the same answers.
struct StillRounds {
    counts: Vec<u64>,
    /// The last of these pings.
    last: u64,
    /// The number of these pings.
    rounds: u64,
}

/// The choice of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NetworkChoice {
    /// A network that all hosts share.
    Common,
    /// This network.
    Given(IpNetwork),
}

impl ClusterStateMachine {
    /// Creates a job for `job` ranks on hosts whose node daemons are being started.
    pub(crate) fn new(
        job: JobStateMachine,
        work: JobDescription,
        network: Option<NetworkChoice>,
        hosts: Vec<HostRanks>,
        deadlock_after: Option<Duration>,
        now: Instant,
    ) -> Self {
        Self {
            job,
            work,
            network,
            hosts: hosts.into_iter().map(|host| HostState::called(host, now)).collect(),
            actions: VecDeque::new(),
            released: 0,
            round: 0,
            asked_at: now,
            ping_at: now + PING,
            deadlock_after,
            still: None,
            kill_end: None,
            now,
        }
    }

    /// Whether no host will send further messages.
    pub(crate) fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.phase >= HostPhase::Done)
    }

    /// Whether the job ends for another reason than the completion of its ranks.
    pub(crate) fn is_ending(&self) -> bool {
        self.job.is_ending()
    }

    /// Whether a host may send further messages.
    pub(crate) fn hears(&self, host: usize) -> bool {
        self.hosts[host].phase < HostPhase::Done
    }

    /// Whether a rank runs on a host.
    pub(crate) fn has_running(&self, host: usize, rank: Rank) -> bool {
        self.hosts[host].phase == HostPhase::Running && self.hosts[host].has(rank.number())
    }

    /// Returns the outcome of the job, after its end.
    pub(crate) fn into_outcome(self) -> JobOutcome {
        self.job.into_outcome()
    }

    /// Handles a message of a host.
    pub(crate) fn handle_message(&mut self, now: Instant, host: usize, message: FromHost) {
        if !self.hears(host) {
            return;
        }
        self.handle_sign_of_life(host);
        if self.understand(now, host, message).is_none() {
            self.fail_host(now, host, "it sent an unexpected message");
        }
        self.settle(now);
    }

    /// Handles output of a host as a sign of life.
    pub(crate) fn handle_sign_of_life(&mut self, host: usize) {
        self.hosts[host].unanswered = 0;
    }

    /// Handles a host that will send no more messages, with the reason.
    pub(crate) fn handle_host_failure(&mut self, now: Instant, host: usize, why: &str) {
        self.fail_host(now, host, why);
        self.settle(now);
    }

    /// Handles a signal that asks this launcher to end the job.
    pub(crate) fn handle_signal(&mut self, now: Instant, signal: i32) {
        self.job.handle_signal(now, signal);
        self.settle(now);
    }

    /// Requests a report of the waits: each host writes those of its ranks.
    pub(crate) fn ask_for_reports(&mut self) {
        self.tell(&ToHost::Report);
    }

    /// Handles output that cannot be written.
    pub(crate) fn handle_output(&mut self, now: Instant, error: Errno) {
        self.job.handle_output(now, error);
        self.settle(now);
    }

    /// Handles the passage of time.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        self.now = now;
        self.job.handle_time(now);
        for place in 0..self.hosts.len() {
            if self.hosts[place].start_end().is_some_and(|end| now >= end) {
                let seconds = HOST_START.as_seconds();
                let why = format!(
                    "it was not ready within {seconds} s; can its remote shell run commands without asking for a password?"
                );
                self.fail_host(now, place, &why);
            } else if self.kill_end.is_some_and(|end| now >= end) {
                self.fail_host(now, place, "it did not end its ranks");
            }
        }
        if now >= self.ping_at {
            self.ping(now);
        }
        self.settle(now);
    }

    /// Returns the next action, if there is one; to be called until there is none.
    pub(crate) fn poll_action(&mut self) -> Option<HostAction> {
        self.actions.pop_front()
    }

    /// Returns the time of the next check without an event.
    pub(crate) fn next_deadline(&self) -> Instant {
        let starts = self.hosts.iter().filter_map(HostState::start_end);
        // After a limit has expired, the next answers of the hosts are awaited, not a time.
        let job = self.job.next_deadline().filter(|deadline| *deadline > self.now);
        starts.chain(job).chain(self.kill_end).fold(self.ping_at, Instant::min)
    }

    /// Handles a message; `None` if it is unexpected in this phase of the host.
    fn understand(&mut self, now: Instant, place: usize, message: FromHost) -> Option<()> {
        let host = &mut self.hosts[place];
        let phase = host.phase;
        match message {
            FromHost::Hello { version, reachable } if phase == HostPhase::Called => {
                host.enter(HostPhase::Greeted, now);
                host.reachable = Some(reachable);
                if version != VERSION {
                    self.fail_host(now, place, &format!("it has version {version} of pelago, and here is {VERSION}"));
                } else if self.have_all(HostPhase::Greeted) {
                    self.plan(now);
                }
            }
            FromHost::Refused(why) => {
                self.job.handle_unready(now, host.name.clone(), why);
                self.close(place, HostPhase::Gone);
            }
            FromHost::Bound { port, heap_bytes } if phase == HostPhase::Planned && port.is_some() == host.address.is_some() => {
                host.enter(HostPhase::Bound, now);
                (host.port, host.heap_bytes) = (port, heap_bytes);
                if self.have_all(HostPhase::Bound) {
                    self.start(now);
                }
            }
            FromHost::Pong { round, joined, absent, absent_besides, still }
                if phase >= HostPhase::Greeted && round <= self.round =>
            {
                host.answered = host.answered.max(round);
                host.census.joined |= joined;
                host.census.absent = match absent {
                    Some(rank) => Some(host.process(rank)?),
                    None => None,
                };
                (host.census.absent_besides, host.census.still) = (absent_besides, still);
                self.count(now);
            }
            _ if phase != HostPhase::Running => return None,
            FromHost::Started if !host.started => {
                host.started = true;
                let count = if self.job.is_ending() { 0 } else { host.count };
                (0..count).for_each(|_| self.job.handle_start(now));
            }
            FromHost::NotStarted { rank, why } if host.has(rank) => {
                let why = format!("{why} (host {})", host.name);
                self.job.handle_start_failure(now, Rank::new(rank), why);
            }
            FromHost::Arrived(meeting) if meeting >= host.arrived => {
                host.arrived = meeting;
                self.release();
            }
            FromHost::Ended { rank, end, stage } if host.ended < host.count => {
                host.ended += 1;
                host.census.joined |= stage != RankStage::Absent;
                self.job.handle_end(now, host.process(rank)?, end, stage);
            }
            FromHost::Fault(wire_fault) => self.forward_fault(now, place, wire_fault)?,
            FromHost::Stopped { rank } => self.job.handle_stop(now, host.process(rank)?),
            FromHost::Continued { rank } => self.job.handle_continuation(host.process(rank)?.rank),
            FromHost::FaultTolerant => self.job.handle_fault_tolerant(),
            FromHost::Signal(signal) => self.job.handle_signal(now, signal),
            FromHost::Done if host.ended == host.count || self.job.is_ending() => {
                host.census.absent = None;
                self.close(place, HostPhase::Done);
                self.count(now);
            }
            _ => return None,
        }
        Some(())
    }

    /// Chooses a network and sends every host its assignment.
    fn plan(&mut self, now: Instant) {
        let addresses = match self.network {
            None => vec![None; self.hosts.len()],
            Some(way) => {
                let asked = if let NetworkChoice::Given(network) = way { Some(network) } else { None };
                let hosts: Vec<_> = self.hosts.iter().filter_map(|host| host.reachable.as_ref()).collect();
                match choose(&hosts, asked.as_ref()) {
                    Ok(addresses) => addresses.into_iter().map(Some).collect(),
                    Err(error) => {
                        let why = error.to_string();
                        return self.fail_host(now, error.place, &why);
                    }
                }
            }
        };
        for (place, (host, address)) in self.hosts.iter_mut().zip(addresses).enumerate() {
            host.enter(HostPhase::Planned, now);
            host.address = address;
            let plan = HostAssignment { first: host.first.number(), count: host.count, address, job: self.work.clone() };
            self.actions.push_back(HostAction::Send(place, ToHost::Plan(Box::new(plan))));
        }
    }

    /// Makes every host start its ranks.
    fn start(&mut self, now: Instant) {
        let address = |host: &HostState| Some((host.first.number(), SocketAddr::new(host.address?, host.port?)));
        let hosts: Vec<_> = self.hosts.iter().filter_map(address).collect();
        let least = self.hosts.iter().map(|host| host.heap_bytes).min().unwrap_or(0);
        self.hosts.iter_mut().for_each(|host| host.enter(HostPhase::Running, now));
        self.tell(&ToHost::Start { hosts, heap_bytes: self.work.heap_bytes.unwrap_or(least) });
    }

    /// Releases ranks from a barrier that those of every host have entered.
    fn release(&mut self) {
        let all = self.hosts.iter().filter(|host| host.phase < HostPhase::Gone).map(HostState::passed).min();
        if let Some(meeting) = all.filter(|meeting| *meeting > self.released && !self.job.is_ending()) {
            self.released = meeting;
            self.tell(&ToHost::Release(meeting));
        }
    }

    /// Forwards a fault that the ranks of one host have reported to all other hosts.
    fn forward_fault(&mut self, now: Instant, place: usize, wire_fault: WireFault) -> Option<()> {
        let concerned = match wire_fault {
            WireFault::PeerLost(rank) | WireFault::Unreachable(rank) => {
                Some(self.hosts.iter().find_map(|host| host.process(rank))?)
            }
            _ => None,
        };
        if !self.job.is_ending() {
            for other in (0..self.hosts.len()).filter(|other| *other != place) {
                self.tell_one(other, ToHost::Fault(wire_fault));
            }
        }
        self.job.handle_fault(now, Fault::from(wire_fault), concerned);
        Some(())
    }

    /// Sends a ping to every host; a host that left too many pings unanswered has failed.
    fn ping(&mut self, now: Instant) {
        self.round += 1;
        (self.asked_at, self.ping_at) = (now, now + PING);
        for place in 0..self.hosts.len() {
            let host = &mut self.hosts[place];
            if (HostPhase::Greeted..=HostPhase::Running).contains(&host.phase) {
                if host.unanswered >= PINGS_MAX {
                    self.fail_host(now, place, "it no longer answers");
                } else {
                    host.unanswered += 1;
                    self.actions.push_back(HostAction::Send(place, ToHost::Ping(self.round)));
                }
            }
        }
    }

    /// Evaluates the participation of all ranks, after every host has answered the last ping.
    fn count(&mut self, now: Instant) {
        let all = self
            .hosts
            .iter()
            .all(|host| host.phase == HostPhase::Running && host.answered == self.round || host.phase == HostPhase::Done);
        if all {
            self.watch_stillness(now);
        }
        if all && self.job.wants_census(self.asked_at) {
            let hosts = || self.hosts.iter().filter(|host| host.census.absent.is_some());
            let absent = hosts().map(|host| host.census.absent_besides.saturating_add(1)).fold(0, u32::saturating_add);
            let census = Census {
                joined: self.hosts.iter().any(|host| host.census.joined),
                absent: hosts().next().and_then(|host| host.census.absent.clone()),
                absent_besides: absent.saturating_sub(1),
                still: None,
            };
            self.job.handle_census(self.asked_at, census);
        }
    }

    /// Declares a deadlock if the ranks of all hosts were still for the limit, after every host has answered the last ping.
    ///
    /// Each host was still from its first answer to its last, although not all of them answered at the same time: all were from
    /// the second ping to the last. Pings are counted instead of time, as this launcher, or all of the job, may be stopped.
    fn watch_stillness(&mut self, now: Instant) {
        let Some(limit) = self.deadlock_after.filter(|_| !self.job.is_ending()) else { return };
        let count = |host: &HostState| if host.phase == HostPhase::Done { Some(0) } else { host.census.still };
        match (&mut self.still, self.hosts.iter().map(count).collect::<Option<Vec<_>>>()) {
            (Some(still), Some(counts)) if still.counts == counts => {
                still.rounds += u64::from(still.last < self.round);
                still.last = self.round;
                if still.rounds >= limit.as_picoseconds().div_ceil(PING.as_picoseconds()) + 2 {
                    self.ask_for_reports();
                    self.tell(&ToHost::Fault(WireFault::Deadlock));
                    self.job.handle_fault(now, Fault::Deadlock, None);
                }
            }
            (_, counts) => self.still = counts.map(|counts| StillRounds { counts, last: self.round, rounds: 1 }),
        }
    }

    /// Handles a host that sends no more messages, although it should.
    fn fail_host(&mut self, now: Instant, place: usize, why: &str) {
        let HostState { name, first, count, phase, .. } = &self.hosts[place];
        match *phase {
            HostPhase::Done | HostPhase::Gone => return,
            HostPhase::Running => self.job.handle_host_failure(now, name.clone(), *first, *count),
            _ => self.job.handle_unready(now, name.clone(), why.into()),
        }
        self.close(place, HostPhase::Gone);
        self.release();
    }

    fn close(&mut self, place: usize, phase: HostPhase) {
        self.hosts[place].phase = phase;
        self.actions.push_back(HostAction::HangUp(place));
    }

    /// Executes the consequences of an event.
    fn settle(&mut self, now: Instant) {
        self.now = now;
        while let Some(action) = self.job.poll_action(now) {
            match action {
                RankAction::Release(meeting) => self.tell(&ToHost::Release(meeting)),
                RankAction::Tell(fault) => self.tell(&ToHost::Fault(fault.into())),
                RankAction::Report => self.ask_for_reports(),
                RankAction::ContinueWithout(rank) => {
                    self.tell(&ToHost::RankFailed(rank.number()));
                    self.hosts.iter_mut().filter(|host| host.has(rank.number())).for_each(|host| host.failed += 1);
                    // The node daemon of a host without a remaining rank ends, perhaps before it has this message.
                    self.release();
                }
                RankAction::KillOne(rank) => self.tell(&ToHost::KillOne(rank.number())),
                RankAction::Terminate => self.tell(&ToHost::Terminate),
                RankAction::Kill => {
                    self.tell(&ToHost::Kill);
                    self.kill_end = Some(now + HOST_LEAVE);
                }
            }
        }
        // If no rank runs on a host yet, its connection is closed without waiting.
        for place in 0..self.hosts.len() {
            if self.job.is_ending() && self.hosts[place].phase < HostPhase::Running {
                self.close(place, HostPhase::Gone);
            }
        }
    }

    /// Sends a message to every host whose ranks run.
    fn tell(&mut self, message: &ToHost) {
        (0..self.hosts.len()).for_each(|place| self.tell_one(place, message.clone()));
    }

    fn tell_one(&mut self, place: usize, message: ToHost) {
        if self.hosts[place].phase == HostPhase::Running {
            self.actions.push_back(HostAction::Send(place, message));
        }
    }

    fn have_all(&self, phase: HostPhase) -> bool {
        self.hosts.iter().all(|host| host.phase == phase)
    }
}

#[cfg(test)]
mod tests;
