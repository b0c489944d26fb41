//! How fast one-sided operations are, next to what the machine allows.
//!
//! | file | holds |
//! |---|---|
//! | [`Arguments`] | the command line |
//! | `catalogue` | the table of what can be measured |
//! | [`Row`] | one result |
//! | `command`, `launch` | the command: starts jobs of ranks, collects their rows and shows them |
//! | `table`, `plot` | rows as text and as pictures |
//! | [`evaluation`] | the figures of `docs/evaluation` as pictures |
//! | `rank` | what each rank does |
//! | `stage` | who sends and who receives, and how they take turns without the library's waiting |
//! | `duel` | library and raw limit by turns, so that what else the machine does falls on both |
//! | `limit` | which raw limit stands beside the library |
//! | `raw` | that of mapped memory: the same memory with nothing but instructions |
//! | `raw_udp` | that over UDP: plain sockets |
//! | `measure/` | one file for each thing measured |
//! | [`count`] | instructions per operation, under valgrind |
//! | [`growth`] | memory of a rank of a job however large |
//!
//! Every receiver reads what it received, and the run fails if it is wrong. Library and raw limit use the same memory in the same
//! process, or the same processes and the same way between them.
//!
//! Absent on purpose: how a job is started, which whoever calls [`main`] knows, and what a good result is.

mod arguments;
mod catalogue;
mod command;
pub mod count;
mod duel;
mod error;
pub mod evaluation;
pub mod growth;
mod launch;
mod limit;
mod measure;
mod plot;
mod rank;
mod raw;
mod raw_udp;
mod row;
mod stage;
mod table;

pub use arguments::{Arguments, Format, Transport};
pub use command::{list, main, render, rows};
pub use error::Error;
pub use launch::launch_rows;
pub use rank::rank_main;
pub use row::Row;
