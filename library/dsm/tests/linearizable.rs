//! Histories of operations under a lock are linearizable: each operation takes effect at one moment between its beginning and its end. Checked by a
//! search, with a sequential model as the oracle.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::Rank;
use pelago_dsm::{Bundle, Placement, Region, RegionSettings, Shared};
use pelago_rma::World;
use pelago_test_support::threads::{PLATFORMS, run};
use proptest::prelude::*;

/// Number of operations of a history: a bit of a word represents each.
const OPERATIONS: usize = 48;

/// Default number of histories of each kind on each platform; the environment variable `PELAGO_HISTORIES` overrides it.
const HISTORIES: u64 = 20;

/// An operation on a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Read,
    Write(u8),
    /// Adds, and returns the previous value.
    Add(u8),
    /// Replaces an expected value by another, and returns the previous value.
    Exchange(u8, u8),
}

impl Operation {
    /// Applies the operation to a number; returns its result.
    fn apply(self, number: &mut u8) -> u8 {
        let found = *number;
        match self {
            Self::Read => {}
            Self::Write(new) => *number = new,
            Self::Add(operand) => *number = found.wrapping_add(operand),
            Self::Exchange(expected, new) if found == expected => *number = new,
            Self::Exchange(..) => {}
        }
        if let Self::Write(_) = self { 0 } else { found }
    }
}

/// An operation of a rank: the times of its beginning and end, on a clock that all ranks share, and its result.
#[derive(Clone, Copy, Debug)]
struct Done {
    begun: u64,
    ended: u64,
    operation: Operation,
    told: u8,
}

/// Whether some order of the operations yields their results, in which no operation precedes one that had ended before it began.
fn is_linearizable(history: &[Done]) -> bool {
    assert!(history.len() <= u64::BITS as usize);
    let all = u64::MAX >> (u64::BITS as usize - history.len());
    let (mut open, mut seen) = (vec![(0_u64, 0_u8)], HashSet::new());
    while let Some((done, number)) = open.pop() {
        if done == all {
            return true;
        }
        let left = || (0..history.len()).filter(|index| done >> index & 1 == 0);
        let first_end = left().map(|index| history[index].ended).min().expect("some are left");
        for index in left().filter(|&index| history[index].begun < first_end) {
            let mut next = number;
            let Done { operation, told, .. } = history[index];
            if operation.apply(&mut next) == told && seen.insert((done | 1 << index, next)) {
                open.push((done | 1 << index, next));
            }
        }
    }
    false
}

/// A shared number.
trait Number {
    fn perform(&mut self, operation: Operation) -> u8;
}

impl Number for Shared<'_, u8> {
    fn perform(&mut self, operation: Operation) -> u8 {
        if operation == Operation::Read {
            return *self.read().unwrap();
        }
        let mut guard = self.write().unwrap();
        let told = operation.apply(&mut guard);
        guard.release().unwrap();
        told
    }
}

/// A number at the end of a long part.
impl Number for Bundle<'_, (u64, u8)> {
    fn perform(&mut self, operation: Operation) -> u8 {
        if operation == Operation::Read {
            return self.read().unwrap().parts().1[9_999];
        }
        let mut guard = self.write().unwrap();
        let (_, mut numbers) = guard.parts_mut();
        let told = operation.apply(&mut numbers.range_mut(9_999..10_000)[0]);
        guard.release().unwrap();
        told
    }
}

impl Number for Region<'_, u8> {
    fn perform(&mut self, operation: Operation) -> u8 {
        let mut section = self.acquire().unwrap();
        let told = operation.apply(&mut section.write(77..78).unwrap()[0]);
        section.release().unwrap();
        told
    }
}

/// Creates histories on one platform with one kind of number, and checks each.
fn check<'w, N: Number>(world: &'w World, clock: &AtomicU64, all: &Mutex<Vec<Done>>, make: impl Fn(&'w World) -> N) {
    let histories = std::env::var("PELAGO_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(HISTORIES);
    let mut state = 17 + u64::from(world.rank());
    let mut below = |end: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % end
    };
    let mut number = make(world);
    for history in 0..histories {
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            number.perform(Operation::Write(0));
            all.lock().unwrap().clear();
        }
        world.barrier().unwrap();
        let mine: Vec<Done> = (0..OPERATIONS / world.size() as usize)
            .map(|_| {
                let small = below(4) as u8;
                let operation = match below(4) {
                    0 => Operation::Write(small),
                    1 => Operation::Add(1),
                    2 => Operation::Exchange(small, below(4) as u8),
                    _ => Operation::Read,
                };
                let begun = clock.fetch_add(1, Ordering::SeqCst);
                let told = number.perform(operation);
                Done { begun, ended: clock.fetch_add(1, Ordering::SeqCst), operation, told }
            })
            .collect();
        all.lock().unwrap().extend(mine);
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            let all = all.lock().unwrap();
            assert_eq!(all.len(), OPERATIONS);
            assert!(is_linearizable(&all), "history {history}: {all:?}");
        }
    }
    world.barrier().unwrap();
}

#[test]
fn operations_under_a_lock_are_linearizable() {
    for platform in PLATFORMS {
        for size in [2, 4] {
            let (clock, all) = (AtomicU64::new(1), Mutex::new(Vec::new()));
            run(platform, size, |world| {
                let home = Rank::new(world.size() - 1);
                check(world, &clock, &all, |world| Shared::<u8>::new(world, home, 0).unwrap());
                check(world, &clock, &all, |world| {
                    let mut kept = Shared::<u8>::new(world, home, 0).unwrap();
                    kept.place(Placement::Migrating).unwrap();
                    kept
                });
                let parts = || (vec![0; 3], vec![0; 10_000]);
                check(world, &clock, &all, |world| Bundle::<(u64, u8)>::new(world, home, parts()).unwrap());
                check(world, &clock, &all, |world| Region::<u8>::new(world, 100, RegionSettings::default()).unwrap());
            });
        }
    }
}

/// A history that the model yields: the operations take effect one after another, and their intervals may overlap.
fn sequential(operations: &[(u8, u8, u8)]) -> Vec<Done> {
    let mut number = 0;
    let mut history = Vec::new();
    for (moment, &(kind, one, other)) in (1_u64..).zip(operations) {
        let operation = match kind % 4 {
            0 => Operation::Read,
            1 => Operation::Write(one % 4),
            2 => Operation::Add(one % 4),
            _ => Operation::Exchange(one % 4, other % 4),
        };
        let told = operation.apply(&mut number);
        // Each operation takes effect in the middle of its interval; neighbouring intervals overlap.
        history.push(Done {
            begun: 20 * moment - u64::from(one % 16),
            ended: 20 * moment + 1 + u64::from(other % 16),
            operation,
            told,
        });
    }
    history
}

proptest! {
    /// A linearizable history is accepted, in whatever order its operations are listed.
    #[test]
    fn what_is_linearizable_is_accepted(operations in proptest::collection::vec(any::<(u8, u8, u8)>(), 1..20), turn in any::<usize>()) {
        let mut history = sequential(&operations);
        let middle = turn % history.len();
        history.rotate_left(middle);
        prop_assert!(is_linearizable(&history));
    }
}

#[test]
fn what_is_not_linearizable_is_refused() {
    let done = |begun, ended, operation, told| Done { begun, ended, operation, told };
    let lost = [done(1, 4, Operation::Add(1), 0), done(2, 5, Operation::Add(1), 0)];
    assert!(!is_linearizable(&lost), "an addition is lost");
    let stale = [done(1, 2, Operation::Write(3), 0), done(3, 4, Operation::Read, 0)];
    assert!(!is_linearizable(&stale), "a read sees what was before");
    let back = [done(1, 9, Operation::Write(3), 0), done(2, 3, Operation::Read, 3), done(4, 5, Operation::Read, 0)];
    assert!(!is_linearizable(&back), "a read sees what an earlier one did not");
    let overlapping = [done(1, 9, Operation::Write(3), 0), done(2, 3, Operation::Read, 0), done(4, 5, Operation::Read, 3)];
    assert!(is_linearizable(&overlapping));
}
