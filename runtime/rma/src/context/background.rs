//! Background work of a context, done in every call that waits or makes progress: operations of higher layers, and work for other ranks (active messages).

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pelago_base::{Duration, Instant};

use crate::limits::BACKGROUND_MAX;
use crate::{Context, Error, Result};

/// Maximum sleep of a rank with background work that has to be retried.
const RETRY_INTERVAL: Duration = Duration::from_microseconds(100);

/// Work that progresses while its rank waits for other events; see [`Context::go_on_with`].
pub trait Background {
    /// Proceeds as far as possible without waiting for other ranks.
    ///
    /// The function is called inside calls that wait or make progress. Calls from this function make progress as well, but do not run background work again.
    fn advance(&self, context: &Context) -> Advance;
}

/// The result of an attempt to proceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The work is complete: the object is removed.
    Done,
    /// No progress. The missing event is a completion or a write to the memory of this rank.
    Nothing,
    /// Progress was made.
    Moved,
    /// A step could not be done and has to be retried, although no event will announce that it can be done.
    Blocked,
}

/// The background work of a context; allocated with the first object.
#[derive(Default)]
pub(super) struct Backgrounds {
    any: Cell<bool>,
    list: RefCell<Vec<Weak<dyn Background>>>,
    /// Whether a round over the objects is running.
    is_running: Cell<bool>,
    /// Whether an object has a step to retry.
    is_blocked: Cell<bool>,
}

impl Context {
    /// Adds an object that is advanced in every call of this context that waits or makes [`progress`](Self::progress), until the object returns
    /// [`Advance::Done`] or is dropped. For libraries whose operations take several steps, or that work for other ranks.
    ///
    /// Cost: a call per poll of the transport while this rank waits. No cost for put, get and atomics.
    ///
    /// # Errors
    /// Too many objects have background work.
    pub fn go_on_with(&self, background: &Rc<dyn Background>) -> Result<()> {
        let backgrounds = self.background.get_or_init(Box::default);
        let mut list = backgrounds.list.borrow_mut();
        // A round iterates by index, so that the list must not shrink during a round.
        if !backgrounds.is_running.get() {
            list.retain(|known| known.strong_count() > 0);
        }
        if list.len() >= BACKGROUND_MAX {
            return Err(Error::TooMany { what: "libraries with operations in the background", limit: BACKGROUND_MAX });
        }
        list.push(Rc::downgrade(background));
        backgrounds.any.set(true);
        Ok(())
    }

    /// Whether there is background work: then any write to the memory of this rank may be relevant to it.
    #[inline]
    pub(super) fn has_background(&self) -> bool {
        self.background.get().is_some_and(|backgrounds| backgrounds.any.get())
    }

    /// Returns the time of the next retry.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        let backgrounds = self.background.get().filter(|backgrounds| backgrounds.is_blocked.get())?;
        (!backgrounds.is_running.get()).then(|| self.shared().clock.now() + RETRY_INTERVAL)
    }

    /// Advances all background work, unless the call comes from within such a round; returns whether progress was made.
    #[cold]
    #[inline(never)]
    pub(super) fn advance_background(&self) -> bool {
        let Some(backgrounds) = self.background.get() else { return false };
        if backgrounds.is_running.replace(true) {
            return false;
        }
        // The program's function may panic.
        let _ended = Ended(&backgrounds.is_running);
        let (mut moved, mut is_blocked, mut index) = (false, false, 0);
        // An object may add others at the end of the list: the list is not borrowed while an object is advanced.
        let at = |index| backgrounds.list.borrow().get(index).map(Weak::upgrade);
        while let Some(background) = at(index) {
            let advance = background.map_or(Advance::Done, |background| background.advance(self));
            moved |= advance == Advance::Moved;
            is_blocked |= advance == Advance::Blocked;
            match advance {
                Advance::Done => drop(backgrounds.list.borrow_mut().remove(index)),
                _ => index += 1,
            }
        }
        backgrounds.any.set(index > 0);
        backgrounds.is_blocked.set(is_blocked);
        moved
    }
}

/// Ends a round when dropped.
struct Ended<'a>(&'a Cell<bool>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
