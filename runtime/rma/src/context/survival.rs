//! Continuing after the failure of other ranks.

use std::cell::{Cell, RefCell};

use pelago_base::{Rank, Team};
use pelago_platform::Fault;

use crate::{Context, Result};

/// The function that is called with each failed rank.
pub(crate) type Tell = Box<dyn FnMut(Rank)>;

/// The failed ranks that one context knows.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Losses {
    /// Number of failed ranks that the context has noticed; every wait reads it.
    count: Cell<usize>,
    /// Allocated when the program registers a function, or when a rank fails.
    details: RefCell<Option<Box<LossDetails>>>,
}

#[derive(Default)]
struct LossDetails {
    /// The failed ranks that the context has noticed.
    known: Vec<Rank>,
    /// Called with each failed rank; absent during the call.
    tell: Option<Tell>,
    /// Number of known ranks with which the function was called.
    told: usize,
}

impl LossDetails {
    /// Takes the function, and the next failed rank with which to call it; `None` if all were told, or if the function runs.
    fn take_untold(&mut self) -> Option<(Tell, Rank)> {
        let rank = *self.known.get(self.told)?;
        let tell = self.tell.take()?;
        self.told += 1;
        Some((tell, rank))
    }
}

/// The function during its call; it returns to its place even if it panics, so that later failures are told.
struct Lent<'losses> {
    losses: &'losses Losses,
    tell: Option<Tell>,
}

impl Lent<'_> {
    fn call(mut self, rank: Rank) {
        if let Some(tell) = &mut self.tell {
            tell(rank);
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let tell = self.tell.take();
        // The call may have registered another function.
        self.losses.change(|details| details.tell = details.tell.take().or(tell));
    }
}

impl Losses {
    fn change<R>(&self, change: impl FnOnce(&mut LossDetails) -> R) -> R {
        change(self.details.borrow_mut().get_or_insert_default())
    }
}

impl Context {
    /// Makes the job continue after failures of ranks, and calls `tell` with each failed rank; see [`World::on_peer_lost`](crate::World::on_peer_lost).
    pub(crate) fn go_on_without_lost_ranks(&self, tell: Tell) {
        self.losses.change(|details| details.tell = Some(tell));
        self.shared().tolerate_peer_failures();
    }

    /// Whether this rank has requested that the job [continues](crate::World::on_peer_lost) after failures of ranks.
    pub fn goes_on_without_lost_ranks(&self) -> bool {
        self.shared().tolerates_peer_failures()
    }

    /// The failed ranks that this context has noticed; the job continues without them.
    pub fn lost(&self) -> Vec<Rank> {
        self.losses.details.borrow().as_ref().map_or_else(Vec::new, |details| details.known.clone())
    }

    /// Notices ranks that have failed since the last call.
    #[cold]
    pub(crate) fn note_losses(&self) {
        while let Some(rank) = self.shared().wait.failed_peer(self.losses.count.get()) {
            self.losses.count.set(self.losses.count.get() + 1);
            self.losses.change(|details| details.known.push(rank));
            let now = self.shared().clock.now();
            self.engine().borrow_mut().port().with(|transport| transport.network().peer_failed(now, rank));
            self.tell_losses();
        }
    }

    /// Calls the function of the program with each failed rank that it does not know. If the function itself notices failures, because it uses this
    /// context, this call tells them after it has returned.
    fn tell_losses(&self) {
        // Not borrowed during the call: the function may call this method again, which then finds no function.
        while let Some((tell, rank)) = self.losses.change(LossDetails::take_untold) {
            Lent { losses: &self.losses, tell: Some(tell) }.call(rank);
        }
    }

    /// Number of failed ranks. Cost: one load.
    #[inline]
    pub fn losses(&self) -> usize {
        self.losses.count.get()
    }

    /// Fails if a rank has failed after the first `known`.
    #[inline]
    pub(crate) fn nothing_lost_since(&self, known: usize) -> Result<()> {
        if self.losses() <= known {
            return Ok(());
        }
        self.losses.change(|details| Err(Fault::PeerLost(details.known[known]).into()))
    }

    /// Fails if a member of `team` has failed.
    #[inline]
    pub(crate) fn is_whole(&self, team: &Team) -> Result<()> {
        if self.losses() == 0 {
            return Ok(());
        }
        let member = self.losses.change(|details| details.known.iter().copied().find(|&rank| team.position(rank).is_some()));
        member.map_or(Ok(()), |rank| Err(Fault::PeerLost(rank).into()))
    }
}
