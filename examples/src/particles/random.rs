//! Random numbers that are the same on every machine: only integers and exactly rounded operations, without a mathematical library.

/// A sequence determined by a few words (SplitMix64; Steele, Lea and Flood).
pub(crate) struct Random(u64);

/// Number of tries for a point in a ball: each fails with probability 0.48, all with 10⁻²⁰.
const TRIES: u32 = 64;

impl Random {
    /// Creates the sequence of item `number` of a kind.
    pub(crate) fn new(seed: u64, kind: u64, number: u64) -> Self {
        Self(mix(mix(mix(seed) ^ kind) ^ number))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Returns a number of at least 0 and below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * 2f64.powi(-53)
    }

    /// Returns a point in the ball of radius 1.
    pub(crate) fn in_ball(&mut self) -> [f64; 3] {
        for _ in 0..TRIES {
            let point = [(); 3].map(|()| 2.0 * self.unit() - 1.0);
            if (1e-6..1.0).contains(&square(point)) {
                return point;
            }
        }
        [0.5, 0.0, 0.0]
    }

    /// Returns a point on the sphere of radius 1.
    pub(crate) fn direction(&mut self) -> [f64; 3] {
        let point = self.in_ball();
        let length = square(point).sqrt();
        point.map(|x| x / length)
    }
}

fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}

/// Mixes the bits of a word by a bijection.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}
