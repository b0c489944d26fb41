//! Deadlines and timeouts of peers.

use pelago_base::{Duration, Event as Counted, Instant, Rank};

use super::{Conversations, NEVER};
use crate::api::{Event, Liveness};
use crate::memory::Memory;
use crate::peer::round_trip::{Patience, scattered};
use crate::peer::{Standing, question_pause};

/// Minimum time between two checks of all peers, per peer: the check of one peer takes a tenth of it.
const LOOK_PAUSE: Duration = Duration::from_nanoseconds(500);

/// The recorded scheduling delay of a rank is at most the failure limit divided by this.
const LATENESS_PART: u64 = 2;

/// Returns the largest scheduling delay that is recorded.
pub(crate) fn lateness_max(failure_limit: Duration) -> Duration {
    Duration::from_picoseconds(failure_limit.as_picoseconds() / LATENESS_PART)
}

impl<M: Memory> Conversations<M> {
    /// Handles the passing of time: checks peers whose deadlines have passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.due {
            return;
        }
        let (late, failure_limit) = (now.since(self.due), self.config.failure_limit);
        self.lateness.note(now, late, lateness_max(failure_limit));
        if late >= failure_limit {
            // This rank was stopped, perhaps with the whole job.
            self.active.iter().for_each(|&index| self.peers[index as usize].restart_silence(now));
        }
        (self.due, self.looked) = (NEVER, now);
        let mut position = 0;
        while let Some(&index) = self.active.get(position) {
            self.look(now, index);
            if self.peers[index as usize].active.is_some() {
                self.look_at(self.deadline(now, index));
                position += 1;
            } else if self.active.get(position) == Some(&index) {
                self.active.swap_remove(position);
            }
        }
        if self.active.is_empty() {
            self.captures.clear();
        }
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout) even if nothing arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.due != NEVER).then_some(self.due)
    }

    /// Takes the answer to [`Event::Silent`]: what is known of `rank`. Operations on a live peer stay pending until it is unreachable.
    pub fn handle_liveness(&mut self, now: Instant, rank: Rank, liveness: Liveness) {
        let Some(&index) = self.by_rank.get(&rank) else { return };
        let (peer, failure_limit) = (&self.peers[index as usize], self.config.failure_limit);
        let Some((silent_since, unreachable_at)) = peer.silent_since().zip(peer.unreachable_at(failure_limit)) else { return };
        // A late answer says nothing about a peer that has been heard since.
        let is_silent = now >= silent_since + failure_limit;
        let (standing, event) = match liveness {
            Liveness::Lost => (Standing::Lost, Event::Lost(rank)),
            Liveness::Unknown if is_silent => (Standing::Lost, Event::Lost(rank)),
            Liveness::Alive | Liveness::Unknown if now >= unreachable_at => (Standing::Unreachable, Event::Unreachable(rank)),
            Liveness::Alive | Liveness::Unknown => return,
        };
        self.events.push_back(event);
        self.give_up(now, index, standing);
    }

    /// Updates the next check after an event of a peer that may have an earlier deadline now. Its earlier deadlines have been recorded.
    pub(crate) fn note_deadline(&mut self, now: Instant, index: u32) {
        let is_paced = || self.peers[index as usize].active.as_ref().is_some_and(|active| active.sender.has_new());
        if self.due > now + self.soonest() || is_paced() {
            self.look_at(self.deadline(now, index));
        }
    }

    /// Returns the shortest time to a deadline that an event now can cause, unless pacing delays a datagram.
    fn soonest(&self) -> Duration {
        self.worth.probe_wait_min().min(question_pause(self.config.failure_limit))
    }

    /// Schedules the check of all peers at a peer's deadline, but not so often that the checks take more than a fraction of the time.
    fn look_at(&mut self, deadline: Instant) {
        let pause = Duration::from_picoseconds(LOOK_PAUSE.as_picoseconds() * self.active.len() as u64);
        self.due = self.due.min(deadline.max(self.looked + pause));
    }

    fn deadline(&self, now: Instant, index: u32) -> Instant {
        self.peers[index as usize].deadline(now, self.config.failure_limit, self.patience(index))
    }

    /// Returns the parameters, besides the peer's own round trip, of how long to wait for its answers.
    fn patience(&self, index: u32) -> Patience {
        let chance = scattered(self.config.me.number(), self.peers[index as usize].rank.number());
        Patience { typical: self.typical, late: self.lateness.get(), chance, worth: self.worth }
    }

    /// Checks a peer whose deadline may have passed.
    fn look(&mut self, now: Instant, index: u32) {
        let patience = self.patience(index);
        let peer = &mut self.peers[index as usize];
        if peer.doubt_at(self.config.failure_limit).is_some_and(|at| now >= at) {
            self.events.push_back(Event::Silent(peer.rank));
            peer.doubt(now);
        }
        let datagram_bytes = peer.datagram_bytes() as u64;
        let question = peer.question_at(self.config.failure_limit);
        let Some(active) = &mut peer.active else { return };
        active.receiver.handle_timeout(now);
        if active.sender.answer_due(&peer.round_trip, patience).is_some_and(|due| now >= due) {
            // Only the first repetition counts as possibly premature.
            if active.sender.tries == 0 {
                self.worth.handle_repeated();
            }
            if !active.sender.ask_early(now, &peer.round_trip, patience) {
                active.sender.handle_silence(datagram_bytes, patience.worth);
            }
        } else if question.is_some_and(|at| now >= at) {
            active.sender.probe();
            active.used = now;
        }
        if peer.rest(now) {
            self.counters.count(Counted::PeerIdle);
        }
        self.enqueue(index);
    }
}
