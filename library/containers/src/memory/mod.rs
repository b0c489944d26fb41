//! Memory: blocks of a heap on any rank, large byte arrays over several ranks, and the bytes that a program passes to a container.

mod byte_source;
mod bytes;
mod heap;
mod own_arena;

pub use byte_source::ByteSource;
pub(crate) use byte_source::{bytes_at, words_at, words_before};
pub use bytes::GlobalBytes;
pub(crate) use heap::GLOBAL_HEAP;
pub(crate) use heap::Glance;
pub use heap::GlobalHeap;
pub(crate) use own_arena::OwnArena;
