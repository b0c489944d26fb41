//! Meshes and tori of any dimension, and rings.
//!
//! Packets go along the first dimension until they reach the coordinate of their destination, then along the second, and so on.
//! In a ring they take the shorter direction; if both are equal, the operation's random number decides.
//!
//! No deadlock: along a line, lanes are ordered in either direction, and no packet returns to an earlier dimension. A ring needs
//! an additional scheme:
//!
//! - *dateline*: the virtual channels are divided into two halves. A packet whose route crosses the end of the ring uses the second
//!   half from its entry, any other packet the first. The first half is a line. So is the second: a route is at most half a ring
//!   long and crosses the end, so that no two links about the middle follow each other on it.
//! - *bubble*: a packet enters a ring only where it leaves room for another in the buffer, and keeps its virtual channel there.
//!   Each ring therefore keeps room for one packet, wherever that room moves. Buffer space is claimed in units of the largest
//!   packet, so that the room is not split.

use super::{Hop, Link, Ring, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DeadlockAvoidance, MeshSpec, RingSpec, TorusSpec};

/// Maximum number of dimensions. A packet stores its remaining dimensions in 8 bits.
const DIMENSIONS_MAX: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Dimension {
    length: u32,
    /// The difference of the numbers of neighbours.
    stride: u32,
    ring: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Grid {
    dimensions: Vec<Dimension>,
    routers: u32,
    terminals_per_router: u32,
    deadlock: DeadlockAvoidance,
}

impl Grid {
    pub(crate) fn torus(spec: &TorusSpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let rings = spec.rings.clone().unwrap_or_else(|| vec![true; spec.dimensions.len()]);
        Self::new(&spec.dimensions, &rings, spec.nodes_per_router, spec.deadlock, rail, nodes)
    }

    pub(crate) fn mesh(spec: &MeshSpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let rings = vec![false; spec.dimensions.len()];
        Self::new(&spec.dimensions, &rings, spec.nodes_per_router, DeadlockAvoidance::Dateline, rail, nodes)
    }

    pub(crate) fn ring(spec: &RingSpec, rail: &RailSpec, nodes: u32, rings: u32) -> Result<Self, MachineError> {
        let dimensions = if rings == 1 { vec![0] } else { vec![0, rings] };
        let closed = if rings == 1 { vec![true] } else { vec![true, false] };
        Self::new(&dimensions, &closed, spec.nodes_per_router, spec.deadlock, rail, nodes)
    }

    fn new(
        lengths: &[u32],
        rings: &[bool],
        nodes_per_router: u32,
        deadlock: DeadlockAvoidance,
        rail: &RailSpec,
        nodes: u32,
    ) -> Result<Self, MachineError> {
        if lengths.is_empty() || lengths.len() > DIMENSIONS_MAX || rings.len() != lengths.len() {
            return Err(MachineError::new(format!(
                "rail.topology.dimensions = {lengths:?}: must be 1 to {DIMENSIONS_MAX} numbers, with as many in rings"
            )));
        }
        let needed = routers_for(nodes, nodes_per_router)?;
        let lengths = fitted(lengths, needed)?;
        let mut dimensions = Vec::new();
        let mut routers = 1;
        for (&length, &ring) in lengths.iter().zip(rings) {
            // A ring of two routers would have the same link twice.
            dimensions.push(Dimension { length, stride: routers, ring: ring && length > 2 });
            routers = bounded(u64::from(routers).checked_mul(u64::from(length)))?;
        }
        if routers < needed {
            return Err(MachineError::new(format!(
                "nodes = {nodes}: do not fit in the {routers} routers of rail.topology.dimensions = {lengths:?}"
            )));
        }
        bounded(u64::from(routers).checked_mul(2 * lengths.len() as u64))?;
        let grid = Self { dimensions, routers, terminals_per_router: nodes_per_router.min(nodes) * rail.count, deadlock };
        if grid.has_bubbles() && u64::from(rail.router.buffer_bytes) < 2 * u64::from(rail.packet_bytes_max()) {
            return Err(MachineError::new(format!(
                "rail.router.buffer_bytes = {}: deadlock = \"bubble\" needs room for two packets, {}",
                rail.router.buffer_bytes,
                2 * rail.packet_bytes_max()
            )));
        }
        Ok(grid)
    }

    /// Routers along each dimension.
    pub(super) fn lengths(&self) -> Vec<u32> {
        self.dimensions.iter().map(|dimension| dimension.length).collect()
    }

    pub(crate) fn has_bubbles(&self) -> bool {
        self.deadlock == DeadlockAvoidance::Bubble && self.dimensions.iter().any(|dimension| dimension.ring)
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        let datelines = self.deadlock == DeadlockAvoidance::Dateline && self.dimensions.iter().any(|dimension| dimension.ring);
        1 + u8::from(datelines)
    }

    pub(crate) fn steps_max(&self) -> u32 {
        self.dimensions.iter().map(|&Dimension { length, ring, .. }| if ring { length / 2 } else { length - 1 }).sum()
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.terminals_per_router
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let neighbour = |from: u32, Dimension { length, stride, ring }: Dimension, forward: bool| {
            let place = from / stride % length;
            let (end, onward, back) = if forward { (length - 1, stride, 0) } else { (0, 0, stride) };
            match place == end {
                false => from + onward - back,
                true if !ring => from,
                true if forward => from - (length - 1) * stride,
                true => from + (length - 1) * stride,
            }
        };
        (0..self.routers)
            .flat_map(|from| self.dimensions.iter().flat_map(move |&along| [(from, along, true), (from, along, false)]))
            .map(|(from, along, forward)| Link { from, to: neighbour(from, along, forward) })
            .collect()
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.routers) * 2 * self.dimensions.len() as u64
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let (mut from, mut to) = (at, header.to / self.terminals_per_router);
        for (number, &Dimension { length, ring, .. }) in self.dimensions.iter().enumerate() {
            let (here, there) = (from % length, to % length);
            if here == there {
                (from, to) = (from / length, to / length);
                continue;
            }
            // Whether the packet already moves along this dimension; the stage then holds the half of the channels and the direction.
            let begun = header.stage >> 2 == number as u8 + 1;
            if !begun {
                let ahead = if there > here { there - here } else { there + length - here };
                let forward = match (ring, 2 * ahead) {
                    (false, _) => there > here,
                    (true, twice) if twice == length => header.salt >> number & 1 == 0,
                    (true, twice) => twice < length,
                };
                let wraps = ring && forward != (there > here);
                header.stage = (number as u8 + 1) << 2 | u8::from(wraps) << 1 | u8::from(forward);
            }
            let (wraps, forward) = (header.stage & 2 != 0, header.stage & 1 != 0);
            let link = (at * self.dimensions.len() as u32 + number as u32) * 2 + u32::from(!forward);
            return match self.deadlock {
                _ if !ring => Hop::over(link, 0, vcs),
                DeadlockAvoidance::Dateline if wraps => Hop::over(link, vcs - vcs / 2, vcs / 2),
                DeadlockAvoidance::Dateline => Hop::over(link, 0, vcs - vcs / 2),
                DeadlockAvoidance::Bubble => {
                    let vc = (header.salt >> 8) % u32::from(vcs);
                    Hop { link: Some(link), vc: vc as u8, vcs: 1, ring: if begun { Ring::Stays } else { Ring::Enters } }
                }
            };
        }
        Hop::out(vcs)
    }
}

/// Replaces the lengths that are 0 by sufficiently large ones that are as equal as possible.
pub(super) fn fitted(lengths: &[u32], needed: u32) -> Result<Vec<u32>, MachineError> {
    let given =
        lengths.iter().filter(|&&length| length > 0).try_fold(1u64, |product, &length| product.checked_mul(length.into()));
    let mut rest = needed.div_ceil(bounded(given)?);
    let mut open = lengths.iter().filter(|&&length| length == 0).count() as u32;
    Ok(lengths
        .iter()
        .map(|&length| match length {
            0 => {
                let length = (1..).find(|&length| u64::pow(length, open) >= u64::from(rest)).unwrap_or(1) as u32;
                open -= 1;
                rest = rest.div_ceil(length);
                length
            }
            length => length,
        })
        .collect())
}
