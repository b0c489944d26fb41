//! The functions of the driver that this crate uses, each at the version with this signature.
//!
//! C1: types and numbers are those of `cuda.h`; each function is looked up at a version with this signature, by `cuGetProcAddress` or by the name
//! of its versioned symbol. HIP's functions under the alternative names have the same signatures according to its documentation; where they differ,
//! they are separate entries that CUDA lacks (`hip_only`), and CUDA's entries have no HIP name.
//! C2: texts end with a zero byte and live until the call returns; pointers to results are valid for writes.
//! C3: any thread may call the driver.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use pelago_dynamic::{DynamicLibrary, Visibility};

use super::{CudaError, Interface, Result};

/// Return code of each function; zero is success.
pub(crate) type Code = c_int;

macro_rules! objects {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) *mut c_void);

        // SAFETY: C3: an opaque handle of the driver, which is never dereferenced.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}
    )* };
}

objects! {
    /// `CUcontext`.
    RawContext;
    /// `CUstream`.
    RawStream;
    /// `CUevent`.
    RawEvent;
    /// `CUmodule`.
    RawModule;
    /// `CUfunction`.
    RawFunction;
}

/// `CUipcMemHandle`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct IpcHandle(pub(crate) [u8; 64]);

/// One end of a [`Copy2D`].
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2DEnd {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: c_uint,
    pub(crate) host: *mut c_void,
    pub(crate) device: u64,
    pub(crate) array: *mut c_void,
    pub(crate) pitch: usize,
}

/// `CUDA_MEMCPY2D_v2`: source, then target.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy2D {
    pub(crate) from: Copy2DEnd,
    pub(crate) to: Copy2DEnd,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

const _: () = assert!(size_of::<Copy2D>() == 128, "as in cuda.h on 64 bits");

const STUB_LIBRARY: Code = 34;
const NO_DEVICE: Code = 100;
pub(crate) const NOT_READY: Code = 600;
pub(crate) const MEMORY_DEVICE: c_uint = 2;
pub(crate) const ATTACH_GLOBAL: c_uint = 1;
pub(crate) const HOST_PORTABLE: c_uint = 1;
pub(crate) const STREAM_WITHOUT_LEGACY: c_uint = 1;
pub(crate) const EVENT_WITHOUT_TIMING: c_uint = 2;
pub(crate) const IPC_LAZY_PEER_ACCESS: c_uint = 1;
pub(crate) const WAIT_AT_LEAST: c_uint = 0;
const PEER_ACCESS_ALREADY: Code = 704;

/// An attribute of a device, by CUDA's number and by HIP's.
pub(super) struct Attribute {
    pub(super) cuda: c_int,
    pub(super) hip: c_int,
}

pub(super) const DEVICE_MAJOR: Attribute = Attribute { cuda: 75, hip: 23 };
pub(super) const DEVICE_MINOR: Attribute = Attribute { cuda: 76, hip: 61 };
pub(super) const DEVICE_MANAGED: Attribute = Attribute { cuda: 83, hip: 24 };
/// CUDA only: according to its documentation, HIP lets streams wait only for words in memory allocated for signals, which is not used here.
pub(super) const DEVICE_64_BIT_VALUES: c_int = 122;
pub(super) const DEVICE_DMA_BUF: Attribute = Attribute { cuda: 124, hip: 93 };
/// The scope in which writes of network cards are visible in order without a flush. HIP has no equivalent.
pub(super) const DEVICE_WRITES_ORDERING: c_int = 118;
/// The scope of the device that owns the memory, of `CUGPUDirectRDMAWritesOrdering`; the scope of all devices has a greater number.
pub(super) const ORDERING_OWNER: c_int = 100;
const RANGE_DMA_BUF: c_int = 1;

/// Look-up data of a function: its name and version for `cuGetProcAddress`, and the name of its symbol; and HIP's name. `None` if an interface
/// lacks the function.
struct Entry {
    cuda: Option<(&'static CStr, c_int, &'static CStr)>,
    hip: Option<&'static CStr>,
}

macro_rules! table {
    (
        needed { $($name:ident: ($($argument:ty),*), $api:literal, $version:literal, $symbol:literal, $hip:literal;)* }
        optional { $($extra:ident: ($($other:ty),*), $api_x:literal, $version_x:literal, $symbol_x:literal, $hip_x:expr;)* }
        hip_only { $($only:ident: ($($its:ty),*), $hip_o:literal;)* }
    ) => {
        /// The functions of the driver.
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) -> Code,)*
            $(pub(crate) $extra: Option<unsafe extern "C" fn($($other),*) -> Code>,)*
            $(pub(crate) $only: Option<unsafe extern "C" fn($($its),*) -> Code>,)*
        }

        impl Functions {
            /// Loads all functions of a library.
            pub(super) fn load(library: &str, interface: Interface) -> Result<Self> {
                let source = Source::open(library, interface)?;
                // SAFETY: C1.
                unsafe {
                    Ok(Self {
                        $($name: {
                            let entry = Entry { cuda: Some((name($api), $version, name($symbol))), hip: Some(name($hip)) };
                            source.find(&entry).ok_or_else(|| CudaError::Function {
                                library: library.into(),
                                function: shown(if interface == Interface::Hip { $hip } else { $api }),
                            })?
                        },)*
                        $($extra: source.find(&Entry { cuda: Some((name($api_x), $version_x, name($symbol_x))), hip: $hip_x }),)*
                        $($only: source.find(&Entry { cuda: None, hip: Some(name($hip_o)) }),)*
                    })
                }
            }
        }
    };
}

table! {
    needed {
        init: (c_uint), "cuInit\0", 2000, "cuInit\0", "hipInit\0";
        driver_get_version: (*mut c_int), "cuDriverGetVersion\0", 2020, "cuDriverGetVersion\0", "hipDriverGetVersion\0";
        device_get_count: (*mut c_int), "cuDeviceGetCount\0", 2000, "cuDeviceGetCount\0", "hipGetDeviceCount\0";
        device_get: (*mut c_int, c_int), "cuDeviceGet\0", 2000, "cuDeviceGet\0", "hipDeviceGet\0";
        device_get_name: (*mut c_char, c_int, c_int), "cuDeviceGetName\0", 2000, "cuDeviceGetName\0", "hipDeviceGetName\0";
        device_total_mem: (*mut usize, c_int), "cuDeviceTotalMem\0", 3020, "cuDeviceTotalMem_v2\0", "hipDeviceTotalMem\0";
        device_get_attribute: (*mut c_int, c_int, c_int), "cuDeviceGetAttribute\0", 2000, "cuDeviceGetAttribute\0", "hipDeviceGetAttribute\0";
        context_retain: (*mut RawContext, c_int), "cuDevicePrimaryCtxRetain\0", 7000, "cuDevicePrimaryCtxRetain\0", "hipDevicePrimaryCtxRetain\0";
        context_release: (c_int), "cuDevicePrimaryCtxRelease\0", 11000, "cuDevicePrimaryCtxRelease_v2\0", "hipDevicePrimaryCtxRelease\0";
        context_push: (RawContext), "cuCtxPushCurrent\0", 4000, "cuCtxPushCurrent_v2\0", "hipCtxPushCurrent\0";
        context_pop: (*mut RawContext), "cuCtxPopCurrent\0", 4000, "cuCtxPopCurrent_v2\0", "hipCtxPopCurrent\0";
        mem_alloc: (*mut u64, usize), "cuMemAlloc\0", 3020, "cuMemAlloc_v2\0", "hipMalloc\0";
        mem_alloc_managed: (*mut u64, usize, c_uint), "cuMemAllocManaged\0", 6000, "cuMemAllocManaged\0", "hipMallocManaged\0";
        mem_free: (u64), "cuMemFree\0", 3020, "cuMemFree_v2\0", "hipFree\0";
        mem_host_alloc: (*mut *mut c_void, usize, c_uint), "cuMemHostAlloc\0", 2020, "cuMemHostAlloc\0", "hipHostMalloc\0";
        mem_free_host: (*mut c_void), "cuMemFreeHost\0", 2000, "cuMemFreeHost\0", "hipHostFree\0";
        mem_get_address_range: (*mut u64, *mut usize, u64), "cuMemGetAddressRange\0", 3020, "cuMemGetAddressRange_v2\0", "hipMemGetAddressRange\0";
        copy_to_device: (u64, *const c_void, usize, RawStream), "cuMemcpyHtoDAsync\0", 3020, "cuMemcpyHtoDAsync_v2\0", "hipMemcpyHtoDAsync\0";
        copy_to_host: (*mut c_void, u64, usize, RawStream), "cuMemcpyDtoHAsync\0", 3020, "cuMemcpyDtoHAsync_v2\0", "hipMemcpyDtoHAsync\0";
        copy_on_device: (u64, u64, usize, RawStream), "cuMemcpyDtoDAsync\0", 3020, "cuMemcpyDtoDAsync_v2\0", "hipMemcpyDtoDAsync\0";
        copy_2d: (*const Copy2D, RawStream), "cuMemcpy2DAsync\0", 3020, "cuMemcpy2DAsync_v2\0", "hipMemcpyParam2DAsync\0";
        stream_create: (*mut RawStream, c_uint), "cuStreamCreate\0", 2000, "cuStreamCreate\0", "hipStreamCreateWithFlags\0";
        stream_destroy: (RawStream), "cuStreamDestroy\0", 4000, "cuStreamDestroy_v2\0", "hipStreamDestroy\0";
        stream_synchronize: (RawStream), "cuStreamSynchronize\0", 2000, "cuStreamSynchronize\0", "hipStreamSynchronize\0";
        stream_query: (RawStream), "cuStreamQuery\0", 2000, "cuStreamQuery\0", "hipStreamQuery\0";
        stream_wait_event: (RawStream, RawEvent, c_uint), "cuStreamWaitEvent\0", 3020, "cuStreamWaitEvent\0", "hipStreamWaitEvent\0";
        event_create: (*mut RawEvent, c_uint), "cuEventCreate\0", 2000, "cuEventCreate\0", "hipEventCreateWithFlags\0";
        event_destroy: (RawEvent), "cuEventDestroy\0", 4000, "cuEventDestroy_v2\0", "hipEventDestroy\0";
        event_record: (RawEvent, RawStream), "cuEventRecord\0", 2000, "cuEventRecord\0", "hipEventRecord\0";
        event_query: (RawEvent), "cuEventQuery\0", 2000, "cuEventQuery\0", "hipEventQuery\0";
        event_synchronize: (RawEvent), "cuEventSynchronize\0", 2000, "cuEventSynchronize\0", "hipEventSynchronize\0";
        ipc_get: (*mut IpcHandle, u64), "cuIpcGetMemHandle\0", 4010, "cuIpcGetMemHandle\0", "hipIpcGetMemHandle\0";
        ipc_open: (*mut u64, IpcHandle, c_uint), "cuIpcOpenMemHandle\0", 11000, "cuIpcOpenMemHandle_v2\0", "hipIpcOpenMemHandle\0";
        ipc_close: (u64), "cuIpcCloseMemHandle\0", 4010, "cuIpcCloseMemHandle\0", "hipIpcCloseMemHandle\0";
        module_load: (*mut RawModule, *const c_void), "cuModuleLoadData\0", 2000, "cuModuleLoadData\0", "hipModuleLoadData\0";
        module_unload: (RawModule), "cuModuleUnload\0", 2000, "cuModuleUnload\0", "hipModuleUnload\0";
        module_get_function: (*mut RawFunction, RawModule, *const c_char), "cuModuleGetFunction\0", 2000, "cuModuleGetFunction\0", "hipModuleGetFunction\0";
        launch: (RawFunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, RawStream, *mut *mut c_void, *mut *mut c_void),
            "cuLaunchKernel\0", 4000, "cuLaunchKernel\0", "hipModuleLaunchKernel\0";
    }
    optional {
        get_error_string: (c_int, *mut *const c_char), "cuGetErrorString\0", 6000, "cuGetErrorString\0", Some(c"hipDrvGetErrorString");
        device_get_uuid: (*mut [u8; 16], c_int), "cuDeviceGetUuid\0", 11040, "cuDeviceGetUuid_v2\0", Some(c"hipDeviceGetUuid");
        address_range_handle: (*mut c_int, u64, usize, c_int, u64), "cuMemGetHandleForAddressRange\0", 11070, "cuMemGetHandleForAddressRange\0",
            Some(c"hipMemGetHandleForAddressRange");
        // HIP's function takes device numbers.
        copy_to_peer: (u64, RawContext, u64, RawContext, usize, RawStream), "cuMemcpyPeerAsync\0", 4000, "cuMemcpyPeerAsync\0", None;
        can_access_peer: (*mut c_int, c_int, c_int), "cuDeviceCanAccessPeer\0", 4000, "cuDeviceCanAccessPeer\0", Some(c"hipDeviceCanAccessPeer");
        enable_peer_access: (RawContext, c_uint), "cuCtxEnablePeerAccess\0", 4000, "cuCtxEnablePeerAccess\0", Some(c"hipCtxEnablePeerAccess");
        // HIP's function takes a mask in addition.
        stream_wait_value: (RawStream, u64, u64, c_uint), "cuStreamWaitValue64\0", 11070, "cuStreamWaitValue64_v2\0", None;
        stream_write_value: (RawStream, u64, u64, c_uint), "cuStreamWriteValue64\0", 11070, "cuStreamWriteValue64_v2\0", Some(c"hipStreamWriteValue64");
    }
    hip_only {
        copy_to_peer_by_number: (u64, c_int, u64, c_int, usize, RawStream), "hipMemcpyPeerAsync\0";
        stream_wait_masked_value: (RawStream, u64, u64, c_uint, u64), "hipStreamWaitValue64\0";
    }
}

/// Returns a name of the table, whose last byte is zero, as a C string.
const fn name(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("names end with a zero byte"),
    }
}

fn shown(text: &'static str) -> &'static str {
    text.trim_end_matches('\0')
}

type Lookup = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64) -> Code;
type Lookup2 = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> Code;

/// Source of the functions.
struct Source {
    library: DynamicLibrary,
    interface: Interface,
    lookup: Option<Lookup>,
    lookup_2: Option<Lookup2>,
}

impl Source {
    fn open(library: &str, interface: Interface) -> Result<Self> {
        let library = DynamicLibrary::open(library, Visibility::Local).map_err(CudaError::Missing)?;
        // SAFETY: C1: the first exists since CUDA 11.3, the second since 12.0.
        let (lookup, lookup_2) =
            unsafe { (library.function(c"cuGetProcAddress", None).ok(), library.function(c"cuGetProcAddress_v2", None).ok()) };
        Ok(Self { library, interface, lookup, lookup_2 })
    }

    /// # Safety
    /// `F` is the type of the function (C1).
    unsafe fn find<F: Copy>(&self, entry: &Entry) -> Option<F> {
        if self.interface == Interface::Hip {
            // SAFETY: the caller's promise.
            return unsafe { self.library.function(entry.hip?, None) }.ok();
        }
        let (name, version, symbol) = entry.cuda?;
        let (name, mut found, mut status) = (name.as_ptr(), ptr::null_mut(), 0);
        let code = match (self.lookup_2, self.lookup) {
            // SAFETY: C1, C2.
            (Some(lookup), _) => unsafe { lookup(name, &mut found, version, 0, &mut status) },
            // SAFETY: C1, C2.
            (None, Some(lookup)) => unsafe { lookup(name, &mut found, version, 0) },
            // SAFETY: the caller's promise.
            (None, None) => return unsafe { self.library.function(symbol, None) }.ok(),
        };
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function is a pointer") }
        // SAFETY: the caller's promise; not null, and of equal size.
        (code == 0 && !found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
    }
}

impl Functions {
    /// Converts the return code of a call to a result.
    pub(crate) fn check(&self, function: &'static str, code: Code) -> Result<()> {
        match code {
            0 => Ok(()),
            NO_DEVICE => Err(CudaError::NoDevice),
            STUB_LIBRARY => Err(CudaError::Missing("the library is the stub of a toolkit, for linking alone".into())),
            _ => Err(CudaError::Call { function, text: self.text(code), code }),
        }
    }

    fn text(&self, code: Code) -> String {
        let mut text = ptr::null();
        // SAFETY: C1, C2.
        let found = self.get_error_string.is_some_and(|function| unsafe { function(code, &mut text) } == 0);
        if !found || text.is_null() {
            return "unknown error".into();
        }
        // SAFETY: C2: a constant text.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    pub(super) fn start(&self) -> Result<()> {
        // SAFETY: C1.
        self.check("cuInit", unsafe { (self.init)(0) })
    }

    pub(super) fn version(&self) -> Result<i32> {
        let mut version = 0;
        // SAFETY: C1, C2.
        self.check("cuDriverGetVersion", unsafe { (self.driver_get_version)(&mut version) })?;
        Ok(version)
    }

    pub(super) fn devices(&self) -> Result<u32> {
        let mut count = 0;
        // SAFETY: C1, C2.
        self.check("cuDeviceGetCount", unsafe { (self.device_get_count)(&mut count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    pub(super) fn attribute(&self, device: i32, attribute: i32) -> Result<i32> {
        let mut value = 0;
        // SAFETY: C1, C2.
        self.check("cuDeviceGetAttribute", unsafe { (self.device_get_attribute)(&mut value, attribute, device) })?;
        Ok(value)
    }

    pub(super) const fn has_stream_values(&self) -> bool {
        self.stream_wait_value.is_some() && self.stream_write_value.is_some()
    }

    /// Exports whole pages of a device's memory as a dma-buf, in the context of the device; `None` if the driver has no such function.
    pub(crate) fn dma_buf(&self, start: u64, bytes: u64) -> Option<Result<OwnedFd>> {
        let function = self.address_range_handle?;
        let mut descriptor = -1;
        // SAFETY: C1, C2: the driver checks the range.
        let code = unsafe { function(&mut descriptor, start, bytes as usize, RANGE_DMA_BUF, 0) };
        let made = self.check("cuMemGetHandleForAddressRange", code);
        // SAFETY: C1: a new descriptor, which the caller owns.
        Some(made.map(|()| unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Gives a context access to all memory of another device; returns whether it has access.
    pub(crate) fn reach_peer(
        &self,
        (context, device): (RawContext, i32),
        (peer_context, peer): (RawContext, i32),
    ) -> Result<bool> {
        let (Some(can), Some(enable)) = (self.can_access_peer, self.enable_peer_access) else { return Ok(false) };
        let mut is_possible = 0;
        // SAFETY: C1, C2.
        self.check("cuDeviceCanAccessPeer", unsafe { can(&mut is_possible, device, peer) })?;
        if is_possible == 0 {
            return Ok(false);
        }
        self.within(context, || {
            // SAFETY: C1: the driver checks the context.
            match unsafe { enable(peer_context, 0) } {
                PEER_ACCESS_ALREADY => Ok(true),
                code => self.check("cuCtxEnablePeerAccess", code).map(|()| true),
            }
        })
    }

    /// The driver's number of a device.
    pub(crate) fn device(&self, ordinal: u32) -> Result<i32> {
        let mut device = 0;
        // SAFETY: C1, C2.
        self.check("cuDeviceGet", unsafe { (self.device_get)(&mut device, ordinal as c_int) })?;
        Ok(device)
    }

    pub(crate) fn device_name(&self, device: i32) -> Result<String> {
        let mut name = [0u8; 256];
        // SAFETY: C1, C2: it writes at most that many bytes, including the zero.
        self.check("cuDeviceGetName", unsafe { (self.device_get_name)(name.as_mut_ptr().cast(), name.len() as c_int, device) })?;
        Ok(CStr::from_bytes_until_nul(&name).map_or(String::new(), |name| name.to_string_lossy().into_owned()))
    }

    pub(crate) fn device_bytes(&self, device: i32) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: C1, C2.
        self.check("cuDeviceTotalMem", unsafe { (self.device_total_mem)(&mut bytes, device) })?;
        Ok(bytes as u64)
    }

    /// Returns the identifier of a device that is the same in all processes; zeros if the driver has none.
    pub(crate) fn device_uuid(&self, device: i32) -> [u8; 16] {
        let mut uuid = [0; 16];
        // SAFETY: C1, C2.
        let found = self.device_get_uuid.is_some_and(|function| unsafe { function(&mut uuid, device) } == 0);
        if found { uuid } else { [0; 16] }
    }

    /// Retains the primary context of a device, which all its users in a process share, until [`release`](Self::release).
    pub(crate) fn retain(&self, device: i32) -> Result<RawContext> {
        let mut context = RawContext(ptr::null_mut());
        // SAFETY: C1, C2.
        self.check("cuDevicePrimaryCtxRetain", unsafe { (self.context_retain)(&mut context, device) })?;
        Ok(context)
    }

    pub(crate) fn release(&self, device: i32) {
        // SAFETY: C1; after a failure the context exists until the end of the process.
        let _code = unsafe { (self.context_release)(device) };
    }

    /// Runs `act` in a context, and restores the previous context of the thread.
    pub(crate) fn within<R>(&self, context: RawContext, act: impl FnOnce() -> Result<R>) -> Result<R> {
        // SAFETY: C1: the driver checks the context.
        self.check("cuCtxPushCurrent", unsafe { (self.context_push)(context) })?;
        let result = act();
        let mut left = RawContext(ptr::null_mut());
        // SAFETY: C1, C2.
        let popped = self.check("cuCtxPopCurrent", unsafe { (self.context_pop)(&mut left) });
        result.and_then(|result| popped.map(|()| result))
    }

    /// Loads kernels from text.
    pub(crate) fn load_module(&self, text: &str) -> Result<RawModule> {
        let text = CString::new(text).map_err(|_| CudaError::Invalid("the text of a module has no zero byte"))?;
        let mut module = RawModule(ptr::null_mut());
        // SAFETY: C1, C2.
        self.check("cuModuleLoadData", unsafe { (self.module_load)(&mut module, text.as_ptr().cast()) })?;
        Ok(module)
    }

    pub(crate) fn find_kernel(&self, module: RawModule, name: &str) -> Result<RawFunction> {
        let name = CString::new(name).map_err(|_| CudaError::Invalid("the name of a kernel has no zero byte"))?;
        let mut function = RawFunction(ptr::null_mut());
        // SAFETY: C1, C2.
        self.check("cuModuleGetFunction", unsafe { (self.module_get_function)(&mut function, module, name.as_ptr()) })?;
        Ok(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// `CUDA_MEMCPY2D_v2` by the rules of C.
    #[test]
    fn the_layout_of_a_copy_is_that_of_the_header() {
        assert_eq!([offset_of!(Copy2DEnd, kind), offset_of!(Copy2DEnd, host), offset_of!(Copy2DEnd, device)], [16, 24, 32]);
        assert_eq!([offset_of!(Copy2DEnd, array), offset_of!(Copy2DEnd, pitch), size_of::<Copy2DEnd>()], [40, 48, 56]);
        assert_eq!([offset_of!(Copy2D, to), offset_of!(Copy2D, width), offset_of!(Copy2D, height)], [56, 112, 120]);
    }
}
