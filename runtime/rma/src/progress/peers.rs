//! The ranks that a context has to do with and does not reach by loads and stores alone.

use pelago_base::Rank;
use pelago_base::limits::RANKS_MAX;
use pelago_platform::{Endpoint, Rail};

/// The ranks that a context has to do with: those talked to, not all of the job; a rank once more for each rail that the program names.
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

/// A rank, and the rail to it if it is not the one that is best.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route(u32);

/// Where in a route the rail stands: its number and one.
const RAIL_SHIFT: u32 = 24;

const _: () = assert!(RANKS_MAX <= 1 << RAIL_SHIFT && Rail::MAX < 1 << (u32::BITS - RAIL_SHIFT));

/// What is known of a rank.
pub(crate) struct Peer {
    pub(crate) route: Route,
    /// [`UNCONNECTED`] until something is posted to it.
    endpoint: u32,
    /// Operations that concern it and have not ended.
    pub(crate) live: u32,
    /// Those of them that a fence orders before everything posted from then on, and that fail only with the peer itself.
    pub(crate) orderly: u32,
    /// The round of progress in which the transport had no more room for it.
    pub(crate) full_in: u32,
    /// Whether what was posted to it is to take effect before what is posted next.
    pub(crate) is_fenced: bool,
}

/// The count of places grows from this.
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

/// What stands for no endpoint: as many ranks there are not.
const UNCONNECTED: u32 = u32::MAX;

impl Peer {
    /// Where it is posted to, from the first time on.
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
    /// The number of a route.
    #[inline]
    pub(crate) fn number(&mut self, route: Route) -> PeerNumber {
        if self.latest().route == route { self.latest } else { self.look_up(route) }
    }

    /// What is known of a route, if it has a number.
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

    /// The route that was last asked for.
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
            // By little, as most ranks talk to few.
            self.entries.reserve_exact(2 + self.entries.len() / 4);
        }
        let number = self.entries.len() as PeerNumber;
        self.entries.push(Peer::new(route));
        let place = self.place_of(route).expect("there are places");
        self.places[place] = number;
        number
    }

    /// Where the number of a route stands, or would; `None` while there are no places.
    fn place_of(&self, route: Route) -> Option<usize> {
        let last = self.places.len().checked_sub(1)?;
        // The top bits of the product keep neighbours apart, and ranks that differ by a power of two.
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
