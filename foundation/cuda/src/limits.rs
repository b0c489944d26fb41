//! The bounds of this crate.

/// Bytes of one piece of a transfer through pinned memory. From about this size on, a copy reaches the bandwidth of the bus.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Number of pieces of one transfer in flight: the host copies one while the device moves the others.
pub(crate) const PIECES: usize = 3;

/// Maximum number of concurrent transfers of a device, each with its own stream and pinned memory; further transfers wait for one of them to end.
pub(crate) const LANES_MAX: usize = 4;

/// Maximum number of transfers of a device whose failure makes their pinned memory unusable; beyond it, the device is no longer used.
pub(crate) const LANES_LOST_MAX: usize = 16;

/// Maximum number of allocations of a process that other processes may open at once, including freed ones that are kept for the next allocation
/// of their size, as a peer may still have them open. Beyond it, peers access memory through the owner.
pub(crate) const EXPORTS_MAX: usize = 64;

/// Maximum number of boxes of cells that one launch of the copy kernel moves if their list is an argument: the neighbours of a block in three
/// dimensions.
pub const FACES_MAX: usize = 26;

/// Maximum number of boxes of cells that one launch moves if their list is in device memory: the neighbours of a block in three dimensions, for
/// each of 150 fields.
pub const LISTED_FACES_MAX: usize = 4096;

const _: () = assert!(PIECES >= 2, "pieces overlap");

/// Maximum number of allocations that a stream uses at once, each kept alive until the stream has ended.
pub(crate) const STREAM_MEMORIES_MAX: usize = 256;
