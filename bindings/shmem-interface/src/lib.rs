//! OpenSHMEM 1.6 as one table of types and routines, and the files generated from it: `bindings/shmem/include/shmem.h`, the files of
//! `bindings/shmem/src/ffi/exports`, and a list for a test program. The test of this crate compares the committed files with the table.
//!
//! | module | holds |
//! |---|---|
//! | [`types`] | the types of elements, and the sets of them that families of routines have |
//! | [`routines`] | the families of routines, and each routine with its exact signature |
//! | [`header`] | `shmem.h`: prototypes, C11 generics, C++ overloads |
//! | [`exports`] | the Rust files of the exported functions |
//! | [`checks`] | a list of reductions for a test program |
//!
//! Absent on purpose: the implementation of the routines.

#![forbid(unsafe_code)]

pub mod checks;
pub mod exports;
pub mod header;
pub mod routines;
pub mod types;

/// Returns the generated files: their paths from the root of the repository, and their texts.
pub fn files() -> Vec<(String, String)> {
    let mut files = vec![("bindings/shmem/include/shmem.h".to_owned(), header::header())];
    files.extend(exports::files());
    files.push(checks::reductions());
    files
}
