//! Ranks without our launcher monitor each other, so that the end of every rank is noticed.
//!
//! | file | content |
//! |---|---|
//! | `rank_monitor` | the monitor of one rank, from its adoption to its end |
//! | `ring` | the thread of that monitor, which watches the next ranks in a ring |
//! | `exit_abort` | the end of a failed job on all hosts |
//! | `process_identity` | a process, distinguished from a later one with the same number |

pub(crate) mod exit_abort;
pub(crate) mod process_identity;
pub(crate) mod rank_monitor;
pub(crate) mod ring;
