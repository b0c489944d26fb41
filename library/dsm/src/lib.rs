//! Shared variables whose consistency the type system enforces, on one-sided operations alone.
//!
//! | part | for |
//! |---|---|
//! | [`Shared`] | a variable with entry consistency: data that goes along with a fair lock to readers and writers |
//! | [`ReadGuard`], [`WriteGuard`] | the only ways to its data |
//! | [`Statistics`] | what it has cost |
//!
//! `docs/dsm.md` says what a guard promises, how the lock works, and what the loss of a rank means. Sources: Bershad, Zekauskas, Sawdon, the
//! Midway distributed shared memory system (1993); Fagus (paper C); Mellor-Crummey and Scott, algorithms for scalable synchronization (1991).
//!
//! # What does not compile
//!
//! Access to the data without a guard; it compiles with `*counter.write()? += 1`:
//!
//! ```compile_fail,E0368
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! counter += 1;
//! # Ok(())
//! # }
//! ```
//!
//! A guard that outlives its variable:
//!
//! ```compile_fail,E0597
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let guard = {
//!     let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//!     counter.read()?
//! };
//! assert_eq!(*guard, 0);
//! # Ok(())
//! # }
//! ```
//!
//! A write through a read guard; it compiles with `write`:
//!
//! ```compile_fail,E0594
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! *counter.read()? += 1;
//! # Ok(())
//! # }
//! ```
//!
//! Two guards of one variable at once:
//!
//! ```compile_fail,E0499
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! let one = counter.write()?;
//! let other = counter.write()?;
//! drop((one, other));
//! # Ok(())
//! # }
//! ```
//!
//! Data with pointers in it:
//!
//! ```compile_fail,E0277
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let text = pelago_dsm::Shared::<String>::new(world, world.rank(), String::new())?;
//! # Ok(())
//! # }
//! ```
//!
//! The same without the mistakes:
//!
//! ```
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! *counter.write()? += 1;
//! let guard = counter.read()?;
//! assert_eq!(*guard, 1);
//! drop(guard);
//! let one = counter.write()?;
//! drop(one);
//! let other = counter.write()?;
//! drop(other);
//! # Ok(())
//! # }
//! ```
//!
//! Absent on purpose: networks, threads, page faults, unsafe code.

#![forbid(unsafe_code)]

mod copies;
#[cfg(test)]
mod explore;
mod memory;
mod mend;
mod queue;
mod shared;
mod statistics;
mod word;
mod words;

pub use shared::{ReadGuard, Shared, WriteGuard};
pub use statistics::Statistics;
