//! The ranks that a context accesses through a transport.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;
use pelago_platform::{Endpoint, Rail};

use crate::limits::OPERATIONS_IN_FLIGHT_MAX;

/// The ranks that a context accesses through a transport: an entry per rank that was accessed, and one more per rail that the program specifies.
///
/// Finding the same rank again takes one comparison, another rank some more. 16 bytes per entry, and 5 to 11 for the hash table.
pub(crate) struct Peers {
    /// The first entry stands for `NOBODY`.
    entries: Vec<Peer>,
    /// Hash table of the numbers of the other entries, with linear probing; `NOBODY` marks a free slot. Its length
    /// is a power of two, of which at most three quarters are in use.
    places: Vec<PeerNumber>,
    latest: PeerNumber,
}

/// The index of a peer in the table.
pub(crate) type PeerNumber = u32;

/// No rank, or a rank that does not exist in the job.
pub(crate) const NOBODY: PeerNumber = 0;

/// A rank, and the rail to it if it is not the best one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route(u32);

/// Position of the rail in a route: its number plus one.
const RAIL_SHIFT: u32 = 24;

const _: () = assert!(RANKS_MAX <= 1 << RAIL_SHIFT && Rail::MAX < 1 << (u32::BITS - RAIL_SHIFT));

/// The state of a peer.
pub(crate) struct Peer {
    pub(crate) route: Route,
    /// [`UNCONNECTED`] until the first operation is posted to the peer.
    endpoint: u32,
    /// Number of live operations on the peer.
    pub(crate) live: u16,
    /// Number of those operations that a fence orders before all later posts, and that fail only if the peer fails.
    pub(crate) orderly: u16,
    /// The round of progress in which the transport had no room for the peer.
    pub(crate) full_in: u16,
    /// Whether posted operations have to take effect before the next one.
    pub(crate) is_fenced: bool,
}

/// Every simulated rank has a table; a copy within a rank counts twice.
const _: () = assert!(size_of::<Peer>() == 16 && 2 * OPERATIONS_IN_FLIGHT_MAX <= u16::MAX as usize);

/// Initial size of the hash table.
const PLACES_FIRST: usize = 8;

impl Default for Peers {
    fn default() -> Self {
        Self { entries: vec![Peer::new(Route(u32::MAX))], places: Vec::new(), latest: NOBODY }
    }
}

impl Route {
    #[inline]
    pub(crate) const fn new(rank: Rank, rail: Option<Rail>) -> Self {
        let code = match rail {
            None => 0,
            Some(rail) => rail.number() as u32 + 1,
        };
        Self(rank.number() | code << RAIL_SHIFT)
    }

    pub(crate) const fn rank(self) -> Rank {
        Rank::new(self.0 & ((1 << RAIL_SHIFT) - 1))
    }

    #[inline]
    pub(crate) const fn rail(self) -> Option<Rail> {
        match self.0 >> RAIL_SHIFT {
            0 => None,
            code => Rail::new(code as usize - 1),
        }
    }
}

/// Marks an absent endpoint: no job has as many ranks.
const UNCONNECTED: u32 = u32::MAX;

impl Peer {
    /// Returns the endpoint, if the peer is connected.
    #[inline]
    pub(crate) fn endpoint(&self) -> Option<Endpoint> {
        (self.endpoint != UNCONNECTED).then_some(Endpoint(self.endpoint))
    }

    pub(crate) fn connect(&mut self, Endpoint(endpoint): Endpoint) {
        self.endpoint = endpoint;
    }

    const fn new(route: Route) -> Self {
        Self { route, endpoint: UNCONNECTED, live: 0, orderly: 0, full_in: 0, is_fenced: false }
    }
}

impl Peers {
    /// Returns the number of a route, and adds the route if it is new.
    #[inline]
    pub(crate) fn number(&mut self, route: Route) -> PeerNumber {
        if self.latest().route == route { self.latest } else { self.look_up(route) }
    }

    /// Returns the state of a route, if the route has a number.
    pub(crate) fn find(&self, route: Route) -> Option<&Peer> {
        let number = self.places.get(self.place_of(route)?).copied()?;
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

    /// Returns the most recently requested route.
    #[inline]
    pub(crate) fn latest(&self) -> &Peer {
        self.get(self.latest)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Peer> {
        self.entries.iter_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Peer> {
        self.entries.iter()
    }

    fn look_up(&mut self, route: Route) -> PeerNumber {
        let found = self.place_of(route).map_or(NOBODY, |place| self.places[place]);
        self.latest = if found == NOBODY { self.add(route) } else { found };
        self.latest
    }

    #[cold]
    fn add(&mut self, route: Route) -> PeerNumber {
        if 4 * self.entries.len() > 3 * self.places.len() {
            self.places = vec![NOBODY; (2 * self.places.len()).max(PLACES_FIRST)];
            for number in 1..self.entries.len() {
                let place = self.place_of(self.entries[number].route).expect("there are places");
                self.places[place] = number as PeerNumber;
            }
        }
        if self.entries.len() == self.entries.capacity() {
            // Grows by a small amount, because most ranks access few peers.
            self.entries.reserve_exact(2 + self.entries.len() / 4);
        }
        let number = self.entries.len() as PeerNumber;
        self.entries.push(Peer::new(route));
        let place = self.place_of(route).expect("there are places");
        self.places[place] = number;
        number
    }

    /// Returns the slot of a route, or the free slot for it; `None` while the hash table is empty.
    fn place_of(&self, route: Route) -> Option<usize> {
        let last = self.places.len().checked_sub(1)?;
        // The top bits of the product separate neighbouring ranks, and ranks that differ by a power of two.
        let mut place = (route.0.wrapping_mul(0x9e37_79b9) >> (u32::BITS - last.count_ones())) as usize;
        while self.places[place] != NOBODY && self.get(self.places[place]).route != route {
            place = (place + 1) & last;
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(rank: u32) -> Route {
        Route::new(Rank::new(rank), None)
    }

    #[test]
    fn a_rank_keeps_its_number() {
        let mut peers = Peers::default();
        let routes = [3, 1, 3, 2, 1, 2, 2, 3].map(best);
        let numbers = routes.map(|route| peers.number(route));
        assert_eq!(numbers, [1, 2, 1, 3, 2, 3, 3, 1]);
        assert!(routes.into_iter().all(|route| peers.find(route).is_some_and(|peer| peer.route == route)));
        assert!(peers.find(best(0)).is_none());
    }

    #[test]
    fn a_rank_has_a_number_for_each_rail() {
        let mut peers = Peers::default();
        let rails = || (0..Rail::MAX).map(Rail::new).chain([None]);
        let ranks = [0, 1, RANKS_MAX - 1].map(Rank::new);
        let routes: Vec<_> = rails().flat_map(|rail| ranks.map(|rank| (rank, rail))).collect();
        for (number, &(rank, rail)) in (1..).zip(&routes) {
            let route = Route::new(rank, rail);
            assert_eq!((route.rank(), route.rail(), peers.number(route)), (rank, rail, number));
        }
        assert!((1..).zip(&routes).all(|(number, &(rank, rail))| peers.number(Route::new(rank, rail)) == number));
    }

    /// At most three quarters of the places are in use, and more than that of half as many; peers take little room that they do not need.
    #[test]
    fn the_table_grows_with_the_peers() {
        let mut peers = Peers::default();
        for known in 1..=1000 {
            peers.number(best(known as u32));
            let (places, room) = (peers.places.len(), peers.entries.capacity() - peers.entries.len());
            assert!(4 * known <= 3 * places && (places == PLACES_FIRST || 4 * known > 3 * places / 2), "{known} in {places}");
            assert!(room <= 1 + known / 4, "{known} and room for {room}");
        }
    }

    #[test]
    fn many_ranks_are_found() {
        let mut peers = Peers::default();
        assert!(peers.find(best(5)).is_none());
        for (number, rank) in (0..1000).map(|index| index * 37 % 1009).enumerate() {
            assert_eq!(peers.number(best(rank)), number as PeerNumber + 1);
        }
        for (number, rank) in (0..1000).map(|index| index * 37 % 1009).enumerate() {
            assert_eq!(peers.number(best(rank)), number as PeerNumber + 1);
            assert_eq!(peers.find(best(rank)).map(|peer| peer.route.rank()), Some(Rank::new(rank)));
        }
        assert!((1010..1100).all(|rank| peers.find(best(rank)).is_none()));
    }
}
