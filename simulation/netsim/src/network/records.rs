//! Packets, channels and lanes as records, and what the networks of rails are made of.

use super::pauses::Thresholds;
use crate::events::class;
use crate::events::pool::{Linked, List};
use crate::events::queue::Event;
use crate::events::rate::Rate;
use crate::machine::spec::Switching;
use crate::topology::{Ring, RoutingHeader, Topology};

/// A packet in the network. One line of cache.
#[repr(align(64))]
pub(crate) struct Packet {
    /// From when on its head may ask for the next link.
    pub(super) ready: u64,
    pub(crate) part: Part,
    pub(super) header: RoutingHeader,
    pub(super) next: u32,
    pub(super) bytes: u32,
    /// The lane in whose far buffer it lies, and the channel of that lane; `NONE` in its first NIC.
    pub(super) input: u32,
    pub(super) port: u32,
    /// The channel it asks for, the first lane of it that it may take, and how many it may.
    pub(super) channel: u32,
    pub(super) lane: u32,
    pub(super) lanes: u8,
    pub(super) ring: Ring,
    pub(super) rail: u8,
    /// Whether a router has marked it, as it left a long queue.
    pub(crate) marked: bool,
}

impl Packet {
    #[inline]
    pub(crate) fn rail(&self) -> u8 {
        self.rail
    }

    /// Its bytes on a link.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The terminal that it goes to.
    #[inline]
    pub(crate) fn terminal(&self) -> u32 {
        self.header.to
    }
}

/// A packet that asks for a lane of a channel. Its event names all four, lest the core must have fetched the packet to know
/// what else to fetch.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) packet: u32,
    /// The lane in whose far buffer the packet lies.
    pub(super) input: u32,
    pub(super) channel: u32,
    /// The first lane that the packet may take; once one is chosen, that.
    pub(super) lane: u32,
}

impl Request {
    /// Requests of one time are ordered by their input lanes, which are numbered as their channels are.
    #[inline]
    pub(super) fn event(self, time: u64) -> Event {
        let key = class::READY | u64::from(self.input) << 32 | u64::from(self.packet);
        Event { time, key, payload: u64::from(self.channel) << 32 | u64::from(self.lane) }
    }

    #[inline]
    pub(super) fn of(Event { key, payload, .. }: Event) -> Self {
        let input = (key & !class::MASK) >> 32;
        Self { packet: key as u32, input: input as u32, channel: (payload >> 32) as u32, lane: payload as u32 }
    }
}

/// What a packet carries.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) transfer: u32,
    /// Its number within the transfer.
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
pub(super) struct Release {
    pub(super) at: u64,
    pub(super) bytes: u32,
    pub(super) next: u32,
}

impl Linked for Release {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}

/// One direction of a link. One line of cache.
#[repr(align(64))]
pub(super) struct Channel {
    /// When it can send the next packet.
    pub(super) free: u64,
    /// When it is going to be looked at; `u64::MAX` if never.
    pub(super) wake: u64,
    /// What it has sent.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Packets in line for it, and the most that ever were.
    pub(super) waiting: u32,
    pub(super) waiting_max: u32,
    /// Bytes of packets in or on the way to its router, that are going to take it, if they are counted.
    pub(super) queued: u32,
    /// The router at its far end, or the terminal.
    pub(super) to: u32,
    /// Its first lane.
    pub(super) lane: u32,
    /// Bit `i` is set if a packet stands in line for lane `i`.
    pub(super) lines: u16,
    pub(super) medium: u8,
    pub(super) rail: u8,
    /// Whether a terminal is at its far end.
    pub(super) ejects: bool,
}

/// One virtual channel of a channel. One line of cache.
#[repr(align(64))]
pub(super) struct Lane {
    /// When it can be allocated again.
    pub(super) free: u64,
    /// When the packet that left its far buffer last has left, and the next may ask.
    pub(super) drained: u64,
    /// Room that comes back, when, and how much; none if that is 0. More of it, later, is in `releases`.
    pub(super) back_at: u64,
    pub(super) back: u32,
    pub(super) releases: List,
    /// Bytes of room at the far end; of a channel that drops, bytes of room in line.
    pub(super) room: u32,
    /// Packets in line for it.
    pub(super) line: List,
    /// Packets in its far buffer behind the one that asks.
    pub(super) buffer: List,
    /// Packets in that line.
    pub(super) waiting: u16,
    /// Whether a packet of the far buffer asks, or is going to.
    pub(super) asked: bool,
    /// Whether a packet waits for room whose time is not known yet.
    pub(super) starved: bool,
}

/// What each packet in the network, each channel and each lane takes; a channel has 8 bytes more in `ports`.
const _: () = assert!(size_of::<Packet>() == 64 && size_of::<Channel>() == 64 && size_of::<Lane>() == 64);

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
    pub(crate) switching: Switching,
    /// Flow control by pauses, and the first of the records for it.
    pub(crate) pfc: Option<Thresholds>,
    pub(crate) first_pause: u32,
    pub(crate) marking: Option<Marking>,
    pub(crate) failures: Vec<LinkFailure>,
    pub(crate) host: Medium,
    pub(crate) link: Medium,
    pub(crate) first_channel: u32,
    pub(crate) first_lane: u32,
}

/// A link that fails, one way. Times in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkFailure {
    /// Its number within the topology.
    pub(crate) link: u32,
    pub(crate) at: u64,
    pub(crate) until: u64,
    /// From then on until the first routers of routes know.
    pub(crate) detection: u64,
}

impl LinkFailure {
    fn is_now(&self, now: u64) -> bool {
        (self.at..self.until).contains(&now)
    }

    pub(super) fn is_known(&self, now: u64) -> bool {
        now.checked_sub(self.detection).is_some_and(|then| self.is_now(then))
    }
}

/// Which packets are marked: none up to so many bytes in the queue, all from so many on, and a part between that grows up to a probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// In 2⁻⁶⁴.
    pub(crate) probability: u64,
}

impl Marking {
    /// How likely a packet is marked that leaves a queue of so many bytes, in 2⁻⁶⁴.
    pub(super) fn probability(&self, queued: u32) -> u64 {
        if queued >= self.max {
            return u64::MAX;
        }
        let (above, span) = (queued.saturating_sub(self.min), self.max - self.min);
        (u128::from(self.probability) * u128::from(above) / u128::from(span.max(1))) as u64
    }
}

impl Fabric {
    /// Whether the first router of a packet chooses its route.
    #[inline]
    pub(super) fn chooses_routes(&self) -> bool {
        !self.failures.is_empty() || self.topology.adapts().is_some()
    }

    /// Whether anything depends on the bytes that are going to take a link: to count them touches its record once more for each packet.
    #[inline]
    pub(super) fn counts_queues(&self) -> bool {
        self.marking.is_some() || self.topology.adapts().is_some() || self.topology.chooses_links()
    }

    /// Whether a link fails at that time.
    pub(super) fn fails(&self, link: u32, now: u64) -> bool {
        self.failures.iter().any(|failure| failure.link == link && failure.is_now(now))
    }

    /// Whether the first routers of routes know that a link does not work.
    pub(super) fn avoids(&self, link: u32, now: u64) -> bool {
        self.failures.iter().any(|failure| failure.link == link && failure.is_known(now))
    }

    /// The lane of a virtual channel of a channel.
    #[inline]
    pub(super) fn lane(&self, channel: u32, vc: u8) -> u32 {
        self.first_lane + (channel - self.first_channel) * u32::from(self.vcs) + u32::from(vc)
    }

    /// The room that a packet takes in a buffer.
    #[inline]
    pub(super) fn claim(&self, bytes: u32) -> u32 {
        if self.whole { self.packet_max } else { bytes }
    }
}

/// What the NICs have to know.
pub(crate) enum PacketOutcome {
    /// A packet has left its NIC, which has this number on its rail.
    Left { packet: u32, terminal: u32 },
    /// A packet's tail reaches its last NIC at that time; its room is to be given back.
    Arrives { packet: u32, tail: u64 },
    /// A packet is lost.
    Lost(u32),
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
