//! What is measured: one file for each, with the raw limit beside it.

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

/// How often a batch of operations is measured. Many short batches, so that most of them are left alone by what else runs.
const REPETITIONS: u64 = 41;

/// Words that operations of 8 bytes go round: 4 KiB, so that addresses change and stay near.
const SLOTS: u64 = 512;
