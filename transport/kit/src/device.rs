//! Memory of a device that does not exist: the simplest implementation of the contract of device drivers, with failures on demand.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::{AtomicOperator, Width};
use pelago_memory::{Cells, DeviceError, DeviceMemory, MemoryKind};

/// Memory that no load or store of a program reaches, only [`DeviceMemory`].
///
/// Devices of one number copy to each other directly; copies between devices of different numbers pass through the host.
pub struct MockDevice {
    ordinal: u32,
    /// Words, so that atomics find them aligned.
    words: Mutex<Vec<u64>>,
    bytes: usize,
    /// Number of accesses before all further ones fail.
    accesses_left: AtomicU64,
    direct_copies: AtomicU64,
}

impl MockDevice {
    /// Allocates `bytes` zeroed bytes on the device with the number `ordinal`.
    pub fn new(ordinal: u32, bytes: usize) -> Arc<Self> {
        let words = Mutex::new(vec![0; bytes.div_ceil(size_of::<u64>())]);
        Arc::new(Self { ordinal, words, bytes, accesses_left: AtomicU64::new(u64::MAX), direct_copies: AtomicU64::new(0) })
    }

    /// Makes every access fail from now on, or none.
    pub fn fail(&self, fails: bool) {
        self.fail_after(if fails { 0 } else { u64::MAX });
    }

    /// Makes every access fail after so many more.
    pub fn fail_after(&self, accesses: u64) {
        self.accesses_left.store(accesses, Ordering::SeqCst);
    }

    /// The contents of the memory.
    pub fn contents(&self) -> Vec<u8> {
        let mut contents = vec![0; self.bytes];
        self.with(0, self.bytes as u64, |cells| cells.read(&mut contents));
        contents
    }

    /// Number of copies from other device memory that did not pass through the host.
    pub fn direct_copies(&self) -> u64 {
        self.direct_copies.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), DeviceError> {
        let left = self.accesses_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| match left {
            u64::MAX => Some(u64::MAX),
            left => left.checked_sub(1),
        });
        left.map(drop).map_err(|_| DeviceError("it was told to".into()))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<R>(&self, offset: u64, bytes: u64, access: impl FnOnce(Cells<'_>) -> R) -> R {
        let mut words = self.lock();
        let memory = Cells::from_mut(&mut words[..]).part(0, self.bytes as u64).expect("words hold the bytes");
        access(memory.part(offset, bytes).expect("whoever calls has checked the range"))
    }
}

impl DeviceMemory for MockDevice {
    fn kind(&self) -> MemoryKind {
        MemoryKind::Device { driver: "mock", ordinal: self.ordinal }
    }

    fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), DeviceError> {
        self.check()?;
        self.with(offset, into.len() as u64, |cells| cells.read(into));
        Ok(())
    }

    fn write(&self, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.check()?;
        self.with(offset, from.len() as u64, |cells| cells.write(from));
        Ok(())
    }

    fn atomic(&self, offset: u64, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, DeviceError> {
        self.check()?;
        Ok(self.with(offset, width.bytes(), |cells| cells.atomic(width, operator, operand).expect("an aligned word")))
    }

    fn copy_from(&self, offset: u64, from: &dyn DeviceMemory, from_offset: u64, bytes: u64) -> Option<Result<(), DeviceError>> {
        let from = (from as &dyn Any).downcast_ref::<Self>().filter(|from| from.ordinal == self.ordinal)?;
        if let Err(error) = self.check().and_then(|()| from.check()) {
            return Some(Err(error));
        }
        // One lock at a time: two copies in opposite directions would deadlock.
        let mut moved = vec![0; bytes as usize];
        from.with(from_offset, bytes, |cells| cells.read(&mut moved));
        self.with(offset, bytes, |cells| cells.write(&moved));
        self.direct_copies.fetch_add(1, Ordering::SeqCst);
        Some(Ok(()))
    }
}
