//! The course of a job of several hosts as a state machine: what hosts say goes in with its time, what to tell them comes out.
//!
//! A host is called through its remote shell and greets; when all have greeted, a network is chosen and each gets its plan; when all are
//! ready, all start. From then on the job takes the same course as on one host: how ranks end and what follows from it is decided by
//! [`job::Course`], whose actions go to every host. A host that breaks off, falls silent or says what it cannot mean is lost.

mod host;

use std::collections::VecDeque;
use std::net::SocketAddr;

use pelago_base::{Instant, Rank};
use pelago_platform::Fault;
use pelago_shm::RankStage;
use rustix::io::Errno;

use crate::launcher::cluster::host_list::Placed;
use crate::launcher::cluster::network::{Network, choose};
use crate::launcher::cluster::protocol::message::{Down, Plan, Trouble, Up, VERSION, Work};
use crate::launcher::cluster::state_machine::host::{Host, Phase};
use crate::launcher::job::outcome::Outcome;
use crate::launcher::job::state_machine as job;
use crate::launcher::limits::{HOST_LEAVE, HOST_START, PING, PINGS_MAX};

/// What to do about a host, by its place among the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Send(usize, Down),
    /// There is nothing more to say or to hear.
    HangUp(usize),
}

/// The course of one job.
pub(crate) struct Course {
    job: job::Course,
    work: Work,
    /// By which network ranks reach each other, if they use one.
    network: Option<Way>,
    hosts: Vec<Host>,
    /// Bounded: each event adds a few for each host, and all are taken before the next.
    actions: VecDeque<Action>,
    /// The last meeting to which all ranks have come.
    released: u64,
    /// Questions asked so far, and when the last was.
    round: u64,
    asked_at: Instant,
    ping_at: Instant,
    /// Until when hosts should have ended their ranks.
    kill_end: Option<Instant>,
    now: Instant,
}

/// Which network to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// One by which all hosts reach each other.
    Any,
    /// This one.
    By(Network),
}

impl Course {
    /// A job for `job` ranks on hosts that are being called.
    pub(crate) fn new(job: job::Course, work: Work, network: Option<Way>, hosts: Vec<Placed>, now: Instant) -> Self {
        Self {
            job,
            work,
            network,
            hosts: hosts.into_iter().map(|host| Host::called(host, now)).collect(),
            actions: VecDeque::new(),
            released: 0,
            round: 0,
            asked_at: now,
            ping_at: now + PING,
            kill_end: None,
            now,
        }
    }

    /// Whether no host has anything more to say.
    pub(crate) fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.phase >= Phase::Done)
    }

    /// Whether the job ends for another reason than that its ranks finished.
    pub(crate) fn is_ending(&self) -> bool {
        self.job.is_ending()
    }

    /// Whether there is more to hear of a host.
    pub(crate) fn hears(&self, host: usize) -> bool {
        self.hosts[host].phase < Phase::Done
    }

    /// Whether a rank runs on a host.
    pub(crate) fn has_running(&self, host: usize, rank: Rank) -> bool {
        self.hosts[host].phase == Phase::Running && self.hosts[host].has(rank.number())
    }

    /// How the job ended, once it is over.
    pub(crate) fn into_outcome(self) -> Outcome {
        self.job.into_outcome()
    }

    /// A host said something.
    pub(crate) fn handle_message(&mut self, now: Instant, host: usize, message: Up) {
        if !self.hears(host) {
            return;
        }
        self.handle_sign_of_life(host);
        if self.understand(now, host, message).is_none() {
            self.lose(now, host, "it said what it could not mean then");
        }
        self.settle(now);
    }

    /// A host passed on output.
    pub(crate) fn handle_sign_of_life(&mut self, host: usize) {
        self.hosts[host].unanswered = 0;
    }

    /// Nothing more will come from a host, and why.
    pub(crate) fn handle_loss(&mut self, now: Instant, host: usize, why: &str) {
        self.lose(now, host, why);
        self.settle(now);
    }

    /// This launcher was asked to end the job.
    pub(crate) fn handle_signal(&mut self, now: Instant, signal: i32) {
        self.job.handle_signal(now, signal);
        self.settle(now);
    }

    /// The output cannot be written.
    pub(crate) fn handle_output(&mut self, now: Instant, error: Errno) {
        self.job.handle_output(now, error);
        self.settle(now);
    }

    /// Time has passed.
    pub(crate) fn handle_time(&mut self, now: Instant) {
        self.now = now;
        self.job.handle_time(now);
        for place in 0..self.hosts.len() {
            if self.hosts[place].start_end().is_some_and(|end| now >= end) {
                let seconds = HOST_START.as_seconds();
                let why = format!("it was not ready within {seconds} s; can its remote shell run commands unasked?");
                self.lose(now, place, &why);
            } else if self.kill_end.is_some_and(|end| now >= end) {
                self.lose(now, place, "it did not end its ranks");
            }
        }
        if now >= self.ping_at {
            self.ask(now);
        }
        self.settle(now);
    }

    /// What to do now, if anything; ask again until there is nothing.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to look again without an event.
    pub(crate) fn next_deadline(&self) -> Instant {
        let starts = self.hosts.iter().filter_map(Host::start_end);
        // A limit that has passed waits for the next answers of the hosts, not for time.
        let job = self.job.next_deadline().filter(|deadline| *deadline > self.now);
        starts.chain(job).chain(self.kill_end).fold(self.ping_at, Instant::min)
    }

    /// Takes notice of a message; `None` if the host could not mean it.
    fn understand(&mut self, now: Instant, place: usize, message: Up) -> Option<()> {
        let host = &mut self.hosts[place];
        let phase = host.phase;
        match message {
            Up::Hello { version, reachable } if phase == Phase::Called => {
                host.enter(Phase::Greeted, now);
                host.reachable = Some(reachable);
                if version != VERSION {
                    self.lose(now, place, &format!("it has version {version} of pelago, and here is {VERSION}"));
                } else if self.have_all(Phase::Greeted) {
                    self.plan(now);
                }
            }
            Up::Refused(why) => {
                self.job.handle_unready(now, host.name.clone(), why);
                self.close(place, Phase::Gone);
            }
            Up::Bound { port, heap_bytes } if phase == Phase::Planned && port.is_some() == host.address.is_some() => {
                host.enter(Phase::Bound, now);
                (host.port, host.heap_bytes) = (port, heap_bytes);
                if self.have_all(Phase::Bound) {
                    self.start(now);
                }
            }
            Up::Pong { round, joined, absent, absent_besides } if phase >= Phase::Greeted && round <= self.round => {
                host.answered = host.answered.max(round);
                host.census.joined |= joined;
                host.census.absent = match absent {
                    Some(rank) => Some(host.process(rank)?),
                    None => None,
                };
                host.census.absent_besides = absent_besides;
                self.count();
            }
            _ if phase != Phase::Running => return None,
            Up::Started if !host.started => {
                host.started = true;
                let count = if self.job.is_ending() { 0 } else { host.count };
                (0..count).for_each(|_| self.job.handle_start(now));
            }
            Up::NotStarted { rank, why } if host.has(rank) => {
                let why = format!("{why} (host {})", host.name);
                self.job.handle_start_failure(now, Rank::new(rank), why);
            }
            Up::Arrived(meeting) if meeting >= host.arrived => {
                host.arrived = meeting;
                self.release();
            }
            Up::Ended { rank, end, stage } if host.ended < host.count => {
                host.ended += 1;
                host.census.joined |= stage != RankStage::Absent;
                self.job.handle_end(now, host.process(rank)?, end, stage);
            }
            Up::Fault(trouble) => self.spread(now, place, trouble)?,
            Up::Stopped { rank } => self.job.handle_stop(now, host.process(rank)?),
            Up::Continued { rank } => self.job.handle_continuation(host.process(rank)?.rank),
            Up::Survives => self.job.handle_survival(),
            Up::Signal(signal) => self.job.handle_signal(now, signal),
            Up::Done if host.ended == host.count || self.job.is_ending() => {
                host.census.absent = None;
                self.close(place, Phase::Done);
                self.count();
            }
            _ => return None,
        }
        Some(())
    }

    /// Chooses a network and tells every host its part.
    fn plan(&mut self, now: Instant) {
        let addresses = match self.network {
            None => vec![None; self.hosts.len()],
            Some(way) => {
                let asked = if let Way::By(network) = way { Some(network) } else { None };
                let hosts: Vec<_> = self.hosts.iter().filter_map(|host| host.reachable.as_ref()).collect();
                match choose(&hosts, asked.as_ref()) {
                    Ok(addresses) => addresses.into_iter().map(Some).collect(),
                    Err(error) => {
                        let why = error.to_string();
                        return self.lose(now, error.place, &why);
                    }
                }
            }
        };
        for (place, (host, address)) in self.hosts.iter_mut().zip(addresses).enumerate() {
            host.enter(Phase::Planned, now);
            host.address = address;
            let plan = Plan { first: host.first.number(), count: host.count, address, job: self.work.clone() };
            self.actions.push_back(Action::Send(place, Down::Plan(Box::new(plan))));
        }
    }

    /// Tells every host to start its ranks.
    fn start(&mut self, now: Instant) {
        let address = |host: &Host| Some((host.first.number(), SocketAddr::new(host.address?, host.port?)));
        let hosts: Vec<_> = self.hosts.iter().filter_map(address).collect();
        let least = self.hosts.iter().map(|host| host.heap_bytes).min().unwrap_or(0);
        self.hosts.iter_mut().for_each(|host| host.enter(Phase::Running, now));
        self.tell(&Down::Start { hosts, heap_bytes: self.work.heap_bytes.unwrap_or(least) });
    }

    /// Lets ranks go on from a meeting to which those of every host have come.
    fn release(&mut self) {
        let all = self.hosts.iter().filter(|host| host.phase < Phase::Gone).map(|host| host.arrived).min();
        if let Some(meeting) = all.filter(|meeting| *meeting > self.released && !self.job.is_ending()) {
            self.released = meeting;
            self.tell(&Down::Release(meeting));
        }
    }

    /// Tells all other hosts what the ranks of one have found.
    fn spread(&mut self, now: Instant, place: usize, trouble: Trouble) -> Option<()> {
        let concerned = match trouble {
            Trouble::Lost(rank) | Trouble::Unreachable(rank) => Some(self.hosts.iter().find_map(|host| host.process(rank))?),
            _ => None,
        };
        if !self.job.is_ending() {
            for other in (0..self.hosts.len()).filter(|other| *other != place) {
                self.tell_one(other, Down::Fault(trouble));
            }
        }
        self.job.handle_fault(now, Fault::from(trouble), concerned);
        Some(())
    }

    /// Asks every host for a sign of life; one that left too many questions unanswered is lost.
    fn ask(&mut self, now: Instant) {
        self.round += 1;
        (self.asked_at, self.ping_at) = (now, now + PING);
        for place in 0..self.hosts.len() {
            let host = &mut self.hosts[place];
            if (Phase::Greeted..=Phase::Running).contains(&host.phase) {
                if host.unanswered >= PINGS_MAX {
                    self.lose(now, place, "it does not answer any more");
                } else {
                    host.unanswered += 1;
                    self.actions.push_back(Action::Send(place, Down::Ping(self.round)));
                }
            }
        }
    }

    /// Looks at how all ranks do, when every host has said so since the last question.
    fn count(&mut self) {
        let all = self
            .hosts
            .iter()
            .all(|host| host.phase == Phase::Running && host.answered == self.round || host.phase == Phase::Done);
        if all && self.job.wants_census(self.asked_at) {
            let hosts = || self.hosts.iter().filter(|host| host.census.absent.is_some());
            let absent = hosts().map(|host| host.census.absent_besides.saturating_add(1)).fold(0, u32::saturating_add);
            let census = job::Census {
                joined: self.hosts.iter().any(|host| host.census.joined),
                absent: hosts().next().and_then(|host| host.census.absent.clone()),
                absent_besides: absent.saturating_sub(1),
            };
            self.job.handle_census(self.asked_at, census);
        }
    }

    /// A host says no more, though it should.
    fn lose(&mut self, now: Instant, place: usize, why: &str) {
        let Host { name, first, count, phase, .. } = &self.hosts[place];
        match *phase {
            Phase::Done | Phase::Gone => return,
            Phase::Running => self.job.handle_host_loss(now, name.clone(), *first, *count),
            _ => self.job.handle_unready(now, name.clone(), why.into()),
        }
        self.close(place, Phase::Gone);
        self.release();
    }

    fn close(&mut self, place: usize, phase: Phase) {
        self.hosts[place].phase = phase;
        self.actions.push_back(Action::HangUp(place));
    }

    /// Does what follows from what happened.
    fn settle(&mut self, now: Instant) {
        self.now = now;
        while let Some(action) = self.job.poll_action(now) {
            match action {
                job::Action::Release(meeting) => self.tell(&Down::Release(meeting)),
                job::Action::Tell(fault) => self.tell(&Down::Fault(fault.into())),
                job::Action::Lose(rank) => self.tell(&Down::Lost(rank.number())),
                job::Action::KillOne(rank) => self.tell(&Down::KillOne(rank.number())),
                job::Action::Terminate => self.tell(&Down::Terminate),
                job::Action::Kill => {
                    self.tell(&Down::Kill);
                    self.kill_end = Some(now + HOST_LEAVE);
                }
            }
        }
        // Where no rank runs yet, there is nothing to wait for.
        for place in 0..self.hosts.len() {
            if self.job.is_ending() && self.hosts[place].phase < Phase::Running {
                self.close(place, Phase::Gone);
            }
        }
    }

    /// Tells every host whose ranks run.
    fn tell(&mut self, message: &Down) {
        (0..self.hosts.len()).for_each(|place| self.tell_one(place, message.clone()));
    }

    fn tell_one(&mut self, place: usize, message: Down) {
        if self.hosts[place].phase == Phase::Running {
            self.actions.push_back(Action::Send(place, message));
        }
    }

    fn have_all(&self, phase: Phase) -> bool {
        self.hosts.iter().all(|host| host.phase == phase)
    }
}

#[cfg(test)]
mod tests;
