//! The records of packets, channels and lanes, and the properties of each network: that of a rail, or a plane of it.

use super::failures::Failures;
use super::pauses::Thresholds;
use super::telemetry::Signals;
use crate::classes::Classes;
use crate::events::class;
use crate::events::pool::{Linked, List};
use crate::events::queue::Event;
use crate::events::rate::Rate;
use crate::machine::spec::Switching;
use crate::topology::{Ring, RoutingHeader, Topology};

/// A packet in the network. One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When its head may take the next link. On rails with classes, it may stand in line before.
    pub(super) ready: u64,
    pub(crate) part: Part,
    pub(super) header: RoutingHeader,
    pub(super) next: u32,
    pub(super) bytes: u32,
    /// The lane in whose downstream buffer it lies, and the channel of that lane; `NONE` in its source NIC.
    pub(super) input: u32,
    pub(super) port: u32,
    /// The channel it asks for, the first lane of that channel that it may take, and the number of such lanes.
    pub(super) channel: u32,
    pub(super) lane: u32,
    pub(super) lanes: u8,
    pub(super) ring: Ring,
    /// The number of its network.
    pub(super) network: u8,
    /// Whether a router has marked it because it left a long queue.
    pub(crate) marked: bool,
}

impl Packet {
    #[inline]
    pub(crate) fn network(&self) -> u8 {
        self.network
    }

    /// Returns the number of bytes on a link, header included.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns the lane in whose downstream buffer it lies.
    #[inline]
    pub(crate) fn input(&self) -> u32 {
        self.input
    }

    /// Returns the destination terminal.
    #[inline]
    pub(crate) fn terminal(&self) -> u32 {
        self.header.to
    }
}

/// A packet that asks for a lane of a channel. Its event names all four, so that they can be prefetched without reading the
/// packet first.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub(super) packet: u32,
    /// The lane in whose downstream buffer the packet lies.
    pub(super) input: u32,
    pub(super) channel: u32,
    /// The first lane that the packet may take; after the choice, the chosen lane.
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

/// The content of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) transfer: u32,
    /// Its number within the transfer.
    pub(crate) sequence: u32,
    pub(crate) role: u8,
    pub(crate) class: u8,
}

impl Linked for Packet {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}

/// Buffer space that is freed at time `at`.
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

/// One direction of a link. One cache line.
#[repr(align(64))]
pub(super) struct Channel {
    /// When it can send the next packet.
    pub(super) free: u64,
    /// When it is scheduled to be served; `u64::MAX` if it is not.
    pub(super) wake: u64,
    /// Bytes and packets that it has sent.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    /// Number of packets in line for it, and the largest number so far.
    pub(super) waiting: u32,
    pub(super) waiting_max: u32,
    /// Bytes of packets that will take it and are in its router or on the way there, if they are counted.
    pub(super) queued: u64,
    /// The router at its far end, or the terminal.
    pub(super) to: u32,
    /// Its first lane.
    pub(super) lane: u32,
    /// Bit `i` is set if a packet stands in line for lane `i`.
    pub(super) lines: u16,
    pub(super) medium: u8,
    /// The number of its network.
    pub(super) network: u8,
    /// Whether a terminal is at its far end.
    pub(super) ejects: bool,
}

/// One virtual channel of a channel, of one class. One cache line.
#[repr(align(64))]
pub(super) struct Lane {
    /// When it can be allocated again.
    pub(super) free: u64,
    /// When the last packet to leave its downstream buffer has left completely, so that the next may ask.
    pub(super) drained: u64,
    /// Time and bytes of the first release of buffer space; none if `back` is 0. Later ones are in `releases`.
    pub(super) back_at: u64,
    pub(super) back: u32,
    pub(super) releases: List,
    /// Free bytes in the downstream buffer; in a network that drops packets, free bytes in the output queue.
    pub(super) room: u32,
    /// Packets in line for it.
    pub(super) line: List,
    /// Packets in its downstream buffer behind the one that asks.
    pub(super) buffer: List,
    /// Number of packets in `line`.
    pub(super) waiting: u16,
    /// On rails with classes, the channel over which the last packet has left its downstream buffer.
    pub(super) last: u32,
    /// Whether a packet of the downstream buffer asks, or is scheduled to ask.
    pub(super) asked: bool,
    /// Whether a packet waits for buffer space whose release time is not known yet.
    pub(super) starved: bool,
}

/// The memory of a channel, with its entry in `ports`, and that of a lane.
pub(crate) const CHANNEL_BYTES: u64 = (size_of::<Channel>() + size_of::<u64>()) as u64;
pub(crate) const LANE_BYTES: u64 = size_of::<Lane>() as u64;

/// The memory of each packet in the network, each channel and each lane; a channel has 8 bytes more in `ports`.
const _: () = assert!(size_of::<Packet>() == 64 && size_of::<Channel>() == 64 && size_of::<Lane>() == 64);

/// A kind of link.
#[derive(Clone, Copy)]
pub(crate) struct Medium {
    pub(crate) rate: Rate,
    pub(crate) cable: u64,
    /// Probability of losing a packet, in units of 2⁻⁶⁴.
    pub(crate) loss: u64,
}

impl Medium {
    /// Copies bytes within a node, after the copies for which it is busy until `free`; returns the time at which the bytes have arrived.
    pub(crate) fn copy(&self, free: &mut u64, now: u64, bytes: u64) -> u64 {
        *free = (*free).max(now).saturating_add(self.rate.time(bytes));
        free.saturating_add(self.cable)
    }
}

/// The properties of a network.
pub(crate) struct Fabric {
    pub(crate) rail: u8,
    /// The first NIC of the rail, and the number of the first router among those of all planes of the rail.
    pub(crate) first_nic: u32,
    pub(crate) first_router: u32,
    pub(crate) topology: Topology,
    pub(crate) terminals: u32,
    /// Number of virtual channels of each class, and of lanes of a channel.
    pub(crate) vcs: u8,
    pub(crate) lanes: u8,
    pub(crate) classes: Classes,
    /// The index of its first share.
    pub(crate) first_share: u32,
    /// Time from the arrival of a head until it may ask.
    pub(crate) pipeline: u64,
    /// Time from a grant until the head is on the cable.
    pub(crate) traversal: u64,
    /// Time for which a lane cannot be used between two packets.
    pub(crate) bubble: u64,
    pub(crate) credit: u64,
    pub(crate) buffer: u32,
    pub(crate) receive: u32,
    /// Whether each packet claims buffer space for the largest packet.
    pub(crate) whole: bool,
    /// Size of the largest packet, for which packets that enter a ring leave room.
    pub(crate) packet_max: u32,
    /// Whether packets that find no room are lost instead of waiting.
    pub(crate) drops: bool,
    /// The time from which packets of one operation take the same lanes, so that they stay in order; `u64::MAX` if never.
    pub(crate) in_order_from: u64,
    pub(crate) switching: Switching,
    /// Flow control by pauses, and the index of its first record.
    pub(crate) pfc: Option<Thresholds>,
    pub(crate) first_pause: u32,
    pub(crate) marking: Option<Marking>,
    /// What its routers do for congestion control, and the index of its first backlog.
    pub(crate) signals: Option<Signals>,
    pub(crate) first_backlog: u32,
    pub(crate) queued: QueuedBytes,
    pub(crate) failures: Failures,
    pub(crate) host: Medium,
    pub(crate) link: Medium,
    pub(crate) first_channel: u32,
    pub(crate) first_lane: u32,
}

/// Whether the bytes queued for a link are counted. Counting costs one more access to the link's record per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuedBytes {
    Counted,
    NotCounted,
}

/// Which packets are marked: none up to `min` bytes in the queue, all from `max` on; between them, the part grows linearly up to `probability`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// In units of 2⁻⁶⁴.
    pub(crate) probability: u64,
}

impl Marking {
    /// Returns the probability that a packet leaving a queue of `queued` bytes is marked, in units of 2⁻⁶⁴.
    pub(super) fn probability(&self, queued: u64) -> u64 {
        let [min, max] = [self.min, self.max].map(u64::from);
        if queued >= max {
            return u64::MAX;
        }
        let (above, span) = (queued.saturating_sub(min), max - min);
        (u128::from(self.probability) * u128::from(above) / u128::from(span.max(1))) as u64
    }
}

impl Fabric {
    /// Whether the first router of a packet chooses its route.
    #[inline]
    pub(super) fn chooses_routes(&self) -> bool {
        !self.failures.is_empty() || self.topology.adapts().is_some()
    }

    #[inline]
    pub(crate) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Returns the time that passes at least between an action of a router and its first consequence at another router.
    pub(crate) fn lookahead(&self) -> u64 {
        let (packet, room) = (self.link.cable + self.traversal + self.pipeline, self.link.cable + self.credit);
        packet.min(room)
    }

    #[inline]
    pub(super) fn counts_queues(&self) -> bool {
        self.queued == QueuedBytes::Counted
    }

    /// Whether the first routers of routes know that a link between routers does not work.
    pub(super) fn avoids(&self, link: u32, now: u64) -> bool {
        !self.failures.is_empty() && self.failures.avoids(2 * self.terminals + link, now)
    }

    /// The lane of a virtual channel of a class of a channel.
    #[inline]
    pub(super) fn lane(&self, channel: u32, class: u8, vc: u8) -> u32 {
        let lane = u32::from(class) * u32::from(self.vcs) + u32::from(vc);
        self.first_lane + (channel - self.first_channel) * u32::from(self.lanes) + lane
    }

    /// Whether one packet at a time leaves an input port.
    #[inline]
    pub(super) fn has_ports(&self) -> bool {
        self.pfc.is_none() && self.classes.is_empty()
    }

    /// The shares of the classes of a channel.
    pub(super) fn shares(&self, channel: u32) -> std::ops::Range<usize> {
        let count = usize::from(self.classes.count());
        let first = self.first_share as usize + (channel - self.first_channel) as usize * count;
        first..first + count
    }

    /// The room that a packet takes in a buffer.
    #[inline]
    pub(super) fn claim(&self, bytes: u32) -> u32 {
        if self.whole { self.packet_max } else { bytes }
    }
}

/// An event that the network reports to the NICs.
pub(crate) enum PacketOutcome {
    /// A packet has left its NIC, which has this number on its rail.
    Left { packet: u32, terminal: u32 },
    /// A packet's tail reaches its destination NIC at time `tail`; the NIC must free its buffer space.
    Arrives { packet: u32, tail: u64 },
    /// A packet is lost.
    Lost(u32),
    /// A packet waits for its NIC among too many others.
    Congests(u32),
    /// A packet leaves for a router of another region. Its head reaches the router at `head`, its tail `time` later.
    Crosses { packet: u32, head: u64, time: u64 },
}

/// The counters of a channel.
pub(crate) struct Count {
    pub(crate) network: u8,
    /// Its number within the network.
    pub(crate) number: u32,
    pub(crate) to: u32,
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    pub(crate) busy: u64,
    pub(crate) waiting_max: u32,
}
