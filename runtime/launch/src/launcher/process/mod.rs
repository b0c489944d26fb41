//! Processes: those of ranks, all that they start, and the launcher itself.
//!
//! | file | content |
//! |---|---|
//! | `child` | the process of one rank, with all that it starts |
//! | `guard` | a small process that kills what ranks have started if the launcher is killed |
//! | `reap` | collecting killed processes, without waiting for one that does not die |
//! | `stopped_ranks` | which ranks are stopped (SIGSTOP) |
//! | `oom_kills` | whether the kernel has killed processes because memory ran out |
//! | `signals` | the signals that ask the launcher to end the job |

pub(crate) mod child;
pub(crate) mod guard;
pub(crate) mod oom_kills;
pub(crate) mod reap;
pub(crate) mod signals;
pub(crate) mod stopped_ranks;
