//! Limits of collective operations.

/// Maximum number of fragments of a stream between two members in flight. With two, the sender would wait for the receiver after each
/// fragment.
pub const STREAM_SLOTS: usize = 4;

/// Maximum number of started and incomplete operations per team. Each owns its values.
pub const STARTED_MAX: usize = 64;

/// Maximum number of concurrent teams from splits of one team: one bit of a word each.
pub const SPLIT_TEAMS_MAX: usize = 64;
