//! The receiver's side of admission: grants tickets, and notifies the senders that wait for them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::fence;

use pelago_base::Rank;
use pelago_rma::{CellSlice, Error, Failure, Handle, Result};

use super::ahead::Held;
use super::{Admission, CLAIMS, Claim, SENDER_WORDS, SENDERS, Waiter, rung};
use crate::credit::{Credit, Ticket};
use crate::limits::{ASKED_AT_ONCE, NOTIFICATIONS_MAX, PENDING_MAX};
use crate::peer_loss::is_lost;
use crate::pending::PendingOperations;
use crate::servers::Share;
use crate::settings::{Counting, Waiting};

/// The receiver's side of admission.
pub(crate) struct Granter<'a, 'w> {
    admission: &'a Admission<'w>,
    /// The words of this rank.
    words: CellSlice<'a, u64>,
    me: Rank,
    shares: Vec<ShareGrants>,
    /// Grants in flight to the holders of the counters.
    told: VecDeque<SentGrant<'w>>,
    /// Grants without notifications, and bells, in flight. A bell to a lost rank fails, which is ignored.
    grants: PendingOperations<'w>,
    bells: PendingOperations<'w>,
    /// Number of grants and bells that were issued.
    operations: u64,
}

/// The grants of a share.
#[derive(Clone, Copy)]
struct ShareGrants {
    granted: Ticket,
    /// Number of tickets to grant that were not sent to the holder yet.
    owed: u32,
}

/// Granted tickets; the grant has taken effect at the holder when `handle` is complete.
struct SentGrant<'w> {
    share: u32,
    first: Ticket,
    count: u32,
    handle: Handle<'w>,
}

impl<'a, 'w> Granter<'a, 'w> {
    pub(crate) fn new(admission: &'a Admission<'w>) -> Self {
        let given = |share| ShareGrants { granted: Ticket::new(admission.server(share).slots), owed: 0 };
        let shares = (0..admission.shares()).map(given).collect();
        let words = admission.words.local();
        let most = (admission.settings.slots as usize).clamp(PENDING_MAX, NOTIFICATIONS_MAX);
        Self {
            admission,
            words,
            me: admission.world.rank(),
            shares,
            told: VecDeque::new(),
            grants: PendingOperations::up_to(most),
            bells: PendingOperations::up_to(most),
            operations: 0,
        }
    }

    /// Number of grants and bells that were issued.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Grants one more ticket of a share. Sends grants to the holder for a quarter of the slots at a time: otherwise the cache line of the counters would
    /// move between cores with each message.
    #[inline]
    pub(crate) fn give(&mut self, share: u32) -> Result<()> {
        let given = &mut self.shares[share as usize];
        given.owed += 1;
        if given.owed < self.admission.server(share).slots.div_ceil(4) {
            return Ok(());
        }
        self.tell(share)?;
        self.ring()
    }

    /// As `give`, but grants immediately if this rank is the holder.
    pub(crate) fn give_at_once(&mut self, share: u32) -> Result<()> {
        self.give(share)?;
        if self.shares[share as usize].owed > 0 && self.admission.share(self.me, share).holder == self.me {
            self.tell(share)?;
            self.ring()?;
        }
        Ok(())
    }

    /// Sends all outstanding grants to their holders.
    pub(crate) fn flush(&mut self) -> Result<()> {
        for share in 0..self.admission.shares() {
            if self.shares[share as usize].owed > 0 {
                self.tell(share)?;
            }
        }
        self.ring()
    }

    /// Whether grants are in flight, so that [`flush`](Self::flush) must be called again to notify senders.
    pub(crate) fn is_telling(&self) -> bool {
        !self.told.is_empty()
    }

    fn tell(&mut self, number: u32) -> Result<()> {
        let (admission, share) = (self.admission, self.admission.share(self.me, number));
        let ShareGrants { granted: first, owed } = self.shares[number as usize];
        let count = Credit::grantable(first, owed, share.slots);
        if count == 0 {
            return Ok(());
        }
        let handle = match admission.settings.counting {
            Counting::OneWord if Credit::carries(first, count) => self.grant_alone(share, first, count)?,
            Counting::OneWord => admission.world.add(admission.taken_at(share), Credit::grant(first, count))?,
            Counting::TwoWords => admission.world.add(admission.consumed_at(share), u64::from(count))?,
        };
        self.operations += 1;
        self.shares[number as usize] = ShareGrants { granted: first.after(count), owed: owed - count };
        if admission.settings.waiting != Waiting::Notified {
            return self.grants.add(handle);
        }
        // Notifies the senders that wait now immediately; those that register before the grant takes effect are notified when it has (G2).
        fence(SeqCst);
        self.ring_for_each(number, first, count)?;
        if !handle.was_done_at_once() {
            self.told.push_back(SentGrant { share: number, first, count, handle });
        }
        Ok(())
    }

    /// Grants tickets where the addition carries, while no other grant of this rank is in flight (C5). Waits, once in 2³² tickets.
    #[cold]
    fn grant_alone(&mut self, share: Share, first: Ticket, count: u32) -> Result<Handle<'w>> {
        self.told.iter().try_for_each(|told| told.handle.wait())?;
        self.grants.flush()?;
        let handle = self.admission.world.add(self.admission.taken_at(share), Credit::grant(first, count))?;
        handle.wait().map(|()| handle)
    }

    /// Rings for the senders that wait for tickets whose grants have taken effect at the holder (G2).
    fn ring(&mut self) -> Result<()> {
        let _unheard = self.bells.settle();
        while let Some(SentGrant { handle, .. }) = self.told.front() {
            if !handle.test()? {
                break;
            }
            let Some(SentGrant { share, first, count, .. }) = self.told.pop_front() else { break };
            fence(SeqCst);
            self.ring_for_each(share, first, count)?;
        }
        Ok(())
    }

    /// Rings for the senders that wait for one of these tickets; each bell says that all of them are granted.
    fn ring_for_each(&mut self, share: u32, first: Ticket, count: u32) -> Result<()> {
        let last = first.after(count - 1);
        (0..count).try_for_each(|step| self.ring_for(share, first.after(step), last))
    }

    /// Rings for the sender that waits for `ticket`, after a fence that follows the addition that granted the ticket. So a load is sufficient (G2): in the
    /// total order of atomics, a sender's read that missed the addition precedes it, and the registration precedes that read.
    fn ring_for(&mut self, share: u32, ticket: Ticket, last: Ticket) -> Result<()> {
        let admission = self.admission;
        let (words, index) = (self.words, admission.waiter_index(share, ticket));
        // Leaves an entry of the next lap, which may be there already.
        let found = words.load(index);
        let waiter = Waiter::of_word(found).filter(|waiter| waiter.ticket == ticket && !is_lost(admission.world, waiter.rank));
        if let Some(Waiter { rank, sender, .. }) = waiter {
            words.compare_swap(index, found, 0);
            self.operations += 1;
            let rung =
                admission.world.put(admission.words.at(rank, admission.bell_index(sender)), &[rung(self.me, share, last)])?;
            let _unheard = self.bells.add(rung);
        }
        Ok(())
    }

    /// Whether the missing message of `ticket` will never arrive: the ticket was taken, and no living rank claims it (G1). The caller must check once
    /// more for the message afterwards.
    ///
    /// Cost: nothing while no rank is lost; then two round trips for each rank of the job.
    pub(crate) fn is_abandoned(&self, share: u32, ticket: Ticket) -> Result<bool> {
        let admission = self.admission;
        if admission.world.lost().is_empty() || admission.look(admission.share(self.me, share))?.taken.since(ticket) <= 0 {
            return Ok(false);
        }
        // A read during a change of a claim may see parts of both states. A second read then sees the tickets that the sender holds.
        Ok(!self.is_claimed(share, ticket)? && !self.is_claimed(share, ticket)?)
    }

    /// Whether a living rank claims `ticket`.
    fn is_claimed(&self, share: u32, ticket: Ticket) -> Result<bool> {
        let admission = self.admission;
        for rank in admission.world.ranks().filter(|&rank| !is_lost(admission.world, rank)) {
            let mut words = [0; SENDERS * SENDER_WORDS];
            match admission.world.get_into(admission.words.at(rank, admission.sender_index(0)), &mut words) {
                // The rank has just been lost, so it writes no more messages.
                Err(Error::Failed(Failure::PeerLost(_))) => continue,
                other => other?,
            }
            // This includes a dropped sender, for the tickets that it left.
            let claims = |sender: &[u64]| {
                let held = Held::of_word(sender[0]).filter(|held| held.to == self.me);
                let claims = |&word: &u64| Claim::of_word(word).covers(share, ticket);
                held.is_some_and(|held| held.covers(share, ticket) || sender[1..=CLAIMS].iter().any(claims))
            };
            if words.chunks_exact(SENDER_WORDS).any(claims) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `ticket`, whose message is missing, may have been taken ahead by a sender without a message (G3). Cost: one load.
    pub(crate) fn may_be_held(&self, ticket: Ticket) -> bool {
        if !self.admission.is_withdrawn_by(self.me) {
            return false;
        }
        let index = self.admission.share(self.me, 0).number as usize * super::LINE;
        Credit::of_word(self.words.load(index)).taken.since(ticket) > 0
    }

    /// Withdraws `ticket` and those behind it that its sender has taken ahead and not used; returns their number.
    ///
    /// Cost: a read of the words of each sender of other ranks, several at a time, and an atomic.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> Result<u32> {
        let admission = self.admission;
        let others = |rank: &Rank| *rank != self.me && !is_lost(admission.world, *rank);
        let ranks: Vec<_> = admission.world.ranks().filter(others).collect();
        for ranks in ranks.chunks(ASKED_AT_ONCE) {
            let places = ranks.iter().flat_map(|&rank| (0..SENDERS).map(move |sender| (rank, sender)));
            let words = places.map(|(rank, sender)| {
                let at = admission.words.at(rank, admission.sender_index(sender));
                Ok((at, admission.world.fetch(at)?))
            });
            for (at, word) in words.collect::<Result<Vec<_>>>()? {
                let word = match word.wait() {
                    // The rank has just been lost: its tickets are abandoned.
                    Err(Error::Failed(Failure::PeerLost(_))) => continue,
                    other => other?,
                };
                let Some(held) = Held::of_word(word).filter(|held| held.to == self.me && held.covers(0, ticket)) else {
                    continue;
                };
                return match admission.world.compare_swap(at, word, Held::none(self.me).word())?.wait() {
                    Ok(seen) if seen == word => Ok(held.count),
                    // The sender has used the ticket meanwhile, so the message will arrive.
                    Ok(_) | Err(Error::Failed(Failure::PeerLost(_))) => Ok(0),
                    Err(error) => Err(error),
                };
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
impl Granter<'_, '_> {
    /// Continues as if all tickets before `granted` had been granted.
    pub(crate) fn start_at(&mut self, granted: Ticket) {
        self.shares.iter_mut().for_each(|share| share.granted = granted);
    }

    /// Maximum number of grants and of notifications in flight.
    pub(crate) fn notifications_max(&self) -> [usize; 2] {
        [self.grants.most(), self.bells.most()]
    }
}

impl Drop for Granter<'_, '_> {
    /// Waits for the grants in flight, without notifications. A rank that panics does not wait.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.told.drain(..).for_each(|told| drop(told.handle.wait()));
        }
    }
}

#[cfg(test)]
mod claims;
