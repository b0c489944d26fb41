//! NAS integer sort: keys are sent to the ranks that own their ranges, and each rank counts its own keys.
//!
//! Source: Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007 (1994), section 2.8. Keys are copied into the memory of their owners, at
//! offsets computed from the counts of all ranks, and a signal follows each copy.

use core::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use pelago::collectives::{Collectives, Settings, Sum};
use pelago::{CellSlice, Duration, Error, Rank, Symmetric, World};

use crate::nas::{Class, Random, report, share};
use crate::usage::{Stop, exit, parse};

/// Number of rankings in a run.
const ITERATIONS: u32 = 10;

/// Number of parts of the key range, which are assigned to ranks.
const BUCKETS: usize = 1024;

/// Declared computing time per key.
const PICOSECONDS_PER_KEY: u64 = 4_000;

/// NAS integer sort (IS): rank 0 prints the class, the ranks, the milliseconds of ten rankings, and whether all verifications passed
#[derive(Parser)]
#[command(name = "is")]
struct Arguments {
    /// Class: S (65,536 keys), W (1,048,576 keys) or A (8,388,608 keys)
    #[arg(value_enum, value_name = "CLASS", default_value = "S")]
    class: Class,
}

/// A class: number of keys, their range, and the test keys with published ranks.
struct Problem {
    keys_log: u32,
    range_log: u32,
    /// Indexes of the test keys, and their ranks in the first iteration, without the change by [`rank_in`](Self::rank_in).
    places: [usize; 5],
    ranks: [i64; 5],
    /// Number of ranks that grow by one in each iteration; the others shrink.
    growing: usize,
    /// Iteration in which a growing rank, and a shrinking rank, has the published value.
    published: [i64; 2],
}

fn problem(class: Class) -> Problem {
    match class {
        Class::S => Problem {
            keys_log: 16,
            range_log: 11,
            places: [48_427, 17_148, 23_627, 62_548, 4_431],
            ranks: [0, 18, 346, 64_917, 65_463],
            growing: 3,
            published: [0, 0],
        },
        Class::W => Problem {
            keys_log: 20,
            range_log: 16,
            places: [357_773, 934_767, 875_723, 898_999, 404_505],
            ranks: [1_249, 11_698, 1_039_987, 1_043_896, 1_048_018],
            growing: 2,
            published: [2, 0],
        },
        Class::A => Problem {
            keys_log: 23,
            range_log: 19,
            places: [2_112_377, 662_041, 5_336_171, 3_642_833, 4_250_760],
            ranks: [104, 17_523, 123_928, 8_288_932, 8_388_264],
            growing: 3,
            published: [1, 1],
        },
    }
}

impl Problem {
    /// Returns the published rank of a test key in an iteration.
    fn rank_in(&self, iteration: u32, number: usize) -> i64 {
        let is_growing = number < self.growing;
        let passed = i64::from(iteration) - self.published[usize::from(!is_growing)];
        self.ranks[number] + if is_growing { passed } else { -passed }
    }
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => sort(world, arguments.class),
        Err(stop) => Ok(stop.tell("is", world)),
    });
    exit("is", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn sort(world: &World, class: Class) -> pelago::Result<ExitCode> {
    let problem = problem(class);
    let all = Collectives::new(world, &Settings { memory_bytes: 16 << 20, ..Settings::default() })?;
    let mut sorter = Sorter::new(world, &all, &problem)?;
    // The first ranking touches all pages.
    let mut right = sorter.rank(1)?;
    world.barrier()?;
    let start = world.now();
    for iteration in 1..=ITERATIONS {
        right &= sorter.rank(iteration)?;
    }
    let ended = world.now();
    right &= sorter.is_sorted()?;
    // The time excludes the verification.
    let start = start + (world.now() - ended);
    report(world, &all, &format!("is class {class:?}"), start, right)
}

/// One rank's keys, and memory reused by every iteration.
struct Sorter<'a> {
    world: &'a World,
    all: &'a Collectives<'a>,
    problem: &'a Problem,
    mine: Range<usize>,
    keys: Vec<u32>,
    /// Number of keys of all ranks in each bucket.
    buckets: Vec<u64>,
    /// Keys ordered by bucket, in registered memory, from which they are transferred without a copy.
    sent: Symmetric<'a, u32>,
    /// Keys of this rank's range from other ranks, and their number. They are counted before the next reduction, after which other ranks copy more.
    owned: Symmetric<'a, u32>,
    brought: usize,
    /// This rank's own keys in its range, as a range of `sent`.
    kept: Range<usize>,
    /// Number of arrived copies, and of those that this rank has waited for.
    arrived: Symmetric<'a, u64>,
    awaited: u64,
    /// Number of occurrences of each key of this rank's range.
    counts: Vec<u32>,
    /// The first key of this rank's range, and the number of keys below it.
    first: usize,
    below: u64,
}

impl<'a> Sorter<'a> {
    fn new(world: &'a World, all: &'a Collectives<'a>, problem: &'a Problem) -> pelago::Result<Self> {
        let (mine, _) = share(1 << problem.keys_log, world.size(), world.rank().number());
        let mut random = Random::after(4 * mine.start as u64);
        let keys: Vec<u32> = mine.clone().map(|_| random.key(1 << (problem.range_log - 2))).collect();
        // Each rank has about an equal share of the keys; with few ranks, one may have twice its share.
        let most = (1_usize << problem.keys_log).div_ceil(world.size() as usize);
        let (sent, owned, arrived) = (world.alloc(most)?, world.alloc(2 * most + BUCKETS)?, world.alloc(1)?);
        let (buckets, counts, brought, kept, awaited, first, below) = (vec![0; BUCKETS], Vec::new(), 0, 0..0, 0, 0, 0);
        Ok(Self { world, all, problem, mine, keys, buckets, sent, owned, brought, kept, arrived, awaited, counts, first, below })
    }

    /// Changes two keys, ranks all keys, and returns whether the test keys owned by this rank have their published ranks.
    fn rank(&mut self, iteration: u32) -> pelago::Result<bool> {
        for (place, key) in [(iteration, iteration), (iteration + ITERATIONS, (1 << self.problem.range_log) - iteration)] {
            if self.mine.contains(&(place as usize)) {
                self.keys[place as usize - self.mine.start] = key;
            }
        }
        let own = |place: usize| self.keys.get(place.wrapping_sub(self.mine.start));
        let mut tested = self.problem.places.map(|place| own(place).map_or(0, |&key| u64::from(key)));
        let shift = self.problem.range_log - BUCKETS.ilog2();
        let mut own_buckets = [0_u32; BUCKETS];
        self.keys.iter().for_each(|&key| own_buckets[bucket(key, shift)] += 1);
        let mut own: Vec<u64> = own_buckets.iter().map(|&count| u64::from(count)).chain(tested).collect();
        self.all.allreduce(&mut own, Sum)?;
        tested.copy_from_slice(&own[BUCKETS..]);
        self.buckets.copy_from_slice(&own[..BUCKETS]);
        let ranges = self.owners();
        self.exchange(&own_buckets, &ranges, shift)?;
        let mine = &ranges[self.world.rank().index()];
        self.first = mine.start << shift;
        self.below = self.buckets[..mine.start].iter().sum();
        self.counts.clear();
        self.counts.resize(mine.len() << shift, 0);
        count(self.owned.local().range(0..self.brought), self.first, &mut self.counts);
        count(self.sent.local().range(self.kept.clone()), self.first, &mut self.counts);
        let seen = self.keys.len() + self.brought + self.kept.len();
        self.world.compute(Duration::from_picoseconds(seen as u64 * PICOSECONDS_PER_KEY));
        // The number of keys below a key is the sum of the counts before it.
        let owns = |key: usize| key >= self.first && key < self.first + self.counts.len();
        let before = |key: usize| self.counts[..key - self.first].iter().map(|&count| u64::from(count)).sum::<u64>();
        let rank = |key: usize| (self.below + before(key)) as i64;
        let mut right = tested.iter().enumerate().filter(|&(_, &key)| owns(key as usize));
        Ok(right.all(|(number, &key)| rank(key as usize) == self.problem.rank_in(iteration, number)))
    }

    /// Assigns the buckets to ranks, with about equal numbers of keys.
    fn owners(&self) -> Vec<Range<usize>> {
        let (ranks, keys, mut bucket, mut passed) = (u64::from(self.world.size()), 1_u64 << self.problem.keys_log, 0, 0);
        let take = |rank: u64| {
            let start = bucket;
            while bucket < BUCKETS && (rank + 1 == ranks || passed < keys * (rank + 1) / ranks) {
                passed += self.buckets[bucket];
                bucket += 1;
            }
            start..bucket
        };
        (0..ranks).map(take).collect()
    }

    /// Copies each key to its owner.
    fn exchange(&mut self, own_buckets: &[u32; BUCKETS], ranges: &[Range<usize>], shift: u32) -> pelago::Result<()> {
        let (world, me, sent) = (self.world, self.world.rank().index(), self.sent.local());
        let (mut places, mut next) = (*own_buckets, 0);
        for place in &mut places {
            next += *place;
            *place = next - *place;
        }
        for &key in &self.keys {
            let place = &mut places[bucket(key, shift)];
            sent.store(*place as usize, key);
            *place += 1;
        }
        let send: Vec<usize> = ranges.iter().map(|range| own_buckets[range.clone()].iter().sum::<u32>() as usize).collect();
        // End of this rank's keys at each owner, after those of lower ranks; owners do not send their own keys.
        let mut ends: Vec<u64> = send.iter().map(|&count| count as u64).collect();
        ends[me] = 0;
        self.all.scan(&mut ends, Sum)?;
        self.brought = self.buckets[ranges[me].clone()].iter().sum::<u64>() as usize - send[me];
        if self.brought > self.owned.len() {
            return Err(Error::Invalid("the keys of a rank are more than twice its share"));
        }
        // After sorting, the entry of a bucket is its end, which is the start of the next one.
        let start_of = |to: usize| ranges[to].start.checked_sub(1).map_or(0, |bucket| places[bucket] as usize);
        self.kept = start_of(me)..start_of(me) + send[me];
        for to in (1..ranges.len()).map(|distance| (me + distance) % ranges.len()) {
            let rank = Rank::new(to as u32);
            let arrived = self.arrived.at(rank, 0);
            world.batch(|| match send[to] {
                0 => world.add(arrived, 1),
                count => {
                    let into = self.owned.at(rank, ends[to] as usize - count);
                    let copied = world.copy(self.sent.at(world.rank(), start_of(to)), into, count)?;
                    world.after(&copied).add(arrived, 1)
                }
            })?;
        }
        self.awaited += ranges.len() as u64 - 1;
        world.wait_until(self.arrived.local(), 0, |arrived| arrived >= self.awaited)?;
        // The next iteration overwrites the source of these copies.
        world.quiet()
    }

    /// Full verification: sorts by the counts, and checks that the keys of this rank ascend, follow those of lower ranks, and are complete.
    fn is_sorted(&self) -> pelago::Result<bool> {
        let sorted: Vec<u32> =
            (self.first as u32..).zip(&self.counts).flat_map(|(key, &count)| vec![key; count as usize]).collect();
        let mut again = vec![0; self.brought + self.kept.len()];
        let (brought, kept) = again.split_at_mut(self.brought);
        self.owned.local().read(0, brought);
        self.sent.local().read(self.kept.start, kept);
        again.sort_unstable();
        let mut sums = [sorted.len() as u64, sorted.iter().map(|&key| u64::from(key)).sum()];
        self.all.allreduce(&mut sums, Sum)?;
        let mut brought = [self.keys.len() as u64, self.keys.iter().map(|&key| u64::from(key)).sum()];
        self.all.allreduce(&mut brought, Sum)?;
        // The largest key of the lower ranks, by an exclusive scan.
        let mut last = [sorted.last().map_or(0, |&key| u64::from(key) + 1)];
        self.all.exclusive_scan(&mut last, pelago::collectives::Max)?;
        let before = if self.world.rank().number() == 0 { 0 } else { last[0] };
        let follows = sorted.first().is_none_or(|&first| u64::from(first) + 1 >= before);
        Ok(sorted == again && sums == brought && follows)
    }
}

/// Returns the bucket of a key. The remainder does not change the bucket; it lets the compiler remove the bounds check.
fn bucket(key: u32, shift: u32) -> usize {
    (key >> shift) as usize % BUCKETS
}

/// Counts keys in place; the index of a count is its key minus `first`. Not inlined, as the loop would have too few registers in its caller.
#[inline(never)]
fn count(keys: CellSlice<'_, u32>, first: usize, counts: &mut [u32]) {
    (0..keys.len()).for_each(|index| counts[keys.load(index) as usize - first] += 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        assert_eq!(check(&["W".into()], 2), Ok(()));
        assert!(check(&["D".into()], 2).is_err());
    }

    #[test]
    fn published_ranks_move_with_the_iterations() {
        let problem = problem(Class::W);
        assert_eq!([1, 2, 10].map(|iteration| problem.rank_in(iteration, 0)), [1_248, 1_249, 1_257]);
        assert_eq!(problem.rank_in(3, 4), 1_048_015);
    }
}
