//! What goes to one peer: frames and transfers that wait, datagrams that are on their way, and what is known to be lost.
//!
//! A datagram keeps its sequence number and its contents however often it is sent, so that the peer executes it once. Bytes of puts and
//! answers are not kept: they are read from memory each time. What the peer answers, and its silence, is in `acknowledgement`.

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

/// What the receiver's kernel keeps for a datagram besides its bytes, as the receive window counts them: the window is a quarter of what the
/// kernel keeps, and the record of a short datagram takes up to 2,304 bytes of that.
pub(crate) const DATAGRAM_CHARGE: u64 = 512;

/// Tries without an answer after which a peer is asked by one datagram at a time, and everything on its way counts as lost where answers are rather lost than late.
const SILENT_TRIES: u32 = 2;

/// The same where answers are rather late: with the shortest waits a peer has not run for 60 ms then.
const LATE_TRIES: u32 = 4;

/// Bytes of frames that wait for one peer, besides answers.
const QUEUED_BYTES_MAX: usize = 256 << 10;

/// Puts that wait for one peer or are being sent, besides answers.
const TRANSFERS_MAX: usize = 256;

/// Answers that one peer owes: what it may have to keep.
const AWAITED_MAX: u32 = 512;

/// Fences behind each other that have not been passed.
const EPOCHS_MAX: usize = 64;

/// Everything on the way to one peer that is not idle.
pub(crate) struct Sender {
    /// What may be sent now, and what must wait for a fence.
    epoch: Epoch,
    later: VecDeque<Epoch>,
    /// Datagrams before this number take effect before those that are made now.
    after: u64,
    /// The oldest datagram that is not settled.
    base: u64,
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
    /// Answers that the peer owes, or will owe.
    pub(crate) awaited: u32,
    /// Gets and copies before the next fence that read memory later than they arrive, and have not ended.
    slow_reads: u32,
    /// Writes that the peer has refused, as it says.
    refused: u32,
    /// Datagrams to be sent whatever the window says.
    probes: u32,
    pub(crate) tries: u32,
    /// Probes since the peer has answered last.
    early: u32,
    /// Datagrams on their way that the peer answers at once.
    prompt_in_flight: u64,
    /// The last datagram of short operations that was sent.
    latest_short: u64,
    waiting_since: Instant,
    pub(crate) congestion: Congestion,
    /// What the receiver grants; until it has, the part of a rank of the job if all send to it.
    pub(crate) receive_window: u64,
}

/// A datagram that left.
#[derive(Clone, Copy)]
struct Transmission {
    /// Counts those to this peer.
    count: u64,
    sequence: u64,
    /// As its header calls it, which counts those to all peers.
    number: u64,
    at: Instant,
    /// Whether the peer answers it at once, and has not yet.
    prompt: bool,
    /// Whether it was sent because no answer had come.
    asks: bool,
}

/// A datagram that was sent.
#[derive(Default)]
pub(crate) struct Sent {
    pub(crate) draft: Draft,
    pub(crate) piece: Option<Piece>,
    pub(crate) after: u64,
    state: State,
    /// Whether its latest transmission is answered at once.
    prompt: bool,
    transmission: u64,
    bytes: u32,
    tries: u32,
    pub(crate) refused: Vec<(u16, Denied)>,
}

impl Sent {
    /// How many words of an acknowledgement go along when it is sent again. A piece left room for those of its first time only.
    pub(crate) fn words_max(&self) -> usize {
        let Some(piece) = &self.piece else { return WORDS_MAX };
        let unfenced = if self.after == 0 { 8 } else { 0 };
        let without_words = OVERHEAD_BYTES - 8 * WORDS_MAX - unfenced + self.draft.frames.len() + piece.wire_bytes();
        ((self.bytes as usize).saturating_sub(without_words) / 8).min(WORDS_MAX)
    }
}

/// A datagram that leaves: its number, that of its transmission, its length, and whether the peer answers it at once.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) sequence: u64,
    pub(crate) number: u64,
    pub(crate) bytes: usize,
    pub(crate) prompt: bool,
}

/// What is left of a datagram that has arrived.
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

/// What to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A datagram that was lost, or may be.
    Again(u64),
    /// A new one, if there is something for it.
    New,
    /// A new one with nothing in it, to hear whether the peer is there.
    Empty,
}

impl Sender {
    /// The sender of a peer to which datagrams below `base` have been sent.
    pub(crate) fn new(base: u64, datagram_bytes: usize, receive_window: u64, now: Instant) -> Self {
        Self {
            epoch: Epoch::default(),
            later: VecDeque::new(),
            after: 0,
            base,
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
            refused: 0,
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

    /// The number of the next new datagram.
    pub(crate) fn next(&self) -> u64 {
        self.base + self.in_flight.len() as u64
    }

    /// Whether nothing waits, is on its way or is awaited.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_empty() && self.awaited == 0 && !self.has_new()
    }

    /// Whether something waits to be sent for the first time.
    pub(crate) fn has_new(&self) -> bool {
        !self.epoch.is_empty() || !self.later.is_empty()
    }

    /// Whether everything that was sent has arrived.
    pub(crate) fn is_all_arrived(&self) -> bool {
        self.bytes_in_flight == 0 && self.lost.is_empty()
    }

    /// Whether something may have to be sent now.
    pub(crate) fn has_work(&self) -> bool {
        self.probes > 0 || !self.lost.is_empty() || self.has_new()
    }

    /// Whether another operation of this rank may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.queued_bytes < QUEUED_BYTES_MAX
            && self.awaited < AWAITED_MAX
            && self.later.len() < EPOCHS_MAX
            && self.last_epoch().transfers.len() < TRANSFERS_MAX
    }

    /// Queues a frame of an operation of this rank; a write comes with its token. Returns how many bytes it takes.
    pub(crate) fn request(&mut self, frame: &Frame<'_>, write: Option<u64>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        if self.epoch.fenced_within && !self.epoch.may_go_along(frame, datagram_bytes) {
            self.part();
        }
        let epoch = self.later.back_mut().unwrap_or(&mut self.epoch);
        let bytes = epoch.append(frame, write, datagram_bytes, spare);
        epoch.drafts.back_mut().expect("just appended to").prompt = true;
        self.queued_bytes += bytes;
        bytes
    }

    /// Queues a short write if it leaves with a datagram that waits for company: something is on its way, whose answer sends what waits, and
    /// nothing else is to be done first. Returns how many bytes it takes.
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

    /// The peer owes an answer to what was requested last; it may read memory later than the request arrives.
    pub(crate) fn await_answer(&mut self, reads_late: bool) {
        self.awaited += 1;
        let late = u32::from(reads_late);
        match self.later.back_mut() {
            Some(epoch) => epoch.slow_reads += late,
            None => self.slow_reads += late,
        }
    }

    /// The peer has answered.
    pub(crate) fn handle_answer(&mut self, reads_late: bool) {
        self.awaited = self.awaited.saturating_sub(1);
        self.slow_reads = self.slow_reads.saturating_sub(u32::from(reads_late));
    }

    /// Queues an answer, which no fence of this rank holds up. Returns how many bytes it takes.
    pub(crate) fn answer(&mut self, frame: &Frame<'_>, datagram_bytes: usize, spare: &mut Spare) -> usize {
        let bytes = self.epoch.append(frame, None, datagram_bytes, spare);
        self.queued_bytes += bytes;
        bytes
    }

    /// Whether the peer has asked for more long answers than it may await: its requests are left to be sent again.
    pub(crate) fn is_overasked(&self) -> bool {
        self.epoch.transfers.len() > TRANSFERS_MAX + 2 * AWAITED_MAX as usize
    }

    /// Queues a put of this rank, or the list of a get.
    pub(crate) fn transfer(&mut self, transfer: Transfer) {
        self.part();
        let epoch = self.later.back_mut().unwrap_or(&mut self.epoch);
        epoch.transfers.push_back(transfer);
    }

    /// Queues a transfer that a peer asked for.
    pub(crate) fn serve(&mut self, transfer: Transfer) {
        self.epoch.transfers.push_back(transfer);
    }

    /// Orders what was queued before what will be.
    pub(crate) fn fence(&mut self) {
        if self.later.back().is_some_and(Epoch::is_empty) {
            return;
        }
        let drafts = self.epoch.drafts.len();
        if self.later.is_empty() && self.slow_reads == 0 && drafts <= 1 && self.epoch.transfers.is_empty() {
            // What follows may go along with what has not left, if the datagram waits for those before it.
            (self.epoch.fenced_within, self.after) = (drafts == 1, self.next());
        } else {
            self.later.push_back(Epoch::default());
        }
    }

    /// What follows a fence within a datagram does not go along with it.
    fn part(&mut self) {
        if std::mem::take(&mut self.epoch.fenced_within) && self.later.is_empty() {
            self.later.push_back(Epoch::default());
        }
    }

    /// Whether a datagram that is not full waits, so that what is posted meanwhile goes along (Nagle, RFC 896): while short operations are on their way, whose
    /// answer comes at once and sends what waits. Pieces of long operations and answers hold up nothing: what follows a long put is as a rule its signal,
    /// and nothing would send it while its rank computes (Minshall's variant of the rule).
    fn awaits_company(&self) -> bool {
        self.sent(self.latest_short).is_some_and(|sent| sent.state != State::Settled)
    }

    /// What to send next, if anything may be sent. Unless `eagerly`, a new datagram may have to wait for company.
    pub(crate) fn poll(&mut self, now: Instant, round_trip: &RoundTrip, eagerly: bool) -> Option<Next> {
        // A peer that has not answered twice is asked by one datagram at a time.
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
        let may = allowed && (self.in_flight.len() as u64) < SEQUENCE_WINDOW && self.congestion.due(round_trip.smoothed()) <= now;
        (hurried && may && !self.epoch.is_empty()).then_some(Next::New)
    }

    /// Whether another datagram may leave before an acknowledgement, after one of `bytes` bytes.
    pub(crate) fn may_follow(&self, bytes: u64) -> bool {
        self.congestion.allows(self.in_flight_charge() + charge(bytes), self.receive_window)
            && (self.in_flight.len() as u64) + 1 < SEQUENCE_WINDOW
    }

    /// What is on its way, as the receive window counts it.
    fn in_flight_charge(&self) -> u64 {
        self.bytes_in_flight + self.datagrams_in_flight * DATAGRAM_CHARGE
    }

    /// Opens the next epoch if this one is wholly on its way and nothing of it reads memory later than it arrives.
    fn pass_fence(&mut self) {
        while self.epoch.is_empty() && self.slow_reads == 0 {
            let Some(epoch) = self.later.pop_front() else { return };
            self.slow_reads = epoch.slow_reads;
            self.epoch = epoch;
            self.after = self.next();
        }
    }

    /// The frames of the next new datagram, if any wait, and the transfer that may fill it.
    pub(crate) fn draft(&mut self) -> (Option<Draft>, Option<Transfer>) {
        self.part();
        let draft = self.epoch.drafts.pop_front();
        self.queued_bytes -= draft.as_ref().map_or(0, |draft| draft.frames.len());
        (draft, self.epoch.transfers.front().copied())
    }

    /// The first transfer has come so far; `done` if it needs no further datagram.
    pub(crate) fn advance(&mut self, transfer: Transfer, done: bool) {
        if done {
            self.epoch.transfers.pop_front();
        } else if let Some(front) = self.epoch.transfers.front_mut() {
            *front = transfer;
        }
    }

    /// Whether a new datagram waits for earlier ones, and for which; 0 if not.
    pub(crate) fn after(&self) -> u64 {
        if self.after > self.base { self.after } else { 0 }
    }

    /// A datagram that was sent and is not settled.
    pub(crate) fn sent(&self, sequence: u64) -> Option<&Sent> {
        self.in_flight.get(usize::try_from(sequence.checked_sub(self.base)?).ok()?)
    }

    pub(crate) fn sent_mut(&mut self, sequence: u64) -> Option<&mut Sent> {
        self.in_flight.get_mut(usize::try_from(sequence.checked_sub(self.base)?).ok()?)
    }

    /// A new datagram gets the next number.
    pub(crate) fn push(&mut self, draft: Draft, piece: Option<Piece>, after: u64) -> u64 {
        self.in_flight.push_back(Sent { draft, piece, after, ..Sent::default() });
        self.next() - 1
    }

    /// A datagram leaves, by a transmission of this number.
    pub(crate) fn handle_sent(&mut self, now: Instant, left: Left, round_trip: &RoundTrip) {
        let Left { sequence, number, bytes, prompt } = left;
        self.transmissions += 1;
        let asks = self.probes > 0;
        self.probes = self.probes.saturating_sub(1);
        let count = self.transmissions;
        self.waiting_since = now;
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
        // The pace is for long bursts: one that counted records would hold up short datagrams that follow each other's answers.
        self.congestion.handle_sent(now, bytes as u64, round_trip.smoothed());
    }

    /// A datagram of `bytes` bytes is on its way no longer.
    fn end_flight(&mut self, bytes: u32, prompt: bool) {
        self.bytes_in_flight -= u64::from(bytes);
        self.datagrams_in_flight -= 1;
        self.prompt_in_flight -= u64::from(prompt);
    }

    /// Everything that is not settled, when the peer is lost.
    pub(crate) fn into_drafts(self) -> impl Iterator<Item = Draft> {
        let waiting = std::iter::once(self.epoch).chain(self.later).flat_map(|epoch| epoch.drafts);
        self.in_flight.into_iter().map(|sent| sent.draft).chain(waiting)
    }

    /// The tokens of the writes that wait or are on their way.
    #[cfg(test)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u64> {
        let waiting = std::iter::once(&self.epoch).chain(&self.later).flat_map(|epoch| &epoch.drafts);
        self.in_flight.iter().map(|sent| &sent.draft).chain(waiting).flat_map(|draft| draft.writes.iter().copied())
    }

    /// Where answers that are being sent are read.
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

    /// Pieces of puts that have not arrived: of which operation, and from which byte on.
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

/// What a datagram takes of the receive window.
pub(crate) fn charge(bytes: u64) -> u64 {
    bytes + DATAGRAM_CHARGE
}
