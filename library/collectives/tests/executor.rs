//! Results of operations between ranks, on every platform, with some ranks slow.

use pelago_base::limits::INJECT_SIZE;
use pelago_base::{Event, Rank, Team};
use pelago_collectives::{
    Algorithm, Choice, Collective, Collectives, Commutative, Max, Min, Operator, Plan, Rails, Settings, Shape, Sum,
};
use pelago_rma::{Error, Rail, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::threads::{PLATFORMS, Platform, on_every_platform, run, run_counted};

/// Little memory, so that operations are split into pieces and have few slots.
fn little() -> Settings {
    Settings { memory_bytes: 512 << 10, plan_bytes: 8 << 10, ..Settings::default() }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Yields to other ranks, sometimes for long.
    fn dawdle(&mut self) {
        let turns = match self.below(8) {
            0 => 60,
            1..=3 => self.below(10),
            _ => 0,
        };
        (0..turns).for_each(|_| std::thread::yield_now());
    }
}

/// x ↦ a·x + b modulo a prime: composing such maps is associative and does not commute.
type Value = [u32; 2];

const PRIME: u64 = 1_000_003;

fn compose([a, b]: Value, [c, d]: Value) -> Value {
    let [a, b, c, d] = [a, b, c, d].map(u64::from);
    [(a * c % PRIME) as u32, ((a * d + b) % PRIME) as u32]
}

fn add([a, b]: Value, [c, d]: Value) -> Value {
    [(a + c) % PRIME as u32, (b + d) % PRIME as u32]
}

/// The input of a member: it depends on the operation, the member and the index.
fn brought(operation: u64, member: u32, index: usize) -> Value {
    let seed = (operation * 7919 + u64::from(member) * 104_729 + index as u64 * 1_299_709).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    [1 + ((seed >> 40) % (PRIME - 1)) as u32, ((seed >> 20) % PRIME) as u32]
}

/// A value that no member has as input.
const UNTOUCHED: Value = [u32::MAX, 7];

/// The input of the member at `position` in the operation number `number`, and its expected output.
fn ends(what: Collective, number: u64, position: u32, size: u32, count: usize, commutes: bool) -> (Vec<Value>, Vec<Value>) {
    let of = |member: u32, index: usize| brought(number, member, index);
    let operator = if commutes { add } else { compose };
    let all = |members: core::ops::Range<u32>, index: usize| members.map(|member| of(member, index)).reduce(operator).unwrap();
    let mine = position as usize * count;
    let got = |block: usize, i: usize| match what {
        Collective::Broadcast { root } => of(root, i),
        Collective::Reduce { .. } | Collective::Allreduce => all(0..size, i),
        Collective::Allgather | Collective::Gather { .. } => of(block as u32, i),
        Collective::ReduceScatter => all(0..size, mine + i),
        Collective::Scatter { root } => of(root, mine + i),
        Collective::Alltoall => of(block as u32, mine + i),
        Collective::Scan => all(0..position + 1, i),
        Collective::ExclusiveScan if position == 0 => UNTOUCHED,
        Collective::ExclusiveScan => all(0..position, i),
        Collective::Barrier => unreachable!("it has no values"),
    };
    let input = (0..what.blocks_in(position, size) as usize * count).map(|index| of(position, index)).collect();
    let blocks = 0..what.blocks_out(position, size) as usize;
    (input, blocks.flat_map(|block| (0..count).map(move |i| (block, i))).map(|(block, i)| got(block, i)).collect())
}

/// Tests an operation in which others take part, until it has ended; fails with the job, because nothing else ends a loop without a wait.
fn test_until_ended(world: &World, mut ended: impl FnMut() -> Result<bool, Error>) {
    while !ended().unwrap() {
        assert_eq!(world.fault(), None, "the job has failed");
        std::thread::yield_now();
    }
}

/// Runs an operation some times by one plan, with separate buffers and in place, blocking and while the member does other things.
fn repeat(world: &World, all: &Collectives<'_>, shape: &Shape, random: &mut Random) {
    let Shape { operation: what, algorithm, size, count, commutes, .. } = *shape;
    let (position, choice) = (all.position(), Choice::Fixed(algorithm));
    let mut plan = if commutes {
        all.plan_of(what, count, Commutative(add), choice).unwrap()
    } else {
        all.plan_of(what, count, compose, choice).unwrap()
    };
    for number in 0..8 {
        random.dawdle();
        let (mut input, expected) = ends(what, number, position, size, count, commutes);
        let mut output = vec![UNTOUCHED; expected.len()];
        if what == (Collective::Broadcast { root: position }) {
            output.clone_from(&expected);
        }
        let say = || format!("{number}: {shape:?} at {position}");
        if number % 4 < 2 {
            if number % 4 == 0 {
                plan.run(&input, &mut output).unwrap();
            } else {
                let mut running = plan.start(&input, &mut output).unwrap();
                test_until_ended(world, || {
                    random.dawdle();
                    running.test()
                });
            }
            assert_eq!(output, expected, "{}", say());
            // The input may change at once.
            input.fill(UNTOUCHED);
            continue;
        }
        let length = input.len().max(expected.len());
        let mut both = vec![UNTOUCHED; length];
        let (from, to) = match what {
            Collective::Allgather | Collective::Gather { .. } if length > count => (position as usize * count, 0),
            Collective::ReduceScatter | Collective::Scatter { .. } if length > count => (0, position as usize * count),
            _ => (0, 0),
        };
        both[from..from + input.len()].copy_from_slice(&input);
        if input.is_empty() {
            both.clone_from(&output);
        }
        let kept = what.blocks_out(position, size) == 0 || what == Collective::ExclusiveScan && position == 0;
        let before = both.clone();
        if number % 4 == 2 {
            plan.run_in_place(&mut both).unwrap();
        } else {
            let running = plan.start_in_place(&mut both).unwrap();
            random.dawdle();
            running.wait().unwrap();
        }
        if kept {
            assert_eq!(both, before, "{}", say());
        } else {
            assert_eq!(both[to..to + expected.len()], expected, "{}", say());
        }
    }
    drop(plan);
    world.progress();
}

/// Every possible shape of one size.
fn shapes(size: u32, per_host: u32, mapped: bool, seed: u64) -> Vec<Shape> {
    let mut random = Random(seed);
    let mut shapes = Vec::new();
    for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
        for algorithm in Algorithm::ALL {
            let operation = operation.rooted(random.below(u64::from(size)) as u32);
            let commutes = random.below(2) == 0;
            // One value; as many as fit a line beside its flag, and more; so many that they are split into pieces.
            let count = [1, 7, 8, 40, 900][random.below(5) as usize];
            for commutes in [commutes, true] {
                let shape = Shape { operation, algorithm, size, count, per_host, commutes };
                if shape.is_possible(mapped) {
                    shapes.push(shape);
                    break;
                }
            }
        }
    }
    shapes
}

#[test]
fn every_algorithm_gives_the_result_on_every_platform() {
    for platform in PLATFORMS {
        for (size, per_host) in [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3)] {
            run(platform, size, |world| {
                // If there are two rails, each size uses different ones to its own host and to others.
                let rail = |number: u32| Rail::new(number as usize % world.rails().len());
                let rails = (size != 4).then(|| Rails { intra_node: rail(size), inter_node: rail(size / 2) });
                let settings = Settings { per_host: Some(per_host), rails, ..little() };
                let all = Collectives::new(world, &settings).unwrap();
                let mut random = Random(u64::from(world.rank()));
                let is_mapped = matches!(platform, Platform::Mapped | Platform::Rails);
                for shape in shapes(size, per_host, is_mapped, u64::from(size)) {
                    repeat(world, &all, &shape, &mut random);
                }
            });
        }
    }
}

/// The last piece of a block is shorter, and its parts belong to other members than those of the pieces before.
#[test]
fn pieces_of_fewer_values_than_members_give_the_result() {
    let settings = Settings { plan_bytes: 512, piece_bytes: 24, ..little() };
    for platform in [Platform::Mapped, Platform::Remote, Platform::Hosts] {
        for size in [5, 8] {
            run(platform, size, |world| {
                let all = Collectives::new(world, &settings).unwrap();
                let mut random = Random(u64::from(world.rank()));
                for shape in shapes(size, 1, platform == Platform::Mapped, 3) {
                    for count in [5, 11] {
                        repeat(world, &all, &Shape { count, ..shape }, &mut random);
                    }
                }
            });
        }
    }
}

/// Messages above the inject size are kept in the slot until the network has sent them: those of one operation at different places of the slot.
#[test]
fn messages_above_the_inject_size_arrive_on_every_platform() {
    let settings = Settings { memory_bytes: 2 << 20, plan_bytes: 256 << 10, ..Settings::default() };
    for platform in PLATFORMS {
        for size in [2, 5] {
            run(platform, size, |world| {
                let all = Collectives::new(world, &settings).unwrap();
                let mut random = Random(u64::from(world.rank()));
                let is_mapped = matches!(platform, Platform::Mapped | Platform::Rails);
                for shape in shapes(size, 1, is_mapped, 11) {
                    // The first count above the inject size, and one whose parts exceed it, as in reduce-scatter.
                    for count in [INJECT_SIZE / size_of::<Value>() + 1, 3000] {
                        repeat(world, &all, &Shape { count, ..shape }, &mut random);
                    }
                }
            });
        }
    }
}

#[test]
fn one_shot_operations_of_all_kinds_follow_one_another() {
    on_every_platform(&[1, 2, 3, 6], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let (position, size) = (all.position(), world.size());
        let mut order = Random(5);
        let mut random = Random(u64::from(position));
        for number in 0..60 {
            random.dawdle();
            let root = order.below(u64::from(size)) as u32;
            let count = [1, 3, 100][order.below(3) as usize];
            let what = Collective::ALL[1 + order.below(10) as usize].rooted(root);
            let (input, expected) = ends(what, number, position, size, count, false);
            let mut output = vec![UNTOUCHED; expected.len()];
            match what {
                Collective::Broadcast { .. } => {
                    if position == root {
                        output.clone_from(&expected);
                    }
                    all.broadcast(root, &mut output).unwrap();
                }
                Collective::Reduce { .. } => {
                    let mut values = input.clone();
                    all.reduce(root, &mut values, compose).unwrap();
                    if position == root {
                        output = values;
                    } else {
                        assert_eq!(values, input);
                    }
                }
                Collective::Allreduce | Collective::Scan | Collective::ExclusiveScan => {
                    output.clone_from(&input);
                    match what {
                        Collective::Allreduce => all.allreduce(&mut output, compose).unwrap(),
                        Collective::Scan => all.scan(&mut output, compose).unwrap(),
                        _ => all.exclusive_scan(&mut output, compose).unwrap(),
                    }
                    if what == Collective::ExclusiveScan && position == 0 {
                        assert_eq!(output, input);
                        continue;
                    }
                }
                Collective::Allgather => all.allgather(&input, &mut output).unwrap(),
                Collective::ReduceScatter => all.reduce_scatter(&input, &mut output, compose).unwrap(),
                Collective::Gather { .. } => all.gather(root, &input, &mut output).unwrap(),
                Collective::Scatter { .. } => all.scatter(root, &input, &mut output).unwrap(),
                _ => all.alltoall(&input, &mut output).unwrap(),
            }
            assert_eq!(output, expected, "{number}: {what} at {position} of {size}");
        }
    });
}

#[test]
fn teams_do_things_by_themselves() {
    on_every_platform(&[7], |world, platform| {
        let some = Team::of(&[6, 0, 3, 2, 5].map(Rank::new)).unwrap();
        let others = Team::of(&[4, 1].map(Rank::new)).unwrap();
        let teams = [Collectives::of(world, &some, &little()).unwrap(), Collectives::of(world, &others, &little()).unwrap()];
        let team = teams.iter().flatten().next().unwrap();
        let mut random = Random(u64::from(world.rank()));
        let size = team.team().size();
        assert_eq!(team.team().rank(team.position()), Some(world.rank()));
        for shape in shapes(size, team.per_host(), platform == Platform::Mapped, 3) {
            repeat(world, team, &shape, &mut random);
        }
        let mut sum = [u64::from(world.rank())];
        team.allreduce(&mut sum, Sum).unwrap();
        assert_eq!(sum, [if size == 5 { 16 } else { 5 }]);
        team.barrier().unwrap();
    });
}

#[test]
fn values_of_any_type_by_any_operator() {
    on_every_platform(&[5], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let rank = world.rank().number();
        let mut bytes = [rank as u8; 3];
        all.allreduce(&mut bytes, Max).unwrap();
        assert_eq!(bytes, [4; 3]);
        let mut least = [f64::from(rank) - 7.5, 1.0];
        all.allreduce(&mut least, Min).unwrap();
        assert_eq!(least, [-7.5, 1.0]);
        // Aligned to 16 bytes.
        let mut long = [u128::from(rank) << 100; 5];
        all.allreduce(&mut long, Sum).unwrap();
        assert_eq!(long, [10 << 100; 5]);
        let mut triples = vec![[rank as u8; 3]; 50];
        all.broadcast(3, &mut triples).unwrap();
        assert_eq!(triples, [[3; 3]; 50]);
        let mut sums: Vec<f32> = (0..1000).map(|i| (i as f32 + 0.1) * (rank as f32 + 0.3)).collect();
        all.allreduce(&mut sums, |one: f32, other: f32| one + other).unwrap();
        let bits: Vec<u32> = sums.iter().map(|sum| sum.to_bits()).collect();
        let mut largest = bits.clone();
        all.allreduce(&mut largest, Max).unwrap();
        assert_eq!(bits, largest, "bitwise the same");
    });
}

#[test]
fn several_operations_are_under_way_at_once() {
    on_every_platform(&[4], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let mut sum = all.plan_of(Collective::Allreduce, 2, Sum, Choice::Table).unwrap();
        let mut gather = all.plan(Collective::Allgather, 1, Choice::Fixed(Algorithm::Ring)).unwrap();
        let mut meet = all.plan::<u8>(Collective::Barrier, 0, Choice::Fixed(Algorithm::RecursiveDoubling)).unwrap();
        let rank = u64::from(world.rank());
        for number in 0..50 {
            let (mut sums, mut ranks) = ([number, rank], [0; 4]);
            let own = [rank + number];
            let one = sum.start_in_place(&mut sums).unwrap();
            let mut other = gather.start(&own, &mut ranks).unwrap();
            let mut third = meet.start(&[], &mut []).unwrap();
            if (rank + number) % 2 == 0 {
                one.wait().unwrap();
                other.test().unwrap();
                drop(other);
                drop(third);
            } else {
                test_until_ended(world, || third.test());
                other.wait().unwrap();
                one.wait().unwrap();
            }
            assert_eq!((sums, ranks), ([4 * number, 6], [0, 1, 2, 3].map(|rank| rank + number)));
        }
    });
}

/// The root has no output: its values are read from its input.
#[test]
fn the_root_of_a_broadcast_may_bring_its_values_as_input() {
    on_every_platform(&[1, 5], |world, platform| {
        let all = Collectives::new(world, &little()).unwrap();
        let (me, size) = (all.position(), world.size());
        let root = size / 2;
        for algorithm in Algorithm::ALL {
            for count in [1, 700] {
                let operation = Collective::Broadcast { root };
                let shape = Shape { operation, algorithm, size, count, per_host: 1, commutes: false };
                if size > 1 && !shape.is_possible(platform == Platform::Mapped) {
                    continue;
                }
                let mut plan = all.plan::<u64>(operation, count, Choice::Fixed(algorithm)).unwrap();
                for number in 0..20 {
                    let brought: Vec<u64> = (number..).take(count).collect();
                    if me == root {
                        plan.run(&brought, &mut []).unwrap();
                        assert!(plan.run(&brought[1..], &mut []).is_err(), "too few");
                    } else {
                        let mut got = vec![0; count];
                        assert!(plan.run(&brought, &mut got).is_err(), "it is not the root");
                        plan.run(&[], &mut got).unwrap();
                        assert_eq!(got, brought, "{algorithm}");
                    }
                }
            }
        }
    });
}

#[test]
fn a_barrier_plan_lets_nobody_go_before_all_have_come() {
    use std::sync::atomic::{AtomicU64, Ordering};
    for platform in PLATFORMS {
        for algorithm in [Algorithm::Flat, Algorithm::Direct, Algorithm::RecursiveDoubling, Algorithm::Hierarchical] {
            let come = AtomicU64::new(0);
            run(platform, 7, |world| {
                let settings = Settings { per_host: Some(3), ..little() };
                let all = Collectives::new(world, &settings).unwrap();
                let mut meet = all.plan::<u8>(Collective::Barrier, 0, Choice::Fixed(algorithm)).unwrap();
                let mut random = Random(u64::from(world.rank()));
                for number in 1..=30 {
                    random.dawdle();
                    come.fetch_add(1, Ordering::SeqCst);
                    meet.run(&[], &mut []).unwrap();
                    assert!(come.load(Ordering::SeqCst) >= 7 * number);
                }
            });
        }
    }
}

#[test]
fn all_members_choose_the_same_and_say_why() {
    on_every_platform(&[4], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        for count in [1, 500] {
            let mut plan = all.plan_of(Collective::Allreduce, count, Sum, Choice::Trial).unwrap();
            let mut values = vec![1_u64; count];
            plan.run_in_place(&mut values).unwrap();
            assert_eq!(values, vec![4; count]);
            let explanation = plan.explain();
            let tried: Vec<_> = explanation.candidates.iter().filter(|candidate| candidate.measured.is_some()).collect();
            assert!(tried.iter().any(|candidate| candidate.algorithm == explanation.chosen));
            assert!(tried.iter().any(|candidate| candidate.algorithm == Algorithm::Flat), "the simplest is tried");
            let text = explanation.to_string();
            assert!(text.contains("allreduce of 4 members") && text.contains(&format!("{}*", explanation.chosen)), "{text}");
            assert_eq!(text.lines().count(), 2 + explanation.candidates.len());
            let chosen = plan.algorithm() as u64;
            let mut both = [chosen, !chosen];
            all.allreduce(&mut both, Min).unwrap();
            assert_eq!(both, [chosen, !chosen], "all have chosen the same");
        }
        let tuned = all.tune(Collective::Allgather, 10, NoOperator).map(|explanation| explanation.chosen).unwrap();
        let plan = all.plan::<u64>(Collective::Allgather, 9, Choice::Table).unwrap();
        assert_eq!(plan.algorithm(), tuned);
        drop(plan);
        all.set(Collective::Broadcast { root: 0 }, 8, Algorithm::Chain).unwrap();
        let plan = all.plan::<u64>(Collective::Broadcast { root: 2 }, 1, Choice::Table).unwrap();
        assert_eq!(plan.algorithm(), Algorithm::Chain);
    });
}

#[derive(Clone, Copy)]
struct NoOperator;

impl Operator<u64> for NoOperator {
    fn combine(&self, _: u64, _: u64) -> u64 {
        panic!("nothing is combined")
    }
}

#[test]
fn what_is_wrong_is_said_and_harms_nothing() {
    on_every_platform(&[3], |world, platform| {
        let all = Collectives::new(world, &little()).unwrap();
        let invalid = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Invalid(_) | Error::WrongNumber { .. })), "{result:?}")
        };
        invalid(all.broadcast(3, &mut [0_u8]));
        invalid(all.allgather(&[0_u8], &mut [0; 4]));
        invalid(all.allreduce(&mut [(); 3], |(), ()| ()));
        invalid(all.allreduce(&mut [[0_u8; 4096]], |one, _| one));
        invalid(all.plan::<u8>(Collective::Allreduce, 1, Choice::Table).map(drop));
        invalid(all.plan::<u8>(Collective::Broadcast { root: 9 }, 1, Choice::Table).map(drop));
        invalid(all.plan::<u8>(Collective::Broadcast { root: 0 }, 1, Choice::Fixed(Algorithm::Ring)).map(drop));
        if !matches!(platform, Platform::Mapped | Platform::Rails) {
            invalid(all.plan::<u8>(Collective::Allgather, 1, Choice::Fixed(Algorithm::Shared)).map(drop));
        }
        let mut plan = all.plan::<u64>(Collective::Allgather, 2, Choice::Table).unwrap();
        invalid(plan.run(&[1], &mut [0; 6]));
        invalid(plan.run_in_place(&mut [0; 5]));
        let mut got = [0; 6];
        plan.run(&[u64::from(world.rank()); 2], &mut got).unwrap();
        assert_eq!(got, [0, 0, 1, 1, 2, 2]);
        drop(plan);
        // Members that disagree get an error.
        let count = 1 + 100 * world.rank().index();
        let plan = all.plan::<u64>(Collective::Alltoall, count, Choice::Fixed(Algorithm::Direct));
        assert!(matches!(plan.map(drop), Err(Error::Disagreement(_))));
        // More plans than the memory holds.
        let plans: Vec<_> =
            (0..).map(|_| all.plan::<u64>(Collective::Alltoall, 300, Choice::Table)).take_while(Result::is_ok).collect();
        assert!(plans.len() > 3);
        drop(plans);
        let mut sum = [1];
        all.allreduce(&mut sum, Sum).unwrap();
        assert_eq!(sum, [3]);
    });
}

/// A member that is far ahead of a slow one does not overwrite what the slow one has not read, and does not wait sooner than necessary.
#[test]
fn a_fast_member_is_ahead_by_the_slots_and_no_further() {
    use std::sync::atomic::{AtomicU64, Ordering};
    for platform in PLATFORMS {
        for algorithm in [Algorithm::Flat, Algorithm::Binomial, Algorithm::Chain] {
            let sent = AtomicU64::new(0);
            run(platform, 4, |world| {
                let all = Collectives::new(world, &little()).unwrap();
                let mut plan = all.plan::<u64>(Collective::Broadcast { root: 0 }, 20, Choice::Fixed(algorithm)).unwrap();
                if world.rank() == Rank::new(3) {
                    // Long enough for the root to have run all operations, if it did not wait.
                    while sent.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    (0..3000).for_each(|_| std::thread::yield_now());
                    let ahead = sent.load(Ordering::SeqCst);
                    // As many slots as its memory has room for, for each member on the path to the slow one.
                    let slots = little().plan_bytes as u64 / (20 * 8);
                    assert!(ahead <= slots * 3, "{algorithm}: the root has ended {ahead} operations");
                }
                for number in 0..200 {
                    let mut values = [if world.rank() == Rank::new(0) { number } else { 0 }; 20];
                    plan.run_in_place(&mut values).unwrap();
                    assert_eq!(values, [number; 20], "{algorithm}");
                    if world.rank() == Rank::new(0) {
                        sent.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
    }
}

#[test]
fn messages_go_by_the_rails_that_are_named() {
    // Members 0 and 1 are on one host, 2 and 3 on the other; the transport that is counted is rail 1.
    let [memory, counted] = [0, 1].map(Rail::new);
    for (near, far, to_others) in
        [(memory, memory, [0, 0]), (memory, counted, [0, 2]), (counted, memory, [1, 0]), (None, counted, [0, 2])]
    {
        run_counted(Platform::Rails, 4, |world, passed| {
            let settings = Settings { per_host: Some(2), rails: Some(Rails { intra_node: near, inter_node: far }), ..little() };
            let all = Collectives::new(world, &settings).unwrap();
            let mut plan = all.plan::<u64>(Collective::Allgather, 3, Choice::Fixed(Algorithm::Direct)).unwrap();
            assert_eq!((plan.explain().rails, plan.explain().names.len()), (Rails { intra_node: near, inter_node: far }, 2));
            let posted = || passed.lock().unwrap().of(Event::PutPosted);
            let before = posted();
            let mut output = [0; 12];
            plan.run(&[u64::from(world.rank()) + 1; 3], &mut output).unwrap();
            assert_eq!(output, [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
            world.flush_all().unwrap();
            // Values and a flag to each member.
            assert_eq!(posted() - before, 2 * to_others.iter().sum::<u64>(), "{near:?} {far:?}");
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_trial_tries_rails() {
    run(Platform::Rails, 4, |world| {
        let settings = Settings { per_host: Some(2), ..little() };
        let all = Collectives::new(world, &settings).unwrap();
        let plan = all.plan::<u64>(Collective::Allgather, 3, Choice::Trial).unwrap();
        let explanation = plan.explain();
        let tried: Vec<_> = explanation.candidates.iter().filter(|candidate| candidate.measured.is_some()).collect();
        assert!(tried.iter().any(|candidate| candidate.algorithm == explanation.chosen), "{explanation}");
        // All members have chosen the same.
        let number = |rail: Option<Rail>| rail.map_or(0, |rail| rail.number() as u64 + 1);
        let chosen = [number(explanation.rails.intra_node), number(explanation.rails.inter_node)];
        let mut most = chosen;
        world.allreduce(&mut most, u64::max).unwrap();
        let mut least = chosen;
        world.allreduce(&mut least, u64::min).unwrap();
        assert_eq!((most, least), (chosen, chosen));
        drop(plan);
        world.barrier().unwrap();
    });
}

#[test]
fn a_trial_without_room_for_any_candidate_fails() {
    on_every_platform(&[3], |world, _| {
        let all = Collectives::new(world, &little()).unwrap();
        let mut plans: Vec<Plan<'_, '_, u64>> = Vec::new();
        let full = loop {
            // These operations have no flat algorithm.
            match all.plan_of(Collective::Scan, 1, Sum, Choice::Trial) {
                Ok(plan) => plans.push(plan),
                Err(error) => break error,
            }
        };
        assert!(matches!(full, Error::NoMemory { .. }), "{full}");
        assert!(
            full.to_string().contains("Settings::memory_bytes"),
            "the setting that bounds it, not the heap of the job: {full}"
        );
        assert!(matches!(all.tune::<u64>(Collective::ExclusiveScan, 1, Sum), Err(Error::NoMemory { .. })));
        drop(plans);
        let mut values = [1_u64];
        all.scan(&mut values, Sum).unwrap();
        assert_eq!(values, [u64::from(world.rank()) + 1]);
    });
}

/// Prepared one-shot operations use all memory of the team: a plan takes theirs, and their next calls prepare them again.
#[test]
fn a_plan_takes_the_memory_of_one_shot_operations() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 3, |world| {
            let all = Collectives::new(world, &little()).unwrap();
            let one_shot = |count: usize| {
                let mut values = vec![1_u64; count];
                all.allreduce(&mut values, Sum).unwrap();
                assert!(values.iter().all(|&value| value == 3));
            };
            for choice in [Choice::Table, Choice::Trial, Choice::Fixed(Algorithm::Chain)] {
                (1..=20).for_each(one_shot);
                let plans = [1, 2].map(|count| {
                    let mut plan = all.plan_of(Collective::Scan, count, Sum, choice).unwrap();
                    let mut values = vec![1_u64; count];
                    plan.run_in_place(&mut values).unwrap();
                    assert_eq!(values, vec![u64::from(world.rank()) + 1; count]);
                    plan
                });
                (1..=20).for_each(one_shot);
                drop(plans);
            }
        });
    }
}

/// Bytes that no process can have, and that a plan may need: all addresses.
const ALL_ADDRESSES: u64 = 1 << 47;

/// The buffers of a trial, or the copy of an `alltoall` in place, do not fit: the error has their number of bytes. Afterwards the members are in
/// step.
#[test]
fn a_plan_without_memory_is_refused_with_the_bytes_that_it_needs() {
    on_every_platform(&[1, 2], |world, platform| {
        let all = Collectives::new(world, &little()).unwrap();
        let size = world.size() as usize;
        let refused = |operation, count, choice| all.plan::<u64>(operation, count, choice).map(drop).unwrap_err();
        let count = ALL_ADDRESSES as usize / 8;
        let out_of_memory = |error: Error| matches!(error, Error::OutOfMemory { bytes, .. } if bytes >= ALL_ADDRESSES);
        let choices = [Choice::Trial, Choice::Table, Choice::Fixed(Algorithm::Direct)];
        for choice in choices {
            assert!(out_of_memory(refused(Collective::Alltoall, count / size, choice)), "{platform:?}, {choice:?}");
        }
        if size > 1 {
            assert!(out_of_memory(refused(Collective::Allgather, count / size, Choice::Trial)), "{platform:?}");
            assert!(out_of_memory(refused(Collective::Broadcast { root: 1 }, count, Choice::Trial)), "{platform:?}");
        }
        for operation in
            Collective::ALL.into_iter().filter(|operation| !operation.combines() && *operation != Collective::Barrier)
        {
            for count in [count + 1, 1 << 60, usize::MAX] {
                let error = refused(operation, count, Choice::Table);
                assert!(matches!(error, Error::TooLong { bytes, .. } if bytes as u64 > ALL_ADDRESSES), "{operation}: {error}");
            }
            // Without such buffers a plan of any length is possible, though no program has its values.
            if operation != Collective::Alltoall {
                all.plan::<u64>(operation, count / size, Choice::Table).unwrap();
            }
        }
        let mut sums = [1, 2];
        all.allreduce(&mut sums, Sum).unwrap();
        assert_eq!(sums, [size as u64, 2 * size as u64]);
        world.barrier().unwrap();
    });
}

/// A member that returned with an earlier failure of the program would leave the others waiting: in the probe, when an operation is prepared, when it is
/// tried, and when a team is split.
#[test]
fn an_earlier_failure_stops_no_member() {
    on_every_platform(&[3], |world, platform| {
        const CALLS: u64 = 2;
        const COUNT: usize = 8_000;
        let settings =
            Settings { memory_bytes: 1 << 20, plan_bytes: 64 << 10, calls_before_trial: Some(CALLS), ..Settings::default() };
        let all = after_a_failure(world, || Collectives::new(world, &settings).unwrap());
        for call in 0..=CALLS {
            let mut values = vec![1_u64; COUNT];
            after_a_failure(world, || all.allreduce(&mut values, Sum).unwrap());
            assert_eq!(values, [3; COUNT], "{platform:?}, call {call}");
        }
        let is_root = world.rank() == Rank::new(0);
        let (at_root, counts) = if is_root { (vec![1_u64, 2, 3], vec![1; 3]) } else { Default::default() };
        let (mut own, mut every) = ([0_u64], [0_u64; 3]);
        after_a_failure(world, || all.scatterv(0, &at_root, &counts, &mut own).unwrap());
        after_a_failure(world, || all.allgatherv(&own, &[1; 3], &mut every).unwrap());
        assert_eq!(every, [1, 2, 3], "{platform:?}");
        for _ in 0..2 {
            // The second split frees the memory of the first.
            drop(after_a_failure(world, || all.split(Some(0), 0, &settings).unwrap()));
        }
        world.barrier().unwrap();
    });
}
