//! The grid of ranks.

use pelago_base::Rank;

use crate::grid::direction::Direction;
use crate::grid::error::GridError;

/// Maximum number of dimensions.
pub const DIMENSIONS_MAX: usize = 4;

/// A grid of ranks, one block of cells for each. The last dimension runs fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nodes<const D: usize> {
    parts: [usize; D],
    periodic: [bool; D],
}

impl<const D: usize> Nodes<D> {
    /// A grid with so many parts in each dimension; `periodic`: the first and the last part of a dimension are neighbours.
    ///
    /// # Errors
    /// A number of parts is 0 or too large, or there are no dimensions or too many.
    pub fn new(parts: [usize; D], periodic: [bool; D]) -> Result<Self, GridError> {
        let blocks = parts.iter().try_fold(1usize, |blocks, &parts| blocks.checked_mul(parts));
        let is_good = blocks.is_some_and(|blocks| blocks > 0 && u32::try_from(blocks).is_ok());
        if is_good && (1..=DIMENSIONS_MAX).contains(&D) { Ok(Self { parts, periodic }) } else { Err(GridError::Parts) }
    }

    /// The grid of `ranks` ranks whose largest block of `cells` has the least surface towards others, counted in the pieces of memory of
    /// `line` cells that an exchange touches: a cell on a face across the last dimension costs a piece of its own. Of equals, the
    /// one that cuts the first dimension most. Not periodic. `None` if there is none.
    ///
    /// # Panics
    /// `line` is 0.
    pub fn of_least_surface(cells: [usize; D], ranks: u32, line: usize) -> Option<Self> {
        let mut best = None;
        each_split(ranks as usize, &cells, &mut [1; D], 0, &mut |parts| {
            let surface = surface(cells, *parts, line);
            if best.is_none_or(|(least, _)| surface < least) {
                best = Some((surface, *parts));
            }
        });
        best.and_then(|(_, parts)| Self::new(parts, [false; D]).ok())
    }

    /// Number of parts in each dimension.
    pub fn parts(&self) -> [usize; D] {
        self.parts
    }

    /// Whether the first and the last part of each dimension are neighbours.
    pub fn periodic(&self) -> [bool; D] {
        self.periodic
    }

    /// Number of blocks, which is the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.parts.iter().product::<usize>() as u32
    }

    /// Place of the rank's block in the grid.
    pub fn place(&self, rank: Rank) -> [usize; D] {
        let mut number = rank.index();
        let mut place = [0; D];
        for d in (0..D).rev() {
            place[d] = number % self.parts[d];
            number /= self.parts[d];
        }
        place
    }

    /// The rank of the block at `place`.
    pub fn rank(&self, place: [usize; D]) -> Rank {
        Rank::new(place.iter().zip(self.parts).fold(0, |number, (place, parts)| number * parts + place) as u32)
    }

    /// The place of the neighbour in a direction, with wrap-around in periodic dimensions; `None` outside the grid.
    pub(crate) fn neighbour(&self, place: [usize; D], direction: Direction<D>) -> Option<[usize; D]> {
        let mut there = place;
        for d in 0..D {
            let (parts, at) = (self.parts[d] as isize, place[d] as isize + isize::from(direction[d]));
            if !self.periodic[d] && !(0..parts).contains(&at) {
                return None;
            }
            there[d] = at.rem_euclid(parts) as usize;
        }
        Some(there)
    }

    /// Whether any block has a neighbour in a dimension.
    pub(crate) fn is_joined(&self, dimension: usize) -> bool {
        self.parts[dimension] > 1 || self.periodic[dimension]
    }
}

/// Calls `act` with every way to cut `cells` into `ranks` blocks, those that cut the first dimensions most first.
fn each_split<const D: usize>(
    ranks: usize,
    cells: &[usize; D],
    parts: &mut [usize; D],
    dimension: usize,
    act: &mut impl FnMut(&[usize; D]),
) {
    if dimension + 1 == D {
        if ranks <= cells[dimension] {
            parts[dimension] = ranks;
            act(parts);
        }
        return;
    }
    for divisor in (1..=ranks.min(cells[dimension])).rev().filter(|divisor| ranks.is_multiple_of(*divisor)) {
        parts[dimension] = divisor;
        each_split(ranks / divisor, cells, parts, dimension + 1, act);
    }
}

/// Pieces of `line` cells on the faces of the largest block.
fn surface<const D: usize>(cells: [usize; D], parts: [usize; D], line: usize) -> usize {
    let block: [usize; D] = std::array::from_fn(|d| cells[d].div_ceil(parts[d]));
    let face = |across: usize| -> usize {
        let lines = |d: usize| if d + 1 == D { block[d].div_ceil(line) } else { block[d] };
        (0..D).filter(|&d| d != across).map(lines).product()
    };
    // Blocks in the middle have two faces, those of two parts only one.
    (0..D).map(|d| face(d) * (parts[d] - 1).min(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::direction::{count, of_number, opposite};
    use proptest::prelude::*;

    #[test]
    fn impossible_grids_are_refused() {
        let huge = usize::MAX / 2;
        for parts in [[0, 1], [1, 0], [huge, 3], [1 << 16, 1 << 16]] {
            assert_eq!(Nodes::new(parts, [false; 2]), Err(GridError::Parts), "{parts:?}");
        }
        assert_eq!(Nodes::new([1; 5], [false; 5]), Err(GridError::Parts));
        assert_eq!(Nodes::<0>::new([], []), Err(GridError::Parts));
    }

    #[test]
    fn the_least_surface_moves_the_fewest_lines() {
        let parts = |ranks| Nodes::of_least_surface([64, 64, 128], ranks, 16).map(|nodes| nodes.parts());
        for (ranks, expected) in [(1, [1, 1, 1]), (2, [2, 1, 1]), (4, [2, 2, 1]), (7, [7, 1, 1]), (16, [4, 4, 1])] {
            assert_eq!(parts(ranks), Some(expected));
        }
        assert_eq!(Nodes::of_least_surface([32, 32, 64], 67, 16), None);
    }

    proptest! {
        #[test]
        fn places_and_ranks_are_one_to_one(parts in [1usize..4, 1usize..4, 1usize..4], periodic in [any::<bool>(), any::<bool>(), any::<bool>()]) {
            let nodes = Nodes::new(parts, periodic).unwrap();
            for rank in (0..nodes.ranks()).map(Rank::new) {
                let place = nodes.place(rank);
                prop_assert_eq!(nodes.rank(place), rank);
                for direction in (0..count::<3>()).map(of_number) {
                    let Some(there) = nodes.neighbour(place, direction) else { continue };
                    prop_assert_eq!(nodes.neighbour(there, opposite(direction)), Some(place));
                }
            }
        }

        #[test]
        fn a_grid_is_found_whenever_there_is_one(cells in [1usize..6, 1usize..6, 1usize..6], ranks in 1usize..40) {
            let divisors = |number: usize| (1..=number).filter(move |divisor| number.is_multiple_of(*divisor));
            let exists = divisors(ranks).any(|i| {
                divisors(ranks / i).any(|j| i <= cells[0] && j <= cells[1] && ranks / i / j <= cells[2])
            });
            prop_assert_eq!(Nodes::of_least_surface(cells, ranks as u32, 16).is_some(), exists);
        }
    }
}
