//! Limits of collective operations.

/// Fragments of a stream between two members that may be under way: with two the sender would wait for the receiver after each.
pub const STREAM_SLOTS: usize = 4;

/// Operations of a team that may be started and not have ended; each holds its values.
pub const STARTED_MAX: usize = 64;

/// Teams that are alive after splits of one team: a word has a bit for each.
pub const SPLIT_TEAMS_MAX: usize = 64;
