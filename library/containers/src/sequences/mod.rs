//! Sequences: vectors and deques on one rank, and lists with each element on a chosen rank. Only one rank at a time may change them; `guarded` excludes
//! the others during a change.
//!
//! | file | content |
//! |---|---|
//! | `sequence` | bytes that grow at one end or both: the base of vector and deque |
//! | `vector_deque` | vectors and deques of a type |
//! | `list` | lists of elements of any length |
//! | `typed_list` | lists of a type |
//! | `guarded` | containers that several ranks change, one at a time |

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
