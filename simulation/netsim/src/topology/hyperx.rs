//! HyperX networks: routers at the points of a grid, each linked to all others of its row in every dimension. One dimension is a full mesh, two or
//! more a flattened butterfly, dimensions of two routers a hypercube (Ahn, Binkert, Davis, McLaren, Schreiber: *HyperX: Topology, Routing, and
//! Packaging of Efficient Large-Scale Networks*, SC 2009).
//!
//! A minimal route has at most one link in each dimension, in the order of the dimensions. Valiant's route is a minimal one to a router that is chosen
//! at random, and a minimal one from there. UGAL-L takes the minimal route unless its first queue times its number of links exceeds that of
//! Valiant's. The operation's random number selects one of several links between two routers.
//!
//! No deadlock: lanes are ordered by the part of the route, to the intermediate router or from it, and then by dimension. Either part has its own
//! virtual channels. A packet takes at most one link of each dimension in either part.

use super::grid::fitted;
use super::{Hop, Link, Queues, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DirectRoutes, HyperxSpec};

/// Maximum number of dimensions.
const DIMENSIONS_MAX: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Dimension {
    length: u32,
    /// The difference of the numbers of neighbours.
    stride: u32,
    /// Number of links between each pair of routers of a row.
    copies: u32,
    /// The first port of a router in this dimension.
    port: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Hyperx {
    dimensions: Vec<Dimension>,
    routers: u32,
    /// Number of links from a router to others.
    ports: u32,
    terminals_per_router: u32,
    routes: DirectRoutes,
}

impl Hyperx {
    pub(crate) fn new(spec: &HyperxSpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let lengths = &spec.dimensions;
        let copies = spec.links_per_pair.clone().unwrap_or_else(|| vec![1; lengths.len()]);
        if lengths.is_empty() || lengths.len() > DIMENSIONS_MAX {
            return Err(MachineError::new(format!(
                "rail.topology.dimensions = {lengths:?}: must be 1 to {DIMENSIONS_MAX} numbers"
            )));
        }
        if copies.len() != lengths.len() || copies.contains(&0) {
            return Err(MachineError::new(format!(
                "rail.topology.links_per_pair = {copies:?}: must be a number for each of {} dimensions, each at least 1",
                lengths.len()
            )));
        }
        let needed = routers_for(nodes, spec.nodes_per_router)?;
        let lengths = fitted(lengths, needed)?;
        let (mut dimensions, mut routers, mut ports) = (Vec::new(), 1, 0);
        for (&length, copies) in lengths.iter().zip(copies) {
            dimensions.push(Dimension { length, stride: routers, copies, port: ports });
            routers = bounded(u64::from(routers).checked_mul(u64::from(length)))?;
            ports = bounded(u64::from(length - 1).checked_mul(copies.into()).map(|more| more + u64::from(ports)))?;
        }
        if routers < needed {
            return Err(MachineError::new(format!(
                "nodes = {nodes}: do not fit in the {routers} routers of rail.topology.dimensions = {lengths:?}"
            )));
        }
        bounded(u64::from(routers).checked_mul(ports.into()))?;
        let terminals_per_router = spec.nodes_per_router.min(nodes) * rail.count;
        Ok(Self { dimensions, routers, ports, terminals_per_router, routes: spec.routes })
    }

    /// Number of routers of a row of the first dimension, which have consecutive numbers.
    pub(super) fn row(&self) -> u32 {
        self.dimensions[0].length
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        1 + u8::from(self.has_detours())
    }

    pub(crate) fn adapts(&self) -> Option<Queues> {
        (self.routes == DirectRoutes::UgalL).then_some(Queues::Local)
    }

    pub(crate) fn has_detours(&self) -> bool {
        self.routes != DirectRoutes::Minimal && self.routers > 2
    }

    pub(crate) fn steps_max(&self) -> u32 {
        let direct = self.dimensions.iter().filter(|dimension| dimension.length > 1).count() as u32;
        if self.has_detours() { 2 * direct } else { direct }
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.terminals_per_router
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let along = |from: u32, Dimension { length, stride, copies, .. }: Dimension| {
            let here = from / stride % length;
            let others = (0..length).filter(move |&there| there != here);
            let link = move |there: u32| Link { from, to: from - here * stride + there * stride };
            others.flat_map(move |there| (0..copies).map(move |_| link(there)))
        };
        (0..self.routers).flat_map(|from| self.dimensions.iter().flat_map(move |&dimension| along(from, dimension))).collect()
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.routers) * u64::from(self.ports)
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = header.to / self.terminals_per_router;
        if at == to {
            return Hop::out(vcs);
        }
        let each = vcs / self.vcs_min();
        if header.stage == 0 && self.has_detours() && header.path.detours(self.routes == DirectRoutes::Valiant) {
            if let Some(link) = self.toward(at, header.via % self.routers, header.salt) {
                return Hop::over(link, 0, each);
            }
            header.stage = 1;
        }
        Hop { link: self.toward(at, to, header.salt), ..Hop::over(0, header.stage * each, each) }
    }

    /// Returns the first link of the minimal route to another router; `None` to the same router.
    fn toward(&self, at: u32, goal: u32, salt: u32) -> Option<u32> {
        let (mut from, mut to) = (at, goal);
        for &Dimension { length, copies, port, .. } in &self.dimensions {
            let (here, there) = (from % length, to % length);
            if here != there {
                let other = there - u32::from(there > here);
                return Some(at * self.ports + port + other * copies + salt % copies);
            }
            (from, to) = (from / length, to / length);
        }
        None
    }
}
