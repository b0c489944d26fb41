//! A job on this host, from the start of its first rank to the end of its last.
//!
//! | file | content |
//! |---|---|
//! | `state_machine` | the job state machine: its input is events, its output actions on the ranks |
//! | `outcome` | the outcome of a job: exit code and message |
//! | `event_loop` | the loop over `poll`: converts ends, output and signals to events |
//! | `controller` | the interface between the loop and the component that decides about the ranks |

pub(crate) mod controller;
pub(crate) mod event_loop;
pub(crate) mod outcome;
pub(crate) mod state_machine;
