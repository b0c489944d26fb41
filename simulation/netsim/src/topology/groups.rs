//! Groups of routers, and the links between all pairs of groups.

use super::bounded;
use crate::machine::MachineError;

/// The links between groups. Those of a group have numbers: first one to each other group, then a second one, and so on. Each *gateway*, a router with
/// such links, has `globals` consecutive ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    pub(super) count: u32,
    /// Number of links of a gateway to other groups.
    pub(super) globals: u32,
    /// Number of links between each pair of groups.
    copies: u32,
}

impl Groups {
    /// Makes as many groups as `nodes` nodes need if `given` is absent.
    ///
    /// # Errors
    ///
    /// The nodes need more groups, or the links allow fewer.
    pub(super) fn new(
        nodes: u32,
        nodes_per_group: u64,
        given: Option<u32>,
        gateways: u32,
        globals: u32,
    ) -> Result<Self, MachineError> {
        let needed = u64::from(nodes).div_ceil(nodes_per_group) as u32;
        let most = most(gateways, globals);
        let groups = given.unwrap_or(needed);
        if groups < needed || u64::from(groups) > most {
            return Err(MachineError::new(format!(
                "rail.topology.groups = {groups}: {nodes} nodes need at least {needed}, the links between groups allow {most}"
            )));
        }
        bounded(u64::from(groups).checked_mul(most))?;
        let copies = if groups > 1 { ((most - 1) / u64::from(groups - 1)) as u32 } else { 0 };
        Ok(Self { count: groups, globals, copies })
    }

    /// Returns a number of groups that makes room for `nodes` nodes, or, if the number of groups is not fixed, of links of each gateway to other groups.
    pub(super) fn larger(
        nodes: u32,
        nodes_per_group: u32,
        given: Option<u32>,
        gateways: u32,
        (key, globals): (&'static str, u32),
    ) -> Option<(&'static str, String)> {
        let needed = nodes.div_ceil(nodes_per_group);
        match given {
            Some(_) if u64::from(needed) <= most(gateways, globals) => Some(("groups", needed.to_string())),
            None if gateways > 0 => Some((key, (needed - 1).div_ceil(gateways).to_string())),
            _ => None,
        }
    }

    /// Returns the number of a link from a group to another one, which `salt` selects among those to it.
    pub(super) fn global(&self, group: u32, to: u32, salt: u32) -> u32 {
        self.copy(group, to, salt % self.copies)
    }

    /// Returns the number of a link from a gateway to another group; the one that `salt` selects if it begins there, else the first one.
    pub(super) fn global_of(&self, gateway: u32, group: u32, to: u32, salt: u32) -> Option<u32> {
        let is_own = |&global: &u32| global / self.globals == gateway;
        let step = self.count - 1;
        // The lowest copy whose number is not below those of the gateway.
        let copy = (gateway * self.globals).saturating_sub(self.copy(group, to, 0)).div_ceil(step);
        let first = || Some(copy).filter(|&copy| copy < self.copies).map(|copy| self.copy(group, to, copy)).filter(is_own);
        Some(self.global(group, to, salt)).filter(is_own).or_else(first)
    }

    /// Returns the group to which a link leads, and the number that it has there; `None` if no group is left for it.
    pub(super) fn end(&self, group: u32, global: u32) -> Option<(u32, u32)> {
        if global >= self.copies * self.count.saturating_sub(1) {
            return None;
        }
        let (copy, index) = (global / (self.count - 1), global % (self.count - 1));
        let there = index + u32::from(index >= group);
        Some((there, self.copy(there, group, copy)))
    }

    fn copy(&self, group: u32, to: u32, copy: u32) -> u32 {
        copy * (self.count - 1) + to - u32::from(to > group)
    }
}

/// Returns the largest number of groups with a link between each pair.
fn most(gateways: u32, globals: u32) -> u64 {
    u64::from(gateways) * u64::from(globals) + 1
}
