//! The ranks that are simulated in this process: which of them runs, and what each has of its own.
//!
//! | file | holds |
//! |---|---|
//! | `images` | what the loader has mapped of the program |
//! | `copies` | its data, once for each rank |
//! | `archive` | a program with the library in it, which calls this one instead |
//!
//! Nothing here knows of the library or of a job; `program` simulates.
//!
//! Invariant **A10**: a simulation has one thread, in which all ranks run, so that nothing here is used by two at once.
#![allow(unsafe_code)]

mod archive;
mod copies;
mod images;

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use archive::{redirect, variable};
use copies::Copies;
pub use images::{Image, images};

/// The simulated ranks of this process.
struct Simulated {
    copies: RefCell<Copies>,
    ranks: usize,
    running: AtomicUsize,
}

// SAFETY: A10.
unsafe impl Send for Simulated {}
// SAFETY: A10.
unsafe impl Sync for Simulated {}

static SIMULATED: OnceLock<Simulated> = OnceLock::new();

/// Makes this process that of so many ranks, each with a copy of the program's data as it is now.
pub fn begin(images: &[Image], ranks: usize) -> std::io::Result<()> {
    let copies = RefCell::new(Copies::new(images, ranks)?);
    SIMULATED.get_or_init(|| Simulated { copies, ranks, running: AtomicUsize::new(0) });
    Ok(())
}

/// The program's data are those of a rank from now on.
pub fn enter(rank: usize) -> std::io::Result<()> {
    let Some(simulated) = SIMULATED.get() else { return Ok(()) };
    simulated.running.store(rank, Ordering::Relaxed);
    simulated.copies.borrow_mut().enter(rank)
}

/// Whether ranks are simulated in this process.
pub fn is_simulation() -> bool {
    SIMULATED.get().is_some()
}

/// The simulated rank that runs; `None` if the process is a rank itself.
pub fn running() -> Option<usize> {
    SIMULATED.get().map(|simulated| simulated.running.load(Ordering::Relaxed))
}

/// A value of the process, and one of each rank that is simulated in it.
pub struct PerRank<T: 'static> {
    own: T,
    simulated: OnceLock<Box<[T]>>,
    make: fn() -> T,
}

impl<T> PerRank<T> {
    /// The process's own, and what makes those of simulated ranks.
    pub const fn new(own: T, make: fn() -> T) -> Self {
        Self { own, simulated: OnceLock::new(), make }
    }

    /// That of the process.
    #[inline]
    pub fn own(&self) -> &T {
        &self.own
    }

    /// That of the simulated rank that runs, else that of the process.
    pub fn get(&self) -> &T {
        let Some(simulated) = SIMULATED.get() else { return &self.own };
        let of_ranks = self.simulated.get_or_init(|| (0..simulated.ranks).map(|_| (self.make)()).collect());
        &of_ranks[simulated.running.load(Ordering::Relaxed)]
    }
}

/// Where others reach memory of this rank's; the same, unless it is simulated and that is the program's data.
/// `None` if others cannot reach all of it.
pub fn shared_address(address: usize, bytes: usize) -> Option<usize> {
    match SIMULATED.get() {
        Some(simulated) => simulated.copies.borrow().shared_address(address, bytes),
        None => Some(address),
    }
}

/// Where this rank finds memory that others reach.
pub fn program_address(address: usize) -> usize {
    SIMULATED.get().map_or(address, |simulated| simulated.copies.borrow().program_address(address))
}
