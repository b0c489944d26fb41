//! An operator panics in the middle of a message and the program catches the panic: values that are combined already are not combined again, so that no
//! call returns a wrong result.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pelago_base::Rank;
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Settings, Started};
use pelago_rma::{Error, Result, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::threads::{Platform, on_every_platform};

/// The member whose operator panics: the root of the reductions.
const VICTIM: Rank = Rank::new(0);
const COUNT: usize = 100;
/// Number of jobs, so that in one of them data of an operation that has failed arrives during a later one.
const JOBS: usize = 30;

fn team(world: &World) -> Collectives<'_> {
    Collectives::new(world, &Settings { memory_bytes: 1 << 20, ..Settings::default() }).unwrap()
}

/// An operator that panics at its third call, at the victim.
fn operator(world: &World) -> impl Fn(u64, u64) -> u64 + 'static {
    let (panics, calls) = (world.rank() == VICTIM, Cell::new(0));
    move |left, right| {
        if panics && calls.replace(calls.get() + 1) == 2 {
            resume_unwind(Box::new("the operator"));
        }
        left + right
    }
}

/// The result of a call, or `None` if it panicked.
fn caught<R>(call: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// The result of an operation whose start or later calls may panic; `None` if the start did.
fn ended<'c, 'w: 'c>(start: impl FnOnce() -> Result<Started<'c, 'w, u64>>) -> Option<Result<Vec<u64>>> {
    let mut started = caught(start)?.unwrap();
    loop {
        match caught(|| started.test()) {
            Some(Ok(true)) => return Some(started.wait()),
            Some(Err(error)) => return Some(Err(error)),
            Some(Ok(false)) | None => std::thread::yield_now(),
        }
    }
}

fn is_refused<R>(ended: &Result<R>) -> bool {
    matches!(ended, Err(Error::Invalid(_)))
}

#[test]
fn an_operation_with_counts_fails_on_all_members() {
    for _ in 0..JOBS {
        on_every_platform(&[2, 4], operations_with_counts_fail);
    }
}

fn operations_with_counts_fail(world: &World, platform: Platform) {
    for is_started in [false, true] {
        let (all, size) = (team(world), world.size() as usize);
        let (values, counts) = (vec![1_u64; COUNT * size], vec![COUNT; size]);
        let mut own = vec![0_u64; COUNT];
        let first = if is_started {
            ended(|| all.start_reduce_scatterv(values.clone(), &counts, operator(world)))
        } else {
            caught(|| all.reduce_scatterv(&values, &counts, &mut own, operator(world)).map(|()| own.clone()))
        };
        match &first {
            Some(Ok(sums)) => {
                assert_ne!(world.rank(), VICTIM, "{platform:?}, started: {is_started}");
                assert_eq!(*sums, [size as u64; COUNT], "{platform:?}, started: {is_started}");
            }
            Some(refused) => assert!(is_refused(refused), "{platform:?}, started: {is_started}: {refused:?}"),
            None => assert_eq!(world.rank(), VICTIM),
        }
        // Values of their own: what the victim sent for the first operation may arrive now.
        for values in [2, 3].map(|value| vec![value; values.len()]) {
            let later = all.reduce_scatterv(&values, &counts, &mut own, |left, right| left + right);
            assert!(is_refused(&later), "{platform:?}, started: {is_started}: {later:?} {own:?}, first {first:?}");
        }
        world.barrier().unwrap();
    }
}

#[test]
fn a_started_operation_fails_at_the_member() {
    on_every_platform(&[2, 4], |world, platform| {
        let (all, me) = (team(world), world.rank());
        let first = ended(|| all.start_reduce(VICTIM.number(), vec![1; COUNT], operator(world)));
        let later = all.reduce(VICTIM.number(), &mut [1_u64; COUNT], |left, right| left + right);
        if me == VICTIM {
            assert!(first.as_ref().is_none_or(is_refused), "{platform:?}: {first:?}");
            assert!(is_refused(&later), "{platform:?}: {later:?}");
        } else {
            assert_eq!((first, later), (Some(Ok(Vec::new())), Ok(())), "{platform:?}");
        }
        world.barrier().unwrap();
    });
}

/// The victim calls nothing more: members that wait for the rest of its values fail all the same.
#[test]
fn members_that_wait_in_an_operation_with_counts_fail() {
    // More fragments than a stream has slots.
    const LONG: usize = 50_000;
    on_every_platform(&[2, 4], |world, platform| {
        let (all, size) = (team(world), world.size() as usize);
        let (values, counts) = (vec![1_u64; LONG * size], vec![LONG; size]);
        let first = caught(|| all.reduce_scatterv(&values, &counts, &mut vec![0; LONG], operator(world)));
        assert_eq!(first.is_none(), world.rank() == VICTIM);
        assert!(first.as_ref().is_none_or(|first| first.is_ok() || is_refused(first)), "{platform:?}: {first:?}");
        world.barrier().unwrap();
    });
}

/// More runs than a member can be ahead of another.
const RUNS: usize = 10_000;

#[test]
fn a_plan_fails_on_all_members() {
    on_every_platform(&[2, 4], |world, platform| {
        let (all, is_victim) = (team(world), world.rank() == VICTIM);
        for (operation, algorithm) in [
            (Collective::Allreduce, Algorithm::Flat),
            (Collective::Allreduce, Algorithm::Direct),
            (Collective::Allreduce, Algorithm::Binomial),
            (Collective::Allreduce, Algorithm::RecursiveDoubling),
            // Others wait for nothing but its credits.
            (Collective::Reduce { root: 0 }, Algorithm::Flat),
        ] {
            let say = |ended: &dyn std::fmt::Debug| format!("{platform:?}, {operation} {algorithm}: {ended:?}");
            let mut plan = all.plan_of(operation, COUNT, operator(world), Choice::Fixed(algorithm)).unwrap();
            let mut run = || plan.run_in_place(&mut [1; COUNT]);
            let first = caught(&mut run);
            assert_eq!(first.is_none(), is_victim, "{}", say(&first));
            let ended = first.unwrap_or(Ok(())).and_then(|()| (0..RUNS).try_for_each(|_| run()));
            assert!(is_refused(&ended), "{}", say(&ended));
        }
        // One-shot and started operations: the same without a plan of the program.
        let first = caught(|| all.allreduce(&mut [1_u64; COUNT], operator(world)));
        assert!(first.as_ref().is_none_or(|first| first.is_ok() || is_refused(first)), "{platform:?}: {first:?}");
        let later = ended(|| all.start_allreduce(vec![1; COUNT], operator(world)));
        assert!(later.as_ref().is_some_and(is_refused), "{platform:?}: {later:?}");
        world.barrier().unwrap();
    });
}

/// After a failure, puts to failed members must not be reported again; those of the program to others must be.
#[test]
fn an_operation_that_fails_leaves_the_failures_of_the_program() {
    on_every_platform(&[3], |world, platform| {
        let all = team(world);
        let plain = || all.reduce(VICTIM.number(), &mut [1_u64; COUNT], |left, right| left + right);
        plain().unwrap();
        let later = after_a_failure(world, || {
            let _panicked = caught(|| all.reduce(VICTIM.number(), &mut [1_u64; COUNT], operator(world)));
            plain()
        });
        assert_eq!(is_refused(&later), world.rank() == VICTIM, "{platform:?}: {later:?}");
        world.barrier().unwrap();
    });
}
