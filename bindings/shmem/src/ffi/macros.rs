//! One macro for each kind of routine.
//!
//! Invariant B4 is stated in `mod.rs`.
#![allow(unsafe_code)]
#![allow(unused_imports, reason = "each file of exports uses some")]

pub(crate) use std::ffi::{c_char, c_int, c_long, c_void};

pub(crate) use pelago_base::AtomicOperator;

pub(crate) use crate::library::DEFAULT;
pub(crate) use crate::transfer::{Mode, SignalWord, Strided};
pub(crate) use crate::values::{Combine, Complex, LongDouble};
pub(crate) use crate::waiting::{Elements, With};
pub(crate) use crate::{atomics, collectives, transfer};

/// Defines an exported C function, and its second name for profilers.
macro_rules! export {
    ($(#[$more:meta])* fn $name:ident($($argument:ident: $of:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        #[doc = concat!("`", stringify!($name), "` of the standard.")]
        ///
        /// # Safety
        /// Pointers satisfy the requirements of the standard.
        $(#[$more])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $of),*) $(-> $result)? $body

        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("p", stringify!($name)))]
            unsafe extern "C" fn profiled() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $name);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $name);
            }
        };
    };
}
pub(crate) use export;

/// A C type that is passed by value, and on which atomics of its size operate.
pub(crate) trait Scalar: pelago::Pod {
    /// The word of the same size on which atomics operate.
    type Word: pelago::Word;
    fn to_word(self) -> Self::Word;
    fn from_word(word: Self::Word) -> Self;
}

macro_rules! scalars {
    ($($scalar:ty as $word:ty: $to:expr, $from:expr;)+) => {$(
        impl Scalar for $scalar {
            type Word = $word;
            #[inline(always)]
            fn to_word(self) -> $word {
                let to: fn($scalar) -> $word = $to;
                to(self)
            }
            #[inline(always)]
            fn from_word(word: $word) -> Self {
                let from: fn($word) -> $scalar = $from;
                from(word)
            }
        }
    )+};
}

scalars! {
    i32 as u32: |value| value as u32, |word| word as i32;
    u32 as u32: |value| value, |word| word;
    i64 as u64: |value| value as u64, |word| word as i64;
    u64 as u64: |value| value, |word| word;
    f32 as u32: f32::to_bits, f32::from_bits;
    f64 as u64: f64::to_bits, f64::from_bits;
}

/// The value 1 of a word.
pub(crate) fn one<W: pelago::Word>() -> W {
    W::from_bits(1)
}

macro_rules! put {
    ($bytes:literal, $mode:ident, $name:ident, $with_context:ident) => {
        export! { fn $name(dest: *mut c_void, source: *const c_void, nelems: usize, pe: c_int) {
            transfer::put::<$bytes>(stringify!($name), DEFAULT, Mode::$mode, (dest, source), nelems, pe)
        }}
        export! { fn $with_context(ctx: usize, dest: *mut c_void, source: *const c_void, nelems: usize, pe: c_int) {
            transfer::put::<$bytes>(stringify!($with_context), ctx, Mode::$mode, (dest, source), nelems, pe)
        }}
    };
}
pub(crate) use put;

macro_rules! get {
    ($bytes:literal, $mode:ident, $name:ident, $with_context:ident) => {
        export! { fn $name(dest: *mut c_void, source: *const c_void, nelems: usize, pe: c_int) {
            transfer::get::<$bytes>(stringify!($name), DEFAULT, Mode::$mode, (dest, source), nelems, pe)
        }}
        export! { fn $with_context(ctx: usize, dest: *mut c_void, source: *const c_void, nelems: usize, pe: c_int) {
            transfer::get::<$bytes>(stringify!($with_context), ctx, Mode::$mode, (dest, source), nelems, pe)
        }}
    };
}
pub(crate) use get;

macro_rules! p {
    ($of:ty, $name:ident, $with_context:ident) => {
        export! { fn $name(dest: *mut $of, value: $of, pe: c_int) {
            transfer::put_value(stringify!($name), DEFAULT, dest, value, pe)
        }}
        export! { fn $with_context(ctx: usize, dest: *mut $of, value: $of, pe: c_int) {
            transfer::put_value(stringify!($with_context), ctx, dest, value, pe)
        }}
    };
}
pub(crate) use p;

macro_rules! g {
    ($of:ty, $name:ident, $with_context:ident) => {
        export! { fn $name(source: *const $of, pe: c_int) -> $of {
            transfer::get_value(stringify!($name), DEFAULT, source, pe)
        }}
        export! { fn $with_context(ctx: usize, source: *const $of, pe: c_int) -> $of {
            transfer::get_value(stringify!($with_context), ctx, source, pe)
        }}
    };
}
pub(crate) use g;

/// Defines a function with a `long double` as an argument or result, which Rust does not support. x86-64 passes it on the stack and returns it in a register
/// of the floating-point unit; aarch64 does both in the vector register `q0`.
macro_rules! with_long_double {
    ($name:ident, x86_64: $($line:literal),+; aarch64: $($arm_line:literal),+; $target:ident) => {
        #[doc = concat!("`", stringify!($name), "` of the standard.")]
        ///
        /// # Safety
        /// Pointers satisfy the requirements of the standard.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!($($line),+, target = sym $target);
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!($($arm_line),+, target = sym $target);
        }

        const _: () = {
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("p", stringify!($name)))]
            unsafe extern "C" fn profiled() {
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!("jmp {}", sym $name);
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!("b {}", sym $name);
            }
        };
    };
}
pub(crate) use with_long_double;

macro_rules! long_double_p {
    ($of:ty, $name:ident, $with_context:ident) => {
        const _: () = {
            // Arguments: dest, pe, and the address of the value.
            unsafe extern "C" fn put(dest: *mut c_void, pe: c_int, value: *const c_void) {
                transfer::put::<16>(stringify!($name), DEFAULT, Mode::Blocking, (dest, value), 1, pe)
            }
            unsafe extern "C" fn put_in_context(ctx: usize, dest: *mut c_void, pe: c_int, value: *const c_void) {
                transfer::put::<16>(stringify!($with_context), ctx, Mode::Blocking, (dest, value), 1, pe)
            }
            // x86-64: the address of the value is computed before the stack pointer changes; the stack is then aligned for the call.
            with_long_double!($name,
                x86_64: "lea rdx, [rsp + 8]", "sub rsp, 8", "call {target}", "add rsp, 8", "ret";
                aarch64: "sub sp, sp, #32", "str x30, [sp, #16]", "str q0, [sp]", "mov x2, sp", "bl {target}", "ldr x30, [sp, #16]", "add sp, sp, #32", "ret";
                put);
            with_long_double!($with_context,
                x86_64: "lea rcx, [rsp + 8]", "sub rsp, 8", "call {target}", "add rsp, 8", "ret";
                aarch64: "sub sp, sp, #32", "str x30, [sp, #16]", "str q0, [sp]", "mov x3, sp", "bl {target}", "ldr x30, [sp, #16]", "add sp, sp, #32", "ret";
                put_in_context);
        };
    };
}
pub(crate) use long_double_p;

macro_rules! long_double_g {
    ($of:ty, $name:ident, $with_context:ident) => {
        const _: () = {
            unsafe extern "C" fn get(source: *const c_void, pe: c_int, value: *mut c_void) {
                transfer::get::<16>(stringify!($name), DEFAULT, Mode::Blocking, (value, source), 1, pe)
            }
            unsafe extern "C" fn get_in_context(ctx: usize, source: *const c_void, pe: c_int, value: *mut c_void) {
                transfer::get::<16>(stringify!($with_context), ctx, Mode::Blocking, (value, source), 1, pe)
            }
            with_long_double!($name,
                x86_64: "sub rsp, 24", "mov rdx, rsp", "call {target}", "fld tbyte ptr [rsp]", "add rsp, 24", "ret";
                aarch64: "sub sp, sp, #32", "str x30, [sp, #16]", "mov x2, sp", "bl {target}", "ldr q0, [sp]", "ldr x30, [sp, #16]", "add sp, sp, #32", "ret";
                get);
            with_long_double!($with_context,
                x86_64: "sub rsp, 24", "mov rcx, rsp", "call {target}", "fld tbyte ptr [rsp]", "add rsp, 24", "ret";
                aarch64: "sub sp, sp, #32", "str x30, [sp, #16]", "mov x3, sp", "bl {target}", "ldr q0, [sp]", "ldr x30, [sp, #16]", "add sp, sp, #32", "ret";
                get_in_context);
        };
    };
}
pub(crate) use long_double_g;

macro_rules! iput {
    ($bytes:literal, $way:ident, $name:ident, $with_context:ident) => {
        export! { fn $name(dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, nelems: usize, pe: c_int) {
            let strided = Strided { dest, source, dest_stride: dst, source_stride: sst, block: 1, blocks: nelems };
            transfer::$way::<$bytes>(stringify!($name), DEFAULT, strided, pe)
        }}
        export! { fn $with_context(ctx: usize, dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, nelems: usize, pe: c_int) {
            let strided = Strided { dest, source, dest_stride: dst, source_stride: sst, block: 1, blocks: nelems };
            transfer::$way::<$bytes>(stringify!($with_context), ctx, strided, pe)
        }}
    };
}
pub(crate) use iput;

macro_rules! ibput {
    ($bytes:literal, $way:ident, $name:ident, $with_context:ident) => {
        export! { fn $name(dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int) {
            let strided = Strided { dest, source, dest_stride: dst, source_stride: sst, block: bsize, blocks: nblocks };
            transfer::$way::<$bytes>(stringify!($name), DEFAULT, strided, pe)
        }}
        export! { fn $with_context(
            ctx: usize, dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int
        ) {
            let strided = Strided { dest, source, dest_stride: dst, source_stride: sst, block: bsize, blocks: nblocks };
            transfer::$way::<$bytes>(stringify!($with_context), ctx, strided, pe)
        }}
    };
}
pub(crate) use ibput;

macro_rules! put_signal {
    ($bytes:literal, $name:ident, $with_context:ident) => {
        export! { fn $name(
            dest: *mut c_void, source: *const c_void, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int, pe: c_int
        ) {
            let word = SignalWord { address: sig_addr, value: signal, operation: sig_op };
            transfer::put_signal::<$bytes>(stringify!($name), DEFAULT, (dest, source), nelems, word, pe)
        }}
        export! { fn $with_context(
            ctx: usize, dest: *mut c_void, source: *const c_void, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int, pe: c_int
        ) {
            let word = SignalWord { address: sig_addr, value: signal, operation: sig_op };
            transfer::put_signal::<$bytes>(stringify!($with_context), ctx, (dest, source), nelems, word, pe)
        }}
    };
}
pub(crate) use put_signal;

/// Defines an atomic without and with a context, from its other parameters and the call.
macro_rules! atomic {
    ($name:ident, $with_context:ident, ($($argument:ident: $of:ty),*) $(-> $result:ty)?, |$routine:ident, $context:ident| $call:expr) => {
        export! { fn $name($($argument: $of),*) $(-> $result)? {
            let ($routine, $context) = (stringify!($name), DEFAULT);
            $call
        }}
        export! { fn $with_context(ctx: usize, $($argument: $of),*) $(-> $result)? {
            let ($routine, $context) = (stringify!($with_context), ctx);
            $call
        }}
    };
    ($name:ident, ($($argument:ident: $of:ty),*) $(-> $result:ty)?, |$routine:ident, $context:ident| $call:expr) => {
        export! { fn $name($($argument: $of),*) $(-> $result)? {
            let ($routine, $context) = (stringify!($name), DEFAULT);
            $call
        }}
    };
}
pub(crate) use atomic;

macro_rules! update {
    ($of:ty, $operator:ident, $($name:ident),+) => {
        atomic!($($name),+, (dest: *mut $of, value: $of, pe: c_int), |routine, context| {
            atomics::update(routine, context, dest.cast(), AtomicOperator::$operator, Scalar::to_word(value), pe)
        });
    };
}
pub(crate) use update;

macro_rules! increment {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (dest: *mut $of, pe: c_int), |routine, context| {
            atomics::update(routine, context, dest.cast::<<$of as Scalar>::Word>(), AtomicOperator::Add, one(), pe)
        });
    };
}
pub(crate) use increment;

macro_rules! fetch {
    ($of:ty, $operator:ident, $($name:ident),+) => {
        atomic!($($name),+, (dest: *mut $of, value: $of, pe: c_int) -> $of, |routine, context| {
            <$of>::from_word(atomics::fetch(routine, context, dest.cast(), AtomicOperator::$operator, value.to_word(), pe))
        });
    };
}
pub(crate) use fetch;

macro_rules! fetch_increment {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (dest: *mut $of, pe: c_int) -> $of, |routine, context| {
            <$of>::from_word(atomics::fetch(routine, context, dest.cast(), AtomicOperator::Add, one(), pe))
        });
    };
}
pub(crate) use fetch_increment;

macro_rules! compare_swap {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (dest: *mut $of, cond: $of, value: $of, pe: c_int) -> $of, |routine, context| {
            let operator = AtomicOperator::CompareSwap { expected: pelago::Word::to_bits(cond.to_word()) };
            <$of>::from_word(atomics::fetch(routine, context, dest.cast(), operator, value.to_word(), pe))
        });
    };
}
pub(crate) use compare_swap;

macro_rules! load {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (source: *const $of, pe: c_int) -> $of, |routine, context| {
            <$of>::from_word(atomics::fetch(routine, context, source.cast(), AtomicOperator::Load, pelago::Word::from_bits(0), pe))
        });
    };
}
pub(crate) use load;

macro_rules! fetch_later {
    ($of:ty, $operator:ident, $($name:ident),+) => {
        atomic!($($name),+, (fetch: *mut $of, dest: *mut $of, value: $of, pe: c_int), |routine, context| {
            atomics::fetch_later(routine, context, fetch.cast(), dest.cast_const().cast(), AtomicOperator::$operator, value.to_word(), pe)
        });
    };
}
pub(crate) use fetch_later;

macro_rules! fetch_increment_later {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (fetch: *mut $of, dest: *mut $of, pe: c_int), |routine, context| {
            let into = fetch.cast::<<$of as Scalar>::Word>();
            atomics::fetch_later(routine, context, into, dest.cast_const().cast(), AtomicOperator::Add, one(), pe)
        });
    };
}
pub(crate) use fetch_increment_later;

macro_rules! compare_swap_later {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (fetch: *mut $of, dest: *mut $of, cond: $of, value: $of, pe: c_int), |routine, context| {
            let operator = AtomicOperator::CompareSwap { expected: pelago::Word::to_bits(cond.to_word()) };
            atomics::fetch_later(routine, context, fetch.cast(), dest.cast_const().cast(), operator, value.to_word(), pe)
        });
    };
}
pub(crate) use compare_swap_later;

macro_rules! load_later {
    ($of:ty, $($name:ident),+) => {
        atomic!($($name),+, (fetch: *mut $of, source: *const $of, pe: c_int), |routine, context| {
            let into = fetch.cast::<<$of as Scalar>::Word>();
            atomics::fetch_later(routine, context, into, source.cast(), AtomicOperator::Load, pelago::Word::from_bits(0), pe)
        });
    };
}
pub(crate) use load_later;

pub(crate) use {
    compare_swap as old_compare_swap, fetch as old_fetch, fetch_increment as old_fetch_increment, increment as old_increment,
    load as old_load, update as old_update,
};

macro_rules! wait_one {
    ($of:ty, $name:ident) => {
        export! { fn $name(ivar: *mut $of, cmp: c_int, cmp_value: $of) {
            Elements::new(stringify!($name), ivar, 1, std::ptr::null(), cmp, With::One(cmp_value)).wait_all()
        }}
    };
}
pub(crate) use wait_one;

macro_rules! test_one {
    ($of:ty, $name:ident) => {
        export! { fn $name(ivar: *mut $of, cmp: c_int, cmp_value: $of) -> c_int {
            Elements::new(stringify!($name), ivar, 1, std::ptr::null(), cmp, With::One(cmp_value)).test_all()
        }}
    };
}
pub(crate) use test_one;

macro_rules! old_wait {
    ($of:ty, $name:ident) => {
        export! { fn $name(ivar: *mut $of, cmp_value: $of) {
            Elements::new(stringify!($name), ivar, 1, std::ptr::null(), 1, With::One(cmp_value)).wait_all()
        }}
    };
}
pub(crate) use old_wait;

/// The type of the values that elements are compared with.
macro_rules! compared {
    (One, $of:ty) => { $of };
    (Each, $of:ty) => { *const $of };
}
pub(crate) use compared;

macro_rules! wait_all {
    ($of:ty, $with:ident, $name:ident) => {
        export! { fn $name(ivars: *mut $of, nelems: usize, status: *const c_int, cmp: c_int, with: compared!($with, $of)) {
            Elements::new(stringify!($name), ivars, nelems, status, cmp, With::$with(with)).wait_all()
        }}
    };
}
pub(crate) use wait_all;

macro_rules! test_all {
    ($of:ty, $with:ident, $name:ident) => {
        export! { fn $name(ivars: *mut $of, nelems: usize, status: *const c_int, cmp: c_int, with: compared!($with, $of)) -> c_int {
            Elements::new(stringify!($name), ivars, nelems, status, cmp, With::$with(with)).test_all()
        }}
    };
}
pub(crate) use test_all;

macro_rules! wait_any {
    ($of:ty, $with:ident, $way:ident, $name:ident) => {
        export! { fn $name(ivars: *mut $of, nelems: usize, status: *const c_int, cmp: c_int, with: compared!($with, $of)) -> usize {
            Elements::new(stringify!($name), ivars, nelems, status, cmp, With::$with(with)).$way()
        }}
    };
}
pub(crate) use wait_any;

macro_rules! wait_some {
    ($of:ty, $with:ident, $way:ident, $name:ident) => {
        export! { fn $name(
            ivars: *mut $of, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, with: compared!($with, $of)
        ) -> usize {
            Elements::new(stringify!($name), ivars, nelems, status, cmp, With::$with(with)).$way(indices)
        }}
    };
}
pub(crate) use wait_some;

macro_rules! broadcast {
    ($bytes:literal, $name:ident) => {
        export! { fn $name(team: usize, dest: *mut c_void, source: *const c_void, nelems: usize, root: c_int) -> c_int {
            collectives::data::broadcast(stringify!($name), team, (dest as usize, source as usize), nelems, $bytes, root);
            0
        }}
    };
}
pub(crate) use broadcast;

macro_rules! collect {
    ($bytes:literal, $way:ident, $name:ident) => {
        export! { fn $name(team: usize, dest: *mut c_void, source: *const c_void, nelems: usize) -> c_int {
            collectives::data::$way(stringify!($name), team, (dest as usize, source as usize), nelems, $bytes);
            0
        }}
    };
}
pub(crate) use collect;

macro_rules! alltoalls {
    ($bytes:literal, $name:ident) => {
        export! { fn $name(team: usize, dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, nelems: usize) -> c_int {
            collectives::data::alltoalls::<$bytes>(stringify!($name), team, (dest as usize, source as usize), (dst, sst), nelems);
            0
        }}
    };
}
pub(crate) use alltoalls;

macro_rules! reduce {
    ($of:ty, $how:ident, $name:ident) => {
        export! { fn $name(team: usize, dest: *mut c_void, source: *const c_void, nreduce: usize) -> c_int {
            collectives::reductions::reduce::<$of>(stringify!($name), team, (dest as usize, source as usize), nreduce, Combine::$how);
            0
        }}
    };
}
pub(crate) use reduce;

macro_rules! scan {
    ($of:ty, $inclusive:literal, $name:ident) => {
        export! { fn $name(team: usize, dest: *mut c_void, source: *const c_void, nelems: usize) -> c_int {
            collectives::reductions::scan::<$of>(stringify!($name), team, (dest as usize, source as usize), nelems, $inclusive);
            0
        }}
    };
}
pub(crate) use scan;

macro_rules! to_all {
    ($of:ty, $how:ident, $name:ident) => {
        export! { fn $name(
            dest: *mut c_void, source: *const c_void, nreduce: c_int, start: c_int, log_stride: c_int, size: c_int, _work: *mut c_void,
            psync: *mut c_long
        ) {
            let set = collectives::active_sets::ActiveSet::new(stringify!($name), start, log_stride, size, psync);
            set.reduce::<$of>((dest as usize, source as usize), nreduce, Combine::$how)
        }}
    };
}
pub(crate) use to_all;
