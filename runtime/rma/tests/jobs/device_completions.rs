//! Streams that wait for operations: whatever the speed of a stream, it reads the data of the operation. The mock driver executes streams in random order.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Duration, GlobalAddress, Rank};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaMemory, Device, DeviceRange, Driver, Stream};
use pelago_rma::{DeviceMemory, Error, GlobalPtr, Handle, World};
use pelago_test_support::threads::on_every_platform;

const WORDS: usize = 4;
const SEEDS: u64 = 100;

fn mock(name: &str) -> (MockDriver, Arc<Driver>) {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), name);
    let driver = Driver::open(mock.name()).unwrap();
    (mock, driver)
}

fn zeroed(device: &Device, bytes: u64) -> Arc<CudaMemory> {
    let memory = device.allocate(bytes).unwrap();
    memory.write(0, &vec![0; bytes as usize]).unwrap();
    memory
}

fn words(memory: &CudaMemory) -> [u64; WORDS] {
    let mut bytes = [0; WORDS * 8];
    memory.read(0, &mut bytes).unwrap();
    std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| bytes[word * 8 + byte])))
}

/// Waits for a stream as a computing program does: it calls the library, but waits for no operation.
fn go_on_until_over(world: &World, stream: &Stream) {
    let is_over = || Ok(stream.is_over().unwrap().then_some(()));
    world.poll_for("the stream", Some(Duration::from_milliseconds(20_000)), is_over).unwrap();
}

/// Rounds in which each rank copies words of the next rank to its device, while its stream, started earlier, copies them on; returns the number of
/// wrong copies of the stream.
fn wrong_rounds(world: &World, driver: &Arc<Driver>, has_wait: bool) -> u64 {
    let device = Device::of(driver, 0).unwrap();
    let completions = world.device_completions(device.allocate(16).unwrap()).unwrap();
    let source = world.alloc::<u64>(WORDS).unwrap();
    let (brought, seen) = (zeroed(&device, WORDS as u64 * 8), zeroed(&device, WORDS as u64 * 8));
    let segment = world.register_device::<u64>(brought.clone()).unwrap();
    let stream = device.stream().unwrap();
    let next = Rank::new((world.rank().number() + 1) % world.size());
    let mut wrong = 0;
    for round in 1..=SEEDS {
        let expected = |rank: Rank| [u64::from(rank.number()) << 32 | round; WORDS];
        expected(world.rank()).into_iter().enumerate().for_each(|(word, value)| source.local().store(word, value));
        world.barrier().unwrap();
        let operation = world.copy(source.at(next, 0), segment.ptr(0), WORDS).unwrap();
        let done = completions.record(&operation).unwrap();
        if has_wait {
            stream.wait_at_least(&done.word, done.value).unwrap();
        }
        stream.copy(&DeviceRange::whole(seen.clone()), &DeviceRange::whole(brought.clone())).unwrap();
        go_on_until_over(world, &stream);
        wrong += u64::from(words(&seen) != expected(next));
        done.written.wait().unwrap();
        world.barrier().unwrap();
    }
    wrong
}

#[test]
fn a_stream_reads_what_an_operation_has_brought() {
    let (mock, driver) = mock("completions");
    on_every_platform(&[1, 2, 4], |world, platform| {
        assert_eq!(wrong_rounds(world, &driver, true), 0, "{platform:?}");
    });
    assert!(mock.count("executed") > SEEDS);
}

#[test]
fn a_stream_without_the_wait_reads_too_early() {
    let (_mock, driver) = mock("no-completions");
    let wrong = AtomicU64::new(0);
    on_every_platform(&[2], |world, _| {
        wrong.fetch_add(wrong_rounds(world, &driver, false), Ordering::Relaxed);
    });
    assert!(wrong.into_inner() > 0, "the waits of the other test order nothing");
}

fn too_many() -> Error {
    Error::TooMany { what: "operations that streams wait for", limit: 2 }
}

/// Words of failed operations stay taken until they are released.
#[test]
fn a_failure_is_no_completion() {
    let waited = AtomicU64::new(0);
    let (_mock, driver) = mock("failed-completions");
    on_every_platform(&[2], |world, platform| {
        let device = Device::of(&driver, 0).unwrap();
        let completions = world.device_completions(device.allocate(16).unwrap()).unwrap();
        let own = world.alloc::<u64>(1).unwrap();
        let other = Rank::new(1 - world.rank().number());
        // An address of the other rank's registered memory that was unregistered.
        own.local().store(0, world.register(vec![0u64]).unwrap().ptr(0).address().bits());
        world.barrier().unwrap();
        let nowhere = GlobalAddress::from_bits(world.get(own.at(other, 0)).unwrap());
        world.barrier().unwrap();
        // A failure that occurs late: after a chain of copies.
        let late = world.alloc::<u64>(1).unwrap();
        let fail = || {
            let copy = |before: &Handle<'_>| world.after(before).copy(own.at(other, 0), late.at(other, 0), 1).unwrap();
            let before = (0..20).fold(Handle::done(), |before, _| copy(&before));
            world.after(&before).put(GlobalPtr::from_address(nowhere).unwrap(), &[1u64]).unwrap()
        };
        let (put, stream) = (fail(), device.stream().unwrap());
        match completions.record(&put) {
            // The operation had already failed: no stream waits.
            Err(Error::Failed(_)) => {}
            Err(other) => panic!("{platform:?}: {other}"),
            Ok(done) => {
                stream.wait_at_least(&done.word, done.value).unwrap();
                assert!(matches!(done.written.wait(), Err(Error::Failed(_))), "{platform:?}");
                for _ in 0..100 {
                    assert!(!stream.is_over().unwrap(), "{platform:?}: the stream takes a failure for success");
                }
                if let Ok(second) = completions.record(&fail()) {
                    assert!(matches!(second.written.wait(), Err(Error::Failed(_))), "{platform:?}");
                    let good = world.put(own.at(other, 0), &[1]).unwrap();
                    assert_eq!(completions.record(&good).map(drop), Err(too_many()), "{platform:?}");
                    waited.fetch_add(1, Ordering::Relaxed);
                }
                assert!(completions.release().unwrap() > 0);
                completions.record(&world.put(own.at(other, 0), &[1]).unwrap()).unwrap().written.wait().unwrap();
                go_on_until_over(world, &stream);
                assert_eq!(completions.release(), Ok(0), "it was released");
                // The drop releases the streams as well.
                if let Ok(last) = completions.record(&fail()) {
                    stream.wait_at_least(&last.word, last.value).unwrap();
                    drop(completions);
                    assert!(matches!(last.written.wait(), Err(Error::Failed(_))), "{platform:?}");
                    go_on_until_over(world, &stream);
                }
            }
        }
        assert!(matches!(put.wait(), Err(Error::Failed(_))), "{platform:?}");
        let _reported = world.quiet();
        world.barrier().unwrap();
    });
    assert!(waited.into_inner() > 0, "no failure came late enough");
}

#[test]
fn words_are_bounded_and_used_again() {
    let (_mock, driver) = mock("few-completions");
    on_every_platform(&[1], |world, _| {
        let device = Device::of(&driver, 0).unwrap();
        assert!(matches!(world.device_completions(device.allocate(7).unwrap()), Err(Error::Invalid(_))));
        let completions = world.device_completions(device.allocate(16).unwrap()).unwrap();
        let own = world.alloc::<u64>(1).unwrap();
        let mut last = Vec::new();
        for round in 1..10 {
            let put = world.put(own.at(world.rank(), 0), &[round]).unwrap();
            let done = completions.record(&put).unwrap();
            done.written.wait().unwrap();
            last.push((done.word.offset(), done.value));
        }
        assert_eq!(last[..4], [(0, 1), (8, 1), (0, 2), (8, 2)], "words by turns");
    });
}
