//! What happens next: a monotone radix heap.
//!
//! Events come out by time, then by key, whatever order they went in. Those of one time are sorted together, once; those that
//! are added for the present join them through a small heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    /// When, in picoseconds.
    pub(crate) time: u64,
    /// Orders events of one time: the kind and number of an entity, then a number that this entity gave.
    pub(crate) key: u64,
    /// What.
    pub(crate) payload: u64,
}

impl Event {
    /// The key, then the payload, as one number.
    fn rank(self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.payload)
    }
}

/// Events that have not happened. Grows with their largest number, and does not shrink.
pub(crate) struct Queue {
    now: u64,
    /// Events of `now`, the first one last.
    present: Vec<u128>,
    /// Events of `now` that were added since.
    joined: BinaryHeap<Reverse<u128>>,
    /// Bucket `i` holds events whose time differs from `now` in bit `i` and in no higher one.
    buckets: [Vec<Event>; 64],
    /// Bit `i` is set if bucket `i` is not empty.
    occupied: u64,
}

impl Queue {
    pub(crate) fn new() -> Self {
        let buckets = [const { Vec::new() }; 64];
        Self { now: 0, present: Vec::new(), joined: BinaryHeap::new(), buckets, occupied: 0 }
    }

    /// The time of the last event that was taken out.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Adds an event; one of the past happens now.
    #[inline]
    pub(crate) fn push(&mut self, mut event: Event) {
        event.time = event.time.max(self.now);
        let difference = event.time ^ self.now;
        if difference == 0 {
            self.joined.push(Reverse(event.rank()));
        } else {
            let bucket = difference.ilog2();
            self.buckets[bucket as usize].push(event);
            self.occupied |= 1 << bucket;
        }
    }

    /// Takes the first event out.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        if self.present.is_empty() && self.joined.is_empty() {
            self.advance()?;
        }
        let joins = match (self.present.last(), self.joined.peek()) {
            (Some(event), Some(Reverse(joined))) => joined < event,
            (event, _) => event.is_none(),
        };
        let event = if joins { self.joined.pop().map(|Reverse(event)| event) } else { self.present.pop() }?;
        Some(Event { time: self.now, key: (event >> 64) as u64, payload: event as u64 })
    }

    /// An event of this time that comes some later, if there are so many.
    #[inline]
    pub(crate) fn ahead(&self, later: usize) -> Option<Event> {
        let event = *self.present.get(self.present.len().checked_sub(later)?)?;
        Some(Event { time: self.now, key: (event >> 64) as u64, payload: event as u64 })
    }

    /// Moves to the next time that has events.
    fn advance(&mut self) -> Option<()> {
        if self.occupied == 0 {
            return None;
        }
        let lowest = self.occupied.trailing_zeros() as usize;
        self.occupied &= self.occupied - 1;
        let mut bucket = std::mem::take(&mut self.buckets[lowest]);
        self.now = bucket.iter().map(|event| event.time).min()?;
        for event in bucket.drain(..) {
            let difference = event.time ^ self.now;
            if difference == 0 {
                self.present.push(event.rank());
            } else {
                let lower = difference.ilog2();
                self.buckets[lower as usize].push(event);
                self.occupied |= 1 << lower;
            }
        }
        self.buckets[lowest] = bucket;
        self.present.sort_unstable_by(|a, b| b.cmp(a));
        Some(())
    }
}

#[cfg(test)]
impl Queue {
    /// How many events have not happened.
    pub(crate) fn len(&self) -> usize {
        self.present.len() + self.joined.len() + self.buckets.iter().map(Vec::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Either an event so much later than now, or a look at the first.
    fn steps() -> impl Strategy<Value = Vec<Option<(u64, u64)>>> {
        let later = prop_oneof![Just(0u64), 0u64..4, 0u64..1_000, 0u64..1 << 40];
        prop::collection::vec(prop_oneof![3 => (later, 0u64..6).prop_map(Some), 2 => Just(None)], 1..400)
    }

    proptest! {
        #[test]
        fn order_is_that_of_a_binary_heap(steps in steps()) {
            let (mut queue, mut oracle) = (Queue::new(), BinaryHeap::new());
            let check = |queue: &mut Queue, oracle: &mut BinaryHeap<Reverse<Event>>| {
                let expected = oracle.pop().map(|Reverse(event)| event);
                assert_eq!(queue.pop(), expected);
                expected.is_some()
            };
            for (number, step) in steps.into_iter().enumerate() {
                if let Some((later, key)) = step {
                    let event = Event { time: queue.now() + later, key, payload: number as u64 };
                    queue.push(event);
                    oracle.push(Reverse(event));
                } else {
                    check(&mut queue, &mut oracle);
                }
            }
            while check(&mut queue, &mut oracle) {}
        }

        #[test]
        fn order_does_not_depend_on_insertion(
            mut events in prop::collection::vec((0u64..50, 0u64..50), 1..100),
            turn in 0usize..100,
        ) {
            events.sort_unstable();
            events.dedup();
            let mut turned = events.clone();
            turned.rotate_left(turn % events.len());
            let mut queue = Queue::new();
            turned.iter().for_each(|&(time, key)| queue.push(Event { time, key, payload: 0 }));
            let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|event| (event.time, event.key)).collect();
            prop_assert_eq!(order, events);
        }
    }
}
