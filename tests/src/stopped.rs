//! A rank that is stopped for longer than the failure limit while all others send to it; no rank declares it failed.

use pelago::prelude::*;
use pelago::{Duration, Rank};
use rustix::process::{Pid, Signal, getpid, kill_process};

/// Minimum time for which the rank is stopped: longer than the failure limit that the test sets for the ranks.
const STOPPED: Duration = Duration::from_milliseconds(3_000);

/// The last rank stops itself; rank 0 continues it when it has been silent for long enough.
pub(crate) fn stopped(world: &World) -> pelago::Result<()> {
    let (zero, last) = (Rank::new(0), Rank::new(world.size() - 1));
    let words = world.alloc::<u64>(world.size() as usize)?;
    let process = world.alloc::<u64>(1)?;
    if world.rank() == last {
        world.put(process.at(zero, 0), &[getpid().as_raw_nonzero().get() as u64])?;
    }
    world.barrier()?;
    if world.rank() == last {
        kill_process(getpid(), Signal::STOP).expect("it runs");
    } else {
        let victim = process.local().load(0) as i32;
        while world.rank() == zero && !is_stopped(victim) {
            std::thread::yield_now();
        }
        let begun = world.now();
        world.put(words.at(last, world.rank().index()), &[1])?;
        while world.rank() == zero && world.now().since(begun) < STOPPED {
            assert!(is_stopped(victim), "it does not go on by itself");
            world.progress();
            std::thread::yield_now();
        }
        if world.rank() == zero {
            kill_process(Pid::from_raw(victim).expect("a process"), Signal::CONT).expect("it is stopped");
        }
        world.quiet()?;
    }
    world.barrier()?;
    if world.rank() == last {
        assert!(words.local().to_vec()[..last.index()].iter().all(|&word| word == 1), "all has arrived");
        println!("rank {} heard of all", world.rank());
    }
    Ok(())
}

/// Whether a process is stopped.
fn is_stopped(process: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it is there");
    status.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()) == Some("T")
}
