//! Copies of blocks at equal distances (invariant M4 of the crate).
#![allow(unsafe_code)]

use core::ptr::NonNull;

use pelago_base::Shape;

use crate::Cells;
use crate::bulk::{Source, copy, load, store};

/// Copies the blocks of `from_shape`, relative to the start of `from`, to those of `to_shape` in `to`, in order.
///
/// Blocks that are adjacent on both sides are copied as one. The ends may race with other writers, but must not overlap each other.
///
/// # Panics
/// The shapes do not match or reach past their cells; callers check shapes that come from users first.
pub fn copy_strided(from: Cells<'_>, from_shape: Shape, to: Cells<'_>, to_shape: Shape) {
    strided(from, from_shape, to, to_shape);
}

/// As [`copy_strided`], from an ordinary slice.
///
/// # Panics
/// As [`copy_strided`].
pub fn write_strided(from: &[u8], from_shape: Shape, to: Cells<'_>, to_shape: Shape) {
    strided(from, from_shape, to, to_shape);
}

fn strided<S: Source>(from: S, from_shape: Shape, to: Cells<'_>, to_shape: Shape) {
    let (from, from_bytes) = from.start();
    assert!(from_shape.matches(&to_shape).is_ok(), "the two ends have equal blocks and counts");
    assert!(from_shape.extent().is_ok_and(|extent| extent <= from_bytes as u64), "the source holds its shape");
    assert!(to_shape.extent().is_ok_and(|extent| extent <= to.bytes() as u64), "the target holds its shape");
    if from_shape.bytes() == Ok(0) {
        // The other counts may be of any size.
        return;
    }
    let (from_joined, to_joined) = (from_shape.canonical(), to_shape.canonical());
    let (from_shape, to_shape) =
        if from_joined.matches(&to_joined).is_ok() { (from_joined, to_joined) } else { (from_shape, to_shape) };
    let [slow, middle, fast] = from_shape.counts.map(|count| count as usize);
    let [from_slow, from_middle, from_fast] = from_shape.strides.map(|stride| stride as usize);
    let [to_slow, to_middle, to_fast] = to_shape.strides.map(|stride| stride as usize);
    for i in 0..slow {
        for j in 0..middle {
            // SAFETY: M1; the extents asserted above hold for the first byte of each row and for every block of it.
            unsafe {
                let from = from.add(i * from_slow + j * from_middle);
                let to = to.pointer().add(i * to_slow + j * to_middle);
                let row = Row { from, to, count: fast, from_stride: from_fast, to_stride: to_fast };
                row.copy::<S>(from_shape.block as usize);
            }
        }
    }
}

/// Blocks at equal distances.
struct Row {
    from: NonNull<u8>,
    to: NonNull<u8>,
    count: usize,
    from_stride: usize,
    to_stride: usize,
}

impl Row {
    /// # Safety
    /// All blocks of `block` bytes are valid, on both sides; as for [`copy`].
    unsafe fn copy<S: Source>(&self, block: usize) {
        let aligned = |bytes: usize| {
            (self.from.as_ptr() as usize | self.to.as_ptr() as usize | self.from_stride | self.to_stride).is_multiple_of(bytes)
        };
        // SAFETY: the caller's promise; the typed loads and stores are aligned.
        unsafe {
            match block {
                4 if aligned(4) => self.each(|from, to| store::<u32>(to, load::<S, _>(from))),
                8 if aligned(8) => self.each(|from, to| store::<u64>(to, load::<S, _>(from))),
                _ => self.each(|from, to| copy::<S>(from, to, block)),
            }
        }
    }

    #[inline(always)]
    unsafe fn each(&self, copy_block: impl Fn(NonNull<u8>, NonNull<u8>)) {
        for k in 0..self.count {
            // SAFETY: the caller's promise.
            unsafe { copy_block(self.from.add(k * self.from_stride), self.to.add(k * self.to_stride)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slice_is_written_to_every_other_word() {
        let mut target = [0u32; 6];
        let shape = |stride| Shape { block: 4, counts: [1, 1, 3], strides: [0, 0, stride] };
        write_strided(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0], shape(4), Cells::from_mut(&mut target), shape(8));
        assert_eq!(target.map(u32::from_le), [1, 0, 2, 0, 3, 0]);
    }

    #[test]
    fn shapes_without_bytes_copy_nothing_whatever_their_counts() {
        for (block, counts) in [(0, [1 << 60, 1, 1]), (1, [1 << 60, 0, 1]), (0, [1 << 20; 3])] {
            let shape = Shape { block, counts, strides: [8, 16, 24] };
            let mut target = [7u8; 4];
            write_strided(&[1], shape, Cells::from_mut(&mut target), shape);
            assert_eq!(target, [7; 4]);
        }
    }

    proptest! {
        #[test]
        fn a_strided_copy_equals_the_naive_one(
            block in prop_oneof![Just(0u64), Just(4), Just(8), 1u64..40],
            counts in [0u64..4, 1u64..4, 1u64..6],
            from_gaps in [0u64..9, 0u64..9, 0u64..9],
            to_gaps in [0u64..9, 0u64..9, 0u64..9],
            from_skew in 0usize..8, to_skew in 0usize..8,
        ) {
            let shape = |gaps: [u64; 3]| {
                let fast = block + gaps[2];
                let middle = fast * counts[2] + gaps[1];
                Shape { block, counts, strides: [middle * counts[1] + gaps[0], middle, fast] }
            };
            let (from_shape, to_shape) = (shape(from_gaps), shape(to_gaps));
            let mut source: Vec<u8> = (0..from_skew as u64 + from_shape.extent().unwrap()).map(|i| i as u8 ^ 0x5A).collect();
            let mut target = vec![0u8; to_skew + to_shape.extent().unwrap() as usize];
            let mut expected = target.clone();
            for (from, to) in from_shape.offsets().zip(to_shape.offsets()) {
                for byte in 0..block {
                    expected[to_skew + (to + byte) as usize] = source[from_skew + (from + byte) as usize];
                }
            }
            copy_strided(
                Cells::from_mut(&mut source[from_skew..]),
                from_shape,
                Cells::from_mut(&mut target[to_skew..]),
                to_shape,
            );
            prop_assert_eq!(target, expected);
        }
    }
}
