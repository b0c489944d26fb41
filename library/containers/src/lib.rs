//! Containers in global memory, used by all ranks at once.
//!
//! | part | for |
//! |---|---|
//! | [`GlobalHeap`] | memory on any rank, allocated and freed by any rank |
//! | [`GlobalMap`] | keys with values, spread over all ranks |
//! | [`GlobalMultiset`] | keys that are counted; with counts of 0 and 1, a set |
//!
//! Everything is done by one-sided operations: no rank serves another, and there is no lock of a whole container. One hash table is
//! under map and multiset; its file says why it is right.
//!
//! Absent on purpose: transports, networks, clocks.

#![forbid(unsafe_code)]

mod hash;
mod heap;
mod map;
mod multiset;
mod table;

pub use heap::GlobalHeap;
pub use map::GlobalMap;
pub use multiset::GlobalMultiset;
