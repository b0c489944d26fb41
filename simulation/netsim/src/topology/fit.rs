//! Whether a machine has room for a number of nodes, and changes of its description that would make room.

use super::Topology;
use crate::events::ENTITIES_MAX;
use crate::machine::spec::RailSpec;
use crate::machine::{Machine, MachineError};

/// Maximum number of nodes of a machine. Each node takes some hundred bytes.
const NODES_MAX: u32 = 1 << 24;

impl Machine {
    /// Checks whether the description permits `nodes` nodes. Takes no memory per node; a graph computes its routes.
    ///
    /// # Errors
    ///
    /// The description does not permit them: one line with the reason.
    pub fn check_nodes(&self, nodes: u32) -> Result<(), MachineError> {
        self.topologies(nodes).map(drop)
    }

    /// Returns the topology of each rail, large enough for `nodes` nodes.
    ///
    /// # Errors
    ///
    /// As [`check_nodes`](Self::check_nodes).
    pub(crate) fn topologies(&self, nodes: u32) -> Result<Vec<Topology>, MachineError> {
        if nodes == 0 || nodes > NODES_MAX {
            return Err(MachineError::new(format!("nodes = {nodes}: must be from 1 to {NODES_MAX}")));
        }
        if nodes > 1 && self.rails.is_empty() {
            let name = &self.name;
            return Err(MachineError::new(format!("nodes = {nodes}: must be 1, as {name} has no network ([[rail]])")));
        }
        let has_room = |rail: &RailSpec| nodes.checked_mul(rail.count).is_some_and(|nics| nics < ENTITIES_MAX);
        if !self.rails.iter().all(has_room) {
            return Err(MachineError::too_many(nodes));
        }
        let topologies = self.rails.iter().map(|rail| Topology::new(rail, nodes)).collect::<Result<Vec<_>, _>>()?;
        let lanes: u64 = self.rails.iter().zip(&topologies).map(|(rail, topology)| rail.parts(topology, nodes).1).sum();
        if lanes < u64::from(ENTITIES_MAX) { Ok(topologies) } else { Err(MachineError::too_many(nodes)) }
    }

    /// Returns the largest number of nodes that the description permits; 0 if it permits none.
    pub fn nodes_max(&self) -> u32 {
        let (mut fits, mut too_many) = (0, NODES_MAX + 1);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            *(if self.check_nodes(middle).is_ok() { &mut fits } else { &mut too_many }) = middle;
        }
        fits
    }

    /// Returns changes of the description, each a path and a value, with which the networks would be large enough for `nodes` nodes; none for a
    /// network that is large enough, or if no single value is enough.
    pub fn larger(&self, nodes: u32) -> Vec<(String, String)> {
        let changes = self.rails.iter().enumerate().filter_map(|(number, rail)| {
            Topology::new(rail, nodes).err()?;
            let (key, value) = Topology::larger(rail, nodes)?;
            let rail = if self.rails.len() == 1 { "rail".into() } else { format!("rail.{number}") };
            Some((format!("{rail}.topology.{key}"), value))
        });
        changes.collect()
    }
}

impl RailSpec {
    /// Returns the number of channels (the directions of links) and of lanes (their virtual channels, for each class) of all planes.
    pub(crate) fn parts(&self, topology: &Topology, nodes: u32) -> (u64, u64) {
        let channels = u64::from(self.planes) * (2 * u64::from(nodes * self.count) + topology.link_count());
        (channels, channels * u64::from(self.router.vcs) * self.class.len().max(1) as u64)
    }
}
