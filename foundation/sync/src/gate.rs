//! Gates to memory of one owner, which peers enter and the owner can take back.

use crate::primitive::{AtomicU64, Ordering, constructor};

/// One pass in the gate's word: bits 0 to 30 count the passes in use, bit 31 is set while the gate is open, bits 32 to 63 are the generation.
const PASS: u64 = 1;
/// Maximum number of passes in use at once.
const PASSES_MAX: u64 = OPEN - 1;
const OPEN: u64 = 1 << 31;
const GENERATION_SHIFT: u32 = 32;
const GENERATION: u64 = 1 << GENERATION_SHIFT;

/// Access control for memory of one owner: peers hold a [`Pass`] while they access it.
///
/// The owner opens the gate when the memory is ready, and closes it to take the memory back; once the gate is closed and
/// [empty](Self::is_empty), the owner has exclusive access and sees all writes of peers. All zero bytes are a closed gate
/// of generation 0. The word itself must outlive the memory, as late peers still read it.
///
/// A process that dies with a pass keeps it: the gate never becomes empty. The owner cannot distinguish this from a slow peer.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Gate {
    word: AtomicU64,
}

/// Permission to access the memory behind a [`Gate`], until dropped.
#[derive(Debug)]
#[must_use = "the owner may take the memory back as soon as the pass is dropped"]
pub struct Pass<'a> {
    gate: &'a Gate,
    generation: u32,
}

impl Gate {
    constructor! {
        /// Creates a closed gate of generation 0.
        pub fn new() -> Self {
            Self { word: AtomicU64::new(0) }
        }
    }

    /// Opens the gate (owner) and returns the new generation; an open gate stays unchanged and keeps its generation.
    ///
    /// Peers that enter see all earlier writes of the owner. Generations count openings and return to 0 after 2³². Passes of an
    /// earlier generation may still be in use if the owner did not wait for [`is_empty`](Self::is_empty). Cost: one
    /// compare-and-swap.
    pub fn open(&self) -> u32 {
        let open = |word: u64| (word & OPEN == 0).then(|| word.wrapping_add(GENERATION) | OPEN);
        match self.word.fetch_update(Ordering::Release, Ordering::Relaxed, open) {
            Ok(before) => generation(before).wrapping_add(1),
            Err(unchanged) => generation(unchanged),
        }
    }

    /// Returns a pass, unless the gate is closed (or 2³¹ − 1 passes are in use).
    ///
    /// A peer that learned of the memory earlier compares [`Pass::generation`], as other memory may be behind the gate by now. Cost: one
    /// compare-and-swap, repeated when others enter or leave at the same moment. Callable from any thread.
    pub fn enter(&self) -> Option<Pass<'_>> {
        let admit = |word: u64| (word & OPEN != 0 && word & PASSES_MAX != PASSES_MAX).then(|| word + PASS);
        // Acquire: sees the owner's writes before the opening.
        let before = self.word.fetch_update(Ordering::Acquire, Ordering::Relaxed, admit).ok()?;
        Some(Pass { gate: self, generation: generation(before) })
    }

    /// Closes the gate (owner): no further peers enter, and those inside stay. Harmless if the gate is closed. Cost: one atomic.
    pub fn close(&self) {
        // Relaxed: the word alone decides which peers are inside, and `is_empty` acquires their writes.
        self.word.fetch_and(!OPEN, Ordering::Relaxed);
    }

    /// Whether no pass is in use. Final once the gate is closed. Leaving rings no doorbell: an owner that intends to sleep arranges for one.
    ///
    /// Called by the thread that closed the gate, or by one that synchronized with it afterwards. Cost: one load.
    pub fn is_empty(&self) -> bool {
        // Acquire: sees the writes of all peers that left, also through the atomics of others in between.
        self.word.load(Ordering::Acquire) & PASSES_MAX == 0
    }
}

impl Pass<'_> {
    /// Returns the generation of the opening that admitted this pass; the first is 1.
    pub fn generation(&self) -> u32 {
        self.generation
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        // Release: accesses inside come before those of the owner after it sees the gate empty.
        self.gate.word.fetch_sub(PASS, Ordering::Release);
    }
}

fn generation(word: u64) -> u32 {
    (word >> GENERATION_SHIFT) as u32
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_closed_gate_admits_nobody() {
        let gate = Gate::new();
        assert!(gate.enter().is_none());
        gate.open();
        gate.close();
        assert!(gate.enter().is_none());
        assert!(gate.is_empty());
    }

    #[test]
    fn it_is_empty_when_all_have_left() {
        let gate = Gate::new();
        gate.open();
        let (first, second) = (gate.enter().unwrap(), gate.enter().unwrap());
        gate.close();
        drop(first);
        assert!(!gate.is_empty());
        drop(second);
        assert!(gate.is_empty());
    }

    #[test]
    fn each_opening_is_a_generation() {
        let gate = Gate::new();
        assert_eq!((gate.open(), gate.open()), (1, 1));
        let old = gate.enter().unwrap();
        gate.close();
        assert_eq!(gate.open(), 2);
        assert_eq!((old.generation(), gate.enter().unwrap().generation()), (1, 2));
    }

    #[test]
    fn neither_passes_nor_generations_spill() {
        let gate = Gate { word: AtomicU64::new(u64::MAX << GENERATION_SHIFT | PASSES_MAX) };
        assert_eq!(gate.open(), 0);
        assert!(gate.enter().is_none());
        gate.close();
        assert_eq!(gate.word.load(Ordering::Relaxed), PASSES_MAX);
    }

    /// Peers write two words inside; whenever the owner has taken the memory back, it finds both writes or neither.
    #[test]
    fn threads_inside_are_waited_for() {
        let (gate, done) = (Gate::new(), AtomicU64::new(0));
        let memory = [AtomicU64::new(0), AtomicU64::new(0)];
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while done.load(Ordering::Relaxed) == 0 {
                        let Some(_pass) = gate.enter() else {
                            thread::yield_now();
                            continue;
                        };
                        memory[0].fetch_add(1, Ordering::Relaxed);
                        memory[1].fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..if cfg!(miri) { 10 } else { 500 } {
                gate.open();
                thread::yield_now();
                gate.close();
                while !gate.is_empty() {
                    thread::yield_now();
                }
                assert_eq!(memory[0].load(Ordering::Relaxed), memory[1].load(Ordering::Relaxed));
            }
            done.store(1, Ordering::Relaxed);
        });
    }
}
