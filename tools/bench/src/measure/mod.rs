//! The benchmarks, one file each, with their raw limits.

pub(crate) mod atomics;
pub(crate) mod barrier;
pub(crate) mod collectives;
pub(crate) mod computing;
pub(crate) mod copies;
pub(crate) mod crossing;
pub(crate) mod datagrams;
pub(crate) mod faces;
pub(crate) mod halo;
pub(crate) mod indexed;
mod live;
pub(crate) mod memory;
pub(crate) mod rate;
pub(crate) mod shared;
pub(crate) mod transfer;
pub(crate) mod tuning;
pub(crate) mod visible;

/// Number of measurements of a batch of operations. Batches are short and many, so that most are not disturbed by other processes.
const REPETITIONS: u64 = 41;

/// Number of words that operations of 8 bytes use in turn: 4 KiB, so that addresses change but stay in the cache.
const SLOTS: u64 = 512;
