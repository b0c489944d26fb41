//! Shared memory whose consistency the type system enforces, on one-sided operations alone: variables with entry consistency, regions with
//! release consistency.
//!
//! | part | for |
//! |---|---|
//! | [`Shared`] | a variable with entry consistency: data behind a fair lock for readers and writers |
//! | [`ReadGuard`], [`WriteGuard`] | access to the data of a variable |
//! | [`Bundle`] | several variables under one synchronization variable: a tuple of slices |
//! | [`acquire`] | several variables in one call, in the same order on all ranks |
//! | [`WriteGuard::wait`], [`WriteGuard::notify_one`] | a condition variable: wait until another rank has changed the data |
//! | [`Region`], [`Section`] | an array with release consistency: twins, runs of changed elements, several writers of one page |
//! | [`Placement`] | the place of a released variable: at its home, or at its last holder until another rank requests it |
//! | [`Counter`] | a shared number, to count and to distribute tasks |
//! | [`SyncBarrier`] | the two-phase barrier of Fagus, by way of one rank |
//! | [`Statistics`] | counts of the costs of a variable |
//!
//! `docs/book/src/dsm.md` describes the guarantees of a guard, the protocol of the lock, and the loss of ranks. Sources: Bershad, Zekauskas, Sawdon, the
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
//! A guard that is used after it was given up to wait; it compiles with `guard = guard.wait()?`:
//!
//! ```compile_fail,E0382
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! let mut guard = counter.write()?;
//! let woken = guard.wait()?;
//! *guard += 1;
//! # Ok(())
//! # }
//! ```
//!
//! Notifying others without holding the variable to write:
//!
//! ```compile_fail,E0599
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! counter.read()?.notify_all()?;
//! # Ok(())
//! # }
//! ```
//!
//! One variable twice in one acquire:
//!
//! ```compile_fail,E0499
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut counter = pelago_dsm::Shared::<u64>::new(world, world.rank(), 0)?;
//! let both = pelago_dsm::acquire((counter.to_write(), counter.to_read()))?;
//! # Ok(())
//! # }
//! ```
//!
//! A part of a bundle that outlives its guard:
//!
//! ```compile_fail,E0505
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut bundle = pelago_dsm::Bundle::<(u64, f64)>::new(world, world.rank(), (vec![0], vec![0.0]))?;
//! let mut guard = bundle.write()?;
//! let (mut counts, sums) = guard.parts_mut();
//! guard.release()?;
//! counts[0] += 1;
//! # Ok(())
//! # }
//! ```
//!
//! A part of a bundle that is written through a read guard:
//!
//! ```compile_fail,E0594
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut bundle = pelago_dsm::Bundle::<(u64, f64)>::new(world, world.rank(), (vec![0], vec![0.0]))?;
//! let guard = bundle.read()?;
//! let (counts, sums) = guard.parts();
//! counts[0] += 1;
//! # Ok(())
//! # }
//! ```
//!
//! Elements of a region that are borrowed across a barrier:
//!
//! ```compile_fail,E0499
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! let mine = region.write(0..10)?;
//! region.barrier()?;
//! mine[0] = 1;
//! # Ok(())
//! # }
//! ```
//!
//! Elements of a region that are borrowed to read and to write by two calls at the same time; it compiles with `access`:
//!
//! ```compile_fail,E0499
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! let left = region.read(0..10)?;
//! let mine = region.write(10..20)?;
//! mine[0] = left[0];
//! # Ok(())
//! # }
//! ```
//!
//! A write to elements of a region that were borrowed to read:
//!
//! ```compile_fail,E0594
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! region.read(0..10)?[0] = 1;
//! # Ok(())
//! # }
//! ```
//!
//! A region that is used while a section of it exists, or elements that outlive their section:
//!
//! ```compile_fail,E0499
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! let mut section = region.acquire()?;
//! region.write(0..10)?[0] = 1;
//! section.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! ```compile_fail,E0505
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! let mut section = region.acquire()?;
//! let mine = section.write(0..10)?;
//! section.release()?;
//! mine[0] = 1;
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `page-faults`, elements of a slice that outlive its guard, or are borrowed across a barrier:
//!
#![cfg_attr(feature = "page-faults", doc = "```compile_fail,E0505")]
#![cfg_attr(not(feature = "page-faults"), doc = "```text")]
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::with_page_faults(world, 100, Default::default())?;
//! let mut all = region.all_mut()?;
//! let mine = &mut all[5..10];
//! all.end()?;
//! mine[0] = 1;
//! # Ok(())
//! # }
//! ```
//!
#![cfg_attr(feature = "page-faults", doc = "```compile_fail,E0499")]
#![cfg_attr(not(feature = "page-faults"), doc = "```text")]
//! # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
//! let mut region = pelago_dsm::Region::<u64>::with_page_faults(world, 100, Default::default())?;
//! let mut all = region.all_mut()?;
//! region.barrier()?;
//! all[0] = 1;
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
//! let mut guard = counter.write()?;
//! guard = guard.wait_while(|&count| count == 0)?;
//! *guard += 1;
//! guard.notify_all()?;
//! drop(guard);
//! let mut bundle = pelago_dsm::Bundle::<(u64, f64)>::new(world, world.rank(), (vec![0], vec![0.0]))?;
//! let (mut one, count) = pelago_dsm::acquire((bundle.to_write(), counter.to_read()))?;
//! let (mut counts, mut sums) = one.parts_mut();
//! counts[0] += *count;
//! sums[0] = 0.5;
//! let mut region = pelago_dsm::Region::<u64>::new(world, 100, Default::default())?;
//! let ([left], [mine]) = region.access([0..10], [10..20])?;
//! mine[0] = left[0];
//! region.barrier()?;
//! let mut section = region.acquire()?;
//! section.write(0..10)?[0] = 1;
//! section.release()?;
//! # Ok(())
//! # }
//! ```
//!
//! Absent on purpose: networks; and, but for the feature `page-faults`, threads, page faults, unsafe code.

#![cfg_attr(not(feature = "page-faults"), forbid(unsafe_code))]
#![warn(missing_debug_implementations)]

mod debug;
#[doc(hidden)]
pub mod lock;
mod region;
mod sync;
mod variable;

#[cfg(feature = "page-faults")]
pub use region::{All, AllMut};
pub use region::{Coherence, Homes, Ranges, Region, RegionSettings, RegionStatistics, Section};
pub use sync::{Counter, SyncBarrier};
pub use variable::{
    AcquireRequest, AcquireSet, Placement, ReadGuard, ReadRequest, Shared, Statistics, WriteGuard, WriteRequest, acquire,
};
pub use variable::{Bundle, BundleReadGuard, BundleReadRequest, BundleWriteGuard, BundleWriteRequest, PartMut, Parts};
