//! Operations with counts, started operations and splits, between ranks on every platform, compared with a serial model.

use pelago_base::Rank;
use pelago_collectives::limits::STARTED_MAX;
use pelago_collectives::{Collectives, Model, Settings, Sum};
use pelago_rma::{Error, Pod, World};
use pelago_test_support::threads::{PLATFORMS, Platform, on_every_platform, run};

/// A given model, so that no team measures one.
const MODEL: Model = Model { latency_ns: 2000.0, message_ns: 200.0, byte_ns: 0.5, turn_ns: 0.0 };

/// Little memory, so that blocks take several fragments and wait for each other.
fn little() -> Settings {
    Settings { memory_bytes: 128 << 10, plan_bytes: 8 << 10, model: Some(MODEL), ..Settings::default() }
}

/// A number that depends on all words.
fn mixed(words: [u64; 4]) -> u64 {
    words
        .iter()
        .fold(0x9E37_79B9_7F4A_7C15, |state: u64, word| (state ^ word).wrapping_mul(0xBF58_476D_1CE4_E5B9).rotate_left(27))
}

/// A count for two members in an operation: often 0, small, or more than a fragment.
fn count(round: u64, from: u32, to: u32) -> usize {
    let drawn = mixed([round, from.into(), to.into(), 1]);
    [0, 0, 1, 5, 7, 40, 300, 900][(drawn % 8) as usize] + (drawn >> 8) as usize % 3
}

/// The values of a block.
fn block<T: Value>(round: u64, from: u32, to: u32, count: usize) -> Vec<T> {
    (0..count).map(|index| T::of(mixed([round, from.into(), to.into(), index as u64]))).collect()
}

trait Value: Pod + PartialEq + core::fmt::Debug {
    fn of(bits: u64) -> Self;
    fn plus(self, other: Self) -> Self;
}

macro_rules! values {
    ($($name:ty: |$bits:ident| $of:expr, |$one:ident, $other:ident| $plus:expr;)+) => {$(
        impl Value for $name {
            fn of($bits: u64) -> Self { $of }
            fn plus(self, $other: Self) -> Self { let $one = self; $plus }
        }
    )+};
}

values! {
    u8: |bits| bits as u8, |one, other| one.wrapping_mul(3).wrapping_add(other);
    u64: |bits| bits, |one, other| one.wrapping_mul(3).wrapping_add(other);
    f64: |bits| (bits >> 40) as f64, |one, other| one * 0.5 + other;
    [u32; 3]: |bits| [bits as u32, (bits >> 20) as u32, (bits >> 40) as u32], |one, other| [one[1], one[2] ^ other[0], other[1]];
}

/// The input and the expected output of the member `me` of `size`; counts are those of a round.
struct Case {
    round: u64,
    me: u32,
    size: u32,
}

impl Case {
    fn counts(&self, count: impl Fn(u32) -> usize) -> Vec<usize> {
        (0..self.size).map(count).collect()
    }

    fn sent(&self) -> Vec<usize> {
        self.counts(|to| count(self.round, self.me, to))
    }

    fn received(&self) -> Vec<usize> {
        self.counts(|from| count(self.round, from, self.me))
    }

    /// Counts that are the same on every member.
    fn known(&self) -> Vec<usize> {
        self.counts(|member| count(self.round, member, 77))
    }

    fn exchange<T: Value>(&self) -> (Vec<T>, Vec<T>) {
        let Self { round, me, size } = *self;
        let input = (0..size).flat_map(|to| block(round, me, to, count(round, me, to))).collect();
        (input, (0..size).flat_map(|from| block(round, from, me, count(round, from, me))).collect())
    }

    fn own<T: Value>(&self, member: u32) -> Vec<T> {
        block(self.round, member, 77, count(self.round, member, 77))
    }

    fn gathered<T: Value>(&self) -> Vec<T> {
        (0..self.size).flat_map(|member| self.own(member)).collect()
    }

    /// The input of a member for a reduction.
    fn brought<T: Value>(&self, member: u32) -> Vec<T> {
        block(self.round, member, 99, self.known().iter().sum())
    }

    fn reduced<T: Value>(&self) -> Vec<T> {
        let start: usize = self.known()[..self.me as usize].iter().sum();
        let own = |member| self.brought::<T>(member)[start..start + self.known()[self.me as usize]].to_vec();
        let combine = |one: Vec<T>, other: Vec<T>| one.into_iter().zip(other).map(|(one, other)| one.plus(other)).collect();
        (0..self.size).map(own).reduce(combine).unwrap()
    }
}

/// Every operation, one after another; members start at different times.
fn all_operations<T: Value>(all: &Collectives<'_>, round: u64) {
    let (me, size) = (all.position(), all.team().size());
    let case = Case { round, me, size };
    let dawdle = |turn: u64| (0..mixed([round, me.into(), turn, 5]) % 12).for_each(|_| std::thread::yield_now());
    let empty = |length: usize| vec![T::of(u64::MAX); length];
    let (input, expected) = case.exchange::<T>();
    let mut output = empty(expected.len());
    all.alltoallv(&input, &case.sent(), &mut output, &case.received()).unwrap();
    assert_eq!(output, expected, "alltoallv {round} at {me} of {size}");
    dawdle(1);
    let (own, known) = (case.own::<T>(me), case.known());
    let mut output = empty(known.iter().sum());
    all.allgatherv(&own, &known, &mut output).unwrap();
    assert_eq!(output, case.gathered(), "allgatherv {round} at {me} of {size}");
    dawdle(2);
    let root = (round % u64::from(size)) as u32;
    let at_root = if me == root { known.clone() } else { Vec::new() };
    let mut output = empty(at_root.iter().sum());
    all.gatherv(root, &own, &at_root, &mut output).unwrap();
    assert!(me != root || output == case.gathered(), "gatherv {round} at {me} of {size}");
    let input = if me == root { case.gathered::<T>() } else { Vec::new() };
    let mut output = empty(known[me as usize]);
    all.scatterv(root, &input, &at_root, &mut output).unwrap();
    assert_eq!(output, own, "scatterv {round} at {me} of {size}");
    dawdle(3);
    let mut output = empty(known[me as usize]);
    all.reduce_scatterv(&case.brought::<T>(me), &known, &mut output, T::plus).unwrap();
    assert_eq!(output, case.reduced(), "reduce-scatter {round} at {me} of {size}");
}

#[test]
fn generated_counts_give_what_the_serial_model_gives() {
    on_every_platform(&[1, 2, 3, 5], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        for round in 0..4 {
            all_operations::<u64>(&all, round);
            all_operations::<u8>(&all, 10 + round);
            all_operations::<[u32; 3]>(&all, 20 + round);
        }
    });
    for size in [4, 6, 7, 8, 9] {
        run(Platform::Remote, size, |world| {
            let all = Collectives::new(world, &little()).unwrap();
            (0..3).for_each(|round| all_operations::<f64>(&all, round));
        });
    }
}

/// Long blocks, one of them much longer than the others: uses the ring.
#[test]
fn long_blocks_of_one_member_go_round() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 4, |world| {
            let settings =
                Settings { model: Some(Model { latency_ns: 1.0, message_ns: 1.0, byte_ns: 10.0, turn_ns: 0.0 }), ..little() };
            let all = Collectives::new(world, &settings).unwrap();
            let counts = [20_000, 3, 0, 1];
            let of = |member: u32| block::<u64>(1, member, 2, counts[member as usize]);
            let expected: Vec<u64> = (0..4).flat_map(of).collect();
            let mut found = vec![0; expected.len()];
            for _ in 0..3 {
                all.allgatherv(&of(all.position()), &counts, &mut found).unwrap();
                assert_eq!(found, expected);
            }
        });
    }
}

#[test]
fn neighbours_exchange_and_others_do_not_take_part() {
    on_every_platform(&[2, 5], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let (me, size) = (all.position(), all.team().size());
        // A line; the ends have one neighbour, and every member is also its own neighbour.
        let ends = [me.checked_sub(1), Some(me), Some(me + 1).filter(|&right| right < size)];
        let near: Vec<u32> = ends.into_iter().flatten().collect();
        let neighbours = all.neighbours(&near, &near).unwrap();
        for round in 0..6 {
            let [sent, got] = [0, 1].map(|end| {
                let counts = near.iter().map(|&other| if end == 0 { count(round, me, other) } else { count(round, other, me) });
                counts.collect::<Vec<_>>()
            });
            let input: Vec<u64> = near.iter().zip(&sent).flat_map(|(&to, &count)| block(round, me, to, count)).collect();
            let expected: Vec<u64> = near.iter().zip(&got).flat_map(|(&from, &count)| block(round, from, me, count)).collect();
            let mut output = vec![0; expected.len()];
            neighbours.exchange(&input, &sent, &mut output, &got).unwrap();
            assert_eq!(output, expected);
            let started = neighbours.start_exchange(input, &sent, &got).unwrap();
            assert_eq!(started.wait().unwrap(), expected);
        }
        let wrong = if me == 0 { vec![1] } else { vec![] };
        assert!(matches!(all.neighbours(&wrong, &[]), Err(Error::Disagreement(_))), "member 1 does not receive");
        let twice = if me == 0 { vec![1, 1] } else { vec![] };
        assert!(matches!(all.neighbours(&twice, &[]), Err(Error::Invalid(_))));
    });
}

/// Many operations in flight, waited for in another order, dropped, and advanced by waits for other things.
#[test]
fn started_operations_go_on_in_every_wait() {
    on_every_platform(&[1, 2, 5], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let (me, size) = (all.position(), all.team().size());
        for round in 0..4 {
            let case = Case { round, me, size };
            let (input, expected) = case.exchange::<u64>();
            let exchanged = all.start_alltoallv(input, &case.sent(), &case.received()).unwrap();
            let sums: Vec<_> = (0..3).map(|number| all.start_allreduce(vec![number + u64::from(me); 50], Sum).unwrap()).collect();
            let forgotten = all.start_alltoall(vec![me; 3 * size as usize]).unwrap();
            let gathered = all.start_allgatherv(case.own::<u64>(me), &case.known()).unwrap();
            let brought = all.start_broadcast(size - 1, vec![me; 2000]).unwrap();
            let scanned = all.start_scan(vec![1_u32], Sum).unwrap();
            let met = all.start_barrier().unwrap();
            drop(forgotten);
            // One member waits for the end of an operation before the barrier; the others advance it while they wait in the barrier.
            let mut exchanged = Some(exchanged);
            if me == 0 {
                assert_eq!(exchanged.take().unwrap().wait().unwrap(), expected);
            }
            world.barrier().unwrap();
            if me == 0 {
                // One rank waits for a value that another rank puts after it has seen the end of an operation.
                assert_eq!(scanned.wait().unwrap(), [1]);
            } else {
                let mut scanned = scanned;
                while !scanned.test().unwrap() {
                    std::thread::yield_now();
                }
                assert_eq!(scanned.wait().unwrap(), [me + 1]);
            }
            met.wait().unwrap();
            assert_eq!(brought.wait().unwrap(), vec![size - 1; 2000]);
            assert_eq!(gathered.wait().unwrap(), case.gathered::<u64>());
            for (number, sum) in sums.into_iter().enumerate().rev() {
                let expected = u64::from(size) * number as u64 + u64::from(size * (size - 1) / 2);
                assert_eq!(sum.wait().unwrap(), vec![expected; 50]);
            }
            assert_eq!(exchanged.map_or(expected.clone(), |exchanged| exchanged.wait().unwrap()), expected);
            // In between, an operation that waits.
            let mut values = [1_u64; 50];
            all.allreduce(&mut values, Sum).unwrap();
            assert_eq!(values, [u64::from(size); 50]);
        }
    });
}

#[test]
fn started_operations_are_bounded() {
    run(Platform::Remote, 2, |world| {
        let (told, all) = (world.alloc::<u64>(1).unwrap(), Collectives::new(world, &little()).unwrap());
        let of = |value: u64| all.start_allreduce(vec![value], Sum);
        assert_eq!(of(1).unwrap().wait().unwrap(), [2], "it is prepared");
        if all.position() == 1 {
            world.wait_until(told.local(), 0, |told| told == 1).unwrap();
        }
        let started: Vec<_> = (0..STARTED_MAX as u64).map(|number| of(number).unwrap()).collect();
        if all.position() == 0 {
            // None has ended, because the other member has started none.
            assert!(matches!(of(0).map(drop), Err(Error::TooMany { limit: STARTED_MAX, .. })));
            world.put(told.at(Rank::new(1), 0), &[1]).unwrap().wait().unwrap();
        }
        for (number, one) in started.into_iter().enumerate() {
            assert_eq!(one.wait().unwrap(), [2 * number as u64]);
        }
    });
}

/// Wrong counts end with an error on all members: on those that detect them, and on those that wait for these.
#[test]
fn counts_that_differ_are_an_error_and_no_corruption() {
    for platform in PLATFORMS {
        for longer in [1, 2000] {
            run(platform, 3, |world| {
                let all = Collectives::new(world, &little()).unwrap();
                let me = all.position();
                // Member 1 sends more to member 2 than member 2 expects.
                let send: Vec<usize> = (0..3).map(|to| if (me, to) == (1, 2) { 10 + longer } else { 10 }).collect();
                let (input, mut output) = (vec![1_u64; send.iter().sum()], vec![0_u64; 30]);
                let ended = all.alltoallv(&input, &send, &mut output, &[10; 3]);
                assert!(output.iter().all(|&value| value < 2));
                if me == 2 {
                    assert!(matches!(ended, Err(Error::Disagreement(_))), "{ended:?}");
                }
                let later = (0..20).try_for_each(|_| all.alltoallv(&[1_u64; 30], &[10; 3], &mut output, &[10; 3]));
                assert!(matches!(later, Err(Error::Disagreement(_))), "{later:?} at {me}");
                // Other operations of the team still work.
                let mut values = [1_u64];
                all.allreduce(&mut values, Sum).unwrap();
                assert_eq!(values, [3]);
            });
        }
    }
}

/// A member sends more to itself than it expects, or less.
#[test]
fn counts_of_a_member_for_itself_that_differ_are_an_error_on_all_members() {
    for send in [1, 3] {
        run(Platform::Mapped, 3, |world| {
            let me = world.rank().index();
            let sent = |wrong: bool| if wrong { send } else { 2 };
            let ended_on_all = |exchange: &dyn Fn(bool) -> Result<(), Error>| {
                let mut ended = exchange(me == 1);
                if me == 1 {
                    assert!(matches!(ended, Err(Error::Disagreement(_))), "{ended:?}");
                }
                for _ in 0..20 {
                    ended = ended.and_then(|()| exchange(false));
                }
                assert!(matches!(ended, Err(Error::Disagreement(_))), "{ended:?}");
            };
            let all = Collectives::new(world, &little()).unwrap();
            ended_on_all(&|wrong| {
                let counts: [usize; 3] = std::array::from_fn(|to| if to == me { sent(wrong) } else { 2 });
                all.alltoallv(&vec![1_u8; counts.iter().sum()], &counts, &mut [0; 6], &[2; 3])
            });
            let all = Collectives::new(world, &little()).unwrap();
            let near = [me as u32, (me as u32 + 1) % 3, (me as u32 + 2) % 3];
            let neighbours = all.neighbours(&near, &near).unwrap();
            ended_on_all(&|wrong| {
                let counts = [sent(wrong), 2, 2];
                neighbours.exchange(&vec![1_u8; counts.iter().sum()], &counts, &mut [0; 6], &[2; 3])
            });
            world.barrier().unwrap();
        });
    }
}

/// Members that know all counts may pass them although only the root needs them.
#[test]
fn every_member_may_pass_the_counts_of_the_root() {
    run(Platform::Mapped, 3, |world| {
        let all = Collectives::new(world, &little()).unwrap();
        let (me, counts, values) = (all.position(), [2, 0, 1], [5_u64, 6, 7]);
        let mine = [&values[..2], &[], &values[2..]][me as usize];
        let at_root = |length| vec![0; if me == 1 { length } else { 0 }];
        let mut gathered = at_root(3);
        all.gatherv(1, mine, &counts, &mut gathered).unwrap();
        let started = all.start_gatherv(1, mine.to_vec(), &counts).unwrap().wait().unwrap();
        assert_eq!(started, gathered);
        assert!(me != 1 || gathered == values);
        let mut own = vec![0; mine.len()];
        all.scatterv(1, &gathered, &counts, &mut own).unwrap();
        assert_eq!(own, mine);
        let wrong = all.gatherv((me + 1) % 3, mine, &[3, 3, 3], &mut []);
        assert!(matches!(wrong, Err(Error::WrongNumber { needed: 3, .. })), "{wrong:?}");
    });
}

#[test]
fn wrong_lengths_are_refused_before_anything_is_sent() {
    run(Platform::Mapped, 2, |world| {
        let all = Collectives::new(world, &little()).unwrap();
        let invalid =
            |ended: Result<(), Error>| assert!(matches!(ended, Err(Error::Invalid(_) | Error::WrongNumber { .. })), "{ended:?}");
        invalid(all.alltoallv(&[1_u8; 3], &[1, 1], &mut [0; 2], &[1, 1]));
        invalid(all.alltoallv(&[1_u8; 2], &[2], &mut [0; 2], &[1, 1]));
        invalid(all.allgatherv(&[1_u8; 2], &[1, 1], &mut [0; 2]));
        invalid(all.gatherv(2, &[1_u8], &[], &mut []));
        invalid(all.scatterv(0, &[1_u8], &[1], &mut [0]));
        invalid(all.alltoallv(&[[0_u8; 20_000]; 2], &[1, 1], &mut [[0; 20_000]; 2], &[1, 1]));
        all_operations::<u64>(&all, 1);
    });
}

/// Teams by colour and key, nested; teams of one colour do not wait for teams of another.
fn split_and_use(world: &World) {
    let settings = Settings { memory_bytes: 2 << 20, ..little() };
    let all = Collectives::new(world, &settings).unwrap();
    let part = Settings { memory_bytes: 384 << 10, ..little() };
    for round in 0..3 {
        let me = all.position();
        let colour = (me % 3 < 2).then_some(me % 3);
        // Keys in descending order.
        let team = all.split(colour, -(me as i32), &part).unwrap();
        let Some(team) = team else {
            assert_eq!(me % 3, 2);
            continue;
        };
        let members: Vec<u32> = (0..all.team().size()).filter(|member| member % 3 == me % 3).rev().collect();
        assert_eq!(team.team().iter().map(|rank| rank.number()).collect::<Vec<_>>(), members);
        if me.is_multiple_of(3) {
            // More operations than the others.
            (0..3).for_each(|turn| all_operations::<u64>(&team, 100 + turn));
        }
        all_operations::<u8>(&team, round);
        let mut sum = [u64::from(me)];
        team.allreduce(&mut sum, Sum).unwrap();
        assert_eq!(sum[0], members.iter().map(|&member| u64::from(member)).sum::<u64>());
        team.barrier().unwrap();
        let tiny = Settings { memory_bytes: 96 << 10, plan_bytes: 2 << 10, ..little() };
        let nested = team.split(Some(u32::from(team.position() > 0)), 0, &tiny).unwrap().unwrap();
        let mut count = [1_u32];
        nested.allreduce(&mut count, Sum).unwrap();
        let others = members.len() as u32 - 1;
        assert_eq!(count[0], if team.position() == 0 { 1 } else { others });
    }
    let mut count = [1_u64];
    all.allreduce(&mut count, Sum).unwrap();
    assert_eq!(count, [u64::from(all.team().size())]);
}

#[test]
fn teams_split_among_their_members_alone() {
    for platform in PLATFORMS {
        run(platform, 7, split_and_use);
    }
}

/// A program that gives the same settings to all of its teams can split several times: a team cannot have all memory of another.
#[test]
fn a_split_with_the_settings_of_its_team_gets_a_part_of_the_memory() {
    run(Platform::Mapped, 4, |world| {
        let settings = Settings { memory_bytes: 3 << 20, ..little() };
        let all = Collectives::new(world, &settings).unwrap();
        all_operations::<u64>(&all, 1);
        let teams: Vec<_> =
            (1..=4).map(|parts| all.split(Some(all.position() % parts), 0, &settings).unwrap().unwrap()).collect();
        for team in &teams {
            all_operations::<u64>(team, 2);
        }
    });
}

/// Teams of teams, all with the same settings: each has a quarter of the memory of the one before, and still runs operations on long blocks.
#[test]
fn teams_of_teams_with_the_same_settings_run_long_operations() {
    const LONG: usize = 20_000;
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 4, |world| {
            // As by default, a plan may have a sixteenth of the memory of the first team.
            let settings = Settings { memory_bytes: 2 << 20, plan_bytes: 128 << 10, ..little() };
            let mut teams = vec![Collectives::new(world, &settings).unwrap()];
            for _ in 0..2 {
                let nested = teams[teams.len() - 1].split(Some(0), 0, &settings).unwrap().unwrap();
                teams.push(nested);
            }
            for team in teams.iter().rev() {
                let (own, mut all) = (vec![team.position(); LONG], vec![0; 4 * LONG]);
                team.allgather(&own, &mut all).unwrap();
                assert!(all.chunks(LONG).zip(0..).all(|(block, member)| block.iter().all(|&value| value == member)));
                let mut sums = vec![1_u64; LONG];
                team.allreduce(&mut sums, Sum).unwrap();
                assert_eq!(sums, vec![4; LONG]);
                all_operations::<u64>(team, 3);
            }
        });
    }
}

/// Members pass different sizes of memory, of which one may have no room: all get the error, and the team can be split afterwards.
#[test]
fn a_split_on_which_members_disagree_takes_nothing() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 3, |world| {
            let all = Collectives::new(world, &Settings { memory_bytes: 1 << 20, ..Settings::default() }).unwrap();
            let split = |memory_bytes| {
                all.split(Some(0), 0, &Settings { memory_bytes, ..Settings::default() }).map(|team| team.is_some())
            };
            for other in [128 << 10, usize::MAX] {
                let mine = if all.position() == 1 { other } else { 64 << 10 };
                for _ in 0..20 {
                    let refused = split(mine);
                    assert!(matches!(refused, Err(Error::Disagreement(_))), "{refused:?}");
                }
                assert_eq!(split(64 << 10), Ok(true));
            }
            // More than the team itself has: the new team gets a part.
            assert_eq!(split(usize::MAX), Ok(true));
            world.barrier().unwrap();
        });
    }
}

/// The counts are those of the program, which may be wrong.
#[test]
fn a_started_operation_whose_output_no_memory_holds_is_refused() {
    run(Platform::Mapped, 2, |world| {
        let all = Collectives::new(world, &Settings { memory_bytes: 1 << 20, ..Settings::default() }).unwrap();
        for receive in [[1 << 60, 0], [usize::MAX; 2]] {
            let refused = all.start_alltoallv::<u64>(Vec::new(), &[0, 0], &receive).map(drop);
            assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
        }
        let counts = [0, 1].map(|member| if member == all.position() { 1 } else { usize::MAX });
        let refused = all.start_allgatherv(vec![1_u8], &counts).map(drop);
        assert!(matches!(refused, Err(Error::OutOfMemory { .. })), "{refused:?}");
        let mut found = [0; 2];
        all.alltoallv(&[world.rank().number(); 2], &[1, 1], &mut found, &[1, 1]).unwrap();
        assert_eq!(found, [0, 1]);
        world.barrier().unwrap();
    });
}

#[test]
fn splits_are_bounded_and_their_memory_is_used_again() {
    run(Platform::Mapped, 2, |world| {
        let all = Collectives::new(world, &Settings { memory_bytes: 2 << 20, ..little() }).unwrap();
        let part = Settings { memory_bytes: 64, plan_bytes: 64, ..little() };
        let split = || all.split(Some(0), 0, &part).map(Option::unwrap);
        // Far more than memory or numbers allow at once.
        (0..200).for_each(|_| drop(split().unwrap()));
        let mut teams = Vec::new();
        let full = loop {
            match split() {
                Ok(team) => teams.push(team),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::TooMany { limit: 64, .. } | Error::NoMemory { .. }), "{full:?} after {}", teams.len());
        teams.pop();
        teams.push(split().unwrap());
    });
}
