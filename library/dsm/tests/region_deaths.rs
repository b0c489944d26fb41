//! A rank dies after each of its operations, at a region that others continue to use: in virtual time, with the library's own protocol.

use std::cell::Cell;

use pelago_base::{Duration, Instant, Rank};
use pelago_dsm::{Coherence, Homes, Region, RegionSettings};
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death;

const RANKS: u32 = 4;
const TURNS: u64 = 4;

/// Length of a page. Each rank increments an element on its own page, and all increment one on the first page.
const PAGE: usize = 8;
const LENGTH: usize = PAGE * (RANKS as usize + 1);

/// The results of a job.
struct Ended {
    /// The times of the victim's operations after the creation of the region.
    noted: Vec<Instant>,
    /// For each rank that ended, the last value of the common element, and the number of sections that failed with the loss.
    found: Vec<Option<(u64, u64)>>,
    /// The numbers of sections that the victim and the others have released without an error.
    left: [u64; 2],
}

/// All ranks increment the common element and their own in each turn; the victim dies at the time `dies`, if any.
fn play(victim: Rank, homes: Homes, dies: Option<Instant>) -> Ended {
    let left = Cell::new([0; 2]);
    let (noted, found) = run_with_death(RANKS, FaultInjection::default(), (victim, dies), |world, begin| {
        world.on_peer_lost(|_| ());
        let settings = RegionSettings { page_length: Some(PAGE), homes, coherence: Coherence::Invalidate };
        let mut region = Region::<u64>::new(world, LENGTH, settings)?;
        begin();
        count(world, &mut region, victim, &left)
    });
    Ended { noted, found, left: left.get() }
}

fn count(world: &World, region: &mut Region<'_, u64>, victim: Rank, left: &Cell<[u64; 2]>) -> Result<(u64, u64)> {
    let mine = PAGE * (world.rank().index() + 1);
    let (mut last, mut own, mut refused) = (0, 0, 0);
    for _ in 0..TURNS {
        let counted = region.acquire().and_then(|mut section| {
            let all = section.write(0..1)?;
            let found = all[0];
            all[0] += 1;
            world.compute(Duration::from_microseconds(3));
            let kept = section.write(mine..mine + 1)?;
            let before = kept[0];
            kept[0] += 1;
            section.release().map(|()| (found, before))
        });
        match counted {
            Ok((found, before)) => {
                assert!(found >= last, "{found} after {last}");
                assert!(before == own || refused > 0, "nobody else writes it: {before}, not {own}");
                (last, own) = (found + 1, before + 1);
                let mut counts = left.get();
                counts[usize::from(world.rank() != victim)] += 1;
                left.set(counts);
            }
            Err(Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank))) if rank == victim => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    Ok((last, refused))
}

/// Plays with a death after each operation of the victim, and passes the results of each to `look`.
fn play_all(victim: Rank, homes: Homes, look: impl Fn(usize, &Ended)) {
    let whole = play(victim, homes, None);
    assert!(whole.noted.len() > 10, "{} operations", whole.noted.len());
    assert_eq!(whole.left, [TURNS, u64::from(RANKS - 1) * TURNS]);
    for (number, &at) in whole.noted.iter().enumerate() {
        for later in [1, 900].map(Duration::from_nanoseconds) {
            let ended = play(victim, homes, Some(at + later));
            let others = (0..).map(Rank::new).zip(&ended.found).filter(|(rank, _)| *rank != victim);
            assert!(others.into_iter().all(|(_, found)| found.is_some()), "operation {number} of rank {victim}: all others end");
            look(number, &ended);
        }
    }
}

/// The victim is the home of no page: the others lose nothing, and get no errors.
#[test]
fn what_was_released_outlives_who_wrote_it() {
    for victim in [1, 3].map(Rank::new) {
        play_all(victim, Homes::At(Rank::new(0)), |number, ended| {
            let others = (0..).map(Rank::new).zip(&ended.found).filter(|(rank, _)| *rank != victim);
            let (last, refused) =
                others.filter_map(|(_, found)| *found).fold((0, 0), |all, one| (all.0.max(one.0), all.1 + one.1));
            let [by_victim, by_others] = ended.left;
            assert_eq!((refused, by_others), (0, u64::from(RANKS - 1) * TURNS), "operation {number} of rank {victim}");
            // A section in which the victim died may have been published, and so may one whose release it does not know to be complete.
            let possible = by_others + by_victim..=by_others + by_victim + 1;
            assert!(possible.contains(&last), "operation {number} of rank {victim}: {last}, {:?} left", ended.left);
        });
    }
}

/// The victim is the home of some pages, or of words that all need: the others get its loss as an error, and none waits for ever.
#[test]
fn the_home_of_pages_dies_after_each_of_its_operations() {
    for (victim, homes) in [(Rank::new(2), Homes::Cyclic), (Rank::new(1), Homes::At(Rank::new(1))), (Rank::new(0), Homes::Cyclic)]
    {
        let told = Cell::new(0);
        play_all(victim, homes, |_, ended| told.set(told.get() + ended.found.iter().flatten().map(|found| found.1).sum::<u64>()));
        assert!(told.get() > 0, "somebody needs what is lost with rank {victim}");
    }
}

/// A release fails for the home of one page: what was written to other pages reaches other ranks all the same.
#[test]
fn a_release_without_one_home_reaches_the_others() {
    let victim = Rank::new(2);
    let dies = Instant::default() + Duration::from_milliseconds(5);
    let (_, found) = run_with_death(3, FaultInjection::default(), (victim, Some(dies)), |world, begin| {
        world.on_peer_lost(|_| ());
        let settings = RegionSettings { page_length: Some(PAGE), homes: Homes::Cyclic, coherence: Coherence::Invalidate };
        let mut region = Region::<u64>::new(world, 3 * PAGE, settings)?;
        let before = region.read(0..3 * PAGE)?.to_vec();
        assert_eq!(before, [0; 3 * PAGE]);
        begin();
        world.compute(Duration::from_milliseconds(10));
        if world.rank().number() == 0 {
            for page in [2, 1, 0] {
                region.write(page * PAGE..(page + 1) * PAGE)?.fill(7);
            }
            let refused = region.publish();
            assert!(
                matches!(refused, Err(Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank))) if rank == victim),
                "{refused:?}"
            );
            region.publish()?;
        }
        world.compute(Duration::from_milliseconds(10));
        region.refresh()?;
        assert_eq!(region.read(0..2 * PAGE)?, [7; 2 * PAGE], "rank {}", world.rank());
        Ok(())
    });
    assert_eq!(found, [Some(()), Some(()), None]);
}
