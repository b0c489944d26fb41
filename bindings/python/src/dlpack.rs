//! Exchange of tensors with other libraries by DLPack, in its unversioned form, which every version of DLPack supports.
//!
//! Invariant **L1**: types and numbers are those of `dlpack.h`. The consumer of a tensor renames its capsule, and calls the deleter once, from any thread;
//! until then the tensor is valid.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use pelago::cuda::CudaMemory;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

const FRESH: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";

/// `kDLCUDA`, and `kDLCUDAManaged`.
const DEVICES: [i32; 2] = [2, 13];

/// Maximum number of dimensions of a tensor.
const DIMENSIONS_MAX: i32 = 64;

/// `DLTensor`.
#[repr(C)]
struct RawTensor {
    data: *mut c_void,
    device_type: i32,
    device: i32,
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: RawTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

const _: () = assert!(size_of::<Managed>() == 64, "as in dlpack.h on 64 bits");

/// A tensor of this library, with its shape and its memory.
struct Ours {
    managed: Managed,
    shape: Vec<i64>,
    _memory: Arc<CudaMemory>,
}

/// Returns a capsule with a contiguous tensor in memory of a device. The memory lives until the tensor is deleted.
pub(crate) fn capsule(py: Python<'_>, memory: Arc<CudaMemory>, shape: Vec<i64>, code: u8, bits: u8) -> PyResult<Py<PyAny>> {
    let tensor = RawTensor {
        data: ptr::with_exposed_provenance_mut(memory.address() as usize),
        device_type: DEVICES[0],
        device: memory.device().ordinal() as i32,
        dimensions: shape.len() as i32,
        code,
        bits,
        lanes: 1,
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        offset: 0,
    };
    let managed = Managed { tensor, context: ptr::null_mut(), deleter: Some(delete) };
    let ours = Box::into_raw(Box::new(Ours { managed, shape, _memory: memory }));
    // SAFETY: the tensor was just allocated; the interpreter is attached. L1.
    unsafe {
        (*ours).managed.tensor.shape = (*ours).shape.as_mut_ptr();
        (*ours).managed.context = ours.cast();
        let capsule = ffi::PyCapsule_New((&raw mut (*ours).managed).cast(), FRESH.as_ptr(), Some(destroy));
        if capsule.is_null() {
            drop(Box::from_raw(ours));
        }
        Bound::from_owned_ptr_or_err(py, capsule).map(Bound::unbind)
    }
}

/// # Safety
/// L1: called once, with a tensor of this library.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw((*managed).context.cast::<Ours>()) });
}

/// # Safety
/// Called by the interpreter with a capsule of this library. A capsule that still has its first name was not consumed.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: the caller's promise; L1.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, FRESH.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, FRESH.as_ptr()).cast());
        }
    }
}

/// A C-contiguous tensor of another library on a device, which lives until this is dropped.
#[pyclass(frozen, module = "pelago._pelago")]
pub(crate) struct Tensor {
    managed: NonNull<Managed>,
}

// SAFETY: L1: any thread may call the deleter; the tensor does not change otherwise.
unsafe impl Send for Tensor {}
// SAFETY: as above.
unsafe impl Sync for Tensor {}

impl Tensor {
    /// Takes the tensor out of a capsule.
    ///
    /// # Errors
    /// The object is not a capsule with a tensor, or was consumed; the tensor is not on a GPU, or is not contiguous.
    pub(crate) fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let object = capsule.as_ptr();
        // SAFETY: the interpreter is attached. L1.
        let taken = unsafe {
            if ffi::PyCapsule_IsValid(object, FRESH.as_ptr()) != 1 {
                return Err(PyValueError::new_err("no DLPack capsule without a version, or one that was consumed"));
            }
            let managed = NonNull::new(ffi::PyCapsule_GetPointer(object, FRESH.as_ptr()).cast::<Managed>());
            let managed = managed.ok_or_else(|| PyErr::fetch(capsule.py()))?;
            if ffi::PyCapsule_SetName(object, USED.as_ptr()) != 0 {
                return Err(PyErr::fetch(capsule.py()));
            }
            Self { managed }
        };
        let (tensor, [shape, strides]) = (taken.tensor(), taken.extents()?);
        if !DEVICES.contains(&tensor.device_type) {
            return Err(PyBufferError::new_err(format!("the tensor is on DLPack device {}, no GPU", tensor.device_type)));
        }
        let mut step = 1_i64;
        for (dimension, &length) in shape.iter().enumerate().rev() {
            let is_next = strides.get(dimension).is_none_or(|&stride| length == 1 || stride == step);
            if length < 0 || !is_next || tensor.lanes != 1 {
                return Err(PyValueError::new_err("the tensor is not C-contiguous, or its elements are vectors"));
            }
            step = step.saturating_mul(length);
        }
        Ok(taken)
    }

    fn tensor(&self) -> &RawTensor {
        // SAFETY: L1.
        unsafe { &self.managed.as_ref().tensor }
    }

    /// Returns shape and strides. The strides are empty if the tensor has none, which means that it is contiguous.
    fn extents(&self) -> PyResult<[&[i64]; 2]> {
        let tensor = self.tensor();
        let is_good = (0..=DIMENSIONS_MAX).contains(&tensor.dimensions) && (tensor.dimensions == 0 || !tensor.shape.is_null());
        if !is_good {
            return Err(PyValueError::new_err(format!("a tensor of {} dimensions", tensor.dimensions)));
        }
        let of = |first: *mut i64| match first.is_null() || tensor.dimensions == 0 {
            true => &[][..],
            // SAFETY: L1.
            false => unsafe { std::slice::from_raw_parts(first, tensor.dimensions as usize) },
        };
        Ok([of(tensor.shape), of(tensor.strides)])
    }
}

#[pymethods]
impl Tensor {
    /// Returns address, device, shape, and the type of elements: code and bits.
    fn describe(&self) -> PyResult<(u64, i32, Vec<i64>, u8, u8)> {
        let (tensor, [shape, _]) = (self.tensor(), self.extents()?);
        let address = (tensor.data.expose_provenance() as u64).wrapping_add(tensor.offset);
        Ok((address, tensor.device, shape.to_vec(), tensor.code, tensor.bits))
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: L1: once.
        unsafe {
            if let Some(deleter) = self.managed.as_ref().deleter {
                deleter(self.managed.as_ptr());
            }
        }
    }
}
