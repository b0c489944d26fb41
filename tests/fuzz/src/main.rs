//! `pelago-fuzz`: injects a number of datagrams that no rank would send into the endpoints of jobs.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{IsTerminal, stderr};
use std::process::ExitCode;

use clap::Parser;
use pelago_fuzz::{Failure, Plan, campaign, hex, parse_hex, replay, replay_round, shrink};

/// Sends endpoints datagrams that no rank would send: noise, altered ones, and altered ones with the job's key.
#[derive(Parser)]
#[command(name = "pelago-fuzz")]
struct Arguments {
    /// How many datagrams
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    inputs: u64,
    /// What they follow from; otherwise another one each time
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Only this round of the seed
    #[arg(long, value_name = "R", requires = "seed")]
    round: Option<u64>,
    /// Only these bytes, in hexadecimal; several datagrams with commas between them
    #[arg(long, value_name = "HEX", conflicts_with_all = ["seed", "inputs"])]
    replay: Option<String>,
}

/// Maximum size in bytes of an argument of a command line: a page less than Linux's 128 KiB.
const ARGUMENT_BYTES_MAX: usize = 124 << 10;

fn main() -> ExitCode {
    let Arguments { inputs, seed, round, replay: bytes } = Arguments::parse();
    let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    match (bytes.as_deref().map(parse_hex), round) {
        (Some(Ok(datagrams)), _) => replay(&datagrams, |line| println!("{line}")),
        (Some(Err(wrong)), _) => {
            eprintln!("pelago-fuzz: {wrong}");
            return ExitCode::from(2);
        }
        (None, Some(round)) => println!("round {round} of seed {seed}: no panic; {}", replay_round(seed, round)),
        (None, None) => match campaign(Plan { inputs, seed }, |done| show(done, inputs)) {
            Ok(tally) => println!("fuzzed {} datagrams, seed {seed}: no panic; {tally}", tally.inputs),
            Err(failure) => return report(&failure),
        },
    }
    ExitCode::SUCCESS
}

/// Writes a progress line, which the next one overwrites, on a terminal.
fn show(done: u64, inputs: u64) {
    if stderr().is_terminal() {
        eprint!("\r{done} of {inputs}{}", if done == inputs { "\r\x1b[K" } else { "" });
    }
}

fn report(failure: &Failure) -> ExitCode {
    let Failure { seed, round, .. } = failure;
    eprintln!("pelago-fuzz: {failure}\nagain: pelago-fuzz --seed {seed} --round {round}");
    if !failure.is_endless {
        std::panic::set_hook(Box::new(|_| {}));
        match shrink(failure) {
            Some(datagrams) if datagrams.is_empty() => eprintln!("the job fails without any of its datagrams"),
            Some(datagrams) if hex(&datagrams).len() > ARGUMENT_BYTES_MAX => {
                eprintln!("{} datagrams matter, too many to show", datagrams.len());
            }
            Some(datagrams) => eprintln!("again, with what matters: pelago-fuzz --replay {}", hex(&datagrams)),
            None => eprintln!("no choice of its datagrams is enough"),
        }
    }
    ExitCode::FAILURE
}
