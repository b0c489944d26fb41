//! Transmission times of bytes, in whole picoseconds.

const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A rate as picoseconds per byte, a reduced fraction. Bytes take no time if the rate is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    numerator: u64,
    denominator: u64,
}

impl Rate {
    /// The rate at which bytes take no time.
    pub(crate) const INFINITE: Self = Self { numerator: 0, denominator: 1 };

    /// `bytes` bytes per second; zero stands for infinitely many.
    pub(crate) fn bytes_per_second(bytes: u64) -> Self {
        if bytes == 0 {
            return Self::INFINITE;
        }
        let divisor = greatest_common_divisor(PICOSECONDS_PER_SECOND, bytes);
        Self { numerator: PICOSECONDS_PER_SECOND / divisor, denominator: bytes / divisor }
    }

    /// Returns how long `bytes` take, rounded down to picoseconds; saturates.
    #[inline]
    pub(crate) fn time(self, bytes: u64) -> u64 {
        match bytes.checked_mul(self.numerator) {
            Some(product) if self.denominator == 1 => product,
            Some(product) => product / self.denominator,
            None => {
                let exact = u128::from(bytes) * u128::from(self.numerator) / u128::from(self.denominator);
                u64::try_from(exact).unwrap_or(u64::MAX)
            }
        }
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_of_the_paper() {
        assert_eq!(Rate::bytes_per_second(2_800_000_000).time(8), 2_857);
        assert_eq!(Rate::bytes_per_second(4_000_000_000).time(38), 9_500);
        assert_eq!(Rate::bytes_per_second(0).time(u64::MAX), 0);
    }

    proptest! {
        #[test]
        fn times_are_exact(bytes: u64, rate in 1u64..1 << 50) {
            let exact = u128::from(bytes) * u128::from(PICOSECONDS_PER_SECOND) / u128::from(rate);
            prop_assert_eq!(Rate::bytes_per_second(rate).time(bytes), u64::try_from(exact).unwrap_or(u64::MAX));
        }
    }
}
