//! The shortest round trip through some cities, by branch and bound. Ranks take prefixes of trips from a shared counter, and share the shortest trip
//! found so far. Each rank reads it periodically without waiting for writers.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use pelago::dsm::Shared;
use pelago::zerocopy::{FromBytes, Immutable, IntoBytes};
use pelago::{Rank, World};

use crate::beside::{Taken, judge, whole_pages};
use crate::usage::{Output, Stop, exit, parse};

/// Maximum number of cities: above it a search takes hours.
const CITIES_MAX: usize = 20;

/// Number of cities after the first one in a prefix that a rank takes.
const BEGINNING: usize = 2;

/// Steps of a search between two reads of the shared trip.
const STEPS_BETWEEN_LOOKS: u32 = 20_000;

/// Travelling salesman by branch and bound: rank 0 prints the tour, its length, the milliseconds, those of a serial search, and the bytes sent
#[derive(Parser)]
#[command(name = "tsp")]
struct Arguments {
    /// Number of cities, from 4 to 20
    #[arg(long, value_name = "C", default_value_t = 12, allow_negative_numbers = true, value_parser = cities)]
    cities: usize,
    /// Seed of the positions of the cities
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

/// The shortest trip so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "pelago::zerocopy")]
#[repr(C)]
struct Best {
    length: u64,
    trip: [u8; 24],
}

const _: () = assert!(CITIES_MAX <= 24);

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => find(world, &Map::new(arguments.cities, arguments.seed)),
        Err(stop) => Ok(stop.tell("tsp", world)),
    });
    exit("tsp", result)
}

/// Checks the arguments.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    parse::<Arguments>(arguments).map_or_else(Stop::wrong, |_| Ok(()))
}

fn cities(text: &str) -> Result<usize, String> {
    let cities = text.parse().ok().filter(|cities| (4..=CITIES_MAX).contains(cities));
    cities.ok_or_else(|| format!("a trip has from 4 to {CITIES_MAX} cities"))
}

fn find(world: &World, map: &Map) -> pelago::Result<ExitCode> {
    let mut next = Shared::<u64>::new(world, Rank::new(0), 0)?;
    let mut best = Shared::<Best>::new(world, Rank::new(world.size() - 1), map.first())?;
    let beginnings = map.beginnings();
    world.barrier()?;
    let start = world.now();
    loop {
        let mut guard = next.write()?;
        let number = *guard as usize;
        if number >= beginnings.len() {
            break;
        }
        *guard += 1;
        guard.release()?;
        let known = *best.read()?;
        let mut search = Search { map, best: known, steps: 0 };
        search.go_on(&mut beginnings[number].clone(), &mut |found| exchange(&mut best, found))?;
        exchange(&mut best, &mut search.best)?;
    }
    world.barrier()?;
    let found = *best.read()?;
    let statistics = [next.statistics(), best.statistics()];
    let bytes = statistics.iter().map(|of| of.bytes).sum();
    let whole = statistics.iter().map(|of| whole_pages(of.fetched, size_of::<Best>())).sum();
    let taken = Taken::since(world, start, bytes, whole)?;
    if world.rank().number() == 0 {
        report(map, &found);
    }
    let is_shortest = || {
        let alone = map.alone();
        Ok(found.length == alone.length && map.length(&found.trip[..map.cities]) == found.length)
    };
    judge(world, format!("tsp cities {}", map.cities), &taken, is_shortest)
}

/// Exchanges the shortest trip with the shared one, in the direction of the longer.
fn exchange(best: &mut Shared<'_, Best>, mine: &mut Best) -> pelago::Result<()> {
    let known = best.read()?;
    if known.length <= mine.length {
        *mine = *known;
        return Ok(());
    }
    let mut guard = known.upgrade()?;
    // Another rank may have written in between.
    if mine.length < guard.length {
        *guard = *mine;
    } else {
        *mine = *guard;
    }
    Ok(())
}

/// Prints the result.
fn report(map: &Map, found: &Best) {
    let trip: Vec<String> = found.trip[..map.cities].iter().map(u8::to_string).collect();
    let _ = writeln!(Output, "tsp cities {} length {}: {}", map.cities, found.length, trip.join(" "));
}

/// Distances between the cities.
struct Map {
    cities: usize,
    distances: Vec<u64>,
}

impl Map {
    fn new(cities: usize, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(2) | 1;
        let mut below_thousand = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 1000
        };
        let places: Vec<[u64; 2]> = (0..cities).map(|_| [below_thousand(), below_thousand()]).collect();
        let distance = |one: [u64; 2], other: [u64; 2]| one[0].abs_diff(other[0]).pow(2) + one[1].abs_diff(other[1]).pow(2);
        let pairs = places.iter().flat_map(|&one| places.iter().map(move |&other| distance(one, other).isqrt()));
        Self { cities, distances: pairs.collect() }
    }

    fn distance(&self, one: u8, other: u8) -> u64 {
        self.distances[usize::from(one) * self.cities + usize::from(other)]
    }

    /// Returns the length of a round trip.
    fn length(&self, trip: &[u8]) -> u64 {
        (0..trip.len()).map(|place| self.distance(trip[place], trip[(place + 1) % trip.len()])).sum()
    }

    /// Returns the trip through all cities in the order of their numbers.
    fn first(&self) -> Best {
        let mut trip = [0; 24];
        (0..self.cities).for_each(|city| trip[city] = city as u8);
        Best { length: self.length(&trip[..self.cities]), trip }
    }

    /// Returns all prefixes of trips.
    fn beginnings(&self) -> Vec<Vec<u8>> {
        let mut beginnings = vec![vec![0]];
        for _ in 0..BEGINNING {
            let longer = |begun: Vec<u8>| {
                let others: Vec<_> = (1..self.cities as u8).filter(|city| !begun.contains(city)).collect();
                others.into_iter().map(move |city| begun.iter().copied().chain([city]).collect())
            };
            beginnings = beginnings.into_iter().flat_map(longer).collect();
        }
        beginnings
    }

    /// Searches for the shortest trip serially.
    fn alone(&self) -> Best {
        let mut search = Search { map: self, best: self.first(), steps: 0 };
        search.go_on(&mut vec![0], &mut |_| Ok(())).expect("nobody is asked");
        search.best
    }
}

/// A search for the shortest trip.
struct Search<'m> {
    map: &'m Map,
    best: Best,
    steps: u32,
}

impl Search<'_> {
    /// Tries all trips with the prefix `trip`; calls `exchange` periodically.
    fn go_on(&mut self, trip: &mut Vec<u8>, exchange: &mut dyn FnMut(&mut Best) -> pelago::Result<()>) -> pelago::Result<()> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            exchange(&mut self.best)?;
        }
        // The path from the last city back to the first is at least as long as the direct connection.
        if self.map.length(trip) >= self.best.length {
            return Ok(());
        }
        if trip.len() == self.map.cities {
            self.best.length = self.map.length(trip);
            self.best.trip[..trip.len()].copy_from_slice(trip);
            return Ok(());
        }
        for city in (1..self.map.cities as u8).filter(|city| !trip.contains(city)).collect::<Vec<_>>() {
            trip.push(city);
            self.go_on(trip, exchange)?;
            trip.pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_trip_is_no_longer_than_any() {
        let map = Map::new(7, 5);
        let alone = map.alone();
        let mut shortest = u64::MAX;
        let mut all = vec![vec![0_u8]];
        while let Some(trip) = all.pop() {
            if trip.len() == 7 {
                shortest = shortest.min(map.length(&trip));
            }
            all.extend(
                (1..7).filter(|city| !trip.contains(city)).map(|city| trip.iter().copied().chain([city]).collect::<Vec<_>>()),
            );
        }
        assert_eq!((alone.length, map.length(&alone.trip[..7])), (shortest, shortest));
        assert_eq!(map.beginnings().len(), 30);
    }

    #[test]
    fn arguments_are_checked_before_any_rank_starts() {
        let check = |text: &str| check(&text.split_whitespace().map(String::from).collect::<Vec<_>>(), 2);
        assert_eq!(check("--cities 4"), Ok(()));
        assert!(check("--cities 3").is_err() && check("--cities 21").is_err() && check("--cities -2").is_err());
    }
}
