//! Fair locks on a symmetric `long`: a queue of the waiting PEs, by one-sided operations alone (Mellor-Crummey and Scott, 1991).
//!
//! The upper half of the word at the lock's home is the number of the last PE of the queue plus one, or 0 if the lock is free. The lower half at each
//! PE is its node: bit 0 is set while the PE waits, bit 1 while it holds the lock, the bits above hold the number of its successor plus one.
//! Only atomics change the halves. A PE clears its node before the next PE can write to it, and all words are zero when the lock is free.

use std::ffi::{c_int, c_long};

use pelago_base::AtomicOperator;

use crate::library::{DEFAULT, EQUAL, Library, NOT_EQUAL, library};
use crate::refusal::refuse;
use crate::waiting::{Elements, With, progress};
use crate::{atomics, transfer};

const WAITS: u32 = 1;
const HOLDS: u32 = 2;

/// Added to the node of a PE that waits, makes it the node of a PE that holds the lock.
const GRANT: u32 = HOLDS - WAITS;

/// Position of the number of the successor in a node.
const SUCCESSOR_SHIFT: u32 = 2;

/// The lock that a call names.
struct Lock {
    library: &'static Library,
    routine: &'static str,
    node: *mut u32,
    tail: *mut u32,
    home: c_int,
}

impl Lock {
    fn new(routine: &'static str, lock: *mut c_long) -> Self {
        let library = library(routine);
        library.pointer::<u64>(routine, "lock", lock as usize, library.me);
        let node = lock.cast::<u32>();
        // Adjacent locks have different homes.
        let home = library.symmetric(lock as usize, 8).map_or(0, |bits| bits / 8 % u64::from(library.size)) as c_int;
        Self { library, routine, node, tail: node.wrapping_add(1), home }
    }

    fn me(&self) -> u32 {
        self.library.me + 1
    }

    fn fetch(&self, word: *mut u32, operator: AtomicOperator, operand: u32, pe: c_int) -> u32 {
        atomics::fetch(self.routine, DEFAULT, word.cast_const(), operator, operand, pe)
    }

    fn own(&self, operator: AtomicOperator, operand: u32) -> u32 {
        self.fetch(self.node, operator, operand, self.library.me as c_int)
    }

    /// Replaces the tail of the queue if it is `expected`. Returns whether it was.
    fn replace_tail(&self, expected: u32, new: u32) -> bool {
        let operator = AtomicOperator::CompareSwap { expected: u64::from(expected) };
        self.fetch(self.tail, operator, new, self.home) == expected
    }

    fn wait(&self, comparison: c_int, with: u32, node: impl Fn(u32) -> u32) {
        // The node changes at most twice while its PE waits: a successor enters itself, and the lock is passed on.
        loop {
            let found = self.own(AtomicOperator::Load, 0);
            if (node(found) == with) == (comparison == EQUAL) {
                return;
            }
            Elements::new(self.routine, self.node.cast_const(), 1, std::ptr::null(), NOT_EQUAL, With::One(found)).wait_all();
        }
    }
}

/// `shmem_set_lock`.
pub(crate) fn set(routine: &'static str, lock: *mut c_long) {
    let lock = Lock::new(routine, lock);
    if lock.own(AtomicOperator::Or, WAITS) & HOLDS != 0 {
        refuse(routine, &format_args!("this PE holds the lock {:p} already", lock.node));
    }
    let before = lock.fetch(lock.tail, AtomicOperator::Swap, lock.me(), lock.home);
    if before == 0 {
        lock.own(AtomicOperator::Add, GRANT);
        return;
    }
    let successor = lock.me() << SUCCESSOR_SHIFT;
    atomics::update(routine, DEFAULT, lock.node, AtomicOperator::Add, successor, before as c_int - 1);
    lock.wait(EQUAL, 0, |node| node & WAITS);
}

/// `shmem_clear_lock`.
pub(crate) fn clear(routine: &'static str, lock: *mut c_long) {
    let lock = Lock::new(routine, lock);
    transfer::complete(routine, DEFAULT);
    let node = lock.own(AtomicOperator::And, !HOLDS);
    if node & HOLDS == 0 {
        refuse(routine, &format_args!("this PE does not hold the lock {:p}", lock.node));
    }
    if node >> SUCCESSOR_SHIFT == 0 && lock.replace_tail(lock.me(), 0) {
        return;
    }
    lock.wait(NOT_EQUAL, 0, |node| node >> SUCCESSOR_SHIFT);
    let next = lock.own(AtomicOperator::Swap, 0) >> SUCCESSOR_SHIFT;
    atomics::update(routine, DEFAULT, lock.node, AtomicOperator::Add, GRANT, next as c_int - 1);
}

/// `shmem_test_lock`: 0 if it has acquired the lock.
pub(crate) fn test(routine: &'static str, lock: *mut c_long) -> c_int {
    let lock = Lock::new(routine, lock);
    if lock.replace_tail(0, lock.me()) {
        lock.own(AtomicOperator::Add, HOLDS);
        return 0;
    }
    progress(lock.library);
    1
}
