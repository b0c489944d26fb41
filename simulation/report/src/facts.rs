//! What is known of a job by those who ran it.

use pelago_base::{Duration, Instant};

/// What others than the recorder know of a job that is over.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What was run, with its arguments.
    pub program: String,
    /// The name of the machine.
    pub machine: String,
    /// Where the figures of the machine come from, in a line.
    pub machine_source: String,
    /// How many ranks.
    pub ranks: u32,
    /// How many nodes.
    pub nodes: u32,
    /// How many consecutive ranks share a node.
    pub per_node: u32,
    /// What chance depended on.
    pub seed: u64,
    /// What computing cost in virtual time: `declared`, `measured, times F` or `zero`.
    pub computing: String,
    /// The virtual time at the end.
    pub end: Instant,
    /// Events that have happened.
    pub events: u64,
    /// Packets that were put on the network.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Every link, each direction for itself.
    pub links: Vec<LinkUse>,
    /// What was wrong with the job, if anything.
    pub fault: Option<String>,
}

/// What passed over one direction of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkUse {
    /// The name of where it begins.
    pub from: String,
    /// The name of where it ends.
    pub to: String,
    /// Bytes that were sent over it.
    pub bytes: u64,
    /// How long it was sending.
    pub busy: Duration,
    /// How many packets waited for it at most.
    pub longest_queue: u32,
}
