//! The time at which operations with predecessors are posted, and at which waits poll the transport.

use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, Block, GlobalAddress, Rank, SegmentId, Shape};
use pelago_platform::limits::CAPTURED_BYTES_MAX;
use pelago_platform::{Endpoint, Failure, Fault, For, Rail};
use pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX;
use pelago_rma::{BarrierAlgorithm, Error, GlobalPtr, Handle, Ordered, World};

use super::scripted::Call::{self, Fence, Post};
use super::scripted::{ALONE, Answer, HEAP_BYTES, Kind, POLLS, POLLS_ALONE, RANKS, Said, Script, lone, word};

/// A job and the requests to its transport.
struct Job {
    world: World,
    script: Arc<Mutex<Script>>,
}

impl Job {
    fn new() -> Self {
        let (world, script) = lone(RANKS);
        Self { world, script }
    }

    fn calls(&self) -> Vec<Call> {
        self.script.lock().unwrap().calls.clone()
    }

    /// Completes an operation and makes the library process the completion.
    fn complete(&self, index: usize, result: Result<u64, Failure>) {
        self.script.lock().unwrap().complete(index, result);
        self.world.progress();
    }

    fn refuse(&self, times: usize) {
        self.script.lock().unwrap().refusals = times;
    }

    fn put(&self, to: GlobalPtr<u64>) -> Handle<'_> {
        self.world.put(to, &[1]).unwrap()
    }
}

/// Returns a pointer to the word at `offset` of a segment.
fn word_in(segment: u32, rank: u32, offset: u64) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    let address = layout.encode(Rank::new(rank), SegmentId::new(segment).unwrap(), offset).unwrap();
    GlobalPtr::from_address(address).unwrap()
}

#[test]
fn a_put_after_a_put_to_the_same_rank_does_not_wait_for_it() {
    let job = Job::new();
    let first = job.put(word(1));
    let progressed = || job.script.lock().unwrap().progressed;
    let before = progressed();
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    let third = job.world.after(&second).put(word_in(2, 1, 0), &[3; 20]).unwrap();
    assert_eq!(job.calls(), [Post(1), Fence(1), Post(1), Fence(1), Post(1)]);
    assert_eq!(progressed(), before, "nobody asks whether it has ended");
    job.complete(2, Ok(0));
    job.complete(1, Ok(0));
    assert_eq!([first, second, third].map(|handle| handle.test()), [Ok(false), Ok(false), Ok(false)], "ends keep their order");
    job.complete(0, Ok(0));
    assert_eq!([first, second, third].map(|handle| handle.test()), [Ok(true), Ok(true), Ok(true)]);
}

#[test]
fn a_get_of_several_operations_that_fail_fails_once() {
    let job = Job::new();
    job.script.lock().unwrap().answer = Answer::Denies;
    let got = job.world.get_into(word(1), &mut vec![0; HEAP_BYTES as usize / 8]);
    assert!(matches!(got, Err(Error::Failed(Failure::OutOfBounds(_)))));
    assert_eq!(job.world.quiet(), Ok(()), "all have ended, and nobody else is told");
}

#[test]
fn every_kind_of_operation_follows_every_kind() {
    let job = Job::new();
    let (world, to) = (&job.world, word(1));
    let shape = Shape::strided(2, 1, 2);
    let put = world.put_strided(to, shape, &[1, 2, 3], shape).unwrap();
    let added = world.after(&put).fetch_add(to, 1).unwrap();
    let fetched = world.after(&added.handle()).copy(to, word(0), 1).unwrap();
    assert_eq!(job.calls(), [Post(1), Post(1), Fence(1), Post(1), Fence(1), Post(1)]);
    for index in 0..4 {
        job.complete(index, Ok(9));
    }
    assert_eq!(added.wait(), Ok(9));
    fetched.wait().unwrap();
}

#[test]
fn a_put_to_another_rank_waits() {
    let job = Job::new();
    let first = job.put(word(1));
    let second = job.world.after(&first).put(word(2), &[2]).unwrap();
    job.world.progress();
    assert_eq!(job.calls(), [Post(1)]);
    job.complete(0, Ok(0));
    assert_eq!(job.calls(), [Post(1), Post(2)]);
    assert_eq!((first.test(), second.test()), (Ok(true), Ok(false)));
    job.complete(1, Ok(0));
    assert_eq!(second.test(), Ok(true));
}

#[test]
fn after_all_follows_where_all_went_to_the_same_rank() {
    let job = Job::new();
    job.put(word(1));
    job.put(word(1));
    job.world.after_all().put(word(1), &[2]).unwrap();
    assert_eq!(job.calls(), [Post(1), Post(1), Fence(1), Post(1)]);
    job.put(word(2));
    job.world.after_all().put(word(1), &[2]).unwrap();
    job.world.after_all().put(word(2), &[2]).unwrap();
    assert_eq!(job.calls()[4..], [Post(2)], "one of them went elsewhere");
    (0..4).for_each(|index| job.complete(index, Ok(0)));
    assert_eq!(job.calls()[5..], [Post(1)], "the last waits for all before it");
    job.complete(4, Ok(0));
    assert_eq!(job.calls()[6..], [Post(2)]);
    job.complete(5, Ok(0));
}

#[test]
fn what_comes_after_all_learns_first_what_has_ended() {
    let job = Job::new();
    let first = job.put(word(1));
    job.put(word(2));
    (0..2).for_each(|index| job.script.lock().unwrap().complete(index, Ok(0)));
    job.world.after_all().put(word(1), &[2]).unwrap();
    assert_eq!(job.calls(), [Post(1), Post(2), Post(1)], "all have ended");
    assert_eq!(first.has_ended(), Ok(true));
    job.complete(2, Ok(0));
}

#[test]
fn what_may_fail_by_its_address_is_waited_for() {
    let last = HEAP_BYTES - 8;
    let registered = SegmentId::REGISTERED_FIRST.number();
    for (first, values) in [(word_in(1, 1, last), 2), (word_in(registered, 1, 0), 1)] {
        let job = Job::new();
        let failing = job.world.put(first, &[1; 2][..values]).unwrap();
        let second = job.world.after(&failing).put(word(1), &[2]).unwrap();
        assert_eq!(job.calls(), [Post(1)]);
        let failure = Failure::OutOfBounds(first.address());
        job.complete(0, Err(failure));
        assert_eq!(job.calls(), [Post(1)], "it has no effect");
        assert_eq!(second.wait(), Err(Error::Failed(failure)));
    }
}

/// Immediately, if no operation is in flight; an operation with predecessors reports it by its handle.
#[test]
fn an_address_of_no_rank_is_reported_once() {
    let job = Job::new();
    let nowhere = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(!7)).unwrap();
    let failed = Err(Error::Failed(Failure::OutOfBounds(nowhere.address())));
    assert_eq!((job.world.put(nowhere, &[1]).map(drop), job.world.quiet()), (failed.clone(), Ok(())));
    let first = job.put(word(1));
    let second = job.world.after(&first).put(nowhere, &[2]).unwrap();
    assert_eq!(second.has_ended(), Ok(false));
    job.complete(0, Ok(0));
    assert_eq!((job.world.quiet(), second.wait(), job.world.quiet()), (failed.clone(), failed, Ok(())));
    assert_eq!(job.calls(), [Post(1)]);
}

/// The transport is not asked for the route either.
#[test]
fn a_rank_that_the_job_does_not_have_fails_what_goes_to_it() {
    let job = Job::new();
    let [rail, all] = [Rail::new(0).unwrap(), job.world.rails().all().unwrap()];
    let bits = |rank| word(rank).address().bits();
    let nowhere = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(2 * bits(2) - bits(1))).unwrap();
    let failed = Err(Error::Failed(Failure::OutOfBounds(nowhere.address())));
    for rail in [rail, all] {
        assert_eq!(job.world.on(rail).put(nowhere, &[1; LONG]).and_then(Handle::wait), failed);
        assert_eq!(job.world.on(rail).copy(nowhere, word(1), LONG).and_then(Handle::wait), failed);
    }
    assert_eq!((job.world.quiet(), job.calls()), (Ok(()), vec![]));
}

/// The rank is not known to have failed.
#[test]
fn a_rank_that_no_way_leads_to_is_unreachable() {
    let job = Job::new();
    let rail = Rail::new(0).unwrap();
    // The second block lies in the heap of the next rank.
    let from = word_in(1, 1, HEAP_BYTES - 8);
    let across = Shape::strided(2, 1, (word(ALONE.number()).address().bits() - from.address().bits()) / 8);
    let copied = job.world.on(rail).copy_strided(from, across, word(0), Shape::strided(2, 1, 1)).unwrap();
    job.complete(0, Ok(0));
    assert_eq!(copied.wait(), Err(Error::Failed(Failure::Unreachable(ALONE))));
    assert_eq!(job.calls(), [Post(11)]);
}

/// Operations on mapped memory need no transport, even if they had predecessors; and they wake a rank that sleeps there.
#[test]
fn what_is_mapped_is_done_when_its_turn_comes() {
    type Issue = fn(Ordered<'_>) -> Handle<'_>;
    const SPARSE: Shape = Shape { block: 1, counts: [1, 1, 2], strides: [0, 0, 2] };
    let issues: [(&str, Issue); 5] = [
        ("put", |order| order.put(word(0), &[7]).unwrap()),
        ("long put", |order| order.put(word(0), &[7; 100]).unwrap()),
        ("put_strided", |order| order.put_strided(word(0), SPARSE, &[7, 8, 9], SPARSE).unwrap()),
        ("copy", |order| order.copy(word_in(2, 0, 8), word(0), 1).unwrap()),
        ("add", |order| order.add(word(0), 7).unwrap()),
    ];
    for (name, issue) in issues {
        let job = Job::new();
        job.world.put(word_in(2, 0, 8), &[7]).unwrap();
        let first = job.put(word(1));
        let second = issue(job.world.after(&first));
        let bell = job.world.reach().bell(Rank::new(0)).unwrap();
        bell.sleep(None, &mut || true);
        assert_eq!((job.world.get(word(0)), bell.has_sleeper()), (Ok(0), true), "{name}: it waits");
        job.complete(0, Ok(0));
        assert_eq!((job.world.get(word(0)), bell.has_sleeper(), second.has_ended()), (Ok(7), false, Ok(true)), "{name}");
        assert_eq!(job.calls(), [Post(1)], "{name}");
    }
}

#[test]
fn nothing_is_posted_for_no_bytes() {
    let job = Job::new();
    let empty = Shape { block: 0, ..Shape::strided(3, 1, 2) };
    let handles = [
        job.world.put_strided(word(1), empty, &[1; 9], empty).unwrap(),
        job.world.copy(word(0), word(1), 0).unwrap(),
        job.world.copy(word(1), word(0), 0).unwrap(),
        job.world.copy(word(1), word(2), 0).unwrap(),
    ];
    assert_eq!(job.world.get_into(word(1), &mut [0; 0]), Ok(()));
    assert_eq!(job.world.get_strided(word(1), empty, &mut [1; 9], empty), Ok(()));
    assert_eq!((handles.map(|handle| handle.has_ended()), job.calls()), ([const { Ok(true) }; 4], vec![]));
}

#[test]
fn a_rank_is_connected_to_once_by_each_rail() {
    let job = Job::new();
    let [first, second] = [0, 1].map(|number| Rail::new(number).unwrap());
    for _ in 0..2 {
        for rank in [1, 2] {
            job.put(word(rank));
            job.world.add(word(rank), 1).unwrap();
        }
        for rail in [first, second] {
            job.world.on(rail).put(word(1), &[1]).unwrap();
        }
    }
    assert_eq!(job.script.lock().unwrap().connected, [1, 2, 11, 21].map(Endpoint));
    (0..12).for_each(|index| job.complete(index, Ok(0)));
}

#[test]
fn a_copy_between_two_ranks_is_waited_for() {
    let job = Job::new();
    let copied = job.world.copy(word(1), word(2), 1).unwrap();
    job.world.after(&copied).put(word(1), &[2]).unwrap();
    assert_eq!(job.calls(), [Post(1)], "it may fail with the rank that it goes to");
    job.complete(0, Ok(0));
    job.complete(1, Ok(0));
}

#[test]
fn what_is_posted_to_several_ranks_waits() {
    let job = Job::new();
    let first = job.put(word(1));
    // From the last word of rank 1's heap into the heap of rank 2, by address arithmetic.
    let across = Shape::strided(2, 1, 1024);
    job.world.after(&first).copy_strided(word_in(1, 1, HEAP_BYTES - 8), across, word(1), Shape::strided(2, 1, 1)).unwrap();
    assert_eq!(job.calls(), [Post(1)]);
    job.complete(0, Ok(0));
    assert_eq!(job.calls()[1..], [Post(1), Post(2)]);
    job.complete(1, Ok(0));
    job.complete(2, Ok(0));
}

#[test]
fn a_lost_peer_fails_both() {
    let job = Job::new();
    let first = job.put(word(1));
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    let lost = Failure::PeerLost(Rank::new(1));
    job.complete(1, Ok(0));
    job.complete(0, Err(lost));
    assert_eq!(first.wait(), Err(Error::Failed(lost)));
    assert_eq!(second.wait(), Err(Error::Failed(lost)));
}

#[test]
fn what_is_refused_is_posted_in_order_when_there_is_room() {
    let job = Job::new();
    job.refuse(2);
    let first = job.put(word(1));
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    job.world.after(&second).put(word(1), &[3]).unwrap();
    assert_eq!(job.calls(), [Post(1), Fence(1), Post(1), Fence(1), Post(1)], "learning whether the first has ended made room");
    (0..3).for_each(|index| job.complete(index, Ok(0)));

    let job = Job::new();
    let first = job.put(word(1));
    job.refuse(1);
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    assert_eq!(job.calls(), [Post(1), Fence(1)], "refused as a write");
    job.world.progress();
    assert_eq!(job.calls()[2..], [Fence(1), Post(1)], "with its own buffer");
    job.complete(1, Ok(0));
    assert_eq!(second.test(), Ok(false));
    job.complete(0, Ok(0));
    assert_eq!(second.test(), Ok(true));
}

#[test]
fn a_full_transport_is_asked_again_after_progress_only() {
    let job = Job::new();
    job.refuse(10);
    job.put(word(1));
    job.put(word(1));
    assert_eq!(job.script.lock().unwrap().refusals, 7, "one try, and one after each of two rounds of progress");
    assert!(!job.world.progress(), "nothing has moved");
    job.refuse(0);
    job.put(word(2));
    assert_eq!(job.calls(), [Post(2)], "another rank may have room");
    assert!(job.world.progress(), "what has waited for room has moved");
    assert_eq!(job.calls(), [Post(2), Post(1), Post(1)]);
    (0..3).for_each(|index| job.complete(index, Ok(0)));
}

#[test]
fn a_failure_while_there_is_no_room_is_told_at_once() {
    for comes_after_all in [false, true] {
        let job = Job::new();
        let first = job.put(word(1));
        (1..OPERATIONS_IN_FLIGHT_MAX).for_each(|_| drop(job.put(word(1)).test()));
        let lost = Failure::PeerLost(Rank::new(1));
        job.script.lock().unwrap().complete(0, Err(lost));
        let order = if comes_after_all { job.world.after_all() } else { job.world.after(&first) };
        let second = order.put(word(1), &[2]);
        assert!(matches!(second, Err(Error::Failed(failure)) if failure == lost), "{second:?}");
        assert_eq!(job.calls().len(), OPERATIONS_IN_FLIGHT_MAX, "it has no effect");
        (1..OPERATIONS_IN_FLIGHT_MAX).for_each(|index| job.complete(index, Ok(0)));
    }
}

#[test]
fn what_was_posted_behind_another_is_followed_when_that_has_ended() {
    let job = Job::new();
    let first = job.put(word(1));
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    job.complete(0, Ok(0));
    let third = job.world.after(&second).put(word(1), &[3]).unwrap();
    assert_eq!(job.calls(), [Post(1), Fence(1), Post(1), Fence(1), Post(1)]);
    (1..3).for_each(|index| job.complete(index, Ok(0)));
    assert_eq!(third.test(), Ok(true));
    // The earlier operations are no longer counted.
    job.put(word(1));
    job.put(word(2));
    job.world.after_all().put(word(1), &[4]).unwrap();
    assert_eq!(job.calls()[5..], [Post(1), Post(2)]);
    (3..6).for_each(|index| job.complete(index, Ok(0)));
}

#[test]
fn nothing_follows_an_operation_of_which_a_part_has_failed() {
    const BLOCKS: usize = 100;
    let job = Job::new();
    let shape = Shape::strided(BLOCKS as u64, 1, 2);
    let first = job.world.put_strided(word(1), shape, &[1; 2 * BLOCKS], shape).unwrap();
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    let posted = job.calls().len();
    let lost = Failure::PeerLost(Rank::new(1));
    job.complete(0, Err(lost));
    assert_eq!((job.calls().len(), first.has_ended()), (posted, Ok(false)), "nor is more of it posted");
    (1..posted).for_each(|index| job.complete(index, Ok(0)));
    assert_eq!([first, second].map(Handle::wait), [Err(Error::Failed(lost)), Err(Error::Failed(lost))]);
    assert_eq!(job.calls().len(), posted);
}

#[test]
fn a_flush_waits_for_both_ends_of_a_copy() {
    let job = Job::new();
    job.world.copy(word(1), word(2), 1).unwrap();
    // The wait of this job reports a deadlock immediately.
    let deadlock = Err(Error::Fault(Fault::Deadlock));
    assert_eq!([0, 1, 2].map(|rank| job.world.flush(Rank::new(rank))), [Ok(()), deadlock.clone(), deadlock]);
    job.put(word(2));
    job.complete(0, Ok(0));
    assert_eq!([0, 1].map(|rank| job.world.flush(Rank::new(rank))), [Ok(()), Ok(())]);
    assert!(job.world.flush(Rank::new(2)).is_err(), "the put is still under way");
    job.put(word(1));
    job.complete(1, Ok(0));
    assert_eq!(job.world.flush(Rank::new(2)), Ok(()), "what is under way concerns another");
    job.complete(2, Ok(0));
    job.world.copy(word(1), word(0), 1).unwrap();
    assert!([0, 1].map(|rank| job.world.flush(Rank::new(rank)).is_err()) == [true; 2], "it ends in the memory of this rank");
    job.complete(3, Ok(0));
    assert_eq!([0, 1].map(|rank| job.world.flush(Rank::new(rank))), [Ok(()), Ok(())]);
}

#[test]
fn bytes_that_were_kept_give_their_room_back() {
    let job = Job::new();
    job.put(word(1));
    job.script.lock().unwrap().answer = Answer::Completes;
    let mut fetched = vec![0u64; HEAP_BYTES as usize / 8];
    for _ in 0..=CAPTURED_BYTES_MAX / HEAP_BYTES as usize {
        job.world.get_into(word_in(1, 1, 0), &mut fetched).unwrap();
    }
    for _ in 0..=CAPTURED_BYTES_MAX / HEAP_BYTES as usize {
        job.world.put(word_in(1, 1, 0), &fetched).unwrap().wait().unwrap();
    }
    job.complete(0, Ok(0));
}

#[test]
fn lists_of_places_count_among_the_bytes_that_are_kept() {
    const VALUES: usize = 1 << 16;
    let (places, mut values) = (vec![0; VALUES], vec![7_u64; VALUES]);
    let room = CAPTURED_BYTES_MAX / (VALUES * (size_of::<u64>() + size_of::<Block>()));
    let job = Job::new();
    for _ in 0..room {
        let _ = job.world.put_indexed(word(1), &places, &values).unwrap();
    }
    assert_eq!(job.world.put_indexed(word(1), &places, &values).err(), Some(Error::Fault(Fault::Deadlock)), "it waits for room");
    let job = Job::new();
    job.put(word(1));
    job.script.lock().unwrap().answer = Answer::Completes;
    for _ in 0..=room {
        job.world.put_indexed(word(1), &places, &values).unwrap().wait().unwrap();
        job.world.get_indexed(word(1), &places, &mut values).unwrap();
    }
    job.complete(0, Ok(0));
}

#[test]
fn transfers_of_more_bytes_than_a_segment_are_refused_before_memory_is_allocated() {
    const COUNT: u64 = 1 << 50;
    let job = Job::new();
    let refused = job.world.start_get(word(1), COUNT as usize).map(drop);
    assert!(matches!(refused, Err(Error::Invalid(_))));
    let again_and_again = Shape { block: 1, counts: [1, 1, COUNT], strides: [0; 3] };
    let mut values = [7_u64];
    for rank in [0, 1] {
        let put = job.world.put_strided(word(rank), again_and_again, &values, again_and_again).map(drop);
        let get = job.world.get_strided(word(rank), again_and_again, &mut values, again_and_again);
        let copy = job.world.copy_strided(word(0), again_and_again, word(rank), again_and_again).map(drop);
        assert!([put, get, copy].iter().all(|refused| matches!(refused, Err(Error::Invalid(_)))), "{rank}");
    }
    assert_eq!(job.calls(), []);
}

#[test]
fn bytes_of_gets_that_fail_give_their_room_back() {
    let job = Job::new();
    job.put(word(1));
    job.script.lock().unwrap().answer = Answer::Denies;
    let mut fetched = vec![0u64; HEAP_BYTES as usize / 8];
    for _ in 0..=CAPTURED_BYTES_MAX / HEAP_BYTES as usize {
        assert!(matches!(job.world.get_into(word_in(1, 1, 0), &mut fetched), Err(Error::Failed(_))));
    }
    job.complete(0, Ok(0));
}

/// Four parts at once, of this size each.
#[test]
fn a_long_get_goes_in_parts() {
    const PART_BYTES: usize = 256 * 1024;
    for (bytes, parts) in [(1, 1), (PART_BYTES, 1), (PART_BYTES + 1, 2), (4 * PART_BYTES, 4), (4 * PART_BYTES + 1, 4)] {
        let job = Job::new();
        let from = word_in(1, 1, 0).cast::<u8>().unwrap();
        assert_eq!(job.world.get_into(from, &mut vec![0; bytes]), Err(Error::Fault(Fault::Deadlock)), "none ends");
        assert_eq!(job.calls(), vec![Post(1); parts], "{bytes} bytes");
        (0..parts).for_each(|index| job.complete(index, Ok(0)));
    }
}

#[test]
fn a_fence_is_the_transports_if_everything_is_there() {
    let job = Job::new();
    let first = job.put(word(1));
    job.put(word(2));
    job.world.fence().unwrap();
    job.put(word(1));
    assert_eq!(job.calls(), [Post(1), Post(2), Fence(1), Post(1)], "with what is posted next");
    job.world.after(&first).put(word(2), &[2]).unwrap();
    let deadlock = Err(Error::Fault(Fault::Deadlock));
    assert_eq!(job.world.fence(), deadlock, "one still waits");
    job.refuse(3);
    job.complete(0, Ok(0));
    assert_eq!(job.calls()[4..], [Fence(2)], "refused");
    job.complete(1, Ok(0));
    assert_eq!(job.world.fence(), deadlock, "one has been refused");
    assert_eq!(job.calls()[5..], [Post(2)], "the fence still holds");
    job.world.fence().unwrap();
    job.put(word(2));
    job.put(word(1));
    job.put(word(1));
    assert_eq!(job.calls()[6..], [Fence(2), Post(2), Fence(1), Post(1), Post(1)]);
    (2..7).for_each(|index| job.complete(index, Ok(0)));
}

#[test]
fn what_waits_follows_as_soon_as_the_last_piece_is_posted() {
    const BLOCKS: usize = 100;
    let job = Job::new();
    let shape = Shape::strided(BLOCKS as u64, 1, 2);
    let first = job.world.put_strided(word(1), shape, &[1; 2 * BLOCKS], shape).unwrap();
    let second = job.world.after(&first).put(word(1), &[2]).unwrap();
    let posted = job.calls().len();
    assert!(posted < BLOCKS, "only so many pieces are under way at once");
    job.complete(0, Ok(0));
    (1..posted).for_each(|index| job.complete(index, Ok(0)));
    assert_eq!(job.calls().len(), BLOCKS + 2);
    assert_eq!(job.calls()[BLOCKS..], [Fence(1), Post(1)]);
    assert_eq!(first.test(), Ok(false));
    assert_eq!(job.world.fence(), Ok(()), "all is posted");
    (posted..=BLOCKS).for_each(|index| job.complete(index, Ok(0)));
    assert_eq!(second.test(), Ok(true));
}

#[test]
fn a_wait_polls_the_transport_more_often_the_more_may_come_from_it_and_soon_yields_between_polls() {
    let polls = |size, busy: bool| {
        let (world, script) = lone(size);
        let pending = busy.then(|| world.put(word(1), &[1]).unwrap());
        let mine = world.register(vec![0u64; 1]).unwrap();
        (script.lock().unwrap().progressed, script.lock().unwrap().given_way) = (0, 0);
        let mut looks = 0;
        world
            .wait_until(mine.local(), 0, |_| {
                looks += 1;
                looks > POLLS
            })
            .unwrap();
        let Script { progressed, given_way, .. } = *script.lock().unwrap();
        if let Some(pending) = pending {
            script.lock().unwrap().complete(0, Ok(0));
            pending.wait().unwrap();
        }
        (progressed, given_way)
    };
    assert_eq!(polls(1, false), (POLLS / 64, 0), "all ranks are mapped");
    assert_eq!(polls(RANKS, false), (POLLS, POLLS - POLLS_ALONE), "some are not");
    assert_eq!(polls(RANKS, true), (POLLS, POLLS - POLLS_ALONE), "something is under way");
}

/// Even if its left neighbour is ahead, a rank does not put a word of the ring over another that is still in flight.
#[test]
fn the_ring_waits_for_its_words_to_arrive() {
    const SIZE: u32 = 17;
    /// The four slots for the words of the first barrier, in the scratch memory of barriers: the first allocation.
    const PLACES: u64 = 63 * 64 + 4 * 8;
    let (world, script) = lone(SIZE);
    let layout = AddressLayout::new(SIZE, HEAP_BYTES).unwrap();
    for place in 0..4 {
        let at = layout.encode(Rank::new(0), SegmentId::SYMMETRIC, PLACES + 8 * place).unwrap();
        // The left neighbour has made all its steps.
        world.put(GlobalPtr::from_address(at).unwrap(), &[1u64 << 20 | u64::from(SIZE - 1)]).unwrap();
    }
    assert_eq!(world.barrier_by(BarrierAlgorithm::Ring), Err(Error::Fault(Fault::Deadlock)), "nothing that was put has arrived");
    assert_eq!(script.lock().unwrap().calls, [Post(1); 4]);
    assert_eq!(world.quiet(), Ok(()), "words of a meeting are not waited for");
    assert_eq!(world.flush_all(), Err(Error::Fault(Fault::Deadlock)), "but here they are");
    (0..4).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.flush_all(), Ok(()));
}

/// A failed put of a barrier is not reported: the members of the next barrier detect a failed rank there.
#[test]
fn a_lost_word_of_a_meeting_is_not_reported_and_holds_up_nothing() {
    let (world, script) = lone(17);
    assert!(world.barrier_by(BarrierAlgorithm::Dissemination).is_err(), "nobody else comes");
    let layout = AddressLayout::new(17, HEAP_BYTES).unwrap();
    let at = layout.encode(Rank::new(5), SegmentId::SYMMETRIC, 64 * 1024).unwrap();
    world.after_all().put(GlobalPtr::from_address(at).unwrap(), &[1u64]).unwrap();
    assert_eq!(script.lock().unwrap().calls, [Post(1)]);
    script.lock().unwrap().complete(0, Err(Failure::PeerLost(Rank::new(1))));
    world.progress();
    assert_eq!(script.lock().unwrap().calls, [Post(1), Post(5)]);
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!((world.quiet(), world.flush_all()), (Ok(()), Ok(())));
}

#[test]
fn quiet_waits_for_all_but_words_of_meetings() {
    let (world, script) = lone(17);
    assert!(world.barrier_by(BarrierAlgorithm::Dissemination).is_err(), "nobody else comes");
    let at = AddressLayout::new(17, HEAP_BYTES).unwrap().encode(Rank::new(5), SegmentId::SYMMETRIC, 64 * 1024).unwrap();
    world.put(GlobalPtr::from_address(at).unwrap(), &[1u64]).unwrap();
    assert_eq!(script.lock().unwrap().calls, [Post(1), Post(5)]);
    script.lock().unwrap().said.clear();
    assert_eq!(world.quiet(), Err(Error::Fault(Fault::Deadlock)), "the put is under way");
    let sleeps = script.lock().unwrap().said.contains(&Said::Park(For::AtMost(1), None));
    assert!(sleeps, "until nothing but the word of the meeting is under way");
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(world.quiet(), Ok(()), "the word of the meeting is, too");
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(world.flush_all(), Ok(()));
}

/// Number of words of a striped put.
const LONG: usize = 512;

#[test]
fn a_put_by_all_rails_is_one_operation_of_as_many_parts() {
    let job = Job::new();
    let all = job.world.rails().all().unwrap();
    let put = job.world.on(all).put(word(1), &[1; LONG]).unwrap();
    assert_eq!(job.calls(), [Post(11), Post(21)]);
    // A flag of one word is not striped and uses the best rail, after both parts have ended.
    let flag = job.world.after(&put).on(all).put(word(1), &[2]).unwrap();
    job.complete(0, Ok(0));
    assert_eq!((job.calls().len(), put.test()), (2, Ok(false)));
    job.complete(1, Ok(0));
    assert_eq!((&job.calls()[2..], put.test()), (&[Post(1)][..], Ok(true)));
    // It is not posted behind an operation on the best rail either.
    let behind = job.world.after(&flag).on(all).put(word(1), &[3; LONG]).unwrap();
    assert_eq!(job.calls().len(), 3);
    job.complete(2, Ok(0));
    assert_eq!((&job.calls()[3..], flag.test()), (&[Post(11), Post(21)][..], Ok(true)));
    // The failure of one part is that of the whole operation, after the other part has ended.
    job.complete(3, Err(Failure::PeerLost(Rank::new(1))));
    assert_eq!(behind.has_ended(), Ok(false));
    job.complete(4, Ok(0));
    assert_eq!(behind.test(), Err(Error::Failed(Failure::PeerLost(Rank::new(1)))));
}

/// A short operation uses the best rail, and the next one after the fence any rail: only completion orders the two.
#[test]
fn a_fence_waits_for_what_was_named_all_rails() {
    // Captured by the transport, and not captured.
    for (words, kind) in [(1, Kind::Write), (16, Kind::Put)] {
        let job = Job::new();
        let put = job.world.on(job.world.rails().all().unwrap()).put(word(1), &vec![1; words]).unwrap();
        assert_eq!(job.script.lock().unwrap().kinds, [kind]);
        assert_eq!(job.calls(), [Post(1)]);
        assert_eq!(job.world.fence(), Err(Error::Fault(Fault::Deadlock)), "{words} words");
        job.complete(0, Ok(0));
        assert_eq!((put.test(), job.world.fence()), (Ok(true), Ok(())));
    }
}

/// A store of a core is not ordered after a transfer of a transport to the same rank.
#[test]
fn a_fence_waits_where_memory_is_mapped_as_well() {
    let job = Job::new();
    let registered = job.world.register(vec![0_u64]).unwrap();
    let put = job.put(registered.ptr(0));
    assert_eq!((job.calls(), job.world.fence()), (vec![Post(0)], Err(Error::Fault(Fault::Deadlock))));
    job.complete(0, Ok(0));
    assert_eq!((put.test(), job.world.fence()), (Ok(true), Ok(())));
}

/// The source writes to the other end, or the bytes arrive in the memory of this rank: a fence at the source orders neither before a later put.
#[test]
fn a_fence_waits_for_a_copy_to_another_rank_than_its_source() {
    for to in [word(2), word(0)] {
        let job = Job::new();
        let copied = job.world.copy(word(1), to, 1).unwrap();
        assert_eq!((job.calls(), job.world.fence()), (vec![Post(1)], Err(Error::Fault(Fault::Deadlock))));
        job.complete(0, Ok(0));
        assert_eq!((copied.test(), job.world.fence()), (Ok(true), Ok(())));
    }
    let job = Job::new();
    job.world.copy(word(1), word(1).add(1), 1).unwrap();
    assert_eq!(job.world.fence(), Ok(()), "the transport orders what stays at one rank");
}

#[test]
fn a_fence_waits_for_parts() {
    let job = Job::new();
    let put = job.world.on(job.world.rails().all().unwrap()).put(word(1), &[1; LONG]).unwrap();
    assert_eq!(job.world.fence(), Err(Error::Fault(Fault::Deadlock)), "nothing else orders what is on two rails");
    job.complete(0, Ok(0));
    job.complete(1, Ok(0));
    assert_eq!(put.test(), Ok(true));
    job.put(word(1));
    job.world.fence().unwrap();
    job.put(word(1));
    job.world.on(job.world.rails().all().unwrap()).put(word(1), &[1; LONG]).unwrap();
    let behind = [Fence(1), Post(1), Fence(11), Post(11), Fence(21), Post(21)];
    assert_eq!((job.calls()[2], &job.calls()[3..]), (Post(1), &behind[..]), "what goes by one rail is ordered there");
    (2..6).for_each(|index| job.complete(index, Ok(0)));
}

/// A transfer to the rank's own memory is striped as well; the part that the core moves comes last, after the other rail has started.
#[test]
fn parts_of_mapped_memory_come_last() {
    let job = Job::new();
    let all = job.world.rails().all().unwrap();
    job.world.on(all).copy(word(0), word(1), LONG).unwrap();
    job.world.on(all).put(word(0), &[1; LONG]).unwrap();
    assert_eq!(job.calls(), [Post(11), Post(21), Post(20), Post(0)]);
    (0..4).for_each(|part| job.complete(part, Ok(0)));
    assert_eq!(job.world.quiet(), Ok(()));
}

/// Although the first rail is the best one to this rank itself.
#[test]
fn a_copy_goes_by_the_rail_that_is_named() {
    let job = Job::new();
    let first = Rail::new(0).unwrap();
    job.world.on(first).copy(word(0), word(1), 1).unwrap();
    job.world.on(first).copy(word(1), word(0), 1).unwrap();
    assert_eq!(job.calls(), [Post(11), Post(11)]);
    (0..2).for_each(|index| job.complete(index, Ok(0)));
}

#[test]
fn a_part_that_finds_no_room_is_posted_later() {
    let job = Job::new();
    let all = job.world.rails().all().unwrap();
    job.refuse(1);
    let put = job.world.on(all).put(word(1), &[1; LONG]).unwrap();
    assert_eq!(job.calls(), []);
    job.world.progress();
    assert_eq!(job.calls(), [Post(11), Post(21)]);
    (0..2).for_each(|part| job.complete(part, Ok(0)));
    assert_eq!(put.test(), Ok(true));
    // All rails require routes through two rails, for long and short transfers.
    for values in [&[1; LONG][..], &[1]] {
        assert_eq!(job.world.on(all).put(word(ALONE.number()), values).err(), Some(Error::NoRail { rail: all, rank: ALONE }));
    }
}
