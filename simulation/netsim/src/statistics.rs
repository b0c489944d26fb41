//! Counters of a simulation.

use pelago_base::Duration;

/// Counters since the start of the simulation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Events that have happened.
    pub events: u64,
    /// Packets that entered the network, including control packets and retransmissions.
    pub packets: u64,
    /// Packets that crossed a link, counted at each link.
    pub packet_hops: u64,
    /// Bytes of operations that have taken effect.
    pub bytes: u64,
    /// Packets and datagrams that were lost.
    pub drops: u64,
    /// Number of repetitions by NICs.
    pub retries: u64,
    /// Number of times that a buffer has paused its sender.
    pub pauses: u64,
    /// Packets that a router has marked.
    pub marks: u64,
    /// The atomic unit with the longest busy time, the first among equals; `None` if there were no atomics.
    pub busiest_atomics: Option<AtomicStatistics>,
    /// Counters of every link, each direction separately.
    pub links: Vec<LinkStatistics>,
}

impl Statistics {
    /// Adds the counters of another part of the same machine, but for the atomic unit.
    pub(crate) fn add(&mut self, other: Self) {
        self.events += other.events;
        self.packets += other.packets;
        self.packet_hops += other.packet_hops;
        self.bytes += other.bytes;
        self.drops += other.drops;
        self.retries += other.retries;
        self.pauses += other.pauses;
        self.marks += other.marks;
        if self.links.is_empty() {
            self.links = other.links;
            return;
        }
        for (link, other) in self.links.iter_mut().zip(other.links) {
            link.bytes += other.bytes;
            link.busy = link.busy + other.busy;
            link.queue_max = link.queue_max.max(other.queue_max);
        }
    }
}

/// Counters of the atomic unit of one NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicStatistics {
    /// The node of the NIC.
    pub node: u32,
    /// Number of atomics performed.
    pub count: u64,
    /// The total time for which it was busy.
    pub busy: Duration,
}

/// Counters of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkStatistics {
    /// The rail that it belongs to.
    pub rail: u8,
    /// Where it begins.
    pub from: LinkEnd,
    /// Where it ends.
    pub to: LinkEnd,
    /// Bytes that were sent over it, headers included.
    pub bytes: u64,
    /// The total time for which it was sending.
    pub busy: Duration,
    /// The largest number of packets that waited for it at once.
    pub queue_max: u32,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// A NIC of a node, counted from zero on each rail.
    Nic {
        /// The node.
        node: u32,
        /// The number of the NIC within the node.
        nic: u32,
    },
    /// A router, by its number on its rail.
    Router(u32),
}
