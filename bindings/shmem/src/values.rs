//! Types of elements of reductions and scans, and the operators that combine them.
#![allow(unsafe_code)]

use pelago::Pod;

pub(crate) use self::long_double::LongDouble;

mod long_double;

/// An operator that combines two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    And,
    Or,
    Xor,
    Max,
    Min,
    Sum,
    Product,
}

/// A type of elements of reductions.
pub(crate) trait Value: Pod {
    /// Returns the combination of both values.
    fn combine(self, with: Self, how: Combine) -> Self;
}

/// Combines each element of `before` with that of `into`, in this order, into `into`.
pub(crate) fn combine_before<T: Value>(before: &[T], into: &mut [T], how: Combine) {
    combine_each(into, before, how, |into, before, how| before.combine(into, how));
}

/// Combines each element of `into` with that of `after`, in this order, into `into`.
pub(crate) fn combine_after<T: Value>(into: &mut [T], after: &[T], how: Combine) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        unsafe { combine_after_wide(into, after, how) };
        return;
    }
    combine_each(into, after, how, |into, after, how| into.combine(after, how));
}

/// The same with AVX2, which not every core has. Without it, there is no vector comparison of 8-byte integers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn combine_after_wide<T: Value>(into: &mut [T], after: &[T], how: Combine) {
    combine_each(into, after, how, |into, after, how| into.combine(after, how));
}

/// Each operator has a loop of its own: selecting the operator for each value takes longer than most operations.
#[inline(always)]
fn combine_each<T: Value>(into: &mut [T], with: &[T], how: Combine, combine: impl Fn(T, T, Combine) -> T) {
    macro_rules! each {
        ($($how:ident)+) => {
            match how {
                $(Combine::$how => into.iter_mut().zip(with).for_each(|(into, with)| *into = combine(*into, *with, Combine::$how)),)+
            }
        };
    }
    each! { And Or Xor Max Min Sum Product }
}

macro_rules! integers {
    ($($integer:ty)+) => {$(
        impl Value for $integer {
            #[inline(always)]
            fn combine(self, with: Self, how: Combine) -> Self {
                match how {
                    Combine::And => self & with,
                    Combine::Or => self | with,
                    Combine::Xor => self ^ with,
                    Combine::Max => self.max(with),
                    Combine::Min => self.min(with),
                    Combine::Sum => self.wrapping_add(with),
                    Combine::Product => self.wrapping_mul(with),
                }
            }
        }
    )+};
}

integers! { i8 u8 i16 u16 i32 u32 i64 u64 }

macro_rules! floats {
    ($($float:ty)+) => {$(
        impl Value for $float {
            #[inline(always)]
            fn combine(self, with: Self, how: Combine) -> Self {
                match how {
                    Combine::Max => if with > self { with } else { self },
                    Combine::Min => if with < self { with } else { self },
                    Combine::Product => self * with,
                    // The interface has no bitwise reductions of floating-point types.
                    _ => self + with,
                }
            }
        }
    )+};
}

floats! { f32 f64 }

/// A complex number of C: its real and imaginary parts.
pub(crate) type Complex<T> = [T; 2];

macro_rules! complex {
    ($($float:ty)+) => {$(
        impl Value for Complex<$float> {
            #[inline(always)]
            fn combine(self, with: Self, how: Combine) -> Self {
                let ([a, b], [c, d]) = (self, with);
                if how == Combine::Product { [a * c - b * d, a * d + b * c] } else { [a + c, b + d] }
            }
        }
    )+};
}

complex! { f32 f64 }
