//! Containers in global memory, which all ranks use concurrently.
//!
//! | part | for |
//! |---|---|
//! | [`GlobalHeap`] | memory on any rank, allocated and freed by any rank |
//! | [`GlobalMap`] | keys with values, spread over all ranks |
//! | [`GlobalMultiset`], [`GlobalSet`] | counted keys; a set of keys |
//! | [`MapUpdates`], [`CountUpdates`] | changes of values and counts that the owners of the keys execute |
//! | [`GlobalVector`], [`GlobalDeque`] | growing sequences of values on one rank |
//! | [`GlobalList`] | a list of values, each on a chosen rank |
//! | [`Guarded`] | a vector, deque or list that several ranks change, one at a time |
//! | [`GlobalBytes`], [`ByteSource`] | a large byte array over several ranks; bytes to write, of this rank or any other |
//! | [`WorkQueue`] | tasks that create tasks; ranks without tasks steal those of others |
//! | [`Sequence`], [`List`], [`PlacedMap`], [`PlacedMultiset`] | the same for bytes of any length, opened by an address on any rank |
//!
//! All operations except updates at owners are one-sided: the target takes no part, and no lock covers a whole container. Maps, multisets and sets
//! share one hash table; `hash_tables/table.rs` has the argument for its correctness. All ranks may change them concurrently. Only one rank at a time
//! may change a vector, a deque or a list; [`Guarded`] ensures that.
//!
//! Absent on purpose: transports, networks, clocks.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod debug;
mod hash_tables;
mod memory;
mod sequences;
mod work_queue;

pub use hash_tables::{
    CountUpdates, Geometry, GlobalMap, GlobalMultiset, GlobalSet, MapUpdates, PlacedMap, PlacedMultiset, Position,
};
pub use memory::{ByteSource, GlobalBytes, GlobalHeap};
pub use sequences::{Form, GlobalDeque, GlobalList, GlobalVector, Guarded, InsertAt, List, Sequence};
pub use work_queue::{WorkCounters, WorkQueue, WorkSettings};
