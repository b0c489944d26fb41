//! The functions that C sees. Each hands its arguments on.
//!
//! | file | holds |
//! |---|---|
//! | `macros` | one macro for each kind of routine |
//! | `exports` | their calls, with the names of all routines: generated |
//! | `plain` | routines without types |
//! | `deprecated` | routines of earlier versions |
//!
//! Invariant **B4**: pointers that come from a program are what the standard says.
//!
//! Every routine `shmem_x` has a second symbol `pshmem_x`, a jump to it; the library itself calls neither, so that a program or a tool may define
//! `shmem_x` and call `pshmem_x`.

#[macro_use]
pub(crate) mod macros;
pub mod deprecated;
pub mod exports;
pub mod plain;
