//! Gets that are waited for later.

use core::marker::PhantomData;

use pelago_memory::Pod;
use zerocopy::IntoBytes;

use super::get::Fetched;
use crate::buffer::Buffer;
use crate::progress::task::{End, Task};
use crate::{Context, Error, GlobalPtr, Handle, Result};

/// A get that is waited for later: several of them take one round trip together.
///
/// Returned by [`Context::start_get`] and [`Context::start_get_indexed`]. If it is dropped before a wait, the values are discarded, and a failure is
/// not reported.
///
/// ```
/// # use pelago_rma::{Context, GlobalPtr, Result};
/// # fn example(context: &Context, one: GlobalPtr<f64>, other: GlobalPtr<f64>) -> Result<f64> {
/// let (one, other) = (context.start_get(one, 1)?, context.start_get(other, 1)?);
/// Ok(one.wait()? + other.wait()?)
/// # }
/// ```
#[must_use = "the values are lost if nobody waits for them"]
pub struct PendingGet<'c, T: Pod> {
    state: State<'c>,
    count: usize,
    values: PhantomData<fn() -> T>,
}

enum State<'c> {
    /// The memory was mapped: the values when the get was issued.
    Here(&'c Context, Buffer),
    Pending(Fetched<'c>),
}

impl Context {
    /// Starts to read `count` values from `from` on.
    ///
    /// Cost: mapped source: one copy. Other sources: one operation of the transport per maximum message size, and one more copy in the wait.
    /// The context caches buffers for up to 64 gets and 1 MiB, so that gets in steady state allocate no memory. To read into memory of this rank that
    /// others can access, use [`copy`](Self::copy).
    ///
    /// # Errors
    /// There are more values than a segment has; the job has a fault while the call waits for room. The wait for the values reports an invalid
    /// address.
    pub fn start_get<T: Pod>(&self, from: GlobalPtr<T>, count: usize) -> Result<PendingGet<'_, T>> {
        let segment_bytes = self.reach().addresses().segment_bytes();
        // Refused before memory for the values is allocated.
        let bytes = count.checked_mul(size_of::<T>()).filter(|bytes| *bytes as u64 <= segment_bytes);
        let bytes = bytes.ok_or(Error::Invalid("more values than a segment has"))?;
        if let Some(source) = self.reach().cells(from.address(), bytes as u64) {
            let mut buffer = self.spare.borrow_mut().take(bytes);
            buffer.cells().copy_from(source);
            return Ok(PendingGet::here(self, buffer, count));
        }
        let fetched = if self.shared().goes_by_size(from.address(), bytes as u64)? {
            let to = End::Buffer(Buffer::hollow(bytes));
            self.fetched(Task::contiguous(End::Global(from.address()), to, bytes as u64))?
        } else {
            self.fetch_part(from.address(), bytes)?
        };
        Ok(PendingGet::pending(fetched, count))
    }
}

impl<'c, T: Pod> PendingGet<'c, T> {
    /// The get of `count` values that have been read into a buffer.
    pub(super) fn here(context: &'c Context, buffer: Buffer, count: usize) -> Self {
        Self { state: State::Here(context, buffer), count, values: PhantomData }
    }

    /// The get of `count` values that an operation in flight brings.
    pub(super) fn pending(fetched: Fetched<'c>, count: usize) -> Self {
        Self { state: State::Pending(fetched), count, values: PhantomData }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Waits for the values, and returns the first one; zeros if there are none.
    ///
    /// # Errors
    /// The address is invalid, its rank failed, or the job has a fault.
    pub fn wait(self) -> Result<T> {
        let (mut value, first) = (T::new_zeroed(), size_of::<T>() * self.count.min(1));
        self.hand_on(&mut value.as_mut_bytes()[..first])?;
        Ok(value)
    }

    /// Waits for the values, and copies them to `into`.
    ///
    /// # Errors
    /// `into` has another length; the address is invalid, its rank failed, or the job has a fault.
    pub fn wait_into(self, into: &mut [T]) -> Result<()> {
        Error::check_number("the number of values that the get is waited for with", into.len(), self.count)?;
        self.hand_on(into.as_mut_bytes())
    }

    /// Whether the values have arrived; makes progress if they have not.
    ///
    /// # Errors
    /// The operation failed.
    pub fn test(&self) -> Result<bool> {
        self.handle().test()
    }

    /// Returns the operation without its values, to order other operations after it or to wait for it among others.
    pub fn handle(&self) -> Handle<'c> {
        match &self.state {
            State::Here(context, _) => Handle::done_by(context),
            State::Pending(fetched) => fetched.handle(),
        }
    }

    fn hand_on(self, into: &mut [u8]) -> Result<()> {
        let bytes = into.len() as u64;
        match self.state {
            State::Here(context, mut buffer) => {
                buffer.cells().part(0, bytes).expect("as many or fewer").read(into);
                context.spare.borrow_mut().give(buffer);
                Ok(())
            }
            State::Pending(fetched) => fetched.hand_on(|buffer| buffer.part(0, bytes).expect("as many or fewer").read(into)),
        }
    }
}
