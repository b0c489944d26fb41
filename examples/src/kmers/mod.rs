//! Counts the k-mers (words of length k) of a file of sequences in one table distributed over all ranks.
//!
//! Every rank reads the whole file and counts its own stretches of it, so that compressed files, which can only be read sequentially, work like
//! other files. A k-mer and its counterpart on the opposite strand count as one: the smaller of the two codes is counted.

mod made;
mod sequences;
mod window;

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pelago::active::QueueSettings;
use pelago::containers::{GlobalHeap, GlobalMultiset};
use pelago::{Scope, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse};
use sequences::{Event, Sequences};
use window::KmerWindow;

/// Number of bases in a stretch, which one rank counts.
const STRETCH_BASES: u64 = 1 << 16;

/// Count from which on all k-mers share the last entry of the spectrum.
const SPECTRUM: usize = 1000;

/// Maximum number of k-mers to print: each rank has a table of them for every rank.
const TOP_MAX: i64 = 10_000;

/// Count k-mers: rank 0 prints their number, a histogram of their counts, and the most frequent ones
#[derive(Parser)]
#[command(name = "kmers")]
struct Arguments {
    /// FASTA or FASTQ file, plain or compressed with gzip
    file: PathBuf,
    /// Length of a k-mer, up to 32
    #[arg(long, value_name = "K", default_value_t = 21, allow_negative_numbers = true, value_parser = at_least_one)]
    k: u32,
    /// Number of the most frequent k-mers to print
    #[arg(long, value_name = "T", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=TOP_MAX))]
    top: u32,
    /// Expected number of different k-mers; a larger number is counted correctly, but more slowly
    #[arg(long, value_name = "W", default_value_t = 1 << 22, allow_negative_numbers = true, value_parser = at_least_one)]
    expect: u32,
    /// Bytes of a batch of k-mers for another rank, of which each rank keeps 32 for those that come
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 10, value_parser = clap::value_parser!(u32).range(64..=1 << 20))]
    batch_bytes: u32,
    /// Rank 0 also counts serially, and compares
    #[arg(long)]
    verify: bool,
    /// Write the file first: random reads of 150 bases, BASES bases in total, from a genome of a tenth of this length
    #[arg(long, value_name = "BASES")]
    generate: Option<u64>,
    /// Seed of the generated file
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = checked(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => run(world, arguments),
        Err(stop) => Ok(stop.tell("kmers", world)),
    });
    exit("kmers", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    checked(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn checked(arguments: &[String]) -> Result<Arguments, Stop> {
    let arguments = parse::<Arguments>(arguments)?;
    if arguments.k > window::LENGTH_MAX {
        return Err(Stop::Wrong(format!("k-mers have up to {} bases, not {}", window::LENGTH_MAX, arguments.k)));
    }
    Ok(arguments)
}

/// Results of all ranks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Number of k-mers, and of different ones.
    kmers: u64,
    different: u64,
    /// Number of k-mers for each count.
    spectrum: Vec<u64>,
    /// The most frequent k-mers with their counts, ordered by descending count, then by code.
    top: Vec<(u64, u64)>,
}

impl Found {
    fn new(top: u32) -> Self {
        Self { spectrum: vec![0; SPECTRUM + 1], top: Vec::with_capacity(top as usize + 1), ..Self::default() }
    }

    fn add(&mut self, kmer: u64, count: u64, top: u32) {
        self.kmers += count;
        self.different += 1;
        self.spectrum[(count as usize).min(SPECTRUM)] += 1;
        let place = self.top.partition_point(|&(other, more)| (more, kmer) > (count, other));
        if place < top as usize {
            self.top.insert(place, (kmer, count));
            self.top.truncate(top as usize);
        }
    }
}

fn run(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let is_first = world.rank().number() == 0;
    let mut problem = None;
    if let Some(bases) = arguments.generate.filter(|_| is_first) {
        problem = made::write(&arguments.file, bases, arguments.seed).err().map(|error| error.to_string());
    }
    world.barrier()?;
    let start = world.now();
    let heap = GlobalHeap::quiet(world, world.reach().addresses().segment_bytes() / 2)?;
    let buckets = (arguments.expect / world.size()).max(1) as usize / 2 + 1;
    let counts = GlobalMultiset::<u64>::new(&heap, buckets)?;
    let counting = counts.updates(QueueSettings { batch_bytes: arguments.batch_bytes as usize, ..QueueSettings::default() })?;
    let mut failure = Ok(());
    if problem.is_none() {
        let counted = count(world, arguments, is_first, |kmer| {
            failure = counting.insert(kmer, 1);
            failure.is_ok()
        });
        problem = counted.err().map(|error| error.to_string());
    }
    match failure.and(counting.barrier()) {
        Err(error) if error.scope() == Scope::Operation => problem = Some(error.to_string()),
        other => other?,
    }
    let mut failed = [u64::from(problem.is_some())];
    world.allreduce(&mut failed, |one, other| one + other)?;
    if let Some(problem) = problem {
        let _ = writeln!(std::io::stderr(), "kmers: {}: {problem}", arguments.file.display());
    }
    if failed != [0] {
        return Ok(ExitCode::FAILURE);
    }
    let found = together(world, arguments, &counts)?;
    let seconds = (world.now() - start).as_seconds();
    world.barrier()?;
    let mut good = true;
    if is_first {
        report(world.size(), arguments, &found, seconds);
        if arguments.verify {
            good = alone(world, arguments) == Some(found);
            let verdict = if good { "equal to" } else { "different from" };
            let _ = writeln!(Output, "kmers counts {verdict} those of one rank alone");
        }
    }
    world.barrier()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Calls `take` with every k-mer of this rank's stretches until it returns false.
fn count(world: &World, arguments: &Arguments, is_shown: bool, take: impl FnMut(u64) -> bool) -> std::io::Result<()> {
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    walk(arguments, is_shown, |stretch| stretch % size == rank, take)
}

/// Calls `take` with every k-mer that ends in a selected stretch until it returns false.
fn walk(
    arguments: &Arguments,
    is_shown: bool,
    is_mine: impl Fn(u64) -> bool,
    mut take: impl FnMut(u64) -> bool,
) -> std::io::Result<()> {
    let mut sequences = Sequences::open(&arguments.file)?;
    let (mut kmers, mut bases, mut is_wanted) = (KmerWindow::new(arguments.k), 0u64, is_mine(0));
    let mut bar = Bar::new(is_shown && std::io::stderr().is_terminal());
    loop {
        bar.show(sequences.part());
        let Some(block) = sequences.next()? else { return Ok(()) };
        for event in block {
            let Event::Base(code) = event else {
                kmers.clear();
                continue;
            };
            if bases.is_multiple_of(STRETCH_BASES) {
                is_wanted = is_mine(bases / STRETCH_BASES);
            }
            bases += 1;
            if let Some(kmer) = kmers.push(code)
                && is_wanted
                && !take(kmer)
            {
                return Ok(());
            }
        }
    }
}

/// Combines the results of all ranks.
fn together(world: &World, arguments: &Arguments, counts: &GlobalMultiset<'_, '_, u64>) -> pelago::Result<Found> {
    world.barrier()?;
    let mut own = Found::new(arguments.top);
    counts.for_each_local(|kmer, count| own.add(kmer, count, arguments.top))?;
    let mut sums = own.spectrum.clone();
    sums.extend([own.kmers, own.different]);
    world.allreduce(&mut sums, |one, other| one + other)?;
    let top = arguments.top as usize;
    let mut tops = vec![0; world.size() as usize * top * 2];
    for (place, &(kmer, count)) in own.top.iter().enumerate() {
        let at = (world.rank().index() * top + place) * 2;
        tops[at..at + 2].copy_from_slice(&[kmer, count]);
    }
    world.allreduce(&mut tops, |one, other| one | other)?;
    let mut all: Vec<(u64, u64)> = tops.chunks(2).map(|pair| (pair[0], pair[1])).filter(|&(_, count)| count > 0).collect();
    all.sort_by_key(|&(kmer, count)| (core::cmp::Reverse(count), kmer));
    all.truncate(top);
    let different = sums.pop().unwrap_or_default();
    let kmers = sums.pop().unwrap_or_default();
    Ok(Found { kmers, different, spectrum: sums, top: all })
}

/// Counts all k-mers serially in a local table.
fn alone(_world: &World, arguments: &Arguments) -> Option<Found> {
    let mut counts = HashMap::<u64, u64>::new();
    walk(
        arguments,
        false,
        |_| true,
        |kmer| {
            *counts.entry(kmer).or_default() += 1;
            true
        },
    )
    .ok()?;
    let mut found = Found::new(arguments.top);
    counts.into_iter().for_each(|(kmer, count)| found.add(kmer, count, arguments.top));
    Some(found)
}

/// Prints the results.
fn report(ranks: u32, arguments: &Arguments, found: &Found, seconds: f64) {
    let mut out = Output;
    let Found { kmers, different, spectrum, top } = found;
    let _ = writeln!(out, "kmers ranks {ranks} k {} total {kmers} different {different} s {seconds:.3}", arguments.k);
    for (count, &kmers) in spectrum.iter().enumerate().filter(|&(_, &kmers)| kmers > 0) {
        let more = if count == SPECTRUM { "+" } else { "" };
        let _ = writeln!(out, "occurs {count}{more} kmers {kmers}");
    }
    for &(kmer, count) in top {
        let _ = writeln!(out, "kmer {} occurs {count}", window::letters(kmer, arguments.k));
    }
}

/// Progress of reading the file.
struct Bar {
    is_shown: bool,
    percent: u64,
}

impl Bar {
    fn new(is_shown: bool) -> Self {
        Self { is_shown, percent: 0 }
    }

    fn show(&mut self, part: f64) {
        let percent = (part * 100.0) as u64;
        if self.is_shown && percent > self.percent {
            self.percent = percent;
            let filled = "#".repeat(percent as usize / 2);
            let _ = write!(std::io::stderr(), "\r[{filled:<50}] {percent:3} %");
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_shown && self.percent > 0 {
            let _ = write!(std::io::stderr(), "\r{:60}\r", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_come_first_and_of_those_the_smallest() {
        let mut found = Found::new(3);
        for (kmer, count) in [(5, 2), (9, 1), (1, 2), (7, 8), (3, 2), (2, 1)] {
            found.add(kmer, count, 3);
        }
        assert_eq!(found.top, [(7, 8), (1, 2), (3, 2)]);
        assert_eq!((found.kmers, found.different, &found.spectrum[..4]), (16, 6, &[0, 2, 3, 0][..]));
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("reads.fa --k 32 --top 0 --verify"), Ok(()));
        assert!(check("").is_err() && check("reads.fa --k 0").is_err() && check("reads.fa --k 33").is_err());
        assert!(check("reads.fa --top 10001").unwrap_err().contains("10000"));
    }
}
