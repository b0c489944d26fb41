//! Maps, multisets and sets on chosen ranks: compared with the standard library's, and used by all ranks concurrently.

#[allow(dead_code)]
mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Chance, RANKS, operations};
use pelago_base::{GlobalAddress, Rank};
use pelago_containers::{Geometry, GlobalHeap, GlobalMultiset, GlobalSet, PlacedMap, PlacedMultiset};
use pelago_rma::{Error, GlobalPtr, World};
use pelago_test_support::threads::{self, PLATFORMS, run};

fn ranks(numbers: &[u32]) -> Vec<Rank> {
    numbers.iter().copied().map(Rank::new).collect()
}

fn read(world: &World, (at, bytes): (GlobalAddress, u64)) -> Vec<u8> {
    let mut found = vec![0; bytes as usize];
    if bytes > 0 {
        world.get_into(GlobalPtr::from_address(at).unwrap(), &mut found).unwrap();
    }
    found
}

/// All keys with their values.
fn pairs(world: &World, map: &PlacedMap<'_, '_>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut position = map.first_from(0).unwrap();
    while position != map.end() {
        let key = read(world, map.key_at(position).unwrap());
        let value = read(world, map.value_at(position).unwrap());
        assert!(found.insert(key, value).is_none(), "no key is there twice");
        position = map.next(position).unwrap();
    }
    found
}

#[test]
fn a_map_does_what_a_map_does() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 21).unwrap();
            let mut chance = Chance::of(world, 20);
            // The geometries differ, so that keys change their ranks.
            let maps = [
                PlacedMap::create(&heap, &ranks(&[0, 2, 3]), 7, chance.rank()).unwrap(),
                PlacedMap::create(&heap, &ranks(&[1]), 3, chance.rank()).unwrap(),
            ];
            let mut models: [BTreeMap<Vec<u8>, Vec<u8>>; 2] = Default::default();
            for _ in 0..operations(platform) {
                let which = chance.below(2) as usize;
                let (map, key) = (&maps[which], vec![chance.below(40) as u8; chance.below(3) as usize * 5]);
                match chance.below(20) {
                    0..7 => {
                        let value = chance.bytes(60);
                        assert_eq!(map.insert(&key, &value), Ok(!models[which].contains_key(&key)));
                        models[which].entry(key).or_insert(value);
                    }
                    7..12 => assert_eq!(map.remove(&key), Ok(models[which].remove(&key).is_some())),
                    12..18 => {
                        let mut value = vec![0xEE; chance.below(70) as usize];
                        let found = map.retrieve(&key, &mut value).unwrap();
                        let known = models[which].get(&key);
                        assert_eq!(found, known.map(|known| known.len() as u64));
                        let kept = known.map_or(0, |known| known.len().min(value.len()));
                        assert!(known.is_none_or(|known| known[..kept] == value[..kept]));
                        assert!(value[kept..].iter().all(|&byte| byte == 0xEE));
                        assert_eq!(map.find(&key).unwrap() == map.end(), known.is_none());
                    }
                    _ if chance.below(50) > 0 => assert_eq!(map.keys(None), Ok(models[which].len() as u64)),
                    _ => {
                        let [one, other] = [which, 1 - which];
                        match chance.below(3) {
                            0 => {
                                maps[one].merge(&maps[other], None).unwrap();
                                for (key, value) in models[other].clone() {
                                    models[one].entry(key).or_insert(value);
                                }
                            }
                            1 => {
                                maps[0].swap(&maps[1]).unwrap();
                                models.swap(0, 1);
                            }
                            _ => {
                                map.clear(None).unwrap();
                                models[one].clear();
                            }
                        }
                    }
                }
            }
            maps.iter().zip(&models).for_each(|(map, model)| assert_eq!(pairs(world, map), *model));
            world.barrier().unwrap();
            maps.into_iter().for_each(|map| map.destroy().unwrap());
            world.barrier().unwrap();
        });
    }
}

/// All ranks add keys with values of all lengths and remove them; in every order, each value that is found was written.
#[test]
fn ranks_that_use_the_same_keys_agree() {
    const KEYS: u64 = 20;
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 21).unwrap();
            let mut made = [0; 3];
            let all: Vec<Rank> = world.ranks().collect();
            let geometry = Geometry { ranks: u64::from(RANKS), buckets: 2 };
            if world.rank() == Rank::new(2) {
                made[0] = PlacedMap::create(&heap, &all, geometry.buckets, Rank::new(0)).unwrap().address().bits();
                made[1] = PlacedMultiset::create(&heap, &all, geometry.buckets, Rank::new(1)).unwrap().address().bits();
                made[2] = PlacedMultiset::create(&heap, &all, geometry.buckets, Rank::new(1)).unwrap().address().bits();
            }
            world.broadcast(Rank::new(2), &mut made).unwrap();
            let at = made.map(GlobalAddress::from_bits);
            let map = PlacedMap::open(&heap, at[0], geometry).unwrap();
            let counts = PlacedMultiset::open(&heap, at[1], geometry).unwrap();
            let set = PlacedMultiset::open(&heap, at[2], geometry).unwrap();
            let mut chance = Chance::of(world, 22);
            // For each key of each container, the additions by this rank minus its removals.
            let mut balance = vec![0i64; 3 * KEYS as usize];
            for _ in 0..operations(platform) {
                let key = chance.below(KEYS);
                let bytes = key.to_le_bytes();
                let [in_map, in_counts, in_set] = [0, 1, 2].map(|container| (container * KEYS + key) as usize);
                match chance.below(12) {
                    0 | 1 => {
                        let value = vec![chance.below(250) as u8; 1 + chance.below(100) as usize];
                        balance[in_map] += i64::from(map.insert(&bytes, &value).unwrap());
                    }
                    2 | 3 => balance[in_map] -= i64::from(map.remove(&bytes).unwrap()),
                    4 | 5 => {
                        let mut value = [0; 120];
                        if let Some(length) = map.retrieve(&bytes, &mut value).unwrap() {
                            let value = &value[..length as usize];
                            assert!(value.iter().all(|&byte| byte == value[0]), "{platform:?}: a value is whole: {value:?}");
                        }
                    }
                    6 => {
                        let count = 1 + chance.below(3);
                        counts.insert(&bytes, count).unwrap();
                        balance[in_counts] += count as i64;
                    }
                    7 => balance[in_counts] -= i64::from(counts.remove(&bytes).unwrap() > 0),
                    8 if chance.below(5) == 0 => balance[in_counts] -= counts.remove_all(&bytes).unwrap() as i64,
                    9 => balance[in_set] += i64::from(set.insert_once(&bytes).unwrap()),
                    10 => balance[in_set] -= set.remove_all(&bytes).unwrap() as i64,
                    _ => drop(counts.count(&bytes).unwrap()),
                }
            }
            world.allreduce(&mut balance, |one, other| one + other).unwrap();
            for key in 0..KEYS {
                let bytes = key.to_le_bytes();
                let found = [
                    i64::from(map.retrieve(&bytes, &mut []).unwrap().is_some()),
                    counts.count(&bytes).unwrap() as i64,
                    set.count(&bytes).unwrap() as i64,
                ];
                let known = [0, 1, 2].map(|container| balance[(container * KEYS + key) as usize]);
                assert_eq!(found, known, "{platform:?} {key}");
            }
            // No key is present twice.
            let row = map.row_of(world.rank()).unwrap().unwrap();
            let mut own = [map.keys(Some(row)).unwrap(), set.keys(Some(row)).unwrap()];
            world.allreduce(&mut own, |one, other| one + other).unwrap();
            assert_eq!(
                own.map(|count| count as i64),
                [0, 2].map(|of| balance[of * KEYS as usize..][..KEYS as usize].iter().sum::<i64>())
            );
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_set_does_what_a_set_does() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let set = GlobalSet::<u64>::new(&heap, 20).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 5), BTreeSet::new());
            for _ in 0..operations(platform) {
                let key = chance.below(90) * u64::from(RANKS) + u64::from(world.rank());
                match chance.below(3) {
                    0 => assert_eq!(set.insert(&key), Ok(model.insert(key))),
                    1 => assert_eq!(set.remove(&key), Ok(model.remove(&key))),
                    _ => assert_eq!(set.contains(&key), Ok(model.contains(&key))),
                }
            }
            world.barrier().unwrap();
            let mut counts = [0, model.len() as u64];
            set.for_each_local(|key| {
                assert_eq!(set.owner(&key), world.rank());
                counts[0] += 1;
            })
            .unwrap();
            world.allreduce(&mut counts, |one, other| one + other).unwrap();
            assert_eq!(counts[0], counts[1]);
            set.clear().unwrap();
            assert_eq!(set.contains(&u64::from(world.rank())), Ok(false));
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_multiset_does_what_a_multiset_does() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let set = GlobalMultiset::<u64>::new(&heap, 20).unwrap();
            let (mut chance, mut model) = (Chance::of(world, 6), BTreeMap::<u64, u64>::new());
            for _ in 0..operations(platform) {
                // Each rank has its own keys, in the buckets of all.
                let key = chance.below(90) * u64::from(RANKS) + u64::from(world.rank());
                let known = model.get(&key).copied().unwrap_or(0);
                match chance.below(7) {
                    0 | 1 => {
                        let more = 1 + chance.below(4);
                        assert_eq!(set.insert(&key, more), Ok(known));
                        model.insert(key, known + more);
                    }
                    2 | 3 => {
                        assert_eq!(set.remove(&key), Ok(known));
                        model.insert(key, known.saturating_sub(1));
                    }
                    4 => {
                        assert_eq!(set.remove_all(&key), Ok(known));
                        model.remove(&key);
                    }
                    _ => assert_eq!(set.count(&key), Ok(known)),
                }
            }
            world.barrier().unwrap();
            model.retain(|_, count| *count > 0);
            let mut counts = [0, 0, model.len() as u64, model.values().sum()];
            let mut local = BTreeMap::new();
            set.for_each_local(|key, count| {
                assert_eq!(set.owner(&key), world.rank());
                assert!(count > 0 && local.insert(key, count).is_none(), "no key is there twice");
                counts[0] += 1;
                counts[1] += count;
            })
            .unwrap();
            assert!(local.iter().all(|(key, count)| model.get(key).is_none_or(|known| known == count)));
            world.allreduce(&mut counts, |one, other| one + other).unwrap();
            assert_eq!(counts[..2], counts[2..]);
            set.clear().unwrap();
            assert_eq!(set.count(&u64::from(world.rank())), Ok(0));
            world.barrier().unwrap();
        });
    }
}

#[test]
fn what_is_not_a_table_is_not_used() {
    run(threads::Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 1 << 16).unwrap();
        let other = world.rank().next(2);
        let geometry = Geometry { ranks: 1, buckets: 4 };
        let map = PlacedMap::create(&heap, &[other], 4, world.rank()).unwrap();
        let multiset = PlacedMultiset::open(&heap, map.address(), geometry).unwrap();
        assert!(matches!(multiset.keys(None), Err(Error::Invalid(_))));
        assert!(PlacedMap::open(&heap, GlobalAddress::NULL, geometry).is_err());
        assert!(PlacedMap::open(&heap, map.address(), Geometry { ranks: 0, ..geometry }).is_err());
        assert!(PlacedMap::open(&heap, map.address(), Geometry { buckets: u64::MAX, ..geometry }).is_err());
        assert!(PlacedMap::create(&heap, &[], 4, other).is_err() && PlacedMap::create(&heap, &[other], 0, other).is_err());
        assert!(matches!(PlacedMap::create(&heap, &[other], 1 << 30, other), Err(Error::NoMemory { .. })));
        // A key for which there was no memory is absent.
        assert!(matches!(map.insert(&[1; 70_000], &[]), Err(Error::NoMemory { .. })));
        assert_eq!((map.insert(b"key", b"value"), map.keys(None)), (Ok(true), Ok(1)));
        map.destroy().unwrap();
        world.barrier().unwrap();
        // All memory was freed.
        for _ in 0..50 {
            let map = PlacedMap::create(&heap, &[other, world.rank()], 100, other).unwrap();
            (0..20u8).for_each(|key| assert_eq!(map.insert(&[key; 100], &[key; 200]), Ok(true)));
            map.destroy().unwrap();
        }
        world.barrier().unwrap();
    });
}

/// A rank has used the destroyed table, and so has read null addresses there.
#[test]
fn a_table_in_the_memory_of_a_destroyed_one_is_found() {
    run(threads::Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 1 << 16).unwrap();
        let other = world.rank().next(2);
        let destroyed = PlacedMap::create(&heap, &[other], 4, other).unwrap();
        let at = destroyed.address();
        destroyed.destroy().unwrap();
        let gone = PlacedMap::open(&heap, at, Geometry { ranks: 1, buckets: 4 }).unwrap();
        assert!(gone.insert(b"key", b"value").is_err());
        let made: Vec<_> = (0..8).map(|_| PlacedMap::create(&heap, &[other], 4, other).unwrap()).collect();
        assert!(made.iter().any(|map| map.address() == at));
        made.iter().for_each(|map| assert_eq!(map.insert(b"key", b"value"), Ok(true)));
        world.barrier().unwrap();
    });
}

/// A rank with cached places of rows notices that another rank has exchanged or freed the rows.
#[test]
fn rows_that_have_moved_are_found_where_they_are() {
    for platform in PLATFORMS {
        run(platform, 3, |world| {
            let heap = GlobalHeap::new(world, 1 << 18).unwrap();
            let geometry = Geometry { ranks: 2, buckets: 4 };
            let mut made = [0; 2];
            if world.rank() == Rank::new(0) {
                let rows = [Rank::new(1), Rank::new(2)];
                made = made.map(|_| PlacedMap::create(&heap, &rows, 4, Rank::new(1)).unwrap().address().bits());
            }
            world.broadcast(Rank::new(0), &mut made).unwrap();
            let maps = made.map(|at| PlacedMap::open(&heap, GlobalAddress::from_bits(at), geometry).unwrap());
            let values = |key: u64| {
                let mut value = [0; 1];
                [0, 1].map(|map| maps[map].retrieve(&key.to_le_bytes(), &mut value).unwrap().map(|_| value[0]))
            };
            if world.rank() == Rank::new(0) {
                for key in 0..20u64 {
                    for (mark, map) in (1..).zip(&maps) {
                        assert_eq!(map.insert(&key.to_le_bytes(), &[mark]), Ok(true));
                    }
                }
            }
            for round in 0..4 {
                world.barrier().unwrap();
                let expected = if round % 2 == 0 { [Some(1), Some(2)] } else { [Some(2), Some(1)] };
                for key in 0..20 {
                    assert_eq!(values(key), expected, "{platform:?} {round} {key}");
                }
                world.barrier().unwrap();
                if world.rank() == Rank::new(1 + round % 2) {
                    maps[0].swap(&maps[1]).unwrap();
                }
            }
            world.barrier().unwrap();
            if world.rank() == Rank::new(2) {
                let [first, second] = made.map(|at| PlacedMap::open(&heap, GlobalAddress::from_bits(at), geometry).unwrap());
                first.destroy().unwrap();
                second.destroy().unwrap();
            }
            world.barrier().unwrap();
            assert!(maps[0].find(&7u64.to_le_bytes()).is_err(), "{platform:?}: the directory leads nowhere");
            world.barrier().unwrap();
        });
    }
}

/// A table is opened with the heap that contains it. With another heap, its first key is an error.
#[test]
fn a_table_in_another_heap_is_refused() {
    run(threads::Platform::Mapped, 1, |world| {
        let heaps = [(); 2].map(|()| GlobalHeap::new(world, 1 << 14).unwrap());
        for (here, elsewhere) in [(&heaps[0], &heaps[1]), (&heaps[1], &heaps[0])] {
            let map = PlacedMap::create(here, &ranks(&[0]), 1, Rank::new(0)).unwrap();
            let wrong = PlacedMap::open(elsewhere, map.address(), map.geometry()).unwrap();
            assert!(wrong.find(b"one") == Ok(wrong.end()), "there is no key");
            map.insert(b"one", b"1").unwrap();
            assert!(matches!(wrong.find(b"one"), Err(Error::Invalid(_))));
            assert!(matches!(wrong.retrieve(b"two", &mut []), Err(Error::Invalid(_))));
            let same = PlacedMap::open(here, map.address(), map.geometry()).unwrap();
            assert_eq!(same.retrieve(b"one", &mut []), Ok(Some(1)));
            map.destroy().unwrap();
        }
    });
}

/// The geometry comes from another rank, or from a program in C.
#[test]
fn a_geometry_that_no_heap_holds_is_refused() {
    run(threads::Platform::Mapped, 1, |world| {
        let heap = GlobalHeap::new(world, 1 << 14).unwrap();
        let set = PlacedMultiset::create(&heap, &ranks(&[0]), 3, Rank::new(0)).unwrap();
        let open = |ranks, buckets| PlacedMultiset::open(&heap, set.address(), Geometry { ranks, buckets });
        for (ranks, buckets) in
            [(1 << 47, 1), (1, 1 << 47), (1 << 11, 1), (u64::MAX, 1), (1, u64::MAX), (1 << 32, 1 << 32), (0, 1), (1, 0)]
        {
            let refused = open(ranks, buckets).map(drop);
            assert!(matches!(refused, Err(Error::Invalid(_))), "{ranks} ranks with {buckets} buckets: {refused:?}");
        }
        assert_eq!(open(1, 3).unwrap().keys(None), Ok(0));
    });
}
