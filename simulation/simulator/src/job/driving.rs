//! Drivers of conversations on machines where datagrams take core time: the rank itself drives while it is in the library, events drive while it
//! waits, and its progress thread drives while it computes.
//!
//! A step has a duration: it begins, and ends when that time has passed. At most one step of a rank is in progress at any time. A progress thread
//! runs on a core of its own and does not lengthen the rank's computation.

use pelago_base::{Duration, Rank};
use pelago_platform::{Flags, Operation, PostError, Token};

use super::SimulatedJob;
use super::rank_state::RunState;
use super::tokens::WakeUp;
use crate::protocol::driver::{Load, Step};
use crate::protocol::stations::{StationChanges, StationRequest};

impl SimulatedJob {
    /// Posts an operation of the running rank to `to`; returns how long that takes, and the loads that the caller must send.
    pub(crate) fn post_driven(
        &mut self,
        rank: Rank,
        to: Rank,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(Duration, Vec<Load>), PostError> {
        let (Some(stations), Some(costs)) = (&mut self.stations, &self.datagram_costs) else {
            return Ok((Duration::ZERO, Vec::new()));
        };
        let now = self.network.now();
        self.status.access(rank, || stations.post(now, rank, to, operation, token))?;
        let peer = stations.peer(rank, to);
        let waiting = &mut stations.driver(rank).waiting;
        let loads = match *waiting {
            None if flags.more => {
                *waiting = Some(peer);
                Vec::new()
            }
            Some(other) if flags.more && other == peer => Vec::new(),
            before => {
                if !flags.more {
                    *waiting = None;
                }
                before.filter(|other| *other != peer && !flags.more).into_iter().chain([peer]).map(Load::Full).collect()
            }
        };
        Ok((costs.post, loads))
    }

    /// Ends the holding back of posted operations for later ones; returns the load that must be sent now.
    pub(crate) fn release_driven(&mut self, rank: Rank) -> Option<Load> {
        self.stations.as_mut()?.driver(rank).waiting.take().map(Load::Full)
    }

    /// Whether datagrams take core time.
    pub(crate) fn is_driven(&self) -> bool {
        self.datagram_costs.is_some() && self.stations.is_some()
    }

    /// Returns the remaining time of the step of `rank` that an event has begun; `None` if there is none.
    pub(crate) fn step_left(&mut self, rank: Rank) -> Option<Duration> {
        let now = self.network.now();
        let (_, end) = self.stations.as_mut()?.driver(rank).step?;
        Some(end.since(now))
    }

    /// Records that the running rank makes progress itself.
    pub(crate) fn look_driven(&mut self, rank: Rank) {
        let now = self.network.now();
        if let Some(stations) = &mut self.stations {
            stations.driver(rank).look(now);
        }
    }

    /// Begins to receive a message of `rank`; returns the time until [`end_step`](Self::end_step).
    pub(crate) fn begin_receive(&mut self, rank: Rank) -> Option<(Step, Duration)> {
        self.stations.as_mut()?.begin_receive(rank, &self.datagram_costs.as_ref()?.times)
    }

    /// Begins to send a message of `rank`; returns as `begin_receive`.
    pub(crate) fn begin_send(&mut self, rank: Rank, load: Load) -> Option<(Step, Duration)> {
        let (stations, costs) = (self.stations.as_mut()?, self.datagram_costs.as_ref()?);
        let (now, mut changes) = (self.network.now(), StationChanges::default());
        let begun = self.status.access(rank, || stations.begin_send(now, rank, load, &costs.times, &mut changes));
        if let Some((Step::Send(number), time)) = begun {
            let (latency, overlap) = (costs.latency, costs.overlap);
            // The message may depart before its sender has finished the step.
            let after = self.step_time(rank, time) + latency - overlap;
            let requests = self.stations.as_mut()?.leave(now, number, self.per_node, after);
            self.perform(requests);
        }
        self.note_failed_peers(changes);
        begun
    }

    /// Whether `rank` has anything to send, acknowledgements included.
    pub(crate) fn has_work(&self, rank: Rank) -> bool {
        self.stations.as_ref().is_some_and(|stations| stations.has_work(rank))
    }

    /// Ends a step whose time has passed.
    pub(crate) fn end_step(&mut self, rank: Rank, step: Step) {
        let now = self.network.now();
        if let (Step::Receive(number), Some(stations)) = (step, &mut self.stations) {
            self.status.access(rank, || stations.receive(now, number));
        }
        self.set_timer(rank);
    }

    /// Sets the timer of a rank's station after it was used.
    pub(crate) fn set_timer(&mut self, rank: Rank) {
        let now = self.network.now();
        let request = self.stations.as_mut().and_then(|stations| stations.timer(now, rank));
        self.perform(request);
    }

    fn perform(&mut self, requests: impl IntoIterator<Item = StationRequest>) {
        let now = self.network.now();
        for request in requests {
            match request {
                StationRequest::Send { number, datagram, from, delay } => {
                    // Ranks of one node communicate without the network.
                    let wake_up = match datagram {
                        pelago_netsim::NetworkOperation::Datagram { from, to, .. } if from == to => WakeUp::Arrival { number },
                        _ => WakeUp::Datagram { number },
                    };
                    self.network.wake_at(now + delay, from.number(), wake_up.token());
                }
                StationRequest::Timer { rank, at } => {
                    let rank = rank.number();
                    self.network.wake_at(at, rank, WakeUp::Station { rank }.token());
                }
            }
        }
    }

    /// Handles a message that arrives through the network.
    pub(super) fn receive_driven(&mut self, number: u32) {
        let Some(stations) = &mut self.stations else { return };
        let rank = stations.arrive(number);
        self.network.consume(rank.number() / self.per_node);
        self.attend(rank);
    }

    /// Handles a message that arrives from a rank of the same node.
    pub(super) fn arrive_driven(&mut self, number: u32) {
        let Some(stations) = &mut self.stations else { return };
        let rank = stations.arrive(number);
        self.attend(rank);
    }

    /// Starts the pending work of a rank's driver: now if the rank waits, by its progress thread if it computes. A running rank does the work itself.
    pub(super) fn attend(&mut self, rank: Rank) {
        let (Some(stations), Some(costs)) = (&mut self.stations, &self.datagram_costs) else { return };
        let now = self.network.now();
        match self.ranks[rank.index()].state {
            // The rank needs a core for this work, so it is woken.
            RunState::Parked(_) | RunState::Polling if self.cores.is_some() => {
                if stations.has_mail(rank) || stations.has_work(rank) {
                    self.make_ready(rank.number(), false);
                } else {
                    // The timer that called may have been early, as its deadline has moved meanwhile.
                    self.set_timer(rank);
                }
            }
            RunState::Parked(_) | RunState::Polling | RunState::Ended => self.step_by_event(rank),
            RunState::Asleep if stations.driver(rank).called.is_none() => {
                let at = stations.driver(rank).attends_at(now, costs.wake);
                stations.driver(rank).called = Some(at);
                self.network.wake_at(at, rank.number(), WakeUp::Attend { rank: rank.number() }.token());
            }
            // If ranks are not coroutines, they do not drive their own progress here.
            RunState::Ready if !self.has_coroutines => self.step_by_event(rank),
            RunState::Asleep | RunState::Ready => {}
        }
    }

    /// Runs the progress thread of a rank, if the rank still computes.
    pub(super) fn attend_computing(&mut self, rank: Rank) {
        let Some(stations) = &mut self.stations else { return };
        let driver = stations.driver(rank);
        driver.called = None;
        if self.ranks[rank.index()].state == RunState::Asleep {
            driver.listens = true;
            self.step_by_event(rank);
        }
    }

    /// Begins the next step of a rank that does not make progress itself, unless a step is in progress.
    fn step_by_event(&mut self, rank: Rank) {
        let Some(stations) = &mut self.stations else { return };
        let now = self.network.now();
        if stations.driver(rank).step.is_some() {
            return;
        }
        let begun = self.begin_receive(rank).or_else(|| self.begin_send(rank, Load::Any { patient: false }));
        let Some((step, time)) = begun else { return self.set_timer(rank) };
        let time = self.step_time(rank, time);
        if let Some(stations) = &mut self.stations {
            stations.driver(rank).step = Some((step, now + time));
        }
        self.network.wake_at(now + time, rank.number(), WakeUp::Step { rank: rank.number() }.token());
    }

    /// Ends a step that an event has begun. A waiting rank with new completions or incoming writes is woken and continues itself.
    pub(super) fn end_step_by_event(&mut self, rank: Rank) {
        let Some((step, _)) = self.stations.as_mut().and_then(|stations| stations.driver(rank).step.take()) else { return };
        self.end_step(rank, step);
        if self.stations.as_mut().is_some_and(|stations| stations.has_news(rank)) {
            self.make_ready(rank.number(), false);
        }
        if self.ranks[rank.index()].state != RunState::Ready || !self.has_coroutines {
            self.step_by_event(rank);
        }
    }
}
