//! The memory that conversations access.

use pelago_base::{AtomicOperator, Block, GlobalAddress, Shape, Width};

/// The memory of a rank: registered memory, which peers may access, and the local memory of its operations. A byte array in tests, mapped
/// memory in production.
///
/// Implementations check every address that arrived over the wire: `Ok` means that the bytes are registered.
pub trait Memory {
    /// The local memory of an operation: as many bytes as the operation moves, owned by the operation from submission to its end.
    type Local;

    /// Checks that peers may access `bytes` bytes from `at` on.
    ///
    /// # Errors
    /// They may not access them.
    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied>;

    /// Reads from `from` on until `into` is full.
    ///
    /// # Errors
    /// Nothing was read.
    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied>;

    /// Writes `bytes` from `to` on.
    ///
    /// # Errors
    /// Nothing was written.
    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied>;

    /// Copies inside this rank's memory; source and destination may overlap. Both ends were checked.
    ///
    /// # Errors
    /// An end cannot be accessed: the destination if `true`, else the source. Some bytes may have been copied.
    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)>;

    /// Performs an atomic and returns the previous value.
    ///
    /// # Errors
    /// Nothing was changed.
    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied>;

    /// Reads the blocks of a row, which are at least one byte long and at equal distances, from `from` on, one after another, until `into` is full.
    ///
    /// # Errors
    /// Some blocks cannot be accessed.
    fn read_row(&self, from: GlobalAddress, row: Shape, into: &mut [u8]) -> Result<(), Denied> {
        let mut blocks = row.offsets().zip(into.chunks_mut(row.block as usize));
        blocks.try_for_each(|(offset, block)| self.read(further(from, offset), block))
    }

    /// Writes `bytes` to the blocks of such a row, which begins at `to`. The extent of the row was checked.
    ///
    /// # Errors
    /// Some blocks cannot be accessed; the blocks before them may have been written.
    fn write_row(&mut self, to: GlobalAddress, row: Shape, bytes: &[u8]) -> Result<(), Denied> {
        let mut blocks = row.offsets().zip(bytes.chunks(row.block as usize));
        blocks.try_for_each(|(offset, block)| self.write(further(to, offset), block))
    }

    /// Reads blocks of any length, at offsets relative to `from`, one after another, until `into` is full. They lie inside `extent` bytes.
    ///
    /// # Errors
    /// Some blocks cannot be accessed.
    fn read_blocks(
        &self,
        from: GlobalAddress,
        _extent: u64,
        blocks: impl Iterator<Item = Block>,
        into: &mut [u8],
    ) -> Result<(), Denied> {
        let mut rest = into;
        for block in blocks {
            let (part, others) = rest.split_at_mut(block.bytes as usize);
            self.read(further(from, block.offset), part)?;
            rest = others;
        }
        Ok(())
    }

    /// Writes `bytes` to such blocks, at offsets relative to `to`. Their extent was checked.
    ///
    /// # Errors
    /// Some blocks cannot be accessed; the blocks before them may have been written.
    fn write_blocks(
        &mut self,
        to: GlobalAddress,
        _extent: u64,
        blocks: impl Iterator<Item = Block>,
        bytes: &[u8],
    ) -> Result<(), Denied> {
        let mut rest = bytes;
        for block in blocks {
            let (part, others) = rest.split_at(block.bytes as usize);
            self.write(further(to, block.offset), part)?;
            rest = others;
        }
        Ok(())
    }

    /// As [`read_row`](Self::read_row), from byte `offset` of local memory on.
    fn read_local_row(&self, from: &Self::Local, offset: u64, row: Shape, into: &mut [u8]) {
        let blocks = row.offsets().zip(into.chunks_mut(row.block as usize));
        blocks.for_each(|(further, block)| self.read_local(from, offset + further, block));
    }

    /// As [`write_row`](Self::write_row), from byte `offset` of local memory on.
    fn write_local_row(&mut self, to: &Self::Local, offset: u64, row: Shape, bytes: &[u8]) {
        let blocks = row.offsets().zip(bytes.chunks(row.block as usize));
        blocks.for_each(|(further, block)| self.write_local(to, offset + further, block));
    }

    /// Reads from byte `offset` of local memory on until `into` is full. The range lies inside the submitted memory.
    fn read_local(&self, from: &Self::Local, offset: u64, into: &mut [u8]);

    /// Writes `bytes` from byte `offset` of local memory on. The range lies inside the submitted memory.
    fn write_local(&mut self, to: &Self::Local, offset: u64, bytes: &[u8]);
}

/// Returns the address `offset` bytes further. An address outside its segment is detected when it is used.
pub(crate) fn further(address: GlobalAddress, offset: u64) -> GlobalAddress {
    GlobalAddress::from_bits(address.bits().wrapping_add(offset))
}

/// Reason for which memory was not accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// The memory is not registered.
    Outside,
    /// The address of a word is not a multiple of its width.
    Misaligned,
    /// The device that owns the memory failed.
    Device,
}
