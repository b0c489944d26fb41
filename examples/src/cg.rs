//! NAS conjugate gradient: the smallest eigenvalue of a sparse matrix by inverse iteration, with distributed rows.
//!
//! Source: Bailey et al., "The NAS Parallel Benchmarks", RNR-94-007 (1994), section 2.6. Each rank has a range of rows. In each step it puts
//! its part of the vector with a signal to all other ranks, and waits for their parts.

use core::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use pelago::collectives::{Collectives, Settings, Sum};
use pelago::{Duration, Rank, Signal, Symmetric, World};

use crate::nas::{Class, Random, report, share};
use crate::usage::{Stop, exit, parse};

/// Steps of the method in each outer iteration, and number of outer iterations.
const STEPS: u32 = 25;
const ITERATIONS: u32 = 15;

/// Inverse of the condition number.
const CONDITION: f64 = 0.1;

/// Maximum difference between the result and the published one.
const TOLERANCE: f64 = 1e-10;

/// Declared computing time of a multiplication by an element.
const PICOSECONDS_PER_ELEMENT: u64 = 1_000;

/// NAS conjugate gradient (CG): rank 0 prints the class, the ranks, the milliseconds of 15 iterations, and whether zeta is the published one
#[derive(Parser)]
#[command(name = "cg")]
struct Arguments {
    /// Class: S (1,400 rows), W (7,000 rows) or A (14,000 rows)
    #[arg(value_enum, value_name = "CLASS", default_value = "S")]
    class: Class,
}

/// Parameters of a class.
struct Problem {
    rows: usize,
    /// Number of elements of each sparse vector; the matrix is the sum of the vectors' outer products.
    elements: usize,
    shift: f64,
    zeta: f64,
}

fn problem(class: Class) -> Problem {
    let (rows, elements, shift, zeta) = match class {
        Class::S => (1_400, 7, 10.0, 8.597_177_507_864_8),
        Class::W => (7_000, 8, 12.0, 10.362_595_087_124),
        Class::A => (14_000, 11, 20.0, 17.130_235_054_029),
    };
    Problem { rows, elements, shift, zeta }
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => solve(world, arguments.class),
        Err(stop) => Ok(stop.tell("cg", world)),
    });
    exit("cg", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn solve(world: &World, class: Class) -> pelago::Result<ExitCode> {
    let problem = problem(class);
    let all = Collectives::new(world, &Settings { memory_bytes: 16 << 20, ..Settings::default() })?;
    let mut solver = Solver::new(world, &all, &problem)?;
    // A first iteration touches all pages; then the state is reset.
    solver.iterate()?;
    solver.x.fill(1.0);
    world.barrier()?;
    let start = world.now();
    let mut zeta = 0.0;
    for _ in 0..ITERATIONS {
        zeta = problem.shift + 1.0 / solver.iterate()?;
    }
    let is_right = (zeta - problem.zeta).abs() / problem.zeta <= TOLERANCE && solver.residual < TOLERANCE;
    report(world, &all, &format!("cg class {class:?} zeta {zeta:.13}"), start, is_right)
}

/// The rows of a rank, as lists of non-zero elements.
struct Matrix {
    /// End of each row in `columns` and `values`.
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// One rank's part of the vectors.
struct Solver<'a> {
    world: &'a World,
    all: &'a Collectives<'a>,
    rows: Range<usize>,
    matrix: Matrix,
    x: Vec<f64>,
    z: Vec<f64>,
    r: Vec<f64>,
    p: Vec<f64>,
    q: Vec<f64>,
    /// The whole vector to multiply. A rank puts its next part after a reduction to which all ranks contribute after using the previous vector.
    whole: Symmetric<'a, f64>,
    /// A private copy of `whole`: elements of memory that other ranks write are loaded one by one.
    factors: Vec<f64>,
    /// Number of arrived parts, and of those that this rank has waited for.
    arrived: Symmetric<'a, u64>,
    awaited: u64,
    residual: f64,
}

impl<'a> Solver<'a> {
    fn new(world: &'a World, all: &'a Collectives<'a>, problem: &Problem) -> pelago::Result<Self> {
        let (rows, _) = share(problem.rows, world.size(), world.rank().number());
        let [z, r, p, q] = [(); 4].map(|()| vec![0.0; rows.len()]);
        let (x, matrix) = (vec![1.0; rows.len()], matrix(problem, &rows));
        let (whole, arrived) = (world.alloc(problem.rows)?, world.alloc(1)?);
        let factors = vec![0.0; problem.rows];
        Ok(Self { world, all, rows, matrix, x, z, r, p, q, whole, factors, arrived, awaited: 0, residual: f64::INFINITY })
    }

    /// Executes an outer iteration: solves A·z = x, stores the normalized z in x, and returns x·z.
    fn iterate(&mut self) -> pelago::Result<f64> {
        self.z.fill(0.0);
        self.r.copy_from_slice(&self.x);
        self.p.copy_from_slice(&self.x);
        let mut rho = self.sum([product(&self.r, &self.r)])?[0];
        for _ in 0..STEPS {
            self.multiply(false)?;
            let alpha = rho / self.sum([product(&self.p, &self.q)])?[0];
            add(&mut self.z, alpha, &self.p);
            add(&mut self.r, -alpha, &self.q);
            let before = rho;
            rho = self.sum([product(&self.r, &self.r)])?[0];
            let beta = rho / before;
            self.p.iter_mut().zip(&self.r).for_each(|(p, r)| *p = r + beta * *p);
        }
        self.multiply(true)?;
        let distance: f64 = self.x.iter().zip(&self.q).map(|(x, q)| (x - q) * (x - q)).sum();
        let [distance, along, length] = self.sum([distance, product(&self.x, &self.z), product(&self.z, &self.z)])?;
        self.residual = distance.sqrt();
        let norm = 1.0 / length.sqrt();
        self.x.iter_mut().zip(&self.z).for_each(|(x, z)| *x = norm * z);
        Ok(along)
    }

    /// q ← A·p, or A·z.
    fn multiply(&mut self, by_z: bool) -> pelago::Result<()> {
        let own = if by_z { &self.z } else { &self.p };
        let (world, me, size) = (self.world, self.world.rank().number(), self.world.size());
        for to in (1..size).map(|distance| Rank::new((me + distance) % size)) {
            let arrived = self.arrived.at(to, 0);
            if own.is_empty() {
                world.add(arrived, 1)?;
            } else {
                world.put_signal(self.whole.at(to, self.rows.start), own, arrived, Signal::Add(1))?;
            }
        }
        self.awaited += u64::from(size) - 1;
        world.wait_until(self.arrived.local(), 0, |arrived| arrived >= self.awaited)?;
        self.whole.local().read(0, &mut self.factors);
        self.factors[self.rows.clone()].copy_from_slice(own);
        let (Matrix { ends, columns, values }, factors) = (&self.matrix, &self.factors);
        let mut start = 0;
        for (q, &end) in self.q.iter_mut().zip(ends) {
            let row = columns[start..end].iter().zip(&values[start..end]);
            *q = row.map(|(&column, value)| value * factors[column as usize]).sum();
            start = end;
        }
        self.world.compute(Duration::from_picoseconds(values.len() as u64 * PICOSECONDS_PER_ELEMENT));
        Ok(())
    }

    /// Sums over all ranks.
    fn sum<const N: usize>(&self, mut values: [f64; N]) -> pelago::Result<[f64; N]> {
        self.all.allreduce(&mut values, Sum)?;
        Ok(values)
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn add(into: &mut [f64], factor: f64, what: &[f64]) {
    into.iter_mut().zip(what).for_each(|(into, what)| *into += factor * what);
}

/// Generates some rows of the matrix: the weighted sum of outer products of random sparse vectors, and a shifted diagonal.
fn matrix(problem: &Problem, mine: &Range<usize>) -> Matrix {
    // The first random number is not used.
    let mut random = Random::after(1);
    let ratio = CONDITION.powf(1.0 / problem.rows as f64);
    let (mut weight, mut found) = (1.0, Vec::new());
    for row in 0..problem.rows {
        let vector = sparse_vector(&mut random, problem, row);
        for &(at, value) in vector.iter().filter(|(at, _)| mine.contains(at)) {
            for &(column, other) in &vector {
                let diagonal = if at == row && column == row { CONDITION - problem.shift } else { 0.0 };
                found.push((at as u32, column as u32, other * (weight * value) + diagonal));
            }
        }
        weight *= ratio;
    }
    found.sort_by_key(|&(row, column, _)| (row, column));
    let mut matrix = Matrix { ends: Vec::with_capacity(mine.len()), columns: Vec::new(), values: Vec::new() };
    let mut last = None;
    for (row, column, value) in found {
        if last == Some((row, column)) {
            *matrix.values.last_mut().expect("it was pushed") += value;
            continue;
        }
        while matrix.ends.len() < row as usize - mine.start {
            matrix.ends.push(matrix.values.len());
        }
        matrix.columns.push(column);
        matrix.values.push(value);
        last = Some((row, column));
    }
    matrix.ends.resize(mine.len(), matrix.values.len());
    matrix
}

/// Generates indexes and values of a random sparse vector, whose element `own` is one half.
fn sparse_vector(random: &mut Random, problem: &Problem, own: usize) -> Vec<(usize, f64)> {
    let range = problem.rows.next_power_of_two() as f64;
    let mut vector: Vec<(usize, f64)> = Vec::with_capacity(problem.elements + 1);
    while vector.len() < problem.elements {
        let (value, place) = (random.unit(), (range * random.unit()) as usize);
        if place < problem.rows && vector.iter().all(|&(other, _)| other != place) {
            vector.push((place, value));
        }
    }
    match vector.iter_mut().find(|(place, _)| *place == own) {
        Some((_, value)) => *value = 0.5,
        None => vector.push((own, 0.5)),
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        assert_eq!(check(&["A".into()], 2), Ok(()));
        assert!(check(&["X".into()], 2).is_err());
    }

    #[test]
    fn rows_of_ranks_are_those_of_the_whole_matrix() {
        let problem = Problem { rows: 60, elements: 4, shift: 10.0, zeta: 0.0 };
        let (whole, part) = (matrix(&problem, &(0..60)), matrix(&problem, &(20..40)));
        let (start, end) = (whole.ends[19], whole.ends[39]);
        assert_eq!((&whole.columns[start..end], &whole.values[start..end]), (&part.columns[..], &part.values[..]));
        assert_eq!(part.ends.last(), Some(&part.values.len()));
    }
}
