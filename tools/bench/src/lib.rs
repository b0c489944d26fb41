//! How fast one-sided operations are, next to what the machine allows.
//!
//! | file | holds |
//! |---|---|
//! | [`Arguments`] | the command line |
//! | `catalogue` | the table of what can be measured |
//! | [`Row`] | one result |
//! | `command`, `launch` | the command: starts jobs of ranks, collects their rows and shows them |
//! | `table`, `plot` | rows as text and as pictures |
//! | `rank` | what each rank does |
//! | `stage` | who sends and who receives, and how they take turns without the library's waiting |
//! | `duel` | library and raw limit by turns, so that what else the machine does falls on both |
//! | `raw` | the raw limits: the same memory with nothing but instructions |
//! | `measure/` | one file for each thing measured |
//! | `count` | instructions per operation, under valgrind |
//!
//! Every receiver reads what it received, and the run fails if it is wrong. Library and raw limit use the same memory in the same
//! process.
//!
//! Absent on purpose: how a job is started, which whoever calls [`main`] knows, and what a good result is.

mod arguments;
mod catalogue;
mod command;
pub mod count;
mod duel;
mod error;
mod launch;
mod measure;
mod plot;
mod rank;
mod raw;
mod row;
mod stage;
mod table;

pub use arguments::{Arguments, Format, Transport};
pub use command::{list, main, render};
pub use error::Error;
pub use launch::launch_rows;
pub use rank::rank_main;
pub use row::Row;
