//! Whole jobs on networks that lose, double and delay, by the thousand, each from a seed.
//!
//! | part | for |
//! |---|---|
//! | [`Scenario`] | what a seed says: the job, its programs, what goes wrong |
//! | [`Program`] | which programs exist, and what each needs |
//! | `programs` | what ranks do, and what must come of it |
//! | `crew` | the ranks that run a program together, and how they treat one that may die |
//! | [`examine`] | runs a scenario and judges it |
//! | [`sweep()`] | many seeds on several threads, in order |
//! | `limit` | the end of time for ranks that would wait for ever |
//! | `process` | jobs of the program in C, each a process of its own |
//!
//! Odd seeds draw everything by chance. Even ones have, by turns, each program that writes words again and again on each kind of network:
//! where datagrams are late and nothing else, lost, doubled, and all of it.
//!
//! The ranks are those of the simulator: the library's own code from `World` down to datagrams, on a simulated machine in
//! virtual time.
//!
//! # What must hold
//!
//! - While nobody dies, whatever the network does, no rank sees an error and every program comes out exactly right.
//! - All ranks end within a limit of virtual time; nobody waits for ever.
//! - When a rank dies, each other one ends well or learns that this rank was lost, within the time after which a launcher tells all of
//!   them (at most twice the failure limit) and some margin.
//! - In a job that survives losses the others finish exactly what does not need the dead rank.
//! - The same seed gives the same events: now and then a scenario runs twice and is compared.
//!
//! Absent on purpose: chance that does not follow from the seed, real time (but for the last line), and any knowledge of how
//! the library reaches what it promises.

#![forbid(unsafe_code)]

mod crew;
mod examine;
mod limit;
mod networks;
mod process;
mod program;
mod programs;
mod random;
mod scenario;
mod sweep;

pub use examine::{Tally, Violation, examine, examine_by, examine_through};
pub use networks::Networks;
pub use program::{Group, Program, Trouble};
pub use scenario::{Chosen, Death, FaultKind, Scenario};
pub use sweep::{FAILURES_MAX, Plan, Progress, sweep};
