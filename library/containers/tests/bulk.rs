//! Bulk operations: compared with the standard library's containers, from all ranks concurrently, and with counted messages.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, HashMap, HashSet};

use common::{Chance, RANKS};
use pelago_base::{Event, Rank};
use pelago_containers::{GlobalHeap, GlobalMap, GlobalMultiset, GlobalSet};
use pelago_rma::Error;
use pelago_test_support::threads::{PLATFORMS, Platform, run, run_counted};
use zerocopy::FromZeros;

type Value = [u64; 3];

/// A value of three words that shows whether it is consistent.
fn value(number: u64) -> Value {
    [number, number.wrapping_mul(3), !number]
}

fn rounds(platform: Platform) -> u64 {
    if platform == Platform::Mapped { 60 } else { 12 }
}

/// Keys of a rank's own, more than are in flight together, in few buckets of all ranks.
fn keys(chance: &mut Chance, rank: Rank) -> Vec<u64> {
    let count = [0, 1, 7, 128, 300][chance.below(5) as usize];
    (0..count).map(|_| chance.below(400) * u64::from(RANKS) + u64::from(rank)).collect()
}

/// One byte more than a key may have.
type LongKey = [u8; 1 << 24];

#[test]
fn a_key_that_is_too_long_for_one_operation_is_too_long_for_many() {
    run(Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 1 << 16).unwrap();
        let keys = <[LongKey]>::new_box_zeroed_with_elems(1).unwrap();
        let counts = GlobalMultiset::<LongKey>::new(&heap, 4).unwrap();
        for refused in [counts.insert(&keys[0], 1).map(drop), counts.insert_all(&keys, 1)] {
            assert_eq!(refused, Err(Error::TooLong { what: "key", bytes: 1 << 24, limit: (1 << 24) - 1 }));
        }
        assert_eq!(counts.count_all(&keys), Ok(vec![0]));
        world.barrier().unwrap();
    });
}

#[test]
fn a_map_does_for_many_keys_what_a_map_does_for_each() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let map = GlobalMap::<u64, Value>::new(&heap, 60).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 5), HashMap::new());
            for round in 0..rounds(platform) {
                let mut keys = keys(&mut chance, world.rank());
                let at = format!("{platform:?}, round {round}");
                match chance.below(4) {
                    0 => {
                        let pairs: Vec<_> = keys.iter().map(|&key| (key, value(key ^ round))).collect();
                        let before = model.len();
                        for &(key, value) in &pairs {
                            model.entry(key).or_insert(value);
                        }
                        assert_eq!(map.insert_all(&pairs), Ok(model.len() - before), "{at}");
                    }
                    1 => {
                        // A key that occurs twice may keep either value.
                        keys.sort_unstable();
                        keys.dedup();
                        let pairs: Vec<_> = keys.iter().map(|&key| (key, value(key ^ round))).collect();
                        let before = model.len();
                        model.extend(pairs.iter().copied());
                        assert_eq!(map.set_all(&pairs), Ok(model.len() - before), "{at}");
                    }
                    2 if round % 2 == 0 => {
                        keys.iter().take(40).for_each(|key| assert_eq!(map.remove(key), Ok(model.remove(key).is_some()), "{at}"))
                    }
                    2 => {
                        let removed = keys.iter().filter(|&key| model.remove(key).is_some()).count();
                        assert_eq!(map.remove_all(&keys), Ok(removed), "{at}");
                    }
                    _ => {
                        let expected: Vec<_> = keys.iter().map(|key| model.get(key).copied()).collect();
                        assert_eq!(map.find_all(&keys), Ok(expected), "{at}");
                    }
                }
            }
            world.barrier().unwrap();
            // Every rank reads every part, and finds its own keys.
            let mut seen = HashMap::new();
            for rank in world.ranks() {
                let take = |key: u64, value: Value| {
                    assert_eq!(map.owner(&key), rank);
                    if key % u64::from(RANKS) == u64::from(world.rank()) {
                        assert_eq!(seen.insert(key, value), None, "{platform:?}");
                    }
                };
                map.for_each_on(rank, take).unwrap();
            }
            assert_eq!(seen, model, "{platform:?}");
            world.barrier().unwrap();
            map.clear().unwrap();
            assert_eq!(map.find_all(&model.into_keys().collect::<Vec<_>>()).unwrap().into_iter().flatten().count(), 0);
            assert_eq!(map.insert_all(&[(u64::from(world.rank()), value(1))]), Ok(1));
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_set_does_for_many_keys_what_a_set_does_for_each() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let set = GlobalSet::<u64>::new(&heap, 60).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 8), HashSet::new());
            for round in 0..rounds(platform) {
                let keys = keys(&mut chance, world.rank());
                let at = format!("{platform:?}, round {round}");
                match chance.below(4) {
                    0 => {
                        let added = keys.iter().filter(|&&key| model.insert(key)).count();
                        assert_eq!(set.insert_all(&keys), Ok(added), "{at}");
                    }
                    1 => {
                        let removed = keys.iter().filter(|&key| model.remove(key)).count();
                        assert_eq!(set.remove_all(&keys), Ok(removed), "{at}");
                    }
                    2 => keys.iter().take(20).for_each(|key| assert_eq!(set.insert(key), Ok(model.insert(*key)), "{at}")),
                    _ => {
                        let expected: Vec<_> = keys.iter().map(|key| model.contains(key)).collect();
                        assert_eq!(set.contains_all(&keys), Ok(expected), "{at}");
                    }
                }
            }
            world.barrier().unwrap();
        });
    }
}

/// One rank adds each of many keys and one removes it, though all ranks try at the same time.
#[test]
fn keys_that_all_ranks_add_and_take_out_at_once_change_once() {
    const KEYS: u64 = 200;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 19).unwrap();
            let (set, map) = (GlobalSet::<u64>::new(&heap, 30).unwrap(), GlobalMap::<u64, Value>::new(&heap, 30).unwrap());
            let keys: Vec<u64> = (0..KEYS).collect();
            let pairs: Vec<_> = keys.iter().map(|&key| (key, value(key))).collect();
            for round in 0..3 {
                let mut changed = [set.insert_all(&keys), map.insert_all(&pairs)].map(|count| count.unwrap() as u64);
                world.allreduce(&mut changed, |one, other| one + other).unwrap();
                assert_eq!(changed, [KEYS; 2], "{platform:?}, round {round}");
                let mut changed = [set.remove_all(&keys), map.remove_all(&keys)].map(|count| count.unwrap() as u64);
                world.allreduce(&mut changed, |one, other| one + other).unwrap();
                assert_eq!(changed, [KEYS; 2], "{platform:?}, round {round}");
            }
        });
    }
}

/// All ranks count the same few keys, several times in one call.
#[test]
fn keys_that_many_ranks_count_at_once_are_there_once() {
    const KEYS: u64 = 90;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 19).unwrap();
            let counts = GlobalMultiset::<u32>::new(&heap, 5).unwrap();
            let set = GlobalSet::<u64>::new(&heap, 5).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 6), vec![0u64; KEYS as usize]);
            for round in 0..rounds(platform) {
                let keys: Vec<_> = (0..200).map(|_| chance.below(KEYS) as u32).collect();
                keys.iter().for_each(|&key| model[key as usize] += round + 1);
                counts.insert_all(&keys, round + 1).unwrap();
                let seen = counts.count_all(&keys).unwrap();
                assert!(
                    keys.iter().zip(seen).all(|(&key, count)| count >= model[key as usize]),
                    "{platform:?}: what this rank added"
                );
                set.insert(&u64::from(keys[0])).unwrap();
            }
            world.allreduce(&mut model, |one, other| one + other).unwrap();
            let all: Vec<_> = (0..KEYS as u32 + 3).collect();
            let mut expected = model.clone();
            expected.extend([0; 3]);
            assert_eq!(counts.count_all(&all), Ok(expected), "{platform:?}");
            let mut seen = BTreeMap::new();
            for rank in world.ranks() {
                counts
                    .for_each_on(rank, |key, count| assert_eq!(seen.insert(key, count), None, "no key is there twice"))
                    .unwrap();
            }
            assert!(seen.iter().all(|(&key, &count)| count == model[key as usize]), "{platform:?}");
            assert_eq!(seen.len(), model.iter().filter(|&&count| count > 0).count());
            let mut members = Vec::new();
            world.ranks().for_each(|rank| set.for_each_on(rank, |key| members.push(key)).unwrap());
            assert_eq!(set.contains_all(&members), Ok(vec![true; members.len()]));
            let mut own = [counts.local_keys().unwrap()];
            world.allreduce(&mut own, |one, other| one + other).unwrap();
            assert_eq!(own, [seen.len() as u64]);
            world.barrier().unwrap();
        });
    }
}

/// Half of the ranks repeatedly write values of few keys; the others never find a mixture of two values.
#[test]
fn values_that_are_found_together_are_each_whole() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 18).unwrap();
            let map = GlobalMap::<u32, [u64; 64]>::new(&heap, 2).unwrap();
            let keys: Vec<_> = (0..20).collect();
            for round in 1..=rounds(platform) {
                if world.rank().number() % 2 == 0 {
                    let found = map.find_all(&keys).unwrap();
                    let is_whole = |value: [u64; 64]| value.iter().all(|&word| word == value[0]);
                    assert!(found.into_iter().flatten().all(is_whole), "{platform:?}");
                } else {
                    let pairs: Vec<_> = keys.iter().map(|&key| (key, [round << 8 | u64::from(world.rank()); 64])).collect();
                    map.set_all(&pairs).unwrap();
                    map.remove(&(round as u32 % 20)).unwrap();
                }
            }
            world.barrier().unwrap();
        });
    }
}

/// A new key needs a read of its bucket, a write and an atomic; a present key needs a read of its bucket, one of its element, and an atomic. Each step
/// of up to 128 keys is issued before a wait for the first, and no other operations are issued.
#[test]
fn each_key_takes_the_operations_of_its_own_steps_and_no_others() {
    run_counted(Platform::Remote, 2, |world, passed| {
        const COUNT: u64 = 1000;
        let heap = GlobalHeap::new(world, 1 << 20).unwrap();
        let counts = GlobalMultiset::<u64>::new(&heap, 1 << 16).unwrap();
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            // All keys of one other rank, almost always each in its own bucket.
            let keys: Vec<_> = (0..).filter(|key| counts.owner(key) != world.rank()).take(COUNT as usize).collect();
            let posted = || {
                let passed = passed.lock().unwrap();
                [Event::AtomicPosted, Event::GetPosted, Event::PutPosted].map(|event| passed.of(event))
            };
            let mut before = posted();
            let mut spent = || {
                let now = posted();
                let spent = [0, 1, 2].map(|kind| now[kind] - before[kind]);
                before = now;
                spent
            };
            counts.insert_all(&keys, 1).unwrap();
            let [atomics, gets, puts] = spent();
            // Chunks of memory, which double from one kilobyte on, need three atomics and a put each.
            assert!((2 * COUNT..2 * COUNT + 40).contains(&atomics), "{atomics} atomics");
            assert!(gets < 30 && (COUNT..COUNT + 15).contains(&puts), "{gets} gets, {puts} puts");
            counts.insert_all(&keys, 1).unwrap();
            let [atomics, gets, puts] = spent();
            assert!(atomics == 2 * COUNT && puts == 0 && (COUNT..COUNT + 30).contains(&gets), "{atomics}, {gets}, {puts}");
            assert_eq!(counts.count_all(&keys), Ok(vec![2; COUNT as usize]));
            let [atomics, gets, puts] = spent();
            assert!(atomics == COUNT && puts == 0 && (COUNT..COUNT + 30).contains(&gets), "{atomics}, {gets}, {puts}");
        }
        world.barrier().unwrap();
        let set = GlobalSet::<u64>::new(&heap, 1 << 14).unwrap();
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            let keys: Vec<_> = (0..).filter(|key| set.owner(key) != world.rank()).take(100).collect();
            let posted = || passed.lock().unwrap().of(Event::AtomicPosted);
            assert_eq!((set.insert_all(&keys), set.insert_all(&keys)), (Ok(100), Ok(0)));
            let before = posted();
            assert_eq!(set.remove_all(&keys), Ok(100));
            // Two atomics for each key: the head of its bucket, and its count.
            assert_eq!(posted() - before, 200);
        }
        world.barrier().unwrap();
    });
}
