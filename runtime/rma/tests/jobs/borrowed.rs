//! Memory with another owner: registered in place, and slices of a rank's own segments.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use pelago_base::{AtomicOperator, GlobalAddress};
use pelago_rma::{Error, GlobalPtr};

use crate::alone::scripted::{RANKS, lone, word};
use pelago_test_support::threads::{Platform, on_every_platform, run};

#[test]
fn memory_on_a_stack_is_reached_where_it_lies() {
    run(Platform::Remote, 2, |world| {
        let letter = world.alloc::<u64>(1).unwrap();
        let peer = world.rank().next(2);
        let mut memory = [5u64, 6, 7];
        let start = memory.as_mut_ptr();
        // SAFETY: the array lives to the end of this closure and is not touched while it is registered.
        let mine = unsafe { world.register_raw(start, 3) }.unwrap();
        world.put(letter.at(peer, 0), &[mine.ptr(0).address().bits()]).unwrap();
        world.barrier().unwrap();
        let told = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(letter.local().load(0))).unwrap();
        assert_eq!(world.get(told.add(2)), Ok(7));
        world.put(told, &[1, 2]).unwrap().wait().unwrap();
        world.barrier().unwrap();
        assert_eq!(mine.unregister(), Ok(None));
        assert_eq!(memory, [1, 2, 7]);
    });
}

#[test]
fn slices_of_a_segment_are_its_memory_between_barriers() {
    on_every_platform(&[2], |world, _| {
        let memory = world.alloc::<u32>(4).unwrap();
        // SAFETY: no rank touches the others' memory before the barrier.
        unsafe { memory.local().as_mut_slice() }.copy_from_slice(&[1, 2, 3, world.rank().number()]);
        world.barrier().unwrap();
        let peer = world.rank().next(2);
        assert_eq!(world.get(memory.at(peer, 3)), Ok(peer.number()));
        world.barrier().unwrap();
        // SAFETY: every rank has read what it wanted, and nobody writes any more.
        assert_eq!(unsafe { memory.local().as_slice() }, [1, 2, 3, world.rank().number()]);
    });
}

/// Data that an operation stores in the program's memory is there before an operation ordered after it reads it, whatever the transport does, and
/// although both go to the same rank.
#[test]
fn what_was_fetched_may_be_sent_on() {
    on_every_platform(&[2, 3], |world, platform| {
        let words = world.alloc::<u64>(4).unwrap();
        let peer = world.rank().next(world.size());
        words.local().store(0, 100 + u64::from(world.rank()));
        world.barrier().unwrap();
        let mut memory = [0u64; 2];
        let found = NonNull::from(&mut memory[0]);
        let copied = NonNull::from(&mut memory[1]);
        let address = |index| words.at(peer, index).address();
        for round in 0..50 {
            // SAFETY: the array outlives the operations, all of which are waited for, and is not touched meanwhile.
            let last = unsafe {
                let fetched = world.fetch_raw(words.at(peer, 0), AtomicOperator::Add, 1u64, found).unwrap();
                let sent = world.after(&fetched).put_raw(address(1), found.cast(), 8).unwrap();
                let back = world.after(&sent).get_raw(address(1), copied.cast(), 8).unwrap();
                world.after(&back).put_raw(address(2), copied.cast(), 8).unwrap()
            };
            last.wait().unwrap();
            let expected = 100 + u64::from(peer) + round;
            assert_eq!(
                [world.get(words.at(peer, 1)).unwrap(), world.get(words.at(peer, 2)).unwrap()],
                [expected; 2],
                "{platform:?}"
            );
        }
        world.barrier().unwrap();
        // SAFETY: as above; nothing comes of an operation that is refused.
        let refused =
            unsafe { world.fetch_raw(words.at(peer, 0), AtomicOperator::Add, 1, found.cast::<u8>().add(4).cast::<u64>()) };
        assert!(matches!(refused, Err(Error::Invalid(_))));
    });
}

/// Through the context, and through ordered operations.
#[test]
fn memory_of_the_program_is_sent_and_filled_where_it_lies() {
    on_every_platform(&[2], |world, platform| {
        let words = world.alloc::<u32>(8).unwrap();
        let peer = world.rank().next(2);
        for ordered in [false, true] {
            let mine = u32::from(world.rank()) + 10 * u32::from(ordered);
            let theirs = u32::from(peer) + 10 * u32::from(ordered);
            let (mut sent, mut got, mut found) = ([mine, mine + 1, mine + 2], [0_u32; 3], 0_u32);
            let to = words.at(peer, 4);
            let [from, into] = [&mut sent, &mut got].map(|values| NonNull::from(values).cast());
            // SAFETY: the arrays outlive the operations, all of which are waited for, and are not touched meanwhile.
            let put = unsafe {
                if ordered { world.after_all().put_raw(to.address(), from, 12) } else { world.put_raw(to.address(), from, 12) }
            };
            put.unwrap().wait().unwrap();
            world.barrier().unwrap();
            assert_eq!(words.local().range(3..8).to_vec(), [0, theirs, theirs + 1, theirs + 2, 0], "{platform:?}");
            world.barrier().unwrap();
            // SAFETY: as above.
            let get = unsafe {
                if ordered { world.after_all().get_raw(to.address(), into, 12) } else { world.get_raw(to.address(), into, 12) }
            };
            get.unwrap().wait().unwrap();
            assert_eq!(got, [mine, mine + 1, mine + 2], "{platform:?}");
            let word = NonNull::from(&mut found);
            // SAFETY: as above.
            let fetched = unsafe {
                match ordered {
                    true => world.after_all().fetch_raw(to, AtomicOperator::Add, 100, word),
                    false => world.fetch_raw(to, AtomicOperator::Add, 100, word),
                }
            };
            fetched.unwrap().wait().unwrap();
            assert_eq!((found, world.get(to)), (mine, Ok(mine + 100)), "{platform:?}");
            world.barrier().unwrap();
        }
    });
}

/// Mapped memory is accessed immediately, unless the operation has predecessors; then not before they have ended.
#[test]
fn memory_of_the_program_is_reached_in_order() {
    let (world, script) = lone(RANKS);
    let (mut sent, mut got, mut found) = (7_u64, 0_u64, 0_u64);
    let (from, into, word_found) = (NonNull::from(&mut sent).cast(), NonNull::from(&mut got).cast(), NonNull::from(&mut found));
    let at = word(0);
    // SAFETY: the words outlive the operations, all of which end here, and are not touched meanwhile.
    let done = unsafe {
        [
            world.put_raw(at.address(), from, 8).unwrap(),
            world.get_raw(at.address(), into, 8).unwrap(),
            world.fetch_raw(at, AtomicOperator::Add, 1, word_found).unwrap(),
        ]
    };
    assert!(done.iter().all(|handle| handle.was_done_at_once()));
    assert_eq!((got, found, world.get(at)), (7, 7, Ok(8)));
    for kind in 0..3 {
        world.put(at, &[5]).unwrap();
        (got, found) = (0, 0);
        let (into, word_found) = (NonNull::from(&mut got).cast(), NonNull::from(&mut found));
        let first = world.put(word(1), &[1]).unwrap();
        let after = world.after(&first);
        // SAFETY: as above.
        let second = unsafe {
            match kind {
                0 => after.put_raw(at.address(), from, 8).unwrap(),
                1 => after.get_raw(at.address(), into, 8).unwrap(),
                _ => after.fetch_raw(at, AtomicOperator::Add, 1, word_found).unwrap(),
            }
        };
        assert_eq!((second.has_ended(), world.get(at)), (Ok(false), Ok(5)), "{kind}");
        script.lock().unwrap().complete(kind, Ok(0));
        assert_eq!(second.wait(), Ok(()));
        assert_eq!((got, found, world.get(at).unwrap()), [(0, 0, 7), (5, 0, 5), (0, 5, 6)][kind]);
    }
}
