//! Memory that transports read or write during an operation.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use pelago_memory::Cells;

/// The bytes of one operation.
///
/// Invariant **R1**: while the buffer is lent, its allocation is neither freed nor moved nor accessed through the buffer. A buffer that is dropped
/// while lent is leaked, because a transport may still use the memory.
pub(crate) struct Buffer {
    words: Vec<u64>,
    bytes: usize,
    lent: bool,
}

impl Buffer {
    /// Returns a buffer of `bytes` zero bytes.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(8)], bytes, lent: false }
    }

    /// Returns a buffer that has a size, but no memory, for transfers whose contents are not moved. It cannot be lent.
    pub(crate) fn hollow(bytes: usize) -> Self {
        Self { words: Vec::new(), bytes, lent: false }
    }

    /// Whether the buffer has a size, but no memory.
    pub(crate) fn is_hollow(&self) -> bool {
        self.words.len() * 8 < self.bytes
    }

    /// Returns a copy of `bytes`.
    pub(crate) fn copy_of(bytes: &[u8]) -> Self {
        let (whole, rest) = bytes.as_chunks();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let words = whole.iter().chain((!rest.is_empty()).then_some(&last)).map(|word| u64::from_ne_bytes(*word));
        Self { words: words.collect(), bytes: bytes.len(), lent: false }
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Capacity in bytes.
    fn room(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Returns the bytes for use by this process.
    ///
    /// # Panics
    /// The buffer is lent.
    pub(crate) fn cells(&mut self) -> Cells<'_> {
        assert!(!self.lent, "R1");
        Cells::from_mut(&mut self.words).part(0, self.bytes as u64).expect("the words hold the bytes")
    }

    /// Lends the bytes to a transport, until `reclaim`.
    pub(crate) fn lend(&mut self) -> Cells<'static> {
        assert!(!self.is_hollow(), "there is nothing to lend");
        self.lent = true;
        // SAFETY: R1 makes the allocation valid for as long as it is lent, and for ever if it is never reclaimed.
        unsafe { Cells::new(NonNull::new(self.words.as_mut_ptr()).expect("vectors have an address").cast(), self.bytes) }
    }

    /// Ends the loan: the transport has completed all operations on the bytes.
    pub(crate) fn reclaim(&mut self) {
        self.lent = false;
    }
}

/// A cache of free buffers: repeated gets neither allocate nor clear memory.
#[derive(Default)]
pub(crate) struct Spare {
    buffers: Vec<Buffer>,
    /// Total size of all cached buffers in bytes.
    bytes: usize,
}

impl Spare {
    /// Maximum number of cached buffers.
    pub(crate) const BUFFERS_MAX: usize = 64;
    /// Maximum size in bytes of a cached buffer.
    pub(crate) const BYTES_MAX: usize = 256 << 10;
    /// Maximum total size in bytes of all cached buffers.
    pub(crate) const BYTES_KEPT_MAX: usize = 1 << 20;

    /// Returns a buffer of `bytes` bytes with arbitrary contents.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Buffer {
        let Some(mut buffer) = self.buffers.pop() else { return Buffer::zeroed(bytes) };
        self.bytes -= buffer.room();
        if bytes > buffer.room() {
            return Buffer::zeroed(bytes);
        }
        buffer.bytes = bytes;
        buffer
    }

    /// Caches a buffer that is not lent, unless the buffer is too large or the cache is full.
    #[inline]
    pub(crate) fn give(&mut self, buffer: Buffer) {
        assert!(!buffer.lent, "R1");
        let (room, kept) = (buffer.room(), self.bytes + buffer.room());
        if self.buffers.len() < Self::BUFFERS_MAX && room <= Self::BYTES_MAX && kept <= Self::BYTES_KEPT_MAX {
            self.bytes = kept;
            self.buffers.push(buffer);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.lent {
            core::mem::forget(core::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lent_outlives_the_buffer() {
        let mut buffer = Buffer::copy_of(b"hello");
        let cells = buffer.lend();
        drop(buffer);
        let mut seen = [0; 5];
        cells.read(&mut seen);
        assert_eq!(&seen, b"hello");
    }

    #[test]
    fn spare_buffers_are_used_again_within_bounds() {
        let mut spare = Spare::default();
        let mut first = spare.take(100);
        let place = first.words.as_ptr();
        first.cells().write(&[7; 100]);
        spare.give(first);
        let mut again = spare.take(3);
        assert_eq!((again.words.as_ptr(), again.bytes(), again.cells().bytes()), (place, 3, 3));
        spare.give(again);
        assert_eq!(spare.take(105).bytes(), 105, "more than it holds");
        for (bytes, kept) in [(0, Spare::BUFFERS_MAX), (8, Spare::BUFFERS_MAX), (Spare::BYTES_MAX, 4), (Spare::BYTES_MAX + 1, 0)]
        {
            let mut spare = Spare::default();
            (0..100).for_each(|_| spare.give(Buffer::zeroed(bytes)));
            assert_eq!((spare.buffers.len(), spare.bytes), (kept, kept * bytes), "of {bytes} bytes");
            (0..100).for_each(|_| drop(spare.take(bytes)));
            assert_eq!((spare.buffers.len(), spare.bytes), (0, 0));
        }
    }

    #[test]
    fn what_was_written_while_lent_is_there_when_reclaimed() {
        let mut buffer = Buffer::zeroed(3);
        buffer.lend().write(b"abc");
        buffer.reclaim();
        let mut seen = [0; 3];
        buffer.cells().read(&mut seen);
        assert_eq!(&seen, b"abc");
    }
}
