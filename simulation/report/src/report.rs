//! The report: all that is known of a job that is over.

use pelago_base::Instant;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::sections::activity::Activity;
use crate::sections::latencies::OperationReport;
use crate::sections::links::Links;
use crate::sections::ranks::{RankRow, Ranks};
use crate::sections::timeline::Timeline;

/// The layout of reports in JSON that this version writes and reads.
pub const FORMAT: u32 = 1;

/// All that is known of a job that is over. Its JSON has these names; those of quantities end in their unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The layout of this report: [`FORMAT`].
    pub format: u32,
    /// What was run, and where.
    pub job: JobFacts,
    /// How much happened.
    pub totals: Totals,
    /// What each rank did with its time.
    pub ranks: Ranks,
    /// What all ranks did when.
    #[serde(default)]
    pub activity: Activity,
    /// How long operations took: an entry for each kind that occurred.
    pub latencies: Vec<OperationReport>,
    /// How much of the time links were sending.
    pub links: Links,
    /// What happened when.
    pub timeline: Timeline,
}

/// What was run, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFacts {
    /// The program, with its arguments.
    pub program: String,
    /// The name of the machine.
    pub machine: String,
    /// Where the figures of the machine come from.
    pub machine_source: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many nodes.
    pub nodes: u32,
    /// How many consecutive ranks share a node.
    pub per_node: u32,
    /// What chance depended on.
    pub seed: u64,
    /// What computing cost in virtual time: `declared`, `measured, times F` (then another run differs), or `zero`.
    #[serde(default)]
    pub computing: String,
    /// The virtual time at the end.
    pub end_ps: u64,
    /// What was wrong with the job, if anything.
    pub fault: Option<String>,
}

/// How much happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Events of the simulation.
    pub events: u64,
    /// Packets that were put on the network.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Operations that were posted.
    pub operations: u64,
    /// How many of them failed.
    pub operations_failed: u64,
    /// How many of them had not completed at the end.
    pub operations_unfinished: u64,
    /// Operations that were under way at the same time, at most.
    pub operations_under_way_max: u64,
    /// Bytes that they were to move.
    pub operations_bytes: u64,
}

/// A text is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is no JSON, or lacks something.
    #[error("this file is not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// It is a report of another layout.
    #[error("this report has format {found}, and only format {FORMAT} can be read: write it again with this version")]
    Format {
        /// Which.
        found: u32,
    },
}

impl Report {
    /// Reads what [`to_json`](Self::to_json) has written.
    ///
    /// # Errors
    /// The text is no report, or one of another format.
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

    /// The report as one JSON object on one line.
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
        let Facts { program, machine, machine_source, ranks, nodes, per_node, seed, computing, end, fault, .. } = facts;
        let end_ps = end.as_picoseconds();
        let sum = |of: fn(&OperationReport) -> u64| latencies.iter().fold(0, |sum: u64, kind| sum.saturating_add(of(kind)));
        let totals = Totals {
            events: facts.events,
            packets: facts.packets,
            packet_hops: facts.packet_hops,
            operations: sum(|kind| kind.operations),
            operations_failed: sum(|kind| kind.failed),
            operations_unfinished: sum(|kind| kind.unfinished),
            operations_under_way_max,
            operations_bytes: sum(|kind| kind.bytes),
        };
        let job = JobFacts { program, machine, machine_source, ranks, nodes, per_node, seed, computing, end_ps, fault };
        let links = Links::new(facts.links, Instant::from_picoseconds(end_ps));
        Self { format: FORMAT, job, totals, ranks: Ranks::new(rows), activity, latencies, links, timeline }
    }
}
