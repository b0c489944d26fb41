//! `pelago-sweep`: runs whole jobs on networks that lose, double and delay, from one seed after another.
#![forbid(unsafe_code)]

use std::io::{IsTerminal, stderr};
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use pelago_sweep::{Chosen, FAILURES_MAX, FaultKind, Plan, Program, Progress, Scenario, Tally, sweep};

/// Runs whole jobs on a simulated network where datagrams are lost, late and doubled, ranks are parted, slow or die, from seeds.
#[derive(Parser)]
#[command(name = "cargo xtask sweep")]
struct Arguments {
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "S", default_value_t = 0)]
    first: u64,
    /// Only this seed, and what it says
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// On how many threads; otherwise as many as the machine has
    #[arg(long, value_name = "T")]
    threads: Option<NonZeroUsize>,
    /// This program alone, instead of what seeds say
    #[arg(long, value_name = "NAME", value_parser = program)]
    program: Option<Program>,
    /// This goes wrong with datagrams, and nothing else, instead of what seeds say
    #[arg(long, value_name = "delay|loss|duplication|all", value_parser = kind)]
    faults: Option<FaultKind>,
    /// So many ranks, from 2 to 64, instead of what seeds say
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    ranks: Option<u32>,
    /// By two networks of adapters that delay, reorder and refuse operations, instead of by datagrams; they do not refuse or reorder those of programs in C
    #[arg(long, conflicts_with = "faults")]
    networks: bool,
    /// On machines that are drawn at random
    #[arg(long, conflicts_with_all = ["faults", "networks"])]
    machines: bool,
}

/// Number of seeds between updates of the progress on a terminal.
const SHOWN: u64 = 50;

fn main() -> ExitCode {
    let Arguments { seeds, first, seed, threads, program, faults, ranks, networks, machines } = Arguments::parse();
    let chosen = Chosen { program, faults, ranks, networks, machines };
    let threads = threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let plan = match seed {
        Some(seed) => Plan { first: seed, seeds: 1, threads: 1, chosen },
        None => Plan { first, seeds, threads, chosen },
    };
    let Some(_) = plan.first.checked_add(plan.seeds - 1) else {
        eprintln!("pelago-sweep: {} seeds from {} on pass the last one, {}", plan.seeds, plan.first, u64::MAX);
        return ExitCode::from(2);
    };
    if let Some(seed) = seed {
        println!("seed {seed}: {}", Scenario::new(seed).chosen(chosen));
    }
    // The message of a panic is part of the violation.
    std::panic::set_hook(Box::new(|_| {}));
    let begin = Instant::now();
    let (tally, failures) = sweep(plan, |progress| match progress {
        Progress::Violated(violation) => println!("{violation}"),
        Progress::Done(done) => show(done, plan.seeds),
    });
    if tally.skipped > 0 {
        println!("{} seeds of the program in C were passed over: there is no C compiler, cc", tally.skipped);
    }
    println!("{}", summary(&tally, failures, begin.elapsed().as_secs_f64()));
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn program(name: &str) -> Result<Program, String> {
    let found = Program::ALL.into_iter().find(|program| program.name() == name);
    found.ok_or_else(|| format!("give one of {}", Program::ALL.map(Program::name).join(", ")))
}

fn kind(name: &str) -> Result<FaultKind, String> {
    let found = FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("give one of {}", FaultKind::ALL.map(FaultKind::name).join(", ")))
}

fn summary(tally: &Tally, failures: usize, seconds: f64) -> String {
    let Tally {
        scenarios,
        runs,
        ranks,
        deaths,
        survived,
        broken,
        sent,
        lost,
        repeated,
        virtual_ns,
        virtual_ns_max,
        processes,
        ..
    } = *tally;
    let outcome = match failures {
        0 => String::new(),
        FAILURES_MAX.. => format!("{failures} VIOLATED, ended there; "),
        _ => format!("{failures} VIOLATED; "),
    };
    format!(
        "{outcome}{scenarios} seeds held in {runs} runs of {ranks} ranks, {processes} of them in C; {deaths} deaths, {survived} survived; {broken} broken connections; \
         {sent} datagrams sent, {lost} lost, {repeated} repeated; {:.1} s of virtual time, {:.1} s the longest run; {seconds:.1} s, {:.0} seeds/s",
        virtual_ns as f64 / 1e9,
        virtual_ns_max as f64 / 1e9,
        scenarios as f64 / seconds,
    )
}

/// Writes a progress line, which the next one overwrites, on a terminal.
fn show(done: u64, seeds: u64) {
    if stderr().is_terminal() && (done.is_multiple_of(SHOWN) || done == seeds) {
        eprint!("\r{done} of {seeds}{}", if done == seeds { "\r\x1b[K" } else { "" });
    }
}
