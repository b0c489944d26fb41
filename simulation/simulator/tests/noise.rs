//! Jobs on machines whose operating system interrupts the cores of ranks.

use std::cell::RefCell;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::Machine;
use pelago_rma::{Result, World};
use pelago_simulator::{Protocol, Settings};
use pelago_test_support::simulated::{self, run};

/// A put of 8 bytes on `rx200-qdr`: the overhead, and the time from the NIC to the target.
const OVERHEAD: Duration = Duration::from_nanoseconds(1000);
const WAY: Duration = Duration::from_picoseconds(156_414);

/// Interruptions of all cores from 600 to 1,000 µs, from 1,600 to 2,000 µs, and so on.
const LONG: &str = "phases = \"same\"\nperiod_ns = 1e6\nduration_ns = 4e5";

/// Returns the settings of a job on `rx200-qdr` with other tables, and with interruptions unless `noise` is empty.
fn settings(ranks: u32, per_node: u32, node: &str, noise: &str) -> Settings {
    let noise = if noise.is_empty() { String::new() } else { format!("[node.noise]\n{noise}\n") };
    let text = Machine::bundled("rx200-qdr").unwrap().replace("[[rail]]", &format!("{node}\n{noise}[[rail]]"));
    simulated::settings_on(Machine::parse(&text).unwrap(), ranks, per_node)
}

/// Returns the result of each rank.
fn results<T>(settings: &Settings, body: impl Fn(&World) -> Result<T>) -> Vec<T> {
    let outcome = run(settings, body);
    assert_eq!((outcome.fault, outcome.failed), (None, None));
    outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect()
}

fn micros(count: u64) -> Duration {
    Duration::from_microseconds(count)
}

fn at(nanoseconds: u64) -> Instant {
    Instant::ZERO + Duration::from_nanoseconds(nanoseconds)
}

/// Lets a rank compute until a time, or as much longer as it is interrupted.
fn compute_until(world: &World, nanoseconds: u64) {
    world.compute(at(nanoseconds) - world.now());
}

#[test]
fn computing_is_lengthened_by_each_interruption() {
    for (noise, computing, interrupted) in [
        ("phases = \"same\"\nperiod_ns = 1e5\nduration_ns = 1e4", 89, 0),
        ("phases = \"same\"\nperiod_ns = 1e5\nduration_ns = 1e4", 90, 10),
        // 90 µs of each 100 are for computing: eleven interruptions.
        ("phases = \"same\"\nperiod_ns = 1e5\nduration_ns = 1e4", 1000, 110),
        // 30 of each 50 µs, and 10 before the first interruption of each repetition.
        ("phases = \"same\"\ntrace_ns = 5e4\ntrace = [[1e4, 5e3], [3e4, 1.5e4]]", 9, 0),
        ("phases = \"same\"\ntrace_ns = 5e4\ntrace = [[1e4, 5e3], [3e4, 1.5e4]]", 24, 5),
        ("phases = \"same\"\ntrace_ns = 5e4\ntrace = [[1e4, 5e3], [3e4, 1.5e4]]", 300 + 26, 10 * 20 + 20),
        ("", 1000, 0),
    ] {
        let times = results(&settings(3, 1, "", noise), |world| {
            world.compute(micros(computing));
            Ok(world.now())
        });
        assert_eq!(times, [Instant::ZERO + micros(computing + interrupted); 3], "{noise}: {computing}");
    }
}

#[test]
fn random_places_follow_from_the_seed() {
    let job = |seed| {
        let settings = Settings { seed, ..settings(20, 2, "", "period_ns = 1e5\nduration_ns = 1e4") };
        results(&settings, |world| {
            world.compute(micros(945));
            Ok(world.now())
        })
    };
    let (first, other) = (job(1), job(2));
    assert_eq!(first, job(1));
    assert_ne!(first, other);
    for time in first.iter().chain(&other) {
        // Ten and a half times the work between two interruptions. A rank may begin within one, and wait for others that do so.
        let lost = time.since(Instant::ZERO + micros(945));
        assert!((micros(100)..=micros(130)).contains(&lost), "{lost:?}");
    }
    let distinct = first.iter().collect::<std::collections::BTreeSet<_>>().len();
    assert!(distinct >= 2, "{first:?}");
}

/// The resonance of Petrini et al. (SC 2003): with barriers, interruptions at different times cost as much as one of each step; interruptions at
/// the same time cost as much as those of one rank.
#[test]
fn barriers_collect_interruptions_that_are_not_at_the_same_time() {
    const STEPS: u64 = 100;
    let lost = |ranks, noise: &str| {
        let end = |noise: &str| {
            let times = results(&settings(ranks, 1, "", noise), |world| {
                for _ in 0..STEPS {
                    world.compute(micros(200));
                    world.barrier()?;
                }
                Ok(world.now())
            });
            times.into_iter().max().unwrap()
        };
        let lost = end(noise).since(end(""));
        lost.as_nanoseconds() as f64 / STEPS as f64 / 50_000.0
    };
    let interruptions = "period_ns = 1e6\nduration_ns = 5e4";
    let same = format!("phases = \"same\"\n{interruptions}");
    // A core is interrupted in each fifth step. At random, some rank is interrupted in each step, and some ranks once more as they continue.
    let (alone, together, random) = (lost(1, &same), lost(16, &same), lost(16, interruptions));
    println!("interruptions for each step: alone {alone:.3}, at the same time {together:.3}, at random {random:.3}");
    assert!((0.20..0.22).contains(&alone));
    assert!((0.20..0.23).contains(&together));
    assert!((0.9..1.3).contains(&random));
}

#[test]
fn a_rank_continues_and_posts_after_the_interruption() {
    for (put_at, seen_at) in [
        // On its way before the interruption, seen after it.
        (598_900, at(1_000_000)),
        // Half of the overhead is before the interruption.
        (599_500, at(1_000_500) + WAY),
        (500_000, at(500_000) + OVERHEAD + WAY),
    ] {
        let times = results(&settings(2, 1, "", LONG), |world| {
            let flag = world.alloc::<u64>(1)?;
            if world.rank() == Rank::new(0) {
                compute_until(world, put_at);
                world.put(flag.at(Rank::new(1), 0), &[1])?;
                return Ok(Instant::ZERO);
            }
            world.wait_until(flag.local(), 0, |value| value == 1)?;
            Ok(world.now())
        });
        assert_eq!(times[1], seen_at, "put at {put_at}");
    }
}

#[test]
fn network_interfaces_are_not_interrupted() {
    let time = |noise| {
        let times = results(&settings(2, 1, "", noise), |world| {
            let words = world.alloc::<u64>(100_000)?;
            world.barrier()?;
            if world.rank() == Rank::new(1) {
                return Ok(Duration::ZERO);
            }
            compute_until(world, 300_000);
            // Some 290 µs, until 590 µs.
            world.put(words.at(Rank::new(1), 0), &vec![7; 100_000])?;
            world.quiet()?;
            let early = world.now();
            assert!(early < at(600_000), "{early:?}");
            world.put(words.at(Rank::new(1), 0), &vec![7; 100_000])?;
            world.quiet()?;
            Ok(world.now() - early)
        });
        times[0]
    };
    let quiet = time("");
    assert!(quiet < micros(400), "{quiet:?}");
    // The second put ends within the interruption, at the end of which its rank sees that.
    assert!(time(LONG) <= micros(1000) && time(LONG) > quiet);
}

#[test]
fn calls_are_lengthened_and_progress_threads_are_not() {
    let software = |submission: &str| format!("[node.software]\nsubmission = \"{submission}\"\ncall_ns = 1e5\nqueue_ns = 5e4\n");
    // The call begins 5 µs before the interruption and takes 100 µs.
    let called = at(1_095_000);
    for (submission, overhead_at) in [("direct", called), ("progress-thread", called + micros(50)), ("bypass", called)] {
        let times = results(&settings(2, 1, &software(submission), LONG), |world| {
            let flag = world.alloc::<u64>(1)?;
            if world.rank() == Rank::new(0) {
                compute_until(world, 595_000);
                world.put(flag.at(Rank::new(1), 0), &[1])?;
            } else {
                world.wait_until(flag.local(), 0, |value| value == 1)?;
            }
            Ok(world.now())
        });
        assert_eq!(times, [called, overhead_at + OVERHEAD + WAY], "{submission}");
    }
    // The core instructs the NIC within the next interruption; the progress thread does so beside it.
    let software = |submission: &str| software(submission).replace("queue_ns = 5e4", "queue_ns = 4.1e5");
    let times = results(&settings(2, 1, &software("progress-thread"), LONG), |world| {
        let flag = world.alloc::<u64>(1)?;
        if world.rank() == Rank::new(0) {
            // Joining the job takes some calls.
            while world.now() < at(3_000_000) {
                world.compute(micros(1));
            }
            compute_until(world, 3_090_000);
            world.put(flag.at(Rank::new(1), 0), &[1])?;
            return Ok(Instant::ZERO);
        }
        world.wait_until(flag.local(), 0, |value| value == 1)?;
        Ok(world.now())
    });
    assert_eq!(times[1], at(4_000_000), "it arrives at 3,601 µs and is seen at the end of the interruption");
}

#[test]
fn cores_that_ranks_share_have_the_interruptions() {
    let end = |noise: &str| {
        let node = "cores = 2\nswitch_ns = 0.0";
        let times = results(&settings(4, 4, node, noise), |world| {
            world.compute(Duration::from_milliseconds(10));
            Ok(world.now())
        });
        times.into_iter().max().unwrap()
    };
    assert_eq!(end(""), at(20_000_000));
    // A core works for 0.9 of each ms.
    assert_eq!(end("phases = \"same\"\nperiod_ns = 1e6\nduration_ns = 1e5"), at(22_200_000));
}

#[test]
fn messages_keep_interrupted_cores_busy() {
    let costs = "name = \"costly\"\n[node.datagrams]\ndatagram_bytes = 65000\nwindow_bytes = 4000000\npost_ns = 100.0\nlatency_ns = 500.0\n\
                 overlap_ns = 0.0\nwake_ns = 20000.0\nsend = [[1000, 2000.0]]\nreceive = [[1000, 1000.0]]\n";
    let machine = Machine::parse(&format!("{costs}[node.noise]\n{LONG}\n")).unwrap();
    let settings = Settings { protocol: Some(Protocol::default()), ..simulated::settings_on(machine, 2, 2) };
    // Post, send, latency, receive: 0.1, 2, 0.5 and 1 µs, of which the interruption divides one.
    for (put_at, seen_at) in [(500_000, 503_600), (599_000, 1_002_600), (597_000, 1_000_600)] {
        let times = results(&settings, |world| {
            let flag = world.alloc::<u64>(1)?;
            world.barrier()?;
            if world.rank() == Rank::new(0) {
                compute_until(world, put_at);
                world.put(flag.at(Rank::new(1), 0), &[1])?;
                return Ok(Instant::ZERO);
            }
            world.wait_until(flag.local(), 0, |value| value == 1)?;
            Ok(world.now())
        });
        assert_eq!(times[1], at(seen_at), "put at {put_at}");
    }
}

#[test]
fn shared_memory_is_written_by_interrupted_cores() {
    let text = "name = \"m\"\n[node.shared]\nvisible_ns = 50\natomic_ns = 7\nput = [[8, 2000]]\nget = [[8, 9]]\n[node.noise]\n";
    let machine = Machine::parse(&format!("{text}{LONG}\n")).unwrap();
    let times = results(&simulated::settings_on(machine, 2, 2), |world| {
        let flag = world.alloc::<u64>(1)?;
        if world.rank() == Rank::new(0) {
            compute_until(world, 599_000);
            world.put(flag.at(Rank::new(1), 0), &[1])?;
        } else {
            world.wait_until(flag.local(), 0, |value| value == 1)?;
        }
        Ok(world.now())
    });
    assert_eq!(times, [at(1_001_000), at(1_001_050)]);
}

#[test]
fn threads_of_the_simulation_do_not_change_it() {
    let text = Machine::bundled("fat-tree-ndr").unwrap();
    let text = text.replacen("[[rail]]", "[node.noise]\nperiod_ns = 1e4\nduration_ns = 2e3\n\n[[rail]]", 1);
    let machine = Machine::parse(&text).unwrap();
    let job = |threads| {
        let order = RefCell::new(Vec::new());
        let settings = Settings { threads, heap_bytes: 1 << 20, ..simulated::settings_on(machine.clone(), 160, 2) };
        let outcome = run(&settings, |world| {
            let words = world.alloc::<u64>(1000)?;
            for step in 0..8 {
                let to = Rank::new((u32::from(world.rank()) * 7 + step * 5) % world.size());
                world.compute(micros(3));
                world.put(words.at(to, 1), &vec![1; 500])?;
                world.fetch_add(words.at(to, 0), 1)?.wait()?;
                order.borrow_mut().push((world.rank(), world.now()));
            }
            world.barrier()
        });
        (order.into_inner(), outcome.end, outcome.statistics)
    };
    let expected = job(1);
    assert!(expected.0.len() == 160 * 8 && expected == job(3));
}
