//! Whole jobs on a simulated machine.

use std::cell::{Cell, RefCell};

use pelago_base::{Duration, Event, Instant, Rank};
use pelago_netsim::Machine;
use pelago_platform::{Fault, For, Woken};
use pelago_rma::{Error, World};
use pelago_simulator::{
    Computing, FaultError, FaultInjection, Protocol, ReportSettings, Settings, SimulationError, VIRTUAL_TIME_MAX, simulate,
};
use pelago_test_support::simulated::{self, run};

fn settings(ranks: u32, per_node: u32) -> Settings {
    simulated::settings("rx200-qdr", ranks, per_node)
}

#[test]
fn every_rank_computes_with_the_others() {
    for (ranks, per_node) in [(1, 1), (2, 1), (2, 2), (7, 2), (32, 2), (33, 8)] {
        let outcome = run(&settings(ranks, per_node), |world| {
            let counter = world.alloc::<u64>(2)?;
            world.fetch_add(counter.at(Rank::new(0), 0), 1 + u64::from(world.rank()))?.wait()?;
            let right = world.rank().next(world.size());
            world.put(counter.at(right, 1), &[u64::from(world.rank())])?;
            world.barrier()?;
            let mut sum = [counter.local().load(1)];
            world.allreduce(&mut sum, |one, other| one + other)?;
            Ok((sum[0], world.get(counter.at(Rank::new(0), 0))?))
        });
        let all = u64::from(ranks);
        for result in outcome.results {
            assert_eq!(result.unwrap().unwrap(), (all * (all - 1) / 2, all * (all + 1) / 2), "{ranks} ranks");
        }
        assert_eq!((outcome.fault, outcome.failed, outcome.stuck), (None, None, Vec::new()));
    }
}

#[test]
fn computing_takes_the_time_that_it_is_said_to_take() {
    let outcome = run(&settings(3, 1), |world| {
        world.compute(Duration::from_microseconds(100 * (1 + u64::from(world.rank()))));
        let mine = world.now();
        world.barrier()?;
        Ok((mine, world.now()))
    });
    let times: Vec<(Instant, Instant)> = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect();
    for (index, (mine, after)) in times.iter().enumerate() {
        assert_eq!(mine.since(Instant::ZERO), Duration::from_microseconds(100 * (1 + index as u64)));
        let barrier = after.since(Instant::ZERO + Duration::from_microseconds(300));
        assert!((1..10).contains(&(barrier.as_nanoseconds() / 1000)), "after the slowest: {barrier:?}");
    }
}

/// A rank issues no more operations than its NIC holds, and sleeps once for a quarter of them; the result and the time are those of a long queue.
#[test]
fn a_full_send_queue_lets_a_rank_sleep_once_for_many_operations() {
    const PUTS: u64 = 1000;
    let job = |queue: u32| {
        let machine = Machine::bundled("rx200-qdr").unwrap().replace("[rail.nic]", &format!("[rail.nic]\nsend_queue = {queue}"));
        let outcome = run(&simulated::settings_on(Machine::parse(&machine).unwrap(), 2, 1), |world| {
            let words = world.alloc::<u64>(PUTS as usize)?;
            let mut sleeps = 0;
            if world.rank() == Rank::new(0) {
                let before = world.counters().of(Event::Parked);
                for word in 0..PUTS {
                    world.put(words.at(Rank::new(1), word as usize), &[word])?;
                }
                sleeps = world.counters().of(Event::Parked) - before;
                world.quiet()?;
            }
            world.barrier()?;
            if world.rank() == Rank::new(1) {
                assert!((0..PUTS).all(|word| words.local().load(word as usize) == word));
            }
            Ok((sleeps, world.now()))
        });
        let first = outcome.results.into_iter().next().unwrap();
        first.unwrap().unwrap()
    };
    let (sleeps, long) = job(2000);
    assert_eq!(sleeps, 0);
    let (sleeps, short) = job(256);
    assert_eq!(short, long);
    let quarters = (PUTS - 256) / 64;
    assert!((quarters..=quarters + 2).contains(&sleeps), "{sleeps} sleeps");
    // A queue that is shorter than the round trip.
    let (sleeps, slow) = job(1);
    assert!(sleeps <= PUTS && slow > long, "{sleeps} sleeps");
}

#[test]
fn the_same_job_has_the_same_events() {
    let job = || {
        let order = RefCell::new(Vec::new());
        let outcome = run(&settings(24, 2), |world| {
            let words = world.alloc::<u64>(64)?;
            for step in 0..20 {
                let to = Rank::new((u32::from(world.rank()) * 7 + step * 5) % world.size());
                world.put(words.at(to, step as usize), &[u64::from(step)])?;
                world.fetch_add(words.at(to, 63), 1)?.wait()?;
                order.borrow_mut().push((world.rank(), world.now()));
            }
            world.barrier()
        });
        (order.into_inner(), outcome.end, format!("{:?}", outcome.statistics))
    };
    let first = job();
    assert!(first.0.len() == 480 && first == job());
}

/// Jobs on a network that several threads simulate: operations of all kinds within and between nodes, waits, and operations that nobody waits for.
#[test]
fn several_threads_simulate_the_same_job() {
    let job = |threads| {
        let order = RefCell::new(Vec::new());
        let report = Some(ReportSettings::of("job"));
        let settings = Settings { threads, report, heap_bytes: 1 << 20, ..simulated::settings("fat-tree-ndr", 160, 2) };
        let outcome = run(&settings, |world| {
            let words = world.alloc::<u64>(1000)?;
            let mine = vec![u64::from(world.rank()); 900];
            for step in 0..8 {
                let to = Rank::new((u32::from(world.rank()) * 7 + step * 5) % world.size());
                world.put(words.at(to, 1), &mine[..100 * (1 + step as usize)])?;
                world.fetch_add(words.at(to, 0), 1)?.wait()?;
                let seen = world.get(words.at(to, 1))?;
                order.borrow_mut().push((world.rank(), world.now(), seen));
                if step % 4 == 3 {
                    world.barrier()?;
                }
            }
            // Nobody waits for its end.
            world.put(words.at(world.rank().next(world.size()), 1), &mine).map(drop)
        });
        let report = outcome.report.expect("one was asked for").to_json();
        (order.into_inner(), outcome.end, outcome.statistics, report)
    };
    let expected = job(1);
    assert_eq!(expected.0.len(), 160 * 8);
    for threads in [2, 5] {
        let divided = job(threads);
        assert!(divided.0 == expected.0, "{threads} threads: other values, or at other times");
        assert_eq!((divided.1, &divided.2), (expected.1, &expected.2), "{threads} threads");
        assert!(divided.3 == expected.3, "{threads} threads: another report");
    }
}

/// Checking a condition may take time, as it does here. A word that arrives after it was checked and before the rank stops is not missed.
#[test]
fn what_comes_while_a_rank_looks_is_not_missed() {
    for micros in (10..400).step_by(20) {
        let outcome = run(&settings(2, 1), |world| {
            let flag = world.alloc::<u64>(1)?;
            world.barrier()?;
            if world.rank() == Rank::new(0) {
                world.wait_until(flag.local(), 0, |value| {
                    world.compute(Duration::from_microseconds(100));
                    value == 7
                })?;
            } else {
                world.compute(Duration::from_microseconds(micros));
                world.put(flag.at(Rank::new(0), 0), &[7])?;
            }
            world.barrier()
        });
        assert_eq!((outcome.fault, outcome.stuck), (None, Vec::new()), "a word that came {micros} us later");
    }
}

/// The event of a deadline serves later waits, so that a loop of waits that end before their deadlines needs no memory for each.
#[test]
fn waits_that_end_before_their_deadlines_leave_no_events() {
    const ROUNDS: u64 = 1000;
    let job = |limits: Option<[u64; 2]>, protocol: Option<Protocol>| {
        let outcome = run(&Settings { protocol, ..settings(2, 1) }, |world| {
            let flag = world.alloc::<u64>(1)?;
            for round in 1..=ROUNDS {
                let limit = limits.map(|limits| Duration::from_milliseconds(limits[round as usize % 2]));
                if world.rank() == Rank::new(1) {
                    world.put(flag.at(Rank::new(0), 0), &[round])?;
                }
                world.wait_for_value("a round", limit, flag.local(), 0, |value| value == round)?;
                if world.rank() == Rank::new(0) {
                    world.put(flag.at(Rank::new(1), 0), &[round])?;
                }
            }
            world.barrier()
        });
        assert!(outcome.results.iter().all(|result| matches!(result, Some(Ok(())))), "{:?}", outcome.fault);
        (outcome.end, outcome.statistics.events)
    };
    for protocol in [None, Some(Protocol::default())] {
        let (end, events) = job(None, protocol.clone());
        for limits in [[100_000, 100_000], [1000, 100_000]] {
            let (same_end, with_deadlines) = job(Some(limits), protocol.clone());
            assert_eq!(end, same_end);
            assert!(with_deadlines < events + ROUNDS / 10, "{with_deadlines} events, {events} without deadlines");
        }
    }
}

/// Acknowledgements are due often, repetitions late: a deadline that moves back and forth needs no further event for the late time.
#[test]
fn deadlines_of_datagrams_share_events() {
    const ROUNDS: u64 = 1000;
    let outcome = run(&Settings { protocol: Some(Protocol::default()), ..settings(2, 1) }, |world| {
        let flag = world.alloc::<u64>(1)?;
        for round in 1..=ROUNDS {
            world.compute(Duration::from_microseconds(100));
            world.put(flag.at(world.rank().next(2), 0), &[round])?;
        }
        world.barrier()
    });
    assert_eq!(outcome.fault, None);
    // With an event for each, there are more than 31 per round.
    assert!(outcome.statistics.events < 29 * ROUNDS, "{} events", outcome.statistics.events);
}

#[test]
fn ranks_that_wait_for_ever_are_a_deadlock() {
    let outcome = run(&settings(4, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        if u32::from(world.rank()) % 2 == 1 {
            world.wait_until(flag.local(), 0, |value| value == 7)?;
        }
        world.barrier()
    });
    assert_eq!(outcome.fault, Some(Fault::Deadlock));
    assert_eq!(outcome.stuck.iter().map(|(rank, _)| u32::from(*rank)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(outcome.results.iter().all(|result| matches!(result, Some(Err(Error::Fault(Fault::Deadlock))))));
}

#[test]
fn a_rank_that_fails_is_lost_to_the_others() {
    let outcome = run(&settings(4, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        if u32::from(world.rank()) == 2 {
            world.compute(Duration::from_microseconds(50));
            return Err(Error::Disagreement("something of its own"));
        }
        world.wait_until(flag.local(), 0, |value| value == 7)?;
        Ok(())
    });
    assert_eq!((outcome.failed, outcome.fault), (Some(Rank::new(2)), Some(Fault::PeerLost(Rank::new(2)))));
    for (rank, result) in outcome.results.into_iter().enumerate() {
        let expected =
            if rank == 2 { Error::Disagreement("something of its own") } else { Error::Fault(Fault::PeerLost(Rank::new(2))) };
        assert_eq!(result.unwrap().unwrap_err().to_string(), expected.to_string());
    }
}

/// Rank 1 fails when the others have waited for the end of the job for long.
#[test]
fn ranks_do_not_wait_at_the_end_for_one_that_fails_then() {
    let outcome = run(&settings(3, 1), |world| {
        world.on_peer_lost(|_| ());
        if world.rank() == Rank::new(1) {
            world.compute(Duration::from_microseconds(50));
            return Err(Error::ForeignHandle);
        }
        Ok(())
    });
    assert_eq!((outcome.failed, outcome.fault, outcome.stuck), (Some(Rank::new(1)), None, Vec::new()));
    let ended: Vec<_> = outcome.results.into_iter().map(Option::unwrap).collect();
    assert_eq!(ended, [Ok(()), Err(Error::ForeignHandle), Ok(())]);
}

/// Rank 0 dies at the end of the job, where it waits for the others: it does not count as one of those for whom rank 1 waits.
#[test]
fn a_rank_that_dies_at_the_end_of_the_job_is_not_one_of_those_that_are_there() {
    let faults = FaultInjection {
        deaths: vec![(Rank::new(0), Instant::ZERO + Duration::from_microseconds(500))],
        announced_after: Some(Duration::from_microseconds(1)),
        ..FaultInjection::default()
    };
    let protocol = Some(Protocol { faults, ..Protocol::default() });
    let ends = RefCell::new(Vec::new());
    let outcome = simulate(&Settings { protocol, ..settings(3, 1) }, |parts| {
        let clock = parts.clock.clone();
        let world = World::new(*parts)?;
        let number = u64::from(world.rank());
        world.on_peer_lost(|_| ());
        world.compute(Duration::from_microseconds(1000 * number));
        world.finish()?;
        ends.borrow_mut().push((number, clock.now().since(Instant::ZERO).as_nanoseconds() / 1_000_000));
        Ok::<_, Error>(())
    });
    assert_eq!((outcome.unwrap().fault, ends.into_inner()), (None, vec![(2, 2), (1, 2)]));
}

/// The time that such a job takes grows with the number of ranks, and not with its square.
#[test]
fn many_ranks_learn_of_a_fault() {
    let many = Settings { heap_bytes: 4096, ..settings(1 << 17, 1 << 17) };
    let outcome = simulate(&many, |parts| {
        loop {
            if let Woken::Fault(fault) = parts.wait.park(For::Anything, None, &mut || false) {
                return Err::<(), _>(fault);
            }
        }
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.fault, outcome.stuck.len()), (Some(Fault::Deadlock), 1 << 17));
    assert!(outcome.results.iter().all(|result| *result == Some(Err(Fault::Deadlock))));
}

#[test]
fn a_job_without_end_of_time_is_aborted() {
    let outcome = run(&settings(2, 1), |world| {
        (0..300).for_each(|_| world.compute(Duration::from_seconds(86_400.0)));
        world.barrier()
    });
    assert_eq!(outcome.fault, Some(Fault::Aborted));
    assert!(outcome.end >= VIRTUAL_TIME_MAX, "{:?}", outcome.end);
}

#[test]
fn what_the_network_gives_up_is_counted() {
    let lossy = Machine::bundled("rx200-qdr").unwrap().replace("[rail.link]", "[rail.link]\nloss = 0.99");
    let lossy = Settings { machine: Machine::parse(&lossy).unwrap(), ..settings(2, 1) };
    let outcome = run(&lossy, |world| world.barrier());
    assert_eq!(outcome.fault, Some(Fault::Deadlock));
    assert!(outcome.given_up > 0);
    let (rank, target) = outcome.first_given_up.unwrap();
    assert_eq!(u32::from(rank) + u32::from(target), 1, "between ranks 0 and 1");
}

/// A job that ends early leaves bytes on the way. What links send after its end is no part of their use of its time.
#[test]
fn links_send_for_the_whole_time_at_most() {
    let settings = Settings { report: Some(ReportSettings::of("job")), ..settings(2, 1) };
    let outcome = run(&settings, |world| {
        let words = world.alloc::<u64>(1 << 15)?;
        if u32::from(world.rank()) == 0 {
            world.put(words.at(Rank::new(1), 0), &vec![1; 1 << 15])?;
        }
        Err::<(), _>(Error::Disagreement("at once"))
    });
    let links = outcome.report.unwrap().links;
    assert!(links.bytes > 1 << 18 && links.busiest[0].busy_ps > outcome.end.as_picoseconds(), "{links:?}");
    assert_eq!(links.strip_utilization_ppm.into_iter().max(), Some(1_000_000));
}

#[test]
fn a_rank_that_only_looks_lets_time_pass() {
    let outcome = run(&settings(2, 1), |world| {
        let flag = world.alloc::<u64>(1)?;
        let mut looks = 0;
        if u32::from(world.rank()) == 0 {
            world.compute(Duration::from_microseconds(20));
            let put = world.put(flag.at(Rank::new(1), 0), &[1])?;
            while !put.test()? {
                looks += 1;
            }
        } else {
            while flag.local().load(0) == 0 {
                world.progress();
                looks += 1;
            }
        }
        Ok(looks)
    });
    for result in outcome.results {
        assert!((5..1000).contains(&result.unwrap().unwrap()));
    }
}

#[test]
fn a_rank_that_waits_by_the_clock_lets_time_pass() {
    let outcome = run(&settings(2, 1), |world| {
        let start = world.now();
        while world.now() - start < Duration::from_microseconds(50) {}
        world.barrier()?;
        Ok(world.now() - start)
    });
    for result in outcome.results {
        assert!((50..60).contains(&(result.unwrap().unwrap().as_nanoseconds() / 1000)));
    }
}

#[test]
fn many_ranks_have_a_stack_each() {
    let deepest = Cell::new(0);
    let outcome = run(&Settings { heap_bytes: 2 << 20, ..settings(20_000, 4) }, |world| {
        deepest.set(deepest.get().max(deep(100)));
        world.barrier()?;
        Ok(u64::from(world.rank()))
    });
    assert_eq!(deepest.get(), 100);
    assert!(outcome.results.into_iter().map(|result| result.unwrap().unwrap()).eq(0..20_000));
}

/// Makes `calls` nested calls, each of which uses some of the stack.
#[inline(never)]
fn deep(calls: u64) -> u64 {
    let room = std::hint::black_box([calls; 16]);
    if calls == 0 { 0 } else { deep(calls - 1) + room[3] / calls }
}

#[test]
fn a_simulation_of_nobody_cannot_begin() {
    for (ranks, per_node) in [(0, 1), (1, 0)] {
        assert!(simulate(&settings(ranks, per_node), |_| Ok::<_, Error>(())).is_err());
    }
}

#[test]
fn what_a_rank_fetches_itself_may_be_waited_for() {
    let outcome = run(&settings(2, 1), |world| {
        let words = world.alloc::<u64>(2)?;
        words.local().store(1, 7);
        world.barrier()?;
        if u32::from(world.rank()) == 0 {
            let (to, from) = (words.at(Rank::new(0), 0), words.at(Rank::new(1), 1));
            let copied = world.copy(from, to, 1)?;
            world.wait_until(words.local(), 0, |value| value == 7)?;
            copied.wait()?;
        }
        world.barrier()
    });
    assert!(outcome.results.into_iter().all(|result| result.unwrap().is_ok()));
}

/// More than there are addresses.
#[test]
fn too_much_memory_is_refused_with_the_options_for_less() {
    let refused = simulate(&Settings { stack_bytes: 1 << 46, ..settings(2, 1) }, |_| Ok::<_, Error>(()));
    let says = refused.unwrap_err().to_string();
    assert!(says.contains("; lower --heap or --stack, or raise the limit") && !says.contains("PELAGO_HEAP"), "{says}");
}

/// All ranks in the memory of one node.
fn shared_memory(ranks: u32) -> Settings {
    let machine = "name = \"m\"\n[node.shared]\nvisible_ns = 50\natomic_ns = 7\npage_ns = 1000\nput = [[8, 2]]\nget = [[8, 9]]";
    Settings { machine: Machine::parse(machine).unwrap(), ..settings(ranks, ranks) }
}

#[test]
fn a_rank_that_shares_memory_does_its_operations_itself() {
    let outcome = run(&shared_memory(2), |world| {
        let words = world.alloc::<u64>(8192)?;
        let other = Rank::new(1 - world.rank().number());
        // Touches the page of the word, and that of the barrier's words.
        words.local().store(0, 0);
        world.barrier()?;
        world.barrier()?;
        let mut times = Vec::new();
        let mut start = world.now();
        let mut end = |times: &mut Vec<u64>| {
            times.push(world.now().since(start).as_nanoseconds());
            start = world.now();
        };
        world.put(words.at(other, 0), &[7 + u64::from(world.rank())])?.wait()?;
        end(&mut times);
        // The atomic takes effect after the put.
        let found = world.fetch_add(words.at(other, 0), 1)?.wait()?;
        end(&mut times);
        let got = world.get(words.at(other, 0))?;
        end(&mut times);
        world.put(words.at(other, 4096), &[1])?.wait()?;
        end(&mut times);
        world.put(words.at(other, 4097), &[1])?.wait()?;
        end(&mut times);
        world.barrier()?;
        Ok((times, found + 1 == got, words.local().load(0)))
    });
    for (index, result) in outcome.results.into_iter().enumerate() {
        let (times, in_order, word) = result.unwrap().unwrap();
        assert_eq!(times, [52, 7, 9, 1052, 52], "rank {index}");
        assert!(in_order && word == 9 - index as u64, "rank {index} holds {word}");
    }
}

#[test]
fn what_is_put_is_seen_later_by_whoever_waits() {
    let outcome = run(&shared_memory(2), |world| {
        let words = world.alloc::<u64>(16)?;
        words.local().store(0, 0);
        world.barrier()?;
        let start = world.now();
        if world.rank().number() == 0 {
            world.put(words.at(Rank::new(1), 0), &[1])?;
            world.wait_until(words.local(), 0, |word| word == 1)?;
        } else {
            world.wait_until(words.local(), 0, |word| word == 1)?;
            world.put(words.at(Rank::new(0), 0), &[1])?;
        }
        Ok(world.now().since(start).as_nanoseconds())
    });
    let times: Vec<u64> = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect();
    assert!((104..=105).contains(&times[0]), "there and back, each 2 + 50: {times:?}");
}

/// Uses the core for some milliseconds.
fn spin() {
    let used = || {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        used.tv_sec * 1_000_000_000 + used.tv_nsec
    };
    let start = used();
    while used() < start + 4_000_000 {}
}

#[test]
fn computing_costs_what_it_is_asked_to_cost() {
    let declared = Duration::from_microseconds(1_000_000);
    let time = |computing| {
        let outcome = run(&Settings { computing, ..shared_memory(2) }, |world| {
            world.barrier()?;
            let start = world.now();
            if world.rank().number() == 0 {
                world.compute(declared);
                spin();
            }
            let mine = world.now().since(start);
            world.barrier()?;
            Ok((mine, world.now().since(start)))
        });
        outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect::<Vec<_>>()
    };
    let (said, none) = (time(Computing::Declared), time(Computing::Zero));
    assert_eq!((said[0].0, said[1].0), (declared, Duration::ZERO));
    assert_eq!((none[0].0, none[1].0), (Duration::ZERO, Duration::ZERO));
    assert!(none[1].1 < Duration::from_microseconds(10));
    // However slow or busy this machine is, the rank that spins has used this CPU time, and the other rank has not.
    let measured = time(Computing::Measured { scale: 100.0 });
    let least = Duration::from_microseconds(100 * 2_000);
    assert!(measured[0].0 > least && measured[1].0 < least, "{measured:?}");
    assert!(measured[1].1 > least, "who waits has waited: {measured:?}");
    assert_eq!(said, time(Computing::Declared));
    assert_eq!(none, time(Computing::Zero));
}

#[test]
fn faults_that_do_not_fit_the_job_are_an_error() {
    let faults = FaultInjection { deaths: vec![(Rank::new(4), Instant::ZERO)], ..FaultInjection::default() };
    let protocol = Some(Protocol { faults, ..Protocol::default() });
    let refused = simulate(&Settings { protocol, ..settings(4, 1) }, |_| Ok::<_, ()>(()));
    assert!(matches!(refused, Err(SimulationError::Faults(FaultError::NoSuchRank { last: 3, .. }))), "{refused:?}");
}

/// A put that an atomic makes take effect early ends once the progress thread has reported it, which may be after other ranks see it.
#[test]
fn a_put_within_a_node_may_be_reported_after_it_is_seen() {
    let node = "[node.shared]\nput = [[8, 10.0], [4096, 500.0]]\nget = [[8, 10.0], [4096, 500.0]]\natomic_ns = 5.0\nvisible_ns = 100.0\n\
                [node.software]\nsubmission = \"progress-thread\"\nqueue_ns = 20.0\nnotify_ns = 2000.0\n";
    let text = Machine::bundled("rx200-qdr").unwrap().replace("[[rail]]", &format!("{node}[[rail]]"));
    let settings = simulated::settings_on(Machine::parse(&text).unwrap(), 2, 2);
    let outcome = run(&settings, |world| {
        let words = world.alloc::<u64>(2)?;
        let right = world.rank().next(world.size());
        for round in 1..=20 {
            let put = world.put(words.at(right, 0), &[round])?;
            world.fetch_add(words.at(right, 1), 1)?.wait()?;
            put.wait()?;
            world.barrier()?;
            assert_eq!((words.local().load(0), words.local().load(1)), (round, round));
            world.barrier()?;
        }
        Ok(())
    });
    assert_eq!((outcome.fault, outcome.failed), (None, None));
}
