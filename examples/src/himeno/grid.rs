//! The grid: its sizes, and how it is split into one block per rank.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use clap::ValueEnum;
use pelago::Rank;

/// Cells, blocks or distances along i, j and k; k is the direction in which memory runs.
pub(crate) type Extent = [usize; 3];

/// Cells in a cache line: what a face costs is counted in lines.
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
    /// How many cells, boundary included.
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

/// Into how many parts each direction is cut, as `AxB` or `AxBxC`.
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

/// A grid that is split: which cells each rank has, and who its neighbours are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// Cells of the whole grid, boundary included.
    pub(crate) cells: Extent,
    pub(crate) split: Split,
}

impl Grid {
    /// The grid of `cells`, cut as `split` says or else so that blocks have the least surface.
    ///
    /// # Errors
    /// There is no such split for so many ranks: one line that says why.
    pub(crate) fn new(cells: Extent, ranks: u32, split: Option<Split>) -> Result<Self, String> {
        let [ni, nj, nk] = cells;
        let Some(split) = split else {
            let split = default_split(cells, ranks as usize);
            let split = split.ok_or_else(|| format!("{ranks} ranks cannot share a grid of {ni}x{nj}x{nk} cells"))?;
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

    /// The cells of `rank`.
    pub(crate) fn block(&self, rank: Rank) -> Block {
        let place = self.place(rank);
        let first = std::array::from_fn(|d| first_of_part(self.cells[d], self.split.0[d], place[d]));
        let end: Extent = std::array::from_fn(|d| first_of_part(self.cells[d], self.split.0[d], place[d] + 1));
        Block { first, cells: std::array::from_fn(|d| end[d] - first[d]) }
    }

    /// The cells of `block` that a sweep computes, counted from its first: all but the boundary of the grid.
    pub(crate) fn interior(&self, block: Block) -> [Range<usize>; 3] {
        std::array::from_fn(|d| {
            let end = (self.cells[d] - 1).saturating_sub(block.first[d]);
            usize::from(block.first[d] == 0)..end.min(block.cells[d])
        })
    }

    /// The rank whose block lies one further in each direction by `step`; `None` outside the grid.
    pub(crate) fn neighbour(&self, rank: Rank, step: Step) -> Option<Rank> {
        let place = self.place(rank);
        let mut number = 0;
        for d in 0..3 {
            let there = place[d].checked_add_signed(step[d])?;
            if there >= self.split.0[d] {
                return None;
            }
            number = number * self.split.0[d] + there;
        }
        Some(Rank::new(number as u32))
    }

    /// The cells of the largest block, in each direction.
    pub(crate) fn block_cells_max(&self) -> Extent {
        std::array::from_fn(|d| self.cells[d].div_ceil(self.split.0[d]))
    }

    /// Where the block of `rank` lies among all blocks; the last direction runs fastest.
    fn place(&self, rank: Rank) -> Extent {
        let [_, j, k] = self.split.0;
        let number = rank.number() as usize;
        [number / k / j, number / k % j, number % k]
    }
}

/// A step to a neighbouring block: −1, 0 or 1 in each direction.
pub(crate) type Step = [isize; 3];

/// The cells of one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The first cell's place in the whole grid.
    pub(crate) first: Extent,
    pub(crate) cells: Extent,
}

/// The first plane of a part, when `planes` are cut into `parts` whose lengths differ by at most one, longer ones first.
fn first_of_part(planes: usize, parts: usize, part: usize) -> usize {
    part * (planes / parts) + part.min(planes % parts)
}

/// The split whose largest block has the least surface, counted in the cache lines that an exchange touches: a cell on a face
/// across k costs a line of its own. Of equals, the one that cuts i most.
fn default_split([ni, nj, nk]: Extent, ranks: usize) -> Option<Split> {
    let mut best = None;
    for parts_i in divisors(ranks).filter(|&parts| parts <= ni).rev() {
        for parts_j in divisors(ranks / parts_i).filter(|&parts| parts <= nj).rev() {
            let split = [parts_i, parts_j, ranks / parts_i / parts_j];
            if split[2] > nk {
                continue;
            }
            let lines = surface_lines([ni.div_ceil(split[0]), nj.div_ceil(split[1]), nk.div_ceil(split[2])], split);
            if best.is_none_or(|(least, _)| lines < least) {
                best = Some((lines, split));
            }
        }
    }
    best.map(|(_, split)| Split(split))
}

/// Cache lines on one face across each direction that is cut.
fn surface_lines([bi, bj, bk]: Extent, split: Extent) -> usize {
    let faces = [bj * bk.div_ceil(LINE_CELLS), bi * bk.div_ceil(LINE_CELLS), bi * bj];
    // Blocks in the middle have two faces, those of two parts only one.
    faces.iter().zip(split).map(|(lines, parts)| lines * (parts - 1).min(2)).sum()
}

fn divisors(number: usize) -> impl DoubleEndedIterator<Item = usize> {
    (1..=number).filter(move |divisor| number.is_multiple_of(*divisor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(cells: Extent, parts: Extent) -> Grid {
        Grid::new(cells, parts.iter().product::<usize>() as u32, Some(Split(parts))).unwrap()
    }

    fn ranks(parts: Extent) -> impl Iterator<Item = Rank> {
        (0..parts.iter().product::<usize>() as u32).map(Rank::new)
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

    proptest! {
        #[test]
        fn blocks_tile_the_grid(cells in [1usize..9, 1usize..9, 1usize..9], wanted in [1usize..5, 1usize..5, 1usize..5]) {
            let parts = std::array::from_fn(|d| wanted[d].min(cells[d]));
            let grid = grid(cells, parts);
            let mut owners = vec![0; cells.iter().product()];
            for rank in ranks(parts) {
                let Block { first, cells: block } = grid.block(rank);
                prop_assert!(block.iter().zip(grid.block_cells_max()).all(|(&cells, most)| (1..=most).contains(&cells)));
                for i in first[0]..first[0] + block[0] {
                    for j in first[1]..first[1] + block[1] {
                        for k in first[2]..first[2] + block[2] {
                            owners[(i * cells[1] + j) * cells[2] + k] += 1;
                        }
                    }
                }
            }
            prop_assert!(owners.iter().all(|&owners| owners == 1));
        }

        #[test]
        fn neighbours_touch_and_know_each_other(cells in [4usize..9, 4usize..9, 4usize..9], parts in [1usize..5, 1usize..5, 1usize..5]) {
            let grid = grid(cells, parts);
            for rank in ranks(parts) {
                let mine = grid.block(rank);
                for number in 0..27 {
                    let step: Step = [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1];
                    let Some(other) = grid.neighbour(rank, step) else { continue };
                    prop_assert_eq!(grid.neighbour(other, step.map(|s| -s)), Some(rank));
                    let theirs = grid.block(other);
                    let touches = |d: usize| match step[d] {
                        -1 => theirs.first[d] + theirs.cells[d] == mine.first[d],
                        0 => (theirs.first[d], theirs.cells[d]) == (mine.first[d], mine.cells[d]),
                        _ => mine.first[d] + mine.cells[d] == theirs.first[d],
                    };
                    prop_assert!((0..3).all(touches));
                }
            }
        }

        #[test]
        fn the_default_split_exists_whenever_there_is_one(cells in [1usize..6, 1usize..6, 1usize..6], ranks in 1usize..40) {
            let exists = divisors(ranks).any(|i| {
                divisors(ranks / i).any(|j| i <= cells[0] && j <= cells[1] && ranks / i / j <= cells[2])
            });
            prop_assert_eq!(default_split(cells, ranks).is_some(), exists);
        }
    }
}
