//! Bounds that several crates share, with their reasons: what addresses and jobs may hold. Those of one crate are in its own `limits.rs`;
//! `docs/limits.md` lists all.

/// Ranks in a job: what 20 bits of an address number, and more than any machine of today has cores in one job.
pub const RANKS_MAX: u32 = 1 << 20;

/// Bytes in a segment: one tebibyte, ten times the 100 GB that the largest jobs of the papers share per rank.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 40;

/// Bits of an address for the segment, at least: the two heaps and, at the very largest job, eight tebibytes of addresses for the
/// memory that a rank registers.
pub const SEGMENT_BITS_MIN: u32 = 4;

/// Bits of an address for the segment, at most: a segment number, and the next, fit a `u32`.
pub const SEGMENT_BITS_MAX: u32 = 31;

/// Bits of an address for the offset, at least: a heap of one page.
pub const OFFSET_BITS_MIN: u32 = 12;

/// Ranks on one host: what the launcher can watch with one `poll`, with three descriptors per rank.
pub const RANKS_PER_HOST_MAX: u32 = 4096;

/// Bytes of a write that a transport captures.
pub const INJECT_SIZE: usize = 4096;

/// Bytes that blocks of one list may have although they overlap, so that no short list asks for an answer without end.
pub const OVERLAPPING_BYTES_MAX: u64 = 1 << 20;

const _: () = {
    assert!(RANKS_MAX.ilog2() + SEGMENT_BITS_MIN + SEGMENT_BYTES_MAX.ilog2() <= 64, "the largest job can be addressed");
};
