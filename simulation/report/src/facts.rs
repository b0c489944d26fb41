//! Data on a completed job that the recorder does not have.

use pelago_base::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Data on a completed job that the recorder does not have.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The program, with its arguments.
    pub program: String,
    /// The name of the machine.
    pub machine: String,
    /// The source of the machine's figures, in one line.
    pub machine_source: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Number of consecutive ranks that share a node.
    pub per_node: u32,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How computing advanced virtual time: `declared`, `measured, times F` or `zero`.
    pub computing: String,
    /// The time at the end: virtual time, or the time since the ranks of a real job joined it.
    pub end: Instant,
    /// Number of events that have happened.
    pub events: u64,
    /// Packets that entered the network.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// What disturbed packets.
    pub disturbances: Disturbances,
    /// The use of every link, each direction separately.
    pub links: Vec<LinkUse>,
    /// The fault of the job, if there was one.
    pub fault: Option<String>,
    /// For a job that was recorded on a real machine, the limits of its record; `None` for a simulated one.
    pub recording: Option<RecordingFacts>,
}

/// What disturbed the packets of a simulated network. A report without any does not name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbances {
    /// Packets and datagrams that were lost.
    pub lost: u64,
    /// Number of repetitions by network interfaces.
    pub repetitions: u64,
    /// Number of times that a buffer has paused its sender.
    pub pauses: u64,
    /// Packets that a router has marked.
    pub marked: u64,
}

impl Disturbances {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the name and the number of each kind.
    pub fn kinds(&self) -> [(&'static str, u64); 4] {
        let &Self { lost, repetitions, pauses, marked } = self;
        [("lost", lost), ("repetitions", repetitions), ("pauses", pauses), ("marked", marked)]
    }
}

/// The limits of the record of a job on a real machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingFacts {
    /// Number of ranks that left no record. Their operations and times are missing.
    pub ranks_missing: u64,
    /// Number of operations without times, beyond the bounds of the record of a rank. They count, with their bytes, in totals alone.
    pub operations_untimed: u64,
    /// Number of waits of which only the total time is known, beyond these bounds.
    pub waits_untimed: u64,
    /// The largest error of the offset between the clocks of two hosts.
    pub clock_error_ps: u64,
}

/// The use of one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// The name of the end where it begins.
    pub from: String,
    /// The name of the end where it leads.
    pub to: String,
    /// Bytes that were sent over it.
    pub bytes: u64,
    /// The total time for which it was sending.
    pub busy: Duration,
    /// The largest number of packets that waited for it at once.
    pub longest_queue: u32,
}
