//! A particle: its record, its place for domains, its motion and its contribution to the checksum.

use pelago::zerocopy::{FromBytes, Immutable, IntoBytes};

use super::random::mix;

/// Bytes of a record, in memory, in messages and in files.
pub(crate) const RECORD_BYTES: usize = 48;

/// Number of places along an edge of the box that domains distinguish: 2³².
pub(crate) const PLACES: u64 = 1 << 32;

/// A particle in the periodic unit box.
///
/// In a file the fields have this order, little-endian. The paper's records have 48 bytes too; it does not state their contents.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[zerocopy(crate = "pelago::zerocopy")]
#[repr(C)]
pub(crate) struct Particle {
    /// Identifier of the particle.
    pub(crate) id: u64,
    /// Position in units of the box's edge, at least 0 and below 1.
    pub(crate) position: [f64; 3],
    /// Velocity in edges per unit of time.
    pub(crate) velocity: [f32; 3],
    /// Mass; only transferred.
    pub(crate) mass: f32,
}

/// Place of a position in each direction, below [`PLACES`].
pub(crate) type Place = [u64; 3];

impl Particle {
    /// Initial content of memory for particles.
    pub(crate) const NOTHING: Self = Self { id: 0, position: [0.0; 3], velocity: [0.0; 3], mass: 0.0 };

    /// Reads a record of a file.
    pub(crate) fn from_record(record: &[u8; RECORD_BYTES]) -> Self {
        let wide = |at: usize| std::array::from_fn(|i| record[at + i]);
        let narrow = |at: usize| f32::from_le_bytes(std::array::from_fn(|i| record[at + i]));
        Self {
            id: u64::from_le_bytes(wide(0)),
            position: [8, 16, 24].map(|at| f64::from_le_bytes(wide(at))),
            velocity: [32, 36, 40].map(narrow),
            mass: narrow(44),
        }
    }

    /// Returns whether the position is in the box and the velocity is finite.
    pub(crate) fn is_sound(&self) -> bool {
        self.position.iter().all(|x| (0.0..1.0).contains(x)) && self.velocity.iter().all(|v| v.is_finite())
    }

    pub(crate) fn place(&self) -> Place {
        self.position.map(|x| (x * PLACES as f64) as u64)
    }

    /// Moves the particle for `time`, with periodic boundaries.
    pub(crate) fn advance(&mut self, time: f64) {
        for (x, v) in self.position.iter_mut().zip(self.velocity) {
            *x = wrapped(*x + f64::from(v) * time);
        }
    }

    /// Returns a hash of all 48 bytes, its contribution to a checksum.
    pub(crate) fn hash(&self) -> u64 {
        let [x, y, z] = self.position.map(f64::to_bits);
        let [u, v, w] = self.velocity.map(f32::to_bits).map(u64::from);
        let words = [self.id, x, y, z, u << 32 | v, w << 32 | u64::from(self.mass.to_bits())];
        words.into_iter().fold(0, |hash, word| mix(hash ^ word))
    }
}

/// Returns the position in the periodic box of `x`.
pub(crate) fn wrapped(x: f64) -> f64 {
    let inside = x - x.floor();
    // A value slightly below 0 is rounded to 1, and is mapped to 0. So are values too large for a position.
    if inside < 1.0 { inside } else { 0.0 }
}

const _: () = {
    assert!(size_of::<Particle>() == RECORD_BYTES);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_in_memory_is_that_of_a_file() {
        let particle = Particle { id: 7, position: [0.5, 0.25, 0.125], velocity: [1.0, -2.0, 3.5], mass: 4.0 };
        let record: [u8; RECORD_BYTES] = particle.as_bytes().try_into().unwrap();
        if cfg!(target_endian = "little") {
            assert_eq!(Particle::from_record(&record), particle);
        }
        assert_eq!(particle.place(), [1 << 31, 1 << 30, 1 << 29]);
    }

    #[test]
    fn positions_stay_in_the_box() {
        for (x, expected) in [(1.25, 0.25), (-0.25, 0.75), (-1e-30, 0.0), (3.0, 0.0), (f64::INFINITY, 0.0), (f64::NAN, 0.0)] {
            assert_eq!(wrapped(x), expected, "{x}");
        }
    }

    #[test]
    fn every_byte_counts_in_the_hash() {
        let particle = Particle { id: 1, position: [0.1, 0.2, 0.3], velocity: [0.4, 0.5, 0.6], mass: 0.7 };
        for byte in 0..RECORD_BYTES {
            let mut altered = particle;
            altered.as_mut_bytes()[byte] ^= 1;
            assert_ne!(altered.hash(), particle.hash(), "byte {byte}");
        }
    }
}
