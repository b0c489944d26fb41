//! The latency distribution of single operations: the effect of a network with losses and delays on a program that waits for each operation.

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use pelago::messaging::{Mailbox, Settings};
use pelago::{Duration, Event, Rank, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Measure single operations of rank 0 on the memory of the last rank, one after another: rank 0 prints percentiles in microseconds
#[derive(Parser)]
#[command(name = "latency")]
struct Arguments {
    /// Operation, measured until its completion at the target
    #[arg(long, value_enum, default_value_t = Operation::Put)]
    operation: Operation,
    /// Bytes of a put, get or message; fetch-add has 8
    #[arg(long, value_name = "B", default_value_t = 8, allow_negative_numbers = true, value_parser = at_least_one)]
    bytes: u32,
    /// Number of measured operations; a tenth as many unmeasured ones precede them
    #[arg(long, value_name = "R", default_value_t = 1000, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Operation {
    Put,
    Get,
    FetchAdd,
    /// A message by a mailbox, and the answer of the target by another
    Message,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(_) if world.size() < 2 => Ok(Stop::Wrong(TOO_FEW.into()).tell("latency", world)),
        Ok(arguments) => measure(world, arguments),
        Err(stop) => Ok(stop.tell("latency", world)),
    });
    exit("latency", result)
}

const TOO_FEW: &str = "an operation between ranks needs 2 of them; give -n 2";

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| if ranks < 2 { Err(TOO_FEW.into()) } else { Ok(()) })
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    if arguments.operation == Operation::Message {
        let (mut times, wrong) = exchange(world, arguments)?;
        return conclude(world, arguments, &mut times, wrong);
    }
    let (block, counter) = (world.alloc::<u8>(arguments.bytes as usize)?, world.alloc::<u64>(1)?);
    let (origin, target) = (Rank::new(0), Rank::new(world.size() - 1));
    let warm_up = u64::from(arguments.repeat.div_ceil(10));
    let last = warm_up + u64::from(arguments.repeat);
    // What a get brings, and what the last put replaces.
    let first = if arguments.operation == Operation::Get { CONTENT } else { !(last as u8) };
    let mut bytes = vec![first; arguments.bytes as usize];
    world.put(block.at(world.rank(), 0), &bytes)?.wait()?;
    world.barrier()?;
    let (mut times, mut wrong) = (Vec::new(), 0);
    if world.rank() == origin {
        for number in 1..=last {
            prepare(arguments.operation, number, &mut bytes);
            let start = world.now();
            let is_right = match arguments.operation {
                Operation::Put => world.put(block.at(target, 0), &bytes)?.wait().map(|()| true)?,
                Operation::Get => world.get_into(block.at(target, 0), &mut bytes).map(|()| true)?,
                _ => world.fetch_add(counter.at(target, 0), 1)?.wait()? == number - 1,
            };
            if number > warm_up {
                times.push((world.now() - start).as_picoseconds());
            }
            wrong += u64::from(!is_right || arguments.operation == Operation::Get && !holds(world, &bytes, CONTENT));
        }
    }
    world.barrier()?;
    if world.rank() == target && arguments.operation == Operation::Put {
        block.local().read(0, &mut bytes);
        wrong += u64::from(!holds(world, &bytes, last as u8));
    }
    conclude(world, arguments, &mut times, wrong)
}

/// Fills this rank's block with what a put writes, or with what a get has to replace.
fn prepare(operation: Operation, number: u64, bytes: &mut [u8]) {
    match operation {
        Operation::Put => bytes.fill(number as u8),
        Operation::Get => bytes.fill(!CONTENT),
        Operation::FetchAdd | Operation::Message => {}
    }
}

/// Sends messages to the last rank, which returns each; returns the round-trip times, and the number of wrong messages.
fn exchange(world: &World, arguments: &Arguments) -> pelago::Result<(Vec<u64>, u64)> {
    let (origin, target) = (Rank::new(0), Rank::new(world.size() - 1));
    let mailbox = Mailbox::on_every_rank(world, Settings::new(16, arguments.bytes as usize))?;
    let warm_up = u64::from(arguments.repeat.div_ceil(10));
    let (mut times, mut wrong, mut bytes) = (Vec::new(), 0, vec![0; arguments.bytes as usize]);
    world.barrier()?;
    if world.rank() == origin || world.rank() == target {
        let other = if world.rank() == origin { target } else { origin };
        let (mut sender, mut receiver) = (mailbox.sender(other)?, mailbox.receiver()?);
        for number in 1..=warm_up + u64::from(arguments.repeat) {
            let start = world.now();
            if world.rank() == origin {
                bytes.fill(number as u8);
                sender.send(&bytes)?;
            }
            let came = receiver.receive()?;
            came.bytes().read(0, &mut bytes);
            wrong += u64::from(came.from() != other || !holds(world, &bytes, number as u8));
            came.release()?;
            if world.rank() == target {
                sender.send(&bytes)?;
            } else if number > warm_up {
                times.push((world.now() - start).as_picoseconds());
            }
        }
        sender.flush()?;
    }
    world.barrier()?;
    Ok((times, wrong))
}

/// Rank 0 prints the times, and the datagrams of all ranks if there were any, unless a rank had an error.
fn conclude(world: &World, arguments: &Arguments, times: &mut [u64], wrong: u64) -> pelago::Result<ExitCode> {
    let counters = world.counters();
    let mut all = [wrong, counters.of(Event::DatagramSent), counters.of(Event::DatagramRepeated)];
    world.allreduce(&mut all, |one, other| one + other)?;
    let [wrong, sent, repeated] = all;
    if world.rank().number() == 0 {
        report(arguments, world.size(), times, wrong, [sent, repeated]);
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Content of every get.
const CONTENT: u8 = 0x5a;

fn holds(world: &World, bytes: &[u8], content: u8) -> bool {
    !world.moves_data() || bytes.iter().all(|&byte| byte == content)
}

/// Prints the distribution of the times, or the error. A reader that closes the pipe early is not an error.
fn report(arguments: &Arguments, ranks: u32, times: &mut [u64], wrong: u64, [sent, repeated]: [u64; 2]) {
    if wrong > 0 {
        let _ = writeln!(std::io::stderr(), "latency: {wrong} operations did not bring what they should");
        return;
    }
    times.sort_unstable();
    let name = arguments.operation.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let [p50, p99, p999, most] =
        [500, 990, 999, 1000].map(|permille| Duration::from_picoseconds(percentile(times, permille)).as_seconds() * 1e6);
    let bytes = if arguments.operation == Operation::FetchAdd { 8 } else { arguments.bytes };
    let datagrams = if sent == 0 { String::new() } else { format!(" datagrams {sent} repeated {repeated}") };
    let _ = writeln!(
        Output,
        "latency {name} ranks {ranks} bytes {bytes} operations {} us p50 {p50:.3} p99 {p99:.3} p99.9 {p999:.3} max {most:.3}{datagrams}",
        times.len()
    );
}

/// Returns a percentile of sorted times, in per mille.
fn percentile(times: &[u64], permille: usize) -> u64 {
    times[(times.len() * permille).div_ceil(1000).clamp(1, times.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_time_that_so_many_do_not_exceed() {
        let times: Vec<_> = (1..=1000).collect();
        assert_eq!([1, 500, 990, 999, 1000].map(|permille| percentile(&times, permille)), [1, 500, 990, 999, 1000]);
        assert_eq!([500, 501, 999, 1000].map(|permille| percentile(&[1, 2], permille)), [1, 2, 2, 2]);
        assert_eq!([1, 1000].map(|permille| percentile(&[7], permille)), [7, 7]);
    }

    #[test]
    fn what_a_get_or_a_put_does_not_bring_is_missed() {
        let mut bytes = [CONTENT; 3];
        prepare(Operation::Get, 1, &mut bytes);
        assert!(bytes.iter().all(|&byte| byte != CONTENT), "a get that brings nothing leaves other bytes");
        prepare(Operation::Put, 257, &mut bytes);
        assert_eq!(bytes, [1; 3]);
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str, ranks| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), ranks);
        assert_eq!(check("--operation fetch-add --repeat 5 --bytes 16", 2), Ok(()));
        assert_eq!(check("", 1), Err(TOO_FEW.into()));
        assert!(check("--operation push", 2).is_err() && check("--repeat 0", 2).is_err() && check("--bytes 0", 2).is_err());
    }
}
