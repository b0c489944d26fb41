//! The time of collective operations by each algorithm, and the chosen algorithm with the reason.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::collectives::{
    Algorithm, Choice, Collective, Collectives, Explanation, Model, Rails, Settings, Sum, UnknownAlgorithm,
};
use pelago::{Duration, Instant, Rank, Team, World};

use crate::usage::{Output, Stop, at_least_one, exit, parse, rail};

/// Measure collective operations: rank 0 prints the operation, the ranks, the bytes of a block, the algorithm, and the microseconds of one
/// operation on the slowest rank
#[derive(Parser)]
#[command(name = "collectives")]
struct Arguments {
    /// broadcast, reduce, allreduce, allgather, reduce-scatter, gather, scatter, alltoall, scan, exclusive-scan or barrier
    #[arg(long, value_name = "NAME", default_value_t = Collective::Allreduce)]
    operation: Collective,
    /// Bytes of a block: multiples of 8, also with K or M
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "8", value_parser = bytes)]
    bytes: Vec<usize>,
    /// Algorithms by name; all: every possible one; auto: the fastest in a trial; model: the fastest by prediction
    #[arg(long, value_name = "all|auto|model|NAMES", value_delimiter = ',', default_value = "auto")]
    algorithm: Vec<Which>,
    /// Cost model in nanoseconds: latency of a message, time of its sender, time per byte [default: measured]
    #[arg(long, value_name = "NS,NS,NS", value_parser = model)]
    model: Option<Model>,
    /// Print all algorithms with their predicted times and the times measured in the trial
    #[arg(long)]
    explain: bool,
    /// text or json
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
    /// Number of consecutive operations in the measurement
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
    /// Start each operation after a pause (in virtual time: all members at the same instant) instead of directly after the previous one; also in trials
    #[arg(long)]
    apart: bool,
    /// Number of consecutive ranks per host, for hierarchical algorithms [default: ranks that map each other's memory]
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = at_least_one)]
    per_host: Option<u32>,
    /// Rail of messages: one name for all, or two, for intra-host and inter-host messages; -: the best one [default: with auto, the best in a
    /// trial]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', num_args = 1)]
    rail: Vec<String>,
    /// Bytes of the pieces of a long broadcast: multiples of 8, also with K or M
    #[arg(long, value_name = "BYTES", default_value = "64K", value_parser = bytes)]
    piece: usize,
    /// Order of the ranks in the team; each rank exactly once [default: by their numbers]
    #[arg(long, value_name = "RANKS", value_delimiter = ',', num_args = 1)]
    order: Vec<u32>,
    /// Simulation: cost of staging copies before and after an operation: up to BYTES, NS nanoseconds and GBPS gigabytes per second; the last entry
    /// holds for larger blocks
    #[arg(long, value_name = "BYTES:NS:GBPS,...", value_delimiter = ',', num_args = 1, value_parser = stage)]
    staging: Vec<Stage>,
    /// Megabytes of each rank's heap for the collective operations
    #[arg(long, value_name = "M", default_value_t = 32, allow_negative_numbers = true, value_parser = at_least_one)]
    memory: u32,
}

/// Pause between operations with `--apart`: longer than the remaining traffic of the previous operation and of the agreement on the next start.
const PAUSE: Duration = Duration::from_nanoseconds(1_000_000);

/// Cost of a copy between two memories of a rank, up to a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stage {
    bytes_max: usize,
    start_ns: f64,
    gb_per_s: f64,
}

/// Algorithms to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    Auto,
    Model,
    One(Algorithm),
}

impl std::str::FromStr for Which {
    type Err = UnknownAlgorithm;

    fn from_str(name: &str) -> Result<Self, UnknownAlgorithm> {
        match name {
            "all" => Ok(Self::All),
            "auto" => Ok(Self::Auto),
            "model" => Ok(Self::Model),
            name => name.parse().map(Self::One),
        }
    }
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => match rails(world, &arguments.rail).and_then(|rails| Ok((rails, team(world.size(), &arguments.order)?)))
        {
            Ok((rails, team)) => measure(world, arguments, rails, &team),
            Err(stop) => Ok(stop.tell("collectives", world)),
        },
        Err(stop) => Ok(stop.tell("collectives", world)),
    });
    exit("collectives", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).and_then(|arguments| team(ranks, &arguments.order)).map_or_else(Stop::wrong, |_| Ok(()))
}

/// Returns the team of all ranks in the given order, or in the order of their numbers.
fn team(ranks: u32, order: &[u32]) -> Result<Team, Stop> {
    let wrong = || Stop::Wrong(format!("--order: give each of the {ranks} ranks once"));
    match order {
        [] => Ok(Team::all(ranks)),
        _ if order.len() != ranks as usize || order.iter().any(|&rank| rank >= ranks) => Err(wrong()),
        _ => Team::of(&order.iter().copied().map(Rank::new).collect::<Vec<_>>()).map_err(|_| wrong()),
    }
}

/// Returns the rails for intra-host and inter-host messages, if rails are named.
fn rails(world: &World, names: &[String]) -> Result<Option<Rails>, Stop> {
    let rails: Vec<_> = names.iter().map(|name| rail(world, name)).collect::<Result<_, _>>()?;
    match rails[..] {
        [] => Ok(None),
        [all] => Ok(Some(Rails { intra_node: all, inter_node: all })),
        [near, far] => Ok(Some(Rails { intra_node: near, inter_node: far })),
        _ => Err(Stop::Wrong(format!("{} rails: give one, or two", rails.len()))),
    }
}

fn measure(world: &World, arguments: &Arguments, rails: Option<Rails>, team: &Team) -> pelago::Result<ExitCode> {
    let Arguments { memory, per_host, model, piece, apart, .. } = *arguments;
    let plan_bytes = Settings::default().plan_bytes.max(2 * piece);
    let settings = Settings {
        memory_bytes: (memory as usize) << 20,
        plan_bytes,
        piece_bytes: piece,
        per_host,
        model,
        apart,
        rails,
        ..Settings::default()
    };
    let Some(all) = Collectives::of(world, team, &settings)? else { return Ok(ExitCode::SUCCESS) };
    let operation = arguments.operation;
    let sizes = if operation == Collective::Barrier { &[0][..] } else { &arguments.bytes };
    let mut right = true;
    for &bytes in sizes {
        for which in &arguments.algorithm {
            let choices = match *which {
                Which::Auto => vec![Choice::Trial],
                Which::Model => vec![Choice::Table],
                Which::One(algorithm) => vec![Choice::Fixed(algorithm)],
                Which::All => {
                    let candidates = all.candidates::<u64>(operation, bytes / 8, true)?;
                    candidates.iter().map(|candidate| Choice::Fixed(candidate.algorithm)).collect()
                }
            };
            for choice in choices {
                right &= time(world, &all, arguments, bytes, choice)?;
            }
        }
    }
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Times operations by one plan; returns whether every member has the expected result.
fn time(world: &World, all: &Collectives<'_>, arguments: &Arguments, bytes: usize, choice: Choice) -> pelago::Result<bool> {
    let (operation, count) = (arguments.operation, bytes / 8);
    let member = Member { operation, position: all.position(), size: world.size(), count };
    let Member { position, size, .. } = member;
    let mut plan = all.plan_of(operation, count, Sum, choice)?;
    let input = member.input();
    let mut output = member.output();
    // The first operation makes connections.
    plan.run(&input, &mut output)?;
    let mut all_right = member.has(&output);
    output = member.output();
    world.flush_all()?;
    world.barrier()?;
    let mut took = 0;
    // The root of a broadcast only copies its values in.
    let copied =
        if operation.root() == Some(position) && input.is_empty() { [output.len(), 0] } else { [input.len(), output.len()] };
    let [before, after] = copied.map(|values| staging(&arguments.staging, values * 8));
    let mut start = world.now();
    for _ in 0..arguments.repeat {
        if arguments.apart {
            took += (world.now() - start).as_picoseconds();
            let mut last = [world.now().as_picoseconds()];
            world.allreduce(&mut last, u64::max)?;
            world.compute(Instant::from_picoseconds(last[0]) + PAUSE - world.now());
            start = world.now();
        }
        world.compute(before);
        plan.run(&input, &mut output)?;
        world.compute(after);
    }
    took += (world.now() - start).as_picoseconds();
    all_right &= member.has(&output);
    let mut slowest = [took, u64::from(!all_right)];
    world.allreduce(&mut slowest, u64::max)?;
    if world.rank().number() == 0 {
        let took = Duration::from_picoseconds(slowest[0] / u64::from(arguments.repeat));
        let explanation = plan.explain();
        let mut text = match arguments.format.as_str() {
            "json" => json(explanation, all.model(), took),
            _ => format!("{operation} ranks {size} bytes {bytes} {} us {:.3}\n", plan.algorithm(), microseconds(took)),
        };
        if arguments.explain && arguments.format != "json" {
            text += &explanation.to_string();
        }
        let _ = Output.write_all(text.as_bytes());
        if slowest[1] != 0 {
            let _ = writeln!(std::io::stderr(), "collectives: {operation} by {} is wrong", plan.algorithm());
        }
    }
    Ok(slowest[1] == 0)
}

/// Returns the time of copying `bytes`.
fn staging(stages: &[Stage], bytes: usize) -> Duration {
    let stage = stages.iter().find(|stage| bytes <= stage.bytes_max).or(stages.last());
    stage.filter(|_| bytes > 0).map_or(Duration::ZERO, |stage| {
        Duration::from_picoseconds(((stage.start_ns + bytes as f64 / stage.gb_per_s) * 1e3).round() as u64)
    })
}

/// Returns one JSON line with the operation, its time, the model and all candidates. Names are plain words and need no escaping.
fn json(explanation: &Explanation, model: Model, took: Duration) -> String {
    let Explanation { operation, size, bytes, candidates, chosen, rails, names: _, by } = explanation;
    let rails = explanation.name(*rails).map_or_else(String::new, |rails| format!("\"rails\":\"{rails}\","));
    let by = match by {
        Choice::Trial => "trial",
        Choice::Table => "model",
        Choice::Fixed(_) => "request",
    };
    let candidates: Vec<String> = candidates
        .iter()
        .map(|candidate| {
            let measured = candidate.measured.map_or("null".into(), |measured| format!("{:.3}", microseconds(measured)));
            format!(
                "{{\"algorithm\":\"{}\",\"steps\":{},\"messages\":{},\"predicted_us\":{:.3},\"measured_us\":{measured}}}",
                candidate.algorithm,
                candidate.promise.steps,
                candidate.promise.messages,
                microseconds(candidate.predicted),
            )
        })
        .collect();
    format!(
        "{{\"program\":\"collectives\",\"operation\":\"{operation}\",\"ranks\":{size},\"bytes\":{bytes},\
         \"algorithm\":\"{chosen}\",{rails}\"by\":\"{by}\",\"us\":{:.3},\
         \"model\":[{:.3},{:.3},{:.6}],\"candidates\":[{}]}}\n",
        microseconds(took),
        model.latency_ns,
        model.message_ns,
        model.byte_ns,
        candidates.join(","),
    )
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_seconds() * 1e6
}

/// A member of an operation on blocks of `count` values, and what it contributes and expects.
#[derive(Clone, Copy)]
struct Member {
    operation: Collective,
    position: u32,
    size: u32,
    count: usize,
}

impl Member {
    /// Returns the value at a place of a block: it differs between members, between blocks and between places, so that values of others are noticed.
    fn value(position: u32, block: usize, place: usize) -> u64 {
        (u64::from(position) + 1) * Self::weight(block, place)
    }

    fn weight(block: usize, place: usize) -> u64 {
        1 + (block * 31 + place) as u64 % 1021
    }

    /// Returns the values that this member contributes, for operations whose input is not their output.
    fn input(self) -> Vec<u64> {
        let values = 0..self.operation.blocks_in(self.position, self.size) as usize * self.count;
        values.map(|index| Self::value(self.position, index / self.count, index % self.count)).collect()
    }

    /// Returns the output before the operation: zeros, which no operation leaves, except the values of the root of a broadcast.
    fn output(self) -> Vec<u64> {
        let is_input = self.operation == Collective::Broadcast { root: self.position };
        let values = 0..self.operation.blocks_out(self.position, self.size) as usize * self.count;
        values.map(|place| if is_input { Self::value(self.position, 0, place) } else { 0 }).collect()
    }

    /// Returns whether the output is that of the operation.
    fn has(self, output: &[u64]) -> bool {
        let is_right = |(index, &value): (usize, &u64)| value == self.expected(index / self.count, index % self.count);
        output.iter().enumerate().all(is_right)
    }

    fn expected(self, block: usize, place: usize) -> u64 {
        let sum = |members: u32| u64::from(members) * (u64::from(members) + 1) / 2;
        let mine = self.position as usize;
        match self.operation {
            Collective::Barrier => 0,
            Collective::Broadcast { root } => Self::value(root, 0, place),
            Collective::Scatter { root } => Self::value(root, mine, place),
            Collective::Reduce { .. } | Collective::Allreduce => sum(self.size) * Self::weight(0, place),
            Collective::ReduceScatter => sum(self.size) * Self::weight(mine, place),
            Collective::Allgather | Collective::Gather { .. } => Self::value(block as u32, 0, place),
            Collective::Alltoall => Self::value(block as u32, mine, place),
            Collective::Scan => sum(self.position + 1) * Self::weight(0, place),
            // The first member's output stays as it was.
            Collective::ExclusiveScan => sum(self.position) * Self::weight(0, place),
        }
    }
}

/// Parses a number of bytes.
fn bytes(text: &str) -> Result<usize, &'static str> {
    let (digits, shift) = match text.as_bytes() {
        [digits @ .., b'K' | b'k'] => (digits, 10),
        [digits @ .., b'M' | b'm'] => (digits, 20),
        digits => (digits, 0),
    };
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok());
    let bytes = number.and_then(|number| number.checked_mul(1 << shift)).filter(|&bytes| bytes <= 1 << 30);
    bytes.filter(|&bytes| bytes > 0 && bytes.is_multiple_of(8)).ok_or("give multiples of 8 bytes up to 1024M, such as 8,64K")
}

/// Parses the copy cost for up to a number of bytes.
fn stage(text: &str) -> Result<Stage, &'static str> {
    let wrong = "give bytes, nanoseconds and gigabytes per second, such as 8K:3000:6.5";
    let mut parts = text.split(':');
    let (Some(most), Some(start), Some(rate), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(wrong);
    };
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.0..=1e9).contains(number));
    let (Some(start_ns), Some(gb_per_s)) = (number(start), number(rate)) else { return Err(wrong) };
    let bytes_max = bytes(most).map_err(|_| wrong)?;
    if gb_per_s > 0.0 { Ok(Stage { bytes_max, start_ns, gb_per_s }) } else { Err(wrong) }
}

/// Parses three times in nanoseconds.
fn model(text: &str) -> Result<Model, &'static str> {
    let numbers: Option<Vec<f64>> =
        text.split(',').map(|number| number.parse().ok().filter(|ns| (0.0..=1e9).contains(ns))).collect();
    match numbers.as_deref() {
        Some(&[latency_ns, message_ns, byte_ns]) => Ok(Model { latency_ns, message_ns, byte_ns, turn_ns: 0.0 }),
        _ => Err("give three numbers of nanoseconds, such as 1000,100,0.1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!([bytes("8"), bytes("64K"), bytes("1m")], [Ok(8), Ok(65536), Ok(1 << 20)]);
        for wrong in ["", "0", "12", "K", "8Q", "-8", "2048M"] {
            assert!(bytes(wrong).is_err(), "{wrong:?}");
        }
    }

    /// A scatter, an all-to-all and a reduce-scatter that give every member the block of the first one, values at other places, and an operation that
    /// does nothing.
    #[test]
    fn wrong_results_are_found() {
        let (size, count) = (3, 4);
        for operation in Collective::ALL.into_iter().filter(|&operation| operation != Collective::Barrier) {
            let member = |position| Member { operation, position, size, count };
            let right = |member: Member| -> Vec<u64> {
                (0..member.output().len()).map(|index| member.expected(index / count, index % count)).collect()
            };
            for position in 0..size {
                let (member, found) = (member(position), right(member(position)));
                assert!(member.has(&found));
                let is_kept = matches!(operation, Collective::Broadcast { .. } | Collective::ExclusiveScan) && position == 0;
                assert_eq!(member.has(&member.output()), is_kept || found.is_empty(), "{operation} did nothing at {position}");
                let mut moved = found.clone();
                moved.reverse();
                let is_zero = operation == Collective::ExclusiveScan && position == 0;
                assert_eq!(member.has(&moved), is_zero || found.is_empty(), "{operation}: other places at {position}");
            }
            if matches!(operation, Collective::Scatter { .. } | Collective::Alltoall | Collective::ReduceScatter) {
                assert!(!member(1).has(&right(member(0))), "{operation}: the block of another member");
            }
        }
    }

    #[test]
    fn a_model_is_three_times() {
        assert_eq!(model("1000,80,0.05"), Ok(Model { latency_ns: 1000.0, message_ns: 80.0, byte_ns: 0.05, turn_ns: 0.0 }));
        for wrong in ["", "1,2", "1,2,3,4", "1,2,x", "-1,2,3", "inf,1,1", "NaN,1,1"] {
            assert!(model(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn staging_is_bytes_and_two_numbers() {
        let stages = ["8K:750:2", "16K:5000:4"].map(|text| stage(text).unwrap());
        let picoseconds = [0, 8000, 8200, 1 << 20].map(|bytes| staging(&stages, bytes).as_picoseconds());
        assert_eq!(picoseconds, [0, 4_750_000, 7_050_000, 267_144_000]);
        assert_eq!(staging(&[], 8), Duration::ZERO);
        for wrong in ["", "8K", "8K:1", "8K:1:0", "8K:-1:1", "8K:1:nan", "8K:1:1:1", "9:1:1"] {
            assert!(stage(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_order_has_each_rank_once() {
        assert_eq!(team(3, &[2, 0, 1]).ok().unwrap().position(Rank::new(0)), Some(1));
        assert_eq!(team(3, &[]).ok().unwrap(), Team::all(3));
        for wrong in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 3]] {
            assert!(team(3, wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        let check = |words: &[&str]| check(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), 4);
        assert_eq!(check(&["--operation", "scan", "--algorithm", "all", "--bytes", "8,1K"]), Ok(()));
        assert_eq!(check(&["--algorithm", "model,ring", "--explain", "--format", "json"]), Ok(()));
        assert!(check(&["--format", "xml"]).is_err());
        assert!(check(&["--algorithm", "best"]).unwrap_err().contains("recursive-doubling"));
        assert!(check(&["--operation", "send"]).unwrap_err().contains("allgather"));
    }
}
