//! What is due, and when.

use pelago_base::{Duration, Event as Counted, Instant, Rank};

use super::{Conversations, NEVER};
use crate::api::{Event, Liveness};
use crate::memory::Memory;
use crate::peer::round_trip::{Patience, scattered};
use crate::peer::{Standing, question_pause, unreachable_at};

/// Between two looks at all peers, for each of them: to look at one takes a tenth of that.
const LOOK_PAUSE: Duration = Duration::from_nanoseconds(500);

/// No rank is taken to run later than the failure limit divided by this.
const LATENESS_PART: u64 = 2;

impl<M: Memory> Conversations<M> {
    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.due {
            return;
        }
        self.lateness.note(
            now,
            now.since(self.due),
            Duration::from_picoseconds(self.config.failure_limit.as_picoseconds() / LATENESS_PART),
        );
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

    /// When to call [`handle_timeout`](Self::handle_timeout) even if nothing comes.
    pub fn poll_timeout(&self) -> Option<Instant> {
        (self.due != NEVER).then_some(self.due)
    }

    /// What is known of `rank`, as [`Event::Silent`] has asked. A peer that is alive keeps its operations pending, until it is unreachable.
    pub fn handle_liveness(&mut self, now: Instant, rank: Rank, liveness: Liveness) {
        let Some(&index) = self.by_rank.get(&rank) else { return };
        let Some(silent_since) = self.peers[index as usize].silent_since() else { return };
        let is_unreachable = now >= unreachable_at(silent_since, self.config.failure_limit);
        let (standing, event) = match liveness {
            Liveness::Alive if is_unreachable => (Standing::Unreachable, Event::Unreachable(rank)),
            Liveness::Alive => return,
            // An answer that comes late says nothing of a peer that has been heard since.
            Liveness::Unknown if now < silent_since + self.config.failure_limit => return,
            Liveness::Unknown | Liveness::Lost => (Standing::Lost, Event::Lost(rank)),
        };
        self.events.push_back(event);
        self.give_up(now, index, standing);
    }

    /// Something happened to a peer, which may want to be looked at sooner. What happened to it before has been noted.
    pub(crate) fn note_deadline(&mut self, now: Instant, index: u32) {
        let is_paced = || self.peers[index as usize].active.as_ref().is_some_and(|active| active.sender.has_new());
        if self.due > now + self.soonest() || is_paced() {
            self.look_at(self.deadline(now, index));
        }
    }

    /// How soon a deadline can be that comes from what happens now, unless a pace holds something up.
    fn soonest(&self) -> Duration {
        self.worth.probe_wait_min().min(question_pause(self.config.failure_limit))
    }

    /// All peers are to be looked at when the time of one has come; not so often that looking takes more than a part of the time.
    fn look_at(&mut self, deadline: Instant) {
        let pause = Duration::from_picoseconds(LOOK_PAUSE.as_picoseconds() * self.active.len() as u64);
        self.due = self.due.min(deadline.max(self.looked + pause));
    }

    fn deadline(&self, now: Instant, index: u32) -> Instant {
        self.peers[index as usize].deadline(now, self.config.failure_limit, self.patience(index))
    }

    /// How long to wait for answers of a peer, besides what is known of it.
    fn patience(&self, index: u32) -> Patience {
        let chance = scattered(self.config.me.number(), self.peers[index as usize].rank.number());
        Patience { typical: self.typical, late: self.lateness.get(), chance, worth: self.worth }
    }

    /// Looks after a peer whose time may have come.
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
            // Only the first question may have been asked too soon.
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
