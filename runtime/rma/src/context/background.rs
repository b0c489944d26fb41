//! Operations of the layers above that go on while this rank waits for anything.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use crate::limits::BACKGROUND_MAX;
use crate::{Context, Error, Result};

/// Operations that go on while their rank waits for something else; see [`Context::go_on_with`].
pub trait Background {
    /// Goes on as far as it goes at once, and returns whether anything moved; `None` if it has nothing more to do, and is to be forgotten.
    ///
    /// It is called inside calls that wait or make progress, and so neither waits nor calls the program.
    fn advance(&self, context: &Context) -> Option<bool>;
}

/// What goes on meanwhile.
#[derive(Default)]
pub(super) struct Backgrounds {
    any: Cell<bool>,
    list: RefCell<Vec<Weak<dyn Background>>>,
}

impl Context {
    /// Goes on with operations in every call of this context that waits or makes [`progress`](Self::progress), until they say that they
    /// have nothing more to do or are dropped. For libraries whose operations take several steps.
    ///
    /// Cost: a call for each look at the transport while this rank waits. Nothing for put, get and atomics.
    ///
    /// # Errors
    /// Too many have something to do.
    pub fn go_on_with(&self, background: &Rc<dyn Background>) -> Result<()> {
        let mut list = self.background.list.borrow_mut();
        list.retain(|known| known.strong_count() > 0);
        if list.len() >= BACKGROUND_MAX {
            return Err(Error::TooMany { what: "libraries with operations in the background", limit: BACKGROUND_MAX });
        }
        list.push(Rc::downgrade(background));
        self.background.any.set(true);
        Ok(())
    }

    /// Whether anything goes on in the background.
    #[inline]
    pub(super) fn has_background(&self) -> bool {
        self.background.any.get()
    }

    /// Goes on with all of it; returns whether anything moved.
    #[cold]
    pub(super) fn advance_background(&self) -> bool {
        // What goes on may come here again.
        let Ok(mut list) = self.background.list.try_borrow_mut() else { return false };
        let mut moved = false;
        list.retain(|background| {
            let some = background.upgrade().and_then(|background| background.advance(self));
            moved |= some.unwrap_or(false);
            some.is_some()
        });
        self.background.any.set(!list.is_empty());
        moved
    }
}
