//! The way around: operations to a peer that the fabric does not reach are performed by the transport that introduces ranks, each by one of the two.
//!
//! A peer is reached so from the first contact on, if it has another fabric or does not answer its greeting, or later, if the fabric fails while nothing is in
//! doubt: what has yet to begin, and what only reads, can be done by another transport. Of other operations that were under way nobody knows
//! whether they have happened; then the peer is lost.
//!
//! A copy is asked of the owner of its source. If the fabric does not lead from there to the target, the owner says so, having begun nothing, and the
//! poster asks for it by the other transport.

use pelago_base::{Failure, GlobalAddress, Rank};
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

    /// From now on operations to a peer are performed by another transport. It may go on by the fabric, unless messages to it were given up.
    pub(super) fn go_around(&mut self, peer: usize) {
        if self.peers[peer].delivery.is_broken() {
            self.forsake(peer, Way::Around);
        } else {
            // What the peer has lent it calls back, and the reverse.
            let entry = &mut self.peers[peer];
            (entry.way, entry.is_failing, entry.unanswered) = (Way::Around, false, [0; 2]);
        }
        let keys: Vec<_> = self.operations.iter().filter(|(_, posted)| posted.peer == peer).map(|(key, _)| key).collect();
        for key in keys {
            let operation = &mut self.operations[key];
            // The provider has yet to let go of the memory of an access.
            if matches!(operation.path, Path::Access(_) | Path::Around) {
                continue;
            }
            operation.unanswered = 0;
            operation.next = 0;
            operation.path = Path::Undecided;
            // Others are in the queue, and leave in their turn.
            if operation.is_sent {
                self.hand_over(key);
            }
        }
        self.busy.insert(peer);
    }

    /// Gives an operation to the other transport.
    pub(super) fn hand_over(&mut self, key: usize) {
        let operation = &mut self.operations[key];
        (operation.path, operation.is_sent, operation.unanswered) = (Path::Around, true, 1);
        self.detours.push_back(key);
        // Who drives that transport has to look.
        self.touched = true;
    }

    /// An operation to a peer that the fabric does not reach leaves: by another transport, or, for one that asks this rank for a copy, not at all.
    pub(super) fn issue_around(&mut self, key: usize) {
        let Then::Answer { peer, id, start } = self.operations[key].then else { return self.hand_over(key) };
        self.operations.remove(key);
        self.stop_reading(start);
        self.tell(peer, Header { kind: kind::ELSEWHERE, id: id.into(), ..Header::default() }, &[]);
    }

    /// The operation that another transport is to perform next, its number, and the rank that it is to be posted to.
    pub(crate) fn next_detour(&mut self) -> Option<(usize, Rank, Operation<'_>, Flags)> {
        while let Some(&key) = self.detours.front() {
            if self.operations[key].result.is_ok() {
                break;
            }
            // Its peer was lost meanwhile.
            self.detours.pop_front();
            self.detoured(key, Ok(0));
        }
        let &key = self.detours.front()?;
        let Posted { what, peer, flags, .. } = &self.operations[key];
        let rank = self.peers[*peer].rank;
        let (rank, operation) = match what {
            What::Write { to, bytes } => (rank, Operation::Write { to: *to, bytes }),
            // The second half of a copy of this rank, whose memory may be that of a device.
            What::Put { from, to, source } if !source.is_null() => {
                (self.me, Operation::Copy { from: *source, to: *to, bytes: from.bytes() })
            }
            What::Put { from: Region::Host(from), to, .. } => (rank, Operation::Put { from: *from, to: *to }),
            What::Put { from, to, source } => (self.me, Operation::Copy { from: *source, to: *to, bytes: from.bytes() }),
            &What::Get { from, to } => (rank, Operation::Get { from, to }),
            &What::Copy { from, to, bytes } => (rank, Operation::Copy { from, to, bytes }),
            &What::Atomic { at, width, operator, operand } => (rank, Operation::Atomic { at, width, operator, operand }),
        };
        // Those that it comes behind have ended.
        Some((key, rank, operation, Flags { fence: false, ..*flags }))
    }

    /// The first operation was posted to the other transport, which did not take it if there is a failure.
    pub(crate) fn posted_around(&mut self, failure: Option<Failure>) {
        if let (Some(key), Some(failure)) = (self.detours.pop_front(), failure) {
            self.detoured(key, Err(failure));
        }
    }

    /// The other transport has ended an operation.
    pub(crate) fn detoured(&mut self, key: usize, result: Result<u64, Failure>) {
        let Some(operation) = self.operations.get_mut(key).filter(|operation| operation.path == Path::Around) else { return };
        operation.unanswered = 0;
        operation.result = operation.result.and(result);
        self.settle(key);
    }

    /// A copy was not begun, because the fabric does not lead to its target.
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

    /// Peers that have been greeted for long are reached by another transport.
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

    /// What was lent by a peer and to it ends, and what waits for room: no message reaches it any more.
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
    /// Whether it may be performed by another transport: it only reads, or nothing of it has left that has an effect.
    fn is_repeatable(&self) -> bool {
        let is_unbegun = !self.is_sent && self.next == 0 && (self.unanswered == 0 || self.path == Path::Looking);
        matches!(self.what, What::Get { .. }) || self.path == Path::Around || is_unbegun
    }
}
