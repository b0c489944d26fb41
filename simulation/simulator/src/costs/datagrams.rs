//! What datagrams of the library's own protocol cost the core of a rank.

use pelago_base::Duration;
use pelago_netsim::{Machine, MessageTimes};

/// What the description of the machine says of datagrams.
pub(crate) struct DatagramCosts {
    pub(crate) times: MessageTimes,
    /// To post an operation.
    pub(crate) post: Duration,
    /// From the end of the sender's work until the message is there, and how long before that end it is on its way.
    pub(crate) latency: Duration,
    pub(crate) overlap: Duration,
    /// From an arrival until the progress thread of a rank that computes begins.
    pub(crate) wake: Duration,
}

impl DatagramCosts {
    pub(crate) fn of(machine: &Machine) -> Option<Self> {
        let datagrams = machine.datagrams()?;
        let [post, wake] =
            [datagrams.post_ns, datagrams.wake_ns].map(|time| Duration::from_picoseconds((time * 1e3).round() as u64));
        let (latency, overlap) = datagrams.way();
        Some(Self { times: MessageTimes::of(datagrams), post, latency, overlap, wake })
    }
}
