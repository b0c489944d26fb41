//! Many to one: messages whose room their senders acquire.

mod receiver;
mod sender;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{CellSlice, GlobalPtr, Result, Symmetric, World};

pub use receiver::MailReceiver;
pub use sender::MailSender;

use crate::admission::{Admission, Receivers};
use crate::settings::{Settings, check};
use crate::slots::Slots;

/// A bounded inbox that many ranks write to.
///
/// The receiver owns `slots` slots and two counters. A sender takes a ticket by a remote atomic, waits until its ticket is granted, and
/// writes its message into the slot of the ticket; the receiver takes messages in the order of their tickets and grants a ticket for each that
/// it has consumed. Its core has no part in admission, nothing overflows, and its memory does not depend on how many senders
/// there are: paper A, receive-buffer acquisition. `docs/messaging.md` tells what is different here and why.
///
/// Each rank of the job has the same memory of it, of which only that of receivers and holders of counters is ever touched:
/// `slots` · (8 + `message_bytes`), rounded up to words, and 8 bytes for each place of a sender that waits.
///
/// Order: messages of one sender arrive in the order in which they were sent. Where counters are split, nothing is said about messages of
/// different senders; else they arrive in the order in which their senders were admitted.
///
/// Loss of ranks, in a job that [goes on without them](World::on_peer_lost): of what a sender sent and had not completed (see
/// [`MailSender::flush`]) each message may be lost with it, and nothing else; a ticket that it held is passed over. Without its receiver, or the holder of the
/// counters that it uses, a sender gets `PeerLost`.
pub struct Mailbox<'w> {
    admission: Admission<'w>,
    /// The slots of each share.
    slots: Slots,
    memory: Symmetric<'w, u64>,
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
        settings.check_message_bytes()?;
        let admission = Admission::new(world, receivers, settings)?;
        let slots = Slots::new(admission.slots(), admission.settings().message_bytes);
        let memory = world.alloc(slots.words() * admission.shares() as usize)?;
        Ok(Self { admission, slots, memory, is_received: Cell::new(false) })
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

    /// Bytes of memory that the receiver needs, whoever sends.
    pub fn receiver_bytes(&self) -> usize {
        (self.memory.len() + self.admission.waiters()) * 8
    }

    /// The slots of a share at a receiver.
    fn ring_at(&self, to: Rank, share: u32) -> GlobalPtr<u64> {
        self.memory.at(to, share as usize * self.slots.words())
    }

    /// The slots of a share at this rank.
    fn ring(&self, share: u32) -> CellSlice<'_, u64> {
        let start = share as usize * self.slots.words();
        self.memory.local().range(start..start + self.slots.words())
    }
}
