//! Operations, and what is known of one that has begun.

use crate::lists::Linked;

/// Something to do. Nodes are numbered from zero; bytes are payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bytes of one node are written to another.
    Put {
        /// Whose bytes, and who asks.
        from: u32,
        /// Where they go.
        to: u32,
        /// How many.
        bytes: u64,
    },
    /// Bytes of another node are fetched.
    Get {
        /// Who asks.
        by: u32,
        /// Whose bytes.
        at: u32,
        /// How many.
        bytes: u64,
    },
    /// A word of another node is worked on by its NIC.
    Atomic {
        /// Who asks.
        by: u32,
        /// Whose word.
        at: u32,
    },
    /// Bytes of one node are written to another, asked by a third.
    Copy {
        /// Who asks.
        by: u32,
        /// Whose bytes.
        from: u32,
        /// Where they go.
        to: u32,
        /// How many.
        bytes: u64,
    },
    /// Bytes are sent to a node, which has to have a receive slot for them.
    Datagram {
        /// Who sends.
        from: u32,
        /// Who receives.
        to: u32,
        /// How many.
        bytes: u64,
    },
}

/// Something that the user of a simulation has to know. It happens at [`Netsim::now`](crate::Netsim::now).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The time that the user named has come.
    Wake {
        /// What the user calls it.
        token: u64,
    },
    /// The last source byte is read now: at the sender of a put or datagram, at the owner otherwise. Atomics have none.
    Read {
        /// What the user calls the operation.
        token: u64,
    },
    /// The bytes are in the memory they were meant for; the atomic happens; the datagram arrives.
    Effect {
        /// What the user calls the operation.
        token: u64,
    },
    /// Who asked knows that it is done. A datagram that nobody acknowledges is done when it has been read.
    Done {
        /// What the user calls the operation.
        token: u64,
    },
    /// A datagram that nobody acknowledges was lost. Nobody is told in a real machine; the user may forget it.
    Lost {
        /// What the user calls the operation.
        token: u64,
    },
    /// Who asked knows that it failed. Its effect may have happened.
    Failed {
        /// What the user calls the operation.
        token: u64,
        /// Why.
        reason: Reason,
    },
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It names a node that the machine does not have.
    NoSuchNode,
    /// It needs more packets than can be numbered.
    TooLong,
    /// Its packets were lost as often as the NIC tries.
    RetriesExhausted,
    /// The receiver had no slot as often as the NIC tries.
    ReceiverNotReady,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
pub(crate) struct Message {
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
    pub(crate) kind: Kind,
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

impl Linked for Message {
    fn next(&self) -> u32 {
        self.next
    }
    fn link(&mut self, next: u32) {
        self.next = next;
    }
}
