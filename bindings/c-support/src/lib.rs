//! What the C interfaces of Pelago share.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | the program as each rank of `pelago sim`, in one process |
//! | [`monitor`] | one thread at a time, and waits that let others in |
//! | [`exit`] | how the process ends |
//! | [`simulated`] | which simulated rank runs, and the private data of each |
//! | [`binding`] | the interface that uses this crate: its name, and the end of a rank |
//! | [`slab`] | objects that C knows by an opaque pointer |
//!
//! A binding calls [`program::initialize`] from a function that the loader runs before the program, and [`exit::at_exit`] when a process joins its job.
//!
//! Absent on purpose: functions of any interface, operations, and the rules of any standard.

pub mod binding;
pub mod exit;
pub mod monitor;
pub mod program;
pub mod simulated;
pub mod slab;
