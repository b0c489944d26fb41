//! Many to one: messages whose room their senders acquire.

mod receiver;
mod sender;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{CellSlice, GlobalPtr, Result, Symmetric, World};

pub use receiver::MailReceiver;
pub use sender::MailSender;

use crate::admission::{Admission, Receivers};
use crate::servers::PlacementExplanation;
use crate::settings::{Settings, check};
use crate::slots::Slots;

/// A bounded inbox with many senders.
///
/// The receiver owns `slots` slots and two counters. A sender takes a ticket by a remote atomic, waits until its ticket is granted, and
/// writes its message into the slot of the ticket; the receiver takes messages in the order of their tickets and grants a ticket for each that
/// it has consumed. The receiver's core takes no part in admission, the slots cannot overflow, and their memory does not depend on the number of
/// senders: paper A, receive-buffer acquisition. `docs/book/src/messaging.md` lists the differences to the paper.
///
/// Each rank of the job has the same memory of it, but only receivers and holders of counters use it:
/// `slots` · (8 + `message_bytes`), rounded up to words, and 8 bytes for each place of a waiting sender.
///
/// Order: messages of one sender arrive in the order in which they were sent. With several servers, messages of
/// different senders have no order; else they arrive in the order of their tickets.
///
/// Loss of ranks, in a job that [goes on without them](World::on_peer_lost): a lost sender may lose each message that it had not
/// completed (see [`MailSender::flush`]), and no other; the receiver skips its tickets. If the receiver is lost, or the holder of its counters, a sender
/// gets `PeerLost`.
pub struct Mailbox<'w> {
    admission: Admission<'w>,
    memory: Symmetric<'w, u64>,
    /// Whether this rank has its end to receive.
    is_received: Cell<bool>,
}

impl<'w> Mailbox<'w> {
    /// A mailbox with one receiver. Collective.
    ///
    /// # Errors
    /// The settings are impossible; [`World::alloc`]'s.
    pub fn new(world: &'w World, receiver: Rank, settings: Settings) -> Result<Self> {
        Self::of(world, Receivers::One(receiver), settings)
    }

    /// A mailbox in which every rank receives, each with its own counters. Collective.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn on_every_rank(world: &'w World, settings: Settings) -> Result<Self> {
        Self::of(world, Receivers::Each, settings)
    }

    fn of(world: &'w World, receivers: Receivers, settings: Settings) -> Result<Self> {
        settings.check_message_bytes()?;
        let admission = Admission::new(world, receivers, settings)?;
        let memory = world.alloc(Slots::new(admission.settings().slots, admission.settings().message_bytes).words())?;
        Ok(Self { admission, memory, is_received: Cell::new(false) })
    }

    /// A sender of this rank. A rank may have eight at a time.
    ///
    /// # Errors
    /// `to` does not receive here; too many senders.
    pub fn sender(&self, to: Rank) -> Result<MailSender<'_, 'w>> {
        MailSender::new(self, to)
    }

    /// The receiving end of this rank. A rank has one: it counts consumed messages.
    ///
    /// # Errors
    /// This rank does not receive here, or has its receiving end already.
    pub fn receiver(&self) -> Result<MailReceiver<'_, 'w>> {
        check(self.is_receiver(), "this rank does not receive here")?;
        check(!self.is_received.replace(true), "a mailbox has one receiver")?;
        Ok(MailReceiver::new(self))
    }

    /// Whether this rank receives here.
    pub fn is_receiver(&self) -> bool {
        self.admission.receives(self.admission.world().rank())
    }

    /// The longest message in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.admission.settings().message_bytes
    }

    /// Where the counters lie, and why.
    pub fn explain(&self) -> &PlacementExplanation {
        self.admission.explanation()
    }

    /// Bytes of memory of the receiver, independent of the number of senders.
    pub fn receiver_bytes(&self) -> usize {
        (self.memory.len() + self.admission.waiters()) * 8
    }

    /// The slots of a share at a receiver.
    fn ring_at(&self, to: Rank, share: u32) -> GlobalPtr<u64> {
        self.memory.at(to, self.ring_start(share))
    }

    /// The slots of a share.
    fn slots(&self, share: u32) -> Slots {
        Slots::new(self.admission.server(share).slots, self.admission.settings().message_bytes)
    }

    /// Where they begin, in words.
    fn ring_start(&self, share: u32) -> usize {
        let before = Slots::new(self.admission.server(share).first_slot, self.admission.settings().message_bytes);
        before.words()
    }

    /// The slots of a share at this rank.
    fn ring(&self, share: u32) -> CellSlice<'_, u64> {
        let start = self.ring_start(share);
        self.memory.local().range(start..start + self.slots(share).words())
    }
}
