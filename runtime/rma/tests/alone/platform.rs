//! The calls of the library to its platform, and their order.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, Duration, Event, Instant, Rank, SegmentId, Shape};
use pelago_memory::CellSlice;
use pelago_platform::{Fault, For};
use pelago_rma::{Error, GlobalPtr, Result, World};

use super::scripted::Said::{self, *};
use super::scripted::{HEAP_BYTES, Kind, POLLS, POLLS_ALONE, RANKS, SIGNALLED_BYTES_MIN, SPINS, Script, lone, lone_with, word};
use pelago_platform::Activity::{GoesOn, Joins, Leaves, Waits};

/// Returns the calls of the platform since the last query.
fn said(script: &Mutex<Script>) -> Vec<Said> {
    std::mem::take(&mut script.lock().unwrap().said)
}

/// The same without the calls `entered` and `left`.
fn said_inside(script: &Mutex<Script>) -> Vec<Said> {
    said(script).into_iter().filter(|said| !matches!(said, Entered | Left)).collect()
}

/// The cache line of an element, as numbered by the rank's doorbell.
fn line(world: &World, cells: CellSlice<'_, u64>, index: usize) -> u32 {
    let place = cells.cells().pointer().as_ptr().wrapping_add(8 * index);
    world.reach().bell(world.rank()).unwrap().line(place, 8).unwrap()
}

/// Returns a job after its setup.
fn job() -> (World, Arc<Mutex<Script>>) {
    let (world, script) = lone(RANKS);
    assert_eq!(said_inside(&script), [Barrier, Does(Joins)]);
    (world, script)
}

/// The time after this number of nanoseconds.
fn at(nanoseconds: u64) -> Instant {
    Instant::ZERO + nanoseconds_of(nanoseconds)
}

fn nanoseconds_of(nanoseconds: u64) -> Duration {
    Duration::from_nanoseconds(nanoseconds)
}

#[test]
fn the_platform_knows_when_the_library_works() {
    let (world, script) = job();
    world.put(word(0), &[1]).unwrap();
    assert_eq!(said(&script), [], "what is mapped stays in this rank");
    let put = world.put(word(1), &[1]).unwrap();
    assert_eq!(said(&script), [Entered, Left]);
    let added = world.add(word(1), 1).unwrap();
    assert_eq!(said(&script), [Entered, Left]);
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(put.test(), Ok(true));
    assert_eq!(said(&script), [Entered, Left]);
    // The first poll finds the completion.
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(added.wait(), Ok(()));
    assert_eq!(said(&script), [Entered, Left]);
    let calls: [fn(&World) -> Result<()>; 2] = [|world| world.fence(), |world| world.quiet()];
    for (call, index) in calls.into_iter().zip(2..) {
        world.put(word(1), &[1]).unwrap();
        said(&script);
        script.lock().unwrap().complete(index, Ok(0));
        call(&world).unwrap();
        let told = said(&script);
        assert_eq!((told.first(), told.last()), (Some(&Entered), Some(&Left)), "{told:?}");
    }
}

#[test]
fn who_sleeps_is_inside_the_library_and_waits() {
    let (world, script) = job();
    let late = world.put(word(1), &[1]).unwrap();
    said(&script);
    assert_eq!(late.wait(), Err(Error::Fault(Fault::Deadlock)));
    let told = said(&script);
    let open = |told: &[Said]| told.iter().map(|said| i32::from(*said == Entered) - i32::from(*said == Left)).sum::<i32>();
    let sleeps = told.iter().position(|said| matches!(said, Park(..))).unwrap();
    assert_eq!((open(&told[..sleeps]), open(&told)), (1, 0));
    let inside: Vec<_> = told.into_iter().filter(|said| !matches!(said, Entered | Left)).collect();
    assert_eq!(inside, [Does(Waits), Park(For::Anything, None), Does(GoesOn)]);
    assert_eq!(script.lock().unwrap().given_way, POLLS - POLLS_ALONE + SPINS, "before that others may run");
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(late.wait(), Ok(()));
}

#[test]
fn a_wait_parks_if_yields_take_long() {
    let (world, script) = job();
    let late = world.put(word(1), &[1]).unwrap();
    script.lock().unwrap().yields_max = Some(1);
    assert_eq!(late.wait(), Err(Error::Fault(Fault::Deadlock)));
    assert_eq!(script.lock().unwrap().given_way, 2, "one while it spins, and one after that");
    script.lock().unwrap().complete(0, Ok(0));
    assert_eq!(late.wait(), Ok(()));
}

#[test]
fn a_wait_notices_a_fault_before_it_yields_and_although_the_transport_makes_progress() {
    const FAULT: Fault = Fault::PeerLost(Rank::new(1));
    let (world, script) = lone(RANKS);
    let words = world.alloc_individual::<u64>(1).unwrap();
    {
        let mut script = script.lock().unwrap();
        (script.fault, script.stirs, script.progressed) = (Some(FAULT), 100 * SPINS, 0);
    }
    let ended = world.wait_until(words.local(), 0, |value| value == 1);
    assert_eq!(ended, Err(Error::Fault(FAULT)));
    let script = script.lock().unwrap();
    assert!(script.given_way == 0 && script.progressed < 8, "{} yields, {} polls", script.given_way, script.progressed);
}

/// A wait for one word passes the location of the word to the platform; not if the word spans two cache lines, is not in the heap, or if other
/// events may matter, such as to a condition of the program.
#[test]
fn a_wait_for_a_word_says_where_it_lies() {
    let (world, script) = job();
    let words = world.alloc_individual::<u64>(16).unwrap();
    let told = || {
        said(&script)
            .into_iter()
            .filter_map(|said| if let Park(For::Line(line), _) = said { Some(line) } else { None })
            .collect::<Vec<_>>()
    };
    let wait_for = |index| world.wait_for_word("it", None, words.ptr(index), || Ok(None::<()>));
    for index in [0, 7, 15] {
        assert!(wait_for(index).is_err());
        assert_eq!(told(), [line(&world, words.local(), index)]);
        assert!(world.wait_until(words.local(), index, |_| words.local().load(3) == 1).is_err());
        assert!(told().is_empty(), "the condition may look at other words");
    }
    let pairs = world.alloc_individual::<[u64; 3]>(3).unwrap();
    assert!(world.wait_for_word("it", None, pairs.ptr(2), || Ok(None::<()>)).is_err());
    assert!(told().is_empty(), "it spans two lines");
    assert!(world.wait_until_any(None, words.local(), &[0, 1], |_, value| value == 1).is_err());
    assert!(world.wait_for("it", None, || Ok(None::<()>)).is_err());
    assert!(told().is_empty());
    let elsewhere = world.wait_for_word("it", None, word(1), || Ok(None::<()>));
    assert_eq!(elsewhere, Err(Error::Invalid("a rank waits for a word of its own memory")));
    // A deferred operation may become possible with any completion.
    let first = world.put(word(1), &[1]).unwrap();
    world.after(&first).put(word(2), &[1]).unwrap();
    assert!(wait_for(0).is_err());
    assert!(told().is_empty());
    script.lock().unwrap().complete(0, Ok(0));
    world.progress();
}

/// A platform that knows the awaited event need not wake the rank for others.
#[test]
fn what_is_waited_for_is_said() {
    let (world, script) = job();
    let local = world.alloc_individual::<u64>(1).unwrap();
    let deadlock = Err(Error::Fault(Fault::Deadlock));
    assert_eq!(world.wait_until(local.local(), 0, |value| value == 1).map(drop), deadlock);
    assert_eq!(said_inside(&script), [Does(Waits), Park(For::Memory, None), Does(GoesOn)]);
    let first = world.put(word(1), &[1]).unwrap();
    assert_eq!(world.quiet(), deadlock);
    assert_eq!(said_inside(&script), [Does(Waits), Park(For::AtMost(0), None), Does(GoesOn)]);
    // A deferred operation may become possible with any completion.
    world.after(&first).put(word(2), &[1]).unwrap();
    assert_eq!(world.quiet(), deadlock);
    assert_eq!(said_inside(&script), [Does(Waits), Park(For::Anything, None), Does(GoesOn)]);
    script.lock().unwrap().complete(0, Ok(0));
    world.progress();
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(world.quiet(), Ok(()));
}

/// A rank that sleeps with an operation in flight is no part of a deadlock.
#[test]
fn operations_in_flight_are_reported_before_a_sleep_and_after_their_end() {
    let (world, script) = job();
    let local = world.alloc_individual::<u64>(1).unwrap();
    let in_flight = || script.lock().unwrap().in_flight;
    let sleep = || world.wait_until(local.local(), 0, |value| value == 1).map(drop).unwrap_err();
    for rank in 1..=2 {
        let _not_waited_for = world.put(word(rank), &[1]).unwrap();
    }
    assert_eq!((sleep(), in_flight()), (Error::Fault(Fault::Deadlock), 2));
    script.lock().unwrap().complete(0, Ok(0));
    world.progress();
    assert_eq!((sleep(), in_flight()), (Error::Fault(Fault::Deadlock), 1));
    script.lock().unwrap().complete(1, Ok(0));
    world.progress();
    assert_eq!(in_flight(), 0, "although this context does not sleep again");
}

/// An operation that may change memory for which another rank waits wakes that rank, if the network does not do so itself (T10).
#[test]
fn targets_are_notified_where_writes_wake_nobody() {
    for silent in [false, true] {
        let (world, script) = lone_with(RANKS, Script::of_silent(silent), u64::MAX);
        let notified = || said(&script).into_iter().filter(|&said| said == Notify).count();
        notified();
        world.put(word(1), &[1]).unwrap();
        world.put(word(1), &[1; 100]).unwrap();
        world.add(word(1), 1).unwrap();
        let _ = world.fetch_add(word(1), 1).unwrap();
        world.copy(word(2), word(1), 1).unwrap();
        assert_eq!(notified(), if silent { 5 } else { 0 });
        // A read wakes no rank.
        assert_eq!(world.get(word(1)), Err(Error::Fault(Fault::Deadlock)));
        assert_eq!(notified(), 0);
    }
}

#[test]
fn a_wait_ends_with_what_it_waits_for_when_it_is_woken() {
    let (world, script) = job();
    let put = world.put(word(1), &[1]).unwrap();
    script.lock().unwrap().wakes = Some(Box::new(|script| script.complete(0, Ok(0))));
    assert_eq!(put.wait(), Ok(()));
    assert_eq!(world.counters().of(Event::Parked), 1);
    // An event that has occurred is reported in spite of a known fault.
    let put = world.put(word(1), &[1]).unwrap();
    let memory = world.alloc_individual::<u64>(1).unwrap();
    script.lock().unwrap().fault = Some(Fault::Aborted);
    assert_eq!(world.fault(), Some(Fault::Aborted));
    assert_eq!(world.wait_until(memory.local(), 0, |value| value == 1), Err(Error::Fault(Fault::Aborted)));
    assert_eq!(world.counters().of(Event::Parked), 1, "a wait that finds a fault does not sleep");
    script.lock().unwrap().complete(1, Ok(0));
    assert_eq!(put.wait(), Ok(()));
}

/// A condition may take what it returns, such as a message from a queue: then it cannot return it again.
#[test]
fn what_a_sleeping_wait_has_found_is_returned_although_a_fault_ends_the_sleep() {
    let (world, script) = job();
    let calls = |found_at: u32| {
        let mut calls = 0;
        let ended = world.wait_for("a message", None, || {
            calls += 1;
            if calls == found_at {
                script.lock().unwrap().fault = Some(Fault::Aborted);
            }
            Ok((calls == found_at).then_some(7))
        });
        (ended, calls)
    };
    let (ended, all) = calls(u32::MAX);
    assert_eq!(ended, Err(Error::Fault(Fault::Deadlock)));
    // The last call follows the sleep, and the one before is that of the sleeping wait.
    assert_eq!(calls(all - 1), (Ok(7), all - 1));
}

#[test]
fn a_wait_with_a_limit_sleeps_until_then_and_no_longer() {
    let (world, script) = job();
    let memory = world.alloc_individual::<u64>(1).unwrap();
    let (limit, place) = (nanoseconds_of(500), For::Memory);
    let within = |limit| world.wait_until_within(limit, memory.local(), 0, |value| value == 1);
    said(&script);
    assert_eq!(within(limit), Err(Error::TimedOut { what: "a value", limit }));
    assert_eq!(said_inside(&script), [Does(Waits), Park(place, Some(at(500))), Does(GoesOn)]);
    assert_eq!(world.now(), at(500));
    // The transport wants to make progress before the limit.
    script.lock().unwrap().deadline = Some(at(700));
    script.lock().unwrap().wakes = Some(Box::new(|script| (script.now, script.deadline) = (at(700), None)));
    assert_eq!(within(limit), Err(Error::TimedOut { what: "a value", limit }));
    let named = world.wait_for_value("a letter", Some(Duration::ZERO), memory.local(), 0, |value| value == 1);
    assert_eq!(named, Err(Error::TimedOut { what: "a letter", limit: Duration::ZERO }));
    let sleeps = [700, 1000].map(|until| Park(place, Some(at(until))));
    assert_eq!(said_inside(&script)[1..3], sleeps);
    memory.local().store(0, 1);
    assert_eq!(within(limit), Ok(1));
    // The same limit applies to conditions of the program.
    let asked = world.wait_for("an answer", Some(limit), || Ok(None::<u64>));
    assert_eq!(asked, Err(Error::TimedOut { what: "an answer", limit }));
    assert_eq!(world.wait_for("an answer", None, || Ok(Some(7))), Ok(7));
    assert_eq!(world.wait_for("an answer", None, || Err::<Option<u64>, _>(Error::Forgotten)), Err(Error::Forgotten));
}

/// Requests of other ranks are progress of the transport, and may arrive without a pause.
#[test]
fn a_wait_with_a_limit_ends_although_the_transport_makes_progress() {
    let (world, script) = job();
    let memory = world.alloc_individual::<u64>(1).unwrap();
    let limit = nanoseconds_of(500);
    for by_word in [false, true] {
        script.lock().unwrap().stirs = 1_000;
        let begun = world.now();
        let ended = match by_word {
            true => world.wait_until_within(limit, memory.local(), 0, |value| value == 1),
            false => world.wait_for("a value", Some(limit), || Ok(None)),
        };
        assert_eq!(ended, Err(Error::TimedOut { what: "a value", limit }));
        let took = world.now().since(begun);
        assert!(took >= limit && took <= limit + nanoseconds_of(8), "a few more polls: {took:?}");
    }
}

/// A wait with a time limit is not part of a deadlock.
#[test]
fn a_wait_for_what_rings_nobody_sleeps_for_ever_longer_pauses() {
    let (world, script) = job();
    let mut slept = [20_000, 60_000, 140_000, 300_000, 620_000, 1_260_000, 2_260_000, 3_260_000].map(at).to_vec();
    let is_over = || script.lock().unwrap().now >= slept[slept.len() - 1];
    assert_eq!(world.poll_for("an event", None, || Ok(is_over().then_some(7))), Ok(7));
    let parks = |said: Vec<Said>| said.into_iter().filter(|said| matches!(said, Park(..))).collect::<Vec<_>>();
    let expected: Vec<_> = slept.drain(..).map(|until| Park(For::Anything, Some(until))).collect();
    assert_eq!(parks(said(&script)), expected);
    // Until the limit, and no longer.
    let (limit, now) = (Duration::from_microseconds(50), world.now());
    assert_eq!(world.poll_for("an event", Some(limit), || Ok(None::<u64>)), Err(Error::TimedOut { what: "an event", limit }));
    assert_eq!(world.now(), now + limit);
    assert_eq!(world.poll_for("an event", None, || Err::<Option<u64>, _>(Error::Forgotten)), Err(Error::Forgotten));
}

#[test]
fn a_rank_waits_when_it_has_looked_so_often_in_vain() {
    let (world, script) = job();
    let memory = world.alloc_individual::<u64>(1).unwrap();
    for (looks, waits) in [(POLLS, false), (POLLS + 1, true)] {
        let mut left = looks;
        let is_last = |_| {
            left -= 1;
            left == 0
        };
        world.wait_until(memory.local(), 0, is_last).unwrap();
        assert_eq!(said_inside(&script).contains(&Does(Waits)), waits, "{looks} looks");
    }
}

#[test]
fn threads_that_use_the_library_are_counted() {
    let (world, script) = job();
    let other = world.context_factory().context().unwrap();
    assert_eq!(said_inside(&script), [Does(Joins)]);
    let found = other.blocking_region(|| {
        assert_eq!(said_inside(&script), [Does(Leaves)]);
        7
    });
    assert_eq!((found, said_inside(&script)), (7, vec![Does(Joins)]));
    drop(other);
    assert_eq!(said_inside(&script), [Does(Leaves)]);
    drop(world);
    assert_eq!(said_inside(&script), [Does(Leaves)]);
}

#[test]
fn the_platform_says_whether_it_takes_threads() {
    for takes in [false, true] {
        assert_eq!(lone_with(RANKS, Script::of_threads(takes), u64::MAX).0.takes_threads(), takes);
    }
}

#[test]
fn computing_is_the_platforms() {
    let (world, script) = job();
    world.compute(nanoseconds_of(3));
    world.gathered(4);
    assert_eq!(said(&script), [Compute(nanoseconds_of(3)), Gather(4)]);
    script.lock().unwrap().now = at(9);
    assert_eq!(world.now(), at(9));
    assert_eq!(world.fault(), None);
}

#[test]
fn a_put_and_its_signal_are_issued_together() {
    let (world, script) = job();
    let signal = world.put_signal(word(1), &[1], word(1), pelago_rma::Signal::Set(2)).unwrap();
    assert_eq!(said_inside(&script), [More]);
    (0..2).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(signal.wait(), Ok(()));
}

/// The first operation leaves with the second, without a separate call; if there is no second, or it may be held back itself, by a flush.
#[test]
fn the_first_of_a_pair_leaves_whatever_becomes_of_the_second() {
    let (world, script) = job();
    let put = || world.put(word(1), &[1]);
    world.pair(put, |put| world.after(&put).put(word(1), &[2])).unwrap();
    assert_eq!(said_inside(&script), [More]);
    assert!(world.pair(put, |_| Err::<(), _>(Error::Invalid("there is no second"))).is_err());
    assert_eq!(said_inside(&script), [More, Flush]);
    world.batch(|| world.pair(put, |put| world.after(&put).put(word(1), &[2]))).unwrap();
    assert_eq!(said_inside(&script), [More, More, Flush]);
    world.batch(|| ());
    assert_eq!(said_inside(&script), [], "nothing waits");
    (0..5).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.quiet(), Ok(()));
}

/// A put of enough bytes, which the transport captures, and a word of 8 bytes of the same rank are one operation; all other combinations are two.
#[test]
fn a_long_put_and_its_signal_are_one_operation_where_the_rail_takes_it() {
    use pelago_rma::Signal::{Add, Put, Set};
    const LEAST: usize = SIGNALLED_BYTES_MIN / 8;
    let halves = word(1).cast::<u32>().unwrap();
    for (words, signal, kinds) in [
        (LEAST, Set(2), &[Kind::Signalled][..]),
        (LEAST, Put(2), &[Kind::Signalled]),
        (LEAST, Add(2), &[Kind::Write, Kind::Atomic]),
        (LEAST - 1, Set(2), &[Kind::Write, Kind::Atomic]),
        (LEAST - 1, Put(2), &[Kind::Write, Kind::Write]),
        (9, Put(2), &[Kind::Put, Kind::Write]),
    ] {
        let (world, script) = job();
        let signals = world.put_signal(word(1), &vec![1; words], word(1).add(20), signal).unwrap();
        assert_eq!(script.lock().unwrap().kinds, kinds, "{words} words, {signal:?}");
        (0..kinds.len()).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
        assert_eq!(signals.wait(), Ok(()));
    }
    let (world, script) = job();
    let narrow = world.put_signal(word(1), &[1; LEAST], halves, Set(2)).unwrap();
    let first = world.put_signal(word(1), &[1; LEAST], word(1).add(20), Set(3)).unwrap();
    // An operation after a signal follows the signal's data, by a fence; an operation after another one is held back together with its signal.
    let second = world.after(&first).put_signal(word(1), &[1; LEAST], word(1).add(20), Set(4)).unwrap();
    let elsewhere = world.after(&second).put_signal(word(2), &[1; LEAST], word(2).add(20), Set(5)).unwrap();
    assert_eq!(script.lock().unwrap().kinds, [Kind::Write, Kind::Atomic, Kind::Signalled, Kind::Signalled]);
    (0..4).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    world.progress();
    assert_eq!(script.lock().unwrap().kinds[4..], [Kind::Put, Kind::Atomic]);
    (4..6).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.wait_all(&[narrow, first, second, elsewhere]), Ok(()));
}

/// The values lie in a heap, where they cannot fail; the word may not.
#[test]
fn what_follows_a_signal_that_may_lead_nowhere_waits_for_it() {
    let (world, script) = job();
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    let at = layout.encode(Rank::new(1), SegmentId::REGISTERED_FIRST, 0).unwrap();
    let signal = pelago_rma::Signal::Set(2);
    let first =
        world.put_signal(word(1), &[1; SIGNALLED_BYTES_MIN / 8], GlobalPtr::<u64>::from_address(at).unwrap(), signal).unwrap();
    let second = world.after(&first).put(word(1), &[3]).unwrap();
    assert_eq!(script.lock().unwrap().kinds, [Kind::Signalled]);
    script.lock().unwrap().complete(0, Err(pelago_rma::Failure::OutOfBounds(at)));
    world.progress();
    assert_eq!(script.lock().unwrap().kinds.len(), 1, "what comes behind it has no effect");
    assert!(first.wait().is_err() && second.wait().is_err());
}

#[test]
fn what_is_issued_together_is_held_until_all_is_issued() {
    let (world, script) = job();
    let both = world.batch(|| [world.put(word(1), &[1]).unwrap(), world.put(word(1), &[2]).unwrap()]);
    assert_eq!(said_inside(&script), [More, More, Flush]);
    (0..2).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.wait_all(&both), Ok(()));
    let (alone, script) = lone(1);
    said(&script);
    assert_eq!(alone.batch(|| 5), 5);
    assert_eq!(said(&script), [], "all ranks are mapped");
}

#[test]
fn a_batch_without_a_closure_lasts_longer_than_those_inside() {
    let (world, script) = job();
    world.set_batching(true);
    let put = world.put(word(1), &[1]).unwrap();
    let signal = world.put_signal(word(1), &[1], word(1), pelago_rma::Signal::Set(2)).unwrap();
    assert_eq!(said_inside(&script), [More, More, More]);
    world.set_batching(false);
    assert_eq!(said_inside(&script), [Flush]);
    let last = world.put(word(1), &[3]).unwrap();
    assert_eq!(said_inside(&script), []);
    (0..4).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.wait_all(&[put, signal, last]), Ok(()));
}

#[test]
fn an_operation_that_has_to_wait_is_counted() {
    let (world, script) = job();
    let first = world.put(word(1), &[1]).unwrap();
    world.after(&first).put(word(1), &[2]).unwrap();
    assert_eq!(world.counters().of(Event::Deferred), 0, "a fence orders it");
    world.after(&first).put(word(2), &[2]).unwrap();
    assert_eq!((world.counters().of(Event::Deferred), world.counters().of(Event::Parked)), (1, 0));
    (0..2).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    world.progress();
    script.lock().unwrap().complete(2, Ok(0));
    assert_eq!(world.quiet(), Ok(()));
}

#[test]
fn ranks_end_together() {
    let (world, script) = job();
    world.finish().unwrap();
    assert_eq!(said_inside(&script), [Barrier, Finish, Does(Leaves)]);
    assert!(script.lock().unwrap().sleeps, "nothing moves while the others come, who may take long");
    // If all ranks are mapped, they use a barrier in that memory.
    let (world, script) = lone(1);
    said(&script);
    world.leave().unwrap();
    assert_eq!(said_inside(&script), [Finish]);
    // Unless the job continues after failures.
    let (world, script) = lone(1);
    world.on_peer_lost(|_| {});
    said(&script);
    world.leave().unwrap();
    assert_eq!(said_inside(&script), [Barrier, Finish]);
}

/// A dropped context waits for its operations in flight, for at most ten seconds.
#[test]
fn a_context_that_is_dropped_waits_for_its_operations() {
    let (world, script) = job();
    let drop_one = || {
        let context = world.context_factory().context().unwrap();
        context.put(word(1), &[1]).unwrap();
        said(&script);
        drop(context);
        said_inside(&script)
    };
    script.lock().unwrap().wakes = Some(Box::new(|script| script.complete(0, Ok(0))));
    let limit = |from: Instant| Park(For::AtMost(0), Some(from + Duration::from_milliseconds(10_000)));
    assert_eq!(drop_one(), [Does(Waits), limit(Instant::ZERO), Does(GoesOn), Does(Leaves)]);
    assert_eq!(world.now(), Instant::ZERO, "no longer than they take");
    assert_eq!(drop_one(), [Does(Waits), limit(Instant::ZERO), Does(GoesOn), Does(Leaves)]);
    assert_eq!(world.now(), at(10_000_000_000));
    assert!(matches!(world.finish(), Err(Error::TimedOut { .. })), "that it did not end is reported");
}

#[test]
fn a_context_that_a_panic_drops_waits_for_nothing() {
    let (world, script) = job();
    let factory = world.context_factory();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let context = factory.context().unwrap();
        context.put(word(1), &[1]).unwrap();
        resume_unwind(Box::new("a bug of the program"));
    }));
    assert!(panicked.is_err());
    assert_eq!(said_inside(&script), [Does(Joins), Does(Leaves)]);
    world.finish().unwrap();
}

/// Blocks are one operation of a rail that accepts them, unless they are longer than is worthwhile there.
#[test]
fn long_blocks_are_posted_one_by_one() {
    let mut script = Script::default();
    (script.blocks_max, script.block_bytes_max) = (8, 32);
    let (world, script) = lone_with(RANKS, script, u64::MAX);
    let strided = |block: u64| {
        let (first, dense) = (script.lock().unwrap().kinds.len(), Shape::strided(3, block, block));
        let put = world.put_strided(word(1), Shape::strided(3, block, 8), &[1; 15][..3 * block as usize], dense).unwrap();
        let last = script.lock().unwrap().kinds.len();
        (first..last).for_each(|operation| script.lock().unwrap().complete(operation, Ok(0)));
        put.wait().unwrap();
        last - first
    };
    assert_eq!((strided(4), strided(5)), (1, 3));
}
