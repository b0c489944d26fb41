//! Execution of a peer's requests, and handling of its answers.

use pelago_base::limits::OVERLAPPING_BYTES_MAX;
use pelago_base::{AtomicOperator, Failure, GlobalAddress, Instant, Width};

use super::operations::{Origin, PendingOperation, Put, Source};
use super::patterns::{Pattern, PutBlocks, There, row_bytes, write_list, write_shape};
use super::receive::{Room, is_long_get, is_read};
use super::{ADMITTED, Conversations};
use crate::api::{INJECT_SIZE, Rejected};
use crate::memory::{Denied, Memory, further};
use crate::peer::waiting::Transfer;
use crate::wire::{Frame, frames};

/// The index of a put's piece among the writes of its datagram.
pub(super) const PIECE: u16 = u16::MAX;

/// The index of the signal word of a put's piece.
pub(super) const SIGNAL: u16 = u16::MAX - 1;

/// Size in bytes of the buffer for short gets. Most gets are not longer; a larger buffer would have to be zeroed.
const SHORT_BYTES_MAX: usize = 64;

impl<M: Memory> Conversations<M> {
    /// Executes the frames of a new datagram, in order. Reads wait if they have room later.
    ///
    /// No arm binds a whole frame: the core would stall at its copy, because it was written just before in other portions (decision 47).
    pub(crate) fn execute(
        &mut self,
        now: Instant,
        index: u32,
        sequence: u64,
        (bytes, room): (&[u8], Room),
        memory: &mut M,
    ) -> Result<(), Rejected> {
        if room == Room::Later {
            frames(bytes).flatten().filter(is_read).for_each(|read| self.requests.push(index, &read));
        }
        let mut writes = 0;
        for frame in frames(bytes) {
            match frame.ok_or(Rejected::Malformed)? {
                Frame::Write { to, bytes } => {
                    self.write(index, (sequence, writes), memory.write(to, bytes));
                    writes += 1;
                }
                Frame::PutPiece { to, all, offset, bytes } => {
                    let written = memory.check(to, all).and_then(|()| memory.write(further(to, offset), bytes));
                    self.write(index, (sequence, PIECE), written);
                }
                Frame::PutSignalled { to, all, offset, at, word, bytes } => {
                    let written = memory.check(to, all).and_then(|()| memory.write(further(to, offset), bytes));
                    match written {
                        Ok(()) => {
                            let set = memory.atomic(at, Width::Eight, AtomicOperator::Swap, u64::from_ne_bytes(word));
                            self.write(index, (sequence, SIGNAL), set.map(drop));
                        }
                        Err(_) => self.write(index, (sequence, PIECE), written),
                    }
                }
                Frame::PutShape { to, shape, offset, bytes } => {
                    self.write(index, (sequence, PIECE), write_shape(memory, to, &shape, offset, bytes));
                }
                Frame::PutList { to, list, bytes } => self.write(index, (sequence, PIECE), write_list(memory, to, list, bytes)),
                Frame::GetShape { .. } | Frame::GetList { .. } | Frame::Copy { .. } if room == Room::Later => {}
                Frame::Get { bytes, .. } if room == Room::Later && is_long_get(bytes) => {}
                Frame::GetShape { operation, from, shape } => {
                    let (bytes, extent) = (shape.bytes().unwrap_or(u64::MAX), shape.extent().unwrap_or(u64::MAX));
                    let asked = Asked { operation, from, extent, offset: 0, bytes, longest: extent };
                    self.serve_get_blocks(now, index, asked, || Pattern::Shape(shape), memory);
                }
                Frame::GetList { operation, from, offset, list } => {
                    let (extent, longest) = (list.extent, list.extent.max(OVERLAPPING_BYTES_MAX));
                    let asked = Asked { operation, from, extent, offset, bytes: list.bytes, longest };
                    self.serve_get_blocks(now, index, asked, || Pattern::of_list(list), memory);
                }
                Frame::Get { operation, from, bytes } => self.serve_get(index, operation, from, bytes, memory),
                Frame::Copy { operation, from, to, bytes } => self.serve_copy(now, index, operation, (from, to), bytes, memory),
                Frame::Atomic { operation, at, width, operator, operand } => {
                    let found = memory.atomic(at, width, operator, operand);
                    self.answer(index, &result_frame(operation, found));
                }
                Frame::Value { operation, value } => self.take_value(index, operation, value),
                Frame::Data { operation, bytes } => self.take_data(index, operation, 0, bytes, memory),
                Frame::DataPiece { operation, offset, bytes } => self.take_data(index, operation, offset, bytes, memory),
                Frame::Denied { operation, denied, second } => self.take_denial(index, operation, denied, second),
                Frame::PeerLost { operation, rank } => self.fail(index, operation, |_| Failure::PeerLost(rank)),
                Frame::PeerUnreachable { operation, rank } => self.fail(index, operation, |_| Failure::Unreachable(rank)),
                Frame::Refused { sequence, index: write, denied } => self.take_refusal(index, sequence, write, denied),
            }
        }
        Ok(())
    }

    /// Executes requests of peers that wait, as far as there is room.
    pub(crate) fn serve_waiting(&mut self, now: Instant, memory: &mut M) {
        while !self.requests.is_empty() && self.operations.has_room_for_peers(1) {
            let Some((index, mut waiting)) = self.requests.take_turn() else { return };
            // The peer may have rested since.
            self.activate(now, index);
            if let Some(active) = &mut self.peers[index as usize].active
                && active.sender.is_idle()
            {
                active.outstanding_since = now;
            }
            // The sequence number is that of writes, which do not wait.
            let executed = self.execute(now, index, 0, (waiting.next(), Room::Free), memory);
            debug_assert!(executed.is_ok(), "only valid frames wait");
            self.requests.give_back(index, waiting);
            self.enqueue(index);
            self.note_deadline(now, index);
        }
    }

    /// Queues an answer to a peer, unless the peer has failed.
    pub(crate) fn answer(&mut self, index: u32, frame: &Frame<'_>) {
        let peer = &mut self.peers[index as usize];
        let datagram_bytes = peer.datagram_bytes();
        if let Some(active) = &mut peer.active {
            self.kept_bytes += active.sender.answer(frame, datagram_bytes, &mut self.spare);
        }
    }

    /// Sends a peer the result of the copy that it requested.
    pub(crate) fn answer_copy(
        &mut self,
        now: Instant,
        index: u32,
        operation: u32,
        to: GlobalAddress,
        result: Result<u64, Failure>,
    ) {
        if self.peers[index as usize].failure().is_some() {
            return;
        }
        self.activate(now, index);
        let frame = match result {
            Ok(value) => Frame::Value { operation, value },
            Err(Failure::PeerLost(rank)) => Frame::PeerLost { operation, rank },
            Err(Failure::Unreachable(rank)) => Frame::PeerUnreachable { operation, rank },
            Err(Failure::OutOfBounds(at)) => Frame::Denied { operation, denied: Denied::Outside, second: at == to },
            Err(Failure::Misaligned(at)) => Frame::Denied { operation, denied: Denied::Misaligned, second: at == to },
            Err(Failure::Device(at)) => Frame::Denied { operation, denied: Denied::Device, second: at == to },
            Err(other) => unreachable!("no copy of ours ends like this: {other}"),
        };
        let peer = &mut self.peers[index as usize];
        if let Some(active) = &mut peer.active
            && active.sender.is_idle()
        {
            active.outstanding_since = now;
        }
        self.answer(index, &frame);
        self.enqueue(index);
        self.note_deadline(now, index);
    }

    /// Reports a refused write to the peer. A write that succeeded needs no report: its datagram is acknowledged.
    fn write(&mut self, index: u32, (sequence, write): (u64, u16), result: Result<(), Denied>) {
        let Err(denied) = result else { return };
        let peer = &mut self.peers[index as usize];
        peer.refusals_sent = peer.refusals_sent.wrapping_add(1);
        let datagram_bytes = peer.datagram_bytes();
        if let Some(active) = &mut peer.active {
            let refusal = Frame::Refused { sequence, index: write, denied };
            self.kept_bytes += active.sender.refuse(&refusal, datagram_bytes, &mut self.spare);
        }
    }

    fn serve_get(&mut self, index: u32, operation: u32, from: GlobalAddress, bytes: u64, memory: &mut M) {
        if let Err(denied) = memory.check(from, bytes) {
            return self.answer(index, &Frame::Denied { operation, denied, second: false });
        }
        if bytes > INJECT_SIZE as u64 {
            if let Some(active) = &mut self.peers[index as usize].active {
                active.sender.serve(Transfer::Answer { operation, from, bytes, next: 0 });
            }
            return;
        }
        let (mut short, mut long);
        let found = if bytes <= SHORT_BYTES_MAX as u64 {
            short = [0; SHORT_BYTES_MAX];
            &mut short[..bytes as usize]
        } else {
            long = [0; INJECT_SIZE];
            &mut long[..bytes as usize]
        };
        match memory.read(from, found) {
            Ok(()) => self.answer(index, &Frame::Data { operation, bytes: found }),
            Err(denied) => self.answer(index, &Frame::Denied { operation, denied, second: false }),
        }
    }

    /// Answers with blocks of memory: at once if they are few bytes, else by a transfer with an entry in the table of operations.
    fn serve_get_blocks(&mut self, now: Instant, index: u32, asked: Asked, pattern: impl FnOnce() -> Pattern, memory: &mut M) {
        let Asked { operation, from, extent, offset, bytes, longest } = asked;
        // Only overlapping blocks have more bytes than that: without this limit, an answer could have any length.
        let checked = if bytes > longest { Err(Denied::Outside) } else { memory.check(from, extent) };
        if let Err(denied) = checked {
            return self.answer(index, &Frame::Denied { operation, denied, second: false });
        }
        let pattern = pattern();
        if bytes <= INJECT_SIZE as u64 && offset == 0 {
            let mut room = [0; INJECT_SIZE];
            let found = &mut room[..bytes as usize];
            return match pattern.read(memory, from, 0, found) {
                Ok(()) => self.answer(index, &Frame::Data { operation, bytes: found }),
                Err(denied) => self.answer(index, &Frame::Denied { operation, denied, second: false }),
            };
        }
        let blocks = PutBlocks { here: pattern, there: There::Answer(offset) };
        let put = Put::new(Origin::Answer { index, operation }, Source::Segment(from), from, bytes).with_blocks(blocks);
        let number = self.operations.insert(index, PendingOperation::Put(put)).expect(ADMITTED);
        if let Some(active) = &mut self.peers[index as usize].active {
            if active.sender.is_idle() {
                active.outstanding_since = now;
            }
            active.sender.serve(Transfer::Put { operation: number, is_own: false });
        }
    }

    fn serve_copy(
        &mut self,
        now: Instant,
        index: u32,
        operation: u32,
        (from, to): (GlobalAddress, GlobalAddress),
        bytes: u64,
        memory: &mut M,
    ) {
        let denied = |denied, second| Frame::Denied { operation, denied, second };
        if let Err(reason) = memory.check(from, bytes) {
            return self.answer(index, &denied(reason, false));
        }
        let target = self.config.layout.rank(to);
        if target == self.config.me {
            let frame = match memory.check(to, bytes) {
                Ok(()) => match memory.copy(from, to, bytes) {
                    Ok(()) => Frame::Value { operation, value: 0 },
                    Err((reason, second)) => denied(reason, second),
                },
                Err(reason) => denied(reason, true),
            };
            return self.answer(index, &frame);
        }
        if target.number() >= self.config.layout.ranks() {
            return self.answer(index, &denied(Denied::Outside, true));
        }
        let target = self.meet(target);
        if let Some(failure) = self.peers[target as usize].failure() {
            return self.answer_copy(now, index, operation, to, Err(failure));
        }
        self.activate(now, target);
        let put = Put::new(Origin::Peer { index, operation }, Source::Segment(from), to, bytes);
        let number = self.operations.insert(target, PendingOperation::Put(put)).expect(ADMITTED);
        if let Some(active) = &mut self.peers[target as usize].active {
            if active.sender.is_idle() {
                active.outstanding_since = now;
            }
            active.sender.serve(Transfer::Put { operation: number, is_own: false });
        }
        self.enqueue(target);
        self.note_deadline(now, target);
    }

    fn take_value(&mut self, index: u32, number: u32, value: u64) {
        if matches!(
            self.operations.awaited_from(index, number),
            Some(PendingOperation::Atomic { .. } | PendingOperation::Copy { .. })
        ) {
            self.finish(index, number, Ok(value));
        }
    }

    fn take_data(&mut self, index: u32, number: u32, offset: u64, data: &[u8], memory: &mut M) {
        let Some(PendingOperation::Get { to, bytes, received, blocks, .. }) = self.operations.awaited_from(index, number) else {
            return;
        };
        let length = data.len() as u64;
        let Some(end) = offset.checked_add(length).filter(|end| end <= bytes) else { return };
        if let Some(blocks) = blocks {
            let mut rest = data;
            for (at, row) in blocks.here.rows(offset..end) {
                let (part, others) = rest.split_at(row_bytes(&row));
                memory.write_local_row(to, at, row, part);
                rest = others;
            }
        } else {
            memory.write_local(to, offset, data);
        }
        *received += length;
        if *received >= *bytes {
            self.finish(index, number, Ok(0));
        }
    }

    fn take_denial(&mut self, index: u32, number: u32, denied: Denied, second: bool) {
        self.fail(index, number, |operation| {
            denied.at(match *operation {
                PendingOperation::Copy { to, .. } if second => to,
                PendingOperation::Copy { from, .. } | PendingOperation::Get { from, .. } => from,
                PendingOperation::Atomic { at, .. } => at,
                PendingOperation::Put(Put { to, .. }) => to,
            })
        });
    }

    fn take_refusal(&mut self, index: u32, sequence: u64, write: u16, denied: Denied) {
        let peer = &mut self.peers[index as usize];
        peer.refusals_received = peer.refusals_received.wrapping_add(1);
        if let Some(sent) = peer.active.as_mut().and_then(|active| active.sender.sent_mut(sequence)) {
            // At most one refusal for each write and one for the piece: more come only from a misbehaving peer.
            if sent.refused.len() <= sent.draft.writes.len() {
                sent.refused.push((write, denied));
            }
        }
    }

    fn fail(&mut self, index: u32, number: u32, why: impl FnOnce(&PendingOperation<M::Local>) -> Failure) {
        match self.operations.awaited_from(index, number) {
            None | Some(PendingOperation::Put(_)) => {}
            Some(operation) => {
                let failure = why(operation);
                self.finish(index, number, Err(failure));
            }
        }
    }

    /// Ends an operation that waited for an answer.
    fn finish(&mut self, index: u32, number: u32, result: Result<u64, Failure>) {
        let Some(operation) = self.operations.remove(number) else { return };
        if let Some(active) = &mut self.peers[index as usize].active {
            let slow = match operation {
                PendingOperation::Copy { .. } => true,
                PendingOperation::Get { bytes, ref blocks, .. } => bytes > INJECT_SIZE as u64 || blocks.is_some(),
                _ => false,
            };
            active.sender.handle_answer(slow);
        }
        if let Some((token, local)) = operation.into_owner() {
            self.complete(token, result, local);
        }
    }
}

/// A peer's request for blocks: its operation, the memory that contains the blocks (address and extent), the offset of these bytes in the
/// operation, their number, and the maximum number that is served.
struct Asked {
    operation: u32,
    from: GlobalAddress,
    extent: u64,
    offset: u64,
    bytes: u64,
    longest: u64,
}

fn result_frame(operation: u32, result: Result<u64, Denied>) -> Frame<'static> {
    match result {
        Ok(value) => Frame::Value { operation, value },
        Err(denied) => Frame::Denied { operation, denied, second: false },
    }
}
