//! Dragonfly+ networks: groups that are fat trees of two levels, whose upper routers, the spines, have the links to all other groups (Shpiner, Haramaty,
//! Eliad, Zdornov, Gafni, Zahavi: *Dragonfly+: Low Cost Topology for Scaling Datacenters*, HiPINEB 2017).
//!
//! A minimal route goes up from a leaf router to a spine, to the other group, and down. Valiant's route uses a third group, chosen at random: over the
//! spine at which the packet arrives, if this spine has a link to the last group, else down to a leaf router and up to a spine that has one. UGAL-L
//! and UGAL-G choose between both as in a dragonfly. With progressive routes, which begin as UGAL-L, the first spine compares once more, if it has a
//! link to the third group. The operation's random number selects the spine within a group, the link between two groups, and the leaf router of the
//! third group.
//!
//! No deadlock: a packet changes to the second virtual channel in the third group: at the spine if it goes on from there, else at the leaf router.
//! Lanes are ordered by virtual channel, and then: up, between groups, down. With the minimal route a packet takes one of each. A detour that begins
//! at the first spine takes the lanes of one that began at the leaf router.

use super::groups::Groups;
use super::{Hop, Link, Path, Queues, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DragonflyPlusSpec, DragonflyRoutes};

impl DragonflyPlusSpec {
    pub(super) fn larger(&self, nodes: u32) -> Option<(&'static str, String)> {
        let per_group = self.nodes_per_router.checked_mul(self.leaves_per_group).filter(|&nodes| nodes > 0)?;
        let globals = ("global_links_per_spine", self.global_links_per_spine);
        Groups::larger(nodes, per_group, self.groups, self.spines_per_group, globals)
    }
}

/// The routers of a group have consecutive numbers, the leaf routers first.
#[derive(Clone, Debug)]
pub(crate) struct DragonflyPlus {
    terminals_per_leaf: u32,
    /// Number of leaf routers, and of spines, of a group.
    leaves: u32,
    spines: u32,
    groups: Groups,
    routes: DragonflyRoutes,
}

impl DragonflyPlus {
    pub(crate) fn new(spec: &DragonflyPlusSpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let &DragonflyPlusSpec { leaves_per_group: leaves, spines_per_group: spines, global_links_per_spine: globals, .. } = spec;
        if [leaves, spines, globals].contains(&0) {
            return Err(MachineError::new(format!(
                "rail.topology: leaves_per_group = {leaves}, spines_per_group = {spines}, global_links_per_spine = {globals}: each must be at least 1"
            )));
        }
        routers_for(nodes, spec.nodes_per_router)?;
        let nodes_per_group = u64::from(spec.nodes_per_router) * u64::from(leaves);
        let groups = Groups::new(nodes, nodes_per_group, spec.groups, spines, globals)?;
        let up_and_down = u64::from(leaves).checked_mul(2 * u64::from(spines));
        let links = up_and_down.and_then(|links| links.checked_add(u64::from(spines) * u64::from(globals)));
        bounded(links.and_then(|links| links.checked_mul(groups.count.into())))?;
        let terminals_per_leaf = spec.nodes_per_router.min(nodes) * rail.count;
        Ok(Self { terminals_per_leaf, leaves, spines, groups, routes: spec.routes })
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        1 + u8::from(self.makes_detours())
    }

    pub(crate) fn adapts(&self) -> Option<Queues> {
        self.routes.adapts()
    }

    /// A packet on its minimal route may change to Valiant's at the first spine, if this spine has a link to the third group.
    pub(crate) fn late_detour(&self, at: u32, header: &RoutingHeader) -> Option<Path> {
        let size = self.leaves + self.spines;
        let (group, detour) = (at / size, header.via % self.groups.count);
        let spine = (at % size).checked_sub(self.leaves)?;
        let is_progressive = self.routes == DragonflyRoutes::Progressive && self.makes_detours();
        let is_minimal = header.stage == 0 && !header.path.detours(false);
        let ends = [self.router(header.to) / size, detour];
        if !is_progressive || !is_minimal || ends.contains(&group) {
            return None;
        }
        self.groups.global_of(spine, group, detour, header.salt).map(|_| Path::Detour)
    }

    /// Whether several routes lead to the same router: over other spines, or through other groups.
    pub(crate) fn has_detours(&self) -> bool {
        true
    }

    /// Whether packets may go through third groups.
    fn makes_detours(&self) -> bool {
        self.routes != DragonflyRoutes::Minimal && self.groups.count > 2
    }

    pub(crate) fn steps_max(&self) -> u32 {
        match self.groups.count {
            1 => 2,
            _ if self.makes_detours() => 6,
            _ => 3,
        }
    }

    pub(crate) fn is_global(&self, link: u32) -> bool {
        let place = link % self.links_of_group();
        let of_spines = self.leaves * self.spines;
        place >= of_spines && (place - of_spines) % (self.leaves + self.groups.globals) >= self.leaves
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        let leaf = terminal / self.terminals_per_leaf;
        leaf / self.leaves * (self.leaves + self.spines) + leaf % self.leaves
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let (size, globals) = (self.leaves + self.spines, self.groups.globals);
        let mut links = Vec::new();
        for group in 0..self.groups.count {
            let first = group * size;
            let up = |leaf: u32| (0..self.spines).map(move |spine| Link { from: first + leaf, to: first + self.leaves + spine });
            links.extend((0..self.leaves).flat_map(up));
            for spine in 0..self.spines {
                let from = first + self.leaves + spine;
                links.extend((0..self.leaves).map(|leaf| Link { from, to: first + leaf }));
                links.extend((0..globals).map(|port| {
                    let end = self.groups.end(group, spine * globals + port);
                    Link { from, to: end.map_or(from, |(there, global)| there * size + self.leaves + global / globals) }
                }));
            }
        }
        links
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.groups.count) * u64::from(self.links_of_group())
    }

    fn links_of_group(&self) -> u32 {
        self.spines * (2 * self.leaves + self.groups.globals)
    }

    /// The stage is the number of links between groups that the packet has crossed.
    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = self.router(header.to);
        if at == to {
            return Hop::out(vcs);
        }
        let (size, globals) = (self.leaves + self.spines, self.groups.globals);
        let (group, place, home) = (at / size, at % size, to / size);
        let each = vcs / self.vcs_min();
        let detours = self.makes_detours() && header.path.detours(self.routes == DragonflyRoutes::Valiant);
        let detour = header.via % self.groups.count;
        let goal = if detours && header.stage == 0 && group != home && detour != group { detour } else { home };
        let first = group * self.links_of_group();
        let Some(spine) = place.checked_sub(self.leaves) else {
            let spine = match goal == group {
                true => header.salt % self.spines,
                false => self.groups.global(group, goal, header.salt) / globals,
            };
            return Hop::over(first + place * self.spines + spine, header.stage * each, each);
        };
        let first = first + self.leaves * self.spines + spine * (self.leaves + globals);
        let down = |leaf: u32| Hop::over(first + leaf, header.stage.saturating_sub(1) * each, each);
        if group == home {
            return down(to % size);
        }
        match self.groups.global_of(spine, group, goal, header.salt) {
            Some(global) => {
                header.stage += 1;
                Hop::over(first + self.leaves + global % globals, (header.stage - 1) * each, each)
            }
            None => down(header.salt % self.leaves),
        }
    }
}
