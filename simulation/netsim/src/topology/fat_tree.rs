//! Fat trees: the routers of each level have equal numbers of down links and of up links.
//!
//! A packet goes up until its destination is below, then down. The up link is chosen by the destination (d-mod-k:
//! packets to one terminal meet as late as possible and packets to different ones use different links), at random, per operation or
//! as the NIC spreads packets, or by the shortest queue of each router.
//!
//! No deadlock: the lanes are ordered with those that go up first, by level, then those that go down, by level from the top. A packet
//! never goes up after it went down.

use super::{Hop, Link, RoutingHeader, bounded};
use crate::events::random::mix;
use crate::machine::MachineError;
use crate::machine::topologies::{FatTreeRoutes, FatTreeSpec};

/// Maximum number of levels.
const LEVELS_MAX: usize = 8;

impl FatTreeSpec {
    /// Returns the down links of each level, unchanged except at the top, where they suffice to reach `terminals`.
    pub(super) fn larger(&self, terminals: u32) -> Option<String> {
        let (top, below) = self.down.split_last()?;
        let below_reach = below.iter().try_fold(1u32, |reach, &down| reach.checked_mul(down)).filter(|&reach| reach > 0)?;
        let needed = terminals.div_ceil(below_reach).max(*top);
        Some(format!("{:?}", below.iter().copied().chain([needed]).collect::<Vec<_>>()))
    }
}

/// One level. A router is number `copy` of the `copies` routers that reach the same block of terminals; its number is `block * copies + copy`.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// The number of its first router.
    first: u32,
    /// The number of its first link.
    link: u32,
    /// Number of terminals that each router reaches downward.
    reach: u32,
    copies: u32,
    down: u32,
    up: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    levels: Vec<Level>,
    terminals: u32,
    routes: FatTreeRoutes,
}

impl FatTree {
    pub(crate) fn new(spec: &FatTreeSpec, terminals: u32) -> Result<Self, MachineError> {
        let (down, up) = (&spec.down, &spec.up);
        if down.is_empty()
            || down.len() > LEVELS_MAX
            || up.len() + 1 != down.len()
            || down.iter().chain(up).any(|&links| links == 0)
        {
            return Err(MachineError::new(format!(
                "rail.topology: down = {down:?}, up = {up:?}: down has a number for each level, 1 to {LEVELS_MAX}, up for each level but the top; each is at least 1"
            )));
        }
        let (mut levels, mut reach, mut copies): (Vec<Level>, u64, u64) = (Vec::new(), 1, 1);
        let (mut first, mut link) = (0u64, 0u64);
        for (number, &most) in down.iter().enumerate() {
            let top = number + 1 == down.len();
            let below = reach;
            let down = if top { u64::from(terminals).div_ceil(below) } else { u64::from(most) };
            if down > u64::from(most) {
                let reach = below * u64::from(most);
                return Err(MachineError::new(format!("nodes: {terminals} terminals do not fit in a fat tree of {reach}")));
            }
            let up = if top { 0 } else { u64::from(up[number]) };
            reach = reach.saturating_mul(down);
            let routers = u64::from(terminals).div_ceil(reach).checked_mul(copies);
            let links = routers.and_then(|routers| routers.checked_mul(up + if number > 0 { down } else { 0 }));
            levels.push(Level {
                first: bounded(Some(first))?,
                link: bounded(Some(link))?,
                reach: bounded(Some(reach.min(u64::from(terminals).max(below))))?,
                copies: bounded(Some(copies))?,
                down: down as u32,
                up: up as u32,
            });
            first += u64::from(bounded(routers)?);
            link += u64::from(bounded(links)?);
            copies = copies.saturating_mul(up.max(1));
        }
        bounded(Some(link))?;
        // The reach of the top is exactly the number of terminals.
        if let Some(top) = levels.last_mut() {
            top.reach = terminals;
        }
        Ok(Self { levels, terminals, routes: spec.routes })
    }

    pub(crate) fn steps_max(&self) -> u32 {
        2 * (self.levels.len() as u32 - 1)
    }

    pub(crate) fn router(&self, terminal: u32) -> u32 {
        terminal / self.levels[0].reach
    }

    pub(crate) fn links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            for block in 0..self.terminals.div_ceil(level.reach) {
                for copy in 0..level.copies {
                    let from = level.first + block * level.copies + copy;
                    if number > 0 {
                        let below = self.levels[number - 1];
                        let exists = |block| if block < self.terminals.div_ceil(below.reach) { Some(block) } else { None };
                        links.extend((0..level.down).map(|port| {
                            let child = exists(block * level.down + port);
                            Link {
                                from,
                                to: child.map_or(from, |child| below.first + child * below.copies + copy % below.copies),
                            }
                        }));
                    }
                    if let Some(above) = self.levels.get(number + 1) {
                        links.extend((0..level.up).map(|port| {
                            let parent = block / above.down;
                            Link { from, to: above.first + parent * above.copies + port * level.copies + copy }
                        }));
                    }
                }
            }
        }
        links
    }

    pub(crate) fn link_count(&self) -> u64 {
        let top = self.levels.len() - 1;
        let count = |(number, level): (usize, &Level)| {
            let (down, up) = (if number > 0 { level.down } else { 0 }, if number < top { level.up } else { 0 });
            u64::from(self.terminals.div_ceil(level.reach)) * u64::from(level.copies) * (u64::from(down) + u64::from(up))
        };
        self.levels.iter().enumerate().map(count).sum()
    }

    pub(crate) fn chooses_links(&self) -> bool {
        self.routes == FatTreeRoutes::Adaptive
    }

    /// Returns the up links of a router if the packet goes up from it and the shortest queue decides.
    #[inline]
    pub(crate) fn choices(&self, at: u32, header: &RoutingHeader) -> Option<(u32, u32)> {
        if !self.chooses_links() || header.path.detours(false) {
            return None;
        }
        let number = self.levels.iter().rposition(|level| at >= level.first).unwrap_or(0);
        let level = &self.levels[number];
        let router = at - level.first;
        let down = if number > 0 { level.down } else { 0 };
        (header.to / level.reach != router / level.copies).then(|| (level.link + router * (level.up + down) + down, level.up))
    }

    #[inline]
    pub(crate) fn route(&self, at: u32, header: &mut RoutingHeader, vcs: u8) -> Hop {
        let number = self.levels.iter().rposition(|level| at >= level.first).unwrap_or(0);
        let level = &self.levels[number];
        let router = at - level.first;
        let block = router / level.copies;
        let ports = level.up + if number > 0 { level.down } else { 0 };
        let link = level.link + router * ports;
        if header.to / level.reach == block {
            if number == 0 {
                return Hop::out(vcs);
            }
            let port = header.to / self.levels[number - 1].reach - block * level.down;
            return Hop::over(link + port, 0, vcs);
        }
        let port = match self.routes {
            FatTreeRoutes::Destination if !header.path.detours(false) => header.to / level.copies % level.up,
            _ => (mix(u64::from(header.salt) << 8 | number as u64) >> 32) as u32 % level.up,
        };
        Hop::over(link + if number > 0 { level.down } else { 0 } + port, 0, vcs)
    }
}
