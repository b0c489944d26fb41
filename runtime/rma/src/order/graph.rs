//! Which operation waits for which: a graph of numbers, without memory, time or peers.
//!
//! An operation can be ordered after one that was admitted before it, or after all of them. So every edge leads back in time and a
//! cycle cannot be written down; a number that was never given out is an error.
//!
//! Numbers only grow, and no two live operations have the same number modulo the count of places, which doubles as operations become more: a
//! number whose place is taken is passed over. So a live operation is found by arithmetic, here and by whoever keeps more about it, and
//! one that lives long holds up nothing.

use std::collections::VecDeque;

use pelago_platform::Failure;

use crate::limits::{OPERATION_PLACES, OPERATION_PLACES_FIRST, OPERATIONS_IN_FLIGHT_MAX};

const _: () = assert!(4 * OPERATIONS_IN_FLIGHT_MAX < 3 * OPERATION_PLACES, "so many places are never tight");

/// What an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// One operation.
    One(u64),
    /// All that were admitted before.
    All,
}

/// An operation was to be ordered after one that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownOperation;

/// An operation that may begin, or can no longer be done because what it waited for failed.
pub(crate) type Released = (u64, Option<Failure>);

/// The operations that have not ended, and what those among them wait for that have not begun.
#[derive(Debug)]
pub(crate) struct Order {
    next: u64,
    /// None at first; then a power of two, up to [`OPERATION_PLACES`].
    places: Vec<Place>,
    live: usize,
    /// Those that wait for all before them, in order.
    gathering: VecDeque<Gathering>,
    /// Live operations from the last of them on.
    recent: usize,
}

/// A live operation and the list of those that wait for it; its number is 0 where there is none.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    id: u64,
    first_waiter: WaiterLink,
    /// The next that waits for the same operation.
    next_waiter: WaiterLink,
}

/// The place of an operation that waits, which is live, and one; 0 if there is none.
type WaiterLink = u32;

/// What each place takes, of which there are up to twice as many as operations.
const _: () = assert!(size_of::<Place>() == 16 && OPERATION_PLACES < WaiterLink::MAX as usize);

/// An operation that waits for all before it.
#[derive(Debug)]
struct Gathering {
    id: u64,
    /// Live operations before it, from the gathering one before it on.
    before: usize,
    /// Why it can no longer be done: something it waits for failed.
    doomed: Option<Failure>,
}

impl Default for Order {
    fn default() -> Self {
        Self { next: 1, places: Vec::new(), live: 0, gathering: VecDeque::new(), recent: 0 }
    }
}

impl Order {
    /// The number that the next operation will get.
    #[inline]
    pub(crate) fn upcoming(&mut self) -> u64 {
        if self.is_tight() {
            self.grow();
        }
        assert!(self.live < OPERATIONS_IN_FLIGHT_MAX, "who submits makes room first");
        while self.places[self.place_of(self.next)].id != 0 {
            self.next += 1;
        }
        self.next
    }

    /// The place of an operation with this number, in every table that has as many places.
    #[inline]
    pub(crate) fn place_of(&self, id: u64) -> usize {
        id as usize & self.places.len().wrapping_sub(1)
    }

    /// How many places there are.
    #[inline]
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Whether the next operation needs more places.
    #[inline]
    pub(crate) fn is_tight(&self) -> bool {
        4 * self.live >= 3 * self.places.len()
    }

    /// Doubles the places. Live numbers that differ modulo a power of two differ modulo its double.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let grown = (2 * self.places.len()).max(OPERATION_PLACES_FIRST);
        let before = std::mem::replace(&mut self.places, vec![Place::default(); grown]);
        let moved = |link: WaiterLink| before.get((link as usize).wrapping_sub(1)).map_or(0, |waiter| link_to(waiter.id, grown));
        for &Place { id, first_waiter, next_waiter } in before.iter().filter(|place| place.id != 0) {
            let index = self.place_of(id);
            self.places[index] = Place { id, first_waiter: moved(first_waiter), next_waiter: moved(next_waiter) };
        }
    }

    /// The operations that have not ended, in no order.
    pub(crate) fn live_ids(&self) -> impl Iterator<Item = u64> {
        self.places.iter().map(|place| place.id).filter(|&id| id != 0)
    }

    /// Gives an operation its number; `true` if it may begin at once.
    #[inline]
    pub(crate) fn admit(&mut self, after: After) -> Result<(u64, bool), UnknownOperation> {
        let id = self.upcoming();
        let ready = match after {
            After::Nothing => true,
            After::One(earlier) if earlier >= id || earlier == 0 => return Err(UnknownOperation),
            After::One(earlier) => !self.is_live(earlier),
            After::All => self.live == 0,
        };
        self.next += 1;
        let place = self.place_of(id);
        self.places[place] = Place { id, first_waiter: 0, next_waiter: 0 };
        if !ready {
            self.wait(id, after);
        }
        self.live += 1;
        self.recent += 1;
        Ok((id, ready))
    }

    /// Takes an operation out of the graph. Appends those that may begin now, or can no longer be done because of a failure, in the
    /// order of their numbers.
    #[inline]
    pub(crate) fn end(&mut self, id: u64, failure: Option<Failure>, released: &mut Vec<Released>) {
        if !self.is_live(id) {
            return;
        }
        let place = self.place_of(id);
        let mut waiter = std::mem::take(&mut self.places[place]).first_waiter;
        let before = released.len();
        while let Some(&Place { id, next_waiter, .. }) = self.linked(waiter) {
            if released.capacity() == 0 {
                // Most are alone.
                released.reserve_exact(1);
            }
            released.push((id, failure));
            waiter = next_waiter;
        }
        self.live -= 1;
        if self.gathering.is_empty() {
            self.recent -= 1;
        } else {
            released.extend(self.leave(id, failure));
        }
        released[before..].sort_unstable_by_key(|&(waiter, _)| waiter);
    }

    /// Whether the operation has not ended.
    #[inline]
    pub(crate) fn is_live(&self, id: u64) -> bool {
        id != 0 && self.places.get(self.place_of(id)).is_some_and(|place| place.id == id)
    }

    /// How many operations have not ended.
    #[inline]
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// The first of those that wait for this live operation alone.
    pub(crate) fn first_waiter(&self, id: u64) -> Option<u64> {
        self.linked(self.places[self.place_of(id)].first_waiter).map(|waiter| waiter.id)
    }

    /// The one after `waiter` that waits for the same operation.
    pub(crate) fn next_waiter(&self, waiter: u64) -> Option<u64> {
        self.linked(self.places[self.place_of(waiter)].next_waiter).map(|waiter| waiter.id)
    }

    /// The operation that a link leads to.
    fn linked(&self, link: WaiterLink) -> Option<&Place> {
        self.places.get((link as usize).wrapping_sub(1))
    }

    fn wait(&mut self, id: u64, after: After) {
        if let After::One(earlier) = after {
            let (place, own) = (self.place_of(earlier), self.place_of(id));
            let link = link_to(id, self.places.len());
            let first = std::mem::replace(&mut self.places[place].first_waiter, link);
            self.places[own].next_waiter = first;
        } else {
            self.gathering.push_back(Gathering { id, before: std::mem::take(&mut self.recent), doomed: None });
        }
    }

    /// Tells those that wait for all before them that one of these has ended; the first of them may be released by it.
    fn leave(&mut self, id: u64, failure: Option<Failure>) -> Option<Released> {
        let concerned = self.gathering.partition_point(|gathering| gathering.id <= id);
        match self.gathering.get_mut(concerned) {
            Some(gathering) => gathering.before -= 1,
            None => self.recent -= 1,
        }
        if failure.is_some() {
            self.gathering.range_mut(concerned..).for_each(|gathering| gathering.doomed = gathering.doomed.or(failure));
        }
        let is_first_released = self.gathering.front().is_some_and(|gathering| gathering.before == 0);
        let Gathering { id, doomed, .. } = is_first_released.then(|| self.gathering.pop_front()).flatten()?;
        Some((id, doomed))
    }
}

/// The link to the operation of a number, among so many places.
fn link_to(id: u64, places: usize) -> WaiterLink {
    (id as usize & (places - 1)) as WaiterLink + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn end(order: &mut Order, id: u64, failure: Option<Failure>) -> Vec<Released> {
        let mut released = Vec::new();
        order.end(id, failure, &mut released);
        released
    }

    #[test]
    fn an_operation_cannot_wait_for_itself_or_a_later_one() {
        let mut order = Order::default();
        let (first, _) = order.admit(After::Nothing).unwrap();
        assert_eq!(order.admit(After::One(first + 1)), Err(UnknownOperation));
        assert_eq!(order.admit(After::One(0)), Err(UnknownOperation));
        assert_eq!(order.admit(After::One(first)), Ok((first + 1, false)));
    }

    #[test]
    fn a_failure_dooms_what_waits_for_it() {
        let mut order = Order::default();
        let failure = Failure::PeerLost(pelago_base::Rank::new(1));
        let (failing, _) = order.admit(After::Nothing).unwrap();
        let (other, _) = order.admit(After::Nothing).unwrap();
        let (one, _) = order.admit(After::One(failing)).unwrap();
        let (all, _) = order.admit(After::All).unwrap();
        let (free, _) = order.admit(After::One(other)).unwrap();
        assert_eq!(end(&mut order, failing, Some(failure)), [(one, Some(failure))]);
        assert_eq!(end(&mut order, one, Some(failure)), []);
        assert_eq!(end(&mut order, other, None), [(all, Some(failure)), (free, None)]);
    }

    #[test]
    fn an_operation_that_lives_long_holds_up_nothing_and_is_not_mistaken() {
        let mut order = Order::default();
        let (old, _) = order.admit(After::Nothing).unwrap();
        let mut last = old;
        for _ in 0..3 * OPERATION_PLACES {
            let (id, _) = order.admit(After::Nothing).unwrap();
            assert!(id > last && order.place_of(id) != order.place_of(old));
            assert_eq!(order.upcoming(), order.upcoming(), "looking does not use numbers up");
            assert_eq!(end(&mut order, id, None), []);
            assert!(order.is_live(old) && !order.is_live(id) && !order.is_live(old + OPERATION_PLACES as u64));
            last = id;
        }
        let (waiter, ready) = order.admit(After::One(old)).unwrap();
        assert!(!ready);
        assert_eq!(end(&mut order, old, None), [(waiter, None)]);
    }

    /// A vector that grows by itself begins with more.
    #[test]
    fn one_that_is_released_takes_room_for_one() {
        let mut order = Order::default();
        let (first, _) = order.admit(After::Nothing).unwrap();
        let (second, _) = order.admit(After::One(first)).unwrap();
        let released = end(&mut order, first, None);
        assert_eq!((&released[..], released.capacity()), (&[(second, None)][..], 1));
    }

    #[test]
    fn places_grow_with_the_operations_and_no_further() {
        let mut order = Order::default();
        let mut live = Vec::new();
        while live.len() < OPERATIONS_IN_FLIGHT_MAX {
            let (id, _) = order.admit(After::Nothing).unwrap();
            live.push(id);
            assert!(order.places() <= (3 * live.len()).max(OPERATION_PLACES_FIRST) && live.iter().all(|&id| order.is_live(id)));
        }
        assert_eq!(order.places(), OPERATION_PLACES);
        let mut known: Vec<_> = order.live_ids().collect();
        known.sort_unstable();
        assert_eq!(known, live);
    }

    #[test]
    fn all_that_wait_for_one_operation_are_known() {
        let mut order = Order::default();
        let (first, _) = order.admit(After::Nothing).unwrap();
        assert_eq!(order.first_waiter(first), None);
        let waiters: BTreeSet<_> = (0..3).map(|_| order.admit(After::One(first)).unwrap().0).collect();
        order.admit(After::All).unwrap();
        let known = std::iter::successors(order.first_waiter(first), |&waiter| order.next_waiter(waiter));
        assert_eq!(known.collect::<BTreeSet<_>>(), waiters);
    }

    proptest! {
        /// Operations end in any order; each begins exactly once, after what it waits for and not later than that. Numbers start anew
        /// where places have been used before.
        #[test]
        fn every_operation_begins_once_and_in_order(
            plan in prop::collection::vec((0u8..3, any::<prop::sample::Index>()), 1..40),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 40),
            used in prop_oneof![Just(0), 2000..2060u64],
        ) {
            let mut order = Order { next: 1 + used, ..Order::default() };
            let mut afters = BTreeMap::new();
            let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
            for (index, (kind, pick)) in plan.iter().enumerate() {
                let after = match kind {
                    1 if index > 0 => After::One(used + 1 + pick.index(index) as u64),
                    2 => After::All,
                    _ => After::Nothing,
                };
                let (id, ready) = order.admit(after).unwrap();
                afters.insert(id, after);
                if ready {
                    begun.insert(id);
                }
            }
            let mut picks = picks.iter();
            while ended.len() < plan.len() {
                let running: Vec<u64> = begun.difference(&ended).copied().collect();
                prop_assert!(!running.is_empty(), "nothing is left to begin");
                let id = running[picks.next().map_or(0, |pick| pick.index(running.len()))];
                ended.insert(id);
                for (ready, doomed) in end(&mut order, id, None) {
                    prop_assert!(doomed.is_none() && begun.insert(ready), "begins once");
                }
                for (&id, after) in &afters {
                    let may = match after {
                        After::Nothing => true,
                        After::One(earlier) => ended.contains(earlier),
                        After::All => (used + 1..id).all(|earlier| ended.contains(&earlier)),
                    };
                    prop_assert_eq!(begun.contains(&id), may);
                }
            }
            prop_assert_eq!(order.live(), 0);
            prop_assert!(order.gathering.is_empty() && order.recent == 0);
        }
    }
}
