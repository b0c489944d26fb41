//! Memory of devices: once registered, it is reached as any other memory, and a failing device makes no other operations fail.

use std::sync::Arc;

use pelago_base::{AtomicOperator, Rank, Width};
use pelago_memory::{DeviceRange, Region};
use pelago_platform::{Failure, Operation};

use super::Fixture;
use super::register::deregister;
use super::world::{World, contents, local};
use crate::MockDevice;

/// Number of bytes that exceeds one datagram, and one piece of a transfer through the host.
const BYTES: u64 = 150_000;

/// Every operation, posted by the owner and by others, between memory of devices and of processes, against a model.
pub fn device_memory_is_reached_as_any_other<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (heap, segment) = (world.segments()[0], world.spare_segment());
    let bytes = BYTES.min(world.segment_bytes(heap)).min(world.layout().segment_bytes()) / 16 * 16;
    let half = bytes / 2;
    for (ordinals, owners) in [([0, 0], [0, 1]), ([0, 1], [0, 1]), ([0, 0], [1, 1])] {
        let devices = ordinals.map(|ordinal| MockDevice::new(ordinal, half as usize));
        let owners = owners.map(Rank::new);
        let starts = [world.address(owners[0], segment, 0), world.address(owners[1], segment, half)];
        for ((device, owner), start) in devices.iter().zip(owners).zip(starts) {
            let range = Region::Device(DeviceRange::whole(device.clone()));
            world.transport(owner).memory().register(start, range).expect("nobody uses the addresses");
        }
        let [one, other] = starts;
        for poster in world.ranks() {
            let pattern: Vec<u8> = (0..half).map(|index| (index * 7 + u64::from(poster)) as u8).collect();
            let fetched = local(&vec![0; half as usize]);
            let [at, next] = [0, 8].map(|offset| world.address(poster, heap, offset));
            let mut model = pattern.clone();
            // Host to device, device to device, inside a device, device to host.
            assert_eq!(world.run(poster, Operation::Put { from: local(&pattern), to: one }), Ok(0));
            assert_eq!(world.run(poster, Operation::Copy { from: one, to: other, bytes: half }), Ok(0));
            assert!(devices[1].contents() == model);
            let (further, quarter) = (world.address(owners[1], segment, half + 8), half / 2 - 8);
            assert_eq!(world.run(poster, Operation::Copy { from: other, to: further, bytes: 8 }), Ok(0));
            model.copy_within(..8, 8);
            let middle = world.address(owners[1], segment, half + 8 + quarter);
            assert_eq!(world.run(poster, Operation::Copy { from: further, to: middle, bytes: quarter }), Ok(0));
            model.copy_within(8..8 + quarter as usize, 8 + quarter as usize);
            assert_eq!(world.run(poster, Operation::Get { from: other, to: fetched }), Ok(0));
            assert!(contents(fetched) == model);
            assert_eq!(world.run(poster, Operation::Write { to: other, bytes: b"captured" }), Ok(0));
            assert_eq!(world.run(poster, Operation::Copy { from: other, to: at, bytes: half }), Ok(0));
            model[..8].copy_from_slice(b"captured");
            assert!(world.bytes(poster, heap, 0, half) == model);
            let add = Operation::Atomic { at: other, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
            let word = u64::from_le_bytes(*b"captured");
            assert_eq!(world.run(poster, add), Ok(word));
            assert_eq!(world.run(poster, Operation::Copy { from: next, to: other, bytes: 8 }), Ok(0));
            let swap = Operation::Atomic { at: further, width: Width::Four, operator: AtomicOperator::Swap, operand: 5 };
            assert_eq!(world.run(poster, swap), Ok(u64::from(u32::from_le_bytes(model[8..12].try_into().expect("four")))));
            model.copy_within(8..16, 0);
            model[8..12].copy_from_slice(&5u32.to_le_bytes());
            assert!((devices[0].contents(), devices[1].contents()) == (pattern, model));
        }
        for (owner, start) in owners.into_iter().zip(starts) {
            deregister(&mut world, owner, start);
        }
        let kept = devices.iter().map(Arc::strong_count).collect::<Vec<_>>();
        assert_eq!(kept, [1, 1], "what is deregistered is kept by nobody");
    }
}

/// Accesses past the end of device memory and misaligned atomics fail as on any other memory.
pub fn device_memory_is_checked<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (there, segment) = (Rank::new(1), world.spare_segment());
    let device = MockDevice::new(0, 64);
    let [start, odd, last] = [0, 4, 60].map(|offset| world.address(there, segment, offset));
    let range = Region::Device(DeviceRange::whole(device.clone()));
    world.transport(there).memory().register(start, range).expect("nobody uses the addresses");
    for poster in world.ranks() {
        let write = Operation::Write { to: last, bytes: b"outside" };
        assert_eq!(world.run(poster, write), Err(Failure::OutOfBounds(last)));
        let add = |at| Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        assert_eq!(world.run(poster, add(last)), Err(Failure::OutOfBounds(last)));
        assert_eq!(world.run(poster, add(odd)), Err(Failure::Misaligned(odd)));
    }
    assert_eq!(device.contents(), [0; 64]);
    deregister(&mut world, there, start);
    assert_eq!(world.run(Rank::new(0), Operation::Write { to: start, bytes: b"gone" }), Err(Failure::OutOfBounds(start)));
}

/// While a device fails, operations that need it fail, for every poster; others continue, and all succeed when it works again.
pub fn a_failing_device_fails_what_needs_it<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (there, heap, segment) = (Rank::new(1), world.segments()[0], world.spare_segment());
    let room = BYTES.min(world.segment_bytes(heap)).min(world.layout().segment_bytes());
    let bytes = room.min(world.capabilities(there).message_bytes_max) / 16 * 16;
    let device = MockDevice::new(0, bytes as usize);
    let start = world.address(there, segment, 0);
    let range = Region::Device(DeviceRange::whole(device.clone()));
    world.transport(there).memory().register(start, range).expect("nobody uses the addresses");
    for poster in world.ranks() {
        let at = world.address(poster, heap, 0);
        let [short, long] = [8, bytes as usize].map(|bytes| local(&vec![7; bytes]));
        let operations = [
            Operation::Write { to: start, bytes: b"x" },
            Operation::Put { from: short, to: start },
            Operation::Put { from: long, to: start },
            Operation::Get { from: start, to: short },
            Operation::Get { from: start, to: long },
            Operation::Copy { from: start, to: at, bytes },
            Operation::Copy { from: at, to: start, bytes },
            Operation::Atomic { at: start, width: Width::Eight, operator: AtomicOperator::Load, operand: 0 },
        ];
        for operation in operations {
            device.fail(true);
            assert_eq!(world.run(poster, operation), Err(Failure::Device(start)), "{operation:?} by rank {poster}");
            assert_eq!(world.run(poster, Operation::Write { to: at, bytes: b"goes on" }), Ok(0));
            device.fail(false);
            assert!(world.run(poster, operation).is_ok(), "{operation:?} by rank {poster}: the device works again");
        }
    }
}
