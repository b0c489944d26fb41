//! Fields in memory of devices: their halos are those of fields in host memory, by every method, and one kernel packs them.

use std::path::Path;
use std::sync::Arc;

use pelago_base::Rank;
use pelago_cuda::mock::MockDriver;
use pelago_cuda::{Device, Driver};
use pelago_halo::{Array, Field, Halo, Method, Nodes, Plan, Route, Settings, Side, Template};
use pelago_kit::MockDevice;
use pelago_rma::{DeviceMemory, Error, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::simulated;
use pelago_test_support::threads::{HEAP_BYTES, PLATFORMS, Platform, run};

const EXCHANGES: u64 = 4;

fn arrays(parts: [usize; 3]) -> [Array<3>; 2] {
    let template = Template::new([7, 6, 5], Nodes::new(parts, [true, false, true]).unwrap()).unwrap();
    let array = |widths| template.align([7, 6, 5], [0; 3]).unwrap().shadow(widths).unwrap();
    [array([[1, 1]; 3]), array([[2, 1], [0, 1], [1, 0]])]
}

/// Sets the cells that a rank owns, for an exchange, in both fields; the host's field is copied to the device, halo included.
fn compute(host: &mut Field<'_, u64, 3>, device: &Field<'_, u64, 3>, exchange: u64) {
    host.for_each(|at, cell| *cell = exchange << 40 | at.iter().fold(0, |number, &at| number << 8 | at as u64));
    let bytes: Vec<u8> = host.cells()[..host.layout().length()].iter().flat_map(|cell| cell.to_le_bytes()).collect();
    device.device().unwrap().write(0, &bytes).unwrap();
}

fn is_equal(host: &Field<'_, u64, 3>, device: &Field<'_, u64, 3>) -> bool {
    let mut bytes = vec![0; host.layout().length() * 8];
    device.device().unwrap().read(0, &mut bytes).unwrap();
    host.cells().iter().flat_map(|cell| cell.to_le_bytes()).eq(bytes)
}

/// Both kinds of fields exchanged side by side, with devices of some driver.
fn examine(world: &World, parts: [usize; 3], settings: &Settings, allocate: impl Fn(u64) -> Arc<dyn DeviceMemory>) {
    let mut hosts: Vec<_> = arrays(parts).iter().map(|array| Field::<u64, 3>::new(world, array).unwrap()).collect();
    let on_device = |host: &Field<'_, u64, 3>| allocate(host.layout().length() as u64 * 8);
    let mut devices: Vec<_> = hosts.iter().map(|host| Field::on_device(world, host.array(), on_device(host)).unwrap()).collect();
    let mut plan = Plan::build(world, &mut hosts, settings).unwrap();
    let mut device_plan = Plan::build(world, &mut devices, settings).unwrap();
    assert!(!device_plan.explain().to_string().is_empty());
    for exchange in 1..=EXCHANGES {
        hosts.iter_mut().zip(&devices).for_each(|(host, device)| compute(host, device, exchange));
        // No border is read before it is computed; the plans need no barrier, the test's own copies from host to device do.
        plan.reflect(&mut hosts).unwrap();
        device_plan.reflect(&mut devices).unwrap();
        assert!(hosts.iter().zip(&devices).all(|(host, device)| is_equal(host, device)), "exchange {exchange} {settings:?}");
    }
    world.barrier().unwrap();
}

fn settings(method: Option<Method>) -> Settings {
    let given = |method| Settings { methods: [Some(method); 4], ..Settings::new(Halo::Corners) };
    method.map_or(Settings::new(Halo::Corners), given)
}

#[test]
fn halos_of_devices_are_those_of_the_host() {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "halo");
    let driver = Driver::open(mock.name()).unwrap();
    for platform in PLATFORMS {
        for parts in [[1, 1, 1], [2, 1, 2], [2, 2, 2]] {
            for method in [None, Some(Method::Packed), Some(Method::Direct), Some(Method::Fetched)] {
                // Trials, and eight threads on few cores, take long.
                let is_long = parts == [2, 2, 2] || (method.is_none() && parts != [2, 1, 2]);
                if is_long && (platform != Platform::Mapped || method.is_none()) {
                    continue;
                }
                let ranks = parts.iter().product::<usize>() as u32;
                // Devices with two numbers: some copies go from one to the other.
                run(platform, ranks, |world| {
                    let device = Device::of(&driver, world.rank().number() % 2).unwrap();
                    examine(world, parts, &settings(method), |bytes| device.allocate(bytes).unwrap());
                });
            }
        }
    }
    assert!(mock.count("kernels") > 0, "borders are packed by kernels");
}

/// A driver without kernels, handles or copies between its devices is enough.
#[test]
fn any_device_memory_holds_a_field() {
    for platform in [Platform::Mapped, Platform::Unruly] {
        run(platform, 4, |world| {
            examine(world, [2, 1, 2], &settings(None), |bytes| MockDevice::new(world.rank().number(), bytes as usize));
        });
    }
}

/// One launch packs the borders of all links and fields of a round, and one unpacks their halos; a face that is waited for alone is unpacked with the halos that
/// have arrived.
#[test]
fn a_packed_exchange_launches_two_kernels_for_each_round() {
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "halo-counts");
    let driver = Driver::open(mock.name()).unwrap();
    for (halo, route, rounds) in
        [(Halo::Faces, None, 1), (Halo::Corners, Some(Route::Direct), 1), (Halo::Corners, Some(Route::Forwarded), 3)]
    {
        for count in [1, 3] {
            run(Platform::Mapped, 1, |world| {
                let device = Device::of(&driver, 0).unwrap();
                let template = Template::new([8, 8, 8], Nodes::new([1; 3], [true; 3]).unwrap()).unwrap();
                let array = template.align([8; 3], [0; 3]).unwrap().shadow([[1, 1]; 3]).unwrap();
                let field = |_| Field::<u32, 3>::on_device(world, &array, device.allocate(4000).unwrap()).unwrap();
                let mut fields: Vec<_> = (0..count).map(field).collect();
                let settings = Settings { methods: [Some(Method::Packed); 4], route, ..Settings::new(halo) };
                let mut plan = Plan::build(world, &mut fields, &settings).unwrap();
                let launched = |exchange: &mut dyn FnMut()| {
                    let before = mock.count("kernels");
                    exchange();
                    mock.count("kernels") - before
                };
                let whole = launched(&mut || plan.reflect(&mut fields).unwrap());
                assert_eq!(whole, 2 * rounds, "{count} fields of {halo:?}, {route:?}");
                let by_face = launched(&mut || {
                    plan.start(&mut fields).unwrap();
                    plan.wait_face(&mut fields, 0, Side::Low).unwrap();
                    plan.wait(&mut fields).unwrap();
                });
                assert!((2 * rounds..=2 * rounds + 1).contains(&by_face), "{by_face} of {count} fields of {halo:?}, {route:?}");
            });
        }
    }
}

/// Halos arrive one after the other, on a network where datagrams overtake each other, and are still unpacked together.
#[test]
fn halos_that_come_at_different_times_are_unpacked_together() {
    const ROUNDS: u64 = 10;
    let mock = MockDriver::new(Path::new(env!("CARGO_TARGET_TMPDIR")), "halo-late");
    let driver = Driver::open(mock.name()).unwrap();
    mock.set("manual", 1);
    let late = simulated::settings_late(4, 3);
    simulated::run_to_the_end(&late, "late", |world| {
        let device = Device::of(&driver, 0).unwrap();
        let template = Template::new([8, 8, 8], Nodes::new([2, 2, 1], [true; 3]).unwrap()).unwrap();
        let array = template.align([8; 3], [0; 3]).unwrap().shadow([[1, 1]; 3]).unwrap();
        let field = |_| Field::<u32, 3>::on_device(world, &array, device.allocate(4000).unwrap());
        let mut fields = (0..2).map(field).collect::<pelago_rma::Result<Vec<_>>>()?;
        let settings =
            Settings { methods: [Some(Method::Packed); 4], route: Some(Route::Direct), ..Settings::new(Halo::Corners) };
        let mut plan = Plan::build(world, &mut fields, &settings)?;
        world.barrier()?;
        let before = mock.count("kernels");
        world.barrier()?;
        (0..ROUNDS).try_for_each(|_| plan.reflect(&mut fields))?;
        world.barrier()?;
        assert_eq!(mock.count("kernels") - before, 2 * ROUNDS * 4, "one packs and one unpacks");
        world.barrier()
    });
}

#[test]
fn what_a_device_cannot_do_is_told() {
    run(Platform::Mapped, 2, |world| {
        let [array, _] = arrays([2, 1, 1]);
        // One rank has too little memory: all get the error.
        let bytes = if world.rank() == Rank::new(0) { 64 } else { 1 << 20 };
        assert!(matches!(Field::<u64, 3>::on_device(world, &array, MockDevice::new(0, bytes)), Err(Error::Invalid(_))));
        // No heap holds the memory of one rank: it cannot be registered.
        let (is_first, long) = (world.rank() == Rank::new(0), 2 * HEAP_BYTES as usize);
        let refused =
            Field::<u64, 3>::on_device(world, &array, MockDevice::new(0, if is_first { long } else { 1 << 20 })).map(drop);
        assert!(refused.is_err() && is_first != matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
        let device = MockDevice::new(0, 1 << 20);
        let mut fields = [Field::<u64, 3>::on_device(world, &array, device.clone()).unwrap()];
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| fields[0].cells().len())).is_err());
        let settings = Settings { methods: [Some(Method::Packed); 4], ..Settings::new(Halo::Faces) };
        let mut plan = Plan::build(world, &mut fields, &settings).unwrap();
        world.barrier().unwrap();
        device.fail(true);
        world.barrier().unwrap();
        assert!(matches!(plan.reflect(&mut fields), Err(Error::Failed(_))), "the device failed");
        world.barrier().unwrap();
    });
}

/// The device of one rank fails: its neighbours do not wait for its borders, nor theirs for them.
#[test]
fn a_device_that_fails_ends_the_exchange_on_all_ranks() {
    for platform in [Platform::Mapped, Platform::Fabric, Platform::Unruly] {
        for method in Method::ALL {
            run(platform, 5, |world| {
                let template = Template::new([15, 2, 2], Nodes::new([5, 1, 1], [false; 3]).unwrap()).unwrap();
                let array = template.align([15, 2, 2], [0; 3]).unwrap().shadow([[1, 1], [0, 0], [0, 0]]).unwrap();
                let device = MockDevice::new(0, 1 << 20);
                let mut fields = [Field::<u64, 3>::on_device(world, &array, device.clone()).unwrap()];
                let mut plan = Plan::build(world, &mut fields, &settings(Some(method))).unwrap();
                plan.reflect(&mut fields).unwrap();
                world.barrier().unwrap();
                device.fail(world.rank() == Rank::new(4));
                // A rank whose neighbours do not fail completes some exchanges.
                let ended = (0..20).try_for_each(|_| plan.reflect(&mut fields));
                assert!(matches!(ended, Err(Error::Failed(_) | Error::Invalid(_))), "{platform:?}, {method}: {ended:?}");
                world.barrier().unwrap();
            });
        }
    }
}

/// The device of a rank fails in one of the trials: ranks that have ended this trial do not wait for it in the next one.
#[test]
fn a_device_that_fails_in_a_trial_ends_the_build_on_all_ranks() {
    for (platform, ranks) in [(Platform::Mapped, 2), (Platform::Remote, 2), (Platform::Remote, 5)] {
        for accesses in (0..60).step_by(4) {
            run(platform, ranks, |world| {
                let cells = [3 * ranks as usize, 2, 2];
                let template = Template::new(cells, Nodes::new([ranks as usize, 1, 1], [false; 3]).unwrap()).unwrap();
                let array = template.align(cells, [0; 3]).unwrap().shadow([[1, 1], [0, 0], [0, 0]]).unwrap();
                let device = MockDevice::new(0, 1 << 20);
                let mut fields = [Field::<u64, 3>::on_device(world, &array, device.clone()).unwrap()];
                world.barrier().unwrap();
                if world.rank() == Rank::new(0) {
                    device.fail_after(accesses);
                }
                let built = Plan::build(world, &mut fields, &Settings::new(Halo::Faces)).map(drop);
                assert!(matches!(built, Ok(()) | Err(Error::Failed(_) | Error::Invalid(_))), "{built:?}");
                let mut failed = [u64::from(built.is_err())];
                world.allreduce(&mut failed, |one, other| one + other).unwrap();
                assert!([0, u64::from(ranks)].contains(&failed[0]), "{platform:?}, {ranks}, {accesses}: {failed:?}");
                assert!(failed != [0] || accesses > 0);
                device.fail(false);
                world.barrier().unwrap();
            });
        }
    }
}

#[test]
fn an_earlier_failure_stops_no_plan() {
    run(Platform::Remote, 2, |world| {
        let [array, _] = arrays([2, 1, 1]);
        let mut hosts = [after_a_failure(world, || Field::<u64, 3>::new(world, &array).unwrap())];
        let device = MockDevice::new(0, 1 << 20);
        let mut devices = [after_a_failure(world, || Field::<u64, 3>::on_device(world, &array, device).unwrap())];
        after_a_failure(world, || Plan::build(world, &mut hosts, &Settings::new(Halo::Faces)).map(drop).unwrap());
        after_a_failure(world, || Plan::build(world, &mut devices, &Settings::new(Halo::Faces)).map(drop).unwrap());
        world.barrier().unwrap();
    });
}
