//! The NICs' part of traffic classes: the class of a packet, and the class of the packet that a NIC reads next.

use super::Region;
use super::ports::{Place, Turn};
use super::region::FlowKey;
use crate::nics::nic::ClassQueue;
use crate::nics::transfer::{Transfer, role};

impl Region {
    /// Returns the class of the packets of an operation that have a role.
    #[inline]
    pub(crate) fn class_of(&self, index: u32, role: u8) -> u8 {
        let Transfer { by, kind, bytes, .. } = self.transfers[index];
        self.rail(by).classes.of(kind.traffic(), role != role::DATA, bytes)
    }

    /// Returns the flow of the packets of an operation that carry its bytes.
    pub(crate) fn flow_of(&self, index: u32) -> FlowKey {
        let Transfer { from, to, .. } = self.transfers[index];
        (from, to, self.class_of(index, role::DATA))
    }

    /// Returns the source of the next packet of a NIC of a rail with classes; `None` if no class with an operation has room.
    pub(crate) fn class_in_turn(&self, nic: u32) -> Option<Turn> {
        let rail = self.rail(nic);
        let first = rail.queues(nic).start;
        let (queues, leads) = (&self.class_queues[rail.queues(nic)], &self.class_leads[rail.queues(nic)]);
        let may_read = |queue: &ClassQueue| queue.buffered < rail.transmit_packets && !queue.sending.is_empty();
        let classes = (0..).zip(queues).filter(|(_, queue)| may_read(queue)).map(|(class, _)| class);
        let class = classes.min_by_key(|&class| rail.classes.turn(class, leads))?;
        Some(Turn { network: rail.first_network, class, place: Place::Class(first + usize::from(class)), port: None })
    }
}
