//! Words of bases, two bits each.

/// The most bases of a word.
pub(crate) const LENGTH_MAX: u32 = 32;

/// The last bases, as a word and as the one on the opposite strand.
pub(crate) struct Words {
    length: u32,
    mask: u64,
    /// How many bases there are since the last gap, up to the length.
    filled: u32,
    forward: u64,
    backward: u64,
}

impl Words {
    /// Words of so many bases, from 1 to [`LENGTH_MAX`].
    pub(crate) const fn new(length: u32) -> Self {
        Self { length, mask: u64::MAX >> (64 - 2 * length), filled: 0, forward: 0, backward: 0 }
    }

    /// After a gap, no word has bases from before.
    pub(crate) const fn clear(&mut self) {
        self.filled = 0;
    }

    /// Takes the next base; returns the word that ends with it, or the one on the opposite strand if that is smaller.
    #[inline]
    pub(crate) fn push(&mut self, code: u8) -> Option<u64> {
        self.forward = (self.forward << 2 | u64::from(code)) & self.mask;
        self.backward = self.backward >> 2 | u64::from(3 - code) << (2 * (self.length - 1));
        self.filled += u32::from(self.filled < self.length);
        (self.filled == self.length).then(|| self.forward.min(self.backward))
    }
}

/// The letters of a word.
pub(crate) fn letters(word: u64, length: u32) -> String {
    (0..length).rev().map(|place| char::from(b"ACGT"[(word >> (2 * place) & 3) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(length: u32, text: &str) -> Vec<String> {
        let mut words = Words::new(length);
        let codes = text.bytes().map(|letter| b"ACGT".iter().position(|&base| base == letter));
        let found = codes.filter_map(|code| match code {
            Some(code) => words.push(code as u8),
            None => {
                words.clear();
                None
            }
        });
        found.map(|word| letters(word, length)).collect()
    }

    #[test]
    fn a_word_and_its_opposite_are_one() {
        assert_eq!(words(3, "ACGTT"), ["ACG", "ACG", "AAC"]);
        assert_eq!(words(3, "AACGT"), ["AAC", "ACG", "ACG"]);
        assert_eq!(words(2, "ACNGTA"), ["AC", "AC", "TA"]);
        assert_eq!(words(1, "ACGT"), ["A", "C", "C", "A"]);
        let long = "ACGTACGTACGTACGTACGTACGTACGTACGT";
        assert_eq!(words(32, long), [long]);
        assert_eq!(words(32, &long.replace("ACGT", "TTTT")), ["A".repeat(32)]);
    }
}
