//! Updates at the owners of keys: compared with models, concurrent with one-sided operations of other ranks on the same keys, and within bounds.

#[allow(dead_code)]
mod common;

use std::collections::HashMap;

use common::{Chance, RANKS};
use pelago_base::{Duration, Event, Rank};
use pelago_containers::{GlobalHeap, GlobalMap, GlobalMultiset};
use pelago_rma::Error;
use pelago_rma::active::QueueSettings;
use pelago_test_support::threads::{PLATFORMS, Platform, run, run_counted};

/// Settings with queues that are full most of the time.
const SHORT: QueueSettings = QueueSettings { slots: 2, batch_bytes: 128, calls: 0, limit: None };

fn rounds(platform: Platform) -> u64 {
    if platform == Platform::Mapped { 40 } else { 8 }
}

/// Sums and maxima of few keys, with values of one word and of three; keys are removed and added again.
#[test]
fn a_map_has_what_all_updates_make_of_it() {
    const KEYS: u64 = 70;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 19).unwrap();
            let sums = GlobalMap::<u32, [u32; 3]>::new(&heap, 4).unwrap();
            let greatest = GlobalMap::<[u8; 5], f64>::new(&heap, 30).unwrap();
            let add = |one: [u32; 3], other: [u32; 3]| [0, 1, 2].map(|part| one[part].wrapping_add(other[part]));
            let adding = sums.updates(add, SHORT).unwrap();
            let raising = greatest.updates(f64::max, SHORT).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 21), vec![0u64; 3 * KEYS as usize]);
            let mut tops = vec![0u64; KEYS as usize];
            let key_of = |key: u64| [1, 2, 3, 4, key as u8];
            for round in 0..rounds(platform) {
                let pairs: Vec<_> =
                    (0..100).map(|_| (chance.below(KEYS) as u32, [0; 3].map(|_| chance.below(1 << 10) as u32))).collect();
                for (key, operand) in &pairs {
                    (0..3).for_each(|part| model[3 * *key as usize + part] += u64::from(operand[part]));
                }
                adding.update_all(&pairs).unwrap();
                let (key, top) = (chance.below(KEYS), chance.below(1 << 40));
                tops[key as usize] = tops[key as usize].max(top);
                raising.update(key_of(key), top as f64).unwrap();
                if round % 3 == 0 {
                    raising.flush().unwrap();
                }
            }
            adding.barrier().unwrap();
            raising.barrier().unwrap();
            world.allreduce(&mut model, |one, other| one + other).unwrap();
            world.allreduce(&mut tops, |one, other| one.max(other)).unwrap();
            for key in 0..KEYS {
                let sum = [0, 1, 2].map(|part| model[(3 * key) as usize + part] as u32);
                assert_eq!(sums.find(&(key as u32)).unwrap().unwrap_or_default(), sum, "{key} on {platform:?}");
                assert_eq!(greatest.find(&key_of(key)).unwrap().unwrap_or_default(), tops[key as usize] as f64, "{platform:?}");
            }
            world.barrier().unwrap();
            // A removed key gets the operand as its value; a cleared table reuses its memory.
            let me = world.rank().number();
            sums.set(&me, &[7; 3]).unwrap();
            sums.remove(&me).unwrap();
            adding.update(me, [5; 3]).unwrap();
            adding.barrier().unwrap();
            assert_eq!(sums.find(&me), Ok(Some([5; 3])));
            for _ in 0..30 {
                sums.clear().unwrap();
                adding.update_all(&(0..KEYS as u32).map(|key| (key * RANKS + me, [key; 3])).collect::<Vec<_>>()).unwrap();
                adding.barrier().unwrap();
                (0..KEYS as u32).for_each(|key| assert_eq!(sums.find(&(key * RANKS + me)), Ok(Some([key; 3]))));
                world.barrier().unwrap();
            }
        });
    }
}

/// Some ranks write values by one-sided operations while others send updates of the same keys: every value is consistent.
#[test]
fn updates_and_one_sided_writes_of_one_key_exclude_each_other() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::quiet(world, 1 << 18).unwrap();
            let map = GlobalMap::<u64, [u64; 40]>::new(&heap, 1).unwrap();
            let counts = GlobalMultiset::<u64>::new(&heap, 1).unwrap();
            let settings = QueueSettings { batch_bytes: 512, ..SHORT };
            let replacing = map.updates(|_, new| new, settings).unwrap();
            let counting = counts.updates(settings).unwrap();
            let rounds = 4 * rounds(platform);
            for round in 0..rounds {
                let (key, value) = (round % 3, [round << 8 | u64::from(world.rank()); 40]);
                if world.rank().number() % 2 == 0 {
                    map.set(&key, &value).unwrap();
                    counts.insert(&key, 2).unwrap();
                } else {
                    replacing.update(key, value).unwrap();
                    counting.insert(key, 2).unwrap();
                    counting.insert(key, 1).unwrap();
                }
                if let Some(found) = map.find(&key).unwrap() {
                    assert!(found.iter().all(|&word| word == found[0]), "{platform:?}");
                }
            }
            replacing.barrier().unwrap();
            counting.barrier().unwrap();
            let all: u64 = (0..3).map(|key| counts.count(&key).unwrap()).sum();
            assert_eq!(all, 2 * rounds * 2 + 2 * rounds * 3, "{platform:?}");
            world.barrier().unwrap();
        });
    }
}

#[test]
fn counts_of_generated_keys_are_those_of_one_table() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 19).unwrap();
            let counts = GlobalMultiset::<[u8; 3]>::new(&heap, 40).unwrap();
            let counting = counts.updates(SHORT).unwrap();
            let mut models = HashMap::<[u8; 3], u64>::new();
            let mut chance = Chance::of(world, 99);
            let keys: Vec<_> = (0..60 * rounds(platform)).map(|_| [chance.below(3) as u8, chance.below(9) as u8, 1]).collect();
            keys.iter().for_each(|&key| *models.entry(key).or_default() += 1);
            counting.insert_all(&keys).unwrap();
            counting.barrier().unwrap();
            let mut sums: Vec<u64> = (0..27).map(|key| models.get(&[key / 9, key % 9, 1]).copied().unwrap_or_default()).collect();
            world.allreduce(&mut sums, |one, other| one + other).unwrap();
            let keys: Vec<_> = (0..27).map(|key| [key / 9, key % 9, 1]).collect();
            assert_eq!(counts.count_all(&keys), Ok(sums), "{platform:?}");
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_full_heap_is_reported_by_the_barrier_of_all() {
    run(Platform::Hosts, RANKS, |world| {
        let heap = GlobalHeap::new(world, 1 << 12).unwrap();
        let counts = GlobalMultiset::<u64>::new(&heap, 8).unwrap();
        let counting = counts.updates(SHORT).unwrap();
        if world.rank().number() == 0 {
            let keys: Vec<_> = (0..).filter(|key| counts.owner(key) == Rank::new(3)).take(1000).collect();
            counting.insert_all(&keys).unwrap();
        }
        let failure = counting.barrier().unwrap_err();
        assert_eq!(matches!(failure, Error::NoMemory { .. }), world.rank().number() == 3, "{failure}");
        assert_eq!(counting.barrier(), Ok(()));
        // The keys that were added before the failure are still present.
        assert!(counts.local_keys().unwrap() > 0 || world.rank().number() != 3);
        world.barrier().unwrap();
    });
}

/// 8-byte keys and values: a batch of 8 KiB has 510 of them, and costs a put and three atomics.
#[test]
fn an_update_costs_its_part_of_a_batch() {
    run_counted(Platform::Remote, 2, |world, passed| {
        let heap = GlobalHeap::new(world, 1 << 20).unwrap();
        let map = GlobalMap::<u64, u64>::new(&heap, 1 << 12).unwrap();
        let adding = map
            .updates(u64::wrapping_add, QueueSettings { limit: Some(Duration::from_milliseconds(60_000)), ..Default::default() })
            .unwrap();
        world.barrier().unwrap();
        let posted = || {
            let passed = passed.lock().unwrap();
            [Event::PutPosted, Event::AtomicPosted, Event::GetPosted].map(|event| passed.of(event))
        };
        let before = posted();
        if world.rank().number() == 0 {
            let pairs: Vec<_> = (0..).filter(|key| map.owner(key) != world.rank()).take(5100).map(|key| (key, 1)).collect();
            adding.update_all(&pairs).unwrap();
            adding.flush().unwrap();
            world.quiet().unwrap();
            let after = posted();
            assert_eq!([0, 1, 2].map(|kind| after[kind] - before[kind]), [10, 30, 0]);
        }
        adding.barrier().unwrap();
    });
}
