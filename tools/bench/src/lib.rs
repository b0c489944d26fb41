//! Benchmarks of one-sided operations, compared with the raw limits of the machine.
//!
//! | file or folder | content |
//! |---|---|
//! | `command` | the command: its arguments, the catalogue of benchmarks, the jobs that it starts, and the program of each rank |
//! | `measure` | one file for each benchmark |
//! | `rank` | a rank during a measurement: sender and receiver |
//! | `settings` | the part of the command line that is passed to each rank |
//! | `baseline` | the raw limits: loads and stores on the same memory, plain UDP sockets |
//! | `comparison` | alternating measurements of library and raw limit |
//! | `peer` | the same operations by Open MPI, where it is installed |
//! | [`Progress`] | progress of long work, on a terminal |
//! | `results` | rows, tables, pictures; the figures of `docs/evaluation` ([`evaluation`]) |
//! | [`count`] | instructions per operation, under valgrind |
//! | [`growth`] | memory of a rank as a function of the job size |
//!
//! Every receiver checks the data that it received, and the run fails if they are wrong. Library and raw limit use the same memory in the
//! same process, or the same processes and the same network path between them.
//!
//! Absent on purpose: the start of a job, which is up to the caller of [`main`], and the judgement of results.

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
