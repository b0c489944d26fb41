//! Operators and word sizes of remote atomics.

/// Word size of a remote atomic.
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

    /// The low bits of a word as a signed number.
    pub const fn signed(self, word: u64) -> i64 {
        match self {
            Self::Four => word as i32 as i64,
            Self::Eight => word.cast_signed(),
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

/// Operator of a remote atomic. Every operator returns the previous value of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOperator {
    /// Read the word and leave it.
    Load,
    /// Write the operand.
    Swap,
    /// Write the operand if the word equals `expected`.
    CompareSwap {
        /// Value that the word must have for the operand to be written.
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
    /// The greater of the two, as unsigned numbers.
    Max,
    /// The smaller of the two, as unsigned numbers.
    Min,
    /// The greater of the two, as signed numbers.
    MaxSigned,
    /// The smaller of the two, as signed numbers.
    MinSigned,
    /// Add the operand as a floating-point number: `f32` or `f64` by the width. Any NaN result becomes Rust's constant `NAN`.
    AddFloat,
    /// The greater of the two, as floating-point numbers; of a number and a NaN, the number. Of two zeros, the word stays unchanged.
    MaxFloat,
    /// The smaller of the two, as `MaxFloat`.
    MinFloat,
}

impl AtomicOperator {
    /// Returns the code of the operator for storage and transmission, and the value that accompanies it besides the operand.
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
            Self::Min => (8, None),
            Self::MaxSigned => (9, None),
            Self::MinSigned => (10, None),
            Self::AddFloat => (11, None),
            Self::MaxFloat => (12, None),
            Self::MinFloat => (13, None),
        }
    }

    /// Returns the name of the operator, in lower case.
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
            Self::Min => "min",
            Self::MaxSigned => "max-signed",
            Self::MinSigned => "min-signed",
            Self::AddFloat => "add-float",
            Self::MaxFloat => "max-float",
            Self::MinFloat => "min-float",
        }
    }

    /// Returns the operator of a code; `expected` is used only by [`CompareSwap`](Self::CompareSwap).
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
            8 => Self::Min,
            9 => Self::MaxSigned,
            10 => Self::MinSigned,
            11 => Self::AddFloat,
            12 => Self::MaxFloat,
            13 => Self::MinFloat,
            _ => return None,
        })
    }

    /// Number of operators; all codes are smaller.
    pub const COUNT: u32 = 14;

    /// Whether the operator is performed by a compare-and-swap loop, because no instruction performs it.
    #[inline]
    pub const fn is_repeated(self) -> bool {
        matches!(self, Self::MaxSigned | Self::MinSigned | Self::AddFloat | Self::MaxFloat | Self::MinFloat)
    }

    /// Returns the new value of a word of width `width` with previous value `old`.
    #[inline(always)]
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
            Self::Min if width.truncate(old) <= width.truncate(operand) => old,
            Self::Min => operand,
            Self::MaxSigned if width.signed(old) >= width.signed(operand) => old,
            Self::MaxSigned => operand,
            Self::MinSigned if width.signed(old) <= width.signed(operand) => old,
            Self::MinSigned => operand,
            Self::AddFloat | Self::MaxFloat | Self::MinFloat => match width {
                Width::Four => {
                    let (one, other) = (f32::from_bits(old as u32), f32::from_bits(operand as u32));
                    match self {
                        Self::AddFloat if (one + other).is_nan() => f32::NAN.to_bits() as u64,
                        Self::AddFloat => (one + other).to_bits() as u64,
                        _ if one.is_nan()
                            || matches!(self, Self::MaxFloat) && other > one
                            || matches!(self, Self::MinFloat) && other < one =>
                        {
                            operand
                        }
                        _ => old,
                    }
                }
                Width::Eight => {
                    let (one, other) = (f64::from_bits(old), f64::from_bits(operand));
                    match self {
                        Self::AddFloat if (one + other).is_nan() => f64::NAN.to_bits(),
                        Self::AddFloat => (one + other).to_bits(),
                        _ if one.is_nan()
                            || matches!(self, Self::MaxFloat) && other > one
                            || matches!(self, Self::MinFloat) && other < one =>
                        {
                            operand
                        }
                        _ => old,
                    }
                }
            },
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
    fn signs_and_points_count() {
        let four =
            |operator: AtomicOperator, old: u32, operand: u32| operator.apply(Width::Four, old.into(), operand.into()) as u32;
        assert_eq!(four(AtomicOperator::MaxSigned, u32::MAX, 1), 1);
        assert_eq!(four(AtomicOperator::MinSigned, u32::MAX, 1), u32::MAX);
        assert_eq!([four(AtomicOperator::Min, u32::MAX, 1), four(AtomicOperator::Min, 1, 2)], [1, 1]);
        assert_eq!(four(AtomicOperator::AddFloat, 1.5_f32.to_bits(), 2.25_f32.to_bits()), 3.75_f32.to_bits());
        let eight =
            |operator: AtomicOperator, old: f64, operand: f64| operator.apply(Width::Eight, old.to_bits(), operand.to_bits());
        assert_eq!(eight(AtomicOperator::AddFloat, 1e300, 1.0), 1e300_f64.to_bits());
        assert_eq!(eight(AtomicOperator::AddFloat, f64::INFINITY, f64::NEG_INFINITY), f64::NAN.to_bits());
        assert_eq!(eight(AtomicOperator::MaxFloat, -3.0, -2.0), (-2.0_f64).to_bits());
        assert_eq!(eight(AtomicOperator::MinFloat, -3.0, -2.0), (-3.0_f64).to_bits());
        for operator in [AtomicOperator::MaxFloat, AtomicOperator::MinFloat] {
            assert_eq!(eight(operator, f64::NAN, 7.0), 7.0_f64.to_bits());
            assert_eq!(eight(operator, 7.0, f64::NAN), 7.0_f64.to_bits());
            assert_eq!(eight(operator, -0.0, 0.0), (-0.0_f64).to_bits(), "the word stays");
        }
    }

    #[test]
    fn every_number_is_that_of_its_operator() {
        for code in 0..AtomicOperator::COUNT as u8 {
            let operator = AtomicOperator::from_code(code, 7).unwrap();
            let expected = (operator == AtomicOperator::CompareSwap { expected: 7 }).then_some(7);
            assert_eq!(operator.code(), (code, expected), "{operator:?}");
        }
        assert_eq!(AtomicOperator::from_code(AtomicOperator::COUNT as u8, 0), None);
    }
}
