//! Generated operations: compared with the standard library's containers, and from all ranks concurrently with invariants that hold for every order.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, HashMap};

use common::{Chance, RANKS, operations};
use pelago_base::{GlobalAddress, Rank};
use pelago_containers::{GlobalHeap, GlobalMap, GlobalMultiset};
use pelago_rma::{Error, GlobalPtr};
use pelago_test_support::threads::{PLATFORMS, Platform, run};
use proptest::prelude::*;

/// A value of three words that shows whether it is consistent.
fn value(number: u64) -> [u64; 3] {
    [number, number.wrapping_mul(3), !number]
}

fn number_of(value: [u64; 3]) -> u64 {
    assert_eq!(value, self::value(value[0]), "a value is whole");
    value[0]
}

#[test]
fn a_map_does_what_a_map_does() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let map = GlobalMap::<u64, [u64; 3]>::new(&heap, 50).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 1), HashMap::new());
            for _ in 0..operations(platform) {
                // Each rank has its own keys, in the buckets of all.
                let key = chance.below(150) * u64::from(RANKS) + u64::from(world.rank());
                let number = chance.below(u64::MAX);
                match chance.below(6) {
                    0 | 1 => {
                        let is_new = !model.contains_key(&key);
                        assert_eq!(map.insert(&key, &value(number)), Ok(is_new));
                        model.entry(key).or_insert(number);
                    }
                    2 => assert_eq!(map.set(&key, &value(number)), Ok(model.insert(key, number).is_none())),
                    3 => assert_eq!(map.remove(&key), Ok(model.remove(&key).is_some())),
                    _ => assert_eq!(map.find(&key).unwrap().map(number_of), model.get(&key).copied()),
                }
            }
            world.barrier().unwrap();
            let mut found = BTreeMap::new();
            map.for_each_local(|key, value| {
                assert!(found.insert(key, number_of(value)).is_none(), "no key is there twice");
                assert_eq!(map.owner(&key), world.rank());
            })
            .unwrap();
            let mut count = [found.len() as u64, model.len() as u64];
            world.allreduce(&mut count, |one, other| one + other).unwrap();
            assert_eq!(count[0], count[1]);
            assert!(found.iter().all(|(key, number)| model.get(key).is_none_or(|known| known == number)));
            map.clear().unwrap();
            assert_eq!(map.find(&7), Ok(None));
            // The freed memory is sufficient for the same content again.
            assert_eq!(map.insert(&u64::from(world.rank()), &value(1)), Ok(true));
            world.barrier().unwrap();
        });
    }
}

/// In every order of the ranks, additions and removals of each key alternate, and every value that is found was written.
#[test]
fn ranks_that_use_the_same_keys_agree() {
    const KEYS: u64 = 20;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let map = GlobalMap::<u64, [u64; 3]>::new(&heap, 3).unwrap();
            let set = GlobalMultiset::<u32>::new(&heap, 3).unwrap();
            let mut chance = Chance::of(world, 2);
            // For each key, the additions by this rank minus its removals: first for the map, then for the multiset.
            let mut balance = vec![0i64; 2 * KEYS as usize];
            for _ in 0..operations(platform) {
                let key = chance.below(KEYS);
                let (in_map, in_set) = (key as usize, (KEYS + key) as usize);
                match chance.below(9) {
                    0 => balance[in_map] += i64::from(map.insert(&key, &value(chance.below(1000))).unwrap()),
                    1 => balance[in_map] += i64::from(map.set(&key, &value(chance.below(1000))).unwrap()),
                    2 | 3 => balance[in_map] -= i64::from(map.remove(&key).unwrap()),
                    4 | 5 => assert!(map.find(&key).unwrap().is_none_or(|value| number_of(value) < 1000)),
                    6 => {
                        let count = 1 + chance.below(3);
                        set.insert(&(key as u32), count).unwrap();
                        balance[in_set] += count as i64;
                    }
                    7 => balance[in_set] -= i64::from(set.remove(&(key as u32)).unwrap() > 0),
                    _ if chance.below(10) == 0 => balance[in_set] -= set.remove_all(&(key as u32)).unwrap() as i64,
                    _ => drop(set.count(&(key as u32)).unwrap()),
                }
            }
            world.allreduce(&mut balance, |one, other| one + other).unwrap();
            for key in 0..KEYS {
                assert_eq!(i64::from(map.find(&key).unwrap().is_some()), balance[key as usize], "{platform:?} {key}");
                assert_eq!(set.count(&(key as u32)).unwrap() as i64, balance[(KEYS + key) as usize], "{platform:?} {key}");
            }
            let mut keys = [0u64; 2];
            map.for_each_local(|_, _| keys[0] += 1).unwrap();
            set.for_each_local(|_, count| keys[1] += count).unwrap();
            world.allreduce(&mut keys, |one, other| one + other).unwrap();
            assert_eq!(keys[0] as i64, balance[..KEYS as usize].iter().sum::<i64>(), "no key is there twice");
            assert_eq!(keys[1] as i64, balance[KEYS as usize..].iter().sum::<i64>());
            world.barrier().unwrap();
        });
    }
}

/// Half of the ranks repeatedly write long values of one key; the others never find a mixture of two values.
#[test]
fn a_value_is_never_seen_half_written() {
    const WORDS: usize = 512;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 18).unwrap();
            let map = GlobalMap::<u32, [u64; WORDS]>::new(&heap, 1).unwrap();
            let enough = world.alloc::<u64>(1).unwrap();
            if world.rank().number() % 2 == 0 {
                for _ in 0..operations(platform) {
                    if let Some(value) = map.find(&1).unwrap() {
                        assert!(value.iter().all(|&word| word == value[0]), "{platform:?}");
                    }
                }
                world.add(enough.at(Rank::new(0), 0), 1).unwrap();
            } else {
                let mut round = 0;
                while world.fault().is_none() && world.get(enough.at(Rank::new(0), 0)).unwrap() < u64::from(RANKS / 2) {
                    round += 1;
                    map.set(&1, &[round << 8 | u64::from(world.rank()); WORDS]).unwrap();
                    if round % 7 == 0 {
                        map.remove(&1).unwrap();
                    }
                }
            }
            world.barrier().unwrap();
        });
    }
}

/// Every rank allocates on every rank and frees what others have allocated; no two blocks overlap.
#[test]
fn memory_belongs_to_one_at_a_time() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 18).unwrap();
            let letters = world.alloc::<u64>(1).unwrap();
            let mut chance = Chance::of(world, 3);
            let mut held: Vec<(GlobalPtr<u64>, u64, u64)> = Vec::new();
            for round in 0..operations(platform) / 5 {
                if held.len() < 30 && chance.below(2) == 0 {
                    let bytes = 8 * (1 + chance.below(60));
                    let address = match heap.allocate(Rank::new(chance.below(u64::from(RANKS)) as u32), bytes) {
                        Ok(address) => address,
                        Err(Error::NoMemory { .. }) => continue,
                        Err(error) => panic!("{error}"),
                    };
                    let (pointer, mark) = (GlobalPtr::from_address(address).unwrap(), round << 8 | u64::from(world.rank()));
                    world.put(pointer, &vec![mark; bytes as usize / 8]).unwrap().wait().unwrap();
                    held.push((pointer, bytes / 8, mark));
                } else if !held.is_empty() {
                    let (pointer, words, mark) = held.swap_remove(chance.below(held.len() as u64) as usize);
                    let mut found = vec![0; words as usize];
                    world.get_into(pointer, &mut found).unwrap();
                    assert_eq!(found, vec![mark; words as usize]);
                    // Leaves the block to another rank, and frees the block that was left there.
                    let to = Rank::new(chance.below(u64::from(RANKS)) as u32);
                    let other = world.swap(letters.at(to, 0), pointer.address().bits()).unwrap().wait().unwrap();
                    if other != 0 {
                        heap.free(GlobalAddress::from_bits(other)).unwrap();
                    }
                }
            }
            held.iter().for_each(|(pointer, ..)| heap.free(pointer.address()).unwrap());
            world.barrier().unwrap();
            let last = letters.local().load(0);
            assert!(last == 0 || heap.free(GlobalAddress::from_bits(last)).is_ok());
            world.barrier().unwrap();
            // No memory is lost: as much can be allocated as before.
            assert!((0..4).all(|_| heap.allocate(world.rank(), 480).is_ok()));
        });
    }
}

#[test]
fn what_is_not_in_use_is_not_freed() {
    run(Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 4096).unwrap();
        let other = world.rank().next(2);
        let block = heap.allocate(other, 100).unwrap();
        let unknown = |address| assert!(matches!(heap.free(address), Err(Error::Invalid(_))), "{address:?}");
        unknown(GlobalAddress::NULL);
        unknown(GlobalAddress::from_bits(u64::MAX));
        unknown(GlobalAddress::from_bits(block.bits() + 16));
        unknown(GlobalAddress::from_bits(block.bits() + 1));
        heap.free(block).unwrap();
        unknown(block);
        // Freed memory is reused: in total, the loop allocates more than the heap has.
        for _ in 0..200 {
            heap.free(heap.allocate(other, 1000).unwrap()).unwrap();
        }
        world.barrier().unwrap();
        let mut all = Vec::new();
        while let Ok(address) = heap.allocate(world.rank(), 200) {
            all.push(address);
        }
        let full = heap.allocate(world.rank(), 200).unwrap_err();
        assert!(matches!(full, Error::NoMemory { .. }) && all.len() >= 5);
        assert!(full.to_string().contains("create the GlobalHeap with more bytes"), "not the heap of the job: {full}");
        assert!(matches!(heap.allocate(world.rank(), u64::MAX), Err(Error::NoMemory { .. })));
        all.into_iter().for_each(|address| heap.free(address).unwrap());
        world.barrier().unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Keys and values of every size, in few and many buckets.
    #[test]
    fn every_size_fits(buckets in 1usize..40, keys in prop::collection::btree_set(any::<[u8; 5]>(), 1..60)) {
        run(Platform::Remote, 3, |world| {
            let heap = GlobalHeap::new(world, 1 << 18).unwrap();
            let map = GlobalMap::<[u8; 5], [u8; 13]>::new(&heap, buckets).unwrap();
            let counts = GlobalMultiset::<[u8; 5]>::new(&heap, buckets).unwrap();
            let whole = |key: &[u8; 5]| { let mut value = [7; 13]; value[8..].copy_from_slice(key); value };
            for key in &keys {
                map.insert(key, &whole(key)).unwrap();
                counts.insert(key, 2).unwrap();
            }
            world.barrier().unwrap();
            for key in &keys {
                assert_eq!(map.find(key), Ok(Some(whole(key))));
                assert_eq!(counts.count(key), Ok(6));
            }
            assert_eq!(map.find(&[0xFF; 5]).unwrap().is_some(), keys.contains(&[0xFF; 5]));
            world.barrier().unwrap();
        });
    }
}
