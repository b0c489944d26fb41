//! The recordings of the ranks of a job, merged into a report, for `pelago run --trace` and `--report`.

use pelago_base::{Duration, Instant, Rank};
use pelago_kit::{RecordedKind, RecordedOperation, RecordedRank};
use pelago_report::{Facts, Limits, OperationKind, Recorder, RecordingFacts, Report, StopReason, TraceNode};

use super::gathering::Parts;

/// The beginning of the time of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The first rank has begun. The report includes the start of the job.
    FirstRank,
    /// All ranks have joined the job. The report has the operations of a simulated job, which begins there.
    AllJoined,
}

/// The report of a job, and its nodes.
pub(super) struct Merged {
    pub(super) report: Report,
    pub(super) nodes: Vec<TraceNode>,
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

impl Merged {
    /// Merges the recordings of the ranks by the clock of the host of rank 0. Memory: some 60 bytes for each wait and operation.
    pub(super) fn new(program: String, parts: &Parts, origin: Origin) -> Self {
        let Parts { ranks, recorded, .. } = parts;
        let (starts, zero) = (parts.starts(), zero(parts, origin));
        let mut happenings = Vec::new();
        let mut message = 0;
        for ((number, rank), start) in recorded.iter().zip(&starts) {
            let since = |at_ns: u64| start.saturating_add(at_ns).saturating_sub(zero);
            let mut happens = |at_ns: u64, what| happenings.push((since(at_ns), what, *number, None));
            happens(0, Happening::Begins);
            for &(from, to) in rank.waits.iter().filter(|&&(from, to)| since(from) < since(to)) {
                happens(from, Happening::Waits);
                happens(to, Happening::GoesOn);
            }
            happens(rank.end_ns, Happening::Ends);
            for operation in rank.operations.iter().filter(|operation| origin.includes(rank, operation)) {
                let mut happens = |at_ns: u64, what| happenings.push((since(at_ns), what, *number, Some(*operation)));
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
            let (now, rank) = (instant(at_ns), Rank::new(number));
            end = end.max(now);
            match what {
                Happening::Begins | Happening::GoesOn => recorder.resumed(rank, now),
                Happening::Waits => recorder.stopped(rank, now, StopReason::Waiting),
                Happening::Ends => {
                    let place = recorded.binary_search_by_key(&number, |(number, _)| *number).expect("it is recorded");
                    let last_ns = starts[place].saturating_add(last_operation_ns(&recorded[place].1)).saturating_sub(zero);
                    ends(&mut recorder, rank, &recorded[place].1, instant(last_ns), now);
                }
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
        let nodes = nodes(parts);
        let ends = nodes.iter().skip(1).map(|node| node.first).chain([*ranks]);
        let per_node = nodes.iter().zip(ends).map(|(node, end)| end - node.first).max().unwrap_or(*ranks);
        let facts = Facts {
            program,
            machine: "real".into(),
            machine_source: "recorded".into(),
            ranks: *ranks,
            nodes: nodes.len() as u32,
            per_node,
            computing: "real".into(),
            end,
            recording: Some(recording(parts)),
            ..Facts::default()
        };
        Self { report: recorder.finish(facts), nodes }
    }
}

impl Origin {
    /// Whether an operation of the rank is in the report.
    fn includes(self, rank: &RecordedRank, operation: &RecordedOperation) -> bool {
        self == Self::FirstRank || operation.posted_ns >= rank.joined_ns
    }
}

/// Returns the origin, in nanoseconds after the earliest zero of the ranks' clocks.
fn zero(parts: &Parts, origin: Origin) -> u64 {
    if origin == Origin::FirstRank {
        return 0;
    }
    let joined = parts.recorded.iter().zip(parts.starts()).map(|((_, rank), start)| start.saturating_add(rank.joined_ns));
    joined.min().unwrap_or(0)
}

/// Records the end of a rank, and what exceeded the bounds of its record.
fn ends(recorder: &mut Recorder, rank: Rank, recorded: &RecordedRank, last_operation: Instant, now: Instant) {
    for (of_kind, dropped) in
        RecordedKind::ALL.into_iter().zip(&recorded.operations_dropped).filter(|(_, dropped)| dropped.count > 0)
    {
        recorder.untimed(rank, kind(of_kind), dropped.count, dropped.bytes, last_operation);
    }
    if recorded.waits_dropped > 0 {
        let waiting = Duration::from_picoseconds(recorded.waits_dropped_ns.saturating_mul(1000));
        recorder.ended_after_gap(rank, now, recorded.waits_dropped, waiting);
    } else {
        recorder.stopped(rank, now, StopReason::Ended);
    }
}

fn last_operation_ns(rank: &RecordedRank) -> u64 {
    rank.operations.last().map_or(0, |last| last.posted_ns)
}

/// Returns the nodes of a job: those of which a rank has left a recording.
fn nodes(parts: &Parts) -> Vec<TraceNode> {
    let mut nodes: Vec<TraceNode> = Vec::new();
    for (_, rank) in &parts.recorded {
        if nodes.iter().all(|node| node.first != rank.host.first) {
            nodes.push(TraceNode { name: node_name(rank), first: rank.host.first });
        }
    }
    // Ranks of a host without a recording are shown with the preceding host.
    nodes.sort_by_key(|node| node.first);
    nodes[0].first = 0;
    nodes
}

/// Returns the name of the node of a rank.
pub(super) fn node_name(rank: &RecordedRank) -> String {
    format!("host {} (ranks from {})", rank.host.name, rank.host.first)
}

fn recording(parts: &Parts) -> RecordingFacts {
    let sum = |of: fn(&RecordedRank) -> u64| parts.recorded.iter().map(|(_, rank)| of(rank)).sum();
    let errors_ns = parts.recorded.iter().map(|(_, rank)| parts.offset_of(rank).1);
    RecordingFacts {
        ranks_missing: parts.missing() as u64,
        operations_untimed: sum(RecordedRank::operations_dropped),
        waits_untimed: sum(|rank| rank.waits_dropped),
        clock_error_ps: errors_ns.max().unwrap_or(0).saturating_mul(1000),
    }
}

fn instant(at_ns: u64) -> Instant {
    Instant::from_picoseconds(at_ns.saturating_mul(1000))
}

fn kind(kind: RecordedKind) -> OperationKind {
    match kind {
        RecordedKind::Put => OperationKind::Put,
        RecordedKind::Get => OperationKind::Get,
        RecordedKind::Copy => OperationKind::Copy,
        RecordedKind::Atomic => OperationKind::Atomic,
    }
}
