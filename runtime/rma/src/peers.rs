//! The ranks that a context has to do with and does not reach by loads and stores alone.

use std::collections::BTreeMap;

use pelago_base::Rank;
use pelago_platform::Endpoint;

/// The ranks that a context has to do with: those talked to, not all of the job.
///
/// The same rank again is found by one comparison, any other in logarithmic time.
pub(crate) struct Peers {
    /// The first is nobody.
    entries: Vec<Peer>,
    numbers: BTreeMap<Rank, PeerNumber>,
    latest: PeerNumber,
}

/// Where a peer stands in the table.
pub(crate) type PeerNumber = u32;

/// Stands for no rank, and for those that the job does not have.
pub(crate) const NOBODY: PeerNumber = 0;

/// What is known of a rank.
pub(crate) struct Peer {
    pub(crate) rank: Rank,
    /// None until something is posted to it.
    pub(crate) endpoint: Option<Endpoint>,
    /// Operations that concern it and have not ended.
    pub(crate) live: u32,
    /// Those of them that a fence orders before everything posted from then on, and that fail only with the peer itself.
    pub(crate) orderly: u32,
    /// The round of progress in which the transport had no more room for it.
    pub(crate) full_in: u64,
}

impl Default for Peers {
    fn default() -> Self {
        Self { entries: vec![Peer::new(Rank::new(u32::MAX))], numbers: BTreeMap::new(), latest: NOBODY }
    }
}

impl Peer {
    const fn new(rank: Rank) -> Self {
        Self { rank, endpoint: None, live: 0, orderly: 0, full_in: 0 }
    }
}

impl Peers {
    /// The number of a rank.
    #[inline]
    pub(crate) fn number(&mut self, rank: Rank) -> PeerNumber {
        if self.latest().rank == rank { self.latest } else { self.look_up(rank) }
    }

    /// What is known of a rank, if it has a number.
    pub(crate) fn find(&self, rank: Rank) -> Option<&Peer> {
        self.numbers.get(&rank).map(|&number| self.get(number))
    }

    #[inline]
    pub(crate) fn get(&self, number: PeerNumber) -> &Peer {
        &self.entries[number as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: PeerNumber) -> &mut Peer {
        &mut self.entries[number as usize]
    }

    /// The rank that was last asked for.
    #[inline]
    pub(crate) fn latest(&self) -> &Peer {
        self.get(self.latest)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.entries.iter()
    }

    fn look_up(&mut self, rank: Rank) -> PeerNumber {
        let entries = &mut self.entries;
        self.latest = *self.numbers.entry(rank).or_insert_with(|| {
            if entries.len() == entries.capacity() {
                // By half as much again, as most ranks talk to few.
                entries.reserve_exact(2 + entries.len() / 2);
            }
            entries.push(Peer::new(rank));
            entries.len() as PeerNumber - 1
        });
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_keeps_its_number() {
        let mut peers = Peers::default();
        let ranks = [3, 1, 3, 2, 1, 2, 2, 3].map(Rank::new);
        let numbers = ranks.map(|rank| peers.number(rank));
        assert_eq!(numbers, [1, 2, 1, 3, 2, 3, 3, 1]);
        assert!(ranks.into_iter().all(|rank| peers.find(rank).is_some_and(|peer| peer.rank == rank)));
        assert!(peers.find(Rank::new(0)).is_none());
    }
}
