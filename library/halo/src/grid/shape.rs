//! Boxes of cells as count × block × stride.

use pelago_base::Shape;

/// The shapes of a box of `extents` cells in memories with different strides, in cells, slowest dimension first. All of them have equal
/// blocks and counts, and so can be copied onto each other: dimensions of one cell are dropped, and neighbouring dimensions are joined where
/// every memory allows it.
///
/// # Panics
/// There are more than four dimensions, or the last has a stride other than 1.
pub fn of_box<const D: usize, const N: usize>(extents: [usize; D], strides: [[usize; D]; N]) -> [Shape; N] {
    const { assert!(D >= 1 && D <= 4) };
    assert!(strides.iter().all(|strides| strides[D - 1] == 1), "the last dimension is contiguous");
    let mut joined = [(1usize, [1usize; N]); D];
    // The last entry is the block, whose stride is that of a cell.
    let mut first = D - 1;
    joined[first] = (extents[D - 1], [1; N]);
    for d in (0..D - 1).rev() {
        let (length, unit) = joined[first];
        let here: [usize; N] = std::array::from_fn(|n| strides[n][d]);
        let touches = (0..N).all(|n| here[n] == length * unit[n]);
        if extents[d] == 1 {
            continue;
        }
        if touches {
            joined[first] = (length * extents[d], unit);
        } else {
            first -= 1;
            joined[first] = (extents[d], here);
        }
    }
    std::array::from_fn(|n| {
        let mut shape = Shape::contiguous(joined[D - 1].0 as u64);
        for (place, (count, strides)) in joined[first..D - 1].iter().rev().enumerate() {
            shape.counts[2 - place] = *count as u64;
            shape.strides[2 - place] = strides[n] as u64;
        }
        shape
    })
}

/// The strides of a memory of `lengths` cells without gaps.
pub fn strides<const D: usize>(lengths: [usize; D]) -> [usize; D] {
    let mut strides = [1; D];
    for d in (0..D.saturating_sub(1)).rev() {
        strides[d] = strides[d + 1] * lengths[d + 1];
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every cell of a box by itself, last dimension fastest.
    fn gather<const D: usize>(extents: [usize; D], strides: [usize; D]) -> Vec<u64> {
        let cells: usize = extents.iter().product();
        let place = |mut number: usize| {
            let mut offset = 0;
            for d in (0..D).rev() {
                offset += number % extents[d] * strides[d];
                number /= extents[d];
            }
            offset as u64
        };
        (0..cells).map(place).collect()
    }

    fn cells(shape: Shape) -> Vec<u64> {
        shape.offsets().flat_map(|offset| offset..offset + shape.block).collect()
    }

    fn check<const D: usize>(extents: [usize; D], gaps: [[usize; D]; 2]) -> Result<(), TestCaseError> {
        let lengths = gaps.map(|gaps| std::array::from_fn(|d| extents[d] + gaps[d]));
        let all = [strides(lengths[0]), strides(lengths[1]), strides(extents)];
        let shapes = of_box(extents, all);
        for (shape, strides) in shapes.iter().zip(all) {
            prop_assert_eq!(cells(*shape), gather(extents, strides));
            prop_assert!(shape.matches(&shapes[0]).is_ok());
        }
        // Alone, it has the fewest blocks: the runs of cells that touch.
        let [alone] = of_box(extents, [all[0]]);
        let gathered = gather(extents, all[0]);
        let runs = gathered.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count() as u64 + u64::from(!gathered.is_empty());
        prop_assert_eq!(if gathered.is_empty() { 0 } else { alone.blocks() }, runs);
        prop_assert_eq!(cells(alone), gathered);
        Ok(())
    }

    proptest! {
        #[test]
        fn a_box_is_what_a_naive_gather_finds(
            extents in [1usize..5, 1usize..5, 1usize..5, 1usize..5], one in [0usize..3, 0usize..3, 0usize..3, 0usize..3],
            other in [0usize..3, 0usize..3, 0usize..3, 0usize..3],
        ) {
            check(extents, [one, other])?;
            check([extents[0], extents[1], extents[2]], [[one[0], one[1], one[2]], [other[0], other[1], other[2]]])?;
            check([extents[0], extents[1]], [[one[0], one[1]], [other[0], other[1]]])?;
            check([extents[0]], [[one[0]], [other[0]]])?;
        }
    }

    #[test]
    fn the_faces_of_a_cube_are_block_block_stride_and_stride() {
        let cube = strides([66; 3]);
        assert_eq!(of_box([1, 66, 66], [cube])[0], Shape::contiguous(66 * 66));
        assert_eq!(of_box([64, 1, 64], [cube])[0], Shape::strided(64, 64, 66 * 66));
        assert_eq!(of_box([66, 66, 1], [cube])[0], Shape::strided(66 * 66, 1, 66));
        assert_eq!(of_box([64, 64, 1], [cube])[0], Shape { block: 1, counts: [1, 64, 64], strides: [0, 66 * 66, 66] });
    }
}
