//! Contiguous bytes of Python objects.
//!
//! Invariant **Z1**: while a `Bytes` lives, the exporter keeps the bytes at its address valid. Other threads of Python may write the bytes meanwhile.
//! Therefore no reference to them is made, and they are copied by pointer.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;

/// The C-contiguous bytes of an object with the buffer protocol. The object keeps them until this is dropped.
pub(crate) struct Bytes {
    view: Box<ffi::Py_buffer>,
}

// SAFETY: Z1: the exporter keeps the bytes valid for any thread; the view is released with the interpreter attached.
unsafe impl Send for Bytes {}
// SAFETY: as above; the view does not change.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// Returns the bytes of an object, for reading.
    ///
    /// # Errors
    /// The object has no contiguous buffer.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_SIMPLE)
    }

    /// Returns the bytes of an object, for writing.
    ///
    /// # Errors
    /// The object has no contiguous buffer, or a read-only one.
    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_WRITABLE)
    }

    fn with(object: &Bound<'_, PyAny>, flags: std::ffi::c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter is attached, and the view may be filled.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } {
            0 => Ok(Self { view }),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.view.len).unwrap_or(0)
    }

    /// Returns the start address, which is valid for `len` bytes (Z1).
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        NonNull::new(self.view.buf.cast()).unwrap_or(NonNull::<u64>::dangling().cast())
    }

    /// Returns a copy of the bytes as values. Remaining bytes of an incomplete value are ignored.
    pub(crate) fn to_values<T: pelago::Pod>(&self) -> Vec<T> {
        let count = self.len() / size_of::<T>();
        let mut values = Vec::<T>::with_capacity(count);
        // SAFETY: Z1: this number of bytes is valid; every bit pattern is a value.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer().as_ptr(), values.as_mut_ptr().cast::<u8>(), count * size_of::<T>());
            values.set_len(count);
        }
        values
    }

    /// Writes as many of the values as fit.
    pub(crate) fn write<T: pelago::Pod>(&self, values: &[T]) {
        let bytes = size_of_val(values).min(self.len());
        // SAFETY: Z1: this number of bytes is valid for writes, as the buffer was requested for writing.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), self.pointer().as_ptr(), bytes) };
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: the view was filled, and is released once.
        Python::attach(|_| unsafe { ffi::PyBuffer_Release(&raw mut *self.view) });
    }
}
