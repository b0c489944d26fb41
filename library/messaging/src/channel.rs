//! One to one: messages in order through a ring of segments.

mod receiver;
mod sender;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{Result, Symmetric, World};

pub use receiver::ChannelReceiver;
pub use sender::ChannelSender;

use crate::flag::MESSAGE_BYTES_MAX;
use crate::settings::{SLOTS_MAX, check};
use crate::slots::Slots;

/// What a [`Channel`] is to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSettings {
    /// How many segments; a power of two.
    pub slots: u32,
    /// The longest message in bytes.
    pub segment_bytes: usize,
}

/// A bounded stream of messages, or of bytes, from one rank to another.
///
/// The receiver owns a ring of segments, and the sender a word that says how many of them are free again. The sender writes into the next
/// segment, and behind it the flag that says so; the receiver writes that word when it has consumed half of the segments. So each
/// end waits on its own memory, and half of the segments are free for whoever sends while the receiver does something else.
///
/// Each rank of the job has the same memory of it, of which only that of the two ends is ever touched: at the receiver
/// `slots` · (8 + `segment_bytes`), each rounded up to words; at the sender 8 bytes.
///
/// Order: as sent. Loss of ranks, in a job that [goes on without them](World::on_peer_lost): the receiver gets all that its sender has
/// [flushed](ChannelSender::flush), and what came besides, then `PeerLost`; a sender gets `PeerLost` as soon as it would wait.
pub struct Channel<'w> {
    world: &'w World,
    from: Rank,
    to: Rank,
    settings: ChannelSettings,
    ring: Symmetric<'w, u64>,
    credit: Symmetric<'w, u64>,
    /// Whether this rank has its end to send, and to receive.
    is_sent: Cell<bool>,
    is_received: Cell<bool>,
}

impl<'w> Channel<'w> {
    /// A channel from `from` to `to`. Collective.
    ///
    /// # Errors
    /// The settings are impossible; [`World::alloc`]'s.
    pub fn new(world: &'w World, from: Rank, to: Rank, settings: ChannelSettings) -> Result<Self> {
        check(from.number().max(to.number()) < world.size(), "an end of the channel is no rank of the job")?;
        let slots = settings.check()?;
        let (ring, credit) = (world.alloc(slots.words())?, world.alloc(1)?);
        let (is_sent, is_received) = Default::default();
        Ok(Self { world, from, to, settings, ring, credit, is_sent, is_received })
    }

    /// This rank's end to send. There is one: it remembers what was sent.
    ///
    /// # Errors
    /// This rank does not send here, or has been given the end already.
    pub fn sender(&self) -> Result<ChannelSender<'_>> {
        check(self.world.rank() == self.from, "this rank does not send here")?;
        check(!self.is_sent.replace(true), "a channel has one sender")?;
        ChannelSender::over(self.world, self.to, self.settings, self.ring.at(self.to, 0), self.credit.local())
    }

    /// This rank's end to receive. There is one: it remembers what was consumed.
    ///
    /// # Errors
    /// This rank does not receive here, or has been given the end already.
    pub fn receiver(&self) -> Result<ChannelReceiver<'_>> {
        check(self.world.rank() == self.to, "this rank does not receive here")?;
        check(!self.is_received.replace(true), "a channel has one receiver")?;
        ChannelReceiver::over(self.world, self.from, self.settings, self.ring.local(), self.credit.at(self.from, 0))
    }
}

impl ChannelSettings {
    /// `slots` messages of up to `segment_bytes` bytes.
    pub const fn new(slots: u32, segment_bytes: usize) -> Self {
        Self { slots, segment_bytes }
    }

    /// How many words the ring has.
    ///
    /// # Errors
    /// There is no such ring.
    pub fn ring_words(&self) -> Result<usize> {
        Ok(self.check()?.words())
    }

    fn check(&self) -> Result<Slots> {
        check(self.slots.is_power_of_two() && self.slots <= SLOTS_MAX, "slots are a power of two up to 65,536")?;
        check((1..=MESSAGE_BYTES_MAX).contains(&self.segment_bytes), "segments have from 1 to 16,777,214 bytes")?;
        Ok(Slots::new(self.slots, self.segment_bytes))
    }

    /// The shape of the ring, which `words` words are to hold.
    fn ring_in(&self, words: usize) -> Result<Slots> {
        let slots = self.check()?;
        check(words >= slots.words(), "the memory is too small for the ring")?;
        Ok(slots)
    }
}
