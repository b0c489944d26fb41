//! Sequences: vectors and deques on one rank, and lists with each element on a chosen rank. One rank at a time may change them; `guarded` lets several do so in turn.
//!
//! | file | content |
//! |---|---|
//! | `sequence` | bytes that grow at one end or both: under vector and deque |
//! | `vector_deque` | vectors and deques of a type |
//! | `list` | lists of elements of any length |
//! | `typed_list` | lists of a type |
//! | `guarded` | containers that several ranks change, one after another |

mod guarded;
mod list;
mod sequence;
mod typed_list;
mod vector_deque;

pub use guarded::Guarded;
pub use list::List;
pub use sequence::{Form, InsertAt, Sequence};
pub use typed_list::GlobalList;
pub use vector_deque::{GlobalDeque, GlobalVector};
