//! Packets that cross the border of a region, and the operations that they belong to.
//!
//! Only machines without losses and with answers to all operations are divided: the records of an operation in different regions never need to
//! agree about packets that are missing.

use super::region::Region;
use crate::network::{CarriedOperation, CrossingPacket};
use crate::nics::transfer::{Line, OperationKind, Phase, Transfer, role};

impl Region {
    /// Makes a packet of a NIC of this region carry the facts of its operation, if its destination is in another region.
    pub(crate) fn attach_operation(&mut self, packet: u32) {
        let nic = self.destination(packet);
        let Some(border) = self.network.border.as_mut().filter(|border| !border.has_nic(nic)) else { return };
        let part = self.network.packets[packet].part;
        let transfer = &mut self.transfers[part.transfer];
        border.attach(packet, CarriedOperation { origin: border.origin(part.transfer, transfer), facts: transfer.facts() });
        // The record of the other region counts it.
        transfer.under_way -= 1;
        let is_foreign = !border.has_nic(transfer.by);
        let is_over = match part.role {
            // The NIC that has received the bytes, or performed the operation, has done its part.
            role::ACKNOWLEDGE | role::REPLY => is_foreign,
            // The owner of the bytes gets no answer.
            role::DATA if transfer.kind == OperationKind::Get => {
                is_foreign && transfer.sent == transfer.packets && transfer.under_way == 0 && transfer.line == Line::Out
            }
            _ => false,
        };
        if is_over {
            transfer.phase = Phase::Ended;
            self.forget(part.transfer);
        }
    }

    /// Sends a packet to the region in which its channel ends.
    pub(crate) fn cross(&mut self, packet: u32, head: u64, time: u64) {
        let (record, channel) = self.network.take(packet);
        let ready = head + self.network.fabrics[usize::from(record.network())].pipeline;
        if let Some(border) = &mut self.network.border {
            let operation = border.detach(packet);
            border.send(channel, CrossingPacket { packet: record, operation, head, time }, ready);
        }
    }

    /// Handles a packet from another region.
    pub(crate) fn take_in(&mut self, &CrossingPacket { packet, operation, head, time }: &CrossingPacket) {
        let packet = self.network.enter(&mut self.queue, packet, head, time);
        if let (Some(operation), Some(border)) = (operation, &mut self.network.border) {
            border.attach(packet, operation);
        }
    }

    /// Assigns a packet of another region that has arrived at its NIC to the record of its operation here.
    pub(crate) fn assign_record(&mut self, packet: u32) {
        let Some(border) = &mut self.network.border else { return };
        let Some(operation) = border.detach(packet) else { return };
        let role = self.network.packets[packet].part.role;
        let index = match border.record(operation.origin) {
            Some(index) => index,
            None => {
                let phase = match role {
                    role::REQUEST => Phase::Requesting,
                    role::DATA => Phase::Sending,
                    _ => Phase::Returning,
                };
                let index = self.transfers.insert(Transfer::new(operation.facts, phase));
                border.adopt(index, operation);
                index
            }
        };
        let transfer = &mut self.transfers[index];
        transfer.under_way += 1;
        if role == role::DATA && transfer.phase == Phase::Requesting {
            // The owner of the bytes has received the request.
            transfer.phase = Phase::Sending;
        }
        self.network.packets[packet].part.transfer = index;
    }
}
