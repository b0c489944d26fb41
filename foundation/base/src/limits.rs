//! Bounds that several crates share, with their reasons: what addresses and jobs may hold. Those of one crate are in its own `limits.rs`;
//! `docs/limits.md` lists all.

/// Maximum number of ranks in a job. An address has 20 bits for the rank; no machine of 2026 runs more cores in one job.
pub const RANKS_MAX: u32 = 1 << 20;

/// Maximum size of a segment in bytes: 1 TiB, ten times the 100 GB per rank of the largest jobs in the papers.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 40;

/// Minimum number of address bits for the segment. Four bits hold the two heaps and, in a job of maximum size, 8 TiB of addresses for
/// registered memory.
pub const SEGMENT_BITS_MIN: u32 = 4;

/// Maximum number of address bits for the segment: a segment number plus one fits a `u32`.
pub const SEGMENT_BITS_MAX: u32 = 31;

/// Minimum number of address bits for the offset: a heap of one page.
pub const OFFSET_BITS_MIN: u32 = 12;

/// Maximum number of ranks on one host. The launcher watches three descriptors per rank with one `poll`.
pub const RANKS_PER_HOST_MAX: u32 = 4096;

/// Maximum size in bytes of a put that a transport copies when it is posted, so that the caller may reuse its buffer at once.
pub const INJECT_SIZE: usize = 4096;

/// Maximum total size in bytes of the blocks of one list if blocks overlap. A short list therefore cannot request an unlimited reply.
pub const OVERLAPPING_BYTES_MAX: u64 = 1 << 20;

const _: () = {
    assert!(RANKS_MAX.ilog2() + SEGMENT_BITS_MIN + SEGMENT_BYTES_MAX.ilog2() <= 64, "the largest job can be addressed");
};
