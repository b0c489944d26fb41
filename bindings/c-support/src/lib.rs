//! Support code that the C interfaces of Pelago share.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | [`program`] | the program as each rank of `pelago sim`, in one process |
//! | [`monitor`] | mutual exclusion of threads, with waits that hand over the lock |
//! | [`exit`] | how the process ends |
//! | [`simulated`] | the simulated rank that runs, and the private data of each rank |
//! | [`binding`] | the interface that uses this crate: its name, and its function that leaves the job |
//! | [`slab`] | objects that C code names by an opaque pointer |
//!
//! A binding calls [`program::initialize`] from a function that the loader runs before the program, and [`exit::at_exit`] when a process joins its job.
//!
//! Absent on purpose: the functions of an interface, operations, and the rules of a standard.

pub mod binding;
pub mod exit;
pub mod monitor;
pub mod program;
pub mod simulated;
pub mod slab;
