//! The report: all recorded data on a completed job.

use pelago_base::Instant;
use serde::{Deserialize, Serialize};

use crate::facts::{Disturbances, Facts, RecordingFacts};
use crate::sections::activity::Activity;
use crate::sections::latencies::OperationReport;
use crate::sections::links::Links;
use crate::sections::ranks::{RankRow, Ranks};
use crate::sections::timeline::Timeline;

/// The layout of reports in JSON that this version writes and reads.
pub const FORMAT: u32 = 1;

/// All recorded data on a completed job. Its JSON uses these field names; those of quantities end in their unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The layout of this report: [`FORMAT`].
    pub format: u32,
    /// The program, the machine and the settings.
    pub job: JobFacts,
    /// Totals of the job.
    pub totals: Totals,
    /// How each rank spent its time.
    pub ranks: Ranks,
    /// The activity of all ranks over time.
    #[serde(default)]
    pub activity: Activity,
    /// The latencies of operations: an entry for each kind that occurred.
    pub latencies: Vec<OperationReport>,
    /// The utilization of links.
    pub links: Links,
    /// The activities of ranks and the messages between them, in order of time.
    pub timeline: Timeline,
}

/// The program, the machine and the settings of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// The program, with its arguments.
    pub program: String,
    /// The name of the machine.
    pub machine: String,
    /// The source of the machine's figures.
    pub machine_source: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of consecutive ranks that share a node.
    pub per_node: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How computing advanced virtual time: `declared`, `measured, times F` (then another run differs), or `zero`; `real` on a real machine.
    #[serde(default)]
    pub computing: String,
    /// The time at the end: virtual time, or the time since the ranks of a real job joined it.
    pub end_ps: u64,
    /// The fault of the job, if there was one.
    pub fault: Option<String>,
    /// For a job that was recorded on a real machine, the limits of its record; `None` for a simulated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingFacts>,
}

/// Totals of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Events of the simulation.
    pub events: u64,
    /// Packets that entered the network.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// What disturbed packets.
    #[serde(default, skip_serializing_if = "Disturbances::is_empty")]
    pub disturbances: Disturbances,
    /// Number of operations posted.
    pub operations: u64,
    /// Number of operations that failed.
    pub operations_failed: u64,
    /// Number of operations that had not completed at the end.
    pub operations_unfinished: u64,
    /// The largest number of operations in flight at the same time.
    pub operations_under_way_max: u64,
    /// Bytes of all operations posted.
    pub operations_bytes: u64,
}

/// A text is not a report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is not JSON, or lacks a field.
    #[error("this file is not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// The report has another layout.
    #[error("this report has format {found}, and only format {FORMAT} can be read: write it again with this version")]
    Format {
        /// The layout of the report.
        found: u32,
    },
}

impl Report {
    /// Reads the output of [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// The text is not a report, or has another format.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let Head { format } = serde_json::from_str(text)?;
        if format != FORMAT {
            return Err(ReadError::Format { found: format });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Returns the report as one JSON object on one line.
    ///
    /// Cost: some 40 bytes for each span and 60 for each message that is kept.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("all keys are texts");
        text.push('\n');
        text
    }

    pub(crate) fn new(
        facts: Facts,
        rows: Vec<RankRow>,
        activity: Activity,
        (latencies, operations_under_way_max): (Vec<OperationReport>, u64),
        timeline: Timeline,
    ) -> Self {
        let Facts { program, machine, machine_source, ranks, nodes, per_node, seed, computing, end, fault, recording, .. } =
            facts;
        let end_ps = end.as_picoseconds();
        let sum = |of: fn(&OperationReport) -> u64| latencies.iter().fold(0, |sum: u64, kind| sum.saturating_add(of(kind)));
        let totals = Totals {
            events: facts.events,
            packets: facts.packets,
            packet_hops: facts.packet_hops,
            disturbances: facts.disturbances,
            operations: sum(|kind| kind.operations),
            operations_failed: sum(|kind| kind.failed),
            operations_unfinished: sum(|kind| kind.unfinished),
            operations_under_way_max,
            operations_bytes: sum(|kind| kind.bytes),
        };
        let job =
            JobFacts { program, machine, machine_source, ranks, nodes, per_node, seed, computing, end_ps, fault, recording };
        let links = Links::new(facts.links, Instant::from_picoseconds(end_ps));
        Self { format: FORMAT, job, totals, ranks: Ranks::new(rows), activity, latencies, links, timeline }
    }
}
