//! Operations that start after other operations, or that use a rail chosen by the program.

use pelago_base::GlobalAddress;
use pelago_platform::Rail;

use crate::order::graph::After;
use crate::progress::record::Terms;
use crate::{Context, Error, Handle, Result};

/// Operations that take effect after others, or that use a given rail; returned by [`Context::after`], [`Context::after_all`] and [`Context::on`].
///
/// Every call returns immediately: the library starts the operation after its predecessors have completed. The data to write is copied.
/// An operation whose predecessor failed fails with the same error and has no effect. A report of its failure counts as a report of the
/// predecessor's failure.
///
/// Cost: that of the operation, and a wait of the library, not of the caller, for the completion of the predecessors. There is no such wait if
/// both operations access the heaps of one rank that is not mapped: both are in flight at once, ordered by a fence of the transport.
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

    /// Returns the same operations through `rail`; see [`Context::on`].
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

    /// Returns the terms of an operation at address `at`: no predecessor if the predecessor has already completed, and no rail if the rail is
    /// mapped memory, so that the operation may take the direct path.
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

    /// Whether the operation can be posted to the same peer immediately, so that polling for the end of the predecessors is unnecessary.
    fn may_be_followed(&self, after: After) -> bool {
        self.context.engine().borrow().is_orderly(after)
    }
}

/// A sequence of operations, each of which starts after the previous one has taken effect.
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

    /// Returns the handle of the last operation.
    pub fn handle(&self) -> Handle<'c> {
        self.last
    }

    /// Waits for the last operation, and thereby for all.
    ///
    /// # Errors
    /// One of them failed, or the job has a fault.
    pub fn wait(self) -> Result<()> {
        self.last.wait()
    }
}
