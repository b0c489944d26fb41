//! The rows of a comparison, and what the reader must know of the two reports.

use std::cmp::Reverse;

use pelago_report::{Distribution, OperationKind, OperationReport, RankRow, Report, Spread};

use super::messages::{self, Pairs};

/// Maximum number of ranks that are compared individually: those whose times differ most.
const RANKS_SHOWN_MAX: usize = 5;

/// Names of the rows of a distribution.
const QUANTILES: [&str; 6] = ["min", "median", "mean", "90 %", "99 %", "max"];

/// Two reports, side by side.
pub(super) struct Comparison {
    pub(super) sides: [Side; 2],
    /// Reasons why the reports are of different runs.
    pub(super) obstacles: Vec<String>,
    /// What limits the meaning of the rows.
    pub(super) remarks: Vec<String>,
    /// In the order of output; rows of a section follow each other.
    pub(super) rows: Vec<Row>,
    /// `None` if a time line lacks messages.
    pub(super) pairs: Option<Pairs>,
}

/// The run of a report.
pub(super) struct Side {
    pub(super) program: String,
    pub(super) machine: String,
    pub(super) ranks: u32,
    pub(super) nodes: u32,
    pub(super) seed: u64,
    pub(super) computing: String,
    pub(super) is_real: bool,
}

/// A quantity of both reports; `None` where a report lacks it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) section: String,
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) values: [Option<u64>; 2],
    /// Whether the same program has the same value on every machine, unless its operations depend on time.
    pub(super) is_of_program: bool,
}

/// The unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Picoseconds,
    Count,
    Bytes,
}

impl Row {
    /// Returns the difference of the second value, in per cent of the first; `None` if a value is missing or the first is 0 and the second is not.
    pub(super) fn difference_percent(&self) -> Option<f64> {
        let [Some(first), Some(second)] = self.values else { return None };
        if first == second {
            return Some(0.0);
        }
        (first > 0).then(|| (second as f64 - first as f64) / first as f64 * 100.0)
    }

    /// Whether the values show that the reports are of different operations.
    pub(super) fn contradicts(&self) -> bool {
        self.is_of_program && self.values[0].unwrap_or(0) != self.values[1].unwrap_or(0)
    }
}

impl Comparison {
    /// Compares two reports. Takes time and memory proportional to the number of ranks and messages that they list.
    pub(super) fn new(reports: [&Report; 2]) -> Self {
        let sides = reports.map(Side::of);
        let mut comparison =
            Self { obstacles: obstacles(&sides), remarks: Vec::new(), rows: Vec::new(), pairs: messages::pairs(reports), sides };
        comparison.add("time", "total", Unit::Picoseconds, reports.map(|report| Some(report.job.end_ps)), false);
        comparison.add_quantiles("computing of a rank", reports.map(|report| Some(of_spread(&report.ranks.computing))));
        comparison.add_quantiles("waiting of a rank", reports.map(|report| Some(of_spread(&report.ranks.waiting))));
        comparison.add_ranks(reports);
        comparison.add_totals(reports);
        for kind in OperationKind::ALL {
            let found = reports.map(|report| of_kind(report, kind));
            if found.iter().any(Option::is_some) {
                comparison.add_kind(kind, found);
            }
        }
        messages::by_distance(reports).into_iter().for_each(|row| comparison.rows.push(row));
        comparison.remarks = comparison.remarks_on(reports);
        comparison
    }

    /// Whether all numbers of operations and bytes agree.
    pub(super) fn has_same_operations(&self) -> bool {
        !self.rows.iter().any(Row::contradicts) && self.pairs.as_ref().is_none_or(|pairs| pairs.differing == 0)
    }

    pub(super) fn total_time(&self) -> &Row {
        &self.rows[0]
    }

    fn add(&mut self, section: &str, name: &str, unit: Unit, values: [Option<u64>; 2], is_of_program: bool) {
        self.rows.push(Row { section: section.into(), name: name.into(), unit, values, is_of_program });
    }

    /// Adds a row for each of [`QUANTILES`].
    fn add_quantiles(&mut self, section: &str, times: [Option<[u64; QUANTILES.len()]>; 2]) {
        for (place, name) in QUANTILES.into_iter().enumerate() {
            self.add(section, name, Unit::Picoseconds, times.map(|times| Some(times?[place])), false);
        }
    }

    /// Adds the operations of ranks, and the ranks whose times differ most, if both reports list all ranks.
    fn add_ranks(&mut self, reports: [&Report; 2]) {
        let [first, second] = reports.map(|report| &report.ranks);
        if first.left_out > 0 || second.left_out > 0 {
            return;
        }
        let spread = |of: fn(&RankRow) -> u64| {
            reports.map(|report| {
                let mut values: Vec<u64> = report.ranks.rows.iter().map(of).collect();
                values.sort_unstable();
                [values.first(), values.get(values.len().saturating_sub(1) / 2), values.last()].map(|value| value.copied())
            })
        };
        for (section, unit, [first, second]) in [
            ("operations of a rank", Unit::Count, spread(|row| row.operations)),
            ("bytes of a rank", Unit::Bytes, spread(|row| row.bytes)),
        ] {
            for (place, name) in ["min", "median", "max"].into_iter().enumerate() {
                self.add(section, name, unit, [first[place], second[place]], true);
            }
        }
        let difference = |(first, second): &(&RankRow, &RankRow)| {
            first.computing_ps.abs_diff(second.computing_ps).saturating_add(first.waiting_ps.abs_diff(second.waiting_ps))
        };
        let both = first.rows.iter().zip(&second.rows).filter(|(first, second)| first.rank == second.rank);
        let mut differing: Vec<_> = both.filter(|both| difference(both) > 0).collect();
        differing.sort_by_key(|both| (Reverse(difference(both)), both.0.rank));
        for (first, second) in differing.into_iter().take(RANKS_SHOWN_MAX) {
            let section = format!("rank {}", first.rank);
            let rows =
                [("computing", [first.computing_ps, second.computing_ps]), ("waiting", [first.waiting_ps, second.waiting_ps])];
            rows.into_iter().for_each(|(name, values)| self.add(&section, name, Unit::Picoseconds, values.map(Some), false));
        }
    }

    fn add_totals(&mut self, reports: [&Report; 2]) {
        let section = "all operations";
        let totals = reports.map(|report| &report.totals);
        self.add(section, "count", Unit::Count, totals.map(|totals| Some(totals.operations)), true);
        self.add(section, "bytes", Unit::Bytes, totals.map(|totals| Some(totals.operations_bytes)), true);
        self.add(section, "failed", Unit::Count, totals.map(|totals| Some(totals.operations_failed)), false);
        self.add(section, "not completed", Unit::Count, totals.map(|totals| Some(totals.operations_unfinished)), false);
        self.add(section, "in flight at once", Unit::Count, totals.map(|totals| Some(totals.operations_under_way_max)), false);
        if self.sides.iter().all(|side| !side.is_real) {
            let section = "network";
            self.add(section, "packets", Unit::Count, totals.map(|totals| Some(totals.packets)), false);
            self.add(section, "packet hops", Unit::Count, totals.map(|totals| Some(totals.packet_hops)), false);
            let [first, second] = totals.map(|totals| totals.disturbances.kinds());
            for ((name, number), (_, other)) in first.into_iter().zip(second).filter(|((_, one), (_, other))| one.max(other) > &0)
            {
                self.add(section, name, Unit::Count, [Some(number), Some(other)], false);
            }
            self.add(section, "bytes on links", Unit::Bytes, reports.map(|report| Some(report.links.bytes)), false);
        }
    }

    fn add_kind(&mut self, kind: OperationKind, found: [Option<&OperationReport>; 2]) {
        let section = kind.name();
        self.add(section, "count", Unit::Count, found.map(|of| Some(of.map_or(0, |of| of.operations))), true);
        self.add(section, "bytes", Unit::Bytes, found.map(|of| Some(of.map_or(0, |of| of.bytes))), true);
        self.add_latency(&format!("{section}: to completion"), found.map(|of| of.map(|of| &of.to_completion)));
        // On a real machine the initiator sees the effect by the completion alone.
        if self.sides.iter().all(|side| !side.is_real) {
            self.add_latency(&format!("{section}: to effect"), found.map(|of| of.map(|of| &of.to_effect)));
        }
    }

    fn add_latency(&mut self, section: &str, distributions: [Option<&Distribution>; 2]) {
        let times = distributions.map(|of| of.filter(|of| of.count > 0).map(of_distribution));
        if times != [None; 2] {
            self.add_quantiles(section, times);
        }
    }

    fn remarks_on(&self, reports: [&Report; 2]) -> Vec<String> {
        let mut remarks = Vec::new();
        if !self.has_same_operations() {
            remarks.push(
                "numbers of operations or bytes differ (marked by !): not the same program, version, input or seed, or its operations depend on time or on the network"
                    .into(),
            );
        }
        for (report, side) in reports.iter().zip(["first", "second"]) {
            report.job.fault.iter().for_each(|fault| remarks.push(format!("the {side} run had a fault: {fault}")));
            let Some(recording) = report.job.recording else { continue };
            if recording.ranks_missing > 0 {
                remarks.push(format!("the {side} report lacks {} ranks, which left no record", recording.ranks_missing));
            }
            if recording.operations_untimed > 0 || recording.waits_untimed > 0 {
                remarks.push(format!(
                    "the {side} report has no times of {} operations and {} waits beyond the bounds of ranks: latencies are those of the beginning of the run",
                    recording.operations_untimed, recording.waits_untimed
                ));
            }
        }
        let [first, second] = &self.sides;
        if first.nodes != second.nodes {
            remarks.push(format!("the numbers of nodes are {} and {}", first.nodes, second.nodes));
        }
        if first.is_real != second.is_real {
            let simulated = if first.is_real { second } else { first };
            if !simulated.computing.starts_with("measured") {
                remarks.push(format!(
                    "computing of the simulated run is {}: its time is not that of this machine; pelago sim --compute measured takes that",
                    simulated.computing
                ));
            }
        } else if !first.is_real && first.seed != second.seed {
            remarks.push(format!("the seeds differ: {} and {}", first.seed, second.seed));
        }
        if self.pairs.is_none() {
            remarks.push("messages between pairs of ranks are not compared, as a time line lacks some".into());
        }
        remarks
    }
}

impl Side {
    fn of(report: &Report) -> Self {
        let job = &report.job;
        Self {
            program: job.program.clone(),
            machine: job.machine.clone(),
            ranks: job.ranks,
            nodes: job.nodes,
            seed: job.seed,
            computing: job.computing.clone(),
            is_real: job.recording.is_some(),
        }
    }
}

/// Returns the times of [`QUANTILES`].
fn of_spread(of: &Spread) -> [u64; QUANTILES.len()] {
    [of.min_ps, of.median_ps, of.mean_ps, of.p90_ps, of.p99_ps, of.max_ps]
}

/// Returns the times of [`QUANTILES`].
fn of_distribution(of: &Distribution) -> [u64; QUANTILES.len()] {
    [of.min_ps, of.median_ps, of.mean_ps, of.p90_ps, of.p99_ps, of.max_ps]
}

fn of_kind(report: &Report, kind: OperationKind) -> Option<&OperationReport> {
    report.latencies.iter().find(|of| of.kind == kind)
}

fn obstacles(sides: &[Side; 2]) -> Vec<String> {
    let [first, second] = sides;
    let mut obstacles = Vec::new();
    if normal(&first.program) != normal(&second.program) {
        obstacles.push(format!("the programs are {:?} and {:?}", first.program, second.program));
    }
    if first.ranks != second.ranks {
        obstacles.push(format!("the numbers of ranks are {} and {}", first.ranks, second.ranks));
    }
    obstacles
}

/// Returns a command line without the folder of the program, and without the ending of a program that is a shared object.
fn normal(program: &str) -> (&str, &str) {
    let (path, arguments) = program.split_once(' ').unwrap_or((program, ""));
    let name = path.rsplit('/').next().unwrap_or(path);
    (name.strip_suffix(".so").unwrap_or(name), arguments)
}

#[cfg(test)]
mod tests {
    use pelago_base::{Instant, Rank};
    use pelago_report::{Facts, Limits, Recorder, RecordingFacts, StopReason};

    use super::*;

    /// A job of two ranks; rank 0 puts `bytes` bytes to rank 1 in `lasts` ps, computes meanwhile, and waits as long.
    fn report(program: &str, bytes: u64, lasts: u64, recording: Option<RecordingFacts>) -> Report {
        let (mut recorder, [zero, one]) = (Recorder::new(Limits::default()), [0, 1].map(Rank::new));
        let at = Instant::from_picoseconds;
        recorder.resumed(zero, at(0));
        recorder.posted(0, OperationKind::Put, zero, one, bytes, at(0));
        recorder.stopped(zero, at(lasts), StopReason::Waiting);
        recorder.effective(0, at(lasts));
        recorder.completed(0, false, at(lasts));
        let end = at(2 * lasts);
        let facts = Facts {
            program: program.into(),
            ranks: 2,
            nodes: 1,
            end,
            recording,
            computing: "declared".into(),
            ..Facts::default()
        };
        recorder.finish(facts)
    }

    fn row<'c>(comparison: &'c Comparison, section: &str, name: &str) -> &'c Row {
        comparison
            .rows
            .iter()
            .find(|row| row.section == section && row.name == name)
            .unwrap_or_else(|| panic!("{section}: {name}"))
    }

    #[test]
    fn times_differ_in_per_cent_of_the_first() {
        let comparison = Comparison::new([&report("a/p 1", 8, 1000, None), &report("p 1", 8, 1500, None)]);
        assert!(comparison.obstacles.is_empty() && comparison.has_same_operations() && comparison.remarks.is_empty());
        assert_eq!(comparison.total_time().difference_percent(), Some(50.0));
        for (section, name, values) in [
            ("time", "total", [2000, 3000]),
            ("computing of a rank", "max", [1000, 1500]),
            ("waiting of a rank", "min", [0, 0]),
            ("rank 0", "waiting", [1000, 1500]),
            ("operations of a rank", "max", [1, 1]),
            ("put", "bytes", [8, 8]),
            ("put: to completion", "median", [1000, 1500]),
            ("put: to effect", "99 %", [1000, 1500]),
            ("messages at distance 1", "bytes", [8, 8]),
        ] {
            assert_eq!(row(&comparison, section, name).values, values.map(Some), "{section}: {name}");
        }
    }

    #[test]
    fn what_disturbed_packets_is_compared_where_there_is_any() {
        let (without, mut with) = (report("p", 8, 1000, None), report("p", 8, 1000, None));
        with.totals.disturbances.lost = 3;
        let comparison = Comparison::new([&without, &with]);
        assert_eq!(row(&comparison, "network", "lost").values, [Some(0), Some(3)]);
        assert!(comparison.rows.iter().all(|row| row.name != "pauses"));
    }

    #[test]
    fn other_operations_are_marked_and_remarked() {
        let comparison = Comparison::new([&report("p", 8, 1000, None), &report("p", 16, 1000, None)]);
        assert!(comparison.obstacles.is_empty() && !comparison.has_same_operations());
        let marked: Vec<_> =
            comparison.rows.iter().filter(|row| row.contradicts()).map(|row| format!("{}: {}", row.section, row.name)).collect();
        assert_eq!(marked, ["bytes of a rank: max", "all operations: bytes", "put: bytes", "messages at distance 1: bytes"]);
        assert!(comparison.remarks[0].starts_with("numbers of operations or bytes differ"), "{:?}", comparison.remarks);
        assert_eq!(comparison.pairs.as_ref().unwrap().differing, 1);
    }

    #[test]
    fn other_programs_arguments_and_ranks_are_other_runs() {
        let whys = |first: &Report, second: &Report| Comparison::new([first, second]).obstacles;
        let one = report("p 1", 8, 1000, None);
        assert_eq!(whys(&one, &report("p 2", 8, 1000, None)), ["the programs are \"p 1\" and \"p 2\""]);
        assert_eq!(whys(&one, &report("q 1", 8, 1000, None)).len(), 1);
        assert!(whys(&one, &report("./p.so 1", 8, 1000, None)).is_empty());
        let more = Recorder::new(Limits::default()).finish(Facts { program: "p 1".into(), ranks: 3, ..Facts::default() });
        assert_eq!(whys(&one, &more), ["the numbers of ranks are 2 and 3"]);
    }

    #[test]
    fn limits_of_records_are_remarked() {
        let recording = RecordingFacts { ranks_missing: 2, operations_untimed: 5, waits_untimed: 6, clock_error_ps: 0 };
        let comparison = Comparison::new([&report("p", 8, 1000, Some(recording)), &report("p", 8, 1000, None)]);
        let all = comparison.remarks.join("\n");
        for what in ["lacks 2 ranks", "no times of 5 operations and 6 waits", "--compute measured"] {
            assert!(all.contains(what), "{all}");
        }
        assert!(comparison.rows.iter().all(|row| row.section != "put: to effect" && row.section != "network"));
    }
}
