//! The C interface of ACP: `libacp.so`, `libacp.a` and `include/acp.h`.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | `program` | entry points for the loader and `pelago sim`, which simulate the program by `pelago-c-support` |
//! | `data` | the data library: exported C functions of containers |
//! | `ffi` | the other exported C functions: they contain no checks and no decisions |
//! | `library` | the life of the library: init, finalize, reset, sync |
//! | `access` | copies and atomics |
//! | `state` | the state that one thread uses at a time |
//! | `workspaces` | the open workspaces of a rank |
//! | `links` | channels and segment buffers, and the connection of two ranks that both ask for one |
//! | `memory` | the valid global addresses: starter memory, the heap, registered memory |
//! | `handles` | handles and their order (`docs/decisions/0011-acp-handles.md`) |
//! | `sizes` | the sizes of the library's own memory, as exported variables |
//! | `refusal` | the reason why a call is refused, as one line |
//!
//! C functions have no argument for the library, so `ffi`, `data` and `program` get that of the calling rank from `library`. The modules below
//! receive all state as arguments.
//!
//! A call that cannot be performed writes the reason as one line to standard error and returns the failure value of the interface. An operation
//! that fails after its call has returned ends the job with one line, because the interface has no means to report the failure.
//!
//! Absent on purpose: networks, the start of ranks, and the order of operations, which the crate `pelago` provides.

mod access;
pub mod data;
pub mod ffi;
mod handles;
mod library;
mod links;
mod memory;
pub mod program;
mod refusal;
pub mod sizes;
mod state;
mod workspaces;
