//! Operations in flight.

use core::fmt;
use core::marker::PhantomData;

use pelago_memory::Word;

use crate::{Context, Result};

/// An operation in flight: it can be waited for, tested, and ordered after. 16 bytes.
///
/// A handle may be dropped: the operation goes on, and [`quiet`](Context::quiet) or the next barrier waits for it and reports its failure. Kept,
/// it reports how its operation ended each time it is asked, as often as it is copied, and a failure that it has reported is not reported by
/// `quiet` any more.
///
/// An operation that failed is never reported as successful. How one ended is known for as long as few that are newer have failed: some
/// 2,000, and 64 times as many where operations issued one after another fail alike. After that a handle returns
/// [`Error::Forgotten`](crate::Error::Forgotten), also if its operation did not fail, and nothing can be ordered after it; `quiet` still
/// reports the failures that nobody was told of. An operation that has not ended when its handle is asked is never forgotten.
#[derive(Clone, Copy)]
pub struct Handle<'c> {
    /// `None` if the operation was done when it was issued.
    context: Option<&'c Context>,
    id: u64,
}

impl<'c> Handle<'c> {
    /// The handle of what is done already: nothing to wait for, and nothing to come after.
    #[inline(always)]
    pub const fn done() -> Self {
        Self { context: None, id: 0 }
    }

    pub(crate) const fn pending(context: &'c Context, id: u64) -> Self {
        Self { context: Some(context), id }
    }

    /// The operation's context and number, unless it was done when it was issued.
    pub(crate) const fn parts(self) -> Option<(&'c Context, u64)> {
        match self.context {
            Some(context) => Some((context, self.id)),
            None => None,
        }
    }

    /// Whether the operation was done when it was issued, so that nothing of it is left to wait for or to fail. Cost: a comparison.
    #[inline(always)]
    pub const fn was_done_at_once(self) -> bool {
        self.context.is_none()
    }

    /// Waits until the operation has taken effect: every rank that looks from now on sees it.
    ///
    /// Cost: nothing if the target was mapped.
    ///
    /// # Errors
    /// The operation failed, or how it ended was forgotten; the job is at fault.
    #[inline(always)]
    pub fn wait(self) -> Result<()> {
        match self.context {
            None => Ok(()),
            Some(context) => context.wait_id(self.id),
        }
    }

    /// Whether the operation has taken effect, as far as is known; nothing moves by asking.
    ///
    /// # Errors
    /// The operation failed, or how it ended was forgotten.
    #[inline]
    pub fn has_ended(self) -> Result<bool> {
        self.context.map_or(Ok(true), |context| context.poll_id(self.id))
    }

    /// Whether the operation has taken effect; moves it on if not.
    ///
    /// # Errors
    /// The operation failed, or how it ended was forgotten.
    #[inline]
    pub fn test(self) -> Result<bool> {
        match self.context {
            None => Ok(true),
            Some(context) => context.test_id(self.id),
        }
    }
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.context {
            None => write!(f, "Handle(done)"),
            Some(_) => write!(f, "Handle({})", self.id),
        }
    }
}

/// An operation in flight that brings a word. 16 bytes.
///
/// Dropped before it is waited for, it gives up the word; the operation still takes effect, and a failure that it has not reported is left to
/// [`quiet`](Context::quiet). A read has no effect: its failure is not reported to anybody once its word is given up. How its operation ended
/// is never forgotten while it is there.
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
    /// The operation failed, or the job is at fault.
    #[inline(always)]
    pub fn wait(mut self) -> Result<T> {
        match self.context.take() {
            None => Ok(T::from_bits(self.word)),
            Some(context) => context.wait_word(self.word).map(T::from_bits),
        }
    }

    /// Whether the word is there; moves the operation on if not.
    ///
    /// # Errors
    /// The operation failed.
    pub fn test(&self) -> Result<bool> {
        self.context.map_or(Ok(true), |context| context.test_id(self.word))
    }

    /// The operation, without its word, to order others after it or to wait for it among others.
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
