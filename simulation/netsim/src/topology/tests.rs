//! Every route arrives, and no lane waits for itself.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::machine::Machine;

const REST: &str = r#"
name = "test"
[[rail]]
kind = "infiniband-rc"
nic = { overhead_ns = 0, read_gb_per_s = inf, write_gb_per_s = inf, packet_bytes = 64, header_bytes = 0, control_bytes = 8 }
link = { gb_per_s = 1.0, cable_ns = 1.0 }
"#;

pub(super) fn rail(vcs: u8, topology: &str) -> Result<Machine, MachineError> {
    let router = format!(
        "router = {{ routing_ns = 1, vc_allocation_ns = 1, switch_allocation_ns = 1, switch_ns = 1, \
         buffer_bytes = 256, vcs = {vcs} }}\n"
    );
    Machine::parse(&format!("{REST}{router}topology = {{ {topology} }}\n"))
}

pub(super) fn topology(nodes: u32, vcs: u8, text: &str) -> Result<Topology, MachineError> {
    Topology::new(&rail(vcs, text)?.rails[0], nodes)
}

type Lane = (u32, u8);

/// Walks all routes with several random numbers; returns the lanes that packets ask for while they hold each lane, and the
/// length of the longest route.
fn walk(topology: &Topology, terminals: u32, vcs: u8) -> (BTreeMap<Lane, BTreeSet<Lane>>, usize) {
    let links = topology.links();
    assert_eq!(topology.link_count(), links.len() as u64);
    let (mut waits, mut longest) = (BTreeMap::<Lane, BTreeSet<Lane>>::new(), 0);
    // With the second half of the numbers, packets change to late detours.
    let numbers = if matches!(topology, Topology::Dragonfly(_) | Topology::DragonflyPlus(_)) { 32_u32 } else { 16 };
    for from in 0..terminals {
        for to in 0..terminals {
            for number in 0..numbers {
                let (random, changes) = (number % 16, number >= 16);
                let mut header = RoutingHeader::new(to, random.wrapping_mul(0x9e37_79b9), random);
                header.path = match random % 4 {
                    1 if !changes && topology.has_detours() => Path::Detour,
                    3 if !changes && topology.has_detours() => Path::Around,
                    _ => Path::Open,
                };
                let (mut at, mut held, mut steps) = (topology.router(from), Vec::<Lane>::new(), 0);
                loop {
                    if let Some(path) = topology.late_detour(at, &header).filter(|_| changes && steps > 0) {
                        header.path = path;
                    }
                    let Hop { link: Some(link), vc, vcs: count, .. } = topology.route(at, &mut header, vcs) else { break };
                    assert!(count > 0 && vc + count <= vcs, "lanes {vc}+{count} of {vcs}");
                    assert_eq!(links[link as usize].from, at);
                    assert_ne!(links[link as usize].to, at, "a link that is not there");
                    let asked: Vec<Lane> = (vc..vc + count).map(|vc| (link, vc)).collect();
                    held.iter().for_each(|&lane| waits.entry(lane).or_default().extend(&asked));
                    (at, held, steps) = (links[link as usize].to, asked, steps + 1);
                    assert!(steps < 100, "{from} to {to} goes round");
                }
                assert_eq!(at, topology.router(to));
                longest = longest.max(steps);
            }
        }
    }
    (waits, longest)
}

fn has_cycle(waits: &BTreeMap<Lane, BTreeSet<Lane>>) -> bool {
    // Removes lanes whose holders wait for no remaining lane, until none is left or none can be removed.
    let mut left = waits.clone();
    loop {
        let ends: Vec<Lane> =
            left.iter().filter(|(_, asked)| !asked.iter().any(|lane| left.contains_key(lane))).map(|(&lane, _)| lane).collect();
        if ends.is_empty() {
            return !left.is_empty();
        }
        ends.iter().for_each(|lane| {
            left.remove(lane);
        });
    }
}

/// Checks that the routes are free of cycles; returns the length of the longest route.
fn sound(nodes: u32, vcs: u8, text: &str) -> usize {
    let topology = topology(nodes, vcs, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (waits, longest) = walk(&topology, nodes, vcs);
    assert!(!has_cycle(&waits), "{text} with {nodes} nodes can deadlock");
    assert!(longest <= topology.steps_max() as usize, "{text} with {nodes} nodes: a route of {longest} links");
    longest
}

#[test]
fn fat_trees() {
    assert_eq!(sound(64, 1, r#"type = "fat-tree", down = [4, 4, 4], up = [4, 4]"#), 4);
    assert_eq!(sound(64, 2, r#"type = "fat-tree", down = [4, 4, 4], up = [4, 4], routes = "random""#), 4);
    assert_eq!(sound(50, 1, r#"type = "fat-tree", down = [6, 12], up = [3]"#), 2);
    assert_eq!(sound(37, 1, r#"type = "fat-tree", down = [4, 3, 8], up = [2, 3], routes = "random""#), 4);
    assert_eq!(sound(3, 1, r#"type = "fat-tree", down = [4, 4, 4], up = [2, 2]"#), 0);
}

#[test]
fn a_full_tree_has_a_way_of_its_own_for_every_shift() {
    let topology = topology(64, 1, r#"type = "fat-tree", down = [4, 4, 4], up = [4, 4]"#).unwrap();
    let links = topology.links();
    for shift in 1..64 {
        let mut used = BTreeSet::new();
        for from in 0..64 {
            let mut header = RoutingHeader::new((from + shift) % 64, 0, 0);
            let mut at = topology.router(from);
            while let Some(link) = topology.route(at, &mut header, 1).link {
                assert!(used.insert(link), "shift by {shift}: two packets on link {link}");
                at = links[link as usize].to;
            }
        }
    }
}

#[test]
fn meshes_and_tori() {
    assert_eq!(sound(20, 1, r#"type = "mesh", dimensions = [5, 4]"#), 7);
    assert_eq!(sound(64, 2, r#"type = "torus", dimensions = [8, 8]"#), 8);
    assert_eq!(sound(60, 4, r#"type = "torus", dimensions = [5, 4, 3]"#), 5);
    assert_eq!(
        sound(48, 2, r#"type = "torus", dimensions = [2, 3, 2, 0, 0, 0], rings = [false, true, false, true, true, true]"#),
        5
    );
    assert_eq!(sound(50, 2, r#"type = "torus", dimensions = [0, 0], nodes_per_router = 3"#), 4);
    assert_eq!(sound(9, 2, r#"type = "ring""#), 4);
    assert_eq!(sound(16, 2, r#"type = "double-ring""#), 5);
}

#[test]
fn a_ring_without_datelines_can_deadlock() {
    let bubble = topology(9, 1, r#"type = "ring", deadlock = "bubble""#).unwrap();
    assert!(has_cycle(&walk(&bubble, 9, 1).0));
    assert!(bubble.claims_whole_buffers());
    let error = topology(9, 1, r#"type = "ring""#).unwrap_err().to_string();
    assert_eq!(error, "rail.router.vcs = 1: this topology needs at least 2 to be free of deadlock: set rail.router.vcs=2");
}

#[test]
fn dragonflies() {
    let shape = "type = \"dragonfly\", nodes_per_router = 2, routers_per_group = 4, global_links_per_router = 2";
    assert_eq!(sound(72, 2, shape), 3);
    assert_eq!(sound(72, 3, &format!("{shape}, routes = \"valiant\"")), 5);
    assert_eq!(sound(30, 6, &format!("{shape}, routes = \"valiant\"")), 5);
    assert_eq!(sound(72, 3, &format!("{shape}, routes = \"ugal-l\"")), 5);
    assert_eq!(sound(72, 6, &format!("{shape}, routes = \"ugal-g\"")), 5);
    assert_eq!(sound(16, 2, &format!("{shape}, groups = 9")), 3);
    assert_eq!(sound(8, 1, shape), 1);
    let error = topology(73, 2, shape).unwrap_err().to_string();
    assert_eq!(error, "rail.topology.groups = 10: 73 nodes need at least 10, the links between groups allow 9");
}

/// A late detour adds a link within the first group, which needs its own virtual channel: with that of the link before, these links could wait for
/// each other.
#[test]
fn late_detours_need_a_virtual_channel_more() {
    let shape = "type = \"dragonfly\", nodes_per_router = 2, routers_per_group = 4, global_links_per_router = 2, routes = \"progressive\"";
    assert_eq!(sound(72, 4, shape), 6);
    assert_eq!(sound(70, 9, shape), 6);
    assert_eq!(sound(8, 1, shape), 1);
    assert_eq!(sound(16, 2, &format!("{shape}, groups = 2")), 3, "there is no third group");
    let error = topology(72, 3, shape).unwrap_err().to_string();
    assert_eq!(error, "rail.router.vcs = 3: this topology needs at least 4 to be free of deadlock: set rail.router.vcs=4");
    let topology = topology(72, 4, shape).unwrap();
    let (links, mut joined) = (topology.links(), BTreeMap::<Lane, BTreeSet<Lane>>::new());
    for (&(link, _), asked) in &walk(&topology, 72, 4).0 {
        let is_local = |link: u32| links[link as usize].from / 4 == links[link as usize].to / 4;
        let next = asked.iter().map(|&(next, _)| next).filter(|&next| is_local(link) && is_local(next));
        joined.entry((link, 0)).or_default().extend(next.map(|next| (next, 0)));
    }
    assert!(has_cycle(&joined));
    let plus = r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 3, spines_per_group = 3, global_links_per_spine = 2, routes = "progressive""#;
    assert_eq!(sound(42, 2, plus), 6);
    assert_eq!(sound(40, 5, plus), 6);
}

#[test]
fn dragonflies_plus() {
    // Each group has three leaf routers and two spines with two links to other groups each.
    let text = r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 3, spines_per_group = 2, global_links_per_spine = 2"#;
    assert_eq!(shape(30, text), (5 * (3 + 2), 5 * (2 * 3 * 2 + 2 * 2), 4));
    assert_eq!(sound(30, 1, text), 3);
    assert_eq!(sound(6, 1, text), 2);
    assert_eq!(sound(30, 2, &format!("{text}, routes = \"valiant\"")), 6);
    assert_eq!(sound(12, 1, &format!("{text}, routes = \"valiant\"")), 3);
    for (nodes, vcs, routes) in [(30, 2, "ugal-l"), (29, 5, "ugal-g")] {
        assert_eq!(sound(nodes, vcs, &format!("{text}, routes = \"{routes}\"")), 6);
    }
    // With as many links of each spine as there are other groups, every spine leads to every group.
    let full = r#"type = "dragonfly-plus", nodes_per_router = 1, leaves_per_group = 3, spines_per_group = 3, global_links_per_spine = 4, groups = 5"#;
    assert_eq!(shape(15, full), (5 * 6, 5 * (2 * 9 + 3 * 4), 3));
    assert_eq!(sound(15, 2, &format!("{full}, routes = \"valiant\"")), 4);
    let error = |nodes, text: &str| topology(nodes, 1, text).unwrap_err().to_string();
    assert_eq!(error(31, text), "rail.topology.groups = 6: 31 nodes need at least 6, the links between groups allow 5");
    assert_eq!(
        error(4, &text.replace("spines_per_group = 2", "spines_per_group = 0")),
        "rail.topology: leaves_per_group = 3, spines_per_group = 0, global_links_per_spine = 2: each must be at least 1"
    );
    assert_eq!(
        error(4, &text.replace("nodes_per_router = 2", "nodes_per_router = 0")),
        "rail.topology.nodes_per_router = 0: must be at least 1"
    );
    assert_eq!(
        error(
            4,
            &text.replace("spines_per_group = 2", "spines_per_group = 4294967295").replace("spine = 2", "spine = 4294967295")
        ),
        "rail.topology: too many links; at most 268435456 are possible"
    );
    assert_eq!(
        error(30, &format!("{text}, routes = \"valiant\"")),
        "rail.router.vcs = 1: this topology needs at least 2 to be free of deadlock: set rail.router.vcs=2"
    );
}

/// The numbers of routers and of links, and the diameter.
fn shape(nodes: u32, text: &str) -> (usize, u64, usize) {
    let topology = topology(nodes, 16, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut neighbours = BTreeMap::<u32, Vec<u32>>::new();
    topology.links().iter().for_each(|link| neighbours.entry(link.from).or_default().push(link.to));
    let farthest = |&from: &u32| {
        let (mut reached, mut border, mut distance) = (BTreeSet::from([from]), vec![from], 0);
        while reached.len() < neighbours.len() {
            border = border.iter().flat_map(|at| &neighbours[at]).copied().filter(|&next| reached.insert(next)).collect();
            distance += 1;
            assert!(!border.is_empty(), "{text}: not all routers are connected");
        }
        distance
    };
    (neighbours.len(), topology.link_count(), neighbours.keys().map(farthest).max().unwrap_or(0))
}

#[test]
fn hyperx_networks() {
    let plane = r#"type = "hyperx", dimensions = [4, 3], nodes_per_router = 2"#;
    assert_eq!(shape(24, plane), (12, 12 * (3 + 2), 2));
    assert_eq!(shape(24, &format!("{plane}, links_per_pair = [2, 5]")), (12, 12 * (2 * 3 + 5 * 2), 2));
    assert_eq!(shape(16, r#"type = "hyperx", dimensions = [2, 2, 2, 2]"#), (16, 16 * 4, 4), "a hypercube");
    assert_eq!(shape(9, r#"type = "hyperx", dimensions = [0]"#), (9, 9 * 8, 1), "a full mesh");
    assert_eq!(shape(60, r#"type = "hyperx", dimensions = [0, 0, 0], nodes_per_router = 2"#), (36, 36 * (3 + 2 + 2), 3));
    assert_eq!(sound(24, 1, plane), 2);
    assert_eq!(sound(24, 3, &format!("{plane}, links_per_pair = [2, 5]")), 2);
    for routes in ["valiant", "ugal-l"] {
        assert_eq!(sound(24, 2, &format!("{plane}, routes = \"{routes}\"")), 4);
        assert_eq!(sound(24, 5, &format!("{plane}, links_per_pair = [3, 1], routes = \"{routes}\"")), 4);
        assert_eq!(sound(18, 2, &format!("type = \"hyperx\", dimensions = [3, 2, 3], routes = \"{routes}\"")), 6);
        assert_eq!(sound(9, 2, &format!("type = \"hyperx\", dimensions = [9], routes = \"{routes}\"")), 2);
        assert_eq!(sound(2, 1, &format!("type = \"hyperx\", dimensions = [2, 1], routes = \"{routes}\"")), 1);
    }
    let error = |nodes, text: &str| topology(nodes, 1, &format!("type = \"hyperx\", {text}")).unwrap_err().to_string();
    assert_eq!(error(13, "dimensions = [4, 3]"), "nodes = 13: do not fit in the 12 routers of rail.topology.dimensions = [4, 3]");
    assert_eq!(error(4, "dimensions = []"), "rail.topology.dimensions = []: must be 1 to 8 numbers");
    assert_eq!(
        error(4, "dimensions = [4, 3], links_per_pair = [1]"),
        "rail.topology.links_per_pair = [1]: must be a number for each of 2 dimensions, each at least 1"
    );
    assert_eq!(
        error(4, "dimensions = [4, 3], links_per_pair = [0, 1]"),
        "rail.topology.links_per_pair = [0, 1]: must be a number for each of 2 dimensions, each at least 1"
    );
    assert_eq!(error(4, "dimensions = [4], nodes_per_router = 0"), "rail.topology.nodes_per_router = 0: must be at least 1");
    let too_many = "rail.topology: too many links; at most 268435456 are possible";
    for text in ["dimensions = [65536]", "dimensions = [2], links_per_pair = [4294967295]", "dimensions = [65536, 65536]"] {
        assert_eq!(error(4, text), too_many, "{text}");
    }
    assert_eq!(
        error(12, "dimensions = [4, 3], routes = \"valiant\""),
        "rail.router.vcs = 1: this topology needs at least 2 to be free of deadlock: set rail.router.vcs=2"
    );
}

#[test]
fn slim_flies() {
    for (q, degree) in [(3_u32, 5), (4, 6), (5, 7), (7, 11), (8, 12), (9, 13), (11, 17), (13, 19), (16, 24)] {
        let routers = 2 * q * q;
        let text = format!("type = \"slim-fly\", q = {q}");
        assert_eq!(shape(1, &text), (routers as usize, u64::from(routers * degree), 2), "{text}");
        let topology = topology(1, 2, &text).unwrap();
        let links: BTreeSet<(u32, u32)> = topology.links().iter().map(|link| (link.from, link.to)).collect();
        assert_eq!(links.len(), (routers * degree) as usize, "{text}: no two links lead to the same router");
        assert!(links.iter().all(|&(from, to)| links.contains(&(to, from))), "{text}: links lead both ways");
    }
    assert_eq!(sound(18, 2, r#"type = "slim-fly", q = 3"#), 2);
    assert_eq!(sound(32, 5, r#"type = "slim-fly", q = 4"#), 2);
    assert_eq!(sound(100, 2, r#"type = "slim-fly", q = 5, nodes_per_router = 2"#), 2);
    assert_eq!(sound(128, 3, r#"type = "slim-fly", q = 8"#), 2);
    assert_eq!(sound(162, 2, r#"type = "slim-fly", q = 9"#), 2);
    for routes in ["valiant", "ugal-l"] {
        assert_eq!(sound(18, 4, &format!("type = \"slim-fly\", q = 3, routes = \"{routes}\"")), 4);
        assert_eq!(sound(60, 6, &format!("type = \"slim-fly\", q = 7, routes = \"{routes}\"")), 4);
    }
    let error = |nodes, text: &str| topology(nodes, 1, &format!("type = \"slim-fly\", {text}")).unwrap_err().to_string();
    assert_eq!(error(19, "q = 3"), "nodes = 19: do not fit in the 18 routers of rail.topology.q = 3");
    let field = |q: &str, such: &str| {
        assert_eq!(
            error(4, &format!("q = {q}")),
            format!("rail.topology.q = {q}: must be a power of a prime number, at least 3, such as {such}")
        );
    };
    [("0", "3"), ("2", "3"), ("6", "5 or 7"), ("10", "9 or 11"), ("15", "13 or 16"), ("100", "97 or 101")]
        .into_iter()
        .for_each(|(q, such)| field(q, such));
    assert_eq!(error(4, "q = 449"), "rail.topology: too many links; at most 268435456 are possible");
    assert_eq!(error(4, "q = 4294967295"), "rail.topology: too many links; at most 268435456 are possible");
    assert_eq!(error(4, "q = 3, nodes_per_router = 0"), "rail.topology.nodes_per_router = 0: must be at least 1");
    assert_eq!(
        error(4, "q = 3"),
        "rail.router.vcs = 1: this topology needs at least 2 to be free of deadlock: set rail.router.vcs=2"
    );
}

/// With one virtual channel, the two parts of Valiant's routes can wait for each other.
#[test]
fn valiants_routes_over_one_virtual_channel_can_deadlock() {
    let topology = topology(9, 2, r#"type = "hyperx", dimensions = [9], routes = "valiant""#).unwrap();
    let (waits, _) = walk(&topology, 9, 2);
    let mut joined = BTreeMap::<Lane, BTreeSet<Lane>>::new();
    waits
        .iter()
        .for_each(|(&(link, _), asked)| joined.entry((link, 0)).or_default().extend(asked.iter().map(|lane| (lane.0, 0))));
    assert!(has_cycle(&joined));
}

/// The bound is the length of the longest route of a full network.
#[test]
fn the_bound_of_routes_is_tight() {
    let tight = |nodes, vcs, text: &str| {
        let steps = topology(nodes, vcs, text).unwrap().steps_max();
        assert_eq!(sound(nodes, vcs, text), steps as usize, "{text}");
    };
    tight(9, 1, r#"type = "star""#);
    tight(64, 1, r#"type = "fat-tree", down = [4, 4, 4], up = [4, 4]"#);
    tight(60, 4, r#"type = "torus", dimensions = [5, 4, 3]"#);
    tight(20, 1, r#"type = "mesh", dimensions = [5, 4]"#);
    let dragonfly = r#"type = "dragonfly", nodes_per_router = 2, routers_per_group = 4, global_links_per_router = 2"#;
    tight(8, 1, dragonfly);
    tight(72, 2, dragonfly);
    tight(72, 3, &format!("{dragonfly}, routes = \"valiant\""));
    let plus = r#"type = "dragonfly-plus", nodes_per_router = 2, leaves_per_group = 3, spines_per_group = 2, global_links_per_spine = 2"#;
    tight(6, 1, plus);
    tight(30, 1, plus);
    tight(30, 2, &format!("{plus}, routes = \"valiant\""));
    for (vcs, routes) in [(1, "minimal"), (2, "valiant")] {
        tight(18, vcs, &format!("type = \"hyperx\", dimensions = [3, 2, 3], routes = \"{routes}\""));
    }
    for (vcs, routes) in [(2, "minimal"), (4, "valiant")] {
        tight(18, vcs, &format!("type = \"slim-fly\", q = 3, routes = \"{routes}\""));
    }
    tight(7, 1, r#"type = "graph", links = [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]]"#);
}

#[test]
fn more_nodes_fit_at_a_router_than_there_are() {
    for shape in [
        r#"type = "mesh", dimensions = [0, 2]"#,
        r#"type = "ring""#,
        r#"type = "double-ring""#,
        r#"type = "dragonfly", routers_per_group = 2, global_links_per_router = 1"#,
        r#"type = "dragonfly-plus", leaves_per_group = 2, spines_per_group = 1, global_links_per_spine = 1"#,
        r#"type = "hyperx", dimensions = [2]"#,
        r#"type = "slim-fly", q = 3"#,
        r#"type = "graph", links = [[0, 1]]"#,
    ] {
        for nodes_per_router in [4, 1 << 31, u32::MAX] {
            let mut machine = rail(2, &format!("{shape}, nodes_per_router = {nodes_per_router}")).unwrap();
            machine.rails[0].count = 2;
            let topology = Topology::new(&machine.rails[0], 4).unwrap();
            assert!((0..8).all(|terminal| topology.router(terminal) == 0), "{shape}: {nodes_per_router}");
        }
    }
}

#[test]
fn graphs() {
    assert_eq!(sound(7, 1, r#"type = "graph", links = [[0, 1], [0, 2], [1, 3], [1, 4], [2, 5], [2, 6]]"#), 4);
    assert_eq!(sound(5, 2, r#"type = "graph", links = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]"#), 2);
    assert_eq!(sound(6, 1, r#"type = "graph", links = [[0, 1], [1, 2]], attach = [0, 0, 1, 2, 2, 2]"#), 2);
    let error = topology(5, 1, r#"type = "graph", links = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]"#).unwrap_err().to_string();
    assert_eq!(error, "rail.router.vcs = 1: this topology needs at least 2 to be free of deadlock: set rail.router.vcs=2");
    let error = topology(3, 1, r#"type = "graph", links = [[0, 1]]"#).unwrap_err().to_string();
    assert_eq!(error, "rail.topology.links: no route leads from router 0 to router 2");
}
