//! A rank that holds parts of containers dies after each operation of a user: one call of the user returns the loss, and no later one.

use std::cell::Cell;

use pelago_base::{Duration, GlobalAddress, Instant, Rank, Team};
use pelago_containers::{Geometry, GlobalDeque, GlobalHeap, GlobalList, GlobalMap, Guarded, PlacedMap, PlacedMultiset};
use pelago_rma::active::QueueSettings;
use pelago_rma::{Error, Failure, Fault, Result};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death_noting;

const RANKS: u32 = 4;

/// The rank that uses the containers, and the rank that dies, on another node.
const USER: Rank = Rank::new(0);
const VICTIM: Rank = Rank::new(2);

/// A rank on the node of the victim that does not die.
const OTHER: Rank = Rank::new(3);

/// Longer than the time until all ranks know of a death.
const PAUSE: Duration = Duration::from_milliseconds(3);

/// Uses tables whose directory or elements, or both, lie on the victim, and memory of the heap.
fn use_tables(heap: &GlobalHeap<'_>, directory: Rank, row: Rank) -> Result<()> {
    let map = PlacedMap::create(heap, &[row], 4, directory)?;
    let aside = PlacedMap::create(heap, &[row], 4, directory)?;
    let again = PlacedMap::open(heap, map.address(), Geometry { ranks: 1, buckets: 4 })?;
    let set = PlacedMultiset::create(heap, &[row], 4, directory)?;
    for round in 0..2_u64 {
        for key in [&b"one"[..], b"another", b"a key of more bytes than a word has"] {
            map.insert(key, &round.to_ne_bytes())?;
            again.retrieve(key, &mut [0; 8])?;
            set.insert(key, 1)?;
            map.remove(key)?;
            map.insert(key, &[1; 40])?;
        }
        // The next search first reads the previous place of the buckets.
        map.swap(&aside)?;
        again.retrieve(b"one", &mut [0; 8])?;
    }
    let block = heap.allocate(row, 24)?;
    heap.free(block)
}

/// Uses a deque and a list with values on either rank.
fn use_rows(heap: &GlobalHeap<'_>, one: Rank, other: Rank) -> Result<()> {
    let deque = GlobalDeque::<u64>::new(heap, one, 2)?;
    let list = GlobalList::<u64>::new(heap, other)?;
    for value in 0..4 {
        deque.push_back(value)?;
        deque.push_front(value)?;
        let at = list.push_back(value, one)?;
        list.push_front(value, other)?;
        list.erase(at)?;
    }
    deque.erase(1, 2)?;
    deque.destroy()
}

/// Runs a program on the user's rank. Returns the times of its operations, and whether the program completed.
fn play(program: impl Fn(&GlobalHeap<'_>) -> Result<()>, dies: Option<Instant>) -> (Vec<Instant>, bool) {
    let ended = Cell::new(false);
    let (noted, found) = run_with_death_noting(USER, RANKS, FaultInjection::default(), (VICTIM, dies), |world, begin| {
        world.on_peer_lost(|_| ());
        let heap = GlobalHeap::quiet(world, 64 << 10)?;
        let living: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
        let group = world.group(&Team::of(&living).unwrap())?;
        world.barrier()?;
        begin();
        if world.rank() == USER {
            match program(&heap) {
                Ok(()) => ended.set(true),
                Err(Error::Failed(Failure::PeerLost(VICTIM)) | Error::Fault(Fault::PeerLost(VICTIM))) => {}
                Err(error) => panic!("{error}"),
            }
        }
        world.compute(PAUSE);
        let met = group.map_or(Ok(()), |group| group.barrier());
        assert_eq!(met, Ok(()), "who goes on learns of no failure twice, at rank {}", world.rank());
        // Freeing the memory is collective, which is no longer possible.
        std::mem::forget(heap);
        Ok(())
    });
    assert!(found.iter().enumerate().all(|(rank, found)| found.is_some() || rank == VICTIM.index()));
    (noted, ended.get())
}

/// The victim dies just after the user has issued an operation, and when the operation may have arrived.
fn is_told_once(program: impl Fn(&GlobalHeap<'_>) -> Result<()>) {
    let (noted, ended) = play(&program, None);
    assert!(ended && noted.len() > 20, "{} operations", noted.len());
    let mut told = 0;
    for at in noted {
        for later in [1, 900].map(Duration::from_nanoseconds) {
            let (_, ended) = play(&program, Some(at + later));
            told += u32::from(!ended);
        }
    }
    assert!(told > 20, "{told}");
}

#[test]
fn who_uses_tables_of_a_rank_that_dies_is_told_once() {
    for (directory, row) in [(VICTIM, VICTIM), (VICTIM, OTHER), (OTHER, VICTIM)] {
        is_told_once(|heap| use_tables(heap, directory, row));
    }
}

#[test]
fn who_uses_rows_and_lists_of_a_rank_that_dies_is_told_once() {
    for (one, other) in [(VICTIM, VICTIM), (VICTIM, OTHER), (OTHER, VICTIM)] {
        is_told_once(|heap| use_rows(heap, one, other));
    }
}

/// A rank whose `set_all` fails has begun to write values on other ranks: it completes these writes or leaves the old values, so that others can read
/// them.
#[test]
fn values_of_the_living_are_whole_after_many_were_set_in_vain() {
    const KEYS: u64 = 24;
    let pairs = |value: u64| (0..KEYS).map(|key| (key, value)).collect::<Vec<_>>();
    let play = |dies| {
        let (noted, _) = run_with_death_noting(USER, RANKS, FaultInjection::default(), (VICTIM, dies), |world, begin| {
            world.on_peer_lost(|_| ());
            let heap = GlobalHeap::quiet(world, 64 << 10)?;
            let map = GlobalMap::<u64, u64>::new(&heap, 8)?;
            let living: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
            let group = world.group(&Team::of(&living).unwrap())?;
            if world.rank() == USER {
                map.set_all(&pairs(1))?;
            }
            world.barrier()?;
            begin();
            if world.rank() == USER {
                match map.set_all(&pairs(2)) {
                    Ok(added) => assert_eq!(added, 0),
                    Err(Error::Failed(Failure::PeerLost(VICTIM)) | Error::Fault(Fault::PeerLost(VICTIM))) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            world.compute(PAUSE);
            let met = group.map_or(Ok(()), |group| group.barrier());
            assert_eq!(met, Ok(()), "who goes on learns of no failure twice, at rank {}", world.rank());
            if world.rank() == OTHER {
                for key in (0..KEYS).filter(|key| map.owner(key) != VICTIM) {
                    let value = map.find(&key)?;
                    assert!(matches!(value, Some(1 | 2)), "key {key} has {value:?}");
                }
            }
            world.compute(PAUSE);
            // Freeing the memory is collective, which is no longer possible.
            std::mem::forget(map);
            std::mem::forget(heap);
            Ok(())
        });
        noted
    };
    let noted = play(None);
    assert!(noted.len() > 20, "{} operations", noted.len());
    for at in noted {
        for later in [1, 900].map(Duration::from_nanoseconds) {
            play(Some(at + later));
        }
    }
}

/// A rank that waits for the change of a lost rank gets the loss as an error.
#[test]
fn who_waits_for_the_change_of_a_lost_rank_is_told() {
    let (_, found) =
        run_with_death_noting(USER, RANKS, FaultInjection::default(), (VICTIM, Some(Instant::ZERO + PAUSE)), |world, begin| {
            world.on_peer_lost(|_| ());
            let heap = GlobalHeap::new(world, 16 << 10)?;
            let mut address = [0];
            if world.rank() == OTHER {
                address = [Guarded::new(&heap, OTHER, ())?.address().bits()];
            }
            world.broadcast(OTHER, &mut address)?;
            let guarded = Guarded::open(&heap, GlobalAddress::from_bits(address[0]), ())?;
            world.barrier()?;
            begin();
            if world.rank() == VICTIM {
                // The rank dies meanwhile.
                return guarded.change(|()| {
                    world.compute(PAUSE + PAUSE);
                    Ok(())
                });
            }
            world.compute(Duration::from_microseconds(500));
            let told = guarded.change(|()| Ok(()));
            assert_eq!(told, Err(Failure::PeerLost(VICTIM).into()), "at rank {}", world.rank());
            std::mem::forget(heap);
            Ok(())
        });
    assert_eq!(found.len(), RANKS as usize);
}

/// A rank dies after each of its operations while it writes values: later operations on the key that it was writing fail with its loss, and all others
/// succeed. Updates of that key end at the owner.
#[test]
fn a_key_whose_writer_died_fails_with_the_loss_of_the_writer() {
    const OWNER: Rank = Rank::new(1);
    let settings = QueueSettings { slots: 4, batch_bytes: 512, calls: 0, limit: None };
    let told = [Cell::new(0), Cell::new(0)];
    let play = |dies| {
        let (noted, _) = run_with_death_noting(VICTIM, RANKS, FaultInjection::default(), (VICTIM, dies), |world, begin| {
            world.on_peer_lost(|_| ());
            let heap = GlobalHeap::quiet(world, 64 << 10)?;
            let map = GlobalMap::<u64, [u64; 40]>::new(&heap, 8)?;
            let replacing = map.updates(|_, new| new, settings)?;
            let keys: Vec<_> = (0..).filter(|key| map.owner(key) == OWNER).take(3).collect();
            let pairs = |value: u64| keys.iter().map(|&key| (key, [value; 40])).collect::<Vec<_>>();
            let mut address = [0];
            if world.rank() == USER {
                map.set_all(&pairs(1))?;
                let placed = PlacedMap::create(&heap, &[OWNER], 4, OWNER)?;
                placed.insert(b"key", &[1; 320])?;
                address = [placed.address().bits()];
            }
            world.broadcast(USER, &mut address)?;
            let placed = PlacedMap::open(&heap, GlobalAddress::from_bits(address[0]), Geometry { ranks: 1, buckets: 4 })?;
            let living: Vec<_> = world.ranks().filter(|&rank| rank != VICTIM).collect();
            let group = world.group(&Team::of(&living).unwrap())?;
            world.barrier()?;
            begin();
            if world.rank() == VICTIM {
                map.set(&keys[0], &[2; 40])?;
                map.set_all(&pairs(3))?;
                placed.remove(b"key")?;
                placed.insert(b"key", &[2; 320])?;
            }
            if world.rank() == USER {
                // The updates arrive after the death, and leave before this rank knows of it.
                world.compute(Duration::from_microseconds(100));
                assert_eq!(keys.iter().try_for_each(|&key| replacing.update(key, [7; 40])), Ok(()));
                assert_eq!(replacing.flush(), Ok(()));
            }
            world.compute(PAUSE);
            let met = group.as_ref().map_or(Ok(()), |group| group.barrier());
            assert_eq!(met, Ok(()), "at rank {}", world.rank());
            if [USER, OTHER].contains(&world.rank()) {
                for key in &keys {
                    let value = map.find(key);
                    assert!(!matches!(value, Ok(Some(words)) if words.iter().any(|word| *word != words[0])), "{value:?}");
                    let is_lost = is_loss(value);
                    assert_eq!(is_loss(map.set(key, &[4; 40])), is_lost);
                    assert_eq!(is_loss(map.find_all(&[*key])), is_lost);
                    assert_eq!(is_loss(map.remove_all(&[*key])), is_lost);
                    assert_eq!(is_loss(map.insert(key, &[5; 40])), is_lost);
                    assert_eq!(is_loss(map.set_all(&[(*key, [6; 40])])), is_lost);
                    assert_eq!(is_loss(map.remove(key)), is_lost);
                    told[0].set(told[0].get() + u32::from(is_lost));
                }
                let is_lost = is_loss(placed.retrieve(b"key", &mut [0; 320]));
                assert_eq!(is_loss(placed.remove(b"key")), is_lost);
                assert_eq!(is_loss(placed.insert(b"key", &[3; 320])), is_lost);
                told[1].set(told[1].get() + u32::from(is_lost));
            }
            let met = group.map_or(Ok(()), |group| group.barrier());
            assert_eq!(met, Ok(()), "at rank {}", world.rank());
            assert_eq!(replacing.counters().run, if world.rank() == OWNER { keys.len() as u64 } else { 0 });
            // Freeing the memory is collective, which is no longer possible.
            std::mem::forget(replacing);
            std::mem::forget(map);
            std::mem::forget(heap);
            Ok(())
        });
        noted
    };
    let noted = play(None);
    assert!(noted.len() > 10, "{} operations", noted.len());
    assert_eq!([told[0].get(), told[1].get()], [0; 2]);
    for at in noted {
        for later in [1, 900].map(Duration::from_nanoseconds) {
            play(Some(at + later));
        }
    }
    assert!(told.iter().all(|told| told.get() > 0), "{told:?}");
}

/// Whether an operation has failed with the loss of the victim. No operation fails otherwise.
fn is_loss<T>(ended: Result<T>) -> bool {
    match ended {
        Ok(_) => false,
        Err(Error::Failed(Failure::PeerLost(VICTIM))) => true,
        Err(error) => panic!("{error}"),
    }
}
