//! The hash of a key: 64 bits, the same on every rank.

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of some bytes: each word is multiplied into the state, and both halves of the product are used. It does not resist keys that an
/// adversary chooses.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mut state = mix(bytes.len() as u64 ^ MULTIPLIER, MULTIPLIER);
    for word in words.iter().chain((!rest.is_empty()).then_some(&last)) {
        state = mix(state ^ u64::from_le_bytes(*word), MULTIPLIER);
    }
    mix(state, 0xD6E8_FEB8_6659_FD93)
}

/// Folds a product of 128 bits.
fn mix(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

/// One of `count` places for a hash. The multiplication uses the high bits, so that a use of the low bits is independent.
pub(crate) fn place(hash: u64, count: u64) -> u64 {
    ((u128::from(hash) * u128::from(count)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_row_are_spread_evenly() {
        const PLACES: usize = 64;
        let mut counts = [0u32; PLACES];
        for key in 0..64_000u64 {
            counts[place(hash(&key.to_le_bytes()), PLACES as u64) as usize] += 1;
        }
        // A thousand each, and five standard deviations.
        assert!(counts.iter().all(|&count| (840..1160).contains(&count)), "{counts:?}");
    }

    #[test]
    fn lengths_and_positions_count() {
        let keys: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"abcdefgh", b"abcdefgh\0", b"\0abcdefgh"];
        let hashes: std::collections::BTreeSet<_> = keys.iter().map(|key| hash(key)).collect();
        assert_eq!(hashes.len(), keys.len());
    }
}
