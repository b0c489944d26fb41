//! Transfers: the state of an operation over the network at the NICs that take part.

use crate::events::pool::{Linked, NONE};
use crate::machine::spec::TrafficKind;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Put,
    Get,
    Atomic,
    Copy,
    Datagram,
}

impl OperationKind {
    /// Returns the kind by which traffic classes know it.
    #[inline]
    pub(crate) fn traffic(self) -> TrafficKind {
        match self {
            Self::Put => TrafficKind::Put,
            Self::Get => TrafficKind::Get,
            Self::Atomic => TrafficKind::Atomic,
            Self::Copy => TrafficKind::Copy,
            Self::Datagram => TrafficKind::Datagram,
        }
    }
}

/// The phase of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The owner of the bytes has not received the request.
    Requesting,
    /// Its bytes are in transit.
    Sending,
    /// It has taken effect; the owner of the bytes does not know yet.
    Returning,
    /// The owner knows that it has taken effect; the initiator does not know yet.
    Replying,
    /// It is complete, failed or given up.
    Ended,
    /// Its record is free.
    Forgotten,
}

/// Packets of a transfer that are missing at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Nothing,
    /// The receiver has noticed a gap, or had no slot; a sender that can send again was notified.
    Reported,
    /// A packet was lost and is never sent again.
    ForGood,
}

/// The timeout of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    Unset,
    /// One of the scheduled tasks.
    Scheduled,
}

/// Whether a transfer waits to send a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// It does not wait.
    Out,
    /// It waits in the list of its NIC.
    Listed,
    /// It is prepared, or waits for its flow, which may not send now.
    HeldBack,
}

/// The role of a packet.
pub(crate) mod role {
    /// A part of the bytes.
    pub(crate) const DATA: u8 = 0;
    /// The request to the owner of the bytes or the word.
    pub(crate) const REQUEST: u8 = 1;
    /// The acknowledgement to the owner that the bytes are written.
    pub(crate) const ACKNOWLEDGE: u8 = 2;
    /// The reply to the initiator that the operation has taken effect.
    pub(crate) const REPLY: u8 = 3;
    /// The report to the sender that a packet is missing.
    pub(crate) const MISSING: u8 = 4;
    /// The report to the sender that there is no receive slot.
    pub(crate) const NOT_READY: u8 = 5;
    /// The notification of the sender that a packet was marked, or waits for its NIC among too many others.
    pub(crate) const CONGESTED: u8 = 6;
    /// The answer to a packet, on rails whose congestion control needs one.
    pub(crate) const ANSWER: u8 = 7;
}

/// An operation over the network. NICs are numbered across all rails. One cache line: thousands are in flight at once, and each of their
/// events accesses one.
#[repr(align(64))]
pub(crate) struct Transfer {
    pub(crate) token: u64,
    pub(crate) bytes: u64,
    /// The NICs of the initiator, of the owner of the bytes, and of their destination.
    pub(crate) by: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Number of data packets: in total, sent, and received.
    pub(crate) packets: u32,
    pub(crate) sent: u32,
    pub(crate) received: u32,
    /// Number of packets of any role in the network or in a NIC.
    pub(crate) under_way: u32,
    pub(crate) salt: u32,
    pub(crate) via: u32,
    /// The next in the list of its NIC; before it reaches the NIC, the transfer that starts directly after it.
    pub(crate) next: u32,
    /// Number of scheduled tasks that name it.
    pub(crate) pending: u8,
    pub(crate) timeout: Timeout,
    pub(crate) kind: OperationKind,
    pub(crate) phase: Phase,
    pub(crate) line: Line,
    /// Whether its bytes have all been read once.
    pub(crate) read: bool,
    pub(crate) missing: Missing,
    /// Whether it has a receive slot.
    pub(crate) slot: bool,
}

/// The memory of each transfer.
const _: () = assert!(size_of::<Transfer>() == 64);

/// The state of a transfer's repetitions.
#[derive(Clone, Copy)]
pub(crate) struct Attempts {
    /// When it is repeated unless a packet arrives before.
    pub(crate) deadline: u64,
    /// Bit `i`: whether the packet `i + 1` places behind the first missing one has arrived, where packets may arrive out of order.
    pub(crate) early: u64,
    /// Number of packets of a datagram that needed no slot.
    pub(crate) admitted: u32,
    /// Number of repetitions since a packet arrived, and number of times that its receiver was not ready.
    pub(crate) retries: u8,
    pub(crate) not_ready: u8,
    /// Number of all repetitions, up to 255.
    pub(crate) repetitions: u8,
}

impl Attempts {
    /// Records a packet `distance` places behind the first missing one, at most 64.
    pub(crate) fn arrives_early(&mut self, distance: u32) {
        self.early |= 1 << (distance - 1);
    }

    /// The first missing packet has arrived; returns the number of packets directly behind it that had arrived before.
    pub(crate) fn next_in_order(&mut self) -> u32 {
        let next = self.early.trailing_ones();
        self.early = self.early.checked_shr(next + 1).unwrap_or(0);
        next
    }

    const NONE: Self = Self { deadline: u64::MAX, early: 0, admitted: 0, retries: 0, not_ready: 0, repetitions: 0 };
}

/// The attempts of transfers, by transfer number. Separate from the transfers, as rails without loss and with enough slots need none.
#[derive(Default)]
pub(crate) struct AttemptTable(Vec<Attempts>);

impl AttemptTable {
    /// Returns the attempts of a transfer; allocates the entry on first use.
    pub(crate) fn of(&mut self, transfer: u32) -> &mut Attempts {
        let index = transfer as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, Attempts::NONE);
        }
        &mut self.0[index]
    }

    /// Returns how often a transfer was repeated.
    #[inline]
    pub(crate) fn repetitions(&self, transfer: u32) -> u8 {
        self.0.get(transfer as usize).map_or(0, |attempts| attempts.repetitions)
    }

    /// Resets the entry of a transfer that begins.
    #[inline]
    pub(crate) fn begin(&mut self, transfer: u32) {
        if let Some(attempts) = self.0.get_mut(transfer as usize) {
            *attempts = Attempts::NONE;
        }
    }
}

/// What never changes about an operation. NICs are numbered across all rails.
#[derive(Clone, Copy)]
pub(crate) struct OperationFacts {
    pub(crate) token: u64,
    pub(crate) bytes: u64,
    /// The NICs of the initiator, of the owner of the bytes, and of their destination; `NONE` if the core of the initiator performs it.
    pub(crate) by: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Number of data packets.
    pub(crate) packets: u32,
    pub(crate) salt: u32,
    pub(crate) via: u32,
    pub(crate) kind: OperationKind,
}

impl Transfer {
    /// An operation of which nothing has been sent or received here.
    #[inline]
    pub(crate) fn new(facts: OperationFacts, phase: Phase) -> Self {
        let OperationFacts { token, bytes, by, from, to, packets, salt, via, kind } = facts;
        Self {
            token,
            bytes,
            by,
            from,
            to,
            packets,
            sent: 0,
            received: 0,
            under_way: 0,
            salt,
            via,
            next: NONE,
            pending: 0,
            timeout: Timeout::Unset,
            kind,
            phase,
            line: Line::Out,
            read: false,
            missing: Missing::Nothing,
            slot: false,
        }
    }

    pub(crate) fn facts(&self) -> OperationFacts {
        let &Self { token, bytes, by, from, to, packets, salt, via, kind, .. } = self;
        OperationFacts { token, bytes, by, from, to, packets, salt, via, kind }
    }
}

impl Linked for Transfer {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_begins_without_the_attempts_of_an_earlier_one_of_its_number() {
        let mut table = AttemptTable::default();
        table.begin(3);
        *table.of(3) = Attempts { deadline: 5, early: 4, admitted: 1, retries: 2, not_ready: 3, repetitions: 4 };
        table.begin(3);
        for number in [0, 3, 9] {
            let Attempts { deadline, early, admitted, retries, not_ready, repetitions } = *table.of(number);
            assert_eq!((deadline, early, admitted, retries, not_ready, repetitions), (u64::MAX, 0, 0, 0, 0, 0), "{number}");
        }
    }
}
