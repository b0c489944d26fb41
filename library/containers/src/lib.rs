//! Containers in global memory, used by all ranks at once.
//!
//! | part | for |
//! |---|---|
//! | [`GlobalHeap`] | memory on any rank, allocated and freed by any rank |
//! | [`GlobalMap`] | keys with values, spread over all ranks |
//! | [`GlobalMultiset`], [`GlobalSet`] | keys that are counted; keys that are there or not |
//! | [`GlobalVector`], [`GlobalDeque`] | values in a row on one rank, which grow |
//! | [`GlobalList`] | values each of which lies on a rank of choice |
//! | [`GlobalBytes`] | many bytes, spread over ranks |
//! | [`Sequence`], [`List`], [`PlacedMap`], [`PlacedMultiset`] | the same for bytes of any length, found by an address that any rank may know |
//!
//! Everything is done by one-sided operations: no rank serves another, and there is no lock of a whole container. One hash table is
//! under maps, multisets and sets; its file says why it is right. Those may be changed by all ranks at once; vectors, deques and lists by one at
//! a time.
//!
//! Absent on purpose: transports, networks, clocks.

#![forbid(unsafe_code)]

mod bytes;
mod hash;
mod heap;
mod list;
mod map;
mod multiset;
mod placed;
mod rows;
mod sequence;
mod set;
mod source;
mod state;
mod table;
mod values;

pub use bytes::GlobalBytes;
pub use heap::GlobalHeap;
pub use list::List;
pub use map::GlobalMap;
pub use multiset::GlobalMultiset;
pub use placed::{Geometry, PlacedMap, PlacedMultiset, Position};
pub use rows::{GlobalDeque, GlobalVector};
pub use sequence::{Form, Place, Sequence};
pub use set::GlobalSet;
pub use source::Source;
pub use values::GlobalList;
