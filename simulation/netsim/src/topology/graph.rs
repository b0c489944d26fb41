//! Networks that a description lists link by link. Packets take shortest routes; the destination decides among equal ones.
//!
//! No deadlock: routers have an order (breadth first from router 0). A packet changes to the next virtual channel whenever it
//! turns from going up in that order to going down. Within one virtual channel it therefore goes down first and then up: lanes
//! that go down are ordered by their target routers, and lanes that go up come after them. A tree needs one virtual channel; for other
//! networks the number is computed when the network is made.

use std::collections::VecDeque;

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

#[derive(Clone, Debug)]
pub(crate) struct Graph {
    links: Vec<Link>,
    /// The router of each terminal.
    attach: Vec<u32>,
    /// The first link of the route from each router (row) to each other router.
    next: Vec<u32>,
    /// The place of each router in the order.
    order: Vec<u32>,
    layers: u8,
    /// Number of links between routers of the longest route.
    steps_max: u32,
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
        let links: Vec<Link> = spec.links.iter().flat_map(|&(a, b)| [Link { from: a, to: b }, Link { from: b, to: a }]).collect();
        let attach = routers_per_node.iter().flat_map(|&router| vec![router; rail.count as usize]).collect();
        let mut graph =
            Self { links, attach, next: vec![NOWHERE; routers * routers], order: vec![0; routers], layers: 1, steps_max: 0 };
        graph.find_routes(routers);
        graph.check(routers)?;
        Ok(graph)
    }

    /// Finds the shortest routes to each router, and the order of routers.
    fn find_routes(&mut self, routers: usize) {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); routers];
        for (number, link) in self.links.iter().enumerate() {
            into[link.to as usize].push(number as u32);
        }
        for to in 0..routers {
            let mut distance = vec![u32::MAX; routers];
            distance[to] = 0;
            let mut reached = VecDeque::from([to]);
            let mut candidates: Vec<Vec<u32>> = vec![Vec::new(); routers];
            let mut place = 0;
            while let Some(router) = reached.pop_front() {
                if to == 0 {
                    self.order[router] = place;
                    place += 1;
                }
                for &link in &into[router] {
                    let from = self.links[link as usize].from as usize;
                    if distance[from] == u32::MAX {
                        distance[from] = distance[router] + 1;
                        reached.push_back(from);
                    }
                    if distance[from] == distance[router] + 1 {
                        candidates[from].push(link);
                    }
                }
            }
            for (from, candidates) in candidates.iter().enumerate().filter(|(_, candidates)| !candidates.is_empty()) {
                self.next[from * routers + to] = candidates[to % candidates.len()];
            }
        }
    }

    /// Walks all routes that packets can take; counts the virtual channels that they need.
    fn check(&mut self, routers: usize) -> Result<(), MachineError> {
        let mut used: Vec<u32> = self.attach.clone();
        used.sort_unstable();
        used.dedup();
        for &from in &used {
            for &to in &used {
                let (mut at, mut stage, mut steps) = (from, 0, 0_u32);
                while at != to {
                    let link = self.next[at as usize * routers + to as usize];
                    if link == NOWHERE {
                        return Err(MachineError::new(format!(
                            "rail.topology.links: no route leads from router {from} to router {to}"
                        )));
                    }
                    stage = self.turned(stage, self.links[link as usize]);
                    at = self.links[link as usize].to;
                    steps += 1;
                    debug_assert!((steps as usize) < routers);
                }
                self.layers = self.layers.max((stage >> 1) + 1);
                self.steps_max = self.steps_max.max(steps);
            }
        }
        Ok(())
    }

    /// The stage of a packet that takes a link: twice the virtual channel, plus one if it goes up.
    fn turned(&self, stage: u8, link: Link) -> u8 {
        let up = self.order[link.to as usize] > self.order[link.from as usize];
        let turns = stage & 1 == 1 && !up;
        ((stage >> 1).saturating_add(u8::from(turns))).min(126) << 1 | u8::from(up)
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
        self.links.clone()
    }

    pub(crate) fn link_count(&self) -> u64 {
        self.links.len() as u64
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
