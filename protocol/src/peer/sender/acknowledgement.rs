//! Acknowledgements and silence of a peer: which datagrams have arrived, which are lost, and which are settled.

use pelago_base::{Duration, Instant};

use super::{LATE_TRIES, SILENT_TRIES, Sender, Settled, State, Transmission, charge};
use crate::peer::round_trip::{CROSSING, Patience, RoundTrip, Worth};
use crate::wire::{Acknowledgement, WORDS_MAX};

/// Number of later datagrams whose acknowledgement marks a datagram as lost.
const OVERTAKEN_MAX: u64 = 3;

impl Sender {
    /// Returns the round-trip time of the transmission that the peer echoes, if the peer answers that one at once and had not echoed it before;
    /// and whether it was a probe that delivered something no earlier transmission had.
    pub(crate) fn sample(&mut self, now: Instant, echo: u64) -> Option<(Duration, bool)> {
        let index = self.by_transmission.binary_search_by_key(&echo, |sent| sent.number).ok()?;
        let Transmission { count, sequence, at, asks, .. } = self.by_transmission[index];
        let was_needed = asks && self.is_on_its_way(count, sequence);
        self.latest_arrived = self.latest_arrived.max(count);
        std::mem::take(&mut self.by_transmission[index].prompt).then(|| (now.since(at), was_needed))
    }

    /// Whether this is the latest transmission of a datagram whose fate is unknown.
    fn is_on_its_way(&self, count: u64, sequence: u64) -> bool {
        self.sent(sequence).is_some_and(|sent| sent.state == State::OnItsWay && sent.transmission == count)
    }

    /// Handles an acknowledgement; returns whether it contains anything new.
    pub(crate) fn handle_acknowledgement(
        &mut self,
        now: Instant,
        said: &Acknowledgement,
        worth: Worth,
        datagram_bytes: u64,
    ) -> bool {
        let known = (self.arrived.len(), self.refused);
        // An older datagram has a smaller count, which is ignored; the count wraps around.
        if (said.refused.wrapping_sub(self.refused) as i32) >= 0 {
            self.refused = said.refused;
        }
        let (base, end) = (self.base, self.next());
        // A datagram that was never sent cannot have been received: the acknowledgement is invalid.
        if said.next > end {
            return false;
        }
        if said.next > self.acknowledged {
            (self.acknowledged, self.acknowledged_at) = (said.next, now);
        }
        for sequence in base..said.next {
            self.arrive(now, sequence, worth, datagram_bytes);
        }
        for (index, &word) in said.words.iter().enumerate().take(usize::from(said.words_used).min(WORDS_MAX)) {
            let mut left = word;
            while left != 0 {
                let sequence = said.next.saturating_add(64 * index as u64 + u64::from(left.trailing_zeros()));
                left &= left - 1;
                if (base..end).contains(&sequence) {
                    self.arrive(now, sequence, worth, datagram_bytes);
                }
            }
        }
        self.find_lost(datagram_bytes);
        known != (self.arrived.len(), self.refused)
    }

    fn arrive(&mut self, now: Instant, sequence: u64, worth: Worth, datagram_bytes: u64) {
        let Some(sent) = self.sent_mut(sequence) else { return };
        if sent.state == State::Arrived || sent.state == State::Settled {
            return;
        }
        let transmission = sent.transmission;
        let was_on_its_way = std::mem::replace(&mut sent.state, State::Arrived) == State::OnItsWay;
        let (bytes, prompt, once) = (sent.bytes, sent.prompt, sent.tries == 1);
        self.arrived.push(sequence);
        if was_on_its_way {
            self.end_flight(bytes, prompt);
        }
        // If a datagram was sent twice, either transmission may have arrived, and the echo shows which. Where answers are more often lost than late,
        // so are echoes and first transmissions.
        if once || worth.is_lossy() {
            self.latest_arrived = self.latest_arrived.max(transmission);
        }
        (self.tries, self.early) = (0, 0);
        self.waiting_since = now;
        self.congestion.handle_arrived(charge(u64::from(bytes)), transmission, self.in_flight_charge(), charge(datagram_bytes));
    }

    /// Marks datagrams as lost that later transmissions have overtaken.
    fn find_lost(&mut self, datagram_bytes: u64) {
        while let Some(&Transmission { count, sequence, .. }) = self.by_transmission.front() {
            let current = self.is_on_its_way(count, sequence);
            if current && self.latest_arrived < count + OVERTAKEN_MAX {
                return;
            }
            self.by_transmission.pop_front();
            if current {
                self.mark_lost(sequence);
                self.congestion.handle_loss(count, self.transmissions, charge(datagram_bytes));
            }
        }
    }

    fn mark_lost(&mut self, sequence: u64) {
        let Some(sent) = self.sent_mut(sequence) else { return };
        sent.state = State::Lost;
        let (bytes, prompt) = (sent.bytes, sent.prompt);
        self.end_flight(bytes, prompt);
        self.lost.push_back(sequence);
    }

    /// Takes the next datagram that has arrived and for whose writes it is known whether they took effect. `refusals` is the number of
    /// refusals received from the peer.
    pub(crate) fn settle(&mut self, refusals: u32) -> Option<Settled> {
        if self.arrived.is_empty() || refusals != self.refused {
            return None;
        }
        let sequence = self.arrived.pop()?;
        let sent = self.sent_mut(sequence)?;
        sent.state = State::Settled;
        let (draft, refused) = (std::mem::take(&mut sent.draft), std::mem::take(&mut sent.refused));
        let settled = Settled { draft, piece: sent.piece, refused };
        while self.in_flight.front().is_some_and(|sent| sent.state == State::Settled) {
            self.in_flight.pop_front();
            self.base += 1;
        }
        Some(settled)
    }

    /// Returns when an answer of the peer is overdue, if it owes one.
    pub(crate) fn answer_due(&self, round_trip: &RoundTrip, patience: Patience) -> Option<Instant> {
        let is_due = !self.is_all_arrived() && self.probes == 0;
        is_due.then(|| {
            let wait = round_trip.wait(self.tries, patience);
            self.waiting_since + self.probe_wait(round_trip, patience).map_or(wait, |early| early.min(wait))
        })
    }

    /// Returns how long to wait before an early probe; `None` after the first timeout. The peer answers at once datagrams that are overtaken by
    /// acknowledged ones, and those marked urgent; it delays other acknowledgements.
    fn probe_wait(&self, round_trip: &RoundTrip, patience: Patience) -> Option<Duration> {
        let is_overtaken = |oldest: &Transmission| oldest.count < self.latest_arrived;
        let is_prompt = self.prompt_in_flight > 0 || self.by_transmission.front().is_some_and(is_overtaken);
        let kept_back = if is_prompt { Duration::ZERO } else { patience.worth.kept_back() };
        (self.tries == 0).then(|| round_trip.probe_wait(self.early, kept_back, patience)).flatten()
    }

    /// Sends an early probe if `now` is before the first timeout: the oldest unacknowledged datagram once more. Returns whether it does.
    pub(crate) fn ask_early(&mut self, now: Instant, round_trip: &RoundTrip, patience: Patience) -> bool {
        let is_early = self.probe_wait(round_trip, patience).is_some() && now < self.waiting_since + round_trip.wait(0, patience);
        if is_early {
            (self.early, self.probes) = (self.early + 1, 1);
        }
        is_early
    }

    /// Handles the repetition of an executed datagram by the peer. If a datagram has been in flight for longer than a round trip, or longer
    /// than an answer and a repeated request can cross, it counts as a lost answer. Retransmits the oldest one, and returns whether there is any.
    pub(crate) fn handle_repetition(&mut self, now: Instant, round_trip: &RoundTrip) -> bool {
        let oldest = self.by_transmission.iter().find(|sent| self.is_on_its_way(sent.count, sent.sequence));
        let is_lost = oldest.is_some_and(|sent| now.since(sent.at) > round_trip.smoothed().min(CROSSING));
        if is_lost {
            self.probe();
        }
        is_lost
    }

    /// Handles a timeout: the peer is probed. If answers are more often lost than late, all datagrams in flight count as lost from the second
    /// timeout on. Else that happens later: datagrams in the buffers of a peer that was scheduled late need no retransmission, and its first
    /// answer shows which were lost.
    pub(crate) fn handle_silence(&mut self, datagram_bytes: u64, worth: Worth) {
        self.tries += 1;
        self.probes = 1;
        if self.tries >= if worth.is_lossy() { SILENT_TRIES } else { LATE_TRIES } {
            let on_their_way = (0..self.in_flight.len()).filter(|&index| self.in_flight[index].state == State::OnItsWay);
            let sequences: Vec<u64> = on_their_way.map(|index| self.base + index as u64).collect();
            sequences.into_iter().for_each(|sequence| self.mark_lost(sequence));
            // The oldest first: later datagrams may have to wait for it.
            self.lost.make_contiguous().sort_unstable();
            self.congestion.handle_silence(self.transmissions, charge(datagram_bytes));
        }
    }

    /// Requests a probe of the peer.
    pub(crate) fn probe(&mut self) {
        self.probes = self.probes.max(1);
    }
}
