//! Joining and leaving a job.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};

use pelago_base::{AddressLayout, Rank, SegmentId, Team};
use pelago_rma::{Advance, Background, BarrierAlgorithm, Context, Error, GlobalPtr, Group, Result, World};

use super::scripted::{HEAP_BYTES, RANKS, Script, lone, lone_with, parts, word};

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

/// Background work that puts a word to a rank.
struct Puts(u32, RefCell<Option<Result<()>>>);

impl Background for Puts {
    fn advance(&self, context: &Context) -> Advance {
        let put = context.put(word(self.0), &[1]).map(drop);
        self.1.replace(Some(put));
        Advance::Done
    }
}

/// The rank waits in its bootstrap, which has the addresses of the others. In a thread of its own, because the rank would wait for itself.
#[test]
fn a_rank_that_leaves_does_not_wait_for_itself() {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let (world, script) = lone(RANKS);
        world.put(word(1), &[1]).unwrap();
        script.lock().unwrap().complete(0, Ok(0));
        world.quiet().unwrap();
        let puts = [1, 2].map(|rank| Rc::new(Puts(rank, RefCell::default())));
        for puts in &puts {
            let background: Rc<dyn Background> = puts.clone();
            world.go_on_with(&background).unwrap();
        }
        let left = world.leave();
        tell.send((left, puts.map(|puts| puts.1.take()))).unwrap();
    });
    let (left, [before, new]) = told.recv_timeout(std::time::Duration::from_secs(60)).expect("it leaves");
    assert_eq!((left, before), (Ok(()), Some(Ok(()))));
    assert_eq!(new, Some(Err(Error::Invalid("a rank that leaves the job connects to no further rank"))));
}
