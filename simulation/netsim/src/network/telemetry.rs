//! What routers measure for congestion control: the bytes that wait for each link, and the records that they write into packets.
//!
//! A packet waits for a link from the time at which its head could be sent over the idle link until it is sent. That time is known before it
//! comes, as the head of a packet is ahead of its events: a backlog therefore keeps the packets that are still to come, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Fabric, Network, Packet, PacketOutcome};
use crate::nics::hpcc::HopRecord;
use crate::nics::transfer::role;

/// What the routers of a rail do for its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signals {
    /// They write a [`HopRecord`] into each packet.
    Telemetry,
    /// The last router of a packet reports it if more bytes than this wait for its NIC.
    LastHop { threshold: u32 },
}

/// The memory of the backlog of a channel, without the packets that are still to come.
pub(crate) const BACKLOG_BYTES: u64 = size_of::<Backlog>() as u64;

/// The bytes that wait in a router for one link.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: u64,
    /// Packets that wait from a later time on than the last one that was asked about, with their bytes.
    coming: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Backlog {
    /// A packet waits from `at` on.
    pub(super) fn comes(&mut self, at: u64, bytes: u32) {
        self.coming.push(Reverse((at, bytes)));
    }

    /// Returns the bytes that wait at time `now`.
    pub(super) fn at(&mut self, now: u64) -> u64 {
        while let Some(&Reverse((_, bytes))) = self.coming.peek().filter(|Reverse((at, _))| *at <= now) {
            self.coming.pop();
            self.waiting += u64::from(bytes);
        }
        self.waiting
    }

    /// A packet that waits is sent, or lost; returns the bytes that wait after it.
    pub(super) fn leaves(&mut self, now: u64, bytes: u32) -> u64 {
        self.waiting = self.at(now) - u64::from(bytes);
        self.waiting
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.coming.is_empty()
    }
}

/// The backlogs of the links of rails with [`Signals`], and the records in packets of rails with [`Signals::Telemetry`].
#[derive(Default)]
pub(crate) struct Telemetry {
    pub(super) backlogs: Vec<Backlog>,
    /// By packet number. The records of a packet that is removed stay until its number is used again, as does their memory.
    paths: Vec<Vec<HopRecord>>,
}

impl Telemetry {
    /// The backlog of a link, if its rail has signals.
    #[inline]
    pub(super) fn backlog(&mut self, fabric: &Fabric, channel: u32) -> Option<&mut Backlog> {
        fabric.signals?;
        self.backlogs.get_mut((fabric.first_backlog + channel - fabric.first_channel) as usize)
    }

    /// A packet begins without records.
    pub(crate) fn begin(&mut self, packet: u32) {
        self.path(packet).clear();
    }

    /// The records in a packet.
    pub(crate) fn path(&mut self, packet: u32) -> &mut Vec<HopRecord> {
        let index = packet as usize;
        if self.paths.len() <= index {
            self.paths.resize(index + 1, Vec::new());
        }
        &mut self.paths[index]
    }

    /// The answer to a packet takes its records over.
    pub(crate) fn hand_over(&mut self, packet: u32, answer: u32) {
        self.path(packet.max(answer));
        self.paths.swap(packet as usize, answer as usize);
    }
}

impl Network {
    /// Reports a packet at its last router if too many bytes wait for its NIC.
    pub(super) fn report_congestion(&mut self, packet: u32, channel: u32, now: u64) {
        let Packet { network, part, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        let Some(Signals::LastHop { threshold }) = fabric.signals else { return };
        if !self.channels[channel as usize].ejects || part.role != role::DATA {
            return;
        }
        if self.telemetry.backlog(fabric, channel).is_some_and(|backlog| backlog.at(now) > threshold.into()) {
            self.outcomes.push_back(PacketOutcome::Congests(packet));
        }
    }

    /// Takes the bytes of a packet that is sent, or lost, out of the queue of a link; returns the bytes that wait after it, if the rail has signals.
    #[inline]
    pub(super) fn unqueue(&mut self, packet: u32, channel: u32, now: u64) -> Option<u64> {
        let Packet { bytes, network, part, .. } = self.packets[packet];
        let fabric = &self.fabrics[usize::from(network)];
        self.channels[channel as usize].queued -= u64::from(bytes);
        if !fabric.classes.is_empty() {
            self.class_queued[fabric.shares(channel)][usize::from(part.class)] -= u64::from(bytes);
        }
        self.telemetry.backlog(fabric, channel).map(|backlog| backlog.leaves(now, bytes))
    }

    /// A router sends a packet: the packet leaves the queue of the link, and gets a record of the link as it was before.
    #[inline]
    pub(super) fn depart(&mut self, packet: u32, channel: u32, now: u64) {
        let Some(queue) = self.unqueue(packet, channel, now) else { return };
        let Packet { bytes, network, part, .. } = self.packets[packet];
        if self.fabrics[usize::from(network)].signals == Some(Signals::Telemetry) && part.role == role::DATA {
            let state = &self.channels[channel as usize];
            let rate = &self.media[usize::from(state.medium)].rate;
            let [sent, queue] = [state.bytes - u64::from(bytes), queue].map(|bytes| rate.time(bytes));
            self.telemetry.path(packet).push(HopRecord { channel, time: now, sent, queue });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_from_its_time_on() {
        let mut backlog = Backlog::default();
        [(30, 300), (10, 100), (20, 200)].into_iter().for_each(|(at, bytes)| backlog.comes(at, bytes));
        assert_eq!([9, 10, 29].map(|now| backlog.at(now)), [0, 100, 300]);
        assert_eq!((backlog.leaves(29, 100), backlog.leaves(31, 200)), (200, 300));
        backlog.comes(40, 50);
        assert_eq!((backlog.leaves(50, 300), backlog.leaves(50, 50), backlog.is_empty()), (50, 0, true));
    }

    #[test]
    fn an_answer_takes_the_records_over() {
        let mut telemetry = Telemetry::default();
        telemetry.begin(3);
        let record = HopRecord { channel: 7, ..HopRecord::default() };
        telemetry.path(3).push(record);
        telemetry.hand_over(3, 9);
        assert_eq!((telemetry.path(3).len(), telemetry.path(9).clone()), (0, vec![record]));
        telemetry.begin(9);
        assert!(telemetry.path(9).is_empty());
    }
}
