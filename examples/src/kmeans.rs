//! K-means clustering: each rank assigns its points to the nearest means, and adds the changes to shared sums under one synchronization
//! variable.

use core::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::Bundle;
use pelago::{Duration, Rank, World};

use crate::beside::{Taken, judge, whole_pages};
use crate::usage::{Stop, at_least_one, copies, exit, parse, room};

/// Number of coordinates of a point, and their maximum. Coordinates are integers, so that sums do not depend on the order.
const DIMENSIONS: usize = 4;
const COORDINATE_MAX: u64 = 1 << 20;

/// Declared computing time of a comparison of a point with a mean.
const PICOSECONDS_PER_DISTANCE: u64 = 2_000;

type Point = [i64; DIMENSIONS];

/// K-means clustering: rank 0 prints the milliseconds, those of a serial run, the bytes sent, and the bytes of whole variables
#[derive(Parser)]
#[command(name = "kmeans")]
struct Arguments {
    /// Number of points of all ranks
    #[arg(long, value_name = "P", default_value_t = 20_000, allow_negative_numbers = true, value_parser = at_least_one)]
    points: u32,
    /// Number of clusters
    #[arg(long, value_name = "C", default_value_t = 16, allow_negative_numbers = true, value_parser = at_least_one)]
    clusters: u32,
    /// Largest number of rounds
    #[arg(long, value_name = "R", default_value_t = 30, allow_negative_numbers = true, value_parser = at_least_one)]
    rounds: u32,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = checked(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => find(world, arguments),
        Err(stop) => Ok(stop.tell("kmeans", world)),
    });
    exit("kmeans", result)
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
    if arguments.clusters > arguments.points {
        return Err(Stop::Wrong("there are at least as many points as clusters".into()));
    }
    Ok(arguments)
}

fn find(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let (points, clusters) = (arguments.points as usize, arguments.clusters as usize);
    let begin = (copies("the sums", clusters * DIMENSIONS, 0)?, copies("the clusters", clusters, 0)?, vec![0]);
    // For each cluster the sum and number of its points; the total number of moves.
    let mut shared = Bundle::<(i64, u64, u64)>::new(world, Rank::new(0), begin)?;
    let share = points.div_ceil(world.size() as usize);
    let first = (world.rank().index() * share).min(points);
    let mut mine = Share::new(first..(first + share).min(points), clusters)?;
    let mut means = first_means(clusters);
    world.barrier()?;
    let start = world.now();
    let mut before = 0;
    for _ in 0..arguments.rounds {
        let changes = mine.move_points(world, &means);
        if changes.moves > 0 {
            let mut guard = shared.write()?;
            let (mut sums, mut counts, mut moves) = guard.parts_mut();
            changes.add_to(&mut sums, &mut counts);
            moves[0] += changes.moves;
            guard.release()?;
        }
        world.barrier()?;
        let guard = shared.read()?;
        let (sums, counts, moves) = guard.parts();
        update_means(&mut means, sums, counts);
        let now = moves[0];
        guard.release()?;
        // No rank may move points before all ranks have read the sums.
        world.barrier()?;
        if std::mem::replace(&mut before, now) == now {
            break;
        }
    }
    let statistics = shared.statistics();
    let whole = whole_pages(statistics.fetched, (clusters * (DIMENSIONS + 1) + 1) * size_of::<u64>());
    let taken = Taken::since(world, start, statistics.bytes, whole)?;
    let what = format!("kmeans points {points} clusters {clusters}");
    judge(world, what, &taken, || Ok(alone(world, points, clusters, arguments.rounds)? == means))
}

/// Computes the means serially.
fn alone(world: &World, points: usize, clusters: usize, rounds: u32) -> pelago::Result<Vec<Point>> {
    let mut all = Share::new(0..points, clusters)?;
    let (mut means, mut sums, mut counts) = (first_means(clusters), vec![0; clusters * DIMENSIONS], vec![0; clusters]);
    for _ in 0..rounds {
        let changes = all.move_points(world, &means);
        changes.add_to(&mut sums, &mut counts);
        update_means(&mut means, &sums, &counts);
        if changes.moves == 0 {
            break;
        }
    }
    Ok(means)
}

/// Points of one rank, and their clusters.
struct Share {
    points: Vec<Point>,
    clusters: Vec<Option<usize>>,
    count: usize,
}

/// Changes of the clusters.
struct Changes {
    sums: Vec<i64>,
    counts: Vec<i64>,
    moves: u64,
}

impl Share {
    fn new(numbers: Range<usize>, count: usize) -> pelago::Result<Self> {
        let clusters = copies("the clusters of points", numbers.len(), None)?;
        let mut points = room("the points", numbers.len())?;
        points.extend(numbers.map(|number| point(number as u64)));
        Ok(Self { clusters, points, count })
    }

    /// Assigns each point to the nearest mean.
    fn move_points(&mut self, world: &World, means: &[Point]) -> Changes {
        let mut changes = Changes { sums: vec![0; self.count * DIMENSIONS], counts: vec![0; self.count], moves: 0 };
        for (point, cluster) in self.points.iter().zip(&mut self.clusters) {
            let nearest = nearest(point, means);
            if *cluster != Some(nearest) {
                changes.moves += 1;
                changes.shift(nearest, point, 1);
                if let Some(before) = cluster.replace(nearest) {
                    changes.shift(before, point, -1);
                }
            }
        }
        let distances = (self.points.len() * self.count) as u64;
        world.compute(Duration::from_picoseconds(distances * PICOSECONDS_PER_DISTANCE));
        changes
    }
}

impl Changes {
    fn shift(&mut self, cluster: usize, point: &Point, sign: i64) {
        self.counts[cluster] += sign;
        for (sum, coordinate) in self.sums[cluster * DIMENSIONS..].iter_mut().zip(point) {
            *sum += sign * coordinate;
        }
    }

    fn add_to(&self, sums: &mut [i64], counts: &mut [u64]) {
        sums.iter_mut().zip(&self.sums).for_each(|(sum, change)| *sum += change);
        counts.iter_mut().zip(&self.counts).for_each(|(count, &change)| *count = count.wrapping_add_signed(change));
    }
}

fn nearest(point: &Point, means: &[Point]) -> usize {
    let distance = |mean: &Point| point.iter().zip(mean).map(|(one, other)| (one - other) * (one - other)).sum::<i64>();
    (0..means.len()).min_by_key(|&cluster| distance(&means[cluster])).expect("there are clusters")
}

/// Computes the new means; a cluster without points keeps its mean.
fn update_means(means: &mut [Point], sums: &[i64], counts: &[u64]) {
    for ((mean, sum), &count) in means.iter_mut().zip(sums.chunks_exact(DIMENSIONS)).zip(counts) {
        if count > 0 {
            *mean = core::array::from_fn(|dimension| sum[dimension] / count as i64);
        }
    }
}

fn first_means(clusters: usize) -> Vec<Point> {
    (0..clusters as u64).map(point).collect()
}

/// Returns the pseudo-random point of a number.
fn point(number: u64) -> Point {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    core::array::from_fn(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % COORDINATE_MAX) as i64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--points 5 --clusters 5"), Ok(()));
        assert!(check("--points 5 --clusters 6").is_err() && check("--rounds 0").is_err());
    }

    #[test]
    fn points_are_in_the_nearest_cluster() {
        let means = [[0; DIMENSIONS], [10; DIMENSIONS], [100; DIMENSIONS]];
        assert_eq!([[4; DIMENSIONS], [6; DIMENSIONS], [99; DIMENSIONS]].map(|point| nearest(&point, &means)), [0, 1, 2]);
    }
}
