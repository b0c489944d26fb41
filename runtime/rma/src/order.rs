//! Which operation waits for which: a graph of numbers, without memory, time or peers.
//!
//! An operation can be ordered after one that was admitted before it, or after all of them. So every edge leads back in time and a
//! cycle cannot be written down; a number that was never given out is an error.

use std::collections::{BTreeMap, BTreeSet};

use pelago_platform::Failure;

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

/// The operations that have not ended, and what those among them wait for that have not begun.
#[derive(Debug)]
pub(crate) struct Order {
    next: u64,
    live: BTreeSet<u64>,
    waiting: BTreeMap<u64, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    after: After,
    /// Why it can no longer be done: something it waited for failed.
    doomed: Option<Failure>,
}

impl Default for Order {
    fn default() -> Self {
        Self { next: 1, live: BTreeSet::new(), waiting: BTreeMap::new() }
    }
}

impl Order {
    /// Gives an operation its number; `true` if it may begin at once.
    pub(crate) fn admit(&mut self, after: After) -> Result<(u64, bool), UnknownOperation> {
        let id = self.next;
        let ready = match after {
            After::Nothing => true,
            After::One(earlier) if earlier >= id || earlier == 0 => return Err(UnknownOperation),
            After::One(earlier) => !self.live.contains(&earlier),
            After::All => self.live.is_empty(),
        };
        self.next += 1;
        self.live.insert(id);
        if !ready {
            self.waiting.insert(id, Waiting { after, doomed: None });
        }
        Ok((id, ready))
    }

    /// Takes an operation out of the graph; returns those that may begin now, or can no longer be done because of a failure.
    pub(crate) fn end(&mut self, id: u64, failure: Option<Failure>) -> Vec<(u64, Option<Failure>)> {
        self.live.remove(&id);
        let oldest = self.live.first().copied();
        let mut ready = Vec::new();
        for (&waiter, waiting) in &mut self.waiting {
            let concerned = waiting.after == After::One(id) || waiting.after == After::All && id < waiter;
            if concerned {
                waiting.doomed = waiting.doomed.or(failure);
            }
            let free = match waiting.after {
                After::Nothing => true,
                After::One(earlier) => !self.live.contains(&earlier),
                After::All => oldest == Some(waiter),
            };
            if free {
                ready.push((waiter, waiting.doomed));
            }
        }
        for (waiter, _) in &ready {
            self.waiting.remove(waiter);
        }
        ready
    }

    /// Whether the operation has not ended.
    pub(crate) fn is_live(&self, id: u64) -> bool {
        self.live.contains(&id)
    }

    /// How many operations have not ended.
    pub(crate) fn live(&self) -> usize {
        self.live.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert_eq!(order.end(failing, Some(failure)), [(one, Some(failure))]);
        assert_eq!(order.end(one, Some(failure)), []);
        assert_eq!(order.end(other, None), [(all, Some(failure)), (free, None)]);
    }

    proptest! {
        /// Operations end in any order; each begins exactly once, after what it waits for and not later than that.
        #[test]
        fn every_operation_begins_once_and_in_order(
            plan in prop::collection::vec((0u8..3, any::<prop::sample::Index>()), 1..40),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 40),
        ) {
            let mut order = Order::default();
            let mut afters = BTreeMap::new();
            let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
            for (index, (kind, pick)) in plan.iter().enumerate() {
                let after = match kind {
                    1 if index > 0 => After::One(1 + pick.index(index) as u64),
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
                for (ready, doomed) in order.end(id, None) {
                    prop_assert!(doomed.is_none() && begun.insert(ready), "begins once");
                }
                for (&id, after) in &afters {
                    let may = match after {
                        After::Nothing => true,
                        After::One(earlier) => ended.contains(earlier),
                        After::All => (1..id).all(|earlier| ended.contains(&earlier)),
                    };
                    prop_assert_eq!(begun.contains(&id), may);
                }
            }
            prop_assert_eq!(order.live(), 0);
        }
    }
}
