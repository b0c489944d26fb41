//! Dragonflies: groups of routers that are all linked with each other, and links between all groups.
//!
//! A minimal route has at most one link within the first group, one to another group, and one within that. Valiant's route uses a third
//! group, chosen at random, which spreads traffic that would otherwise concentrate on few links. UGAL (Kim, Dally, Scott, Abts:
//! *Technology-Driven, Highly-Scalable Dragonfly Topology*, ISCA 2008, section 4.2) takes the minimal route unless its queue times its number of
//! links exceeds that of Valiant's: UGAL-L uses the queues of the first router, UGAL-G those of all links from the first group to other groups.
//! Progressive routes (PAR in Jiang, Kim, Dally: *Indirect Adaptive Routing on Large Scale Interconnection Networks*, ISCA 2009) begin as UGAL-L; a
//! packet on its minimal route is compared once more at the second router of its first group, which has the link to the other group. The change
//! to Valiant's route is final. Both comparisons are with the same third group.
//!
//! Around failed links, packets take Valiant's route; between two routers of a group, they take two links within it, over a router chosen at random.
//!
//! No deadlock: the virtual channel of a link is the number of links between groups that the packet has crossed before it, and one more after a
//! change at the second router, or in place of a failed link, which both add a link within the first group. Lanes are ordered by that number, those within groups before those between
//! them; a packet takes at most one of each kind for each number.

use super::groups::Groups;
use super::{Hop, Link, Path, Queues, RoutingHeader, bounded, routers_for};
use crate::machine::MachineError;
use crate::machine::spec::RailSpec;
use crate::machine::topologies::{DragonflyRoutes, DragonflySpec};

impl DragonflySpec {
    pub(super) fn larger(&self, nodes: u32) -> Option<(&'static str, String)> {
        let per_group = self.nodes_per_router.checked_mul(self.routers_per_group).filter(|&nodes| nodes > 0)?;
        let globals = ("global_links_per_router", self.global_links_per_router);
        Groups::larger(nodes, per_group, self.groups, self.routers_per_group, globals)
    }
}

impl DragonflyRoutes {
    /// The queues by which the first router chooses a route; `None` if it does not choose.
    pub(super) fn adapts(self) -> Option<Queues> {
        match self {
            Self::UgalL | Self::Progressive => Some(Queues::Local),
            Self::UgalG => Some(Queues::Global),
            Self::Minimal | Self::Valiant => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    terminals_per_router: u32,
    /// Number of routers of a group.
    routers: u32,
    groups: Groups,
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
        routers_for(nodes, nodes_per_router)?;
        let nodes_per_group = u64::from(nodes_per_router) * u64::from(routers);
        let groups = Groups::new(nodes, nodes_per_group, spec.groups, routers, globals)?;
        let all = u64::from(groups.count) * u64::from(routers);
        bounded(all.checked_mul(u64::from(routers) + u64::from(globals)))?;
        let terminals_per_router = nodes_per_router.min(nodes) * rail.count;
        Ok(Self { terminals_per_router, routers, groups, routes })
    }

    pub(crate) fn vcs_min(&self) -> u8 {
        match self.routes {
            _ if self.groups.count == 1 => 1,
            DragonflyRoutes::Minimal => 2,
            _ if self.groups.count == 2 => 2,
            DragonflyRoutes::Progressive => 4,
            _ => 3,
        }
    }

    pub(crate) fn adapts(&self) -> Option<Queues> {
        self.routes.adapts()
    }

    /// A packet on its minimal route leaves its first group from the second router at the latest.
    pub(crate) fn late_detour(&self, at: u32, header: &RoutingHeader) -> Option<Path> {
        let is_progressive = self.routes == DragonflyRoutes::Progressive && self.has_detours();
        let is_minimal = header.stage == 0 && !header.path.detours(false);
        let leaves = header.to / self.terminals_per_router / self.routers != at / self.routers;
        (is_progressive && is_minimal && leaves).then_some(Path::LateDetour)
    }

    pub(crate) fn has_detours(&self) -> bool {
        self.routes != DragonflyRoutes::Minimal && self.groups.count > 2
    }

    pub(crate) fn steps_max(&self) -> u32 {
        match self.groups.count {
            1 => 1,
            _ if !self.has_detours() => 3,
            // A late detour begins after the link within the source's group.
            _ if self.routes == DragonflyRoutes::Progressive => 6,
            _ => 5,
        }
    }

    pub(crate) fn is_global(&self, link: u32) -> bool {
        link % (self.routers - 1 + self.groups.globals) >= self.routers - 1
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.terminals_per_router
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        let globals = self.groups.globals;
        for from in 0..self.groups.count * self.routers {
            let (group, place) = (from / self.routers, from % self.routers);
            let others = (0..self.routers).filter(|&other| other != place);
            links.extend(others.map(|other| Link { from, to: group * self.routers + other }));
            links.extend((0..globals).map(|port| {
                let end = self.groups.end(group, place * globals + port);
                Link { from, to: end.map_or(from, |(there, global)| there * self.routers + global / globals) }
            }));
        }
        links
    }

    pub(crate) fn link_count(&self) -> u64 {
        u64::from(self.groups.count) * u64::from(self.routers) * u64::from(self.routers - 1 + self.groups.globals)
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let to = header.to / self.terminals_per_router;
        if at == to {
            return Hop::out(vcs);
        }
        let (group, place) = (at / self.routers, at % self.routers);
        let globals = self.groups.globals;
        let first_link = at * (self.routers - 1 + globals);
        let each = vcs / self.vcs_min();
        let vc = (header.stage + u8::from(header.path == Path::LateDetour)) * each;
        let local = |other: u32| Hop::over(first_link + other - u32::from(other > place), vc, each);
        let home = to / self.routers;
        if group == home {
            let other = header.via % self.routers;
            let goes_around = header.path == Path::Around && header.stage == 0 && other != place;
            header.stage += u8::from(goes_around);
            return local(if goes_around { other } else { to % self.routers });
        }
        let detour = header.via % self.groups.count;
        let detours = header.path.detours(self.routes == DragonflyRoutes::Valiant);
        let goal = if detours && header.stage == 0 && detour != group { detour } else { home };
        let global = self.groups.global(group, goal, header.salt);
        let exit = global / globals;
        if exit != place {
            return local(exit);
        }
        header.stage += 1;
        Hop::over(first_link + self.routers - 1 + global % globals, vc, each)
    }
}
