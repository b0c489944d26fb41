//! The command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::Peer;
use crate::command::catalogue::{BENCHMARKS, Benchmark, Jobs};
use crate::settings::{EDGE_DEFAULT, Settings, Transport};

/// Default number of ranks of a job.
pub(crate) const RANKS_DEFAULT: u32 = 2;

/// Measure operations of the library next to the raw limits of this machine
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Benchmarks, by name or by the name of an OSU benchmark (see --list) [default: all except crossing, datagrams, collectives, one_shot, tuning, copy and those of shared variables]
    #[arg(value_name = "NAME", value_parser = name)]
    pub names: Vec<String>,
    /// Number of ranks [default: 2; barrier: 2, 4, 8 and 16; launch: 2 and 16]
    #[arg(short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub ranks: Option<u32>,
    /// What each rank is told
    #[command(flatten)]
    pub settings: Settings,
    /// Output format: an aligned table, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Measure the same operations by another library, by turns, and show the ratio of the times
    #[arg(long, value_enum, value_name = "LIBRARY")]
    pub compare: Option<Peer>,
    /// Also draw the results as SVG files in this directory
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// List the benchmarks
    #[arg(long)]
    pub list: bool,
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
    /// Returns arguments that measure `names` over `transport` with transfers of these sizes.
    pub(crate) fn over(transport: Transport, names: &[&str], bytes: &[u64]) -> Self {
        Self {
            names: names.iter().map(ToString::to_string).collect(),
            ranks: None,
            settings: Settings { transport, bytes: bytes.to_vec(), edge: EDGE_DEFAULT, steps: None, fabric: None },
            format: Format::Json,
            json: false,
            compare: None,
            plot: None,
            list: false,
        }
    }

    /// How results are shown.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Returns the benchmarks to measure, in the order of the catalogue.
    pub(crate) fn benchmarks(&self) -> impl Iterator<Item = &'static Benchmark> {
        BENCHMARKS.iter().filter(|benchmark| match self.names.is_empty() {
            true => benchmark.jobs != Jobs::Named,
            false => self.names.iter().any(|name| name == benchmark.name),
        })
    }

    /// Returns the arguments for a rank that measures `names`.
    pub(crate) fn of_rank(&self, names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).chain(self.settings.arguments()).collect()
    }
}

fn name(text: &str) -> Result<String, String> {
    match BENCHMARKS.iter().find(|benchmark| benchmark.name == text || benchmark.osu.contains(&text)) {
        Some(benchmark) => Ok(benchmark.name.into()),
        None => Err("nothing of this name can be measured; see pelago bench --list".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::settings::BYTES_DEFAULT;

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
        assert_eq!(named, 11);
        assert_eq!(arguments.settings.sizes(), BYTES_DEFAULT);
    }

    #[test]
    fn names_of_osu_benchmarks_are_understood() {
        let names = |words: &[&str]| parse(words).unwrap().names;
        assert_eq!(names(&["osu_latency", "osu_put_latency", "osu_bw", "osu_get_bw"]), ["visible", "put", "put", "get"]);
        assert_eq!(names(&["osu_barrier", "osu_allreduce"]), ["barrier", "collectives"]);
        assert!(parse(&["osu_hello"]).unwrap_err().contains("osu_hello"));
        let mut all: Vec<_> = BENCHMARKS.iter().flat_map(|benchmark| benchmark.osu).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() == count && count > 20, "each is one benchmark");
    }

    #[test]
    fn json_is_a_format() {
        assert_eq!(
            [&["--json"][..], &["--format", "json"], &[]].map(|words| parse(words).unwrap().format()),
            [Format::Json, Format::Json, Format::Table]
        );
        assert!(parse(&["--json", "--format", "table"]).is_err());
    }

    #[test]
    fn sizes_take_units() {
        assert_eq!(parse(&["put", "--bytes", "8,64K,1M"]).unwrap().settings.sizes(), [8, 65536, 1 << 20]);
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
        let settings = rank.settings;
        assert_eq!((rank.names, settings.bytes, settings.edge), (vec!["put".into()], vec![8, 1024], 16));
        assert_eq!(settings.transport, Transport::Udp);
        assert!(settings.steps.is_some() && settings.steps == arguments.settings.steps);
    }
}
