//! What a device does in order, as layers use it that know no driver.

use std::any::Any;
use std::sync::Arc;

use pelago_base::Shape;

use crate::{DeviceAnnouncement, DeviceError, DeviceMemory, DeviceRange};

/// A queue of what a device does: a stream of its driver.
///
/// - Q1 What is put in is done in this order, and beside what other queues do. Methods return when it is put in, not when it is done.
/// - Q2 A word is written when all before it is done, and seen by others not before all before it is seen.
/// - Q3 What is behind a wait for a word begins when the word is the value or more, and sees what was written before the word. Values are compared as numbers
///   that count on past the last: one less than 2⁶³ ahead is more.
/// - Q4 The queue keeps the memory that it uses until it is over.
pub trait DeviceStream: Any + Send + Sync {
    /// Whether it writes words and waits for them; else [`write_word`](Self::write_word) and [`wait_word`](Self::wait_word) fail.
    fn has_words(&self) -> bool;

    /// New memory of its device, all zero.
    ///
    /// # Errors
    /// There is none left; the device failed.
    fn allocate(&self, bytes: u64) -> Result<Arc<dyn DeviceMemory>, DeviceError>;

    /// The memory that a rank of this host has announced, for this queue.
    ///
    /// # Errors
    /// The driver does not open it, or the device does not reach it.
    fn open(&self, announced: &DeviceAnnouncement) -> Result<Arc<dyn DeviceMemory>, DeviceError>;

    /// Prepares copies that are put in together, often: nothing is allocated or checked later. No block is written twice, or read and written.
    ///
    /// # Errors
    /// The ends of a copy differ or reach past their memory, or the queue does not reach that; the device takes no kernels; there are too many.
    fn prepare(&self, copies: &[BlockCopy]) -> Result<PreparedCopies, DeviceError>;

    /// Puts prepared copies in, all by one launch; none if they move nothing.
    ///
    /// # Errors
    /// The driver's; another device has prepared them.
    fn copy(&self, prepared: &PreparedCopies) -> Result<(), DeviceError>;

    /// Writes a word of eight aligned bytes, behind all before it (Q2).
    ///
    /// # Errors
    /// The queue does not reach the word; the driver's.
    fn write_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError>;

    /// Lets what follows wait until a word is `value` or more (Q3). The wait ends by a write alone: also one by [`DeviceMemory::write`].
    ///
    /// # Errors
    /// As [`write_word`](Self::write_word).
    fn wait_word(&self, word: &DeviceRange, value: u64) -> Result<(), DeviceError>;

    /// Whether all is done that was put in.
    ///
    /// # Errors
    /// Some of it failed.
    fn is_over(&self) -> Result<bool, DeviceError>;
}

/// Blocks that are copied from one range to another, each with the places of the blocks from its start on, in bytes.
#[derive(Clone, Debug)]
pub struct BlockCopy {
    /// Where they go.
    pub to: DeviceRange,
    /// Their places there.
    pub to_shape: Shape,
    /// Where they come from.
    pub from: DeviceRange,
    /// Their places there: as many blocks, of the same length.
    pub from_shape: Shape,
}

/// Copies that a driver has prepared ([`DeviceStream::prepare`]).
pub struct PreparedCopies(Arc<dyn Any + Send + Sync>);

impl PreparedCopies {
    /// What a driver has prepared.
    pub fn new(prepared: Arc<dyn Any + Send + Sync>) -> Self {
        Self(prepared)
    }

    /// It again, for the driver that has prepared it; `None` for others.
    pub fn downcast<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.clone().downcast().ok()
    }
}
