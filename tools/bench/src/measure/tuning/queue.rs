//! The command queue of a rank (paper E, table 1 and figure 5), in the memory of its process.
//!
//! The program's thread fills a free command and marks it queued. The communication thread takes the commands in order, and marks each finished
//! with its result. The program's thread frees it. No command depends on another, so that the states ORDER and ORDER_END of the paper are
//! omitted.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;

/// Number of commands in a queue.
const COMMANDS: usize = 64;

/// Polls of a state before a thread yields: less than a microsecond, as two threads of each rank poll simultaneously and may share a core.
const LOOKS: u32 = 16;

/// The states of a command.
mod state {
    pub(super) const FREE: u32 = 0;
    pub(super) const QUEUED: u32 = 1;
    pub(super) const EXECUTING: u32 = 2;
    pub(super) const FINISHED: u32 = 3;
}

/// Content of a command: a remote atomic add of four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Descriptor {
    /// On an address computed in advance.
    Prepared { address: u64, operand: u32 },
    /// On a word given by rank and index.
    Symbolic { rank: u32, index: u32, operand: u32 },
}

#[repr(align(64))]
struct Command {
    state: AtomicU32,
    kind: AtomicBool,
    words: [AtomicU64; 3],
    result: AtomicU32,
}

/// The queue. One thread posts and completes at a time.
pub(super) struct Queue {
    commands: [Command; COMMANDS],
    /// Numbers of the next command to fill, and of the next to take.
    tail: AtomicUsize,
    head: AtomicUsize,
    /// Number of commands posted but not completed.
    under_way: AtomicUsize,
    lock: Mutex<()>,
}

impl Queue {
    pub(super) fn new() -> Self {
        let command = || Command {
            state: AtomicU32::new(state::FREE),
            kind: AtomicBool::new(false),
            words: [const { AtomicU64::new(0) }; 3],
            result: AtomicU32::new(0),
        };
        let [tail, head, under_way] = [const { AtomicUsize::new(0) }; 3];
        Self { commands: std::array::from_fn(|_| command()), tail, head, under_way, lock: Mutex::default() }
    }

    /// Returns whether no command is in flight, so that the program may bypass the communication thread.
    pub(super) fn is_empty(&self) -> bool {
        self.under_way.load(Acquire) == 0
    }

    /// Posts a command, under the lock if several threads may; returns its number.
    pub(super) fn post(&self, descriptor: Descriptor, locked: bool) -> usize {
        let _guard = locked.then(|| self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        let number = self.tail.load(Relaxed);
        let command = &self.commands[number % COMMANDS];
        let mut looks = 0;
        while command.state.load(Acquire) != state::FREE {
            pause(&mut looks);
        }
        self.tail.store(number + 1, Relaxed);
        self.under_way.fetch_add(1, Relaxed);
        let (kind, words) = match descriptor {
            Descriptor::Prepared { address, operand } => (false, [address, u64::from(operand), 0]),
            Descriptor::Symbolic { rank, index, operand } => (true, [rank, index, operand].map(u64::from)),
        };
        command.kind.store(kind, Relaxed);
        command.words.iter().zip(words).for_each(|(place, word)| place.store(word, Relaxed));
        command.state.store(state::QUEUED, Release);
        number
    }

    /// Waits for the end of a command and frees it; returns its result, or `None` if `is_over` returns true because no thread will execute it.
    pub(super) fn complete(&self, number: usize, locked: bool, is_over: impl Fn() -> bool) -> Option<u32> {
        let command = &self.commands[number % COMMANDS];
        let mut looks = 0;
        while command.state.load(Acquire) != state::FINISHED {
            if looks > LOOKS && is_over() {
                return None;
            }
            pause(&mut looks);
        }
        let _guard = locked.then(|| self.lock.lock().unwrap_or_else(PoisonError::into_inner));
        let result = command.result.load(Relaxed);
        command.state.store(state::FREE, Release);
        self.under_way.fetch_sub(1, Release);
        Some(result)
    }

    /// Executes the next command, if one is queued, by `execute`; returns whether one was.
    pub(super) fn take<E>(&self, execute: impl FnOnce(Descriptor) -> Result<u32, E>) -> Result<bool, E> {
        let number = self.head.load(Relaxed);
        let command = &self.commands[number % COMMANDS];
        if command.state.load(Acquire) != state::QUEUED {
            return Ok(false);
        }
        self.head.store(number + 1, Relaxed);
        command.state.store(state::EXECUTING, Relaxed);
        let [first, second, third] = command.words.each_ref().map(|word| word.load(Relaxed));
        let descriptor = match command.kind.load(Relaxed) {
            false => Descriptor::Prepared { address: first, operand: second as u32 },
            true => Descriptor::Symbolic { rank: first as u32, index: second as u32, operand: third as u32 },
        };
        command.result.store(execute(descriptor)?, Relaxed);
        command.state.store(state::FINISHED, Release);
        Ok(true)
    }
}

/// Pauses after an unsuccessful poll; yields after `LOOKS` polls.
pub(super) fn pause(looks: &mut u32) {
    *looks = looks.saturating_add(1);
    if *looks > LOOKS { yield_now() } else { spin_loop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_in_order_and_freed_when_completed() {
        let queue = Queue::new();
        for round in 0..3 {
            let numbers: Vec<_> = (0..COMMANDS as u32)
                .map(|operand| queue.post(Descriptor::Symbolic { rank: round, index: 2, operand }, round == 1))
                .collect();
            assert!(!queue.is_empty());
            for operand in 0..COMMANDS as u32 {
                let taken = queue.take(|descriptor| {
                    assert_eq!(descriptor, Descriptor::Symbolic { rank: round, index: 2, operand });
                    Ok::<_, ()>(operand + 1)
                });
                assert_eq!(taken, Ok(true));
            }
            assert_eq!(queue.take(|_| Ok::<_, ()>(0)), Ok(false));
            for (number, operand) in numbers.into_iter().zip(0..) {
                assert_eq!(queue.complete(number, round == 1, || true), Some(operand + 1));
            }
            assert!(queue.is_empty());
        }
        let prepared = Descriptor::Prepared { address: u64::MAX, operand: 7 };
        let number = queue.post(prepared, false);
        assert_eq!(queue.complete(number, false, || true), None, "nobody takes it");
        assert_eq!(queue.take(|found| if found == prepared { Ok(1) } else { Err(found) }), Ok(true));
    }

    #[test]
    fn a_communication_thread_executes_what_another_thread_posts() {
        let (queue, over) = (Queue::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut sum, mut looks) = (0, 0);
                while !over.load(Acquire) {
                    let taken = queue.take(|descriptor| match descriptor {
                        Descriptor::Prepared { operand, .. } => {
                            sum += operand;
                            Ok(sum)
                        }
                        other => Err(other),
                    });
                    if taken.unwrap() { looks = 0 } else { pause(&mut looks) }
                }
            });
            for value in 1..=1000_u32 {
                let number = queue.post(Descriptor::Prepared { address: 8, operand: 1 }, value % 2 == 0);
                assert_eq!(queue.complete(number, value % 2 == 0, || false), Some(value));
            }
            over.store(true, Release);
        });
    }
}
