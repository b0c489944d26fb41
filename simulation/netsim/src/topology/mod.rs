//! The connections of routers, and the routes of packets.
//!
//! The route of a packet follows from the source, the destination, numbers in the header that the NIC chooses, and a [`Path`] that the network
//! chooses at the first router, where it knows the queues and the failed links. No scheme deadlocks: either the lanes (links by virtual channels)
//! can be ordered so that every packet asks for lanes in ascending order, or, with bubbles, a ring never fills. Each file gives the reason; the
//! tests walk all routes of small networks and search for a cycle.

mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod field;
mod fit;
mod graph;
mod grid;
mod groups;
mod hyperx;
mod places;
mod regions;
mod slim_fly;
#[cfg(test)]
mod tests;

use crate::machine::spec::{HOPS_MAX, RailSpec, Spread};
use crate::machine::topologies::{HyperxSpec, MeshSpec, TopologySpec, TorusSpec};
use crate::machine::{MachineError, picoseconds};

use dragonfly::Dragonfly;
use dragonfly_plus::DragonflyPlus;
use fat_tree::FatTree;
use graph::Graph;
use grid::Grid;
use hyperx::Hyperx;
use slim_fly::SlimFly;

/// The part of a packet that routers read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutingHeader {
    /// The destination terminal.
    pub(crate) to: u32,
    /// A random number that is equal for all packets that must take one route, such as those of one operation.
    pub(crate) salt: u32,
    /// Another random number, for detours.
    pub(crate) via: u32,
    /// State of the topology that is passed from router to router; zero at first.
    pub(crate) stage: u8,
    pub(crate) path: Path,
    /// Number of times that the operation was repeated: each time, other routes around failed links are tried.
    pub(crate) attempt: u8,
}

impl RoutingHeader {
    pub(crate) fn new(to: u32, salt: u32, via: u32) -> Self {
        Self { to, salt, via, stage: 0, path: Path::Open, attempt: 0 }
    }
}

/// The choice among the possible routes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Not chosen yet: the usual route, unless the topology or the first router chooses another.
    Open,
    /// The usual route.
    Usual,
    /// A detour: in a dragonfly and a dragonfly+ through the group that `via` names, in a HyperX and a slim fly through the router that `via` names, in a fat tree over
    /// the up links that `salt` selects.
    Detour,
    /// In a dragonfly, a detour that began at the second router.
    LateDetour,
    /// A detour around failed links: as `Detour`, and between two routers of a group of a dragonfly over the router of the group that `via` names.
    Around,
}

impl Path {
    /// Whether the packet makes a detour; if the route is not chosen yet, whether it makes one `by_default`.
    fn detours(self, by_default: bool) -> bool {
        match self {
            Self::Detour | Self::LateDetour | Self::Around => true,
            Self::Usual => false,
            Self::Open => by_default,
        }
    }
}

/// The next hop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// The number of the link within the topology; `None` if the packet leaves to its terminal.
    pub(crate) link: Option<u32>,
    /// The first virtual channel it may take, and the number of virtual channels.
    pub(crate) vc: u8,
    pub(crate) vcs: u8,
    pub(crate) ring: Ring,
}

/// The position of a packet relative to a ring that must not fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// The packet uses no such ring.
    None,
    /// The packet enters the ring, and must leave room for another.
    Enters,
    /// The packet stays in the ring, and may take any room.
    Stays,
}

impl Hop {
    /// The hop to the terminal, over any virtual channel.
    fn out(vcs: u8) -> Self {
        Self { link: None, vc: 0, vcs, ring: Ring::None }
    }

    fn over(link: u32, vc: u8, vcs: u8) -> Self {
        Self { link: Some(link), vc, vcs, ring: Ring::None }
    }
}

/// A link from one router to another. A link from a router to itself stands for an absent link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Link {
    /// Whether it stands for an absent link.
    pub(crate) fn is_absent(self) -> bool {
        self.from == self.to
    }
}

/// Routers, links, and the choice of links.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// One router; no packet goes from router to router.
    Star,
    FatTree(FatTree),
    Grid(Grid),
    Dragonfly(Dragonfly),
    DragonflyPlus(DragonflyPlus),
    Hyperx(Hyperx),
    SlimFly(SlimFly),
    Graph(Graph),
}

impl Topology {
    /// Makes the topology of a rail, large enough for `nodes` nodes.
    pub(crate) fn new(rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let terminals = nodes * rail.count;
        let topology = match &rail.topology {
            TopologySpec::Star {} => Self::Star,
            TopologySpec::FatTree(spec) => Self::FatTree(FatTree::new(spec, terminals)?),
            TopologySpec::Torus(spec) => Self::Grid(Grid::torus(spec, rail, nodes)?),
            TopologySpec::Mesh(spec) => Self::Grid(Grid::mesh(spec, rail, nodes)?),
            TopologySpec::Ring(spec) => Self::Grid(Grid::ring(spec, rail, nodes, 1)?),
            TopologySpec::DoubleRing(spec) => Self::Grid(Grid::ring(spec, rail, nodes, 2)?),
            TopologySpec::Dragonfly(spec) => Self::Dragonfly(Dragonfly::new(spec, rail, nodes)?),
            TopologySpec::DragonflyPlus(spec) => Self::DragonflyPlus(DragonflyPlus::new(spec, rail, nodes)?),
            TopologySpec::Hyperx(spec) => Self::Hyperx(Hyperx::new(spec, rail, nodes)?),
            TopologySpec::SlimFly(spec) => Self::SlimFly(SlimFly::new(spec, rail, nodes)?),
            TopologySpec::Graph(spec) => Self::Graph(Graph::new(spec, rail, nodes)?),
        };
        let least = topology.vcs_min();
        if rail.router.vcs < least {
            let vcs = rail.router.vcs;
            return Err(MachineError::new(format!(
                "rail.router.vcs = {vcs}: this topology needs at least {least} to be free of deadlock: set rail.router.vcs={least}"
            )));
        }
        if rail.has_telemetry() {
            topology.check_telemetry(rail)?;
        }
        Ok(topology)
    }

    /// Checks that packets of a pair of NICs keep to one route for some time, and that each of its routers can write into them.
    fn check_telemetry(&self, rail: &RailSpec) -> Result<(), MachineError> {
        let hops = self.steps_max() + 1;
        let problem = match hops > HOPS_MAX {
            true => format!("a route passes through up to {hops} routers, the telemetry has room for {HOPS_MAX}"),
            false if Self::chooses_by_queues(&rail.topology) => {
                "compares packets of one route, so that topology.routes must not depend on queues".into()
            }
            false => return Ok(()),
        };
        Err(MachineError::new(format!("rail.congestion.control = \"hpcc\": {problem}")))
    }

    /// Returns the time in picoseconds from which a packet behind a missing one tells of a loss, because packets of an operation keep to one route and
    /// one virtual channel; `u64::MAX` if packets of an operation may overtake each other, or if none is lost.
    pub(crate) fn in_order_from(rail: &RailSpec) -> u64 {
        if !rail.lossy() || rail.nic.spread == Spread::Packet || Self::chooses_by_queues(&rail.topology) {
            return u64::MAX;
        }
        let first_failure = rail.failure.iter().map(|failure| picoseconds(failure.at_ns)).min();
        first_failure.filter(|_| !rail.loses_always()).unwrap_or(0)
    }

    /// Returns a key of the topology and a value with which it would be large enough for `nodes` nodes; `None` if no single value is enough.
    pub(crate) fn larger(rail: &RailSpec, nodes: u32) -> Option<(&'static str, String)> {
        let (key, value) = match &rail.topology {
            TopologySpec::FatTree(spec) => ("down", spec.larger(nodes * rail.count)?),
            TopologySpec::Torus(TorusSpec { dimensions, .. })
            | TopologySpec::Mesh(MeshSpec { dimensions, .. })
            | TopologySpec::Hyperx(HyperxSpec { dimensions, .. }) => {
                // 0 stands for as many as the nodes need.
                ("dimensions", format!("{:?}", vec![0; dimensions.len()]))
            }
            TopologySpec::Dragonfly(spec) => spec.larger(nodes)?,
            TopologySpec::DragonflyPlus(spec) => spec.larger(nodes)?,
            TopologySpec::SlimFly(spec) => ("q", spec.larger(nodes)?),
            TopologySpec::Graph(spec) => ("nodes_per_router", spec.larger(nodes)?),
            _ => return None,
        };
        Some((key, value))
    }

    /// The smallest number of virtual channels that excludes a cycle of waiting packets.
    fn vcs_min(&self) -> u8 {
        match self {
            Self::Star | Self::FatTree(_) => 1,
            Self::Grid(grid) => grid.vcs_min(),
            Self::Dragonfly(dragonfly) => dragonfly.vcs_min(),
            Self::DragonflyPlus(plus) => plus.vcs_min(),
            Self::Hyperx(hyperx) => hyperx.vcs_min(),
            Self::SlimFly(slim_fly) => slim_fly.vcs_min(),
            Self::Graph(graph) => graph.vcs_min(),
        }
    }

    /// Returns a number of links between routers that no route exceeds.
    pub(crate) fn steps_max(&self) -> u32 {
        match self {
            Self::Star => 0,
            Self::FatTree(tree) => tree.steps_max(),
            Self::Grid(grid) => grid.steps_max(),
            Self::Dragonfly(dragonfly) => dragonfly.steps_max(),
            Self::DragonflyPlus(plus) => plus.steps_max(),
            Self::Hyperx(hyperx) => hyperx.steps_max(),
            Self::SlimFly(slim_fly) => slim_fly.steps_max(),
            Self::Graph(graph) => graph.steps_max(),
        }
    }

    /// Whether each packet claims buffer space for the largest packet, which bubbles need.
    pub(crate) fn claims_whole_buffers(&self) -> bool {
        matches!(self, Self::Grid(grid) if grid.has_bubbles())
    }

    /// The router of a terminal.
    pub(crate) fn router(&self, terminal: u32) -> u32 {
        match self {
            Self::Star => 0,
            Self::FatTree(tree) => tree.router(terminal),
            Self::Grid(grid) => grid.router(terminal),
            Self::Dragonfly(dragonfly) => dragonfly.router(terminal),
            Self::DragonflyPlus(plus) => plus.router(terminal),
            Self::Hyperx(hyperx) => hyperx.router(terminal),
            Self::SlimFly(slim_fly) => slim_fly.router(terminal),
            Self::Graph(graph) => graph.router(terminal),
        }
    }

    /// The number of routers, of those with links or with one of `terminals` terminals.
    pub(crate) fn routers(&self, terminals: u32) -> u32 {
        self.routers_of(&self.links(), terminals)
    }

    /// As [`routers`](Self::routers), with the links of the topology.
    pub(crate) fn routers_of(&self, links: &[Link], terminals: u32) -> u32 {
        let of_terminals = (0..terminals).map(|terminal| self.router(terminal));
        let linked = links.iter().flat_map(|link| [link.from, link.to]);
        linked.chain(of_terminals).max().map_or(0, |last| last + 1)
    }

    /// All links, in the order of their numbers.
    pub(crate) fn links(&self) -> Vec<Link> {
        match self {
            Self::Star => Vec::new(),
            Self::FatTree(tree) => tree.links(),
            Self::Grid(grid) => grid.links(),
            Self::Dragonfly(dragonfly) => dragonfly.links(),
            Self::DragonflyPlus(plus) => plus.links(),
            Self::Hyperx(hyperx) => hyperx.links(),
            Self::SlimFly(slim_fly) => slim_fly.links(),
            Self::Graph(graph) => graph.links(),
        }
    }

    /// The number of all links.
    pub(crate) fn link_count(&self) -> u64 {
        match self {
            Self::Star => 0,
            Self::FatTree(tree) => tree.link_count(),
            Self::Grid(grid) => grid.link_count(),
            Self::Dragonfly(dragonfly) => dragonfly.link_count(),
            Self::DragonflyPlus(plus) => plus.link_count(),
            Self::Hyperx(hyperx) => hyperx.link_count(),
            Self::SlimFly(slim_fly) => slim_fly.link_count(),
            Self::Graph(graph) => graph.link_count(),
        }
    }

    /// The memory of the tables that all copies of the topology share.
    pub(crate) fn table_bytes(&self) -> u64 {
        if let Self::Graph(graph) = self { graph.table_bytes() } else { 0 }
    }

    /// The queues by which the first router chooses between the usual route and a detour; `None` if it does not choose.
    pub(crate) fn adapts(&self) -> Option<Queues> {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.adapts(),
            Self::DragonflyPlus(plus) => plus.adapts(),
            Self::Hyperx(hyperx) => hyperx.adapts(),
            Self::SlimFly(slim_fly) => slim_fly.adapts(),
            _ => None,
        }
    }

    /// Returns the detour to which a packet on its usual route may change at a router behind its first one; `None` if it may not.
    pub(crate) fn late_detour(&self, at: u32, header: &RoutingHeader) -> Option<Path> {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.late_detour(at, header),
            Self::DragonflyPlus(plus) => plus.late_detour(at, header),
            _ => None,
        }
    }

    /// Whether routes other than the usual one exist.
    pub(crate) fn has_detours(&self) -> bool {
        match self {
            Self::FatTree(_) => true,
            Self::Dragonfly(dragonfly) => dragonfly.has_detours(),
            Self::DragonflyPlus(plus) => plus.has_detours(),
            Self::Hyperx(hyperx) => hyperx.has_detours(),
            Self::SlimFly(slim_fly) => slim_fly.has_detours(),
            _ => false,
        }
    }

    /// Whether a link leads to another group of a dragonfly or a dragonfly+.
    pub(crate) fn is_global(&self, link: u32) -> bool {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.is_global(link),
            Self::DragonflyPlus(plus) => plus.is_global(link),
            _ => false,
        }
    }

    /// Whether routers choose among up links.
    pub(crate) fn chooses_links(&self) -> bool {
        matches!(self, Self::FatTree(tree) if tree.chooses_links())
    }

    /// The first up link that a packet may take from a router, and the number of them, if the shortest queue decides.
    #[inline]
    pub(crate) fn choices(&self, at: u32, header: &RoutingHeader) -> Option<(u32, u32)> {
        match self {
            Self::FatTree(tree) => tree.choices(at, header),
            _ => None,
        }
    }

    /// Returns the next hop of a packet at a router of `vcs` virtual channels.
    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        match self {
            Self::Star => Hop::out(vcs),
            Self::FatTree(tree) => tree.route(at, header, vcs),
            Self::Grid(grid) => grid.route(at, header, vcs),
            Self::Dragonfly(dragonfly) => dragonfly.route(at, header, vcs),
            Self::DragonflyPlus(plus) => plus.route(at, header, vcs),
            Self::Hyperx(hyperx) => hyperx.route(at, header, vcs),
            Self::SlimFly(slim_fly) => slim_fly.route(at, header, vcs),
            Self::Graph(graph) => graph.route(at, header, vcs),
        }
    }
}

/// The queues that decide an adaptive choice of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queues {
    /// Those of the first router.
    Local,
    /// Those of the links from the first group to other groups.
    Global,
}

/// Returns the number of routers needed for `nodes` nodes, with `per_router` nodes each.
fn routers_for(nodes: u32, per_router: u32) -> Result<u32, MachineError> {
    if per_router == 0 {
        return Err(MachineError::new("rail.topology.nodes_per_router = 0: must be at least 1".into()));
    }
    Ok(nodes.div_ceil(per_router))
}

/// Maximum number of routers or links of a topology.
const PARTS_MAX: u64 = 1 << 28;

/// Returns `parts` if it is below [`PARTS_MAX`].
fn bounded(parts: Option<u64>) -> Result<u32, MachineError> {
    match parts {
        Some(parts) if parts < PARTS_MAX => Ok(parts as u32),
        _ => Err(MachineError::new(format!("rail.topology: too many links; at most {PARTS_MAX} are possible"))),
    }
}
