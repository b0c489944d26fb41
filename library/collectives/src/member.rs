//! State that a member's operations need to continue in any call that waits: nothing here borrows the world.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use pelago_base::{Rank, Team};
use pelago_rma::{Advance, Background, Context};

use crate::counted::exchange::Exchange;
use crate::counted::streams::Streams;
use crate::executor::MemberContext;
use crate::words::Words;

/// A member of a team.
pub(crate) struct Member {
    pub(crate) team: Team,
    pub(crate) position: u32,
    pub(crate) words: Words,
    /// Whether the memory of all members is mapped.
    pub(crate) mapped: Cell<bool>,
    /// Allocated by the first operation with counts.
    pub(crate) streams: RefCell<Option<Streams>>,
    /// The messages of a completed operation with counts, for reuse.
    pub(crate) spare: RefCell<Exchange>,
    /// Operations that were started and have not ended, in the order of their starts.
    pub(crate) started: RefCell<VecDeque<Rc<dyn InFlight>>>,
    /// Whether the calls of this rank that wait have been asked to advance them.
    pub(crate) is_known: Cell<bool>,
}

/// A resource that an operation in flight uses exclusively: operations on the same resource run one after another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uses {
    Streams,
    /// The plan with this number.
    Plan(u64),
}

/// A started operation.
pub(crate) trait InFlight {
    fn uses(&self) -> Uses;

    /// Advances as far as possible without waiting; returns whether anything moved, and whether the operation has ended.
    fn advance(&self, member: &Member, context: &Context) -> (bool, bool);
}

impl Member {
    pub(crate) fn new(team: Team, position: u32, words: Words) -> Self {
        let (mapped, streams, spare, started, is_known) = Default::default();
        Self { team, position, words, mapped, streams, spare, started, is_known }
    }

    pub(crate) fn context<'p>(&'p self, world: &'p Context) -> MemberContext<'p> {
        let Self { team, position, words, mapped, .. } = self;
        MemberContext { world, team, position: *position, words: *words, mapped: mapped.get() }
    }

    pub(crate) fn rank(&self, position: u32) -> Rank {
        self.team.rank(position).expect("positions are below the size")
    }

    /// Advances all started operations; returns whether anything moved.
    pub(crate) fn advance_started(&self, context: &Context) -> bool {
        // A put of an operation may call this function again.
        let Ok(mut started) = self.started.try_borrow_mut() else { return false };
        let mut moved = false;
        let mut index = 0;
        while index < started.len() {
            let uses = started[index].uses();
            let waits = started.iter().take(index).any(|earlier| earlier.uses() == uses);
            let (some, ended) = if waits { (false, false) } else { started[index].advance(self, context) };
            moved |= some || ended;
            if ended {
                started.remove(index);
            } else {
                index += 1;
            }
        }
        moved
    }

    /// Whether an operation in flight uses this resource.
    pub(crate) fn is_used(&self, uses: Uses) -> bool {
        self.started.borrow().iter().any(|started| started.uses() == uses)
    }
}

impl Background for Member {
    fn advance(&self, context: &Context) -> Advance {
        let moved = self.advance_started(context);
        let some = self.started.try_borrow().map_or(true, |started| !started.is_empty());
        let goes_on = some || moved;
        self.is_known.set(goes_on);
        match (goes_on, moved) {
            (false, _) => Advance::Done,
            (true, false) => Advance::Nothing,
            (true, true) => Advance::Moved,
        }
    }
}
