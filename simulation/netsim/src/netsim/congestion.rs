//! The NICs' part of congestion control, on rails that have it: delaying packets, notifying senders, and answering packets.

use super::Region;
use super::region::FlowKey;
use crate::network::Part;
use crate::nics::flow::{Stamp, Turn};
use crate::nics::nic::{RailNics, task};
use crate::nics::transfer::{Line, Transfer, role};

impl Region {
    /// Makes a transfer wait until its flow may send.
    pub(crate) fn hold_back(&mut self, nic: u32, index: u32, turn: Turn) {
        let transfer = &mut self.transfers[index];
        transfer.line = Line::HeldBack;
        transfer.pending += 1;
        match turn {
            Turn::At(time) => self.at(nic, time, task::STAGED, index),
            Turn::Now | Turn::Answer => {
                let key = self.flow_of(index);
                if let Some(flow) = self.flows.get_mut(&key) {
                    flow.waiting.push(index);
                }
            }
        }
    }

    /// Records what the answer to a packet will return, if the rail answers each packet.
    pub(crate) fn stamp(&mut self, packet: u32, stamp: Stamp) {
        let rail = &self.rails[self.rail_of_packet(packet)];
        if rail.control.is_some_and(|control| control.answers()) {
            let index = packet as usize;
            if self.stamps.len() <= index {
                self.stamps.resize(index + 1, Stamp::default());
            }
            self.stamps[index] = stamp;
            if rail.telemetry_bytes > 0 {
                self.network.telemetry.begin(packet);
            }
        }
    }

    fn rail_of_packet(&self, packet: u32) -> usize {
        let network = usize::from(self.network.packets[packet].network());
        usize::from(self.network.fabrics[network].rail)
    }

    /// An answer takes over what it returns of a packet.
    pub(crate) fn return_stamp(&mut self, packet: u32, answer: u32) {
        self.stamp(answer, self.stamped(packet));
        if self.rails[self.rail_of_packet(packet)].telemetry_bytes > 0 {
            self.network.telemetry.hand_over(packet, answer);
        }
    }

    /// What the answer to a packet returns, by the number of either; kept until the number is used again.
    fn stamped(&self, packet: u32) -> Stamp {
        self.stamps.get(packet as usize).copied().unwrap_or_default()
    }

    /// Sends a notification or an answer from the receiver of a packet to its sender, as the rail's congestion control requires.
    pub(crate) fn tell_of_congestion(&mut self, packet: u32) {
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        let Transfer { from, to, .. } = self.transfers[index];
        let Some(control) = self.rail(to).control.filter(|_| role == role::DATA) else { return };
        let (marked, now) = (self.network.packets[packet].marked, self.queue.now());
        let key = self.flow_of(index);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if control.answers() {
            self.answer(packet);
        } else if marked && flow.notifies(&control, now) {
            self.control(to, from, index, role::CONGESTED);
        }
    }

    /// Notifies the source of a packet that waits for its NIC among too many others. The NIC stands for the router before it, whose notification
    /// has one link less to cross.
    pub(crate) fn congests(&mut self, packet: u32) {
        let index = self.network.packets[packet].part.transfer;
        let Transfer { from, to, .. } = self.transfers[index];
        self.control(to, from, index, role::CONGESTED);
    }

    /// Handles a notification, or the answer to a packet, at the sender. Its record has been removed.
    pub(crate) fn told_of_congestion(&mut self, packet: u32, index: u32, role: u8) {
        let (now, stamp) = (self.queue.now(), self.stamped(packet));
        let key = self.flow_of(index);
        let RailNics { control: Some(control), telemetry_bytes, .. } = *self.rail(key.0) else { return };
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if role == role::CONGESTED {
            flow.notified(&control, now);
        } else {
            let mut none = Vec::new();
            let path = if telemetry_bytes > 0 { self.network.telemetry.path(packet) } else { &mut none };
            flow.answered(&control, now, stamp, path);
            self.resume_flow(key);
        }
    }

    /// Handles the loss of a packet of a flow, or of its answer.
    pub(crate) fn lost_in_flow(&mut self, packet: u32) {
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        let key = self.flow_of(index);
        let Some(control) = self.rail(key.0).control.filter(|_| matches!(role, role::DATA | role::ANSWER)) else { return };
        let stamp = self.stamped(packet);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        flow.lost(&control, stamp);
        self.resume_flow(key);
    }

    /// Resumes the transfers that wait for an answer.
    fn resume_flow(&mut self, key: FlowKey) {
        let waiting = self.flows.get_mut(&key).map(|flow| std::mem::take(&mut flow.waiting)).unwrap_or_default();
        waiting.into_iter().for_each(|index| self.staged(index));
    }
}
