//! The values of a description by their paths, with the kind of each, for tools that change single values.

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A time, in nanoseconds.
    Nanoseconds,
    /// A rate, in 10⁹ bytes per second; `inf` for no limit.
    GigabytesPerSecond,
    /// A size in bytes, up to this maximum.
    Bytes(u64),
    /// A whole number up to this maximum.
    Count(u64),
    /// A number from 0 to less than 1.
    Probability,
    /// Any non-negative number.
    Number,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// A TOML list of these elements.
    List(&'static str),
}

use Quantity::{Bytes, Count, GigabytesPerSecond, List, Nanoseconds, Number, Probability, Text, Word};

const U8: u64 = u8::MAX as u64;
const U32: u64 = u32::MAX as u64;

/// Pairs as in `node.shared.put`.
const TIMES: &str = "[bytes, nanoseconds] pairs";

/// All values. `rail` stands for each rail, of which a description may have several.
pub const KEYS: &[(&str, Quantity)] = &[
    ("name", Text),
    ("about", Text),
    ("choice", Word(&["entity", "size", "first"])),
    ("node.copy_ns", Nanoseconds),
    ("node.copy_gb_per_s", GigabytesPerSecond),
    ("node.gather_ns", Nanoseconds),
    ("node.gather_gb_per_s", GigabytesPerSecond),
    ("node.cores", Count(1 << 16)),
    ("node.switch_ns", Nanoseconds),
    ("node.shared.visible_ns", Nanoseconds),
    ("node.shared.atomic_ns", Nanoseconds),
    ("node.shared.put", List(TIMES)),
    ("node.shared.get", List(TIMES)),
    ("node.shared.page_ns", Nanoseconds),
    ("node.domain.ranks", Count(U32)),
    ("node.domain.port_gb_per_s", GigabytesPerSecond),
    ("node.domain.pair_gb_per_s", GigabytesPerSecond),
    ("node.domain.latency_ns", Nanoseconds),
    ("node.domain.overhead_ns", Nanoseconds),
    ("node.domain.atomic_ns", Nanoseconds),
    ("node.domain.piece_bytes", Bytes(1 << 30)),
    ("node.software.submission", Word(&["free", "direct", "progress-thread", "bypass"])),
    ("node.software.threads", Word(&["one", "many"])),
    ("node.software.descriptors", Word(&["prepared", "built"])),
    ("node.software.atomics", Word(&["nic", "progress-thread"])),
    ("node.software.serving", Word(&["together", "apart"])),
    ("node.software.detection", Word(&["inline", "thread"])),
    ("node.software.spare_cores", Count(U32)),
    ("node.software.call_ns", Nanoseconds),
    ("node.software.own_call_ns", Nanoseconds),
    ("node.software.lock_ns", Nanoseconds),
    ("node.software.queue_ns", Nanoseconds),
    ("node.software.notify_ns", Nanoseconds),
    ("node.software.descriptor_ns", Nanoseconds),
    ("node.software.serve_ns", Nanoseconds),
    ("node.software.signal_ns", Nanoseconds),
    ("node.datagrams.datagram_bytes", Bytes(U32)),
    ("node.datagrams.window_bytes", Bytes(U32)),
    ("node.datagrams.post_ns", Nanoseconds),
    ("node.datagrams.send", List(TIMES)),
    ("node.datagrams.receive", List(TIMES)),
    ("node.datagrams.latency_ns", Nanoseconds),
    ("node.datagrams.overlap_ns", Nanoseconds),
    ("node.datagrams.wake_ns", Nanoseconds),
    ("node.noise.phases", Word(&["random", "same"])),
    ("node.noise.period_ns", Nanoseconds),
    ("node.noise.duration_ns", Nanoseconds),
    ("node.noise.trace", List("[start, duration] pairs in nanoseconds")),
    ("node.noise.trace_ns", Nanoseconds),
    ("rail.name", Text),
    ("rail.group", Count(U32)),
    ("rail.count", Count(U32)),
    ("rail.planes", Count(U32)),
    ("rail.kind", Word(&["infiniband-rc", "infiniband-ud", "tofu", "ethernet"])),
    ("rail.operation_bytes_max", Bytes(i64::MAX as u64)),
    ("rail.nic.overhead_ns", Nanoseconds),
    ("rail.nic.gap_ns", Nanoseconds),
    ("rail.nic.read_gb_per_s", GigabytesPerSecond),
    ("rail.nic.write_gb_per_s", GigabytesPerSecond),
    ("rail.nic.atomic_ns", Nanoseconds),
    ("rail.nic.packet_bytes", Bytes(U32)),
    ("rail.nic.header_bytes", Bytes(U32)),
    ("rail.nic.control_bytes", Bytes(U32)),
    ("rail.nic.send_queue", Count(U32)),
    ("rail.nic.transmit_packets", Count(U32)),
    ("rail.nic.receive_bytes", Bytes(U32)),
    ("rail.nic.order", Word(&["fifo", "round-robin"])),
    ("rail.nic.spread", Word(&["operation", "pair", "flowlet", "packet"])),
    ("rail.nic.flowlet_ns", Nanoseconds),
    ("rail.nic.stages", List("[bytes, nanoseconds, gigabytes per second] triples")),
    ("rail.nic.bank_ns", Nanoseconds),
    ("rail.nic.bank_core_ns", Nanoseconds),
    ("rail.nic.bank_packets", Count(U32)),
    ("rail.receive.slots", Count(U32)),
    ("rail.receive.service_ns", Nanoseconds),
    ("rail.reliability.timeout_ns", Nanoseconds),
    ("rail.reliability.retries", Count(U8)),
    ("rail.reliability.not_ready_ns", Nanoseconds),
    ("rail.reliability.not_ready_retries", Count(U8)),
    ("rail.link.gb_per_s", GigabytesPerSecond),
    ("rail.link.cable_ns", Nanoseconds),
    ("rail.link.loss", Probability),
    ("rail.host_link.gb_per_s", GigabytesPerSecond),
    ("rail.host_link.cable_ns", Nanoseconds),
    ("rail.host_link.loss", Probability),
    ("rail.router.routing_ns", Nanoseconds),
    ("rail.router.vc_allocation_ns", Nanoseconds),
    ("rail.router.switch_allocation_ns", Nanoseconds),
    ("rail.router.switch_ns", Nanoseconds),
    ("rail.router.credit_ns", Nanoseconds),
    ("rail.router.vcs", Count(U8)),
    ("rail.router.buffer_bytes", Bytes(U32)),
    ("rail.router.switching", Word(&["cut-through", "store-and-forward"])),
    ("rail.router.pfc.xoff_bytes", Bytes(U32)),
    ("rail.router.pfc.xon_bytes", Bytes(U32)),
    ("rail.router.ecn.min_bytes", Bytes(U32)),
    ("rail.router.ecn.max_bytes", Bytes(U32)),
    ("rail.router.ecn.probability", Number),
    ("rail.congestion.control", Word(&["dcqcn", "swift", "hpcc", "slingshot"])),
    ("rail.congestion.notification_ns", Nanoseconds),
    ("rail.congestion.gain", Number),
    ("rail.congestion.estimate_ns", Nanoseconds),
    ("rail.congestion.increase_ns", Nanoseconds),
    ("rail.congestion.increase_bytes", Bytes(1 << 31)),
    ("rail.congestion.recoveries", Count(1000)),
    ("rail.congestion.additive_gb_per_s", GigabytesPerSecond),
    ("rail.congestion.hyper_gb_per_s", GigabytesPerSecond),
    ("rail.congestion.target_ns", Nanoseconds),
    ("rail.congestion.range_ns", Nanoseconds),
    ("rail.congestion.additive_packets", Number),
    ("rail.congestion.decrease", Number),
    ("rail.congestion.decrease_max", Number),
    ("rail.congestion.window_packets", Count(1 << 16)),
    ("rail.congestion.round_trip_ns", Nanoseconds),
    ("rail.congestion.utilization", Number),
    ("rail.congestion.stages", Count(1000)),
    ("rail.congestion.additive_bytes", Bytes(1 << 30)),
    ("rail.congestion.threshold_bytes", Bytes(1 << 30)),
    ("rail.congestion.limited_packets", Count(1 << 16)),
    ("rail.congestion.recovery_ns", Nanoseconds),
    ("rail.reduction.level", Word(&["routers", "nics"])),
    ("rail.reduction.combine_ns", Nanoseconds),
    ("rail.reduction.bytes_max", Bytes(1 << 16)),
    ("rail.reduction.groups_max", Count(1 << 16)),
    ("rail.reduction.radix", Count(1 << 10)),
    ("rail.class.name", Text),
    ("rail.class.kinds", List("words of `put`, `get`, `atomic`, `copy`, `datagram`, `control`")),
    ("rail.class.operation_bytes_max", Bytes(i64::MAX as u64)),
    ("rail.class.priority", Count(15)),
    ("rail.class.weight", Number),
    ("rail.failure.link", List("numbers of two routers")),
    ("rail.failure.router", Count(U32)),
    ("rail.failure.at_ns", Nanoseconds),
    ("rail.failure.until_ns", Nanoseconds),
    ("rail.failure.detection_ns", Nanoseconds),
    (
        "rail.topology.type",
        Word(&[
            "star",
            "fat-tree",
            "torus",
            "mesh",
            "ring",
            "double-ring",
            "dragonfly",
            "dragonfly-plus",
            "hyperx",
            "slim-fly",
            "graph",
        ]),
    ),
    ("rail.topology.down", List("numbers")),
    ("rail.topology.up", List("numbers")),
    (
        "rail.topology.routes",
        Word(&["destination", "random", "adaptive", "minimal", "valiant", "ugal-l", "ugal-g", "progressive"]),
    ),
    ("rail.topology.dimensions", List("numbers")),
    ("rail.topology.rings", List("true or false")),
    ("rail.topology.nodes_per_router", Count(U32)),
    ("rail.topology.links_per_pair", List("numbers")),
    ("rail.topology.q", Count(U32)),
    ("rail.topology.deadlock", Word(&["dateline", "bubble"])),
    ("rail.topology.routers_per_group", Count(U32)),
    ("rail.topology.global_links_per_router", Count(U32)),
    ("rail.topology.leaves_per_group", Count(U32)),
    ("rail.topology.spines_per_group", Count(U32)),
    ("rail.topology.global_links_per_spine", Count(U32)),
    ("rail.topology.groups", Count(U32)),
    ("rail.topology.links", List("[router, router] pairs")),
    ("rail.topology.attach", List("numbers")),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::Machine;

    const STAR: &str = "type = \"star\"";

    /// Replaces part of a bundled description by an unknown word; returns the words that the resulting error lists as accepted there.
    fn accepted(machine: &str, from: &str, to: &str) -> BTreeSet<String> {
        let text = Machine::bundled(machine).unwrap();
        assert!(text.contains(from), "{from}");
        let refusal = Machine::parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
        let (_, list) = refusal.split_once("expected ").unwrap_or_else(|| panic!("{to}: {refusal}"));
        list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn known(table: &str) -> BTreeSet<String> {
        let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
        let rest = KEYS.iter().filter_map(|(path, _)| path.strip_prefix(&prefix));
        rest.map(|rest| rest.split('.').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn these_are_the_keys_of_descriptions() {
        for (table, header) in [
            ("", "name"),
            ("node.shared", "[node.shared]"),
            ("node", "[node]"),
            ("rail", "[[rail]]"),
            ("rail.nic", "[rail.nic]"),
            ("rail.link", "[rail.link]"),
            ("rail.router", "[rail.router]"),
        ] {
            let (machine, with) = match table {
                "" => ("rx200-qdr", "no_such = 1\nname".into()),
                "node.shared" => ("laptop", format!("{header}\nno_such = 1")),
                _ => ("rx200-qdr", format!("{header}\nno_such = 1")),
            };
            assert_eq!(accepted(machine, header, &with), known(table), "{table}");
        }
        for table in
            ["node.software", "node.datagrams", "node.noise", "node.domain", "rail.receive", "rail.reliability", "rail.host_link"]
        {
            let after = if table.starts_with("node.") { "[[rail]]" } else { "[rail.link]" };
            let with = format!("[{table}]\nno_such = 1\n{after}");
            assert_eq!(accepted("rx200-qdr", after, &with), known(table), "{table}");
        }
        for (table, rest) in [("rail.router.pfc", ""), ("rail.router.ecn", ""), ("rail.reduction", "")] {
            let with = format!("[{table}]\nno_such = 1\n{rest}[rail.topology]");
            assert_eq!(accepted("rx200-qdr", "[rail.topology]", &with), known(table), "{table}");
        }
        let failure = "[[rail.failure]]\nno_such = 1\n[rail.topology]";
        assert_eq!(accepted("rx200-qdr", "[rail.topology]", failure), known("rail.failure"));
        let class = "[[rail.class]]\nno_such = 1\n[rail.topology]";
        assert_eq!(accepted("rx200-qdr", "[rail.topology]", class), known("rail.class"));
        let mut of_controls = BTreeSet::from(["control".to_owned()]);
        for control in ["dcqcn", "swift", "hpcc", "slingshot"] {
            let with = format!("[rail.congestion]\ncontrol = \"{control}\"\nno_such = 1\n[rail.topology]");
            of_controls.extend(accepted("rx200-qdr", "[rail.topology]", &with));
        }
        assert_eq!(of_controls, known("rail.congestion"));
        let mut of_topologies = BTreeSet::from(["type".to_owned()]);
        for kind in
            ["fat-tree", "torus", "mesh", "ring", "double-ring", "dragonfly", "dragonfly-plus", "hyperx", "slim-fly", "graph"]
        {
            of_topologies.extend(accepted("rx200-qdr", STAR, &format!("type = \"{kind}\"\nno_such = 1")));
        }
        assert_eq!(of_topologies, known("rail.topology"));
    }

    #[test]
    fn these_are_the_words_of_descriptions() {
        for (path, quantity) in KEYS {
            let Word(words) = quantity else { continue };
            let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
            let unknown = format!("{key} = \"no-such\"");
            let places: Vec<(&str, String)> = match *path {
                "choice" => vec![("name", format!("{unknown}\nname"))],
                "rail.kind" => vec![("kind = \"infiniband-rc\"", unknown)],
                "rail.topology.type" => vec![(STAR, unknown)],
                "rail.congestion.control" => vec![("[rail.topology]", format!("[rail.congestion]\n{unknown}\n[rail.topology]"))],
                "rail.reduction.level" => vec![("[rail.topology]", format!("[rail.reduction]\n{unknown}\n[rail.topology]"))],
                "rail.topology.deadlock" => vec![(STAR, format!("type = \"ring\"\n{unknown}"))],
                "rail.topology.routes" => ["fat-tree", "dragonfly", "dragonfly-plus", "hyperx", "slim-fly"]
                    .map(|kind| (STAR, format!("type = \"{kind}\"\n{unknown}")))
                    .into(),
                _ if matches!(table, "node.software" | "node.noise") => {
                    vec![("[[rail]]", format!("[{table}]\n{unknown}\n[[rail]]"))]
                }
                _ => vec![(&*format!("[{table}]").leak(), format!("[{table}]\n{unknown}"))],
            };
            let accepted: BTreeSet<String> = places.iter().flat_map(|(from, to)| accepted("rx200-qdr", from, to)).collect();
            assert_eq!(accepted, words.iter().map(|&word| word.to_owned()).collect(), "{path}");
        }
    }
}
