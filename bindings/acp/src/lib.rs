//! The C interface of ACP: `libacp.so`, `libacp.a` and `include/acp.h`.
//!
//! | file | holds |
//! |---|---|
//! | `ffi` | the functions that C sees: they check nothing, decide nothing |
//! | `library` | the life of the library: init, finalize, reset, sync |
//! | `memory` | which global addresses there are: starter memory, what the program registered |
//! | `access` | copies and atomics, and the order of their handles (`docs/decisions/0011-acp-handles.md`) |
//! | `links` | how two ranks that both ask for a channel or a segment buffer find each other |
//! | `channel`, `segments` | channels; segment buffers |
//! | `data` | the data library: what C sees of containers |
//! | `simulated` | ranks of `pelago sim`: the program, in one process, as each of them |
//! | `slab` | what C knows by an opaque pointer |
//! | `turns` | one thread at a time, and waits that let others in |
//! | `refusal` | what is wrong with a call, in one line |
//!
//! A call that cannot be done says why in one line on standard error and returns what the interface has for failure. An operation that
//! fails after its call has returned ends the job with one line, because the interface has no way to tell.
//!
//! Absent on purpose: which networks exist, how ranks are started, and how operations are ordered; that is `pelago`'s.

mod access;
mod channel;
pub mod data;
pub mod ffi;
mod library;
mod links;
mod memory;
mod refusal;
mod segments;
pub mod simulated;
mod slab;
mod turns;
