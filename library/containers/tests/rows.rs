//! Vectors, deques, lists and distributed bytes compared with the standard library's, each on random ranks.

#[allow(dead_code)]
mod common;

use std::collections::VecDeque;

use common::{Chance, RANKS, operations};
use pelago_base::{Event, GlobalAddress, Rank};
use pelago_containers::{
    ByteSource, Form, GlobalBytes, GlobalDeque, GlobalHeap, GlobalList, GlobalVector, Guarded, InsertAt, List, PlacedMap,
    Sequence,
};
use pelago_rma::{Error, GlobalPtr, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::threads::{HEAP_BYTES, PLATFORMS, Passed, Platform, run, run_counted};

/// All bytes of a sequence.
fn all(sequence: &Sequence<'_, '_>) -> Vec<u8> {
    let mut bytes = vec![0; sequence.bytes().unwrap() as usize];
    sequence.read(0, &mut bytes).unwrap();
    bytes
}

/// Bytes of a length that is often short, and sometimes long enough for moves over long distances.
fn some(chance: &mut Chance) -> Vec<u8> {
    let bound = if chance.below(20) == 0 { 600 } else { 20 };
    chance.bytes(bound)
}

fn generated(world: &World, form: Form, platform: Platform) {
    let heap = GlobalHeap::new(world, 1 << 20).unwrap();
    let mut chance = Chance::of(world, form as u64);
    let mut other = Sequence::create(&heap, form, chance.rank(), 10).unwrap();
    let mut sequence = Sequence::create(&heap, form, chance.rank(), chance.below(50)).unwrap();
    let (mut model, mut second) = (VecDeque::<u8>::new(), VecDeque::<u8>::new());
    for round in 0..operations(platform) {
        let at = chance.below(model.len() as u64 + 1);
        let count = chance.below(12).min(model.len() as u64 - at);
        match chance.below(16) {
            0..4 => {
                let bytes = some(&mut chance);
                assert_eq!(sequence.insert(InsertAt::At(at), &[ByteSource::Bytes(&bytes)]), Ok(at));
                bytes.iter().rev().for_each(|&byte| model.insert(at as usize, byte));
            }
            4 => {
                let bytes = some(&mut chance);
                sequence.insert(InsertAt::Back, &[ByteSource::Bytes(&bytes)]).unwrap();
                model.extend(bytes);
            }
            5 => {
                let bytes = some(&mut chance);
                sequence.insert(InsertAt::Front, &[ByteSource::Bytes(&bytes)]).unwrap();
                bytes.iter().rev().for_each(|&byte| model.push_front(byte));
            }
            6 => {
                // A part of the sequence itself.
                let pieces = sequence.pieces(at, count).unwrap().map(|(from, bytes)| ByteSource::Global(from, bytes));
                let place = chance.below(model.len() as u64 + 1);
                let bytes: Vec<u8> = model.iter().skip(at as usize).take(count as usize).copied().collect();
                sequence.insert(InsertAt::At(place), &pieces).unwrap();
                bytes.iter().rev().for_each(|&byte| model.insert(place as usize, byte));
            }
            7..11 => {
                sequence.erase(at, count).unwrap();
                drop(model.drain(at as usize..(at + count) as usize));
            }
            11 => {
                let popped = sequence.pop_back(count).unwrap();
                model.truncate(model.len() - popped as usize);
                let popped = sequence.pop_front(count).unwrap();
                drop(model.drain(..popped as usize));
            }
            12 => {
                let bytes: Vec<u8> = chance.bytes(count + 1);
                sequence.overwrite(at, ByteSource::Bytes(&bytes)).unwrap();
                bytes.iter().enumerate().for_each(|(index, &byte)| model[at as usize + index] = byte);
            }
            13 => {
                sequence.swap(&other).unwrap();
                std::mem::swap(&mut model, &mut second);
            }
            14 if round % 5 == 0 => {
                let pieces = sequence.pieces(at, count).unwrap().map(|(from, bytes)| ByteSource::Global(from, bytes));
                match chance.below(3) {
                    0 => {
                        other.assign(&pieces).unwrap();
                        second = model.iter().skip(at as usize).take(count as usize).copied().collect();
                    }
                    1 => {
                        sequence.assign(&pieces).unwrap();
                        model = model.iter().skip(at as usize).take(count as usize).copied().collect();
                    }
                    _ => {
                        sequence.clear().unwrap();
                        model.clear();
                    }
                }
            }
            14 => {
                sequence.reserve(at + 30).unwrap();
                assert!(sequence.capacity().unwrap() >= at + 30);
            }
            _ => {
                assert_eq!(all(&sequence), model.make_contiguous(), "{platform:?} {form:?}");
                std::mem::swap(&mut sequence, &mut other);
                std::mem::swap(&mut model, &mut second);
            }
        }
        if model.len() > 2000 {
            sequence.clear().unwrap();
            model.clear();
        }
    }
    assert_eq!(all(&sequence), model.make_contiguous());
    assert_eq!(all(&other), second.make_contiguous());
    for gone in [sequence, other] {
        gone.destroy().unwrap();
        assert!(matches!(gone.bytes(), Err(Error::Invalid(_))));
    }
    world.barrier().unwrap();
}

#[test]
fn a_vector_does_what_a_vector_does() {
    PLATFORMS.into_iter().for_each(|platform| run(platform, RANKS, |world| generated(world, Form::Vector, platform)));
}

#[test]
fn a_deque_does_what_a_deque_does() {
    PLATFORMS.into_iter().for_each(|platform| run(platform, RANKS, |world| generated(world, Form::Deque, platform)));
}

/// Number of operations that a rank has posted to its transport.
fn posted(passed: &Passed) -> u64 {
    let counters = passed.lock().unwrap();
    [Event::PutPosted, Event::GetPosted, Event::CopyPosted, Event::AtomicPosted].into_iter().map(|event| counters.of(event)).sum()
}

/// An erase or insertion in the middle costs a few operations, not one for each byte, whatever the distance.
#[test]
fn what_moves_moves_as_a_whole() {
    const BYTES: u64 = 100_000;
    run_counted(Platform::Remote, 2, |world, passed| {
        let heap = GlobalHeap::new(world, 1 << 20).unwrap();
        if world.rank() == Rank::new(0) {
            for form in [Form::Vector, Form::Deque] {
                let sequence = Sequence::create(&heap, form, Rank::new(1), 2 * BYTES).unwrap();
                let bytes: Vec<u8> = (0..BYTES).map(|byte| byte as u8).collect();
                sequence.insert(InsertAt::Back, &[ByteSource::Bytes(&bytes)]).unwrap();
                let before = posted(passed);
                sequence.erase(BYTES / 2 - 100, 8).unwrap();
                sequence.insert(InsertAt::At(BYTES / 2 - 100), &[ByteSource::Bytes(&[7; 8])]).unwrap();
                let posted = posted(passed) - before;
                assert!((4..50).contains(&posted), "{posted} operations");
                let mut expected = bytes;
                expected[BYTES as usize / 2 - 100..BYTES as usize / 2 - 92].fill(7);
                assert!(all(&sequence) == expected);
            }
        }
        world.barrier().unwrap();
    });
}

#[test]
fn past_the_end_there_is_nothing() {
    run(Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 1 << 14).unwrap();
        let vector = GlobalVector::<u32>::new(&heap, world.rank().next(2), 2).unwrap();
        vector.extend_from_slice(&[1, 2, 3]).unwrap();
        let invalid = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Invalid(_))), "{result:?}");
        invalid(vector.get(3).map(drop));
        invalid(vector.range(2, 2).map(drop));
        invalid(vector.range(u64::MAX / 4, 1).map(drop));
        invalid(vector.range(u64::MAX, 1).map(drop));
        invalid(vector.set(3, 1));
        invalid(vector.insert(4, &[1]));
        invalid(vector.erase(1, 3));
        invalid(vector.erase(1, u64::MAX / 4));
        invalid(GlobalVector::<u32>::open(&heap, heap.allocate(world.rank(), 40).unwrap()).unwrap().len().map(drop));
        invalid(GlobalDeque::<u32>::open(&heap, vector.address()).unwrap().len().map(drop));
        invalid(List::open(&heap, vector.address()).unwrap().len().map(drop));
        assert!(GlobalVector::<u32>::open(&heap, GlobalAddress::NULL).is_err());
        assert_eq!(vector.to_vec(), Ok(vec![1, 2, 3]));
        // After a failed allocation the content is unchanged.
        assert!(matches!(vector.reserve(1 << 14), Err(Error::NoMemory { .. })));
        assert!(matches!(vector.extend_from_slice(&[9; 4000]), Err(Error::NoMemory { .. })));
        assert_eq!(vector.to_vec(), Ok(vec![1, 2, 3]));
        world.barrier().unwrap();
    });
}

#[test]
fn a_container_on_a_rank_that_the_job_lacks_is_an_error() {
    run(Platform::Remote, 2, |world| {
        let heap = GlobalHeap::new(world, 1 << 14).unwrap();
        let lacking = Rank::new(2);
        let lacks = |result: Result<(), Error>| assert!(matches!(result, Err(Error::Address(_))), "{result:?}");
        lacks(heap.allocate(lacking, 8).map(drop));
        lacks(GlobalVector::<u32>::new(&heap, lacking, 2).map(drop));
        lacks(PlacedMap::create(&heap, &[world.rank(), lacking], 4, world.rank()).map(drop));
        lacks(Guarded::new(&heap, lacking, ()).map(drop));
        let list = GlobalList::<u32>::new(&heap, world.rank()).unwrap();
        lacks(list.push_back(1, lacking).map(drop));
        list.push_back(1, world.rank().next(2)).unwrap();
        world.barrier().unwrap();
    });
}

/// A vector that one rank has created and others change in turn.
#[test]
fn others_open_what_one_has_made() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 16).unwrap();
            let mut address = [0];
            if world.rank() == Rank::new(1) {
                address[0] = GlobalDeque::<u64>::new(&heap, Rank::new(2), 1).unwrap().address().bits();
            }
            world.broadcast(Rank::new(1), &mut address).unwrap();
            let deque = GlobalDeque::<u64>::open(&heap, GlobalAddress::from_bits(address[0])).unwrap();
            for turn in world.ranks() {
                if turn == world.rank() {
                    deque.push_back(u64::from(turn)).unwrap();
                    deque.push_front(100 + u64::from(turn)).unwrap();
                }
                world.barrier().unwrap();
            }
            assert_eq!(deque.to_vec(), Ok(vec![103, 102, 101, 100, 0, 1, 2, 3]));
            world.barrier().unwrap();
            if world.rank() == Rank::new(3) {
                assert_eq!((deque.pop_front(), deque.pop_back()), (Ok(Some(103)), Ok(Some(3))));
                deque.clear().unwrap();
                assert_eq!((deque.pop_front(), deque.pop_back(), deque.is_empty()), (Ok(None), Ok(None), Ok(true)));
                deque.destroy().unwrap();
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_list_does_what_a_list_does() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let mut chance = Chance::of(world, 9);
            let lists = [0, 1].map(|_| GlobalList::<u64>::new(&heap, chance.rank()).unwrap());
            // Each value with its address.
            let mut models: [Vec<(u64, GlobalAddress)>; 2] = Default::default();
            for _ in 0..operations(platform) / 4 {
                let which = chance.below(2) as usize;
                let (list, model) = (&lists[which], &mut models[which]);
                let at = chance.below(model.len() as u64 + 1) as usize;
                let place = model.get(at).map_or(list.end(), |&(_, address)| address);
                match chance.below(if model.len() > 50 { 9 } else { 13 }) {
                    0..3 if at < model.len() => {
                        let after = model.get(at + 1).map_or(list.end(), |&(_, address)| address);
                        assert_eq!(list.erase(place), Ok(after));
                        model.remove(at);
                    }
                    3 => {
                        list.sort_by(|one, other| (one % 10).cmp(&(other % 10))).unwrap();
                        model.sort_by_key(|(value, _)| value % 10);
                    }
                    4 => {
                        // Moves a run of elements to the other list.
                        let count = chance.below(5).min((model.len() - at) as u64) as usize;
                        let end = model.get(at + count).map_or(list.end(), |&(_, address)| address);
                        let moved: Vec<_> = model.drain(at..at + count).collect();
                        let target = chance.below(models[1 - which].len() as u64 + 1) as usize;
                        let before = models[1 - which].get(target).map_or(lists[1 - which].end(), |&(_, address)| address);
                        lists[1 - which].bytes().splice(before, &list.bytes(), place, end).unwrap();
                        models[1 - which].splice(target..target, moved);
                    }
                    5 if chance.below(10) == 0 => {
                        list.bytes().clear().unwrap();
                        model.clear();
                    }
                    6 => {
                        list.bytes().swap(&lists[1 - which].bytes()).unwrap();
                        models.swap(0, 1);
                    }
                    7 => {
                        list.bytes().retain(|before, bytes| before != Some(bytes) && bytes[0] != 3).unwrap();
                        model.retain(|(value, _)| value % 256 != 3);
                        model.dedup_by_key(|(value, _)| *value);
                    }
                    8 => {
                        // Moves one element to another position of the same list.
                        if at < model.len() {
                            let moved = model[at];
                            let end = model.get(at + 1).map_or(list.end(), |&(_, address)| address);
                            let target = chance.below(model.len() as u64 + 1) as usize;
                            let before = model.get(target).map_or(list.end(), |&(_, address)| address);
                            list.bytes().splice(before, &list.bytes(), moved.1, end).unwrap();
                            if target != at && target != at + 1 {
                                model.remove(at);
                                model.insert(target - usize::from(target > at), moved);
                            }
                        }
                    }
                    _ => {
                        let value = chance.below(40);
                        let address = list.insert(place, value, chance.rank()).unwrap();
                        model.insert(at, (value, address));
                    }
                }
                if chance.below(10) == 0 {
                    for (list, model) in lists.iter().zip(&models) {
                        assert_eq!(list.to_vec(), Ok(model.iter().map(|&(value, _)| value).collect::<Vec<_>>()));
                        assert_eq!(list.bytes().len(), Ok(model.len() as u64));
                        let mut back: Vec<_> = model.iter().map(|&(_, address)| address).collect();
                        back.insert(0, list.end());
                        back.windows(2).for_each(|pair| assert_eq!(list.bytes().before(pair[1]), Ok(pair[0])));
                    }
                }
            }
            lists[0].bytes().assign(&lists[1].bytes(), &lists[1].bytes().elements().unwrap()).unwrap();
            assert_eq!(lists[0].to_vec(), lists[1].to_vec());
            let end = lists[0].end();
            assert!(lists[0].erase(end).is_err() && lists[0].get(end).is_err() && lists[0].erase(lists[1].end()).is_err());
            lists.iter().for_each(|list| list.bytes().destroy().unwrap());
            world.barrier().unwrap();
        });
    }
}

/// Bytes that cannot be read, of which a part lies past the end of a rank's memory; before them, bytes that can be read.
fn half_unreadable(heap: &GlobalHeap<'_>, rank: Rank) -> [ByteSource<'static>; 2] {
    let past_the_end = GlobalAddress::from_bits(heap.start_of(rank).bits() | (HEAP_BYTES - 8));
    [ByteSource::Bytes(b"read"), ByteSource::Global(past_the_end, 16)]
}

#[test]
fn a_source_that_cannot_be_read_changes_no_sequence() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 16).unwrap();
            if world.rank() == Rank::new(0) {
                let (owner, content): (_, Vec<u8>) = (Rank::new(1), (0..40).collect());
                for (form, capacity) in [(Form::Vector, 40), (Form::Vector, 200), (Form::Deque, 40), (Form::Deque, 200)] {
                    let sequence = Sequence::create(&heap, form, owner, capacity).unwrap();
                    sequence.insert(InsertAt::Back, &[ByteSource::Bytes(&content)]).unwrap();
                    let sources = half_unreadable(&heap, Rank::new(2));
                    for at in [0, 3, 37, 40] {
                        for sources in [&sources[..], &sources[1..]] {
                            assert!(sequence.insert(InsertAt::At(at), sources).is_err());
                            assert_eq!(all(&sequence), content, "{platform:?} {form:?} of {capacity} bytes, at {at}");
                            assert_eq!(world.quiet(), Ok(()), "the failure is told once");
                        }
                    }
                    // What was reserved in vain is free again.
                    for _ in 0..2_000 {
                        assert!(matches!(sequence.insert(InsertAt::At(3), &sources), Err(error) if !is_full(&error)));
                    }
                    sequence.destroy().unwrap();
                }
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn an_element_whose_bytes_cannot_be_read_is_in_no_list() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            let heap = GlobalHeap::new(world, 1 << 16).unwrap();
            if world.rank() == Rank::new(0) {
                let list = List::create(&heap, Rank::new(1)).unwrap();
                let element = list.insert(list.address(), ByteSource::Bytes(b"one"), Rank::new(2)).unwrap();
                for _ in 0..2_000 {
                    let failed = list.insert(element, half_unreadable(&heap, Rank::new(2))[1], Rank::new(3));
                    assert!(matches!(failed, Err(error) if !is_full(&error)));
                }
                assert_eq!((list.len(), list.elements()), (Ok(1), Ok(vec![element])), "{platform:?}");
                assert_eq!(world.quiet(), Ok(()), "the failure is told once");
            }
            world.barrier().unwrap();
        });
    }
}

fn is_full(error: &Error) -> bool {
    matches!(error, Error::NoMemory { .. })
}

#[test]
fn elements_are_not_moved_before_one_of_themselves() {
    run(Platform::Mapped, 1, |world| {
        let heap = GlobalHeap::new(world, 1 << 16).unwrap();
        let list = GlobalList::<u64>::new(&heap, world.rank()).unwrap();
        let at: Vec<_> = (0..4).map(|value| list.push_back(value, world.rank()).unwrap()).collect();
        let bytes = list.bytes();
        assert!(matches!(bytes.splice(at[1], &bytes, at[0], at[3]), Err(Error::Invalid(_))));
        bytes.splice(at[0], &bytes, at[0], at[3]).unwrap();
        bytes.splice(at[3], &bytes, at[0], at[3]).unwrap();
        assert_eq!(list.to_vec(), Ok(vec![0, 1, 2, 3]));
    });
}

#[test]
fn bytes_are_spread_over_ranks() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            const BYTES: usize = 1000;
            let heap = GlobalHeap::new(world, 1 << 16).unwrap();
            let mut chance = Chance::of(world, 4);
            let whole = GlobalBytes::create(&heap, chance.rank(), 1 + chance.below(300), BYTES as u64).unwrap();
            let mut model = vec![0u8; BYTES];
            whole.write(0, ByteSource::Bytes(&model)).unwrap();
            let aside = heap.allocate(chance.rank(), BYTES as u64).unwrap();
            for _ in 0..operations(platform) / 10 {
                let offset = chance.below(BYTES as u64 + 1);
                let bytes = chance.bytes(BYTES as u64 - offset + 1);
                let (start, end) = (offset as usize, offset as usize + bytes.len());
                match chance.below(3) {
                    0 => {
                        whole.write(offset, ByteSource::Bytes(&bytes)).unwrap();
                        model[start..end].copy_from_slice(&bytes);
                    }
                    1 => {
                        whole.copy_to(offset, aside, bytes.len() as u64).unwrap();
                        let mut found = vec![0; bytes.len()];
                        if !bytes.is_empty() {
                            world.get_into(GlobalPtr::from_address(aside).unwrap(), &mut found).unwrap();
                        }
                        assert_eq!(found, model[start..end]);
                    }
                    _ => {
                        let mut found = vec![0; bytes.len()];
                        whole.read(offset, &mut found).unwrap();
                        assert_eq!(found, model[start..end]);
                    }
                }
            }
            assert!(whole.read(1, &mut [0; BYTES]).is_err() && whole.write(u64::MAX, ByteSource::Bytes(&[1])).is_err());
            assert!(GlobalBytes::create(&heap, world.rank(), 0, 5).is_err());
            assert!(GlobalBytes::open(&heap, whole.parts().to_vec(), 1, BYTES as u64).is_err());
            whole.destroy().unwrap();
            world.barrier().unwrap();
        });
    }
}

/// Concurrent changes by all ranks, one at a time, each take effect once.
#[test]
fn guarded_containers_keep_the_changes_of_all_ranks() {
    for platform in PLATFORMS {
        run(platform, RANKS, |world| {
            const VALUES: u64 = 40;
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let (root, me) = (Rank::new(0), u64::from(world.rank()));
            let mut addresses = [0; 4];
            if world.rank() == root {
                let vector = GlobalVector::<u64>::new(&heap, Rank::new(1), 1).unwrap();
                let deque = GlobalDeque::<u64>::new(&heap, Rank::new(2), 1).unwrap();
                let list = GlobalList::<u64>::new(&heap, Rank::new(3)).unwrap();
                let guarded = Guarded::new(&heap, Rank::new(2), ()).unwrap();
                addresses = [vector.address(), deque.address(), list.end(), guarded.address()].map(GlobalAddress::bits);
            }
            world.broadcast(root, &mut addresses).unwrap();
            let [vector, deque, list, guard] = addresses.map(GlobalAddress::from_bits);
            let all = (
                GlobalVector::<u64>::open(&heap, vector).unwrap(),
                GlobalDeque::<u64>::open(&heap, deque).unwrap(),
                GlobalList::<u64>::open(&heap, list).unwrap(),
            );
            let all = Guarded::open(&heap, guard, all).unwrap();
            for value in (0..VALUES).map(|number| number * u64::from(RANKS) + me) {
                all.change(|(vector, deque, list)| {
                    vector.push_back(value)?;
                    // The deque keeps the last two.
                    deque.push_back(value)?;
                    if deque.len()? > 2 {
                        deque.pop_front()?;
                    }
                    list.push_back(value, world.rank()).map(drop)
                })
                .unwrap();
            }
            let nested = all.change(|_| all.change(|_| Ok(())));
            assert_eq!(nested, Err(Error::Invalid("this rank is changing the container already")));
            world.barrier().unwrap();
            let (values, last, listed) = all
                .change(|(vector, deque, list)| Ok((vector.range(0, vector.len()?)?, deque.range(0, 2)?, list.bytes().len()?)))
                .unwrap();
            let (mut sorted, count) = (values.clone(), VALUES * u64::from(RANKS));
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..count), "on {platform:?}");
            assert_eq!((last, listed), (values[count as usize - 2..].to_vec(), count));
            world.barrier().unwrap();
            if world.rank() == root {
                let (vector, deque, list) = all.destroy().unwrap();
                vector.destroy().unwrap();
                deque.destroy().unwrap();
                list.bytes().destroy().unwrap();
            }
            world.barrier().unwrap();
        });
    }
}

/// The result of a change that took place is not replaced by an earlier failure of the program: what it took out would be lost.
#[test]
fn an_earlier_failure_replaces_no_result() {
    for platform in PLATFORMS {
        run(platform, 2, |world| {
            let heap = GlobalHeap::new(world, 1 << 20).unwrap();
            let jobs = GlobalDeque::<u64>::new(&heap, Rank::new(1), 1).unwrap();
            let jobs = Guarded::new(&heap, Rank::new(1), jobs).unwrap();
            jobs.change(|jobs| jobs.push_back(7)).unwrap();
            assert_eq!(after_a_failure(world, || jobs.change(|jobs| jobs.pop_front())), Ok(Some(7)), "{platform:?}");
            world.barrier().unwrap();
        });
    }
}
