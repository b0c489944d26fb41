//! Element-wise combination of numbers in device memory.

use pelago_base::Width;

/// Size in bytes of the staging buffer between two kinds of memory. Miri takes a second for a few thousand.
pub(crate) const STAGED_BYTES: usize = if cfg!(miri) { 128 } else { 64 << 10 };

/// Type of the numbers in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
}

/// Operator that combines two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combination {
    /// Their sum; the sum of integers wraps.
    Sum,
    /// The second one if it is less than the first, else the first: the first if one of them is a NaN.
    Min,
    /// The second one if it is greater than the first, else the first.
    Max,
}

impl NumberKind {
    /// Returns the size of the number.
    pub const fn width(self) -> Width {
        match self {
            Self::F32 | Self::U32 | Self::I32 => Width::Four,
            Self::F64 | Self::U64 | Self::I64 => Width::Eight,
        }
    }
}

/// Performs a [`Combination`] on the host, in pieces: `read` reads both ranges from an offset on, `write` writes the first one back.
///
/// # Errors
/// Those of `read` and `write`; some numbers may have been written.
pub fn combine_by_host<E>(
    bytes: u64,
    combination: Combination,
    number: NumberKind,
    read: impl Fn(u64, &mut [u8], &mut [u8]) -> Result<(), E>,
    write: impl Fn(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let length = bytes.min(STAGED_BYTES as u64) as usize;
    let (mut first, mut second) = (vec![0; length], vec![0; length]);
    for start in (0..bytes).step_by(STAGED_BYTES) {
        let length = (bytes - start).min(STAGED_BYTES as u64) as usize;
        let (first, second) = (&mut first[..length], &mut second[..length]);
        read(start, first, second)?;
        combine(first, second, combination, number);
        write(start, first)?;
    }
    Ok(())
}

/// Combines numbers with those of `from`, in place; both slices have the same length.
fn combine(to: &mut [u8], from: &[u8], combination: Combination, number: NumberKind) {
    macro_rules! of {
        ($type:ty, $sum:expr) => {
            match combination {
                Combination::Sum => each(to, from, <$type>::from_le_bytes, <$type>::to_le_bytes, $sum),
                Combination::Min => {
                    each(to, from, <$type>::from_le_bytes, <$type>::to_le_bytes, |a, b| if b < a { b } else { a })
                }
                Combination::Max => {
                    each(to, from, <$type>::from_le_bytes, <$type>::to_le_bytes, |a, b| if b > a { b } else { a })
                }
            }
        };
    }
    match number {
        NumberKind::F32 => of!(f32, |a, b| a + b),
        NumberKind::F64 => of!(f64, |a, b| a + b),
        NumberKind::U32 => of!(u32, u32::wrapping_add),
        NumberKind::U64 => of!(u64, u64::wrapping_add),
        NumberKind::I32 => of!(i32, i32::wrapping_add),
        NumberKind::I64 => of!(i64, i64::wrapping_add),
    }
}

fn each<T, const B: usize>(
    to: &mut [u8],
    from: &[u8],
    number: impl Fn([u8; B]) -> T,
    bytes: impl Fn(T) -> [u8; B],
    combine: impl Fn(T, T) -> T,
) {
    for (to, from) in to.as_chunks_mut().0.iter_mut().zip(from.as_chunks().0) {
        *to = bytes(combine(number(*to), number(*from)));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Numbers combined in pieces, as bytes.
    fn combined(first: Vec<u8>, second: &[u8], combination: Combination, number: NumberKind) -> Vec<u8> {
        let first = RefCell::new(first);
        let bytes = second.len() as u64;
        let read = |at: u64, one: &mut [u8], other: &mut [u8]| {
            one.copy_from_slice(&first.borrow()[at as usize..][..one.len()]);
            other.copy_from_slice(&second[at as usize..][..other.len()]);
            Ok(())
        };
        let write = |at: u64, part: &[u8]| {
            first.borrow_mut()[at as usize..][..part.len()].copy_from_slice(part);
            Ok(())
        };
        combine_by_host(bytes, combination, number, read, write)
            .unwrap_or_else(|never: core::convert::Infallible| match never {});
        first.into_inner()
    }

    #[test]
    fn numbers_are_combined_by_their_kind() {
        macro_rules! check {
            ($number:ident, $($one:expr, $other:expr => $sum:expr, $min:expr, $max:expr;)+) => {$(
                for (combination, expected) in
                    [(Combination::Sum, $sum), (Combination::Min, $min), (Combination::Max, $max)]
                {
                    let got = combined($one.to_le_bytes().into(), &$other.to_le_bytes(), combination, NumberKind::$number);
                    assert_eq!(got, expected.to_le_bytes(), "{combination:?} of {} and {}", $one, $other);
                }
            )+};
        }
        check!(F32, 1.5f32, -2.0f32 => -0.5f32, -2.0f32, 1.5f32;);
        check!(F64, 1.5f64, 2.0f64 => 3.5f64, 1.5f64, 2.0f64;);
        check!(U32, u32::MAX, 2u32 => 1u32, 2u32, u32::MAX;);
        check!(U64, 1u64, 1u64 << 63 => (1u64 << 63) + 1, 1u64, 1u64 << 63;);
        check!(I32, i32::MIN, -1i32 => i32::MAX, i32::MIN, -1i32;);
        check!(I64, -1i64, 1i64 => 0i64, -1i64, 1i64;);
    }

    #[test]
    fn what_is_no_number_stays_none() {
        let with_one = |combination| combined(f64::NAN.to_le_bytes().into(), &1f64.to_le_bytes(), combination, NumberKind::F64);
        // Sign and payload of such a sum are the processor's choice.
        assert!(f64::from_le_bytes(with_one(Combination::Sum).try_into().unwrap()).is_nan());
        assert_eq!(with_one(Combination::Min), f64::NAN.to_le_bytes());
        assert_eq!(with_one(Combination::Max), f64::NAN.to_le_bytes());
    }

    #[test]
    fn all_pieces_are_combined() {
        let count = 2 * STAGED_BYTES / 8 + 3;
        let bytes = |factor: u64| (0..count as u64).flat_map(|at| (at * factor).to_le_bytes()).collect::<Vec<_>>();
        assert!(combined(bytes(3), &bytes(4), Combination::Sum, NumberKind::U64) == bytes(7));
    }
}
