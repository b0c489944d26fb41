//! The counting allocator counts.

use pelago_test_support::counting::{CountingAllocator, allocations};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn allocations_are_counted() {
    let before = allocations();
    drop(std::hint::black_box(vec![1_u8; 10]));
    assert_eq!(allocations(), before + 1);
    let mut grows = std::hint::black_box(vec![1_u8; 10]);
    grows.reserve_exact(1000);
    assert_eq!(allocations(), before + 3, "growing asks again");
}
