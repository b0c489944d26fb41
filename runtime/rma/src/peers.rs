//! The ranks that a context has to do with and does not reach by loads and stores alone.

use pelago_base::Rank;
use pelago_platform::Endpoint;

/// The ranks that a context has to do with: those talked to, not all of the job.
///
/// The same rank again is found by one comparison, any other by some more. 24 bytes for each, and half as much again to find it.
pub(crate) struct Peers {
    /// The first is nobody.
    entries: Vec<Peer>,
    /// The numbers of the others, each at the place that its rank is hashed to or soon after it; `NOBODY` where there is none. Its length
    /// is a power of two, of which at most three quarters are in use.
    places: Vec<PeerNumber>,
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
    pub(crate) full_in: u32,
}

/// The count of places grows from this.
const PLACES_FIRST: usize = 8;

impl Default for Peers {
    fn default() -> Self {
        Self { entries: vec![Peer::new(Rank::new(u32::MAX))], places: Vec::new(), latest: NOBODY }
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
        let number = self.places.get(self.place_of(rank)?).copied()?;
        Some(self.get(number)).filter(|_| number != NOBODY)
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
        let found = self.place_of(rank).map_or(NOBODY, |place| self.places[place]);
        self.latest = if found == NOBODY { self.add(rank) } else { found };
        self.latest
    }

    #[cold]
    fn add(&mut self, rank: Rank) -> PeerNumber {
        if 4 * self.entries.len() > 3 * self.places.len() {
            self.places = vec![NOBODY; (2 * self.places.len()).max(PLACES_FIRST)];
            for number in 1..self.entries.len() {
                let place = self.place_of(self.entries[number].rank).expect("there are places");
                self.places[place] = number as PeerNumber;
            }
        }
        if self.entries.len() == self.entries.capacity() {
            // By little, as most ranks talk to few.
            self.entries.reserve_exact(2 + self.entries.len() / 4);
        }
        let number = self.entries.len() as PeerNumber;
        self.entries.push(Peer::new(rank));
        let place = self.place_of(rank).expect("there are places");
        self.places[place] = number;
        number
    }

    /// Where the number of a rank stands, or would; `None` while there are no places.
    fn place_of(&self, rank: Rank) -> Option<usize> {
        let last = self.places.len().checked_sub(1)?;
        // The top bits of the product keep neighbours apart, and ranks that differ by a power of two.
        let mut place = (rank.number().wrapping_mul(0x9e37_79b9) >> (u32::BITS - last.count_ones())) as usize;
        while self.places[place] != NOBODY && self.get(self.places[place]).rank != rank {
            place = (place + 1) & last;
        }
        Some(place)
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

    #[test]
    fn many_ranks_are_found() {
        let mut peers = Peers::default();
        assert!(peers.find(Rank::new(5)).is_none());
        for (number, rank) in (0..1000).map(|index| index * 37 % 1009).enumerate() {
            assert_eq!(peers.number(Rank::new(rank)), number as PeerNumber + 1);
        }
        for (number, rank) in (0..1000).map(|index| index * 37 % 1009).enumerate() {
            assert_eq!(peers.number(Rank::new(rank)), number as PeerNumber + 1);
            assert_eq!(peers.find(Rank::new(rank)).map(|peer| peer.rank), Some(Rank::new(rank)));
        }
        assert!((1010..1100).all(|rank| peers.find(Rank::new(rank)).is_none()));
    }
}
