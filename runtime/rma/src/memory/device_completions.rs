//! Words of a device that signal the completion of operations to its streams.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pelago_base::Duration;
use pelago_memory::{DeviceMemory, DeviceRange};
use pelago_platform::Failure;

use crate::limits::DEVICE_COMPLETIONS_MAX;
use crate::{Context, Error, Handle, RegisteredDevice, Result};

const WORD_BYTES: u64 = 8;

/// Maximum time for which a drop waits for recorded operations, before it releases the streams nevertheless.
const DROP_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// Lets streams of a device wait for operations, without the host; returned by [`Context::device_completions`].
///
/// Each recorded operation takes a word of the device, which is written after the operation. A stream waits for the word, for example with
/// `cuStreamWaitValue64` (`Stream::wait_at_least` of `pelago-cuda`). A word can be reused as soon as it has been written.
///
/// **Progress.** The word is written by a call of this rank that waits or makes progress, after the operation has completed. The host need
/// not wait for the operation, but it has to call the library from time to time: [`progress`](Context::progress), or any wait.
///
/// **Failures.** The word of a failed operation is not written, so that no stream takes the failure for success: the stream waits until
/// [`release`](Self::release), or until this object is dropped. The handle of the operation, and `quiet`, report the failure.
///
/// The drop waits up to 10 s for recorded operations, and then releases all streams.
pub struct DeviceCompletions<'c> {
    context: &'c Context,
    registered: RegisteredDevice<'c, u64>,
    memory: DeviceRange,
    words: RefCell<Vec<Recorded<'c>>>,
    /// Index of the word after the one that was taken last.
    next: Cell<usize>,
}

/// The last use of a word.
#[derive(Clone, Copy)]
struct Recorded<'c> {
    value: u64,
    written: Handle<'c>,
}

/// The condition for which a stream waits: `word` is at least `value`.
#[derive(Clone)]
pub struct DeviceCompletion<'c> {
    /// Eight aligned bytes of the device.
    pub word: DeviceRange,
    /// Minimum value of the word after the operation has completed: the word may have been taken for a later operation.
    pub value: u64,
    /// The write of the word, which follows the operation and fails with it.
    pub written: Handle<'c>,
}

impl Context {
    /// Makes words of a device's memory, as many as fit and at most 1,024, signal completions to streams. The memory must not be used otherwise meanwhile.
    ///
    /// Cost: the memory is registered, and written once.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # fn example(world: &pelago_rma::World, memory: Arc<dyn pelago_rma::DeviceMemory>) -> pelago_rma::Result<()> {
    /// let completions = world.device_completions(memory)?;
    /// let values = world.alloc::<u64>(1)?;
    /// let put = world.put(values.at(world.rank(), 0), &[1])?;
    /// let done = completions.record(&put)?;
    /// // stream.wait_at_least(&done.word, done.value)?; what follows in the stream is behind the put
    /// assert!(done.value > 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The memory holds no word, or cannot be written; those of [`register_device`](Self::register_device).
    pub fn device_completions(&self, memory: Arc<dyn DeviceMemory>) -> Result<DeviceCompletions<'_>> {
        let count = (memory.bytes() / WORD_BYTES).min(DEVICE_COMPLETIONS_MAX as u64) as usize;
        if count == 0 {
            return Err(Error::Invalid("memory for completions holds one word of eight bytes at least"));
        }
        let registered = self.register_device::<u64>(memory.clone())?;
        let zeros = vec![0; count * WORD_BYTES as usize];
        memory.write(0, &zeros).map_err(|_| Error::Failed(Failure::Device(registered.ptr(0).address())))?;
        let words = RefCell::new(vec![Recorded { value: 0, written: Handle::done() }; count]);
        Ok(DeviceCompletions { context: self, registered, memory: DeviceRange::whole(memory), words, next: Cell::new(0) })
    }
}

impl<'c> DeviceCompletions<'c> {
    /// Writes a word when an operation of this context has completed.
    ///
    /// Cost: a put of 8 bytes to the device, issued after the operation, which passes through the host; the search for a free word tests each word
    /// at most once.
    ///
    /// # Errors
    /// All words are taken by operations that have not completed or have failed ([`Error::TooMany`]): wait for one, or [`release`](Self::release).
    /// The operation belongs to another context, or has already failed; the job has a fault while the call waits for room. In these cases no
    /// stream has to wait.
    pub fn record(&self, operation: &Handle<'_>) -> Result<DeviceCompletion<'c>> {
        let mut words = self.words.borrow_mut();
        let count = words.len();
        let from_next = (0..count).map(|step| (self.next.get() + step) % count);
        let free = from_next.into_iter().find(|&index| words[index].written.test() == Ok(true));
        let index = free.ok_or(Error::TooMany { what: "operations that streams wait for", limit: count })?;
        let value = words[index].value + 1;
        let written = self.context.after(operation).put(self.registered.ptr(index), &[value])?;
        words[index] = Recorded { value, written };
        self.next.set((index + 1) % count);
        Ok(DeviceCompletion { word: self.word(index), value, written })
    }

    /// Releases streams that wait for failed operations; returns the number of these operations. The streams then read data that the operations
    /// have not written.
    ///
    /// # Errors
    /// The device cannot be written.
    pub fn release(&self) -> Result<usize> {
        self.write_where(|written| written.test().is_err())
    }

    /// Writes the words whose write satisfies `is_so`.
    fn write_where(&self, is_so: impl Fn(Handle<'c>) -> bool) -> Result<usize> {
        let mut released = 0;
        for (index, recorded) in self.words.borrow_mut().iter_mut().enumerate() {
            if is_so(recorded.written) {
                let word = self.word(index);
                let failed = |_| Error::Failed(Failure::Device(self.registered.ptr(index).address()));
                word.memory().write(word.offset(), &recorded.value.to_le_bytes()).map_err(failed)?;
                recorded.written = Handle::done();
                released += 1;
            }
        }
        Ok(released)
    }

    fn word(&self, index: usize) -> DeviceRange {
        self.memory.part(index as u64 * WORD_BYTES, WORD_BYTES).expect("the memory holds all words")
    }
}

impl Drop for DeviceCompletions<'_> {
    fn drop(&mut self) {
        let have_ended = |words: &[Recorded<'_>]| words.iter().all(|word| word.written.test() != Ok(false));
        let ready = || Ok(have_ended(&self.words.borrow()).then_some(()));
        let _late = self.context.wait_for("operations that streams wait for", Some(DROP_LIMIT), ready);
        // A failed device has no streams to release.
        let _failed = self.write_where(|written| written.test() != Ok(true));
    }
}
