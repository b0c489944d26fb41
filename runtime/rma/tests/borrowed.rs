//! Memory that something else owns: registered where it lies, and slices of one's own segments.
#![allow(unsafe_code)]

mod support;

use pelago_base::GlobalAddress;
use pelago_rma::GlobalPtr;
use support::{on_every_platform, run};

#[test]
fn memory_on_a_stack_is_reached_where_it_lies() {
    run(support::Platform::Remote, 2, |world| {
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
