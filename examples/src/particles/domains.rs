//! Orthogonal recursive bisection: the box is cut in two again and again, each time across its longest edge, so that each side has as
//! many particles as its ranks are due. Any number of ranks.
//!
//! A cut is found digit by digit: in each of four passes all ranks together count the particles of a part by eight bits of their
//! places. So no rank needs more particles than its own; beside them it keeps four bytes for each while cuts are made, and for ever
//! 24 bytes for each rank.

use super::particle::{PLACES, Particle, Place};

/// Bits of a place that one pass finds.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Parts whose cuts are found together: 128 KiB of counts.
const PARTS_TOGETHER: usize = 64;

/// Who owns which part of the box; the same on every rank.
#[derive(Debug, PartialEq)]
pub(crate) struct Domains {
    ranks: u32,
    /// A cut parts the ranks below a number from those from it on, which is so a number for the cut.
    cuts: Vec<Cut>,
    /// How many particles each rank owns.
    counts: Vec<u64>,
}

/// Particles with a place below `at` in `direction` are on the lower side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cut {
    at: u64,
    direction: u8,
}

/// A box of places; its ends are outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Box3 {
    start: Place,
    end: Place,
}

/// A part of the box that is still to be cut.
#[derive(Clone, Copy)]
struct Part {
    first: u32,
    ranks: u32,
    extent: Box3,
    particles: u64,
}

/// What is known of a cut while it is found.
struct Search {
    direction: usize,
    /// How many particles are to lie below.
    due: u64,
    /// The digits found, and how many particles are below all places that begin with them.
    prefix: u64,
    below: u64,
    /// How many particles are at the place, when all digits are found.
    there: u64,
}

impl Domains {
    /// The domains of so many ranks for the particles of which these are this rank's own. `sum` adds up numbers over all ranks.
    pub(crate) fn new<E>(
        ranks: u32,
        particles: &[Particle],
        mut sum: impl FnMut(&mut [u64]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut total = [particles.len() as u64];
        sum(&mut total)?;
        let mut domains = Self { ranks, cuts: vec![Cut::default(); ranks as usize], counts: vec![0; ranks as usize] };
        let everything = Box3 { start: [0; 3], end: [PLACES; 3] };
        let mut parts = vec![Part { first: 0, ranks, extent: everything, particles: total[0] }];
        // The first rank of the part in which each particle is.
        let mut firsts = vec![0u32; particles.len()];
        loop {
            parts.retain(|part| {
                domains.counts[part.first as usize] = part.particles;
                part.ranks > 1
            });
            if parts.is_empty() {
                return Ok(domains);
            }
            let mut halves = Vec::with_capacity(2 * parts.len());
            for together in parts.chunks(PARTS_TOGETHER) {
                for (part, found) in together.iter().zip(find_cuts(together, particles, &firsts, &mut sum)?) {
                    halves.extend(domains.cut(part, &found));
                }
            }
            for (particle, first) in particles.iter().zip(&mut firsts) {
                if let Ok(index) = parts.binary_search_by_key(first, |part| part.first) {
                    *first = domains.side(&particle.place(), parts[index].first, parts[index].ranks).0;
                }
            }
            parts = halves;
        }
    }

    /// The rank that owns a place.
    pub(crate) fn owner(&self, place: &Place) -> u32 {
        let (mut first, mut ranks) = (0, self.ranks);
        while ranks > 1 {
            (first, ranks) = self.side(place, first, ranks);
        }
        first
    }

    /// What a rank owns.
    pub(crate) fn of(&self, rank: u32) -> Box3 {
        let mut extent = Box3 { start: [0; 3], end: [PLACES; 3] };
        let (mut first, mut ranks) = (0, self.ranks);
        while ranks > 1 {
            let middle = first + ranks / 2;
            let [lower, upper] = extent.cut(self.cuts[middle as usize]);
            (extent, first, ranks) = if rank < middle { (lower, first, ranks / 2) } else { (upper, middle, ranks - ranks / 2) };
        }
        extent
    }

    /// How many particles a rank owns.
    pub(crate) fn count(&self, rank: u32) -> u64 {
        self.counts[rank as usize]
    }

    /// How many particles the rank owns that owns most.
    pub(crate) fn count_max(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Which side of the cut of these ranks a place is on: the ranks there.
    fn side(&self, place: &Place, first: u32, ranks: u32) -> (u32, u32) {
        let middle = first + ranks / 2;
        let cut = self.cuts[middle as usize];
        if place[cut.direction as usize] < cut.at { (first, ranks / 2) } else { (middle, ranks - ranks / 2) }
    }

    fn cut(&mut self, part: &Part, found: &Search) -> [Part; 2] {
        // Particles at the place of the cut are on one side, all together.
        let with_them = (found.below + found.there).abs_diff(found.due) < found.below.abs_diff(found.due);
        let (at, below) = if with_them { (found.prefix + 1, found.below + found.there) } else { (found.prefix, found.below) };
        let middle = part.first + part.ranks / 2;
        let cut = Cut { at, direction: found.direction as u8 };
        self.cuts[middle as usize] = cut;
        let [lower, upper] = part.extent.cut(cut);
        [
            Part { first: part.first, ranks: part.ranks / 2, extent: lower, particles: below },
            Part { first: middle, ranks: part.ranks - part.ranks / 2, extent: upper, particles: part.particles - below },
        ]
    }
}

impl Box3 {
    pub(crate) fn holds(&self, place: &Place) -> bool {
        (0..3).all(|d| (self.start[d]..self.end[d]).contains(&place[d]))
    }

    /// The direction of the longest edge; the first of several.
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

/// Finds, for each part, the place of the particle before which as many are as are due below the cut.
fn find_cuts<E>(
    parts: &[Part],
    particles: &[Particle],
    firsts: &[u32],
    sum: &mut impl FnMut(&mut [u64]) -> Result<(), E>,
) -> Result<Vec<Search>, E> {
    let mut searches: Vec<Search> = parts.iter().map(Search::new).collect();
    let mut counts = vec![0; parts.len() * DIGITS];
    for shift in (0..PLACES.ilog2()).step_by(DIGIT_BITS as usize).rev() {
        counts.fill(0);
        for (particle, first) in particles.iter().zip(firsts) {
            let Ok(index) = parts.binary_search_by_key(first, |part| part.first) else { continue };
            let place = particle.place()[searches[index].direction];
            if place >> shift >> DIGIT_BITS == searches[index].prefix {
                counts[index * DIGITS + (place >> shift) as usize % DIGITS] += 1;
            }
        }
        sum(&mut counts)?;
        for (search, counts) in searches.iter_mut().zip(counts.chunks(DIGITS)) {
            search.narrow(counts);
        }
    }
    // Where no particle decides, the edge is cut in the middle.
    for (search, part) in searches.iter_mut().zip(parts).filter(|(_, part)| part.particles == 0) {
        search.prefix = part.extent.start[search.direction] + part.extent.length(search.direction) / 2;
    }
    Ok(searches)
}

impl Search {
    fn new(part: &Part) -> Self {
        let due = u128::from(part.particles) * u128::from(part.ranks / 2) / u128::from(part.ranks);
        Self { direction: part.extent.longest(), due: due as u64, prefix: 0, below: 0, there: 0 }
    }

    /// Finds the next digit: that of the particle before which `due` others are.
    fn narrow(&mut self, counts: &[u64]) {
        let mut digit = 0;
        while digit + 1 < DIGITS && self.below + counts[digit] <= self.due {
            self.below += counts[digit];
            digit += 1;
        }
        self.prefix = self.prefix << DIGIT_BITS | digit as u64;
        self.there = counts[digit];
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::Source;
    use super::*;
    use proptest::prelude::*;

    fn alone(_: &mut [u64]) -> Result<(), std::convert::Infallible> {
        Ok(())
    }

    fn at(position: [f64; 3]) -> Particle {
        Particle { id: 0, position, velocity: [0.0; 3], mass: 0.0 }
    }

    /// Places all over the box, its ends among them.
    fn grid() -> impl Iterator<Item = Place> {
        const STEP: u64 = (PLACES - 1) / 5;
        (0..216).map(|number| [number % 6, number / 6 % 6, number / 36].map(|step| step * STEP))
    }

    /// Checks that domains part the box and hold what they say; returns the counts.
    fn counts(ranks: u32, particles: &[Particle]) -> Vec<u64> {
        let Ok(domains) = Domains::new(ranks, particles, alone);
        let mut counts = vec![0; ranks as usize];
        for place in particles.iter().map(Particle::place) {
            let owner = domains.owner(&place);
            let holding: Vec<u32> = (0..ranks).filter(|&rank| domains.of(rank).holds(&place)).collect();
            assert_eq!(holding, [owner]);
            counts[owner as usize] += 1;
        }
        assert_eq!((0..ranks).map(|rank| domains.count(rank)).collect::<Vec<_>>(), counts);
        assert_eq!(domains.count_max(), counts.iter().copied().max().unwrap());
        for place in grid() {
            let holding: Vec<u32> = (0..ranks).filter(|&rank| domains.of(rank).holds(&place)).collect();
            assert_eq!(holding, [domains.owner(&place)]);
        }
        counts
    }

    #[test]
    fn every_rank_gets_as_many_as_any_other() {
        let particles = Source::Generator { side: 16, seed: 1 }.particles(0..4096).unwrap();
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

    /// Particles of a few places, many of them the same, as parts of one box on several ranks.
    #[test]
    fn the_split_among_ranks_does_not_matter() {
        let particles = Source::Generator { side: 8, seed: 5 }.particles(0..512).unwrap();
        let Ok(whole) = Domains::new(6, &particles, alone);
        let shares: Vec<&[Particle]> = particles.chunks(200).collect();
        // All ranks but one have the same passes: what they count is counted here in turn, and added.
        let barrier = std::sync::Barrier::new(shares.len());
        let total = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for share in shares {
                let (barrier, total, whole) = (&barrier, &total, &whole);
                scope.spawn(move || {
                    let Ok(domains) = Domains::new(6, share, |numbers| {
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
