//! What a remote atomic does.

/// How many bytes a remote atomic works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 4 bytes, at an address that is a multiple of 4.
    Four,
    /// 8 bytes, at an address that is a multiple of 8.
    Eight,
}

impl Width {
    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The bits of `value` that a word of this width keeps.
    pub const fn truncate(self, value: u64) -> u64 {
        match self {
            Self::Four => value & 0xFFFF_FFFF,
            Self::Eight => value,
        }
    }
}

/// What a remote atomic does with the word it finds. Every operator returns the word that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOperator {
    /// Read the word and leave it.
    Load,
    /// Write the operand.
    Swap,
    /// Write the operand if the word equals `expected`.
    CompareSwap {
        /// The word that must be there for the operand to be written.
        expected: u64,
    },
    /// Add the operand, wrapping.
    Add,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The greater of the two, as numbers without a sign.
    Max,
}

impl AtomicOperator {
    /// Its number, for whoever writes it down or sends it, and what travels with it besides the operand.
    pub const fn code(self) -> (u8, Option<u64>) {
        match self {
            Self::Load => (0, None),
            Self::Swap => (1, None),
            Self::CompareSwap { expected } => (2, Some(expected)),
            Self::Add => (3, None),
            Self::And => (4, None),
            Self::Or => (5, None),
            Self::Xor => (6, None),
            Self::Max => (7, None),
        }
    }

    /// What it is called, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Swap => "swap",
            Self::CompareSwap { .. } => "compare-swap",
            Self::Add => "add",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Max => "max",
        }
    }

    /// The operator of a number; `expected` counts for a [`CompareSwap`](Self::CompareSwap) alone.
    pub const fn from_code(code: u8, expected: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Load,
            1 => Self::Swap,
            2 => Self::CompareSwap { expected },
            3 => Self::Add,
            4 => Self::And,
            5 => Self::Or,
            6 => Self::Xor,
            7 => Self::Max,
            _ => return None,
        })
    }

    /// The word that an atomic of width `width` leaves where it found `old`.
    pub const fn apply(self, width: Width, old: u64, operand: u64) -> u64 {
        let new = match self {
            Self::Load => old,
            Self::Swap => operand,
            Self::CompareSwap { expected } if width.truncate(expected) == width.truncate(old) => operand,
            Self::CompareSwap { .. } => old,
            Self::Add => old.wrapping_add(operand),
            Self::And => old & operand,
            Self::Or => old | operand,
            Self::Xor => old ^ operand,
            Self::Max if width.truncate(old) >= width.truncate(operand) => old,
            Self::Max => operand,
        };
        width.truncate(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_wrap_and_compare_as_four_bytes() {
        assert_eq!(AtomicOperator::Add.apply(Width::Four, 0xFFFF_FFFF, 2), 1);
        let swap = AtomicOperator::CompareSwap { expected: 0x1_0000_0005 };
        assert_eq!(swap.apply(Width::Four, 5, 9), 9);
        assert_eq!(swap.apply(Width::Eight, 5, 9), 5);
    }

    #[test]
    fn every_number_is_that_of_its_operator() {
        for code in 0..8 {
            let operator = AtomicOperator::from_code(code, 7).unwrap();
            let expected = (operator == AtomicOperator::CompareSwap { expected: 7 }).then_some(7);
            assert_eq!(operator.code(), (code, expected), "{operator:?}");
        }
        assert_eq!(AtomicOperator::from_code(8, 0), None);
    }
}
