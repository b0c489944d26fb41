//! The cost of an operation: messages over a transport, copies of values, sleeps.

use pelago_base::Event;
use pelago_collectives::schedule::{Step, Then};
use pelago_collectives::{Algorithm, Choice, Collective, Collectives, Schedule, Settings, Shape, Sum};
use pelago_kit::Loopback;
use pelago_rma::{Result, World};
use pelago_test_support::simulated;
use pelago_test_support::threads::{COSTLY_MESSAGE_BYTES, Platform, run_counted, run_with_heaps};

const SIZE: u32 = 5;
const OPERATIONS: u64 = 40;

/// Number of values from which on they are sent together with their flag.
const SIGNALLED_MIN: usize = Loopback::CAPABILITIES.signalled_bytes_min / 8;

/// Runs an operation some times by each possible algorithm; `look` is called before and after.
fn each_algorithm(world: &World, operation: Collective, count: usize, mut look: impl FnMut(Algorithm, bool)) -> Result<()> {
    let settings = Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, per_host: Some(2), ..Settings::default() };
    let all = Collectives::new(world, &settings)?;
    for candidate in all.candidates::<u64>(operation, count, true)? {
        let mut plan = all.plan_of(operation, count, Sum, Choice::Fixed(candidate.algorithm))?;
        let of = |blocks: u32| vec![1_u64; blocks as usize * count];
        let input = of(operation.blocks_in(all.position(), SIZE));
        let mut output = of(operation.blocks_out(all.position(), SIZE));
        world.flush_all()?;
        look(candidate.algorithm, false);
        (0..OPERATIONS).try_for_each(|_| plan.run(&input, &mut output))?;
        world.flush_all()?;
        look(candidate.algorithm, true);
    }
    Ok(())
}

fn schedule(operation: Collective, algorithm: Algorithm, count: usize, position: u32) -> Schedule {
    Shape { operation, algorithm, size: SIZE, count, per_host: 2, commutes: true }.schedule(position)
}

/// Each message is a put and a flag, in one operation if the values are long enough for that, and a flag alone if it has none; there is at most one credit for
/// each member and operation.
#[test]
fn messages_are_those_of_the_schedule() {
    for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
        for count in [1, 30] {
            run_counted(Platform::Remote, SIZE, |world, passed| {
                let mut before = 0;
                each_algorithm(world, operation, count, |algorithm, is_done| {
                    let posted = passed.lock().unwrap().of(Event::PutPosted);
                    if !is_done {
                        before = posted;
                        return;
                    }
                    let schedule = schedule(operation, algorithm, count, world.rank().number());
                    let puts = |step: &Step| match step {
                        Step::Send { message, .. } => 1 + u64::from((1..SIGNALLED_MIN).contains(&message.length)),
                        _ => 0,
                    };
                    let sent = OPERATIONS * schedule.steps.iter().map(puts).sum::<u64>();
                    let credits = OPERATIONS * schedule.owes().len() as u64;
                    let found = posted - before;
                    assert!((sent..=sent + credits).contains(&found), "{operation} {algorithm}: {found} instead of {sent}");
                })
                .unwrap();
            });
        }
    }
}

/// Copies of each value on its way, landing and taking included: two by a message, and two if it is exposed and fetched.
#[test]
fn values_are_copied_twice_for_each_member_that_gets_them() {
    const COUNT: usize = 1000;
    for algorithm in [Algorithm::Flat, Algorithm::Binomial, Algorithm::Chain, Algorithm::Shared] {
        let copies: usize = (0..SIZE)
            .flat_map(|position| schedule(Collective::Broadcast { root: 0 }, algorithm, COUNT, position).steps)
            .map(|step| match step {
                Step::Send { message, .. } => message.length,
                Step::Receive { message, then: Then::Store(_) | Then::Combine(..), .. } => message.length,
                Step::Expose { from, .. } => from.iter().map(|span| span.values()).sum(),
                Step::Fetch { then: Then::Store(spans), .. } => spans.iter().map(|span| span.values()).sum(),
                Step::Copy { from, .. } => from.values(),
                _ => 0,
            })
            .sum();
        let members = SIZE as usize - 1;
        // Exposed values are copied once for all readers.
        let expected = if algorithm == Algorithm::Shared { 1 + members } else { 2 * members };
        assert_eq!(copies, expected * COUNT, "{algorithm}");
    }
}

/// A member sleeps no more often than a put to it lands or one of its own is acknowledged. In virtual time, so that the count is always the same.
#[test]
fn a_member_sleeps_no_more_often_than_it_is_told_something() {
    for operation in [Collective::Broadcast { root: 0 }, Collective::Allreduce, Collective::Alltoall, Collective::Scan] {
        let settings = pelago_simulator::Settings { heap_bytes: 8 << 20, ..simulated::settings("rx200-qdr", SIZE, 1) };
        let outcome = simulated::run(&settings, |world| {
            let mut before = 0;
            each_algorithm(world, operation, 10, |algorithm, is_done| {
                let parks = world.counters().of(Event::Parked);
                if is_done {
                    let schedule = schedule(operation, algorithm, 10, world.rank().number());
                    // Values and the flag after them land one after the other.
                    let puts = |step: &Step| match step {
                        Step::Receive { message, .. } => 1 + u64::from(message.length > 0),
                        _ => 0,
                    };
                    let told = schedule.steps.iter().map(puts).sum::<u64>();
                    // Acknowledgements of its messages, and credits, may arrive while it sleeps.
                    let sent = schedule.steps.iter().filter(|step| matches!(step, Step::Send { .. })).count() as u64;
                    let most = OPERATIONS * (told + 2 * sent + schedule.awaits().len() as u64) + 2 * sent;
                    let found = parks - before;
                    assert!(found <= most, "{operation} {algorithm}: {found} sleeps, {told} puts to this member in an operation");
                }
                before = parks;
            })
        });
        outcome.results.into_iter().for_each(|result| result.unwrap().unwrap());
    }
}

/// Without the rule a block would be split into eight pieces of 128 KiB, each of two messages.
#[test]
fn pieces_fill_messages_where_these_cost_much() {
    const MEMBERS: u32 = 4;
    const COUNT: usize = 1 << 17;
    const TURNS: u64 = 10;
    run_with_heaps(Platform::Unruly, MEMBERS, 64 << 20, |world, passed| {
        let all = Collectives::new(world, &Settings { memory_bytes: 32 << 20, ..Settings::default() }).unwrap();
        let mut plan = all.plan_of(Collective::Alltoall, COUNT, Sum, Choice::Fixed(Algorithm::Direct)).unwrap();
        let (input, mut output) = (vec![1_u64; MEMBERS as usize * COUNT], vec![0; MEMBERS as usize * COUNT]);
        world.flush_all().unwrap();
        let before = passed.lock().unwrap().clone();
        (0..TURNS).for_each(|_| plan.run(&input, &mut output).unwrap());
        world.flush_all().unwrap();
        let after = passed.lock().unwrap().clone();
        let pieces = (COUNT * 8).div_ceil(COSTLY_MESSAGE_BYTES) as u64;
        let found = after.of(Event::PutPosted) - before.of(Event::PutPosted);
        // Credits are puts too.
        assert!(pieces == 15 && found >= TURNS * u64::from(MEMBERS - 1) * pieces, "{found} puts");
        assert!(output == input);
    });
}

/// An exchange with counts: a put and a flag for each pair of members, a flag alone where the count is 0, a credit after every second one. In an
/// exchange between neighbours nothing is sent to other members.
#[test]
fn operations_with_counts_send_a_message_to_each_that_gets_one() {
    run_counted(Platform::Remote, SIZE, |world, passed| {
        let all = Collectives::new(world, &Settings { memory_bytes: 1 << 20, ..Settings::default() }).unwrap();
        let (me, size) = (all.position(), SIZE as usize);
        let right = [(me + 1) % SIZE];
        let neighbours = all.neighbours(&right, &[(me + SIZE - 1) % SIZE]).unwrap();
        let puts = |act: &dyn Fn()| {
            world.flush_all().unwrap();
            let before = passed.lock().unwrap().of(Event::PutPosted);
            (0..OPERATIONS).for_each(|_| act());
            world.flush_all().unwrap();
            passed.lock().unwrap().of(Event::PutPosted) - before
        };
        // Each member sends to all with odd positions.
        let send: Vec<usize> = (0..size).map(|to| to % 2 * 5).collect();
        let receive = vec![me as usize % 2 * 5; size];
        let found = puts(&|| {
            let mut into = vec![0; receive.iter().sum()];
            all.alltoallv(&vec![1_u64; send.iter().sum()], &send, &mut into, &receive).unwrap();
        });
        let others = (0..SIZE).filter(|&to| to != me);
        assert_eq!(found, OPERATIONS * others.map(|to| 1 + u64::from(to % 2)).sum::<u64>());
        let found = puts(&|| neighbours.exchange(&[1_u8; 9], &[9], &mut [0; 9], &[9]).unwrap());
        assert_eq!(found, OPERATIONS * 2);
    });
}
