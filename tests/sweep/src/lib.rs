//! Thousands of whole jobs on networks that lose, duplicate and delay datagrams, each determined by a seed.
//!
//! | part | for |
//! |---|---|
//! | [`Scenario`] | the meaning of a seed: the job, its programs, and the faults |
//! | [`Program`] | the existing programs, and the requirements of each |
//! | `programs` | the actions of the ranks, and the expected results |
//! | `crew` | the ranks that run a program together, and their operations on a rank that may fail |
//! | [`examine`] | runs a scenario and judges it |
//! | [`sweep()`] | many seeds on several threads, in order |
//! | `machines` | machines that are drawn at random |
//! | `limit` | the limit of virtual time, for ranks that would wait forever |
//! | `process` | jobs of the program in C, each a process of its own |
//!
//! Odd seeds draw everything at random. One of eight of them replaces datagrams by two networks of adapters with short send queues, on which operations
//! are delayed, overtake each other and are refused; another one of eight has a machine that is drawn at random: nodes, adapters, networks, topologies. Even seeds combine, in turn, each program that repeatedly writes words with each kind of network:
//! datagrams are only delayed, only lost, only duplicated, or all of these.
//!
//! The ranks are those of the simulator: the library's own code from `World` down to datagrams, on a simulated machine in
//! virtual time.
//!
//! # Required properties
//!
//! - If no rank fails, no rank gets an error, and the results of every program are exact, for any behavior of the network.
//! - All ranks end within a limit of virtual time; no rank waits forever.
//! - If a rank fails, each other rank succeeds or detects the failure within the time after which a launcher announces it to all ranks
//!   (at most twice the failure limit) and some margin.
//! - In a job that survives failures, the other ranks complete exactly the work that does not need the failed rank.
//! - If operations of one rank on another one fail, no rank finds wrong results: each succeeds or gets an error. Nobody waits forever if the transport
//!   reports the failure to the job.
//! - The same seed gives the same events: some scenarios run twice and are compared.
//!
//! Absent on purpose: random numbers that do not follow from the seed, real time (except for the last line), and any dependence on
//! the implementation of the library.

mod crew;
mod examine;
mod limit;
mod machines;
mod networks;
mod process;
mod program;
mod programs;
mod random;
mod scenario;
mod sweep;

pub use examine::{Tally, Violation, examine, examine_by, examine_through};
pub use networks::Networks;
pub use program::{Group, Program, Routines, Trouble};
pub use scenario::{BrokenConnection, Chosen, Death, FaultKind, Scenario};
pub use sweep::{FAILURES_MAX, Plan, Progress, sweep};
