//! The sending direction to one peer: queued frames and transfers, datagrams in flight, and datagrams known to be lost.
//!
//! A datagram keeps its sequence number and its contents in all retransmissions, so that the peer executes it once. Bytes of puts and
//! answers are not kept: each transmission reads them from memory. `acknowledgement` handles acknowledgements and silence of the peer.

mod acknowledgement;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use pelago_base::{GlobalAddress, Instant};

use super::congestion::Congestion;
use super::receiver::SEQUENCE_WINDOW;
use super::round_trip::RoundTrip;
use super::waiting::{Draft, Epoch, Piece, Spare, Transfer};
use crate::memory::Denied;
use crate::wire::{Frame, OVERHEAD_BYTES, WORDS_MAX};

/// Charge in bytes per datagram, besides its bytes, against the receive window: the window is a quarter of the kernel's socket buffer, and the
/// kernel's record of a short datagram takes up to 2,304 bytes of that buffer.
pub(crate) const DATAGRAM_CHARGE: u64 = 512;

/// Number of unanswered tries after which a peer is probed by one datagram at a time and, if answers are more often lost than late, all
/// datagrams in flight count as lost.
const SILENT_TRIES: u32 = 2;

/// Number of unanswered tries after which all datagrams in flight count as lost if answers are more often late than lost. With the shortest
/// waits, the peer has not run for 60 ms then.
const LATE_TRIES: u32 = 4;

/// Maximum number of queued frame bytes for one peer, besides answers.
const QUEUED_BYTES_MAX: usize = 256 << 10;

/// Maximum number of puts of this rank to one peer that are queued or being sent.
const TRANSFERS_MAX: usize = 256;

/// Maximum number of answers that one peer owes: it bounds the answers that the peer has to keep.
const AWAITED_MAX: u32 = 512;

/// Maximum number of datagrams that are not settled, if refusals wait to be sent: those of all writes in as many datagrams as a peer may have
/// in flight. Only datagrams of refusals exceed the sequence window.
const UNSETTLED_MAX: usize = 3 * SEQUENCE_WINDOW as usize;

/// Maximum number of consecutive fences that have not been passed.
const EPOCHS_MAX: usize = 64;

/// The sending direction to one peer that is not idle.
pub(crate) struct Sender {
    /// Frames and transfers that may be sent now, and those that must wait for a fence.
    epoch: Epoch,
    later: VecDeque<Epoch>,
    /// Reports of refused writes. The peer settles nothing before it has all of them, so they do not wait until datagrams of this rank are settled.
    refusals: Epoch,
    /// Datagrams below this sequence number must take effect before new ones.
    after: u64,
    /// Sequence number of the oldest datagram that is not settled.
    base: u64,
    /// Sequence number below which all datagrams have arrived, as the peer says, and the time since which the next one has been in flight; valid
    /// while one is.
    acknowledged: u64,
    acknowledged_at: Instant,
    in_flight: VecDeque<Sent>,
    /// Transmissions, oldest first.
    by_transmission: VecDeque<Transmission>,
    lost: VecDeque<u64>,
    /// Datagrams that have arrived and may hold refused writes.
    arrived: Vec<u64>,
    transmissions: u64,
    latest_arrived: u64,
    bytes_in_flight: u64,
    datagrams_in_flight: u64,
    queued_bytes: usize,
    /// Number of answers that the peer owes, or will owe once requests are sent.
    pub(crate) awaited: u32,
    /// Number of unfinished gets and copies before the next fence that read memory after their arrival.
    slow_reads: u32,
    /// Number of writes that the peer reports as refused.
    refused: u32,
    /// Number of datagrams to send regardless of the window.
    probes: u32,
    pub(crate) tries: u32,
    /// Number of probes since the last answer of the peer.
    early: u32,
    /// Number of datagrams in flight that the peer answers at once.
    prompt_in_flight: u64,
    /// Sequence number of the last datagram with only short operations that was sent.
    latest_short: u64,
    waiting_since: Instant,
    pub(crate) congestion: Congestion,
    /// Receive window that the peer grants; until its first grant, one rank's share if all ranks of the job send to the peer.
    pub(crate) receive_window: u64,
}

/// One transmission of a datagram.
#[derive(Clone, Copy)]
struct Transmission {
    /// Number of this transmission among those to this peer.
    count: u64,
    sequence: u64,
    /// Transmission number in the header, which counts transmissions to all peers.
    number: u64,
    at: Instant,
    /// Whether the peer answers it at once and has not answered yet.
    prompt: bool,
    /// Whether it is a probe, sent because no answer had arrived.
    asks: bool,
}

/// A datagram that was sent.
#[derive(Default)]
pub(crate) struct Sent {
    pub(crate) draft: Draft,
    pub(crate) piece: Option<Piece>,
    pub(crate) after: u64,
    state: State,
    /// Whether the peer answers its latest transmission at once.
    prompt: bool,
    transmission: u64,
    bytes: u32,
    tries: u32,
    pub(crate) refused: Vec<(u16, Denied)>,
}

impl Sent {
    /// Returns the number of acknowledgement words that a retransmission may carry. With a piece, only the words of the first transmission have
    /// room.
    pub(crate) fn words_max(&self) -> usize {
        let Some(piece) = &self.piece else { return WORDS_MAX };
        let unfenced = if self.after == 0 { 8 } else { 0 };
        let without_words = OVERHEAD_BYTES - 8 * WORDS_MAX - unfenced + self.draft.frames.len() + piece.wire_bytes();
        ((self.bytes as usize).saturating_sub(without_words) / 8).min(WORDS_MAX)
    }
}

/// A datagram being transmitted: its sequence number, its transmission number, its length, and whether the peer answers it at once.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) sequence: u64,
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    pub(crate) prompt: bool,
}

/// Contents of a datagram that has arrived, for the completion of its operations.
pub(crate) struct Settled {
    pub(crate) draft: Draft,
    pub(crate) piece: Option<Piece>,
    pub(crate) refused: Vec<(u16, Denied)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    OnItsWay,
    Lost,
    Arrived,
    Settled,
}

/// The next datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Retransmission of a datagram that was lost, or may have been.
    Again(u64),
    /// A new datagram, if there are contents for it.
    New,
    /// A new, empty datagram that probes the peer.
    Empty,
}

/// What has ended before a peer was idle: the datagrams sent to it, and the writes that it has refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before {
    pub(crate) sent: u64,
    pub(crate) refused: u32,
}

impl Sender {
    /// Creates the sender of a peer that was idle.
    pub(crate) fn new(before: Before, datagram_bytes: usize, receive_window: u64, now: Instant) -> Self {
        let Before { sent: base, refused } = before;
        Self {
            epoch: Epoch::default(),
            later: VecDeque::new(),
            refusals: Epoch::default(),
            after: 0,
            base,
            acknowledged: base,
            acknowledged_at: now,
            in_flight: VecDeque::new(),
            by_transmission: VecDeque::new(),
            lost: VecDeque::new(),
            arrived: Vec::new(),
            transmissions: 0,
            latest_arrived: 0,
            bytes_in_flight: 0,
            datagrams_in_flight: 0,
            queued_bytes: 0,
            awaited: 0,
            slow_reads: 0,
            refused,
            probes: 0,
            tries: 0,
            early: 0,
            prompt_in_flight: 0,
            latest_short: u64::MAX,
            waiting_since: now,
            congestion: Congestion::new(receive_window, charge(datagram_bytes as u64)),
            receive_window,
        }
    }

    /// Returns the sequence number of the next new datagram.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.in_flight.len() as u64
    }

    /// Whether nothing is queued, in flight or awaited.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.awaited == 0 && !self.has_new()
    }

    /// Whether anything waits for its first transmission.
    pub(crate) fn has_new(&self) -> bool {
        !self.epoch.is_empty() || !self.later.is_empty() || !self.refusals.is_empty()
    }

    /// Whether all sent datagrams have arrived.
    pub(crate) fn is_all_arrived(&self) -> bool {
        self.bytes_in_flight == 0 && self.lost.is_empty()
    }

    /// Returns the time since which the oldest datagram in flight has not arrived, although it may have been sent many times.
    pub(crate) fn stuck_since(&self) -> Option<Instant> {
        (!self.is_all_arrived()).then_some(self.acknowledged_at)
    }

    /// Starts the time of the oldest datagram in flight anew.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.acknowledged_at = now;
    }

    /// Whether there may be something to send now.
    pub(crate) fn has_work(&self) -> bool {
        self.probes > 0 || !self.lost.is_empty() || self.has_new()
    }

    /// Whether another operation of this rank may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.queued_bytes < QUEUED_BYTES_MAX
            && self.awaited < AWAITED_MAX
            && self.later.len() < EPOCHS_MAX
            && self.last_epoch().own_transfers < TRANSFERS_MAX
    }

    /// Queues a frame of an operation of this rank; `write` is the token of a write. Returns the size of the frame in bytes.
    pub(crate) fn request(&mut self, frame: &Frame<'_>, write: Option<u64>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        if self.epoch.fenced_within && !self.epoch.may_go_along(frame, datagram_bytes) {
            self.part();
        }
        let epoch = self.later.back_mut().unwrap_or(&mut self.epoch);
        let bytes = epoch.append(frame, write, datagram_bytes, spare);
        epoch.drafts.back_mut().expect("just appended to").own_bytes += bytes;
        self.queued_bytes += bytes;
        bytes
    }

    /// Appends a short write to a datagram that is held back, if there is one: short operations are in flight, whose answer triggers sending, and
    /// nothing else has to be sent first. Returns the size of the frame in bytes.
    #[inline]
    pub(crate) fn join(&mut self, to: GlobalAddress, bytes: &[u8], token: u64, datagram_bytes: usize) -> Option<usize> {
        let is_held = self.awaits_company() && self.lost.is_empty() && self.probes == 0 && self.later.is_empty();
        if !is_held || !self.epoch.transfers.is_empty() || self.queued_bytes >= QUEUED_BYTES_MAX {
            return None;
        }
        let added = self.epoch.join(to, bytes, token, datagram_bytes)?;
        self.queued_bytes += added;
        Some(added)
    }

    /// Records that the peer owes an answer to the last request, and whether it may read memory after the request's arrival.
    pub(crate) fn await_answer(&mut self, reads_late: bool) {
        self.awaited += 1;
        let late = u32::from(reads_late);
        match self.later.back_mut() {
            Some(epoch) => epoch.slow_reads += late,
            None => self.slow_reads += late,
        }
    }

    /// Records an answer of the peer.
    pub(crate) fn handle_answer(&mut self, reads_late: bool) {
        self.awaited = self.awaited.saturating_sub(1);
        self.slow_reads = self.slow_reads.saturating_sub(u32::from(reads_late));
    }

    /// Queues an answer, which does not wait for fences of this rank. Returns the size of the frame in bytes.
    pub(crate) fn answer(&mut self, frame: &Frame<'_>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        self.epoch.append(frame, None, datagram_bytes, spare)
    }

    /// Queues the report of a refused write. Returns the size of the frame in bytes.
    pub(crate) fn refuse(&mut self, frame: &Frame<'_>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        self.refusals.append(frame, None, datagram_bytes, spare)
    }

    /// Whether more transfers wait than the peer may await.
    pub(crate) fn has_many_transfers(&self) -> bool {
        self.epoch.transfers.len() > TRANSFERS_MAX + 2 * AWAITED_MAX as usize
    }

    /// Whether the peer has requested more long answers than it may await. Its gets and copies are then dropped, and the peer retransmits them.
    /// `is_for_another` tells the copies that other peers requested. Cost: a scan of all transfers if there are many.
    pub(crate) fn is_overasked(&self, is_for_another: impl Fn(u32) -> bool) -> bool {
        let is_own = |transfer: &&Transfer| !matches!(transfer, Transfer::Put { operation, .. } if is_for_another(*operation));
        self.has_many_transfers() && self.epoch.transfers.iter().filter(is_own).count() > TRANSFERS_MAX + 2 * AWAITED_MAX as usize
    }

    /// Queues a put of this rank, or the block list of a get.
    pub(crate) fn transfer(&mut self, transfer: Transfer) {
        self.part();
        let epoch = self.later.back_mut().unwrap_or(&mut self.epoch);
        epoch.transfers.push_back(transfer);
        epoch.own_transfers += 1;
    }

    /// Queues a transfer that a peer asked for.
    pub(crate) fn serve(&mut self, transfer: Transfer) {
        self.epoch.transfers.push_back(transfer);
    }

    /// Orders everything queued so far before everything queued later.
    pub(crate) fn fence(&mut self) {
        if self.later.back().is_some_and(Epoch::is_empty) {
            return;
        }
        let drafts = self.epoch.drafts.len();
        if self.later.is_empty() && self.slow_reads == 0 && drafts <= 1 && self.epoch.transfers.is_empty() {
            // Later operations may share the unsent datagram, if that datagram waits for the earlier ones.
            (self.epoch.fenced_within, self.after) = (drafts == 1, self.next());
        } else {
            self.later.push_back(Epoch::default());
        }
    }

    /// Ends the sharing of a datagram across a fence: later operations start a new epoch.
    fn part(&mut self) {
        if std::mem::take(&mut self.epoch.fenced_within) && self.later.is_empty() {
            self.later.push_back(Epoch::default());
        }
    }

    /// Whether a datagram that is not full is held back so that later operations can share it (Nagle, RFC 896): while short operations are in
    /// flight, whose answer arrives at once and triggers sending. Pieces of long operations and answers do not hold datagrams back: a long put is
    /// usually followed by its signal, which nothing would send while its rank computes (Minshall's variant of the rule).
    fn awaits_company(&self) -> bool {
        self.sent(self.latest_short).is_some_and(|sent| sent.state != State::Settled)
    }

    /// Returns the next datagram to send, if any may be sent. Unless `eagerly`, a new datagram may be held back to share it with later operations.
    pub(crate) fn poll(&mut self, now: Instant, round_trip: &RoundTrip, eagerly: bool) -> Option<Next> {
        // A peer with two unanswered tries is probed by one datagram at a time.
        let allowed = self.tries < SILENT_TRIES && self.congestion.allows(self.in_flight_charge(), self.receive_window);
        while let Some(&sequence) = self.lost.front() {
            if self.sent(sequence).is_some_and(|sent| sent.state == State::Lost) {
                return (allowed || self.probes > 0).then_some(Next::Again(sequence));
            }
            self.lost.pop_front();
        }
        if self.probes > 0 {
            let oldest = self.in_flight.iter().position(|sent| sent.state == State::OnItsWay);
            return Some(oldest.map_or(Next::Empty, |index| Next::Again(self.base + index as u64)));
        }
        self.pass_fence();
        let hurried = eagerly || !self.awaits_company() || self.epoch.drafts.len() > 1 || !self.epoch.transfers.is_empty();
        let is_some = hurried && !self.epoch.is_empty() && self.is_within_window() || self.may_refuse();
        (allowed && is_some && self.congestion.due(round_trip.smoothed()) <= now).then_some(Next::New)
    }

    /// Whether the sequence window has room for a datagram with operations of this rank.
    fn is_within_window(&self) -> bool {
        (self.in_flight.len() as u64) < SEQUENCE_WINDOW
    }

    /// Whether there are refusals, and a datagram of them alone may be sent: also if all datagrams in the window have arrived and none is settled.
    /// Otherwise two ranks that refuse writes of each other would wait for each other.
    fn may_refuse(&self) -> bool {
        let is_receivable = self.next() < self.acknowledged.max(self.base) + SEQUENCE_WINDOW;
        !self.refusals.is_empty() && is_receivable && self.in_flight.len() < UNSETTLED_MAX
    }

    /// Whether another datagram may leave before an acknowledgement, after one of `bytes` bytes.
    pub(crate) fn may_follow(&self, bytes: u64) -> bool {
        self.congestion.allows(self.in_flight_charge() + charge(bytes), self.receive_window)
            && (self.in_flight.len() as u64) + 1 < SEQUENCE_WINDOW
    }

    /// Returns the charge of all datagrams in flight against the receive window.
    fn in_flight_charge(&self) -> u64 {
        self.bytes_in_flight + self.datagrams_in_flight * DATAGRAM_CHARGE
    }

    /// Starts the next epoch if all operations of this rank in this one have been sent and none of them reads memory after its arrival. What is sent
    /// for peers is not ordered, and need not end: a peer may read memory until it sees what is behind the fence.
    fn pass_fence(&mut self) {
        while !self.later.is_empty() && self.slow_reads == 0 && !self.epoch.has_own() {
            let Some(epoch) = self.later.pop_front() else { return };
            self.slow_reads = epoch.slow_reads;
            self.epoch.follow_up(epoch);
            self.after = self.next();
        }
    }

    /// Returns the frames of the next new datagram, if any are queued, and the transfer that may fill it.
    pub(crate) fn draft(&mut self) -> (Option<Draft>, Option<Transfer>) {
        let is_within_window = self.is_within_window();
        let refusals = if self.may_refuse() { self.refusals.drafts.pop_front() } else { None };
        if !is_within_window {
            return (refusals, None);
        }
        self.part();
        let draft = refusals.or_else(|| self.epoch.drafts.pop_front());
        self.queued_bytes -= draft.as_ref().map_or(0, |draft| draft.own_bytes);
        (draft, self.epoch.transfers.front().copied())
    }

    /// Updates the progress of the first transfer; `done` if it needs no further datagram.
    pub(crate) fn advance(&mut self, transfer: Transfer, done: bool) {
        if done {
            let ended = self.epoch.transfers.pop_front();
            self.epoch.own_transfers -= usize::from(ended.is_some_and(|transfer| transfer.is_own()));
        } else if let Some(front) = self.epoch.transfers.front_mut() {
            *front = transfer;
        }
    }

    /// Returns the sequence number below which all datagrams must take effect before a new one; 0 if none must.
    pub(crate) fn after(&self) -> u64 {
        if self.after > self.base { self.after } else { 0 }
    }

    /// Returns a datagram that was sent and is not settled.
    pub(crate) fn sent(&self, sequence: u64) -> Option<&Sent> {
        self.in_flight.get(usize::try_from(sequence.checked_sub(self.base)?).ok()?)
    }

    pub(crate) fn sent_mut(&mut self, sequence: u64) -> Option<&mut Sent> {
        self.in_flight.get_mut(usize::try_from(sequence.checked_sub(self.base)?).ok()?)
    }

    /// Adds a new datagram under the next sequence number, which it returns.
    pub(crate) fn push(&mut self, draft: Draft, piece: Option<Piece>, after: u64) -> u64 {
        self.in_flight.push_back(Sent { draft, piece, after, ..Sent::default() });
        self.next() - 1
    }

    /// Records the transmission of a datagram.
    pub(crate) fn handle_sent(&mut self, now: Instant, left: Left, round_trip: &RoundTrip) {
        let Left { sequence, number, bytes, prompt } = left;
        self.transmissions += 1;
        let asks = self.probes > 0;
        self.probes = self.probes.saturating_sub(1);
        let count = self.transmissions;
        self.waiting_since = now;
        if self.is_all_arrived() {
            self.acknowledged_at = now;
        }
        let Some(sent) = self.sent_mut(sequence) else { return };
        let before = (sent.state == State::OnItsWay && sent.tries > 0).then_some((sent.bytes, sent.prompt));
        (sent.state, sent.prompt, sent.transmission, sent.bytes) = (State::OnItsWay, prompt, count, bytes as u32);
        sent.tries += 1;
        let is_short = prompt && sent.piece.is_none();
        if let Some((bytes, prompt)) = before {
            self.end_flight(bytes, prompt);
        }
        self.bytes_in_flight += bytes as u64;
        self.datagrams_in_flight += 1;
        self.prompt_in_flight += u64::from(prompt);
        if is_short {
            self.latest_short = sequence;
        }
        self.by_transmission.push_back(Transmission { count, sequence, number, at: now, prompt, asks });
        // Pacing is for long bursts: if it counted the charge per datagram, it would delay short datagrams that follow each other's answers.
        self.congestion.handle_sent(now, bytes as u64, round_trip.smoothed());
    }

    /// Removes a datagram of `bytes` bytes from those in flight.
    fn end_flight(&mut self, bytes: u32, prompt: bool) {
        self.bytes_in_flight -= u64::from(bytes);
        self.datagrams_in_flight -= 1;
        self.prompt_in_flight -= u64::from(prompt);
    }

    /// Returns all drafts that are not settled, when the peer has failed.
    pub(crate) fn into_drafts(self) -> impl Iterator<Item = Draft> {
        let waiting = [self.epoch, self.refusals].into_iter().chain(self.later).flat_map(|epoch| epoch.drafts);
        self.in_flight.into_iter().map(|sent| sent.draft).chain(waiting)
    }

    /// Returns the tokens of the writes that are queued or in flight.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u64> {
        let waiting = std::iter::once(&self.epoch).chain(&self.later).flat_map(|epoch| &epoch.drafts);
        self.in_flight.iter().map(|sent| &sent.draft).chain(waiting).flat_map(|draft| draft.writes.iter().copied())
    }

    /// Returns the source addresses of answers that are being sent.
    pub(crate) fn answers(&self) -> impl Iterator<Item = GlobalAddress> {
        let waiting = self.epoch.transfers.iter().filter_map(|transfer| match transfer {
            Transfer::Answer { from, .. } => Some(*from),
            Transfer::Put { .. } | Transfer::Ask { .. } => None,
        });
        waiting.chain(self.in_flight.iter().filter_map(|sent| match sent.piece {
            Some(Piece::Answer { from, .. }) if !matches!(sent.state, State::Arrived | State::Settled) => Some(from),
            _ => None,
        }))
    }

    /// Returns the pieces of puts that have not arrived: operation and offset of each.
    pub(crate) fn puts_under_way(&self) -> impl Iterator<Item = (u32, u64)> {
        self.in_flight.iter().filter_map(|sent| match sent.piece {
            Some(Piece::Put { operation, offset, .. }) if !matches!(sent.state, State::Arrived | State::Settled) => {
                Some((operation, offset))
            }
            _ => None,
        })
    }

    fn last_epoch(&self) -> &Epoch {
        self.later.back().unwrap_or(&self.epoch)
    }
}

/// Returns the charge of a datagram against the receive window.
pub(crate) fn charge(bytes: u64) -> u64 {
    bytes + DATAGRAM_CHARGE
}
