//! The choice of a route by queues or failed links.

use super::{Fabric, Network, Packet, Part};
use crate::events::random::mix;
use crate::topology::{Path, Queues, RoutingHeader};

/// Number of further routes to try before a packet takes one over a failed link.
const TRIES: u32 = 16;
/// Difference of the first numbers that are tried when an operation is repeated: odd, so that it differs for each repetition.
const ATTEMPT: u32 = 0x9e37_79b9;

/// The properties of a route that a choice needs.
#[derive(Clone, Copy, Debug, Default)]
struct Route {
    links: u64,
    /// The queue that determines the cost.
    queue: Option<LinkQueue>,
    /// Whether it uses a link that is known to be failed.
    is_broken: bool,
}

/// The queue of a link and of some of its virtual channels.
#[derive(Clone, Copy, Debug)]
struct LinkQueue {
    channel: u32,
    /// The first lane, and the number of lanes.
    lane: u32,
    lanes: u8,
}

impl Network {
    /// Chooses the route of a packet that arrives at its first router.
    pub(super) fn choose_route(&mut self, now: u64, packet: u32, router: u32) {
        let Packet { network, part: Part { class, .. }, .. } = self.packets[packet];
        let mut header = self.packets[packet].header;
        let fabric = &self.fabrics[usize::from(network)];
        let (adapts, has_detours) = (fabric.topology.adapts(), fabric.topology.has_detours());
        if fabric.topology.chooses_links() && fabric.failures.are_known(now) {
            // No choice at later routers, as not every link up avoids the failed link.
            header.path = Path::Detour;
        }
        let chosen = match adapts {
            None => self.route((network, class), router, header, Queues::Local, now),
            Some(queues) => {
                let [usual, detour] = [Path::Usual, Path::Detour]
                    .map(|path| self.route((network, class), router, RoutingHeader { path, ..header }, queues, now));
                let is_longer = self.cost(&usual, now) > self.cost(&detour, now);
                header.path = if is_longer { Path::Detour } else { Path::Usual };
                if is_longer { detour } else { usual }
            }
        };
        if chosen.is_broken && has_detours {
            (header, _) = self.around_failures(network, router, header, now);
        }
        self.packets[packet].header = header;
    }

    /// Tries other routes than one that is broken; returns the last one, and whether it is broken as well.
    fn around_failures(&self, network: u8, router: u32, mut header: RoutingHeader, now: u64) -> (RoutingHeader, bool) {
        header.salt ^= u32::from(header.attempt).wrapping_mul(ATTEMPT);
        for _ in 0..TRIES {
            let other = mix(u64::from(header.salt) << 32 | u64::from(header.via));
            (header.salt, header.via, header.path) = (other as u32, (other >> 32) as u32, Path::Around);
            if !self.route((network, 0), router, header, Queues::Local, now).is_broken {
                return (header, false);
            }
        }
        (header, true)
    }

    /// Whether a packet that leaves a NIC now meets no failure that routers know, on one of the routes that its first router would try.
    pub(crate) fn leads(&self, network: u8, from: u32, header: RoutingHeader, now: u64) -> bool {
        let Fabric { failures, topology, terminals, .. } = &self.fabrics[usize::from(network)];
        if !failures.are_known(now) {
            return true;
        }
        if failures.avoids(from, now) || failures.avoids(terminals + header.to, now) {
            return false;
        }
        let router = topology.router(from);
        let is_broken = self.route((network, 0), router, header, Queues::Local, now).is_broken;
        !is_broken || (topology.has_detours() && !self.around_failures(network, router, header, now).1)
    }

    /// Chooses once more at a later router, if the topology permits a detour that begins there.
    pub(super) fn revise_route(&mut self, now: u64, packet: u32, router: u32) {
        let Packet { network, header, part: Part { class, .. }, .. } = self.packets[packet];
        let Some(path) = self.fabrics[usize::from(network)].topology.late_detour(router, &header) else { return };
        let [usual, detour] = [header.path, path]
            .map(|path| self.route((network, class), router, RoutingHeader { path, ..header }, Queues::Local, now));
        if !detour.is_broken && (usual.is_broken || self.cost(&usual, now) > self.cost(&detour, now)) {
            self.packets[packet].header.path = path;
        }
    }

    /// Returns the queue before a route times the number of its links.
    fn cost(&mut self, route: &Route, now: u64) -> u64 {
        route.links * route.queue.map_or(0, |queue| self.load(queue, now))
    }

    /// Follows the route that a header describes. The class of the packet only selects the queue.
    fn route(&self, (network, class): (u8, u8), router: u32, mut header: RoutingHeader, queues: Queues, now: u64) -> Route {
        let fabric = &self.fabrics[usize::from(network)];
        let (mut at, mut route) = (router, Route::default());
        loop {
            let hop = fabric.topology.route(at, &mut header, fabric.vcs);
            let Some(link) = hop.link else { return route };
            let channel = fabric.first_channel + 2 * fabric.terminals + link;
            route.links += 1;
            route.is_broken |= fabric.avoids(link, now);
            if route.queue.is_none() && (queues == Queues::Local || fabric.topology.is_global(link)) {
                route.queue = Some(LinkQueue { channel, lane: fabric.lane(channel, class, hop.vc), lanes: hop.vcs });
            }
            at = self.channels[channel as usize].to;
        }
    }

    /// Returns the bytes queued for a link, of all classes, and those of one class in the buffers at its far end.
    fn load(&mut self, LinkQueue { channel, lane, lanes }: LinkQueue, now: u64) -> u64 {
        let state = &self.channels[channel as usize];
        let (queued, network) = (state.queued, usize::from(state.network));
        let buffered = |lane| {
            self.collect(lane, now);
            u64::from(self.fabrics[network].buffer.saturating_sub(self.lanes[lane as usize].room))
        };
        queued + (lane..lane + u32::from(lanes)).map(buffered).sum::<u64>()
    }

    /// Returns the link with the shortest queue among `count` links of one router; links that are known to be failed come last. Among equals,
    /// returns `usual`, or else the next one after it.
    pub(super) fn shortest(&mut self, packet: u32, usual: u32, first: u32, count: u32, now: u64) -> u32 {
        let Packet { network, part: Part { class, .. }, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let (base, vcs) = (fabric.first_channel + 2 * fabric.terminals, fabric.vcs);
        let in_turn = (0..count).map(|step| first + (usual - first + step) % count);
        let cost = |link: &u32| {
            let (channel, broken) = (base + link, self.fabrics[usize::from(network)].avoids(*link, now));
            let lane = self.fabrics[usize::from(network)].lane(channel, class, 0);
            (broken, self.load(LinkQueue { channel, lane, lanes: vcs }, now))
        };
        in_turn.min_by_key(cost).unwrap_or(usual)
    }
}
