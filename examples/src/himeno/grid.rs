//! The grid: its sizes, and its split into one block per rank.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use clap::ValueEnum;
use pelago::halo::{Array, Block, Nodes, Template};

/// Cells, blocks or distances along i, j and k; k is contiguous in memory.
pub(crate) type Extent = [usize; 3];

/// Cells per cache line: the cost of a face is counted in lines.
const LINE_CELLS: usize = 16;

/// The benchmark's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub(crate) enum Size {
    Xs,
    S,
    M,
    L,
    Xl,
}

impl Size {
    /// Returns the number of cells in each direction, including the boundary.
    pub(crate) fn cells(self) -> Extent {
        match self {
            Self::Xs => [32, 32, 64],
            Self::S => [64, 64, 128],
            Self::M => [128, 128, 256],
            Self::L => [256, 256, 512],
            Self::Xl => [512, 512, 1024],
        }
    }
}

/// Parses the name of a size, or numbers of cells along i, j and k.
pub(crate) fn cells(text: &str) -> Result<Extent, String> {
    if let Ok(size) = Size::from_str(text, true) {
        return Ok(size.cells());
    }
    let cells: Option<Vec<_>> = text.split('x').map(|cells| cells.parse().ok().filter(|cells| CELLS.contains(cells))).collect();
    let wrong = || format!("give XS, S, M, L, XL or IxJxK, each from {} to {}", CELLS.start(), CELLS.end());
    cells.and_then(|cells| cells.try_into().ok()).ok_or_else(wrong)
}

/// Permitted cells along an edge, including the boundary.
const CELLS: RangeInclusive<usize> = 3..=4096;

/// Number of parts in each direction, written as `AxB` or `AxBxC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split(pub(crate) Extent);

impl FromStr for Split {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "give AxB or AxBxC, each a number of parts from 1 on";
        let parts = text.split('x').map(|part| part.parse().ok().filter(|&part: &usize| part > 0));
        match parts.collect::<Option<Vec<_>>>().as_deref() {
            Some(&[i, j]) => Ok(Self([i, j, 1])),
            Some(&[i, j, k]) => Ok(Self([i, j, k])),
            _ => Err(WANTED),
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [i, j, k] = self.0;
        write!(f, "{i}x{j}x{k}")
    }
}

/// A grid and its split, which determine the cells and the neighbours of each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Cells of the whole grid, including the boundary.
    pub(crate) cells: Extent,
    pub(crate) split: Split,
}

impl Grid {
    /// Creates the grid of `cells`, split as given by `split`, or else into blocks with the smallest surface.
    ///
    /// # Errors
    /// There is no such split for this number of ranks; the message is one line.
    pub(crate) fn new(cells: Extent, ranks: u32, split: Option<Split>) -> Result<Self, String> {
        let [ni, nj, nk] = cells;
        let Some(split) = split else {
            let nodes = Nodes::of_least_surface(cells, ranks, LINE_CELLS);
            let split = nodes
                .map(|nodes| Split(nodes.parts()))
                .ok_or_else(|| format!("{ranks} ranks cannot share a grid of {ni}x{nj}x{nk} cells"))?;
            return Ok(Self { cells, split });
        };
        let blocks = split.0.iter().try_fold(1usize, |blocks, &parts| blocks.checked_mul(parts));
        if blocks != Some(ranks as usize) {
            let plural = if ranks == 1 { "there is 1 rank" } else { &format!("there are {ranks} ranks") };
            let blocks = blocks.map_or("too many".to_owned(), |blocks| blocks.to_string());
            return Err(format!("split {split} makes {blocks} blocks, but {plural}"));
        }
        for ((direction, cells), parts) in ["i", "j", "k"].iter().zip(cells).zip(split.0) {
            if parts > cells {
                return Err(format!(
                    "split {split} cuts {direction} into {parts} parts, but the grid has only {cells} planes there"
                ));
            }
        }
        Ok(Self { cells, split })
    }

    /// Returns the cells of `block` that a sweep computes, relative to its first cell: all except the boundary of the grid.
    pub(crate) fn interior(&self, block: Block<3>) -> [Range<usize>; 3] {
        std::array::from_fn(|d| {
            let end = (self.cells[d] - 1).saturating_sub(block.first[d]);
            usize::from(block.first[d] == 0)..end.min(block.cells[d])
        })
    }

    /// Returns the distributed array with a halo of one cell on each side of a block; along k only if k is split.
    ///
    /// # Errors
    /// Blocks are too thin for the halos of their neighbours; the message is one line.
    pub(crate) fn array(&self) -> Result<Array<3>, String> {
        let array = Nodes::new(self.split.0, [false; 3])
            .and_then(|nodes| Template::new(self.cells, nodes))
            // Rows that are not split have no neighbours along k and need no halo: then a face across i is one contiguous block.
            .and_then(|template| template.array().shadow([[1; 2], [1; 2], [usize::from(self.split.0[2] > 1); 2]]));
        array.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_a_name_or_lengths() {
        assert_eq!(cells("xs"), Ok([32, 32, 64]));
        assert_eq!(cells("XL"), Ok([512, 512, 1024]));
        assert_eq!(cells("6x640x1280"), Ok([6, 640, 1280]));
        for wrong in ["", "Q", "6x6", "2x6x6", "6x6x6x6", "6x6x5000", "6x-6x6"] {
            assert!(cells(wrong).unwrap_err().starts_with("give XS"), "{wrong}");
        }
    }

    #[test]
    fn splits_are_read_as_written() {
        assert_eq!("2x3".parse(), Ok(Split([2, 3, 1])));
        assert_eq!("2x3x4".parse(), Ok(Split([2, 3, 4])));
        assert_eq!(Split([2, 3, 1]).to_string(), "2x3x1");
        for wrong in ["", "4", "2x", "0x4", "-1x4", "2x2x2x2", "axb", "2 x 2", "99999999999999999999x1"] {
            assert!(wrong.parse::<Split>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn impossible_splits_are_refused_in_one_line() {
        let huge = usize::MAX / 2;
        for (ranks, parts, says) in [
            (4, Some([3, 1, 1]), "3 blocks, but there are 4 ranks"),
            (1, Some([2, 1, 1]), "2 blocks, but there is 1 rank"),
            (4, Some([huge, huge, 2]), "too many blocks"),
            (33, Some([33, 1, 1]), "only 32 planes"),
            (65, Some([1, 1, 65]), "only 64 planes"),
            (67, None, "67 ranks cannot share"),
        ] {
            let line = Grid::new(Size::Xs.cells(), ranks, parts.map(Split)).unwrap_err();
            assert!(line.contains(says) && !line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn the_default_split_moves_the_fewest_lines() {
        let split = |ranks| Grid::new(Size::S.cells(), ranks, None).unwrap().split.0;
        assert_eq!(split(1), [1, 1, 1]);
        assert_eq!(split(2), [2, 1, 1]);
        assert_eq!(split(4), [2, 2, 1]);
        assert_eq!(split(7), [7, 1, 1]);
        assert_eq!(split(16), [4, 4, 1]);
    }
}
