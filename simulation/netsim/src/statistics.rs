//! What a simulation has counted.

use pelago_base::Duration;

/// Counters since the start of the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events that have happened.
    pub events: u64,
    /// Packets that were put on the network, control packets and repetitions included.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Bytes of operations whose effect has happened.
    pub bytes: u64,
    /// Packets and datagrams that were lost.
    pub drops: u64,
    /// How often a NIC tried again.
    pub retries: u64,
    /// How often a buffer has had its sender pause.
    pub pauses: u64,
    /// Packets that a router has marked.
    pub marks: u64,
    /// The atomic unit that has worked longest, if one has worked; of equals, the first.
    pub busiest_atomics: Option<AtomicStatistics>,
    /// Every link, each direction for itself.
    pub links: Vec<LinkStatistics>,
}

/// What has been counted at the atomic unit of one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicStatistics {
    /// The node of the NIC.
    pub node: u32,
    /// Atomics that were worked on.
    pub count: u64,
    /// How long it was working.
    pub busy: Duration,
}

/// What has been counted at one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Which rail it belongs to.
    pub rail: u8,
    /// Where it begins.
    pub from: LinkEnd,
    /// Where it ends.
    pub to: LinkEnd,
    /// Bytes that were sent over it, headers included.
    pub bytes: u64,
    /// How long it was sending.
    pub busy: Duration,
    /// How many packets waited for it at most.
    pub queue_max: u32,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// A NIC of a node, counted from zero on each rail.
    Nic {
        /// The node.
        node: u32,
        /// Which of its NICs.
        nic: u32,
    },
    /// A router, by its number on its rail.
    Router(u32),
}
