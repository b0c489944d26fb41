//! Tests of the order between streams of any speed: ten thousand seeds of a driver that executes them in any order that their waits allow.
//!
//! Two devices exchange borders for some rounds, each with a compute stream and a copy stream, as a halo exchange with signals does. Without any one
//! of its waits, some seed finds an old, torn or overwritten border: each wait is removed once, and some seed must fail.

use std::path::Path;
use std::sync::Arc;

use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaError, CudaMemory, Device, Driver, Event, Result, Stream};
use pelago_memory::{DeviceMemory, DeviceRange};

const ROUNDS: u64 = 4;
const SEEDS: u64 = 10_000;
/// Number of seeds per removed wait. It suffices: every second seed detects the removal of most waits.
const SEEDS_WITHOUT: u64 = 1000;
const CELLS: u64 = 4;

/// The waits that order an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// The border is copied after it has been computed.
    Computed,
    /// The halo is read after its signal has arrived.
    Arrived,
    /// The neighbour's halo is written after it has been read, as its stream signals.
    Credit,
    /// The border is overwritten after it has been copied.
    Copied,
}

/// One side: a border that it computes, a halo that the other writes, and a record of all halos that it has seen.
struct Side {
    computes: Stream,
    copies: Stream,
    computed: Event,
    copied: Event,
    border: DeviceRange,
    halo: DeviceRange,
    seen: Arc<CudaMemory>,
    /// The words that the other side's streams write: arrived, credit.
    arrived: DeviceRange,
    credit: DeviceRange,
    /// The borders of all rounds, as substitutes for computed ones.
    source: Arc<CudaMemory>,
}

impl Side {
    fn new(device: &Device, side: u64) -> Result<Self> {
        let words = DeviceRange::whole(zeroed(device, 16));
        let word = |offset| words.part(offset, 8).expect("two words");
        let source = device.allocate(ROUNDS * CELLS * 8)?;
        let cells = (0..ROUNDS * CELLS).flat_map(|cell| value(side, cell / CELLS, cell % CELLS).to_le_bytes());
        source.write(0, &cells.collect::<Vec<_>>()).unwrap();
        Ok(Self {
            computes: device.stream()?,
            copies: device.stream()?,
            computed: device.event()?,
            copied: device.event()?,
            border: DeviceRange::whole(zeroed(device, CELLS * 8)),
            halo: DeviceRange::whole(zeroed(device, CELLS * 8)),
            seen: zeroed(device, ROUNDS * CELLS * 8),
            arrived: word(0),
            credit: word(8),
            source,
        })
    }

    /// Resets the side for another seed.
    fn reset(&self) {
        for range in [&self.arrived, &self.credit, &self.border, &self.halo] {
            range.memory().write(range.offset(), &vec![0; range.bytes() as usize]).unwrap();
        }
        self.seen.write(0, &vec![0; (ROUNDS * CELLS * 8) as usize]).unwrap();
    }

    /// Submits a round to the streams at once, without waiting.
    fn round(&self, other: &Side, round: u64, without: Option<Wait>) -> Result<()> {
        let has = |wait: Wait| without != Some(wait);
        let part =
            |memory: &Arc<CudaMemory>| DeviceRange::whole(memory.clone()).part(round * CELLS * 8, CELLS * 8).expect("a round");
        // Computes its border, cell by cell, after the last one has been copied.
        if has(Wait::Copied) {
            self.computes.wait(&self.copied)?;
        }
        for cell in 0..CELLS {
            let cell = |range: &DeviceRange| range.part(cell * 8, 8).expect("a cell");
            self.computes.copy(&cell(&self.border), &cell(&part(&self.source)))?;
        }
        self.computes.record(&self.computed)?;
        // Copies it into the other's halo, and then signals.
        if has(Wait::Computed) {
            self.copies.wait(&self.computed)?;
        }
        if has(Wait::Credit) {
            self.copies.wait_at_least(&self.credit, round)?;
        }
        self.copies.copy(&other.halo, &self.border)?;
        self.copies.write_value(&other.arrived, round + 1)?;
        self.copies.record(&self.copied)?;
        // Reads its own halo, and permits the other to write the next one.
        if has(Wait::Arrived) {
            self.computes.wait_at_least(&self.arrived, round + 1)?;
        }
        self.computes.copy(&part(&self.seen), &self.halo)?;
        self.computes.write_value(&other.credit, round + 1)
    }

    fn has_seen(&self, other: u64) -> bool {
        let mut bytes = vec![0; (ROUNDS * CELLS * 8) as usize];
        self.seen.read(0, &mut bytes).unwrap();
        let expected = (0..ROUNDS * CELLS).flat_map(|cell| value(other, cell / CELLS, cell % CELLS).to_le_bytes());
        bytes.into_iter().eq(expected)
    }
}

fn value(side: u64, round: u64, cell: u64) -> u64 {
    (side + 1) << 32 | (round + 1) << 16 | cell
}

fn zeroed(device: &Device, bytes: u64) -> Arc<CudaMemory> {
    let memory = device.allocate(bytes).unwrap();
    memory.write(0, &vec![0; bytes as usize]).unwrap();
    memory
}

/// Returns the first of some seeds that finds a wrong halo.
fn wrong_seed(mock: &MockDriver, sides: &[Side; 2], seeds: u64, without: Option<Wait>) -> Option<u64> {
    (1..=seeds).find(|&seed| {
        sides.iter().for_each(Side::reset);
        mock.set("seed", seed);
        for round in 0..ROUNDS {
            for (side, other) in [(0, 1), (1, 0)] {
                sides[side].round(&sides[other], round, without).unwrap();
            }
        }
        sides.iter().for_each(|side| {
            side.copies.synchronize().unwrap();
            side.computes.synchronize().unwrap();
        });
        !(sides[0].has_seen(1) && sides[1].has_seen(0))
    })
}

fn mock(name: &str) -> (MockDriver, Arc<Driver>) {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), name);
    let driver = Driver::open(mock.name()).unwrap();
    mock.set("manual", 1);
    (mock, driver)
}

#[test]
fn an_exchange_by_signals_is_right_at_any_speed_of_its_streams() {
    let (mock, driver) = mock("exchange");
    let sides = [0, 1].map(|side| Side::new(&Device::of(&driver, side as u32).unwrap(), side).unwrap());
    assert_eq!(wrong_seed(&mock, &sides, SEEDS, None), None, "the seed replays it");
}

#[test]
fn each_wait_of_the_exchange_is_missed_when_it_is_left_out() {
    let (mock, driver) = mock("waits");
    let sides = [0, 1].map(|side| Side::new(&Device::of(&driver, side as u32).unwrap(), side).unwrap());
    for wait in [Wait::Computed, Wait::Arrived, Wait::Credit, Wait::Copied] {
        assert!(wrong_seed(&mock, &sides, SEEDS_WITHOUT, Some(wait)).is_some(), "{wait:?} orders nothing");
    }
}

/// A signal by a kernel comes after all writes of its stream, like one by the stream itself.
#[test]
fn events_and_signals_follow_what_is_before_them() {
    let (mock, driver) = mock("signals");
    let device = Device::of(&driver, 0).unwrap();
    let (writes, reads, event) = (device.stream().unwrap(), device.stream().unwrap(), device.event().unwrap());
    assert!(event.is_over().unwrap(), "nothing was recorded");
    let [from, to, end] = [7, 0, 0].map(|byte| {
        let memory = device.allocate(64).unwrap();
        memory.write(0, &[byte; 64]).unwrap();
        DeviceRange::whole(memory)
    });
    let word = DeviceRange::whole(zeroed(&device, 8));
    for seed in 1..500 {
        mock.set("seed", seed);
        to.memory().write(0, &[0; 64]).unwrap();
        reads.wait_at_least(&word, seed).unwrap();
        reads.copy(&end, &to).unwrap();
        writes.copy(&to, &from).unwrap();
        if seed % 2 == 0 {
            writes.signal(&word, seed).unwrap()
        } else {
            writes.write_value(&word, seed).unwrap()
        }
        reads.record(&event).unwrap();
        event.synchronize().unwrap();
        assert!(event.is_over().unwrap() && reads.is_over().unwrap());
        let mut bytes = [0; 64];
        end.memory().read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 64], "seed {seed}");
    }
}

#[test]
fn what_no_stream_can_do_is_refused() {
    let (mock, driver) = mock("refused");
    let [device, other] = [0, 1].map(|ordinal| Device::of(&driver, ordinal).unwrap());
    let (stream, memory) = (device.stream().unwrap(), DeviceRange::whole(device.allocate(64).unwrap()));
    let part = |offset, bytes| memory.part(offset, bytes).unwrap();
    for word in [part(4, 8), part(0, 4), part(0, 16)] {
        assert!(
            stream.write_value(&word, 1).is_err() && stream.wait_at_least(&word, 1).is_err() && stream.signal(&word, 1).is_err()
        );
    }
    assert!(stream.copy(&part(0, 8), &part(8, 16)).is_err());
    assert!(stream.record(&other.event().unwrap()).is_err());
    mock.set("no-stream-values", 1);
    assert!(!device.has_stream_values());
    let why = stream.write_value(&part(0, 8), 1).unwrap_err();
    assert!(matches!(why, CudaError::Call { code: 801, .. }), "{why}");
    stream.signal(&part(0, 8), 1).unwrap();
    mock.set("failed", 700);
    assert!(stream.synchronize().unwrap_err().to_string().contains("illegal memory access"));
    mock.set("failed", 0);
}

#[test]
fn a_stream_uses_so_many_allocations_at_once() {
    let (_mock, driver) = mock("bounded");
    let device = Device::of(&driver, 0).unwrap();
    let stream = device.stream().unwrap();
    let word = || DeviceRange::whole(zeroed(&device, 8));
    let full = (0..).find(|_| stream.write_value(&word(), 1).is_err());
    assert_eq!(full, Some(256));
    stream.synchronize().unwrap();
    stream.write_value(&word(), 1).unwrap();
}
