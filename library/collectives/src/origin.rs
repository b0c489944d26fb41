//! The origin of a team's memory, and the teams that have a part of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_rma::Symmetric;

use crate::pool::Region;

/// The origin of a team's memory, and the teams that have a part of it.
pub(crate) struct Origin<'w> {
    pub(crate) memory: Rc<Symmetric<'w, u64>>,
    /// For a team that was split off: whether it is in use, read by the parent team.
    pub(crate) in_use: Option<Rc<Cell<bool>>>,
    pub(crate) children: RefCell<Vec<Child>>,
}

/// The memory of the teams of a split.
pub(crate) struct Child {
    pub(crate) region: Region,
    pub(crate) in_use: Rc<Cell<bool>>,
}

impl<'w> Origin<'w> {
    /// The memory of an allocation.
    pub(crate) fn whole(memory: Symmetric<'w, u64>) -> Self {
        Self { memory: Rc::new(memory), in_use: None, children: RefCell::default() }
    }
}

impl Drop for Origin<'_> {
    fn drop(&mut self) {
        if let Some(in_use) = &self.in_use {
            in_use.set(false);
        }
    }
}
