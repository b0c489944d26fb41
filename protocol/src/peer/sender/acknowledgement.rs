//! What a peer says that it has received, and its silence: which datagrams have arrived, which are lost, and which are done with.

use pelago_base::{Duration, Instant};

use super::{SILENT_TRIES, Sender, Settled, State, Transmission, charge};
use crate::peer::round_trip::{Patience, RoundTrip};
use crate::wire::{Acknowledgement, WORDS_MAX};

/// A datagram counts as lost when so many that were sent after it have arrived.
const OVERTAKEN_MAX: u64 = 3;

impl Sender {
    /// How long the answer has taken to the transmission that the peer echoes, if it answered that one at once and had not said so.
    pub(crate) fn sample(&mut self, now: Instant, echo: u64) -> Option<Duration> {
        let index = self.by_transmission.binary_search_by_key(&echo, |sent| sent.number).ok()?;
        let sent = &mut self.by_transmission[index];
        std::mem::take(&mut sent.prompt).then(|| now.since(sent.at))
    }

    /// The peer says what it has received; returns whether anything of that was not known.
    pub(crate) fn handle_acknowledgement(&mut self, now: Instant, said: &Acknowledgement, datagram_bytes: u64) -> bool {
        let known = (self.arrived.len(), self.refused);
        // An older datagram says less; the count wraps around.
        if (said.refused.wrapping_sub(self.refused) as i32) >= 0 {
            self.refused = said.refused;
        }
        let (base, end) = (self.base, self.next());
        // What was never sent cannot have been received.
        if said.next > end {
            return false;
        }
        for sequence in base..said.next {
            self.arrive(now, sequence, datagram_bytes);
        }
        for (index, &word) in said.words.iter().enumerate().take(usize::from(said.words_used).min(WORDS_MAX)) {
            let mut left = word;
            while left != 0 {
                let sequence = said.next.saturating_add(64 * index as u64 + u64::from(left.trailing_zeros()));
                left &= left - 1;
                if (base..end).contains(&sequence) {
                    self.arrive(now, sequence, datagram_bytes);
                }
            }
        }
        self.find_lost(datagram_bytes);
        known != (self.arrived.len(), self.refused)
    }

    fn arrive(&mut self, now: Instant, sequence: u64, datagram_bytes: u64) {
        let Some(sent) = self.sent_mut(sequence) else { return };
        if sent.state == State::Arrived || sent.state == State::Settled {
            return;
        }
        let (bytes, transmission) = (u64::from(sent.bytes), sent.transmission);
        let counted = if sent.state == State::OnItsWay { (bytes, 1) } else { (0, 0) };
        sent.state = State::Arrived;
        self.arrived.push(sequence);
        self.bytes_in_flight -= counted.0;
        self.datagrams_in_flight -= counted.1;
        self.latest_arrived = self.latest_arrived.max(transmission);
        self.tries = 0;
        self.waiting_since = now;
        self.congestion.handle_arrived(charge(bytes), transmission, self.in_flight_charge(), charge(datagram_bytes));
    }

    /// Marks what has been overtaken.
    fn find_lost(&mut self, datagram_bytes: u64) {
        while let Some(&Transmission { count, sequence, .. }) = self.by_transmission.front() {
            let current = self.sent(sequence).is_some_and(|sent| sent.state == State::OnItsWay && sent.transmission == count);
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
        let bytes = u64::from(sent.bytes);
        self.bytes_in_flight -= bytes;
        self.datagrams_in_flight -= 1;
        self.lost.push_back(sequence);
    }

    /// Takes the next datagram that has arrived and whose writes are known to have taken effect or not. `refusals` is how many
    /// refusals have come from the peer.
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

    /// When the peer should have answered, if it has something to answer.
    pub(crate) fn answer_due(&self, round_trip: &RoundTrip, patience: Patience) -> Option<Instant> {
        (!self.is_all_arrived() && self.probes == 0).then(|| self.waiting_since + round_trip.wait(self.tries, patience))
    }

    /// The peer has not answered in time: it is asked again, the second time as if everything were lost.
    pub(crate) fn handle_silence(&mut self, datagram_bytes: u64) {
        self.tries += 1;
        self.probes = 1;
        if self.tries >= SILENT_TRIES {
            let on_their_way = (0..self.in_flight.len()).filter(|&index| self.in_flight[index].state == State::OnItsWay);
            let sequences: Vec<u64> = on_their_way.map(|index| self.base + index as u64).collect();
            sequences.into_iter().for_each(|sequence| self.mark_lost(sequence));
            // The oldest first: others may have to wait for it.
            self.lost.make_contiguous().sort_unstable();
            self.congestion.handle_silence(self.transmissions, charge(datagram_bytes));
        }
    }

    /// Asks whether the peer is there.
    pub(crate) fn probe(&mut self) {
        self.probes = self.probes.max(1);
    }
}
