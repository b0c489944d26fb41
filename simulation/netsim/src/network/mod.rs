//! Links and routers: which packet crosses which link when.
//!
//! Virtual cut-through with credits, packet by packet. Times refer to the head of a packet; those of the tail follow from its
//! length. Each direction of a link is a *channel*, each virtual channel of it a *lane*. One event per packet and router,
//! [`Network::ready`], says that a head has passed the stages before the switch; the packet then asks for a lane. The link is
//! granted to it, or to the first packet in line if others wait, once all of these hold:
//!
//! - the link is free,
//! - the input port that holds the packet is free (one packet at a time leaves it),
//! - the lane has been free for the time that allocating it takes,
//! - the buffer at the far end has room for the whole packet.
//!
//! On a rail with traffic classes (`classes`), each class has its own lanes, so that neither full buffers nor pauses of a class delay another. The
//! link then goes to the class whose turn it is. To know the classes that wait, it must know the packets that follow: behind a packet that leaves a
//! buffer, the next one stands in line at once if it takes the same link, although it cannot leave before. A link whose turn is that of a class that
//! waits only for the allocation of its lane waits as well. Input ports do not hold packets back: a low class would delay a high one.
//!
//! The first packet in line holds the lane: others wait even while the holder waits for its port or for room. A grant fixes
//! when the head reaches the next router, so no further event happens on the link. The time at which buffer space is freed is known
//! when the packet leaves the buffer. It is stored with the lane, and becomes an event only if a packet waits for the space.
//! Likewise, an event at the time that a link becomes free exists only while packets wait in line.
//!
//! On a machine with flow control by pauses (`pauses`), pauses also delay a sender. If queues or failed links matter, the first router of a
//! packet chooses its route (`routes`); with progressive routes, a later router may change it. A failed link loses the packets that are sent over it.
//! What routers measure for congestion control is in `telemetry`.
//!
//! If the outgoing link is faster than the incoming one, the head waits until the tail can follow without a gap. If it is slower, the buffer
//! space is freed later by the difference.

mod border;
mod classes;
mod failures;
mod pauses;
mod records;
mod routes;
mod telemetry;

use std::collections::VecDeque;
use std::iter::successors;

pub(crate) use self::border::{Border, CarriedOperation, CrossingPacket, FreedRoom, Map, Messages};
pub(crate) use self::failures::Failures;
use self::pauses::Pause;
pub(crate) use self::pauses::{PAUSE_BYTES, Thresholds};
pub(crate) use self::records::{CHANNEL_BYTES, Fabric, LANE_BYTES, Marking, Medium, Packet, PacketOutcome, Part, QueuedBytes};
use self::records::{Channel, Count, Lane, Release, Request};
use self::telemetry::Backlog;
pub(crate) use self::telemetry::{BACKLOG_BYTES, Signals, Telemetry};
use crate::events::pool::{List, NONE, Pool};
use crate::events::prefetch::prefetch;
use crate::events::queue::{Distance, Event, Queue};
use crate::events::random::happens;
use crate::events::{ENTITIES_MAX, class};
use crate::machine::spec::Switching;
use crate::topology::{Ring, RoutingHeader};

/// The memory of a class of a channel, on rails with classes: its lead and its queued bytes.
pub(crate) const CLASS_BYTES: u64 = 2 * size_of::<u64>() as u64;

/// All links and routers of all rails. Each plane of a rail has a number as a network of its own.
pub(crate) struct Network {
    pub(crate) fabrics: Vec<Fabric>,
    channels: Vec<Channel>,
    /// When the input port at the far end of each channel can send the next packet. Separate from `channels`, as it is read without the rest.
    ports: Vec<u64>,
    lanes: Vec<Lane>,
    media: Vec<Medium>,
    pub(crate) packets: Pool<Packet>,
    releases: Pool<Release>,
    /// A record for each lane of rails with flow control by pauses.
    pauses: Vec<Pause>,
    /// For each class of each channel of rails with classes: its lead, and its queued bytes as in [`Channel::queued`].
    leads: Vec<u64>,
    class_queued: Vec<u64>,
    pub(crate) telemetry: Telemetry,
    pub(crate) outcomes: VecDeque<PacketOutcome>,
    seed: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    /// The border to the other regions, if the machine is divided.
    pub(crate) border: Option<Box<Border>>,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            fabrics: Vec::new(),
            channels: Vec::new(),
            ports: Vec::new(),
            lanes: Vec::new(),
            media: Vec::new(),
            packets: Pool::new(),
            releases: Pool::new(),
            pauses: Vec::new(),
            leads: Vec::new(),
            class_queued: Vec::new(),
            telemetry: Telemetry::default(),
            outcomes: VecDeque::new(),
            seed,
            drops: 0,
            marks: 0,
            border: None,
        }
    }

    /// Adds a network; returns whether there is room for its channels.
    pub(crate) fn add(&mut self, mut fabric: Fabric) -> bool {
        let network = self.fabrics.len() as u8;
        let links = fabric.topology.links();
        let channels = self.channels.len() + 2 * fabric.terminals as usize + links.len();
        let lanes = self.lanes.len() + (channels - self.channels.len()) * usize::from(fabric.lanes);
        if lanes >= ENTITIES_MAX as usize {
            return false;
        }
        fabric.first_channel = self.channels.len() as u32;
        fabric.first_lane = self.lanes.len() as u32;
        fabric.first_pause = self.pauses.len() as u32;
        fabric.first_share = self.leads.len() as u32;
        if !fabric.classes.is_empty() {
            let shares = (channels - self.channels.len()) * usize::from(fabric.classes.count());
            self.leads.resize(self.leads.len() + shares, 0);
            self.class_queued.resize(self.leads.len(), 0);
        }
        if fabric.pfc.is_some() {
            self.pauses.resize(self.pauses.len() + lanes - self.lanes.len(), Pause::default());
        }
        let backlogs = &mut self.telemetry.backlogs;
        fabric.first_backlog = backlogs.len() as u32;
        if fabric.signals.is_some() {
            backlogs.resize_with(backlogs.len() + channels - self.channels.len(), Backlog::default);
        }
        let medium = self.media.len() as u8;
        self.media.extend([fabric.host, fabric.link]);
        self.channels.reserve_exact(channels - self.channels.len());
        self.lanes.reserve_exact(lanes - self.lanes.len());
        let room = if fabric.drops { fabric.buffer } else { fabric.receive };
        for terminal in 0..fabric.terminals {
            self.push(&fabric, network, medium, fabric.topology.router(terminal), false, fabric.buffer);
        }
        for terminal in 0..fabric.terminals {
            self.push(&fabric, network, medium, terminal, true, room);
        }
        for link in links {
            self.push(&fabric, network, medium + 1, link.to, false, fabric.buffer);
        }
        self.fabrics.push(fabric);
        true
    }

    fn push(&mut self, fabric: &Fabric, network: u8, medium: u8, to: u32, ejects: bool, room: u32) {
        self.channels.push(Channel {
            free: 0,
            wake: u64::MAX,
            bytes: 0,
            packets: 0,
            waiting: 0,
            waiting_max: 0,
            queued: 0,
            to,
            lane: self.lanes.len() as u32,
            lines: 0,
            medium,
            network,
            ejects,
        });
        self.ports.push(0);
        for _ in 0..fabric.lanes {
            self.lanes.push(Lane {
                free: 0,
                drained: 0,
                back_at: 0,
                back: 0,
                releases: List::EMPTY,
                room,
                line: List::EMPTY,
                buffer: List::EMPTY,
                waiting: 0,
                last: NONE,
                asked: false,
                starved: false,
            });
        }
    }

    /// Puts a packet in line at its NIC.
    pub(crate) fn inject(&mut self, queue: &mut Queue, packet: u32) {
        let Packet { input, channel, lane, .. } = self.packets[packet];
        self.ask(queue, Request { packet, input, channel, lane });
    }

    /// Makes a packet of `bytes` that will leave from a terminal.
    pub(crate) fn packet(&mut self, network: u8, terminal: u32, header: RoutingHeader, bytes: u32, part: Part) -> u32 {
        let fabric = &self.fabrics[usize::from(network)];
        let channel = fabric.first_channel + terminal;
        self.packets.insert(Packet {
            ready: 0,
            part,
            header,
            next: NONE,
            bytes,
            input: NONE,
            port: NONE,
            channel,
            lane: fabric.lane(channel, part.class, 0),
            lanes: fabric.vcs,
            ring: Ring::None,
            network,
            marked: false,
        })
    }

    /// Returns the source NIC of a packet that has not gone beyond the link of its NIC.
    #[inline]
    pub(crate) fn source(&self, packet: &Packet) -> u32 {
        let fabric = &self.fabrics[usize::from(packet.network)];
        fabric.first_nic + packet.channel - fabric.first_channel
    }

    /// Returns the destination NIC of a packet.
    #[inline]
    pub(crate) fn destination(&self, packet: &Packet) -> u32 {
        self.fabrics[usize::from(packet.network)].first_nic + packet.terminal()
    }

    /// The head of a packet has passed the stages before the switch.
    #[inline]
    pub(crate) fn ready(&mut self, queue: &mut Queue, event: Event) {
        self.ask(queue, Request::of(event));
    }

    /// Prefetches the records that the request of a packet needs.
    #[inline]
    pub(crate) fn fetch(&self, event: Event, distance: Distance) {
        let Request { packet, input, channel, lane } = Request::of(event);
        match distance {
            Distance::Far => {
                prefetch(&self.packets[packet]);
                prefetch(&self.channels[channel as usize]);
                prefetch(&self.lanes[lane as usize]);
                prefetch(&self.lanes[input as usize]);
                self.border.iter().for_each(|border| border.fetch(packet));
            }
            Distance::Middle => {
                prefetch(&self.ports[self.packets[packet].port as usize]);
                self.fetch_buffer(input);
            }
            Distance::Near => {}
        }
    }

    /// Prefetches the records that serving a channel needs.
    #[inline]
    pub(crate) fn fetch_line(&self, event: Event, distance: Distance) {
        let (channel, lane) = (event.payload as u32, (event.payload >> 32) as u32);
        let line = &self.lanes[lane as usize].line;
        match distance {
            Distance::Far => {
                prefetch(&self.channels[channel as usize]);
                prefetch(&self.lanes[lane as usize]);
            }
            Distance::Middle => line.first().into_iter().for_each(|first| {
                prefetch(&self.packets[first]);
                self.border.iter().for_each(|border| border.fetch(first));
            }),
            Distance::Near => {
                let Some(first) = line.first() else { return };
                line.after(&self.packets, first).into_iter().for_each(|second| prefetch(&self.packets[second]));
                if let Some(input) = self.lanes.get(self.packets[first].input as usize) {
                    prefetch(input);
                }
            }
        }
    }

    /// Prefetches the packet that leaves the downstream buffer of a lane next, and the first release of buffer space.
    #[inline]
    fn fetch_buffer(&self, lane: u32) {
        let Lane { buffer, releases, .. } = &self.lanes[lane as usize];
        buffer.first().into_iter().for_each(|next| prefetch(&self.packets[next]));
        releases.first().into_iter().for_each(|first| prefetch(&self.releases[first]));
    }

    /// Serves a channel at its scheduled time; returns whether it sends a packet.
    #[inline]
    pub(crate) fn wake(&mut self, queue: &mut Queue, channel: u32) -> bool {
        let state = &mut self.channels[channel as usize];
        if state.wake != queue.now() {
            return false;
        }
        state.wake = u64::MAX;
        let before = state.packets;
        self.serve(queue, channel);
        self.channels[channel as usize].packets > before
    }

    /// Frees the buffer space of a packet that leaves its destination NIC at time `at`.
    pub(crate) fn free(&mut self, queue: &mut Queue, packet: u32, at: u64) {
        let Packet { input, port, bytes, network, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        if !fabric.drops {
            let (back, claim) = (at + fabric.credit + fabric.host.cable, fabric.claim(bytes));
            self.release(queue, port, input, back, claim);
        }
    }

    /// Frees buffer space of a lane at a time that may lie in the future.
    fn release(&mut self, queue: &mut Queue, channel: u32, lane: u32, at: u64, bytes: u32) {
        let now = queue.now();
        if let Some(pause) = self.pause(channel, lane) {
            self.pauses[pause].goes(at, bytes);
        }
        let state = &mut self.lanes[lane as usize];
        let spare = state.back_at <= now;
        if spare {
            state.room += std::mem::take(&mut state.back);
            if let Some(first) = state.releases.pop(&self.releases) {
                (state.back, state.back_at) = (self.releases[first].bytes, self.releases[first].at);
                self.releases.remove(first);
            }
        }
        if spare && state.back == 0 {
            (state.back, state.back_at) = (bytes, at);
        } else {
            let last = state.releases.last().map_or(state.back_at, |last| self.releases[last].at);
            let release = self.releases.insert(Release { at: at.max(last), bytes, next: NONE });
            state.releases.push(&mut self.releases, release);
        }
        if state.starved {
            state.starved = false;
            let free = self.channels[channel as usize].free;
            self.wake_at(queue, channel, at.max(free));
        }
    }

    /// Sends a packet over one of the lanes it may take, or puts it in line for one.
    fn ask(&mut self, queue: &mut Queue, Request { packet, input, channel, lane: first }: Request) {
        let now = queue.now();
        let Packet { lanes, bytes, ring, network, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let lane = match u32::from(lanes) {
            1 => first,
            lanes if now >= fabric.in_order_from => first + self.packets[packet].header.salt % lanes,
            lanes => (first..first + lanes).min_by_key(|&lane| self.eagerness(lane)).unwrap_or(first),
        };
        let drops = fabric.drops;
        if fabric.signals.is_some() && input != NONE {
            self.report_congestion(packet, channel, now);
        }
        if drops && input != NONE {
            self.collect(lane, now);
            let state = &mut self.lanes[lane as usize];
            if state.room < bytes {
                self.drops += 1;
                if self.fabrics[usize::from(network)].counts_queues() {
                    self.unqueue(packet, channel, now);
                }
                self.outcomes.push_back(PacketOutcome::Lost(packet));
                return;
            }
            state.room -= bytes;
        }
        let state = &mut self.channels[channel as usize];
        state.waiting += 1;
        let request = Request { packet, input, channel, lane };
        if state.lines == 0 {
            let at = self.possible(request, now);
            if at <= now {
                return self.grant(queue, request);
            }
            self.line_up(request, ring);
            self.wake_at(queue, channel, at);
        } else if self.line_up(request, ring) {
            self.serve(queue, channel);
        }
        let state = &mut self.channels[channel as usize];
        state.waiting_max = state.waiting_max.max(state.waiting);
    }

    /// The sort key for the choice of a lane: the shortest line first, then the one that has been free longest.
    fn eagerness(&self, lane: u32) -> (u16, u64) {
        let state = &self.lanes[lane as usize];
        (state.waiting, state.free)
    }

    /// Puts a packet in line; returns whether it is the first, so that it may be served.
    fn line_up(&mut self, Request { packet, channel, lane, .. }: Request, ring: Ring) -> bool {
        let state = &mut self.channels[channel as usize];
        state.lines |= 1 << (lane - state.lane);
        let (packets, state) = (&mut self.packets, &mut self.lanes[lane as usize]);
        state.waiting = state.waiting.saturating_add(1);
        let is_empty = state.line.is_empty();
        if ring != Ring::Stays {
            state.line.push(packets, packet);
            return is_empty;
        }
        // A packet that stays in a ring may take the room that entering packets must leave free, so it must not wait behind
        // them. It waits behind others that stay. With queues at inputs there is none: only one lane leads on to this one.
        let line = state.line;
        let in_line = successors(line.first(), |&other| line.after(packets, other));
        match in_line.take_while(|&other| packets[other].ring == Ring::Stays).last() {
            None => state.line.push_first(packets, packet),
            Some(other) => {
                state.line.push_behind(packets, other, packet);
                return false;
            }
        }
        true
    }

    /// Takes the first packet out of a line.
    fn step_out(&mut self, Request { channel, lane, .. }: Request) {
        let state = &mut self.lanes[lane as usize];
        state.line.pop(&self.packets);
        if state.line.is_empty() {
            state.waiting = 0;
            let state = &mut self.channels[channel as usize];
            state.lines &= !(1 << (lane - state.lane));
        } else {
            state.waiting = state.waiting.saturating_sub(1).max(1);
        }
    }

    /// Grants a channel to the packets that may have it now, and schedules the next time at which one may.
    fn serve(&mut self, queue: &mut Queue, channel: u32) {
        let now = queue.now();
        while let Some((request, at)) = self.next(channel, now) {
            if at > now {
                return self.wake_at(queue, channel, at);
            }
            self.step_out(request);
            self.grant(queue, request);
        }
    }

    /// Schedules a channel to be served at `at`; does nothing if `at` is `u64::MAX`.
    fn wake_at(&mut self, queue: &mut Queue, channel: u32, at: u64) {
        let state = &mut self.channels[channel as usize];
        if at < state.wake {
            state.wake = at;
            // The lane is only for prefetching.
            let payload = u64::from(state.lane) << 32 | u64::from(channel);
            queue.push(Event { time: at, key: class::LINK | u64::from(channel) << 32, payload });
        }
    }

    /// Returns, of the packets that are first in line for a channel, the one that may be sent earliest, the oldest among equals, and that time.
    fn choose(&mut self, channel: u32, now: u64) -> Option<(Request, u64)> {
        let Channel { lane: first, mut lines, .. } = self.channels[channel as usize];
        let (mut chosen, mut oldest) = (None, u64::MAX);
        while lines != 0 {
            let lane = first + lines.trailing_zeros();
            lines &= lines - 1;
            let Some(packet) = self.lanes[lane as usize].line.first() else { continue };
            let Packet { input, ready, .. } = self.packets[packet];
            let request = Request { packet, input, channel, lane };
            let at = self.possible(request, now);
            if chosen.is_none_or(|(_, earliest)| at < earliest || (at == earliest && ready < oldest)) {
                (chosen, oldest) = (Some((request, at)), ready);
            }
        }
        chosen
    }

    /// Returns when a packet that is first in line may be sent.
    #[inline]
    fn possible(&mut self, request: Request, now: u64) -> u64 {
        self.admitted(request, now).max(self.follows(request))
    }

    /// Returns when the packet before it has left its buffer, and its lane can be allocated again.
    #[inline]
    fn follows(&self, Request { packet, lane, .. }: Request) -> u64 {
        self.packets[packet].ready.max(self.lanes[lane as usize].free)
    }

    /// Returns when the link, the input port and the far end permit a packet to be sent.
    #[inline]
    fn admitted(&mut self, Request { packet, channel, lane, .. }: Request, now: u64) -> u64 {
        let Packet { port, bytes, ring, network, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let state = &self.lanes[lane as usize];
        let mut at = now.max(self.channels[channel as usize].free);
        if !fabric.drops {
            if port != NONE && fabric.has_ports() {
                at = at.max(self.ports[port as usize]);
            }
            let need = fabric.claim(bytes) + if ring == Ring::Enters { fabric.packet_max } else { 0 };
            if state.room < need {
                at = at.max(self.room_at(lane, need, now));
            }
            if !self.pauses.is_empty() {
                at = at.max(self.unpaused_at(channel, lane, now));
            }
        }
        at
    }

    /// Returns when a lane has room for `bytes`; `u64::MAX` if the time is not known yet. A release of buffer space then serves the channel.
    fn room_at(&mut self, lane: u32, bytes: u32, now: u64) -> u64 {
        self.collect(lane, now);
        let state = &mut self.lanes[lane as usize];
        if state.room >= bytes {
            return now;
        }
        let mut room = state.room + state.back;
        let mut release = state.releases.first();
        let mut at = state.back_at;
        while room < bytes {
            let Some(index) = release else {
                state.starved = true;
                return u64::MAX;
            };
            room += self.releases[index].bytes;
            at = self.releases[index].at;
            release = state.releases.after(&self.releases, index);
        }
        at
    }

    /// Adds the buffer space that has been freed by now to the room of a lane.
    fn collect(&mut self, lane: u32, now: u64) {
        let state = &mut self.lanes[lane as usize];
        if state.back_at > now {
            return;
        }
        state.room += std::mem::take(&mut state.back);
        while let Some(first) = state.releases.first().filter(|&first| self.releases[first].at <= now) {
            state.releases.pop(&self.releases);
            state.room += self.releases[first].bytes;
            self.releases.remove(first);
        }
    }

    /// Sends a packet now.
    fn grant(&mut self, queue: &mut Queue, request: Request) {
        let Request { packet, input, channel: number, lane } = request;
        let now = queue.now();
        let bytes = self.packets[packet].bytes;
        let state = &mut self.lanes[lane as usize];
        let channel = &mut self.channels[number as usize];
        let fabric = &self.fabrics[usize::from(channel.network)];
        let medium = &self.media[usize::from(channel.medium)];
        let time = medium.rate.time(u64::from(bytes));
        let mut head = now + medium.cable;
        channel.free = now + time;
        state.free = now + time;
        if input != NONE {
            head += fabric.traversal;
            state.free += fabric.bubble;
        }
        channel.waiting -= 1;
        let lost = (medium.loss > 0 && happens(self.seed, u64::from(number), channel.packets, medium.loss))
            || (!fabric.failures.is_empty() && fabric.failures.loses(number - fabric.first_channel, now));
        if let Some(marking) = fabric.marking.filter(|_| input != NONE) {
            let queued = match fabric.classes.is_empty() {
                true => channel.queued,
                false => self.class_queued[fabric.shares(number)][usize::from(self.packets[packet].part.class)],
            };
            let probability = marking.probability(queued);
            if happens(!self.seed, u64::from(number), channel.packets, probability) {
                self.packets[packet].marked = true;
                self.marks += 1;
            }
        }
        channel.bytes += u64::from(bytes);
        channel.packets += 1;
        let Channel { to, ejects, .. } = *channel;
        let (drops, credit, claim) = (fabric.drops, fabric.credit + medium.cable, fabric.claim(bytes));
        if !drops {
            state.room -= claim;
        }
        if !fabric.classes.is_empty() {
            fabric.classes.charge(self.packets[packet].part.class, &mut self.leads[fabric.shares(number)], bytes);
        }
        let pause = (fabric.pfc.is_some()).then(|| (fabric.first_pause + lane - fabric.first_lane) as usize);
        let terminal = number - fabric.first_channel;
        if input != NONE && fabric.counts_queues() {
            self.depart(packet, number, now);
        }
        match (input, drops) {
            (NONE, _) => self.outcomes.push_back(PacketOutcome::Left { packet, terminal }),
            (_, true) => self.release(queue, number, lane, now + time, bytes),
            (_, false) => self.leave(queue, request, time),
        }
        (self.packets[packet].input, self.packets[packet].port) = (lane, number);
        if let Some(pause) = pause {
            self.pauses[pause].comes(head + time + credit, claim);
        }
        if lost {
            self.drops += 1;
            if !drops {
                self.release(queue, number, lane, head + time + credit, claim);
            }
            self.outcomes.push_back(PacketOutcome::Lost(packet));
        } else if ejects {
            self.outcomes.push_back(PacketOutcome::Arrives { packet, tail: head + time });
        } else if self.border.as_ref().is_some_and(|border| !border.is_inside(number)) {
            self.outcomes.push_back(PacketOutcome::Crosses { packet, head, time });
        } else {
            self.arrive(queue, packet, to, head, time);
        }
    }

    /// Takes a packet out that leaves for another region; returns it, and the channel over which it goes.
    pub(crate) fn take(&mut self, packet: u32) -> (Packet, u32) {
        let record = self.packets[packet];
        self.packets.remove(packet);
        (record, record.port)
    }

    /// Handles a packet that comes from another region; returns its number.
    pub(crate) fn enter(&mut self, queue: &mut Queue, record: Packet, head: u64, time: u64) -> u32 {
        let router = self.channels[record.port as usize].to;
        let packet = self.packets.insert(record);
        self.arrive(queue, packet, router, head, time);
        packet
    }

    /// Prefetches the record of a lane.
    #[inline]
    pub(crate) fn fetch_lane(&self, lane: u32) {
        prefetch(&self.lanes[lane as usize]);
    }

    /// Frees buffer space that a message of another region names.
    pub(crate) fn give_back(&mut self, queue: &mut Queue, &FreedRoom { channel, lane, at, bytes }: &FreedRoom) {
        self.release(queue, channel, lane, at, bytes);
    }

    /// Returns the regions of all parts, by the regions of the routers of each network. A NIC belongs to the region of its router, which
    /// is the same in all planes of a rail.
    pub(crate) fn map(&self, network_routers: &[Vec<u8>]) -> Map {
        let (mut channels, mut nics) = (Vec::with_capacity(self.channels.len()), Vec::new());
        for (fabric, routers) in self.fabrics.iter().zip(network_routers) {
            let of_terminals = (0..fabric.terminals).map(|terminal| routers[fabric.topology.router(terminal) as usize]);
            if nics.len() == fabric.first_nic as usize {
                nics.extend(of_terminals.clone());
            }
            // In both directions.
            channels.extend(of_terminals.clone().chain(of_terminals).map(|region| [region; 2]));
            channels
                .extend(fabric.topology.links().iter().map(|link| [link.from, link.to].map(|router| routers[router as usize])));
        }
        Map { channels, nics }
    }

    /// Starts the departure of a packet from its buffer, which takes `time`.
    fn leave(&mut self, queue: &mut Queue, Request { packet, input, channel, .. }: Request, time: u64) {
        let now = queue.now();
        let Packet { port, bytes, network, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        self.ports[port as usize] = now + time;
        let medium = if port - fabric.first_channel < fabric.terminals { &fabric.host } else { &fabric.link };
        let slower = time.saturating_sub(medium.rate.time(u64::from(bytes)));
        let back = now + fabric.credit + medium.cable + slower;
        let drained = now + time + fabric.bubble;
        let claim = fabric.claim(bytes);
        let has_classes = !fabric.classes.is_empty();
        let state = &mut self.lanes[input as usize];
        state.drained = drained;
        if has_classes {
            state.last = channel;
        }
        match state.buffer.pop(&self.packets) {
            Some(next) if has_classes => self.schedule_by_class(queue, next),
            Some(next) => self.schedule(queue, next, drained),
            None => state.asked = false,
        }
        match &mut self.border {
            Some(border) if !border.begins_inside(port) => {
                border.free_room(FreedRoom { channel: port, lane: input, at: back, bytes: claim });
            }
            _ => self.release(queue, port, input, back, claim),
        }
    }

    /// Handles the arrival of a packet at a router: its head at `head`, its tail `time` later.
    fn arrive(&mut self, queue: &mut Queue, packet: u32, router: u32, head: u64, time: u64) {
        let Packet { network, port, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        if fabric.chooses_routes() {
            if port - fabric.first_channel < fabric.terminals {
                self.choose_route(queue.now(), packet, router);
            } else {
                self.revise_route(queue.now(), packet, router);
            }
        }
        let state = &mut self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let choices = fabric.topology.choices(router, &state.header);
        let mut hop = fabric.topology.route(router, &mut state.header, fabric.vcs);
        if let (Some((first, count)), Some(link)) = (choices, hop.link) {
            hop.link = Some(self.shortest(packet, link, first, count, queue.now()));
        }
        let state = &mut self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let (next, medium) = match hop.link {
            Some(link) => (2 * fabric.terminals + link, &fabric.link),
            None => (fabric.terminals + state.header.to, &fabric.host),
        };
        let slower = match fabric.switching {
            Switching::CutThrough => time.saturating_sub(medium.rate.time(u64::from(state.bytes))),
            Switching::StoreAndForward => time,
        };
        state.ready = head + fabric.pipeline + slower;
        state.channel = fabric.first_channel + next;
        if fabric.counts_queues() {
            self.channels[state.channel as usize].queued += u64::from(state.bytes);
            if !fabric.classes.is_empty() {
                self.class_queued[fabric.shares(state.channel)][usize::from(state.part.class)] += u64::from(state.bytes);
            }
            if let Some(backlog) = self.telemetry.backlog(fabric, state.channel) {
                backlog.comes(state.ready, state.bytes);
            }
        }
        state.lane = fabric.lane(state.channel, state.part.class, hop.vc);
        (state.lanes, state.ring) = (hop.vcs, hop.ring);
        let lane = &mut self.lanes[state.input as usize];
        if fabric.drops || fabric.pfc.is_some() {
            // Each output has its own queue, as in Ethernet routers; otherwise the packets of an input leave in order.
            self.schedule(queue, packet, 0);
        } else if lane.asked {
            lane.buffer.push(&mut self.packets, packet);
        } else {
            lane.asked = true;
            let drained = lane.drained;
            if fabric.classes.is_empty() { self.schedule(queue, packet, drained) } else { self.schedule_by_class(queue, packet) }
        }
    }

    fn schedule(&mut self, queue: &mut Queue, packet: u32, drained: u64) {
        let state = &mut self.packets[packet];
        state.ready = state.ready.max(drained);
        let &mut Packet { ready, input, channel, lane, .. } = state;
        queue.push(Request { packet, input, channel, lane }.event(ready));
    }

    /// Returns how often buffers have paused their senders.
    pub(crate) fn pauses(&self) -> u64 {
        self.pauses.iter().map(|pause| pause.count).sum()
    }

    /// Returns the counters of every channel, with its number within its network.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Count> {
        self.channels.iter().enumerate().map(|(number, channel)| Count {
            network: channel.network,
            number: number as u32 - self.fabrics[usize::from(channel.network)].first_channel,
            to: channel.to,
            bytes: channel.bytes,
            packets: channel.packets,
            busy: self.media[usize::from(channel.medium)].rate.time(channel.bytes),
            waiting_max: channel.waiting_max,
        })
    }
}

#[cfg(test)]
impl Network {
    /// Checks that no packet is left and that all buffer space is free.
    pub(crate) fn assert_empty(&mut self) {
        assert_eq!(self.packets.used(), 0, "packets are left");
        let mut lane = 0;
        for channel in 0..self.channels.len() {
            let state = &self.channels[channel];
            assert_eq!((state.waiting, state.lines, state.queued), (0, 0, 0));
            let fabric = &self.fabrics[usize::from(state.network)];
            let number = channel as u32 - fabric.first_channel;
            let to_terminal = (fabric.terminals..2 * fabric.terminals).contains(&number);
            let (lanes, room) =
                (u32::from(fabric.lanes), if to_terminal && !fabric.drops { fabric.receive } else { fabric.buffer });
            for lane in lane..lane + lanes {
                self.collect(lane, u64::MAX);
                let state = &self.lanes[lane as usize];
                assert_eq!((state.room, state.waiting, state.asked), (room, 0, false), "lane {lane}");
            }
            lane += lanes;
        }
        assert_eq!(self.releases.used(), 0, "room is left");
        assert!(self.class_queued.iter().all(|&bytes| bytes == 0), "bytes are queued");
        assert!(self.telemetry.backlogs.iter().all(Backlog::is_empty), "packets wait");
    }
}
