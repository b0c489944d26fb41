//! The bounds of this crate.

/// Bytes of one piece on its way through pinned memory. From about this size on, the bandwidth of a copy is that of the bus.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Pieces of one transfer in flight: one is copied by the host while the device moves the others.
pub(crate) const PIECES: usize = 3;

/// Transfers of a device at once, each with a stream and pinned memory of its own; others wait for one of these to end.
pub(crate) const LANES_MAX: usize = 4;

/// Transfers of a device that may fail so badly that their pinned memory cannot be used again: beyond, the device is given up.
pub(crate) const LANES_LOST_MAX: usize = 16;

/// Allocations of a process that other processes may open at once, those included that are kept for the next allocation of their size, as a peer may still
/// have them open. Beyond, peers ask the owner.
pub(crate) const EXPORTS_MAX: usize = 64;

/// Boxes of cells that one launch of the copy kernel moves whose list is an argument: the neighbours of a block in three dimensions.
pub const FACES_MAX: usize = 26;

/// Boxes of cells that one launch moves whose list is in memory of the device: the neighbours of a block in three dimensions, of each of 150 fields.
pub const LISTED_FACES_MAX: usize = 4096;

const _: () = assert!(PIECES >= 2, "pieces overlap");

/// Allocations that a stream uses at once, each kept until the stream has ended.
pub(crate) const STREAM_MEMORIES_MAX: usize = 256;
