//! The event queue: a monotone radix heap whose first events are sorted.
//!
//! Events come out by time, then by key, in whatever order they were added. The front holds the next events, sorted. When few are left, the next
//! bucket is sorted and appended to the front, unless it has too many or too few events. Such a bucket is divided once the front is empty: the
//! events of its earliest time become the front, and the others go to lower buckets. Events that are added for the time of the front join it through
//! a small heap.
//!
//! As the front is sorted, the next events are known: the queue reports each some events ahead, so that its records can be prefetched.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    /// Its time in picoseconds.
    pub(crate) time: u64,
    /// Orders events of equal times: the class and number of an entity, then a sequence number of this entity.
    pub(crate) key: u64,
    /// Its content, which depends on the class.
    pub(crate) payload: u64,
}

impl Event {
    /// The sort key of events, as two numbers for a fast comparison.
    #[inline]
    fn order(&self) -> (u128, u64) {
        (u128::from(self.time) << 64 | u128::from(self.key), self.payload)
    }
}

/// The distance of an upcoming event, which determines what to prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// The records that the event names.
    Far,
    /// The records that those name.
    Middle,
    /// The records that those name in turn.
    Near,
}

/// Minimum number of events of a bucket that is appended to the front as a whole: fewer are far apart, so that the front would span too much.
const BUCKET_MIN: usize = 16;
/// Maximum number of events of a bucket that is appended to the front as a whole: more take long to sort.
const BUCKET_MAX: usize = 128;

/// Minimum number of events of the front, below which the next bucket is appended: more than [`MIDDLE`], so that each distance is kept.
const FRONT_MIN: usize = 32;

/// Maximum number of events that join a front that spans more than one time.
const JOINED_MAX: usize = 64;

/// Number of events ahead for `Distance::Far`. Of a bucket with no more events, all are reported when it becomes the front.
const FAR: usize = 256;

/// Number of events ahead for the other distances: enough for memory to answer before the next distance, few enough for the cache.
const MIDDLE: usize = 24;
const NEAR: usize = 8;

/// Events that have not happened. Memory grows with their largest number so far, and does not shrink.
pub(crate) struct Queue {
    now: u64,
    /// Events whose times differ from `base` only in bits of `span`, in descending order.
    front: Vec<Event>,
    /// Further events of these times, added later.
    joined: BinaryHeap<Reverse<Event>>,
    base: u64,
    /// A mask of low bits.
    span: u64,
    /// Bucket `i` holds events for which bit `i`, which is not in `span`, is the highest bit in which the time differs from `base`.
    buckets: [Vec<Event>; 64],
    /// Bit `i` is set if bucket `i` is not empty.
    occupied: u64,
    /// The time and key of the first event of all buckets, if it is known.
    first_of_bucket: Option<(u64, u64)>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        let buckets = [const { Vec::new() }; 64];
        Self {
            now: 0,
            front: Vec::new(),
            joined: BinaryHeap::new(),
            base: 0,
            span: 0,
            buckets,
            occupied: 0,
            first_of_bucket: None,
        }
    }

    /// Returns the time of the last event that was taken out.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// Adds an event; an event with a time in the past happens now.
    #[inline]
    pub(crate) fn push(&mut self, mut event: Event) {
        event.time = event.time.max(self.now);
        let difference = event.time ^ self.base;
        if difference <= self.span {
            self.joined.push(Reverse(event));
            if self.joined.len() > JOINED_MAX && self.span > 0 {
                self.distribute();
            }
        } else {
            self.put(event);
        }
    }

    /// Puts an event into its bucket. The event must not have a time of the front.
    #[inline]
    fn put(&mut self, event: Event) {
        let bucket = (event.time ^ self.base).ilog2();
        self.buckets[bucket as usize].push(event);
        self.occupied |= 1 << bucket;
        if let Some(first) = &mut self.first_of_bucket {
            *first = (*first).min((event.time, event.key));
        }
    }

    /// Reduces the front to the events of the current time and moves the others to buckets, as too many events have joined a front of a wide span.
    #[cold]
    fn distribute(&mut self) {
        (self.base, self.span) = (self.now, 0);
        let mut events = std::mem::take(&mut self.front);
        events.extend(self.joined.drain().map(|Reverse(event)| event));
        for event in events {
            if event.time == self.now { self.joined.push(Reverse(event)) } else { self.put(event) }
        }
    }

    /// Takes the first event out. `soon` gets upcoming events, each at one or more distances.
    #[inline]
    pub(crate) fn pop(&mut self, soon: impl FnMut(Event, Distance)) -> Option<Event> {
        self.pop_before((u64::MAX, u64::MAX), soon)
    }

    /// As [`pop`](Self::pop), if the event comes before another one of the given time and key.
    #[inline]
    pub(crate) fn pop_before(&mut self, limit: (u64, u64), mut soon: impl FnMut(Event, Distance)) -> Option<Event> {
        if self.front.len() < FRONT_MIN {
            if self.front.is_empty() && self.joined.is_empty() && limit.0 < u64::MAX && self.next()? >= limit {
                // A bucket is divided only at the time of its first event: events that are added before it would have no place.
                return None;
            }
            self.refill(&mut soon);
        }
        let of = |event: &Event| (event.time, event.key);
        let joins = match (self.front.last(), self.joined.peek()) {
            (Some(event), Some(Reverse(joined))) => joined.order() < event.order(),
            (event, _) => event.is_none(),
        };
        let first = if joins { self.joined.peek().map(|Reverse(event)| of(event)) } else { self.front.last().map(of) };
        if first? >= limit {
            return None;
        }
        let event = if joins { self.joined.pop().map(|Reverse(event)| event)? } else { self.next_of_front(&mut soon)? };
        self.now = event.time;
        Some(event)
    }

    /// Returns the time and key of the first event.
    pub(crate) fn next(&mut self) -> Option<(u64, u64)> {
        let of = |event: &Event| (event.time, event.key);
        let front = self.front.last().map(of);
        let joined = self.joined.peek().map(|Reverse(event)| of(event));
        if let Some(next) = [front, joined].into_iter().flatten().min() {
            return Some(next);
        }
        if self.first_of_bucket.is_none() {
            self.first_of_bucket = self.buckets.get(self.occupied.trailing_zeros() as usize)?.iter().map(of).min();
        }
        self.first_of_bucket
    }

    /// Advances time without an event; no event may be earlier.
    pub(crate) fn advance(&mut self, now: u64) {
        self.now = now;
    }

    /// Takes the first event of the front out, and reports the events that have reached a distance.
    #[inline]
    fn next_of_front(&mut self, soon: &mut impl FnMut(Event, Distance)) -> Option<Event> {
        let event = self.front.pop()?;
        for (later, distance) in [(FAR, Distance::Far), (MIDDLE, Distance::Middle), (NEAR, Distance::Near)] {
            if let Some(&event) = self.front.len().checked_sub(later).and_then(|index| self.front.get(index)) {
                soon(event, distance);
            }
        }
        Some(event)
    }

    /// Adds the next events to the front, if their bucket permits.
    fn refill(&mut self, soon: &mut impl FnMut(Event, Distance)) {
        let before = self.front.len();
        let Some(bucket) = self.buckets.get(self.occupied.trailing_zeros() as usize) else { return };
        if (BUCKET_MIN..=BUCKET_MAX).contains(&bucket.len()) {
            self.append_bucket(soon);
        } else if self.front.is_empty() && self.joined.is_empty() {
            self.divide_bucket(soon);
        }
        let after = self.front.len();
        for (later, distance) in [(MIDDLE, Distance::Middle), (NEAR, Distance::Near)] {
            for &event in self.front[after - after.min(later)..after - before.min(later)].iter().rev() {
                soon(event, distance);
            }
        }
    }

    /// Appends the next bucket to the front as a whole; no other event lies between them.
    fn append_bucket(&mut self, soon: &mut impl FnMut(Event, Distance)) {
        self.first_of_bucket = None;
        let lowest = self.occupied.trailing_zeros();
        self.occupied &= self.occupied - 1;
        self.span = u64::MAX >> (u64::BITS - 1 - lowest);
        let bucket = &mut self.buckets[lowest as usize];
        bucket.iter().for_each(|&event| soon(event, Distance::Far));
        bucket.sort_unstable_by_key(|event| Reverse(event.order()));
        self.front.splice(..0, bucket.drain(..));
    }

    /// Moves the events of the next bucket's earliest time to the empty front, and distributes its other events among lower buckets.
    fn divide_bucket(&mut self, soon: &mut impl FnMut(Event, Distance)) {
        self.first_of_bucket = None;
        let lowest = self.occupied.trailing_zeros() as usize;
        self.occupied &= self.occupied - 1;
        let mut bucket = std::mem::take(&mut self.buckets[lowest]);
        (self.base, self.span) = (bucket.iter().map(|event| event.time).min().unwrap_or(self.base), 0);
        if bucket.len() <= FAR {
            bucket.iter().for_each(|&event| soon(event, Distance::Far));
        }
        for event in bucket.drain(..) {
            if event.time == self.base { self.front.push(event) } else { self.put(event) }
        }
        self.buckets[lowest] = bucket;
        self.front.sort_unstable_by_key(|event| Reverse(event.order()));
    }
}

#[cfg(test)]
impl Queue {
    /// Returns the number of events that have not happened.
    pub(crate) fn len(&self) -> usize {
        self.front.len() + self.joined.len() + self.buckets.iter().map(Vec::len).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        /// Adds an event of this key, so much later than now.
        Add(u64, u64),
        /// Takes the first event out.
        Take,
        /// Takes out all events that come less than this time from now, and then advances to that time.
        TakeBefore(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let later = || prop_oneof![Just(0u64), 0u64..4, 0u64..1_000, 0u64..100_000, 0u64..1 << 40];
        let add = (later(), 0u64..6).prop_map(|(later, key)| Step::Add(later, key));
        prop::collection::vec(prop_oneof![6 => add, 3 => Just(Step::Take), 1 => later().prop_map(Step::TakeBefore)], 1..1_000)
    }

    proptest! {
        #[test]
        fn order_is_that_of_a_binary_heap(steps in steps()) {
            let (mut queue, mut oracle) = (Queue::new(), BinaryHeap::new());
            let check = |queue: &mut Queue, oracle: &mut BinaryHeap<Reverse<Event>>, limit: (u64, u64)| {
                let is_before = |Reverse(event): &Reverse<Event>| (event.time, event.key) < limit;
                let expected = oracle.peek().is_some_and(is_before).then(|| oracle.pop()).flatten().map(|Reverse(event)| event);
                assert_eq!(queue.pop_before(limit, |_, _| {}), expected);
                assert_eq!(queue.next(), oracle.peek().map(|Reverse(event)| (event.time, event.key)));
                expected.is_some()
            };
            let never = (u64::MAX, u64::MAX);
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Add(later, key) => {
                        let event = Event { time: queue.now() + later, key, payload: number as u64 };
                        queue.push(event);
                        oracle.push(Reverse(event));
                    }
                    Step::Take => _ = check(&mut queue, &mut oracle, never),
                    Step::TakeBefore(later) => {
                        let limit = queue.now() + later;
                        while check(&mut queue, &mut oracle, (limit, 3)) {}
                        if oracle.peek().is_none_or(|Reverse(event)| event.time >= limit) {
                            queue.advance(limit);
                        }
                    }
                }
            }
            while check(&mut queue, &mut oracle, never) {}
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
            let order: Vec<_> = std::iter::from_fn(|| queue.pop(|_, _| {})).map(|event| (event.time, event.key)).collect();
            prop_assert_eq!(order, events);
        }
    }
}
