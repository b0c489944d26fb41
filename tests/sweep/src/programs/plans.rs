//! Ranks make plans of collective operations, run them repeatedly without a barrier in between, and drop them in the same order. Then they
//! exchange blocks of different lengths while started reductions continue.

use pelago_collectives::{Choice, Collective, Collectives, Commutative, Model, Plan, Settings};

use pelago_rma::Error;

use super::{Act, Memory, Trouble, demand};
use crate::crew::Crew;
use crate::random::{Random, stamp};

/// Little memory, so that operations are divided into pieces and use few slots, and so that plans soon reuse the memory of dropped ones.
const MEMORY_BYTES: usize = 192 << 10;
const PLAN_BYTES: usize = 4 << 10;

/// Costs of steps, so that no measurement is necessary.
const MODEL: Model = Model { latency_ns: 2000.0, message_ns: 200.0, byte_ns: 0.5, turn_ns: 0.0 };

/// Maximum number of plans at a time, and of runs of each.
const PLANS_MAX: u64 = 3;
const RUNS_MAX: u64 = 14;

/// Number of exchanges with counts in each round.
const EXCHANGES: u64 = 6;

pub(super) struct Plans {
    seed: u64,
    rounds: u64,
    per_host: u32,
}

impl Plans {
    pub(super) fn new(random: &mut Random, size: u32) -> Self {
        Self { seed: random.draw(), rounds: random.within(2, 4), per_host: random.within(1, size.into()) as u32 }
    }

    fn values(&self, run: u64, position: u32, count: usize) -> Vec<u64> {
        (0..count).map(|index| stamp(self.seed, [run, position.into(), index as u64])).collect()
    }

    /// Makes a plan of an operation, by an algorithm that supports it.
    fn plan<'c, 'w>(
        &self,
        all: &'c Collectives<'w>,
        random: &mut Random,
        size: u32,
    ) -> Result<(Plan<'c, 'w, u64>, usize), Trouble> {
        let root = random.below(size.into()) as u32;
        let operation = random.pick(&Collective::ALL[1..]).rooted(root);
        let count = random.spread(700) as usize;
        let candidates = all.candidates::<u64>(operation, count, true)?;
        let algorithm = random.pick(&candidates).algorithm;
        Ok((all.plan_of(operation, count, Commutative(u64::wrapping_add), Choice::Fixed(algorithm))?, count))
    }

    /// Runs a plan once, and checks the result against the definition of the operation.
    fn run(&self, plan: &mut Plan<'_, '_, u64>, count: usize, run: u64, (me, size): (u32, u32)) -> Result<(), Trouble> {
        let operation = plan.operation();
        let [blocks_in, blocks_out] =
            [operation.blocks_in(me, size), operation.blocks_out(me, size)].map(|blocks| blocks as usize);
        let brought = |position: u32, count: usize| self.values(run, position, count);
        let sum = |members: std::ops::Range<u32>, first: usize| {
            let mut sums = vec![0_u64; count];
            for position in members {
                let all = brought(position, first + count);
                sums.iter_mut().zip(&all[first..]).for_each(|(sum, value)| *sum = sum.wrapping_add(*value));
            }
            sums
        };
        let block = |position: u32, number: usize| brought(position, (number + 1) * count).split_off(number * count);
        let mine = me as usize;
        let untouched = vec![u64::MAX; count];
        let expected: Vec<u64> = match operation {
            _ if blocks_out == 0 => Vec::new(),
            Collective::Broadcast { root } => block(root, 0),
            Collective::Reduce { .. } | Collective::Allreduce => sum(0..size, 0),
            Collective::Allgather | Collective::Gather { .. } => (0..size).flat_map(|position| block(position, 0)).collect(),
            Collective::ReduceScatter => sum(0..size, mine * count),
            Collective::Scatter { root } => block(root, mine),
            Collective::Alltoall => (0..size).flat_map(|position| block(position, mine)).collect(),
            Collective::Scan => sum(0..me + 1, 0),
            Collective::ExclusiveScan if me == 0 => untouched,
            Collective::ExclusiveScan => sum(0..me, 0),
            Collective::Barrier => Vec::new(),
        };
        let mut got = vec![u64::MAX; blocks_out * count];
        if operation == (Collective::Broadcast { root: me }) {
            got.clone_from(&expected);
        }
        let input = brought(me, blocks_in * count);
        if run.is_multiple_of(2) {
            plan.run(&input, &mut got)?;
        } else {
            plan.start(&input, &mut got)?.wait()?;
        }
        demand!(got == expected, "run {run} of {} by {} with {count} values is wrong", operation.name(), plan.algorithm());
        Ok(())
    }
}

impl Plans {
    /// Exchanges blocks of different lengths while a started reduction continues.
    fn exchange(&self, crew: &Crew<'_>, all: &Collectives<'_>, round: u64, (me, size): (u32, u32)) -> Result<(), Trouble> {
        for turn in 0..EXCHANGES {
            let count = |from: u32, to: u32| {
                let drawn = stamp(self.seed, [round << 8 | turn, from.into(), to.into()]);
                [0, 1, 9, 200][(drawn % 4) as usize]
            };
            let block =
                |from: u32, to: u32| (0..count(from, to)).map(move |index| u64::from(from << 16 | to) << 16 | index as u64);
            let [sent, received] = [true, false]
                .map(|is_sent| (0..size).map(|other| if is_sent { count(me, other) } else { count(other, me) }).collect());
            let (sent, received): (Vec<usize>, Vec<usize>) = (sent, received);
            let input: Vec<u64> = (0..size).flat_map(|to| block(me, to)).collect();
            let expected: Vec<u64> = (0..size).flat_map(|from| block(from, me)).collect();
            let sums = all.start_allreduce(vec![u64::from(me); 20], Commutative(u64::wrapping_add))?;
            crew.pause();
            let mut got = vec![u64::MAX; expected.len()];
            all.alltoallv(&input, &sent, &mut got, &received)?;
            demand!(got == expected, "exchange {turn} of round {round} is wrong");
            let total = u64::from(size * (size - 1) / 2);
            demand!(sums.wait()? == vec![total; 20], "sum {turn} of round {round} is wrong");
        }
        Ok(())
    }
}

impl Act for Plans {
    fn memory(&self) -> Memory {
        Memory::default()
    }

    fn play(&self, crew: &Crew<'_>) -> Result<(), Trouble> {
        let (me, size) = (crew.position(), crew.size());
        let per_host = Some(self.per_host);
        let settings =
            Settings { memory_bytes: MEMORY_BYTES, plan_bytes: PLAN_BYTES, per_host, model: Some(MODEL), ..Settings::default() };
        let all = Collectives::new(crew.world(), &settings)?;
        // The same numbers on every rank.
        let mut random = Random::of(self.seed, 0);
        for round in 0..self.rounds {
            let mut plans = Vec::new();
            for _ in 0..random.within(1, PLANS_MAX) {
                match self.plan(&all, &mut random, size) {
                    // This happens on all members.
                    Err(Trouble::Library(Error::NoMemory { .. })) if !plans.is_empty() => break,
                    made => plans.push(made?),
                }
            }
            for run in 0..random.within(2, RUNS_MAX) {
                let which = random.below(plans.len() as u64) as usize;
                let (plan, count) = &mut plans[which];
                crew.pause();
                self.run(plan, *count, round << 8 | run, (me, size))?;
            }
            drop(plans);
            self.exchange(crew, &all, round, (me, size))?;
        }
        Ok(())
    }
}
