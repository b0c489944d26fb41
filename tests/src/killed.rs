//! Ranks that are killed at certain steps of their use of a shared variable or a region. The others continue, or get an error.

use std::thread::sleep;
use std::time::Duration;

use pelago::dsm::{Coherence, Homes, Region, RegionSettings, Shared};
use pelago::prelude::*;
use pelago::{Error, Failure, Fault};
use rustix::process::{Signal, getpid, kill_process};

/// Number of critical sections of each survivor after it has detected the failure.
const SECTIONS: u64 = 50;

/// The value that is written before the failure.
const FIRST: u64 = 1000;

/// Kills the process with SIGKILL.
fn die() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    unreachable!("nobody survives this signal")
}

/// Kills the process after a short time, even while its threads wait.
fn die_soon() {
    std::thread::spawn(|| {
        sleep(Duration::from_millis(50));
        die();
    });
}

/// A rank is killed at a step of its use of a variable while the others add to the variable. In step `home`, it is the home of the variable.
pub(crate) fn variable(world: &World, step: &str) -> pelago::Result<()> {
    let victim = Rank::new(world.size() - 1);
    let home = if step == "home" { victim } else { Rank::new(0) };
    world.on_peer_lost(|_| ());
    let mut variable = Shared::<u64>::new(world, home, FIRST)?;
    let alive = world.alloc::<u64>(1)?;
    world.barrier()?;
    if world.rank() == victim {
        match step {
            "home" => {
                drop(variable.read()?);
                die_soon();
                world.wait_until(alive.local(), 0, |never| never == 1)?;
            }
            "holder" => {
                let mut guard = variable.write()?;
                *guard += 500_000;
                die_soon();
                // The others wait for the variable by then.
                sleep(Duration::from_secs(1000));
            }
            "waiter" => {
                die_soon();
                loop {
                    *variable.write()? += 1;
                }
            }
            "owner" => {
                *variable.write()? += 1;
                die();
            }
            "reader" => {
                let guard = variable.read()?;
                die_soon();
                sleep(Duration::from_secs(1000));
                drop(guard);
            }
            other => panic!("what is {other}?"),
        }
    }
    let (mut last, mut refused, mut done) = (FIRST, 0_u64, 0);
    while !has_ended(world, &mut done) {
        match variable.write().and_then(|mut guard| {
            let found = *guard;
            *guard += 1;
            guard.release().map(|()| found)
        }) {
            Ok(found) => {
                // Rank 0 may have restored an older version before the next acquire of this rank.
                let may_be_restored = ["holder", "owner"].contains(&step) && !world.lost().is_empty();
                assert!(found >= last || refused > 0 || may_be_restored, "{found} after {last}");
                assert!(found < 500_000 || refused > 0, "{found}, which was not released");
                last = found;
            }
            Err(error) => {
                assert_eq!(lost(&error), Some(victim), "{error}");
                if home == victim {
                    println!("rank {} was told", world.rank());
                    return Ok(());
                }
                refused += 1;
                // No surviving rank has the last version.
                if world.rank() == Rank::new(0) {
                    variable.restore(&last)?;
                }
                sleep(Duration::from_millis(1));
            }
        }
    }
    println!("rank {} went on", world.rank());
    Ok(())
}

/// The same with a region. In step `home`, the killed rank is the home of the pages; in step `notes`, of the lock and of the notes of changes.
pub(crate) fn region(world: &World, step: &str) -> pelago::Result<()> {
    const LENGTH: usize = 512;
    let last = Rank::new(world.size() - 1);
    let victim = if step == "notes" { Rank::new(0) } else { last };
    let homes = if step == "home" { last } else { Rank::new(1) };
    world.on_peer_lost(|_| ());
    let settings = RegionSettings { page_length: Some(64), homes: Homes::At(homes), coherence: Coherence::Invalidate };
    let mut region = Region::<u64>::new(world, LENGTH, settings)?;
    let me = world.rank().index() + 1;
    if world.rank() == victim {
        region.write(0..LENGTH)?.fill(FIRST);
    }
    region.barrier()?;
    if world.rank() == victim {
        match step {
            "home" | "notes" => {
                die_soon();
                sleep(Duration::from_secs(1000));
            }
            "holder" => {
                let mut section = region.acquire()?;
                section.write(0..LENGTH)?.fill(1);
                die_soon();
                sleep(Duration::from_secs(1000));
            }
            "waiter" => {
                die_soon();
                loop {
                    region.acquire()?.write(me..me + 1)?[0] += 1;
                }
            }
            "owner" => {
                let mut section = region.acquire()?;
                section.write(me..me + 1)?[0] = FIRST + 7;
                section.release()?;
                // After the quiet, all posted operations have arrived, and so all written data.
                world.quiet()?;
                die();
            }
            other => panic!("what is {other}?"),
        }
    }
    let (mut turn, mut done) = (0, 0);
    while !has_ended(world, &mut done) {
        let section = region.acquire().and_then(|mut section| {
            let found = section.read(0..LENGTH)?.to_vec();
            section.write(me..me + 1)?[0] += 1;
            section.write(0..1)?[0] += 1;
            section.release().map(|()| found)
        });
        match section {
            Ok(found) => {
                assert_eq!(found[me], FIRST + turn, "nobody else writes it");
                assert!(found[0] >= FIRST + turn && found[me..].iter().all(|&value| value >= FIRST), "{found:?}");
                turn += 1;
            }
            Err(error) => {
                assert_eq!(lost(&error), Some(victim), "{error}");
                assert!(matches!(step, "home" | "notes"), "the others have all that was released: {error}");
                println!("rank {} was told", world.rank());
                return Ok(());
            }
        }
    }
    if step == "owner" {
        // Later sections read the released value.
        while region.acquire()?.read(victim.index() + 1..victim.index() + 2)?[0] != FIRST + 7 {
            sleep(Duration::from_millis(1));
        }
    }
    println!("rank {} went on", world.rank());
    Ok(())
}

/// The home of all pages is killed while the others access the pages as one slice. A rank that needs a page of the killed rank continues with the
/// previous contents, gets an error, and discards its unreleased changes.
pub(crate) fn slice(world: &World) -> pelago::Result<()> {
    const PAGE: usize = 512;
    const PAGES: usize = 200;
    let victim = Rank::new(world.size() - 1);
    world.on_peer_lost(|_| ());
    let settings = RegionSettings { page_length: Some(PAGE), homes: Homes::At(victim), coherence: Coherence::Invalidate };
    let mut region = match Region::<u64>::with_page_faults(world, PAGE * PAGES, settings) {
        Err(Error::Unsupported(why)) => {
            println!("rank {} cannot: {why}", world.rank());
            return Ok(());
        }
        region => region?,
    };
    let me = world.rank().index();
    if world.rank() == victim {
        region.all_mut()?.fill(FIRST);
    }
    region.barrier()?;
    if world.rank() == victim {
        die_soon();
        sleep(Duration::from_secs(1000));
    }
    for page in 0..PAGES {
        let mut all = region.all_mut()?;
        all[me] += 1;
        let found = all[page * PAGE + PAGE - 1];
        match all.end() {
            Ok(()) => assert_eq!(found, FIRST),
            Err(error) => {
                assert_eq!(lost(&error), Some(victim), "{error}");
                assert_eq!(region.read(0..PAGE)?, [FIRST; PAGE], "what was written since counts for nothing");
                let all = region.all()?;
                assert!(all[..page * PAGE].iter().all(|&value| value == FIRST), "what was brought is there");
                all.end()?;
                // The next call returns the error if the guard's result was not checked.
                std::hint::black_box(region.all()?[PAGE * PAGES - 1]);
                assert_eq!(region.publish().map_err(|error| lost(&error)), Err(Some(victim)));
                println!("rank {} was told", world.rank());
                return Ok(());
            }
        }
        sleep(Duration::from_millis(5));
    }
    assert_eq!(region.all()?[me], FIRST + PAGES as u64);
    println!("rank {} went on", world.rank());
    Ok(())
}

/// Counts a section if a rank is known to have failed. Returns whether there were enough sections.
fn has_ended(world: &World, done: &mut u64) -> bool {
    world.progress();
    *done += u64::from(!world.lost().is_empty());
    *done > SECTIONS
}

/// Returns the failed rank that an error names.
fn lost(error: &Error) -> Option<Rank> {
    match error {
        Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank)) => Some(*rank),
        _ => None,
    }
}
