//! The command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::command::catalogue::{BENCHMARKS, Benchmark, Jobs};
use crate::measure::tuning::steps::Steps;

/// Sizes that put and get are measured with unless the command line names others.
const BYTES_DEFAULT: [u64; 11] = [8, 64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24];

/// The largest transfer that is measured: both ends and the program's copy must fit the memory of a small machine.
const BYTES_MAX: u64 = 1 << 30;

/// The edge of the cube unless the command line says otherwise.
const EDGE_DEFAULT: u64 = 128;

/// The longest edge of the cube whose faces are transferred: 8 GiB of values.
const EDGE_MAX: u64 = 1024;

/// Ranks of a job, unless the command line says otherwise.
pub(crate) const RANKS_DEFAULT: u32 = 2;

/// Measure operations of the library next to the raw limits of this machine
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// What to measure; everything but crossing, collectives and those of shared memory if none is given. See --list
    #[arg(value_name = "NAME", value_parser = name)]
    pub names: Vec<String>,
    /// How many ranks [default: 2; for barrier 2, 4, 8 and 16, for launch 2 and 16]
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// How ranks reach each other, and so what the raw limits are: the memory that they share, or plain UDP sockets
    #[arg(long, value_enum, default_value_t)]
    pub transport: Transport,
    /// Sizes of put and get: multiples of 8, also with K, M or G [default: 8 to 16M]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = bytes)]
    pub bytes: Vec<u64>,
    /// Edge of the cube of numbers whose faces are transferred
    #[arg(long, value_name = "N", default_value_t = EDGE_DEFAULT, value_parser = clap::value_parser!(u64).range(3..=EDGE_MAX))]
    pub edge: u64,
    /// Steps of tuning: submission=direct|progress-thread|bypass, descriptors=prepared|built, threads=one|many, atomics=nic|progress-thread,
    /// serving=together|apart [default: all conditions of paper E]
    #[arg(long, value_name = "KEY=VALUE,…")]
    pub steps: Option<Steps>,
    /// A table for people, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Also draw the results, as SVG files in this folder
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// List what can be measured
    #[arg(long)]
    pub list: bool,
}

/// How ranks reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// What suits ranks of one host: shared memory.
    #[default]
    Auto,
    /// Shared memory.
    Shm,
    /// Datagrams, on this host too.
    Udp,
}

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns.
    #[default]
    Table,
    /// One object per line.
    Json,
}

impl Arguments {
    /// Those that measure `names` between ranks that share memory, with transfers of these sizes.
    pub(crate) fn shared(names: &[&str], bytes: &[u64]) -> Self {
        Self {
            names: names.iter().map(ToString::to_string).collect(),
            ranks: None,
            transport: Transport::Shm,
            bytes: bytes.to_vec(),
            edge: EDGE_DEFAULT,
            steps: None,
            format: Format::Json,
            plot: None,
            list: false,
        }
    }

    /// What is to be measured, in the order of the catalogue.
    pub(crate) fn benchmarks(&self) -> impl Iterator<Item = &'static Benchmark> {
        BENCHMARKS.iter().filter(|benchmark| match self.names.is_empty() {
            true => benchmark.jobs != Jobs::Named,
            false => self.names.iter().any(|name| name == benchmark.name),
        })
    }

    /// The sizes of put and get.
    pub(crate) fn sizes(&self) -> &[u64] {
        if self.bytes.is_empty() { &BYTES_DEFAULT } else { &self.bytes }
    }

    /// The arguments by which one rank measures `names`.
    pub(crate) fn of_rank(&self, names: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> = names.iter().map(ToString::to_string).collect();
        arguments.push(format!("--transport={}", self.transport.name()));
        arguments.push(format!("--edge={}", self.edge));
        arguments.extend(self.steps.map(|steps| format!("--steps={steps}")));
        if !self.bytes.is_empty() {
            let sizes: Vec<_> = self.bytes.iter().map(ToString::to_string).collect();
            arguments.push(format!("--bytes={}", sizes.join(",")));
        }
        arguments
    }
}

impl Transport {
    /// As rows and launchers name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Shm => "shm",
            Self::Udp => "udp",
        }
    }
}

fn name(text: &str) -> Result<String, String> {
    match BENCHMARKS.iter().find(|benchmark| benchmark.name == text) {
        Some(benchmark) => Ok(benchmark.name.into()),
        None => Err("nothing of this name can be measured; see pelago bench --list".into()),
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.char_indices().last() {
        Some((end, 'K' | 'k')) => (&text[..end], 10),
        Some((end, 'M' | 'm')) => (&text[..end], 20),
        Some((end, 'G' | 'g')) => (&text[..end], 30),
        _ => (text, 0),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|count| count.checked_mul(1 << shift));
    let bytes = bytes.filter(|bytes| (8..=BYTES_MAX).contains(bytes) && bytes.is_multiple_of(8));
    bytes.ok_or_else(|| "a size is a multiple of 8 bytes up to 1G, such as 8,64K,1M".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(words: &[&str]) -> Result<Arguments, String> {
        let words = ["bench"].iter().chain(words);
        Line::try_parse_from(words).map(|line| line.arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn no_names_are_all() {
        let arguments = parse(&[]).unwrap();
        let named = BENCHMARKS.iter().filter(|benchmark| benchmark.jobs == Jobs::Named).count();
        assert_eq!(arguments.benchmarks().count(), BENCHMARKS.len() - named, "all but those that are to be named");
        assert_eq!(named, 9);
        assert_eq!(arguments.sizes(), BYTES_DEFAULT);
    }

    #[test]
    fn sizes_take_units() {
        assert_eq!(parse(&["put", "--bytes", "8,64K,1M"]).unwrap().sizes(), [8, 65536, 1 << 20]);
    }

    #[test]
    fn wrong_values_are_named() {
        for (words, says) in [
            (&["putt"][..], "putt"),
            (&["tuning", "--steps", "way=direct"], "way"),
            (&["--bytes", "12"], "12"),
            (&["--bytes", "64Q"], "64Q"),
            (&["-n", "0"], "0"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_rank_understands_what_it_is_told() {
        let words = ["put", "get", "--bytes", "8,1K", "--edge", "16", "--transport", "udp", "--steps", "submission=bypass"];
        let arguments = parse(&words).unwrap();
        let told = arguments.of_rank(&["put"]);
        let rank = parse(&told.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
        assert_eq!((rank.names, rank.bytes, rank.edge), (vec!["put".into()], vec![8, 1024], 16));
        assert_eq!(rank.transport, Transport::Udp);
        assert!(rank.steps.is_some() && rank.steps == arguments.steps);
    }
}
