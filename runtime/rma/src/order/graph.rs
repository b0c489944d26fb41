//! The dependency graph of operations: a graph of numbers, without memory, time or peers.
//!
//! An operation can be ordered after one that was admitted before it, or after all of them. Therefore every edge points back in time and a
//! cycle is impossible; a number that was never assigned is an error.
//!
//! Numbers only increase, and no two live operations have the same number modulo the table size, which doubles with the number of operations: a
//! number whose index is occupied is skipped. Therefore a live operation is found by arithmetic, here and in other tables of the same size, and
//! an operation that lives long does not block others.

use std::collections::VecDeque;

use pelago_platform::Failure;

use crate::limits::{OPERATION_PLACES, OPERATION_PLACES_FIRST, OPERATIONS_IN_FLIGHT_MAX};

const _: () = assert!(5 * OPERATIONS_IN_FLIGHT_MAX < 4 * OPERATION_PLACES, "so many places are never tight");

/// The predecessors of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Nothing.
    Nothing,
    /// One operation.
    One(u64),
    /// All operations that were admitted before.
    All,
}

/// The error for an operation that was ordered after one that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownOperation;

/// An operation that may start, or that fails because a predecessor failed.
pub(crate) type Released = (u64, Option<Failure>);

/// The live operations, and the dependencies of those that have not started.
#[derive(Debug)]
pub(crate) struct Order {
    next: u64,
    /// Empty at first; then its length is a power of two, up to [`OPERATION_PLACES`].
    places: Vec<Place>,
    live: usize,
    /// Operations that wait for all operations before them, in order.
    gathering: VecDeque<Gathering>,
    /// Number of live operations from the last entry of `gathering` on.
    recent: usize,
}

/// A live operation and the list of operations that wait for it; its number is 0 for a free entry.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    id: u64,
    first_waiter: WaiterLink,
    /// The next operation that waits for the same predecessor.
    next_waiter: WaiterLink,
}

/// The index of a waiting live operation plus one; 0 for none.
type WaiterLink = u32;

/// Size of an entry; there are up to twice as many entries as operations.
const _: () = assert!(size_of::<Place>() == 16 && OPERATION_PLACES < WaiterLink::MAX as usize);

/// An operation that waits for all operations before it.
#[derive(Debug)]
struct Gathering {
    id: u64,
    /// Number of live operations before it, from the previous gathering operation on.
    before: usize,
    /// The failure of a predecessor, with which the operation fails.
    doomed: Option<Failure>,
}

impl Default for Order {
    fn default() -> Self {
        Self { next: 1, places: Vec::new(), live: 0, gathering: VecDeque::new(), recent: 0 }
    }
}

impl Order {
    /// Returns the number of the next operation.
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

    /// No operation admitted from now on has a lower number, and all admitted before have one.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Returns the index of an operation in every table of the same size.
    #[inline]
    pub(crate) fn place_of(&self, id: u64) -> usize {
        id as usize & self.places.len().wrapping_sub(1)
    }

    /// Size of the table.
    #[inline]
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Whether the next operation needs a larger table.
    #[inline]
    pub(crate) fn is_tight(&self) -> bool {
        5 * self.live >= 4 * self.places.len()
    }

    /// Doubles the table. Numbers that differ modulo a power of two also differ modulo its double.
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

    /// Returns the live operations, in no particular order.
    pub(crate) fn live_ids(&self) -> impl Iterator<Item = u64> {
        self.places.iter().map(|place| place.id).filter(|&id| id != 0)
    }

    /// Assigns a number to an operation; `true` if the operation may start immediately.
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

    /// Removes an operation from the graph. Appends the operations that may start now, or that fail because of its failure, in the
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
                // Most operations have a single waiter.
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

    /// Number of operations that have not ended.
    #[inline]
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Returns the first operation that waits for this live operation only.
    pub(crate) fn first_waiter(&self, id: u64) -> Option<u64> {
        self.linked(self.places[self.place_of(id)].first_waiter).map(|waiter| waiter.id)
    }

    /// Returns the operation after `waiter` that waits for the same predecessor.
    pub(crate) fn next_waiter(&self, waiter: u64) -> Option<u64> {
        self.linked(self.places[self.place_of(waiter)].next_waiter).map(|waiter| waiter.id)
    }

    /// Returns the operation that a link refers to.
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

    /// Records the end of an operation for the operations that wait for all before them; the first of these may be released.
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

/// Returns the link to an operation, in a table of `places` entries.
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

    /// A vector that grows on its own initially reserves room for more elements.
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
        /// Operations end in any order; each starts exactly once, after its predecessors have ended and no later than that. The numbers start at a value
        /// at which all indices have been used before.
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
