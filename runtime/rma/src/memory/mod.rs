//! Memory that operations access: segments, and the symmetric heap.

pub(crate) mod device_completions;
pub(crate) mod segment;
pub(crate) mod symmetric_heap;
