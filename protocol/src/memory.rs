//! What the protocol touches outside itself.

use pelago_base::{AtomicOperator, GlobalAddress, Width};

/// What a rank sends from: its registered memory, and local memory of its operations.
pub trait Readable {
    /// Reads from `from` on until `into` is full.
    ///
    /// # Errors
    /// Nothing was read.
    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied>;

    /// Reads from byte `offset` of local memory on until `into` is full; inside what was submitted with it.
    fn read_local(&self, from: Local, offset: u64, into: &mut [u8]);
}

/// The memory of the rank that an [`Endpoint`](crate::Endpoint) belongs to: a byte array in tests, mapped memory in production.
///
/// Every address that came over the wire is checked here: an answer of `Ok` means that the bytes are registered.
pub trait Memory: Readable {
    /// Whether `bytes` bytes from `at` on may be reached.
    ///
    /// # Errors
    /// They may not.
    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied>;

    /// Writes `bytes` from `to` on.
    ///
    /// # Errors
    /// Nothing was written.
    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied>;

    /// Copies inside this rank's memory, also where the two overlap. Both ends were checked.
    ///
    /// # Errors
    /// An end cannot be reached, the second one if `true`. Some bytes may have been copied.
    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)>;

    /// Performs an atomic and returns what was there.
    ///
    /// # Errors
    /// Nothing was changed.
    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied>;

    /// Writes `bytes` from byte `offset` of local memory on; inside what was submitted with it.
    fn write_local(&mut self, to: Local, offset: u64, bytes: &[u8]);
}

/// Local memory of an operation, as whoever submitted it numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local(pub u64);

/// Why memory was not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// It is not registered.
    Outside,
    /// A word is not at a multiple of its width.
    Misaligned,
    /// The device whose memory it is failed.
    Device,
}
