//! The costs of datagrams of the library's own protocol on the cores of a node.

use pelago_base::Duration;
use serde::Deserialize;

use super::times::Times;
use super::{MachineError, check, picoseconds};

/// The smallest and the largest datagram that a description may state: room for the protocol's headers, and the limit of UDP.
const DATAGRAM_BYTES: (u32, u32) = (1200, 65_000);

/// The smallest and the largest receive window that a description may state.
const WINDOW_BYTES: (u32, u32) = (1 << 16, 1 << 30);

/// The costs of the library's own protocol on the core of a rank, in the terms of LogP (Culler et al., 1996): overheads at both ends, which keep
/// a core busy, and a latency, which does not. If a description has this table, ranks communicate by the protocol. Times are in nanoseconds.
///
/// A *message* is the payload of one system call: one datagram, or as many of equal length to one peer as fit into 65,000 bytes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// Size of the longest datagram, including the protocol's headers.
    pub datagram_bytes: u32,
    /// Bytes that may be in flight to a rank.
    pub window_bytes: u32,
    /// Time to post an operation, without sending it.
    pub post_ns: f64,
    /// Time to send a message: pairs of bytes and nanoseconds, in order of bytes.
    pub send: Vec<(u64, f64)>,
    /// Time to receive a message, as `send`.
    pub receive: Vec<(u64, f64)>,
    /// Time from the end of the sender's work until a polling receiver can begin, besides the time of the rail.
    pub latency_ns: f64,
    /// Longest time by which a message departs before the end of the sender's work.
    pub overlap_ns: f64,
    /// Time from an arrival until the progress thread of a computing rank begins.
    pub wake_ns: f64,
}

impl Datagrams {
    pub(super) fn check(&self) -> Result<(), MachineError> {
        check::range("node.datagrams.datagram_bytes", self.datagram_bytes, DATAGRAM_BYTES.0, DATAGRAM_BYTES.1)?;
        check::range("node.datagrams.window_bytes", self.window_bytes, WINDOW_BYTES.0, WINDOW_BYTES.1)?;
        for (key, nanoseconds) in [
            ("post_ns", self.post_ns),
            ("latency_ns", self.latency_ns),
            ("overlap_ns", self.overlap_ns),
            ("wake_ns", self.wake_ns),
        ] {
            check::delay(&format!("node.datagrams.{key}"), nanoseconds)?;
        }
        Times::check("node.datagrams.send", &self.send)?;
        Times::check("node.datagrams.receive", &self.receive)
    }

    /// Returns the time from the end of the sender's work until a message reaches its receiver, besides the time of the rail, and the longest time
    /// by which the message departs before that end.
    pub fn way(&self) -> (Duration, Duration) {
        let [latency, overlap] = [self.latency_ns, self.overlap_ns].map(|time| Duration::from_picoseconds(picoseconds(time)));
        (latency, overlap)
    }

    /// Returns the bandwidth of long messages at the slower of both ends.
    pub fn bytes_per_second(&self) -> f64 {
        let rate =
            |times: &[(u64, f64)]| times.last().map_or(f64::INFINITY, |&(bytes, time)| bytes as f64 / time.max(1e-3) * 1e9);
        rate(&self.send).min(rate(&self.receive))
    }
}

/// The times for which messages keep a core busy.
pub struct MessageTimes {
    send: Times,
    receive: Times,
}

impl MessageTimes {
    /// Makes the times of a checked description.
    pub fn of(datagrams: &Datagrams) -> Self {
        Self { send: Times::of(&datagrams.send), receive: Times::of(&datagrams.receive) }
    }

    /// Returns how long a message keeps its sender busy.
    pub fn send(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds(self.send.at(bytes))
    }

    /// Returns how long a message keeps its receiver busy.
    pub fn receive(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds(self.receive.at(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn machine(from: &str, to: &str) -> Result<Machine, String> {
        let text = "name = \"two\"\n[node.datagrams]\ndatagram_bytes = 1472\nwindow_bytes = 200000\npost_ns = 100.0\n\
                    send = [[8, 2000.0], [1008, 2100.0]]\nreceive = [[8, 1000.0]]\noverlap_ns = 0.0\nlatency_ns = 500.0\nwake_ns = 3e4\n";
        assert!(text.contains(from));
        Machine::parse(&text.replace(from, to)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_message_costs_its_bytes_at_both_ends() {
        let machine = machine("name", "name").unwrap();
        let times = MessageTimes::of(machine.datagrams().unwrap());
        assert_eq!([0, 508, 1008].map(|bytes| times.send(bytes).as_picoseconds()), [2_000_000, 2_050_000, 2_100_000]);
        assert_eq!(times.receive(8).as_picoseconds(), 1_000_000);
    }

    #[test]
    fn wrong_values_are_named() {
        for (from, to, says) in [
            ("datagram_bytes = 1472", "datagram_bytes = 100", "node.datagrams.datagram_bytes"),
            ("window_bytes = 200000", "window_bytes = 1", "node.datagrams.window_bytes"),
            ("latency_ns = 500.0", "latency_ns = -1.0", "node.datagrams.latency_ns"),
            ("receive = [[8, 1000.0]]", "receive = []", "node.datagrams.receive"),
            (
                "wake_ns = 3e4\n",
                "wake_ns = 3e4\n[node.shared]\nvisible_ns = 1.0\natomic_ns = 1.0\nput = [[8, 1.0]]\nget = [[8, 1.0]]\n",
                "node.shared",
            ),
        ] {
            let error = machine(from, to).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
