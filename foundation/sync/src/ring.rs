//! A bounded queue of fixed-size messages, from many producers to one consumer at a time.

use core::{error, fmt};

use crate::primitive::{AtomicU64, Ordering, array, constructor};

/// A queue of at most `SLOTS` messages of `WORDS` words in shared memory; `SLOTS` is a power of two.
///
/// Any thread of any process may push. Any may pop too, but one at a time. Messages that one thread pushes are popped in that
/// order. All zero bytes are an empty queue. Positions and turns are 64-bit counters: at one message per nanosecond they last 292
/// years.
///
/// A process that dies inside [`push`](Self::push) may leave a slot claimed and never published. Messages before it are still
/// delivered, later ones never, and soon every push is refused. A process that dies inside [`pop`](Self::pop) leaves the queue
/// locked. The queue cannot distinguish either from a slow process, and repairs neither.
#[derive(Debug)]
#[repr(C)]
pub struct Ring<const SLOTS: usize, const WORDS: usize> {
    /// The position that the next producer claims.
    tail: Line,
    /// The position that the consumer pops next; written under the lock.
    head: Line,
    /// [`FREE`] or [`TAKEN`].
    lock: Line,
    slots: [Slot<WORDS>; SLOTS],
}

/// The message that a full queue returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<const WORDS: usize>(pub [u64; WORDS]);

/// A separate cache line, to avoid false sharing between producers and the consumer.
#[derive(Debug)]
#[repr(C, align(64))]
struct Line(AtomicU64);

/// A slot, in lap `l` of the ring: its turn is `2 l` while it is free, `2 l + 1` once its message is published.
#[derive(Debug)]
#[repr(C)]
struct Slot<const WORDS: usize> {
    turn: AtomicU64,
    message: [AtomicU64; WORDS],
}

const FREE: u64 = 0;
const TAKEN: u64 = 1;

impl<const SLOTS: usize, const WORDS: usize> Ring<SLOTS, WORDS> {
    constructor! {
        /// Creates an empty queue.
        pub fn new() -> Self {
            Self { tail: Line::new(), head: Line::new(), lock: Line::new(), slots: array!(Slot::new(); SLOTS) }
        }
    }

    /// Appends `message`. Does not wake the consumer: a producer for a sleeping consumer rings the doorbell afterwards.
    ///
    /// Cost: one compare-and-swap, repeated when another producer wins (so some producer always advances), and one store per
    /// word. Callable from any thread.
    ///
    /// # Errors
    /// The queue is full, or a slot is claimed that its producer has not published for a whole lap. The error contains the message, to be
    /// pushed again when the consumer has made room.
    pub fn push(&self, message: [u64; WORDS]) -> Result<(), Full<WORDS>> {
        let mut position = self.tail.0.load(Ordering::Relaxed);
        loop {
            let (slot, free) = self.slot(position);
            // Acquire: the consumer has read the message of the last lap, and the tail has passed the turn that is read here.
            let turn = slot.turn.load(Ordering::Acquire);
            if turn < free {
                return Err(Full(message));
            }
            if turn > free {
                position = self.tail.0.load(Ordering::Relaxed);
                continue;
            }
            match self.tail.0.compare_exchange_weak(position, position + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    slot.publish(free + 1, message);
                    return Ok(());
                }
                Err(now) => position = now,
            }
        }
    }

    /// Takes the oldest message; `None` if there is none, if its producer has not yet published it, or if another consumer is
    /// inside this call.
    ///
    /// A consumer that intends to sleep on `None` checks [`is_empty`](Self::is_empty) last. Cost: one compare-and-swap, one load per
    /// word. Never waits. Callable from any thread.
    pub fn pop(&self) -> Option<[u64; WORDS]> {
        // The lock's acquire and release pass `head` from one consumer to the next.
        self.lock.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let position = self.head.0.load(Ordering::Relaxed);
        let (slot, free) = self.slot(position);
        let message = slot.take(free);
        if message.is_some() {
            self.head.0.store(position + 1, Ordering::Relaxed);
        }
        self.lock.0.store(FREE, Ordering::Release);
        message
    }

    /// Whether the oldest message is still missing.
    ///
    /// A consumer may sleep on `true`: the producer of that message had not published it at the time of the check, so it has yet to
    /// ring. `false` may also mean that another consumer is taking the last one. Cost: two loads. Callable from any thread.
    pub fn is_empty(&self) -> bool {
        let position = self.head.0.load(Ordering::Relaxed);
        let (slot, free) = self.slot(position);
        // A later turn means that `head` is stale: another consumer has popped, and there may be more messages. Relaxed: `pop` acquires.
        slot.turn.load(Ordering::Relaxed) <= free
    }

    /// Returns the slot at `position`, and its turn when it is free in that lap.
    fn slot(&self, position: u64) -> (&Slot<WORDS>, u64) {
        const { assert!(SLOTS.is_power_of_two(), "so that position to slot and lap is a mask and a shift") }
        let slots = SLOTS as u64;
        (&self.slots[(position % slots) as usize], 2 * (position / slots))
    }
}

impl<const SLOTS: usize, const WORDS: usize> Default for Ring<SLOTS, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    constructor! {
        fn new() -> Self {
            Self { turn: AtomicU64::new(0), message: array!(AtomicU64::new(0); WORDS) }
        }
    }

    /// Publishes a message; called only by the producer that claimed the slot.
    fn publish(&self, turn: u64, message: [u64; WORDS]) {
        for (word, value) in self.message.iter().zip(message) {
            word.store(value, Ordering::Relaxed);
        }
        self.turn.store(turn, Ordering::Release);
    }

    /// Takes the message and frees the slot for the next lap; called only by the consumer that holds the lock.
    fn take(&self, free: u64) -> Option<[u64; WORDS]> {
        if self.turn.load(Ordering::Acquire) != free + 1 {
            return None;
        }
        let message = core::array::from_fn(|word| self.message[word].load(Ordering::Relaxed));
        self.turn.store(free + 2, Ordering::Release);
        Some(message)
    }
}

impl Line {
    constructor! {
        fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }
}

impl<const WORDS: usize> fmt::Display for Full<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue is full: the message was not sent and can be pushed again later")
    }
}

impl<const WORDS: usize> error::Error for Full<WORDS> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::thread;

    #[derive(Clone, Copy, Debug)]
    enum Operation {
        Push(u64),
        Pop,
        Fill,
        Clear,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            8 => any::<u64>().prop_map(Operation::Push),
            8 => Just(Operation::Pop),
            1 => Just(Operation::Fill),
            1 => Just(Operation::Clear),
        ]
    }

    /// The queue and its reference model.
    #[derive(Default)]
    struct Model<const SLOTS: usize> {
        ring: Ring<SLOTS, 3>,
        oracle: VecDeque<[u64; 3]>,
    }

    impl<const SLOTS: usize> Model<SLOTS> {
        fn run(operations: &[Operation]) {
            let mut model = Self::default();
            for &operation in operations {
                match operation {
                    Operation::Push(value) => model.push(value),
                    Operation::Pop => model.pop(),
                    Operation::Fill => (0..=SLOTS as u64).for_each(|value| model.push(value)),
                    Operation::Clear => (0..=SLOTS).for_each(|_| model.pop()),
                }
                assert_eq!(model.ring.is_empty(), model.oracle.is_empty());
            }
        }

        fn push(&mut self, value: u64) {
            let message = [value, !value, value ^ 7];
            if self.oracle.len() == SLOTS {
                return assert_eq!(self.ring.push(message), Err(Full(message)));
            }
            assert_eq!(self.ring.push(message), Ok(()));
            self.oracle.push_back(message);
        }

        fn pop(&mut self) {
            assert_eq!(self.ring.pop(), self.oracle.pop_front());
        }
    }

    proptest! {
        #[test]
        fn it_is_a_bounded_queue(operations in proptest::collection::vec(operation(), 0..200)) {
            Model::<1>::run(&operations);
            Model::<2>::run(&operations);
            Model::<8>::run(&operations);
        }
    }

    #[test]
    fn producers_and_consumer_have_cache_lines_of_their_own() {
        assert_eq!(size_of::<Ring<4, 7>>(), (3 + 4) * 64);
    }

    #[test]
    fn a_second_consumer_is_turned_away() {
        let ring = Ring::<2, 1>::new();
        ring.push([5]).unwrap();
        ring.lock.0.store(TAKEN, Ordering::Relaxed);
        assert_eq!(ring.pop(), None);
        ring.lock.0.store(FREE, Ordering::Relaxed);
        assert_eq!(ring.pop(), Some([5]));
    }

    #[test]
    fn a_consumer_half_way_does_not_hide_what_follows() {
        let ring = Ring::<2, 1>::new();
        ring.push([5]).unwrap();
        ring.push([6]).unwrap();
        assert_eq!(ring.slots[0].take(0), Some([5]));
        assert!(!ring.is_empty());
    }

    #[test]
    fn a_producer_that_dies_stops_what_follows_but_not_what_came_before() {
        let ring = Ring::<2, 1>::new();
        ring.push([5]).unwrap();
        ring.tail.0.fetch_add(1, Ordering::Relaxed);
        assert_eq!(ring.pop(), Some([5]));
        assert_eq!(ring.push([7]), Ok(()));
        assert_eq!(ring.push([8]), Err(Full([8])));
        assert_eq!(ring.pop(), None);
    }

    /// Two consumers share the messages of each producer; each part is in order, and together they are complete.
    #[test]
    fn threads_lose_and_repeat_nothing() {
        const PRODUCERS: u64 = 3;
        const EACH: u64 = if cfg!(miri) { 50 } else { 20_000 };
        let (ring, popped) = (Ring::<8, 2>::new(), AtomicU64::new(0));
        let consume = || {
            let mut parts = [(); PRODUCERS as usize].map(|()| Vec::new());
            while popped.load(Ordering::Relaxed) < PRODUCERS * EACH {
                let Some([producer, number]) = ring.pop() else {
                    thread::yield_now();
                    continue;
                };
                parts[producer as usize].push(number);
                popped.fetch_add(1, Ordering::Relaxed);
            }
            parts
        };
        let produce = |producer| {
            for number in 0..EACH {
                while ring.push([producer, number]).is_err() {
                    thread::yield_now();
                }
            }
        };
        let (left, right) = thread::scope(|scope| {
            (0..PRODUCERS).for_each(|producer| drop(scope.spawn(move || produce(producer))));
            let left = scope.spawn(consume);
            (consume(), left.join().unwrap())
        });
        for (left, right) in left.into_iter().zip(right) {
            assert!(left.is_sorted() && right.is_sorted());
            let mut all = [left, right].concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..EACH));
        }
    }
}
