//! The failed operations, their failures, and which were reported: exact for the latest, in bounded memory, and never a success for a failed operation.
//!
//! - **Exact.** Failed operations are stored in groups of equal failure among 64 consecutive numbers, so that many failures of one peer take a
//!   bit each. An operation that is not stored has succeeded, if its number is at least `known_from`.
//! - **Bounded.** When there is no room for another group, the groups of the lowest numbers are dropped and `known_from` moves past them. The
//!   result of an operation below `known_from` is unknown from then on, which has its own error.
//! - **Late.** An operation that ends below `known_from` is stored in a list of the latest such operations, as many as may be in flight: a wait for
//!   an operation that has not ended always gets its result.
//! - **Once.** A failure is unreported until its handle or [`Failures::tell_all`] reports it. `tell_all` also reports a failure that was
//!   forgotten before it was reported.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::Rank;
use pelago_platform::Failure;

use crate::limits::{FAILURE_GROUPS_MAX, OPERATIONS_IN_FLIGHT_MAX};
use crate::{Error, Result};

/// Number of operations of a group: the bits of a word.
const GROUP: u64 = u64::BITS as u64;

/// The operations that failed.
pub(crate) struct Failures {
    /// Each group at the number of its operation that was added first; several groups cover the same numbers if their failures differ.
    groups: BTreeMap<u64, Group>,
    known_from: u64,
    /// Operations that ended below `known_from`, in the order of their ends.
    late: VecDeque<Late>,
    /// Number of unreported failures, of which all forgotten ones may count as one, and a lower bound of the numbers of those in the groups.
    untold: usize,
    untold_from: u64,
    /// The first failure that was forgotten before it was reported.
    forgotten: Option<(u64, Failure)>,
}

/// Operations of equal failure whose numbers differ only in the last six bits: a bit each.
struct Group {
    failure: Failure,
    failed: u64,
    told: u64,
}

/// An operation that ended after `known_from` had moved past it.
struct Late {
    id: u64,
    failure: Option<Failure>,
    told: bool,
}

impl Default for Failures {
    fn default() -> Self {
        Self { groups: BTreeMap::new(), known_from: 0, late: VecDeque::new(), untold: 0, untold_from: u64::MAX, forgotten: None }
    }
}

impl Failures {
    /// Whether there is an unreported failure.
    #[inline]
    pub(crate) fn has_untold(&self) -> bool {
        self.untold > 0
    }

    /// Records a successful operation. Cost: a comparison.
    #[inline]
    pub(crate) fn add_success(&mut self, id: u64) {
        if id < self.known_from {
            self.add_late(Late { id, failure: None, told: true });
        }
    }

    /// Records a failed operation; `told`: whether the failure has been reported. Cost: logarithmic in the number of groups.
    #[cold]
    pub(crate) fn add(&mut self, id: u64, failure: Failure, told: bool) {
        if !told {
            self.untold += 1;
            self.untold_from = self.untold_from.min(id);
        }
        if self.groups.len() == FAILURE_GROUPS_MAX && self.group_of(id, failure).is_none() {
            self.forget_lowest();
        }
        if id < self.known_from {
            return self.add_late(Late { id, failure: Some(failure), told });
        }
        let (bit, told) = (bit_of(id), u64::from(told));
        match self.group_of(id, failure) {
            Some(group) => {
                group.failed |= bit;
                group.told |= bit * told;
            }
            None => drop(self.groups.insert(id, Group { failure, failed: bit, told: bit * told })),
        }
    }

    /// As [`tell_all`](Self::tell_all), for operations from number `from` on. A failure that was forgotten is left to `tell_all` with all others that were,
    /// if the first of them has a lower number.
    pub(crate) fn tell_from(&mut self, from: u64) -> Option<Failure> {
        if !self.has_untold() {
            return None;
        }
        let first = self.forgotten.take_if(|(id, _)| *id >= from);
        let told = self.tell_where(|id, _| id >= from);
        lower(first, told).map(|(_, failure)| failure)
    }

    /// Counts the failures of operations on these ranks as reported, other than forgotten ones, as their peer has failed.
    pub(crate) fn dismiss_lost(&mut self, ranks: &[Rank]) {
        if self.has_untold() {
            self.tell_where(|_, failure| matches!(failure, Failure::PeerLost(rank) if ranks.contains(&rank)));
        }
    }

    /// Returns the first unreported failure that is stored and meant; all such failures count as reported from now on. Cost: linear in the stored failures.
    fn tell_where(&mut self, is_meant: impl Fn(u64, Failure) -> bool) -> Option<(u64, Failure)> {
        let (mut first, mut left) = (None, usize::from(self.forgotten.is_some()));
        for (&key, group) in &mut self.groups {
            let untold = group.failed & !group.told;
            let bits = (0..GROUP).filter(|bit| untold >> bit & 1 == 1);
            let meant: u64 = bits.filter(|bit| is_meant(base_of(key) + bit, group.failure)).map(|bit| 1 << bit).sum();
            note_first(&mut first, base_of(key), &Group { failed: meant, ..*group });
            group.told |= meant;
            left += (untold & !meant).count_ones() as usize;
        }
        for late in self.late.iter_mut().filter(|late| !late.told) {
            match late.failure.filter(|&failure| is_meant(late.id, failure)) {
                Some(failure) => {
                    late.told = true;
                    first = lower(first, Some((late.id, failure)));
                }
                None => left += 1,
            }
        }
        self.untold = left;
        first
    }

    /// Returns the result of an operation, which counts as reported from now on. The operation has ended, and its result is not stored elsewhere.
    #[inline]
    pub(crate) fn tell(&mut self, id: u64) -> Result<()> {
        if id >= self.known_from && self.groups.is_empty() { Ok(()) } else { self.look_up(id) }
    }

    /// Returns the unreported failure of the lowest number; all count as reported from now on. Cost: linear in the groups from that one on.
    pub(crate) fn tell_all(&mut self) -> Option<Failure> {
        if !self.has_untold() {
            return None;
        }
        let mut first = self.forgotten.take();
        for (&key, group) in self.groups.range_mut(base_of(self.untold_from)..) {
            note_first(&mut first, base_of(key), group);
            group.told = group.failed;
        }
        for late in self.late.iter_mut().filter(|late| !late.told) {
            late.told = true;
            first = lower(first, late.failure.map(|failure| (late.id, failure)));
        }
        (self.untold, self.untold_from) = (0, u64::MAX);
        first.map(|(_, failure)| failure)
    }

    #[cold]
    fn look_up(&mut self, id: u64) -> Result<()> {
        let bit = bit_of(id);
        let (failure, is_new) = if id < self.known_from {
            let late = self.late.iter_mut().rfind(|late| late.id == id).ok_or(Error::Forgotten)?;
            (late.failure, !std::mem::replace(&mut late.told, true))
        } else {
            match self.groups_near(id).find(|group| group.failed & bit != 0) {
                Some(group) => {
                    let is_new = group.told & bit == 0;
                    group.told |= bit;
                    (Some(group.failure), is_new)
                }
                None => (None, false),
            }
        };
        self.untold -= usize::from(is_new);
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Returns the groups that may contain this operation.
    fn groups_near(&mut self, id: u64) -> impl Iterator<Item = &mut Group> {
        self.groups.range_mut(base_of(id)..=base_of(id) + (GROUP - 1)).map(|(_, group)| group)
    }

    fn group_of(&mut self, id: u64, failure: Failure) -> Option<&mut Group> {
        self.groups_near(id).find(|group| group.failure == failure)
    }

    /// Drops the groups of the lowest numbers.
    fn forget_lowest(&mut self) {
        let Some((&lowest, _)) = self.groups.first_key_value() else { return };
        let base = base_of(lowest);
        self.known_from = base + GROUP;
        while let Some(entry) = self.groups.first_entry().filter(|entry| *entry.key() < base + GROUP) {
            let group = entry.remove();
            note_first(&mut self.forgotten, base, &group);
        }
    }

    #[cold]
    fn add_late(&mut self, late: Late) {
        if self.late.len() == OPERATIONS_IN_FLIGHT_MAX
            && let Some(Late { id, failure, told: false }) = self.late.pop_front()
        {
            self.forgotten = lower(self.forgotten, failure.map(|failure| (id, failure)));
        }
        self.late.push_back(late);
    }
}

/// Returns the first number of the groups that may contain this operation.
const fn base_of(id: u64) -> u64 {
    id & !(GROUP - 1)
}

const fn bit_of(id: u64) -> u64 {
    1 << (id % GROUP)
}

/// Replaces `first` by the first unreported operation of a group, if the latter has a lower number.
fn note_first(first: &mut Option<(u64, Failure)>, base: u64, group: &Group) {
    let untold = group.failed & !group.told;
    if untold != 0 {
        *first = lower(*first, Some((base + u64::from(untold.trailing_zeros()), group.failure)));
    }
}

/// Returns the failure with the lower number.
fn lower(one: Option<(u64, Failure)>, other: Option<(u64, Failure)>) -> Option<(u64, Failure)> {
    [one, other].into_iter().flatten().min_by_key(|&(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pelago_base::GlobalAddress;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn lost(rank: u32) -> Failure {
        Failure::PeerLost(Rank::new(rank))
    }

    /// A failure that no other operation shares.
    fn own(id: u64) -> Failure {
        Failure::OutOfBounds(GlobalAddress::from_bits(id))
    }

    fn told(failure: Failure) -> Result<()> {
        Err(failure.into())
    }

    /// The results of all ended operations, without limits.
    #[derive(Default)]
    struct Oracle {
        ended: BTreeMap<u64, Option<Failure>>,
        untold: BTreeMap<u64, Failure>,
        /// Numbers of the failed operations, in order.
        failed: Vec<u64>,
    }

    impl Oracle {
        fn end(&mut self, id: u64, failure: Option<Failure>) {
            self.ended.insert(id, failure);
            if let Some(failure) = failure {
                self.untold.insert(id, failure);
                self.failed.insert(self.not_above(id), id);
            }
        }

        /// Compares the reported result of an operation, and marks it as reported.
        fn check(&mut self, id: u64, said: Result<()>) {
            if said == Err(Error::Forgotten) {
                let newer = self.failed.len() - self.not_above(id);
                assert!(newer >= FAILURE_GROUPS_MAX - GROUP as usize, "{id} is forgotten after {newer} newer failures");
                return;
            }
            assert_eq!(said, self.ended[&id].map_or(Ok(()), told), "operation {id}");
            self.untold.remove(&id);
        }

        /// Number of failed operations up to this number.
        fn not_above(&self, id: u64) -> usize {
            self.failed.partition_point(|&failed| failed <= id)
        }

        fn tell_all(&mut self) -> Option<Failure> {
            std::mem::take(&mut self.untold).into_values().next()
        }

        fn tell_from(&mut self, from: u64) -> Option<Failure> {
            self.untold.split_off(&from).into_values().next()
        }
    }

    /// Ends `operations` operations, of which a window is in flight, in any order; queries other operations occasionally.
    fn compare(operations: u64, seed: u64, fails: impl Fn(u64, &mut seeded::Random) -> Option<Failure>) {
        let mut random = seeded::Random(seed);
        let (mut failures, mut oracle) = (Failures::default(), Oracle::default());
        let (mut live, mut next) = (Vec::new(), 1);
        while next <= operations || !live.is_empty() {
            if next <= operations && (live.is_empty() || live.len() < OPERATIONS_IN_FLIGHT_MAX && random.below(2) == 0) {
                live.push(next);
                next += 1;
                continue;
            }
            // The first operation may stay in flight for long.
            let pick = if random.below(50) == 0 { 0 } else { live.len() - 1 - random.below(live.len().min(60) as u64) as usize };
            let id = live.swap_remove(pick);
            let failure = fails(id, &mut random);
            match failure {
                None => failures.add_success(id),
                Some(failure) => failures.add(id, failure, false),
            }
            oracle.end(id, failure);
            if random.below(2) == 0 {
                let said = failures.tell(id);
                assert_ne!(said, Err(Error::Forgotten), "{id} has ended just now");
                oracle.check(id, said);
            }
            let other = 1 + random.below(next - 1);
            if oracle.ended.contains_key(&other) {
                oracle.check(other, failures.tell(other));
            }
            assert_eq!(failures.has_untold(), !oracle.untold.is_empty());
            if random.below(200) == 0 {
                // So few back that none of them is forgotten.
                let from = next - random.below(next.min(1_000));
                assert_eq!(failures.tell_from(from), oracle.tell_from(from), "from {from} on");
                assert_eq!(failures.has_untold(), !oracle.untold.is_empty());
            }
            if random.below(300) == 0 {
                assert_eq!(failures.tell_all(), oracle.tell_all());
            }
        }
        assert_eq!(failures.tell_all(), oracle.tell_all());
        assert_eq!((failures.tell_all(), failures.has_untold()), (None, false), "once");
        assert!(failures.groups.len() <= FAILURE_GROUPS_MAX && failures.late.len() <= OPERATIONS_IN_FLIGHT_MAX);
        for id in 1..=operations {
            oracle.check(id, failures.tell(id));
        }
    }

    mod seeded {
        /// Pseudo-random numbers from a seed.
        pub(super) struct Random(pub(super) u64);

        impl Random {
            pub(super) fn below(&mut self, bound: u64) -> u64 {
                self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 33) % bound
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3))]

        #[test]
        fn what_is_said_agrees_with_an_oracle(seed: u64, kinds in 1..5_u64, often in 1..4_u64) {
            compare(12_000, seed, |id, random| match random.below(often) {
                0 => Some(if random.below(kinds) > 1 { own(id) } else { lost(random.below(kinds) as u32) }),
                _ => None,
            });
        }
    }

    #[test]
    fn failures_of_lost_ranks_are_dismissed_alone() {
        let mut failures = Failures::default();
        for (id, failure) in [(1, lost(1)), (2, own(2)), (3, lost(2)), (70, lost(1))] {
            failures.add(id, failure, false);
        }
        failures.dismiss_lost(&[Rank::new(1)]);
        assert_eq!((failures.tell_from(3), failures.tell_all(), failures.tell_all()), (Some(lost(2)), Some(own(2)), None));
        assert_eq!(failures.tell(70), told(lost(1)), "its handle still reports it");
    }

    /// Failures that were forgotten are told by the next call that tells all, and not before if one of them is older than the given number.
    #[test]
    fn forgotten_failures_are_told_later() {
        const OPERATIONS: u64 = FAILURE_GROUPS_MAX as u64 + 2 * GROUP;
        let mut failures = Failures::default();
        (1..=OPERATIONS).for_each(|id| failures.add(id, own(id), false));
        assert_eq!((failures.tell_from(2), failures.has_untold()), (Some(own(failures.known_from)), true));
        assert_eq!((failures.tell_all(), failures.has_untold()), (Some(own(1)), false));
    }

    #[test]
    fn many_equal_failures_are_all_known() {
        const OPERATIONS: u64 = 30_000;
        let mut failures = Failures::default();
        // Every second operation fails, so that no failed operation has a failed neighbour.
        (1..=OPERATIONS).for_each(|id| if id % 2 == 0 { failures.add(id, lost(1), false) } else { failures.add_success(id) });
        for round in 0..2 {
            let multiples = (1..=OPERATIONS).map(|index| index * 7919 % (OPERATIONS + 1));
            multiples
                .filter(|&id| id > 0)
                .for_each(|id| assert_eq!(failures.tell(id), if id % 2 == 0 { told(lost(1)) } else { Ok(()) }, "{round}"));
            assert!(!failures.has_untold());
        }
        assert_eq!(failures.tell_all(), None);
    }

    #[test]
    fn what_is_forgotten_untold_is_still_reported() {
        let mut failures = Failures::default();
        let last = 3 * FAILURE_GROUPS_MAX as u64;
        (1..=last).for_each(|id| failures.add(id, own(id), false));
        assert_eq!((failures.tell(1), failures.tell(last)), (Err(Error::Forgotten), told(own(last))));
        assert_eq!(failures.tell_all(), Some(own(1)), "the first, though it is forgotten");
        assert_eq!(failures.tell_all(), None);
        assert_eq!(failures.tell(1), Err(Error::Forgotten), "never a success");
    }

    #[test]
    fn what_ends_late_is_known_when_it_ends() {
        let mut failures = Failures::default();
        let last = 3 * FAILURE_GROUPS_MAX as u64;
        let late = OPERATIONS_IN_FLIGHT_MAX as u64;
        (late + 1..=last).for_each(|id| failures.add(id, lost(id as u32 % 1000), true));
        (1..=late).for_each(|id| if id % 3 == 0 { failures.add(id, own(id), false) } else { failures.add_success(id) });
        (1..=late).rev().for_each(|id| assert_eq!(failures.tell(id), if id % 3 == 0 { told(own(id)) } else { Ok(()) }));
        assert!(!failures.has_untold());
        failures.add(late + 1, own(0), false);
        assert_eq!(failures.tell(1), Err(Error::Forgotten), "others came after it");
        (0..2 * late).for_each(|_| failures.add_success(2));
        assert_eq!(failures.tell_all(), Some(own(0)), "forgotten before anybody was told");
    }

    #[test]
    fn what_ends_at_the_first_number_that_is_known_is_not_late() {
        for fails in [false, true] {
            let (mut failures, first) = (Failures::default(), GROUP);
            (0..=FAILURE_GROUPS_MAX as u64 + 1).filter(|&id| id != first).for_each(|id| failures.add(id, own(id), true));
            assert_eq!(failures.known_from, first);
            match fails {
                true => failures.add(first, own(first + 1), true),
                false => failures.add_success(first),
            }
            assert_eq!(failures.tell(first), if fails { told(own(first + 1)) } else { Ok(()) });
            assert!(failures.late.is_empty());
        }
    }

    #[test]
    fn of_late_failures_those_are_reported_that_nobody_was_told_of() {
        let mut failures = Failures::default();
        (0..=FAILURE_GROUPS_MAX as u64).for_each(|id| failures.add(GROUP + id, own(id), true));
        failures.add(1, lost(1), true);
        failures.add(2, lost(2), false);
        failures.add(3, lost(3), false);
        assert_eq!((failures.tell_all(), failures.tell_all()), (Some(lost(2)), None));
        assert_eq!([1, 2, 3].map(|id| failures.tell(id)), [1, 2, 3].map(|id| told(lost(id as u32))));
        assert!(!failures.has_untold());
    }
}
