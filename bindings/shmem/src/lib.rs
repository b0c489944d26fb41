//! OpenSHMEM 1.6: `libsma.so`, `libsma.a`, `include/shmem.h` and `include/shmemx.h`.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | `program` | entry points for the loader and `pelago sim` |
//! | `ffi` | the exported C functions; `ffi/exports` is generated from one table of types and routines |
//! | `lifecycle` | initialization, finalization, the end of the job |
//! | `locks` | fair locks |
//! | `collectives` | synchronization, broadcast, collects, exchanges, reductions and scans of teams |
//! | `waiting` | waits and tests of memory |
//! | `transfer`, `atomics` | puts, gets and signals; atomics |
//! | `heap` | the symmetric heap |
//! | `library` | the library in this process: teams, contexts, addresses |
//! | `statics` | variables of the executable in memory of the job |
//! | `values` | types of elements, and operators of reductions |
//! | `addresses` | access to memory by its address in this process |
//! | `refusal` | misuse: an error message of one line, and the end of the job |
//! | `limits` | bounds |
//!
//! A PE is a rank. A symmetric address is an address of this process: the symmetric heap and the variables of the executable lie at the same
//! offsets in the memory of every rank, so that an offset and the number of a PE give a global address.
//!
//! Absent on purpose: networks, launchers, and the order of operations, which the crate `pelago` provides.

mod addresses;
mod atomics;
mod collectives;
pub mod ffi;
mod heap;
mod library;
mod lifecycle;
mod limits;
mod locks;
pub mod program;
mod refusal;
mod statics;
mod transfer;
mod values;
mod waiting;
