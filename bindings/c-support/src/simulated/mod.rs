//! The ranks that are simulated in this process: the running one, and the private data of each.
//!
//! | file | holds |
//! |---|---|
//! | `images` | the objects of the program, as the loader has mapped them |
//! | `copies` | copies of the program's data, one for each rank |
//! | `archive` | redirection of a program that contains the library as an archive |
//!
//! This module does not depend on the library or on a job; `program` simulates.
//!
//! Invariant **A10**: a simulation has one thread, in which all ranks run. No two threads use this module at the same time.
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

/// Begins the simulation of `ranks` ranks, each with a copy of the program's current data.
pub fn begin(images: &[Image], ranks: usize) -> std::io::Result<()> {
    let copies = RefCell::new(Copies::new(images, ranks)?);
    SIMULATED.get_or_init(|| Simulated { copies, ranks, running: AtomicUsize::new(0) });
    Ok(())
}

/// Switches the program's data to those of `rank`.
pub fn enter(rank: usize) -> std::io::Result<()> {
    let Some(simulated) = SIMULATED.get() else { return Ok(()) };
    simulated.running.store(rank, Ordering::Relaxed);
    simulated.copies.borrow_mut().enter(rank)
}

/// Whether ranks are simulated in this process.
pub fn is_simulation() -> bool {
    SIMULATED.get().is_some()
}

/// Returns the running simulated rank; `None` if the process is not a simulation.
pub fn running() -> Option<usize> {
    SIMULATED.get().map(|simulated| simulated.running.load(Ordering::Relaxed))
}

/// A value of the process, and one for each rank that is simulated in it.
pub struct PerRank<T: 'static> {
    own: T,
    simulated: OnceLock<Box<[T]>>,
    make: fn() -> T,
}

impl<T> PerRank<T> {
    /// Takes the value of the process, and the function that makes the value of each simulated rank.
    pub const fn new(own: T, make: fn() -> T) -> Self {
        Self { own, simulated: OnceLock::new(), make }
    }

    /// Returns the value of the process.
    #[inline]
    pub fn own(&self) -> &T {
        &self.own
    }

    /// Returns the value of the running simulated rank; that of the process if there is no simulation.
    pub fn get(&self) -> &T {
        let Some(simulated) = SIMULATED.get() else { return &self.own };
        let of_ranks = self.simulated.get_or_init(|| (0..simulated.ranks).map(|_| (self.make)()).collect());
        &of_ranks[simulated.running.load(Ordering::Relaxed)]
    }
}

/// Returns the address by which other ranks reach memory of this rank: a different address only for data of a simulated program.
/// Returns `None` if other ranks cannot reach all of the memory.
pub fn shared_address(address: usize, bytes: usize) -> Option<usize> {
    match SIMULATED.get() {
        Some(simulated) => simulated.copies.borrow().shared_address(address, bytes),
        None => Some(address),
    }
}

/// Returns the address by which this rank itself reaches memory, from the address that other ranks use.
pub fn program_address(address: usize) -> usize {
    SIMULATED.get().map_or(address, |simulated| simulated.copies.borrow().program_address(address))
}
