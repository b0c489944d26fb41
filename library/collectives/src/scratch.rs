//! Scratch memory of operations, kept from one call to the next: fresh pages cost more than the operation.

use std::any::Any;
use std::cell::RefCell;

use pelago_rma::{Error, Pod, Result};

/// Maximum number of cached vectors, each of its own type: more than the number of types that a program reduces.
const KEPT_MAX: usize = 16;

/// Returns `length` zero values for `what`.
///
/// # Errors
/// The process has no memory for them.
pub(crate) fn zeroed<T: Pod>(what: &'static str, length: usize) -> Result<Vec<T>> {
    T::new_vec_zeroed(length).map_err(|_| out_of_memory::<T>(what, length))
}

/// Returns `length` zero values for the output of a started operation.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn zeroed_output<T: Pod>(length: usize) -> Result<Vec<T>> {
    zeroed("the output of a started collective operation", length)
}

/// Returns an empty vector with room for `length` values for `what`.
///
/// # Errors
/// As [`zeroed`].
pub(crate) fn room_for<T: Pod>(what: &'static str, length: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(length).map_err(|_| out_of_memory::<T>(what, length)).map(|()| values)
}

fn out_of_memory<T>(what: &'static str, length: usize) -> Error {
    Error::OutOfMemory { what, bytes: (length as u64).saturating_mul(size_of::<T>() as u64) }
}

/// Vectors of values with undefined contents.
#[derive(Default)]
pub(crate) struct Scratch(RefCell<Vec<Box<dyn Any>>>);

#[expect(clippy::box_collection, reason = "the box is what is kept: a new one for each call would be an allocation")]
impl Scratch {
    /// Returns a vector of at least `length` values.
    pub(crate) fn take<T: Pod>(&self, length: usize) -> Box<Vec<T>> {
        let mut kept = self.0.borrow_mut();
        // The last one first: each call reuses the vectors that the previous call gave back.
        let found = kept.iter().rposition(|values| values.is::<Vec<T>>());
        let found = found.and_then(|index| kept.swap_remove(index).downcast::<Vec<T>>().ok());
        let mut values = found.unwrap_or_default();
        if values.len() < length {
            values.resize(length, T::new_zeroed());
        }
        values
    }

    /// Gives a vector back.
    pub(crate) fn give<T: Pod>(&self, values: Box<Vec<T>>) {
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT_MAX && !values.is_empty() {
            kept.push(values);
        }
    }
}
