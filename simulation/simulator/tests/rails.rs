//! Striping over several rails in virtual time: the duration of a long transfer, the division of its bytes, and the order of later operations.

use pelago_base::{Duration, Rank};
use pelago_netsim::Machine;
use pelago_rma::{Rail, World};
use pelago_simulator::Settings;
use pelago_test_support::simulated::{self, run};

const BYTES: usize = 1 << 20;

/// Two ranks and a network for each element of `rails`, with its rate in gigabytes per second and its overhead per message in nanoseconds.
fn settings(rails: &[(f64, f64)]) -> Settings {
    let rail = |&(rate, overhead): &(f64, f64)| {
        format!("read_gb_per_s = {rate:?}\nwrite_gb_per_s = inf\ngb_per_s = inf\noverhead_ns = {overhead:?}")
    };
    let rails: Vec<String> = rails.iter().map(rail).collect();
    simulated::settings_by(2, &rails.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns how long a put, and a copy from the other rank, of `bytes` bytes take by each rail and by all.
fn times(rails: &[(f64, f64)], bytes: usize) -> Vec<[Duration; 2]> {
    let outcome = run(&settings(rails), |world| {
        let [here, there] = [0; 2].map(|_| world.alloc::<u8>(BYTES).unwrap());
        let mut times = Vec::new();
        if world.rank() == Rank::new(0) {
            let each = (0..rails.len()).filter_map(Rail::new);
            for rail in each.chain(world.rails().all()) {
                let (own, other) = (here.at(Rank::new(0), 0), there.at(Rank::new(1), 0));
                let mut timed = [Duration::ZERO; 2];
                for (time, [from, to]) in timed.iter_mut().zip([[own, other], [other, own]]) {
                    // The first one establishes connections.
                    world.on(rail).copy(from, to, bytes)?.wait()?;
                    let start = world.now();
                    world.on(rail).copy(from, to, bytes)?.wait()?;
                    *time = world.now() - start;
                }
                times.push(timed);
            }
        }
        world.barrier()?;
        Ok(times)
    });
    outcome.results.into_iter().next().unwrap().unwrap().unwrap()
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_seconds() / other.as_seconds()
}

#[test]
fn two_equal_rails_carry_twice_as_much() {
    for (bytes, least) in [(BYTES, 1.95), (64 << 10, 1.75), (16 << 10, 1.4)] {
        let times = times(&[(2.8, 1000.0); 2], bytes);
        let [one, other, all] = times[..] else { panic!("{times:?}") };
        for way in 0..2 {
            let gain = ratio(one[way].min(other[way]), all[way]);
            assert!((least..2.0).contains(&gain), "{bytes} bytes, way {way}: {gain} times");
        }
    }
    // A short transfer is not divided, and therefore not slower.
    let times = times(&[(2.8, 1000.0); 2], 2048);
    assert_eq!(times[0], times[2]);
}

#[test]
fn unequal_rails_end_together() {
    for rates in [[3.0, 1.0], [1.0, 3.0]] {
        let times = times(&rates.map(|rate| (rate, 1000.0)), BYTES);
        let [one, other, all] = times[..] else { panic!("{times:?}") };
        let gain = ratio(one[0].min(other[0]), all[0]);
        assert!((1.3..1.334).contains(&gain), "{rates:?}: {gain}, at best 4 / 3");
    }
    let times = times(&[(1.0, 1000.0), (2.0, 1000.0), (5.0, 1000.0)], BYTES);
    let gain = ratio(times[2][0], times[3][0]);
    assert!((1.55..1.601).contains(&gain), "three: {gain}, at best 8 / 5");
}

/// The division of bytes among rails: one rail is so slow that the arrival time of a byte shows its rail.
#[test]
fn parts_are_as_the_rates() {
    for (rates, first) in [([1.0, 1.0], BYTES / 2), ([3.0, 1.0], BYTES / 4 * 3), ([1.0, 7.0], BYTES / 8)] {
        let outcome = run(&settings(&[(rates[0], 1000.0), (rates[1], 5e6)]), |world| {
            let memory = world.alloc::<u8>(BYTES)?;
            let mut seen = [0; 2];
            if world.rank() == Rank::new(0) {
                world.on(world.rails().all().unwrap()).put(memory.at(Rank::new(1), 0), &vec![1; BYTES])?;
                world.barrier()?;
            } else {
                // All of the first part has arrived, none of the second.
                world.compute(Duration::from_microseconds(3000));
                seen[0] = memory.local().to_vec().iter().filter(|&&byte| byte == 1).count();
                world.barrier()?;
                seen[1] = memory.local().to_vec().iter().filter(|&&byte| byte == 1).count();
            }
            Ok(seen)
        });
        assert_eq!(outcome.results[1].as_ref().unwrap().as_ref().unwrap(), &[first, BYTES], "{rates:?}");
    }
}

/// An operation that is ordered after a striped put, by a handle, by a fence or as a striped put itself, takes effect after all its parts, even if one
/// rail is slow to begin; and a striped put takes effect after all operations that it is ordered after.
#[test]
fn order_holds_over_rails_of_different_speed() {
    const WORDS: usize = 2000;
    for rails in [[(2.8, 1000.0), (2.8, 100_000.0)], [(2.8, 100_000.0), (2.8, 1000.0)], [(0.001, 1000.0), (2.8, 1000.0)]] {
        let round = |world: &World, round: u64, data, flag| -> pelago_rma::Result<()> {
            let all = world.rails().all().unwrap();
            match round % 4 {
                0 => {
                    let put = world.on(all).put(data, &[round; WORDS])?;
                    world.after(&put).put(flag, &[round])?;
                }
                1 => {
                    world.on(all).put(data, &[round; WORDS])?;
                    world.fence()?;
                    world.put(flag, &[round])?;
                }
                2 => {
                    // Puts by one rail, then by all, to the same words.
                    let before = world.put(data, &[0; WORDS])?;
                    let put = world.after(&before).on(all).put(data, &[round; WORDS])?;
                    world.after(&put).on(all).put(flag, &[round])?;
                }
                _ => {
                    world.on(all).put(data, &[round; WORDS])?;
                    world.after_all().on(Rail::new(1).unwrap()).put(flag, &[round])?;
                }
            }
            Ok(())
        };
        let outcome = run(&settings(&rails), |world| {
            let (data, flag) = (world.alloc::<u64>(WORDS)?, world.alloc::<u64>(1)?);
            for number in 1..=8 {
                if world.rank() == Rank::new(0) {
                    round(world, number, data.at(Rank::new(1), 0), flag.at(Rank::new(1), 0))?;
                } else {
                    world.wait_until(flag.local(), 0, |seen| seen == number)?;
                    assert!(data.local().to_vec() == vec![number; WORDS], "{rails:?}, round {number}");
                }
                world.barrier()?;
            }
            Ok(())
        });
        outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}

#[test]
fn a_machine_has_as_many_rails_as_programs_can_name() {
    let (head, rail) = Machine::bundled("rx200-qdr").unwrap().split_once("[[rail]]").unwrap();
    let of = |rails: usize| Machine::parse(&format!("{head}{}", format!("[[rail]]{rail}\n").repeat(rails)));
    assert_eq!(of(Rail::MAX).unwrap().rails().count(), Rail::MAX);
    assert!(of(Rail::MAX + 1).unwrap_err().to_string().starts_with("rail: 17 rails"));
}
