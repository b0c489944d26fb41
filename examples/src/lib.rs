//! Programs for ranks. Each is a function from arguments to an exit code, so that the `pelago` command can bundle it.
//!
//! | program | shows |
//! |---|---|
//! | [`ring`] | put, an ordered atomic, a barrier: the program of the README |

#![forbid(unsafe_code)]

pub mod ring;
