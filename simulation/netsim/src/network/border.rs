//! The border of a region: what crosses it, and what is known here of operations of other regions.
//!
//! A region owns routers, the NICs attached to them, and their events. Of a channel between two regions, the one where it begins owns the output
//! (its lines, its free room), and the other one owns the input (the downstream buffer). Two kinds of messages cross a border: packets, and room that
//! becomes free in a buffer. Neither has a consequence at the other side before the lookahead of the rail has passed, so that it is enough to
//! exchange them once in that time.
//!
//! An operation has one record in the region of its initiator, and one in each other region in which a NIC takes part in it. A packet carries the
//! facts of its operation across borders ([`CarriedOperation`]) until it arrives at its NIC.

use std::collections::HashMap;
use std::sync::Arc;

use super::Packet;
use crate::events::prefetch::prefetch;
use crate::nics::transfer::{OperationFacts, OperationKind, Transfer};

/// The number of a region, and of the record of an operation there.
pub(crate) type Origin = (u8, u32);

/// What a packet carries to a NIC of another region than that of its sender. One cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct CarriedOperation {
    /// The initiator's record of the operation.
    pub(crate) origin: Origin,
    pub(crate) facts: OperationFacts,
}

/// A packet that crosses a border: its head reaches the router at `head`, its tail `time` later.
pub(crate) struct CrossingPacket {
    pub(crate) packet: Packet,
    pub(crate) operation: Option<CarriedOperation>,
    pub(crate) head: u64,
    pub(crate) time: u64,
}

/// FreedRoom that becomes free in the buffer at the far end of a lane at time `at`.
pub(crate) struct FreedRoom {
    pub(crate) channel: u32,
    pub(crate) lane: u32,
    pub(crate) at: u64,
    pub(crate) bytes: u32,
}

/// Messages from one region to another, in the order in which they were sent.
pub(crate) struct Messages {
    pub(crate) packets: Vec<CrossingPacket>,
    pub(crate) room: Vec<FreedRoom>,
    /// The time before which none of them has a consequence.
    pub(crate) earliest: u64,
}

impl Default for Messages {
    fn default() -> Self {
        Self { packets: Vec::new(), room: Vec::new(), earliest: u64::MAX }
    }
}

impl Messages {
    pub(crate) fn is_empty(&self) -> bool {
        self.earliest == u64::MAX
    }
}

/// The regions of the parts of a machine.
pub(crate) struct Map {
    /// The regions at the beginning and at the end of each channel.
    pub(crate) channels: Vec<[u8; 2]>,
    /// The region of each NIC.
    pub(crate) nics: Vec<u8>,
}

/// The border of one region.
pub(crate) struct Border {
    me: u8,
    map: Arc<Map>,
    /// By region.
    pub(crate) out: Vec<Messages>,
    /// By packet number, of packets whose sender and receiver are in different regions.
    carried: Vec<Option<CarriedOperation>>,
    /// By transfer number, of operations of other regions: the initiator's record.
    origins: Vec<Origin>,
    /// The records here of operations of other regions, if several packets need them.
    records: HashMap<Origin, u32>,
}

impl Border {
    pub(crate) fn new(me: u8, map: Arc<Map>, regions: usize) -> Self {
        let out = (0..regions).map(|_| Messages::default()).collect();
        Self { me, map, out, carried: Vec::new(), origins: Vec::new(), records: HashMap::new() }
    }

    /// Whether the far end of a channel is in this region.
    #[inline]
    pub(super) fn is_inside(&self, channel: u32) -> bool {
        self.map.channels[channel as usize][1] == self.me
    }

    /// Whether a channel begins in this region.
    #[inline]
    pub(super) fn begins_inside(&self, channel: u32) -> bool {
        self.map.channels[channel as usize][0] == self.me
    }

    #[inline]
    pub(super) fn free_room(&mut self, room: FreedRoom) {
        let to = self.map.channels[room.channel as usize][0];
        let messages = &mut self.out[usize::from(to)];
        messages.earliest = messages.earliest.min(room.at);
        messages.room.push(room);
    }

    /// Sends a packet over a channel that ends in another region, where it may ask for the next link at `ready` at the earliest.
    #[inline]
    pub(crate) fn send(&mut self, channel: u32, packet: CrossingPacket, ready: u64) {
        let to = self.map.channels[channel as usize][1];
        let messages = &mut self.out[usize::from(to)];
        messages.earliest = messages.earliest.min(ready);
        messages.packets.push(packet);
    }

    /// Whether a NIC is in this region.
    #[inline]
    pub(crate) fn has_nic(&self, nic: u32) -> bool {
        self.map.nics[nic as usize] == self.me
    }

    /// Sets what a packet carries.
    #[inline]
    pub(crate) fn attach(&mut self, packet: u32, operation: CarriedOperation) {
        let index = packet as usize;
        if self.carried.len() <= index {
            self.carried.resize(index + 1, None);
        }
        self.carried[index] = Some(operation);
    }

    /// Takes what a packet carries; `None` if its sender and receiver are in one region.
    #[inline]
    pub(crate) fn detach(&mut self, packet: u32) -> Option<CarriedOperation> {
        self.carried.get_mut(packet as usize)?.take()
    }

    /// Prefetches what a packet carries.
    #[inline]
    pub(super) fn fetch(&self, packet: u32) {
        self.carried.get(packet as usize).into_iter().for_each(prefetch);
    }

    /// Returns the initiator's record of an operation of which a record of this region is.
    #[inline]
    pub(crate) fn origin(&self, index: u32, transfer: &Transfer) -> Origin {
        if self.has_nic(transfer.by) { (self.me, index) } else { self.origins[index as usize] }
    }

    /// Returns the record here of an operation; `None` if there is none yet.
    #[inline]
    pub(crate) fn record(&self, origin: Origin) -> Option<u32> {
        if origin.0 == self.me { Some(origin.1) } else { self.records.get(&origin).copied() }
    }

    /// Records that `transfer` is the record here of an operation of another region, of which the first packet has come.
    pub(crate) fn adopt(&mut self, transfer: u32, CarriedOperation { origin, facts }: CarriedOperation) {
        let index = transfer as usize;
        if self.origins.len() <= index {
            self.origins.resize(index + 1, (0, 0));
        }
        self.origins[index] = origin;
        if is_found_again(facts.kind, facts.packets) {
            self.records.insert(origin, transfer);
        }
    }

    /// Forgets a record of this region.
    #[inline]
    pub(crate) fn forget(&mut self, index: u32, transfer: &Transfer) {
        if is_found_again(transfer.kind, transfer.packets) && !self.has_nic(transfer.by) {
            self.records.remove(&self.origins[index as usize]);
        }
    }

    /// Checks that nothing of other regions is left.
    #[cfg(test)]
    pub(crate) fn assert_empty(&self) {
        assert!(self.records.is_empty() && self.carried.iter().all(Option::is_none));
        assert!(self.out.iter().all(Messages::is_empty));
    }
}

/// Whether several packets may come to the record of an operation of another region. Otherwise only the first one does.
#[inline]
fn is_found_again(kind: OperationKind, packets: u32) -> bool {
    kind == OperationKind::Copy || packets > 1
}
