//! Atomics on words of 4 and 8 bytes.
//!
//! Pointers from the program satisfy invariant B3 of `transfer`.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ptr::NonNull;

use pelago::{Context, GlobalPtr, Word};
use pelago_base::AtomicOperator;

use crate::library::{Library, direct, library};
use crate::refusal::refuse;
use crate::transfer;

/// Performs an atomic and returns the previous value.
#[inline(always)]
pub(crate) fn fetch<T: Word>(
    routine: &str,
    context: usize,
    dest: *const T,
    operator: AtomicOperator,
    operand: T,
    pe: c_int,
) -> T {
    match direct(context, dest as usize, pe) {
        Some(place) => place.atomic(operator, operand),
        None => fetch_elsewhere(routine, context, dest, operator, operand, pe),
    }
}

#[cold]
#[inline(never)]
fn fetch_elsewhere<T: Word>(routine: &str, context: usize, dest: *const T, operator: AtomicOperator, operand: T, pe: c_int) -> T {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let at = library.pointer::<T>(routine, "dest", dest as usize, rank);
    match library.reach.place(at) {
        Some(place) => place.atomic(operator, operand),
        None => fetch_remote(routine, library, context, at, operator, operand),
    }
}

#[cold]
#[inline(never)]
fn fetch_remote<T: Word>(
    routine: &str,
    library: &Library,
    context: usize,
    at: GlobalPtr<T>,
    operator: AtomicOperator,
    operand: T,
) -> T {
    let mut found = T::new_zeroed();
    let into = NonNull::from(&mut found);
    let slot = library.context(routine, context);
    // SAFETY: the word lives until the operation has completed, below; if it fails, the process ends.
    let handle = library.or_end(routine, slot.issue(|context| unsafe { context.fetch_raw(at, operator, operand, into) }));
    library.or_end(routine, slot.wait_for("shmem_atomic", &handle));
    // SAFETY: the operation has written the word.
    unsafe { into.read() }
}

/// Performs an atomic without a result.
#[inline(always)]
pub(crate) fn update<T: Word>(routine: &str, context: usize, dest: *mut T, operator: AtomicOperator, operand: T, pe: c_int) {
    match direct(context, dest as usize, pe) {
        Some(place) if operator == AtomicOperator::Swap => place.store(operand),
        Some(place) => drop(place.atomic(operator, operand)),
        None => update_elsewhere(routine, context, dest, operator, operand, pe),
    }
}

#[cold]
#[inline(never)]
fn update_elsewhere<T: Word>(routine: &str, context: usize, dest: *mut T, operator: AtomicOperator, operand: T, pe: c_int) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let at = library.pointer::<T>(routine, "dest", dest as usize, rank);
    match library.reach.place(at) {
        Some(place) if operator == AtomicOperator::Swap => place.store(operand),
        Some(place) => drop(place.atomic(operator, operand)),
        None => update_remote(routine, library, context, at, operator, operand),
    }
}

#[cold]
#[inline(never)]
fn update_remote<T: Word>(
    routine: &str,
    library: &Library,
    context: usize,
    at: GlobalPtr<T>,
    operator: AtomicOperator,
    operand: T,
) {
    let issue = |context: &'static Context| match operator {
        AtomicOperator::Add => context.add(at, operand).map(drop),
        AtomicOperator::And => context.and(at, operand).map(drop),
        AtomicOperator::Or => context.or(at, operand).map(drop),
        AtomicOperator::Xor => context.xor(at, operand).map(drop),
        _ => context.set(at, operand).map(drop),
    };
    library.or_end(routine, library.context(routine, context).issue(issue));
}

/// Starts an atomic that stores the previous value at `into`. The value is there at the latest after a quiet.
pub(crate) fn fetch_later<T: Word>(
    routine: &str,
    context: usize,
    into: *mut T,
    dest: *const T,
    operator: AtomicOperator,
    operand: T,
    pe: c_int,
) {
    let library = library(routine);
    let rank = library.rank(routine, context, pe);
    let at = library.pointer::<T>(routine, "dest", dest as usize, rank);
    let Some(into) = NonNull::new(into).filter(|into| into.is_aligned()) else {
        refuse(routine, &format_args!("fetch {into:p} is not the address of a word"))
    };
    match library.reach.place(at) {
        // SAFETY: B3.
        Some(place) => unsafe { into.write(place.atomic(operator, operand)) },
        None => {
            let words = NonNull::slice_from_raw_parts(into.cast::<u8>(), size_of::<T>());
            // SAFETY: B3.
            let cells = unsafe { pelago_memory::Cells::new(words.cast(), words.len()) };
            let Some(cells) = transfer::lasting(library, cells) else {
                // SAFETY: B3.
                return unsafe { into.write(fetch_remote(routine, library, context, at, operator, operand)) };
            };
            let into = cells.pointer().cast();
            // SAFETY: B3.
            let issue = |context: &'static Context| unsafe { context.fetch_raw(at, operator, operand, into) }.map(drop);
            library.or_end(routine, library.context(routine, context).issue(issue));
        }
    }
}
