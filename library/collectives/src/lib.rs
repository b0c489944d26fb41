//! What teams do together, as schedules: broadcast, reductions, gathers, exchanges, scans, barriers.
//!
//! | part | for |
//! |---|---|
//! | [`Collectives`] | a team and the memory that it does them in: one-shot operations, and where plans are made |
//! | [`Plan`], [`Running`] | an operation that is prepared once and done often: at once, or while the program computes |
//! | [`Operation`], [`Algorithm`] | what is done, and by which steps |
//! | [`Operator`], [`Sum`], [`Product`], [`Min`], [`Max`], [`Commutative`] | how two values become one |
//! | [`Choice`], [`Explanation`] | which algorithm, and why |
//! | [`schedule`], [`Shape`] | steps as data, made by pure functions |
//! | [`Model`], [`Promise`] | what they cost |
//!
//! A collective operation is a schedule: sends, receives, copies, combinations of one member, in order. One executor makes these steps by
//! puts with flags behind the data. `docs/collectives.md` tells how members stay out of each other's way without barriers, and what
//! is measured.
//!
//! Absent on purpose: networks, threads, clocks other than the world's, unsafe code.

#![forbid(unsafe_code)]

mod choice;
mod collectives;
mod cost;
mod executor;
mod generate;
mod operation;
mod operator;
mod plan;
mod pool;
pub mod schedule;

pub use choice::{Candidate, Choice, Explanation, Rails};
pub use collectives::{Collectives, Settings};
pub use cost::{Model, Promise};
pub use operation::{Algorithm, Operation, UnknownAlgorithm, UnknownOperation};
pub use operator::{Commutative, Max, Min, Operator, Product, Sum};
pub use plan::{Plan, Running};
pub use schedule::{Schedule, Shape};
