//! NICs: reading, sending, receiving and writing packets.
//!
//! A NIC reads packets of its operations from memory one after another, and buffers a few of them until the link takes them.
//! It writes incoming packets to memory one after another, and frees the buffer space of each when it is written. Control packets
//! bypass both. Congestion control is in `congestion`, the queues of traffic classes in `classes`.

use super::Region;
use super::ports::{Place, Turn, sending};
use crate::events::random;
use crate::machine::spec::{RailKind, Spread, TransmitOrder};
use crate::network::Part;
use crate::nics::flow::{self, Stamp};
use crate::nics::flowlet::{self, FLOWLETS};
use crate::nics::nic::{RailNics, task};
use crate::nics::transfer::{Line, OperationKind, Phase, Transfer, role};
use crate::operation::Notice;
use crate::topology::RoutingHeader;

impl Region {
    /// A NIC performs a scheduled task.
    pub(crate) fn perform(&mut self, payload: u64) {
        let index = payload as u32;
        match payload >> 56 {
            task::COPIED => self.copied(index),
            task::READ => self.read(index),
            task::ARRIVED => self.arrived(index),
            task::WRITTEN => self.written(index),
            task::ASK => self.ask(index),
            task::WORKED => self.worked(index),
            task::CONSUMED => self.free_slot(index),
            task::TIMEOUT => self.timeout(index),
            task::STAGED => self.staged(index),
            _ => self.resume(index),
        }
    }

    pub(crate) fn rail(&self, nic: u32) -> &RailNics {
        &self.rails[usize::from(self.nics[nic as usize].rail)]
    }

    /// Sends a request to the owner as soon as the NIC may start another operation.
    pub(crate) fn request(&mut self, index: u32) {
        let (by, now) = (self.transfers[index].by, self.queue.now());
        let gap = self.rail(by).gap;
        let begin = self.nics[by as usize].begin(now, gap);
        if begin > now { self.at(by, begin, task::ASK, index) } else { self.ask(index) }
    }

    /// Sends a request to the owner now.
    pub(crate) fn ask(&mut self, index: u32) {
        let Transfer { by, from, .. } = self.transfers[index];
        self.control(by, from, index, role::REQUEST);
        self.watch(index);
    }

    /// Sends the bytes of an operation.
    pub(crate) fn send(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Sending;
        let (nic, bytes) = (transfer.from, transfer.bytes);
        let stage = self.rail(nic).stage(bytes);
        if stage == 0 {
            return self.list(index);
        }
        let transfer = &mut self.transfers[index];
        // As long as it is prepared, no timeout repeats it.
        transfer.line = Line::HeldBack;
        transfer.pending += 1;
        let free = &mut self.nics[nic as usize].stage_free;
        *free = (*free).max(self.queue.now()).saturating_add(stage);
        let done = *free;
        self.at(nic, done, task::STAGED, index);
    }

    /// The preparation of a transfer is over, or its flow may send, so that its next packet may be read.
    pub(crate) fn staged(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.pending -= 1;
        if transfer.line == Line::HeldBack {
            transfer.line = Line::Out;
        }
        // A transfer that has taken effect may have to send its last packet again, to trigger another acknowledgement.
        if transfer.phase == Phase::Ended { self.forget(index) } else { self.list(index) }
    }

    /// Queues an operation that has packets to send at its NIC.
    pub(crate) fn list(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        let from = transfer.from;
        if transfer.line == Line::Out {
            transfer.line = Line::Listed;
            let place = self.place(index);
            sending(&mut self.nics, &mut self.class_queues, &mut self.ports, from, place).push(&mut self.transfers, index);
        }
        self.transmit(from);
    }

    /// Reads packets while there are packets to send and room in the transmit buffer.
    pub(crate) fn transmit(&mut self, nic: u32) {
        let now = self.queue.now();
        loop {
            let rail = &self.rails[usize::from(self.nics[nic as usize].rail)];
            let state = &mut self.nics[nic as usize];
            if state.reading || state.buffered >= rail.transmit_packets {
                return;
            }
            let turn = match (rail.planes, rail.classes.is_empty()) {
                (1, true) => Some(Turn { network: rail.first_network, class: 0, place: Place::Nic, port: None }),
                (1, false) => self.class_in_turn(nic),
                _ => self.port_in_turn(nic),
            };
            let Some(turn) = turn else { return };
            let rail = &self.rails[usize::from(self.nics[nic as usize].rail)];
            let line = sending(&mut self.nics, &mut self.class_queues, &mut self.ports, nic, turn.place);
            let Some(index) = line.first() else { return };
            let transfer = &mut self.transfers[index];
            if transfer.phase == Phase::Ended || transfer.sent == transfer.packets {
                line.pop(&self.transfers);
                self.transfers[index].line = Line::Out;
                self.forget(index);
                continue;
            }
            let sequence = transfer.sent;
            let mut stamp = Stamp::default();
            if let Some(control) = &rail.control {
                let key = (transfer.from, transfer.to, turn.class);
                let flow = self.flows.entry(key).or_insert_with(|| control.flow());
                let may = flow.turn(control, now);
                if may == flow::Turn::Now {
                    stamp = flow.sends(control, now, rail.payload(transfer, sequence) as u32 + rail.header_bytes);
                } else {
                    line.pop(&self.transfers);
                    self.hold_back(nic, index, may);
                    continue;
                }
            }
            transfer.sent += 1;
            transfer.under_way += 1;
            let payload = rail.payload(transfer, sequence);
            let begin = if sequence == 0 { self.nics[nic as usize].begin(now, rail.gap) } else { now };
            let done = begin + rail.read.time(payload);
            let header = self.routing_header(index, sequence);
            let rail = &self.rails[usize::from(self.nics[nic as usize].rail)];
            let transfer = &self.transfers[index];
            let bytes = payload as u32 + rail.header_bytes;
            let (all, turns) = (transfer.sent == transfer.packets, rail.order == TransmitOrder::RoundRobin);
            if all || turns {
                let line = sending(&mut self.nics, &mut self.class_queues, &mut self.ports, nic, turn.place);
                line.pop(&self.transfers);
                self.transfers[index].line = if all { Line::Out } else { Line::Listed };
                if !all {
                    line.push(&mut self.transfers, index);
                }
            }
            match turn.place {
                Place::Class(queue) => {
                    self.class_queues[queue].buffered += 1;
                    rail.classes.charge(turn.class, &mut self.class_leads[rail.queues(nic)], bytes);
                }
                _ => self.nics[nic as usize].buffered += 1,
            }
            turn.port.into_iter().for_each(|port| self.ports[port].buffered += 1);
            let part = Part { transfer: index, sequence, role: role::DATA, class: turn.class };
            let packet = self.network.packet(turn.network, self.nics[nic as usize].terminal, header, bytes, part);
            self.stamp(packet, stamp);
            if done > now {
                self.nics[nic as usize].reading = true;
                return self.at(nic, done, task::READ, packet);
            }
            self.put_on(packet);
        }
    }

    /// A packet was read.
    fn read(&mut self, packet: u32) {
        let nic = self.network.source(&self.network.packets[packet]);
        self.nics[nic as usize].reading = false;
        self.put_on(packet);
        self.transmit(nic);
    }

    /// Hands a packet that was read from memory to the link.
    fn put_on(&mut self, packet: u32) {
        let Part { transfer: index, sequence, .. } = self.network.packets[packet].part;
        let transfer = &mut self.transfers[index];
        // An operation may have failed while its last packet was read.
        if sequence + 1 == transfer.packets && !transfer.read && transfer.phase != Phase::Ended {
            transfer.read = true;
            let (token, kind, from) = (transfer.token, transfer.kind, transfer.from);
            self.notices.push_back(Notice::Read { token });
            if kind == OperationKind::Datagram && !self.rail(from).acknowledges_datagrams() {
                self.notices.push_back(Notice::Done { token });
            }
        }
        self.watch(index);
        self.launch(packet);
    }

    /// Puts a packet in line for the link of its NIC.
    fn launch(&mut self, packet: u32) {
        if self.network.border.is_some() {
            self.attach_operation(packet);
        }
        self.network.inject(&mut self.queue, packet);
    }

    /// The link has taken a packet.
    pub(crate) fn left(&mut self, packet: u32, terminal: u32) {
        let packet = &self.network.packets[packet];
        if packet.part.role == role::DATA {
            let (network, class) = (packet.network(), packet.part.class);
            let nic = self.network.fabrics[usize::from(network)].first_nic + terminal;
            let rail = &self.rails[usize::from(self.nics[nic as usize].rail)];
            if rail.classes.is_empty() {
                self.nics[nic as usize].buffered -= 1;
            } else {
                self.class_queues[rail.queues(nic)][usize::from(class)].buffered -= 1;
            }
            if rail.planes > 1 {
                self.free_port(nic, network);
            }
            self.transmit(nic);
        }
    }

    /// Sends a control packet from a NIC to another.
    pub(crate) fn control(&mut self, from: u32, to: u32, index: u32, role: u8) {
        let bytes = self.rail(from).control_bytes;
        let packet = self.control_packet([from, to], index, role, bytes);
        self.launch(packet);
    }

    /// Answers a packet at its receiver, for congestion control.
    pub(crate) fn answer(&mut self, packet: u32) {
        let index = self.network.packets[packet].part.transfer;
        let Transfer { from, to, .. } = self.transfers[index];
        let bytes = self.rail(to).control_bytes + self.rail(to).telemetry_bytes;
        let answer = self.control_packet([to, from], index, role::ANSWER, bytes);
        self.return_stamp(packet, answer);
        self.launch(answer);
    }

    fn control_packet(&mut self, [from, to]: [u32; 2], index: u32, role: u8, bytes: u32) -> u32 {
        let class = self.class_of(index, role);
        let transfer = &mut self.transfers[index];
        transfer.under_way += 1;
        let header = RoutingHeader::new(self.nics[to as usize].terminal, transfer.salt, transfer.via);
        let header = RoutingHeader { attempt: self.attempt(index), ..header };
        let network = self.network_of_control(from, header);
        let terminal = self.nics[from as usize].terminal;
        self.network.packet(network, terminal, header, bytes, Part { transfer: index, sequence: 0, role, class })
    }

    /// Returns the header that determines the route of a packet with bytes of an operation.
    pub(crate) fn routing_header(&mut self, index: u32, sequence: u32) -> RoutingHeader {
        let Transfer { from, to, salt, via, .. } = self.transfers[index];
        let rail = &self.rails[usize::from(self.nics[from as usize].rail)];
        let number = match rail.spread {
            Spread::Operation => u64::from(via) << 32 | u64::from(salt),
            Spread::Packet => random::hash(u64::from(salt) << 32 | u64::from(via), 0, sequence.into()),
            Spread::Pair => random::hash(self.seed, from.into(), to.into()),
            Spread::Flowlet => {
                let place = rail.first_flowlet + (from - rail.first) as usize * FLOWLETS;
                flowlet::of_packet(&mut self.flowlets[place..place + FLOWLETS], [from, to], self.queue.now(), rail.flowlet)
            }
        };
        let header = RoutingHeader::new(self.nics[to as usize].terminal, number as u32, (number >> 32) as u32);
        RoutingHeader { attempt: self.attempt(index), ..header }
    }

    /// Returns how often an operation was repeated because of a loss.
    #[inline]
    fn attempt(&self, index: u32) -> u8 {
        if self.rail(self.transfers[index].by).lossy { self.attempts.repetitions(index) } else { 0 }
    }

    /// Handles a packet whose tail reaches its destination NIC at `tail`.
    pub(crate) fn arrives(&mut self, packet: u32, tail: u64) {
        if self.network.border.is_some() {
            self.assign_record(packet);
        }
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        let nic = self.destination(packet);
        let rail = self.rail(nic);
        if role != role::DATA {
            self.network.free(&mut self.queue, packet, tail);
            self.at(nic, tail, task::ARRIVED, packet);
        } else if rail.slots.is_some() && self.transfers[index].kind == OperationKind::Datagram {
            self.at(nic, tail, task::ARRIVED, packet);
        } else {
            self.write(nic, packet, tail);
        }
    }

    /// Writes a packet to memory from time `from` on, which may lie in the future.
    pub(crate) fn write(&mut self, nic: u32, packet: u32, from: u64) {
        let rail = &self.rails[usize::from(self.nics[nic as usize].rail)];
        let payload = u64::from(self.network.packets[packet].bytes() - rail.header_bytes);
        let bank = match rail.bank {
            0 => 0,
            _ => {
                let Part { transfer, sequence, .. } = self.network.packets[packet].part;
                rail.bank(&self.transfers[transfer], sequence)
            }
        };
        let nic_state = &mut self.nics[nic as usize];
        let behind = nic_state.write_free.saturating_sub(from);
        if rail.kind == RailKind::Ethernet && behind > rail.write.time(u64::from(rail.receive_bytes)) {
            self.network.drops += 1;
            return self.lost(packet);
        }
        let done = nic_state.write_free.max(from) + rail.write.time(payload) + bank;
        nic_state.write_free = done;
        self.network.free(&mut self.queue, packet, done);
        self.at(nic, done, task::WRITTEN, packet);
    }

    /// Handles the arrival of a control packet, or of a packet that may need a receive slot.
    fn arrived(&mut self, packet: u32) {
        let Part { transfer: index, role, .. } = self.network.packets[packet].part;
        if role == role::DATA {
            return self.admit(packet);
        }
        self.discard(packet);
        if matches!(role, role::CONGESTED | role::ANSWER) {
            self.told_of_congestion(packet, index, role);
        } else if self.transfers[index].phase != Phase::Ended {
            match role {
                role::REQUEST => self.requested(index),
                role::ACKNOWLEDGE => self.acknowledged(index),
                role::REPLY => self.done(index),
                role::MISSING => self.rewind(index),
                _ => self.not_ready(index),
            }
        }
        self.forget(index);
    }

    /// Handles the arrival of a request at the owner.
    fn requested(&mut self, index: u32) {
        let Transfer { kind, phase, from, to, .. } = self.transfers[index];
        match (kind, phase) {
            (OperationKind::Atomic, Phase::Requesting) => {
                self.transfers[index].phase = Phase::Sending;
                let (atomic, now) = (self.rail(from).atomic, self.queue.now());
                let state = &mut self.nics[from as usize];
                state.atomic_free = state.atomic_free.max(now) + atomic;
                state.atomics += 1;
                let done = state.atomic_free;
                if done > now { self.at(from, done, task::WORKED, index) } else { self.worked(index) }
            }
            (OperationKind::Copy, Phase::Requesting) if self.node_of(from) == self.node_of(to) => {
                self.transfers[index].phase = Phase::Sending;
                let done = self.copy_for_another(from, index);
                self.at(from, done, task::WORKED, index);
            }
            (_, Phase::Requesting) => self.send(index),
            (OperationKind::Get, Phase::Sending) => self.rewind(index),
            (OperationKind::Atomic | OperationKind::Copy, Phase::Replying) => self.reply(index),
            _ => {}
        }
    }

    /// The operation has taken effect at the owner.
    fn worked(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Replying;
        let (token, kind, bytes) = (transfer.token, transfer.kind, transfer.bytes);
        if kind == OperationKind::Copy {
            self.notices.push_back(Notice::Read { token });
        }
        self.statistics.bytes += bytes;
        self.notices.push_back(Notice::Effect { token });
        self.reply(index);
    }

    /// Sends the reply to the initiator.
    fn reply(&mut self, index: u32) {
        let Transfer { by, from, .. } = self.transfers[index];
        self.control(from, by, index, role::REPLY);
        self.watch(index);
    }

    /// Handles a packet that has been written to memory.
    fn written(&mut self, packet: u32) {
        let Part { transfer: index, sequence, .. } = self.network.packets[packet].part;
        let Transfer { to, kind, .. } = self.transfers[index];
        let repeats = self.rail(to).repeats(kind);
        self.tell_of_congestion(packet);
        self.discard(packet);
        if !repeats {
            self.transfers[index].received += 1;
            self.completed(index);
        } else if self.in_order(index, sequence) {
            self.completed(index);
        }
        self.forget(index);
    }

    /// Completes an operation if all its packets have arrived.
    fn completed(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        if transfer.received < transfer.packets || transfer.phase != Phase::Sending {
            return;
        }
        let Transfer { token, kind, from, to, bytes, .. } = *transfer;
        transfer.phase = Phase::Returning;
        self.statistics.bytes += bytes;
        self.notices.push_back(Notice::Effect { token });
        match kind {
            OperationKind::Get => self.done(index),
            OperationKind::Datagram => {
                self.serve_datagram(index);
                if self.rail(to).acknowledges_datagrams() {
                    self.control(to, from, index, role::ACKNOWLEDGE);
                    self.watch(index);
                } else {
                    self.transfers[index].phase = Phase::Ended;
                }
            }
            _ => {
                self.control(to, from, index, role::ACKNOWLEDGE);
                self.watch(index);
            }
        }
    }

    /// Handles the arrival of the acknowledgement at the owner of the bytes.
    fn acknowledged(&mut self, index: u32) {
        match self.transfers[index].kind {
            OperationKind::Copy => {
                self.transfers[index].phase = Phase::Replying;
                self.reply(index);
            }
            _ => self.done(index),
        }
    }

    /// Completes an operation at its initiator.
    fn done(&mut self, index: u32) {
        let transfer = &mut self.transfers[index];
        transfer.phase = Phase::Ended;
        self.notices.push_back(Notice::Done { token: transfer.token });
    }

    /// Frees a packet that is no longer needed.
    pub(crate) fn discard(&mut self, packet: u32) {
        let index = self.network.packets[packet].part.transfer;
        self.transfers[index].under_way -= 1;
        self.network.packets.remove(packet);
    }

    /// Frees an operation that has ended and has no packets, tasks or list entries left.
    pub(crate) fn forget(&mut self, index: u32) {
        let transfer = &self.transfers[index];
        if transfer.under_way > 0 || transfer.line != Line::Out || transfer.pending > 0 {
            return;
        }
        if transfer.phase == Phase::Sending && transfer.sent == transfer.packets && self.is_unanswered(index) {
            self.notices.push_back(Notice::Lost { token: self.transfers[index].token });
            self.give_up(index);
        }
        if self.transfers[index].phase == Phase::Ended {
            let transfer = &mut self.transfers[index];
            transfer.phase = Phase::Forgotten;
            if let Some(border) = &mut self.network.border {
                border.forget(index, transfer);
            }
            self.transfers.remove(index);
        }
    }

    /// Returns the destination NIC of a packet. Uses the packet alone, as the transfer is seldom in the cache.
    #[inline]
    pub(crate) fn destination(&self, packet: u32) -> u32 {
        self.network.destination(&self.network.packets[packet])
    }
}
