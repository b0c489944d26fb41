//! What datagrams of the library's own protocol cost the cores of a node.

use pelago_base::Duration;
use serde::Deserialize;

use super::times::Times;
use super::{MachineError, check, picoseconds};

/// The smallest and the largest datagram that a description may state: what the protocol's headers need, and what UDP carries.
const DATAGRAM_BYTES: (u32, u32) = (1200, 65_000);

/// The smallest and the largest receive window that a description may state.
const WINDOW_BYTES: (u32, u32) = (1 << 16, 1 << 30);

/// What the library's own protocol costs the core of a rank, in the words of LogP (Culler et al., 1996): overheads of both ends, which keep a
/// core busy, and a latency, which does not. If a description has this table, ranks communicate by the protocol. Times are in nanoseconds.
///
/// A *message* is what one call gives to the system: a datagram, or as many of equal length to one peer as fit into 65,000 bytes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Datagrams {
    /// The longest datagram, with the protocol's headers.
    pub datagram_bytes: u32,
    /// Bytes that may be under way to a rank.
    pub window_bytes: u32,
    /// To post an operation, without sending it.
    pub post_ns: f64,
    /// To send a message: pairs of bytes and nanoseconds, by bytes.
    pub send: Vec<(u64, f64)>,
    /// To take one in.
    pub receive: Vec<(u64, f64)>,
    /// From the end of the sender's work until a receiver that polls can begin, besides the time of the rail.
    pub latency_ns: f64,
    /// How long before the end of the sender's work its message is on its way, at most.
    pub overlap_ns: f64,
    /// From an arrival until the progress thread of a rank that computes begins.
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

    /// From the end of the sender's work with a message of so many bytes until it reaches its receiver, besides the time of the rail, and how long
    /// before that end it is on its way.
    pub fn way(&self) -> (Duration, Duration) {
        let [latency, overlap] = [self.latency_ns, self.overlap_ns].map(|time| Duration::from_picoseconds(picoseconds(time)));
        (latency, overlap)
    }

    /// Bytes of long messages that the slower of both ends takes in a second.
    pub fn bytes_per_second(&self) -> f64 {
        let rate =
            |times: &[(u64, f64)]| times.last().map_or(f64::INFINITY, |&(bytes, time)| bytes as f64 / time.max(1e-3) * 1e9);
        rate(&self.send).min(rate(&self.receive))
    }
}

/// How long messages keep a core busy.
pub struct MessageTimes {
    send: Times,
    receive: Times,
}

impl MessageTimes {
    /// Those of a checked description.
    pub fn of(datagrams: &Datagrams) -> Self {
        Self { send: Times::of(&datagrams.send), receive: Times::of(&datagrams.receive) }
    }

    /// How long the sender of a message is busy with it.
    pub fn send(&self, bytes: u64) -> Duration {
        Duration::from_picoseconds(self.send.at(bytes))
    }

    /// How long its receiver is.
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
