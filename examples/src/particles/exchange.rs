//! The exchange: particles move to the ranks that own their places (NSIM-ACE, section 6).
//!
//! A sender knows the destination of each of its particles, but a receiver knows neither its senders nor their numbers of particles. Therefore the
//! senders divide the receiver's inbox: each adds its count to the receiver's `reserved` word by a remote atomic, and the old value is its offset.
//! The inbox has room for all particles that the rank will own, so that it cannot overflow. No core of a receiver takes part.
//!
//! | phase | does | ends |
//! |---|---|---|
//! | count | finds the owner of each particle | |
//! | ready | | barrier: in the paper, all ranks are ready to receive |
//! | pack | reserves room; copies leaving particles, receiver by receiver | |
//! | put | puts each receiver's particles into its inbox | at completion of the puts |
//! | arrive | | barrier: all particles have arrived |
//! | unpack | appends arrived particles to the remaining ones | |
//!
//! With [`Sync::Arrivals`], every put is followed by an addition to the receiver's `arrived` word, and the receiver waits for the expected number
//! of particles, which follows from the domains. It thus waits only for its senders, not for all ranks.
//!
//! With [`Sync::None`] no rank waits for another, like the paper's simulated program without synchronization: a rank unpacks the expected number of
//! particles, whether they have arrived or not. After the last phase, outside the measurement, all ranks call a barrier, and the arrived particles
//! are unpacked again.

use pelago::prelude::*;
use pelago::{BarrierAlgorithm, Duration, Fetch, Instant};

use super::domains::Domains;
use super::particle::Particle;

/// Distance between two words that other ranks write: a cache line.
const LINE_WORDS: usize = 8;
const RESERVED: usize = 0;
const ARRIVED: usize = LINE_WORDS;

/// The phases, in order.
pub(crate) const PHASES: [&str; 6] = ["count", "ready", "pack", "put", "arrive", "unpack"];

/// Ranks for which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sync {
    /// All ranks, by barriers.
    Barriers(BarrierAlgorithm),
    /// The senders to this rank.
    Arrivals,
    /// No ranks.
    None,
}

/// Costs of computing in virtual time: the paper's straight lines through zero. They have no effect on a real machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Time per particle of a rank, and additional time per leaving particle.
    pub(crate) count: Duration,
    pub(crate) count_sent: Duration,
    /// Time per leaving particle.
    pub(crate) pack: Duration,
    /// Time per arriving particle.
    pub(crate) unpack: Duration,
}

impl Costs {
    /// Costs of an exchange that is not timed.
    pub(crate) const NONE: Self =
        Self { count: Duration::ZERO, count_sent: Duration::ZERO, pack: Duration::ZERO, unpack: Duration::ZERO };
}

/// Result of an exchange on one rank.
pub(crate) struct Exchanged {
    /// Number of particles before, leaving, and arriving.
    pub(crate) owned: u64,
    pub(crate) sent: u64,
    pub(crate) came: u64,
    /// Duration of each phase.
    pub(crate) phases: [Duration; PHASES.len()],
}

/// Sends particles to the ranks that own them, and takes in the arriving ones. Collective.
///
/// Memory: a copy of the leaving particles, an inbox for the maximum number of particles that a rank will own, and twelve bytes per rank.
pub(crate) fn exchange(
    world: &World,
    particles: &mut Vec<Particle>,
    domains: &Domains,
    sync: Sync,
    costs: &Costs,
) -> pelago::Result<Exchanged> {
    let capacity = domains.count_max() as usize;
    let post = Post { world, inbox: world.alloc(capacity)?, words: world.alloc(2 * LINE_WORDS)?, sync };
    world.barrier()?;
    let mut watch = Watch { world, since: world.now(), phases: Vec::with_capacity(PHASES.len()) };

    let me = world.rank();
    let owned = particles.len() as u64;
    let sorting = Sorting::new(particles, domains, me, world.size());
    world.compute(times(costs.count, owned));
    world.compute(times(costs.count_sent, owned - u64::from(sorting.counts[me.index()])));
    watch.end();

    if let Sync::Barriers(algorithm) = sync {
        world.barrier_by(algorithm)?;
    }
    watch.end();

    let reserved = post.reserve(&sorting)?;
    let leaving = sorting.part(particles, me);
    world.compute(times(costs.pack, leaving.len() as u64));
    watch.end();

    post.send(&sorting, &leaving, reserved)?;
    world.quiet()?;
    watch.end();

    // All particles at one place have the same owner, so that the domains state exactly how many particles each rank will own.
    let due = domains.count(me.number()) - particles.len() as u64;
    match sync {
        Sync::Barriers(algorithm) => world.barrier_by(algorithm)?,
        Sync::None => {}
        Sync::Arrivals => {
            world.wait_until(post.words.local(), ARRIVED, |arrived| arrived >= due)?;
        }
    }
    watch.end();

    // At most the capacity of the inbox, even if not all particles have arrived.
    let came = due.min(capacity as u64);
    let stayed = particles.len();
    post.take(came as usize, particles);
    world.compute(times(costs.unpack, came));
    watch.end();
    if sync == Sync::None {
        world.barrier()?;
        particles.truncate(stayed);
        post.take(came as usize, particles);
    }
    let phases = watch.phases.try_into().expect("each phase was ended once");
    Ok(Exchanged { owned, sent: leaving.len() as u64, came, phases })
}

/// One rank's memory for the exchange, and access to that of other ranks.
struct Post<'w> {
    world: &'w World,
    inbox: Symmetric<'w, Particle>,
    words: Symmetric<'w, u64>,
    sync: Sync,
}

impl<'w> Post<'w> {
    /// Reserves room at each receiver by an atomic; the results are in flight.
    fn reserve(&self, sorting: &Sorting) -> pelago::Result<Vec<(Rank, Fetch<'w, u64>)>> {
        let asked = sorting.receivers(self.world.rank()).map(|receiver| {
            let count = sorting.counts[receiver.index()];
            Ok((receiver, self.world.fetch_add(self.words.at(receiver, RESERVED), u64::from(count))?))
        });
        asked.collect()
    }

    /// Puts the leaving particles, each receiver's from the first reserved slot on.
    fn send(&self, sorting: &Sorting, leaving: &[Particle], reserved: Vec<(Rank, Fetch<'w, u64>)>) -> pelago::Result<()> {
        for (receiver, place) in reserved {
            let (first, count) = (sorting.starts[receiver.index()] as usize, sorting.counts[receiver.index()] as usize);
            let place = place.wait()? as usize;
            assert!(place + count <= self.inbox.len(), "the inbox holds all that rank {receiver} will own");
            let sent = self.world.put(self.inbox.at(receiver, place), &leaving[first..first + count])?;
            if self.sync == Sync::Arrivals {
                self.world.after(&sent).add(self.words.at(receiver, ARRIVED), count as u64)?;
            }
        }
        Ok(())
    }

    /// Appends the first particles of this rank's inbox.
    fn take(&self, count: usize, particles: &mut Vec<Particle>) {
        let stayed = particles.len();
        particles.resize(stayed + count, Particle::NOTHING);
        self.inbox.local().read(0, &mut particles[stayed..]);
    }
}

/// Destinations of the particles.
struct Sorting {
    /// The owner of each particle.
    owners: Vec<u32>,
    /// For each rank, the number of this rank's particles that it owns, and their start among the leaving ones.
    counts: Vec<u32>,
    starts: Vec<u32>,
}

impl Sorting {
    fn new(particles: &[Particle], domains: &Domains, me: Rank, ranks: u32) -> Self {
        let owners: Vec<u32> = particles.iter().map(|particle| domains.owner(particle)).collect();
        let mut counts = vec![0; ranks as usize];
        owners.iter().for_each(|&owner| counts[owner as usize] += 1);
        let mut end = 0;
        let starts = (0..ranks).zip(&counts).map(|(rank, &count)| {
            let leaving = if rank == me.number() { 0 } else { count };
            end += leaving;
            end - leaving
        });
        Self { starts: starts.collect(), owners, counts }
    }

    /// Returns the other ranks that receive particles, from the next one on, so that ranks start with different receivers.
    fn receivers(&self, me: Rank) -> impl Iterator<Item = Rank> {
        let ranks = self.counts.len() as u64;
        let others = (1..ranks).map(move |step| Rank::new(((u64::from(me) + step) % ranks) as u32));
        others.filter(|rank| self.counts[rank.index()] > 0)
    }

    /// Keeps the remaining particles, and returns the leaving ones, receiver by receiver.
    fn part(&self, particles: &mut Vec<Particle>, me: Rank) -> Vec<Particle> {
        let stay = self.counts[me.index()] as usize;
        let mut leaving = vec![Particle::NOTHING; particles.len() - stay];
        let (mut next, mut stayed) = (self.starts.clone(), 0);
        for (index, &owner) in self.owners.iter().enumerate() {
            let particle = particles[index];
            if owner == me.number() {
                particles[stayed] = particle;
                stayed += 1;
            } else {
                leaving[next[owner as usize] as usize] = particle;
                next[owner as usize] += 1;
            }
        }
        particles.truncate(stay);
        leaving
    }
}

/// Times consecutive phases.
struct Watch<'w> {
    world: &'w World,
    since: Instant,
    phases: Vec<Duration>,
}

impl Watch<'_> {
    fn end(&mut self) {
        let now = self.world.now();
        self.phases.push(now - self.since);
        self.since = now;
    }
}

fn times(cost: Duration, count: u64) -> Duration {
    Duration::from_picoseconds(cost.as_picoseconds().saturating_mul(count))
}
