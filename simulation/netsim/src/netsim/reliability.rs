//! The NICs' handling of lost packets, and of receivers that are not ready.
//!
//! On lossy rails, all packets of an operation take one path, so that a packet out of order means a loss: the receiver
//! reports it, and the sender goes back to the first missing packet. Where packets are spread one by one or take routes by queues, and everywhere
//! before the first link of a rail without other losses fails, the receiver accepts them out of order, up to a distance from the first missing one; a
//! loss is found by the timeout, or by a packet beyond that distance. Requests without an answer are repeated after a timeout, a limited number of
//! times. A repeated operation does not take effect again; only its answer is sent again.
//!
//! The sender goes back to the first packet that the receiver does not have. A real NIC knows that packet from acknowledgements in transit,
//! which are not simulated.

use super::Region;
use crate::events::pool::List;
use crate::machine::spec::RailKind;
use crate::network::Part;
use crate::nics::nic::{RailNics, task};
use crate::nics::transfer::{Line, Missing, OperationKind, Phase, Timeout, role};
use crate::operation::{FailureReason, Notice};

/// Maximum number of times that the retransmission timeout doubles while an operation over Ethernet is repeated without an answer.
const DOUBLINGS_MAX: u8 = 7;

/// Maximum distance from the first missing packet to one that a receiver accepts, where packets of an operation may overtake each other.
const EARLY_MAX: u32 = u64::BITS;

impl Region {
    /// Frees the receive slot of a datagram that `node` has consumed, if the machine limits the slots and specifies no service time
    /// (`receive.slots` without `receive.service_ns`). Does nothing on other machines, or if no slot is in use.
    pub(crate) fn consume(&mut self, node: u32) {
        let Some(state) = self.nodes.get_mut(node as usize).filter(|state| state.unconsumed > 0) else { return };
        state.unconsumed -= 1;
        self.free_slot(node);
    }

    /// Frees a receive slot, if one is in use.
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

    /// Handles a packet of a datagram on a rail with a limited number of receive slots.
    pub(crate) fn admit(&mut self, packet: u32) {
        let (index, now) = (self.network.packets[packet].part.transfer, self.queue.now());
        let nic = self.transfers[index].to;
        if self.transfers[index].phase != Phase::Sending {
            // The datagram has ended or has already arrived: the packet is discarded and needs no slot.
            return self.write(nic, packet, now);
        }
        let kind = self.rail(nic).kind;
        let packets = self.transfers[index].packets;
        let attempts = self.attempts.of(index);
        if kind == RailKind::Tofu && attempts.admitted + 1 < packets {
            // Only the packet that completes a datagram takes the slot: a datagram that waits for further packets must not hold one.
            attempts.admitted += 1;
            return self.write(nic, packet, now);
        }
        if self.take_slot(nic, index) {
            return self.write(nic, packet, now);
        }
        match kind {
            RailKind::Tofu => self.held[nic as usize].push(&mut self.network.packets, packet),
            RailKind::InfinibandRc => {
                self.network.free(&mut self.queue, packet, now);
                self.lost_in_flow(packet);
                self.discard(packet);
                if self.transfers[index].missing == Missing::Nothing {
                    self.transfers[index].missing = Missing::Reported;
                    let from = self.transfers[index].from;
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

    /// Takes a receive slot for a datagram that has none; returns whether the datagram has one now.
    fn take_slot(&mut self, nic: u32, index: u32) -> bool {
        let (slots, node) = (self.rail(nic).slots, self.node_of(nic));
        let state = &mut self.nodes[node as usize];
        let transfer = &mut self.transfers[index];
        if !transfer.slot && transfer.missing == Missing::Nothing && slots.is_some_and(|slots| state.slots < slots) {
            state.slots += 1;
            transfer.slot = true;
        }
        transfer.slot
    }

    /// Retries the packets that wait for a slot, in the order of their arrival.
    fn offer_again(&mut self, nic: u32) {
        let mut held = std::mem::replace(&mut self.held[nic as usize], List::EMPTY);
        while let Some(packet) = held.pop(&self.network.packets) {
            self.admit(packet);
        }
    }

    /// Schedules the consumption of a complete datagram by the host, if it holds a slot and the machine specifies a service time; else its user
    /// reports the consumption.
    pub(crate) fn serve_datagram(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        let nic = transfer.to;
        if !std::mem::take(&mut transfer.slot) {
            return;
        }
        let (service, node, now) = (self.rail(nic).service, self.node_of(nic), self.queue.now());
        let state = &mut self.nodes[node as usize];
        let Some(service) = service else {
            state.unconsumed += 1;
            return;
        };
        state.service_free = state.service_free.max(now) + service;
        let done = state.service_free;
        self.at(nic, done, task::CONSUMED, node);
    }

    /// Handles the loss of a packet.
    pub(crate) fn lost(&mut self, packet: u32) {
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        self.lost_in_flow(packet);
        self.discard(packet);
        let transfer = &self.transfers[index];
        if role == role::DATA && transfer.kind == OperationKind::Datagram && !self.rail(transfer.to).acknowledges_datagrams() {
            self.transfers[index].missing = Missing::ForGood;
        }
        self.forget(index);
    }

    /// On a rail that repeats packets, returns whether a packet is the next in sequence. Any other packet at most triggers a report or an
    /// acknowledgement.
    pub(crate) fn in_order(&mut self, index: u32, sequence: u32) -> bool {
        let transfer = &mut self.transfers[index];
        let (from, to, kind) = (transfer.from, transfer.to, transfer.kind);
        let may_overtake = self.queue.now() < self.rails[usize::from(self.nics[to as usize].rail)].in_order_from;
        match transfer.phase {
            Phase::Sending if sequence == transfer.received => {
                transfer.received += 1 + self.attempts.of(index).next_in_order();
                if transfer.missing == Missing::Reported {
                    transfer.missing = Missing::Nothing;
                }
                self.attempts.of(index).retries = 0;
                self.watch(index);
                return true;
            }
            Phase::Sending if may_overtake && sequence.wrapping_sub(transfer.received + 1) < EARLY_MAX => {
                self.attempts.of(index).arrives_early(sequence - transfer.received);
                self.watch(index);
            }
            Phase::Sending if sequence > transfer.received && transfer.missing == Missing::Nothing => {
                transfer.missing = Missing::Reported;
                if kind != OperationKind::Datagram || self.rail(to).acknowledges_datagrams() {
                    self.control(to, from, index, role::MISSING);
                }
            }
            Phase::Returning | Phase::Replying if kind != OperationKind::Get => self.control(to, from, index, role::ACKNOWLEDGE),
            _ => {}
        }
        false
    }

    /// Makes the sender go back to the first missing packet.
    pub(crate) fn rewind(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        if transfer.phase == Phase::Sending && transfer.sent > transfer.received {
            // The receiver does not report again until that packet has arrived or the timeout expires: other packets of the first
            // try are still in flight.
            transfer.sent = transfer.received;
            self.statistics.retries += 1;
            self.list(index);
        }
    }

    /// Handles the report that the receiver had no slot: schedules another try, or fails the operation.
    pub(crate) fn not_ready(&mut self, index: u32) {
        let from = self.transfers[index].from;
        let attempts = self.attempts.of(index);
        attempts.not_ready = attempts.not_ready.saturating_add(1);
        let tries = attempts.not_ready;
        let (most, delay) = (self.rail(from).not_ready_retries, self.rail(from).not_ready);
        if tries > most {
            return self.fail(index, FailureReason::ReceiverNotReady);
        }
        let at = self.queue.now() + delay;
        self.transfers[index].pending += 1;
        self.attempts.of(index).deadline = at + self.rail(from).timeout;
        self.at(from, at, task::RESUME, index);
    }

    /// Sends a datagram again from its beginning.
    pub(crate) fn resume(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.pending -= 1;
        transfer.missing = Missing::Nothing;
        if transfer.phase == Phase::Sending {
            (transfer.sent, transfer.received) = (0, 0);
            self.attempts.of(index).early = 0;
            self.statistics.retries += 1;
            self.list(index);
        }
        self.forget(index);
    }

    /// Sets the retransmission timeout of an operation of which a packet was sent.
    pub(crate) fn watch(&mut self, index: u32) {
        let by = self.transfers[index].by;
        let RailNics { lossy, timeout, kind, .. } = *self.rail(by);
        let transfer = &mut self.transfers[index];
        if !lossy || transfer.phase == Phase::Ended || self.is_unanswered(index) {
            return;
        }
        let attempts = self.attempts.of(index);
        // Software that sends over Ethernet backs off, as TCP does; NICs of other networks retry at a fixed rate.
        let doublings = if kind == RailKind::Ethernet { attempts.retries.min(DOUBLINGS_MAX) } else { 0 };
        let deadline = self.queue.now().saturating_add(timeout << doublings);
        attempts.deadline = deadline;
        let transfer = &mut self.transfers[index];
        if transfer.timeout == Timeout::Unset {
            transfer.timeout = Timeout::Scheduled;
            transfer.pending += 1;
            self.at(by, deadline, task::TIMEOUT, index);
        }
    }

    /// Whether the sender of an operation gets no acknowledgement.
    pub(crate) fn is_unanswered(&self, index: u32) -> bool {
        let transfer = &self.transfers[index];
        transfer.kind == OperationKind::Datagram && !self.rail(transfer.to).acknowledges_datagrams()
    }

    /// Handles the timeout of an operation: repeats it if its deadline has passed.
    pub(crate) fn timeout(&mut self, index: u32) {
        let now = self.queue.now();
        let transfer = &mut self.transfers[index];
        transfer.pending -= 1;
        transfer.timeout = Timeout::Unset;
        if transfer.phase != Phase::Ended {
            let (by, deadline) = (transfer.by, self.attempts.of(index).deadline);
            if now < deadline {
                transfer.pending += 1;
                transfer.timeout = Timeout::Scheduled;
                self.at(by, deadline, task::TIMEOUT, index);
            } else if transfer.line != Line::Out {
                self.watch(index);
            } else {
                self.repeat(index);
            }
        }
        self.forget(index);
    }

    /// Repeats an operation that was not answered.
    fn repeat(&mut self, index: u32) {
        let most = self.rail(self.transfers[index].by).retries;
        let attempts = self.attempts.of(index);
        if attempts.retries >= most {
            return self.fail(index, FailureReason::RetriesExhausted);
        }
        attempts.retries += 1;
        attempts.repetitions = attempts.repetitions.saturating_add(1);
        let transfer = &mut self.transfers[index];
        transfer.missing = Missing::Nothing;
        let again = match transfer.kind {
            OperationKind::Put | OperationKind::Datagram => true,
            OperationKind::Copy => matches!(transfer.phase, Phase::Sending | Phase::Returning),
            OperationKind::Get | OperationKind::Atomic => false,
        };
        self.statistics.retries += 1;
        if !again {
            return self.ask(index);
        }
        // Received packets are not sent again; if all were received, the last packet triggers another answer.
        transfer.sent = transfer.received.min(transfer.packets - 1);
        self.list(index);
    }

    /// Ends an operation with a failure notice.
    fn fail(&mut self, index: u32, reason: FailureReason) {
        self.notices.push_back(Notice::Failed { token: self.transfers[index].token, reason });
        self.give_up(index);
    }

    /// Ends an operation without a notice.
    pub(crate) fn give_up(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Ended;
        if std::mem::take(&mut transfer.slot) {
            let node = self.node_of(self.transfers[index].to);
            self.free_slot(node);
        }
    }
}
