//! Links and routers: which packet crosses which link when.
//!
//! Virtual cut-through with credits, packet by packet. A packet is timed at its head; what its tail needs follows from its
//! length. Each direction of a link is a *channel*, each virtual channel of it a *lane*. One event per packet and router,
//! [`Network::ready`], says that a head has passed the stages before the switch; the packet then stands in line for a lane, and
//! the first in line is granted the link once all of these hold:
//!
//! - the link is free,
//! - the input port that holds the packet is free (one packet at a time leaves it),
//! - the lane has been free for the time that allocating it takes,
//! - the buffer at the far end has room for the whole packet.
//!
//! Being the first in line is holding the lane: others wait although the holder may wait for its port or for room. A grant fixes
//! when the head reaches the next router, so nothing further happens on the way. Room in a buffer comes back at a time known when
//! the packet leaves it; it is noted beside the lane, and is an event only if somebody waits for it. So it is with links: an
//! event at the time that a link becomes free exists only while packets stand in line.
//!
//! Where the way out is faster than the way in, the head waits until the tail can follow without a gap. Where it is slower, room
//! comes back later by the difference.

use std::collections::VecDeque;

use crate::lists::{Linked, List, NONE, Pool};
use crate::queue::{Event, Queue};
use crate::random::happens;
use crate::rate::Rate;
use crate::topology::{Ring, Topology, Way};

/// Orders what happens at one time: users first, then links that become free, then packets that ask, then NICs.
pub(crate) mod class {
    pub(crate) const WAKE: u64 = 0 << 61;
    pub(crate) const START: u64 = 1 << 61;
    pub(crate) const LINK: u64 = 2 << 61;
    pub(crate) const READY: u64 = 3 << 61;
    pub(crate) const NIC: u64 = 4 << 61;
    pub(crate) const MASK: u64 = 7 << 61;
}

/// Entities of one class at most: what the key of an event has room for.
pub(crate) const ENTITIES_MAX: u32 = 1 << 29;

/// A packet on its way. One line of cache.
#[repr(align(64))]
pub(crate) struct Packet {
    /// From when on its head may ask for the next link.
    ready: u64,
    pub(crate) part: Part,
    next: u32,
    /// The lane in whose far buffer it lies, or `NONE` in its first NIC.
    input: u32,
    /// The channel it asks for.
    channel: u32,
    bytes: u32,
    way: Way,
    /// The lanes of the channel that it may take.
    vc: u8,
    vcs: u8,
    ring: Ring,
}

/// What a packet carries.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) message: u32,
    /// Its number within the message.
    pub(crate) sequence: u32,
    pub(crate) role: u8,
}

impl Linked for Packet {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}

/// Room that comes back.
struct Release {
    at: u64,
    bytes: u32,
    next: u32,
}

impl Linked for Release {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}

/// One direction of a link; what changes with every packet. Half a line of cache.
#[repr(align(32))]
struct Channel {
    /// When it can send the next packet.
    free: u64,
    /// When the input port at its far end can send the next packet.
    port_free: u64,
    /// When it is going to be looked at; `u64::MAX` if never.
    wake: u64,
    /// Packets in line for it.
    waiting: u32,
    /// Bit `i` is set if somebody stands in line for virtual channel `i`.
    lines: u16,
    medium: u8,
    rail: u8,
}

/// What a channel has counted.
#[derive(Clone, Copy, Default)]
struct Tally {
    bytes: u64,
    packets: u64,
    waiting_max: u32,
}

/// One virtual channel of a channel. One line of cache.
#[repr(align(64))]
struct Lane {
    /// When it can be allocated again.
    free: u64,
    /// When the packet that left its far buffer last has left, and the next may ask.
    drained: u64,
    /// Bytes of room at the far end; of a channel that drops, bytes of room in line.
    room: u32,
    /// Room that comes back: how much, and when; none if that is 0. More of it, later, is in `releases`.
    back: u32,
    back_at: u64,
    releases: List,
    /// Packets in line for it.
    line: List,
    /// Packets in its far buffer behind the one that asks.
    buffer: List,
    /// Packets in that line.
    waiting: u16,
    /// Whether a packet of the far buffer asks, or is going to.
    asked: bool,
    /// Whether somebody waits for room of which nobody knows yet when it comes.
    starved: bool,
}

/// A kind of link.
#[derive(Clone, Copy)]
pub(crate) struct Medium {
    pub(crate) rate: Rate,
    pub(crate) cable: u64,
    /// How likely it loses a packet, in 2⁻⁶⁴.
    pub(crate) loss: u64,
}

/// What one rail's network is made of.
pub(crate) struct Fabric {
    pub(crate) topology: Topology,
    pub(crate) terminals: u32,
    pub(crate) vcs: u8,
    /// From the arrival of a head until it may ask.
    pub(crate) pipeline: u64,
    /// From a grant until the head is on the cable.
    pub(crate) traversal: u64,
    /// How long a lane cannot be used between two packets.
    pub(crate) bubble: u64,
    pub(crate) credit: u64,
    pub(crate) buffer: u32,
    pub(crate) receive: u32,
    /// Packets claim room as if they were of the largest size.
    pub(crate) whole: bool,
    /// The largest packet, for which those that enter a ring leave room.
    pub(crate) packet_max: u32,
    /// Packets that find no room are lost, instead of waiting for it.
    pub(crate) drops: bool,
    /// Packets of one operation take the same lanes, so that they stay in order.
    pub(crate) steady: bool,
    pub(crate) store_and_forward: bool,
    pub(crate) host: Medium,
    pub(crate) link: Medium,
    pub(crate) first_channel: u32,
    pub(crate) first_lane: u32,
}

impl Fabric {
    /// The room that a packet takes in a buffer.
    fn claim(&self, bytes: u32) -> u32 {
        if self.whole { self.packet_max } else { bytes }
    }
}

/// What the NICs have to know.
pub(crate) enum Outcome {
    /// A packet has left its NIC.
    Left(u32),
    /// A packet's tail reaches its last NIC at that time; its room is to be given back.
    Arrives { packet: u32, tail: u64 },
    /// A packet is lost.
    Lost(u32),
}

/// All links and routers of all rails.
pub(crate) struct Network {
    pub(crate) fabrics: Vec<Fabric>,
    channels: Vec<Channel>,
    /// The router at the far end of each channel, or the terminal.
    to: Vec<u32>,
    tallies: Vec<Tally>,
    lanes: Vec<Lane>,
    media: Vec<Medium>,
    pub(crate) packets: Pool<Packet>,
    releases: Pool<Release>,
    pub(crate) outcomes: VecDeque<Outcome>,
    seed: u64,
    pub(crate) drops: u64,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            fabrics: Vec::new(),
            channels: Vec::new(),
            to: Vec::new(),
            tallies: Vec::new(),
            lanes: Vec::new(),
            media: Vec::new(),
            packets: Pool::new(),
            releases: Pool::new(),
            outcomes: VecDeque::new(),
            seed,
            drops: 0,
        }
    }

    /// Adds a rail; returns whether there is room for its channels.
    pub(crate) fn add(&mut self, mut fabric: Fabric) -> bool {
        let rail = self.fabrics.len() as u8;
        let links = fabric.topology.links();
        let channels = self.channels.len() + 2 * fabric.terminals as usize + links.len();
        let lanes = self.lanes.len() + (channels - self.channels.len()) * usize::from(fabric.vcs);
        if lanes >= ENTITIES_MAX as usize {
            return false;
        }
        fabric.first_channel = self.channels.len() as u32;
        fabric.first_lane = self.lanes.len() as u32;
        let medium = self.media.len() as u8;
        self.media.extend([fabric.host, fabric.link]);
        self.channels.reserve_exact(channels - self.channels.len());
        self.lanes.reserve_exact(lanes - self.lanes.len());
        let room = if fabric.drops { fabric.buffer } else { fabric.receive };
        for terminal in 0..fabric.terminals {
            self.push(&fabric, rail, medium, fabric.topology.router(terminal), fabric.buffer);
        }
        for terminal in 0..fabric.terminals {
            self.push(&fabric, rail, medium, terminal, room);
        }
        for link in links {
            self.push(&fabric, rail, medium + 1, link.to, fabric.buffer);
        }
        self.fabrics.push(fabric);
        true
    }

    fn push(&mut self, fabric: &Fabric, rail: u8, medium: u8, to: u32, room: u32) {
        self.channels.push(Channel { free: 0, port_free: 0, wake: u64::MAX, waiting: 0, lines: 0, medium, rail });
        self.to.push(to);
        self.tallies.push(Tally::default());
        for _ in 0..fabric.vcs {
            self.lanes.push(Lane {
                free: 0,
                drained: 0,
                room,
                back: 0,
                back_at: 0,
                releases: List::EMPTY,
                line: List::EMPTY,
                buffer: List::EMPTY,
                waiting: 0,
                asked: false,
                starved: false,
            });
        }
    }

    /// Puts a packet in line at its NIC.
    pub(crate) fn inject(&mut self, queue: &mut Queue, packet: u32) {
        self.ask(queue, packet);
    }

    /// A packet of `bytes` that is to leave from a terminal.
    pub(crate) fn packet(&mut self, rail: u8, terminal: u32, way: Way, bytes: u32, part: Part) -> u32 {
        let fabric = &self.fabrics[usize::from(rail)];
        self.packets.insert(Packet {
            ready: 0,
            part,
            next: NONE,
            input: NONE,
            channel: fabric.first_channel + terminal,
            bytes,
            way,
            vc: 0,
            vcs: fabric.vcs,
            ring: Ring::None,
        })
    }

    /// The head of a packet has passed the stages before the switch.
    #[inline]
    pub(crate) fn ready(&mut self, queue: &mut Queue, packet: u32) {
        self.ask(queue, packet);
    }

    /// A channel is to be looked at.
    #[inline]
    pub(crate) fn wake(&mut self, queue: &mut Queue, channel: u32) {
        let state = &mut self.channels[channel as usize];
        if state.wake == queue.now() {
            state.wake = u64::MAX;
            self.serve(queue, channel);
        }
    }

    /// A packet leaves the NIC it has come to at that time, and gives its room back.
    pub(crate) fn free(&mut self, queue: &mut Queue, packet: u32, at: u64) {
        let Packet { input, channel, bytes, .. } = self.packets[packet];
        let rail = self.channels[channel as usize].rail;
        let fabric = &self.fabrics[usize::from(rail)];
        if !fabric.drops {
            let back = at + fabric.credit + fabric.host.cable;
            let claim = fabric.claim(bytes);
            self.release(queue, rail, input, back, claim);
        }
    }

    /// Gives room of a lane back, at a time that may lie ahead.
    pub(crate) fn release(&mut self, queue: &mut Queue, rail: u8, lane: u32, at: u64, bytes: u32) {
        let now = queue.now();
        let state = &mut self.lanes[lane as usize];
        let spare = state.back_at <= now;
        if spare {
            state.room += std::mem::take(&mut state.back);
            if let Some(first) = state.releases.pop(&mut self.releases) {
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
            let channel = self.channel_of(rail, lane);
            let free = self.channels[channel as usize].free;
            self.wake_at(queue, channel, at.max(free));
        }
    }

    fn channel_of(&self, rail: u8, lane: u32) -> u32 {
        let fabric = &self.fabrics[usize::from(rail)];
        fabric.first_channel + (lane - fabric.first_lane) / u32::from(fabric.vcs)
    }

    /// Puts a packet in line for one of the lanes it may take.
    fn ask(&mut self, queue: &mut Queue, packet: u32) {
        let Packet { channel, vc, vcs, bytes, input, ring, .. } = self.packets[packet];
        let rail = self.channels[channel as usize].rail;
        let fabric = &self.fabrics[usize::from(rail)];
        let first = fabric.first_lane + (channel - fabric.first_channel) * u32::from(fabric.vcs) + u32::from(vc);
        let drops = fabric.drops && input != NONE;
        let lane = match vcs {
            1 => first,
            _ if fabric.steady => first + self.packets[packet].way.salt % u32::from(vcs),
            _ => (first..first + u32::from(vcs)).min_by_key(|&lane| self.eagerness(lane)).unwrap_or(first),
        };
        if drops {
            self.collect(lane, queue.now());
            let state = &mut self.lanes[lane as usize];
            if state.room < bytes {
                self.drops += 1;
                self.outcomes.push_back(Outcome::Lost(packet));
                return;
            }
            state.room -= bytes;
        }
        let state = &mut self.lanes[lane as usize];
        if ring == Ring::Stays {
            // Who goes round a ring may take room that those who enter must leave, so it must not stand behind them.
            // There is one at most: only one lane leads on to this one.
            state.line.push_first(&mut self.packets, packet);
        } else {
            state.line.push(&mut self.packets, packet);
        }
        let first_in_line = state.line.first() == Some(packet);
        state.waiting = state.waiting.saturating_add(1);
        let state = &mut self.channels[channel as usize];
        state.waiting += 1;
        state.lines |= 1 << (lane - first + u32::from(vc));
        let waiting = state.waiting;
        let tally = &mut self.tallies[channel as usize];
        tally.waiting_max = tally.waiting_max.max(waiting);
        // Nobody else in line can be served.
        if first_in_line {
            self.serve(queue, channel);
        }
    }

    /// Lanes with the shortest lines come first, those that were used longest ago before others.
    fn eagerness(&self, lane: u32) -> (u16, u64) {
        let state = &self.lanes[lane as usize];
        (state.waiting, state.free)
    }

    /// Grants a channel to who may have it, or arranges to look again when somebody may.
    fn serve(&mut self, queue: &mut Queue, channel: u32) {
        let now = queue.now();
        while self.channels[channel as usize].lines != 0 {
            let from = now.max(self.channels[channel as usize].free);
            let (lane, at) = self.choose(channel, from, now);
            if at > now {
                if at != u64::MAX {
                    self.wake_at(queue, channel, at);
                }
                return;
            }
            self.grant(queue, channel, lane);
        }
    }

    fn wake_at(&mut self, queue: &mut Queue, channel: u32, at: u64) {
        let state = &mut self.channels[channel as usize];
        if at < state.wake {
            state.wake = at;
            queue.push(Event { time: at, key: class::LINK | u64::from(channel) << 32, payload: u64::from(channel) });
        }
    }

    /// The lane whose first packet may go at `from`, oldest first, or else the time at which one may.
    fn choose(&mut self, channel: u32, from: u64, now: u64) -> (u32, u64) {
        let rail = self.channels[channel as usize].rail;
        let (first, drops) = {
            let fabric = &self.fabrics[usize::from(rail)];
            (fabric.first_lane + (channel - fabric.first_channel) * u32::from(fabric.vcs), fabric.drops)
        };
        let (mut chosen, mut oldest, mut earliest) = (first, u64::MAX, u64::MAX);
        let mut lines = self.channels[channel as usize].lines;
        while lines != 0 {
            let lane = first + lines.trailing_zeros();
            lines &= lines - 1;
            let Some(packet) = self.lanes[lane as usize].line.first() else { continue };
            let Packet { input, bytes, ready, ring, .. } = self.packets[packet];
            let mut at = from.max(self.lanes[lane as usize].free);
            if !drops {
                if input != NONE {
                    at = at.max(self.channels[self.channel_of(rail, input) as usize].port_free);
                }
                let fabric = &self.fabrics[usize::from(rail)];
                let need = fabric.claim(bytes) + if ring == Ring::Enters { fabric.packet_max } else { 0 };
                at = at.max(self.room_at(lane, need, now));
            }
            if at < earliest || (at == earliest && ready < oldest) {
                (chosen, oldest, earliest) = (lane, ready, at);
            }
        }
        (chosen, earliest)
    }

    /// When a lane has room for `bytes`. If nobody knows yet, `u64::MAX`; who gives room back looks at the channel then.
    fn room_at(&mut self, lane: u32, bytes: u32, now: u64) -> u64 {
        if self.lanes[lane as usize].room >= bytes {
            return 0;
        }
        self.collect(lane, now);
        let state = &mut self.lanes[lane as usize];
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
            release = Some(self.releases[index].next).filter(|&next| next != NONE);
        }
        at
    }

    /// Adds the room that has come back to a lane.
    fn collect(&mut self, lane: u32, now: u64) {
        let state = &mut self.lanes[lane as usize];
        if state.back_at > now {
            return;
        }
        state.room += std::mem::take(&mut state.back);
        while let Some(first) = state.releases.first().filter(|&first| self.releases[first].at <= now) {
            state.releases.pop(&mut self.releases);
            state.room += self.releases[first].bytes;
            self.releases.remove(first);
        }
    }

    /// Sends the first packet in line for a lane now.
    fn grant(&mut self, queue: &mut Queue, channel: u32, lane: u32) {
        let now = queue.now();
        let Some(packet) = self.lanes[lane as usize].line.pop(&mut self.packets) else { return };
        let Packet { bytes, input, .. } = self.packets[packet];
        let state = &mut self.channels[channel as usize];
        let rail = state.rail;
        let to = self.to[channel as usize];
        let fabric = &self.fabrics[usize::from(rail)];
        let first = fabric.first_lane + (channel - fabric.first_channel) * u32::from(fabric.vcs);
        let medium = self.media[usize::from(state.medium)];
        let time = medium.rate.time(u64::from(bytes));
        state.waiting -= 1;
        state.free = now + time;
        let tally = &mut self.tallies[channel as usize];
        tally.bytes += u64::from(bytes);
        let number = tally.packets;
        tally.packets += 1;
        let mut head = now + medium.cable;
        let mut lane_free = now + time;
        if input != NONE {
            head += fabric.traversal;
            lane_free += fabric.bubble;
        }
        let (drops, credit, claim) = (fabric.drops, fabric.credit + medium.cable, fabric.claim(bytes));
        let ejected = channel - fabric.first_channel < 2 * fabric.terminals && channel - fabric.first_channel >= fabric.terminals;
        let state = &mut self.lanes[lane as usize];
        state.free = lane_free;
        state.waiting = if state.line.first().is_some() { state.waiting.saturating_sub(1).max(1) } else { 0 };
        if state.waiting == 0 {
            self.channels[channel as usize].lines &= !(1 << (lane - first));
        }
        if !drops {
            state.room -= claim;
        }
        match (input, drops) {
            (NONE, _) => self.outcomes.push_back(Outcome::Left(packet)),
            (_, true) => self.release(queue, rail, lane, now + time, bytes),
            (_, false) => self.leave(queue, rail, input, bytes, time),
        }
        if medium.loss > 0 && happens(self.seed, u64::from(channel), number, medium.loss) {
            self.drops += 1;
            if !drops {
                self.release(queue, rail, lane, head + time + credit, claim);
            }
            self.outcomes.push_back(Outcome::Lost(packet));
        } else if ejected {
            self.packets[packet].input = lane;
            self.outcomes.push_back(Outcome::Arrives { packet, tail: head + time });
        } else {
            self.arrive(queue, rail, lane, to, packet, head, time);
        }
    }

    /// A packet leaves the buffer of a lane from now on, for `time`.
    fn leave(&mut self, queue: &mut Queue, rail: u8, lane: u32, bytes: u32, time: u64) {
        let now = queue.now();
        let channel = self.channel_of(rail, lane);
        let fabric = &self.fabrics[usize::from(rail)];
        let state = &mut self.channels[channel as usize];
        state.port_free = now + time;
        let medium = self.media[usize::from(state.medium)];
        let slower = time.saturating_sub(medium.rate.time(u64::from(bytes)));
        let drained = now + time + fabric.bubble;
        let back = now + fabric.credit + medium.cable + slower;
        let claim = fabric.claim(bytes);
        let state = &mut self.lanes[lane as usize];
        state.drained = drained;
        match state.buffer.pop(&mut self.packets) {
            Some(next) => self.schedule(queue, channel, lane, next, drained),
            None => state.asked = false,
        }
        self.release(queue, rail, lane, back, claim);
    }

    /// A packet comes to a router: its head at `head`, its tail `time` later.
    #[expect(clippy::too_many_arguments, reason = "all of it is known where it is called, and nowhere else")]
    fn arrive(&mut self, queue: &mut Queue, rail: u8, lane: u32, router: u32, packet: u32, head: u64, time: u64) {
        let fabric = &self.fabrics[usize::from(rail)];
        let state = &mut self.packets[packet];
        let hop = fabric.topology.route(router, &mut state.way, fabric.vcs);
        let (next, medium) = match hop.link {
            Some(link) => (2 * fabric.terminals + link, fabric.link),
            None => (fabric.terminals + state.way.to, fabric.host),
        };
        let slower = if fabric.store_and_forward { time } else { time.saturating_sub(medium.rate.time(u64::from(state.bytes))) };
        state.ready = head + fabric.pipeline + slower;
        state.input = lane;
        state.channel = fabric.first_channel + next;
        (state.vc, state.vcs, state.ring) = (hop.vc, hop.vcs, hop.ring);
        let (drops, channel) = (fabric.drops, self.channel_of(rail, lane));
        let state = &mut self.lanes[lane as usize];
        if drops {
            self.schedule(queue, channel, lane, packet, 0);
        } else if state.asked {
            state.buffer.push(&mut self.packets, packet);
        } else {
            state.asked = true;
            let drained = state.drained;
            self.schedule(queue, channel, lane, packet, drained);
        }
    }

    fn schedule(&mut self, queue: &mut Queue, channel: u32, lane: u32, packet: u32, drained: u64) {
        let state = &mut self.packets[packet];
        state.ready = state.ready.max(drained);
        let key = class::READY | u64::from(channel) << 32 | u64::from(lane);
        queue.push(Event { time: state.ready, key, payload: u64::from(packet) });
    }

    /// For every channel: its rail, its number on the rail, and what it has counted.
    pub(crate) fn counts(&self) -> impl Iterator<Item = Count> {
        self.channels.iter().zip(&self.tallies).enumerate().map(|(number, (channel, tally))| Count {
            rail: channel.rail,
            number: number as u32 - self.fabrics[usize::from(channel.rail)].first_channel,
            to: self.to[number],
            bytes: tally.bytes,
            packets: tally.packets,
            busy: self.media[usize::from(channel.medium)].rate.time(tally.bytes),
            waiting_max: tally.waiting_max,
        })
    }
}

/// What a channel has counted.
pub(crate) struct Count {
    pub(crate) rail: u8,
    pub(crate) number: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) busy: u64,
    pub(crate) waiting_max: u32,
}

#[cfg(test)]
impl Network {
    /// Checks that no packet is left and all room has come back.
    pub(crate) fn assert_empty(&mut self) {
        assert_eq!(self.packets.used(), 0, "packets are left");
        let mut lane = 0;
        for channel in 0..self.channels.len() {
            let state = &self.channels[channel];
            assert_eq!((state.waiting, state.lines), (0, 0));
            let fabric = &self.fabrics[usize::from(state.rail)];
            let number = channel as u32 - fabric.first_channel;
            let to_terminal = (fabric.terminals..2 * fabric.terminals).contains(&number);
            let (vcs, room) = (u32::from(fabric.vcs), if to_terminal && !fabric.drops { fabric.receive } else { fabric.buffer });
            for lane in lane..lane + vcs {
                self.collect(lane, u64::MAX);
                let state = &self.lanes[lane as usize];
                assert_eq!((state.room, state.waiting, state.asked), (room, 0, false), "lane {lane}");
            }
            lane += vcs;
        }
        assert_eq!(self.releases.used(), 0, "room is left");
    }
}
