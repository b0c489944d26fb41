//! Dragonflies: groups of routers that are all linked with each other, and links between all groups.
//!
//! A minimal route has at most one link within the first group, one to another group, and one within that. Valiant's route uses a third
//! group, chosen at random, which spreads traffic that would otherwise concentrate on few links. UGAL (Kim, Dally, Scott, Abts:
//! *Technology-Driven, Highly-Scalable Dragonfly Topology*, ISCA 2008, section 4.2) takes the minimal route unless its queue times its number of
//! links exceeds that of Valiant's: UGAL-L uses the queues of the first router, UGAL-G those of all links from the first group to other groups.
//!
//! No deadlock: the virtual channel of a link is the number of links between groups that the packet has crossed before it. Lanes
//! are ordered by that number, those within groups before those between them; a packet takes at most one of each kind for each
//! number.

use super::{Hop, Link, Queues, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DragonflyRoutes, DragonflySpec};

impl DragonflySpec {
    /// Returns a number of groups that makes room for `nodes` nodes, or, if the number of groups is not fixed, of links between groups.
    pub(super) fn larger(&self, nodes: u32) -> Option<(&'static str, String)> {
        let per_group = self.nodes_per_router.checked_mul(self.routers_per_group).filter(|&nodes| nodes > 0)?;
        let needed = nodes.div_ceil(per_group);
        let allowed = u64::from(self.routers_per_group) * u64::from(self.global_links_per_router) + 1;
        match self.groups {
            Some(_) if u64::from(needed) <= allowed => Some(("groups", needed.to_string())),
            Some(_) => None,
            None => Some(("global_links_per_router", (needed - 1).div_ceil(self.routers_per_group).to_string())),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    terminals_per_router: u32,
    /// Number of routers of a group.
    routers: u32,
    /// Number of links of a router to other groups.
    globals: u32,
    groups: u32,
    /// Number of links between each pair of groups.
    copies: u32,
    routes: DragonflyRoutes,
}

impl Dragonfly {
    pub(crate) fn new(spec: &DragonflySpec, rail: &RailSpec, nodes: u32) -> Result<Self, MachineError> {
        let &DragonflySpec { nodes_per_router, routers_per_group: routers, global_links_per_router: globals, routes, .. } = spec;
        if routers == 0 || globals == 0 {
            return Err(MachineError::new(format!(
                "rail.topology: routers_per_group = {routers}, global_links_per_router = {globals}: each must be at least 1"
            )));
        }
        let needed = routers_for(nodes, nodes_per_router)?.div_ceil(routers);
        let most = u64::from(routers) * u64::from(globals) + 1;
        let groups = spec.groups.unwrap_or(needed);
        if groups < needed || u64::from(groups) > most {
            return Err(MachineError::new(format!(
                "rail.topology.groups = {groups}: {nodes} nodes need at least {needed}, the links between groups allow {most}"
            )));
        }
        bounded((u64::from(groups) * u64::from(routers)).checked_mul(u64::from(routers) + u64::from(globals)))?;
        let copies = if groups > 1 { ((most - 1) / u64::from(groups - 1)) as u32 } else { 0 };
        let terminals_per_router = nodes_per_router.min(nodes) * rail.count;
        Ok(Self { terminals_per_router, routers, globals, groups, copies, routes })
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        match self.routes {
            _ if self.groups == 1 => 1,
            DragonflyRoutes::Minimal => 2,
            _ if self.groups == 2 => 2,
            _ => 3,
        }
    }

    pub(crate) fn adapts(&self) -> Option<Queues> {
        match self.routes {
            DragonflyRoutes::UgalL => Some(Queues::Local),
            DragonflyRoutes::UgalG => Some(Queues::Global),
            DragonflyRoutes::Minimal | DragonflyRoutes::Valiant => None,
        }
    }

    pub(crate) fn has_detours(&self) -> bool {
        self.routes != DragonflyRoutes::Minimal && self.groups > 2
    }

    pub(crate) fn is_global(&self, link: u32) -> bool {
        link % (self.routers - 1 + self.globals) >= self.routers - 1
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.terminals_per_router
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for from in 0..self.groups * self.routers {
            let (group, place) = (from / self.routers, from % self.routers);
            let others = (0..self.routers).filter(|&other| other != place);
            links.extend(others.map(|other| Link { from, to: group * self.routers + other }));
            links.extend((0..self.globals).map(|port| {
                let global = place * self.globals + port;
                if global >= self.copies * self.groups.saturating_sub(1) {
                    return Link { from, to: from };
                }
                let (copy, index) = (global / (self.groups - 1), global % (self.groups - 1));
                let there = index + u32::from(index >= group);
                Link { from, to: there * self.routers + self.global(there, group, copy) / self.globals }
            }));
        }
        links
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.groups) * u64::from(self.routers) * u64::from(self.routers - 1 + self.globals)
    }

    /// Returns the number, among the links of a group to other groups, of a link to one other group.
    fn global(&self, group: u32, to: u32, copy: u32) -> u32 {
        copy * (self.groups - 1) + to - u32::from(to > group)
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = header.to / self.terminals_per_router;
        if at == to {
            return Hop::out(vcs);
        }
        let (group, place) = (at / self.routers, at % self.routers);
        let first_link = at * (self.routers - 1 + self.globals);
        let each = vcs / self.vcs_min();
        let vc = header.stage * each;
        let local = |other: u32| Hop::over(first_link + other - u32::from(other > place), vc, each);
        let home = to / self.routers;
        if group == home {
            return local(to % self.routers);
        }
        let detour = header.via % self.groups;
        let detours = header.path.detours(self.routes == DragonflyRoutes::Valiant);
        let goal = if detours && header.stage == 0 && detour != group { detour } else { home };
        let global = self.global(group, goal, header.salt % self.copies);
        let exit = global / self.globals;
        if exit != place {
            return local(exit);
        }
        header.stage += 1;
        Hop::over(first_link + self.routers - 1 + global % self.globals, vc, each)
    }
}
