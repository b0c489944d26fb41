//! Ranks as coroutines of one thread.
//!
//! | part | for |
//! |---|---|
//! | `fiber`, `stacks` | a rank as a coroutine on a stack of its own, and the threads of a rank |
//! | `float_control` | the control of floating-point operations of each rank |
//! | `status` | the state of a simulation for other threads and signal handlers |
//! | `crash` | faults of a rank: one line that names it, and the end of the process |
//! | `closed_output` | the quiet end of the process when its output has no reader |
//! | `ticks`, `polling` | interruptions of a rank that makes no calls; detection of ranks that poll memory |

pub(crate) mod closed_output;
pub(crate) mod crash;
pub(crate) mod fiber;
mod float_control;
pub(crate) mod polling;
pub(crate) mod stacks;
pub(crate) mod status;
pub(crate) mod ticks;
