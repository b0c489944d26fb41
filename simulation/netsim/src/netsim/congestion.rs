//! The NICs' part of congestion control, on rails that have it: delaying packets, and notifying senders of marks and delays.

use super::Region;
use super::region::FlowKey;
use crate::network::Part;
use crate::nics::flow::Turn;
use crate::nics::nic::task;
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

    /// Records the send time of a packet, if the rail measures delays by answers.
    pub(crate) fn stamp(&mut self, packet: u32, time: u64) {
        let rail = usize::from(self.network.packets[packet].rail());
        if self.rails[rail].control.is_some_and(|control| control.answers()) {
            let index = packet as usize;
            if self.stamps.len() <= index {
                self.stamps.resize(index + 1, 0);
            }
            self.stamps[index] = time;
        }
    }

    pub(crate) fn stamped(&self, packet: u32) -> u64 {
        self.stamps.get(packet as usize).copied().unwrap_or(0)
    }

    /// Sends a notification or an answer from the receiver of a packet to its sender, as the rail's congestion control requires.
    pub(crate) fn tell_of_congestion(&mut self, packet: u32) {
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        let Transfer { from, to, .. } = self.transfers[index];
        let Some(control) = self.rail(to).control.filter(|_| role == role::DATA) else { return };
        let (marked, now, stamp) = (self.network.packets[packet].marked, self.queue.now(), self.stamped(packet));
        let key = self.flow_of(index);
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if control.answers() {
            self.control_of(to, from, index, role::ANSWER, stamp);
        } else if marked && flow.notifies(&control, now) {
            self.control(to, from, index, role::CONGESTED);
        }
    }

    /// Handles a notification of a marked packet, or an answer that reveals the delay of a packet, at the sender.
    pub(crate) fn told_of_congestion(&mut self, index: u32, role: u8, stamp: u64) {
        let now = self.queue.now();
        let key = self.flow_of(index);
        let Some(control) = self.rail(key.0).control else { return };
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if role == role::CONGESTED {
            flow.notified(&control, now);
        } else {
            flow.answered(&control, now, Some(now - stamp));
            self.resume_flow(key);
        }
    }

    /// Handles the loss of a packet of a flow, or of its answer.
    pub(crate) fn lost_in_flow(&mut self, index: u32, role: u8) {
        let now = self.queue.now();
        let key = self.flow_of(index);
        let Some(control) = self.rail(key.0).control.filter(|_| matches!(role, role::DATA | role::ANSWER)) else { return };
        let Some(flow) = self.flows.get_mut(&key) else { return };
        flow.answered(&control, now, None);
        self.resume_flow(key);
    }

    /// Resumes the transfers that wait for an answer.
    fn resume_flow(&mut self, key: FlowKey) {
        let waiting = self.flows.get_mut(&key).map(|flow| std::mem::take(&mut flow.waiting)).unwrap_or_default();
        waiting.into_iter().for_each(|index| self.staged(index));
    }
}
