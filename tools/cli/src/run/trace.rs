//! `pelago run --trace`: writes the recordings of a job's ranks in the format of traces of simulated jobs.

use std::path::Path;

use pelago_kit::RecordedRank;
use pelago_report::{Report, TraceNode, files};
use serde_json::{Value, json};

use super::gathering::Parts;
use super::merged::{self, Merged, Origin};

/// Writes the trace of a job, and prints one line on missing data.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, program: String, parts: &Parts) -> Result<(), String> {
    let trace = Trace::new(program, parts);
    files::write(file, |file| trace.report.trace_of(&trace.nodes, &trace.notes, file))?;
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

impl Trace {
    /// Merges the recordings of the ranks by the clock of the host of rank 0. Time 0 is the begin of the first rank.
    fn new(program: String, parts: &Parts) -> Self {
        let recorded = &parts.recorded;
        let mut clocks = serde_json::Map::new();
        for (_, rank) in recorded {
            let (offset_ns, error_ns) = parts.offset_of(rank);
            clocks.entry(merged::node_name(rank)).or_insert_with(|| json!({ "offset_ns": offset_ns, "error_ns_max": error_ns }));
        }
        let Merged { report, nodes } = Merged::new(program, parts, Origin::FirstRank);
        let sum = |of: fn(&RecordedRank) -> u64| recorded.iter().map(|(_, rank)| of(rank)).sum::<u64>();
        let notes = vec![
            ("clocks", Value::Object(clocks)),
            ("effects", "the initiator learns of them: up to one round trip after the target's memory has changed".into()),
            ("ranks_missing", parts.missing().into()),
            ("waits_dropped_by_ranks", sum(|rank| rank.waits_dropped).into()),
            ("operations_dropped_by_ranks", sum(RecordedRank::operations_dropped).into()),
        ];
        Self { report, nodes, notes }
    }
}

#[cfg(test)]
mod tests {
    use pelago_kit::{DroppedOperations, RecordedHost, RecordedKind, RecordedOperation};

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
        (one.waits, one.waits_dropped) = (vec![(1, 2)], 7);
        one.operations_dropped[RecordedKind::Get as usize] = DroppedOperations { count: 9, bytes: 72 };
        let trace = Trace::new("p".into(), &Parts::of(3, vec![(1, one)]));
        let json = written(&trace);
        let notes = &json["otherData"];
        assert_eq!([&notes["ranks_missing"], &notes["waits_dropped_by_ranks"], &notes["operations_dropped_by_ranks"]], [2, 7, 9]);
        let ends: Vec<_> = trace.report.timeline.spans.iter().map(|span| span.to_ps).collect();
        assert_eq!(ends.into_iter().max(), Some(2000), "nothing is claimed about the time after the bound");
    }
}
