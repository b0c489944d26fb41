//! Memory of GPUs, of their drivers' managed kind and of the host: random operations between ranks end as on a model, for every kind of memory.

use std::path::Path;
use std::sync::Arc;

use pelago_base::{GlobalAddress, Rank, Shape};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{Device, Driver};
use pelago_rma::{DeviceMemory, GlobalPtr, Registered, RegisteredDevice, World};
use pelago_test_support::threads::on_every_platform;

const WORDS: usize = 600;
const OPERATIONS: usize = 120;

/// The kinds of memory of a rank: the first is host memory.
const KINDS: u32 = 3;

enum Memory<'w> {
    Host(Registered<'w, u64>),
    Device(RegisteredDevice<'w, u64>),
}

fn memory<'w>(world: &'w World, driver: &Arc<Driver>, kind: u32) -> Memory<'w> {
    let device = || Device::of(driver, world.rank().number() % 2).unwrap();
    let bytes = WORDS as u64 * 8;
    let made: Arc<dyn DeviceMemory> = match kind {
        0 => return Memory::Host(world.register(vec![0; WORDS]).unwrap()),
        1 => device().allocate(bytes).unwrap(),
        _ => device().allocate_managed(bytes).unwrap(),
    };
    Memory::Device(world.register_device(made).unwrap())
}

/// The first rank operates on the memory of all ranks, and on a model.
fn act(world: &World, starts: &[GlobalPtr<u64>], seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut model = vec![vec![0u64; WORDS]; starts.len()];
    for start in starts {
        world.put(*start, &[0; WORDS]).unwrap().wait().unwrap();
    }
    for number in 0..OPERATIONS {
        let [one, other] = [0; 2].map(|_| random.usize(..starts.len()));
        let length = random.usize(1..WORDS / 2);
        let [from, to] = [0; 2].map(|_| random.usize(..WORDS - length));
        let place = starts[other].add(to as u64);
        match random.u32(..5) {
            0 => {
                let words: Vec<u64> = (0..length as u64).map(|word| word << 16 | number as u64).collect();
                world.put(place, &words).unwrap().wait().unwrap();
                model[other][to..to + length].copy_from_slice(&words);
            }
            1 => {
                // Ranges of one memory must not overlap.
                let length = if one == other { length.min(from.abs_diff(to)) } else { length };
                world.copy(starts[one].add(from as u64), place, length).unwrap().wait().unwrap();
                let words = model[one][from..from + length].to_vec();
                model[other][to..to + length].copy_from_slice(&words);
            }
            2 => {
                let mut words = vec![0; length];
                world.get_into(place, &mut words).unwrap();
                assert!(words == model[other][to..to + length], "operation {number} of seed {seed}");
            }
            3 => {
                let rows = length as u64 / 5;
                let words: Vec<u64> = (0..rows * 2).map(|word| !word ^ number as u64).collect();
                let [blocks, packed] = [5, 2].map(|stride| Shape::strided(rows, 2, stride));
                world.put_strided(place, blocks, &words, packed).unwrap().wait().unwrap();
                for (row, block) in words.chunks(2).enumerate() {
                    model[other][to + row * 5..][..2].copy_from_slice(block);
                }
            }
            _ => {
                let old = world.fetch_add(place, 7).unwrap().wait().unwrap();
                assert_eq!(old, model[other][to], "operation {number} of seed {seed}");
                model[other][to] = old.wrapping_add(7);
            }
        }
    }
    for (start, expected) in starts.iter().zip(&model) {
        let mut words = vec![0; WORDS];
        world.get_into(*start, &mut words).unwrap();
        assert!(words == *expected, "seed {seed}");
    }
}

#[test]
fn operations_on_memory_of_any_kind_end_as_on_a_model() {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "rma");
    let driver = Driver::open(mock.name()).unwrap();
    on_every_platform(&[1, 2, 4, 8], |world, _| {
        let address = world.alloc::<u64>(1).unwrap();
        for first_kind in 0..KINDS {
            // Adjacent ranks have different kinds.
            let memory = memory(world, &driver, (first_kind + world.rank().number()) % KINDS);
            let start = match &memory {
                Memory::Host(memory) => memory.ptr(0),
                Memory::Device(memory) => memory.ptr(0),
            };
            address.local().store(0, start.address().bits());
            world.barrier().unwrap();
            if world.rank() == Rank::new(0) {
                let start = |rank| GlobalAddress::from_bits(world.get(address.at(Rank::new(rank), 0)).unwrap());
                let starts: Vec<_> = (0..world.size()).map(|rank| GlobalPtr::from_address(start(rank)).unwrap()).collect();
                act(world, &starts, u64::from(first_kind * 100 + world.size()));
            }
            world.barrier().unwrap();
        }
    });
}
