//! A model checker for the lock: explores every order of the operations of ranks, deaths at every step, late operations of dead ranks, and the times at
//! which each rank notices a loss. Jobs of two ranks are explored completely, those of three ranks by random executions.
//!
//! It runs the queue of the library (`pelago_dsm::lock`) on the words of a model.

mod explorer;
mod model;
mod program;

use explorer::{explore, wander};
use program::Action::{self, *};
use program::Job;

/// Maximum number of explored states: more than any completely explored job has.
const STATES_MAX: usize = 2_000_000;

/// Number of random executions of each other job.
const COURSES: u64 = 3_000;

fn job(programs: &[&[Action]], mortal: &[u32], apart: bool) -> Job {
    let programs = programs.iter().map(|program| program.to_vec()).collect();
    Job { programs, mortal: mortal.to_vec(), apart, posts: false, keeps: false }
}

/// Explores jobs completely, and checks that each has at least some states.
fn explore_all(jobs: &[Job]) {
    for job in jobs {
        let states = explore(job, STATES_MAX);
        assert!((100..STATES_MAX).contains(&states), "{states} states of {job:?}");
    }
}

#[test]
fn two_ranks_in_every_order() {
    explore_all(&[
        job(&[&[Write, Write], &[Write, Write]], &[], false),
        job(&[&[Read, Write], &[Write, Read]], &[], false),
        job(&[&[Downgrade], &[Write, Read]], &[], false),
        job(&[&[WriteInTime, Write], &[Write]], &[], false),
        job(&[&[ReadInTime, Write], &[Write]], &[], false),
        job(&[&[TryWrite, Read], &[Read, TryWrite]], &[], false),
    ]);
}

#[test]
fn who_waits_to_be_told_is_told() {
    explore_all(&[
        job(&[&[AwaitWrites(1)], &[WriteAndNotify]], &[], false),
        job(&[&[AwaitWrites(1)], &[WriteAndNotifyAll]], &[], false),
        job(&[&[WriteAndNotify], &[AwaitWrites(1), Write]], &[], false),
        job(&[&[AwaitWritesInTime(1), Write], &[WriteAndNotify]], &[], false),
    ]);
    for apart in [false, true] {
        explore_all(&[
            job(&[&[AwaitWrites(1)], &[WriteAndNotify]], &[1], apart),
            job(&[&[WriteAndNotify], &[AwaitWrites(1)]], &[1], apart),
        ]);
    }
}

#[test]
fn a_rank_dies_at_every_step() {
    for apart in [false, true] {
        explore_all(&[
            job(&[&[Write], &[Write]], &[1], apart),
            job(&[&[Write], &[Read]], &[1], apart),
            job(&[&[Read], &[Write]], &[1], apart),
            job(&[&[Write], &[Write]], &[0], apart),
        ]);
    }
}

#[test]
fn what_is_posted_arrives_at_any_time() {
    for (programs, mortal, apart) in [
        (&[&[Write, Write][..], &[Write]][..], &[][..], false),
        (&[&[Write], &[Write, Write]], &[], false),
        (&[&[Read, Write], &[Write, Read]], &[], false),
        (&[&[Downgrade], &[Write, Read]], &[], false),
        (&[&[WriteInTime, Write], &[Write]], &[], false),
        (&[&[TryWrite, Write], &[Write]], &[], false),
        (&[&[AwaitWrites(1)], &[WriteAndNotify]], &[], false),
        (&[&[Write], &[Write]], &[1], false),
        (&[&[Write], &[Write]], &[1], true),
        (&[&[Write], &[Write]], &[0], true),
        (&[&[Read], &[Write]], &[1], true),
        (&[&[Write], &[Read]], &[1], false),
    ] {
        let job = Job { posts: true, ..job(programs, mortal, apart) };
        let states = explore(&job, STATES_MAX);
        assert!((100..STATES_MAX).contains(&states), "{states} states of {job:?}");
    }
}

#[test]
fn a_token_is_kept_until_another_comes() {
    for (programs, mortal, apart, posts) in [
        (&[&[Write, Write][..], &[Write, Write]][..], &[][..], false, false),
        (&[&[Read, Write], &[Write, Read]], &[], false, false),
        (&[&[Downgrade, Write], &[Write]], &[], false, false),
        (&[&[Write, WriteInTime], &[Write]], &[], false, false),
        (&[&[ReadInTime, Write], &[Write]], &[], false, false),
        (&[&[Write, TryWrite], &[TryWrite, Write]], &[], false, false),
        (&[&[Read, TryWrite], &[ReadInTime, Write]], &[], false, false),
        (&[&[AwaitWrites(1)], &[WriteAndNotify]], &[], false, false),
        (&[&[Write, Write], &[Write]], &[0], false, false),
        (&[&[Write, Write], &[Write]], &[0], true, false),
        (&[&[Write], &[Write, Write]], &[1], false, false),
        (&[&[Write], &[Write, Write]], &[1], true, false),
        (&[&[Write], &[Read, Write]], &[1], true, false),
        (&[&[Read], &[Write, Write]], &[1], true, false),
        (&[&[Write, Write], &[Write]], &[], false, true),
        (&[&[Write, Read], &[Write]], &[], false, true),
        (&[&[Write, ReleaseToHome, Write], &[Write]], &[], false, true),
        (&[&[Write], &[Write, ReleaseToHome, Write]], &[], false, true),
        (&[&[Write], &[Write, ReleaseToHome, Write]], &[1], true, true),
        (&[&[Write], &[Write, Write]], &[1], false, true),
        (&[&[Write], &[Write, Write]], &[1], true, true),
    ] {
        let job = Job { keeps: true, posts, ..job(programs, mortal, apart) };
        let states = explore(&job, STATES_MAX);
        assert!((100..STATES_MAX).contains(&states), "{states} states of {job:?}");
    }
}

/// A third rank recovers the lock while one takes back its kept token.
#[test]
fn a_token_is_kept_while_others_recover() {
    for apart in [false, true] {
        for (programs, mortal) in [
            ([&[Write, Write, Write, Write][..], &[Write], &[Write, Write]], 1),
            ([&[Write], &[Write, Write, Write, Write], &[Write, Write]], 2),
            ([&[Write, Write], &[Read, Write, Read, Write], &[Write, TryWrite]], 2),
        ] {
            wander(&Job { keeps: true, ..job(&programs, &[mortal], apart) }, COURSES, 5);
        }
    }
}

#[test]
fn three_ranks_by_chance() {
    for apart in [false, true] {
        for mortal in [&[][..], &[1], &[2], &[0]] {
            for programs in [
                [&[Write, Read, Write][..], &[Write, Downgrade, Write], &[Read, Write, Read]],
                [&[WriteInTime, Write, ReadInTime], &[ReadInTime, WriteInTime, Write], &[Write, TryWrite, WriteInTime]],
                [&[Read, Write, Downgrade], &[Read, WriteInTime, Read], &[ReadInTime, Read, Write]],
                [&[AwaitWrites(2), Read], &[AwaitWrites(1), WriteAndNotify], &[WriteAndNotify, WriteAndNotify]],
                [&[AwaitWritesInTime(2), Write], &[AwaitWritesInTime(3)], &[WriteAndNotifyAll, AwaitWritesInTime(4)]],
            ] {
                let job = job(&programs, mortal, apart);
                wander(&job, COURSES, 1);
                wander(&Job { posts: true, ..job.clone() }, COURSES / 3, 2);
                wander(&Job { keeps: true, posts: true, ..job.clone() }, COURSES / 3, 3);
                wander(&Job { keeps: true, ..job }, COURSES / 3, 4);
            }
        }
    }
}
