//! The NICs' part of traffic classes: the class of a packet, and the class of the packet that a NIC reads next.

use super::Region;
use super::region::FlowKey;
use crate::nics::nic::{Nic, RailNics, SendQueue};
use crate::nics::transfer::{Transfer, role};

impl Region {
    /// Returns the class of the packets of an operation that have a role.
    #[inline]
    pub(crate) fn class_of(&self, index: u32, role: u8) -> u8 {
        let Transfer { by, kind, bytes, .. } = self.transfers[index];
        self.rail(by).classes.of(kind, role != role::DATA, bytes)
    }

    /// Returns the flow of the packets of an operation that carry its bytes.
    pub(crate) fn flow_of(&self, index: u32) -> FlowKey {
        let Transfer { from, to, .. } = self.transfers[index];
        (from, to, self.class_of(index, role::DATA))
    }

    /// Returns the class of which a NIC may read a packet now; `None` if it may read none.
    #[inline]
    pub(crate) fn next_class(&self, nic: u32) -> Option<u8> {
        let state = &self.nics[nic as usize];
        let rail = &self.rails[usize::from(state.rail)];
        let may_read = |queue: &SendQueue| queue.buffered < rail.transmit_packets && !queue.sending.is_empty();
        if state.reading {
            return None;
        }
        if rail.classes.is_empty() {
            return may_read(&state.queue).then_some(0);
        }
        let (queues, leads) = (&self.class_queues[rail.queues(nic)], &self.class_leads[rail.queues(nic)]);
        let classes = (0..).zip(queues).filter(|(_, queue)| may_read(queue)).map(|(class, _)| class);
        classes.min_by_key(|&class| rail.classes.turn(class, leads))
    }
}

/// Returns the queue of a class of a NIC.
#[inline]
pub(super) fn send_queue<'a>(
    rail: &RailNics,
    nics: &'a mut [Nic],
    class_queues: &'a mut [SendQueue],
    nic: u32,
    class: u8,
) -> &'a mut SendQueue {
    match rail.classes.is_empty() {
        true => &mut nics[nic as usize].queue,
        false => &mut class_queues[rail.queues(nic)][usize::from(class)],
    }
}
