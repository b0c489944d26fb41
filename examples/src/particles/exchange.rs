//! Particles go to the ranks that own their places (NSIM-ACE, section 6).
//!
//! A sender knows where each of its particles goes; a receiver knows neither from whom nor how many from each. So it is the senders who
//! share out the receiver's inbox: each adds its number to the receiver's `reserved` word, and what it finds there is its place. The
//! inbox holds all that the rank will own, so it cannot overflow: no core of a receiver takes part.
//!
//! | phase | does | ends |
//! |---|---|---|
//! | count | finds the owner of each particle | |
//! | ready | | barrier: in the paper, all are ready to receive |
//! | pack | reserves places; copies what leaves, receiver by receiver | |
//! | put | puts each receiver's particles to its inbox | when all is there |
//! | arrive | | barrier: what comes has come |
//! | unpack | copies what came to what stayed | |
//!
//! With [`Sync::Arrivals`], every put is followed by an addition to the receiver's `arrived` word, and the receiver waits for as many as it
//! must get: the domains say how many it will own. It then waits for those that send to it, not for all.
//!
//! With [`Sync::None`] no rank waits for another, as where the paper took all synchronization out of its simulated program: a rank unpacks as
//! many particles as it must get, whether they are there or not. After the last phase, when no time is taken any more, all meet, and what has
//! come by then is unpacked for good.

use pelago::prelude::*;
use pelago::{BarrierAlgorithm, Duration, Fetch, Instant};

use super::domains::Domains;
use super::particle::Particle;

/// Words between two that other ranks write: a cache line.
const LINE_WORDS: usize = 8;
const RESERVED: usize = 0;
const ARRIVED: usize = LINE_WORDS;

/// The phases, in order.
pub(crate) const PHASES: [&str; 6] = ["count", "ready", "pack", "put", "arrive", "unpack"];

/// For whom ranks wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Sync {
    /// For all, by barriers.
    Barriers(BarrierAlgorithm),
    /// For those that send to them.
    Arrivals,
    /// For nobody.
    None,
}

/// What computing costs in virtual time: the paper's straight lines through zero. On a real machine it costs what it costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// For each particle that a rank has, and besides for each that leaves.
    pub(crate) count: Duration,
    pub(crate) count_sent: Duration,
    /// For each that leaves.
    pub(crate) pack: Duration,
    /// For each that comes.
    pub(crate) unpack: Duration,
}

impl Costs {
    /// For an exchange that nobody times.
    pub(crate) const NONE: Self =
        Self { count: Duration::ZERO, count_sent: Duration::ZERO, pack: Duration::ZERO, unpack: Duration::ZERO };
}

/// What an exchange did on one rank.
pub(crate) struct Exchanged {
    /// How many particles were there, left, and came.
    pub(crate) owned: u64,
    pub(crate) sent: u64,
    pub(crate) came: u64,
    /// How long each phase took.
    pub(crate) phases: [Duration; PHASES.len()],
}

/// Sends the particles that others own to them, and takes in those that come. Collective.
///
/// Memory: those that leave once more, an inbox for all that the rank with most will own, and twelve bytes for each rank.
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

    // Particles at one place are counted together, so that domains know exactly what each rank will own.
    let due = domains.count(me.number()) - particles.len() as u64;
    match sync {
        Sync::Barriers(algorithm) => world.barrier_by(algorithm)?,
        Sync::None => {}
        Sync::Arrivals => {
            world.wait_until(post.words.local(), ARRIVED, |arrived| arrived >= due)?;
        }
    }
    watch.end();

    // Never more than the inbox holds, even if not all has come.
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

/// One rank's memory for the exchange, and its way to that of others.
struct Post<'w> {
    world: &'w World,
    inbox: Symmetric<'w, Particle>,
    words: Symmetric<'w, u64>,
    sync: Sync,
}

impl<'w> Post<'w> {
    /// Asks each receiver's memory for places; the answers are under way.
    fn reserve(&self, sorting: &Sorting) -> pelago::Result<Vec<(Rank, Fetch<'w, u64>)>> {
        let asked = sorting.receivers(self.world.rank()).map(|receiver| {
            let count = sorting.counts[receiver.index()];
            Ok((receiver, self.world.fetch_add(self.words.at(receiver, RESERVED), u64::from(count))?))
        });
        asked.collect()
    }

    /// Puts what leaves, each receiver's particles from its first reserved place on.
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

    /// Takes in the first particles of this rank's inbox.
    fn take(&self, count: usize, particles: &mut Vec<Particle>) {
        let stayed = particles.len();
        particles.resize(stayed + count, Particle::NOTHING);
        self.inbox.local().read(0, &mut particles[stayed..]);
    }
}

/// To whom particles go.
struct Sorting {
    /// The owner of each particle.
    owners: Vec<u32>,
    /// For each rank, how many of this rank's particles it owns, and where they begin among those that leave.
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

    /// The other ranks that get something, from the next one on: so not all begin with the same.
    fn receivers(&self, me: Rank) -> impl Iterator<Item = Rank> {
        let ranks = self.counts.len() as u64;
        let others = (1..ranks).map(move |step| Rank::new(((u64::from(me) + step) % ranks) as u32));
        others.filter(|rank| self.counts[rank.index()] > 0)
    }

    /// Leaves those that stay, and returns the others, receiver by receiver.
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

/// Takes the time of phases that follow each other.
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
