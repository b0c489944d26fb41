//! How routers are connected, and which routes packets take.
//!
//! Routes follow from the source, the destination, numbers in the header that the NIC chooses, and a [`Path`] that the network chooses at the
//! first router, where it knows the queues and the failed links. None deadlocks, because in each scheme the lanes (links by virtual channels) can be ordered so that every packet asks for ever
//! greater ones, or, with bubbles, because a ring never fills. Each file says why; the tests walk all routes of small networks
//! and look for a cycle.

mod dragonfly;
mod fat_tree;
mod fit;
mod graph;
mod grid;
mod places;
#[cfg(test)]
mod tests;

use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{MeshSpec, TopologySpec, TorusSpec};

use dragonfly::Dragonfly;
use fat_tree::FatTree;
use graph::Graph;
use grid::Grid;

/// What routers know of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoutingHeader {
    /// The terminal it goes to.
    pub(crate) to: u32,
    /// A random number that is the same for all packets of an operation, or of what else keeps to one route.
    pub(crate) salt: u32,
    /// Another, for detours.
    pub(crate) via: u32,
    /// What the topology notes from router to router; zero at first.
    pub(crate) stage: u8,
    pub(crate) path: Path,
}

impl RoutingHeader {
    pub(crate) fn new(to: u32, salt: u32, via: u32) -> Self {
        Self { to, salt, via, stage: 0, path: Path::Open }
    }
}

/// Which of its routes a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// The usual one, unless the first router chooses another.
    Open,
    /// The usual one.
    Usual,
    /// In a dragonfly by the group that `via` names, in a fat tree upward as `salt` says.
    Detour,
}

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// A link by its number within the topology, or none where the packet leaves to its terminal.
    pub(crate) link: Option<u32>,
    /// The first virtual channel it may take, and how many.
    pub(crate) vc: u8,
    pub(crate) vcs: u8,
    pub(crate) ring: Ring,
}

/// What a packet does about a ring that must not fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ring {
    /// There is none.
    None,
    /// It enters, and leaves room for another.
    Enters,
    /// It goes on, and takes what room there is.
    Stays,
}

impl Hop {
    /// To the terminal, over any virtual channel.
    fn out(vcs: u8) -> Self {
        Self { link: None, vc: 0, vcs, ring: Ring::None }
    }

    fn over(link: u32, vc: u8, vcs: u8) -> Self {
        Self { link: Some(link), vc, vcs, ring: Ring::None }
    }
}

/// A link from one router to another. One that leads back to its router is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Routers, links, and the choice of links.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// One router; no packet goes from router to router.
    Star,
    FatTree(FatTree),
    Grid(Grid),
    Dragonfly(Dragonfly),
    Graph(Graph),
}

impl Topology {
    /// The topology of a rail, large enough for `nodes` nodes.
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
            TopologySpec::Graph(spec) => Self::Graph(Graph::new(spec, rail, nodes)?),
        };
        let least = topology.vcs_min();
        if rail.router.vcs < least {
            let vcs = rail.router.vcs;
            return Err(MachineError::new(format!(
                "rail.router.vcs = {vcs}: this topology needs at least {least} to be free of deadlock"
            )));
        }
        Ok(topology)
    }

    /// A value of the topology, by its key, with which it would be large enough for `nodes` nodes; `None` if no single one is enough.
    pub(crate) fn larger(rail: &RailSpec, nodes: u32) -> Option<(&'static str, String)> {
        let (key, value) = match &rail.topology {
            TopologySpec::FatTree(spec) => ("down", spec.larger(nodes * rail.count)?),
            TopologySpec::Torus(TorusSpec { dimensions, .. }) | TopologySpec::Mesh(MeshSpec { dimensions, .. }) => {
                // As many as the nodes need.
                ("dimensions", format!("{:?}", vec![0; dimensions.len()]))
            }
            TopologySpec::Dragonfly(spec) => spec.larger(nodes)?,
            TopologySpec::Graph(spec) => ("nodes_per_router", spec.larger(nodes)?),
            _ => return None,
        };
        Some((key, value))
    }

    /// Virtual channels without which packets could wait for each other in a circle.
    fn vcs_min(&self) -> u8 {
        match self {
            Self::Star | Self::FatTree(_) => 1,
            Self::Grid(grid) => grid.vcs_min(),
            Self::Dragonfly(dragonfly) => dragonfly.vcs_min(),
            Self::Graph(graph) => graph.vcs_min(),
        }
    }

    /// Whether packets claim buffers as if all were of the largest size, which bubbles need.
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
            Self::Graph(graph) => graph.router(terminal),
        }
    }

    /// All links, in the order of their numbers.
    pub(crate) fn links(&self) -> Vec<Link> {
        match self {
            Self::Star => Vec::new(),
            Self::FatTree(tree) => tree.links(),
            Self::Grid(grid) => grid.links(),
            Self::Dragonfly(dragonfly) => dragonfly.links(),
            Self::Graph(graph) => graph.links(),
        }
    }

    /// Whether the first router chooses between the usual route and a detour by the queues before them, and by which.
    pub(crate) fn adapts(&self) -> Option<Queues> {
        match self {
            Self::Dragonfly(dragonfly) => dragonfly.adapts(),
            _ => None,
        }
    }

    /// Whether routes other than the usual one exist.
    pub(crate) fn has_detours(&self) -> bool {
        match self {
            Self::FatTree(_) => true,
            Self::Dragonfly(dragonfly) => dragonfly.has_detours(),
            _ => false,
        }
    }

    /// Whether a link leads to another group of a dragonfly.
    pub(crate) fn is_global(&self, link: u32) -> bool {
        matches!(self, Self::Dragonfly(dragonfly) if dragonfly.is_global(link))
    }

    /// Whether routers choose among links up.
    pub(crate) fn chooses_links(&self) -> bool {
        matches!(self, Self::FatTree(tree) if tree.chooses_links())
    }

    /// Links up that a packet may take from a router, the first and how many, where the one with the shortest queue is taken.
    #[inline]
    pub(crate) fn choices(&self, at: u32, header: &RoutingHeader) -> Option<(u32, u32)> {
        match self {
            Self::FatTree(tree) => tree.choices(at, header),
            _ => None,
        }
    }

    /// The next hop of a packet that is at a router of `vcs` virtual channels.
    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        match self {
            Self::Star => Hop::out(vcs),
            Self::FatTree(tree) => tree.route(at, header, vcs),
            Self::Grid(grid) => grid.route(at, header, vcs),
            Self::Dragonfly(dragonfly) => dragonfly.route(at, header, vcs),
            Self::Graph(graph) => graph.route(at, header, vcs),
        }
    }
}

/// The queues that an adaptive choice of a route looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queues {
    /// Those of the first router.
    Local,
    /// Those of the links between groups of the first group.
    Global,
}

/// Routers that are needed so that each has the NICs of `per_router` nodes.
fn routers_for(nodes: u32, per_router: u32) -> Result<u32, MachineError> {
    if per_router == 0 {
        return Err(MachineError::new("rail.topology.nodes_per_router = 0: must be at least 1".into()));
    }
    Ok(nodes.div_ceil(per_router))
}

/// Routers or links of a topology at most.
const PARTS_MAX: u64 = 1 << 28;

/// `parts`, if a topology may have so many.
fn bounded(parts: Option<u64>) -> Result<u32, MachineError> {
    match parts {
        Some(parts) if parts < PARTS_MAX => Ok(parts as u32),
        _ => Err(MachineError::new(format!("rail.topology: too many links; at most {PARTS_MAX} are possible"))),
    }
}
