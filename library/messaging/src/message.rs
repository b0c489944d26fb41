//! What becomes of a message: sent or not, and where it lies when it has come.

use pelago_base::Rank;
use pelago_rma::{CellSlice, Result};

/// What became of a message that was not to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<M> {
    /// It is on its way.
    Sent,
    /// There is no room now; here it is again.
    Full(M),
}

/// Who has slots to free.
pub(crate) trait Free {
    /// The oldest slot of a share is free.
    fn free(&mut self, share: u32) -> Result<()>;
}

/// A message in its slot, which is free again when this is dropped.
pub struct Message<'r> {
    receiver: &'r mut dyn Free,
    share: u32,
    from: Rank,
    bytes: CellSlice<'r, u8>,
}

impl<'r> Message<'r> {
    pub(crate) fn new(receiver: &'r mut dyn Free, share: u32, from: Rank, bytes: CellSlice<'r, u8>) -> Self {
        Self { receiver, share, from, bytes }
    }

    /// Who sent it.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// How many bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes where they lie.
    pub fn bytes(&self) -> CellSlice<'_, u8> {
        self.bytes
    }

    /// A copy of the bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes.to_vec()
    }

    /// Frees the slot, as dropping does, and tells what went wrong.
    ///
    /// # Errors
    /// The holder of the counters was lost; the job is at fault.
    pub fn release(self) -> Result<()> {
        let mut message = std::mem::ManuallyDrop::new(self);
        let share = message.share;
        message.receiver.free(share)
    }

    /// Leaves the message where it is, to be received again.
    pub(crate) fn keep(self) {
        let _not_dropped = std::mem::ManuallyDrop::new(self);
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        // What went wrong meets whoever receives next.
        let _met_again = self.receiver.free(self.share);
    }
}
