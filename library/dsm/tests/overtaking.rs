//! Variables and regions on a network that reorders datagrams: data that arrived with the token, before it or by a prefetch is used only if it is the
//! version of the token, and a note of a change only when it has arrived.

use pelago_test_support::simulated;
use std::cell::Cell;

use pelago_base::{Duration, Rank};
use pelago_dsm::{Region, RegionSettings, Shared};
use pelago_rma::{Result, World};

/// Number of words of a variable whose data travels with the token.
const WORDS: usize = 12;

/// Each rank writes in its turns, sometimes after a prefetch, and finds the values of the previous writer.
fn write_by_turns(world: &World, written: &Cell<u64>) -> Result<()> {
    let mut variable = Shared::<[u64]>::new(world, Rank::new(0), vec![0; WORDS])?;
    let me = world.rank().number();
    for turn in 0..25 {
        if (turn + me).is_multiple_of(3) {
            variable.prefetch()?;
            world.compute(Duration::from_microseconds(u64::from(30 * (turn % 4))));
        }
        if (turn + me) % 4 == 1 {
            let guard = variable.read()?;
            assert_eq!(*guard, vec![written.get(); WORDS], "rank {me} reads in turn {turn}");
            guard.release()?;
        }
        let mut guard = variable.write()?;
        assert_eq!(*guard, vec![written.get(); WORDS], "rank {me} writes in turn {turn}");
        written.set(written.get() + 1);
        guard.fill(written.get());
        guard.release()?;
        world.compute(Duration::from_microseconds(u64::from((turn * 7 + me * 13) % 40)));
    }
    world.barrier()
}

/// Rank 1 writes one version after another, while rank 2 prefetches the data, and again when there is a newer version.
fn prefetch_again(world: &World) -> Result<()> {
    const LENGTH: usize = 600;
    let mut variable = Shared::<[u64]>::new(world, Rank::new(0), vec![0; LENGTH])?;
    let me = world.rank().number();
    for version in (1..=60).filter(|_| me == 1) {
        variable.write()?.fill(version);
        world.compute(Duration::from_microseconds(20));
    }
    for turn in (1..=20).filter(|_| me == 2) {
        for _ in 0..3 {
            variable.prefetch()?;
        }
        let guard = variable.read()?;
        assert_eq!(*guard, vec![guard[0]; LENGTH], "turn {turn}");
        guard.release()?;
    }
    world.barrier()
}

/// Each rank changes many pages between two meetings. A rank that is late reads the notes of changes while others, which are ahead, write the next ones.
fn change_many_pages(world: &World) -> Result<()> {
    const EACH: usize = 700;
    let mut region =
        Region::<u16>::new(world, EACH * world.size() as usize, RegionSettings { page_length: Some(1), ..Default::default() })?;
    let changed = |rank: usize, turn: usize| EACH * rank + turn * 97 % 200..EACH * rank + turn * 97 % 200 + 500;
    for turn in 1..=6 {
        region.write(changed(world.rank().index(), turn))?.fill(turn as u16);
        region.barrier()?;
        for rank in 0..world.size() as usize {
            let seen = region.read(changed(rank, turn))?;
            assert_eq!(seen, vec![turn as u16; seen.len()], "elements of rank {rank} in turn {turn}");
        }
        region.barrier()?;
    }
    Ok(())
}

#[test]
fn a_note_that_is_on_its_way_is_not_used() {
    for seed in 0..3 {
        simulated::run_to_the_end(&simulated::settings_late(7, seed), "a region", change_many_pages);
    }
}

#[test]
fn a_copy_that_is_still_on_its_way_does_not_overwrite_a_newer_one() {
    for ranks in [3, 5] {
        for seed in 0..20 {
            let late = simulated::settings_late(ranks, seed);
            simulated::run_to_the_end(&late, "prefetched twice", prefetch_again);
        }
    }
}

#[test]
fn each_holder_finds_what_the_last_has_written_where_datagrams_overtake_each_other() {
    for ranks in [4, 5, 7] {
        for seed in 0..6 {
            let written = Cell::new(0);
            let late = simulated::settings_late(ranks, seed);
            simulated::run_to_the_end(&late, "a variable", |world| write_by_turns(world, &written));
            assert_eq!(written.get(), u64::from(25 * ranks));
        }
    }
}
