//! Tests of many, which take long. Mutants are tried by the others alone.

mod failures;
mod meetings;
mod memory;
