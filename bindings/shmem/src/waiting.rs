//! Waits and tests of memory.
//!
//! Pointers from the program satisfy invariant B3 of `transfer`. Words that other PEs change are read by atomic loads.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::library::{Library, library};
use crate::limits::WAIT_LOOKS;
use crate::refusal::refuse;

/// A type of elements that other PEs may change while this PE waits.
pub(crate) trait Waitable: Copy + PartialOrd + 'static {
    /// # Safety
    /// `place` is a readable, aligned element.
    unsafe fn look(place: *const Self) -> Self;
}

macro_rules! waitable {
    ($($value:ty: $atomic:ty;)+) => {$(
        impl Waitable for $value {
            #[inline(always)]
            unsafe fn look(place: *const Self) -> Self {
                // SAFETY: the caller's promise; the library refuses addresses that are not aligned.
                unsafe { &*place.cast::<$atomic>() }.load(Ordering::Acquire) as Self
            }
        }
    )+};
}

waitable! {
    i16: AtomicU16;
    u16: AtomicU16;
    i32: AtomicU32;
    u32: AtomicU32;
    i64: AtomicU64;
    u64: AtomicU64;
}

/// Whether a comparison `SHMEM_CMP_…` holds.
#[inline(always)]
fn holds<T: PartialOrd>(comparison: c_int, value: T, with: T) -> bool {
    match comparison {
        0 => value == with,
        1 => value != with,
        2 => value < with,
        3 => value <= with,
        4 => value > with,
        _ => value >= with,
    }
}

/// Elements that are compared with one value, or each with a value of its own.
#[derive(Clone, Copy)]
pub(crate) struct Elements<T> {
    routine: &'static str,
    library: &'static Library,
    values: *const T,
    count: usize,
    /// Null, or a word for each element; an element whose word is not 0 is excluded.
    status: *const c_int,
    comparison: c_int,
    with: With<T>,
}

/// The values that elements are compared with.
#[derive(Clone, Copy)]
pub(crate) enum With<T> {
    One(T),
    Each(*const T),
}

impl<T: Waitable> Elements<T> {
    /// Returns the elements of a call. Ends the job if they are not symmetric.
    pub(crate) fn new(
        routine: &'static str,
        values: *const T,
        count: usize,
        status: *const c_int,
        comparison: c_int,
        with: With<T>,
    ) -> Self {
        let library = library(routine);
        if !(0..=5).contains(&comparison) {
            refuse(routine, &format_args!("cmp {comparison} is none of SHMEM_CMP_…"));
        }
        let bytes = count.saturating_mul(size_of::<T>());
        if count > 0 && library.symmetric(values as usize, bytes).is_none() {
            refuse(routine, &format_args!("ivar {values:p} ({bytes} bytes) is not symmetric"));
        }
        if !values.is_aligned() {
            refuse(routine, &format_args!("ivar {values:p} is not a multiple of {}", size_of::<T>()));
        }
        if count > 0 && matches!(with, With::Each(values) if values.is_null()) {
            refuse(routine, &"cmp_values is a null pointer");
        }
        Self { routine, library, values, count, status, comparison, with }
    }

    #[inline(always)]
    fn is_excluded(&self, index: usize) -> bool {
        // SAFETY: B3: as many words as elements.
        !self.status.is_null() && unsafe { self.status.add(index).read_volatile() } != 0
    }

    #[inline(always)]
    fn is_met(&self, index: usize) -> bool {
        // SAFETY: B3, and checked in `new`.
        let value = unsafe { T::look(self.values.add(index)) };
        let with = match self.with {
            With::One(with) => with,
            // SAFETY: B3: as many values as elements.
            With::Each(values) => unsafe { values.add(index).read() },
        };
        holds(self.comparison, value, with)
    }

    fn is_empty(&self) -> bool {
        (0..self.count).all(|index| self.is_excluded(index))
    }

    fn are_all_met(&self) -> bool {
        (0..self.count).all(|index| self.is_excluded(index) || self.is_met(index))
    }

    fn first_met(&self) -> Option<usize> {
        (0..self.count).find(|&index| !self.is_excluded(index) && self.is_met(index))
    }

    /// Ends the job if indices are to be stored at a null pointer.
    fn check(&self, indices: *mut usize) {
        if self.count > 0 && indices.is_null() {
            refuse(self.routine, &"indices is a null pointer");
        }
    }

    /// Stores the indices of the elements whose comparison holds, and returns their number.
    fn store_met(&self, indices: *mut usize) -> usize {
        let met = (0..self.count).filter(|&index| !self.is_excluded(index) && self.is_met(index));
        let mut stored = 0;
        for index in met {
            // SAFETY: B3: room for as many indices as elements.
            unsafe { indices.add(stored).write(index) };
            stored += 1;
        }
        stored
    }

    /// Waits until `look` returns a value.
    #[inline]
    fn wait<R>(&self, look: impl Fn() -> Option<R>) -> R {
        if !self.library.is_simulated {
            for _ in 0..WAIT_LOOKS {
                if let Some(found) = look() {
                    return found;
                }
                std::hint::spin_loop();
            }
        }
        // The PE whose answer this PE awaits may sleep until it sees a store.
        self.library.announce_stores();
        let word = Some(self.values as usize).filter(|_| self.count == 1);
        let word = word.and_then(|address| self.library.symmetric(address, size_of::<T>()));
        let word = word.and_then(|bits| self.library.awaited(self.library.at(bits, self.library.me)));
        let monitor = &self.library.default_context().monitor;
        let waited = monitor.wait_for_word(self.routine, word, |_| Ok(look()));
        self.library.or_end(self.routine, waited)
    }

    /// Checks once. If the result is `None`, makes progress and checks again.
    fn test<R>(&self, look: impl Fn() -> Option<R>) -> Option<R> {
        let found = look();
        if found.is_some() {
            return found;
        }
        self.library.announce_stores();
        progress(self.library);
        look()
    }

    /// Waits until the comparisons of all elements hold.
    pub(crate) fn wait_all(self) {
        self.wait(|| self.are_all_met().then_some(()));
    }

    /// Waits until the comparison of an element holds, and returns its index; `usize::MAX` if all elements are excluded.
    pub(crate) fn wait_any(self) -> usize {
        if self.is_empty() { usize::MAX } else { self.wait(|| self.first_met()) }
    }

    /// Waits until the comparison of at least one element holds, and returns the number of such elements.
    pub(crate) fn wait_some(self, indices: *mut usize) -> usize {
        self.check(indices);
        if self.is_empty() { 0 } else { self.wait(|| Some(self.store_met(indices)).filter(|&stored| stored > 0)) }
    }

    /// Whether the comparisons of all elements hold.
    pub(crate) fn test_all(self) -> c_int {
        self.test(|| self.are_all_met().then_some(())).is_some().into()
    }

    /// Returns the index of an element whose comparison holds; `usize::MAX` if there is none.
    pub(crate) fn test_any(self) -> usize {
        self.test(|| self.first_met()).unwrap_or(usize::MAX)
    }

    /// Returns the number of elements whose comparison holds.
    pub(crate) fn test_some(self, indices: *mut usize) -> usize {
        self.check(indices);
        self.test(|| Some(self.store_met(indices)).filter(|&stored| stored > 0)).unwrap_or(0)
    }
}

/// Makes progress, for a caller that polls.
pub(crate) fn progress(library: &Library) {
    let context = library.default_context();
    context.monitor.try_with(|state| state.context.progress());
    context.monitor.yield_core();
}

/// Waits for a signal, and returns the value that satisfied the comparison.
pub(crate) fn wait_for_signal(routine: &'static str, word: *mut u64, comparison: c_int, with: u64) -> u64 {
    let elements = Elements::new(routine, word.cast_const(), 1, std::ptr::null(), comparison, With::One(with));
    elements.wait(|| {
        // SAFETY: B3, and checked in `new`.
        let value = unsafe { u64::look(word) };
        holds(comparison, value, with).then_some(value)
    })
}

/// Returns the value of a signal.
pub(crate) fn signal(routine: &'static str, word: *const u64) -> u64 {
    let library = library(routine);
    if library.symmetric(word as usize, 8).is_none() || !word.is_aligned() {
        refuse(routine, &format_args!("sig_addr {word:p} is not a symmetric word"));
    }
    // SAFETY: B3, and just checked.
    unsafe { u64::look(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_those_of_the_header() {
        let of = |comparison| [(1, 1), (1, 2), (2, 1)].map(|(value, with)| holds(comparison, value, with));
        assert_eq!(of(0), [true, false, false]);
        assert_eq!(of(1), [false, true, true]);
        assert_eq!(of(2), [false, true, false]);
        assert_eq!(of(3), [true, true, false]);
        assert_eq!(of(4), [false, false, true]);
        assert_eq!(of(5), [true, false, true]);
    }
}
