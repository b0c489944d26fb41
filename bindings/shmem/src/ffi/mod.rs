//! The exported C functions. Each passes its arguments on.
//!
//! | file | holds |
//! |---|---|
//! | `macros` | one macro for each kind of routine |
//! | `exports` | generated calls of these macros, with the names of all routines |
//! | `plain` | routines without types |
//! | `deprecated` | routines of earlier versions |
//!
//! Invariant **B4**: pointers from the program satisfy the requirements of the standard.
//!
//! Every routine `shmem_x` has a second symbol `pshmem_x`, a jump to it. The library itself calls neither, so that a program or a profiling tool can
//! define `shmem_x` and call `pshmem_x`.

#[macro_use]
pub(crate) mod macros;
pub mod deprecated;
pub mod exports;
pub mod plain;
