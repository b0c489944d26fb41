//! Tests with many objects, which take long. Mutation tests use the other tests only.

mod failures;
mod meetings;
mod memory;
