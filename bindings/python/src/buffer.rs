//! Contiguous bytes of Python objects.
//!
//! Invariant **Z1**: while a `Bytes` lives, the exporter keeps the bytes at its address valid. Other threads of Python may write them meanwhile, so that no
//! reference to them is made: they are copied by pointer.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use pyo3::ffi;
use pyo3::prelude::*;

/// The bytes of an object with the buffer protocol, C-contiguous, held until this is dropped.
pub(crate) struct Bytes {
    view: Box<ffi::Py_buffer>,
}

// SAFETY: Z1: the exporter keeps the bytes for whichever thread reads them; the view is released with the interpreter attached.
unsafe impl Send for Bytes {}
// SAFETY: as above; nothing of it changes.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// The bytes, to be read.
    ///
    /// # Errors
    /// The object has no contiguous buffer.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_SIMPLE)
    }

    /// The bytes, to be written.
    ///
    /// # Errors
    /// The object has no contiguous buffer, or a read-only one.
    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_WRITABLE)
    }

    fn with(object: &Bound<'_, PyAny>, flags: std::ffi::c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter is attached, and the view is a valid one to be filled.
        match unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, flags) } {
            0 => Ok(Self { view }),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.view.len).unwrap_or(0)
    }

    /// Where they begin; valid for `len` bytes (Z1).
    pub(crate) fn pointer(&self) -> NonNull<u8> {
        NonNull::new(self.view.buf.cast()).unwrap_or(NonNull::<u64>::dangling().cast())
    }

    /// A copy of them as values: as many as are whole.
    pub(crate) fn to_values<T: pelago::Pod>(&self) -> Vec<T> {
        let count = self.len() / size_of::<T>();
        let mut values = Vec::<T>::with_capacity(count);
        // SAFETY: Z1: so many bytes are valid; every pattern of bits is a value.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer().as_ptr(), values.as_mut_ptr().cast::<u8>(), count * size_of::<T>());
            values.set_len(count);
        }
        values
    }

    /// Writes values there: as many as there is room for.
    pub(crate) fn write<T: pelago::Pod>(&self, values: &[T]) {
        let bytes = size_of_val(values).min(self.len());
        // SAFETY: Z1: so many bytes are valid for writes, as the buffer was asked for to be written.
        unsafe { std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), self.pointer().as_ptr(), bytes) };
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: the view was filled, and is released once.
        Python::attach(|_| unsafe { ffi::PyBuffer_Release(&raw mut *self.view) });
    }
}
