//! A counter shared by all ranks: each rank acquires it, checks that its first and last word are equal, increments all words, and releases it.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::Shared;
use pelago::{Duration, Rank, World};

use crate::usage::{Output, Stop, at_least_one, copies, exit, parse};

/// Add to a shared counter: rank 0 prints the ranks, the bytes, the microseconds per turn, and the number of turns whose data came from another rank
#[derive(Parser)]
#[command(name = "counter")]
struct Arguments {
    /// Number of additions of each rank
    #[arg(long, value_name = "T", default_value_t = 1000, allow_negative_numbers = true, value_parser = at_least_one)]
    turns: u32,
    /// Number of words of the counter, 8 bytes each
    #[arg(long, value_name = "W", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    words: u32,
    /// Only rank 0 adds, to a counter whose home is the last rank
    #[arg(long)]
    alone: bool,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => count(world, arguments),
        Err(stop) => Ok(stop.tell("counter", world)),
    });
    exit("counter", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn count(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let home = Rank::new(world.size() - 1);
    let mut counter = Shared::<[u64]>::new(world, home, copies("the counter", arguments.words as usize, 0)?)?;
    let mut whole = add(world, &mut counter, arguments, arguments.turns.div_ceil(10))?;
    world.barrier()?;
    let (start, before) = (world.now(), counter.statistics());
    whole &= add(world, &mut counter, arguments, arguments.turns)?;
    world.barrier()?;
    let picoseconds = (world.now() - start).as_picoseconds();
    let adders = if arguments.alone { 1 } else { world.size() };
    let turns = u64::from(adders) * u64::from(arguments.turns);
    let expected = turns + u64::from(adders) * u64::from(arguments.turns.div_ceil(10));
    whole &= is_all(&counter.read()?, expected);
    let mut sums = [counter.statistics().fetched - before.fetched, u64::from(!whole)];
    world.allreduce(&mut sums, |one, other| one + other)?;
    if world.rank().number() == 0 {
        report(world.size(), arguments.words, picoseconds, turns, sums);
    }
    Ok(if sums[1] == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Increments the counter `turns` times; returns whether its first and last word were always equal.
fn add(world: &World, counter: &mut Shared<'_, [u64]>, arguments: &Arguments, turns: u32) -> pelago::Result<bool> {
    let mut whole = true;
    if arguments.alone && world.rank().number() != 0 {
        return Ok(whole);
    }
    for _ in 0..turns {
        let mut guard = counter.write()?;
        let words = &mut *guard;
        whole &= words.first() == words.last();
        let next = words[0] + 1;
        words.fill(next);
        guard.release()?;
    }
    Ok(whole)
}

fn is_all(words: &[u64], value: u64) -> bool {
    words.iter().all(|&word| word == value)
}

/// Prints the time, or the error.
fn report(ranks: u32, words: u32, picoseconds: u64, turns: u64, [brought, wrong]: [u64; 2]) {
    if wrong == 0 {
        let microseconds = Duration::from_picoseconds(picoseconds).as_seconds() * 1e6 / turns as f64;
        let bytes = u64::from(words) * 8;
        let _ = writeln!(Output, "counter ranks {ranks} bytes {bytes} us {microseconds:.3} turns {turns} brought {brought}");
    } else {
        let _ = writeln!(std::io::stderr(), "counter: {wrong} ranks found a wrong count");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_that_of_all_words() {
        assert!(is_all(&[3, 3], 3) && !is_all(&[3, 2], 3) && !is_all(&[2, 3], 3));
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--turns 5 --words 2 --alone"), Ok(()));
        assert!(check("--turns 0").is_err() && check("--words -1").is_err());
    }
}
