//! The particle exchange after a domain decomposition, as in a gravitational N-body run (NSIM-ACE, section 6).
//!
//! Particles are spread over the ranks by orthogonal recursive bisection. They move; the box is cut anew; each goes to the rank that owns
//! its place now. That last step is timed. Then all ranks together check that every particle arrived once, unaltered, and where it belongs.
//! What they are and where they go depends on neither the number of ranks nor the network.
//!
//! The paper took two snapshots of a run of GADGET-2 with 128³ particles; here a generator makes clusters, or a file brings them.
//!
//! | file | holds |
//! |---|---|
//! | `particle` | the record of 48 bytes |
//! | `random` | random numbers that are the same everywhere |
//! | `source` | the generator, and files |
//! | `domains` | orthogonal recursive bisection |
//! | `exchange` | the exchange, phase by phase |

mod domains;
mod exchange;
mod particle;
mod random;
mod source;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use pelago::{BarrierAlgorithm, Duration, World};

use crate::usage::{cost, exit, finite, parse};
use domains::Domains;
use exchange::{Costs, Exchanged, PHASES, exchange};
use particle::Particle;
use source::{SIDE_MAX, Source};

/// Particles move, the box is cut anew, and each particle goes to the rank that owns its place now
#[derive(Parser)]
#[command(name = "particles")]
struct Arguments {
    /// Make N*N*N particles
    #[arg(long, value_name = "N", default_value_t = 128, allow_negative_numbers = true, value_parser = side)]
    side: u32,
    /// Which particles are made
    #[arg(long, value_name = "NUMBER", default_value_t = 1, allow_negative_numbers = true)]
    seed: u64,
    /// Read them instead: records of 48 bytes, little-endian, of id (u64), place (3 f64, from 0 on and below 1), velocity (3 f32), mass (f32)
    #[arg(long, value_name = "PATH", conflicts_with_all = ["side", "seed"])]
    file: Option<PathBuf>,
    /// For how long they move
    #[arg(long, value_name = "TIME", default_value_t = 1.0, allow_negative_numbers = true, value_parser = finite::<f64>)]
    dt: f64,
    /// No barriers: each rank waits for the particles that come to it, not for all ranks
    #[arg(long)]
    no_sync: bool,
    /// The barrier between phases: ring, recursive-doubling, dissemination or central
    #[arg(long, value_name = "NAME", default_value_t = BarrierAlgorithm::RecursiveDoubling)]
    algorithm: BarrierAlgorithm,
    /// In simulated time: nanoseconds to find the owner of a particle, for each that a rank has
    // The paper draws its three lines but does not print their slopes: these are guesses for a core of its time.
    #[arg(long, value_name = "NS", default_value_t = 80.0, allow_negative_numbers = true, value_parser = cost)]
    cost_count: f64,
    /// In simulated time: nanoseconds to pack a particle that leaves
    #[arg(long, value_name = "NS", default_value_t = 60.0, allow_negative_numbers = true, value_parser = cost)]
    cost_pack: f64,
    /// In simulated time: nanoseconds to unpack a particle that comes
    #[arg(long, value_name = "NS", default_value_t = 60.0, allow_negative_numbers = true, value_parser = cost)]
    cost_unpack: f64,
}

/// Runs one rank, as the arguments say.
pub fn main(arguments: Vec<String>) -> ExitCode {
    let arguments = parse::<Arguments>(&arguments);
    let result = pelago::run(|world| match &arguments {
        Ok(arguments) => run(world, arguments),
        Err(stop) => Ok(stop.tell("particles", world)),
    });
    exit("particles", result)
}

/// What is wrong with these arguments, in one line; with a file too, as far as it is seen from here.
///
/// # Errors
/// Something is.
pub fn check(arguments: &[String], _ranks: u32) -> Result<(), String> {
    match parse::<Arguments>(arguments) {
        Ok(arguments) => arguments.source().count().map(drop),
        Err(stop) => stop.wrong(),
    }
}

impl Arguments {
    fn source(&self) -> Source {
        match &self.file {
            Some(path) => Source::File(path.clone()),
            None => Source::Generator { side: self.side, seed: self.seed },
        }
    }

    fn costs(&self) -> Costs {
        let nanoseconds = |cost: f64| Duration::from_seconds(cost * 1e-9);
        Costs { count: nanoseconds(self.cost_count), pack: nanoseconds(self.cost_pack), unpack: nanoseconds(self.cost_unpack) }
    }
}

fn run(world: &World, arguments: &Arguments) -> pelago::Result<ExitCode> {
    let source = arguments.source();
    let (count, own) = share(&source, world);
    if let Some(wrong) = first_failure(world, count, own.as_ref().err())? {
        return Ok(tell(wrong));
    }
    let mut particles = own.unwrap_or_default();
    let sync = (!arguments.no_sync).then_some(arguments.algorithm);
    let domains = decompose(world, &particles)?;
    exchange(world, &mut particles, &domains, sync, &Costs::NONE)?;
    particles.iter_mut().for_each(|particle| particle.advance(arguments.dt));

    let before = Tally::new(world, &particles)?;
    let domains = decompose(world, &particles)?;
    let exchanged = exchange(world, &mut particles, &domains, sync, &arguments.costs())?;
    let after = Tally::new(world, &particles)?;
    let astray = astray(world, &particles, &domains)?;
    if let Some(wrong) = wrong(count, &before, &after, astray) {
        // All ranks know it; one says it.
        return Ok(tell(if world.rank().number() == 0 { Some(wrong) } else { None }));
    }
    let report = report(world, &exchanged, &after)?;
    if world.rank().number() == 0 {
        // A reader that has seen enough is no error.
        let _ = std::io::stdout().write_all(report.as_bytes());
    }
    Ok(ExitCode::SUCCESS)
}

/// How many particles there are, and this rank's share of them, before anybody knows who owns which place.
fn share(source: &Source, world: &World) -> (u64, Result<Vec<Particle>, String>) {
    let count = match source.count() {
        Ok(count) => count,
        Err(wrong) => return (0, Err(wrong)),
    };
    let (rank, size) = (u64::from(world.rank()), u64::from(world.size()));
    (count, source.particles(count * rank / size..count * (rank + 1) / size))
}

/// What is wrong with what the ranks have read, if anything is, for the first of those to say that know it.
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

/// Says what is wrong, if it is this rank's to say; what a rank exits with.
fn tell(line: Option<String>) -> ExitCode {
    if let Some(line) = line {
        // Where nobody listens any more, nothing is lost.
        let _ = writeln!(std::io::stderr(), "particles: {line}");
    }
    ExitCode::FAILURE
}

fn decompose(world: &World, particles: &[Particle]) -> pelago::Result<Domains> {
    Domains::new(world.size(), particles, |numbers| world.allreduce(numbers, |one, other| one + other))
}

/// How many particles are where they do not belong.
fn astray(world: &World, particles: &[Particle], domains: &Domains) -> pelago::Result<u64> {
    let mine = domains.of(world.rank().number());
    let mut astray = [particles.iter().filter(|particle| !mine.holds(&particle.place())).count() as u64];
    world.allreduce(&mut astray, |one, other| one + other)?;
    Ok(astray[0])
}

/// What does not depend on who has which particle: how many there are, and the sum and the exclusive or of their hashes.
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

    /// That of all ranks together.
    fn new(world: &World, particles: &[Particle]) -> pelago::Result<Self> {
        let own = Self::of(particles);
        let (mut sums, mut xors) = ([own.count, own.sum], [own.xor]);
        world.allreduce(&mut sums, u64::wrapping_add)?;
        world.allreduce(&mut xors, |one, other| one ^ other)?;
        Ok(Self { count: sums[0], sum: sums[1], xor: xors[0] })
    }
}

/// What is wrong with what came of an exchange.
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

/// The time of each phase, on the slowest rank and on average, and what moved.
fn report(world: &World, exchanged: &Exchanged, tally: &Tally) -> pelago::Result<String> {
    let mut slowest = [0; PHASES.len() + 1];
    for (time, phase) in slowest.iter_mut().zip(exchanged.phases) {
        *time = phase.as_picoseconds();
    }
    slowest[PHASES.len()] = slowest.iter().sum();
    let (mut all, mut sent) = (slowest, [exchanged.sent]);
    world.allreduce(&mut slowest, u64::max)?;
    world.allreduce(&mut all, |one, other| one + other)?;
    world.allreduce(&mut sent, |one, other| one + other)?;
    let milliseconds = |picoseconds: u64| Duration::from_picoseconds(picoseconds).as_seconds() * 1e3;
    let mut report = format!("{:<10}{:>12}{:>12}\n", "phase", "slowest ms", "mean ms");
    for (index, name) in PHASES.into_iter().chain(["total"]).enumerate() {
        let mean = milliseconds(all[index]) / f64::from(world.size());
        report += &format!("{name:<10}{:>12.3}{mean:>12.3}\n", milliseconds(slowest[index]));
    }
    report += &format!("ranks {} particles {} moved {} checksum {:016x}\n", world.size(), tally.count, sent[0], tally.sum);
    Ok(report)
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
        let particles = Source::Generator { side: 4, seed: 3 }.particles(0..64).unwrap();
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
        let source = Source::Generator { side: 8, seed: 9 };
        let whole = source.particles(0..512).unwrap();
        assert_eq!(source.particles(100..300).unwrap(), whole[100..300]);
        assert!(whole.iter().all(Particle::is_sound));
        assert_ne!(Source::Generator { side: 8, seed: 10 }.particles(0..512).unwrap(), whole);
    }
}
