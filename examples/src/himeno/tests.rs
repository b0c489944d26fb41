//! Sweeps of all blocks of a split give bitwise what one block gives; arguments are checked without a job.

use std::collections::HashMap;

use pelago::Rank;

use super::field::{Field, initial_p};
use super::grid::{Extent, Grid, Split, Step};
use super::hash::hash;
use super::order::Order;
use super::sweep::sweep;
use super::{check, enough_iterations};

/// All blocks of a split in one process; borders are copied where a job would put them.
struct Blocks {
    grid: Grid,
    fields: Vec<Field>,
}

impl Blocks {
    fn new(cells: Extent, split: Extent, b: f32) -> Self {
        let ranks = split.iter().product::<usize>() as u32;
        let grid = Grid::new(cells, ranks, Some(Split(split))).unwrap();
        let fields = (0..ranks).map(|rank| Field::new(grid.block(Rank::new(rank)), b)).collect();
        Self { grid, fields }
    }

    fn iterate(&mut self) -> f64 {
        self.exchange();
        let grid = self.grid;
        let sweep_all = |field: &mut Field| {
            let order = Order::new(&grid, field.block);
            let gosa: f64 = order.outer.into_iter().chain([order.inner]).map(|part| sweep(field, part)).sum();
            field.advance();
            gosa
        };
        self.fields.iter_mut().map(sweep_all).sum()
    }

    /// Faces and edges, but no corner.
    fn exchange(&mut self) {
        for (rank, number) in (0..self.fields.len()).flat_map(|rank| (0..27).map(move |number| (rank, number))) {
            let step: Step = [number / 9 - 1, number / 3 % 3 - 1, number % 3 - 1];
            let distance: isize = step.iter().map(|s| s.abs()).sum();
            let Some(other) = self.grid.neighbour(Rank::new(rank as u32), step).filter(|_| distance == 1 || distance == 2) else {
                continue;
            };
            let (border, halo) =
                (self.fields[other.index()].layout.border(step.map(|s| -s)), self.fields[rank].layout.halo(step));
            assert_eq!((border.packed, border.shape.counts), (halo.packed, halo.shape.counts));
            for (from, to) in border.shape.offsets().zip(halo.shape.offsets()) {
                for cell in 0..halo.shape.block {
                    let value = self.fields[other.index()].p[border.start + (from + cell) as usize];
                    self.fields[rank].p[halo.start + (to + cell) as usize] = value;
                }
            }
        }
    }

    /// The bits of the pressure of each cell of the grid.
    fn bits(&self) -> HashMap<Extent, u32> {
        self.fields.iter().flat_map(|field| field.cells().map(|(cell, index)| (cell, field.p[index].to_bits()))).collect()
    }

    fn hash(&self) -> u64 {
        self.fields.iter().fold(0, |sum, field| sum.wrapping_add(hash(field, self.grid.cells)))
    }
}

/// A number between 0 and 1 without any pattern in space.
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
            blocks.fields.iter_mut().for_each(|field| field.set_p(scattered));
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
    blocks.fields.iter_mut().for_each(|field| field.set_p(scattered));
    let field = &mut blocks.fields[3];
    assert!(sweep(field, blocks.grid.interior(field.block)).is_nan());
}

#[test]
fn the_smallest_known_result_is_found() {
    for split in [[1, 1, 1], [3, 2, 5]] {
        let mut blocks = Blocks::new([64, 64, 128], split, 0.0);
        let initial = initial_p(&blocks.grid);
        blocks.fields.iter_mut().for_each(|field| field.set_p(&initial));
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
    for arguments in [&[][..], &["s"], &["--help"], &["XL", "--iterations", "3", "--split", "1x2x3", "--b", "-0.05"]] {
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
