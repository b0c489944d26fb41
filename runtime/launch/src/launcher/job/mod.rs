//! A job on this host, from the start of its first rank to the end of its last.
//!
//! | file | content |
//! |---|---|
//! | `state_machine` | the job state machine: events go in, actions on the ranks come out |
//! | `outcome` | how a job ended: exit code and message |
//! | `event_loop` | the loop over `poll`: ends, output and signals become events |
//! | `controller` | the interface between the loop and whatever decides about the ranks |

pub(crate) mod controller;
pub(crate) mod event_loop;
pub(crate) mod outcome;
pub(crate) mod state_machine;
