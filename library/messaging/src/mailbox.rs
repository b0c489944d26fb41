//! Many to one: messages into slots that their senders acquire.

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
/// Each rank of the job allocates the memory, but only receivers and holders of counters use it:
/// `slots` · (8 + `message_bytes`) bytes, rounded up to words, and 8 bytes for each entry of a waiting sender.
///
/// Order: messages of one sender arrive in the order in which they were sent. Messages of different senders arrive in the order of their tickets if
/// there is one server, and otherwise in no order.
///
/// Loss of ranks, in a job that [goes on without them](World::on_peer_lost): with a sender, only messages may be lost that it had not
/// completed (see [`MailSender::flush`]); the receiver skips their tickets. If the receiver or the holder of its counters is lost, a sender gets
/// `PeerLost`.
pub struct Mailbox<'w> {
    admission: Admission<'w>,
    memory: Symmetric<'w, u64>,
    /// Whether the receiving end of this rank exists already.
    is_received: Cell<bool>,
}

impl<'w> Mailbox<'w> {
    /// Creates a mailbox with one receiver. Collective.
    ///
    /// # Errors
    /// The settings are impossible; [`World::alloc`]'s.
    pub fn new(world: &'w World, receiver: Rank, settings: Settings) -> Result<Self> {
        Self::of(world, Receivers::One(receiver), settings)
    }

    /// Creates a mailbox in which every rank receives, each with its own counters. Collective.
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

    /// Creates a sender of this rank. A rank may have eight at a time.
    ///
    /// # Errors
    /// `to` is not a receiver; too many senders.
    pub fn sender(&self, to: Rank) -> Result<MailSender<'_, 'w>> {
        MailSender::new(self, to)
    }

    /// Returns the receiving end of this rank. A rank has only one, because it counts the consumed messages.
    ///
    /// # Errors
    /// This rank is not a receiver, or its receiving end exists already.
    pub fn receiver(&self) -> Result<MailReceiver<'_, 'w>> {
        check(self.is_receiver(), "this rank does not receive here")?;
        check(!self.is_received.replace(true), "a mailbox has one receiver")?;
        Ok(MailReceiver::new(self))
    }

    /// Whether this rank is a receiver.
    pub fn is_receiver(&self) -> bool {
        self.admission.receives(self.admission.world().rank())
    }

    /// Maximum length of a message in bytes.
    pub fn message_bytes_max(&self) -> usize {
        self.admission.settings().message_bytes
    }

    /// The place of the counters, with the reasons.
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

    /// The offset of the slots of a share, in words.
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
