//! The basic types that all other crates share.
//!
//! | word | meaning |
//! |---|---|
//! | [`Rank`], [`Team`] | a process of the job; an ordered set of ranks |
//! | [`SegmentId`] | number of a segment of a rank's registered memory |
//! | [`GlobalAddress`], [`AddressLayout`] | rank, segment and offset in 64 bits; how a job divides those bits |
//! | [`Topology`], [`Partition`] | placement of ranks in a machine; groups of neighbouring ranks |
//! | [`Instant`], [`Duration`] | time in picoseconds, real or virtual |
//! | [`Sample`] | which ranks are recorded, and when |
//! | [`Shape`]; [`Block`], [`Blocks`] | a strided set of blocks; a block of a list, and either of the two |
//! | [`AtomicOperator`], [`Width`] | operator of a remote atomic, and size of its word |
//! | [`Failure`] | reason for the failure of an operation |
//! | [`Event`], [`Counters`] | all observable events, declared once |
//! | [`debug!`] | `Debug` of types whose contents other ranks may write |
//! | [`debug_as_display!`] | `Debug` of errors, with the text of `Display` |
//! | [`limits`] | the bounds that several crates share, each with its reason |
//!
//! Absent on purpose: memory, clocks, threads, sockets, `unsafe`.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod address;
mod blocks;
mod debug;
mod event;
mod failure;
pub mod limits;
mod operation;
mod rank;
mod sample;
mod shape;
mod team;
mod time;
mod topology;

pub use address::{AddressError, AddressLayout, GlobalAddress, LayoutError, SegmentId};
pub use blocks::{Block, Blocks};
pub use event::{Counters, Event};
pub use failure::Failure;
pub use operation::{AtomicOperator, Width};
pub use rank::Rank;
pub use sample::{Sample, SampleError};
pub use shape::{Shape, ShapeError};
pub use team::{Team, TeamError};
pub use time::{Duration, Instant};
pub use topology::{Partition, Topology};
