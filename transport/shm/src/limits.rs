//! Bounds of a host's memory, with their reasons.

/// Maximum number of hosts of a job: one for every sixteen ranks of a job of maximum size. The table of hosts takes 32 bytes per host, at
/// most 2 MiB.
pub const HOSTS_MAX: usize = 1 << 16;

/// Maximum number of failed ranks with which a fault-tolerant job continues: sixteen cache lines of rank numbers. After more failures the
/// job ends.
pub const FAILED_RANKS_MAX: usize = 256;

/// Minimum number of entries of a rank's table of registered regions, in the shared memory of its host: twice the number that any known
/// program registers.
pub const HOST_REGIONS_MIN: u32 = 1 << 17;

/// Maximum number of entries of a rank's table of registered regions: 1 GiB of address space. An unused entry takes no physical memory; a used one
/// takes 64 bytes.
pub const HOST_REGIONS_MAX: u32 = 1 << 24;

/// Maximum number of requests of one rank to progress threads of other ranks in flight: one reply slot of 64 bytes each.
pub const PROGRESS_THREAD_REPLIES_MAX: usize = 32;

/// Number of requests in a rank's inbox, for all ranks of its host together; a power of two.
pub const INBOX_SLOTS: usize = 128;

/// Size in bytes of a staging buffer for copies that only the owner's progress thread can execute.
pub const STAGING_BYTES: usize = 32 * 1024;

/// Maximum number of registrations of device memory of other processes that a process has open. Beyond it, the process closes the one that it opened
/// first, and opens it again if it is needed.
pub(crate) const IMPORTS_MAX: usize = 256;

/// Maximum size in bytes of the settings that all ranks of a job share, as text: the longest transport and one digit have 21.
pub(crate) const SETTINGS_BYTES_MAX: usize = 64;

/// Maximum number of threads of a rank whose waits a report shows: more threads than known programs block in the library.
pub const WAIT_SITES_MAX: usize = 8;

/// Number of ended waits that a rank remembers for reports: enough to recognise the part of the program.
pub const WAITS_REMEMBERED: usize = 4;

/// Size in bytes of the name of a wait.
pub const WAIT_NAME_BYTES: usize = 32;

/// Maximum number of attempts to read a report entry that changes concurrently. A write takes some nanoseconds.
pub const REPORT_READS_MAX: u32 = 64;

const _: () = {
    assert!(HOST_REGIONS_MIN.is_power_of_two() && HOST_REGIONS_MAX.is_power_of_two(), "tables fill whole pages");
    assert!(INBOX_SLOTS.is_power_of_two());
};
