//! One to one: messages in order through a ring of segments.

mod receiver;
mod sender;

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{Result, Symmetric, World};

pub use receiver::ChannelReceiver;
pub use sender::ChannelSender;

use crate::limits::SLOTS_MAX;
use crate::settings::check;
use crate::slot_flag::MESSAGE_BYTES_MAX;
use crate::slots::Slots;

/// Settings of a [`Channel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelSettings {
    /// The number of segments; a power of two.
    pub slots: u32,
    /// Maximum length of a message in bytes.
    pub segment_bytes: usize,
}

/// A bounded stream of messages, or of bytes, from one rank to another.
///
/// The receiver owns a ring of segments, and the sender a word with its credits: the number of consumed messages. The sender writes a message into the next
/// segment, and its flag behind it; the receiver returns credits when it has consumed half of the segments. So each end waits on its own memory,
/// and half of the segments are free for the sender while the receiver computes.
///
/// Each rank of the job allocates the memory, but only the two ends use it: at the receiver
/// `slots` · (8 + `segment_bytes`) bytes, each segment rounded up to words; at the sender 8 bytes.
///
/// Order: as sent. Loss of ranks, in a job that [goes on without them](World::on_peer_lost): the receiver gets all messages that its sender has
/// [flushed](ChannelSender::flush), and later ones that have arrived, then `PeerLost`; a sender gets `PeerLost` instead of waiting.
pub struct Channel<'w> {
    world: &'w World,
    from: Rank,
    to: Rank,
    settings: ChannelSettings,
    ring: Symmetric<'w, u64>,
    credit: Symmetric<'w, u64>,
    /// Whether the sending and the receiving end of this rank exist already.
    is_sent: Cell<bool>,
    is_received: Cell<bool>,
}

impl<'w> Channel<'w> {
    /// Creates a channel from `from` to `to`. Collective.
    ///
    /// # Errors
    /// The settings are impossible; [`World::alloc`]'s.
    pub fn new(world: &'w World, from: Rank, to: Rank, settings: ChannelSettings) -> Result<Self> {
        check(from.number().max(to.number()) < world.size(), "both ends of a channel must be ranks of the job")?;
        let slots = settings.check()?;
        let (ring, credit) = (world.alloc(slots.words())?, world.alloc(1)?);
        let (is_sent, is_received) = Default::default();
        Ok(Self { world, from, to, settings, ring, credit, is_sent, is_received })
    }

    /// Returns the sending end. There is only one, because it counts the sent messages.
    ///
    /// # Errors
    /// This rank is not the sender, or the end exists already.
    pub fn sender(&self) -> Result<ChannelSender<'_>> {
        check(self.world.rank() == self.from, "this rank does not send here")?;
        check(!self.is_sent.replace(true), "a channel has one sender")?;
        ChannelSender::over(self.world, self.to, self.settings, self.ring.at(self.to, 0), self.credit.local())
    }

    /// Returns the receiving end. There is only one, because it counts the consumed messages.
    ///
    /// # Errors
    /// This rank is not the receiver, or the end exists already.
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

    /// The number of words of the ring.
    ///
    /// # Errors
    /// The settings are impossible.
    pub fn ring_words(&self) -> Result<usize> {
        Ok(self.check()?.words())
    }

    fn check(&self) -> Result<Slots> {
        check(self.slots.is_power_of_two() && self.slots <= SLOTS_MAX, "slots are a power of two up to 65,536")?;
        check((1..=MESSAGE_BYTES_MAX).contains(&self.segment_bytes), "segments have from 1 to 16,777,214 bytes")?;
        Ok(Slots::new(self.slots, self.segment_bytes))
    }

    /// The layout of the ring; fails if it needs more than `words` words.
    fn ring_in(&self, words: usize) -> Result<Slots> {
        let slots = self.check()?;
        check(words >= slots.words(), "the memory is too small for the ring")?;
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_guard::Sent;
    use pelago_test_support::threads::{Platform, run};

    #[test]
    fn half_of_the_segments_are_free_again_when_half_are_consumed() {
        let (from, to) = (Rank::new(0), Rank::new(1));
        run(Platform::Mapped, 2, |world| {
            let channel = Channel::new(world, from, to, ChannelSettings::new(4, 8)).unwrap();
            if world.rank() == from {
                let mut sender = channel.sender().unwrap();
                (0..4).for_each(|number| assert_eq!(sender.try_send([number]).unwrap(), Sent::Sent));
                assert!(sender.is_full());
                world.barrier().unwrap();
                // The receiver has consumed one message.
                world.barrier().unwrap();
                assert!(sender.is_full(), "it is told of half of them at a time");
                world.barrier().unwrap();
                // The receiver has consumed two messages.
                world.barrier().unwrap();
                (0..2).for_each(|number| assert_eq!(sender.try_send([number]).unwrap(), Sent::Sent));
                assert!(sender.is_full());
            } else {
                let mut receiver = channel.receiver().unwrap();
                world.barrier().unwrap();
                for number in 0..2 {
                    assert!(!receiver.is_empty());
                    let message = receiver.receive().unwrap();
                    assert_eq!((message.to_vec(), message.is_empty()), (vec![number], false));
                    message.release().unwrap();
                    world.barrier().unwrap();
                    world.barrier().unwrap();
                }
            }
            if world.rank() == from {
                world.barrier().unwrap();
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn what_is_impossible_is_refused() {
        let settings = |slots: u32, bytes: usize| ChannelSettings::new(slots, bytes).ring_words();
        for (slots, bytes) in [(1, 1), (SLOTS_MAX, 8), (2, MESSAGE_BYTES_MAX)] {
            assert_eq!(settings(slots, bytes), Ok(slots as usize * (1 + bytes.div_ceil(8))));
        }
        for (slots, bytes) in [(0, 8), (3, 8), (2 * SLOTS_MAX, 8), (2, 0), (2, MESSAGE_BYTES_MAX + 1)] {
            assert!(settings(slots, bytes).is_err(), "{slots} segments of {bytes} bytes");
        }
        let ring = ChannelSettings::new(4, 8);
        assert!(ring.ring_in(8).is_ok() && ring.ring_in(9).is_ok() && ring.ring_in(7).is_err());
        run(Platform::Mapped, 2, |world| {
            let (zero, one, two) = (Rank::new(0), Rank::new(1), Rank::new(2));
            for (from, to) in [(zero, two), (two, zero)] {
                assert!(Channel::new(world, from, to, ring).is_err());
            }
            let channel = Channel::new(world, zero, one, ring).unwrap();
            assert_eq!((channel.sender().is_ok(), channel.receiver().is_ok()), (world.rank() == zero, world.rank() == one));
            assert!(channel.sender().is_err() && channel.receiver().is_err(), "each has its end already, and not the other's");
            world.barrier().unwrap();
        });
    }
}
