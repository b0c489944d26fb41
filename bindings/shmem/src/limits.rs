//! Bounds of the OpenSHMEM interface.

/// Maximum number of teams of a PE at a time, with the two predefined ones. Each has a slot in the job's memory; splits agree on a slot by a mask of two words.
pub(crate) const TEAMS_MAX: usize = 128;

/// Maximum number of contexts of a PE at a time, with the default one.
pub(crate) const CONTEXTS_MAX: usize = 1024;

/// Maximum number of rounds of an operation whose distance doubles in each round: the largest job has 2²⁰ PEs.
pub(crate) const TEAM_ROUNDS: usize = 20;

/// Bytes of a landing buffer of a team: the data that a member sends to another in one message.
pub(crate) const LANDING_BYTES: usize = 4096;

/// Maximum size in bytes of the data of a parcel, by which a member sends its values of a short reduction. Data and flag together fill two cache lines.
pub(crate) const PARCEL_DATA_BYTES: usize = 120;

/// Maximum number of members of a team in whose short reductions every member sends its values to every other.
pub(crate) const DIRECT_MEMBERS_MAX: u32 = 16;

/// Maximum number of members of a team whose long reductions are divided among the members, each of which reads from all others.
pub(crate) const DIVIDED_MEMBERS_MAX: u32 = 128;

/// Maximum size in bytes of the data of a reduction that the two PEs of a job on a network send each other whole.
pub(crate) const EXCHANGE_BYTES: usize = 64 << 10;

/// Bytes of values that are combined at a time: both operands and the result stay in the first-level cache of a core.
pub(crate) const COMBINED_BYTES: usize = 4 << 10;

/// Number of polls of memory before a wait enters the library.
pub(crate) const WAIT_LOOKS: u32 = 64;

/// Maximum number of ranges of writable data of an executable. Most linkers make one, some two.
pub(crate) const STATIC_AREAS_MAX: usize = 4;

/// Maximum number of characters of the name that `shmem_info_get_name` returns, with the terminating zero: `SHMEM_MAX_NAME_LEN`.
pub(crate) const SHMEM_NAME_BYTES_MAX: usize = 64;
