//! Domain decomposition: the part of the box that each rank owns. The box is cut in two recursively, so that each side has the share of particles,
//! or of work, of its ranks. The number of ranks is arbitrary.
//!
//! | shape | a cut is | a rank owns |
//! |---|---|---|
//! | boxes | a plane across the longest edge (orthogonal recursive bisection) | a box |
//! | curve | a point of the Peano–Hilbert curve through the box, as in GADGET-2 | a piece of the curve |
//!
//! A cut is found digit by digit: in each of four passes all ranks together sum the particles of a part, and their work, by eight bits of
//! their places; on the curve, which has finer places, in six passes. Thus no rank needs particles of other ranks. A rank needs additional 28
//! bytes per particle during the cuts, and 24 bytes per rank permanently.
//!
//! Domains of equal work hold different numbers of particles. As in GADGET-2, no rank holds more than a fixed multiple of the mean, for which it
//! has memory (`PartAllocFactor`): a cut that equal work would place beyond this bound is placed at the bound.

use std::ops::RangeInclusive;

use super::curve;
use super::particle::{PLACES, Particle, Place};

/// Bits of a place found in one pass.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Number of parts whose cuts are found together: 256 KiB of loads.
const PARTS_TOGETHER: usize = 64;

/// Maximum number of particles of a rank, in percent of the mean: 1.6 in the parameter files of GADGET-2.
const HELD_PERCENT_MAX: u64 = 160;

/// Object that is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// The box.
    Boxes,
    /// The curve: a place is a distance along it, in the first direction.
    Curve,
}

/// Quantity of which each rank should have the same share.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Balance<'a> {
    /// Particles.
    Particles,
    /// Work, given for each of this rank's particles, at least 1 each.
    Work(&'a [u32]),
}

/// Particles and their work; without balancing by work, each particle is one unit of work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    particles: u64,
    work: u64,
}

/// The owners of the parts of the box; the same on every rank.
#[derive(Debug, PartialEq)]
pub(crate) struct Domains {
    shape: Shape,
    ranks: u32,
    /// Cuts by number: cut `n` separates the ranks below `n` from the others.
    cuts: Vec<Cut>,
    /// Number of particles of each rank.
    counts: Vec<u64>,
}

/// A cut: particles with a place below `at` in `direction` are on the lower side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cut {
    at: u64,
    direction: u8,
}

/// A box of places, excluding its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Box3 {
    start: Place,
    end: Place,
}

/// A part of the box that remains to be cut.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    ranks: u32,
    extent: Box3,
    load: Load,
}

/// State of the search for a cut.
struct Search {
    direction: usize,
    /// Work that should be below the cut, and permitted numbers of particles below it.
    due: u64,
    allowed: RangeInclusive<u64>,
    /// Digits found so far, and the load below all places with this prefix.
    prefix: u64,
    below: Load,
    /// Load at the place itself, after all digits are found.
    there: Load,
}

impl Domains {
    /// Computes the domains of `ranks` ranks; `particles` are this rank's own. `sum` adds numbers over all ranks.
    pub(crate) fn new<E>(
        shape: Shape,
        ranks: u32,
        particles: &[Particle],
        balance: Balance<'_>,
        mut sum: impl FnMut(&mut [u64]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut total = [particles.len() as u64, (0..particles.len()).map(|index| balance.work(index)).sum()];
        sum(&mut total)?;
        let load = Load { particles: total[0], work: total[1] };
        let held_max = balance.held_max(load.particles, ranks);
        let mut domains = Self { shape, ranks, cuts: vec![Cut::default(); ranks as usize], counts: vec![0; ranks as usize] };
        let everything = Box3 { start: [0; 3], end: shape.end() };
        let places: Vec<_> = particles.iter().map(|particle| shape.place(particle)).collect();
        let mut parts = vec![Part { first: 0, ranks, extent: everything, load }];
        // The first rank of the part that contains each particle.
        let mut firsts = vec![0u32; particles.len()];
        loop {
            parts.retain(|part| {
                domains.counts[part.first as usize] = part.load.particles;
                part.ranks > 1
            });
            if parts.is_empty() {
                return Ok(domains);
            }
            let mut halves = Vec::with_capacity(2 * parts.len());
            for together in parts.chunks(PARTS_TOGETHER) {
                let searches: Vec<_> = together.iter().map(|part| Search::new(part, held_max)).collect();
                let found = find_cuts(shape, together, searches, &places, balance, &firsts, &mut sum)?;
                for (part, found) in together.iter().zip(found) {
                    halves.extend(domains.cut(part, &found));
                }
            }
            for (place, first) in places.iter().zip(&mut firsts) {
                if let Ok(index) = parts.binary_search_by_key(first, |part| part.first) {
                    *first = domains.side(place, parts[index].first, parts[index].ranks).0;
                }
            }
            parts = halves;
        }
    }

    /// Returns the rank that owns a particle.
    pub(crate) fn owner(&self, particle: &Particle) -> u32 {
        self.owner_of(&self.shape.place(particle))
    }

    /// Returns whether a particle is in the domain of a rank.
    pub(crate) fn holds(&self, rank: u32, particle: &Particle) -> bool {
        self.of(rank).holds(&self.shape.place(particle))
    }

    fn owner_of(&self, place: &Place) -> u32 {
        let (mut first, mut ranks) = (0, self.ranks);
        while ranks > 1 {
            (first, ranks) = self.side(place, first, ranks);
        }
        first
    }

    /// Returns the domain of a rank.
    fn of(&self, rank: u32) -> Box3 {
        let mut extent = Box3 { start: [0; 3], end: self.shape.end() };
        let (mut first, mut ranks) = (0, self.ranks);
        while ranks > 1 {
            let middle = first + ranks / 2;
            let [lower, upper] = extent.cut(self.cuts[middle as usize]);
            (extent, first, ranks) = if rank < middle { (lower, first, ranks / 2) } else { (upper, middle, ranks - ranks / 2) };
        }
        extent
    }

    /// Returns the number of particles that a rank owns.
    pub(crate) fn count(&self, rank: u32) -> u64 {
        self.counts[rank as usize]
    }

    /// Returns the maximum number of particles of a rank.
    pub(crate) fn count_max(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Returns the ranks on the side of the cut between these ranks that contains `place`.
    fn side(&self, place: &Place, first: u32, ranks: u32) -> (u32, u32) {
        let middle = first + ranks / 2;
        let cut = self.cuts[middle as usize];
        if place[cut.direction as usize] < cut.at { (first, ranks / 2) } else { (middle, ranks - ranks / 2) }
    }

    fn cut(&mut self, part: &Part, found: &Search) -> [Part; 2] {
        // All particles at the place of the cut are on the same side.
        let with_there = found.below.plus(found.there);
        let (at, below) = if found.distance(with_there) < found.distance(found.below) {
            (found.prefix + 1, with_there)
        } else {
            (found.prefix, found.below)
        };
        let middle = part.first + part.ranks / 2;
        let cut = Cut { at, direction: found.direction as u8 };
        self.cuts[middle as usize] = cut;
        let [lower, upper] = part.extent.cut(cut);
        [
            Part { first: part.first, ranks: part.ranks / 2, extent: lower, load: below },
            Part { first: middle, ranks: part.ranks - part.ranks / 2, extent: upper, load: part.load.minus(below) },
        ]
    }
}

impl Box3 {
    fn holds(&self, place: &Place) -> bool {
        (0..3).all(|d| (self.start[d]..self.end[d]).contains(&place[d]))
    }

    /// Returns the direction of the longest edge; the first of several.
    fn longest(&self) -> usize {
        (1..3).fold(0, |longest, d| if self.length(d) > self.length(longest) { d } else { longest })
    }

    fn length(&self, direction: usize) -> u64 {
        self.end[direction] - self.start[direction]
    }

    fn cut(mut self, cut: Cut) -> [Self; 2] {
        let mut upper = self;
        self.end[cut.direction as usize] = cut.at;
        upper.start[cut.direction as usize] = cut.at;
        [self, upper]
    }
}

/// Finds the cut of each part: the place below which the load has the required share.
fn find_cuts<E>(
    shape: Shape,
    parts: &[Part],
    mut searches: Vec<Search>,
    places: &[Place],
    balance: Balance<'_>,
    firsts: &[u32],
    sum: &mut impl FnMut(&mut [u64]) -> Result<(), E>,
) -> Result<Vec<Search>, E> {
    let mut sums = vec![0; parts.len() * DIGITS * LOAD_WORDS];
    for shift in (0..shape.end()[0].ilog2()).step_by(DIGIT_BITS as usize).rev() {
        sums.fill(0);
        for (number, (place, first)) in places.iter().zip(firsts).enumerate() {
            let Ok(index) = parts.binary_search_by_key(first, |part| part.first) else { continue };
            let place = place[searches[index].direction];
            if place >> shift >> DIGIT_BITS == searches[index].prefix {
                let at = LOAD_WORDS * (index * DIGITS + (place >> shift) as usize % DIGITS);
                sums[at] += 1;
                sums[at + 1] += balance.work(number);
            }
        }
        sum(&mut sums)?;
        for (search, sums) in searches.iter_mut().zip(sums.chunks(DIGITS * LOAD_WORDS)) {
            search.narrow(sums);
        }
    }
    // The edge of a part without particles is cut in the middle.
    for (search, part) in searches.iter_mut().zip(parts).filter(|(_, part)| part.load.particles == 0) {
        search.prefix = part.extent.start[search.direction] + part.extent.length(search.direction) / 2;
    }
    Ok(searches)
}

/// Number of words per load in the sums over all ranks.
const LOAD_WORDS: usize = 2;

impl Shape {
    /// Returns the end of the initial part, which begins at 0.
    fn end(self) -> Place {
        match self {
            Self::Boxes => [PLACES; 3],
            Self::Curve => [curve::LENGTH, 1, 1],
        }
    }

    fn place(self, particle: &Particle) -> Place {
        match self {
            Self::Boxes => particle.place(),
            Self::Curve => [curve::distance(&particle.place()), 0, 0],
        }
    }
}

impl Balance<'_> {
    fn work(self, index: usize) -> u64 {
        match self {
            Self::Particles => 1,
            Self::Work(works) => works[index].into(),
        }
    }

    /// Returns the maximum number of particles that a rank may hold.
    fn held_max(self, particles: u64, ranks: u32) -> u64 {
        match self {
            Self::Particles => particles,
            Self::Work(_) => (particles * HELD_PERCENT_MAX).div_ceil(100 * u64::from(ranks)),
        }
    }
}

impl Load {
    fn plus(self, other: Self) -> Self {
        Self { particles: self.particles + other.particles, work: self.work + other.work }
    }

    fn minus(self, other: Self) -> Self {
        Self { particles: self.particles - other.particles, work: self.work - other.work }
    }
}

impl Search {
    fn new(part: &Part, held_max: u64) -> Self {
        let [lower, upper] = [part.ranks / 2, part.ranks - part.ranks / 2].map(u64::from);
        let due = u128::from(part.load.work) * u128::from(lower) / u128::from(lower + upper);
        let allowed = part.load.particles.saturating_sub(upper * held_max)..=lower * held_max;
        let (below, there) = (Load::default(), Load::default());
        Self { direction: part.extent.longest(), due: due as u64, allowed, prefix: 0, below, there }
    }

    /// Finds the next digit: the last one at which the load below is within the required work and the permitted numbers of particles.
    fn narrow(&mut self, sums: &[u64]) {
        let load = |digit: usize| Load { particles: sums[LOAD_WORDS * digit], work: sums[LOAD_WORDS * digit + 1] };
        let mut digit = 0;
        while digit + 1 < DIGITS && self.reaches(self.below.plus(load(digit))) {
            self.below = self.below.plus(load(digit));
            digit += 1;
        }
        self.prefix = self.prefix << DIGIT_BITS | digit as u64;
        self.there = load(digit);
    }

    /// Returns whether the cut is at or above a place with this load below it.
    fn reaches(&self, below: Load) -> bool {
        (below.work <= self.due || below.particles < *self.allowed.start()) && below.particles <= *self.allowed.end()
    }

    /// Returns the error of a cut with the load `below`: first the particles outside the permitted numbers, then the difference of work.
    fn distance(&self, below: Load) -> (u64, u64) {
        let missing = self.allowed.start().saturating_sub(below.particles);
        let surplus = below.particles.saturating_sub(*self.allowed.end());
        (missing + surplus, below.work.abs_diff(self.due))
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::{Clusters, Source};
    use super::*;
    use proptest::prelude::*;

    fn alone(_: &mut [u64]) -> Result<(), std::convert::Infallible> {
        Ok(())
    }

    fn at(position: [f64; 3]) -> Particle {
        Particle { id: 0, position, velocity: [0.0; 3], mass: 0.0 }
    }

    /// Returns places distributed over the box, including its ends.
    fn grid() -> impl Iterator<Item = Place> {
        const STEP: u64 = (PLACES - 1) / 5;
        (0..216).map(|number| [number % 6, number / 6 % 6, number / 36].map(|step| step * STEP))
    }

    /// Checks that domains partition the box and hold the stated particles; returns the counts for boxes.
    fn counts(ranks: u32, particles: &[Particle]) -> Vec<u64> {
        if ranks <= 8 {
            counts_by(Shape::Curve, Balance::Particles, ranks, particles);
        }
        counts_by(Shape::Boxes, Balance::Particles, ranks, particles)
    }

    fn counts_by(shape: Shape, balance: Balance<'_>, ranks: u32, particles: &[Particle]) -> Vec<u64> {
        let Ok(domains) = Domains::new(shape, ranks, particles, balance, alone);
        let mut counts = vec![0; ranks as usize];
        for particle in particles {
            let owner = domains.owner(particle);
            let holding: Vec<u32> = (0..ranks).filter(|&rank| domains.holds(rank, particle)).collect();
            assert_eq!(holding, [owner]);
            counts[owner as usize] += 1;
        }
        assert_eq!((0..ranks).map(|rank| domains.count(rank)).collect::<Vec<_>>(), counts);
        assert_eq!(domains.count_max(), counts.iter().copied().max().unwrap());
        for place in grid() {
            let place = if shape == Shape::Curve { [curve::distance(&place), 0, 0] } else { place };
            let holding: Vec<u32> = (0..ranks).filter(|&rank| domains.of(rank).holds(&place)).collect();
            assert_eq!(holding, [domains.owner_of(&place)]);
        }
        counts
    }

    #[test]
    fn work_is_shared_out_as_far_as_memory_goes() {
        let particles = Source::Generator { side: 16, clusters: Clusters::Plummer, seed: 1 }.particles(0..4096).unwrap();
        for shape in [Shape::Boxes, Shape::Curve] {
            for ranks in [2, 5, 8] {
                // A tenth of the particles has nearly all work.
                let works: Vec<u32> = (0..4096).map(|number| if number % 10 == 0 { 1000 } else { 1 }).collect();
                let counts = counts_by(shape, Balance::Work(&works), ranks, &particles);
                let held_max = (4096 * HELD_PERCENT_MAX).div_ceil(100 * u64::from(ranks));
                assert!(counts.iter().all(|&count| count <= held_max), "{shape:?}, {ranks} ranks: {counts:?}");
                let alike = counts_by(shape, Balance::Work(&vec![7; 4096]), ranks, &particles);
                assert_eq!(alike, counts_by(shape, Balance::Particles, ranks, &particles), "{shape:?}, {ranks} ranks");
            }
            let works: Vec<u32> = particles.iter().map(|particle| if particle.position[0] < 0.5 { 3 } else { 2 }).collect();
            let Ok(domains) = Domains::new(shape, 4, &particles, Balance::Work(&works), alone);
            let mut work = [0; 4];
            particles.iter().zip(&works).for_each(|(particle, &own)| work[domains.owner(particle) as usize] += u64::from(own));
            let mean = work.iter().sum::<u64>() / 4;
            assert!(work.iter().all(|own| own.abs_diff(mean) < 20), "{shape:?}: {work:?}");
        }
    }

    #[test]
    fn every_rank_gets_as_many_as_any_other() {
        let particles = Source::Generator { side: 16, clusters: Clusters::Hernquist, seed: 1 }.particles(0..4096).unwrap();
        for ranks in [1, 2, 3, 5, 7, 8, 13, 32, 100, 300] {
            let counts = counts(ranks, &particles);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            // Each level rounds by less than one.
            assert!(most - least <= u64::from(ranks.ilog2()) + 1, "{ranks} ranks: from {least} to {most}");
        }
    }

    #[test]
    fn few_particles_and_particles_at_one_place_have_owners() {
        for ranks in [1, 2, 3, 8, 17] {
            assert_eq!(counts(ranks, &[]), vec![0; ranks as usize]);
            assert_eq!(counts(ranks, &[at([0.9; 3]); 10]).iter().sum::<u64>(), 10);
            assert_eq!(counts(ranks, &[at([0.0; 3]), at([0.999_999_999_99; 3])]).iter().sum::<u64>(), 2);
        }
    }

    /// Particles at a few places, many of them equal, distributed over several ranks.
    #[test]
    fn the_split_among_ranks_does_not_matter() {
        let particles = Source::Generator { side: 8, clusters: Clusters::Hernquist, seed: 5 }.particles(0..512).unwrap();
        let Ok(whole) = Domains::new(Shape::Boxes, 6, &particles, Balance::Particles, alone);
        let shares: Vec<&[Particle]> = particles.chunks(200).collect();
        // Threads are the ranks; the sum over all ranks is built under a lock, between barriers.
        let barrier = std::sync::Barrier::new(shares.len());
        let total = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for share in shares {
                let (barrier, total, whole) = (&barrier, &total, &whole);
                scope.spawn(move || {
                    let Ok(domains) = Domains::new(Shape::Boxes, 6, share, Balance::Particles, |numbers| {
                        let mut all = total.lock().unwrap();
                        all.resize(numbers.len(), 0);
                        all.iter_mut().zip(&*numbers).for_each(|(sum, number): (&mut u64, _)| *sum += number);
                        drop(all);
                        barrier.wait();
                        numbers.copy_from_slice(&total.lock().unwrap());
                        if barrier.wait().is_leader() {
                            total.lock().unwrap().clear();
                        }
                        barrier.wait();
                        Ok::<(), std::convert::Infallible>(())
                    });
                    assert_eq!(&domains, whole);
                });
            }
        });
    }

    proptest! {
        #[test]
        fn domains_part_the_box(
            ranks in 1u32..40,
            positions in proptest::collection::vec([0u8..4, 0u8..4, 0u8..4], 0..60),
        ) {
            let particles: Vec<_> = positions.iter().map(|position| at(position.map(|x| f64::from(x) / 4.0))).collect();
            counts(ranks, &particles);
        }
    }
}
