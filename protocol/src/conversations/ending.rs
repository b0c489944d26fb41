//! Completion of operations.

use pelago_base::{Event as Counted, GlobalAddress, Instant};

use super::Conversations;
use super::operations::{Origin, PendingOperation, Put, Source};
use super::serve::{PIECE, SIGNAL};
use crate::api::Completion;
use crate::memory::Memory;
use crate::peer::Standing;
use crate::peer::sender::Settled;
use crate::peer::waiting::Piece;
use crate::wire::{self, Frame};

impl<M: Memory> Conversations<M> {
    /// Completes the operations of datagrams that have arrived and whose refusals are known.
    pub(crate) fn settle(&mut self, now: Instant, index: u32) {
        loop {
            let peer = &mut self.peers[index as usize];
            let Some(active) = &mut peer.active else { return };
            let Some(settled) = active.sender.settle(peer.refusals_received) else { return };
            self.worth.handle_arrived();
            self.end_writes(&settled);
            self.kept_bytes -= settled.draft.frames.len();
            if let Some(Piece::Put { operation, .. }) = settled.piece {
                self.end_piece(now, operation, &settled);
            }
            self.spare.give(settled.draft);
        }
    }

    fn end_writes(&mut self, settled: &Settled) {
        if settled.refused.is_empty() {
            let done = settled.draft.writes.iter().map(|&token| Completion { token, result: Ok(0), local: None });
            return self.completions.extend(done);
        }
        let mut addresses = wire::frames(&settled.draft.frames).filter_map(|frame| match frame {
            Some(Frame::Write { to, .. }) => Some(to),
            _ => None,
        });
        for (position, &token) in settled.draft.writes.iter().enumerate() {
            let to = addresses.next().unwrap_or(GlobalAddress::NULL);
            let refusal = settled.refused.iter().find(|(refused, _)| usize::from(*refused) == position);
            let result = refusal.map_or(Ok(0), |(_, denied)| Err(denied.at(to)));
            self.complete(token, result, None);
        }
    }

    /// Handles the arrival of a piece of a put.
    fn end_piece(&mut self, now: Instant, operation: u32, settled: &Settled) {
        let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) else { return };
        put.out -= 1;
        let blamed = settled.refused.iter().find_map(|&(refused, denied)| match refused {
            PIECE => Some((denied, put.to)),
            SIGNAL => put.signal.map(|signal| (denied, signal.at)),
            _ => None,
        });
        put.failure = put.failure.or(blamed.map(|(denied, at)| denied.at(at)));
        self.end_put(now, operation);
    }

    /// Ends a put if all of it has been sent and has arrived.
    pub(crate) fn end_put(&mut self, now: Instant, operation: u32) {
        let Some(PendingOperation::Put(put)) = self.operations.get_mut(operation) else { return };
        if put.out > 0 || !put.is_sent {
            return;
        }
        let Some(PendingOperation::Put(put)) = self.operations.remove(operation) else { return };
        let result = put.failure.map_or(Ok(0), Err);
        match put.origin {
            Origin::Own { token } => {
                let local = match put.from {
                    Source::Captured { bytes, .. } => {
                        self.captures.give(bytes);
                        None
                    }
                    from => from.into_local(),
                };
                self.complete(token, result, local);
            }
            Origin::Peer { index, operation } => self.answer_copy(now, index, operation, put.to, result),
            // The answer has been sent, and needs no report, unless its memory was deregistered before that.
            Origin::Answer { index, operation } if result.is_err() => {
                self.answer_copy(now, index, operation, GlobalAddress::NULL, result);
            }
            Origin::Answer { .. } => {}
        }
    }

    /// Ends all operations that wait for a peer.
    pub(super) fn give_up(&mut self, now: Instant, index: u32, standing: Standing) {
        let peer = &mut self.peers[index as usize];
        if peer.standing != Standing::Reached {
            return;
        }
        peer.standing = standing;
        let Some(failure) = peer.failure() else { return };
        self.counters.count(if standing == Standing::Lost { Counted::PeerLost } else { Counted::PeerUnreachable });
        let lost = Err(failure);
        self.requests.forget(index);
        if let Some(active) = peer.active.take() {
            // The send and acknowledgement queues skip a peer that is not active.
            self.active.retain(|&other| other != index);
            for draft in active.sender.into_drafts() {
                self.kept_bytes -= draft.frames.len();
                self.completions.extend(draft.writes.into_iter().map(|token| Completion { token, result: lost, local: None }));
            }
        }
        for operation in self.operations.remove_all(index) {
            if let PendingOperation::Put(Put { origin: Origin::Peer { index, operation }, to, .. }) = operation {
                self.answer_copy(now, index, operation, to, lost);
            } else if let Some((token, local)) = operation.into_owner() {
                self.complete(token, lost, local);
            }
        }
    }
}
