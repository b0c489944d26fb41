//! Jobs on machines whose descriptions state the costs of datagrams on the cores, and the number of cores.

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::Machine;
use pelago_rma::{Result, World};
use pelago_simulator::{Protocol, Settings};
use pelago_test_support::simulated::{self, run};

/// Times of a message in nanoseconds: post, send, latency, receive, and the wake-up of a progress thread.
const POST: u64 = 100;
const SEND: u64 = 2_000;
const WAY: u64 = 500;
const RECEIVE: u64 = 1_000;
const WAKE: u64 = 20_000;

fn settings(ranks: u32, node: &str) -> Settings {
    let datagrams = format!(
        "name = \"costly\"\n{node}\n[node.datagrams]\ndatagram_bytes = 65000\nwindow_bytes = 4000000\npost_ns = {POST}.0\n\
         latency_ns = {WAY}.0\noverlap_ns = 0.0\nwake_ns = {WAKE}.0\nsend = [[1000, {SEND}.0]]\nreceive = [[1000, {RECEIVE}.0]]\n"
    );
    Settings {
        machine: Machine::parse(&datagrams).unwrap(),
        protocol: Some(Protocol::default()),
        ..simulated::settings("rx200-qdr", ranks, ranks)
    }
}

/// Returns the result of each rank.
fn results<T>(settings: &Settings, body: impl Fn(&World) -> Result<T>) -> Vec<T> {
    let outcome = run(settings, body);
    assert_eq!((outcome.fault, outcome.failed), (None, None));
    outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect()
}

/// Returns the round-trip time of a word, after several warm-up round trips.
fn round_trip(world: &World) -> Result<Duration> {
    let ball = world.alloc::<u64>(1)?;
    let (here, there) = (ball.local(), ball.at(Rank::new(1 - world.rank().number()), 0));
    let mut last = Duration::ZERO;
    for value in 1..=20 {
        let start = world.now();
        if world.rank().number() == 0 {
            world.put(there, &[value])?;
            world.wait_until(here, 0, |found| found == value)?;
        } else {
            world.wait_until(here, 0, |found| found == value)?;
            world.put(there, &[value])?;
        }
        last = world.now().since(start);
    }
    Ok(last)
}

#[test]
fn a_word_to_and_fro_keeps_both_ends_busy() {
    let times = results(&settings(2, ""), round_trip);
    assert_eq!(times[0], Duration::from_nanoseconds(2 * (POST + SEND + WAY + RECEIVE)));
}

#[test]
fn puts_that_find_a_message_under_way_share_the_next_one() {
    let times = results(&settings(2, ""), |world| {
        let words = world.alloc::<u64>(64)?;
        world.barrier()?;
        let is_sender = world.rank().number() == 0;
        if is_sender {
            // The datagrams of the barrier are acknowledged by then; the other rank waits in the next barrier.
            world.compute(Duration::from_microseconds(50));
            world.progress();
        }
        let start = world.now();
        if is_sender {
            (0..32).try_for_each(|index| world.put(words.at(Rank::new(1), index), &[1]).map(drop))?;
        }
        let posted = world.now().since(start);
        world.quiet()?;
        world.barrier()?;
        Ok(posted)
    });
    assert_eq!(
        times[0],
        Duration::from_nanoseconds(32 * POST + SEND),
        "the first leaves at once, the others join one that waits"
    );
}

#[test]
fn the_progress_thread_of_a_rank_that_computes_answers_late() {
    let asked = |computes: bool| {
        let times = results(&settings(2, ""), |world| {
            let word = world.alloc::<u64>(1)?;
            world.barrier()?;
            let mut times = Vec::new();
            if world.rank().number() == 0 {
                world.compute(Duration::from_milliseconds(5));
                for _ in 0..4 {
                    let start = world.now();
                    world.get(word.at(Rank::new(1), 0))?;
                    times.push(world.now().since(start));
                }
            } else if computes {
                world.compute(Duration::from_milliseconds(20));
            }
            world.barrier()?;
            Ok(times)
        });
        times[0][3]
    };
    let (waiting, computing) = (asked(false), asked(true));
    assert_eq!(computing, waiting + Duration::from_nanoseconds(WAKE));
}

#[test]
fn ranks_that_share_cores_take_turns() {
    let end = |node: &str| {
        let times = results(&settings(4, node), |world| {
            world.compute(Duration::from_milliseconds(10));
            Ok(world.now())
        });
        times.into_iter().max().unwrap().since(Instant::ZERO).as_nanoseconds()
    };
    let (own, shared) = (10_000_000..10_100_000, 20_000_000..20_100_000);
    let node = |cores: u32| format!("[node]\ncores = {cores}\nswitch_ns = 1000.0");
    let ends = [end(""), end(&node(4)), end(&node(2))];
    assert!(own.contains(&ends[0]) && own.contains(&ends[1]) && shared.contains(&ends[2]), "two at a time, by turns: {ends:?}");
}

#[test]
fn a_rank_that_waits_leaves_its_core_to_others() {
    let job = |node: &str| {
        results(&settings(4, node), |world| {
            let mut sum = 0;
            for _ in 0..20 {
                let mut one = [1_u64];
                world.allreduce(&mut one, |one, other| one + other)?;
                sum += one[0];
            }
            Ok((sum, world.now()))
        })
    };
    let end = |results: Vec<(u64, Instant)>| {
        assert!(results.iter().all(|(sum, _)| *sum == 80));
        results.into_iter().map(|(_, now)| now).max().unwrap()
    };
    let (alone, shared) = (end(job("")), end(job("[node]\ncores = 1\nswitch_ns = 1000.0")));
    assert!(shared > alone, "{shared:?} {alone:?}");
}

/// The timer of a waiting rank may call before its deadline, which moves with each acknowledgement. It is set again, so that what is lost is repeated.
#[test]
fn ranks_that_share_cores_repeat_lost_datagrams() {
    for (seed, cores) in [(1, 1), (2, 2), (3, 4), (4, 1)] {
        let node = format!("[node]\ncores = {cores}\nswitch_ns = 1000.0");
        let lossy = Settings { seed, protocol: Some("loss=0.05".parse().unwrap()), ..settings(4, &node) };
        let sums = results(&lossy, |world| {
            let mut sum = 0;
            for _ in 0..20 {
                let mut one = [1_u64];
                world.allreduce(&mut one, |one, other| one + other)?;
                sum += one[0];
            }
            Ok(sum)
        });
        assert_eq!(sums, [80; 4], "seed {seed}, {cores} cores");
    }
}
