//! Ranks that take turns on one stack: the events are the same as with separate stacks, and puts from a stack and gets to it access the right
//! bytes.

use std::cell::Cell;
use std::fmt::Debug;
use std::hint::black_box;

use pelago_base::{Duration, Rank};
use pelago_platform::Fault;
use pelago_rma::{Handle, Result, World};
use pelago_simulator::{ReportSettings, Settings, simulate};
use pelago_test_support::simulated::{self, run};

/// Runs a job with separate stacks and with one stack, and compares its results and reports; returns the results.
fn both<R: Debug + PartialEq>(settings: Settings, body: impl Fn(&World) -> Result<R>) -> Vec<R> {
    let [own, shared] = [false, true].map(|shared_stack| {
        let settings = Settings { shared_stack, report: Some(ReportSettings::of("stacks")), ..settings.clone() };
        let outcome = run(&settings, &body);
        assert_eq!((outcome.fault, outcome.failed, outcome.stuck), (None, None, Vec::new()), "shared: {shared_stack}");
        let results: Vec<R> = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect();
        (results, outcome.end, outcome.report.unwrap().to_json())
    });
    assert_eq!(own, shared);
    own.0
}

/// Puts from the stack of each rank to all others and gets from them to it, at depths that change, while others run in between.
fn exchange(world: &World, depth: u32) -> Result<u64> {
    let mut frame = black_box([u64::from(world.rank()) + u64::from(depth); 40]);
    if depth > 0 {
        let below = exchange(world, depth - 1)?;
        assert!(frame.iter().all(|&word| word == u64::from(world.rank()) + u64::from(depth)));
        return Ok(below + frame[0]);
    }
    let words = world.alloc::<u64>(40 * world.size() as usize)?;
    let mine = 40 * u32::from(world.rank()) as usize;
    for rank in world.ranks() {
        world.put(words.at(rank, mine), &frame)?;
    }
    world.barrier()?;
    let mut sum = 0;
    for rank in world.ranks() {
        let mut got = black_box([0; 40]);
        world.get_into(words.at(rank, 40 * u32::from(rank.next(world.size())) as usize), &mut got)?;
        assert_eq!(got, [u64::from(rank.next(world.size())); 40]);
        sum += got[0];
    }
    frame[0] = sum;
    world.barrier()?;
    Ok(black_box(frame)[0])
}

#[test]
fn a_job_runs_alike_on_one_stack_and_on_many() {
    for (machine, ranks, per_node) in [("rx200-qdr", 7, 1), ("rx200-qdr", 12, 3), ("laptop", 5, 5)] {
        let sums = both(simulated::settings(machine, ranks, per_node), |world| {
            (0..20).map(|turn| exchange(world, (u32::from(world.rank()) * 5 + turn * 3) % 9)).sum::<Result<u64>>()
        });
        assert_eq!(sums.len(), ranks as usize);
    }
}

/// Ranks compute while their operations are in flight, so that others run in between.
#[test]
fn operations_go_on_while_others_run() {
    let got = both(simulated::settings("rx200-qdr", 4, 1), |world| {
        let words = world.alloc::<u64>(1000)?;
        let right = world.rank().next(world.size());
        let from = black_box([u64::from(world.rank()) + 1; 500]);
        let mut to = black_box([0_u64; 500]);
        let put = world.put(words.at(right, 0), &from)?;
        world.compute(Duration::from_microseconds(50));
        put.wait()?;
        world.barrier()?;
        world.get_into(words.at(right, 0), &mut to)?;
        Ok((words.local().load(499), to[499]))
    });
    assert_eq!(got, [(4, 1), (1, 2), (2, 3), (3, 4)]);
}

#[test]
fn ranks_that_never_end_are_dropped_on_the_one_stack() {
    struct Counted<'c>(&'c Cell<u32>, [u64; 64]);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            assert!(self.1.iter().all(|&word| word == self.1[0]));
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let settings = Settings { shared_stack: true, ..simulated::settings("rx200-qdr", 9, 1) };
    let outcome = run(&settings, |world| {
        let counted = Counted(&dropped, black_box([u32::from(world.rank()).into(); 64]));
        let flag = world.alloc::<u64>(1)?;
        let end = if world.rank() == Rank::new(8) { Ok(0) } else { world.wait_until(flag.local(), 0, |seen| seen == 1) };
        drop(counted);
        end
    });
    assert_eq!((outcome.fault, dropped.get()), (Some(Fault::Deadlock), 9));
    let panics = std::panic::AssertUnwindSafe(|| {
        simulate(&settings, |_| -> std::result::Result<(), ()> {
            let _counted = Counted(&dropped, [3; 64]);
            panic!("on purpose")
        })
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(dropped.get(), 10);
}

/// When the stacks of ranks are unwound, two of the ranks wait for operations meanwhile; the same thread can then run another simulation.
#[test]
fn a_panic_leaves_nothing_behind() {
    struct WaitsInDrop<'w>(Option<Handle<'w>>);
    impl Drop for WaitsInDrop<'_> {
        fn drop(&mut self) {
            let _ended_whether_well_or_not = self.0.take().unwrap().wait();
        }
    }
    for shared_stack in [false, true] {
        let settings = Settings { shared_stack, ..simulated::settings("rx200-qdr", 4, 1) };
        let ring = |panics: bool| {
            let ring = std::panic::AssertUnwindSafe(|| {
                run(&settings, |world| {
                    let words = world.alloc::<u64>(1000)?;
                    let right = world.rank().next(world.size());
                    let under_way = WaitsInDrop(Some(world.put(words.at(right, 0), &[1; 999])?));
                    assert!(!panics || world.rank() != Rank::new(2), "on purpose");
                    world.put(words.at(right, 999), &[1])?;
                    world.wait_until(words.local(), 999, |seen| seen == 1)?;
                    drop(under_way);
                    world.barrier()
                })
            });
            std::panic::catch_unwind(ring)
        };
        for _ in 0..2 {
            assert!(ring(true).is_err());
            let after = ring(false).unwrap();
            assert_eq!((after.fault, after.results), (None, vec![Some(Ok(())); 4]), "shared: {shared_stack}");
        }
    }
}
