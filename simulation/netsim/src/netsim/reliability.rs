//! What NICs do about what is lost, and about receivers that are not ready.
//!
//! Where packets can be lost, those of an operation keep to one path, so that one that comes out of order tells of a loss: the
//! receiver says so, and the sender goes back to the first that is missing. What nobody answers is repeated after a time, so many
//! times. What was done once is not done again, only told again.
//!
//! When the sender goes back, it goes to what the receiver has: acknowledgements on the way, which tell it in a real NIC, are not
//! simulated.

use super::Netsim;
use crate::events::pool::List;
use crate::machine::spec::RailKind;
use crate::network::Part;
use crate::nics::nic::{RailNics, task};
use crate::nics::transfer::{OperationKind, Phase, role};
use crate::operation::{FailureReason, Notice};

impl Netsim {
    /// Gives back the receive slot of a datagram that `node` has consumed, where the machine limits the slots and names no time
    /// (`receive.slots` without `receive.service_ns`). Does nothing on other machines, and if none is in use.
    pub fn consume(&mut self, node: u32) {
        if self.rails.iter().any(|rail| rail.service.is_none()) {
            self.free_slot(node);
        }
    }

    /// Gives back a receive slot, if one is in use.
    pub(crate) fn free_slot(&mut self, node: u32) {
        let Some(state) = self.nodes.get_mut(node as usize).filter(|state| state.slots > 0) else { return };
        state.slots -= 1;
        for rail in 0..self.rails.len() {
            let RailNics { first, count, .. } = self.rails[rail];
            for nic in first + node * count..first + (node + 1) * count {
                self.offer_again(nic);
            }
        }
    }

    /// A packet of a datagram has come where receive slots are limited.
    pub(crate) fn admit(&mut self, packet: u32) {
        let (index, now) = (self.network.packets[packet].part.message, self.queue.now());
        let nic = self.messages[index].to;
        if self.messages[index].phase != Phase::Sending {
            // It ended, or has come before: no slot is needed for what is thrown away.
            return self.write(nic, packet, now);
        }
        let kind = self.rail(nic).kind;
        let message = &mut self.messages[index];
        if kind == RailKind::Tofu && message.admitted + 1 < message.packets {
            // Only the packet that completes a datagram takes the slot: one that waits for packets behind it must not hold any.
            message.admitted += 1;
            return self.write(nic, packet, now);
        }
        if self.take_slot(nic, index) {
            return self.write(nic, packet, now);
        }
        match kind {
            RailKind::Tofu => self.nics[nic as usize].held.push(&mut self.network.packets, packet),
            RailKind::InfinibandRc => {
                self.network.free(&mut self.queue, packet, now);
                self.discard(packet);
                if !std::mem::replace(&mut self.messages[index].told, true) {
                    let from = self.messages[index].from;
                    self.control(nic, from, index, role::NOT_READY);
                    self.watch(index);
                }
            }
            RailKind::InfinibandUd | RailKind::Ethernet => {
                self.network.free(&mut self.queue, packet, now);
                self.statistics.drops += 1;
                self.lost(packet);
            }
        }
    }

    /// Whether a datagram has a receive slot, or gets one.
    fn take_slot(&mut self, nic: u32, index: u32) -> bool {
        let (slots, node) = (self.rail(nic).slots, self.node_of(nic));
        let state = &mut self.nodes[node as usize];
        let message = &mut self.messages[index];
        if !message.slot && !message.told && !message.lost && slots.is_some_and(|slots| state.slots < slots) {
            state.slots += 1;
            message.slot = true;
        }
        message.slot
    }

    /// Packets that wait for a slot try again, in the order in which they came.
    fn offer_again(&mut self, nic: u32) {
        let mut held = std::mem::replace(&mut self.nics[nic as usize].held, List::EMPTY);
        while let Some(packet) = held.pop(&mut self.network.packets) {
            self.admit(packet);
        }
    }

    /// The host takes care of a datagram that is complete.
    pub(crate) fn serve_datagram(&mut self, index: u32) {
        let message = &mut self.messages[index];
        let nic = message.to;
        if !std::mem::take(&mut message.slot) {
            return;
        }
        if let Some(service) = self.rail(nic).service {
            let (node, now) = (self.node_of(nic), self.queue.now());
            let state = &mut self.nodes[node as usize];
            state.service_free = state.service_free.max(now) + service;
            let done = state.service_free;
            self.at(nic, done, task::CONSUMED, node);
        }
    }

    /// A packet is lost.
    pub(crate) fn lost(&mut self, packet: u32) {
        let Part { message: index, role, .. } = self.network.packets[packet].part;
        self.discard(packet);
        let message = &self.messages[index];
        if role == role::DATA && message.kind == OperationKind::Datagram && !self.rail(message.to).acknowledges_datagrams() {
            self.messages[index].lost = true;
        }
        self.forget(index);
    }

    /// Whether a packet is the next one, where packets can be lost. Others are answered, not taken.
    pub(crate) fn in_order(&mut self, index: u32, sequence: u32) -> bool {
        let message = &mut self.messages[index];
        let (from, to, kind) = (message.from, message.to, message.kind);
        match message.phase {
            Phase::Sending if sequence == message.received => {
                message.received += 1;
                message.told = false;
                message.retries = 0;
                self.watch(index);
                return true;
            }
            Phase::Sending if sequence > message.received && !message.told => {
                message.told = true;
                if kind != OperationKind::Datagram || self.rail(to).acknowledges_datagrams() {
                    self.control(to, from, index, role::MISSING);
                }
            }
            Phase::Returning if kind != OperationKind::Get => self.control(to, from, index, role::ACKNOWLEDGE),
            _ => {}
        }
        false
    }

    /// The sender goes back to what is missing.
    pub(crate) fn rewind(&mut self, index: u32) {
        let message = &mut self.messages[index];
        if message.phase == Phase::Sending && message.sent > message.received {
            // The receiver does not tell again until that packet has come, or the time is up: others of the first try are on
            // their way.
            message.sent = message.received;
            self.statistics.retries += 1;
            self.list(index);
        }
    }

    /// The receiver had no slot.
    pub(crate) fn not_ready(&mut self, index: u32) {
        let message = &mut self.messages[index];
        let from = message.from;
        message.not_ready = message.not_ready.saturating_add(1);
        let tries = message.not_ready;
        let (most, delay) = (self.rail(from).not_ready_retries, self.rail(from).not_ready);
        if tries > most {
            return self.fail(index, FailureReason::ReceiverNotReady);
        }
        let at = self.queue.now() + delay;
        self.messages[index].pending += 1;
        self.messages[index].deadline = at + self.rail(from).timeout;
        self.at(from, at, task::RESUME, index);
    }

    /// A datagram is sent again from its beginning.
    pub(crate) fn resume(&mut self, index: u32) {
        let message = &mut self.messages[index];
        message.pending -= 1;
        message.told = false;
        if message.phase == Phase::Sending {
            (message.sent, message.received) = (0, 0);
            self.statistics.retries += 1;
            self.list(index);
        }
        self.forget(index);
    }

    /// Something of an operation was put on the network; if nothing follows for a time, it is repeated.
    pub(crate) fn watch(&mut self, index: u32) {
        let by = self.messages[index].by;
        let RailNics { lossy, timeout, .. } = *self.rail(by);
        let message = &mut self.messages[index];
        if !lossy || message.phase == Phase::Ended || self.is_unanswered(index) {
            return;
        }
        let deadline = self.queue.now() + timeout;
        let message = &mut self.messages[index];
        message.deadline = deadline;
        if !std::mem::replace(&mut message.watched, true) {
            message.pending += 1;
            self.at(by, deadline, task::TIMEOUT, index);
        }
    }

    /// Whether nobody tells the sender of an operation what became of it.
    pub(crate) fn is_unanswered(&self, index: u32) -> bool {
        let message = &self.messages[index];
        message.kind == OperationKind::Datagram && !self.rail(message.to).acknowledges_datagrams()
    }

    /// Looks whether something of an operation is overdue.
    pub(crate) fn timeout(&mut self, index: u32) {
        let now = self.queue.now();
        let message = &mut self.messages[index];
        message.pending -= 1;
        message.watched = false;
        if message.phase != Phase::Ended {
            let (by, deadline) = (message.by, message.deadline);
            if now < deadline {
                message.pending += 1;
                message.watched = true;
                self.at(by, deadline, task::TIMEOUT, index);
            } else if message.listed {
                self.watch(index);
            } else {
                self.repeat(index);
            }
        }
        self.forget(index);
    }

    /// Repeats what was not answered.
    fn repeat(&mut self, index: u32) {
        let most = self.rail(self.messages[index].by).retries;
        let message = &mut self.messages[index];
        if message.retries >= most {
            return self.fail(index, FailureReason::RetriesExhausted);
        }
        message.retries += 1;
        message.told = false;
        let again = match (message.kind, message.phase) {
            (OperationKind::Put | OperationKind::Datagram, _) => true,
            (OperationKind::Copy, Phase::Sending) => true,
            (OperationKind::Copy, Phase::Returning) => !message.acknowledged,
            _ => false,
        };
        self.statistics.retries += 1;
        if !again {
            return self.ask(index);
        }
        // What was received is kept; where all was, the last packet draws the answer.
        message.sent = message.received.min(message.packets - 1);
        self.list(index);
    }

    /// An operation is given up.
    fn fail(&mut self, index: u32, reason: FailureReason) {
        self.notices.push_back(Notice::Failed { token: self.messages[index].token, reason });
        self.give_up(index);
    }

    /// Nothing more becomes of an operation.
    pub(crate) fn give_up(&mut self, index: u32) {
        let message = &mut self.messages[index];
        message.phase = Phase::Ended;
        if std::mem::take(&mut message.slot) {
            let node = self.node_of(self.messages[index].to);
            self.free_slot(node);
        }
    }
}
