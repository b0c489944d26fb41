//! Regions: all ranks see writes after the next barrier, for every writer and every home.

use pelago_base::Rank;
use pelago_dsm::{Coherence, Homes, Region, RegionSettings};
use pelago_rma::{Error, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::threads::{PLATFORMS, on_every_platform, run};

fn settings(page: usize, homes: Homes, coherence: Coherence) -> RegionSettings {
    RegionSettings { page_length: Some(page), homes, coherence }
}

/// All layouts of a region for `size` ranks.
fn all_settings(page: usize, size: u32) -> Vec<RegionSettings> {
    let homes = [Homes::Blocks, Homes::Cyclic, Homes::At(Rank::new(size - 1))];
    let both = [Coherence::Invalidate, Coherence::Update];
    homes.into_iter().flat_map(|homes| both.map(|coherence| settings(page, homes, coherence))).collect()
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Every rank writes its own elements, which share pages with those of others; each compares all elements with a serial run.
#[test]
fn several_ranks_write_one_page() {
    on_every_platform(&[1, 2, 3, 5], |world, _| {
        for settings in all_settings(50, world.size()) {
            const LENGTH: usize = 777;
            let mut region = Region::<u32>::new(world, LENGTH, settings).unwrap();
            let (mut model, mut state) = (vec![0_u32; LENGTH], 7);
            let size = world.size() as usize;
            for round in 1..12 {
                // Every rank computes the same writers and values.
                for _ in 0..40 {
                    let (place, value) = (next(&mut state) as usize % LENGTH, next(&mut state) as u32);
                    let writer = (place + round) % size;
                    model[place] = value;
                    if writer == world.rank().index() {
                        region.write(place..place + 1).unwrap()[0] = value;
                    }
                }
                region.barrier().unwrap();
                let start = next(&mut state) as usize % LENGTH;
                assert_eq!(region.read(start..LENGTH).unwrap(), &model[start..], "round {round} of {settings:?}");
                // No rank writes while another reads the previous values.
                region.barrier().unwrap();
            }
            assert_eq!(region.read(0..LENGTH).unwrap(), model);
            world.barrier().unwrap();
        }
    });
}

/// A sum and a list, in sections: a rank that enters sees the writes of all earlier sections.
#[test]
fn sections_see_each_other() {
    on_every_platform(&[1, 2, 4], |world, _| {
        for settings in all_settings(16, world.size()) {
            let turns = 20;
            let all = turns * world.size() as usize;
            let mut region = Region::<u64>::new(world, 100 + all, settings).unwrap();
            for _ in 0..turns {
                let mut section = region.acquire().unwrap();
                let count = section.read(0..1).unwrap()[0] as usize;
                section.write(100 + count..101 + count).unwrap()[0] = 1 + u64::from(world.rank());
                section.write(0..1).unwrap()[0] = count as u64 + 1;
                section.release().unwrap();
            }
            region.barrier().unwrap();
            assert_eq!(region.read(0..1).unwrap()[0] as usize, all);
            let entered = region.read(100..100 + all).unwrap();
            for rank in world.ranks() {
                let by_rank = entered.iter().filter(|&&by| by == 1 + u64::from(rank)).count();
                assert_eq!(by_rank, turns);
            }
            world.barrier().unwrap();
        }
    });
}

#[test]
fn only_what_has_changed_travels() {
    run(PLATFORMS[1], 2, |world| {
        const LENGTH: usize = 64 << 10;
        for coherence in [Coherence::Invalidate, Coherence::Update] {
            let mut region = Region::<u64>::new(world, LENGTH, settings(512, Homes::At(Rank::new(0)), coherence)).unwrap();
            let me = world.rank().number();
            assert_eq!(region.read(0..LENGTH).unwrap()[LENGTH - 1], 0);
            assert_eq!(region.statistics().bytes(), 0, "nothing has ever been written");
            region.barrier().unwrap();
            if me == 1 {
                let all = region.write(0..LENGTH).unwrap();
                (all[5], all[6], all[1000], all[LENGTH - 1]) = (5, 6, 1000, 9);
            }
            region.barrier().unwrap();
            let now = region.statistics();
            // The next release of the other rank may be visible immediately.
            world.barrier().unwrap();
            if me == 1 {
                assert_eq!((now.released, now.runs, now.bytes_released, now.notes_sent), (3, 3, 4 * 8, 3));
                assert_eq!((now.twins, now.bytes_of_whole_pages), (128, 3 * 4096));
            } else {
                assert_eq!((now.notes_seen, now.fetched), (3, 0), "what lies at home does not travel");
                let all = region.read(0..LENGTH).unwrap();
                assert_eq!((all[5], all[6], all[7], all[1000], all[LENGTH - 1]), (5, 6, 0, 1000, 9));
                region.write(700..701).unwrap()[0] = 7;
                region.write(900..901).unwrap()[0] = 9;
            }
            region.barrier().unwrap();
            if me == 1 {
                let at_once = u64::from(coherence == Coherence::Update);
                assert_eq!(region.statistics().fetched, at_once, "{coherence:?}");
                assert_eq!(region.read(699..702).unwrap(), [0, 7, 0]);
                let now = region.statistics();
                assert_eq!((now.fetched, now.bytes_fetched), (1, 201 * 8), "from the first to the last that has changed");
                assert_eq!(region.read(1000..1001).unwrap(), [1000]);
                assert_eq!(region.statistics(), now, "it is there");
            }
            world.barrier().unwrap();
            // A write of an unchanged value.
            region.write(0..LENGTH).unwrap()[5] = 5;
            let before = region.statistics();
            region.publish().unwrap();
            assert_eq!(region.statistics().bytes(), before.bytes());
            region.barrier().unwrap();
        }
    });
}

#[test]
fn what_is_kept_stays_until_it_is_given() {
    on_every_platform(&[2, 3], |world, _| {
        let mut region = Region::<u16>::new(world, 1000, settings(100, Homes::Cyclic, Coherence::Invalidate)).unwrap();
        let mine = world.rank().index() * 300..world.rank().index() * 300 + 250;
        region.keep(mine.clone()).unwrap();
        let pages = mine.start..mine.start + 200;
        for round in 1..4 {
            region.write(mine.clone()).unwrap().fill(round);
            region.barrier().unwrap();
            let other = (world.rank().index() + 1) % world.size() as usize * 300;
            let there = region.read(other..other + 250).unwrap();
            assert!(there[..200].iter().all(|&value| value == 0), "pages that are kept as a whole stay");
            assert!(there[200..].iter().all(|&value| value == round), "others do not");
            assert!(region.read(mine.clone()).unwrap().iter().all(|&value| value == round));
            region.barrier().unwrap();
        }
        region.give(mine).unwrap();
        region.write(pages.start..pages.start + 1).unwrap()[0] = 77;
        region.barrier().unwrap();
        for rank in 0..world.size() as usize {
            let there = region.read(rank * 300..rank * 300 + 250).unwrap();
            assert!(there[0] == 77 && there[1..].iter().all(|&value| value == 3));
        }
        region.barrier().unwrap();
    });
}

/// More changes than notes: all pages are treated as changed, and the values are correct.
#[test]
fn notes_may_be_missed() {
    on_every_platform(&[2], |world, _| {
        let mut region = Region::<u64>::new(world, 3000, settings(10, Homes::Blocks, Coherence::Invalidate)).unwrap();
        let me = world.rank().number();
        for round in 1..20_u64 {
            // Rank 1 refreshes seldom; 300 pages change each time, and the ring has 2048 places.
            if me == 0 {
                region.write(0..3000).unwrap().fill(round);
                region.publish().unwrap();
            }
            world.barrier().unwrap();
            if me == 1 && round % 9 == 0 {
                region.refresh().unwrap();
                assert!(region.read(0..3000).unwrap().iter().all(|&value| value == round));
            }
            world.barrier().unwrap();
        }
        region.barrier().unwrap();
        assert!(region.read(0..3000).unwrap().iter().all(|&value| value == 19));
        // So many changes at once that one note represents all.
        let mut fine = Region::<u8>::new(world, 70_000, settings(1, Homes::Blocks, Coherence::Invalidate)).unwrap();
        if me == 1 {
            fine.write(0..70_000).unwrap().fill(3);
        }
        fine.barrier().unwrap();
        assert!(fine.read(0..70_000).unwrap().iter().all(|&value| value == 3));
        assert!(fine.statistics().notes_sent <= 1);
        world.barrier().unwrap();
    });
}

#[test]
fn ranges_that_cannot_be_are_refused() {
    fn is_invalid<T>(result: Result<T, Error>) -> bool {
        matches!(result, Err(Error::Invalid(_)))
    }
    on_every_platform(&[1, 2], |world: &World, _| {
        let mut region = Region::<u64>::new(world, 100, RegionSettings::default()).unwrap();
        assert_eq!((region.len(), region.page_length(), region.home(99)), (100, 512, Rank::new(0)));
        assert!(is_invalid(region.read(0..101)) && is_invalid(region.write(99..usize::MAX)) && is_invalid(region.keep(5..200)));
        #[allow(clippy::reversed_empty_ranges)]
        let backwards = 5..4;
        assert!(is_invalid(region.read(backwards)) && is_invalid(region.give(0..101)));
        let (one, other) = (0..10, 9..11);
        assert!(is_invalid(region.access([one], [other])) && is_invalid(region.access([], [0..10, 5..6])));
        let ([empty, left, same], [two, one]) = region.access([3..3, 0..10, 0..10], [50..60, 10..20]).unwrap();
        assert_eq!((empty.len(), left.len(), same.len(), two.len(), one.len()), (0, 10, 10, 10, 10));
        let new = |length, page, homes| Region::<u64>::new(world, length, settings(page, homes, Coherence::Invalidate));
        assert!(is_invalid(new(0, 1, Homes::Blocks)) && is_invalid(new(1, 0, Homes::Blocks)));
        assert!(is_invalid(new(1, 40_000, Homes::Blocks)) && is_invalid(new(1, 1, Homes::At(Rank::new(2)))));
        // Elements of four tebibytes, of which each rank would have a private copy.
        let long = Region::<[u64; 1 << 14]>::new(world, 1 << 25, RegionSettings::default());
        assert!(matches!(long, Err(Error::OutOfMemory { .. } | Error::NoMemory { .. })));
        assert!(region.explain().starts_with("100 elements of 8 bytes in 1 pages of 512, "), "{}", region.explain());
        world.barrier().unwrap();
    });
}

#[test]
fn an_earlier_failure_stops_no_region() {
    on_every_platform(&[3], |world, _| {
        let mut region = after_a_failure(world, || Region::<u64>::new(world, 10, RegionSettings::default()).unwrap());
        after_a_failure(world, || region.barrier().unwrap());
        world.barrier().unwrap();
    });
}
