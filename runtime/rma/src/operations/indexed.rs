//! Values at individual offsets in the memory of one rank.

use pelago_memory::Pod;
use zerocopy::IntoBytes;

use crate::buffer::Buffer;
use crate::limits::INDEXED_VALUES_MAX;
use crate::progress::places::Places;
use crate::progress::record::{Audience, Terms};
use crate::progress::task::Task;
use crate::{Context, Error, GlobalPtr, Handle, Ordered, PendingGet, Result};

impl Context {
    /// Writes `values[i]` to the element at index `places[i]` from `to` on, for each `i`. Both slices may be reused as soon as the call
    /// returns. If an index occurs twice, either of its values remains.
    ///
    /// All elements lie in one heap or registered region, as those of a slice do.
    ///
    /// Cost: mapped target: a copy of each value. Other targets: one more copy of the values. If the transport accepts lists of blocks, one operation
    /// per [`blocks_max`](pelago_platform::Capabilities::blocks_max) of them: over UDP about three bytes per index in addition to the
    /// values, in as few datagrams as hold them. Otherwise one operation per value. This is the irregular form of
    /// [`put_strided`](Self::put_strided); MPI has it as indexed datatypes, SHMEM as `ibput`.
    ///
    /// # Errors
    /// The numbers of values and indices differ; the job has a fault while the call waits for room. The handle or `quiet` reports an invalid
    /// address: then no value of its operation was written.
    ///
    /// ```
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, column: GlobalPtr<f64>) -> Result<[f64; 2]> {
    /// context.put_indexed(column, &[70, 3, 41], &[0.5, 1.5, 2.5])?.wait()?;
    /// let mut found = [0.0; 2];
    /// context.get_indexed(column, &[41, 70], &mut found)?;      // 2.5 and 0.5
    /// # Ok(found)
    /// # }
    /// ```
    pub fn put_indexed<T: Pod>(&self, to: GlobalPtr<T>, places: &[u64], values: &[T]) -> Result<Handle<'_>> {
        self.put_indexed_after(Terms::FREE, to, places, values)
    }

    /// Reads the element at index `places[i]` from `from` on into `into[i]`, for each `i`. An index may occur several times.
    ///
    /// All elements lie in one heap or registered region, as those of a slice do.
    ///
    /// Cost: mapped source: a copy of each value. Other sources: as for [`put_indexed`](Self::put_indexed); the reply contains only the values, and
    /// takes one more copy. To continue before the values have arrived, use [`start_get_indexed`](Self::start_get_indexed).
    ///
    /// # Errors
    /// The numbers of indices and values differ; an address is invalid, its rank failed, or the job has a fault: then `into` may be partly filled.
    pub fn get_indexed<T: Pod>(&self, from: GlobalPtr<T>, places: &[u64], into: &mut [T]) -> Result<()> {
        check(places.len(), into.len())?;
        let mut parts = places.chunks(INDEXED_VALUES_MAX).zip(into.chunks_mut(INDEXED_VALUES_MAX));
        parts.try_for_each(|(places, into)| self.start_get_indexed(from, places)?.wait_into(into))
    }

    /// Starts to read the element at index `places[i]` from `from` on, for each `i`, in this order. An index may occur several times.
    ///
    /// All elements lie in one heap or registered region, as those of a slice do.
    ///
    /// Cost: as [`get_indexed`](Self::get_indexed). The context caches buffers as for [`start_get`](Self::start_get).
    ///
    /// # Errors
    /// There are more than 65,536 indices; the job has a fault while the call waits for room. The wait for the values reports an invalid address.
    ///
    /// ```
    /// # use pelago_base::Rank;
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, columns: [GlobalPtr<f64>; 2]) -> Result<[[f64; 2]; 2]> {
    /// let reads = [context.start_get_indexed(columns[0], &[41, 70])?, context.start_get_indexed(columns[1], &[3, 8])?];
    /// let mut found = [[0.0; 2]; 2];                            // both arrive in one round trip
    /// for (read, found) in reads.into_iter().zip(&mut found) {
    ///     read.wait_into(found)?;
    /// }
    /// # Ok(found)
    /// # }
    /// ```
    pub fn start_get_indexed<T: Pod>(&self, from: GlobalPtr<T>, places: &[u64]) -> Result<PendingGet<'_, T>> {
        check_most("values of one indexed get", places.len())?;
        let buffer = self.spare.borrow_mut().take(size_of::<T>() * places.len());
        let mut reading = self.places(from, places, buffer, false)?;
        if reading.do_mapped(&self.reach) {
            return Ok(PendingGet::here(self, reading.into_buffer(), places.len()));
        }
        Ok(PendingGet::pending(self.fetched(Task::Places(Box::new(reading)))?, places.len()))
    }

    /// Copies the element at index `from_places[i]` from `from` on to the element at index `to_places[i]` from `to` on, for each `i`. The two may be on any
    /// ranks; the values pass through this one. The handle is that of the put; the elements have been read when the call returns.
    ///
    /// Cost: as [`get_indexed`](Self::get_indexed), for which the call waits, and [`put_indexed`](Self::put_indexed).
    ///
    /// # Errors
    /// The lists differ in length, or are longer than an indexed put permits; otherwise as the two operations.
    pub fn copy_indexed<T: Pod>(
        &self,
        from: GlobalPtr<T>,
        from_places: &[u64],
        to: GlobalPtr<T>,
        to_places: &[u64],
    ) -> Result<Handle<'_>> {
        check(from_places.len(), to_places.len())?;
        let mut values = vec![T::new_zeroed(); from_places.len()];
        self.get_indexed(from, from_places, &mut values)?;
        self.put_indexed(to, to_places, &values)
    }

    fn put_indexed_after<T: Pod>(&self, terms: Terms, to: GlobalPtr<T>, places: &[u64], values: &[T]) -> Result<Handle<'_>> {
        check(places.len(), values.len())?;
        check_most("values of one indexed put", places.len())?;
        let mut writing = self.places(to, places, Buffer::copy_of(values.as_bytes()), true)?;
        if terms == Terms::FREE && writing.do_mapped(&self.reach) {
            return Ok(Handle::done_by(self));
        }
        Ok(Handle::pending(self, self.submit(terms, Task::Places(Box::new(writing)), Audience::Anyone)?))
    }

    fn places<T: Pod>(&self, start: GlobalPtr<T>, places: &[u64], buffer: Buffer, writes: bool) -> Result<Places> {
        let places = Places::new(start.address(), places, size_of::<T>() as u64, buffer, writes);
        places.ok_or(Error::Failed(pelago_platform::Failure::OutOfBounds(start.address())))
    }
}

impl<'c> Ordered<'c> {
    /// As [`Context::put_indexed`].
    ///
    /// # Errors
    /// The handle belongs to another context, or its operation failed; otherwise as [`Context::put_indexed`].
    pub fn put_indexed<T: Pod>(&self, to: GlobalPtr<T>, places: &[u64], values: &[T]) -> Result<Handle<'c>> {
        let terms = self.pending(to.address())?;
        self.context().put_indexed_after(terms, to, places, values)
    }
}

fn check_most(what: &'static str, values: usize) -> Result<()> {
    if values > INDEXED_VALUES_MAX { Err(Error::TooMany { what, limit: INDEXED_VALUES_MAX }) } else { Ok(()) }
}

pub(super) fn check(places: usize, values: usize) -> Result<()> {
    Error::check_number("the number of places of an indexed transfer", places, values)
}
