//! The costs of datagrams of the library's own protocol on the core of a rank.

use pelago_base::Duration;
use pelago_netsim::{Machine, MessageTimes};

/// The costs of datagrams, from the description of the machine.
pub(crate) struct DatagramCosts {
    pub(crate) times: MessageTimes,
    /// Time to post an operation.
    pub(crate) post: Duration,
    /// Time from the end of the sender's work until the message arrives, and longest time by which the message departs before that end.
    pub(crate) latency: Duration,
    pub(crate) overlap: Duration,
    /// Time from an arrival until the progress thread of a computing rank begins.
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
