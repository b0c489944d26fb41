//! Measurements of ranks that communicate by datagrams, and the description made of them.

use std::fmt::Write as _;

use pelago_bench::Row;

use super::figures::{Head, number};
use crate::statistics::median;

/// Maximum bytes of a datagram in addition to its payload.
const OVERHEAD_BYTES: u64 = 100;

/// Bounds of the datagram size in a description.
const DATAGRAM_BYTES: (u64, u64) = (1200, 65_000);

/// Measurements of one round, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NetworkFigures {
    post: f64,
    /// Times by bytes.
    send: Vec<(u64, f64)>,
    receive: Vec<(u64, f64)>,
    one_way: f64,
    get: f64,
    get_computing: f64,
    /// Largest payload of a datagram, in bytes.
    longest: f64,
}

impl NetworkFigures {
    /// Extracts the measurements of one job; the error is the name of a missing one.
    pub(crate) fn of(rows: &[Row]) -> Result<Self, &'static str> {
        let all = |name: &'static str| rows.iter().filter(move |row| row.name == name);
        let one = |name| all(name).find_map(|row| row.median_ns).ok_or(name);
        let by_bytes = |name| {
            let times: Vec<_> = all(name).filter_map(|row| Some((row.bytes?, row.median_ns?.max(1.0)))).collect();
            if times.is_empty() { Err(name) } else { Ok(times) }
        };
        Ok(Self {
            post: one("datagram_post")?,
            send: by_bytes("datagram_send")?,
            receive: by_bytes("datagram_receive")?,
            one_way: one("datagram_one_way")?,
            get: one("datagram_get")?,
            get_computing: one("datagram_get_computing")?,
            longest: all("datagram_longest").find_map(|row| row.bytes).ok_or("datagram_longest")? as f64,
        })
    }

    /// Returns all values in a fixed order.
    fn values(&self) -> Vec<f64> {
        let single = [self.post, self.one_way, self.get, self.get_computing, self.longest];
        single.into_iter().chain(self.send.iter().chain(&self.receive).map(|&(_, time)| time)).collect()
    }

    /// Returns, for each value, its measurements in all rounds. There is at least one round, and all have the same sizes.
    pub(crate) fn by_value(rounds: &[Self]) -> Vec<Vec<f64>> {
        let rounds: Vec<_> = rounds.iter().map(Self::values).collect();
        (0..rounds[0].len()).map(|index| rounds.iter().filter_map(|round| round.get(index).copied()).collect()).collect()
    }

    /// Returns the median of each value. `rounds` as for [`by_value`](Self::by_value).
    pub(crate) fn median(rounds: &[Self]) -> Self {
        let mut medians = Self::by_value(rounds).into_iter().map(median);
        let mut next = || medians.next().expect("as many as values");
        let [post, one_way, get, get_computing, longest] = [(); 5].map(|()| next());
        let mut by_bytes = |times: &[(u64, f64)]| times.iter().map(|&(bytes, _)| (bytes, next())).collect();
        let (send, receive) = (by_bytes(&rounds[0].send), by_bytes(&rounds[0].receive));
        Self { post, send, receive, one_way, get, get_computing, longest }
    }

    /// Fits costs to the measurements. A put sent at once costs posting and sending. The latency is the one-way time of a word less the work of
    /// sender and receiver; a negative difference is the overlap of their work.
    pub(crate) fn fit(&self) -> DatagramCosts {
        let first = |times: &[(u64, f64)]| times.first().map_or(0.0, |&(_, time)| time);
        let way = self.one_way - first(&self.send) - first(&self.receive);
        DatagramCosts {
            datagram_bytes: (self.longest as u64 + OVERHEAD_BYTES).clamp(DATAGRAM_BYTES.0, DATAGRAM_BYTES.1),
            post: self.post,
            send: self.send.iter().map(|&(bytes, time)| (bytes, (time - self.post).max(0.0))).collect(),
            receive: self.receive.clone(),
            latency: way.max(0.0),
            overlap: (-way).max(0.0),
            wake: (self.get_computing - self.get).max(0.0),
        }
    }
}

/// Costs of datagrams: times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DatagramCosts {
    datagram_bytes: u64,
    post: f64,
    /// Times by bytes.
    send: Vec<(u64, f64)>,
    receive: Vec<(u64, f64)>,
    latency: f64,
    overlap: f64,
    wake: f64,
}

impl DatagramCosts {
    /// Returns the description in TOML, for `pelago sim --machine`: one node, or several on a network whose latency is part of the costs.
    pub(crate) fn describe(&self, head: &Head, window_bytes: u64, several_hosts: bool) -> String {
        let (purpose, what) = if several_hosts {
            (
                "Nodes whose ranks communicate by datagrams. The times are those of one stream; a network that many share is not described.",
                "several nodes over UDP",
            )
        } else {
            ("One node, whose ranks communicate by datagrams: give --per-node as many ranks as -n.", "one node over UDP")
        };
        let mut text = head.text(purpose, what);
        text.push_str("\n[node.datagrams]\n");
        for (key, value, what) in [
            ("datagram_bytes", self.datagram_bytes.to_string(), "measured: 16 MiB by the datagrams of a put of so much"),
            ("window_bytes", window_bytes.to_string(), "read: half of what the system keeps for a socket"),
            ("post_ns", number(self.post), "measured: a put that joins a datagram which waits"),
            ("latency_ns", number(self.latency), "fitted: half of a word to and fro, less the work of both ends"),
            (
                "overlap_ns",
                number(self.overlap),
                "fitted: what that is below zero: the receiver begins before the sender is done",
            ),
            ("wake_ns", number(self.wake), "measured: a get from a rank that computes, less one from a rank that polls"),
        ] {
            let _ = writeln!(text, "{:28}# {what}", format!("{key} = {value}"));
        }
        for (key, times, what) in [
            ("send", &self.send, "a put that leaves at once, less post_ns"),
            ("receive", &self.receive, "the calls of progress that take it in"),
        ] {
            let _ = writeln!(text, "{:28}# measured: [bytes, nanoseconds], {what}", format!("{key} = ["));
            times.iter().for_each(|&(bytes, time)| text.push_str(&format!("    [{bytes}, {}],\n", number(time))));
            text.push_str("]\n");
        }
        if several_hosts {
            text.push_str(NETWORK);
        }
        text
    }
}

/// A network without latency and limits of its own.
const NETWORK: &str = "
[[rail]]                    # assumed: without limits, as node.datagrams has the time of the way
kind = \"ethernet\"

[rail.nic]
overhead_ns = 0.0
read_gb_per_s = inf
write_gb_per_s = inf
packet_bytes = 65536
header_bytes = 0
control_bytes = 64
receive_bytes = 1073741824

[rail.link]
gb_per_s = inf
cable_ns = 0.0

[rail.router]
routing_ns = 0.0
vc_allocation_ns = 0.0
switch_allocation_ns = 0.0
switch_ns = 0.0
credit_ns = 0.0
vcs = 1
buffer_bytes = 1073741824

[rail.topology]
type = \"star\"
";

#[cfg(test)]
mod tests {
    use pelago_netsim::{Machine, MessageTimes};

    use super::*;

    fn known(latency: f64, overlap: f64) -> DatagramCosts {
        DatagramCosts {
            datagram_bytes: 64_900 + OVERHEAD_BYTES,
            post: 120.0,
            send: vec![(8, 2400.0), (1 << 10, 2500.0), (48 << 10, 9000.0)],
            receive: vec![(8, 1100.0), (1 << 10, 1200.0), (48 << 10, 7000.0)],
            latency,
            overlap,
            wake: 21_000.0,
        }
    }

    /// Measurements of a machine with these costs.
    fn rows(costs: &DatagramCosts, times: f64) -> Vec<Row> {
        let row = |name: &str, bytes: u64, nanoseconds: f64| Row {
            name: name.into(),
            bytes: Some(bytes),
            median_ns: Some(nanoseconds * times),
            ..Row::default()
        };
        let one_way = costs.post + costs.send[0].1 + costs.receive[0].1 + costs.latency - costs.overlap;
        let mut rows = vec![
            row("datagram_post", 8, costs.post),
            row("datagram_one_way", 8, one_way),
            row("datagram_get", 8, 2.0 * one_way),
            row("datagram_get_computing", 8, 2.0 * one_way + costs.wake),
            Row { median_ns: None, ..row("datagram_longest", 64_900, 0.0) },
        ];
        rows.extend(costs.send.iter().map(|&(bytes, time)| row("datagram_send", bytes, costs.post + time)));
        rows.extend(costs.receive.iter().map(|&(bytes, time)| row("datagram_receive", bytes, time)));
        rows
    }

    #[test]
    fn known_costs_are_found_again() {
        for known in [known(700.0, 0.0), known(0.0, 400.0)] {
            let rounds: Vec<_> = [1.0, 1.3, 1.0, 0.98, 1.0].map(|times| NetworkFigures::of(&rows(&known, times)).unwrap()).into();
            let found = NetworkFigures::median(&rounds).fit();
            assert_eq!(found.datagram_bytes, known.datagram_bytes);
            let single = |costs: &DatagramCosts| [costs.post, costs.latency, costs.overlap, costs.wake];
            let all = |costs: &DatagramCosts| {
                let times = costs.send.iter().chain(&costs.receive).map(|&(_, time)| time);
                single(costs).into_iter().chain(times).collect::<Vec<_>>()
            };
            for (found, known) in all(&found).into_iter().zip(all(&known)) {
                assert!((found - known).abs() < 1e-6, "{found} {known}");
            }
        }
    }

    #[test]
    fn what_was_measured_is_a_machine_whose_values_say_how() {
        for several in [false, true] {
            let text = known(0.0, 400.0).describe(&Head::of("mine", None, None), 212_992, several);
            let machine = Machine::parse(&text).unwrap();
            let datagrams = machine.datagrams().unwrap();
            assert_eq!((machine.name(), datagrams.window_bytes, datagrams.overlap_ns), ("mine", 212_992, 400.0));
            assert_eq!(MessageTimes::of(datagrams).send(1 << 10).as_picoseconds(), 2_500_000);
            assert_eq!(machine.check_nodes(2).is_ok(), several, "one node has no network");
            let values = text.lines().skip_while(|line| *line != "[node.datagrams]").filter(|line| line.contains(" = "));
            assert!(
                values
                    .clone()
                    .take(8)
                    .all(|line| line.contains("# measured: ") || line.contains("# fitted: ") || line.contains("# read: ")),
                "{text}"
            );
            assert!(text.lines().all(|line| line.len() <= 150), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for row in rows(&known(1.0, 0.0), 1.0) {
            let mut rows = rows(&known(1.0, 0.0), 1.0);
            rows.retain(|other| other.name != row.name);
            assert_eq!(NetworkFigures::of(&rows).unwrap_err(), row.name);
        }
    }
}
