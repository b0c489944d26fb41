//! The Peano–Hilbert curve: a line through all cells of the box on which consecutive cells are neighbours.
//!
//! GADGET-2 orders particles and cuts domains along this curve. The distance is computed from the bits of a place as in Skilling, "Programming
//! the Hilbert curve" (2004).

use super::particle::{PLACES, Place};

/// Cells along an edge of the box, as a power of two; a multiple of the digits by which cuts are found.
const BITS: u32 = 16;

/// Number of cells of the curve.
pub(crate) const LENGTH: u64 = 1 << (3 * BITS);

/// Returns the distance along the curve of the cell of a place.
pub(crate) fn distance(place: &Place) -> u64 {
    along(place.map(|x| x >> (PLACES.ilog2() - BITS)), BITS)
}

/// Returns the distance of a cell in a box with 2ᵇⁱᵗˢ cells per edge.
fn along(mut cell: Place, bits: u32) -> u64 {
    // From the largest cubes down: rotates each cube so that the curve begins and ends at the same corners.
    for bit in (1..bits).rev().map(|bit| 1 << bit) {
        let lower = bit - 1;
        for d in 0..3 {
            if cell[d] & bit == 0 {
                let differ = (cell[0] ^ cell[d]) & lower;
                cell[0] ^= differ;
                cell[d] ^= differ;
            } else {
                cell[0] ^= lower;
            }
        }
    }
    // The order of the corners of a cube is a Gray code.
    cell[1] ^= cell[0];
    cell[2] ^= cell[1];
    let flipped = (1..bits).rev().map(|bit| 1u64 << bit).filter(|bit| cell[2] & bit != 0).fold(0, |all, bit| all ^ (bit - 1));
    let cell = cell.map(|x| x ^ flipped);
    (0..bits).rev().fold(0, |distance, bit| cell.iter().fold(distance, |distance, x| distance << 1 | (x >> bit & 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_follow_each_other_are_neighbours() {
        for bits in 1..=4 {
            let edge = 1u64 << bits;
            let mut cells = vec![None; edge.pow(3) as usize];
            for number in 0..edge.pow(3) {
                let cell = [number / edge / edge, number / edge % edge, number % edge];
                assert_eq!(cells[along(cell, bits) as usize].replace(cell), None, "two cells are at one distance");
            }
            for pair in cells.windows(2) {
                let [Some(one), Some(next)] = pair else { panic!("a distance without a cell") };
                let steps: u64 = (0..3).map(|d| one[d].abs_diff(next[d])).sum();
                assert_eq!(steps, 1, "{one:?} and {next:?}, {bits} bits");
            }
        }
    }

    #[test]
    fn the_ends_of_the_box_are_on_the_curve() {
        assert_eq!(distance(&[0; 3]), 0);
        assert!(distance(&[PLACES - 1; 3]) < LENGTH);
        assert_eq!(distance(&[PLACES - 1, 0, 0]), LENGTH - 1);
    }
}
