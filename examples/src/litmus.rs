//! Litmus tests of the visibility of writes between ranks: forbidden outcomes are counted, for every kind of shared memory.
//!
//! Writers write increasing numbers, so that tests follow each other without synchronization, and every pair of reads is an outcome.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::{Region, RegionSettings, Shared};
use pelago::{Rank, Symmetric, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Number of tests between two synchronizations.
const BATCH: usize = 500;

/// Maximum number of ranks that take part in a test; other ranks are idle.
const RANKS_MAX: u32 = 4;

/// Litmus tests of the memory model: rank 0 prints for each test and kind of memory the number of outcomes, of relaxed outcomes, and of forbidden outcomes
#[derive(Parser)]
#[command(name = "litmus")]
struct Arguments {
    /// Number of runs of each test
    #[arg(long, value_name = "R", default_value_t = 1000, allow_negative_numbers = true, value_parser = at_least_one)]
    runs: u32,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(_) if world.size() < 2 => Ok(Stop::Wrong(TOO_FEW.into()).tell("litmus", world)),
        Ok(arguments) => play(world, arguments.runs as usize),
        Err(stop) => Ok(stop.tell("litmus", world)),
    });
    exit("litmus", result)
}

const TOO_FEW: &str = "a test needs 2 ranks; give -n 2";

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| if ranks < 2 { Err(TOO_FEW.into()) } else { Ok(()) })
}

fn play(world: &World, runs: usize) -> pelago::Result<ExitCode> {
    let notes = world.alloc(2 * BATCH)?;
    let mut forbidden = 0;
    for game in GAMES.iter().filter(|game| game.ranks_min <= world.size()) {
        let home = Rank::new(world.size() - 1);
        let mut variables = Variables([Shared::new(world, Rank::new(0), 0)?, Shared::new(world, home, 0)?]);
        forbidden += play_game(world, &notes, game, &mut variables, runs)?;
        drop(variables);
        let settings = RegionSettings { page_length: Some(16), ..RegionSettings::default() };
        let mut sections = Sections(Region::new(world, 64, settings)?);
        forbidden += play_game(world, &notes, game, &mut sections, runs)?;
        let mut published = Published(sections.0);
        // Clears the values of the previous test.
        published.0.write(0..64)?.fill(0);
        published.0.barrier()?;
        forbidden += play_game(world, &notes, game, &mut published, runs)?;
    }
    Ok(if forbidden == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Two numbers shared by the ranks.
trait Memory {
    const NAME: &'static str;

    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()>;
    fn read(&mut self, which: usize) -> pelago::Result<u64>;
}

/// Variables with entry consistency.
struct Variables<'w>([Shared<'w, u64>; 2]);

impl Memory for Variables<'_> {
    const NAME: &'static str = "shared";

    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()> {
        let mut guard = self.0[which].write()?;
        *guard = value;
        guard.release()
    }

    fn read(&mut self, which: usize) -> pelago::Result<u64> {
        let guard = self.0[which].read()?;
        let value = *guard;
        guard.release()?;
        Ok(value)
    }
}

/// Indexes of the two numbers in a region: on different pages.
const PLACES: [usize; 2] = [3, 40];

/// A region, accessed in sections.
struct Sections<'w>(Region<'w, u64>);

impl Memory for Sections<'_> {
    const NAME: &'static str = "section";

    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()> {
        let mut section = self.0.acquire()?;
        section.write(PLACES[which]..PLACES[which] + 1)?[0] = value;
        section.release()
    }

    fn read(&mut self, which: usize) -> pelago::Result<u64> {
        let mut section = self.0.acquire()?;
        let value = section.read(PLACES[which]..PLACES[which] + 1)?[0];
        section.release()?;
        Ok(value)
    }
}

/// A region whose ranks publish and refresh without mutual exclusion.
struct Published<'w>(Region<'w, u64>);

impl Memory for Published<'_> {
    const NAME: &'static str = "region";

    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()> {
        self.0.write(PLACES[which]..PLACES[which] + 1)?[0] = value;
        self.0.publish()
    }

    fn read(&mut self, which: usize) -> pelago::Result<u64> {
        self.0.refresh()?;
        Ok(self.0.read(PLACES[which]..PLACES[which] + 1)?[0])
    }
}

/// Observation of one rank in one test: two numbers, whose meaning depends on the test.
type Seen = [u64; 2];

struct Game {
    name: &'static str,
    ranks_min: u32,
    /// Executes a rank's part of test number `n`; returns its observation, if it observes.
    turn: fn(&mut dyn Turns, u32, u64) -> pelago::Result<Option<Seen>>,
    /// Whether a rank observes.
    looks: fn(u32) -> bool,
    /// Counts relaxed and forbidden outcomes, given the observations of each observing rank in the tests from a number on.
    judge: fn(u64, &[Vec<Seen>]) -> [u64; 2],
}

/// A memory of any kind.
trait Turns {
    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()>;
    fn read(&mut self, which: usize) -> pelago::Result<u64>;
}

impl<M: Memory> Turns for M {
    fn write(&mut self, which: usize, value: u64) -> pelago::Result<()> {
        Memory::write(self, which, value)
    }

    fn read(&mut self, which: usize) -> pelago::Result<u64> {
        Memory::read(self, which)
    }
}

const GAMES: [Game; 4] = [
    // One rank writes data, then a flag; a rank that sees the flag must see the data.
    Game {
        name: "message-passing",
        ranks_min: 2,
        turn: |memory, rank, number| {
            if rank == 0 {
                memory.write(0, number)?;
                memory.write(1, number)?;
                return Ok(None);
            }
            let flag = memory.read(1)?;
            Ok(Some([flag, memory.read(0)?]))
        },
        looks: |rank| rank != 0,
        judge: |_, seen| count(seen, |[flag, data]| [data > flag, data < flag]),
    },
    // Two ranks write one number each, then read the other's; at least one of them must see the other's write.
    Game {
        name: "store-buffering",
        ranks_min: 2,
        turn: |memory, rank, number| {
            if rank > 1 {
                return Ok(None);
            }
            memory.write(rank as usize, number)?;
            Ok(Some([number, memory.read(1 - rank as usize)?]))
        },
        looks: |rank| rank < 2,
        judge: |first, seen| {
            let games = (first..).zip(seen[0].iter().zip(&seen[1]));
            games.fold([0; 2], |[apart, forbidden], (number, (one, other))| {
                let missed = [one[1] < number, other[1] < number];
                [apart + u64::from(missed[0] != missed[1]), forbidden + u64::from(missed == [true; 2])]
            })
        },
    },
    // Two ranks write one number each; two others read both in different orders. They must agree on the order of the writes.
    Game {
        name: "independent-reads",
        ranks_min: 4,
        turn: |memory, rank, number| match rank {
            0 | 1 => memory.write(rank as usize, number).map(|()| None),
            2 => {
                let first = memory.read(0)?;
                Ok(Some([first, memory.read(1)?]))
            }
            _ => {
                let second = memory.read(1)?;
                Ok(Some([memory.read(0)?, second]))
            }
        },
        looks: |rank| rank > 1,
        judge: |_, seen| {
            let all = || seen.iter().flatten();
            // A reader that read the first number and then found the second one old did so before the other reader found it new. The
            // other reader's subsequent read of the first number must not return an older value.
            let is_forbidden = |&[first, second]: &Seen| {
                let later = seen[1].partition_point(|&[_, found]| found <= second);
                seen[1].get(later).is_some_and(|&[found, _]| found < first)
            };
            let forbidden = seen[0].iter().filter(|seen| is_forbidden(seen)).count();
            [all().filter(|[one, other]| one != other).count() as u64, forbidden as u64]
        },
    },
    // One rank writes; no rank may see an earlier number after a later one.
    Game {
        name: "coherence",
        ranks_min: 2,
        turn: |memory, rank, number| {
            if rank == 0 {
                return memory.write(0, number).map(|()| None);
            }
            let first = memory.read(0)?;
            Ok(Some([first, memory.read(0)?]))
        },
        looks: |rank| rank != 0,
        judge: |_, seen| {
            let back = seen.iter().map(|seen| seen.as_flattened().windows(2).filter(|pair| pair[0] > pair[1]).count());
            let forbidden = back.sum::<usize>() as u64;
            let [apart, _] = count(seen, |[first, second]| [first < second, false]);
            [apart, forbidden]
        },
    },
];

fn count(seen: &[Vec<Seen>], is: impl Fn(Seen) -> [bool; 2]) -> [u64; 2] {
    seen.iter().flatten().fold([0; 2], |[apart, forbidden], &one| {
        let [is_apart, is_forbidden] = is(one);
        [apart + u64::from(is_apart), forbidden + u64::from(is_forbidden)]
    })
}

/// Repeats a test `runs` times; returns the number of forbidden outcomes on rank 0. Collective.
fn play_game<M: Memory>(
    world: &World,
    notes: &Symmetric<'_, u64>,
    game: &Game,
    memory: &mut M,
    runs: usize,
) -> pelago::Result<u64> {
    let rank = world.rank().number();
    let ranks = world.size().min(RANKS_MAX);
    let (mut outcomes, mut sums) = (0, [0; 2]);
    for first in (0..runs).step_by(BATCH) {
        let games = BATCH.min(runs - first);
        world.barrier()?;
        let numbers = (first + 1..=first + games).map(|number| number as u64);
        for (place, number) in numbers.enumerate().filter(|_| rank < ranks) {
            if let Some(seen) = (game.turn)(memory, rank, number)? {
                notes.local().write(2 * place, &seen);
            }
        }
        world.barrier()?;
        if rank == 0 {
            let looking = (0..ranks).filter(|&rank| (game.looks)(rank));
            let seen = looking.map(|rank| {
                let mut words = vec![0; 2 * games];
                world.get_into(notes.at(Rank::new(rank), 0), &mut words)?;
                Ok(words.as_chunks().0.to_vec())
            });
            let seen: Vec<Vec<Seen>> = seen.collect::<pelago::Result<_>>()?;
            outcomes += seen.iter().map(Vec::len).sum::<usize>();
            let [apart, forbidden] = (game.judge)(first as u64 + 1, &seen);
            sums = [sums[0] + apart, sums[1] + forbidden];
        }
        world.barrier()?;
    }
    if rank == 0 {
        let [apart, forbidden] = sums;
        let _ = writeln!(
            Output,
            "litmus {} {} ranks {ranks} runs {runs} outcomes {outcomes} apart {apart} forbidden {forbidden}",
            game.name,
            M::NAME
        );
    }
    world.broadcast(Rank::new(0), &mut sums)?;
    Ok(sums[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_outcomes_are_found() {
        let judge = |name: &str, seen: &[&[Seen]]| {
            let game = GAMES.iter().find(|game| game.name == name).unwrap();
            (game.judge)(1, &seen.iter().map(|seen| seen.to_vec()).collect::<Vec<_>>())
        };
        assert_eq!(judge("message-passing", &[&[[0, 0], [1, 2], [3, 3]]]), [1, 0]);
        assert_eq!(judge("message-passing", &[&[[0, 0]], &[[2, 1]]]), [0, 1]);
        assert_eq!(judge("store-buffering", &[&[[1, 0], [2, 2]], &[[1, 1], [2, 3]]]), [1, 0]);
        assert_eq!(judge("store-buffering", &[&[[1, 0]], &[[1, 0]]]), [0, 1]);
        assert_eq!(judge("independent-reads", &[&[[0, 0], [1, 0]], &[[1, 1], [1, 0]]]), [2, 0]);
        assert_eq!(judge("independent-reads", &[&[[1, 0]], &[[0, 1]]]), [2, 1]);
        assert_eq!(judge("independent-reads", &[&[[0, 1]], &[[1, 0]]]), [2, 0], "each looked at one early and at the other late");
        assert_eq!(judge("coherence", &[&[[0, 1], [1, 2]]]), [2, 0]);
        assert_eq!(judge("coherence", &[&[[1, 2], [1, 2]]]), [2, 1]);
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str, ranks| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), ranks);
        assert_eq!(check("--runs 5", 2), Ok(()));
        assert!(check("--runs 0", 2).is_err() && check("", 1).is_err());
    }
}
