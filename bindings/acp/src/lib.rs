//! The C interface of ACP: `libacp.so`, `libacp.a` and `include/acp.h`.
//!
//! The modules, from the highest to the lowest; each uses those below it only:
//!
//! | module | holds |
//! |---|---|
//! | `program` | what the loader and `pelago sim` call: the program as each rank of a simulated job, by `pelago-c-support` |
//! | `data` | the data library: what C sees of containers |
//! | `ffi` | the functions that C sees: they check nothing, decide nothing |
//! | `library` | the life of the library: init, finalize, reset, sync |
//! | `access` | copies and atomics |
//! | `state` | what threads use one at a time |
//! | `workspaces` | the workspaces that a rank knows |
//! | `links` | channels and segment buffers, and how two ranks that both ask for one find each other |
//! | `memory` | which global addresses there are: starter memory, what the program registered |
//! | `handles` | handles and their order (`docs/decisions/0011-acp-handles.md`) |
//! | `sizes` | the size of the library's own memory, as variables |
//! | `refusal` | what is wrong with a call, in one line |
//!
//! C hands over no library, so `ffi`, `data` and `program` ask `library` for that of the calling rank; whatever is below gets what it needs as
//! arguments.
//!
//! A call that cannot be done says why in one line on standard error and returns what the interface has for failure. An operation that
//! fails after its call has returned ends the job with one line, because the interface has no way to tell.
//!
//! Absent on purpose: which networks exist, how ranks are started, and how operations are ordered; that is `pelago`'s.

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
