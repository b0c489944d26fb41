//! The particle exchange after a domain decomposition, as in a gravitational N-body run (NSIM-ACE, section 6).
//!
//! Particles are distributed over the ranks by orthogonal recursive bisection. They move, the box is cut again, and each particle goes to the rank
//! that owns its new place. This last step is timed. Then all ranks together check that every particle arrived once, unaltered, and at its owner.
//! Particles and their motion depend on neither the number of ranks nor the network.
//!
//! The paper used two snapshots of a run of GADGET-2 with 128³ particles; here particles come from a generator of clusters, a file, or snapshots.
//!
//! | file | holds |
//! |---|---|
//! | `particle` | the record of 48 bytes |
//! | `random` | random numbers that are the same on every machine |
//! | `source` | the generators, and files |
//! | `gadget` | snapshots of GADGET-2 |
//! | `work` | the computing time of a particle |
//! | `curve` | the Peano–Hilbert curve |
//! | `domains` | the owners of the parts of the box or of the curve |
//! | `exchange` | the exchange, phase by phase |
//! | `report` | times and traffic of the exchange |

mod curve;
mod domains;
mod exchange;
mod gadget;
mod particle;
mod random;
mod report;
mod source;
mod work;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use pelago::{BarrierAlgorithm, Duration, World};

use crate::usage::{Output, at_least_one, cost, exit, finite, parse};
use domains::{Balance, Domains, Shape};
use exchange::{Costs, Sync, exchange};
use gadget::Snapshot;
use particle::Particle;
use report::Report;
use source::{Clusters, SIDE_MAX, Source};

/// Particles move, the box is divided again, and each particle goes to the rank that owns its new position
#[derive(Parser)]
#[command(name = "particles")]
struct Arguments {
    /// Generate N*N*N particles
    #[arg(long, value_name = "N", default_value_t = 128, allow_negative_numbers = true, value_parser = side)]
    side: u32,
    /// Distribution: expanding clusters (hernquist), or collapsing ones (plummer)
    #[arg(long, value_name = "NAME", default_value = "hernquist", value_parser = ["hernquist", "plummer"])]
    clusters: String,
    /// Seed of the generated particles
    #[arg(long, value_name = "NUMBER", default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    /// Read the particles from a snapshot of GADGET-2 (format 1, one file or several); --dt is in its units of length and velocity
    #[arg(long, value_name = "PATH", conflicts_with_all = ["side", "clusters", "seed", "file"])]
    snapshot: Option<PathBuf>,
    /// Move the particles to their positions in this later snapshot, instead of by their velocities
    #[arg(long, value_name = "PATH", requires = "snapshot", conflicts_with = "dt")]
    snapshot_after: Option<PathBuf>,
    /// Read the particles from a file: little-endian records of 48 bytes with id (u64), position (3 f64, at least 0 and below 1), velocity (3 f32), mass (f32)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["side", "clusters", "seed"])]
    file: Option<PathBuf>,
    /// Time step
    #[arg(long, value_name = "TIME", default_value_t = 1.0, allow_negative_numbers = true, value_parser = finite::<f64>)]
    dt: f64,
    /// Domains: boxes cut by planes, or sections of a Peano-Hilbert curve as in GADGET-2
    #[arg(long, value_name = "WHAT", default_value = "boxes", value_parser = ["boxes", "curve"])]
    domains: String,
    /// Balance between ranks: equal numbers of particles, or equal work as in GADGET-2
    #[arg(long, value_name = "WHAT", default_value = "particles", value_parser = ["particles", "work"])]
    balance: String,
    /// Synchronization of the phases: barriers, the arrival of the own particles (arrivals), or none during the measurement (none)
    #[arg(long, value_name = "HOW", default_value = "barriers", value_parser = ["barriers", "arrivals", "none"])]
    sync: String,
    /// The same as --sync arrivals
    #[arg(long, conflicts_with = "sync")]
    no_sync: bool,
    /// Barrier between phases: ring, recursive-doubling, dissemination, central, tree or network
    #[arg(long, value_name = "NAME", default_value_t = BarrierAlgorithm::RecursiveDoubling)]
    algorithm: BarrierAlgorithm,
    /// Number of repetitions of the exchange; the fastest counts
    #[arg(long, value_name = "R", default_value_t = 1, allow_negative_numbers = true, value_parser = at_least_one)]
    repeat: u32,
    /// Output: text, or json with the data of each rank
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"])]
    format: String,
    /// Simulation: nanoseconds per particle of a rank to find its new owner
    // The paper draws its three lines but does not print their slopes: these are guesses for a core of its time.
    #[arg(long, value_name = "NS", default_value_t = 80.0, allow_negative_numbers = true, value_parser = cost)]
    cost_count: f64,
    /// Simulation: additional nanoseconds to count a leaving particle
    #[arg(long, value_name = "NS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = cost)]
    cost_count_sent: f64,
    /// Simulation: nanoseconds to pack a leaving particle
    #[arg(long, value_name = "NS", default_value_t = 60.0, allow_negative_numbers = true, value_parser = cost)]
    cost_pack: f64,
    /// Simulation: nanoseconds to unpack an arriving particle
    #[arg(long, value_name = "NS", default_value_t = 60.0, allow_negative_numbers = true, value_parser = cost)]
    cost_unpack: f64,
}

/// Runs one rank with the given arguments.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => run(world, arguments),
        Err(stop) => Ok(stop.tell("particles", world)),
    });
    exit("particles", result)
}

/// Checks the arguments, and an input file as far as this process can read it.
///
/// # Errors
/// The arguments are wrong; the message is one line.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    match parse::<Arguments>(arguments) {
        Ok(arguments) => {
            arguments.source().count()?;
            arguments.snapshot_after.as_deref().map_or(Ok(()), |path| Snapshot::open(path).map(drop))
        }
        Err(stop) => stop.wrong(),
    }
}

impl Arguments {
    fn source(&self) -> Source {
        match (&self.file, &self.snapshot) {
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(path)) => Source::Snapshot(path.clone()),
            (None, None) => {
                let clusters = if self.clusters == "plummer" { Clusters::Plummer } else { Clusters::Hernquist };
                Source::Generator { side: self.side, clusters, seed: self.seed }
            }
        }
    }

    fn costs(&self) -> Costs {
        let nanoseconds = |cost: f64| Duration::from_seconds(cost * 1e-9);
        Costs {
            count: nanoseconds(self.cost_count),
            count_sent: nanoseconds(self.cost_count_sent),
            pack: nanoseconds(self.cost_pack),
            unpack: nanoseconds(self.cost_unpack),
        }
    }

    fn sync(&self) -> Sync {
        match self.sync.as_str() {
            "none" => Sync::None,
            "barriers" if !self.no_sync => Sync::Barriers(self.algorithm),
            _ => Sync::Arrivals,
        }
    }
}

fn run(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let source = arguments.source();
    let (count, own) = share(&source, world);
    if let Some(wrong) = first_failure(world, count, own.as_ref().err())? {
        return Ok(tell(wrong));
    }
    let mut particles = own.unwrap_or_default();
    let domains = decompose(world, &particles, arguments)?;
    exchange(world, &mut particles, &domains, arguments.sync(), &Costs::NONE)?;
    if let Some(path) = &arguments.snapshot_after {
        let moved = move_to(path, count, &mut particles);
        let mut found = [moved.as_ref().copied().unwrap_or(0)];
        if let Some(wrong) = first_failure(world, count, moved.as_ref().err())? {
            return Ok(tell(wrong));
        }
        world.allreduce(&mut found, |one, other| one + other)?;
        if found[0] != count {
            let line = format!("of {count} particles, {} are in {}", found[0], path.display());
            return Ok(tell((world.rank().number() == 0).then_some(line)));
        }
    } else {
        particles.iter_mut().for_each(|particle| particle.advance(arguments.dt));
    }

    let before = Tally::new(world, &particles)?;
    let domains = decompose(world, &particles, arguments)?;
    let report = repeated(world, &mut particles, &domains, arguments)?;
    let after = Tally::new(world, &particles)?;
    let astray = astray(world, &particles, &domains)?;
    if let Some(wrong) = wrong(count, &before, &after, astray) {
        // All ranks know the error; one prints it.
        return Ok(tell(if world.rank().number() == 0 { Some(wrong) } else { None }));
    }
    if world.rank().number() == 0 {
        let text = if arguments.format == "json" { Report::json } else { Report::text };
        let _ = Output.write_all(text(&report, after.count, after.sum).as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

/// Repeats the exchange of the same particles, and keeps the result of the last one; returns the report of the fastest.
fn repeated(world: &World, particles: &mut Vec<Particle>, domains: &Domains, arguments: &Arguments) -> pelago::Result<Report> {
    let mut fastest: Option<Report> = None;
    for left in (0..arguments.repeat).rev() {
        let mut copy = if left == 0 { std::mem::take(particles) } else { particles.clone() };
        let exchanged = exchange(world, &mut copy, domains, arguments.sync(), &arguments.costs())?;
        let report = Report::new(world, &exchanged)?;
        if fastest.as_ref().is_none_or(|fastest| report.slowest() < fastest.slowest()) {
            fastest = Some(report);
        }
        if left == 0 {
            *particles = copy;
        }
    }
    Ok(fastest.expect("it is done once at least"))
}

/// Returns the number of particles, and this rank's initial share of them, which does not depend on domains.
fn share(source: &Source, world: &World) -> (u64, Result<Vec<Particle>, String>) {
    let count = match source.count() {
        Ok(count) => count,
        Err(wrong) => return (0, Err(wrong)),
    };
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    (count, source.particles(count * rank / size..count * (rank + 1) / size))
}

/// Particles of a snapshot per read.
const READ_TOGETHER: u64 = 1 << 16;

/// Moves this rank's particles to their positions in a snapshot; returns the number of particles in it. Each rank reads the whole snapshot.
fn move_to(path: &Path, count: u64, particles: &mut [Particle]) -> Result<u64, String> {
    let snapshot = Snapshot::open(path)?;
    if snapshot.count() != count {
        return Err(format!("{} has {} particles, those before are {count}", path.display(), snapshot.count()));
    }
    particles.sort_unstable_by_key(|particle| particle.id);
    let mut found = 0;
    for first in (0..count).step_by(READ_TOGETHER as usize) {
        for after in snapshot.particles(first..count.min(first + READ_TOGETHER))? {
            if let Ok(index) = particles.binary_search_by_key(&after.id, |particle| particle.id) {
                particles[index] = after;
                found += 1;
            }
        }
    }
    Ok(found)
}

/// Returns whether the ranks have failed to read the particles; the inner value is the message, on the rank that has to print it.
fn first_failure(world: &World, count: u64, own: Option<&String>) -> pelago::Result<Option<Option<String>>> {
    let mut words = [own.map_or(u64::MAX, |_| world.rank().into()), count, !count];
    world.allreduce(&mut words, u64::min)?;
    let [first, least, most] = words;
    Ok(if first < u64::MAX {
        Some(own.filter(|_| first == u64::from(world.rank())).cloned())
    } else if least != !most {
        let line = format!("files differ: they hold from {least} to {} particles", !most);
        Some((world.rank().number() == 0).then_some(line))
    } else {
        None
    })
}

/// Prints an error, if this rank has to; returns the exit code.
fn tell(line: Option<String>) -> ExitCode {
    if let Some(line) = line {
        // A failed write is ignored.
        let _ = writeln!(std::io::stderr(), "particles: {line}");
    }
    ExitCode::FAILURE
}

fn decompose(world: &World, particles: &[Particle], arguments: &Arguments) -> pelago::Result<Domains> {
    let sum = |numbers: &mut [u64]| world.allreduce(numbers, |one, other| one + other);
    let shape = if arguments.domains == "curve" { Shape::Curve } else { Shape::Boxes };
    match arguments.balance.as_str() {
        "work" => Domains::new(shape, world.size(), particles, Balance::Work(&work::works(particles, sum)?), sum),
        _ => Domains::new(shape, world.size(), particles, Balance::Particles, sum),
    }
}

/// Returns the number of particles on the wrong rank.
fn astray(world: &World, particles: &[Particle], domains: &Domains) -> pelago::Result<u64> {
    let mine = world.rank().number();
    let mut astray = [particles.iter().filter(|particle| !domains.holds(mine, particle)).count() as u64];
    world.allreduce(&mut astray, |one, other| one + other)?;
    Ok(astray[0])
}

/// Values that do not depend on the distribution of particles: their number, and the sum and the exclusive or of their hashes.
#[derive(Debug, PartialEq)]
struct Tally {
    count: u64,
    sum: u64,
    xor: u64,
}

impl Tally {
    fn of(particles: &[Particle]) -> Self {
        let none = Self { count: 0, sum: 0, xor: 0 };
        particles.iter().map(Particle::hash).fold(none, |tally, hash| Self {
            count: tally.count + 1,
            sum: tally.sum.wrapping_add(hash),
            xor: tally.xor ^ hash,
        })
    }

    /// Computes the tally of all ranks.
    fn new(world: &World, particles: &[Particle]) -> pelago::Result<Self> {
        let own = Self::of(particles);
        let (mut sums, mut xors) = ([own.count, own.sum], [own.xor]);
        world.allreduce(&mut sums, u64::wrapping_add)?;
        world.allreduce(&mut xors, |one, other| one ^ other)?;
        Ok(Self { count: sums[0], sum: sums[1], xor: xors[0] })
    }
}

/// Returns the error in the result of an exchange, if there is one.
fn wrong(count: u64, before: &Tally, after: &Tally, astray: u64) -> Option<String> {
    if before.count != count || after.count != count {
        Some(format!("of {count} particles, {} were there before the exchange and {} after", before.count, after.count))
    } else if before != after {
        Some("particles were altered on their way".into())
    } else if astray > 0 {
        Some(format!("{astray} particles are with a rank that does not own their places"))
    } else {
        None
    }
}

fn side(text: &str) -> Result<u32, String> {
    let side = text.parse().ok().filter(|side| (1..=SIDE_MAX).contains(side));
    side.ok_or_else(|| format!("give a number from 1 to {SIDE_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_is_found() {
        let particles = Source::Generator { side: 4, clusters: Clusters::Hernquist, seed: 3 }.particles(0..64).unwrap();
        let good = Tally::of(&particles);
        assert_eq!(wrong(64, &good, &Tally::of(&particles), 0), None);
        let mut turned = particles.clone();
        turned.reverse();
        assert_eq!(wrong(64, &good, &Tally::of(&turned), 0), None);
        assert!(wrong(64, &good, &Tally::of(&particles[1..]), 0).unwrap().ends_with("63 after"));
        assert!(wrong(65, &good, &good, 0).is_some());
        let mut doubled = particles.clone();
        doubled[0] = doubled[1];
        assert_eq!(wrong(64, &good, &Tally::of(&doubled), 0).unwrap(), "particles were altered on their way");
        assert!(wrong(64, &good, &good, 2).unwrap().starts_with("2 particles"));
    }

    #[test]
    fn a_generated_particle_does_not_depend_on_the_share_it_is_made_in() {
        for clusters in [Clusters::Hernquist, Clusters::Plummer] {
            let source = |seed| Source::Generator { side: 8, clusters, seed };
            let whole = source(9).particles(0..512).unwrap();
            assert_eq!(source(9).particles(100..300).unwrap(), whole[100..300]);
            assert!(whole.iter().all(Particle::is_sound));
            assert_ne!(source(10).particles(0..512).unwrap(), whole);
        }
    }
}
