//! Operations that wait for others, or go by a rail of the program's choice.

use pelago_base::GlobalAddress;
use pelago_platform::Rail;

use crate::order::graph::After;
use crate::progress::record::Terms;
use crate::{Context, Error, Handle, Result};

/// Operations that take effect after others, or that go by a rail; made by [`Context::after`], [`Context::after_all`] and [`Context::on`].
///
/// Every call returns at once: the library begins the operation when its time has come. What it is to write is copied.
/// An operation whose predecessor failed fails in the same way and has no effect. Whoever learns of its failure has learned of that of its
/// predecessor.
///
/// Cost: as the operation, and a wait of the library, not of the caller, for the completion of what comes before. No such wait where both
/// concern the heaps of one rank that is not mapped: both are under way at once, ordered by a fence of the transport.
pub struct Ordered<'c> {
    context: &'c Context,
    /// `None` for a handle of another context.
    after: Option<After>,
    rail: Option<Rail>,
}

impl<'c> Ordered<'c> {
    #[inline]
    pub(crate) const fn new(context: &'c Context, after: Option<After>) -> Self {
        Self { context, after, rail: None }
    }

    /// The same by `rail`; see [`Context::on`].
    #[must_use]
    pub const fn on(self, rail: Rail) -> Self {
        Self { rail: Some(rail), ..self }
    }

    pub(crate) const fn rail(&self) -> Option<Rail> {
        self.rail
    }

    #[inline]
    pub(crate) const fn context(&self) -> &'c Context {
        self.context
    }

    /// The terms of an operation on what lies at `at`: nothing to wait for if it has ended already, and no rail if that is mapped memory, so that
    /// the operation may go the direct way.
    #[inline]
    pub(crate) fn pending(&self, at: GlobalAddress) -> Result<Terms> {
        let after = match self.after {
            Some(After::Nothing) => After::Nothing,
            after => self.ask(after)?,
        };
        let rail = self.rail.filter(|&rail| !self.context.is_mapped_by(rail, at));
        Ok(Terms { after, rail })
    }

    #[cold]
    fn ask(&self, after: Option<After>) -> Result<After> {
        let after = after.ok_or(Error::ForeignHandle)?;
        let ended = match after {
            After::Nothing => true,
            After::One(id) => self.context.poll_id(id)? || !self.may_be_followed(after) && self.context.test_id(id)?,
            After::All => {
                if !self.may_be_followed(after) {
                    self.context.progress();
                }
                self.context.engine().borrow_mut().has_all_ended()?
            }
        };
        Ok(if ended { After::Nothing } else { after })
    }

    /// Whether the operation can go to the same peer at once, so that there is no hurry to learn whether the others have ended.
    fn may_be_followed(&self, after: After) -> bool {
        self.context.engine().borrow().is_orderly(after)
    }
}

/// A sequence of operations, each of which begins when the one before has taken effect.
///
/// ```
/// # use pelago_rma::{Context, GlobalPtr, Result};
/// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>) -> Result<()> {
/// context.chain().then(|next| next.put(data, &[1, 2, 3]))?.then(|next| next.put(flag, &[1]))?.wait()
/// # }
/// ```
pub struct Chain<'c> {
    context: &'c Context,
    last: Handle<'c>,
}

impl<'c> Chain<'c> {
    pub(crate) fn new(context: &'c Context) -> Self {
        Self { context, last: Handle::done() }
    }

    /// Adds the operation that `issue` issues.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn then(mut self, issue: impl FnOnce(Ordered<'c>) -> Result<Handle<'c>>) -> Result<Self> {
        self.last = issue(self.context.after(&self.last))?;
        Ok(self)
    }

    /// The last operation.
    pub fn handle(&self) -> Handle<'c> {
        self.last
    }

    /// Waits for the last operation, and so for all.
    ///
    /// # Errors
    /// One of them failed, or the job is at fault.
    pub fn wait(self) -> Result<()> {
        self.last.wait()
    }
}
