//! Processes: those of ranks, their descendants, and the launcher itself.
//!
//! | file | content |
//! |---|---|
//! | `child` | the process of one rank, with its descendants |
//! | `guard` | a small process that kills descendants of ranks if the launcher is killed |
//! | `reap` | collecting killed processes, without waiting for one that does not die |
//! | `orphans` | collecting processes that ranks have started and left |
//! | `stopped_ranks` | detection of stopped ranks (SIGSTOP) |
//! | `oom_kills` | detection of kills because memory ran out |
//! | `signals` | the signals that ask the launcher to end the job |

pub(crate) mod child;
pub(crate) mod guard;
pub(crate) mod oom_kills;
pub(crate) mod orphans;
pub(crate) mod reap;
pub(crate) mod signals;
pub(crate) mod stopped_ranks;
