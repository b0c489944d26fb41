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

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The owner does not know of it.
    Requesting,
    /// Its bytes are on their way.
    Sending,
    /// It has happened; who asked does not know yet.
    Returning,
    /// It is of no more interest to anybody.
    Ended,
}

/// What a packet is for.
pub(crate) mod role {
    /// A part of the bytes.
    pub(crate) const DATA: u8 = 0;
    /// Asks the owner.
    pub(crate) const REQUEST: u8 = 1;
    /// Tells whose bytes they were that they are written.
    pub(crate) const ACKNOWLEDGE: u8 = 2;
    /// Tells who asked that it has happened.
    pub(crate) const REPLY: u8 = 3;
    /// Tells the sender that a packet is missing.
    pub(crate) const MISSING: u8 = 4;
    /// Tells the sender that there is no receive slot.
    pub(crate) const NOT_READY: u8 = 5;
}

/// An operation over the network. NICs are numbered through all rails.
pub(crate) struct Transfer {
    pub(crate) token: u64,
    pub(crate) bytes: u64,
    /// When it is tried again if nothing has come.
    pub(crate) deadline: u64,
    /// The NICs of who asks, of the owner of the bytes, and of where they go.
    pub(crate) by: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Packets of its bytes: how many there are, were sent, and have come.
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
    /// Arranged tasks that name it.
    pub(crate) pending: u8,
    /// Whether one of them looks for what is overdue.
    pub(crate) watched: bool,
    /// Whether the owner of the bytes knows that they are written.
    pub(crate) acknowledged: bool,
    pub(crate) kind: OperationKind,
    pub(crate) phase: Phase,
    pub(crate) retries: u8,
    pub(crate) not_ready: u8,
    /// Whether it stands in the list of its NIC.
    pub(crate) listed: bool,
    /// Whether its bytes have all been read once.
    pub(crate) read: bool,
    /// Whether the sender was told that packets are missing.
    pub(crate) told: bool,
    /// Whether it has a receive slot.
    pub(crate) slot: bool,
    /// Whether a packet of it was lost for good.
    pub(crate) lost: bool,
}

impl Linked for Transfer {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}
