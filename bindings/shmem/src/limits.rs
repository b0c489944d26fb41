//! Bounds of the OpenSHMEM interface.

/// Teams of a PE at once, the two predefined ones included: each has a slot in the memory of the job, and splits agree on a slot by a mask of two words.
pub(crate) const TEAMS_MAX: usize = 128;

/// Contexts of a PE at once, the default one included.
pub(crate) const CONTEXTS_MAX: usize = 1024;

/// Rounds of an operation that doubles its reach: the largest job has 2²⁰ PEs.
pub(crate) const TEAM_ROUNDS: usize = 20;

/// Data that a member sends another by a landing buffer of a team at once.
pub(crate) const LANDING_BYTES: usize = 4096;

/// Data of a short reduction that a member sends another as one parcel: with the flag behind it, two cache lines.
pub(crate) const PARCEL_DATA_BYTES: usize = 120;

/// Members up to which every member sends a short reduction to every other one.
pub(crate) const DIRECT_MEMBERS_MAX: u32 = 16;

/// Members up to which long reductions are divided among the members, each of which reads from all others.
pub(crate) const DIVIDED_MEMBERS_MAX: u32 = 128;

/// Data of a reduction that the two PEs of a job on a network send each other whole.
pub(crate) const EXCHANGE_BYTES: usize = 64 << 10;

/// Values that are combined at a time: both operands and the result stay in the nearest cache of a core.
pub(crate) const COMBINED_BYTES: usize = 4 << 10;

/// Looks at memory in a row, before a wait enters the library.
pub(crate) const WAIT_LOOKS: u32 = 64;

/// Ranges of writable data of an executable: linkers make one, some two.
pub(crate) const STATIC_AREAS_MAX: usize = 4;

/// Characters of the name that `shmem_info_get_name` returns, with the zero at the end: `SHMEM_MAX_NAME_LEN`.
pub(crate) const SHMEM_NAME_BYTES_MAX: usize = 64;
