//! Reusable buffers for captured bytes.

/// Maximum number of spare capture buffers: one or two long puts to each of some tens of peers.
const SPARE_BUFFERS_MAX: usize = 64;

/// Maximum size in bytes of all spare capture buffers together: what a context captures at most.
const SPARE_BYTES_MAX: usize = 16 << 20;

/// Buffers of ended captures. The allocator would return long buffers to the system, and the faults of new pages cost more than the copy.
#[derive(Default)]
pub(crate) struct Captures {
    /// Spare buffers in the order of their return.
    spare: Vec<Vec<u8>>,
    spare_bytes: usize,
}

impl Captures {
    /// Copies `bytes` to the smallest spare buffer that has room, else to a new one.
    pub(crate) fn copy_of(&mut self, bytes: &[u8]) -> Vec<u8> {
        let fitting = self.spare.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= bytes.len());
        let shortest = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index);
        let mut copy = shortest.map_or_else(|| Vec::with_capacity(bytes.len()), |index| self.spare.remove(index));
        self.spare_bytes -= shortest.map_or(0, |_| copy.capacity());
        copy.extend_from_slice(bytes);
        copy
    }

    /// Keeps a buffer for reuse, and frees the oldest buffers while the limits are exceeded.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare_bytes += buffer.capacity();
        self.spare.push(buffer);
        while self.spare.len() > SPARE_BUFFERS_MAX || self.spare_bytes > SPARE_BYTES_MAX {
            self.spare_bytes -= self.spare.remove(0).capacity();
        }
    }

    /// Frees all spare buffers.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the total capacity of the spare buffers.
    #[cfg(test)]
    pub(crate) fn spare_bytes(&self) -> usize {
        self.spare_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_by_the_capture_that_it_fits_best() {
        let mut captures = Captures::default();
        let [long, short] = [3000, 1000].map(|bytes| captures.copy_of(&vec![7; bytes]));
        let places = [long.as_ptr(), short.as_ptr()];
        captures.give(long);
        captures.give(short);
        assert_eq!(captures.spare_bytes(), 4000);
        let [short, long] = [900, 901].map(|bytes| captures.copy_of(&vec![8; bytes]));
        assert_eq!([long.as_ptr(), short.as_ptr()], places);
        assert_eq!((short, long), (vec![8; 900], vec![8; 901]));
        assert_eq!(captures.spare_bytes(), 0);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_latest() {
        let mut captures = Captures::default();
        for bytes in (0..3 * SPARE_BUFFERS_MAX).map(|number| 100 + number) {
            captures.give(Vec::with_capacity(bytes));
        }
        assert_eq!(captures.spare.len(), SPARE_BUFFERS_MAX);
        for _ in 0..40 {
            captures.give(Vec::with_capacity(1 << 20));
        }
        assert_eq!(captures.spare_bytes(), SPARE_BYTES_MAX, "short ones make room for long ones");
        captures.give(Vec::with_capacity(SPARE_BYTES_MAX + 1));
        assert_eq!(captures.spare_bytes(), 0, "one that is too long is not kept");
        captures.give(Vec::with_capacity(1 << 20));
        captures.clear();
        assert_eq!((captures.spare.len(), captures.spare_bytes()), (0, 0));
    }
}
