//! Joining and leaving a job.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, Rank, SegmentId, Team};
use pelago_rma::{BarrierAlgorithm, Error, GlobalPtr, Group, World};

use super::scripted::{HEAP_BYTES, Script, lone, lone_with, parts};

#[test]
fn a_rank_publishes_how_others_reach_it() {
    let published = |size| lone(size).1.lock().unwrap().published.keys().cloned().collect::<Vec<_>>();
    assert_eq!(published(3), ["barrier", "scripted"], "where all are on one host, one decides how they meet");
}

#[test]
fn a_heap_has_to_hold_what_meetings_need() {
    let script = Arc::new(Mutex::new(Script::default()));
    let world = World::new(parts(1, 4096, &script, u64::MAX)).map(drop);
    assert!(matches!(world, Err(Error::NoMemory { bytes: 16_385.., heap_bytes: 4096, .. })), "{world:?}");
}

/// The first word of the heap counts arrivals at central barriers.
#[test]
fn ranks_that_share_cores_meet_centrally() {
    let arrived = AddressLayout::new(1, HEAP_BYTES).unwrap().encode(Rank::new(0), SegmentId::SYMMETRIC, 0).unwrap();
    for is_oversubscribed in [false, true] {
        let (world, _) = lone_with(1, Script::of_oversubscribed(is_oversubscribed), u64::MAX);
        let group = world.group(&Team::all(1)).unwrap().unwrap();
        (0..3).for_each(|_| world.barrier().unwrap());
        group.barrier().unwrap();
        let come = |world: &World| world.get(GlobalPtr::<u64>::from_address(arrived).unwrap());
        assert_eq!(come(&world), Ok(3 * u64::from(is_oversubscribed)));
        group.barrier_by(BarrierAlgorithm::Central).unwrap();
        assert_eq!(come(&world), Ok(3 * u64::from(is_oversubscribed)), "a group has a word of its own");
        world.barrier_by(BarrierAlgorithm::Central).unwrap();
        assert_eq!(come(&world), Ok(3 * u64::from(is_oversubscribed) + 1));
    }
}

/// In a tree rank 0 waits for the others first; otherwise it signals another rank first.
#[test]
fn ranks_that_share_cores_and_no_memory_meet_in_a_tree() {
    for (is_oversubscribed, told) in [(true, 0), (false, 1)] {
        let (world, script) = lone_with(3, Script::of_oversubscribed(is_oversubscribed), u64::MAX);
        assert!(world.barrier().is_err(), "nobody else comes");
        assert_eq!(script.lock().unwrap().kinds.len(), told);
    }
}

#[test]
fn a_root_that_there_is_not_is_refused() {
    let (world, _) = lone(1);
    let group = world.group(&Team::all(1)).unwrap().unwrap();
    assert_eq!((group.position(), group.team().size()), (0, 1));
    let mut values = [7];
    assert!(catch_unwind(AssertUnwindSafe(|| world.broadcast(Rank::new(1), &mut [0]))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| group.broadcast(1, &mut [0]))).is_err());
    assert_eq!((world.broadcast(Rank::new(0), &mut values), group.broadcast(0, &mut values), values), (Ok(()), Ok(()), [7]));
}

#[test]
fn barriers_tell_of_failures_as_quiet_does() {
    let barriers: [fn(&World, &Group<'_>) -> pelago_rma::Result<()>; 4] = [
        |world, _| world.barrier(),
        |world, _| world.barrier_by(BarrierAlgorithm::Ring),
        |_, group| group.barrier(),
        |_, group| group.barrier_by(BarrierAlgorithm::Ring),
    ];
    let outside = AddressLayout::new(1, HEAP_BYTES).unwrap().encode(Rank::new(0), SegmentId::SYMMETRIC, HEAP_BYTES - 8).unwrap();
    for barrier in barriers {
        let (world, script) = lone(1);
        let group = world.group(&Team::all(1)).unwrap().unwrap();
        world.put(GlobalPtr::<u64>::from_address(outside).unwrap(), &[1, 2]).unwrap();
        let failure = pelago_rma::Failure::OutOfBounds(outside);
        script.lock().unwrap().complete(0, Err(failure));
        let ended = [barrier(&world, &group), barrier(&world, &group)];
        assert_eq!(ended, [Err(Error::Failed(failure)), Ok(())]);
    }
}
