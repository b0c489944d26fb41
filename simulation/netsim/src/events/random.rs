//! Counter-based random numbers: each is a hash of the seed, of an entity, and of that entity's count.

/// Returns a uniformly distributed hash of three numbers.
pub(crate) fn hash(seed: u64, entity: u64, number: u64) -> u64 {
    mix(mix(mix(seed) ^ entity) ^ number)
}

/// Whether an event with a probability in units of 2⁻⁶⁴ happens this time.
pub(crate) fn happens(seed: u64, entity: u64, number: u64, probability: u64) -> bool {
    hash(seed, entity, number) < probability
}

/// Converts a probability from 0 to less than 1 to units of 2⁻⁶⁴.
pub(crate) fn probability(probability: f64) -> u64 {
    (probability * 2f64.powi(64)) as u64
}

/// The finalizer of SplitMix64.
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
