//! A window over the last k bases of a sequence: the k-mer (word of length k), two bits a base.

/// Maximum number of bases in a k-mer.
pub(crate) const LENGTH_MAX: u32 = 32;

/// The last bases, as a k-mer and as its counterpart on the opposite strand.
pub(crate) struct KmerWindow {
    length: u32,
    mask: u64,
    /// Number of bases since the last gap, up to the length.
    filled: u32,
    forward: u64,
    backward: u64,
}

impl KmerWindow {
    /// Creates a window of `length` bases, from 1 to [`LENGTH_MAX`].
    pub(crate) const fn new(length: u32) -> Self {
        Self { length, mask: u64::MAX >> (64 - 2 * length), filled: 0, forward: 0, backward: 0 }
    }

    /// Clears the window at a gap, as no k-mer spans a gap.
    pub(crate) const fn clear(&mut self) {
        self.filled = 0;
    }

    /// Appends a base; returns the k-mer that ends with it, or its counterpart on the opposite strand if that is smaller.
    #[inline]
    pub(crate) fn push(&mut self, code: u8) -> Option<u64> {
        self.forward = (self.forward << 2 | u64::from(code)) & self.mask;
        self.backward = self.backward >> 2 | u64::from(3 - code) << (2 * (self.length - 1));
        self.filled += u32::from(self.filled < self.length);
        (self.filled == self.length).then(|| self.forward.min(self.backward))
    }
}

/// Returns the letters of a k-mer.
pub(crate) fn letters(kmer: u64, length: u32) -> String {
    (0..length).rev().map(|place| char::from(b"ACGT"[(kmer >> (2 * place) & 3) as usize])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kmers(length: u32, text: &str) -> Vec<String> {
        let mut kmers = KmerWindow::new(length);
        let codes = text.bytes().map(|letter| b"ACGT".iter().position(|&base| base == letter));
        let found = codes.filter_map(|code| match code {
            Some(code) => kmers.push(code as u8),
            None => {
                kmers.clear();
                None
            }
        });
        found.map(|kmer| letters(kmer, length)).collect()
    }

    #[test]
    fn a_word_and_its_opposite_are_one() {
        assert_eq!(kmers(3, "ACGTT"), ["ACG", "ACG", "AAC"]);
        assert_eq!(kmers(3, "AACGT"), ["AAC", "ACG", "ACG"]);
        assert_eq!(kmers(2, "ACNGTA"), ["AC", "AC", "TA"]);
        assert_eq!(kmers(1, "ACGT"), ["A", "C", "C", "A"]);
        let long = "ACGTACGTACGTACGTACGTACGTACGTACGT";
        assert_eq!(kmers(32, long), [long]);
        assert_eq!(kmers(32, &long.replace("ACGT", "TTTT")), ["A".repeat(32)]);
    }
}
