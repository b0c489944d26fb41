//! A bound on the concurrent messages to a receiver, on any path.

use std::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{Result, World};

use crate::admission::{Admission, Granter, Receivers, Requester};
use crate::servers::PlacementExplanation;
use crate::settings::{Settings, check};

/// A bound on the concurrent messages to a receiver that use some other path.
///
/// A sender [acquires](LimitSender::acquire) a permit before it sends, as it acquires a slot in a [`Mailbox`](crate::Mailbox); the receiver
/// [releases](LimitReceiver::release) the permit when it has taken the message: paper A, message-count limiting. So the path never holds more
/// messages to the receiver than there are permits.
///
/// Memory on each rank of the job: some cache lines, and 8 bytes for each permit, or for each entry of a waiting sender if those are more.
///
/// Loss of ranks, in a job that [goes on without them](World::on_peer_lost): a permit whose message was lost with its sender stays
/// acquired until the receiver releases it, once it knows from the path that the message will not arrive. If the receiver or the holder of its counters
/// is lost, a waiting sender gets `PeerLost`.
pub struct Limit<'w> {
    admission: Admission<'w>,
    /// Whether the receiving end of this rank exists already.
    is_received: Cell<bool>,
}

/// The end that acquires permits; created by [`Limit::sender`].
pub struct LimitSender<'l, 'w>(Requester<'l, 'w>);

/// The end that releases permits; created by [`Limit::receiver`].
pub struct LimitReceiver<'l, 'w> {
    limit: &'l Limit<'w>,
    granter: Granter<'l, 'w>,
}

impl<'w> Limit<'w> {
    /// Creates a limit on messages to `receiver`. Collective.
    ///
    /// # Errors
    /// The settings are impossible, or not those of [permits](Settings::permits); as [`World::alloc`].
    pub fn new(world: &'w World, receiver: Rank, settings: Settings) -> Result<Self> {
        check(settings.message_bytes == 0, "a limit has no room for messages: its settings are those of Settings::permits")?;
        check(!settings.placement.borrows(), "the receiver of a limit would not know which share was borrowed from")?;
        Ok(Self { admission: Admission::new(world, Receivers::One(receiver), settings)?, is_received: Cell::new(false) })
    }

    /// The place of the counters, with the reasons.
    pub fn explain(&self) -> &PlacementExplanation {
        self.admission.explanation()
    }

    /// Creates an end of this rank that acquires permits. A rank may have eight at a time.
    ///
    /// # Errors
    /// `to` is not the receiver; too many ends.
    pub fn sender(&self, to: Rank) -> Result<LimitSender<'_, 'w>> {
        Requester::new(&self.admission, to).map(LimitSender)
    }

    /// Returns the end that releases permits. There is only one, because it counts the released permits.
    ///
    /// # Errors
    /// This rank is not the receiver, or the end exists already.
    pub fn receiver(&self) -> Result<LimitReceiver<'_, 'w>> {
        check(self.admission.receives(self.admission.world().rank()), "this rank does not receive here")?;
        check(!self.is_received.replace(true), "a limit has one receiver")?;
        Ok(LimitReceiver { limit: self, granter: Granter::new(&self.admission) })
    }
}

impl LimitSender<'_, '_> {
    /// The number of reads of the counters while this end waited for a permit.
    pub fn looks(&self) -> u64 {
        self.0.looks()
    }

    /// Waits for a permit to send one message.
    ///
    /// Cost: one round trip to the counters if a permit is free, two if the counters are in two words.
    ///
    /// # Errors
    /// The receiver or the holder of the counters was lost; the job is at fault.
    pub fn acquire(&mut self) -> Result<()> {
        let ticket = self.0.take(1)?;
        self.0.wait(ticket)
    }

    /// Acquires a permit if one is free; returns whether it did. Does not wait for the receiver.
    ///
    /// Cost: two round trips to the counters, and one more for each change by another sender or the receiver meanwhile; one if no permit is free.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire(&mut self) -> Result<bool> {
        self.0.take_if_granted()
    }
}

impl LimitReceiver<'_, '_> {
    /// The number of operations that releases have issued.
    pub fn operations(&self) -> u64 {
        self.granter.operations()
    }

    /// Releases the permit of a message that `from` sent.
    ///
    /// Cost: one atomic; if the counters lie at another rank, one atomic for each quarter of the permits. [`flush`](Self::flush) sends the rest.
    ///
    /// # Errors
    /// `from` is no rank of the job; the holder of the counters was lost; the job is at fault.
    pub fn release(&mut self, from: Rank) -> Result<()> {
        let admission = &self.limit.admission;
        check(from.number() < admission.world().size(), "the sender must be a rank of the job")?;
        self.granter.give_at_once(admission.nearest(from))
    }

    /// Sends all released permits to the holders of the counters; must be called before waiting for messages.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn flush(&mut self) -> Result<()> {
        self.granter.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credit::Ticket;
    use crate::settings::Placement;
    use crate::settings::Waiting;
    use pelago_test_support::threads::{Platform, run};

    /// Rank 1 acquires one more permit than exist; rank 0 releases one when it sees that the ticket is taken.
    #[test]
    fn a_permit_is_waited_for_and_both_ends_say_what_that_cost() {
        let (receiver, sender) = (Rank::new(0), Rank::new(1));
        for platform in [Platform::Mapped, Platform::Remote] {
            run(platform, 2, |world| {
                let settings = Settings { waiting: Waiting::Polling, ..Settings::permits(1) };
                let limit = Limit::new(world, receiver, settings).unwrap();
                if world.rank() == sender {
                    let mut permits = limit.sender(receiver).unwrap();
                    assert!(permits.try_acquire().unwrap());
                    assert!(!permits.try_acquire().unwrap(), "there is one permit");
                    assert_eq!(permits.looks(), 0);
                    permits.acquire().unwrap();
                    assert!(permits.looks() > 0, "it had to look until there was one");
                } else {
                    let mut permits = limit.receiver().unwrap();
                    assert!(permits.release(Rank::new(2)).is_err(), "no rank of the job");
                    assert_eq!(permits.operations(), 0);
                    while limit.admission.taken(receiver, 0) != Ticket::new(2) {
                        std::thread::yield_now();
                    }
                    permits.release(sender).unwrap();
                    permits.flush().unwrap();
                    assert_eq!(permits.operations(), 1, "one atomic for one permit");
                }
                world.barrier().unwrap();
            });
        }
    }

    #[test]
    fn a_holder_elsewhere_learns_of_all_permits_when_that_is_asked() {
        let (receiver, holder) = (Rank::new(0), Rank::new(1));
        run(Platform::Mapped, 2, |world| {
            let limit = Limit::new(world, receiver, Settings::permits(8).placed(Placement::Proxy(holder))).unwrap();
            if world.rank() == receiver {
                let mut permits = limit.receiver().unwrap();
                permits.release(holder).unwrap();
                assert_eq!(permits.operations(), 0, "a quarter is told at a time");
                permits.flush().unwrap();
                assert_eq!(permits.operations(), 1);
            }
            world.barrier().unwrap();
        });
    }

    #[test]
    fn what_is_impossible_is_refused() {
        run(Platform::Mapped, 2, |world| {
            let zero = Rank::new(0);
            let refused = |settings| Limit::new(world, zero, settings).is_err();
            assert!(refused(Settings::new(8, 8)), "it has no room for messages");
            assert!(refused(Settings::permits(8).placed(Placement::evenly(2, 2, true))), "nobody borrows");
            let limit = Limit::new(world, zero, Settings::permits(8).placed(Placement::evenly(2, 2, false))).unwrap();
            assert_eq!(limit.receiver().is_ok(), world.rank() == zero);
            assert!(limit.receiver().is_err(), "rank 1 does not receive, and rank 0 does already");
            assert!(limit.sender(Rank::new(1)).is_err());
            world.barrier().unwrap();
        });
    }
}
