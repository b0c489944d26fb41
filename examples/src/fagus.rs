//! The times of a message and of a barrier of a distributed shared memory, measured as for Fagus (paper C: Okuno et al., section 5).
//!
//! A message is a block of data followed by a flag. The receiver waits for the flag only, reads the block, and answers with a flag. The barrier is
//! that of Fagus, with rank 0 as the centre.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::SyncBarrier;
use pelago::{Duration, Rank, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};

/// Measure messages from rank 0 to rank 1 and barriers of all ranks: rank 0 prints microseconds
#[derive(Parser)]
#[command(name = "fagus")]
struct Arguments {
    /// Bytes of a message
    #[arg(long, value_name = "B", default_value_t = 10_000, allow_negative_numbers = true, value_parser = at_least_one)]
    bytes: u32,
    /// Number of consecutive messages and barriers in the measurement
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
    /// Number of repetitions before the measurement; on a real machine the first ones also make connections
    #[arg(long, value_name = "W", default_value_t = 0, allow_negative_numbers = true)]
    warm_up: u32,
}

/// Offsets of the flags of the message (at rank 1) and of the answer (at rank 0), on separate cache lines.
const ARRIVED: usize = 0;
const ANSWERED: usize = 8;

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(_) if world.size() < 2 => Ok(Stop::Wrong(TOO_FEW.into()).tell("fagus", world)),
        Ok(arguments) => measure(world, arguments),
        Err(stop) => Ok(stop.tell("fagus", world)),
    });
    exit("fagus", result)
}

const TOO_FEW: &str = "a message needs 2 ranks; give -n 2";

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| if ranks < 2 { Err(TOO_FEW.into()) } else { Ok(()) })
}

/// Times measured by rank 0, in picoseconds for all repetitions.
struct Times {
    /// From the put until the data has arrived.
    sent: u64,
    /// From the put until the receiver has answered.
    answered: u64,
    barriers: u64,
}

fn measure(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let bytes = arguments.bytes as usize;
    let (inbox, flags) = (world.alloc::<u8>(bytes)?, world.alloc::<u64>(2 * ANSWERED)?);
    let (sender, receiver) = (Rank::new(0), Rank::new(1));
    let mut block = vec![0; bytes];
    let mut found = vec![0; bytes];
    let mut times = Times { sent: 0, answered: 0, barriers: 0 };
    let mut wrong = 0;
    world.barrier()?;
    for number in 1..=u64::from(arguments.warm_up) + u64::from(arguments.repeat) {
        if world.rank() == sender {
            block.fill(number as u8);
            let start = world.now();
            world.put(inbox.at(receiver, 0), &block)?.wait()?;
            let sent = world.now() - start;
            // The flag follows the data; the next flag is put after the answer to this one.
            world.put(flags.at(receiver, ARRIVED), &[number])?;
            world.wait_until(flags.local(), ANSWERED, |answered| answered >= number)?;
            if number > u64::from(arguments.warm_up) {
                times.sent += sent.as_picoseconds();
                times.answered += (world.now() - start).as_picoseconds();
            }
        } else if world.rank() == receiver {
            world.wait_until(flags.local(), ARRIVED, |arrived| arrived >= number)?;
            inbox.local().read(0, &mut found);
            wrong += u64::from(world.moves_data() && found.iter().any(|&byte| byte != number as u8));
            world.put(flags.at(sender, ANSWERED), &[number])?;
        }
    }
    let barrier = SyncBarrier::new(world)?;
    for _ in 0..arguments.warm_up {
        barrier.wait()?;
    }
    world.barrier()?;
    let start = world.now();
    for _ in 0..arguments.repeat {
        barrier.wait()?;
    }
    // The measurement includes the arrival of the puts in the last barrier, on the slowest rank.
    world.flush_all()?;
    let mut all = [wrong, (world.now() - start).as_picoseconds()];
    world.allreduce(&mut all, u64::max)?;
    let [wrong, barriers] = all;
    times.barriers = barriers;
    if world.rank() == sender {
        report(arguments, world.size(), &times, wrong);
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the times, or the error. A reader that closes the pipe early is not an error.
fn report(arguments: &Arguments, size: u32, times: &Times, wrong: u64) {
    if wrong > 0 {
        let _ = writeln!(std::io::stderr(), "fagus: {wrong} messages are not what was sent");
        return;
    }
    let each = |picoseconds| Duration::from_picoseconds(picoseconds).as_seconds() * 1e6 / f64::from(arguments.repeat);
    let Times { sent, answered, barriers } = times;
    let mut out = Output;
    let _ = writeln!(
        out,
        "message bytes {} sent us {:.4} answered us {:.4}\nbarrier ranks {size} us {:.4}",
        arguments.bytes,
        each(*sent),
        each(*answered),
        each(*barriers)
    );
}
