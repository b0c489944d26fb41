//! Detours: operations to a peer that the fabric does not reach are performed by the transport that introduces ranks; each operation uses one of the two.
//!
//! A peer is reached in this way from the first contact on, if it has another fabric or does not answer its greeting, or later, if the fabric fails while the
//! state of all operations is known: operations that have not begun, and those that only read, can be performed by another transport. For other
//! operations in flight it is unknown whether they have taken effect; then the peer counts as failed.
//!
//! A copy is a request to the owner of its source. If the fabric does not reach the target from there, the owner answers so without starting the copy, and
//! the poster uses the other transport.

use pelago_base::{AtomicOperator, Failure, GlobalAddress, Rank, Width};
use pelago_memory::Region;
use pelago_platform::{Flags, Operation};

use super::{Engine, Path, Posted, Then, Way, What};
use crate::limits::GREETING_LOOKS_MAX;
use crate::message::{Header, kind};

impl Engine {
    /// Whether all operations to a peer that have not ended can be performed by another transport.
    pub(super) fn may_go_around(&self, peer: usize) -> bool {
        let is_there = matches!(self.peers[peer].way, Way::Sought | Way::Greeted | Way::Open);
        let mut operations = self.operations.iter().map(|(_, operation)| operation);
        self.seeks && is_there && operations.all(|operation| operation.peer != peer || operation.is_repeatable())
    }

    /// Makes another transport perform operations to a peer from now on. The peer may continue to use the fabric, unless messages to it were dropped.
    pub(super) fn go_around(&mut self, peer: usize) {
        if self.peers[peer].delivery.is_broken() {
            self.forsake(peer, Way::Around);
        } else {
            // Keys that either side holds stay valid until their owner revokes them.
            let entry = &mut self.peers[peer];
            (entry.way, entry.is_failing, entry.unanswered) = (Way::Around, false, [0; 2]);
        }
        let keys: Vec<_> = self.operations.iter().filter(|(_, posted)| posted.peer == peer).map(|(key, _)| key).collect();
        for key in keys {
            let operation = &mut self.operations[key];
            // The provider still uses the memory of an access.
            if matches!(operation.path, Path::Access(_) | Path::Around) {
                continue;
            }
            operation.unanswered = 0;
            operation.next = 0;
            operation.path = Path::Undecided;
            // Other operations are in the queue, and are sent in their turn.
            if operation.is_sent {
                self.hand_over(key);
            }
        }
        self.busy.insert(peer);
    }

    /// Passes an operation to the other transport.
    pub(super) fn hand_over(&mut self, key: usize) {
        let operation = &mut self.operations[key];
        (operation.path, operation.is_sent, operation.unanswered) = (Path::Around, true, 1);
        self.detours.push_back(key);
        // The thread that drives that transport must poll.
        self.touched = true;
    }

    /// Issues an operation to a peer that the fabric does not reach: by another transport, or, for a copy that another rank requested, not at all.
    pub(super) fn issue_around(&mut self, key: usize) {
        let Then::Answer { peer, id, start } = self.operations[key].then else { return self.hand_over(key) };
        self.operations.remove(key);
        self.stop_reading(start);
        self.tell(peer, Header { kind: kind::ELSEWHERE, id: id.into(), ..Header::default() }, &[]);
    }

    /// Returns the next operation for the other transport, its number, and the rank to which it must be posted.
    pub(crate) fn next_detour(&mut self) -> Option<(usize, Rank, Operation<'_>, Flags)> {
        while let Some(&key) = self.detours.front() {
            if self.operations[key].result.is_ok() {
                break;
            }
            // Its peer has failed meanwhile.
            self.detours.pop_front();
            self.detoured(key, Ok(0));
        }
        let &key = self.detours.front()?;
        let Posted { what, peer, flags, next, .. } = &self.operations[key];
        let rank = self.peers[*peer].rank;
        let (rank, operation) = match what {
            What::Write { to, bytes } => (rank, Operation::Write { to: *to, bytes }),
            // The second half of a copy of this rank, whose source may be device memory.
            What::Put { from, to, source } if !source.is_null() => {
                (self.me, Operation::Copy { from: *source, to: *to, bytes: from.bytes() })
            }
            What::Put { from: Region::Host(from), to, .. } => (rank, Operation::Put { from: *from, to: *to }),
            What::Put { from, to, source } => (self.me, Operation::Copy { from: *source, to: *to, bytes: from.bytes() }),
            &What::Get { from, to } => (rank, Operation::Get { from, to }),
            &What::Copy { from, to, bytes } => (rank, Operation::Copy { from, to, bytes }),
            &What::Atomic { at, width, operator, operand } => (rank, Operation::Atomic { at, width, operator, operand }),
            What::Blocks(scattered) => (rank, scattered.operation()),
            // The other transport may not accept it as one operation.
            What::Signalled { to, bytes, .. } if *next == 0 => (rank, Operation::Write { to: *to, bytes }),
            &What::Signalled { at, word, .. } => {
                (rank, Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Swap, operand: word })
            }
        };
        // The operations before its fence have ended.
        Some((key, rank, operation, Flags { fence: false, ..*flags }))
    }

    /// Records that the first operation was posted to the other transport, which refused it if there is a failure.
    pub(crate) fn posted_around(&mut self, failure: Option<Failure>) {
        if let (Some(key), Some(failure)) = (self.detours.pop_front(), failure) {
            self.detoured(key, Err(failure));
        }
    }

    /// Records the result of an operation that the other transport has completed.
    pub(crate) fn detoured(&mut self, key: usize, result: Result<u64, Failure>) {
        let Some(operation) = self.operations.get_mut(key).filter(|operation| operation.path == Path::Around) else { return };
        let mut result = result;
        if let What::Signalled { .. } = operation.what {
            if operation.next == 0 && operation.result.and(result).is_ok() {
                // The bytes have been written: now the word.
                operation.next = 1;
                self.detours.push_back(key);
                self.touched = true;
                return;
            }
            result = result.map(|_previous| 0);
        }
        operation.unanswered = 0;
        operation.result = operation.result.and(result);
        self.settle(key);
    }

    /// Handles a copy that was not started, because the fabric does not reach its target.
    pub(super) fn elsewhere(&mut self, key: usize) {
        let target = match self.operations[key].what {
            What::Copy { to, .. } => self.layout.rank(to),
            _ => self.me,
        };
        if self.seeks && target != self.me {
            return self.hand_over(key);
        }
        let operation = &mut self.operations[key];
        operation.result = operation.result.and(Err(Failure::Unreachable(target)));
    }

    /// Switches to another transport for peers that have not answered their greeting for long.
    pub(crate) fn look_for_silent(&mut self) {
        for peer in 0..self.peers.len() {
            let entry = &mut self.peers[peer];
            if matches!(entry.way, Way::Greeted) {
                entry.looks += 1;
                if entry.looks >= GREETING_LOOKS_MAX && self.may_go_around(peer) {
                    self.go_around(peer);
                }
            }
        }
    }

    /// Drops the keys that a peer and this rank hold of each other, and messages that wait for space: messages no longer reach the peer.
    pub(super) fn forsake(&mut self, peer: usize, way: Way) {
        let entry = &mut self.peers[peer];
        entry.way = way;
        entry.is_failing = false;
        entry.unanswered = [0; 2];
        entry.outbox.clear();
        entry.known.clear();
        for start in std::mem::take(&mut entry.lent) {
            if let Some((_, own)) = self.regions.get_mut(GlobalAddress::from_bits(start)) {
                own.lent_to.remove(&peer);
            }
        }
    }
}

impl Posted {
    /// Whether another transport may perform the operation: it only reads, or nothing with an effect was sent for it.
    fn is_repeatable(&self) -> bool {
        let is_unbegun = !self.is_sent && self.next == 0 && (self.unanswered == 0 || self.path == Path::Looking);
        let only_reads = match &self.what {
            What::Get { .. } => true,
            What::Blocks(scattered) => !scattered.writes,
            _ => false,
        };
        only_reads || self.path == Path::Around || is_unbegun
    }
}
