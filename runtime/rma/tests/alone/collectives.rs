//! The memory locations that collective operations use.

use std::sync::{Arc, Mutex};

use pelago_base::{AddressLayout, GlobalAddress, Rank, SegmentId};
use pelago_memory::Pod;
use pelago_rma::limits::OPERATIONS_IN_FLIGHT_MAX;
use pelago_rma::{GlobalPtr, ReductionOperator, World};

use super::scripted::{HEAP_BYTES, RANKS, Script, lone, lone_with, word};

/// Size of the words of barriers, which lie at the beginning of the heap; size of a word with the values beside it.
const WORDS_BYTES: u64 = 4096;
const LINE_BYTES: usize = 64;

fn layout() -> AddressLayout {
    AddressLayout::new(2, HEAP_BYTES).unwrap()
}

/// Rank 0 of two, which never waits in its first collective: all words that the other rank would put to it are set.
fn job(flag: u64) -> (World, Arc<Mutex<Script>>) {
    let (world, script) = lone(2);
    let words = layout().encode(Rank::new(0), SegmentId::SYMMETRIC, 0).unwrap();
    world.put(GlobalPtr::from_address(words).unwrap(), &[flag; WORDS_BYTES as usize / 8]).unwrap();
    (world, script)
}

/// Returns the addresses of the two puts that send the result of a reduction to the other rank: the values, and the word that announces them.
fn told<T: Pod + Default>(values: usize) -> [u64; 2] {
    // The first step, of as many bytes.
    let (world, script) = job(1 << 16 | (values * size_of::<T>()) as u64);
    world.allreduce(&mut vec![T::default(); values], |one, _| one).unwrap();
    let posted: Vec<GlobalAddress> = script.lock().unwrap().posted().collect();
    (0..posted.len()).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    let [data, word] = posted[..] else { panic!("{posted:?}") };
    [data, word].map(|at| layout().offset(at))
}

/// Few values share the cache line of their word, suitably aligned, so that only one page is accessed.
#[test]
fn few_values_lie_beside_their_word() {
    let fits = |values: usize, value_bytes: usize| 8.max(value_bytes) + values * value_bytes <= LINE_BYTES;
    for values in 1..=20 {
        for (bytes, [data, word]) in [(1, told::<u8>(values)), (8, told::<u64>(values)), (16, told::<u128>(values))] {
            assert!(word < WORDS_BYTES && word.is_multiple_of(LINE_BYTES as u64), "a word at {word}");
            let beside = if fits(values, bytes) { data == word + 8.max(bytes as u64) } else { data >= WORDS_BYTES };
            assert!(beside, "{values} values of {bytes} bytes at {data}, whose word is at {word}");
        }
    }
}

/// A context has as many operations in flight as it may have; its contribution waits for the end of one, as other operations do.
#[test]
fn a_contribution_to_the_network_waits_for_room() {
    let (world, script) = lone_with(RANKS, Script::of_combining(), u64::MAX);
    assert_eq!(world.network_words(), Some(8));
    let puts: Vec<_> = (0..OPERATIONS_IN_FLIGHT_MAX).map(|_| world.put(word(1), &[1]).unwrap()).collect();
    script.lock().unwrap().wakes = Some(Box::new(|script| {
        script.complete(0, Ok(0));
        script.wakes = Some(Box::new(|script| script.complete(OPERATIONS_IN_FLIGHT_MAX, Ok(0))));
    }));
    let mut words = [7, 8];
    world.allreduce_words(ReductionOperator::Sum, &mut words).unwrap();
    assert_eq!(words, [7, 8]);
    (1..OPERATIONS_IN_FLIGHT_MAX).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    assert_eq!(world.wait_all(&puts), Ok(()));
}
