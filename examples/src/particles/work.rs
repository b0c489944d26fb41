//! Computing time of each particle in a run of GADGET-2, estimated from the density around it.
//!
//! GADGET-2 cuts its domains by work: the cost of a particle's force divided by its time step (`domain_particle_costfactor`). The step is
//! proportional to |a|^-1/2 (its only criterion), rounded down to a power of two. In a halo with a flat rotation curve, ρ is proportional to r^-2
//! and |a| to r^-1, so that the step is proportional to ρ^-1/4: a particle takes 2^⌊log₂(ρ/ρ̄)/4⌋ forces while a particle at the mean density takes
//! one. All forces have the same cost here. The density is that of a grid cell, so that the work of a particle depends on neither ranks nor domains.

use super::particle::{PLACES, Particle, Place};

/// Minimum of the mean number of particles per cell.
const CELL_PARTICLES_MIN: u64 = 8;

/// Cells along an edge of the box, as a power of two: 2 MiB of counts.
const EDGE_LOG2_MAX: u32 = 6;

/// Returns the work of each of this rank's particles. `sum` adds numbers over all ranks.
pub(crate) fn works<E>(particles: &[Particle], mut sum: impl FnMut(&mut [u64]) -> Result<(), E>) -> Result<Vec<u32>, E> {
    let mut total = [particles.len() as u64];
    sum(&mut total)?;
    let edge_log2 = ((total[0] / CELL_PARTICLES_MIN).max(1).ilog2() / 3).min(EDGE_LOG2_MAX);
    let cells = 1 << (3 * edge_log2);
    let mut counts = vec![0; cells];
    let cell = |particle: &Particle| cell(&particle.place(), edge_log2);
    particles.iter().for_each(|particle| counts[cell(particle)] += 1);
    sum(&mut counts)?;
    Ok(particles.iter().map(|particle| forces(counts[cell(particle)], cells as u64, total[0])).collect())
}

fn cell(place: &Place, edge_log2: u32) -> usize {
    place.iter().fold(0, |cell, x| cell << edge_log2 | (x >> (PLACES.ilog2() - edge_log2)) as usize)
}

/// Returns the number of forces of a particle in a cell with `count` of all `total` particles, in a grid of `cells` cells.
fn forces(count: u64, cells: u64, total: u64) -> u32 {
    let density = (count * cells / total.max(1)).max(1);
    1 << (density.ilog2() / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_times_the_density_halves_the_step() {
        let dense = |times: u64| forces(8 * times, 64, 512);
        assert_eq!([0, 1, 2, 15, 16, 255, 256].map(dense), [1, 1, 1, 1, 2, 2, 4]);
        assert_eq!(forces(1, 1, 1), 1);
        assert_eq!(forces(1 << 30, 1 << 18, 1 << 30), 16);
    }

    #[test]
    fn cells_part_the_box() {
        assert_eq!(cell(&[PLACES - 1; 3], 6), (1 << 18) - 1);
        assert_eq!(cell(&[0, 0, PLACES / 2], 1), 1);
        assert_eq!(cell(&[PLACES / 2, 0, 0], 1), 4);
        assert_eq!(cell(&[PLACES - 1; 3], 0), 0);
    }

    #[test]
    fn particles_at_one_place_take_more_than_those_apart() {
        let at = |position| Particle { position, ..Particle::NOTHING };
        let apart = |i: u32| [i % 8, i / 8 % 8, i / 64].map(|x| f64::from(x) / 8.0);
        let particles: Vec<_> = (0..512).map(|i| at(if i < 256 { [0.3; 3] } else { apart(i) })).collect();
        let Ok(works) = works(&particles, |_| Ok::<(), std::convert::Infallible>(()));
        assert!(works[..256].iter().all(|&work| work == works[0]) && works[0] > works[511]);
    }
}
