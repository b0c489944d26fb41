//! An operation over the network, as the NICs that take part know it.

use crate::events::pool::Linked;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    Put,
    Get,
    Atomic,
    Copy,
    Datagram,
}

/// The phase of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The owner of the bytes does not know of it.
    Requesting,
    /// Its bytes are in transit.
    Sending,
    /// It has taken effect; the owner of the bytes does not know yet.
    Returning,
    /// The owner knows that it has taken effect; the initiator does not know yet.
    Replying,
    /// It is complete, failed or given up.
    Ended,
}

/// Packets of a transfer that its receiver misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Nothing,
    /// The receiver has noticed a gap, or had no slot; a sender that can send again was notified.
    Reported,
    /// A packet was lost that is never sent again.
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
    /// It does not.
    Out,
    /// In the list of its NIC.
    Listed,
    /// For its flow, which may not send now.
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
    /// The notification of the sender that a packet was marked.
    pub(crate) const CONGESTED: u8 = 6;
    /// The answer to a packet, where delays control congestion.
    pub(crate) const ANSWER: u8 = 7;
}

/// An operation over the network. NICs are numbered through all rails.
pub(crate) struct Transfer {
    pub(crate) token: u64,
    pub(crate) bytes: u64,
    /// When it is tried again unless something arrives before.
    pub(crate) deadline: u64,
    /// The NICs of the initiator, of the owner of the bytes, and of their destination.
    pub(crate) by: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Packets of its bytes: all, those sent, those received.
    pub(crate) packets: u32,
    pub(crate) sent: u32,
    pub(crate) received: u32,
    /// Packets of a datagram that needed no slot.
    pub(crate) admitted: u32,
    /// Packets of any role that are in the network or in a NIC.
    pub(crate) under_way: u32,
    pub(crate) salt: u32,
    pub(crate) via: u32,
    pub(crate) next: u32,
    /// Scheduled tasks that name it.
    pub(crate) pending: u8,
    pub(crate) timeout: Timeout,
    pub(crate) kind: OperationKind,
    pub(crate) phase: Phase,
    pub(crate) retries: u8,
    pub(crate) not_ready: u8,
    pub(crate) line: Line,
    /// Whether its bytes have all been read once.
    pub(crate) read: bool,
    pub(crate) missing: Missing,
    /// Whether it has a receive slot.
    pub(crate) slot: bool,
}

/// What each transfer takes.
const _: () = assert!(size_of::<Transfer>() <= 80);

impl Linked for Transfer {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}
