//! A bounded queue of fixed-size messages, from many producers to one consumer at a time.

use core::{cmp, error, fmt};

use crate::primitive::{AtomicU64, Ordering, array, constructor};

/// A queue of at most `SLOTS` messages of `WORDS` words in shared memory; `SLOTS` is a power of two.
///
/// Any thread of any process may push. Any may pop too, but one at a time. Messages that one thread pushes are popped in that
/// order. All zero bytes are an empty queue. Positions are 64-bit counters: at one message per nanosecond they last 292 years.
///
/// A process that dies inside [`push`](Self::push) may leave a slot claimed and never published. Messages before it are still
/// delivered, later ones only after a consumer that knows of the death has [skipped](Self::skip) the slot: the queue cannot distinguish a dead
/// producer from a slow one, but names the [claimant](Self::claimant). A process that dies inside [`pop`](Self::pop) leaves the queue locked.
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

/// A slot of one producer, for the next message.
#[derive(Debug)]
#[must_use = "the queue delivers nothing more until the message is published"]
pub struct Claim<'ring, const WORDS: usize> {
    slot: &'ring Slot<WORDS>,
    lap: u64,
}

/// A separate cache line, to avoid false sharing between producers and the consumer.
#[derive(Debug)]
#[repr(C, align(64))]
struct Line(AtomicU64);

/// A slot of the ring.
#[derive(Debug)]
#[repr(C)]
struct Slot<const WORDS: usize> {
    /// A [`Turn`].
    turn: AtomicU64,
    message: [AtomicU64; WORDS],
}

const FREE: u64 = 0;
const TAKEN: u64 = 1;

/// The lap of a slot, and its state in that lap: [`VACANT`], [`PUBLISHED`], or claimed by a producer, which [`CLAIMED`] is added to.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Turn(u64);

const VACANT: u64 = 0;
const PUBLISHED: u64 = 1;
const CLAIMED: u64 = 2;

/// Number of bits of a state. The others count laps, modulo a number that no producer or consumer is late by.
const STATE_BITS: u32 = 26;

/// Maximum value of the number that identifies a producer of a ring, such as a rank: the bits of a state hold it, added to `CLAIMED`.
pub const PRODUCER_MAX: u32 = (1 << STATE_BITS) - 1 - CLAIMED as u32;

impl Turn {
    const fn new(lap: u64, state: u64) -> Self {
        Self(lap << STATE_BITS | state)
    }

    const fn claimed(lap: u64, producer: u32) -> Self {
        Self::new(lap, CLAIMED + producer as u64)
    }

    const fn state(self) -> u64 {
        self.0 & ((1 << STATE_BITS) - 1)
    }

    /// Whether the slot is in lap `lap`, in an earlier or in a later one.
    fn compare(self, lap: u64) -> cmp::Ordering {
        ((self.0 ^ self.state()).wrapping_sub(Self::new(lap, 0).0) as i64).cmp(&0)
    }
}

impl<const SLOTS: usize, const WORDS: usize> Ring<SLOTS, WORDS> {
    constructor! {
        /// Creates an empty queue.
        pub fn new() -> Self {
            Self { tail: Line::new(), head: Line::new(), lock: Line::new(), slots: array!(Slot::new(); SLOTS) }
        }
    }

    /// Appends `message`, as `producer`: a number that identifies its process to the consumer. Does not wake the consumer: a producer for a sleeping
    /// consumer rings the doorbell afterwards.
    ///
    /// Cost: two compare-and-swaps, repeated when another producer wins (so some producer always advances), and one store per
    /// word. Callable from any thread.
    ///
    /// # Errors
    /// The queue is full, or a slot is claimed that its producer has not published for a whole lap. The error contains the message, to be
    /// pushed again when the consumer has made room.
    ///
    /// # Panics
    /// `producer` is above [`PRODUCER_MAX`].
    pub fn push(&self, producer: u32, message: [u64; WORDS]) -> Result<(), Full<WORDS>> {
        let Some(claim) = self.claim(producer) else { return Err(Full(message)) };
        claim.publish(message);
        Ok(())
    }

    /// Claims a slot, for a message to be published; `None` where [`push`](Self::push) returns an error. Messages behind it wait until it is.
    ///
    /// # Panics
    /// As `push`.
    pub fn claim(&self, producer: u32) -> Option<Claim<'_, WORDS>> {
        assert!(producer <= PRODUCER_MAX, "producer {producer}, of at most {PRODUCER_MAX}");
        loop {
            let position = self.tail.0.load(Ordering::Relaxed);
            let (slot, lap) = self.slot(position);
            // Acquire: the consumer has read the message of the last lap, and the tail has passed the turn that is read here.
            let turn = Turn(slot.turn.load(Ordering::Acquire));
            match turn.compare(lap) {
                cmp::Ordering::Less => return None,
                cmp::Ordering::Greater => continue,
                cmp::Ordering::Equal => {}
            }
            // The claim names its producer, so that no slot is claimed by nobody. The tail follows it, by whoever comes first.
            let claimed = turn.state() == VACANT && slot.replace(turn, Turn::claimed(lap, producer));
            self.pass(position);
            if claimed {
                return Some(Claim { slot, lap });
            }
        }
    }

    /// Moves the tail on from the position of a claimed slot, unless another has.
    fn pass(&self, position: u64) {
        let _whoever_was_first = self.tail.0.compare_exchange(position, position + 1, Ordering::Relaxed, Ordering::Relaxed);
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
        let (slot, lap) = self.slot(position);
        let message = slot.take(lap);
        if message.is_some() {
            self.head.0.store(position + 1, Ordering::Relaxed);
        }
        self.lock.0.store(FREE, Ordering::Release);
        message
    }

    /// Returns the producer that has claimed the slot of the oldest message and not published it, if there is one. Cost: two loads. Callable from any
    /// thread.
    pub fn claimant(&self) -> Option<u32> {
        let (slot, lap) = self.slot(self.head.0.load(Ordering::Relaxed));
        let turn = Turn(slot.turn.load(Ordering::Relaxed));
        turn.compare(lap).is_eq().then(|| turn.state().checked_sub(CLAIMED)).flatten().map(|producer| producer as u32)
    }

    /// Frees the slot of the oldest message, if `producer` has claimed and not published it: its process must have ended. Returns whether it did;
    /// `false` too if another consumer is inside [`pop`](Self::pop). Callable from any thread.
    pub fn skip(&self, producer: u32) -> bool {
        if self.lock.0.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        let position = self.head.0.load(Ordering::Relaxed);
        let (slot, lap) = self.slot(position);
        let claimed = Turn(slot.turn.load(Ordering::Acquire)) == Turn::claimed(lap, producer);
        if claimed {
            self.pass(position);
            slot.turn.store(Turn::new(lap + 1, VACANT).0, Ordering::Release);
            self.head.0.store(position + 1, Ordering::Relaxed);
        }
        self.lock.0.store(FREE, Ordering::Release);
        claimed
    }

    /// Whether the oldest message is still missing.
    ///
    /// A consumer may sleep on `true`: the producer of that message had not published it at the time of the check, so it has yet to
    /// ring. `false` may also mean that another consumer is taking the last one. Cost: two loads. Callable from any thread.
    pub fn is_empty(&self) -> bool {
        let position = self.head.0.load(Ordering::Relaxed);
        let (slot, lap) = self.slot(position);
        // A later lap means that `head` is stale: another consumer has popped, and there may be more messages. Relaxed: `pop` acquires.
        let turn = Turn(slot.turn.load(Ordering::Relaxed));
        match turn.compare(lap) {
            cmp::Ordering::Less => true,
            cmp::Ordering::Equal => turn.state() != PUBLISHED,
            cmp::Ordering::Greater => false,
        }
    }

    /// Returns the slot at `position`, and the lap.
    fn slot(&self, position: u64) -> (&Slot<WORDS>, u64) {
        const { assert!(SLOTS.is_power_of_two(), "so that position to slot and lap is a mask and a shift") }
        let slots = SLOTS as u64;
        (&self.slots[(position % slots) as usize], position / slots)
    }
}

impl<const SLOTS: usize, const WORDS: usize> Default for Ring<SLOTS, WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> Claim<'_, WORDS> {
    /// Publishes the message.
    pub fn publish(self, message: [u64; WORDS]) {
        for (word, value) in self.slot.message.iter().zip(message) {
            word.store(value, Ordering::Relaxed);
        }
        self.slot.turn.store(Turn::new(self.lap, PUBLISHED).0, Ordering::Release);
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    constructor! {
        fn new() -> Self {
            Self { turn: AtomicU64::new(0), message: array!(AtomicU64::new(0); WORDS) }
        }
    }

    /// Replaces the turn; `false` if another producer has replaced it before.
    fn replace(&self, turn: Turn, by: Turn) -> bool {
        self.turn.compare_exchange(turn.0, by.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Takes the message and frees the slot for the next lap; called only by the consumer that holds the lock.
    fn take(&self, lap: u64) -> Option<[u64; WORDS]> {
        if Turn(self.turn.load(Ordering::Acquire)) != Turn::new(lap, PUBLISHED) {
            return None;
        }
        let message = core::array::from_fn(|word| self.message[word].load(Ordering::Relaxed));
        self.turn.store(Turn::new(lap + 1, VACANT).0, Ordering::Release);
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
                return assert_eq!(self.ring.push(value as u32 & PRODUCER_MAX, message), Err(Full(message)));
            }
            assert_eq!(self.ring.push(value as u32 & PRODUCER_MAX, message), Ok(()));
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
        ring.push(0, [5]).unwrap();
        ring.lock.0.store(TAKEN, Ordering::Relaxed);
        assert_eq!(ring.pop(), None);
        ring.lock.0.store(FREE, Ordering::Relaxed);
        assert_eq!(ring.pop(), Some([5]));
    }

    #[test]
    fn a_consumer_half_way_does_not_hide_what_follows() {
        let ring = Ring::<2, 1>::new();
        ring.push(0, [5]).unwrap();
        ring.push(0, [6]).unwrap();
        assert_eq!(ring.slots[0].take(0), Some([5]));
        assert!(!ring.is_empty());
    }

    /// A producer dies after its claim, before or after the tail has followed. Messages before it are delivered, and after a consumer has skipped the claim,
    /// those behind it and as many further ones as the queue holds.
    #[test]
    fn the_claim_of_a_dead_producer_is_skipped() {
        for (tail, lap) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
            let ring = Ring::<2, 1>::new();
            for number in 0..2 * lap {
                ring.push(0, [number]).unwrap();
                assert_eq!(ring.pop(), Some([number]));
            }
            ring.push(0, [5]).unwrap();
            assert_eq!(ring.claimant(), None, "what is published is nobody's");
            let _never_published = ring.claim(PRODUCER_MAX).unwrap();
            ring.tail.0.store(2 * lap + tail, Ordering::Relaxed);
            assert!(ring.claimant().is_none() && !ring.skip(PRODUCER_MAX), "the oldest message is another");
            assert_eq!(ring.pop(), Some([5]));
            assert_eq!(ring.push(3, [7]), Ok(()));
            assert_eq!(ring.push(3, [8]), Err(Full([8])));
            assert!(ring.pop().is_none() && ring.is_empty(), "the claim comes first");
            assert_eq!(ring.claimant(), Some(PRODUCER_MAX));
            assert!(!ring.skip(3), "the claim is another's");
            assert!(ring.skip(PRODUCER_MAX) && !ring.skip(PRODUCER_MAX));
            assert_eq!(ring.claimant(), None);
            assert_eq!(ring.push(4, [8]), Ok(()));
            assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Some([7]), Some([8]), None]);
        }
    }

    /// Laps are compared modulo their number of bits.
    #[test]
    fn laps_start_again() {
        let last = (1 << (64 - STATE_BITS)) - 1;
        let ring = Ring::<2, 1>::new();
        for counter in [&ring.tail, &ring.head] {
            counter.0.store(2 * last, Ordering::Relaxed);
        }
        ring.slots.iter().for_each(|slot| slot.turn.store(Turn::new(last, VACANT).0, Ordering::Relaxed));
        for number in 0..10 {
            assert!(ring.is_empty());
            ring.push(1, [number]).unwrap();
            ring.push(1, [number + 1]).unwrap();
            assert_eq!(ring.push(1, [0]), Err(Full([0])));
            assert!(!ring.is_empty());
            assert_eq!([ring.pop(), ring.pop(), ring.pop()], [Some([number]), Some([number + 1]), None]);
        }
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
                while ring.push(producer as u32, [producer, number]).is_err() {
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
