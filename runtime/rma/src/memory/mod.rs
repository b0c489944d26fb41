//! Memory that operations reach: of segments, of the symmetric heap, and what an operation keeps for itself.

pub(crate) mod buffer;
pub(crate) mod segment;
pub(crate) mod symmetric;
