//! Regions as one slice: a program finds the same values as by explicit ranges, on every platform and for each kind of first access. On a system
//! without `userfaultfd`, the tests print a line and test nothing.
#![cfg(feature = "page-faults")]

use pelago_base::Rank;
use pelago_dsm::{Coherence, Homes, Region, RegionSettings};
use pelago_rma::{Error, Parts, Pod, Result, World};
use pelago_simulator::simulate;
use pelago_test_support::faulty;
use pelago_test_support::threads::{PLATFORMS, Platform, on_every_platform, run};

fn settings(page: usize, homes: Homes, coherence: Coherence) -> RegionSettings {
    RegionSettings { page_length: Some(page), homes, coherence }
}

/// A region with page faults; `None` if the system does not support them.
fn region<T: Pod>(world: &World, length: usize, settings: RegionSettings) -> Option<Region<'_, T>> {
    match Region::with_page_faults(world, length, settings) {
        Ok(region) => Some(region),
        Err(Error::Unsupported(why)) => {
            eprintln!("not tested: {why}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// All ranks make the same accesses to two regions, one by ranges and one as a slice, between barriers and in sections. Each then sees the same values
/// in both.
fn play<T: Pod + PartialEq + core::fmt::Debug>(world: &World, length: usize, settings: RegionSettings, of: impl Fn(u64) -> T) {
    let Some(mut faulting) = region::<T>(world, length, settings) else { return };
    let mut explicit = Region::<T>::new(world, length, settings).unwrap();
    let (me, size) = (world.rank().index(), world.size() as usize);
    let mut own = 99 + me as u64;
    let mut state = 5;
    for round in 0..10 {
        // Every rank computes the same writers and values.
        for _ in 0..30 {
            let (place, value) = (next(&mut state) as usize % length, of(next(&mut state)));
            if (place + round) % size == me {
                // Mixes accesses by a range with accesses by the slice.
                if (place ^ round).is_multiple_of(5) {
                    faulting.write(place..place + 1).unwrap()[0] = value;
                } else {
                    faulting.all_mut().unwrap()[place] = value;
                }
                explicit.write(place..place + 1).unwrap()[0] = value;
            }
        }
        faulting.barrier().unwrap();
        explicit.barrier().unwrap();
        // Each rank reads other elements.
        for _ in 0..next(&mut own) % 20 {
            let place = next(&mut own) as usize % length;
            assert_eq!(faulting.all().unwrap()[place], explicit.read(place..place + 1).unwrap()[0], "{round} of {settings:?}");
        }
        // No rank writes while another reads the previous values.
        world.barrier().unwrap();
        let place = next(&mut own) as usize % length;
        let mut section = faulting.acquire().unwrap();
        section.all_mut().unwrap()[place] = of(1000 + round as u64);
        section.release().unwrap();
        let mut section = explicit.acquire().unwrap();
        section.write(place..place + 1).unwrap()[0] = of(1000 + round as u64);
        section.release().unwrap();
        faulting.barrier().unwrap();
        explicit.barrier().unwrap();
        let start = next(&mut own) as usize % length;
        assert_eq!(faulting.all().unwrap()[start..], explicit.read(start..length).unwrap()[..], "{round} of {settings:?}");
        world.barrier().unwrap();
    }
    assert_eq!(&*faulting.all().unwrap(), explicit.read(0..length).unwrap());
    let (by_faults, by_ranges) = (faulting.statistics(), explicit.statistics());
    assert!(by_faults.faults > 0 && by_ranges.faults == 0);
    world.barrier().unwrap();
}

#[test]
fn a_slice_has_what_ranges_have() {
    on_every_platform(&[1, 2, 3], |world, _| {
        let last = Rank::new(world.size() - 1);
        for (homes, coherence) in
            [(Homes::Blocks, Coherence::Invalidate), (Homes::Cyclic, Coherence::Update), (Homes::At(last), Coherence::Invalidate)]
        {
            // Pages of the region that equal pages of memory, are parts of them, span several, or are not aligned to them.
            play(world, 5000, settings(512, homes, coherence), |value| value);
            play(world, 3000, settings(100, homes, coherence), |value| value as u32);
            play(world, 30_000, settings(9000, homes, coherence), |value| value as u8);
            play(world, 2000, settings(70, homes, coherence), |value| [value as u8; 23]);
        }
    });
}

/// Several threads read and write the slice, and each page is fetched once.
#[test]
fn threads_share_a_slice() {
    const LENGTH: usize = 40_000;
    on_every_platform(&[2], |world, _| {
        let Some(mut region) = region::<u64>(world, LENGTH, RegionSettings::default()) else { return };
        for round in 1..6_u64 {
            let share = LENGTH / 2;
            let mine = world.rank().index() * share..(world.rank().index() + 1) * share;
            let mut all = region.all_mut().unwrap();
            std::thread::scope(|scope| {
                for (number, part) in all[mine].chunks_mut(share / 3 + 1).enumerate() {
                    scope.spawn(move || part.iter_mut().for_each(|element| *element += round * (number as u64 + 1)));
                }
            });
            all.end().unwrap();
            region.barrier().unwrap();
            let before = region.statistics();
            let guard = region.all().unwrap();
            let all = &guard[..];
            let sums = std::thread::scope(|scope| {
                let threads = [0; 3].map(|_| scope.spawn(|| all.iter().sum::<u64>()));
                threads.map(|thread| thread.join().unwrap())
            });
            let expected: u64 = (0..share as u64).map(|place| place / (share as u64 / 3 + 1) + 1).sum();
            assert_eq!(sums, [2 * expected * (1..=round).sum::<u64>(); 3]);
            drop(guard);
            let brought = region.statistics().fetched - before.fetched;
            assert!((39..=40).contains(&brought), "each page that the other has written, once: {brought}");
            region.barrier().unwrap();
        }
    });
}

#[test]
fn what_is_kept_is_written_without_twins() {
    on_every_platform(&[2], |world, _| {
        let Some(mut region) = region::<u32>(world, 8 * 1024, RegionSettings::default()) else { return };
        let me = world.rank().index();
        let mine = me * 4096..(me + 1) * 4096;
        region.keep(mine.clone()).unwrap();
        for round in 1..5 {
            region.all_mut().unwrap()[mine.clone()].fill(round);
            region.barrier().unwrap();
            let other = (1 - me) * 4096;
            assert!(region.all().unwrap()[other..other + 4096].iter().all(|&element| element == 0));
            assert_eq!(region.statistics().twins, 0);
            region.barrier().unwrap();
        }
        // One fault for each page, whether it is written or read.
        assert_eq!(region.statistics().faults, 8);
        region.give(mine.clone()).unwrap();
        region.barrier().unwrap();
        assert!(region.all().unwrap().iter().all(|&element| element == 4));
        region.barrier().unwrap();
        // The pages are again shared with other ranks.
        region.all_mut().unwrap()[mine.start] = 77;
        region.barrier().unwrap();
        assert_eq!([0, 4096, 1].map(|place| region.all().unwrap()[place]), [77, 77, 4]);
        region.barrier().unwrap();
    });
}

/// A transport that holds a lock of the rank is the first to read the slice: the pages are fetched before.
#[test]
fn what_was_never_looked_at_is_sent() {
    on_every_platform(&[2, 3], |world, platform| {
        let inbox = world.alloc::<u64>(100_000).unwrap();
        let Some(mut region) = region::<u64>(world, 100_000, settings(512, Homes::Cyclic, Coherence::Invalidate)) else { return };
        for round in 1..4 {
            if world.rank().number() == 0 {
                let mut all = region.all_mut().unwrap();
                all.iter_mut().zip(0..).for_each(|(element, value)| *element = round * value);
            }
            region.barrier().unwrap();
            let right = world.rank().next(world.size());
            for range in [5..6, 5000..5300, 7000..7000 + 511, 20_000..90_000] {
                let all = region.all().unwrap();
                world.put(inbox.at(right, range.start), &all[range.clone()]).unwrap().wait().unwrap();
                drop(all);
                world.barrier().unwrap();
                let found = inbox.local().to_vec();
                assert!(range.clone().all(|place| found[place] == round * place as u64), "{range:?} of {platform:?}");
                world.barrier().unwrap();
            }
            // The slice is the target of a get.
            let mut all = region.all_mut().unwrap();
            if world.rank().number() == 1 {
                world.get_into(inbox.at(right, 5000), &mut all[5000..5300]).unwrap();
                all[5000] += 1;
            }
            drop(all);
            region.barrier().unwrap();
            assert_eq!(region.all().unwrap()[5000..5002], [round * 5000 + 1, round * 5001]);
            region.barrier().unwrap();
        }
    });
}

#[test]
fn a_guard_may_be_forgotten() {
    on_every_platform(&[2], |world, _| {
        let Some(mut region) = region::<u64>(world, 1000, RegionSettings::default()) else { return };
        let me = world.rank().index();
        let mut all = region.all_mut().unwrap();
        all[me] = 5 + me as u64;
        core::mem::forget(all);
        assert_eq!((region.len(), region.page_length(), region.statistics().faults), (1000, 512, 1));
        assert!(region.explain().contains("1000 elements of 8 bytes in 2 pages of 512, 1 at home here"), "{}", region.explain());
        region.barrier().unwrap();
        assert_eq!(region.all().unwrap()[..3], [5, 6, 0]);
        core::mem::forget(region.all().unwrap());
        world.barrier().unwrap();
    });
}

#[test]
fn a_region_without_faults_has_no_slice() {
    run(PLATFORMS[0], 1, |world| {
        let mut region = Region::<u64>::new(world, 1000, RegionSettings::default()).unwrap();
        assert!(matches!(region.all(), Err(Error::Invalid(_))));
        assert!(matches!(region.acquire().unwrap().all_mut(), Err(Error::Invalid(_))));
        let length = usize::MAX / 8 - 1000;
        assert!(Region::<u64>::with_page_faults(world, length, settings(1 << 15, Homes::Blocks, Coherence::Update)).is_err());
    });
}

/// Not supported, because the ranks of a simulation are coroutines of one process.
#[test]
fn a_simulation_has_no_page_faults() {
    let outcome = simulate(&faulty::settings(2, 1, Default::default()), |parts: Box<Parts>| -> Result<()> {
        let world = World::new(*parts)?;
        let error = Region::<u64>::with_page_faults(&world, 1000, RegionSettings::default()).map(drop).unwrap_err();
        assert!(matches!(error, Error::Unsupported(why) if why.contains("simulation")), "{error}");
        world.finish()
    });
    outcome.unwrap().results.into_iter().for_each(|ended| ended.unwrap().unwrap());
}

/// Regions, with the threads that serve their faults, are repeatedly created and dropped.
#[test]
fn many_regions_are_made_and_dropped() {
    run(Platform::Remote, 2, |world| {
        for round in 0..100 {
            let Some(mut region) = region::<u16>(world, 5000, settings(512, Homes::Cyclic, Coherence::Invalidate)) else {
                return;
            };
            region.all_mut().unwrap()[world.rank().index() * 2500] = round;
            region.barrier().unwrap();
            assert_eq!([0, 2500].map(|place| region.all().unwrap()[place]), [round; 2]);
            world.barrier().unwrap();
        }
    });
}
