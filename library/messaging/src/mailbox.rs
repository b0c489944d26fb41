//! Many to one: messages whose room their senders acquire.

mod receiver;
mod sender;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{CellSlice, GlobalPtr, Result, Symmetric, World};

pub use receiver::{MailReceiver, Message};
pub use sender::{MailSender, Sent};

use crate::credit::Ticket;
use crate::flag::{Content, content};
use crate::gate::{Gate, Receivers};
use crate::settings::{Settings, check};

/// Words of a cache line: slots begin at one.
const LINE: usize = 8;

/// A bounded inbox that many ranks write to.
///
/// The receiver owns `slots` slots and two counters. A sender takes a ticket by a remote atomic, waits until its ticket is granted, and
/// writes its message into the slot of the ticket; the receiver takes messages in the order of their tickets and grants a ticket for each that
/// it has consumed. Its processor has no part in admission, nothing overflows, and its memory does not depend on how many senders
/// there are: paper A, receive-buffer acquisition. `docs/messaging.md` tells what is different here and why.
///
/// Each rank of the job has the same memory of it, of which only that of receivers and holders of counters is ever touched:
/// `slots` · (8 + `message_bytes`), rounded up to cache lines, and 8 bytes for each slot.
///
/// Order: messages of one sender arrive in the order in which they were sent. Where counters are split, nothing is said about messages of
/// different senders; else they arrive in the order in which their senders were admitted.
///
/// Loss of ranks, in a job that [goes on without them](World::on_peer_lost): what a sender sent and had not completed (see
/// [`MailSender::flush`]) may be lost with it, and nothing else; a ticket that it held is passed over. Without its receiver, or the holder of the
/// counters that it uses, a sender gets `PeerLost`.
pub struct Mailbox<'w> {
    gate: Gate<'w>,
    slots: Symmetric<'w, u64>,
    /// Words of a slot.
    stride: usize,
    /// Whether this rank has its end to receive.
    is_received: Cell<bool>,
}

impl<'w> Mailbox<'w> {
    /// A mailbox of which `receiver` takes the messages. Collective.
    ///
    /// # Errors
    /// The settings are impossible; [`World::alloc`]'s.
    pub fn new(world: &'w World, receiver: Rank, settings: Settings) -> Result<Self> {
        Self::of(world, Receivers::One(receiver), settings)
    }

    /// A mailbox of every rank; counters lie at each receiver. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn on_every_rank(world: &'w World, settings: Settings) -> Result<Self> {
        Self::of(world, Receivers::Each, settings)
    }

    fn of(world: &'w World, receivers: Receivers, settings: Settings) -> Result<Self> {
        let gate = Gate::new(world, receivers, settings)?;
        let stride = (1 + gate.settings().message_bytes.div_ceil(8)).next_multiple_of(LINE);
        let slots = world.alloc(stride * gate.settings().slots as usize)?;
        Ok(Self { gate, slots, stride, is_received: Cell::new(false) })
    }

    /// A sender of this rank. A rank may have eight at a time.
    ///
    /// # Errors
    /// `to` does not receive here; too many senders.
    pub fn sender(&self, to: Rank) -> Result<MailSender<'_, 'w>> {
        MailSender::new(self, to)
    }

    /// This rank's end to receive. There is one: it remembers which messages were consumed.
    ///
    /// # Errors
    /// This rank does not receive here, or has been given the end already.
    pub fn receiver(&self) -> Result<MailReceiver<'_, 'w>> {
        check(self.gate.receives(self.gate.world().rank()), "this rank does not receive here")?;
        check(!self.is_received.replace(true), "a mailbox has one receiver")?;
        Ok(MailReceiver::new(self))
    }

    /// The longest message in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.gate.settings().message_bytes
    }

    /// Bytes of memory that the receiver needs, whoever sends.
    pub fn receiver_bytes(&self) -> usize {
        (self.slots.len() + self.gate.settings().slots as usize) * 8
    }

    /// Where the flag of a slot is; its message follows.
    fn flag_at(&self, to: Rank, share: u32, ticket: Ticket) -> GlobalPtr<u64> {
        self.slots.at(to, self.index(share, ticket))
    }

    fn index(&self, share: u32, ticket: Ticket) -> usize {
        (share * self.gate.slots() + ticket.slot(self.gate.slots())) as usize * self.stride
    }

    /// What has come by a ticket to this rank.
    fn found(&self, share: u32, ticket: Ticket) -> Option<Content> {
        content(self.slots.local().load(self.index(share, ticket)), ticket, self.gate.slots())
    }

    /// The bytes of the message of a ticket.
    fn bytes(&self, share: u32, ticket: Ticket, bytes: usize) -> CellSlice<'_, u8> {
        let start = self.index(share, ticket) + 1;
        let words = self.slots.local().range(start..start + self.stride - 1);
        let all = words.cells().elements().expect("bytes are aligned anywhere");
        // A length that no sender of ours writes is cut, not followed.
        all.range(0..bytes.min(all.len()))
    }
}
