//! Exports that are generated from the table of types and routines.
#![allow(missing_docs, reason = "the standard says what each routine does")]

pub mod atomics;
pub mod collectives;
pub mod deprecated;
pub mod reductions;
pub mod rma;
pub mod signals;
pub mod waits;
