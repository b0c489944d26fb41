//! Jobs of which only sizes are simulated: the same events and times as with real bytes, but no bytes are moved.

use pelago_base::{Duration, Rank, Shape};
use pelago_rma::{Error, Result, World};
use pelago_simulator::{Data, FaultInjection, Protocol, ReportSettings, Settings, SimulationError, SimulationOutcome, simulate};
use pelago_test_support::simulated::{self, run};

fn settings(machine: &str, ranks: u32, per_node: u32, data: Data) -> Settings {
    let settings = simulated::settings(machine, ranks, per_node);
    Settings { heap_bytes: 64 << 20, data, report: Some(ReportSettings::of("sizes")), ..settings }
}

/// Transfer lengths, both those simulated by size alone and those that move bytes.
const LENGTHS: [usize; 7] = [1, 64, 65, 4096, 4097, 20_000, 100_000];

/// Performs every kind of transfer of every length; returns the number of bytes that arrived at the target, by length and kind.
fn transfers(world: &World) -> Result<Vec<[usize; 7]>> {
    const ROOM: usize = 100_000;
    let right = world.rank().next(world.size());
    let (puts, after, copies) = (world.alloc::<u8>(ROOM)?, world.alloc::<u8>(ROOM)?, world.alloc::<u8>(ROOM)?);
    let (strided, source, flag) = (world.alloc::<u8>(2 * ROOM)?, world.alloc::<u8>(2 * ROOM)?, world.alloc::<u64>(1)?);
    let (own, second) = (world.alloc::<u8>(ROOM)?, right.next(world.size()));
    source.local().fill(7);
    let block = vec![7; 2 * ROOM];
    let mut found = Vec::new();
    for (turn, length) in (1..).zip(LENGTHS) {
        for all in [&puts, &after, &copies, &strided, &own] {
            all.local().fill(0);
        }
        world.barrier()?;
        let packed = Shape::contiguous(length as u64);
        // Five large blocks, with gaps of the same size.
        let part = length.div_ceil(5) as u64;
        let spread = Shape { block: part, counts: [5, 1, 1], strides: [2 * part, 0, 0] };
        let blocks = Shape { block: part, counts: [5, 1, 1], strides: [part, 0, 0] };
        let put = world.put(puts.at(right, 0), &block[..length])?;
        world.after(&put).put(after.at(right, 0), &block[..length])?;
        world.copy(source.at(right, 0), copies.at(second, 0), length)?;
        world.copy(source.at(world.rank(), 0), own.at(right, 0), length)?;
        let room = (5 * part) as usize <= ROOM;
        if room {
            world.put_strided(strided.at(right, 0), spread, &block, blocks)?;
            world.copy_strided(source.at(right, 0), blocks, own.at(second, 0), blocks)?.wait()?;
        }
        world.chain().then(|next| next.put(flag.at(right, 0), &[turn]))?.wait()?;
        world.wait_until(flag.local(), 0, |seen| seen == turn)?;
        let mut got = vec![0; length];
        world.get_into(source.at(right, 0), &mut got)?;
        let mut into = vec![0; 2 * ROOM];
        if room {
            world.get_strided(source.at(right, 0), blocks, &mut into, spread)?;
        }
        world.get_strided(source.at(right, 0), packed, &mut into, packed)?;
        world.barrier()?;
        let count = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == 7).count();
        let here = [&puts, &after, &copies, &strided, &own].map(|all| count(&all.local().to_vec()));
        let [puts, after, copies, strided, own] = here;
        found.push([puts, after, copies, strided, own, count(&got), count(&into)]);
    }
    // Collective operations move their bytes, regardless of the length.
    let (mut sums, mut told) = ([u64::from(world.rank()); 3000], [u64::from(world.rank()); 100]);
    world.allreduce(&mut sums, |one, other| one + other)?;
    world.broadcast(Rank::new(world.size() - 1), &mut told)?;
    let size = u64::from(world.size());
    assert!(sums.iter().all(|&sum| sum == size * (size - 1) / 2) && told.iter().all(|&word| word == size - 1));
    world.fetch_add(flag.at(right, 0), 1)?.wait()?;
    world.compute(Duration::from_microseconds(3));
    Ok(found)
}

#[test]
fn sizes_take_as_long_as_bytes_and_leave_memory_alone() {
    for (machine, ranks, per_node) in
        [("rx200-qdr", 3, 1), ("rx200-qdr", 5, 2), ("fat-tree-ndr", 4, 1), ("dragonfly-slingshot", 6, 2)]
    {
        let [real, sizes] = [Data::Real, Data::Sizes].map(|data| {
            let outcome = run(&settings(machine, ranks, per_node, data), |world| {
                assert_eq!(world.moves_data(), data == Data::Real);
                transfers(world)
            });
            assert_eq!((outcome.fault, outcome.failed), (None, None));
            outcome
        });
        assert_eq!((real.end, &real.statistics), (sizes.end, &sizes.statistics), "{ranks} ranks of {machine}");
        assert_eq!(real.report.unwrap().to_json(), sizes.report.unwrap().to_json());
        for (real, sizes) in real.results.into_iter().zip(sizes.results) {
            let (real, sizes) = (real.unwrap().unwrap(), sizes.unwrap().unwrap());
            for ((length, real), sizes) in LENGTHS.into_iter().zip(real).zip(sizes) {
                assert!(real.iter().all(|&bytes| bytes >= length), "{length}: {real:?}");
                // Among the strided transfers of 64 bytes, those by copies are longer: five blocks of 13.
                let expected = if length < 64 { real } else { [0; 7] };
                let moved = if length == 64 { [64, 64, 64, 0, 64, 64, 64] } else { expected };
                assert_eq!(sizes, moved, "{length}");
            }
        }
    }
}

#[test]
fn as_much_is_under_way_as_with_bytes() {
    // More operations than a context may have in flight, so that some wait for others.
    let program = |world: &World| {
        world.moves_data();
        let room = world.alloc::<u8>(24 << 20)?;
        let block = vec![1; 1 << 20];
        let mut times = Vec::new();
        for index in 0..24 {
            world.put(room.at(world.rank().next(world.size()), index << 20), &block)?;
            times.push(world.now());
        }
        world.barrier()?;
        Ok(times)
    };
    let [real, sizes] = [Data::Real, Data::Sizes].map(|data| run(&settings("rx200-qdr", 2, 1, data), program));
    let times = |outcome: SimulationOutcome<Result<_>>| {
        outcome.results.into_iter().map(|times| times.unwrap().unwrap()).collect::<Vec<Vec<_>>>()
    };
    assert_eq!(real.end, sizes.end);
    let (real, sizes) = (times(real), times(sizes));
    assert_eq!(real, sizes);
    assert!(real[0][0] < real[0][23], "the last have waited");
}

#[test]
fn an_address_that_leads_nowhere_is_found() {
    for data in [Data::Real, Data::Sizes] {
        let outcome = run(&settings("rx200-qdr", 2, 1, data), |world| {
            world.moves_data();
            let room = world.alloc::<u8>(100)?;
            let far = world.alloc::<u8>(1)?.at(Rank::new(1), 0);
            drop(room);
            let mut into = vec![0; 65 << 20];
            let got = world.get_into(far, &mut into);
            let put = world.put(far, &into)?.wait();
            world.barrier()?;
            Ok((got, put))
        });
        let (got, put) = outcome.results.into_iter().next().flatten().unwrap().unwrap();
        assert!(matches!((&got, &put), (Err(Error::Failed(_)), Err(Error::Failed(_)))), "{data:?}: {got:?} {put:?}");
    }
}

#[test]
fn a_program_that_has_not_asked_is_refused() {
    let program = |world: &World| {
        let room = world.alloc::<u8>(1000)?;
        let right = world.rank().next(world.size());
        world.put(room.at(right, 0), &[1; 64])?.wait()?;
        let refused = [
            world.put(room.at(right, 0), &[1; 65]).map(drop),
            world.get_into(room.at(right, 0), &mut [0; 65]),
            world.copy(room.at(right, 0), room.at(right, 100), 65).map(drop),
        ];
        // A put of a rank to its own memory does not use the network.
        world.put(room.at(world.rank(), 200), &[1; 100])?.wait()?;
        assert_eq!(room.local().to_vec()[200..300], [1; 100]);
        world.barrier()?;
        Ok(refused)
    };
    let outcome = run(&settings("rx200-qdr", 2, 1, Data::Sizes), program);
    for result in outcome.results {
        assert_eq!(result.unwrap().unwrap(), [Err(Error::SizesOnly), Err(Error::SizesOnly), Err(Error::SizesOnly)]);
    }
    let outcome = run(&settings("rx200-qdr", 2, 1, Data::Real), program);
    assert_eq!(outcome.results[0].as_ref().unwrap().as_ref().unwrap(), &[Ok(()), Ok(()), Ok(())]);
}

#[test]
fn bytes_are_needed_by_the_protocol_and_by_machines_that_count_pages() {
    let protocol = Some(Protocol { faults: FaultInjection::default(), ..Protocol::default() });
    let refused = |settings: &Settings| simulate(settings, |_| Ok::<_, Error>(())).err();
    assert!(matches!(
        refused(&Settings { protocol, ..settings("rx200-qdr", 2, 1, Data::Sizes) }),
        Some(SimulationError::SizesByProtocol)
    ));
    assert!(matches!(refused(&settings("laptop", 2, 2, Data::Sizes)), Some(SimulationError::SizesOfPages)));
    assert!(refused(&settings("laptop", 2, 2, Data::Real)).is_none());
}
