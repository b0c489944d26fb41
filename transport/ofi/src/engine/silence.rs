//! Peers that are silent on the fabric, which reports no error: which of them owe this rank anything, and the end of operations to them.
//!
//! An access that completes and any message are signs of life. The completion of a sent message is none: over sockets a message counts as sent when the
//! socket of this rank has it.

use pelago_base::{Failure, GlobalAddress, Rank};

use super::{Engine, Path, Peer, Way};
use crate::message::{Header, kind};

/// A peer for which this rank waits.
pub(crate) struct Awaited {
    pub(crate) rank: Rank,
    /// Whether the peer or its provider owes this rank anything over the fabric. Otherwise all operations wait for something else.
    pub(crate) owes: bool,
    /// Whether the peer has given a sign of life since the last call.
    pub(crate) was_heard: bool,
}

/// Number of a request whose answer no operation waits for: above those of all operations.
const UNUSED: u32 = u32::MAX;

impl Engine {
    /// Returns the peers for which operations wait, or a call that deregisters memory.
    pub(crate) fn awaited(&mut self) -> Vec<Awaited> {
        let mut awaited = Vec::new();
        for peer in 0..self.peers.len() {
            let entry = &self.peers[peer];
            let owes = entry.owes_answers() || entry.has_accesses() || self.is_recalled(entry, peer);
            let is_awaited = match entry.way {
                Way::Greeted | Way::Open => owes || entry.is_awaited(),
                // Accesses that began before another transport took over.
                Way::Around => owes,
                Way::Me | Way::Sought | Way::Lost(_) => false,
            };
            if is_awaited {
                let entry = &mut self.peers[peer];
                awaited.push(Awaited { rank: entry.rank, owes, was_heard: std::mem::take(&mut entry.was_heard) });
            }
        }
        awaited
    }

    /// Whether a peer must return the key of a region that this rank deregisters.
    fn is_recalled(&self, entry: &Peer, peer: usize) -> bool {
        let is_closing = |&start: &u64| {
            let found = self.regions.at_or_before(GlobalAddress::from_bits(start));
            found.is_some_and(|(_, _, own)| own.is_closing && own.lent_to.contains_key(&peer))
        };
        self.closing > 0 && entry.lent.iter().any(is_closing)
    }

    /// Sends a request to a silent peer that owes an answer: it may be alive and wait for another rank. An access needs no other rank, so a peer that
    /// owes no more than the end of accesses is not asked.
    pub(crate) fn ask_silent(&mut self, rank: Rank) {
        let Some(&peer) = self.by_rank.get(&rank) else { return };
        let entry = &self.peers[peer];
        if entry.owes_answers() || self.is_recalled(entry, peer) {
            self.tell(peer, Header { kind: kind::GET, id: UNUSED.into(), ..Header::default() }, &[]);
        }
    }

    /// Number of bytes of all accesses in flight.
    pub(crate) fn access_bytes(&self) -> u64 {
        let accesses = self.operations.iter().filter(|(_, operation)| matches!(operation.path, Path::Access(_)));
        accesses.fold(0, |sum: u64, (_, operation)| sum.saturating_add(operation.what.bytes()))
    }

    /// Handles a peer that was silent for too long: another transport takes over if the state of all operations is known and no access holds memory;
    /// otherwise its operations end with `Unreachable`. Returns whether they did.
    pub(crate) fn give_up_silent(&mut self, rank: Rank) -> bool {
        let Some(&peer) = self.by_rank.get(&rank) else { return false };
        let entry = &self.peers[peer];
        let is_needed = self.owes_peer(peer) || entry.has_accesses() || self.is_recalled(entry, peer);
        if !is_needed && self.may_go_around(peer) {
            self.go_around(peer);
            return false;
        }
        self.lose(peer, Failure::Unreachable(rank));
        true
    }

    /// Returns a key that has arrived when no operation waits for it any more.
    pub(super) fn return_unused(&mut self, peer: usize, header: &Header) {
        if header.kind == kind::REGION {
            self.tell(peer, Header { kind: kind::REVOKED, at: header.at, value: 1.into(), ..Header::default() }, &[]);
        }
    }
}

impl Peer {
    /// Whether accesses to it are in flight.
    fn has_accesses(&self) -> bool {
        self.known.values().any(|known| known.in_flight > 0)
    }

    /// Whether it has not answered a request.
    fn owes_answers(&self) -> bool {
        self.unanswered != [0; 2]
    }
}
