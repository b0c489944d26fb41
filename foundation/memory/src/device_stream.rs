//! Ordered queues of device operations, for layers that are independent of drivers.

use std::any::Any;
use std::sync::Arc;

use pelago_base::Shape;

use crate::{DeviceAnnouncement, DeviceError, DeviceMemory, DeviceRange};

/// A queue of device operations: a stream of its driver.
///
/// - Q1 The device performs operations in the order of their submission, concurrently with those of other queues. Methods return on submission,
///   not on completion.
/// - Q2 A word is written when all earlier operations are done, and becomes visible to others only after their effects.
/// - Q3 Operations after a wait for a word start when the word is the value or more, and see all writes before the word. Values are compared
///   with wrap-around: a value less than 2⁶³ ahead counts as more.
/// - Q4 The queue keeps the memory that it uses until it is over.
pub trait DeviceStream: Any + Send + Sync {
    /// Whether the queue can write words and wait for them; else [`write_word`](Self::write_word) and [`wait_word`](Self::wait_word) fail.
    fn has_words(&self) -> bool;

    /// Allocates memory of its device, all zero.
    ///
    /// # Errors
    /// The device has no free memory, or failed.
    fn allocate(&self, bytes: u64) -> Result<Arc<dyn DeviceMemory>, DeviceError>;

    /// Opens memory that a rank of this host has announced, for use by this queue.
    ///
    /// # Errors
    /// The driver cannot open it, or the device cannot access it.
    fn open(&self, announced: &DeviceAnnouncement) -> Result<Arc<dyn DeviceMemory>, DeviceError>;

    /// Prepares copies that are submitted together repeatedly, so that submission neither allocates nor checks. No block is written twice, or read
    /// and written.
    ///
    /// # Errors
    /// The ends of a copy differ or reach past their memory, the queue cannot access the memory, the device runs no kernels, or there are too many
    /// copies.
    fn prepare(&self, copies: &[BlockCopy]) -> Result<PreparedCopies, DeviceError>;

    /// Submits prepared copies with one launch, or with none if they move nothing.
    ///
    /// # Errors
    /// The driver fails, or another device has prepared them.
    fn copy(&self, prepared: &PreparedCopies) -> Result<(), DeviceError>;

    /// Writes a word of eight aligned bytes, after all earlier operations (Q2).
    ///
    /// # Errors
    /// The queue cannot access the word, or the driver fails.
    fn write_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError>;

    /// Makes later operations wait until a word is `value` or more (Q3). Only a write ends the wait, which may be one by [`DeviceMemory::write`].
    ///
    /// # Errors
    /// As [`write_word`](Self::write_word).
    fn wait_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError>;

    /// Whether all submitted operations are done.
    ///
    /// # Errors
    /// An operation failed.
    fn is_over(&self) -> Result<bool, DeviceError>;
}

/// Copy of blocks from one range to another; each shape is relative to the start of its range, in bytes.
#[derive(Clone, Debug)]
pub struct BlockCopy {
    /// Destination range.
    pub to: DeviceRange,
    /// Destination blocks.
    pub to_shape: Shape,
    /// Source range.
    pub from: DeviceRange,
    /// Source blocks: the same number, of the same length.
    pub from_shape: Shape,
}

/// Copies that a driver has prepared ([`DeviceStream::prepare`]).
pub struct PreparedCopies(Arc<dyn Any + Send + Sync>);

impl PreparedCopies {
    /// Wraps a driver's prepared copies.
    pub fn new(prepared: Arc<dyn Any + Send + Sync>) -> Self {
        Self(prepared)
    }

    /// Returns the driver's type, for the driver that prepared the copies; `None` for others.
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}
