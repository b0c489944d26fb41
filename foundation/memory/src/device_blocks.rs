//! Blocks of memory of devices that move together.

use std::sync::Arc;

use pelago_base::Shape;

use crate::{DeviceError, DeviceMemory};

/// Blocks of some memory of a device: a part of what [`DeviceMemory::gather`] reads and [`DeviceMemory::scatter`] writes. In bytes.
#[derive(Clone)]
pub struct DeviceBlocks {
    /// The memory.
    pub memory: Arc<dyn DeviceMemory>,
    /// From where the places of the blocks count.
    pub offset: u64,
    /// The blocks.
    pub blocks: Shape,
}

impl DeviceBlocks {
    /// How many bytes all of them have.
    pub fn bytes(&self) -> u64 {
        self.blocks.blocks() * self.blocks.block
    }
}

/// Reads blocks one by one, each by its own memory: a [`gather`](DeviceMemory::gather) for drivers without kernels.
///
/// # Errors
/// A device failed.
pub fn gather_by_reads(parts: &[DeviceBlocks], into: &mut [u8]) -> Result<(), DeviceError> {
    let mut rest = into;
    for part in parts.iter().filter(|part| part.bytes() > 0) {
        let (mine, others) = rest.split_at_mut(part.bytes() as usize);
        let mut blocks = part.blocks.offsets().zip(mine.chunks_mut(part.blocks.block as usize));
        blocks.try_for_each(|(start, block)| part.memory.read(part.offset + start, block))?;
        rest = others;
    }
    Ok(())
}

/// Writes blocks one by one, each by its own memory: a [`scatter`](DeviceMemory::scatter) for drivers without kernels.
///
/// # Errors
/// A device failed; some bytes may have been written.
pub fn scatter_by_writes(parts: &[DeviceBlocks], from: &[u8]) -> Result<(), DeviceError> {
    let mut rest = from;
    for part in parts.iter().filter(|part| part.bytes() > 0) {
        let (mine, others) = rest.split_at(part.bytes() as usize);
        let mut blocks = part.blocks.offsets().zip(mine.chunks(part.blocks.block as usize));
        blocks.try_for_each(|(start, block)| part.memory.write(part.offset + start, block))?;
        rest = others;
    }
    Ok(())
}
