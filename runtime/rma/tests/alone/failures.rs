//! No operation that failed is reported as successful, and each failure is reported once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, GlobalAddress, Rank, SegmentId};
use pelago_platform::Failure;
use pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX;
use pelago_rma::{Error, Fetch, GlobalPtr, Handle, Result, World};
use proptest::prelude::*;

use super::scripted::{Answer, HEAP_BYTES, Script, lone};

const RANKS: u32 = 3;

/// Returns a pointer to the word of this number in the heap of a rank.
pub(crate) fn word(rank: u32, number: u64) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    let offset = 8 * number % HEAP_BYTES;
    GlobalPtr::from_address(layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).unwrap()).unwrap()
}

pub(crate) const LOST: Failure = Failure::PeerLost(Rank::new(1));

/// A failure that no other operation shares.
pub(crate) fn outside(number: u64) -> Failure {
    Failure::OutOfBounds(GlobalAddress::from_bits(number))
}

/// Returns a job and its script.
pub(crate) fn job() -> (World, Arc<Mutex<Script>>) {
    lone(RANKS)
}

/// Puts `count` words, each of which ends as `end` returns; returns the handles.
pub(crate) fn puts<'w>(
    world: &'w World,
    script: &Mutex<Script>,
    count: u64,
    end: impl Fn(u64) -> Result<u64, Failure>,
) -> Vec<Handle<'w>> {
    let mut handles = Vec::new();
    let batch = OPERATIONS_IN_FLIGHT_MAX as u64;
    for first in (0..count).step_by(OPERATIONS_IN_FLIGHT_MAX) {
        let numbers = first..(first + batch).min(count);
        let posted = script.lock().unwrap().posted().len();
        handles.extend(numbers.clone().map(|number| world.put(word(1, number), &[number]).unwrap()));
        for (place, number) in numbers.enumerate() {
            script.lock().unwrap().complete(posted + place, end(number));
        }
        world.progress();
    }
    handles
}

#[test]
fn a_thousand_pending_puts_to_a_rank_that_is_lost_all_fail() {
    for failure in [|_| LOST, outside] {
        let (world, script) = job();
        let handles = puts(&world, &script, 1000, |number| Err(failure(number)));
        let posted = script.lock().unwrap().posted().len();
        for round in 0..2 {
            for (number, handle) in (0..).zip(&handles) {
                let failed = Err(Error::Failed(failure(number)));
                assert_eq!(handle.wait(), failed, "{round}");
                assert_eq!(world.after(handle).put(word(2, 0), &[1]).map(drop), failed, "nothing comes after it");
            }
        }
        assert_eq!(world.wait_all(&handles), Err(Error::Failed(failure(0))));
        assert_eq!(script.lock().unwrap().posted().len(), posted, "nothing has an effect that was ordered after a failure");
        assert_eq!(world.quiet(), Ok(()), "every handle has told");
    }
}

/// Every call that reports failures reports each unreported one once.
#[test]
fn every_call_that_waits_for_all_reports_what_nobody_was_told_of() {
    type Call = fn(&World) -> Result<()>;
    let calls: [(&str, Call); 6] = [
        ("quiet", |world| world.quiet()),
        ("fence", |world| world.fence()),
        ("flush", |world| world.flush(Rank::new(2))),
        ("flush_all", |world| world.flush_all()),
        ("after_all, put", |world| world.after_all().put(word(2, 0), &[1]).map(drop)),
        ("after_all, fetch", |world| world.after_all().fetch_add(word(2, 0), 1).map(drop)),
    ];
    for (name, call) in calls {
        let (world, script) = job();
        let handles = puts(&world, &script, 10, |number| if number < 3 { Err(outside(number)) } else { Ok(0) });
        assert!(handles[0].wait().is_err());
        assert_eq!(call(&world), Err(Error::Failed(outside(1))), "{name}: the first that nobody was told of");
        assert_eq!(script.lock().unwrap().posted().len(), 10, "{name}: nothing was issued");
        script.lock().unwrap().answer = Answer::Completes;
        assert_eq!(call(&world), Ok(()), "{name}: all count as told");
        assert!((0..3).all(|number| handles[number].wait() == Err(Error::Failed(outside(number as u64)))));
    }
}

#[test]
fn a_fetch_that_is_there_reports_its_own_failure() {
    let (world, script) = job();
    let fetch = || world.fetch_add(word(1, 0), 1).unwrap();
    let fail = |index| {
        script.lock().unwrap().complete(index, Err(LOST));
        world.progress();
    };
    let failed = Error::Failed(LOST);

    // Reported by a call, and then again by its handle.
    let asked = fetch();
    let handle = asked.handle();
    fail(0);
    assert_eq!(world.quiet(), Ok(()), "it will be asked");
    assert_eq!(asked.test(), Err(failed.clone()));
    assert_eq!(asked.wait(), Err(failed.clone()));
    assert_eq!((world.quiet(), handle.wait()), (Ok(()), Err(failed.clone())));
    assert_eq!(world.after(&handle).put(word(2, 0), &[1]).map(drop), Err(failed.clone()));

    // Dropped without a query, before and after the end.
    for ended in [true, false] {
        let dropped = fetch();
        let (index, handle) = (script.lock().unwrap().posted().len() - 1, dropped.handle());
        if !ended {
            drop(dropped);
            fail(index);
        } else {
            fail(index);
            drop(dropped);
        }
        assert_eq!((world.quiet(), world.quiet()), (Err(failed.clone()), Ok(())), "{ended}");
        assert_eq!(handle.wait(), Err(failed.clone()));
    }

    // An operation after all others is not affected by a failure that a `Fetch` will report.
    let kept = fetch();
    fail(3);
    assert_eq!(world.after_all().put(word(2, 0), &[1]).map(drop), Err(failed.clone()));
    assert_eq!(kept.wait(), Err(failed));
    assert_eq!((world.quiet(), script.lock().unwrap().posted().len()), (Ok(()), 4));
}

/// A query of the last of several operations that were ordered after each other reports the failure of all of them.
#[test]
fn a_failure_is_passed_on_to_what_was_ordered_after_it_and_told_once() {
    for (fails_itself, asks) in [(false, true), (false, false), (true, true), (true, false)] {
        let (world, script) = job();
        let put = world.put(word(1, 0), &[1]).unwrap();
        let behind = world.after(&put).put(word(1, 1), &[1]).unwrap();
        let swapped = world.after(&behind).swap(word(1, 2), 1).unwrap();
        let handle = swapped.handle();
        assert_eq!(script.lock().unwrap().posted().len(), 3, "all are under way at once");
        if fails_itself {
            script.lock().unwrap().complete(2, Err(outside(2)));
        }
        script.lock().unwrap().complete(0, Err(LOST));
        script.lock().unwrap().complete(1, Err(LOST));
        world.progress();
        if !fails_itself {
            script.lock().unwrap().complete(2, Ok(0));
            world.progress();
        }
        let failed = Err(Error::Failed(LOST));
        if asks {
            assert_eq!(swapped.wait().map(drop), failed, "the failure of the first");
        } else {
            drop(swapped);
            assert_eq!(world.quiet(), failed, "nobody was told");
        }
        assert_eq!(world.quiet(), Ok(()), "the others count as told");
        assert_eq!([put, behind, handle].map(Handle::wait), [failed.clone(), failed.clone(), failed], "each knows how it ended");
    }
}

/// A read has no effect: if its result is not taken, its failure is not reported.
#[test]
fn the_failure_of_a_read_that_was_given_up_is_nobodys_concern() {
    for ended in [true, false] {
        let (world, script) = job();
        let read = world.fetch(word(1, 0)).unwrap();
        let handle = read.handle();
        let mut read = Some(read);
        if !ended {
            read = None;
        }
        script.lock().unwrap().complete(0, Err(LOST));
        world.progress();
        drop(read);
        assert_eq!((world.quiet(), handle.wait()), (Ok(()), Err(Error::Failed(LOST))), "{ended}");
    }
    // But it carries the failure of its predecessor.
    for ended in [true, false] {
        let (world, script) = job();
        let put = world.put(word(1, 0), &[1]).unwrap();
        let mut read = Some(world.after(&put).fetch(word(1, 1)).unwrap());
        script.lock().unwrap().complete(0, Err(LOST));
        world.progress();
        if !ended {
            read = None;
        }
        script.lock().unwrap().complete(1, Ok(0));
        world.progress();
        drop(read);
        assert_eq!((world.quiet(), world.quiet()), (Err(Error::Failed(LOST)), Ok(())), "{ended}");
    }
}

#[test]
fn what_a_dropped_context_was_not_asked_for_is_reported_at_the_end() {
    for asks in [false, true] {
        let (world, script) = job();
        let other = world.context_factory().context().unwrap();
        let put = other.put(word(1, 0), &[1]).unwrap();
        script.lock().unwrap().complete(0, Err(LOST));
        assert!(!asks || put.wait().is_err());
        drop(other);
        assert_eq!(world.quiet(), Ok(()), "the failure is another context's");
        assert_eq!(world.finish(), if asks { Ok(()) } else { Err(Error::Failed(LOST)) });
    }
}

/// A step of a generated program.
#[derive(Clone, Debug)]
enum Step {
    /// Puts a word, or fetches and adds to one; after nothing, after one of the operations so far, or after all.
    Issue { fetches: bool, order: Order, rank: u32 },
    /// The transport completes one of its operations.
    Complete { which: prop::sample::Index, fails: bool, alike: bool },
    /// Queries one of the handles so far.
    Ask(prop::sample::Index),
    /// Waits for the word of one of the fetches so far, if it has ended, or drops it.
    Fetched { which: prop::sample::Index, waits: bool },
    /// Completes all operations and calls `quiet`.
    Quiet,
}

#[derive(Clone, Debug)]
enum Order {
    Nothing,
    One(prop::sample::Index),
    All,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let order = prop_oneof![3 => Just(Order::Nothing), 3 => index().prop_map(Order::One), 1 => Just(Order::All)];
    prop_oneof![
        8 => (any::<bool>(), order, 1..RANKS).prop_map(|(fetches, order, rank)| Step::Issue { fetches, order, rank }),
        8 => (index(), prop::bool::weighted(0.4), any::<bool>()).prop_map(|(which, fails, alike)| Step::Complete { which, fails, alike }),
        6 => index().prop_map(Step::Ask),
        2 => (index(), any::<bool>()).prop_map(|(which, waits)| Step::Fetched { which, waits }),
        1 => Just(Step::Quiet),
    ]
}

/// The oracle's state of an operation. Its number is that of its word.
#[derive(Default)]
struct Known {
    /// The predecessors that had not ended at its issue.
    after: Vec<usize>,
    /// The single predecessor whose failure is reported together with its own, if it was ordered after one operation.
    heir_of: Option<usize>,
    /// The result from the transport.
    said: Option<Result<(), Failure>>,
    /// Whether its failure has been reported.
    told: bool,
}

struct Oracle<'w> {
    world: &'w World,
    script: &'w Mutex<Script>,
    known: Vec<Known>,
    handles: Vec<Handle<'w>>,
    fetches: BTreeMap<usize, Fetch<'w, u64>>,
}

impl<'w> Oracle<'w> {
    /// Returns the result of an operation, if it has ended: it ends after its predecessors, and fails if one of them does.
    fn end(&self, number: usize) -> Option<Result<(), Vec<Failure>>> {
        let known = &self.known[number];
        let before = known.after.iter().map(|&earlier| self.end(earlier)).collect::<Option<Vec<_>>>()?;
        let doomed: Vec<_> = before.into_iter().filter_map(Result::err).flatten().collect();
        match known.said {
            Some(Err(failure)) => Some(Err([&[failure][..], &doomed].concat())),
            None if doomed.is_empty() || self.is_posted(number) => None,
            Some(Ok(())) if doomed.is_empty() => Some(Ok(())),
            _ => Some(Err(doomed)),
        }
    }

    /// Returns the operations with unreported failures; those with a live `Fetch` only if `kept`.
    fn untold(&self, kept: bool) -> Vec<usize> {
        let is_untold = |&number: &usize| {
            !self.is_told(number) && (kept || !self.fetches.contains_key(&number)) && matches!(self.end(number), Some(Err(_)))
        };
        (0..self.known.len()).filter(is_untold).collect()
    }

    /// Whether the failure of an operation has been reported, or will be by an operation that was ordered after it.
    fn is_told(&self, number: usize) -> bool {
        self.known[number].told || self.known.iter().any(|known| known.heir_of == Some(number))
    }

    fn tell(&mut self, numbers: &[usize]) {
        numbers.iter().for_each(|&number| self.known[number].told = true);
    }

    fn posted(&self) -> Vec<usize> {
        let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
        self.script.lock().unwrap().posted().map(|at| layout.offset(at) as usize / 8).collect()
    }

    fn is_posted(&self, number: usize) -> bool {
        self.posted().contains(&number)
    }

    /// Sets the result of an operation of the transport.
    fn complete(&mut self, index: usize, number: usize, result: Result<(), Failure>) {
        self.script.lock().unwrap().complete(index, result.map(|()| number as u64));
        self.known[number].said = Some(result);
        self.world.progress();
    }

    /// Returns index among the posts, and number, of the transport's pending operations.
    fn pending(&self) -> Vec<(usize, usize)> {
        self.posted().into_iter().enumerate().filter(|&(_, number)| self.known[number].said.is_none()).collect()
    }

    fn check(&mut self, number: usize, said: Result<bool>) {
        match (self.end(number), said) {
            (None, Ok(false)) | (Some(Ok(())), Ok(true)) => {}
            (Some(Err(failures)), Err(Error::Failed(failure))) if failures.contains(&failure) => self.known[number].told = true,
            (end, said) => panic!("operation {number} has ended as {end:?}, and its handle says {said:?}"),
        }
    }

    fn issue(&mut self, fetches: bool, wanted: &Order, rank: u32) {
        let (number, posted) = (self.known.len(), self.posted().len());
        let (order, earlier) = match wanted {
            Order::One(pick) if number > 0 => {
                let earlier = pick.index(number);
                (self.world.after(&self.handles[earlier]), vec![earlier])
            }
            Order::All => (self.world.after_all(), (0..number).collect()),
            _ => (self.world.after(&Handle::done()), Vec::new()),
        };
        let alone = if let (Order::One(_), [earlier]) = (&wanted, &earlier[..]) { Some(*earlier) } else { None };
        let is_all = alone.is_none();
        let at = word(rank, number as u64);
        let issued = match fetches {
            true => order.fetch_add(at, 1).map(|fetch| {
                let handle = fetch.handle();
                self.fetches.insert(number, fetch);
                handle
            }),
            false => order.put(at, &[1]),
        };
        let failed: Vec<_> = earlier.iter().copied().filter(|&earlier| matches!(self.end(earlier), Some(Err(_)))).collect();
        match issued {
            Ok(handle) => {
                let unknown = if is_all { failed.iter().any(|&earlier| !self.is_told(earlier)) } else { !failed.is_empty() };
                assert!(!unknown, "operation {number} was issued after one that has failed");
                let after: Vec<_> = earlier.into_iter().filter(|&earlier| self.end(earlier).is_none()).collect();
                let heir_of = alone.filter(|_| !after.is_empty());
                self.known.push(Known { after, heir_of, ..Known::default() });
                self.handles.push(handle);
            }
            Err(Error::Failed(_)) => {
                assert!(!failed.is_empty(), "nothing has failed that operation {number} is ordered after");
                assert_eq!(self.posted().len(), posted, "it has no effect");
                self.tell(&failed);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn quiet(&mut self) {
        while let Some(&(index, number)) = self.pending().first() {
            self.complete(index, number, Ok(()));
        }
        let untold = self.untold(false);
        match (self.world.quiet(), &untold[..]) {
            (Ok(()), []) => {}
            (Err(Error::Failed(failure)), [first, ..]) => {
                let Some(Err(failures)) = self.end(*first) else { unreachable!() };
                assert!(failures.contains(&failure), "the first is {first}");
            }
            (said, untold) => panic!("quiet says {said:?}, and {untold:?} have failed"),
        }
        self.tell(&untold);
        assert_eq!(self.world.quiet(), Ok(()), "once");
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Issue { fetches, order, rank } => self.issue(*fetches, order, *rank),
            Step::Complete { which, fails, alike } => {
                let pending = self.pending();
                if let Some((index, number)) = pending.get(which.index(pending.len().max(1))) {
                    let failure = if *alike { LOST } else { outside(*number as u64) };
                    self.complete(*index, *number, if *fails { Err(failure) } else { Ok(()) });
                }
            }
            Step::Ask(which) if !self.handles.is_empty() => {
                let number = which.index(self.handles.len());
                self.check(number, self.handles[number].has_ended());
            }
            Step::Fetched { which, waits } if !self.fetches.is_empty() => {
                let number = *self.fetches.keys().nth(which.index(self.fetches.len())).unwrap();
                let fetch = self.fetches.remove(&number).unwrap();
                if *waits && self.end(number).is_some() {
                    self.check(number, fetch.wait().map(|word| word == number as u64));
                }
            }
            Step::Quiet => self.quiet(),
            Step::Ask(_) | Step::Fetched { .. } => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Random operations, orders, ends and queries, compared with an oracle that knows the whole history.
    #[test]
    fn what_is_said_of_operations_agrees_with_their_history(steps in prop::collection::vec(step(), 1..80)) {
        let (world, script) = job();
        let mut oracle =
            Oracle { world: &world, script: &script, known: Vec::new(), handles: Vec::new(), fetches: BTreeMap::new() };
        steps.iter().for_each(|step| oracle.step(step));
        oracle.quiet();
        for number in (0..oracle.known.len()).chain(0..oracle.known.len()) {
            oracle.check(number, oracle.handles[number].wait().map(|()| true));
        }
        oracle.fetches.clear();
        oracle.quiet();
    }
}
