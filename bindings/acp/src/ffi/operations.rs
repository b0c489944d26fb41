//! The exported C functions of copies and atomics.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago::Word;
use pelago_base::AtomicOperator;

use super::{call, or_end};
use crate::handles::NULL;
use crate::library::library;

/// Copies `bytes` bytes between memory of any two ranks.
#[unsafe(no_mangle)]
pub extern "C" fn acp_copy(to: u64, from: u64, bytes: usize, order: i64) -> i64 {
    call("acp_copy", NULL, || library()?.access().copy(to, from, bytes, order))
}

#[inline]
fn atomic<T: Word>(function: &str, to: u64, at: u64, operator: AtomicOperator, operand: T, order: i64) -> i64 {
    call(function, NULL, || library()?.access().atomic(to, at, operator, operand, order))
}

/// Writes `new` if the value at `at` is `old`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas4(to: u64, at: u64, old: u32, new: u32, order: i64) -> i64 {
    atomic("acp_cas4", to, at, AtomicOperator::CompareSwap { expected: old.into() }, new, order)
}

/// Writes `new` if the value at `at` is `old`.
#[unsafe(no_mangle)]
pub extern "C" fn acp_cas8(to: u64, at: u64, old: u64, new: u64, order: i64) -> i64 {
    atomic("acp_cas8", to, at, AtomicOperator::CompareSwap { expected: old }, new, order)
}

/// Defines an atomic of one operand, in both widths.
macro_rules! atomics {
    ($($four:ident, $eight:ident, $operator:ident, $does:literal;)+) => {$(
        #[doc = $does]
        #[unsafe(no_mangle)]
        pub extern "C" fn $four(to: u64, at: u64, value: u32, order: i64) -> i64 {
            atomic(stringify!($four), to, at, AtomicOperator::$operator, value, order)
        }

        #[doc = $does]
        #[unsafe(no_mangle)]
        pub extern "C" fn $eight(to: u64, at: u64, value: u64, order: i64) -> i64 {
            atomic(stringify!($eight), to, at, AtomicOperator::$operator, value, order)
        }
    )+};
}

atomics! {
    acp_swap4, acp_swap8, Swap, "Writes a word.";
    acp_add4, acp_add8, Add, "Adds to a word.";
    acp_xor4, acp_xor8, Xor, "Combines a word by exclusive or.";
    acp_or4, acp_or8, Or, "Combines a word by or.";
    acp_and4, acp_and8, And, "Combines a word by and.";
}

/// Waits for an operation and all earlier ones.
#[unsafe(no_mangle)]
pub extern "C" fn acp_complete(handle: i64) {
    call("acp_complete", (), || {
        let library = library()?;
        or_end("acp_complete", library.access().complete(handle));
        Ok(())
    });
}

/// Returns 1 if an operation or an earlier one is in flight, else 0.
#[unsafe(no_mangle)]
pub extern "C" fn acp_inquire(handle: i64) -> c_int {
    call("acp_inquire", 0, || {
        let library = library()?;
        Ok(or_end("acp_inquire", library.access().inquire(handle)).into())
    })
}
