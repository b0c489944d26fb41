//! Random updates of a table distributed over all ranks (the RandomAccess benchmark of the HPC Challenge): `table[i] ^= x` for pseudo-random `x`,
//! by remote atomics, by active messages, or in a hash table whose owners make the updates.
//!
//! After all updates, the `xor` of the table must have changed by that of the updates. Then they are made a second time. As `xor` is its own inverse,
//! each word must then have its original value. Otherwise updates were lost or duplicated.

use std::cell::RefCell;
use std::io::Write;
use std::process::ExitCode;
use std::rc::Rc;

use clap::{Parser, ValueEnum};
use pelago::active::{ActiveMessages, Call, Functions, QueueSettings};
use pelago::containers::{GlobalHeap, GlobalMap};
use pelago::{Duration, Rank, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse, room};

/// Bytes of an element of the hash table, including overhead of the allocator.
const ELEMENT_BYTES: u64 = 80;

/// By what updates are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Remote atomics
    Atomics,
    /// Active messages
    Messages,
    /// Updates of a hash table at the owners of its keys
    Map,
}

/// Update random words of a table: rank 0 prints the number of updates, giga-updates per second, and million updates per second and rank
#[derive(Parser)]
#[command(name = "gups")]
struct Arguments {
    /// Words of the table on each rank, as a power of two
    #[arg(long, value_name = "LOG", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=32))]
    log_words: u32,
    /// Updates for each word, on average
    #[arg(long, value_name = "U", default_value_t = 4, allow_negative_numbers = true, value_parser = at_least_one)]
    updates: u32,
    /// Method of the updates
    #[arg(long, value_enum, default_value_t = Method::Messages)]
    by: Method,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => update(world, arguments),
        Err(stop) => Ok(stop.tell("gups", world)),
    });
    exit("gups", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

/// The pseudo-random words of the benchmark, by a primitive polynomial over GF(2), with a different start for each rank.
struct Stream(u64);

impl Stream {
    const POLYNOMIAL: u64 = 7;

    /// Starts at word `n`: multiplies the state by xⁿ, by repeated squaring.
    fn from(n: u64) -> Self {
        let times = |one: u64, other: u64| {
            let mut product = 0;
            for bit in (0..64).rev() {
                product = Self::next_of(product) ^ if other >> bit & 1 == 1 { one } else { 0 };
            }
            product
        };
        let (mut state, mut square) = (1, 2);
        for bit in 0..64 {
            if n >> bit & 1 == 1 {
                state = times(state, square);
            }
            square = times(square, square);
        }
        Self(state)
    }

    fn next_of(state: u64) -> u64 {
        state << 1 ^ if state >> 63 == 1 { Self::POLYNOMIAL } else { 0 }
    }

    fn next(&mut self) -> u64 {
        self.0 = Self::next_of(self.0);
        self.0
    }
}

/// Mapping of words to ranks and local indexes.
#[derive(Clone, Copy)]
struct Places {
    ranks: u32,
    log_words: u32,
}

impl Places {
    /// Returns the global number of the word that an update changes.
    fn of(self, word: u64) -> u64 {
        ((u128::from(word) * (u128::from(self.ranks) << self.log_words)) >> 64) as u64
    }

    fn rank(self, number: u64) -> Rank {
        Rank::new((number >> self.log_words) as u32)
    }

    fn index(self, number: u64) -> usize {
        (number & ((1 << self.log_words) - 1)) as usize
    }
}

fn update(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let places = Places { ranks: world.size(), log_words: arguments.log_words };
    let count = u64::from(arguments.updates) << arguments.log_words;
    let words = || {
        let mut stream = Stream::from(u64::from(world.rank()) * count);
        (0..count).map(move |_| stream.next())
    };
    let (time, wrong) = match arguments.by {
        Method::Atomics => by_atomics(world, places, &words)?,
        Method::Messages => by_messages(world, places, &words)?,
        Method::Map => by_map(world, places, &words)?,
    };
    let mut sums = [wrong];
    world.allreduce(&mut sums, |one, other| one + other)?;
    let (updates, wrong) = (count * u64::from(world.size()), sums[0]);
    if world.rank().number() == 0 {
        let rate = updates as f64 / time.as_seconds();
        let by = arguments.by.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        let _ = writeln!(
            Output,
            "gups ranks {} log-words {} by {by} updates {updates} gups {:.6} per-rank-millions {:.3} wrong {wrong}",
            world.size(),
            arguments.log_words,
            rate / 1e9,
            rate / 1e6 / f64::from(world.size()),
        );
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes all updates twice by `make`; returns the time of the first pass on the slowest rank, and the number of errors on this rank: of wrong words
/// after both passes, and on rank 0 one more if the first pass lacks updates. `all` combines this rank's part of the table by `xor`.
fn twice<I: Iterator<Item = u64>>(
    world: &World,
    words: &impl Fn() -> I,
    mut make: impl FnMut() -> pelago::Result<()>,
    all: impl Fn() -> pelago::Result<u64>,
    wrong: impl FnOnce() -> pelago::Result<usize>,
) -> pelago::Result<(Duration, u64)> {
    let before = all()?;
    world.barrier()?;
    let start = world.now();
    make()?;
    let time = world.now() - start;
    let mut lacking = [words().fold(before ^ all()?, |all, word| all ^ word)];
    world.allreduce(&mut lacking, |one, other| one ^ other)?;
    make()?;
    Ok((time, wrong()? as u64 + u64::from(lacking != [0] && world.rank().number() == 0)))
}

fn by_atomics<I: Iterator<Item = u64>>(world: &World, places: Places, words: &impl Fn() -> I) -> pelago::Result<(Duration, u64)> {
    let table = world.alloc::<u64>(1 << places.log_words)?;
    let first = u64::from(world.rank()) << places.log_words;
    (0..table.len()).for_each(|index| table.local().store(index, first + index as u64));
    let make = || {
        for word in words() {
            let number = places.of(word);
            world.xor(table.at(places.rank(number), places.index(number)), word)?;
        }
        world.barrier()
    };
    let all = || Ok((0..table.len()).fold(0, |all, index| all ^ table.local().load(index)));
    let wrong = || Ok((0..table.len()).filter(|&index| table.local().load(index) != first + index as u64).count());
    let result = twice(world, words, make, all, wrong)?;
    world.barrier()?;
    Ok(result)
}

fn by_messages<I: Iterator<Item = u64>>(
    world: &World,
    places: Places,
    words: &impl Fn() -> I,
) -> pelago::Result<(Duration, u64)> {
    let first = u64::from(world.rank()) << places.log_words;
    let mut table = room("the table", 1 << places.log_words)?;
    table.extend((first..).take(1 << places.log_words));
    let table = Rc::new(RefCell::new(table));
    let (mine, mut functions) = (table.clone(), Functions::new());
    // The message has only the word: the owner recomputes the index.
    let change = functions.register(move |_: &Call<'_>, word: u64| mine.borrow_mut()[places.index(places.of(word))] ^= word);
    let messages = ActiveMessages::new(world, functions, QueueSettings::default())?;
    let make = || {
        for word in words() {
            messages.send(places.rank(places.of(word)), change, word)?;
        }
        messages.barrier()
    };
    let all = || Ok(table.borrow().iter().fold(0, |all, word| all ^ word));
    let wrong = || Ok(table.borrow().iter().zip(first..).filter(|&(&word, initial)| word != initial).count());
    twice(world, words, make, all, wrong)
}

/// The words are values of a map whose keys are their numbers. The map is empty at first; after both passes every value must be 0.
fn by_map<I: Iterator<Item = u64>>(world: &World, places: Places, words: &impl Fn() -> I) -> pelago::Result<(Duration, u64)> {
    let heap = GlobalHeap::quiet(world, (ELEMENT_BYTES << places.log_words) + (1 << 20))?;
    let map = GlobalMap::<u64, u64>::new(&heap, 1 << places.log_words)?;
    let updates = map.updates(|one, other| one ^ other, QueueSettings::default())?;
    let make = || {
        for word in words() {
            updates.update(places.of(word), word)?;
        }
        updates.barrier()
    };
    let all = || {
        let mut all = 0;
        map.for_each_local(|_, value| all ^= value)?;
        Ok(all)
    };
    let wrong = || {
        let mut wrong = 0;
        map.for_each_local(|_, value| wrong += usize::from(value != 0))?;
        Ok(wrong)
    };
    let result = twice(world, words, make, all, wrong)?;
    world.barrier()?;
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_can_begin_anywhere() {
        let mut stream = Stream::from(0);
        let words: Vec<_> = (0..200).map(|_| stream.next()).collect();
        for n in [1, 2, 63, 64, 65, 199] {
            assert_eq!(Stream::from(n).next(), words[n as usize], "{n}");
        }
        assert_eq!(words[..3], [2, 4, 8]);
    }

    #[test]
    fn words_lie_on_all_ranks_evenly() {
        let places = Places { ranks: 3, log_words: 4 };
        let mut counts = [0; 48];
        // Far from the start, where states have few bits set.
        let mut stream = Stream::from(0x0123_4567_89AB_CDEF);
        (0..48_000).for_each(|_| counts[places.of(stream.next()) as usize] += 1);
        assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
        assert_eq!((places.rank(47), places.index(47)), (Rank::new(2), 15));
    }

    #[test]
    fn updates_that_both_passes_lack_are_missed() {
        let wrong_words = |takes: usize| {
            let words = || [3_u64, 5, 9, 17].into_iter();
            let table = std::cell::Cell::new(9);
            let wrong: pelago::Result<_> = pelago::run(|world| {
                let make = || {
                    words().take(takes).for_each(|word| table.set(table.get() ^ word));
                    Ok(())
                };
                let wrong = || Ok(usize::from(table.get() != 9));
                Ok(twice(world, &words, make, || Ok(table.get()), wrong)?.1)
            });
            wrong.unwrap()
        };
        assert_eq!([4, 2, 0].map(wrong_words), [0, 1, 1]);
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--by atomics --log-words 10 --updates 2"), Ok(()));
        assert!(check("--by luck").is_err() && check("--log-words 0").is_err() && check("--updates 0").is_err());
    }
}
