//! How fast one-sided operations are, next to what the machine allows.
//!
//! | file or folder | content |
//! |---|---|
//! | `command` | the command: its arguments, the catalogue of benchmarks, the jobs that it starts, and what each rank of them does |
//! | `measure` | one file for each benchmark |
//! | `rank` | a rank while it measures: sender and receiver |
//! | `settings` | the part of the command line that each rank is told |
//! | `baseline` | the raw limits: loads and stores on the same memory, plain UDP sockets |
//! | `comparison` | library and raw limit by turns |
//! | `peer` | the same operations by Open MPI, where it is installed |
//! | [`Progress`] | how far long work is, on a terminal |
//! | `results` | rows, tables, pictures; the figures of `docs/evaluation` ([`evaluation`]) |
//! | [`count`] | instructions per operation, under valgrind |
//! | [`growth`] | memory of a rank in a job of any size |
//!
//! Every receiver reads what it received, and the run fails if it is wrong. Library and raw limit use the same memory in the same
//! process, or the same processes and the same way between them.
//!
//! Absent on purpose: how a job is started, which whoever calls [`main`] knows, and what a good result is.

mod baseline;
mod command;
mod comparison;
pub mod count;
mod error;
pub mod growth;
mod measure;
mod peer;
mod progress;
mod rank;
mod results;
mod settings;

pub use command::arguments::{Arguments, Format};
pub use command::job_start::launch_rows;
pub use command::rank::rank_main;
pub use command::{list, main, render, rows};
pub use error::Error;
pub use peer::Peer;
pub use progress::Progress;
pub use results::evaluation;
pub use results::plot::{CURVES_MAX, Curve, curves_of_numbers};
pub use results::row::Row;
pub use settings::{Atomics, Descriptors, Serving, Settings, Steps, Submission, Threads, Transport};
