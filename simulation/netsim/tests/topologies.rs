//! Networks of low diameter: latencies of an idle network to the picosecond, and throughput of patterns that minimal routes serve well and badly.

use pelago_netsim::{Machine, Netsim, NetworkOperation, Notice};
use pelago_test_support::traffic::{Rng, machine, measure};

const FLITS: u32 = 8;
const WINDOW: (u64, u64) = (5_000, 10_000);

/// Returns the time from posting a put of 8 bytes on `rx200-qdr` until it takes effect, in picoseconds, with another topology and more virtual channels.
fn put(topology: &str, nodes: u32, from: u32, to: u32) -> u64 {
    let text = Machine::bundled("rx200-qdr").unwrap().replace("type = \"star\"", topology).replace("\nvcs = 1 ", "\nvcs = 4 ");
    let mut netsim = Netsim::new(&Machine::parse(&text).unwrap(), nodes, 1).unwrap();
    netsim.post(from, NetworkOperation::Put { from, to, bytes: 8 }, 0);
    while let Some(notice) = netsim.next() {
        if matches!(notice, Notice::Effect { .. }) {
            return netsim.now().as_picoseconds();
        }
    }
    panic!("the put from {from} to {to} has no effect")
}

/// The time of a put that crosses `links` links between routers: overhead, DMA at both ends, the time of 38 bytes at 4 GB/s, and cables and routers.
fn formula(links: u64) -> u64 {
    1_000_000 + 2 * 2_857 + 9_500 + (links + 2) * 600 + (links + 1) * 140_000
}

/// Returns the throughput in flits per node and cycle, of 1 at most.
fn throughput(topology: &str, routes: &str, vcs: u8, nodes: u32, load: f64, target: impl FnMut(u32, &mut Rng) -> u32) -> f64 {
    let machine = machine(&format!("{topology}\nroutes = \"{routes}\""), 2, vcs, 64, FLITS);
    measure(&machine, nodes, load, FLITS, WINDOW, target, |_| true).throughput
}

/// The counters are those of the links that exist: there are none over the borders of a mesh, or to switches of a tree that no node needs.
#[test]
fn absent_links_have_no_counters() {
    let links = |topology: &str, nodes: u32| {
        let text = Machine::bundled("rx200-qdr").unwrap().replace("type = \"star\"", topology);
        let links = Netsim::new(&Machine::parse(&text).unwrap(), nodes, 1).unwrap().statistics().links;
        assert!(links.iter().all(|link| link.from != link.to), "{links:?}");
        links.len()
    };
    // Of a NIC and of a pair of routers, a link in each direction.
    assert_eq!(links("type = \"mesh\"\ndimensions = [3, 2]", 6), 2 * 6 + 2 * (2 * 2 + 3));
    // Two leaves, one router above them, and the top.
    assert_eq!(links("type = \"fat-tree\"\ndown = [2, 4, 4]\nup = [1, 1]", 3), 2 * 3 + 2 * (2 + 1));
}

#[test]
fn a_put_crosses_a_hyperx_in_a_link_per_dimension() {
    let plane = "type = \"hyperx\"\ndimensions = [4, 3]\nnodes_per_router = 2";
    for (to, links) in [(1, 0), (2, 1), (7, 1), (8, 1), (16, 1), (23, 2)] {
        assert_eq!(put(plane, 24, 0, to), formula(links), "to {to}");
    }
    let cube = "type = \"hyperx\"\ndimensions = [3, 3, 3]\nlinks_per_pair = [2, 1, 3]";
    for (to, links) in [(2, 1), (5, 2), (18, 1), (26, 3)] {
        assert_eq!(put(cube, 27, 0, to), formula(links), "to {to}");
    }
}

#[test]
fn a_put_crosses_a_slim_fly_in_at_most_two_links() {
    // Routers 0 and 1 are in a group, in which 1, 4 (but not 2, 3) are the differences of linked routers; y = m·x + c links 0 with (m, 0).
    for (to, links) in [(1, 1), (4, 1), (2, 2), (3, 2), (5, 2), (24, 2), (25, 1), (45, 1), (26, 2), (49, 2)] {
        assert_eq!(put("type = \"slim-fly\"\nq = 5", 50, 0, to), formula(links), "to {to}");
    }
}

/// Fifty routers of four nodes each. All nodes of a router of the first kind send to the router of the next group with the same number, to which one
/// minimal route leads, over group 0 of the other kind. The other nodes send to nodes of their routers.
#[test]
fn a_slim_fly_detours_an_adversary() {
    let next_group = |node: u32, _: &mut Rng| if node < 100 { (node + 20) % 100 } else { node ^ 1 };
    let of = |routes, load, target: fn(u32, &mut Rng) -> u32| {
        let text = format!("type = \"slim-fly\"\nq = 5\nnodes_per_router = 4\nroutes = \"{routes}\"");
        measure(&machine(&text, 2, 4, 64, FLITS), 200, load, FLITS, WINDOW, target, |node| node < 100).throughput
    };
    let [minimal, valiant, local] = ROUTES.map(|routes| of(routes, 0.6, next_group));
    println!("slim fly, next group, offered 0.6: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}");
    assert!((minimal / 0.25 - 1.0).abs() < 0.02, "a quarter of a link for each of four nodes: {minimal}");
    assert!(valiant > 1.2 * minimal && local > 1.2 * minimal);
    let [minimal, valiant, local] = ROUTES.map(|routes| of(routes, 0.7, |_, random| random.u32(..200)));
    println!("slim fly, uniform, offered 0.7: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}");
    assert!(minimal > 0.65 && valiant < 0.6 && local > 0.6);
}

const PLUS: &str =
    "type = \"dragonfly-plus\"\nnodes_per_router = 2\nleaves_per_group = 2\nspines_per_group = 2\nglobal_links_per_spine = 2";

/// Up, to the other group, and down; in a group, up and down.
#[test]
fn a_put_crosses_a_dragonfly_plus_in_three_links() {
    for (to, links) in [(1, 0), (2, 2), (3, 2), (4, 3), (7, 3), (19, 3)] {
        assert_eq!(put(PLUS, 20, 0, to), formula(links), "to {to}");
    }
}

/// Five groups of four nodes each, all of which send to the next group: their minimal routes share one link.
#[test]
fn a_dragonfly_plus_detours_an_adversary() {
    let next_group = |node: u32, random: &mut Rng| (node / 4 + 1) % 5 * 4 + random.u32(..4);
    let [minimal, valiant, local, progressive, global] =
        ["minimal", "valiant", "ugal-l", "progressive", "ugal-g"].map(|routes| throughput(PLUS, routes, 2, 20, 0.6, next_group));
    println!(
        "dragonfly+, next group, offered 0.6: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}, progressive {progressive:.3}, ugal-g {global:.3}"
    );
    assert!(progressive > 1.1 * local && progressive > 0.9 * global);
    assert!((minimal / 0.25 - 1.0).abs() < 0.02, "a quarter of a link for each of four nodes: {minimal}");
    assert!(valiant > 1.2 * minimal && local > 1.2 * minimal && global > 1.2 * minimal);
    let [minimal, valiant, local] =
        ROUTES.map(|routes| throughput(PLUS, routes, 2, 20, 0.7, |_, random: &mut Rng| random.u32(..20)));
    println!("dragonfly+, uniform, offered 0.7: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}");
    assert!(minimal > 0.65 && valiant < 0.65 && local > 0.6);
}

const ROUTES: [&str; 3] = ["minimal", "valiant", "ugal-l"];

/// Eight routers of four nodes each, all linked with each other. If each node of a router sends to another router, no two packets share a link. If
/// all of them send to the next router, they share the link to it on minimal routes; Valiant's use all links, each twice as much as uniform traffic.
#[test]
fn a_full_mesh_serves_a_permutation_and_detours_an_adversary() {
    let of = |routes, load, apart: u32| {
        let target = |node: u32, _: &mut Rng| (node / 4 + 1 + apart * (node % 4)) % 8 * 4 + node % 4;
        throughput("type = \"hyperx\"\ndimensions = [8]\nnodes_per_router = 4", routes, 2, 32, load, target)
    };
    let [minimal, valiant, local] = ROUTES.map(|routes| of(routes, 0.95, 1));
    println!("a router for each node, offered 0.95: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}");
    assert!(minimal > 0.94 && valiant < 0.7 && local > 0.83);
    let [minimal, valiant, local] = ROUTES.map(|routes| of(routes, 0.6, 0));
    println!("all to the next router, offered 0.6: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}");
    assert!((minimal / 0.25 - 1.0).abs() < 0.02, "a quarter of a link for each of four nodes: {minimal}");
    assert!(valiant > 0.58 && local > 0.58);
}

/// Sixteen routers of four nodes each, all of which send to the next router of the diagonal: their minimal routes share a link in either dimension. A
/// second link between each pair of routers doubles the throughput.
#[test]
fn a_flattened_butterfly_detours_an_adversary() {
    let diagonal = |node: u32, _: &mut Rng| {
        let (router, place) = (node / 4, node % 4);
        ((router % 4 + 1) % 4 + (router / 4 + 1) % 4 * 4) * 4 + place
    };
    let of = |copies: u32| {
        let topology =
            format!("type = \"hyperx\"\ndimensions = [4, 4]\nnodes_per_router = 4\nlinks_per_pair = [{copies}, {copies}]");
        ROUTES.map(|routes| throughput(&topology, routes, 2, 64, 0.6, diagonal))
    };
    let [[minimal, valiant, local], twice] = [of(1), of(2)];
    println!("offered 0.6: minimal {minimal:.3}, valiant {valiant:.3}, ugal-l {local:.3}; with two links {twice:.3?}");
    assert!((minimal / 0.25 - 1.0).abs() < 0.02, "a quarter of a link for each of four nodes: {minimal}");
    assert!(valiant > 1.2 * minimal && local > 1.1 * minimal);
    assert!(twice[0] > 1.7 * minimal && twice[1] > 0.58 && twice[2] > 1.1 * twice[0]);
}

/// The changes that make room name values with which the machine has room.
#[test]
fn networks_have_room_after_the_change_that_is_named() {
    for (topology, change) in [
        ("type = \"hyperx\"\ndimensions = [4, 3]", "rail.topology.dimensions=[0, 0]"),
        ("type = \"hyperx\"\ndimensions = [5]", "rail.topology.dimensions=[0]"),
        ("type = \"slim-fly\"\nq = 5\nnodes_per_router = 4", "rail.topology.q=13"),
        (PLUS, "rail.topology.global_links_per_spine=125"),
    ] {
        let larger = machine(topology, 2, 4, 64, FLITS).larger(1000);
        let named: Vec<String> = larger.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(named, [change]);
        let (key, value) = (larger[0].0.rsplit('.').next().unwrap(), &larger[0].1);
        let lines = topology.lines().filter(|line| !line.starts_with(&format!("{key} = ")));
        let changed: String = lines.map(|line| format!("{line}\n")).chain([format!("{key} = {value}")]).collect();
        assert_eq!(machine(&changed, 2, 4, 64, FLITS).check_nodes(1000), Ok(()));
    }
}
