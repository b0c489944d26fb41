//! `pelago run --report`: writes the recordings of a job's ranks as a report with the layout of reports on simulated jobs.

use std::path::Path;

use pelago_report::files;

use super::gathering::Parts;
use super::merged::{Merged, Origin};

/// Writes the report of a job, which may have ended with a fault, and prints one line on missing data.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, program: String, fault: Option<String>, parts: &Parts) -> Result<(), String> {
    let Merged { mut report, .. } = Merged::new(program, parts, Origin::AllJoined);
    report.job.fault = fault;
    files::write(file, |file| file.write_all(report.to_json().as_bytes()))?;
    if let Some(lacks) = parts.lacks(file) {
        crate::say(&lacks);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pelago_kit::{DroppedOperations, RecordedHost, RecordedKind, RecordedOperation, RecordedRank};
    use pelago_report::OperationKind;

    use super::*;

    fn put(posted_ns: u64) -> RecordedOperation {
        let completed = Some((posted_ns + 20, true));
        RecordedOperation { kind: RecordedKind::Put, to: 1, bytes: 8, posted_ns, returned_ns: posted_ns + 1, completed }
    }

    fn rank(joined_ns: u64, waits: Vec<(u64, u64)>, operations: Vec<RecordedOperation>) -> RecordedRank {
        let host = RecordedHost { name: "h".into(), ..RecordedHost::default() };
        RecordedRank { host, clock_ns: 7, end_ns: 1000, joined_ns, waits, operations, ..RecordedRank::default() }
    }

    #[test]
    fn a_report_begins_when_all_ranks_have_joined() {
        // The put at 50 is one of the start of the job; the wait from 80 to 130 is partly in it.
        let zero = rank(100, vec![(80, 130), (300, 400)], vec![put(50), put(110), put(200)]);
        let one = rank(120, vec![(10, 90)], vec![]);
        let report = Merged::new("p".into(), &Parts::of(2, vec![(0, zero), (1, one)]), Origin::AllJoined).report;
        assert_eq!((report.job.end_ps, report.totals.operations), (900_000, 2));
        let times: Vec<_> = report.ranks.rows.iter().map(|row| (row.computing_ps, row.waiting_ps)).collect();
        assert_eq!(times, [(770_000, 130_000), (900_000, 0)]);
        let posted: Vec<_> = report.timeline.messages.iter().map(|message| message.posted_ps).collect();
        assert_eq!(posted, [10_000, 100_000]);
    }

    #[test]
    fn what_exceeds_the_bounds_of_a_rank_is_in_the_totals() {
        let mut one = rank(0, vec![(0, 100)], vec![put(50)]);
        (one.waits_dropped, one.waits_dropped_ns) = (7, 600);
        one.operations_dropped[RecordedKind::Copy as usize] = DroppedOperations { count: 9, bytes: 72 };
        let report = Merged::new("p".into(), &Parts::of(3, vec![(0, one)]), Origin::AllJoined).report;
        let kinds: Vec<_> = report.latencies.iter().map(|of| (of.kind, of.operations, of.untimed, of.bytes)).collect();
        assert_eq!(kinds, [(OperationKind::Put, 1, 0, 8), (OperationKind::Copy, 9, 9, 72)]);
        assert_eq!((report.ranks.rows[0].computing_ps, report.ranks.rows[0].waiting_ps), (300_000, 700_000));
        let recording = report.job.recording.unwrap();
        assert_eq!((recording.ranks_missing, recording.operations_untimed, recording.waits_untimed), (2, 9, 7));
        assert_eq!(report.timeline.complete_until_ps, Some(50_000));
    }
}
