//! Gets that are waited for later.

use core::marker::PhantomData;

use pelago_memory::Pod;
use zerocopy::IntoBytes;

use super::get::Fetched;
use crate::buffer::Buffer;
use crate::progress::task::{End, Task};
use crate::{Context, Error, GlobalPtr, Handle, Result};

/// Values on their way from another rank, to be waited for later: several of them take one round trip together.
///
/// Made by [`Context::start_get`]. Dropped before it is waited for, it gives up the values, and a failure is reported to nobody.
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
    context: &'c Context,
    state: State<'c>,
    count: usize,
    values: PhantomData<fn() -> T>,
}

enum State<'c> {
    /// The values were there: what the memory of this host held when the get was issued.
    Here(Buffer),
    Pending(Fetched<'c>),
}

impl Context {
    /// Begins to read `count` values from `from` on.
    ///
    /// Cost: mapped source: one copy. Other sources: one operation of the transport for each message's length, and one more copy when the values are waited
    /// for. The context keeps buffers for up to 64 gets and 1 MiB, so that gets in steady state allocate nothing. To read into memory of this rank that
    /// others reach, use [`copy`](Self::copy).
    ///
    /// # Errors
    /// The values are too many to be addressed; the job is at fault while the call waits for room. An address that leads nowhere is reported when the
    /// values are waited for.
    pub fn start_get<T: Pod>(&self, from: GlobalPtr<T>, count: usize) -> Result<PendingGet<'_, T>> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(Error::Invalid("more values than an address space has"))?;
        let state = match self.reach().cells(from.address(), bytes as u64) {
            Some(source) => {
                let mut buffer = self.spare.borrow_mut().take(bytes);
                buffer.cells().copy_from(source);
                State::Here(buffer)
            }
            None if self.shared().goes_by_size(from.address(), bytes as u64)? => {
                let to = End::Buffer(Buffer::hollow(bytes));
                State::Pending(self.fetched(Task::contiguous(End::Global(from.address()), to, bytes as u64))?)
            }
            None => State::Pending(self.fetch_part(from.address(), bytes)?),
        };
        Ok(PendingGet { context: self, state, count, values: PhantomData })
    }
}

impl<'c, T: Pod> PendingGet<'c, T> {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Waits for the values, and returns the first of them; zeros if there are none.
    ///
    /// # Errors
    /// The address leads nowhere, its rank was lost, or the job is at fault.
    pub fn wait(self) -> Result<T> {
        let (mut value, first) = (T::new_zeroed(), size_of::<T>() * self.count.min(1));
        self.hand_on(&mut value.as_mut_bytes()[..first])?;
        Ok(value)
    }

    /// Waits for the values, and copies them to `into`.
    ///
    /// # Errors
    /// `into` has another length; the address leads nowhere, its rank was lost, or the job is at fault.
    pub fn wait_into(self, into: &mut [T]) -> Result<()> {
        if into.len() != self.count {
            return Err(Error::Invalid("a get is waited for with memory of its own length"));
        }
        self.hand_on(into.as_mut_bytes())
    }

    /// Whether the values are there; moves the operation on if not.
    ///
    /// # Errors
    /// The operation failed.
    pub fn test(&self) -> Result<bool> {
        self.handle().test()
    }

    /// The operation, without its values, to order others after it or to wait for it among others.
    pub fn handle(&self) -> Handle<'c> {
        match &self.state {
            State::Here(_) => Handle::done(),
            State::Pending(fetched) => fetched.handle(),
        }
    }

    fn hand_on(self, into: &mut [u8]) -> Result<()> {
        let bytes = into.len() as u64;
        match self.state {
            State::Here(mut buffer) => {
                buffer.cells().part(0, bytes).expect("as many or fewer").read(into);
                self.context.spare.borrow_mut().give(buffer);
                Ok(())
            }
            State::Pending(fetched) => fetched.hand_on(|buffer| buffer.part(0, bytes).expect("as many or fewer").read(into)),
        }
    }
}
