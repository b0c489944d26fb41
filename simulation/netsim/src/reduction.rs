//! Reductions by the routers or NICs of a rail: the tree of a group, and the times of its results.
//!
//! Contributions go up a tree, and the result goes down. A part of the tree with several inputs combines them `combine_ns` after the arrival of
//! the last one; a part with one input forwards it. The inputs of a NIC are those of the ranks of its node, and, if NICs combine, those of
//! other NICs.
//!
//! - **Routers combine.** The tree has the shortest paths from a router in the middle of the group. A packet is combined when all of it has
//!   arrived, so that each link of the way up takes the transmission time of the packet; the way down is that of any packet.
//! - **NICs combine.** The members in their order form a tree of the given radix. A packet from NIC to NIC takes the usual route.
//!
//! Packets of reductions do not contend with others and with each other: the times follow from those of the contributions alone.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::{Duration, Instant};

use crate::events::rate::Rate;
use crate::machine::reduction::ReductionSpec;
use crate::machine::software::Software;
use crate::machine::spec::{LinkSpec, RailSpec, Switching};
use crate::machine::{Machine, bytes_per_second, picoseconds};
use crate::topology::{Link, Path, RoutingHeader, Topology};

/// What a machine can reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReductionLimits {
    /// Maximum size of a contribution; 0 for barriers only.
    pub bytes_max: u32,
    /// Maximum number of groups at once.
    pub groups_max: u32,
    /// Time that the core of a rank takes to hand a contribution to the NIC.
    pub overhead: Duration,
}

/// The part of a machine that reduces.
pub(crate) struct ReductionNetwork {
    topology: Topology,
    links: Vec<Link>,
    vcs: u8,
    /// Number of NICs of each node; the first one serves the ranks of the node.
    nics_per_node: u32,
    /// The neighbours of each router: the ends of those of router r begin at `starts[r]`.
    starts: Vec<u32>,
    ends: Vec<u32>,
    limits: ReductionLimits,
    radix: Option<u32>,
    times: Times,
}

/// The times of a packet on its way, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    overhead: u64,
    combine: u64,
    pipeline: u64,
    traversal: u64,
    host_cable: u64,
    cable: u64,
    host: Rate,
    link: Rate,
    read: Rate,
    write: Rate,
    header_bytes: u64,
    control_bytes: u64,
    stores: bool,
}

/// The tree of a group of nodes.
#[derive(Clone, Debug)]
pub struct ReductionTree {
    /// The parts of the tree; each comes after its parent, the root first.
    parts: Vec<Part>,
    /// The part of each node of the group, in the order of the nodes.
    nodes: Vec<u32>,
    times: Times,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    parent: u32,
    /// Number of inputs: ranks of a node, and children.
    inputs: u32,
    to_parent: Way,
}

/// The way from a part to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// From a NIC to its router.
    Host,
    /// From a router to the next.
    Link,
    /// From a NIC to another, over this number of links between routers.
    Nics(u32),
}

impl ReductionNetwork {
    /// Returns the reductions of the rail that has any; `None` if no rail has. `topologies` are those of the rails.
    pub(crate) fn of(machine: &Machine, nodes: u32, topologies: &[Topology]) -> Option<Self> {
        let (rail, spec, topology) = reducing(machine, topologies)?;
        let topology = topology.clone();
        let links = topology.links();
        let present = || links.iter().filter(|link| !link.is_absent());
        let routers = topology.routers(nodes * rail.count);
        let mut starts = vec![0; routers as usize + 1];
        present().for_each(|link| starts[link.from as usize + 1] += 1);
        (0..routers as usize).for_each(|router| starts[router + 1] += starts[router]);
        let (mut ends, mut places) = (vec![0; links.len()], starts.clone());
        for link in present() {
            let place = &mut places[link.from as usize];
            ends[*place as usize] = link.to;
            *place += 1;
        }
        let (times, radix) = (Times::of(rail, spec, machine.software()), spec.radix());
        let overhead = Duration::from_picoseconds(times.overhead);
        let limits = ReductionLimits { bytes_max: spec.bytes_max, groups_max: spec.groups_max, overhead };
        let vcs = rail.router.vcs;
        Some(Self { topology, links, vcs, nics_per_node: rail.count, starts, ends, limits, radix, times })
    }

    pub(crate) fn limits(&self) -> ReductionLimits {
        self.limits
    }

    /// Returns the tree of a group: nodes, each once, with the number of ranks that contribute through its NIC.
    pub(crate) fn tree(&self, nodes: &[(u32, u32)]) -> ReductionTree {
        let mut tree = ReductionTree { parts: Vec::new(), nodes: Vec::new(), times: self.times };
        match self.radix {
            None => self.grow_over_routers(&mut tree, nodes),
            Some(radix) => self.grow_over_nics(&mut tree, nodes, radix),
        }
        tree
    }

    fn grow_over_routers(&self, tree: &mut ReductionTree, nodes: &[(u32, u32)]) {
        let routers: Vec<u32> = nodes.iter().map(|&(node, _)| self.topology.router(node * self.nics_per_node)).collect();
        let root = self.middle(&routers);
        let reached = self.distances(root);
        let mut parts = BTreeMap::from([(root, tree.add(Part { parent: 0, inputs: 0, to_parent: Way::Link }))]);
        for (&(_, ranks), &router) in nodes.iter().zip(&routers) {
            // The routers on the way up that have no part yet.
            let (mut missing, mut at) = (Vec::new(), router);
            while !parts.contains_key(&at) {
                missing.push(at);
                at = reached.before[at as usize];
            }
            for router in missing.into_iter().rev() {
                let part = tree.add(Part { parent: parts[&at], inputs: 0, to_parent: Way::Link });
                parts.insert(router, part);
                at = router;
            }
            let node = tree.add(Part { parent: parts[&router], inputs: ranks, to_parent: Way::Host });
            tree.nodes.push(node);
        }
    }

    fn grow_over_nics(&self, tree: &mut ReductionTree, nodes: &[(u32, u32)], radix: u32) {
        for (position, &(node, ranks)) in (0u32..).zip(nodes) {
            let parent = position.saturating_sub(1) / radix;
            let links = self.links_between(node, nodes[parent as usize].0);
            let part = tree.add(Part { parent, inputs: ranks, to_parent: Way::Nics(links) });
            tree.nodes.push(part);
        }
    }

    /// Returns the number of links of the usual route from node to node.
    fn links_between(&self, from: u32, to: u32) -> u32 {
        let [mut at, end] = [from, to].map(|node| self.topology.router(node * self.nics_per_node));
        let mut header = RoutingHeader { path: Path::Usual, ..RoutingHeader::new(to * self.nics_per_node, 0, 0) };
        let mut count = 0;
        while at != end {
            let Some(link) = self.topology.route(at, &mut header, self.vcs).link else { break };
            at = self.links[link as usize].to;
            count += 1;
        }
        count
    }

    /// Returns the router in the middle of a longest of the shortest paths from one of the routers: the center, if the network is a tree.
    fn middle(&self, routers: &[u32]) -> u32 {
        let farthest = |reached: &Reached| {
            let distance = |router: u32| reached.distance[router as usize];
            routers.iter().copied().max_by_key(|&router| (distance(router), std::cmp::Reverse(router))).unwrap_or(0)
        };
        let one = farthest(&self.distances(routers[0]));
        let reached = self.distances(one);
        let mut at = farthest(&reached);
        for _ in 0..reached.distance[at as usize] / 2 {
            at = reached.before[at as usize];
        }
        at
    }

    /// Returns the shortest paths from a router to all others.
    fn distances(&self, from: u32) -> Reached {
        let routers = self.starts.len() - 1;
        let mut reached = Reached { distance: vec![u32::MAX; routers], before: vec![from; routers] };
        reached.distance[from as usize] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            let neighbours = self.starts[at as usize] as usize..self.starts[at as usize + 1] as usize;
            for &to in &self.ends[neighbours] {
                if reached.distance[to as usize] == u32::MAX {
                    reached.distance[to as usize] = reached.distance[at as usize] + 1;
                    reached.before[to as usize] = at;
                    queue.push_back(to);
                }
            }
        }
        reached
    }
}

/// The shortest paths from a router: the number of links to each router, and the router before it.
struct Reached {
    distance: Vec<u32>,
    before: Vec<u32>,
}

impl ReductionTree {
    /// Returns when the result of a reduction is in the memory of each node of the group, in the order of the nodes. `posted` has the
    /// time at which the last rank of each node has posted its contribution of `bytes` bytes.
    ///
    /// Cost: proportional to the number of nodes and routers of the tree.
    ///
    /// # Panics
    ///
    /// If `posted` has fewer entries than the group has nodes.
    pub fn results(&self, posted: &[Instant], bytes: u64) -> Vec<Instant> {
        let Times { overhead, combine, read, write, .. } = self.times;
        let packet = self.times.packet_bytes(bytes);
        // When each part has all of its inputs, and then when it has the result.
        let mut at = vec![0; self.parts.len()];
        for (&node, posted) in self.nodes.iter().zip(posted) {
            at[node as usize] = posted.as_picoseconds().saturating_add(overhead).saturating_add(read.time(bytes));
        }
        for (part, &Part { parent, inputs, to_parent }) in self.parts.iter().enumerate().rev() {
            let time = at[part].saturating_add(if inputs > 1 { combine } else { 0 });
            at[part] = time;
            if part > 0 {
                let arrival = time.saturating_add(self.times.up(to_parent, packet));
                at[parent as usize] = at[parent as usize].max(arrival);
            }
        }
        let mut slowest = vec![0; self.parts.len()];
        for (part, &Part { parent, to_parent, .. }) in self.parts.iter().enumerate().skip(1) {
            (at[part], slowest[part]) = self.times.down((at[parent as usize], slowest[parent as usize]), to_parent, packet);
        }
        let result = |&node: &u32| {
            let whole = at[node as usize].saturating_add(slowest[node as usize]);
            Instant::ZERO + Duration::from_picoseconds(whole.saturating_add(write.time(bytes)))
        };
        self.nodes.iter().map(result).collect()
    }

    /// Adds a part below its parent, and returns its number.
    fn add(&mut self, part: Part) -> u32 {
        if !self.parts.is_empty() {
            self.parts[part.parent as usize].inputs += 1;
        }
        self.parts.push(part);
        self.parts.len() as u32 - 1
    }
}

impl Times {
    fn of(rail: &RailSpec, spec: &ReductionSpec, software: &Software) -> Self {
        let (nic, router) = (&rail.nic, &rail.router);
        let (host, link): (&LinkSpec, &LinkSpec) = (rail.host_link(), &rail.link);
        Self {
            overhead: picoseconds(nic.overhead_ns * software.slowdown()),
            combine: picoseconds(spec.combine_ns),
            pipeline: router.pipeline(),
            traversal: picoseconds(router.switch_ns),
            host_cable: picoseconds(host.cable_ns),
            cable: picoseconds(link.cable_ns),
            host: bytes_per_second(host.gb_per_s),
            link: bytes_per_second(link.gb_per_s),
            read: bytes_per_second(nic.read_gb_per_s),
            write: bytes_per_second(nic.write_gb_per_s),
            header_bytes: nic.header_bytes.into(),
            control_bytes: nic.control_bytes.into(),
            stores: router.switching == Switching::StoreAndForward,
        }
    }

    /// The size of a packet with `bytes` bytes.
    fn packet_bytes(&self, bytes: u64) -> u64 {
        if bytes == 0 { self.control_bytes } else { self.header_bytes + bytes }
    }

    /// The time of a packet to the parent, until all of it has arrived and the routing decision is made.
    fn up(&self, way: Way, packet: u64) -> u64 {
        match way {
            Way::Host => self.host.time(packet) + self.host_cable + self.pipeline,
            Way::Link => self.traversal + self.link.time(packet) + self.cable + self.pipeline,
            Way::Nics(_) => {
                let (head, slowest) = self.down((0, 0), way, packet);
                head + slowest
            }
        }
    }

    /// The head of a packet at a part, and the time that the rest of it then still takes, from those at the parent.
    fn down(&self, (head, slowest): (u64, u64), way: Way, packet: u64) -> (u64, u64) {
        let (host, link) = (self.host.time(packet), self.link.time(packet));
        let pass = |(head, slowest): (u64, u64), cable: u64, time: u64| {
            if self.stores { (head + cable + time, 0) } else { (head + cable, slowest.max(time)) }
        };
        match way {
            Way::Host => pass((head + self.traversal, slowest), self.host_cable, host),
            Way::Link => {
                let (head, slowest) = pass((head + self.traversal, slowest), self.cable, link);
                (head + self.pipeline, slowest)
            }
            Way::Nics(links) => {
                // A NIC sends what it has received whole.
                let mut packet = pass((head + slowest, 0), self.host_cable, host);
                for _ in 0..links {
                    packet = pass((packet.0 + self.pipeline + self.traversal, packet.1), self.cable, link);
                }
                pass((packet.0 + self.pipeline + self.traversal, packet.1), self.host_cable, host)
            }
        }
    }
}

/// The rail that reduces: one at most.
fn reducing<'m>(machine: &'m Machine, topologies: &'m [Topology]) -> Option<(&'m RailSpec, &'m ReductionSpec, &'m Topology)> {
    machine.rails.iter().zip(topologies).find_map(|(rail, topology)| Some((rail, rail.reduction.as_ref()?, topology)))
}

#[cfg(test)]
mod tests;
