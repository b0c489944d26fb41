//! `pelago run --trace`: writes the recordings of a job's ranks in the format of traces of simulated jobs.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use pelago_base::{Instant, Rank};
use pelago_kit::{RecordedKind, RecordedRank};
use pelago_report::{Facts, Limits, OperationKind, Recorder, Report, StopReason, TraceNode};
use serde_json::{Value, json};

use super::gathering::Parts;

/// Writes the trace of a job, and prints one line on missing data.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, program: String, parts: &Parts) -> Result<(), String> {
    let trace = Trace::new(program, parts);
    let written = fs::File::create(file).map(BufWriter::new).and_then(|mut file| {
        trace.report.trace_of(&trace.nodes, &trace.notes, &mut file)?;
        file.flush()
    });
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    if let Some(lacks) = parts.lacks(file) {
        crate::say(&lacks);
    }
    Ok(())
}

/// Contents of the file.
struct Trace {
    report: Report,
    nodes: Vec<TraceNode>,
    notes: Vec<(&'static str, Value)>,
}

/// Kinds of events, in the order in which simultaneous events go to the recorder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Begins,
    Completes { message: u32, failed: bool },
    GoesOn,
    Waits,
    Posts { message: u32 },
    Ends,
}

impl Trace {
    /// Merges the recordings of the ranks by the clock of the host of rank 0. Time 0 is the begin of the first rank.
    fn new(program: String, parts: &Parts) -> Self {
        let Parts { ranks, recorded, .. } = parts;
        let ranks = *ranks;
        let mut happenings = Vec::new();
        let mut message = 0;
        for ((number, rank), start) in recorded.iter().zip(parts.starts()) {
            let mut happens = |at_ns: u64, what| happenings.push((start.saturating_add(at_ns), what, *number, None));
            happens(0, Happening::Begins);
            for &(from, to) in rank.waits.iter().filter(|(from, to)| from < to) {
                happens(from, Happening::Waits);
                happens(to, Happening::GoesOn);
            }
            // The row of a rank ends when its memory for waits was full.
            let last = rank.waits.last().filter(|_| rank.waits_dropped > 0);
            happens(last.map_or(rank.end_ns, |&(_, to)| to), Happening::Ends);
            for operation in &rank.operations {
                let mut happens =
                    |at_ns: u64, what| happenings.push((start.saturating_add(at_ns), what, *number, Some(*operation)));
                happens(operation.posted_ns, Happening::Posts { message });
                if let Some((at, succeeded)) = operation.completed {
                    happens(at.max(operation.posted_ns + 1), Happening::Completes { message, failed: !succeeded });
                }
                message += 1;
            }
        }
        happenings.sort_by_key(|&(at, what, number, _)| (at, what, number));
        let mut recorder = Recorder::new(Limits::default());
        let mut end = Instant::ZERO;
        for (at_ns, what, number, operation) in happenings {
            let (now, rank) = (Instant::from_picoseconds(at_ns.saturating_mul(1000)), Rank::new(number));
            end = end.max(now);
            match what {
                Happening::Begins | Happening::GoesOn => recorder.resumed(rank, now),
                Happening::Waits => recorder.stopped(rank, now, StopReason::Waiting),
                Happening::Ends => recorder.stopped(rank, now, StopReason::Ended),
                Happening::Posts { message } => {
                    let operation = operation.expect("of an operation");
                    recorder.posted(message, kind(operation.kind), rank, Rank::new(operation.to), operation.bytes, now);
                }
                Happening::Completes { message, failed } => {
                    if !failed {
                        recorder.effective(message, now);
                    }
                    recorder.completed(message, failed, now);
                }
            }
        }
        let mut nodes: Vec<TraceNode> = Vec::new();
        let mut clocks = serde_json::Map::new();
        for (_, rank) in recorded {
            if nodes.iter().all(|node| node.first != rank.host.first) {
                let (offset_ns, error_ns) = parts.offset_of(rank);
                let name = format!("host {} (ranks from {})", rank.host.name, rank.host.first);
                clocks.insert(name.clone(), json!({ "offset_ns": offset_ns, "error_ns_max": error_ns }));
                nodes.push(TraceNode { name, first: rank.host.first });
            }
        }
        // Ranks of a host without a recording are shown with the preceding host.
        nodes.sort_by_key(|node| node.first);
        nodes[0].first = 0;
        let sum = |of: fn(&RecordedRank) -> u64| recorded.iter().map(|(_, rank)| of(rank)).sum::<u64>();
        let notes = vec![
            ("clocks", Value::Object(clocks)),
            ("effects", "the initiator learns of them: up to one round trip after the target's memory has changed".into()),
            ("ranks_missing", parts.missing().into()),
            ("waits_dropped_by_ranks", sum(|rank| rank.waits_dropped).into()),
            ("operations_dropped_by_ranks", sum(|rank| rank.operations_dropped).into()),
        ];
        let facts = Facts {
            program,
            machine: "real".into(),
            machine_source: "recorded".into(),
            ranks,
            nodes: nodes.len() as u32,
            per_node: ranks,
            end,
            ..Facts::default()
        };
        Self { report: recorder.finish(facts), nodes, notes }
    }
}

fn kind(kind: RecordedKind) -> OperationKind {
    match kind {
        RecordedKind::Put => OperationKind::Put,
        RecordedKind::Get => OperationKind::Get,
        RecordedKind::Copy => OperationKind::Copy,
        RecordedKind::Atomic => OperationKind::Atomic,
    }
}

#[cfg(test)]
mod tests {
    use pelago_kit::{RecordedHost, RecordedOperation};

    use super::*;

    fn rank(first: u32, clock_ns: u64, offset_ns: i64) -> RecordedRank {
        let host = RecordedHost { name: "h".into(), first, offset_ns, error_ns: 5 };
        RecordedRank { host, clock_ns, end_ns: 1000, ..RecordedRank::default() }
    }

    fn written(trace: &Trace) -> Value {
        let mut bytes = Vec::new();
        trace.report.trace_of(&trace.nodes, &trace.notes, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn clocks_of_hosts_are_aligned() {
        let put = RecordedOperation {
            kind: RecordedKind::Put,
            to: 2,
            bytes: 8,
            posted_ns: 100,
            returned_ns: 101,
            completed: Some((400, true)),
        };
        let zero = RecordedRank { operations: vec![put], ..rank(0, 1_000_000, 0) };
        // The clock of the second host is 900,000 ns behind; rank 3 takes the offset of the first rank of its host.
        let (two, three) = (rank(2, 100_200, 900_000), RecordedRank { waits: vec![(10, 60)], ..rank(2, 100_300, 0) });
        let trace = Trace::new("p".into(), &Parts::of(4, vec![(0, zero), (1, rank(0, 1_000_000, 0)), (2, two), (3, three)]));
        let report = &trace.report;
        assert_eq!(trace.nodes.iter().map(|node| node.first).collect::<Vec<_>>(), [0, 2]);
        let wait = report.timeline.spans.iter().find(|span| span.rank == 3 && span.state.name() == "waiting").unwrap();
        assert_eq!((wait.from_ps, wait.to_ps), (310_000, 360_000));
        let message = report.timeline.messages[0];
        assert_eq!((message.posted_ps, message.effective_ps, message.to), (100_000, Some(400_000), 2));
        assert_eq!(report.job.end_ps, 1_300_000);
        let json = written(&trace);
        assert_eq!(json["otherData"]["clocks"]["host h (ranks from 2)"]["offset_ns"], 900_000);
        let events = json["traceEvents"].as_array().unwrap();
        let arrow = events.iter().find(|event| event["ph"] == "f").expect("an arrow to the target");
        assert_eq!((arrow["pid"].as_u64(), arrow["tid"].as_u64()), (Some(3), Some(3)));
    }

    #[test]
    fn what_is_missing_is_counted() {
        let mut one = rank(0, 0, 0);
        (one.waits, one.waits_dropped, one.operations_dropped) = (vec![(1, 2)], 7, 9);
        let trace = Trace::new("p".into(), &Parts::of(3, vec![(1, one)]));
        let json = written(&trace);
        let notes = &json["otherData"];
        assert_eq!([&notes["ranks_missing"], &notes["waits_dropped_by_ranks"], &notes["operations_dropped_by_ranks"]], [2, 7, 9]);
        let ends: Vec<_> = trace.report.timeline.spans.iter().map(|span| span.to_ps).collect();
        assert_eq!(ends.into_iter().max(), Some(2000), "nothing is claimed about the time after the bound");
    }
}
