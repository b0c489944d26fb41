//! Going on without ranks that were lost.

use std::cell::{Cell, RefCell};

use pelago_base::{Rank, Team};
use pelago_platform::Fault;

use crate::{Context, Result};

/// Who is called with each rank that is lost.
pub(crate) type Tell = Box<dyn FnMut(Rank)>;

/// What one context knows of lost ranks.
#[derive(Default)]
pub(crate) struct Losses {
    /// Those that it has taken notice of.
    known: RefCell<Vec<Rank>>,
    /// How many they are.
    count: Cell<usize>,
    tell: RefCell<Option<Tell>>,
}

impl Context {
    /// Goes on when ranks are lost, and calls `tell` with each of them; see [`World::on_peer_lost`](crate::World::on_peer_lost).
    pub(crate) fn go_on_without_lost_ranks(&self, tell: Tell) {
        *self.losses.tell.borrow_mut() = Some(tell);
        self.shared().tolerate_peer_failures();
    }

    /// Whether the job [goes on](crate::World::on_peer_lost) when ranks are lost, as far as this rank has said.
    pub fn goes_on_without_lost_ranks(&self) -> bool {
        self.shared().tolerates_peer_failures()
    }

    /// The ranks that the job goes on without, as far as this context has noticed.
    pub fn lost(&self) -> Vec<Rank> {
        self.losses.known.borrow().clone()
    }

    /// Takes notice of ranks that were lost since the last time.
    #[cold]
    pub(crate) fn note_losses(&self) {
        while let Some(rank) = self.shared().wait.failed_peer(self.losses.count.get()) {
            self.losses.count.set(self.losses.count.get() + 1);
            self.losses.known.borrow_mut().push(rank);
            let now = self.shared().clock.now();
            self.engine().borrow_mut().port().with(|transport| transport.network().peer_failed(now, rank));
            // Not borrowed while it runs: it may use this context, and so come back here.
            let tell = self.losses.tell.borrow_mut().take();
            if let Some(mut tell) = tell {
                tell(rank);
                self.losses.tell.borrow_mut().get_or_insert(tell);
            }
        }
    }

    /// How many they are. Cost: one load.
    #[inline]
    pub fn losses(&self) -> usize {
        self.losses.count.get()
    }

    /// Fails if a rank was lost after the first `known`.
    #[inline]
    pub(crate) fn nothing_lost_since(&self, known: usize) -> Result<()> {
        match self.losses.known.borrow().get(known) {
            Some(&rank) => Err(Fault::PeerLost(rank).into()),
            None => Ok(()),
        }
    }

    /// Fails if a member of `team` was lost.
    #[inline]
    pub(crate) fn is_whole(&self, team: &Team) -> Result<()> {
        if self.losses() == 0 {
            return Ok(());
        }
        let known = self.losses.known.borrow();
        match known.iter().find(|&&rank| team.position(rank).is_some()) {
            Some(&rank) => Err(Fault::PeerLost(rank).into()),
            None => Ok(()),
        }
    }
}
