//! NICs with several ports, one in each plane of a rail: the plane of each packet, and the operations that wait for a port.
//!
//! If packets are spread one by one, all operations of a NIC wait in one list, and each packet takes the port with the fewest packets before it.
//! Otherwise each port has a list of the operations that keep to its plane, and the NIC reads for the ports in turn. Control packets keep to the
//! plane of the random number of their operation. A plane in which a packet would meet a failure that routers know is avoided while another one has
//! none.

use super::Region;
use crate::events::pool::List;
use crate::events::random::mix;
use crate::machine::spec::Spread;
use crate::nics::nic::{ClassQueue, Nic, RailNics};
use crate::nics::port::Port;
use crate::nics::transfer::{Transfer, role};
use crate::topology::RoutingHeader;

/// The list in which an operation with packets to send waits.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// That of the NIC.
    Nic,
    /// That of a class of the NIC, by the index of its queue.
    Class(usize),
    /// That of a port of the NIC.
    Port(usize),
}

/// The source of the next packet of a NIC.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// The number of the network, which is that of a plane.
    pub(crate) network: u8,
    /// The class; 0 if the rail has none.
    pub(crate) class: u8,
    pub(crate) place: Place,
    /// The port, if the NIC has several.
    pub(crate) port: Option<usize>,
}

/// Returns the list of operations of a place of a NIC.
#[inline]
pub(crate) fn sending<'a>(
    nics: &'a mut [Nic],
    class_queues: &'a mut [ClassQueue],
    ports: &'a mut [Port],
    nic: u32,
    place: Place,
) -> &'a mut List {
    match place {
        Place::Nic => &mut nics[nic as usize].sending,
        Place::Class(queue) => &mut class_queues[queue].sending,
        Place::Port(port) => &mut ports[port].sending,
    }
}

impl Region {
    /// Returns the port of a NIC in a plane, on a rail with several.
    fn port(&self, nic: u32, plane: u32) -> usize {
        let RailNics { first, planes, first_port, .. } = *self.rail(nic);
        first_port + ((nic - first) * planes + plane) as usize
    }

    /// Returns the list in which an operation waits.
    #[inline]
    pub(crate) fn place(&mut self, index: u32) -> Place {
        let from = self.transfers[index].from;
        let rail = self.rail(from);
        if !rail.classes.is_empty() {
            return Place::Class(rail.queues(from).start + usize::from(self.class_of(index, role::DATA)));
        }
        if rail.planes == 1 || rail.spread == Spread::Packet {
            return Place::Nic;
        }
        let header = self.routing_header(index, self.transfers[index].sent);
        let plane = self.plane(from, header);
        Place::Port(self.port(from, plane))
    }

    /// Returns the source of the next packet of a NIC with several ports; `None` if no port with an operation has room.
    pub(crate) fn port_in_turn(&mut self, nic: u32) -> Option<Turn> {
        let RailNics { planes, first_network, transmit_packets, spread, .. } = *self.rail(nic);
        let most = transmit_packets / planes;
        if spread == Spread::Packet {
            let index = self.nics[nic as usize].sending.first()?;
            let plane = self.emptiest(nic, index);
            let port = self.port(nic, plane);
            let turn = Turn { network: first_network + plane as u8, class: 0, place: Place::Nic, port: Some(port) };
            return (self.ports[port].buffered < most).then_some(turn);
        }
        loop {
            let last = u32::from(self.nics[nic as usize].last_plane);
            let is_next = |&plane: &u32| {
                let port = &self.ports[self.port(nic, plane)];
                port.buffered < most && !port.sending.is_empty()
            };
            let plane = (1..=planes).map(|step| (last + step) % planes).find(is_next)?;
            self.nics[nic as usize].last_plane = plane as u8;
            let port = self.port(nic, plane);
            if !self.leaves(nic, plane) {
                return Some(Turn { network: first_network + plane as u8, class: 0, place: Place::Port(port), port: Some(port) });
            }
        }
    }

    /// The link of a port has taken a packet.
    pub(crate) fn free_port(&mut self, nic: u32, network: u8) {
        let port = self.port(nic, u32::from(network - self.rail(nic).first_network));
        self.ports[port].buffered -= 1;
    }

    /// Moves the first operation of a port to another port, if its next packet would meet a known failure in this plane and not in the other one;
    /// returns whether it was moved.
    fn leaves(&mut self, nic: u32, plane: u32) -> bool {
        let port = self.port(nic, plane);
        let Some(index) = self.ports[port].sending.first().filter(|_| self.has_failures(nic)) else { return false };
        let header = self.routing_header(index, self.transfers[index].sent);
        let other = self.port(nic, self.plane(nic, header));
        if other == port || self.leads(nic, plane, header) {
            return false;
        }
        self.ports[port].sending.pop(&self.transfers);
        self.ports[other].sending.push(&mut self.transfers, index);
        true
    }

    /// Returns the plane of the port with the fewest packets before the next packet of an operation, the first in turn among equals.
    fn emptiest(&mut self, nic: u32, index: u32) -> u32 {
        let RailNics { planes, .. } = *self.rail(nic);
        let Transfer { salt, sent, .. } = self.transfers[index];
        let first = salt.wrapping_add(sent) % planes;
        let header = self.has_failures(nic).then(|| self.routing_header(index, sent));
        let in_turn = (0..planes).map(|step| (first + step) % planes);
        let works = in_turn.filter(|&plane| header.is_none_or(|header| self.leads(nic, plane, header)));
        works.min_by_key(|&plane| self.ports[self.port(nic, plane)].buffered).unwrap_or(first)
    }

    /// Returns the network of a control packet from a NIC to another.
    #[inline]
    pub(crate) fn network_of_control(&self, from: u32, header: RoutingHeader) -> u8 {
        let RailNics { planes, first_network, .. } = *self.rail(from);
        first_network + if planes == 1 { 0 } else { self.plane(from, header) as u8 }
    }

    /// Returns the plane that the random numbers of a header select among those in which a packet from a NIC meets no known failure.
    fn plane(&self, from: u32, header: RoutingHeader) -> u32 {
        let planes = self.rail(from).planes;
        // Another function of the numbers than those that select routes within a plane.
        let first = (mix(u64::from(header.via) << 32 | u64::from(header.salt)) >> 32) as u32 % planes;
        if !self.has_failures(from) {
            return first;
        }
        (0..planes).map(|step| (first + step) % planes).find(|&plane| self.leads(from, plane, header)).unwrap_or(first)
    }

    /// Whether a packet from a NIC meets no failure in a plane that routers know.
    fn leads(&self, from: u32, plane: u32, header: RoutingHeader) -> bool {
        let network = self.rail(from).first_network + plane as u8;
        self.network.leads(network, self.nics[from as usize].terminal, header, self.queue.now())
    }

    fn has_failures(&self, nic: u32) -> bool {
        let RailNics { first_network, planes, .. } = *self.rail(nic);
        let networks = usize::from(first_network)..usize::from(first_network) + planes as usize;
        self.network.fabrics[networks].iter().any(|fabric| fabric.has_failures())
    }
}
