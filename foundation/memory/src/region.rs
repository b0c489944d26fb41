//! Memory of any kind for registration: bytes of this process, or of a device.

use core::any::Any;
use core::fmt;
use std::sync::Arc;

use pelago_base::{AtomicOperator, Shape, Width};

use crate::combine::STAGED_BYTES;
use crate::{Cells, Combination, DeviceHandle, DmaBuf, NumberKind, combine_by_host};

/// Kind of memory, which determines how it is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Host memory, accessed by loads, stores and atomics.
    Host,
    /// Memory of a device, identified by the name of its driver and the number of the device: accessed only through [`DeviceMemory`].
    Device {
        /// Name of the driver.
        driver: &'static str,
        /// Number of the device.
        ordinal: u32,
    },
}

/// Device memory, which loads and stores cannot access; its driver provides the access.
///
/// Ranges are inside [`bytes`](Self::bytes): the caller has checked them. Any thread may call, several at once; bytes that are written
/// meanwhile arrive as some mixture of old and new. All methods return when the bytes have been moved.
pub trait DeviceMemory: Any + Send + Sync {
    /// Returns the kind of the memory; never [`MemoryKind::Host`].
    fn kind(&self) -> MemoryKind;

    /// Returns the size in bytes.
    fn bytes(&self) -> u64;

    /// Reads from `offset` on until `into` is full.
    ///
    /// # Errors
    /// The device failed.
    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Writes `from` from `offset` on.
    ///
    /// # Errors
    /// The device failed; some bytes may have been written.
    fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError>;

    /// Performs an atomic on the word at `offset`, which is a multiple of its width, and returns its previous value. It is atomic with respect to
    /// all others that this method performs.
    ///
    /// # Errors
    /// The device failed; nothing was changed.
    fn atomic(&self, offset: u64, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, DeviceError>;

    /// Copies from other device memory directly, not through the host, also inside the same memory; `None` if there is no direct path.
    fn copy_from(&self, offset: u64, from: &dyn DeviceMemory, from_offset: u64, bytes: u64) -> Option<Result<(), DeviceError>> {
        let _ = (offset, from, from_offset, bytes);
        None
    }

    /// Reads blocks of this and of other memory, one after the other, part after part, until `into` is full. The parts are inside their memory, and
    /// `into` is as long as all of them. A driver with kernels gathers the blocks of a device with one launch and moves them at once; the default
    /// reads block by block.
    ///
    /// # Errors
    /// A device failed.
    fn gather(&self, parts: &[DeviceBlocks], into: &mut [u8]) -> Result<(), DeviceError> {
        gather_by_reads(parts, into)
    }

    /// Writes blocks, as [`gather`](Self::gather) reads them. The blocks do not overlap.
    ///
    /// # Errors
    /// A device failed; some bytes may have been written.
    fn scatter(&self, parts: &[DeviceBlocks], from: &[u8]) -> Result<(), DeviceError> {
        scatter_by_writes(parts, from)
    }

    /// Combines each number from `offset` on with one of other device memory, in place; the first operand is this memory's. Both ranges are aligned
    /// to the numbers, and contain only whole ones.
    ///
    /// # Errors
    /// A device failed; some numbers may have been written.
    fn combine(
        &self,
        offset: u64,
        (from, from_offset): (&dyn DeviceMemory, u64),
        bytes: u64,
        combination: Combination,
        number: NumberKind,
    ) -> Result<(), DeviceError> {
        let read = |at, first: &mut [u8], second: &mut [u8]| {
            self.read(offset + at, first)?;
            from.read(from_offset + at, second)
        };
        combine_by_host(bytes, combination, number, read, |at, part| self.write(offset + at, part))
    }

    /// Exports a handle by which another process of this host opens this memory itself ([`open_device`](crate::open_device)), so that copies do not
    /// need the owner's core; `None` if the driver cannot export. An exported handle stays valid until this process ends.
    ///
    /// # Errors
    /// The driver does not allow it here, or for this memory.
    fn export(&self) -> Option<Result<DeviceHandle, DeviceError>> {
        None
    }

    /// Exports a range of this memory for direct access by a network card of this host. The memory outlives all use of it by a card.
    ///
    /// # Errors
    /// Device, driver or memory do not support that; the error has a human-readable reason.
    fn dma_buf(&self, offset: u64, bytes: u64) -> Result<DmaBuf, DeviceError> {
        let _range = (offset, bytes);
        Err(DeviceError("its driver exports no dma-buf".into()))
    }
}

/// Blocks of one device memory: one part of the arguments of [`DeviceMemory::gather`] and [`DeviceMemory::scatter`]. In bytes.
#[derive(Clone)]
pub struct DeviceBlocks {
    /// The memory.
    pub memory: Arc<dyn DeviceMemory>,
    /// Offset in the memory to which the offsets of the blocks are relative.
    pub offset: u64,
    /// The blocks.
    pub blocks: Shape,
}

impl DeviceBlocks {
    /// Returns the total size of the blocks in bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks.blocks() * self.blocks.block
    }
}

/// Reads blocks one by one, each through its own memory: a [`gather`](DeviceMemory::gather) for drivers without kernels.
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

/// Writes blocks one by one, each through its own memory: a [`scatter`](DeviceMemory::scatter) for drivers without kernels.
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

/// A failure of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device failed: {0}")]
pub struct DeviceError(pub String);

/// A range of memory of either kind.
#[derive(Clone, Debug)]
pub enum Region<'a> {
    /// Host memory.
    Host(Cells<'a>),
    /// Device memory.
    Device(DeviceRange),
}

/// A range of device memory, which it keeps alive.
#[derive(Clone)]
pub struct DeviceRange {
    memory: Arc<dyn DeviceMemory>,
    offset: u64,
    bytes: u64,
}

impl Region<'_> {
    /// Returns the kind of the memory.
    pub fn kind(&self) -> MemoryKind {
        match self {
            Self::Host(_) => MemoryKind::Host,
            Self::Device(range) => range.memory.kind(),
        }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Host(cells) => cells.bytes() as u64,
            Self::Device(range) => range.bytes,
        }
    }

    /// `bytes` bytes from `offset` on, or `None` if they reach past the end.
    pub fn part(&self, offset: u64, bytes: u64) -> Option<Self> {
        match self {
            Self::Host(cells) => cells.part(offset, bytes).map(Self::Host),
            Self::Device(range) => range.part(offset, bytes).map(Self::Device),
        }
    }

    /// Reads all bytes.
    ///
    /// # Errors
    /// The device failed.
    ///
    /// # Panics
    /// The lengths differ.
    pub fn read(&self, into: &mut [u8]) -> Result<(), DeviceError> {
        match self {
            Self::Host(cells) => {
                cells.read(into);
                Ok(())
            }
            Self::Device(range) => range.read(into),
        }
    }

    /// A copy of all bytes.
    ///
    /// # Errors
    /// The device failed.
    pub fn to_vec(&self) -> Result<Vec<u8>, DeviceError> {
        let mut bytes = vec![0; self.bytes() as usize];
        self.read(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// The device failed; some bytes may have been written.
    ///
    /// # Panics
    /// The lengths differ.
    pub fn write(&self, from: &[u8]) -> Result<(), DeviceError> {
        match self {
            Self::Host(cells) => {
                cells.write(from);
                Ok(())
            }
            Self::Device(range) => range.write(from),
        }
    }

    /// Copies all bytes between regions of any kind, which may overlap. Between two kinds, and between devices without a direct path, the bytes
    /// pass through a buffer of 64 KiB in this process.
    ///
    /// # Errors
    /// A device failed; some bytes may have been written.
    ///
    /// # Panics
    /// The lengths differ.
    pub fn copy_from(&self, from: &Region<'_>) -> Result<(), DeviceError> {
        assert_eq!(from.bytes(), self.bytes());
        match (from, self) {
            (Region::Host(from), Region::Host(to)) => {
                to.copy_from(*from);
                return Ok(());
            }
            (Region::Device(from), Region::Device(to)) => {
                let direct = to.memory.copy_from(to.offset, &*from.memory, from.offset, from.bytes);
                if let Some(copied) = direct {
                    return copied;
                }
            }
            _ => {}
        }
        let mut staged = vec![0; self.bytes().min(STAGED_BYTES as u64) as usize];
        // Of two ranges that overlap, the end that would be overwritten is copied first.
        let backwards = from.begins_before(self);
        let pieces = self.bytes().div_ceil(STAGED_BYTES as u64);
        for piece in 0..pieces {
            let offset = if backwards { pieces - 1 - piece } else { piece } * STAGED_BYTES as u64;
            let length = (self.bytes() - offset).min(STAGED_BYTES as u64);
            let [from, to] = [from.part(offset, length), self.part(offset, length)].map(|part| part.expect("inside both"));
            from.read(&mut staged[..length as usize])?;
            to.write(&staged[..length as usize])?;
        }
        Ok(())
    }

    /// Performs an atomic on these bytes and returns the previous value; `Ok(None)` if they are not one aligned word. The alignment of a device's
    /// word is that of its offset in the memory.
    ///
    /// # Errors
    /// The device failed; nothing was changed.
    pub fn atomic(&self, width: Width, operator: AtomicOperator, operand: u64) -> Result<Option<u64>, DeviceError> {
        match self {
            Self::Host(cells) => Ok(cells.atomic(width, operator, operand)),
            Self::Device(range) if range.bytes != width.bytes() || !range.offset.is_multiple_of(width.bytes()) => Ok(None),
            Self::Device(range) => range.memory.atomic(range.offset, width, operator, operand).map(Some),
        }
    }

    /// Whether both are ranges of the same device memory, and this one begins before `other`.
    fn begins_before(&self, other: &Region<'_>) -> bool {
        match (self, other) {
            (Region::Device(one), Region::Device(other)) => Arc::ptr_eq(&one.memory, &other.memory) && one.offset < other.offset,
            _ => false,
        }
    }
}

impl DeviceRange {
    /// Returns the range of the whole memory.
    pub fn whole(memory: Arc<dyn DeviceMemory>) -> Self {
        let bytes = memory.bytes();
        Self { memory, offset: 0, bytes }
    }

    /// Returns the device memory of the range.
    pub fn memory(&self) -> &Arc<dyn DeviceMemory> {
        &self.memory
    }

    /// Returns the offset of the range in its memory, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// As [`DeviceMemory::dma_buf`], for this range.
    ///
    /// # Errors
    /// As [`DeviceMemory::dma_buf`].
    pub fn dma_buf(&self) -> Result<DmaBuf, DeviceError> {
        self.memory.dma_buf(self.offset, self.bytes)
    }

    /// `bytes` bytes from `offset` on, or `None` if they reach past the end.
    pub fn part(&self, offset: u64, bytes: u64) -> Option<Self> {
        let end = offset.checked_add(bytes)?;
        (end <= self.bytes).then(|| Self { memory: self.memory.clone(), offset: self.offset + offset, bytes })
    }

    fn read(&self, into: &mut [u8]) -> Result<(), DeviceError> {
        assert_eq!(into.len() as u64, self.bytes);
        self.memory.read(self.offset, into)
    }

    fn write(&self, from: &[u8]) -> Result<(), DeviceError> {
        assert_eq!(from.len() as u64, self.bytes);
        self.memory.write(self.offset, from)
    }
}

impl<'a> From<Cells<'a>> for Region<'a> {
    fn from(cells: Cells<'a>) -> Self {
        Self::Host(cells)
    }
}

impl fmt::Debug for DeviceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceRange({:?}, {} bytes at {})", self.memory.kind(), self.bytes, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Bytes behind a lock. Some banks copy to each other directly.
    struct Bank {
        bytes: Mutex<Vec<u8>>,
        is_direct: bool,
        fails: AtomicBool,
        reads: AtomicUsize,
    }

    impl Bank {
        fn new(bytes: Vec<u8>, is_direct: bool) -> Arc<Self> {
            Arc::new(Self { bytes: Mutex::new(bytes), is_direct, fails: AtomicBool::new(false), reads: AtomicUsize::new(0) })
        }

        fn check(&self) -> Result<(), DeviceError> {
            if self.fails.load(Ordering::Relaxed) { Err(DeviceError("told".into())) } else { Ok(()) }
        }

        fn contents(&self) -> Vec<u8> {
            self.bytes.lock().unwrap().clone()
        }
    }

    impl DeviceMemory for Bank {
        fn kind(&self) -> MemoryKind {
            MemoryKind::Device { driver: "bank", ordinal: 3 }
        }

        fn bytes(&self) -> u64 {
            self.contents().len() as u64
        }

        fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
            self.check()?;
            self.reads.fetch_add(1, Ordering::Relaxed);
            into.copy_from_slice(&self.bytes.lock().unwrap()[offset as usize..][..into.len()]);
            Ok(())
        }

        fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
            self.check()?;
            self.bytes.lock().unwrap()[offset as usize..][..from.len()].copy_from_slice(from);
            Ok(())
        }

        fn atomic(&self, offset: u64, width: Width, _: AtomicOperator, operand: u64) -> Result<u64, DeviceError> {
            self.check()?;
            let mut word = [0; 8];
            let length = width.bytes() as usize;
            self.read(offset, &mut word[..length])?;
            self.write(offset, &operand.to_le_bytes()[..length])?;
            Ok(u64::from_le_bytes(word))
        }

        fn copy_from(
            &self,
            offset: u64,
            from: &dyn DeviceMemory,
            from_offset: u64,
            bytes: u64,
        ) -> Option<Result<(), DeviceError>> {
            let from = (from as &dyn Any).downcast_ref::<Self>().filter(|_| self.is_direct)?;
            let moved = from.contents()[from_offset as usize..][..bytes as usize].to_vec();
            Some(self.write(offset, &moved))
        }
    }

    fn device(bank: &Arc<Bank>) -> Region<'static> {
        Region::Device(DeviceRange::whole(bank.clone()))
    }

    fn numbers(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|index| (index ^ index >> 8) as u8).collect()
    }

    #[test]
    fn a_region_knows_its_kind_and_its_parts() {
        let (mut memory, bank) = (numbers(16), Bank::new(numbers(16), false));
        let host = Region::from(Cells::from_mut(&mut memory));
        assert_eq!(host.kind(), MemoryKind::Host);
        assert_eq!(device(&bank).kind(), MemoryKind::Device { driver: "bank", ordinal: 3 });
        for region in [host, device(&bank)] {
            assert_eq!(region.bytes(), 16);
            let part = region.part(4, 8).unwrap().part(2, 6).unwrap();
            assert_eq!((part.bytes(), part.to_vec()), (6, Ok(numbers(16)[6..12].to_vec())));
            part.write(b"middle").unwrap();
            assert!(region.part(4, 8).unwrap().part(2, 7).is_none() && region.part(u64::MAX, 2).is_none());
            assert_eq!(region.part(16, 0).map(|part| part.bytes()), Some(0));
        }
        assert_eq!((&memory[6..12], &bank.contents()[6..12]), (&b"middle"[..], &b"middle"[..]));
        assert_eq!(format!("{:?}", device(&bank).part(4, 8).unwrap()).matches("8 bytes at 4").count(), 1);
    }

    #[test]
    fn copies_between_all_kinds_move_every_byte() {
        for bytes in [0, 1, 1000, STAGED_BYTES, STAGED_BYTES + 1, 3 * STAGED_BYTES + 77] {
            for is_direct in [false, true] {
                let (mut from, mut to) = (numbers(bytes), vec![0; bytes]);
                let banks = [0, 1].map(|_| Bank::new(vec![0; bytes], is_direct));
                device(&banks[0]).copy_from(&Cells::from_mut(&mut from).into()).unwrap();
                device(&banks[1]).copy_from(&device(&banks[0])).unwrap();
                Region::from(Cells::from_mut(&mut to)).copy_from(&device(&banks[1])).unwrap();
                assert!(to == from && banks.iter().all(|bank| bank.contents() == from), "{bytes} bytes");
            }
        }
    }

    #[test]
    fn ranges_of_a_device_that_overlap_are_copied_whole() {
        let bytes = 4 * STAGED_BYTES;
        for (from, to) in [(0, 100), (100, 0), (0, STAGED_BYTES), (STAGED_BYTES, 0), (5, 5)] {
            for is_direct in [false, true] {
                let bank = Bank::new(numbers(bytes), is_direct);
                let length = bytes - from.max(to);
                let part = |start: usize| device(&bank).part(start as u64, length as u64).unwrap();
                part(to).copy_from(&part(from)).unwrap();
                let mut expected = numbers(bytes);
                expected.copy_within(from..from + length, to);
                assert!(bank.contents() == expected, "{length} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn ranges_of_the_host_that_overlap_are_copied_whole() {
        let bytes = 4 * STAGED_BYTES;
        for (from, to) in [(0, 100), (100, 0), (0, STAGED_BYTES), (STAGED_BYTES, 0), (5, 5)] {
            let (mut memory, length) = (numbers(bytes), bytes - from.max(to));
            let host = Region::from(Cells::from_mut(&mut memory));
            let part = |start: usize| host.part(start as u64, length as u64).unwrap();
            part(to).copy_from(&part(from)).unwrap();
            let mut expected = numbers(bytes);
            expected.copy_within(from..from + length, to);
            assert!(memory == expected, "{length} bytes from {from} to {to}");
        }
    }

    #[test]
    fn devices_with_a_way_of_their_own_are_not_read_by_the_host() {
        for is_direct in [false, true] {
            let [from, to] = [numbers(100), vec![0; 100]].map(|bytes| Bank::new(bytes, is_direct));
            device(&to).copy_from(&device(&from)).unwrap();
            assert_eq!(to.contents(), from.contents());
            assert_eq!(from.reads.load(Ordering::Relaxed), usize::from(!is_direct));
        }
    }

    /// A device that does not implement copies to others.
    struct Lone(Arc<Bank>);

    impl DeviceMemory for Lone {
        fn kind(&self) -> MemoryKind {
            self.0.kind()
        }

        fn bytes(&self) -> u64 {
            self.0.bytes()
        }

        fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
            self.0.read(offset, into)
        }

        fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
            self.0.write(offset, from)
        }

        fn atomic(&self, offset: u64, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, DeviceError> {
            self.0.atomic(offset, width, operator, operand)
        }
    }

    #[test]
    fn devices_that_implement_no_way_to_others_are_copied_through_the_host() {
        let [from, to] = [numbers(STAGED_BYTES + 9), vec![0; STAGED_BYTES + 9]].map(|bytes| Bank::new(bytes, true));
        let whole = |bank: &Arc<Bank>| Region::Device(DeviceRange::whole(Arc::new(Lone(bank.clone()))));
        whole(&to).copy_from(&whole(&from)).unwrap();
        assert!(to.contents() == from.contents());
    }

    #[test]
    fn words_are_aligned_and_whole() {
        let bank = Bank::new(numbers(16), false);
        let swap = |offset, bytes, width| {
            device(&bank).part(offset, bytes).unwrap().atomic(width, AtomicOperator::Swap, u64::MAX).unwrap()
        };
        assert_eq!(swap(4, 4, Width::Four), Some(u32::from_le_bytes([4, 5, 6, 7]).into()));
        assert_eq!(swap(8, 8, Width::Eight), Some(u64::from_le_bytes([8, 9, 10, 11, 12, 13, 14, 15])));
        for (offset, bytes, width) in [(4, 8, Width::Eight), (0, 4, Width::Eight), (0, 8, Width::Four), (2, 4, Width::Four)] {
            assert_eq!(swap(offset, bytes, width), None);
        }
        assert_eq!(bank.contents()[..4], [0, 1, 2, 3]);
        let mut word = [7u64];
        let host = Region::from(Cells::from_mut(&mut word));
        assert_eq!(host.atomic(Width::Eight, AtomicOperator::Add, 1), Ok(Some(7)));
    }

    #[test]
    fn a_device_that_fails_is_told() {
        let (bank, mut memory) = (Bank::new(numbers(16), true), [0u8; 16]);
        bank.fails.store(true, Ordering::Relaxed);
        let failed = Err(DeviceError("told".into()));
        assert_eq!(device(&bank).read(&mut [0; 16]), failed);
        assert_eq!(device(&bank).write(&[0; 16]), failed);
        assert_eq!(device(&bank).copy_from(&device(&bank)), failed);
        assert_eq!(device(&bank).copy_from(&Cells::from_mut(&mut memory).into()), failed);
        assert_eq!(Region::from(Cells::from_mut(&mut memory)).copy_from(&device(&bank)), failed);
        assert!(device(&bank).part(0, 8).unwrap().atomic(Width::Eight, AtomicOperator::Load, 0).is_err());
    }
}
