//! Guards: the data of a variable, as long as the variable is held.

use core::fmt;
use core::ops::{Deref, DerefMut, Range};

use pelago_base::Duration;
use pelago_rma::Result;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::blocks::Blocks;
use super::shared::Shared;
use crate::lock::Patience;

/// Read access to the data of a [`Shared`]. Other ranks may read at the same time; no rank writes.
pub struct ReadGuard<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> {
    hold: Hold<'g, 'w, T>,
}

/// Exclusive access to the data of a [`Shared`]. No other rank reads or writes.
///
/// If the guard is forgotten, or dropped while its thread panics, the rank holds the variable until it acquires or drops it again. Then the
/// variable is released without the written data.
pub struct WriteGuard<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> {
    hold: Hold<'g, 'w, T>,
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> ReadGuard<'g, 'w, T> {
    #[inline]
    pub(super) fn new(shared: &'g mut Shared<'w, T>) -> Self {
        Self { hold: Hold(Some(shared)) }
    }

    /// Releases the variable and returns errors; dropping the guard does the same and ignores errors.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn release(self) -> Result<()> {
        let Shared { access, private } = self.hold.keep();
        access.release(private.as_bytes())
    }

    /// Releases the variable and acquires it to write. Other ranks may write in between; [`version`](Self::version) then differs.
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn upgrade(self) -> Result<WriteGuard<'g, 'w, T>> {
        let shared = self.hold.keep();
        shared.access.release(shared.private.as_bytes())?;
        shared.write()
    }

    /// The number of the version that is read; each later version has a higher one.
    pub fn version(&self) -> u64 {
        self.hold.shared().access.blocks.version()
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> WriteGuard<'g, 'w, T> {
    #[inline]
    pub(super) fn new(shared: &'g mut Shared<'w, T>) -> Self {
        Self { hold: Hold(Some(shared)) }
    }

    /// Releases the variable and returns errors that are known by now; dropping the guard does the same and ignores errors. Messages are posted
    /// without waiting: their errors are returned by the next operation on the variable, or by
    /// [`quiet`](pelago_rma::Context::quiet) if that comes before.
    ///
    /// # Errors
    /// The home is lost; no version number is left, and the written data is not released; the job is at fault.
    #[inline]
    pub fn release(self) -> Result<()> {
        let Shared { access, private } = self.hold.keep();
        access.release(private.as_bytes())
    }

    /// Releases the variable without the written data.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn abort(self) -> Result<()> {
        let Shared { access, private } = self.hold.keep();
        access.blocks.discard();
        access.release(private.as_bytes())
    }

    /// Releases the written data and continues to read; no other rank writes in between.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn downgrade(self) -> Result<ReadGuard<'g, 'w, T>> {
        let shared = self.hold.keep();
        shared.access.downgrade(shared.private.as_bytes())?;
        Ok(ReadGuard::new(shared))
    }

    /// Releases the variable, waits until another rank [notifies](Self::notify_one) this one, and acquires the variable again. Notifications may be
    /// spurious, as after the loss of a rank: the caller checks its condition again, as [`wait_while`](Self::wait_while) does.
    ///
    /// Cost: two round trips to the home and one to the last waiting rank, before the variable is released.
    ///
    /// # Errors
    /// As [`release`](Self::release) and [`Shared::write`].
    pub fn wait(self) -> Result<Self> {
        self.sleep(Patience::Endless).map(|(guard, _)| guard)
    }

    /// As [`wait`](Self::wait), with a wait of at most `limit` for the notification. Acquiring the variable again may take longer; returns whether the
    /// notification came before that.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_within(self, limit: Duration) -> Result<(Self, bool)> {
        let until = self.hold.shared().access.member.memory.world().now() + limit;
        self.sleep(Patience::Until(until))
    }

    /// Waits for notifications as long as `condition` holds for the data.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_while(self, mut condition: impl FnMut(&T) -> bool) -> Result<Self> {
        let mut guard = self;
        while condition(&guard) {
            guard = guard.wait()?;
        }
        Ok(guard)
    }

    /// Notifies the rank that has waited longest; returns `false` if no rank waits. The notified rank continues when it has acquired the variable.
    ///
    /// Cost: a round trip to the home if no rank waits, else up to four.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn notify_one(&mut self) -> Result<bool> {
        Ok(self.hold.shared().access.member.notify(false)? > 0)
    }

    /// Notifies all waiting ranks; returns their number.
    ///
    /// Cost: two round trips to the home, and two to each waiting rank.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn notify_all(&mut self) -> Result<u32> {
        self.hold.shared().access.member.notify(true)
    }

    fn sleep(self, patience: Patience) -> Result<(Self, bool)> {
        let epoch = self.hold.shared().access.member.enlist()?;
        let shared = self.hold.keep();
        shared.access.release(shared.private.as_bytes())?;
        let told = shared.access.member.sleep(patience)?;
        let guard = shared.write()?;
        let told = told || guard.hold.shared().access.member.withdraw(epoch)?;
        Ok((guard, told))
    }

    /// Returns the variable's bytes, to write, and the blocks that record the writes.
    pub(crate) fn bytes_mut(&mut self) -> (&mut [u8], &Blocks) {
        let Shared { access, private } = self.hold.shared_mut();
        (private.as_mut_bytes(), &access.blocks)
    }

    /// The number of the acquired version; the written data becomes the next.
    pub fn version(&self) -> u64 {
        self.hold.shared().access.blocks.version()
    }
}

impl<U: FromBytes + IntoBytes + Immutable> WriteGuard<'_, '_, [U]> {
    /// Returns some of the elements, to write. Of a variable above 8 KiB, only the blocks of these elements are transferred later; a mutable
    /// dereference of the guard marks all elements as written.
    ///
    /// # Panics
    /// The range reaches past the end.
    pub fn range_mut(&mut self, range: Range<usize>) -> &mut [U] {
        let Shared { access, private } = self.hold.shared_mut();
        let part = &mut private[range.clone()];
        access.blocks.write(range.start * size_of::<U>()..range.end * size_of::<U>());
        part
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Deref for ReadGuard<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.hold.shared().private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Deref for WriteGuard<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.hold.shared().private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> DerefMut for WriteGuard<'_, '_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        let Shared { access, private } = self.hold.shared_mut();
        access.blocks.write_all(private.as_bytes());
        private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable + fmt::Debug> fmt::Debug for ReadGuard<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable + fmt::Debug> fmt::Debug for WriteGuard<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Holds a variable until it is dropped.
struct Hold<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable>(Option<&'g mut Shared<'w, T>>);

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Hold<'g, 'w, T> {
    #[inline(always)]
    fn shared(&self) -> &Shared<'w, T> {
        self.0.as_ref().expect("it is held")
    }

    #[inline(always)]
    fn shared_mut(&mut self) -> &mut Shared<'w, T> {
        self.0.as_mut().expect("it is held")
    }

    /// Returns the variable, which remains held.
    fn keep(mut self) -> &'g mut Shared<'w, T> {
        self.0.take().expect("it is held")
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Drop for Hold<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        // A rank that panics does not wait for others. It continues to hold the variable, as if the guard had been forgotten.
        let Some(Shared { access, private }) = self.0.take().filter(|_| !std::thread::panicking()) else { return };
        let _whoever_acquires_it_next_is_told = access.release(private.as_bytes());
    }
}
