//! Tests of the driver, its failures, and memory of its devices, with a mock driver.
#![allow(unsafe_code)]

use std::path::Path;
use std::sync::Arc;

use pelago_base::{AtomicOperator, Shape, Width};
use pelago_cuda::kernels::{Combination, Face, NumberKind, PTX, Sweep, Water};
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{CudaError, CudaMemory, Device, Driver, Interface, Rows};
use pelago_memory::{Cells, DeviceBlocks, DeviceMemory, DeviceRange, MemoryKind, Region};

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A mock and its devices.
fn devices(name: &str) -> (MockDriver, [Device; 2]) {
    let mock = MockDriver::new(folder(), name);
    let driver = Driver::open(mock.name()).unwrap();
    let devices = [0, 1].map(|ordinal| Device::of(&driver, ordinal).unwrap());
    (mock, devices)
}

fn numbers(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|index| (index ^ (index >> 8) ^ (seed * 37)) as u8).collect()
}

fn contents(memory: &CudaMemory) -> Vec<u8> {
    let mut bytes = vec![0; memory.bytes() as usize];
    memory.read(0, &mut bytes).unwrap();
    bytes
}

/// An error is one line that names the problem, and the remedy if a user has one.
fn line(why: &CudaError, words: &[&str]) {
    let text = why.to_string();
    assert!(!text.contains('\n') && words.iter().all(|word| text.contains(word)), "{text}");
}

#[test]
fn each_failure_to_open_a_driver_is_one_line() {
    line(&Driver::open("libpelago-no-cuda.so.1").unwrap_err(), &["no CUDA driver", "libpelago-no-cuda.so.1", "install"]);
    // A library of something else.
    line(&Driver::open("libc.so.6").unwrap_err(), &["libc.so.6", "no function cuInit"]);
    let mock = MockDriver::new(folder(), "fails");
    let open = |word: &str| {
        mock.set(word, 1);
        let why = Driver::open(mock.name()).unwrap_err();
        mock.set(word, 0);
        why
    };
    assert_eq!(open("no-device"), CudaError::NoDevice);
    line(&CudaError::NoDevice, &["no device", "CUDA_VISIBLE_DEVICES"]);
    line(&open("stub"), &["no CUDA driver", "stub"]);
    line(&open("old-version"), &["version 10.2", "11.0 is needed", "newer"]);
    mock.set("devices", 0);
    assert_eq!(Driver::open(mock.name()).unwrap_err(), CudaError::NoDevice);
    mock.set("devices", 2);
    for function in ["cuMemAlloc", "cuIpcOpenMemHandle", "cuLaunchKernel"] {
        mock.set_text("missing", function);
        line(&Driver::open(mock.name()).unwrap_err(), &["no function", function, "newer"]);
    }
    // A missing optional function causes an error only when it is used.
    mock.set_text("missing", "cuStreamWaitValue64");
    let driver = Driver::open(mock.name()).unwrap();
    mock.set_text("missing", "");
    assert!(!Device::of(&driver, 0).unwrap().has_stream_values());
    assert_eq!((driver.devices(), driver.version().as_str()), (2, "12.8"));
    let why = Device::of(&driver, 2).unwrap_err();
    line(&why, &["no CUDA device 2", "finds 2"]);
}

/// Drivers before CUDA 11.3 have no look-up function: the versioned symbols are used.
#[test]
fn a_driver_without_lookup_is_used_by_its_symbols() {
    let old = MockDriver::build(folder(), "symbols", &["MOCK_WITHOUT_LOOKUP"]);
    let driver = Driver::open(old.to_str().unwrap()).unwrap();
    let memory = Device::of(&driver, 1).unwrap().allocate(100).unwrap();
    memory.write(3, b"symbols").unwrap();
    assert_eq!(contents(&memory)[3..10], *b"symbols");
    let older = MockDriver::build(folder(), "older", &["MOCK_WITHOUT_LOOKUP", "MOCK_WITHOUT_EVENTS"]);
    line(&Driver::open(older.to_str().unwrap()).unwrap_err(), &["no function cuEventRecord"]);
}

/// HIP's functions, by the names and arguments of its documentation: the optional ones too.
#[test]
fn a_library_of_hip_is_used_by_its_names() {
    let library = MockDriver::build(folder(), "amdhip64-mock", &["MOCK_HIP"]);
    let driver = Driver::open(library.to_str().unwrap()).unwrap();
    assert_eq!(driver.interface(), Interface::Hip);
    let [one, two] = [0, 1].map(|ordinal| Device::of(&driver, ordinal).unwrap());
    assert_eq!((one.capability(), one.uuid()[0], two.uuid()[0]), ((9, 0), 1, 2));
    assert!(!one.has_stream_values(), "only for memory of signals, which is none of this");
    let (from, to) = (one.allocate(300_000).unwrap(), two.allocate_managed(300_000).unwrap());
    assert_eq!(from.kind(), MemoryKind::Device { driver: "hip", ordinal: 0 });
    from.write(0, &numbers(300_000, 1)).unwrap();
    // From device to device by their numbers.
    to.copy_from(0, &*from, 0, 300_000).unwrap().unwrap();
    assert!(contents(&to) == numbers(300_000, 1));
    // A word of another device, to which it has access; the wait has a mask.
    let (writes, waits) = (one.stream().unwrap(), two.stream().unwrap());
    let word = DeviceRange::whole(two.allocate(8).unwrap());
    word.memory().write(0, &[0; 8]).unwrap();
    waits.wait_at_least(&word, 5).unwrap();
    assert!(!waits.is_over().unwrap());
    writes.write_value(&word, 6).unwrap();
    waits.synchronize().unwrap();
    // The text of a failure.
    let mock = MockDriver::at(&library);
    mock.set("failed", 700);
    assert!(from.write(0, &[0]).unwrap_err().0.contains("illegal memory access"));
    mock.set("failed", 0);
}

#[test]
fn bytes_come_back_through_pinned_pieces_of_which_several_are_in_flight() {
    let (mock, [device, _]) = devices("pieces");
    mock.set("manual", 1);
    for bytes in [1, 4096, (256 << 10) - 1, (256 << 10) + 1, 5 << 20] {
        let memory = device.allocate(bytes as u64 + 7).unwrap();
        assert_eq!(memory.kind(), MemoryKind::Device { driver: "cuda", ordinal: 0 });
        let written = numbers(bytes, 1);
        memory.write(5, &written).unwrap();
        let all = contents(&memory);
        assert!(all[5..5 + bytes] == written && all[..5] == [0xFF; 5] && all[5 + bytes..] == [0xFF; 2], "{bytes} bytes");
    }
    assert!((2..=3).contains(&mock.count("in-flight-max")), "{}", mock.count("in-flight-max"));
    let memory = device.allocate(8).unwrap();
    assert!(memory.read(1, &mut [0; 8]).is_err() && memory.write(9, &[]).is_err() && memory.write(8, &[]).is_ok());
}

#[test]
fn many_threads_use_one_device() {
    let (_mock, [device, _]) = devices("threads");
    const PART: u64 = 100_000;
    // One part per thread, and one word for all.
    let (memory, word) = (device.allocate(16 * PART + 4).unwrap(), 16 * PART);
    memory.write(word, &[0; 4]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16usize {
            let memory = &memory;
            scope.spawn(move || {
                let (mine, first) = (numbers(PART as usize, thread), thread as u64 * PART);
                memory.write(first, &mine).unwrap();
                let mut back = vec![0; mine.len()];
                memory.read(first, &mut back).unwrap();
                assert!(back == mine);
                for _ in 0..21 {
                    memory.atomic(word, Width::Four, AtomicOperator::Xor, 1 << thread).unwrap();
                }
            });
        }
    });
    assert_eq!(contents(&memory)[word as usize..], [0xFF, 0xFF, 0, 0], "each bit was changed an odd number of times");
}

#[test]
fn copies_go_directly_between_memory_of_a_device_and_of_two() {
    let (mock, [one, two]) = devices("copies");
    let staged = || mock.count("in-flight-max");
    for (from, to) in [(&one, &one), (&one, &two)] {
        let (from, to) = (from.allocate(1000).unwrap(), to.allocate(1000).unwrap());
        from.write(0, &numbers(1000, 2)).unwrap();
        let before = mock.count("executed");
        Region::Device(DeviceRange::whole(to.clone())).copy_from(&Region::Device(DeviceRange::whole(from))).unwrap();
        assert_eq!(mock.count("executed") - before, 1, "one copy of the driver");
        assert!(contents(&to) == numbers(1000, 2));
    }
    assert_eq!(staged(), 1);
    // Copies between two drivers, and from and to host memory, go through the host.
    let (_other_mock, [other, _]) = devices("copies-other");
    let (from, to) = (one.allocate(1000).unwrap(), other.allocate(1000).unwrap());
    from.write(0, &numbers(1000, 3)).unwrap();
    assert!(to.copy_from(0, &*from, 0, 1000).is_none());
    Region::Device(DeviceRange::whole(to.clone())).copy_from(&Region::Device(DeviceRange::whole(from))).unwrap();
    assert!(contents(&to) == numbers(1000, 3));
    let mut host = numbers(1000, 4);
    Region::Device(DeviceRange::whole(to.clone())).copy_from(&Cells::from_mut(&mut host).into()).unwrap();
    assert!(contents(&to) == host);
}

#[test]
fn ranges_that_overlap_are_copied_whole() {
    let (_mock, [device, _]) = devices("overlaps");
    for (from, to) in [(0, 100), (100, 0), (7, 7)] {
        let memory = device.allocate(1000).unwrap();
        memory.write(0, &numbers(1000, 5)).unwrap();
        memory.copy_from(to, &*memory, from, 800).unwrap().unwrap();
        let mut expected = numbers(1000, 5);
        expected.copy_within(from as usize..from as usize + 800, to as usize);
        assert!(contents(&memory) == expected, "from {from} to {to}");
    }
}

#[test]
fn managed_and_adopted_memory_is_reached_like_any_other() {
    let (mock, [device, _]) = devices("kinds");
    let managed = device.allocate_managed(64).unwrap();
    managed.write(0, &[1; 64]).unwrap();
    assert!(managed.export().unwrap().is_err(), "handles are for memory of the device alone");
    let owned = device.allocate(64).unwrap();
    // SAFETY: `owned` lives longer.
    let adopted = unsafe { CudaMemory::adopt(&device, owned.address() + 16, 32) }.unwrap();
    adopted.copy_from(0, &*managed, 0, 32).unwrap().unwrap();
    assert!(contents(&owned)[16..48] == [1; 32] && contents(&owned)[48] == 0xFF);
    let count = mock.count("memories");
    drop(adopted);
    assert_eq!(mock.count("memories"), count, "the program frees what is its own");
    drop(managed);
    assert_eq!(mock.count("memories"), count - 1);
    for (address, bytes) in [(owned.address() + 16, 49), (owned.address(), 0), (64, 8)] {
        // SAFETY: it is refused.
        assert!(unsafe { CudaMemory::adopt(&device, address, bytes) }.is_err());
    }
}

#[test]
fn a_device_without_room_says_so() {
    let (mock, [device, _]) = devices("room");
    assert!(matches!(device.allocate(0), Err(CudaError::Invalid(_))));
    mock.set("out-of-memory", 1);
    let why = device.allocate(4096).unwrap_err();
    assert_eq!(why, CudaError::OutOfMemory { device: 0, bytes: 4096 });
    line(&why, &["device 0", "4096 bytes"]);
    mock.set("out-of-memory", 0);
    let memory = device.allocate(4096).unwrap();
    mock.set("out-of-memory", 1);
    assert!(memory.write(0, &[0; 10]).unwrap_err().0.contains("out of memory"), "no pinned memory either");
    mock.set("out-of-memory", 0);
    memory.write(0, &[0; 10]).unwrap();
}

/// A device that has failed fails all later operations, and no caller waits for it.
#[test]
fn a_device_that_fails_is_told_by_all_that_needs_it() {
    let (mock, [device, _]) = devices("broken");
    let memory = device.allocate(1 << 20).unwrap();
    memory.write(0, &[1; 1 << 20]).unwrap();
    mock.set("failed", 700);
    for _ in 0..4 {
        let why = memory.write(0, &[2; 1 << 20]).unwrap_err();
        assert!(why.0.contains("illegal memory access"), "{why}");
        assert!(memory.read(0, &mut [0; 8]).is_err());
        assert!(memory.atomic(0, Width::Eight, AtomicOperator::Add, 1).is_err());
    }
    mock.set("failed", 0);
    assert!(contents(&memory) == vec![1; 1 << 20]);
    // The resources lost to failed transfers are bounded.
    mock.set("failed", 700);
    let given_up = (0..10).find(|_| memory.read(0, &mut [0; 8]).unwrap_err().0.contains("too often"));
    mock.set("failed", 0);
    assert!(given_up.is_some_and(|tries| tries > 0) && mock.count("memories") <= 1 + 16, "{given_up:?}");
}

#[test]
fn what_was_shared_is_kept_for_the_next_of_its_size() {
    let (mock, [device, other]) = devices("shared");
    let plain = device.allocate(4096).unwrap();
    drop(plain);
    let count = mock.count("memories");
    let shared = device.allocate(4096).unwrap();
    let (address, handle) = (shared.address(), shared.export().unwrap().unwrap());
    assert_eq!(shared.export().unwrap().unwrap(), handle, "the same each time");
    drop(shared);
    assert_eq!(mock.count("memories"), count + 1, "a peer may have it open");
    assert_ne!(other.allocate(4096).unwrap().address(), address, "another device's");
    assert_ne!(device.allocate(4097).unwrap().address(), address, "of another size");
    let again = device.allocate(4096).unwrap();
    assert_eq!(again.address(), address);
    // The number of exports is bounded: other memory is accessed through its owner.
    let mut held = vec![again];
    let refused = loop {
        let memory = device.allocate(8192).unwrap();
        match memory.export().unwrap() {
            Ok(_) => held.push(memory),
            Err(why) => break why,
        }
    };
    assert!(held.len() == 64 && refused.0.contains("as many"), "{} {refused}", held.len());
    mock.set("ipc-refused", 1);
    assert!(held[0].export().unwrap().unwrap_err().0.contains("not supported"));
}

/// A peer's handle does not start a driver.
#[test]
fn a_process_without_a_driver_opens_nothing() {
    let (_mock, [device, _]) = devices("handles");
    let handle = device.allocate(4096).unwrap().export().unwrap().unwrap();
    assert!(pelago_memory::open_device(&handle).is_none(), "the driver of this process was never asked for");
}

#[test]
fn rows_and_faces_are_copied_and_nothing_beside_them() {
    let (mock, [device, _]) = devices("faces");
    let (from, to) = (device.allocate(10_000).unwrap(), device.allocate(10_000).unwrap());
    from.write(0, &numbers(10_000, 6)).unwrap();
    let [whole_from, whole_to] = [&from, &to].map(|memory| DeviceRange::whole(memory.clone()));
    let stream = device.stream().unwrap();
    let check = |to_shape: Shape, from_shape: Shape, at: usize| {
        let mut expected = vec![0xFF; 10_000];
        for (there, here) in to_shape.offsets().zip(from_shape.offsets()) {
            let block = to_shape.block as usize;
            expected[at + there as usize..][..block].copy_from_slice(&numbers(10_000, 6)[here as usize..][..block]);
        }
        assert!(contents(&to) == expected, "{to_shape:?} {from_shape:?}");
        to.write(0, &vec![0xFF; 10_000]).unwrap();
    };
    to.write(0, &vec![0xFF; 10_000]).unwrap();

    let rows = Rows { count: 50, bytes: 40, from_pitch: 200, to_pitch: 40 };
    stream.copy_rows(&whole_to, &whole_from, rows).unwrap();
    stream.synchronize().unwrap();
    check(Shape::strided(50, 40, 40), Shape::strided(50, 40, 200), 0);
    for wrong in [Rows { from_pitch: 39, ..rows }, Rows { to_pitch: 250, ..rows }, Rows { count: 51, ..rows }] {
        assert!(stream.copy_rows(&whole_to, &whole_from, wrong).is_err(), "{wrong:?}");
    }

    // Blocks of all word lengths, in three dimensions; several with one launch.
    for block in [1u64, 2, 4, 6, 8, 16, 32, 33] {
        let from_shape = Shape { block, counts: [3, 4, 5], strides: [3000, 400, 64] };
        let to_shape = from_shape.packed();
        let launched = mock.count("kernels");
        let face = |at: u64| Face { to: whole_to.part(at, 10_000 - at).unwrap(), to_shape, from: whole_from.clone(), from_shape };
        stream.copy_faces(&[face(0), face(4000)]).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(mock.count("kernels") - launched, 1);
        let copied = contents(&to);
        to.write(4000, &vec![0xFF; 6000]).unwrap();
        assert!(copied[4000..][..60 * block as usize] == copied[..60 * block as usize]);
        check(to_shape, from_shape, 0);
    }
    let face =
        Face { to: whole_to.clone(), to_shape: Shape::contiguous(8), from: whole_from.clone(), from_shape: Shape::contiguous(8) };
    for wrong in [
        Face { to_shape: Shape::contiguous(9), ..face.clone() },
        Face { from: whole_from.part(9_993, 7).unwrap(), ..face.clone() },
        Face { to: whole_to.part(0, 7).unwrap(), ..face.clone() },
    ] {
        assert!(stream.copy_faces(&[wrong]).is_err());
    }
    assert!(stream.copy_faces(&vec![face; 27]).is_err());
}

/// A face is moved to the host by one kernel and one copy, however many blocks it has.
#[test]
fn blocks_are_packed_by_one_kernel() {
    let (mock, [device, _]) = devices("blocks");
    mock.set("manual", 1);
    let memory = device.allocate(10_000).unwrap();
    memory.write(0, &numbers(10_000, 7)).unwrap();
    let shape = Shape { block: 4, counts: [1, 20, 5], strides: [0, 400, 36] };
    let expected: Vec<u8> = shape.offsets().flat_map(|at| numbers(10_000, 7)[40 + at as usize..][..4].to_vec()).collect();
    let (kernels, mut packed) = (mock.count("kernels"), vec![0; 400]);
    let parts = |offset, blocks| [DeviceBlocks { memory: memory.clone(), offset, blocks }];
    memory.gather(&parts(40, shape), &mut packed).unwrap();
    assert!(packed == expected && mock.count("kernels") == kernels + 1);
    memory.write(0, &[0; 10_000]).unwrap();
    memory.scatter(&parts(40, shape), &packed).unwrap();
    let mut placed = vec![0; 10_000];
    shape.offsets().zip(packed.chunks(4)).for_each(|(at, block)| placed[40 + at as usize..][..4].copy_from_slice(block));
    assert!(contents(&memory) == placed && mock.count("kernels") == kernels + 2);
    assert!(memory.gather(&parts(9000, shape), &mut packed).is_err() && memory.scatter(&parts(9000, shape), &packed).is_err());
    memory.gather(&parts(0, Shape::strided(0, 4, 8)), &mut []).unwrap();
    // Two parts of 2^63 bytes, which lie in eight.
    let [same_place] = parts(0, Shape::strided(1 << 60, 8, 0));
    let twice = [same_place.clone(), same_place];
    assert!(memory.gather(&twice, &mut []).is_err() && memory.scatter(&twice, &[]).is_err());
}

/// Kernels and words of a stream access memory of another device by its address only if access is enabled; copies of the driver do not need it.
#[test]
fn kernels_reach_memory_of_devices_that_allow_it() {
    let (mock, [one, two]) = devices("peers");
    let (here, there) = (one.allocate(64).unwrap(), two.allocate(64).unwrap());
    here.write(0, &numbers(64, 1)).unwrap();
    let [from, to] = [&here, &there].map(|memory| DeviceRange::whole(memory.clone()));
    let whole = Shape::contiguous(64);
    let face = Face { to: to.clone(), to_shape: whole, from: from.clone(), from_shape: whole };
    let stream = one.stream().unwrap();
    stream.copy_faces(std::slice::from_ref(&face)).unwrap();
    stream.write_value(&to.part(0, 8).unwrap(), 7).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(contents(&there)[..8], 7u64.to_le_bytes());
    assert_eq!(contents(&there)[8..], numbers(64, 1)[8..]);
    // Another driver allows no access.
    mock.set("no-peers", 1);
    let stream = two.stream().unwrap();
    line(&stream.copy_faces(&[face]).unwrap_err(), &["another device"]);
    assert!(stream.wait_at_least(&from.part(0, 8).unwrap(), 7).is_err());
    stream.copy(&to, &from).unwrap();
    stream.synchronize().unwrap();
    assert!(contents(&there) == numbers(64, 1));
}

/// Blocks of several allocations are moved to the host by one kernel and back by one, however many parts there are; blocks of another device by a
/// kernel of that device.
#[test]
fn parts_of_several_allocations_are_moved_by_one_kernel() {
    let (mock, [one, two]) = devices("parts");
    mock.set("manual", 1);
    let memories = [&one, &one, &two].map(|device| device.allocate(4000).unwrap());
    for (seed, memory) in memories.iter().enumerate() {
        memory.write(0, &numbers(4000, seed)).unwrap();
    }
    for (count, on) in [(1, 1), (26, 2), (27, 2), (400, 2), (5000, 2), (9, 3)] {
        let part = |number: usize| DeviceBlocks {
            memory: memories[number * on / count].clone(),
            offset: (number % 97) as u64,
            blocks: Shape::strided((number % 4) as u64, 3, 900),
        };
        let parts: Vec<_> = (0..count).map(part).collect();
        let bytes_of = |number: usize| {
            let (part, all) = (&parts[number], numbers(4000, number * on / count));
            let starts = part.blocks.offsets().map(|at| (part.offset + at) as usize);
            starts.flat_map(|start| all[start..start + 3].to_vec()).collect::<Vec<_>>()
        };
        let expected: Vec<u8> = (0..count).flat_map(bytes_of).collect();
        let (kernels, mut packed) = (mock.count("kernels"), vec![0; expected.len()]);
        memories[0].gather(&parts, &mut packed).unwrap();
        // One launch per device; a list has at most 4,096 parts.
        let launches = if count == 9 { 2 } else { count.div_ceil(4096) as u64 };
        assert!(packed == expected, "{count} parts");
        assert_eq!(mock.count("kernels") - kernels, if expected.is_empty() { 0 } else { launches }, "{count} parts");
        memories.iter().for_each(|memory| memory.write(0, &[0xEE; 4000]).unwrap());
        memories[0].scatter(&parts, &packed).unwrap();
        let mut placed = vec![vec![0xEE; 4000]; 3];
        let mut rest = &packed[..];
        for (number, part) in parts.iter().enumerate() {
            for at in part.blocks.offsets() {
                placed[number * on / count][(part.offset + at) as usize..][..3].copy_from_slice(&rest[..3]);
                rest = &rest[3..];
            }
        }
        assert!(memories.iter().zip(&placed).all(|(memory, placed)| contents(memory) == *placed), "{count} parts");
        memories.iter().enumerate().for_each(|(seed, memory)| memory.write(0, &numbers(4000, seed)).unwrap());
    }
}

#[test]
fn sums_are_those_of_the_host() {
    let (_mock, [device, _]) = devices("sums");
    let stream = device.stream().unwrap();
    let (mut random, count) = (fastrand::Rng::with_seed(9), 1000);
    let [to, from] = [0; 2].map(|_| device.allocate(count * 8).unwrap());
    let [whole_to, whole_from] = [&to, &from].map(|memory| DeviceRange::whole(memory.clone()));
    let words = |random: &mut fastrand::Rng| (0..count).map(|_| random.f64() - 0.5).collect::<Vec<_>>();
    let (mine, theirs) = (words(&mut random), words(&mut random));
    let bytes = |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>();
    to.write(0, &bytes(&mine)).unwrap();
    from.write(0, &bytes(&theirs)).unwrap();
    stream.combine(&whole_to, &whole_from, Combination::Sum, NumberKind::F64).unwrap();
    stream.synchronize().unwrap();
    let expected: Vec<f64> = mine.iter().zip(&theirs).map(|(a, b)| a + b).collect();
    assert!(contents(&to) == bytes(&expected));
    let before = contents(&to);
    stream.combine(&whole_to, &whole_from, Combination::Sum, NumberKind::U32).unwrap();
    stream.synchronize().unwrap();
    let sum = |a: &[u8], b: &[u8]| {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        word(a).wrapping_add(word(b)).to_le_bytes()
    };
    let expected: Vec<u8> = before.chunks(4).zip(bytes(&theirs).chunks(4)).flat_map(|(a, b)| sum(a, b)).collect();
    assert!(contents(&to) == expected);
    let short = whole_from.part(0, 7992).unwrap();
    assert!(stream.combine(&whole_to, &short, Combination::Sum, NumberKind::F64).is_err());
    let askew = [&whole_to, &whole_from].map(|range| range.part(4, 800).unwrap());
    assert!(stream.combine(&askew[0], &askew[1], Combination::Sum, NumberKind::U64).is_err());
}

/// Combines on one device by a kernel; between two devices, and without kernels, by the host.
#[test]
fn numbers_are_combined_alike_by_kernels_and_by_the_host() {
    let (mock, [one, two]) = devices("combine");
    let mut random = fastrand::Rng::with_seed(3);
    for number in [NumberKind::F32, NumberKind::F64, NumberKind::U32, NumberKind::U64, NumberKind::I32, NumberKind::I64] {
        for combination in [Combination::Sum, Combination::Min, Combination::Max] {
            let mut bytes = || match number {
                NumberKind::F32 => (0..600).flat_map(|_| (random.f32() - 0.5).to_le_bytes()).collect::<Vec<_>>(),
                NumberKind::F64 => (0..300).flat_map(|_| (random.f64() - 0.5).to_le_bytes()).collect(),
                _ => (0..2400).map(|_| random.u8(..)).collect(),
            };
            let (first, second) = (bytes(), bytes());
            let results = [(&one, true), (&two, false)].map(|(other, by_kernel)| {
                let (to, from) = (one.allocate(2416).unwrap(), other.allocate(2408).unwrap());
                to.write(16, &first).unwrap();
                from.write(8, &second).unwrap();
                let before = mock.count("kernels");
                to.combine(16, (&*from, 8), 2400, combination, number).unwrap();
                assert_eq!(mock.count("kernels") - before, u64::from(by_kernel));
                contents(&to).split_off(16)
            });
            assert!(results[0] == results[1] && results[0] != first, "{combination:?} of {number:?}");
        }
    }
    let memory = one.allocate(100).unwrap();
    assert!(memory.combine(2, (&*memory, 8), 8, Combination::Sum, NumberKind::F64).is_err());
    assert!(memory.combine(8, (&*memory, 96), 8, Combination::Sum, NumberKind::F64).is_err());
}

#[test]
fn a_stencil_stays_inside_its_memory() {
    let (_mock, [device, _]) = devices("stencil");
    let stream = device.stream().unwrap();
    let cells = |count: u64| {
        let memory = device.allocate(count * 4).unwrap();
        memory.write(0, &vec![0; count as usize * 4]).unwrap();
        DeviceRange::whole(memory)
    };
    // A cube of 5 cells and its boundary.
    let (all, first, strides) = (343, 49 + 7 + 1, [49, 7]);
    let sweep = Sweep {
        p: cells(all),
        next: cells(all),
        squares: cells(all),
        coefficients: cells(12 * all),
        distance: all,
        first,
        strides,
        counts: [5; 3],
    };
    stream.himeno(&sweep).unwrap();
    stream.himeno(&Sweep { counts: [0, 5, 5], ..sweep.clone() }).unwrap();
    stream.synchronize().unwrap();
    for wrong in [
        Sweep { first: first - 1, ..sweep.clone() },
        Sweep { counts: [6, 5, 5], ..sweep.clone() },
        Sweep { counts: [5, 5, 6], ..sweep.clone() },
        Sweep { distance: all + 1, coefficients: cells(12 * all - 60), ..sweep.clone() },
        Sweep { p: cells(all - 1), ..sweep.clone() },
        Sweep { counts: [u64::MAX, 5, 5], ..sweep },
    ] {
        assert!(stream.himeno(&wrong).is_err(), "{wrong:?}");
    }
}

/// The program `fields` compares the numbers.
#[test]
fn a_step_of_water_stays_inside_its_memory() {
    let (mock, [device, _]) = devices("water");
    let stream = device.stream().unwrap();
    let cells = |count: u64| DeviceRange::whole(device.allocate(count * 8).unwrap());
    let fields = || [(); 5].map(|()| cells(49));
    // Four rows of four cells, with the halo of the tracer, which is the widest: two before and one after.
    let step = Water {
        before: fields(),
        after: fields(),
        pitches: [7; 5],
        origins: [16; 5],
        first: [0; 2],
        counts: [4; 2],
        inside: 4,
        row: 95,
        walls: 200,
        constants: [0.5; 5],
    };
    // And with the row at the second wall.
    for good in [step.clone(), Water { counts: [5, 4], walls: 100, ..step.clone() }, Water { counts: [0, 4], ..step.clone() }] {
        stream.water(&good).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(mock.count("kernels"), 2);
    let short = |which: usize| {
        let mut step = step.clone();
        (step.before[which], step.after[which]) = (cells(48), cells(48));
        step
    };
    for wrong in [
        Water { counts: [5, 4], ..step.clone() },
        Water { counts: [6, 4], walls: 101, ..step.clone() },
        Water { counts: [4, 5], ..step.clone() },
        Water { counts: [4, u64::MAX], ..step.clone() },
        Water { origins: [16, 16, 16, 16, 15], ..step.clone() },
        Water { pitches: [7, 7, 7, 7, u64::MAX / 2], ..step.clone() },
        Water { after: short(4).after, ..step.clone() },
        short(0),
        short(4),
    ] {
        assert!(stream.water(&wrong).is_err(), "{wrong:?}");
    }
}

/// The sums of `examples/src/himeno/sweep.rs`, in its order.
#[test]
fn a_stencil_gives_bitwise_what_the_host_gives() {
    const ROW: usize = 8;
    const PLANE: usize = 9 * ROW;
    const ALL: usize = 7 * PLANE;
    let (_mock, [device, _]) = devices("stencil-bits");
    let mut random = fastrand::Rng::with_seed(5);
    let mut cells = |count: usize| (0..count).map(|_| random.f32() * 3.0 - 1.5).collect::<Vec<f32>>();
    let (p, coefficients) = (cells(ALL), cells(12 * ALL));
    let to_device = |cells: &[f32]| {
        let memory = device.allocate(cells.len() as u64 * 4).unwrap();
        memory.write(0, &cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<_>>()).unwrap();
        memory
    };
    let (next, squares) = (to_device(&vec![0.0; ALL]), to_device(&vec![0.0; ALL]));
    let whole = |memory: &Arc<CudaMemory>| DeviceRange::whole(memory.clone());
    let stream = device.stream().unwrap();
    let sweep = Sweep {
        p: whole(&to_device(&p)),
        next: whole(&next),
        squares: whole(&squares),
        coefficients: whole(&to_device(&coefficients)),
        distance: ALL as u64,
        first: (PLANE + ROW + 1) as u64,
        strides: [PLANE as u64, ROW as u64],
        counts: [5, 7, 6],
    };
    stream.himeno(&sweep).unwrap();
    stream.synchronize().unwrap();
    let (mut expected, mut residuals) = (vec![0.0f32; ALL], vec![0.0f32; ALL]);
    for (i, j, k) in (1..6).flat_map(|i| (1..8).flat_map(move |j| (1..7).map(move |k| (i, j, k)))) {
        let at = i * PLANE + j * ROW + k;
        let [a0, a1, a2, a3, b0, b1, b2, c0, c1, c2, bnd, wrk1]: [f32; 12] =
            std::array::from_fn(|array| coefficients[array * ALL + at]);
        let s0 = a0 * p[at + PLANE]
            + a1 * p[at + ROW]
            + a2 * p[at + 1]
            + b0 * (p[at + PLANE + ROW] - p[at + PLANE - ROW] - p[at - PLANE + ROW] + p[at - PLANE - ROW])
            + b1 * (p[at + ROW + 1] - p[at - ROW + 1] - p[at + ROW - 1] + p[at - ROW - 1])
            + b2 * (p[at + PLANE + 1] - p[at - PLANE + 1] - p[at + PLANE - 1] + p[at - PLANE - 1])
            + c0 * p[at - PLANE]
            + c1 * p[at - ROW]
            + c2 * p[at - 1]
            + wrk1;
        let ss = (s0 * a3 - p[at]) * bnd;
        (expected[at], residuals[at]) = (p[at] + 0.8 * ss, ss * ss);
    }
    let bytes = |cells: &[f32]| cells.iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<_>>();
    assert!(contents(&next) == bytes(&expected) && contents(&squares) == bytes(&residuals));
}

#[test]
fn a_device_that_takes_no_kernels_says_so() {
    let (mock, [device, _]) = devices("no-kernels");
    mock.set("no-load", 1);
    let stream = device.stream().unwrap();
    let word = DeviceRange::whole(device.allocate(8).unwrap());
    line(&stream.signal(&word, 1).unwrap_err(), &["cuModuleLoadData", "PTX"]);
    stream.write_value(&word, 1).unwrap();
    // Blocks are moved one by one.
    let memory = device.allocate(100).unwrap();
    let rows = [DeviceBlocks { memory: memory.clone(), offset: 10, blocks: Shape::strided(3, 4, 20) }];
    memory.scatter(&rows, &numbers(12, 1)).unwrap();
    let mut back = [0; 12];
    memory.gather(&rows, &mut back).unwrap();
    assert!(back[..] == numbers(12, 1) && contents(&memory)[30..34] == numbers(12, 1)[4..8]);
}

/// NVRTC needs no GPU: if it is installed, the committed text must equal its output for the source.
#[test]
fn the_kernels_are_made_of_their_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let made = std::process::Command::new("python3").arg(folder.join("generate.py")).output();
    match made {
        Ok(made) if made.status.success() => {
            let text = String::from_utf8(made.stdout).unwrap();
            assert!(text == PTX, "kernels/pelago.ptx is not that of kernels/pelago.cu: python3 generate.py > pelago.ptx");
        }
        Ok(made) if made.status.code() == Some(3) => eprintln!("skipped: {}", String::from_utf8_lossy(&made.stderr).trim()),
        Ok(made) => panic!("{}", String::from_utf8_lossy(&made.stderr)),
        Err(why) => eprintln!("skipped: no Python: {why}"),
    }
    for kernel in ["copy_faces", "signal", "sum_f32", "sum_f64", "sum_u32", "sum_u64", "min_f64", "max_i64", "himeno", "water"] {
        assert!(PTX.contains(&format!(".entry pelago_{kernel}(")), "{kernel}");
    }
    assert!(PTX.contains(".target sm_70\n") && !PTX.contains("fma."), "for old devices too, and without contraction");
}

#[test]
fn all_memory_is_given_back() {
    let (mock, [device, _]) = devices("given-back");
    {
        let memory = device.allocate(100).unwrap();
        let stream = device.stream().unwrap();
        stream.copy(&DeviceRange::whole(memory.clone()), &DeviceRange::whole(device.allocate(100).unwrap())).unwrap();
        drop(memory);
        assert_eq!(mock.count("memories"), 2, "what a stream uses lives until it has ended");
        stream.synchronize().unwrap();
        assert_eq!(mock.count("memories"), 0);
        device.allocate(100).unwrap().write(0, &[1; 100]).unwrap();
        assert_eq!(mock.count("memories"), 1, "pinned memory of the device");
    }
    let driver: &Arc<Driver> = device.driver();
    assert_eq!(driver.devices(), 2);
    drop(device);
    assert_eq!(mock.count("memories"), 0);
}
