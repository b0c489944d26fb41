//! Going on without ranks that were lost.

use std::cell::{Cell, RefCell};

use pelago_base::{Rank, Team};
use pelago_platform::Fault;

use crate::{Context, Result};

/// Who is called with each rank that is lost.
pub(crate) type Tell = Box<dyn FnMut(Rank)>;

/// What one context knows of lost ranks.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Losses {
    /// How many it has taken notice of, which every wait reads.
    count: Cell<usize>,
    /// Made when the program asks for them, or a rank is lost.
    details: RefCell<Option<Box<LossDetails>>>,
}

#[derive(Default)]
struct LossDetails {
    /// The lost ranks that the context has taken notice of.
    known: Vec<Rank>,
    /// Called with each lost rank.
    tell: Option<Tell>,
}

impl Losses {
    fn change<R>(&self, change: impl FnOnce(&mut LossDetails) -> R) -> R {
        change(self.details.borrow_mut().get_or_insert_default())
    }
}

impl Context {
    /// Goes on when ranks are lost, and calls `tell` with each of them; see [`World::on_peer_lost`](crate::World::on_peer_lost).
    pub(crate) fn go_on_without_lost_ranks(&self, tell: Tell) {
        self.losses.change(|details| details.tell = Some(tell));
        self.shared().tolerate_peer_failures();
    }

    /// Whether the job [goes on](crate::World::on_peer_lost) when ranks are lost, as far as this rank has said.
    pub fn goes_on_without_lost_ranks(&self) -> bool {
        self.shared().tolerates_peer_failures()
    }

    /// The ranks that the job goes on without, as far as this context has noticed.
    pub fn lost(&self) -> Vec<Rank> {
        self.losses.details.borrow().as_ref().map_or_else(Vec::new, |details| details.known.clone())
    }

    /// Takes notice of ranks that were lost since the last time.
    #[cold]
    pub(crate) fn note_losses(&self) {
        while let Some(rank) = self.shared().wait.failed_peer(self.losses.count.get()) {
            self.losses.count.set(self.losses.count.get() + 1);
            self.losses.change(|details| details.known.push(rank));
            let now = self.shared().clock.now();
            self.engine().borrow_mut().port().with(|transport| transport.network().peer_failed(now, rank));
            // Not borrowed while it runs: it may use this context, and so come back here.
            let tell = self.losses.change(|details| details.tell.take());
            if let Some(mut tell) = tell {
                tell(rank);
                self.losses.change(|details| _ = details.tell.get_or_insert(tell));
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
        if self.losses() <= known {
            return Ok(());
        }
        self.losses.change(|details| Err(Fault::PeerLost(details.known[known]).into()))
    }

    /// Fails if a member of `team` was lost.
    #[inline]
    pub(crate) fn is_whole(&self, team: &Team) -> Result<()> {
        if self.losses() == 0 {
            return Ok(());
        }
        let member = self.losses.change(|details| details.known.iter().copied().find(|&rank| team.position(rank).is_some()));
        member.map_or(Ok(()), |rank| Err(Fault::PeerLost(rank).into()))
    }
}
