//! Operations in flight.

use core::fmt;
use core::marker::PhantomData;

use pelago_memory::Word;

use crate::{Context, Result};

/// An operation in flight: the program can wait for it, test it, and order other operations after it. 16 bytes.
///
/// A handle may be dropped: the operation continues, and [`quiet`](Context::quiet) or the next barrier waits for it and reports its failure. A
/// handle that is kept reports the result of its operation each time it is queried, as does each copy, and `quiet` does not report a failure
/// that a handle has reported.
///
/// A failed operation is never reported as successful. The result of an operation is stored until too many newer operations have failed: about
/// 2,000, and 64 times as many if operations issued one after another fail with the same error. After that a handle returns
/// [`Error::Forgotten`](crate::Error::Forgotten), even if its operation did not fail, and no operation can be ordered after it; `quiet` still
/// reports the unreported failures. The result of an operation that has not ended when its handle is queried is never forgotten.
#[derive(Clone, Copy)]
pub struct Handle<'c> {
    /// `None` if the operation completed when it was issued.
    context: Option<&'c Context>,
    /// The operation's number. If the operation completed when it was issued: the address of its context, 0 if that is not known.
    id: u64,
}

impl<'c> Handle<'c> {
    /// Returns the handle of an operation that has completed: there is no wait, and no operation is delayed by it.
    #[inline(always)]
    pub const fn done() -> Self {
        Self { context: None, id: 0 }
    }

    /// As [`done`](Self::done), for an operation of `context`.
    #[inline(always)]
    pub(crate) fn done_by(context: &'c Context) -> Self {
        Self { context: None, id: address_of(context) }
    }

    pub(crate) const fn pending(context: &'c Context, id: u64) -> Self {
        Self { context: Some(context), id }
    }

    /// Whether the operation is one of `context`, or completed when it was issued, by an unknown context.
    #[inline(always)]
    pub(crate) fn is_of(self, context: &Context) -> bool {
        match self.context {
            Some(own) => std::ptr::eq(own, context),
            None => self.id == address_of(context) || self.id == 0,
        }
    }

    /// Returns the operation's context and number, unless the operation completed when it was issued.
    pub(crate) const fn parts(self) -> Option<(&'c Context, u64)> {
        match self.context {
            Some(context) => Some((context, self.id)),
            None => None,
        }
    }

    /// Whether the operation completed successfully when it was issued. Cost: a comparison.
    #[inline(always)]
    pub const fn was_done_at_once(self) -> bool {
        self.context.is_none()
    }

    /// Waits until the operation has taken effect: every later read by any rank sees it.
    ///
    /// Cost: nothing if the target was mapped.
    ///
    /// # Errors
    /// The operation failed, or its result was forgotten; the job has a fault.
    #[inline(always)]
    pub fn wait(self) -> Result<()> {
        match self.context {
            None => Ok(()),
            Some(context) => context.wait_id(self.id),
        }
    }

    /// Whether the operation is known to have taken effect; makes no progress.
    ///
    /// # Errors
    /// The operation failed, or its result was forgotten.
    #[inline]
    pub fn has_ended(self) -> Result<bool> {
        self.context.map_or(Ok(true), |context| context.poll_id(self.id))
    }

    /// Whether the operation has taken effect; makes progress if it has not.
    ///
    /// # Errors
    /// The operation failed, or its result was forgotten.
    #[inline]
    pub fn test(self) -> Result<bool> {
        match self.context {
            None => Ok(true),
            Some(context) => context.test_id(self.id),
        }
    }
}

/// The address of a context: it tells contexts apart while handles that borrow them exist.
#[inline(always)]
fn address_of(context: &Context) -> u64 {
    std::ptr::from_ref(context).addr() as u64
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.context {
            None => write!(f, "Handle(done)"),
            Some(_) => write!(f, "Handle({})", self.id),
        }
    }
}

/// An operation in flight that returns a word. 16 bytes.
///
/// If a `Fetch` is dropped before a wait, the word is discarded; the operation still takes effect, and [`quiet`](Context::quiet) reports an
/// unreported failure. A read has no effect: its failure is not reported after its word has been discarded. The result of the operation is
/// never forgotten while the `Fetch` exists.
#[must_use = "the word is lost if nobody waits for it; the operation takes effect all the same"]
pub struct Fetch<'c, T: Word> {
    /// `None` if `word` holds the result.
    context: Option<&'c Context>,
    /// The result, or the operation's number.
    word: u64,
    value: PhantomData<fn() -> T>,
}

impl<'c, T: Word> Fetch<'c, T> {
    #[inline(always)]
    pub(crate) fn ready(value: T) -> Self {
        Self { context: None, word: value.to_bits(), value: PhantomData }
    }

    pub(crate) const fn pending(context: &'c Context, id: u64) -> Self {
        Self { context: Some(context), word: id, value: PhantomData }
    }

    /// Waits for the word.
    ///
    /// Cost: nothing if the target was mapped.
    ///
    /// # Errors
    /// The operation failed, or the job has a fault.
    #[inline(always)]
    pub fn wait(mut self) -> Result<T> {
        match self.context.take() {
            None => Ok(T::from_bits(self.word)),
            Some(context) => context.wait_word(self.word).map(T::from_bits),
        }
    }

    /// Whether the word has arrived; makes progress if it has not.
    ///
    /// # Errors
    /// The operation failed.
    pub fn test(&self) -> Result<bool> {
        self.context.map_or(Ok(true), |context| context.test_id(self.word))
    }

    /// Returns the operation without its word, to order other operations after it or to wait for it among others.
    pub fn handle(&self) -> Handle<'c> {
        self.context.map_or(Handle::done(), |context| Handle::pending(context, self.word))
    }
}

impl<T: Word> Drop for Fetch<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(context) = self.context {
            context.forget_word(self.word);
        }
    }
}

impl<T: Word> fmt::Debug for Fetch<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fetch({:?})", self.handle())
    }
}

const _: () = {
    assert!(size_of::<Handle<'_>>() == 16);
    assert!(size_of::<Fetch<'_, u64>>() == 16);
};
