//! Operations on values in memory of devices: on every platform the results are those of a model that combines in the order of the ring; values may
//! change as soon as a call returns.

use std::path::Path;
use std::sync::Arc;

use pelago_base::{Rank, Team};
use pelago_collectives::{Collectives, DeviceRing, Settings};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{Device, Driver};
use pelago_kit::MockDevice;
use pelago_rma::{Accumulation, DeviceMemory, Error, Number, World};
use pelago_test_support::threads::{HEAP_BYTES, PLATFORMS, Platform, run};

const ROUNDS: u64 = 3;
const ALL: [Accumulation; 3] = [Accumulation::Sum, Accumulation::Min, Accumulation::Max];

fn settings() -> Settings {
    Settings { memory_bytes: 1 << 20, ..Settings::default() }
}

/// A value of a member; sums of such values are rounded.
fn value(member: usize, index: usize, round: u64) -> f64 {
    let mixed = ((member as u64 + 1) * 0x9E37_79B9 + index as u64 * 0x85EB_CA6B + round * 0xC2B2_AE35) % 100_003;
    mixed as f64 / 7.0 - 7000.0
}

fn set(memory: &dyn DeviceMemory, member: usize, count: usize, round: u64) {
    let bytes: Vec<u8> = (0..count).flat_map(|index| value(member, index, round).to_le_bytes()).collect();
    memory.write(0, &bytes).unwrap();
}

fn get(memory: &dyn DeviceMemory, count: usize) -> Vec<f64> {
    let mut bytes = vec![0; count * 8];
    memory.read(0, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|&number| f64::from_le_bytes(number)).collect()
}

fn chunk_of(index: usize, count: usize, size: usize) -> usize {
    (0..size).find(|chunk| index < count * (chunk + 1) / size).unwrap()
}

/// Combines as the ring does: from the member after the chunk's number on.
fn combined(index: usize, count: usize, size: usize, round: u64, accumulation: Accumulation) -> f64 {
    let first = chunk_of(index, count, size) + 1;
    let mut result = value(first % size, index, round);
    for member in (1..size).map(|further| (first + further) % size) {
        let own = value(member, index, round);
        result = match accumulation {
            Accumulation::Sum => own + result,
            Accumulation::Min => own.min(result),
            Accumulation::Max => own.max(result),
        };
    }
    result
}

/// All operations, one after the other, without a barrier.
fn examine(ring: &DeviceRing<'_, '_, f64>, memory: &dyn DeviceMemory, me: usize, size: usize) {
    let count = ring.len();
    for round in 0..ROUNDS {
        for accumulation in ALL {
            set(memory, me, count, round);
            ring.allreduce(accumulation).unwrap();
            let expected: Vec<_> = (0..count).map(|index| combined(index, count, size, round, accumulation)).collect();
            let got = get(memory, count);
            assert!(
                got == expected,
                "{accumulation:?} of {count} values, member {me} of {size} {got:?} {expected:?} round {round}"
            );
        }
        set(memory, me, count, round);
        ring.reduce_scatter(Accumulation::Sum).unwrap();
        let own = count * me / size..count * (me + 1) / size;
        let expected: Vec<_> = own.clone().map(|index| combined(index, count, size, round, Accumulation::Sum)).collect();
        assert!(get(memory, count)[own] == expected, "a part of {count} values, member {me} of {size}");
        set(memory, me, count, round);
        ring.allgather().unwrap();
        let expected: Vec<_> = (0..count).map(|index| value(chunk_of(index, count, size), index, round)).collect();
        assert!(get(memory, count) == expected, "gathered {count} values, member {me} of {size}");
        let root = (round as usize * 3 + 1) % size;
        set(memory, me, count, round);
        ring.broadcast(root as u32).unwrap();
        let expected: Vec<_> = (0..count).map(|index| value(root, index, round)).collect();
        assert!(get(memory, count) == expected, "{count} values of {root}, member {me} of {size}");
    }
}

fn examine_all(world: &World, counts: &[usize], allocate: impl Fn(u64) -> Arc<dyn DeviceMemory>) {
    let collectives = Collectives::new(world, &settings()).unwrap();
    let (me, size) = (world.rank().number() as usize, world.size() as usize);
    for &count in counts {
        let bytes = count as u64 * 8;
        let (memory, scratch) = (allocate(bytes), allocate(bytes.div_ceil(size as u64).next_multiple_of(8)));
        let ring = collectives.on_device::<f64>(memory.clone(), scratch).unwrap();
        examine(&ring, &*memory, me, size);
    }
    world.barrier().unwrap();
}

#[test]
fn all_members_get_what_the_model_says() {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "ring");
    let driver = Driver::open(mock.name()).unwrap();
    for platform in PLATFORMS {
        for ranks in [1, 2, 3, 4, 8] {
            run(platform, ranks, |world| {
                let device = Device::of(&driver, world.rank().number() % 2).unwrap();
                examine_all(world, &[1, 7, 1000], |bytes| device.allocate(bytes).unwrap());
            });
        }
    }
    assert!(mock.count("kernels") > 0, "values are combined by kernels");
}

/// A broadcast in several pieces; a driver without kernels, handles or copies between its devices.
#[test]
fn any_device_memory_takes_part() {
    for platform in [Platform::Mapped, Platform::Unruly] {
        run(platform, 3, |world| {
            examine_all(world, &[10, 300_000], |bytes| MockDevice::new(world.rank().number(), bytes as usize));
        });
    }
}

#[test]
fn teams_have_rings_of_their_own() {
    run(Platform::Unruly, 6, |world| {
        let odd = Team::of(&[1, 3, 5].map(Rank::new)).unwrap();
        let collectives = Collectives::of(world, &odd, &settings()).unwrap();
        if let Some(collectives) = collectives {
            let (memory, scratch) = (MockDevice::new(0, 800), MockDevice::new(0, 272));
            let ring = collectives.on_device::<f64>(memory.clone(), scratch).unwrap();
            examine(&ring, &*memory, collectives.position() as usize, 3);
        }
        world.barrier().unwrap();
    });
}

fn integers<T: Number + PartialEq + std::fmt::Debug>(world: &World, one: [u8; 8], least: T) {
    let collectives = Collectives::new(world, &settings()).unwrap();
    let memory = MockDevice::new(0, 8);
    let ring = collectives.on_device::<T>(memory.clone(), MockDevice::new(0, 8)).unwrap();
    memory.write(0, &if world.rank().number() == 1 { one } else { [0; 8] }).unwrap();
    ring.allreduce(Accumulation::Min).unwrap();
    assert_eq!(world.get(ring.values().ptr(0)).unwrap(), least);
    world.barrier().unwrap();
}

#[test]
fn numbers_have_signs_or_none() {
    run(Platform::Remote, 3, |world| {
        integers(world, (-5_i64).to_le_bytes(), -5_i64);
        integers(world, (-5_i64).to_le_bytes(), 0_u64);
        integers(world, (-5_i64).to_le_bytes(), -5_i32);
        integers(world, (-5_i64).to_le_bytes(), 0_u32);
        integers(world, (f64::from(-5)).to_le_bytes(), -5_f64);
    });
}

#[test]
fn what_does_not_fit_is_told_to_all() {
    run(Platform::Mapped, 3, |world| {
        let collectives = Collectives::new(world, &settings()).unwrap();
        let is_last = world.rank().number() == 2;
        let ring = |values: usize, scratch: usize| {
            collectives.on_device::<f64>(MockDevice::new(0, values), MockDevice::new(0, scratch)).map(drop)
        };
        assert_eq!(ring(if is_last { 80 } else { 88 }, 80), Err(Error::Disagreement("the number of values on devices")));
        assert!(matches!(ring(88, if is_last { 24 } else { 32 }), Err(Error::Invalid(_))));
        // No heap holds the scratch of the last member: it cannot be registered.
        let refused = ring(88, if is_last { 2 * HEAP_BYTES as usize } else { 32 });
        assert!(refused.is_err() && is_last != matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
        ring(88, 32).unwrap();
        let memory = MockDevice::new(0, 80);
        let ring = collectives.on_device::<f64>(memory.clone(), MockDevice::new(0, 80)).unwrap();
        assert!(matches!(ring.broadcast(3), Err(Error::Invalid(_))));
        world.barrier().unwrap();
        memory.fail(true);
        world.barrier().unwrap();
        assert!(ring.allreduce(Accumulation::Sum).is_err(), "the device failed");
        world.barrier().unwrap();
    });
}

/// The device of one member fails: no other member waits for it.
#[test]
fn a_device_that_fails_ends_the_operation_on_all_members() {
    for platform in [Platform::Mapped, Platform::Fabric, Platform::Unruly] {
        for size in [2, 5] {
            run(platform, size, |world| {
                let collectives = Collectives::new(world, &settings()).unwrap();
                let is_last = world.rank().number() == size - 1;
                for operation in 0..4 {
                    let (memory, scratch) = (MockDevice::new(0, 800), MockDevice::new(0, 800));
                    let ring = collectives.on_device::<f64>(memory.clone(), scratch.clone()).unwrap();
                    let run = || match operation {
                        0 => ring.allreduce(Accumulation::Sum),
                        1 => ring.reduce_scatter(Accumulation::Sum),
                        2 => ring.allgather(),
                        _ => ring.broadcast(0),
                    };
                    run().unwrap();
                    world.barrier().unwrap();
                    for memory in [&memory, &scratch] {
                        memory.fail(is_last);
                    }
                    // A member that needs nothing of the last one may complete some operations.
                    let ended = (0..2 * size).try_for_each(|_| run());
                    assert!(ended.is_err() && run().is_err(), "{platform:?}, operation {operation}");
                    world.barrier().unwrap();
                }
            });
        }
    }
}
