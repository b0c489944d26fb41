//! The memory of a machine's tables, and queues of more bytes than a number of 32 bits counts.

use pelago_netsim::{Machine, Netsim, NetworkOperation, Notice};

/// A rail with further tables.
fn machine(rail: &str, nic: &str, router: &str, topology: &str) -> Machine {
    let text = format!(
        r#"
name = "memory"
[[rail]]
kind = "infiniband-rc"
{rail}
nic = {{ overhead_ns = 100, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000000, header_bytes = 0, control_bytes = 10, {nic} receive_bytes = 3000000 }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 10, {router} }}
topology = {{ {topology} }}
"#
    );
    Machine::parse(&text).unwrap()
}

/// Five gigabytes wait in a switch for one link, in buffers of the largest size.
#[test]
fn more_than_four_gigabytes_wait_for_a_link() {
    let classes = "class = [{ name = \"gets\", kinds = [\"get\"] }, { name = \"rest\" }]";
    for rail in ["", classes] {
        let marks = "buffer_bytes = 1073741824, ecn = { min_bytes = 0, max_bytes = 1073741824, probability = 0.01 }";
        let mut netsim = Netsim::new(&machine(rail, "", marks, "type = \"star\""), 8, 1).unwrap();
        (1..8).for_each(|from| netsim.post(from, NetworkOperation::Put { from, to: 0, bytes: 1_500_000_000 }, from.into()));
        let mut done = 0;
        while let Some(notice) = netsim.next() {
            done += u32::from(matches!(notice, Notice::Done { .. }));
        }
        let statistics = netsim.statistics();
        assert_eq!((done, statistics.drops, statistics.bytes), (7, 0, 7 * 1_500_000_000));
        // Some 1,000 packets come before a gigabyte waits, and as many leave when less than that is left.
        assert!(statistics.marks > 8_000, "{rail}: {} of 10,500 packets are marked", statistics.marks);
    }
}

/// The tables of a rail count, and those of a graph only once.
#[test]
fn the_memory_of_links_includes_their_tables() {
    let bytes = |rail: &str, nic: &str, router: &str, topology: &str, threads: u32| {
        let machine = machine(rail, nic, &format!("{router} buffer_bytes = 5000000"), topology);
        Netsim::links_bytes(&machine, 1000, threads).unwrap()
    };
    let star = "type = \"star\"";
    let plain = bytes("", "", "", star, 1);
    assert_eq!(bytes("", "", "", star, 3), 3 * plain);
    for (what, with) in [
        ("pauses", bytes("", "", "pfc = { xoff_bytes = 1000, xon_bytes = 0 },", star, 1)),
        ("backlogs", bytes("congestion = { control = \"slingshot\" }", "", "", star, 1)),
        ("flowlets", bytes("", "spread = \"flowlet\",", "", star, 1)),
    ] {
        assert!(with > plain + 2000 * 16, "{what}: {with} instead of {plain}");
    }
    let links: Vec<[u32; 2]> = (1..1000).map(|router| [router - 1, router]).collect();
    let graph = format!("type = \"graph\", links = {links:?}");
    let [one, planes, threads] =
        [("", 1), ("planes = 4", 1), ("", 4)].map(|(rail, threads)| bytes(rail, "", "", &graph, threads));
    let table = 4 * 1000 * 1000;
    assert!(one > table && planes == threads && planes < one + table, "{one} {planes} {threads}");
}
