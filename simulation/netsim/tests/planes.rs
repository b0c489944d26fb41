//! Rails with several planes: one NIC has a port in each, and packets of operations keep to a plane or are spread over all.

use std::collections::BTreeSet;

use pelago_netsim::{LinkEnd, Machine, Netsim, NetworkOperation, Notice};

/// The bytes and the transmission time of a packet, in picoseconds.
const PACKET_BYTES: u64 = 1000;
const PACKET: u64 = 1_000_000;

/// Sixteen nodes on trees of two levels.
fn netsim(planes: u32, nic: &str, nodes: u32) -> Netsim {
    let text = format!(
        r#"
name = "planes"
[[rail]]
planes = {planes}
kind = "infiniband-rc"
nic = {{ overhead_ns = 500, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 1000, header_bytes = 0, control_bytes = 10, {nic} }}
link = {{ gb_per_s = 1, cable_ns = 10 }}
router = {{ routing_ns = 1, vc_allocation_ns = 0, switch_allocation_ns = 1, switch_ns = 100, buffer_bytes = 8000 }}
topology = {{ type = "fat-tree", down = [4, 4], up = [4] }}
"#
    );
    Netsim::new(&Machine::parse(&text).unwrap(), nodes, 1).unwrap()
}

/// The time in which a packet without bytes gets to its target over `links` links between routers: overhead, cables and routers.
fn empty(links: u64) -> u64 {
    500_000 + (links + 2) * 10_000 + (links + 1) * 102_000
}

/// Posts puts at once, each a source, a target and a number of packets; returns when the last one has taken effect.
fn puts(netsim: &mut Netsim, puts: impl IntoIterator<Item = (u32, u32, u64)>) -> u64 {
    for (from, to, packets) in puts {
        netsim.post(from, NetworkOperation::Put { from, to, bytes: packets * PACKET_BYTES }, 0);
    }
    let mut last = 0;
    while let Some(notice) = netsim.next() {
        if matches!(notice, Notice::Effect { .. }) {
            last = netsim.now().as_picoseconds();
        }
    }
    last
}

/// Returns the bytes that a node has sent in each plane, whose leaf and spine routers are eight.
fn bytes_by_plane(netsim: &mut Netsim, node: u32, planes: u32) -> Vec<u64> {
    let mut bytes = vec![0; planes as usize];
    for link in netsim.statistics().links {
        if let (LinkEnd::Nic { node: from, .. }, LinkEnd::Router(router)) = (link.from, link.to)
            && from == node
        {
            bytes[router as usize / 8] += link.bytes;
        }
    }
    bytes
}

#[test]
fn a_put_of_a_packet_takes_as_long_with_any_number_of_planes() {
    for planes in [1, 2, 3, 8] {
        for spread in ["operation", "pair", "flowlet", "packet"] {
            let nic = format!("spread = \"{spread}\"");
            assert_eq!(puts(&mut netsim(planes, &nic, 16), [(0, 1, 1)]), empty(0) + PACKET);
            assert_eq!(puts(&mut netsim(planes, &nic, 16), [(0, 5, 1)]), empty(2) + PACKET);
        }
    }
}

/// An operation has the rate of a link in each plane if its packets are spread, else that of one link.
#[test]
fn the_packets_of_an_operation_take_all_planes_or_one() {
    for planes in [1, 2, 4] {
        for spread in ["operation", "pair", "flowlet"] {
            let mut netsim = netsim(planes, &format!("spread = \"{spread}\""), 16);
            assert_eq!(puts(&mut netsim, [(0, 5, 400)]), empty(2) + 400 * PACKET, "{spread}");
            let used = bytes_by_plane(&mut netsim, 0, planes).into_iter().filter(|&bytes| bytes > 0).count();
            assert_eq!(used, 1, "{spread}");
        }
        let mut netsim = netsim(planes, "spread = \"packet\"", 16);
        assert_eq!(puts(&mut netsim, [(0, 5, 400)]), empty(2) + 400 / u64::from(planes) * PACKET, "{planes} planes");
        assert_eq!(bytes_by_plane(&mut netsim, 0, planes), vec![400_000 / u64::from(planes); planes as usize]);
    }
}

/// Operations of one NIC that keep to different planes do not wait for each other.
#[test]
fn operations_in_different_planes_are_sent_at_the_same_time() {
    let to_one = || (0..32).map(|_| (0, 5, 20));
    for order in ["fifo", "round-robin"] {
        let mut by_operation = netsim(4, &format!("order = \"{order}\""), 16);
        let time = puts(&mut by_operation, to_one());
        let bytes = bytes_by_plane(&mut by_operation, 0, 4);
        assert!(bytes.iter().all(|&bytes| bytes > 0), "{bytes:?}");
        // The plane with most bytes is busy all the time.
        assert_eq!(time, empty(2) + bytes.iter().max().unwrap() * PACKET / PACKET_BYTES, "{bytes:?}");
    }
    let by_pair = |targets: u32| {
        let mut netsim = netsim(4, "spread = \"pair\"", 16);
        puts(&mut netsim, (0..32).map(|number| (0, 4 + number % targets, 20)));
        bytes_by_plane(&mut netsim, 0, 4).into_iter().filter(|&bytes| bytes > 0).count()
    };
    assert_eq!(by_pair(1), 1, "all packets of a pair take one plane");
    assert!(by_pair(12) > 1, "pairs take different planes");
}

/// The links of a plane are as full as those of others, also where an incast fills them.
#[test]
fn an_incast_takes_the_links_of_all_planes() {
    let incast = || (1..16).map(|from| (from, 0, 40));
    let [one, four] = [1, 4].map(|planes| puts(&mut netsim(planes, "spread = \"packet\"", 16), incast()));
    assert!((600 * PACKET..605 * PACKET).contains(&one), "{one}");
    assert!((150 * PACKET..160 * PACKET).contains(&four), "{four}");
}

#[test]
fn the_routers_of_planes_have_numbers_of_their_own() {
    let mut netsim = netsim(3, "", 16);
    puts(&mut netsim, [(0, 5, 1)]);
    let links = netsim.statistics().links;
    let routers: BTreeSet<u32> = links
        .iter()
        .flat_map(|link| [link.from, link.to])
        .filter_map(|end| if let LinkEnd::Router(router) = end { Some(router) } else { None })
        .collect();
    assert_eq!(routers, (0..24).collect());
    let to_nics = links.iter().filter(|link| link.to == LinkEnd::Nic { node: 5, nic: 0 }).count();
    assert_eq!((to_nics, links.len()), (3, 3 * (2 * 16 + 2 * 16)));
}

#[test]
fn the_number_of_planes_is_bounded() {
    let refusal = |rail: &str| {
        let text = Machine::bundled("rx200-qdr").unwrap().replace("[[rail]]", &format!("[[rail]]\n{rail}"));
        Machine::parse(&text).err().map(|error| error.to_string())
    };
    let bound = "each must be at least 1, the sum of rail.count times rail.planes at most 64";
    assert_eq!(refusal("planes = 0"), Some(format!("rail.planes = [0]: {bound}")));
    assert_eq!(refusal("planes = 65"), Some(format!("rail.planes = [65]: {bound}")));
    assert_eq!(refusal("planes = 4294967295"), Some(format!("rail.planes = [4294967295]: {bound}")));
    assert_eq!(refusal("planes = 64"), None);
    let rate = |planes: u32, spread: &str| {
        let text = Machine::bundled("rx200-qdr").unwrap().replace("[[rail]]", &format!("[[rail]]\nplanes = {planes}"));
        let machine = Machine::parse(&text.replace("[rail.nic]", &format!("[rail.nic]\nspread = \"{spread}\""))).unwrap();
        machine.rails().next().unwrap().bytes_per_second
    };
    assert_eq!([rate(1, "packet"), rate(2, "operation"), rate(2, "packet")], [2.8e9; 3], "the NIC reads 2.8 GB/s");
}
