//! Handling of received datagrams.

use pelago_base::{Duration, Event as Counted, Instant};

use super::time::lateness_max;
use super::{Conversations, Sharing};
use crate::api::{INJECT_SIZE, Rejected};
use crate::memory::Memory;
use crate::peer::receiver::Verdict;
use crate::wire::{self, Acknowledgement, Frame, Header, Place, Reader};

/// Maximum number of frame bytes that are kept for all peers together. Above it, requests of peers are dropped without acknowledgement; the
/// peers retransmit them.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Senders share the receive window of this rank with those that sent within this time.
const SHARING: Duration = Duration::from_milliseconds(10);

impl<M: Memory> Conversations<M> {
    /// Handles a received datagram: decrypts it in place and executes its frames before the call returns.
    ///
    /// # Errors
    /// The datagram changed nothing. The caller continues: the job's own datagrams are retransmitted.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &mut [u8], memory: &mut M) -> Result<(), Rejected> {
        let outcome = self.take_datagram(now, datagram, memory);
        self.counters.count(match outcome {
            Ok(()) => Counted::DatagramReceived,
            Err(Rejected::Forged) => Counted::DatagramForged,
            Err(Rejected::Foreign) => Counted::DatagramForeign,
            Err(Rejected::Duplicate) => Counted::DatagramDuplicate,
            Err(Rejected::Early) => Counted::DatagramEarly,
            Err(Rejected::Malformed) => Counted::DatagramMalformed,
        });
        outcome
    }

    fn take_datagram(&mut self, now: Instant, datagram: &mut [u8], memory: &mut M) -> Result<(), Rejected> {
        let header = Header::parse(datagram).ok_or(Rejected::Forged)?;
        if header.from.number() >= self.config.layout.ranks() {
            return Err(Rejected::Foreign);
        }
        let body = self.seal.open(header.nonce(self.config.me), datagram).ok_or(Rejected::Forged)?;
        let mut reader = Reader(body);
        let acknowledgement = Acknowledgement::parse(&mut reader).ok_or(Rejected::Malformed)?;
        let place = match header.sequenced {
            true => Some(Place::parse(&mut reader, &header).ok_or(Rejected::Malformed)?),
            false => None,
        };
        let index = self.meet(header.from);
        let peer = &mut self.peers[index as usize];
        if peer.failure().is_some() || *peer.incarnation.get_or_insert(header.incarnation) != header.incarnation {
            return Err(Rejected::Foreign);
        }
        // Anyone may replay an old datagram. A replay proves nothing about the peer and needs no answer: it was sent, or the peer asks again.
        let is_fresh = header.transmission > peer.transmission;
        let is_new = place.is_some_and(|place| peer.is_new(place));
        if is_fresh || is_new {
            self.activate(now, index);
            place.inspect(|_| self.count_sender(now, index));
        }
        let said_more = self.hear(now, index, &header, is_new, &acknowledgement);
        let outcome = match place {
            Some(_) if !is_fresh && !is_new => Err(Rejected::Duplicate),
            Some(place) => self.take_in(now, index, &header, place, reader.0, memory),
            None if is_fresh || said_more => Ok(()),
            None => Err(Rejected::Duplicate),
        };
        self.settle(now, index);
        self.serve_waiting(now, memory);
        self.enqueue(index);
        self.note_deadline(now, index);
        outcome
    }

    /// Handles the acknowledgement and header of any datagram of a peer, whether executed before or new (`is_new`); returns whether it
    /// acknowledges anything that was not known to have arrived.
    fn hear(&mut self, now: Instant, index: u32, header: &Header, is_new: bool, said: &Acknowledgement) -> bool {
        let peer = &mut self.peers[index as usize];
        let datagram_bytes = peer.datagram_bytes() as u64;
        let Some(active) = &mut peer.active else { return false };
        // Only a new transmission is a sign of life: anyone may replay an old one.
        if header.transmission > peer.transmission {
            (peer.transmission, peer.heard) = (header.transmission, now);
            peer.datagram_bytes_there = said.datagram_bytes;
            active.sender.receive_window = (u64::from(said.receive_window) * Acknowledgement::WINDOW_UNIT).max(1);
            // A repeated datagram does not replace the pending echo of a transmission that brought something new.
            if header.sequenced && (is_new || active.receiver.echo == 0) {
                active.receiver.echo = header.transmission;
            }
            if let Some((taken, was_needed)) = active.sender.sample(now, said.echo) {
                let most = lateness_max(self.config.failure_limit);
                if !self.lateness.spans_pause(now, taken, now.since(self.due), most) {
                    peer.round_trip.sample(taken);
                    self.typical.sample(taken);
                }
                if was_needed {
                    self.worth.handle_needed();
                }
            }
        }
        active.sender.handle_acknowledgement(now, said, self.worth, datagram_bytes)
    }

    /// Executes the frames of a datagram with a sequence number, if the receiver accepts it.
    fn take_in(
        &mut self,
        now: Instant,
        index: u32,
        header: &Header,
        place: Place,
        frames: &[u8],
        memory: &mut M,
    ) -> Result<(), Rejected> {
        let room = self.room(index, frames);
        let peer = &mut self.peers[index as usize];
        let Some(active) = &mut peer.active else { return Ok(()) };
        active.used = now;
        match active.receiver.judge(peer.received, place) {
            Verdict::New if room != Room::Missing => {}
            Verdict::Duplicate => {
                active.receiver.owe(now, true);
                if active.sender.handle_repetition(now, &peer.round_trip) {
                    self.worth.handle_repeated();
                }
                return Err(Rejected::Duplicate);
            }
            Verdict::Early | Verdict::New => {
                // The sender gets a sign of life, however long its datagram has to wait.
                active.receiver.owe(now, header.urgent);
                return Err(Rejected::Early);
            }
        }
        peer.received = active.receiver.note(peer.received, place.sequence);
        active.receiver.owe(now, header.urgent);
        self.execute(now, index, place.sequence, (frames, room), memory)
    }

    /// Returns whether there is room for what the frames of a new datagram leave to be done. A datagram is accepted as a whole or not at all.
    ///
    /// Only [reads](is_read) leave more than the bytes of short answers. They wait for room in the table of operations, behind those that wait
    /// already; a fence of the peer is not passed before they have ended. Other frames are executed at once.
    fn room(&self, index: u32, frames: &[u8]) -> Room {
        if self.kept_bytes > KEPT_BYTES_MAX {
            return Room::Missing;
        }
        let Some(active) = &self.peers[index as usize].active else { return Room::Free };
        let has_many = active.sender.has_many_transfers();
        let fit = |reads| self.requests.is_empty() && self.operations.has_room_for_peers(reads);
        if !has_many && fit(frames.len() / Frame::READ_BYTES_MIN) {
            return Room::Free;
        }
        let reads = wire::frames(frames).flatten().filter(is_read).count();
        if reads == 0 {
            return Room::Free;
        }
        if has_many && active.sender.is_overasked(|number| self.operations.is_for_another(number)) {
            return Room::Missing;
        }
        match fit(reads) {
            true => Room::Free,
            false if self.requests.has_room(index, frames.len()) => Room::Later,
            false => Room::Missing,
        }
    }

    /// Counts the peers that send, so that each gets a share of the receive window.
    fn count_sender(&mut self, now: Instant, index: u32) {
        let stretch = (now.as_picoseconds() / SHARING.as_picoseconds()) as u32 + 1;
        let sharing = &mut self.sharing;
        if sharing.stretch != stretch {
            let follows = sharing.stretch + 1 == stretch;
            *sharing = Sharing { stretch, now: 0, before: if follows { sharing.now } else { 0 } };
        }
        let peer = &mut self.peers[index as usize];
        if peer.counted != stretch {
            peer.counted = stretch;
            sharing.now += 1;
        }
    }
}

/// Room for the frames of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// All are executed.
    Free,
    /// Reads wait for room, all others are executed.
    Later,
    /// There is none. The peer retransmits the datagram.
    Missing,
}

/// Whether the answer to a get of `bytes` bytes is a transfer.
pub(super) fn is_long_get(bytes: u64) -> bool {
    bytes > INJECT_SIZE as u64
}

/// Whether the answer may outlive the datagram of the request, as a transfer or an entry in the table of operations: that of a long get, a get of
/// blocks, or a copy. A fence of the peer is not passed before such an answer has arrived.
pub(super) fn is_read(frame: &Frame<'_>) -> bool {
    match frame {
        Frame::Get { bytes, .. } => is_long_get(*bytes),
        Frame::GetShape { .. } | Frame::GetList { .. } | Frame::Copy { .. } => true,
        _ => false,
    }
}
