//! What goes on in every call of a context that waits or makes progress: operations of the layers above, and what is done for other ranks (active messages).

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use pelago_base::{Duration, Instant};

use crate::limits::BACKGROUND_MAX;
use crate::{Context, Error, Result};

/// How long a rank sleeps that has something to try again.
const RETRY_INTERVAL: Duration = Duration::from_microseconds(100);

/// Something that goes on while its rank waits for something else; see [`Context::go_on_with`].
pub trait Background {
    /// Goes on as far as it goes at once, without waiting for other ranks.
    ///
    /// It is called inside calls that wait or make progress. What it calls makes progress too, but calls neither this nor anything else in the background.
    fn advance(&self, context: &Context) -> Advance;
}

/// What came of an attempt to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// There is nothing more to do: the object is forgotten.
    Done,
    /// Nothing moved. What is missing comes as a completion, or is written to the memory of this rank.
    Nothing,
    /// Something moved.
    Moved,
    /// Something could not be done, and is to be tried again though nothing comes.
    Blocked,
}

/// What goes on meanwhile; made with the first object.
#[derive(Default)]
pub(super) struct Backgrounds {
    any: Cell<bool>,
    list: RefCell<Vec<Weak<dyn Background>>>,
    /// Whether one of them goes on just now.
    is_running: Cell<bool>,
    /// Whether one of them has something to try again.
    is_blocked: Cell<bool>,
}

impl Context {
    /// Goes on with an object in every call of this context that waits or makes [`progress`](Self::progress), until it says that it has nothing more to do or is dropped.
    /// For libraries whose operations take several steps, or that do something for other ranks.
    ///
    /// Cost: a call for each look at the transport while this rank waits. Nothing for put, get and atomics.
    ///
    /// # Errors
    /// Too many have something to do.
    pub fn go_on_with(&self, background: &Rc<dyn Background>) -> Result<()> {
        let backgrounds = self.background.get_or_init(Box::default);
        let mut list = backgrounds.list.borrow_mut();
        // A round goes by index.
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

    /// Whether anything goes on in the background: then whatever is written to the memory of this rank may concern it.
    #[inline]
    pub(super) fn has_background(&self) -> bool {
        self.background.get().is_some_and(|backgrounds| backgrounds.any.get())
    }

    /// When something is to be tried again.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        let backgrounds = self.background.get().filter(|backgrounds| backgrounds.is_blocked.get())?;
        (!backgrounds.is_running.get()).then(|| self.shared().clock.now() + RETRY_INTERVAL)
    }

    /// Goes on with all of it, unless that is what is going on; returns whether anything moved.
    #[cold]
    #[inline(never)]
    pub(super) fn advance_background(&self) -> bool {
        let Some(backgrounds) = self.background.get() else { return false };
        if backgrounds.is_running.replace(true) {
            return false;
        }
        // A function of the program may panic.
        let _ended = Ended(&backgrounds.is_running);
        let (mut moved, mut is_blocked, mut index) = (false, false, 0);
        // Others may be added meanwhile, behind these: nothing is borrowed while one goes on.
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

/// Ends a round.
struct Ended<'a>(&'a Cell<bool>);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}
