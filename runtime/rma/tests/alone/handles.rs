//! The information of a context about its job, and handles of operations.

use std::sync::{Arc, Mutex};

use pelago_base::{Rank, Shape};
use pelago_platform::{Failure, Fault, Rail};
use pelago_rma::{Error, Handle, World};

use super::scripted::{ALONE, Kind, RANKS, Script, lone, word};

fn complete(world: &World, script: &Arc<Mutex<Script>>, index: usize, result: Result<u64, Failure>) {
    script.lock().unwrap().complete(index, result);
    world.progress();
}

#[test]
fn a_context_knows_its_job() {
    let (world, _) = lone(RANKS);
    assert_eq!((world.rank(), world.size()), (Rank::new(0), 3));
    assert_eq!(world.ranks().collect::<Vec<_>>(), [0, 1, 2].map(Rank::new));
    assert_eq!([0, 1, 2].map(|rank| world.maps(Rank::new(rank))), [true, false, false]);
    assert_eq!(world.reach().ranks().len(), 1);
    let [first, second, all, none] = [0, 1, 2, 3].map(|number| Rail::new(number).unwrap());
    assert_eq!((world.rails().len(), world.rails().to(Rank::new(1)), world.rails().all()), (2, first, Some(all)));
    let reached = |rank| [first, second, all, none].map(|rail| world.rails().reach(rail, rank));
    assert_eq!(reached(Rank::new(1)), [true, true, true, false]);
    assert_eq!((reached(ALONE), reached(Rank::new(3))), ([false; 4], [false; 4]));
    assert!(world.moves_data(), "all of it");
}

#[test]
fn a_handle_says_whether_its_operation_has_ended() {
    let (world, script) = lone(RANKS);
    let done = world.put(word(0), &[1]).unwrap();
    assert!(done.was_done_at_once() && Handle::done().was_done_at_once());
    assert_eq!((done.has_ended(), done.test(), done.wait()), (Ok(true), Ok(true), Ok(())));
    let found = world.fetch_add(word(0), 2).unwrap();
    assert_eq!((found.handle().was_done_at_once(), found.test(), found.wait()), (true, Ok(true), Ok(1)));
    let pending = world.fetch_add(word(1), 1).unwrap();
    let handle = pending.handle();
    assert!(!handle.was_done_at_once());
    assert_eq!((handle.has_ended(), handle.test(), pending.test()), (Ok(false), Ok(false), Ok(false)));
    script.lock().unwrap().complete(0, Ok(9));
    assert_eq!(handle.has_ended(), Ok(false), "nothing moves by asking");
    assert_eq!((handle.test(), handle.has_ended(), pending.test()), (Ok(true), Ok(true), Ok(true)));
    assert_eq!((pending.wait(), handle.wait()), (Ok(9), Ok(())));
}

#[test]
fn all_of_several_operations_are_waited_for() {
    let (world, script) = lone(RANKS);
    let handles = [0, 1, 1, 2].map(|rank| world.put(word(rank), &[1]).unwrap());
    let (first, second) = (Failure::PeerLost(Rank::new(1)), Failure::PeerLost(Rank::new(2)));
    assert_eq!(world.wait_all(&handles), Err(Error::Fault(Fault::Deadlock)));
    complete(&world, &script, 0, Ok(0));
    complete(&world, &script, 1, Err(first));
    complete(&world, &script, 2, Err(second));
    assert_eq!(world.wait_all(&handles), Err(Error::Failed(first)), "the first, when all have ended");
    assert_eq!(world.wait_all(&handles[..2]), Ok(()));
    assert_eq!((world.quiet(), world.wait_all(&[])), (Ok(()), Ok(())), "their handles have told");
}

/// An error that concerns the call must not hide the failure of an operation.
#[test]
fn a_wait_for_handles_of_several_contexts_reports_no_failure_as_told() {
    let (world, script) = lone(RANKS);
    let other = world.context_factory().context().unwrap();
    let handles = [world.put(word(1), &[1]).unwrap(), other.put(word(1), &[1]).unwrap()];
    let lost = Failure::PeerLost(Rank::new(1));
    complete(&world, &script, 0, Err(lost));
    assert_eq!(world.wait_all(&handles), Err(Error::ForeignHandle));
    assert_eq!(world.quiet(), Err(Error::Failed(lost)));
    complete(&world, &script, 1, Ok(0));
}

#[test]
fn one_of_several_operations_is_waited_for() {
    let (world, script) = lone(RANKS);
    let handles = [1, 1, 2].map(|rank| world.put(word(rank), &[1]).unwrap());
    assert_eq!(world.wait_any(&handles), Err(Error::Fault(Fault::Deadlock)));
    complete(&world, &script, 1, Ok(0));
    assert_eq!(world.wait_any(&handles), Ok(Some(1)));
    assert_eq!(world.wait_any(&[handles[0], Handle::done()]), Ok(Some(1)));
    let lost = Failure::PeerLost(Rank::new(2));
    complete(&world, &script, 2, Err(lost));
    assert_eq!(world.wait_any(&handles[2..]), Err(Error::Failed(lost)));
    let other = world.context_factory().context().unwrap();
    assert_eq!(other.wait_any(&handles), Err(Error::ForeignHandle));
    complete(&world, &script, 0, Ok(0));
}

#[test]
fn a_chain_has_the_handle_of_its_last_operation() {
    let (world, script) = lone(RANKS);
    assert!(world.chain().handle().was_done_at_once());
    let chain = world.chain().then(|next| next.put(word(1), &[1])).unwrap();
    let first = chain.handle();
    let chain = chain.then(|next| next.put(word(2), &[2])).unwrap();
    assert_eq!(script.lock().unwrap().posted().len(), 1, "the second waits for the first");
    complete(&world, &script, 0, Ok(0));
    assert_eq!((first.test(), chain.handle().test()), (Ok(true), Ok(false)));
    complete(&world, &script, 1, Ok(0));
    assert_eq!(chain.wait(), Ok(()));
}

#[test]
fn what_concerns_one_rank_is_flushed_by_itself() {
    let (world, script) = lone(RANKS);
    let deadlock = Err(Error::Fault(Fault::Deadlock));
    world.put(word(1), &[1]).unwrap();
    world.on(Rail::new(1).unwrap()).put(word(1), &[1]).unwrap();
    assert_eq!([0, 1, 2].map(|rank| world.flush(Rank::new(rank))), [Ok(()), deadlock.clone(), Ok(())]);
    complete(&world, &script, 0, Ok(0));
    assert_eq!([1, 2].map(|rank| world.flush(Rank::new(rank))), [deadlock.clone(), Ok(())], "by any rail");
    assert_eq!(world.flush_all(), deadlock);
    complete(&world, &script, 1, Ok(0));
    assert_eq!((world.flush(Rank::new(1)), world.flush_all()), (Ok(()), Ok(())));
}

/// A copy from or to this rank's own memory needs no request to another rank.
#[test]
fn a_copy_from_or_to_own_memory_is_a_put_or_a_get() {
    let (world, script) = lone(RANKS);
    let (dense, sparse) = (Shape::strided(2, 1, 1), Shape::strided(2, 1, 2));
    let after = world.after(&Handle::done());
    world.copy(word(0), word(1), 1).unwrap();
    after.copy(word(0), word(1), 100).unwrap();
    world.copy(word(1), word(0), 1).unwrap();
    after.copy(word(1), word(0), 100).unwrap();
    world.copy(word(1), word(2), 1).unwrap();
    assert_eq!(script.lock().unwrap().kinds, [Kind::Put, Kind::Put, Kind::Get, Kind::Get, Kind::Copy]);
    world.copy_strided(word(0), dense, word(1), sparse).unwrap();
    world.copy_strided(word(1), sparse, word(0), dense).unwrap();
    world.copy_strided(word(1), sparse, word(2), dense).unwrap();
    let kinds = [Kind::Put, Kind::Put, Kind::Get, Kind::Get, Kind::Copy, Kind::Copy];
    assert_eq!(script.lock().unwrap().kinds[5..], kinds);
    // Registered memory of this rank is not known to exist.
    let memory = world.register(vec![1_u64; 2]).unwrap();
    world.copy(memory.ptr(0), word(1), 1).unwrap();
    world.copy(word(1), memory.ptr(0), 1).unwrap();
    assert_eq!(script.lock().unwrap().kinds[11..], [Kind::Copy; 2]);
    (0..13).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.quiet(), Ok(()));
}

/// The transport captures words and short writes, the operation captures long ones.
#[test]
fn a_put_is_a_write_as_far_as_the_transport_captures() {
    let (world, script) = lone(RANKS);
    for values in [0, 1, 8, 9] {
        world.put(word(1), &vec![1_u64; values]).unwrap();
    }
    world.after_all().put(word(1), &[1; 8]).unwrap();
    world.get_into(word(1), &mut [0_u64; 0]).unwrap();
    assert_eq!(script.lock().unwrap().kinds, [Kind::Write, Kind::Write, Kind::Write, Kind::Put, Kind::Write]);
    (0..5).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.quiet(), Ok(()));
}
