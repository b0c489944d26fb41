//! Times of reductions in closed form.

use super::*;
use crate::machine::MachineError;
use crate::netsim::Netsim;

/// A machine of round numbers: an overhead of 100 ns, 10 ns of routing, 20 ns through a switch, cables of 1 ns for NICs and 3 ns between routers,
/// and packets of 10 ns for NICs and 40 ns between routers.
fn machine(topology: &str, reduction: &str) -> Machine {
    parse(topology, reduction, "").unwrap()
}

fn parse(topology: &str, reduction: &str, more: &str) -> Result<Machine, MachineError> {
    Machine::parse(&text(topology, reduction, more))
}

fn text(topology: &str, reduction: &str, more: &str) -> String {
    format!(
        r#"
        name = "round"
        [[rail]]
        kind = "infiniband-rc"
        {more}
        nic = {{ overhead_ns = 100, read_gb_per_s = 1, write_gb_per_s = 0.5, packet_bytes = 256, header_bytes = 32, control_bytes = 40 }}
        link = {{ gb_per_s = 1, cable_ns = 3 }}
        host_link = {{ gb_per_s = 4, cable_ns = 1 }}
        router = {{ routing_ns = 10, vc_allocation_ns = 0, switch_allocation_ns = 0, switch_ns = 20, vcs = 4, buffer_bytes = 4096 }}
        topology = {{ {topology} }}
        reduction = {{ {reduction} }}
        "#
    )
}

const ROUTERS: &str = r#"level = "routers", combine_ns = 7, bytes_max = 64, groups_max = 2"#;
const NICS: &str = r#"level = "nics", combine_ns = 7, bytes_max = 64, groups_max = 2"#;

/// The results of a reduction of one rank on each of these nodes, which all contribute at time 0, in nanoseconds.
fn results(machine: &Machine, count: u32, nodes: &[u32], bytes: u64) -> Vec<u64> {
    let netsim = Netsim::new(machine, count, 1).unwrap();
    let nodes: Vec<_> = nodes.iter().map(|&node| (node, 1)).collect();
    let tree = netsim.reduction_tree(&nodes).unwrap();
    nanoseconds(tree.results(&vec![Instant::ZERO; nodes.len()], bytes))
}

fn nanoseconds(times: Vec<Instant>) -> Vec<u64> {
    times.into_iter().map(|time| time.as_picoseconds() / 1000).collect()
}

#[test]
fn a_barrier_goes_up_and_down_a_star() {
    let star = machine(r#"type = "star""#, ROUTERS);
    // Up: overhead, packet, cable, routing. One combination. Down: switch, cable, packet.
    let whole = 100 + (10 + 1 + 10) + 7 + (20 + 1 + 10);
    assert_eq!(results(&star, 4, &[0, 1, 2, 3], 0), [whole; 4]);
    // Eight bytes are read and written, in a packet with a header: the size of the packet happens to be the same.
    assert_eq!(results(&star, 4, &[1, 3], 8), [whole + 8 + 16; 2]);
    let limits = ReductionLimits { bytes_max: 64, groups_max: 2, overhead: Duration::from_nanoseconds(100) };
    assert_eq!(Netsim::new(&star, 4, 1).unwrap().reduction(), Some(limits));
}

/// The overhead is that of other operations: a detection thread that shares the core of its rank doubles it.
#[test]
fn a_detection_thread_slows_the_overhead_down() {
    let thread = "[node.software]\ndetection = \"thread\"\n[[rail]]";
    let star = Machine::parse(&text(r#"type = "star""#, ROUTERS, "").replace("[[rail]]", thread)).unwrap();
    assert_eq!(results(&star, 2, &[0, 1], 0), [2 * 100 + (10 + 1 + 10) + 7 + (20 + 1 + 10); 2]);
}

/// The only router with nodes has no link, so that its number is beyond those of the links.
#[test]
fn a_router_without_links_combines() {
    let lone = machine(r#"type = "graph", links = [[0, 1]], attach = [2, 2]"#, ROUTERS);
    assert_eq!(results(&lone, 2, &[0, 1], 0), [100 + (10 + 1 + 10) + 7 + (20 + 1 + 10); 2]);
}

#[test]
fn the_last_contribution_and_other_ranks_of_its_node_count() {
    let star = machine(r#"type = "star""#, ROUTERS);
    let netsim = Netsim::new(&star, 2, 1).unwrap();
    let late = |ranks, late: u64| {
        let tree = netsim.reduction_tree(&[(0, 1), (1, ranks)]).unwrap();
        nanoseconds(tree.results(&[Instant::ZERO, Instant::ZERO + Duration::from_nanoseconds(late)], 0))
    };
    assert_eq!(late(1, 500), [159 + 500; 2]);
    assert_eq!(late(3, 0), [159 + 7; 2], "the NIC combines its ranks");
    assert_eq!(netsim.reduction_tree(&[(2, 1)]).map(drop), None, "no such node");
    assert_eq!(netsim.reduction_tree(&[]).map(drop), None);
}

#[test]
fn the_root_is_in_the_middle_of_the_group() {
    let chain = machine(r#"type = "mesh", dimensions = [8]"#, ROUTERS);
    let link_up = 20 + 40 + 3 + 10;
    // Nodes 0 to 4: the root is router 2. Two links up, with a combination at each router that has two inputs.
    let up = 100 + 21 + link_up + 7 + link_up + 7;
    // Down, only the head takes the time of a link, and the whole packet that of the slowest.
    let down = |links: u64| links * (20 + 3 + 10) + 20 + 1 + if links > 0 { 40 } else { 10 };
    assert_eq!(results(&chain, 8, &[0, 1, 2, 3, 4], 0), [2, 1, 0, 1, 2].map(|links| up + down(links)));
    // Nodes 5 and 7: routers without members forward and do not combine.
    let up = 100 + 21 + link_up + 7;
    assert_eq!(results(&chain, 8, &[5, 7], 0), [up + down(1); 2]);
    assert_eq!(results(&chain, 8, &[3], 0), [100 + 21 + down(0)], "one member needs no combination");
}

#[test]
fn a_fat_tree_is_its_own_tree() {
    let tree = machine(r#"type = "fat-tree", down = [2, 4], up = [2]"#, ROUTERS);
    let (link_up, link_down) = (20 + 40 + 3 + 10, 20 + 3 + 10);
    let whole = 100 + 21 + 7 + link_up + 7 + link_down + 20 + 1 + 40;
    assert_eq!(results(&tree, 8, &[0, 1, 2, 3, 4, 5, 6, 7], 0), [whole; 8]);
    assert_eq!(results(&tree, 8, &[6, 7], 0), [100 + 21 + 7 + 31; 2], "one switch connects them");
}

#[test]
fn nics_combine_by_messages() {
    let of_radix = |radix: &str| machine(r#"type = "mesh", dimensions = [8]"#, &format!("{NICS}{radix}"));
    let chain = of_radix(", radix = 2");
    // From NIC to NIC over L links: cable, routing and switch at each router, and the packet on its slowest link once.
    let message = |links: u64| 1 + links * (10 + 20 + 3) + (10 + 20) + 1 + if links > 0 { 40 } else { 10 };
    // The parents of members 1, 2 are member 0, and that of member 3 is member 1.
    let root = 100 + message(2) + 7 + message(1) + 7;
    assert_eq!(
        results(&chain, 8, &[0, 1, 2, 3], 0),
        [root, root + message(1), root + message(2), root + message(1) + message(2)]
    );
    let root = 100 + message(3) + 7;
    for radix in [", radix = 3", ""] {
        let wide = [root, root + message(1), root + message(2), root + message(3)];
        assert_eq!(results(&of_radix(radix), 8, &[0, 1, 2, 3], 0), wide, "{radix}");
    }
}

#[test]
fn what_cannot_be_reduced_is_refused() {
    let star = r#"type = "star""#;
    let refused = |reduction: &str, more: &str| parse(star, reduction, more).unwrap_err().to_string();
    let bad = |from: &str, to: &str| refused(&ROUTERS.replace(from, to), "");
    assert_eq!(bad("combine_ns = 7", "combine_ns = -1"), "rail.reduction.combine_ns = -1: must be nanoseconds, from 0 to 3.6e12");
    assert_eq!(bad("groups_max = 2", "groups_max = 0"), "rail.reduction.groups_max = 0: must be from 1 to 65536");
    assert!(bad("bytes_max = 64", "bytes_max = 257").contains("at most nic.packet_bytes, which is 256"));
    assert!(bad("groups_max = 2", "groups_max = 2, radix = 2").starts_with("rail.reduction.radix: must be absent"));
    assert!(refused(ROUTERS, "failure = [{ link = [0, 1], at_ns = 5 }]").contains("remove [rail.reduction]"));
    let lossy = text(star, ROUTERS, "").replace("infiniband-rc", "ethernet");
    assert!(Machine::parse(&lossy).unwrap_err().to_string().contains("reduction: must be absent where packets are lost"));
}
