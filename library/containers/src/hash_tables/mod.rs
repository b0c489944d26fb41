//! Hash tables: keys with values or counts, which all ranks change concurrently.
//!
//! | file | content |
//! |---|---|
//! | `table` | the common table: buckets, each a list of elements on one rank |
//! | `bulk` | the same for many keys at once, with each step of all keys in flight together |
//! | `owner` | the part of a table on this rank, which active messages change |
//! | `updates` | changes that are sent to the owners of keys |
//! | `hash` | the hash of a key |
//! | `element_state` | the state of an element: whether its key is present, and the number of its value |
//! | `map`, `multiset`, `set` | tables with keys of one type, spread over all ranks |
//! | `directory` | tables of keys of any length on chosen ranks, found by the address of a directory |

mod bulk;
mod directory;
mod element_state;
mod hash;
mod map;
mod multiset;
mod owner;
mod set;
mod table;
mod updates;

pub use directory::{Geometry, PlacedMap, PlacedMultiset, Position};
pub use map::GlobalMap;
pub use multiset::GlobalMultiset;
pub use set::GlobalSet;
pub use updates::{CountUpdates, MapUpdates};
