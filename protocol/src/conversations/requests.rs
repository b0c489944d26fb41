//! Requests of peers that wait for room in the table of operations.
//!
//! A request that arrives without room is kept and not dropped: a dropped datagram would be retransmitted, and the datagrams behind it would
//! soon leave the receive window. Two ranks that copy to each other for many others would then wait for each other: each needs room for
//! the request in front of the data that would make room at the other.

use std::collections::{BTreeMap, VecDeque};

use crate::wire::{self, Frame};

/// Maximum number of bytes of waiting requests of one peer: the requests that a rank may have in flight, and long lists among them.
pub(crate) const PEER_REQUEST_BYTES_MAX: usize = 1 << 20;

/// Maximum number of bytes of all waiting requests: copies of more than two thousand ranks, each of which has as many in flight as it may.
const REQUEST_BYTES_MAX: usize = 32 << 20;

/// Waiting requests. Peers take turns, one request each.
#[derive(Default)]
pub(crate) struct Requests {
    by_peer: BTreeMap<u32, Waiting>,
    /// The peers with requests, in the order of their turns.
    turns: VecDeque<u32>,
    bytes: usize,
}

/// Waiting requests of one peer, in the order of their arrival.
#[derive(Default)]
pub(crate) struct Waiting {
    frames: Vec<u8>,
    /// Number of bytes of the requests that no longer wait.
    taken: usize,
}

impl Requests {
    pub(crate) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether `bytes` bytes of further requests of a peer may wait.
    pub(crate) fn has_room(&self, peer: u32, bytes: usize) -> bool {
        let of_peer = self.by_peer.get(&peer).map_or(0, Waiting::bytes);
        of_peer + bytes <= PEER_REQUEST_BYTES_MAX && self.bytes + bytes <= REQUEST_BYTES_MAX
    }

    /// Adds a request behind the others of its peer.
    pub(crate) fn push(&mut self, peer: u32, request: &Frame<'_>) {
        let waiting = self.by_peer.entry(peer).or_insert_with(|| {
            self.turns.push_back(peer);
            Waiting::default()
        });
        let before = waiting.frames.len();
        request.append(&mut waiting.frames);
        self.bytes += waiting.frames.len() - before;
    }

    /// Takes the requests of the peer whose turn it is. The caller [serves one](Waiting::next) and [gives the others back](Self::give_back).
    pub(crate) fn take_turn(&mut self) -> Option<(u32, Waiting)> {
        let peer = self.turns.pop_front()?;
        let waiting = self.by_peer.remove(&peer)?;
        self.bytes -= waiting.bytes();
        Some((peer, waiting))
    }

    /// Returns the requests of a peer after its turn.
    pub(crate) fn give_back(&mut self, peer: u32, mut waiting: Waiting) {
        if waiting.bytes() > 0 {
            waiting.compact();
            self.bytes += waiting.bytes();
            self.by_peer.insert(peer, waiting);
            self.turns.push_back(peer);
        }
    }

    /// Drops the requests of a peer that has failed.
    pub(crate) fn forget(&mut self, peer: u32) {
        if let Some(waiting) = self.by_peer.remove(&peer) {
            self.bytes -= waiting.bytes();
            self.turns.retain(|&other| other != peer);
        }
    }
}

impl Waiting {
    /// Returns the frame of the next request, which waits no longer; empty if none waits.
    pub(crate) fn next(&mut self) -> &[u8] {
        let request = wire::first_frame(&self.frames[self.taken..]);
        self.taken += request.len();
        &self.frames[self.taken - request.len()..self.taken]
    }

    fn bytes(&self) -> usize {
        self.frames.len() - self.taken
    }

    /// Frees the bytes of requests that no longer wait once they are the larger part, so that each byte moves once at most on average.
    fn compact(&mut self) {
        if self.taken > self.bytes() {
            self.frames.drain(..std::mem::take(&mut self.taken));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::GlobalAddress;

    fn copy(operation: u32) -> Frame<'static> {
        let [from, to] = [1, 2].map(GlobalAddress::from_bits);
        Frame::Copy { operation, from, to, bytes: 8 }
    }

    /// Serves the next request; returns its peer and its operation.
    fn serve(requests: &mut Requests) -> Option<(u32, u32)> {
        let (peer, mut waiting) = requests.take_turn()?;
        let operation = match wire::frames(waiting.next()).next().flatten() {
            Some(Frame::Copy { operation, .. }) => operation,
            frame => panic!("{frame:?}"),
        };
        requests.give_back(peer, waiting);
        Some((peer, operation))
    }

    #[test]
    fn peers_take_turns_and_requests_of_one_keep_their_order() {
        let mut requests = Requests::default();
        for (peer, operation) in [(7, 1), (7, 2), (7, 3), (9, 4), (8, 5), (9, 6)] {
            requests.push(peer, &copy(operation));
        }
        requests.forget(8);
        requests.forget(3);
        let served: Vec<_> = std::iter::from_fn(|| serve(&mut requests)).collect();
        assert_eq!(served, [(7, 1), (9, 4), (7, 2), (9, 6), (7, 3)]);
        assert!(requests.is_empty() && requests.bytes == 0 && requests.by_peer.is_empty());
    }

    #[test]
    fn what_waits_is_bounded_for_one_peer_and_for_all() {
        let mut requests = Requests::default();
        requests.push(0, &copy(0));
        let bytes = requests.bytes;
        let most = PEER_REQUEST_BYTES_MAX / bytes;
        (1..most as u32).for_each(|operation| requests.push(0, &copy(operation)));
        assert!(!requests.has_room(0, bytes) && requests.has_room(1, bytes));
        // A request that leaves makes room for another, however often.
        for operation in 0..4 * most as u32 {
            assert_eq!(serve(&mut requests), Some((0, operation)));
            assert!(requests.has_room(0, bytes));
            requests.push(0, &copy(most as u32 + operation));
        }
        assert_eq!(requests.bytes, most * bytes);
        assert!(requests.by_peer[&0].frames.len() <= 2 * PEER_REQUEST_BYTES_MAX);
        for peer in 1.. {
            if !requests.has_room(peer, most * bytes) {
                break;
            }
            (0..most as u32).for_each(|operation| requests.push(peer, &copy(operation)));
        }
        assert!((REQUEST_BYTES_MAX - most * bytes..=REQUEST_BYTES_MAX).contains(&requests.bytes));
    }
}
