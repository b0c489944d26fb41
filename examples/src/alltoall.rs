//! The time in which every rank puts a block to every other rank, all simultaneously: a personalized exchange without a schedule.
//!
//! Each rank puts to its right neighbour first, then to the next one, and so on, so that two ranks put to the same rank at the same time only
//! if the network delays them. A sender puts the same block to all ranks; blocks differ between senders and repetitions. A simulation with
//! `--data sizes` moves no data, and nothing is checked.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::{Duration, Rank, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Measure all-to-all exchanges: rank 0 prints the ranks, the bytes of a block, and the microseconds per exchange on the slowest rank
#[derive(Parser)]
#[command(name = "alltoall")]
struct Arguments {
    /// Bytes that each rank puts to each other rank
    #[arg(long, value_name = "B", default_value_t = 4096, allow_negative_numbers = true, value_parser = at_least_one)]
    bytes: u32,
    /// Number of consecutive exchanges; every received byte is checked after each, outside of the measurement
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
}

/// Bytes that are read and checked at a time: a multiple of the 8 bytes of a word.
const PIECE_BYTES: usize = 512;

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => measure(world, arguments),
        Err(stop) => Ok(stop.tell("alltoall", world)),
    });
    exit("alltoall", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let (rank, size, bytes) = (world.rank(), world.size(), arguments.bytes as usize);
    let checks = world.moves_data();
    let inbox = world.alloc::<u8>(size as usize * bytes)?;
    let mut block = vec![0; bytes];
    let (mut picoseconds, mut wrong) = (0, None);
    for repetition in 0..arguments.repeat {
        fill(&mut block, rank, repetition);
        world.barrier()?;
        let start = world.now();
        for target in others(rank, size) {
            world.put(inbox.at(target, rank.index() * bytes), &block)?;
        }
        world.quiet()?;
        world.barrier()?;
        picoseconds += (world.now() - start).as_picoseconds();
        wrong = wrong.or_else(|| {
            if !checks {
                return None;
            }
            let arrived = |sender: Rank| {
                let begin = sender.index() * bytes;
                is_block(bytes, sender, repetition, |place, found| inbox.local().read(begin + place, found))
            };
            others(rank, size).find(|&sender| !arrived(sender))
        });
    }
    // Receiver and sender of a wrong block, if there is one; the reduction selects the largest.
    let failure = wrong.map_or(0, |sender: Rank| 1 << 63 | u64::from(rank) << 32 | u64::from(sender));
    let mut slowest = [picoseconds, failure];
    world.allreduce(&mut slowest, u64::max)?;
    if rank.number() == 0 {
        report(arguments, size, slowest, checks);
    }
    Ok(if slowest[1] == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns all other ranks, starting with the right neighbour.
fn others(rank: Rank, size: u32) -> impl Iterator<Item = Rank> {
    (1..size).map(move |steps| rank.offset(steps.into(), size))
}

/// Prints the time, or the error.
fn report(arguments: &Arguments, size: u32, [picoseconds, failure]: [u64; 2], checked: bool) {
    if failure == 0 {
        let microseconds = Duration::from_picoseconds(picoseconds).as_seconds() * 1e6 / f64::from(arguments.repeat);
        let note = if checked { "" } else { " (only sizes: nothing was checked)" };
        let _ = writeln!(Output, "alltoall ranks {size} bytes {} us {microseconds:.3}{note}", arguments.bytes);
    } else {
        let (rank, sender) = (failure << 1 >> 33, failure as u32);
        let _ = writeln!(std::io::stderr(), "alltoall: rank {rank} received other data than rank {sender} put");
    }
}

/// Fills the block that this rank puts.
fn fill(block: &mut [u8], sender: Rank, repetition: u32) {
    fill_from(block, seed(sender, repetition), 0);
}

/// Fills the part of a block that begins with word `first`.
fn fill_from(part: &mut [u8], seed: u64, first: usize) {
    for (word, bytes) in (first..).zip(part.chunks_mut(8)) {
        let word = (seed ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
    }
}

/// Returns whether the data from `read`, which reads from an offset, are the block of `sender`.
fn is_block(bytes: usize, sender: Rank, repetition: u32, read: impl Fn(usize, &mut [u8])) -> bool {
    let seed = seed(sender, repetition);
    let (mut found, mut expected) = ([0; PIECE_BYTES], [0; PIECE_BYTES]);
    (0..bytes).step_by(PIECE_BYTES).all(|begin| {
        let length = PIECE_BYTES.min(bytes - begin);
        let (found, expected) = (&mut found[..length], &mut expected[..length]);
        read(begin, found);
        fill_from(expected, seed, begin / 8);
        found == expected
    })
}

/// Returns the seed for the blocks of one sender in one repetition.
fn seed(sender: Rank, repetition: u32) -> u64 {
    (u64::from(sender) << 32 | u64::from(repetition)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_else_is_put_to_once_from_the_right_neighbour_on() {
        let numbers = |rank, size| others(Rank::new(rank), size).map(Rank::number).collect::<Vec<_>>();
        assert_eq!(numbers(2, 5), [3, 4, 0, 1]);
        assert_eq!(numbers(1, 2), [0]);
        assert_eq!(numbers(0, 1), [0; 0]);
    }

    #[test]
    fn what_did_not_arrive_is_found() {
        for bytes in [1, 7, 8, 100, 513, 4096] {
            let mut block = vec![0; bytes];
            fill(&mut block, Rank::new(2), 5);
            let is_block = |block: &[u8], sender, repetition| {
                is_block(bytes, Rank::new(sender), repetition, |place, found| {
                    found.copy_from_slice(&block[place..][..found.len()])
                })
            };
            assert!(is_block(&block, 2, 5));
            for place in [0, bytes / 2, bytes - 1] {
                block[place] ^= 1;
                assert!(!is_block(&block, 2, 5), "{place} of {bytes}");
                block[place] ^= 1;
            }
            assert!(bytes < 7 || !is_block(&block, 2, 4) && !is_block(&block, 1, 5), "{bytes}");
        }
    }
}
