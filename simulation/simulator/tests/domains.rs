//! Jobs on machines whose nodes have domains of ranks: which operations they perform, and the results.

use std::cell::RefCell;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::Machine;
use pelago_simulator::Settings;
use pelago_test_support::simulated::{self, run};

/// GPUs of a DGX H100: NVLink 4 by NVSwitches; latency and overhead are assumed.
const H100: &str = "port_gb_per_s = 450.0\nlatency_ns = 700.0\noverhead_ns = 1000.0\natomic_ns = 20.0\n";

fn machine(domain: &str) -> Machine {
    let text = Machine::bundled("fat-tree-ndr").unwrap();
    Machine::parse(&text.replacen("[[rail]]", &format!("[node.domain]\n{domain}\n[[rail]]"), 1)).unwrap()
}

fn settings(ranks: u32, per_node: u32, domain: &str) -> Settings {
    Settings { heap_bytes: 16 << 20, ..simulated::settings_on(machine(domain), ranks, per_node) }
}

/// Returns the time of a put of 1 MiB by rank 0 to `target`, and of a fetch_add.
fn put_and_add(settings: &Settings, target: u32) -> [u64; 2] {
    let outcome = run(settings, |world| {
        let words = world.alloc::<u64>(1 << 17)?;
        world.barrier()?;
        let mut times = [Duration::ZERO; 2];
        if world.rank() == Rank::new(0) {
            let data: Vec<u64> = (0..1 << 17).collect();
            // The flags of the barrier are gone by then.
            world.compute(Duration::from_microseconds(10));
            let start = world.now();
            world.put(words.at(Rank::new(target), 0), &data)?;
            world.quiet()?;
            let put = world.now();
            assert_eq!(world.fetch_add(words.at(Rank::new(target), 5), 10)?.wait()?, 5);
            times = [put - start, world.now() - put];
        }
        world.barrier()?;
        let expected = if u32::from(world.rank()) == target { 15 } else { 0 };
        assert_eq!(words.local().load(5), expected);
        Ok(times)
    });
    assert_eq!((outcome.fault, outcome.failed), (None, None));
    let times = outcome.results.into_iter().next().unwrap().unwrap().unwrap();
    times.map(Duration::as_picoseconds)
}

#[test]
fn ranks_of_a_domain_use_it_and_others_do_not() {
    // 16 pieces of 64 KiB.
    let (piece, steps) = (65_536 * 1000 / 450, 1_000_000 + 2 * 700_000);
    let by_domain = [steps + 16 * piece, steps + 20_000];
    // The engine of the node: 100 ns and 20 GB/s.
    let by_node = [100_000 + (1 << 20) * 50, 100_400];
    let halves = settings(16, 8, &format!("{H100}ranks = 4"));
    assert_eq!(put_and_add(&halves, 3), by_domain);
    assert_eq!(put_and_add(&halves, 4), by_node, "of the other domain of the node");
    assert_eq!(put_and_add(&settings(16, 8, H100), 7), by_domain);
    let [put, _] = put_and_add(&settings(16, 8, H100), 8);
    assert!(put > by_domain[0] * 4, "by the network");
}

#[test]
fn interruptions_of_the_core_delay_the_beginning_of_an_operation() {
    // Cores are interrupted from 600 to 1,000 µs, within the overhead.
    let noise = "[node.noise]\nphases = \"same\"\nperiod_ns = 1e6\nduration_ns = 4e5\n";
    let outcome = run(&settings(2, 2, &format!("{H100}{noise}")), |world| {
        let flag = world.alloc::<u64>(1)?;
        if world.rank() == Rank::new(0) {
            world.compute(Instant::ZERO + Duration::from_nanoseconds(599_500) - world.now());
            world.put(flag.at(Rank::new(1), 0), &[1])?;
        } else {
            world.wait_until(flag.local(), 0, |value| value == 1)?;
        }
        Ok(world.now())
    });
    let seen = outcome.results.into_iter().next_back().unwrap().unwrap().unwrap();
    // Half of the overhead, 8 bytes, and the latency after the interruption.
    assert_eq!(seen.since(Instant::ZERO).as_picoseconds(), 1_000_500_000 + 17 + 700_000);
}

#[test]
fn gets_copies_and_collectives_have_their_results() {
    for domain in [H100.to_owned(), H100.replace("port", "pair"), format!("{H100}ranks = 3")] {
        let outcome = run(&settings(16, 8, &domain), |world| {
            let (me, size) = (u32::from(world.rank()), world.size());
            let words = world.alloc::<u64>(5000)?;
            let other = Rank::new((me + 3) % size);
            world.put(words.at(other, 0), &vec![u64::from(me); 4000])?;
            world.barrier()?;
            assert_eq!(world.get(words.at(other, 3999))?, u64::from(me));
            world.barrier()?;
            // A copy between two other ranks, at the request of this one.
            let [from, to] = [1, 2].map(|step| Rank::new((me + step) % size));
            world.copy(words.at(from, 100), words.at(to, 4000), 500)?.wait()?;
            world.barrier()?;
            let mut sum = [words.local().load(4499)];
            world.allreduce(&mut sum, |one, other| one + other)?;
            Ok(sum[0])
        });
        assert_eq!((outcome.fault, outcome.failed), (None, None));
        assert!(outcome.results.into_iter().all(|result| result.unwrap().unwrap() == 120), "{domain}");
    }
}

#[test]
fn a_fence_holds_within_a_domain() {
    let outcome = run(&settings(2, 2, H100), |world| {
        let words = world.alloc::<u64>(100_001)?;
        world.barrier()?;
        if world.rank() == Rank::new(0) {
            world.put(words.at(Rank::new(1), 0), &vec![7; 100_000])?;
            world.fence()?;
            world.put(words.at(Rank::new(1), 100_000), &[1])?;
        } else {
            world.wait_until(words.local(), 100_000, |flag| flag == 1)?;
            assert_eq!(words.local().load(99_999), 7);
        }
        world.barrier()
    });
    assert_eq!((outcome.fault, outcome.failed), (None, None));
}

#[test]
fn threads_of_the_simulation_do_not_change_it() {
    let job = |threads| {
        let order = RefCell::new(Vec::new());
        let settings = Settings { threads, heap_bytes: 1 << 20, ..settings(320, 4, H100) };
        let outcome = run(&settings, |world| {
            let words = world.alloc::<u64>(1000)?;
            for step in 0..6 {
                let to = Rank::new((u32::from(world.rank()) * 7 + step * 5) % world.size());
                let near = Rank::new(u32::from(world.rank()) ^ (step % 4));
                world.put(words.at(near, 1), &vec![1; 900])?;
                world.put(words.at(to, 1), &vec![1; 500])?;
                world.fetch_add(words.at(near, 0), 1)?.wait()?;
                order.borrow_mut().push((world.rank(), world.now()));
            }
            world.barrier()
        });
        (order.into_inner(), outcome.end, outcome.statistics)
    };
    let expected = job(1);
    assert!(expected.0.len() == 320 * 6 && expected == job(3));
}
