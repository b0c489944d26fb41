//! Delivery of messages between two ranks, once and in order, although a provider may report a failure to send a message that it has delivered, or has not.
//!
//! Each message has a sequence number among those to its receiver. A message that the provider failed to send is sent again, and at most [`EARLY_MAX`] others may
//! leave before it has; the receiver ignores duplicates, and keeps early messages. After [`MESSAGE_TRIES_MAX`] failures of one message, the peer counts as
//! unreachable by the fabric.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::Failure;
use pelago_memory::Cells;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::{Engine, FIRST, Peer, Use, Way};
use crate::fabric::{Refusal, Slot};
use crate::limits::{EARLY_MAX, MESSAGE_TRIES_MAX};
use crate::message::{Header, kind};

/// State of the messages to a peer and from it.
#[derive(Default)]
pub(super) struct Delivery {
    /// Sequence number of the next message to the peer.
    next: u32,
    /// All messages to the peer before this number have left.
    settled: u32,
    /// Number of messages to the peer that the provider holds.
    under_way: u32,
    /// Sequence number of the next message from the peer.
    expected: u32,
    /// Messages from the peer that arrived early.
    early: BTreeMap<u32, Vec<u8>>,
    /// Failed messages that wait to be sent again, each with its number of failures.
    again: VecDeque<(Vec<u8>, u8)>,
    /// Number of messages that failed and were not sent successfully since.
    failing: u32,
    /// Whether messages were dropped: the peer does not accept the messages after them.
    is_broken: bool,
}

impl Delivery {
    /// Records that the first message of the peer was received.
    pub(super) const fn begin(&mut self) {
        self.expected = 1;
    }

    /// Whether a new message may leave: its receiver has space for it even if an earlier one failed.
    const fn has_room(&self) -> bool {
        self.next.wrapping_sub(self.settled) < EARLY_MAX
    }

    /// Records that a message has left, or failed.
    const fn ended(&mut self) {
        self.under_way -= 1;
        if self.under_way == 0 && self.failing == 0 {
            self.settled = self.next;
        }
    }

    const fn has_failed(&self) -> bool {
        self.failing > 0
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.again.is_empty()
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Drops the messages to the peer.
    pub(super) fn give_up(&mut self) {
        self.is_broken = true;
        self.failing = 0;
        self.again.clear();
        self.early.clear();
    }

    /// The messages that failed.
    pub(super) fn failed(&self) -> impl Iterator<Item = &[u8]> {
        self.again.iter().map(|(message, _)| &message[..])
    }
}

impl Engine {
    /// Sends a message that needs no answer, now or when there is space.
    pub(super) fn tell(&mut self, peer: usize, header: Header, payload: &[u8]) {
        let entry = &self.peers[peer];
        // A peer on another fabric has no endpoint here.
        if matches!(entry.way, Way::Lost(_) | Way::Me) || entry.delivery.is_broken || entry.nonce == 0 {
            return;
        }
        let header = Header { nonce: entry.nonce.into(), from: self.me.number().into(), ..header };
        let message = [header.as_bytes(), payload].concat();
        if !self.peers[peer].outbox.is_empty() || !self.send(peer, &message) {
            self.peers[peer].outbox.push_back(message);
            self.busy.insert(peer);
        }
    }

    /// Sends a message, if there is space and it need not wait for an earlier one; returns whether it did.
    pub(super) fn send(&mut self, peer: usize, message: &[u8]) -> bool {
        if !self.peers[peer].delivery.has_room() {
            return false;
        }
        let number = self.peers[peer].delivery.next;
        let is_sent = self.send_numbered(peer, message, Some(number), 0);
        if is_sent {
            self.peers[peer].delivery.next = number.wrapping_add(1);
        }
        is_sent
    }

    fn send_numbered(&mut self, peer: usize, message: &[u8], number: Option<u32>, failures: u8) -> bool {
        let port = &mut self.ports[FIRST];
        let Some(slot) = port.take() else { return false };
        let memory = port.memory(&slot);
        memory.part(0, message.len() as u64).expect("a message fits a slot").write(message);
        if let Some(number) = number {
            memory.part(Header::NUMBER_AT, 4).expect("every message has a header").write(&number.to_le_bytes());
        }
        let (index, address, bytes) = (slot.index(), self.peers[peer].address, message.len());
        match port.send(slot, bytes, address) {
            Ok(()) => {
                self.uses[FIRST][index] = Use::Message { peer, bytes, failures };
                self.peers[peer].delivery.under_way += 1;
                true
            }
            Err((slot, refusal)) => {
                self.refused(peer, FIRST, slot, refusal);
                false
            }
        }
    }

    pub(super) fn refused(&mut self, peer: usize, rail: usize, slot: Slot, refusal: Refusal) {
        self.ports[rail].give_back(slot);
        if let Refusal::Failed(_) = refusal {
            self.peers[peer].is_failing = true;
            self.busy.insert(peer);
        }
    }

    /// Records that a message to a peer has left.
    pub(super) fn delivered(&mut self, peer: usize, failures: u8) {
        let delivery = &mut self.peers[peer].delivery;
        if failures > 0 && delivery.failing > 0 {
            delivery.failing -= 1;
            self.busy.insert(peer);
        }
        delivery.ended();
    }

    /// Handles a message that the provider failed to send, and may have delivered.
    pub(super) fn undelivered(&mut self, peer: usize, message: Vec<u8>, failures: u8) {
        let delivery = &mut self.peers[peer].delivery;
        let is_given_up = delivery.is_broken;
        if !is_given_up {
            delivery.failing += u32::from(failures == 0);
            delivery.again.push_back((message.clone(), failures + 1));
        }
        delivery.ended();
        if is_given_up {
            if self.is_owed(&message) {
                self.fabric_lost_for_good(peer);
            }
        } else if failures + 1 >= MESSAGE_TRIES_MAX {
            self.fabric_lost(peer);
        } else {
            self.busy.insert(peer);
        }
    }

    /// Sends failed messages again, if there is space.
    pub(super) fn send_again(&mut self, peer: usize) {
        while let Some((message, failures)) = self.peers[peer].delivery.again.pop_front() {
            if !self.send_numbered(peer, &message, None, failures) {
                self.peers[peer].delivery.again.push_front((message, failures));
                break;
            }
        }
    }

    /// Handles a message that has arrived from a known peer.
    pub(super) fn arrived(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        let delivery = &mut self.peers[peer].delivery;
        match header.number.get().wrapping_sub(delivery.expected) {
            0 => {}
            1..EARLY_MAX => {
                let message = [header.as_bytes(), &payload.to_vec()].concat();
                delivery.early.insert(header.number.get(), message);
                return;
            }
            // A duplicate.
            _ => return,
        }
        self.turn(peer, header, payload);
        while let Some(message) = {
            let delivery = &mut self.peers[peer].delivery;
            delivery.early.remove(&delivery.expected)
        } {
            let spare = self.ports[FIRST].memory(&self.spare);
            let (mut header, head) = (Header::new_zeroed(), size_of::<Header>() as u64);
            header.as_mut_bytes().copy_from_slice(&message[..size_of::<Header>()]);
            let payload = spare.part(head, message.len() as u64 - head).expect("it has come in a slot");
            payload.write(&message[size_of::<Header>()..]);
            self.turn(peer, &header, payload);
        }
    }

    fn turn(&mut self, peer: usize, header: &Header, payload: Cells<'static>) {
        let delivery = &mut self.peers[peer].delivery;
        delivery.expected = delivery.expected.wrapping_add(1);
        self.accept(peer, header, payload);
    }

    /// Whether the receiver of a message waits for it. A sender of a greeting without an answer uses another transport, if it can.
    fn is_owed(&self, message: &[u8]) -> bool {
        let Ok((header, _)) = Header::read_from_prefix(message) else { return false };
        let is_awaited = header.is_answer() || matches!(header.kind, kind::REVOKED | kind::WRITTEN);
        is_awaited || header.kind == kind::WELCOME && !self.seeks
    }

    /// Whether a peer waits for a message that has failed or waits for space.
    pub(super) fn owes_peer(&self, peer: usize) -> bool {
        let Peer { delivery, outbox, .. } = &self.peers[peer];
        delivery.failed().chain(outbox.iter().map(|message| &message[..])).any(|message| self.is_owed(message))
    }

    /// Handles a peer that cannot be reached according to the fabric. Another transport takes over if the state of all operations is known.
    pub(super) fn fabric_lost(&mut self, peer: usize) {
        if self.owes_peer(peer) {
            self.fabric_lost_for_good(peer);
        } else if matches!(self.peers[peer].way, Way::Around) || self.may_go_around(peer) {
            let Peer { delivery, is_failing, .. } = &mut self.peers[peer];
            if delivery.has_failed() || *is_failing {
                delivery.give_up();
            }
            self.go_around(peer);
        } else if !matches!(self.peers[peer].way, Way::Lost(_)) {
            let rank = self.peers[peer].rank;
            // The failure is reported only if operations wait for the peer: it may have finished normally.
            if self.peers[peer].is_awaited() {
                self.losses.push(rank);
            }
            self.lose(peer, Failure::PeerLost(rank));
        }
    }

    /// Handles a peer that waits for a message that cannot be delivered to it.
    pub(super) fn fabric_lost_for_good(&mut self, peer: usize) {
        let rank = self.peers[peer].rank;
        match self.peers[peer].way {
            Way::Lost(Failure::PeerLost(_)) => self.losses.push(rank),
            Way::Lost(_) => {}
            _ => {
                self.losses.push(rank);
                self.lose(peer, Failure::PeerLost(rank));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_messages_leave_behind_one_than_their_receiver_keeps() {
        let mut delivery = Delivery { next: EARLY_MAX - 1, under_way: 2, ..Delivery::default() };
        assert!(delivery.has_room());
        delivery.next += 1;
        assert!(!delivery.has_room());
        delivery.ended();
        assert!(!delivery.has_room(), "another is under way");
        delivery.failing = 1;
        delivery.ended();
        assert!(!delivery.has_room(), "it has failed");
        (delivery.failing, delivery.under_way) = (0, 1);
        delivery.ended();
        assert!(delivery.has_room());
    }
}
