//! The tests of this crate, one program.

mod alone;
mod jobs;
mod long;

use pelago_test_support::counting::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
