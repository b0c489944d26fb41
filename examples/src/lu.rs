//! LU factorization of a matrix without pivoting, in blocks. Each block is a page of a region, and is written by one rank until it is complete.

use core::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::{Homes, Region, RegionSettings};
use pelago::{Duration, World};

use crate::beside::{Taken, judge};
use crate::usage::{Stop, at_least_one, exit, parse};

/// Maximum rows of a block, whose elements form a page.
const BLOCK_MAX: u32 = 128;

/// Maximum blocks of a row: above it the serial run takes minutes.
const BLOCKS_MAX: u32 = 128;

/// Declared computing time of a multiplication and an addition.
const PICOSECONDS_PER_STEP: u64 = 400;

/// Blocked LU factorization: rank 0 prints the milliseconds, those of a serial run, the bytes sent, and the bytes of the pages that contain them
#[derive(Parser)]
#[command(name = "lu")]
struct Arguments {
    /// Number of blocks in a row of the matrix
    #[arg(long, value_name = "B", default_value_t = 8, allow_negative_numbers = true, value_parser = at_least_one)]
    blocks: u32,
    /// Number of rows of a block
    #[arg(long, value_name = "R", default_value_t = 32, allow_negative_numbers = true, value_parser = at_least_one)]
    rows: u32,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = checked(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => factor(world, Matrix::new(arguments, world.size())),
        Err(stop) => Ok(stop.tell("lu", world)),
    });
    exit("lu", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    checked(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn checked(arguments: &[String]) -> Result<Arguments, Stop> {
    let arguments = parse::<Arguments>(arguments)?;
    if arguments.blocks > BLOCKS_MAX || arguments.rows > BLOCK_MAX {
        return Err(Stop::Wrong(format!("a row has at most {BLOCKS_MAX} blocks, and a block {BLOCK_MAX} rows")));
    }
    Ok(arguments)
}

fn factor(world: &World, matrix: Matrix) -> pelago::Result<ExitCode> {
    let Matrix { blocks, rows, .. } = matrix;
    let settings = RegionSettings { page_length: Some(rows * rows), homes: Homes::Cyclic, ..RegionSettings::default() };
    let mut region = Region::<f64>::new(world, matrix.length(), settings)?;
    let is_mine = |place: Place| matrix.number(place) % world.size() as usize == world.rank().index();
    for place in matrix.places(0, 0).filter(|&place| is_mine(place)) {
        let elements = matrix.elements(place);
        region.keep(elements.clone())?;
        matrix.begin(place, region.write(elements)?);
    }
    region.barrier()?;
    let (start, before) = (world.now(), region.statistics());
    for step in 0..blocks {
        let pivot = (step, step);
        if is_mine(pivot) {
            factor_block(world, region.write(matrix.elements(pivot))?, rows);
            region.give(matrix.elements(pivot))?;
        }
        region.barrier()?;
        for place in matrix.border(step).filter(|&place| is_mine(place)) {
            let elements = matrix.elements(place);
            let ([pivot], [block]) = region.access([matrix.elements(pivot)], [elements.clone()])?;
            solve_block(world, place.1 == step, pivot, block, rows);
            region.give(elements)?;
        }
        region.barrier()?;
        for place in matrix.places(step + 1, step + 1).filter(|&place| is_mine(place)) {
            let (left, above) = (matrix.elements((place.0, step)), matrix.elements((step, place.1)));
            let ([left, above], [block]) = region.access([left, above], [matrix.elements(place)])?;
            update_block(world, left, above, block, rows);
        }
    }
    region.barrier()?;
    let after = region.statistics();
    let whole = after.bytes_of_whole_pages - before.bytes_of_whole_pages;
    let taken = Taken::since(world, start, after.bytes() - before.bytes(), whole)?;
    let what = format!("lu size {} block {rows}", blocks * rows);
    let found = if world.rank().number() == 0 { region.read(0..matrix.length())? } else { &[] };
    judge(world, what, &taken, || Ok(matrix.alone(world) == found))
}

/// Position of a block: row and column among the blocks.
type Place = (usize, usize);

/// A square matrix of square blocks, stored block by block.
#[derive(Clone, Copy)]
struct Matrix {
    blocks: usize,
    rows: usize,
    /// Pages from a block to the one below it, chosen so that consecutive blocks of a row are on consecutive ranks, shifted by one in the next row.
    stride: usize,
}

impl Matrix {
    fn new(arguments: &Arguments, ranks: u32) -> Self {
        let (blocks, ranks) = (arguments.blocks as usize, ranks as usize);
        let stride = (blocks..).find(|stride| stride % ranks == 1 % ranks).expect("one of as many as there are ranks");
        Self { blocks, rows: arguments.rows as usize, stride }
    }

    /// Returns the number of elements, including pages that are not blocks.
    fn length(self) -> usize {
        self.elements((self.blocks - 1, self.blocks - 1)).end
    }

    fn number(self, (row, column): Place) -> usize {
        row * self.stride + column
    }

    fn elements(self, place: Place) -> Range<usize> {
        let bytes = self.rows * self.rows;
        self.number(place) * bytes..(self.number(place) + 1) * bytes
    }

    /// Returns the blocks from a row and a column on.
    fn places(self, row: usize, column: usize) -> impl Iterator<Item = Place> {
        (row..self.blocks).flat_map(move |row| (column..self.blocks).map(move |column| (row, column)))
    }

    /// Returns the blocks below a pivot and to the right of it.
    fn border(self, step: usize) -> impl Iterator<Item = Place> {
        (step + 1..self.blocks).flat_map(move |other| [(other, step), (step, other)])
    }

    /// Fills a block with initial values of a diagonally dominant matrix, which needs no pivoting.
    fn begin(self, (row, column): Place, block: &mut [f64]) {
        for (number, element) in block.iter_mut().enumerate() {
            let (row, column) = (row * self.rows + number / self.rows, column * self.rows + number % self.rows);
            let some = ((row * 131 + column * 71) % 101) as f64 / 101.0 - 0.5;
            *element = if row == column { some + (self.blocks * self.rows) as f64 } else { some };
        }
    }

    /// Factors the matrix serially.
    fn alone(self, world: &World) -> Vec<f64> {
        let mut all = vec![0.0; self.length()];
        for place in self.places(0, 0) {
            self.begin(place, &mut all[self.elements(place)]);
        }
        for step in 0..self.blocks {
            let pivot = self.elements((step, step));
            factor_block(world, &mut all[pivot.clone()], self.rows);
            for place in self.border(step) {
                let [pivot, block] = all.get_disjoint_mut([pivot.clone(), self.elements(place)]).expect("they differ");
                solve_block(world, place.1 == step, pivot, block, self.rows);
            }
            for place in self.places(step + 1, step + 1) {
                let ranges = [(place.0, step), (step, place.1), place].map(|place| self.elements(place));
                let [left, above, block] = all.get_disjoint_mut(ranges).expect("they differ");
                update_block(world, left, above, block, self.rows);
            }
        }
        all
    }
}

/// Factors a block on the diagonal.
fn factor_block(world: &World, block: &mut [f64], rows: usize) {
    for step in 0..rows {
        let (above, below) = block.split_at_mut((step + 1) * rows);
        let pivot = &above[step * rows..];
        for row in below.chunks_exact_mut(rows) {
            row[step] /= pivot[step];
            let factor = row[step];
            for column in step + 1..rows {
                row[column] -= factor * pivot[column];
            }
        }
    }
    cost(world, rows * rows * rows / 3);
}

/// Divides a block below a factored block by its upper triangle, or a block to the right of it by its lower triangle.
fn solve_block(world: &World, below: bool, pivot: &[f64], block: &mut [f64], rows: usize) {
    if below {
        for row in block.chunks_exact_mut(rows) {
            for step in 0..rows {
                row[step] /= pivot[step * rows + step];
                let factor = row[step];
                for column in step + 1..rows {
                    row[column] -= factor * pivot[step * rows + column];
                }
            }
        }
    } else {
        for step in 0..rows {
            let (above, after) = block.split_at_mut((step + 1) * rows);
            let above = &above[step * rows..];
            for (row, target) in after.chunks_exact_mut(rows).enumerate() {
                let factor = pivot[(step + 1 + row) * rows + step];
                for column in 0..rows {
                    target[column] -= factor * above[column];
                }
            }
        }
    }
    cost(world, rows * rows * rows / 2);
}

/// Subtracts the product of two blocks from a third.
fn update_block(world: &World, left: &[f64], above: &[f64], block: &mut [f64], rows: usize) {
    for (target, left) in block.chunks_exact_mut(rows).zip(left.chunks_exact(rows)) {
        for (&factor, above) in left.iter().zip(above.chunks_exact(rows)) {
            for (target, above) in target.iter_mut().zip(above) {
                *target -= factor * above;
            }
        }
    }
    cost(world, rows * rows * rows);
}

fn cost(world: &World, steps: usize) {
    world.compute(Duration::from_picoseconds(steps as u64 * PICOSECONDS_PER_STEP));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--blocks 5 --rows 2"), Ok(()));
        assert!(check("--blocks 0").is_err() && check("--blocks 129").is_err() && check("--rows 129").is_err());
    }

    #[test]
    fn the_product_of_the_triangles_is_the_matrix() {
        let matrix = Matrix::new(&Arguments { blocks: 3, rows: 4 }, 2);
        let (size, mut first) = (12, vec![0.0; matrix.length()]);
        matrix.places(0, 0).for_each(|place| matrix.begin(place, &mut first[matrix.elements(place)]));
        let ended: pelago::Result<()> = pelago::run(|world| {
            let found = matrix.alone(world);
            let at = |all: &[f64], row: usize, column: usize| {
                all[matrix.elements((row / 4, column / 4)).start + row % 4 * 4 + column % 4]
            };
            let lower = |row, column| if row == column { 1.0 } else { at(&found, row, column) };
            for (row, column) in (0..size).flat_map(|row| (0..size).map(move |column| (row, column))) {
                let product: f64 = (0..=row.min(column)).map(|step| lower(row, step) * at(&found, step, column)).sum();
                assert!((product - at(&first, row, column)).abs() < 1e-9, "{row} {column}");
            }
            Ok(())
        });
        ended.unwrap();
    }
}
