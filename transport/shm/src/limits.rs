//! Bounds of a host's memory, with their reasons.

/// Hosts of a job whose ranks reach each other over a network: one for every sixteen ranks of the largest job. At 32 bytes each, their
/// table takes two megabytes of each host.
pub const HOSTS_MAX: usize = 1 << 16;

/// Failed ranks after which a fault-tolerant job still continues: sixteen cache lines of rank numbers. A job with more failures than that
/// ends.
pub const FAILED_RANKS_MAX: usize = 256;

/// Entries in a rank's table of registered regions, in the memory of its host, at least: twice as many as any known program registers.
pub const HOST_REGIONS_MIN: u32 = 1 << 17;

/// Entries in that table, at most: one gibibyte of address space. Of 64 bytes each, they take memory when they are used.
pub const HOST_REGIONS_MAX: u32 = 1 << 24;

/// Requests to another rank's progress thread that one rank has under way: one reply slot of 64 bytes each.
pub const PROGRESS_THREAD_REPLIES_MAX: usize = 32;

/// Requests in a rank's inbox, from all ranks of its host together; a power of two.
pub const INBOX_SLOTS: usize = 128;

/// Bytes of a staging buffer, for copies that only the owner's progress thread may do.
pub const STAGING_BYTES: usize = 32 * 1024;

/// Threads of a rank whose waits are shown at once: more than any known program has that sleep in the library.
pub const WAIT_SITES_MAX: usize = 8;

/// Waits that a rank remembers after their end, for reports: enough to recognise the part of the program.
pub const WAITS_REMEMBERED: usize = 4;

/// Bytes of the words by which a wait is named.
pub const WAIT_NAME_BYTES: usize = 32;

/// How often a reader looks at an entry of a report that is written meanwhile: a write takes some nanoseconds.
pub const REPORT_READS_MAX: u32 = 64;

const _: () = {
    assert!(HOST_REGIONS_MIN.is_power_of_two() && HOST_REGIONS_MAX.is_power_of_two(), "tables fill whole pages");
    assert!(INBOX_SLOTS.is_power_of_two());
};
