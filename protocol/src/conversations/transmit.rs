//! Construction of outgoing datagrams.

use pelago_base::{Event as Counted, GlobalAddress, Instant};

use super::Conversations;
use super::operations::{Origin, PendingOperation, Put, Source};
use super::patterns::{PutBlocks, There, WORD_BYTES};
use crate::api::{Gap, Injection, PeerIndex, Signal, Transmit};
use crate::memory::{Denied, Memory, further};
use crate::peer::receiver::Owed;
use crate::peer::sender::{Left, Next};
use crate::peer::waiting::{Draft, Piece, Transfer};
use crate::wire::{
    self, Acknowledgement, Frame, HEADER_BYTES, Header, PIECE_BYTES, Place, SIGNALLED_BYTES, TAG_BYTES, TRANSMISSION_MAX,
    WORDS_MAX,
};

/// Number of consecutive datagrams to one peer before the next peer has its turn.
const BURST: u32 = 64;

/// Minimum room in bytes for which a piece is added behind frames.
const PIECE_WORTHWHILE: usize = 256;

/// Minimum size in bytes of a piece that is cheaper to send in place, as two more parts of the kernel's message, than to copy.
const GAP_WORTHWHILE: usize = 4096;

impl<M: Memory> Conversations<M> {
    /// Writes the next datagram to send into `buffer`, which has room for the largest. With `patient`, acknowledgements wait for a
    /// datagram that carries them.
    pub fn poll_transmit(&mut self, now: Instant, memory: &M, buffer: &mut [u8], patient: bool) -> Option<Transmit> {
        while let Some(&index) = self.queue.front() {
            if self.burst < BURST
                && let Some(transmit) = self.transmit(now, index, Sources::of(memory), buffer, true)
            {
                self.burst += 1;
                if !transmit.more {
                    self.end_turn(index);
                }
                return Some(transmit);
            }
            self.end_turn(index);
            // After its turn, a peer that may send more queues behind the others; a peer that may not waits for an acknowledgement or its pace.
            if self.may_send(now, index) {
                self.enqueue(index);
            }
            self.note_deadline(now, index);
        }
        while !patient && let Some(index) = self.waiting.pop_front() {
            if let Some(active) = &mut self.peers[index as usize].active {
                active.waiting = false;
            }
            if let Some(bytes) = self.send_acknowledgement(index, buffer) {
                self.note_deadline(now, index);
                return Some(self.transmitted(index, Made::whole(bytes)));
            }
        }
        None
    }

    /// Removes the peer at the front of the queue.
    fn end_turn(&mut self, index: u32) {
        self.queue.pop_front();
        self.burst = 0;
        if let Some(active) = &mut self.peers[index as usize].active {
            active.queued = false;
        }
    }

    /// Whether there may be datagrams to send or events to report.
    pub fn has_work(&self) -> bool {
        !(self.queue.is_empty() && self.waiting.is_empty() && self.events.is_empty())
    }

    /// Whether a peer is queued for sending; if not, only acknowledgements may be due.
    pub fn has_queue(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether acknowledgements wait for a datagram that carries them.
    pub fn is_owing(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// As `poll_transmit`, to one peer, and only datagrams that gain nothing from being held back: a full datagram, or any datagram if no short
    /// operation is in flight to that peer.
    pub fn poll_transmit_full(&mut self, now: Instant, to: PeerIndex, memory: &M, buffer: &mut [u8]) -> Option<Transmit> {
        self.transmit(now, to.0, Sources::of(memory), buffer, false)
    }

    /// As `poll_transmit_full`, to the peer of an injection that is not captured, whose bytes are the caller's. Bytes of a datagram may be left
    /// in place instead of copied: see [`Transmit::gap`]. In jobs that encrypt, none are.
    pub fn poll_transmit_gathered(
        &mut self,
        now: Instant,
        injection: &Injection<'_>,
        memory: &M,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let sources = Sources { memory, injected: Some(injection.bytes) };
        self.transmit(now, injection.peer.0, sources, buffer, false)
    }

    fn may_send(&mut self, now: Instant, index: u32) -> bool {
        let peer = &mut self.peers[index as usize];
        let Some(active) = &mut peer.active else { return false };
        active.sender.poll(now, &peer.round_trip, true).is_some()
    }

    fn transmit(
        &mut self,
        now: Instant,
        index: u32,
        sources: Sources<'_, M>,
        buffer: &mut [u8],
        eagerly: bool,
    ) -> Option<Transmit> {
        let peer = &mut self.peers[index as usize];
        let active = peer.active.as_mut()?;
        let made = match active.sender.poll(now, &peer.round_trip, eagerly) {
            Some(Next::Again(sequence)) => Some(self.send_again(now, index, sequence, sources, buffer)),
            Some(Next::New) => self.send_new(now, index, sources, buffer),
            Some(Next::Empty) => Some(Made::whole(self.send_frames(now, index, Draft::default(), buffer))),
            None => None,
        }?;
        self.note_deadline(now, index);
        Some(self.transmitted(index, made))
    }

    fn transmitted(&self, index: u32, Made { bytes, gap }: Made) -> Transmit {
        let peer = &self.peers[index as usize];
        let more = peer.active.as_ref().is_some_and(|active| active.sender.has_work());
        Transmit { to: peer.rank, peer: PeerIndex(index), bytes, more, gap }
    }

    /// Builds a new datagram from queued frames and transfers; `None` if none are left after failed ones are removed.
    fn send_new(&mut self, now: Instant, index: u32, sources: Sources<'_, M>, buffer: &mut [u8]) -> Option<Made> {
        loop {
            let peer = &mut self.peers[index as usize];
            let datagram_bytes = peer.datagram_bytes();
            let (draft, transfer) = peer.active.as_mut()?.sender.draft();
            if let Some(transfer) = transfer {
                let frames = draft.as_ref().map_or(0, |draft| draft.frames.len());
                let room = datagram_bytes.saturating_sub(wire::OVERHEAD_BYTES + frames + PIECE_BYTES);
                if draft.is_none() || room >= PIECE_WORTHWHILE {
                    let offered = Offered { transfer, draft: draft.unwrap_or_default() };
                    match self.send_piece(now, index, offered, datagram_bytes, sources, buffer) {
                        Some(made) => return Some(made),
                        None => continue,
                    }
                }
            }
            return draft.map(|draft| Made::whole(self.send_frames(now, index, draft, buffer)));
        }
    }

    /// Builds a new datagram with a piece of a transfer at its end; without the piece if its bytes cannot be read.
    fn send_piece(
        &mut self,
        now: Instant,
        index: u32,
        Offered { transfer, mut draft }: Offered,
        datagram_bytes: usize,
        sources: Sources<'_, M>,
        buffer: &mut [u8],
    ) -> Option<Made> {
        let is_last = self.bytes_left(transfer) <= datagram_bytes as u64;
        let is_behind = is_last && self.signals_behind(transfer);
        let sender = &self.peers[index as usize].active.as_ref()?.sender;
        let sequence = sender.next();
        let after = if is_behind { sequence } else { sender.after() };
        // Pieces in between are acknowledged together with the last one, or with the last one that may be sent now.
        let urgent = is_last || !draft.writes.is_empty() || !sender.may_follow(datagram_bytes as u64);
        let start = self.begin(index, Some(Place { sequence, after }), urgent, &draft.frames, WORDS_MAX, buffer);
        let room = datagram_bytes.saturating_sub(start + TAG_BYTES);
        let (piece, rest) = self.next_piece(transfer, room);
        let written = piece.map(|piece| (piece, self.write_piece(piece, sources, &mut buffer[start..])));
        let active = self.peers[index as usize].active.as_mut()?;
        if let Some((piece, Ok(body))) = written {
            active.sender.advance(rest.unwrap_or(transfer), rest.is_none());
            let sequence = active.sender.push(draft, Some(piece), after);
            if let Piece::Put { operation, .. } = piece
                && let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation)
            {
                put.out += 1;
            }
            return Some(self.end_around(now, index, (sequence, urgent), body.behind(start), sources, buffer));
        }
        // The acknowledgement that was written above is discarded with the piece, so another is due.
        active.receiver.owe(now, true);
        active.sender.advance(transfer, true);
        self.enqueue(index);
        match transfer {
            Transfer::Put { operation, .. } => {
                if let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) {
                    put.is_sent = true;
                    put.failure = put.failure.or(written.and_then(|(_, result)| result.err()).map(|(denied, at)| denied.at(at)));
                }
                self.end_put(now, operation);
            }
            // The get that asked has ended.
            Transfer::Ask { .. } => {}
            Transfer::Answer { operation, .. } => {
                let before = draft.frames.len();
                let denied = written.and_then(|(_, result)| result.err()).map_or(Denied::Outside, |(denied, _)| denied);
                Frame::Denied { operation, denied, second: false }.append(&mut draft.frames);
                self.kept_bytes += draft.frames.len() - before;
            }
        }
        (!draft.frames.is_empty()).then(|| Made::whole(self.send_frames(now, index, draft, buffer)))
    }

    /// Returns the number of bytes of a transfer that no datagram has carried yet.
    fn bytes_left(&mut self, transfer: Transfer) -> u64 {
        match transfer {
            Transfer::Put { operation, .. } => match self.operations.get_mut(operation) {
                Some(PendingOperation::Put(put)) => put.bytes - put.next,
                _ => 0,
            },
            Transfer::Answer { bytes, next, .. } => bytes - next,
            Transfer::Ask { .. } => 0,
        }
    }

    /// Whether the last piece of a transfer carries a signal that must follow earlier pieces.
    fn signals_behind(&self, transfer: Transfer) -> bool {
        let Transfer::Put { operation, .. } = transfer else { return false };
        matches!(self.operations.get(operation), Some(PendingOperation::Put(put)) if put.signal.is_some() && put.next > 0)
    }

    /// Returns the next piece of a transfer, at most `room` bytes including its head, and the rest of the transfer; no piece for a put that has
    /// failed.
    fn next_piece(&mut self, transfer: Transfer, room: usize) -> (Option<Piece>, Option<Transfer>) {
        match transfer {
            Transfer::Put { operation, .. } => {
                let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) else { return (None, None) };
                if put.failure.is_some() {
                    return (None, None);
                }
                let left = put.bytes - put.next;
                let to = further(put.to, put.next).bits();
                let (head, bytes) = match &put.blocks {
                    // The last piece carries the signal: if that has no room, a further piece becomes the last.
                    None if put.signal.is_some() => match room.saturating_sub(SIGNALLED_BYTES) as u64 {
                        fitting if left <= fitting => (SIGNALLED_BYTES, left),
                        fitting => (PIECE_BYTES, whole_words(to, left, fitting)),
                    },
                    None => (PIECE_BYTES, whole_words(to, left, room.saturating_sub(PIECE_BYTES) as u64)),
                    Some(blocks) => blocks.fit(put.next, left, room),
                };
                let piece = Piece::Put { operation, offset: put.next, bytes: bytes as usize, head: head as u16 };
                put.next += bytes;
                put.is_sent = put.next == put.bytes;
                (Some(piece), (!put.is_sent).then_some(transfer))
            }
            Transfer::Answer { operation, from, bytes: all, next } => {
                let bytes = whole_words(from.bits() + next, all - next, room.saturating_sub(PIECE_BYTES) as u64);
                let piece = Piece::Answer { operation, from, offset: next, bytes: bytes as usize };
                let rest = Transfer::Answer { operation, from, bytes: all, next: next + bytes };
                (Some(piece), (next + bytes < all).then_some(rest))
            }
            Transfer::Ask { operation } => {
                let Some(PendingOperation::Get { blocks: Some(blocks), .. }) = self.operations.get_mut(operation) else {
                    return (None, None);
                };
                let asked = blocks.ask(room);
                let piece = asked.map(|(ask, _)| Piece::Ask { operation, ask });
                (piece, asked.filter(|&(_, more)| more).map(|_| transfer))
            }
        }
    }

    /// Writes a piece, reading its bytes from memory now; or returns why the memory at an address cannot be read.
    fn write_piece(&mut self, piece: Piece, sources: Sources<'_, M>, into: &mut [u8]) -> Result<Body, (Denied, GlobalAddress)> {
        if let Piece::Ask { operation, ask } = piece {
            // A get that has ended asks for nothing more.
            let Some(PendingOperation::Get { from, blocks: Some(blocks), .. }) = self.operations.get(operation) else {
                return Ok(Body::default());
            };
            blocks.write_ask(operation, *from, ask, into);
            return Ok(Body { written: usize::from(ask.bytes), left_out: None });
        }
        if let Piece::Put { operation, offset, bytes, head } = piece
            && let Some(PendingOperation::Put(put)) = self.operations.get(operation)
            && let Some(blocks) = &put.blocks
        {
            let (head, body) = into.split_at_mut(usize::from(head));
            write_blocks(put, blocks, offset, sources, head, &mut body[..bytes]).map_err(|denied| (denied, put.to))?;
            return Ok(Body { written: head.len() + bytes, left_out: None });
        }
        let head_bytes = if let Piece::Put { head, .. } = piece { usize::from(head) } else { PIECE_BYTES };
        let (head, body) = into.split_at_mut(head_bytes);
        match piece {
            Piece::Ask { .. } => Ok(Body::default()),
            Piece::Put { operation, offset, bytes, .. } => {
                let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) else { return Ok(Body::default()) };
                match put.signal.filter(|_| head_bytes == SIGNALLED_BYTES) {
                    Some(Signal { at, word }) => head.copy_from_slice(&wire::signalled(put.to, put.bytes, offset, (at, word))),
                    None => head.copy_from_slice(&wire::request(put.to, put.bytes, offset)),
                }
                let body = &mut body[..bytes];
                match &put.from {
                    Source::Injected if bytes >= GAP_WORTHWHILE && self.seal.takes_parts(bytes) => {
                        return Ok(Body { written: head_bytes, left_out: Some((offset as usize, bytes)) });
                    }
                    Source::Local(local) => sources.memory.read_local(local, offset, body),
                    Source::Injected => body.copy_from_slice(part(sources.injected.expect(CAPTURED), offset, bytes)),
                    Source::Captured { from, bytes: kept } => body.copy_from_slice(part(kept, offset - from, bytes)),
                    &Source::Segment(from) => {
                        sources.memory.read(further(from, offset), body).map_err(|denied| (denied, from))?;
                    }
                }
                Ok(Body { written: head_bytes + bytes, left_out: None })
            }
            Piece::Answer { operation, from, offset, bytes } => {
                sources.memory.read(further(from, offset), &mut body[..bytes]).map_err(|denied| (denied, from))?;
                head.copy_from_slice(&wire::reply(operation, offset));
                Ok(Body { written: PIECE_BYTES + bytes, left_out: None })
            }
        }
    }

    /// Builds a new datagram of frames alone.
    fn send_frames(&mut self, now: Instant, index: u32, draft: Draft, buffer: &mut [u8]) -> usize {
        let Some(active) = self.peers[index as usize].active.as_mut() else { return 0 };
        let urgent = !draft.writes.is_empty() || draft.frames.is_empty();
        let prompt = urgent || draft.has_own();
        let (sequence, after) = (active.sender.next(), active.sender.after());
        let end = self.begin(index, Some(Place { sequence, after }), urgent, &draft.frames, WORDS_MAX, buffer);
        if let Some(active) = self.peers[index as usize].active.as_mut() {
            active.sender.push(draft, None, after);
        }
        self.end(now, index, Some((sequence, prompt)), end, buffer)
    }

    /// Retransmits a datagram with the same sequence number and contents; the bytes of pieces are read from memory again.
    fn send_again(&mut self, now: Instant, index: u32, sequence: u64, sources: Sources<'_, M>, buffer: &mut [u8]) -> Made {
        self.counters.count(Counted::DatagramRepeated);
        let Some(active) = self.peers[index as usize].active.as_mut() else { return Made::whole(0) };
        let Some(sent) = active.sender.sent_mut(sequence) else { return Made::whole(0) };
        let words_max = sent.words_max();
        let (frames, piece, after) = (std::mem::take(&mut sent.draft.frames), sent.piece, sent.after);
        let start = self.begin(index, Some(Place { sequence, after }), true, &frames, words_max, buffer);
        let written = piece.map_or(Ok(Body::default()), |piece| self.write_piece(piece, sources, &mut buffer[start..]));
        let body = match (written, piece) {
            (Ok(body), _) => body,
            // The memory is no longer registered, or its device failed: a denial replaces the bytes.
            (Err((denied, _)), Some(Piece::Answer { operation, .. })) => {
                let mut frame = Vec::new();
                Frame::Denied { operation, denied, second: false }.append(&mut frame);
                buffer[start..start + frame.len()].copy_from_slice(&frame);
                Body { written: frame.len(), left_out: None }
            }
            (Err((denied, at)), Some(Piece::Put { operation, .. })) => {
                if let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) {
                    put.failure = put.failure.or(Some(denied.at(at)));
                }
                Body::default()
            }
            (Err(_), Some(Piece::Ask { .. }) | None) => Body::default(),
        };
        if let Some(sent) = self.peers[index as usize].active.as_mut().and_then(|active| active.sender.sent_mut(sequence)) {
            sent.draft.frames = frames;
        }
        self.end_around(now, index, (sequence, true), body.behind(start), sources, buffer)
    }

    /// Builds a datagram that contains only an acknowledgement, if the peer waits for one.
    fn send_acknowledgement(&mut self, index: u32, buffer: &mut [u8]) -> Option<usize> {
        let active = self.peers[index as usize].active.as_ref()?;
        if active.receiver.owed() != Owed::Now {
            return None;
        }
        let end = self.begin(index, None, false, &[], WORDS_MAX, buffer);
        Some(self.end(Instant::ZERO, index, None, end, buffer))
    }

    /// Writes header, acknowledgement of up to `words_max` words, place and frames; returns where pieces begin.
    fn begin(
        &mut self,
        index: u32,
        place: Option<Place>,
        urgent: bool,
        frames: &[u8],
        words_max: usize,
        buffer: &mut [u8],
    ) -> usize {
        let receive_window = u16::try_from(self.receive_window() / Acknowledgement::WINDOW_UNIT).unwrap_or(u16::MAX);
        self.transmissions += 1;
        assert!(self.transmissions <= TRANSMISSION_MAX, "each transmission has its own number, or the seal is worth nothing");
        let header = Header {
            from: self.config.me,
            incarnation: self.config.incarnation,
            sequenced: place.is_some(),
            fenced: place.is_some_and(|place| place.after != 0),
            urgent,
            transmission: self.transmissions,
            bytes: 0,
        };
        header.write(buffer);
        let mut at = HEADER_BYTES;
        let peer = &mut self.peers[index as usize];
        if let Some(active) = &mut peer.active {
            let (words, words_known) = active.receiver.acknowledge(peer.received);
            let words_used = words_known.min(words_max as u8);
            let is_cut = words_used < words_known;
            if is_cut {
                // The next datagram carries the words that have no room here.
                active.receiver.owe(Instant::ZERO, true);
            }
            let (next, refused, datagram_bytes) = (peer.received, peer.refusals_sent, peer.datagram_bytes_here);
            // Echoed once: a later repetition would make the round trip appear longer.
            let echo = std::mem::take(&mut active.receiver.echo);
            at += Acknowledgement { next, refused, receive_window, datagram_bytes, echo, words, words_used }
                .write(&mut buffer[at..]);
            if is_cut {
                self.enqueue(index);
            }
        }
        if let Some(place) = place {
            at += place.write(&mut buffer[at..]);
        }
        buffer[at..at + frames.len()].copy_from_slice(frames);
        at + frames.len()
    }

    /// As `end`, for a datagram of which a part may be left out of the buffer.
    fn end_around(
        &mut self,
        now: Instant,
        index: u32,
        numbered: (u64, bool),
        body: Body,
        sources: Sources<'_, M>,
        buffer: &mut [u8],
    ) -> Made {
        let at = body.written;
        let (Some((from, count)), Some(injected)) = (body.left_out, sources.injected) else {
            return Made::whole(self.end(now, index, Some(numbered), at, buffer));
        };
        let bytes = at + count + TAG_BYTES;
        Header::write_bytes(bytes as u16, buffer);
        if let Some(header) = Header::parse(buffer) {
            let nonce = header.nonce(self.peers[index as usize].rank);
            let tag = self.seal.tag(nonce, &[&buffer[..at], &injected[from..from + count]]);
            buffer[at..at + TAG_BYTES].copy_from_slice(&tag);
        }
        self.note_sent(now, index, Some(numbered), bytes);
        Made { bytes, gap: Some(Gap { at, from, bytes: count }) }
    }

    /// Seals the datagram that `begin` started and records its transmission: its number, and whether the peer answers it at once.
    fn end(&mut self, now: Instant, index: u32, numbered: Option<(u64, bool)>, end: usize, buffer: &mut [u8]) -> usize {
        let bytes = end + TAG_BYTES;
        Header::write_bytes(bytes as u16, buffer);
        if let Some(header) = Header::parse(buffer) {
            self.seal.seal(header.nonce(self.peers[index as usize].rank), &mut buffer[..bytes]);
        }
        self.note_sent(now, index, numbered, bytes);
        bytes
    }

    /// Records the transmission of a datagram of `bytes` bytes.
    fn note_sent(&mut self, now: Instant, index: u32, numbered: Option<(u64, bool)>, bytes: usize) {
        self.counters.count(Counted::DatagramSent);
        let peer = &mut self.peers[index as usize];
        if let (Some(active), Some((sequence, prompt))) = (&mut peer.active, numbered) {
            active.used = now;
            let left = Left { sequence, number: self.transmissions, bytes, prompt };
            active.sender.handle_sent(now, left, &peer.round_trip);
        }
    }
}

/// Writes a piece of a put of which an end is not contiguous: its head, and the bytes from `offset` on, gathered from their blocks.
fn write_blocks<M: Memory>(
    put: &Put<M::Local>,
    blocks: &PutBlocks,
    offset: u64,
    sources: Sources<'_, M>,
    head: &mut [u8],
    body: &mut [u8],
) -> Result<(), Denied> {
    match (&blocks.there, put.origin) {
        (There::Answer(before), Origin::Answer { operation, .. }) => {
            head.copy_from_slice(&wire::reply(operation, before + offset));
        }
        _ => blocks.write_head(put.to, offset..offset + body.len() as u64, head),
    }
    match &put.from {
        Source::Local(local) => blocks.here.read_local(sources.memory, local, offset, body),
        &Source::Segment(from) => blocks.here.read(sources.memory, from, offset, body)?,
        Source::Injected | Source::Captured { .. } => {}
    }
    Ok(())
}

/// Sources of the bytes of pieces: the memory of the rank, and the caller's bytes of an injection that is not captured.
struct Sources<'a, M> {
    memory: &'a M,
    injected: Option<&'a [u8]>,
}

impl<'a, M> Sources<'a, M> {
    fn of(memory: &'a M) -> Self {
        Self { memory, injected: None }
    }
}

impl<M> Clone for Sources<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Sources<'_, M> {}

const CAPTURED: &str = "an injection is captured before anything else is sent";

fn part(bytes: &[u8], offset: u64, length: usize) -> &[u8] {
    &bytes[offset as usize..][..length]
}

/// Number of bytes written of a piece, and the position and length in the injection of the bytes that follow them.
#[derive(Clone, Copy, Default)]
struct Body {
    written: usize,
    left_out: Option<(usize, usize)>,
}

impl Body {
    /// Adds the bytes that were written before the piece.
    fn behind(self, bytes: usize) -> Self {
        Self { written: bytes + self.written, ..self }
    }
}

/// A finished datagram: its length, and the bytes of it that are not in the buffer.
#[derive(Clone, Copy)]
struct Made {
    bytes: usize,
    gap: Option<Gap>,
}

impl Made {
    fn whole(bytes: usize) -> Self {
        Self { bytes, gap: None }
    }
}

/// Contents available for a new datagram.
struct Offered {
    transfer: Transfer,
    draft: Draft,
}

/// Returns how many of `left` bytes at an address a piece takes that has room for `room` bytes and ends between two words, unless it is the last.
fn whole_words(address: u64, left: u64, room: u64) -> u64 {
    if left <= room { left } else { room.saturating_sub(address.wrapping_add(room) % WORD_BYTES) }
}
