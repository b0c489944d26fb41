//! Strided sets of blocks: count × block × stride, in up to three dimensions.

use std::ops::Range;

/// A block of bytes (or of elements, where a function says so), repeated at fixed distances in up to three dimensions.
///
/// The block at index `(i, j, k)` begins at byte `i·strides[0] + j·strides[1] + k·strides[2]`; the last index runs fastest.
/// A dimension that is not used has count 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of one block.
    pub block: u64,
    /// Number of blocks in each dimension, slowest first.
    pub counts: [u64; 3],
    /// Bytes from one block to the next in each dimension, slowest first.
    pub strides: [u64; 3],
}

/// Reason for which a shape cannot be transferred.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The last byte is past 2⁶⁴.
    #[error("the shape is larger than any memory")]
    Overflow,
    /// The two ends of a transfer have different counts or blocks.
    #[error(
        "the two ends of a strided transfer differ: blocks of {} and {} bytes, counts {:?} and {:?}; a contiguous end has the same blocks \
         without gaps (Shape::packed)",
        .0.block, .1.block, .0.counts, .1.counts
    )]
    Differ(Shape, Shape),
}

crate::debug_as_display! { ShapeError }

impl Shape {
    /// One contiguous block of `bytes` bytes.
    pub const fn contiguous(bytes: u64) -> Self {
        Self { block: bytes, counts: [1; 3], strides: [0; 3] }
    }

    /// `count` blocks of `block` bytes, `stride` bytes apart.
    pub const fn strided(count: u64, block: u64, stride: u64) -> Self {
        Self { block, counts: [1, 1, count], strides: [0, 0, stride] }
    }

    /// Returns the number of bytes transferred.
    ///
    /// # Errors
    /// The product overflows.
    pub fn bytes(&self) -> Result<u64, ShapeError> {
        self.counts.iter().try_fold(self.block, |bytes, &count| bytes.checked_mul(count)).ok_or(ShapeError::Overflow)
    }

    /// Returns the number of bytes from the first to past the last, gaps included; 0 for an empty shape.
    ///
    /// # Errors
    /// The sum overflows.
    pub fn extent(&self) -> Result<u64, ShapeError> {
        if self.bytes()? == 0 {
            return Ok(0);
        }
        let mut extent = self.block;
        for (count, stride) in self.counts.iter().zip(self.strides) {
            let reach = (count - 1).checked_mul(stride).ok_or(ShapeError::Overflow)?;
            extent = extent.checked_add(reach).ok_or(ShapeError::Overflow)?;
        }
        Ok(extent)
    }

    /// Returns the same bytes with as few blocks as possible: adjacent blocks are joined, unused dimensions dropped.
    pub fn canonical(mut self) -> Self {
        for fastest in [2, 1, 0] {
            if self.counts[fastest] == 1 || self.strides[fastest] == self.block {
                self.block *= self.counts[fastest];
                self.counts[fastest] = 1;
                self.strides[fastest] = 0;
            } else {
                break;
            }
        }
        self
    }

    /// Returns the shape of the same blocks one after the other, without gaps.
    pub const fn packed(self) -> Self {
        let [_, middle, fast] = self.counts;
        let strides = [self.block * fast * middle, self.block * fast, self.block];
        Self { strides, ..self }
    }

    /// Checks that `self` and `other` have equal blocks and counts, so that one can be copied onto the other.
    ///
    /// # Errors
    /// They differ.
    pub fn matches(&self, other: &Self) -> Result<(), ShapeError> {
        if (self.block, self.counts) == (other.block, other.counts) { Ok(()) } else { Err(ShapeError::Differ(*self, *other)) }
    }

    /// Returns the number of blocks. The caller has checked that [`bytes`](Self::bytes) does not overflow.
    pub fn blocks(&self) -> u64 {
        self.counts.iter().product()
    }

    /// Returns the offset in bytes of block number `index`, counted with the last dimension fastest.
    pub fn offset(&self, index: u64) -> u64 {
        let [_, middle, fast] = self.counts;
        let indices = [index / fast / middle, index / fast % middle, index % fast];
        indices.iter().zip(self.strides).map(|(index, stride)| index * stride).sum()
    }

    /// Returns the offset in bytes of each block, in order.
    pub fn offsets(self) -> impl Iterator<Item = u64> {
        (0..self.blocks()).map(move |index| self.offset(index))
    }

    /// Returns the bytes `range` of the concatenated blocks as rows: the offset of each row, and its blocks at equal distances. A block of which
    /// only a part is in `range` is a row of its own. The caller has checked that [`extent`](Self::extent) does not overflow, and that the
    /// blocks contain the range.
    pub fn rows(self, range: Range<u64>) -> impl Iterator<Item = (u64, Self)> {
        let mut at = range.start;
        std::iter::from_fn(move || {
            if at >= range.end {
                return None;
            }
            let (index, skipped, left) = (at / self.block, at % self.block, range.end - at);
            let begin = self.offset(index) + skipped;
            let row = if skipped > 0 || left < self.block {
                Self::contiguous(left.min(self.block - skipped))
            } else {
                let count = (left / self.block).min(self.counts[2] - index % self.counts[2]);
                Self::strided(count, self.block, self.strides[2])
            };
            at += row.block * row.counts[2];
            Some((begin, row))
        })
    }

    /// Returns the shape with all lengths multiplied by `factor`: from elements to bytes.
    ///
    /// # Errors
    /// A length overflows.
    pub fn scaled(self, factor: u64) -> Result<Self, ShapeError> {
        let scale = |length: u64| length.checked_mul(factor).ok_or(ShapeError::Overflow);
        let [slow, middle, fast] = self.strides;
        Ok(Self { block: scale(self.block)?, counts: self.counts, strides: [scale(slow)?, scale(middle)?, scale(fast)?] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_shape_past_all_memory_is_refused() {
        assert_eq!(Shape::strided(1 << 40, 1 << 40, 1).bytes(), Err(ShapeError::Overflow));
        assert_eq!(Shape::strided(1 << 40, 8, 1 << 40).extent(), Err(ShapeError::Overflow));
    }

    #[test]
    fn an_empty_shape_has_no_extent() {
        assert_eq!(Shape::strided(0, 8, 100).extent(), Ok(0));
        assert_eq!(Shape::strided(3, 0, 100).extent(), Ok(0));
    }

    proptest! {
        /// Rows of a range are the bytes of that range, in order.
        #[test]
        fn rows_are_the_bytes_of_a_range(
            block in 1u64..20, counts in [1u64..4, 1u64..4, 1u64..5], strides in [0u64..300, 0u64..90, 0u64..30], cut in [0.0..1.0f64, 0.0..1.0],
        ) {
            let shape = Shape { block, counts, strides };
            let bytes = |shape: Shape, at: u64| shape.offsets().flat_map(|o| at + o..at + o + shape.block).collect::<Vec<_>>();
            let all = bytes(shape, 0);
            let mut ends = cut.map(|cut| (cut * (all.len() + 1) as f64) as usize);
            ends.sort_unstable();
            let rows = shape.rows(ends[0] as u64..ends[1] as u64);
            prop_assert_eq!(rows.flat_map(|(at, row)| bytes(row, at)).collect::<Vec<_>>(), &all[ends[0]..ends[1]]);
            // At most one row per line of blocks, and the two blocks that are cut.
            let most = counts[0] * counts[1] + 2;
            prop_assert!(shape.rows(0..all.len() as u64).count() as u64 <= most);
        }

        #[test]
        fn the_canonical_shape_covers_the_same_bytes_in_the_same_order(
            block in 1u64..9, counts in [1u64..4, 1u64..4, 1u64..4], gaps in [0u64..3, 0u64..3, 0u64..3],
        ) {
            let fast = block + gaps[2];
            let middle = fast * counts[2] + gaps[1];
            let slow = middle * counts[1] + gaps[0];
            let shape = Shape { block, counts, strides: [slow, middle, fast] };
            let canonical = shape.canonical();
            let bytes = |shape: Shape| shape.offsets().flat_map(|o| o..o + shape.block).collect::<Vec<_>>();
            prop_assert_eq!(bytes(shape), bytes(canonical));
            prop_assert_eq!(shape.bytes(), canonical.bytes());
            prop_assert_eq!(bytes(shape.packed()), (0..shape.bytes().unwrap()).collect::<Vec<_>>());
            let last = bytes(shape).into_iter().max().unwrap();
            prop_assert_eq!(shape.extent(), Ok(last + 1));
        }
    }
}
