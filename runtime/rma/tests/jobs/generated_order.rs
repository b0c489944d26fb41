//! Generated operations, each ordered after the previous one and through any rail, compared with an oracle that executes them sequentially.

use pelago_base::Rank;
use pelago_platform::Rail;
use pelago_rma::{Fetch, Handle, Ordered, Symmetric, World};

use pelago_test_support::threads::{Platform, on_every_platform, run};

/// Number of runs, each from its own seed.
const SEEDS: u64 = 30;

/// Number of operations per run.
const OPERATIONS: u64 = 120;

/// Number of words per rank: some more than the longest put.
const WORDS: usize = 700;

#[test]
fn operations_in_order_agree_with_an_oracle() {
    on_every_platform(&[3], agree);
    run(Platform::Networks, 3, |world| agree(world, Platform::Networks));
}

fn agree(world: &World, platform: Platform) {
    let memory = world.alloc::<u64>(WORDS).unwrap();
    for seed in 0..SEEDS {
        memory.local().fill(0);
        world.barrier().unwrap();
        if world.rank() == Rank::new(0) {
            let mut run = Run { world, memory: &memory, oracle: vec![vec![0; WORDS]; 3], fetched: Vec::new(), random: seed };
            run.go();
            run.compare(&format!("{platform:?}, seed {seed}"));
        }
        world.barrier().unwrap();
    }
}

struct Run<'w> {
    world: &'w World,
    memory: &'w Symmetric<'w, u64>,
    /// The expected contents of each rank's memory.
    oracle: Vec<Vec<u64>>,
    /// The words that the fetches must return.
    fetched: Vec<(Fetch<'w, u64>, u64)>,
    random: u64,
}

impl<'w> Run<'w> {
    fn go(&mut self) {
        let mut last = None;
        for step in 1..=OPERATIONS {
            let order = match last {
                Some(last) if self.below(4) > 0 => self.world.after(&last),
                _ => self.world.after_all(),
            };
            last = Some(self.issue(order, step));
            if self.below(20) == 0 {
                self.world.progress();
            }
        }
    }

    fn issue(&mut self, order: Ordered<'w>, step: u64) -> Handle<'w> {
        let (rank, index) = (self.rank(), self.below(3));
        let rail = Rail::new(self.below(2 * self.world.rails().len() as u64)).unwrap();
        let order = if self.world.rails().reach(rail, Rank::new(rank as u32)) { order.on(rail) } else { order };
        let at = self.memory.at(Rank::new(rank as u32), index);
        match self.below(10) {
            kind @ 0..=4 => {
                let length = if kind == 0 { 600 } else { 1 + self.below(3) };
                let values: Vec<u64> = (0..length as u64).map(|i| step << 32 | i).collect();
                self.oracle[rank][index..index + length].copy_from_slice(&values);
                order.put(at, &values).unwrap()
            }
            5 => {
                self.oracle[rank][index] += step;
                order.add(at, step).unwrap()
            }
            6..=8 => {
                let found = order.fetch_add(at, step).unwrap();
                let handle = found.handle();
                self.fetched.push((found, self.oracle[rank][index]));
                self.oracle[rank][index] += step;
                handle
            }
            _ => {
                let (to_rank, to_index) = (self.rank(), 20 + self.below(10));
                let values = self.oracle[rank][index..index + 10].to_vec();
                self.oracle[to_rank][to_index..to_index + 10].copy_from_slice(&values);
                order.copy(at, self.memory.at(Rank::new(to_rank as u32), to_index), 10).unwrap()
            }
        }
    }

    fn compare(self, run: &str) {
        for (fetch, expected) in self.fetched {
            assert_eq!(fetch.wait(), Ok(expected), "{run}");
        }
        self.world.quiet().unwrap();
        for (rank, expected) in self.oracle.iter().enumerate() {
            let mut seen = vec![0; WORDS];
            self.world.get_into(self.memory.at(Rank::new(rank as u32), 0), &mut seen).unwrap();
            assert!(seen == *expected, "{run}: memory of rank {rank}");
        }
    }

    /// Mostly rank 1, so that many consecutive operations access the same rank.
    fn rank(&mut self) -> usize {
        [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2][self.below(16)]
    }

    fn below(&mut self, bound: u64) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % bound) as usize
    }
}
