//! Sweeps of all blocks of a split give bitwise the result of one block; arguments are checked without a job.

use std::collections::HashMap;

use pelago::Rank;
use pelago::halo::{Block, Layout};

use super::field::{Coefficients, initial_p};
use super::grid::{Extent, Grid, Split};
use super::hash::term;
use super::order::{Box3, Order};
use super::sweep::{Rows, sweep};
use super::{check, enough_iterations};

/// The arrays of one block, without a job.
struct Part {
    layout: Layout<3>,
    p: Vec<f32>,
    next: Vec<f32>,
    coefficients: Coefficients,
}

impl Part {
    fn new(layout: Layout<3>, b: f32) -> Self {
        let poisoned = vec![f32::NAN; layout.length()];
        Self { layout, p: poisoned.clone(), next: poisoned, coefficients: Coefficients::new(&layout, b) }
    }

    /// Returns the cells of the block, with their positions in the whole grid and in the arrays.
    fn cells(&self) -> Vec<(Extent, usize)> {
        let Block { first, cells: [ni, nj, nk] } = self.layout.block();
        let cells = (0..ni).flat_map(|i| (0..nj).flat_map(move |j| (0..nk).map(move |k| [i, j, k])));
        cells
            .map(|cell| (std::array::from_fn(|d| first[d] + cell[d]), self.layout.index(cell.map(|at| at as isize)).unwrap()))
            .collect()
    }

    fn set_p(&mut self, value: impl Fn(Extent) -> f32) {
        for (cell, index) in self.cells() {
            self.p[index] = value(cell);
            self.next[index] = value(cell);
        }
    }

    fn sweep(&mut self, part: Box3) -> f64 {
        if part.iter().any(|range| range.is_empty()) {
            return 0.0;
        }
        sweep(Whole(&self.layout, &self.p), &self.layout, &mut self.next, &self.coefficients, &part)
    }
}

#[derive(Clone, Copy)]
struct Whole<'a>(&'a Layout<3>, &'a [f32]);

impl Rows for Whole<'_> {
    fn rows<const N: usize>(&self, at: [isize; 3], distances: [[isize; 3]; N], length: usize) -> [&[f32]; N] {
        distances.map(|distance| &self.1[self.0.index(std::array::from_fn(|d| at[d] + distance[d])).unwrap()..][..length])
    }
}

/// All blocks of a split in one process; borders are copied instead of put.
struct Blocks {
    grid: Grid,
    parts: Vec<Part>,
}

impl Blocks {
    fn new(cells: Extent, split: Extent, b: f32) -> Self {
        let ranks = split.iter().product::<usize>() as u32;
        let grid = Grid::new(cells, ranks, Some(Split(split))).unwrap();
        let array = grid.array().unwrap();
        let layout = |rank| array.layout(array.template().nodes().place(Rank::new(rank)));
        Self { grid, parts: (0..ranks).map(|rank| Part::new(layout(rank), b)).collect() }
    }

    fn iterate(&mut self) -> f64 {
        self.exchange();
        let grid = self.grid;
        let sweep_all = |part: &mut Part| {
            let order = Order::new(&grid, part.layout.block());
            let gosa: f64 = order.outer.into_iter().chain([order.inner]).map(|cells| part.sweep(cells)).sum();
            std::mem::swap(&mut part.p, &mut part.next);
            gosa
        };
        self.parts.iter_mut().map(sweep_all).sum()
    }

    /// Exchanges faces and edges, but no corners.
    fn exchange(&mut self) {
        let all: HashMap<Extent, f32> =
            self.parts.iter().flat_map(|part| part.cells().into_iter().map(|(cell, index)| (cell, part.p[index]))).collect();
        for part in &mut self.parts {
            let Block { cells, .. } = part.layout.block();
            let [ni, nj, nk] = cells.map(|cells| cells as isize);
            for local in (-1..=ni).flat_map(|i| (-1..=nj).flat_map(move |j| (-1..=nk).map(move |k| [i, j, k]))) {
                let distance = (0..3).filter(|&d| local[d] < 0 || local[d] == cells[d] as isize).count();
                let global = part.layout.to_global(local).map(|at| at as usize);
                if let Some(&p) = all.get(&global).filter(|_| distance == 1 || distance == 2) {
                    part.p[part.layout.index(local).unwrap()] = p;
                }
            }
        }
    }

    /// Returns the bits of the pressure of each cell of the grid.
    fn bits(&self) -> HashMap<Extent, u32> {
        let bits =
            |part: &Part| part.cells().into_iter().map(|(cell, index)| (cell, part.p[index].to_bits())).collect::<Vec<_>>();
        self.parts.iter().flat_map(bits).collect()
    }

    fn hash(&self) -> u64 {
        let terms = self.bits().into_iter().map(|(cell, bits)| term(self.grid.cells, cell, f32::from_bits(bits)));
        terms.fold(0, u64::wrapping_add)
    }
}

/// Returns a number between 0 and 1 without spatial pattern.
fn scattered([i, j, k]: Extent) -> f32 {
    let mixed = ((i * 73 + j) * 97 + k) as u64;
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32 / (1u64 << 24) as f32
}

fn splits(cells: Extent) -> impl Iterator<Item = Extent> {
    let [ni, nj, nk] = cells.map(|cells| cells.min(4));
    (1..=ni).flat_map(move |i| (1..=nj).flat_map(move |j| (1..=nk).map(move |k| [i, j, k])))
}

#[test]
fn every_split_gives_bitwise_the_field_of_one_block() {
    for (cells, b) in [([5, 7, 11], 0.0), ([5, 7, 11], 0.05), ([3, 4, 19], 0.05), ([9, 5, 3], -0.3)] {
        let run = |split| {
            let mut blocks = Blocks::new(cells, split, b);
            blocks.parts.iter_mut().for_each(|part| part.set_p(scattered));
            let gosa: Vec<f64> = (0..4).map(|_| blocks.iterate()).collect();
            (gosa, blocks.hash(), blocks.bits())
        };
        let (gosa, hash, bits) = run([1; 3]);
        assert!(bits.values().all(|&bits| f32::from_bits(bits).is_finite()));
        for split in splits(cells) {
            let (split_gosa, split_hash, split_bits) = run(split);
            assert!(split_bits == bits, "{cells:?} as {split:?} with b {b}");
            assert_eq!(split_hash, hash);
            for (one, other) in gosa.iter().zip(split_gosa) {
                assert!((one - other).abs() <= 1e-9 * one, "{cells:?} as {split:?}: gosa {one} and {other}");
            }
        }
    }
}

#[test]
fn a_missing_border_spoils_the_field() {
    let mut blocks = Blocks::new([5, 7, 11], [2, 2, 2], 0.0);
    blocks.parts.iter_mut().for_each(|part| part.set_p(scattered));
    let part = &mut blocks.parts[3];
    assert!(part.sweep(blocks.grid.interior(part.layout.block())).is_nan());
}

#[test]
fn the_smallest_known_result_is_found() {
    for split in [[1, 1, 1], [3, 2, 5]] {
        let mut blocks = Blocks::new([64, 64, 128], split, 0.0);
        let initial = initial_p(&blocks.grid);
        blocks.parts.iter_mut().for_each(|part| part.set_p(&initial));
        let gosa = (0..3).map(|_| blocks.iterate()).last().unwrap();
        assert_eq!(blocks.hash(), 0x79dc_8598_e66b_a7bc);
        assert!((gosa / 3.296794e-3 - 1.0).abs() < 1e-6, "{gosa:e}");
    }
}

#[test]
fn wrong_arguments_are_one_line() {
    for (arguments, ranks, says) in [
        (&["Q"][..], 1, "XS, S, M, L, XL"),
        (&["S", "--iterations", "0"], 1, "0"),
        (&["S", "--iterations", "-3"], 1, "-3"),
        (&["S", "--iterations", "many"], 1, "many"),
        (&["S", "--split", "2x"], 2, "AxB"),
        (&["S", "--split", "-1x2"], 2, "AxB"),
        (&["S", "--split", "2x2"], 3, "4 blocks, but there are 3 ranks"),
        (&["XS", "--split", "33x1"], 33, "32 planes"),
        (&["XS"], 67, "67 ranks"),
        (&["--b", "nan"], 1, "finite"),
        (&["--fast"], 1, "--fast"),
        (&["S", "M"], 1, "M"),
    ] {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let line = check(&arguments, ranks).unwrap_err();
        assert!(line.contains(says) && !line.contains('\n'), "{arguments:?}: {line}");
    }
}

#[test]
fn good_arguments_and_questions_pass() {
    for arguments in [&[][..], &["s"], &["--help"], &["XL", "--iterations", "3", "--split", "1x2x3", "--b", "-0.05", "--explain"]]
    {
        let arguments: Vec<_> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        assert_eq!(check(&arguments, 6), Ok(()), "{arguments:?}");
    }
}

#[test]
fn a_trial_of_no_time_still_bounds_the_iterations() {
    assert!(enough_iterations(pelago::Duration::ZERO) >= 3);
    assert_eq!(enough_iterations(pelago::Duration::from_milliseconds(90_000)), 3);
    assert_eq!(enough_iterations(pelago::Duration::from_milliseconds(30)), 300);
}
