//! Condition variables: waiting for a notification that the data has changed.
//!
//! Waiting ranks form a list. One word at the home names both ends; each link lies in the memory of a waiting rank.
//!
//! - **L1** Only the rank that has the token to write reads and changes the list; so no two ranks do at once.
//! - **L2** A rank enters the list before it releases the variable. A rank that changes the data has the token after that, and finds the entry.
//! - **L3** A recovery notifies every living rank, and the list of the new epoch is empty. So the entries of a lost rank are never used.
//!   Spurious notifications are allowed: a waiting rank checks its condition again.

use pelago_base::Rank;
use pelago_rma::Result;

use super::encoding::{Epoch, Sleepers};
use super::memory::{LockMemory, NEXT_SLEEPER, NOTIFIED, Waited, WordAddress, sleepers};
use super::queue::{Member, Patience};

impl<M: LockMemory> Member<M> {
    /// Enters this rank, which has the token to write, in the list; returns the epoch of the list.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn enlist(&self) -> Result<Epoch> {
        // Before the epoch is read: a recovery after that notifies this rank.
        self.memory.set_own(NOTIFIED, 0);
        let epoch = self.epoch()?;
        let me = self.memory.me();
        let listed = self.listed(epoch)?;
        if let Some(Sleepers { last, .. }) = listed {
            let linked = self.memory.store(WordAddress { rank: last, word: NEXT_SLEEPER }, u64::from(me));
            if self.unless_lost(linked)?.is_none() {
                return Ok(epoch);
            }
        }
        self.list(epoch, Some(Sleepers { first: listed.map_or(me, |listed| listed.first), last: me }))?;
        Ok(epoch)
    }

    /// Waits until this rank is notified; `false` if the time limit has passed.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn sleep(&self, patience: Patience) -> Result<bool> {
        match self.wait(NOTIFIED, patience, |bell| bell != 0)? {
            Waited::Seen(_) => Ok(true),
            Waited::Lost => self.recover_if_needed(None).map(|()| true),
            Waited::Late => Ok(false),
        }
    }

    /// Removes this rank, which has the token to write and was not notified in time, from the list of an epoch. Returns whether it was notified
    /// before it acquired the token: no other rank gets that notification.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn withdraw(&self, epoch: Epoch) -> Result<bool> {
        if self.memory.own(NOTIFIED) != 0 {
            return Ok(true);
        }
        let withdrawn = self.find_and_withdraw(epoch);
        // After a loss the recovery notifies all ranks.
        Ok(self.unless_lost(withdrawn)?.is_none())
    }

    /// Notifies the first rank in the list, or all; returns their number.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn notify(&self, all: bool) -> Result<u32> {
        let told = self.notify_listed(all);
        // After a loss the recovery notifies all ranks.
        Ok(self.unless_lost(told)?.unwrap_or(0))
    }

    fn notify_listed(&self, all: bool) -> Result<u32> {
        let epoch = self.epoch()?;
        let Some(Sleepers { mut first, last }) = self.listed(epoch)? else { return Ok(0) };
        let mut told = 0;
        loop {
            let next = if first == last { None } else { Some(self.after(first)?) };
            let rest = next.filter(|_| !all).map(|first| Sleepers { first, last });
            if told == 0 {
                self.list(epoch, rest)?;
            }
            self.memory.store(WordAddress { rank: first, word: NOTIFIED }, 1)?;
            told += 1;
            match next {
                Some(next) if all => first = next,
                _ => return Ok(told),
            }
        }
    }

    fn find_and_withdraw(&self, epoch: Epoch) -> Result<()> {
        let me = self.memory.me();
        if self.epoch()? != epoch {
            return Ok(());
        }
        let Some(Sleepers { first, last }) = self.listed(epoch)? else { return Ok(()) };
        let (mut before, mut node) = (None, first);
        while node != me {
            if node == last {
                return Ok(());
            }
            (before, node) = (Some(node), self.after(node)?);
        }
        let next = if me == last { None } else { Some(self.after(me)?) };
        match (before, next) {
            (None, next) => self.list(epoch, next.map(|first| Sleepers { first, last })),
            (Some(before), None) => self.list(epoch, Some(Sleepers { first, last: before })),
            (Some(before), Some(next)) => self.memory.store(WordAddress { rank: before, word: NEXT_SLEEPER }, u64::from(next)),
        }
    }

    fn epoch(&self) -> Result<Epoch> {
        Ok(self.open()?.epoch)
    }

    fn listed(&self, epoch: Epoch) -> Result<Option<Sleepers>> {
        Ok(Sleepers::of_word(self.memory.load(self.at_home(sleepers(epoch)))?, epoch))
    }

    fn list(&self, epoch: Epoch, sleepers_now: Option<Sleepers>) -> Result<()> {
        self.memory.store(self.at_home(sleepers(epoch)), Sleepers::word(sleepers_now, epoch))
    }

    /// The next rank in the list after one that is not the last.
    fn after(&self, rank: Rank) -> Result<Rank> {
        let word = self.memory.load(WordAddress { rank, word: NEXT_SLEEPER })?;
        Ok(Rank::new((word as u32) % self.memory.size()))
    }
}
