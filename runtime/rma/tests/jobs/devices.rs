//! Memory of devices: every operation of every rank accesses it by its global addresses, and a device that fails is reported as such.

use std::sync::Arc;

use pelago_base::{Rank, Shape};
use pelago_kit::MockDevice;
use pelago_platform::Failure;
use pelago_rma::{Error, GlobalPtr, MemoryKind, World};

use super::regions::pointer;
use pelago_test_support::threads::on_every_platform;

const WORDS: usize = 20_000;

/// A device of each rank, in two groups that copy within the group, and the start address of the memory of each.
fn devices(world: &World) -> (Arc<MockDevice>, impl Fn(Rank) -> GlobalPtr<u64>) {
    let device = MockDevice::new(world.rank().number() % 2, WORDS * 8);
    let registered = world.register_device::<u64>(device.clone()).unwrap();
    assert_eq!((registered.len(), registered.is_empty()), (WORDS, false));
    assert_eq!(registered.kind(), MemoryKind::Device { driver: "mock", ordinal: world.rank().number() % 2 });
    let starts = world.alloc::<u64>(1).unwrap();
    starts.local().store(0, registered.ptr(0).address().bits());
    world.barrier().unwrap();
    let starts: Vec<_> = (0..world.size()).map(|rank| pointer(world.get(starts.at(Rank::new(rank), 0)).unwrap())).collect();
    // It stays registered until the job ends.
    std::mem::forget(registered);
    (device, move |rank: Rank| starts[rank.index()])
}

fn words(device: &MockDevice) -> Vec<u64> {
    device.contents().chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn every_operation_reaches_memory_of_devices() {
    on_every_platform(&[1, 3], |world, _| {
        let (device, start) = devices(world);
        let (me, size) = (u64::from(world.rank()), world.size());
        let next = Rank::new((world.rank().number() + 1) % size);
        let before = Rank::new((world.rank().number() + size - 1) % size);
        let pattern = |rank: Rank| (0..WORDS as u64).map(|index| index << 8 | u64::from(rank)).collect::<Vec<_>>();

        // From the host to another rank's device, and back.
        world.put(start(next), &pattern(world.rank())).unwrap().wait().unwrap();
        let mut back = vec![0; WORDS];
        world.get_into(start(next), &mut back).unwrap();
        assert!(back == pattern(world.rank()));
        world.barrier().unwrap();
        assert!(words(&device) == pattern(before), "what the rank before has written");
        world.barrier().unwrap();

        // From heap to device, from device to device, from device to heap.
        let own = world.alloc_individual::<u64>(WORDS).unwrap();
        own.local().write(0, &vec![me + 1; WORDS]);
        world.copy(own.ptr(0), start(next), WORDS / 2).unwrap().wait().unwrap();
        world.copy(start(next), start(next).add(WORDS as u64 / 2), WORDS / 2).unwrap().wait().unwrap();
        world.barrier().unwrap();
        assert!(words(&device) == vec![u64::from(before) + 1; WORDS]);
        world.barrier().unwrap();
        world.put(start(world.rank()), &[me]).unwrap().wait().unwrap();
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            for rank in (1..size).map(Rank::new) {
                world.copy(start(Rank::new(0)), start(rank), 1).unwrap().wait().unwrap();
            }
        }
        world.barrier().unwrap();
        assert_eq!(words(&device)[..2], [0, u64::from(before) + 1]);
        world.copy(start(next), own.ptr(0), WORDS).unwrap().wait().unwrap();
        let mut copied = vec![0; WORDS];
        own.local().read(0, &mut copied);
        assert!(copied[0] == 0 && copied[1..] == vec![me + 1; WORDS - 1]);

        // In blocks, and by atomics of all ranks at once.
        world.barrier().unwrap();
        let blocks = Shape::strided(3, 2, 4);
        world.put_strided(start(next), blocks, &[1, 2, 3, 4, 5, 6], Shape::strided(3, 2, 2)).unwrap().wait().unwrap();
        world.barrier().unwrap();
        let kept = u64::from(before) + 1;
        assert_eq!(words(&device)[..10], [1, 2, kept, kept, 3, 4, kept, kept, 5, 6]);
        world.barrier().unwrap();
        for rank in (0..size).map(Rank::new) {
            for _ in 0..10 {
                world.fetch_add(start(rank), 5).unwrap().wait().unwrap();
            }
        }
        world.barrier().unwrap();
        assert_eq!(words(&device)[0], 1 + 50 * u64::from(size));
        world.barrier().unwrap();
    });
}

#[test]
fn a_device_that_fails_is_reported_by_what_needed_it() {
    on_every_platform(&[2], |world, _| {
        let (device, start) = devices(world);
        let other = Rank::new(1 - world.rank().number());
        device.fail(true);
        world.barrier().unwrap();
        let failed = Err(Error::Failed(Failure::Device(start(other).address())));
        let own = world.alloc_individual::<u64>(WORDS).unwrap();
        assert_eq!(world.put(start(other), &[1; WORDS]).and_then(|handle| handle.wait()), failed);
        assert_eq!(world.get(start(other)).map(drop), failed);
        assert_eq!(world.fetch_add(start(other), 1).and_then(|handle| handle.wait()).map(drop), failed);
        assert_eq!(world.copy(own.ptr(0), start(other), WORDS).and_then(|handle| handle.wait()), failed);
        assert_eq!(world.copy(start(other), own.ptr(0), WORDS).and_then(|handle| handle.wait()), failed);
        world.put(start(other), &[1]).unwrap();
        assert_eq!(world.quiet(), failed, "whoever waits for everything hears of it");
        world.barrier().unwrap();
        device.fail(false);
        world.barrier().unwrap();
        world.put(start(other), &[7]).unwrap().wait().unwrap();
        assert_eq!(world.get(start(other)), Ok(7));
        world.barrier().unwrap();
    });
}

#[test]
fn memory_of_a_device_is_given_back() {
    on_every_platform(&[1], |world, _| {
        let device = MockDevice::new(0, 20);
        let registered = world.register_device::<u64>(device.clone()).unwrap();
        assert_eq!(registered.len(), 2, "whole values");
        let second = registered.ptr(1);
        world.put(second, &[5]).unwrap().wait().unwrap();
        let returned = registered.unregister().unwrap();
        assert_eq!(returned.bytes(), 20);
        let gone = Err(Error::Failed(Failure::OutOfBounds(second.address())));
        assert_eq!(world.put(second, &[6]).and_then(|handle| handle.wait()), gone);
        drop(returned);
        assert_eq!((words(&device)[1], Arc::strong_count(&device)), (5, 1));
        assert!(world.register_device::<u64>(MockDevice::new(0, 7)).unwrap().is_empty());
        drop(world.register_device::<u8>(device.clone()).unwrap());
        assert_eq!(Arc::strong_count(&device), 1, "nor is what was dropped kept");
    });
}
