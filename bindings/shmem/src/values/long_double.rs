//! The `long double` of C, which Rust does not support: ten bytes of the floating-point unit on x86-64, an IEEE 754 binary128 number on aarch64.
#![allow(unsafe_code)]

use super::{Combine, Value};

/// The memory of a `long double`; on x86-64, its last six bytes are padding.
pub(crate) type LongDouble = [u8; 16];

impl Value for LongDouble {
    fn combine(self, with: Self, how: Combine) -> Self {
        match how {
            Combine::Product => processor::product(&self, &with),
            // With a NaN neither value is greater than the other.
            Combine::Max | Combine::Min if processor::is_greater(&with, &self) == (how == Combine::Max) => with,
            Combine::Max | Combine::Min => self,
            _ => processor::sum(&self, &with),
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod processor {
    use std::arch::asm;

    use super::LongDouble;

    macro_rules! compute {
        ($left:ident, $instruction:literal, $right:ident) => {{
            let mut result: LongDouble = [0; 16];
            // SAFETY: reads ten bytes of each operand and writes ten of the result; the register stack of the floating-point unit is unchanged.
            unsafe {
                asm!(
                    "fld tbyte ptr [{left}]", "fld tbyte ptr [{right}]", $instruction, "fstp tbyte ptr [{into}]",
                    left = in(reg) $left.as_ptr(), right = in(reg) $right.as_ptr(), into = in(reg) result.as_mut_ptr(),
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }};
    }

    pub(super) fn sum(left: &LongDouble, right: &LongDouble) -> LongDouble {
        compute!(left, "faddp", right)
    }

    pub(super) fn product(left: &LongDouble, right: &LongDouble) -> LongDouble {
        compute!(left, "fmulp", right)
    }

    pub(super) fn is_greater(left: &LongDouble, right: &LongDouble) -> bool {
        let greater: u8;
        // SAFETY: reads ten bytes of each operand; the register stack of the floating-point unit is unchanged.
        unsafe {
            asm!(
                "fld tbyte ptr [{right}]", "fld tbyte ptr [{left}]", "fcomip st(0), st(1)", "seta {greater}", "fstp st(0)",
                left = in(reg) left.as_ptr(), right = in(reg) right.as_ptr(), greater = out(reg_byte) greater,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        greater != 0
    }

    #[cfg(test)]
    pub(super) fn from_double(value: f64) -> LongDouble {
        let mut long = [0; 16];
        // SAFETY: reads eight bytes and writes ten.
        unsafe {
            asm!("fld qword ptr [{from}]", "fstp tbyte ptr [{into}]", from = in(reg) &raw const value, into = in(reg) long.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _);
        }
        long
    }
}

#[cfg(target_arch = "aarch64")]
mod processor {
    use std::arch::asm;
    use std::ffi::c_int;

    use super::LongDouble;

    // The functions of the compiler's run-time library by which C computes with these numbers. They are called from assembly, as their arguments are in
    // `q0` and `q1`.
    unsafe extern "C" {
        fn __addtf3();
        fn __multf3();
        fn __gttf2();
        #[cfg(test)]
        fn __extenddftf2();
    }

    macro_rules! compute {
        ($left:ident, $function:ident, $right:ident) => {{
            let mut result: LongDouble = [0; 16];
            // SAFETY: reads 16 bytes of each operand and writes 16 of the result, whose address is in a register that functions preserve.
            unsafe {
                asm!(
                    "ldr q0, [{left}]", "ldr q1, [{right}]", "bl {function}", "str q0, [x20]",
                    left = in(reg) $left.as_ptr(), right = in(reg) $right.as_ptr(), in("x20") result.as_mut_ptr(), function = sym $function,
                    clobber_abi("C"),
                );
            }
            result
        }};
    }

    pub(super) fn sum(left: &LongDouble, right: &LongDouble) -> LongDouble {
        compute!(left, __addtf3, right)
    }

    pub(super) fn product(left: &LongDouble, right: &LongDouble) -> LongDouble {
        compute!(left, __multf3, right)
    }

    pub(super) fn is_greater(left: &LongDouble, right: &LongDouble) -> bool {
        let order: c_int;
        // SAFETY: reads 16 bytes of each operand.
        unsafe {
            asm!(
                "ldr q0, [{left}]", "ldr q1, [{right}]", "bl {function}",
                left = in(reg) left.as_ptr(), right = in(reg) right.as_ptr(), function = sym __gttf2, lateout("w0") order,
                clobber_abi("C"),
            );
        }
        order > 0
    }

    #[cfg(test)]
    pub(super) fn from_double(value: f64) -> LongDouble {
        let mut long: LongDouble = [0; 16];
        // SAFETY: writes 16 bytes, whose address is in a register that functions preserve.
        unsafe {
            asm!("bl {function}", "str q0, [x20]", function = sym __extenddftf2, in("d0") value, in("x20") long.as_mut_ptr(), clobber_abi("C"));
        }
        long
    }
}

#[cfg(test)]
mod tests {
    use super::processor::from_double as long;
    use super::*;

    #[test]
    fn long_doubles_are_combined() {
        let of = |how| long(6.5).combine(long(-2.0), how);
        assert_eq!(of(Combine::Sum), long(4.5));
        assert_eq!(of(Combine::Product), long(-13.0));
        assert_eq!((of(Combine::Max), of(Combine::Min)), (long(6.5), long(-2.0)));
        assert_eq!(
            (long(-2.0).combine(long(6.5), Combine::Max), long(-2.0).combine(long(6.5), Combine::Min)),
            (long(6.5), long(-2.0))
        );
        assert_eq!(
            (long(f64::NAN).combine(long(1.0), Combine::Max), long(1.0).combine(long(f64::NAN), Combine::Max)),
            (long(f64::NAN), long(1.0))
        );
    }
}
