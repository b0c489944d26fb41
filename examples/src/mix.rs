//! A hash function for pseudo-random numbers.

/// A hash of 64 bits: the finalizer of SplitMix64.
pub(crate) fn mix(mut state: u64) -> u64 {
    state = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    state = (state ^ state >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    state ^ state >> 31
}
