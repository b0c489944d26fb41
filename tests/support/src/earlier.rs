//! Calls after an operation of the program that has failed, and whose failure the program has not learned yet.

use pelago_base::{Rank, SegmentId};
use pelago_rma::{Error, Failure, GlobalPtr, World};

/// Calls `call` after rank 0 has put to memory of rank 1 that is not registered and has dropped the handle: a collective call must neither report the
/// failure, because the other ranks would wait for rank 0, nor lose it. Collective; the job has two ranks at least.
///
/// # Panics
/// The next `quiet` does not report the failure.
pub fn after_a_failure<R>(world: &World, call: impl FnOnce() -> R) -> R {
    let nowhere = world.reach().addresses().encode(Rank::new(1), SegmentId::REGISTERED_FIRST, 0).unwrap();
    let fails = world.rank() == Rank::new(0);
    if fails {
        world.put(GlobalPtr::<u64>::from_address(nowhere).unwrap(), &[1]).unwrap();
    }
    let result = call();
    let failed = Err(Error::Failed(Failure::OutOfBounds(nowhere)));
    assert_eq!(world.quiet(), if fails { failed } else { Ok(()) }, "the failure is still to be reported");
    result
}
