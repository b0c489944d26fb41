//! Networks that a description lists link by link. Packets take shortest routes; the destination decides among equal ones.
//!
//! No deadlock: routers have an order (breadth first from router 0). A packet changes to the next virtual channel whenever it
//! turns from going up in that order to going down. Within one virtual channel it therefore goes down first and then up: lanes
//! that go down are ordered by their target routers, and lanes that go up come after them. A tree needs one virtual channel; for other
//! networks the number is computed when the network is made.

use std::iter::repeat_n;
use std::sync::Arc;

use super::{Hop, Link, RoutingHeader, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::GraphSpec;

/// Maximum number of routers. The routing table has an entry per pair.
const ROUTERS_MAX: u32 = 4096;

impl GraphSpec {
    /// Returns a number of nodes per linked router that makes room for `nodes`; `None` if the description states the router of each node.
    pub(super) fn larger(&self, nodes: u32) -> Option<String> {
        let routers = self.links.iter().flat_map(|&(a, b)| [a, b]).max()?.checked_add(1)?;
        self.attach.is_none().then(|| nodes.div_ceil(routers).to_string())
    }
}

/// Stands for a route that does not exist.
const NOWHERE: u32 = u32::MAX;

/// The largest virtual channel that a stage can count. No rail has so many.
const VC_MAX: u8 = 126;

/// A copy shares the tables that grow with the network.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    links: Arc<[Link]>,
    /// The router of each terminal.
    attach: Arc<[u32]>,
    /// The first link of the route from each router (row) to each other router.
    next: Arc<[u32]>,
    /// The place of each router in the order.
    order: Vec<u32>,
    layers: u8,
    /// Number of links between routers of the longest route.
    steps_max: u32,
}

/// The rest of the route from a router to a destination.
#[derive(Clone, Copy, Default)]
struct Rest {
    /// Number of its links.
    steps: u32,
    /// Number of its turns from going up to going down.
    turns: u32,
    /// Whether its first link goes down.
    begins_down: bool,
}

impl Graph {
    pub(crate) fn new(spec: &GraphSpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let error = |message: String| Err(MachineError::new(message));
        let routers_per_node = match &spec.attach {
            Some(attach) if attach.len() < nodes as usize => {
                return error(format!("nodes = {nodes}: rail.topology.attach names routers for {} only", attach.len()));
            }
            Some(attach) => attach[..nodes as usize].to_vec(),
            None => {
                routers_for(nodes, spec.nodes_per_router)?;
                (0..nodes).map(|node| node / spec.nodes_per_router).collect()
            }
        };
        let ends = spec.links.iter().flat_map(|&(a, b)| [a, b]);
        let largest = ends.chain(routers_per_node.iter().copied()).max().unwrap_or(0);
        if largest >= ROUTERS_MAX {
            return error(format!("rail.topology: router {largest}: must be less than {ROUTERS_MAX}"));
        }
        if let Some((a, _)) = spec.links.iter().find(|(a, b)| a == b) {
            return error(format!("rail.topology.links: [{a}, {a}]: must name two routers"));
        }
        let routers = largest as usize + 1;
        let links = spec.links.iter().flat_map(|&(a, b)| [Link { from: a, to: b }, Link { from: b, to: a }]).collect();
        let attach = routers_per_node.iter().flat_map(|&router| repeat_n(router, rail.count as usize)).collect();
        let next = repeat_n(NOWHERE, routers * routers).collect();
        let mut graph = Self { links, attach, next, order: vec![0; routers], layers: 1, steps_max: 0 };
        graph.find_routes(routers);
        graph.check(routers)?;
        Ok(graph)
    }

    /// Finds the shortest routes to each router, and the order of routers. Measures the routes that packets can take.
    fn find_routes(&mut self, routers: usize) {
        let mut used = vec![false; routers];
        self.attach.iter().for_each(|&router| used[router as usize] = true);
        let mut rests = vec![Rest::default(); routers];
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); routers];
        for (number, link) in self.links.iter().enumerate() {
            into[link.to as usize].push(number as u32);
        }
        for to in 0..routers {
            let mut distance = vec![u32::MAX; routers];
            distance[to] = 0;
            let mut reached = vec![to];
            let mut candidates: Vec<Vec<u32>> = vec![Vec::new(); routers];
            let mut place = 0;
            while let Some(&router) = reached.get(place) {
                if to == 0 {
                    self.order[router] = place as u32;
                }
                place += 1;
                for &link in &into[router] {
                    let from = self.links[link as usize].from as usize;
                    if distance[from] == u32::MAX {
                        distance[from] = distance[router] + 1;
                        reached.push(from);
                    }
                    if distance[from] == distance[router] + 1 {
                        candidates[from].push(link);
                    }
                }
            }
            // The only copy.
            let next = Arc::make_mut(&mut self.next);
            for (from, candidates) in candidates.iter().enumerate().filter(|(_, candidates)| !candidates.is_empty()) {
                next[from * routers + to] = candidates[to % candidates.len()];
            }
            if used[to] {
                self.measure(to, &reached, &used, &mut rests);
            }
        }
    }

    /// Counts the links and the virtual channels of the routes to a router. `reached` has all routers from which one leads there, the nearest first,
    /// so that the rest of a route is known before the route.
    fn measure(&mut self, to: usize, reached: &[usize], used: &[bool], rests: &mut [Rest]) {
        rests[to] = Rest::default();
        for &from in &reached[1..] {
            let link = self.links[self.next[from * self.order.len() + to] as usize];
            let (up, rest) = (self.is_up(link), rests[link.to as usize]);
            let turns = rest.turns + u32::from(up && rest.begins_down);
            rests[from] = Rest { steps: rest.steps + 1, turns, begins_down: !up };
            if used[from] {
                self.layers = self.layers.max(turns.min(u32::from(VC_MAX)) as u8 + 1);
                self.steps_max = self.steps_max.max(rest.steps + 1);
            }
        }
    }

    /// Checks that a route leads from each router with terminals to each other. Links lead both ways: it is enough to look from the first one.
    fn check(&self, routers: usize) -> Result<(), MachineError> {
        let Some(&first) = self.attach.iter().min() else { return Ok(()) };
        let is_unreachable = |to: &u32| *to != first && self.next[first as usize * routers + *to as usize] == NOWHERE;
        match self.attach.iter().copied().filter(is_unreachable).min() {
            Some(to) => Err(MachineError::new(format!("rail.topology.links: no route leads from router {first} to router {to}"))),
            None => Ok(()),
        }
    }

    /// Whether a link goes up in the order of routers.
    fn is_up(&self, link: Link) -> bool {
        self.order[link.to as usize] > self.order[link.from as usize]
    }

    /// The stage of a packet that takes a link: twice the virtual channel, plus one if it goes up.
    fn turned(&self, stage: u8, link: Link) -> u8 {
        let up = self.is_up(link);
        let turns = stage & 1 == 1 && !up;
        ((stage >> 1).saturating_add(u8::from(turns))).min(VC_MAX) << 1 | u8::from(up)
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        self.layers
    }

    pub(crate) fn steps_max(&self) -> u32 {
        self.steps_max
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        self.attach[terminal as usize]
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        self.links.to_vec()
    }

    pub(crate) fn link_count(&self) -> u64 {
        self.links.len() as u64
    }

    /// The memory of the tables that copies share.
    pub(crate) fn table_bytes(&self) -> u64 {
        (size_of_val(&*self.links) + size_of_val(&*self.attach) + size_of_val(&*self.next)) as u64
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = self.attach[header.to as usize];
        if at == to {
            return Hop::out(vcs);
        }
        let link = self.next[at as usize * self.order.len() + to as usize];
        header.stage = self.turned(header.stage, self.links[link as usize]);
        Hop::over(link, header.stage >> 1, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::random::hash;
    use crate::topology::Topology;
    use crate::topology::tests::topology;

    fn graph(nodes: u32, text: &str) -> Graph {
        match topology(nodes, 16, &format!("type = \"graph\", {text}")).unwrap() {
            Topology::Graph(graph) => graph,
            other => panic!("{other:?}"),
        }
    }

    /// Walks all routes as packets do; returns the number of virtual channels, and of links of the longest route.
    fn walked(graph: &Graph, nodes: u32) -> (u8, u32) {
        let pairs = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        pairs.fold((1, 0), |(layers, longest), (from, to)| {
            let (mut at, mut header, mut steps) = (graph.router(from), RoutingHeader::new(to, 0, 0), 0);
            while let Some(link) = graph.route(at, &mut header, 16).link {
                at = graph.links[link as usize].to;
                steps += 1;
            }
            (layers.max((header.stage >> 1) + 1), longest.max(steps))
        })
    }

    #[test]
    fn routes_are_measured_as_packets_walk_them() {
        let mut layers_max = 0;
        for seed in 0..200 {
            let random = |place: u64, below: u64| hash(seed, place, 0) % below;
            let routers = 2 + random(0, 30);
            let tree = (1..routers).map(|router| [router, random(router, router)]);
            let more = (0..random(100, routers)).map(|number| [random(200 + number, routers), random(300 + number, routers)]);
            let links: Vec<[u64; 2]> = tree.chain(more.filter(|[a, b]| a != b)).collect();
            // Of every second network, some routers have no terminal.
            let attach: Vec<u64> = (0..routers).filter(|router| seed % 2 == 0 || router % 3 == 0).collect();
            let nodes = attach.len() as u32;
            let graph = graph(nodes, &format!("links = {links:?}, attach = {attach:?}"));
            assert_eq!((graph.vcs_min(), graph.steps_max()), walked(&graph, nodes), "{links:?}");
            layers_max = layers_max.max(graph.vcs_min());
        }
        assert!(layers_max > 2, "{layers_max}");
    }

    /// A walk of each route of this chain would take 10¹⁰ steps.
    #[test]
    fn the_longest_chain_is_measured_and_its_copies_share_their_tables() {
        let links: Vec<[u32; 2]> = (1..ROUTERS_MAX).map(|router| [router - 1, router]).collect();
        let graph = graph(ROUTERS_MAX, &format!("links = {links:?}"));
        assert_eq!((graph.vcs_min(), graph.steps_max()), (1, ROUTERS_MAX - 1));
        assert!(Arc::ptr_eq(&graph.next, &graph.clone().next));
        let table = 4 * u64::from(ROUTERS_MAX) * u64::from(ROUTERS_MAX);
        assert!((table..table + (1 << 20)).contains(&graph.table_bytes()), "{}", graph.table_bytes());
    }

    #[test]
    fn the_first_routers_without_a_route_are_named() {
        let text = "type = \"graph\", links = [[0, 3], [1, 2], [2, 4]], attach = [4, 3, 2, 0]";
        let error = topology(4, 16, text).unwrap_err().to_string();
        assert_eq!(error, "rail.topology.links: no route leads from router 0 to router 2");
        assert!(topology(2, 16, &text.replace("[4, 3, 2, 0]", "[4, 1]")).is_ok(), "others need no route");
    }
}
