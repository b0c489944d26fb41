//! The functions of libfabric, found at run time; its other functions are in tables of its objects.
//!
//! L1: the types and signatures are those of libfabric's headers (see [`super::abi`]); `fi_getinfo`, `fi_dupinfo`, `fi_freeinfo` and `fi_fabric` are loaded
//! at the symbol versions to which the layouts belong.
//! L2: texts end with a zero byte and live until the call returns.
//! L3: the results of `fi_getinfo` and `fi_dupinfo`, with all that they point to, belong to the caller until `fi_freeinfo`; their texts come from `malloc`.
//! L4: a handler that was installed for a signal before may be installed again.
//! L5: the mask of signals of this thread is restored to what it was before.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::net::IpAddr;
use std::ptr;
use std::sync::OnceLock;

use pelago_dynamic::{DynamicLibrary, Visibility};
use pelago_platform::KeyMode;

use super::abi::*;
use super::{DomainChoice, FabricError};
use crate::limits::INFOS_MAX;

/// The name of the library.
const NAME: &str = "libfabric.so.1";

#[derive(Clone, Copy)]
pub(super) struct Library {
    pub(super) functions: Functions,
}

/// The functions of the library.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    pub(super) getinfo: unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const FiInfo, *mut *mut FiInfo) -> c_int,
    pub(super) freeinfo: unsafe extern "C" fn(*mut FiInfo),
    pub(super) dupinfo: unsafe extern "C" fn(*const FiInfo) -> *mut FiInfo,
    pub(super) fabric: unsafe extern "C" fn(*mut FiFabricAttr, *mut *mut FidFabric, *mut c_void) -> c_int,
    pub(super) version: unsafe extern "C" fn() -> u32,
    pub(super) strerror: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// A description of a fabric, or hints for the selection of one.
pub(super) struct Info {
    pub(super) raw: *mut FiInfo,
    library: Library,
}

// SAFETY: L3: no other code has a pointer to this memory.
unsafe impl Send for Info {}

impl Drop for Info {
    fn drop(&mut self) {
        // SAFETY: L3.
        unsafe { (self.library.functions.freeinfo)(self.raw) };
    }
}

impl Library {
    /// Returns the library, which is opened on first use.
    pub(super) fn open() -> Result<Self, FabricError> {
        static OPENED: OnceLock<Result<Library, String>> = OnceLock::new();
        OPENED.get_or_init(|| keeping_signals(Self::load)).clone().map_err(FabricError::Missing)
    }

    /// Returns the library with a provider: that of the machine, or the mock library of tests.
    pub(super) fn with(choice: Option<&DomainChoice>) -> Result<Self, FabricError> {
        #[cfg(test)]
        if choice.is_some_and(|choice| choice.provider.starts_with("mock-")) {
            return Ok(super::mock::library(choice.map_or("", |choice| &choice.provider)));
        }
        let _any = choice;
        Self::open()
    }

    #[cfg(test)]
    pub(super) const fn of(functions: Functions) -> Self {
        Self { functions }
    }

    fn load() -> Result<Self, String> {
        let library = DynamicLibrary::open(NAME, Visibility::Local)?;
        // SAFETY: L1.
        let functions = unsafe {
            Functions {
                getinfo: library.function(c"fi_getinfo", Some(c"FABRIC_1.3"))?,
                freeinfo: library.function(c"fi_freeinfo", Some(c"FABRIC_1.3"))?,
                dupinfo: library.function(c"fi_dupinfo", Some(c"FABRIC_1.3"))?,
                fabric: library.function(c"fi_fabric", Some(c"FABRIC_1.1"))?,
                version: library.function(c"fi_version", None)?,
                strerror: library.function(c"fi_strerror", None)?,
            }
        };
        Ok(Self { functions })
    }

    /// The version of the library.
    pub(super) fn version(&self) -> (u32, u32) {
        // SAFETY: L1.
        let version = unsafe { (self.functions.version)() };
        (version >> 16, version & 0xFFFF)
    }

    /// The text of an error.
    pub(super) fn error(&self, code: c_int) -> String {
        // SAFETY: L1; a constant text, or nothing.
        let text = unsafe { (self.functions.strerror)(code.abs()) };
        // SAFETY: as above.
        if text.is_null() { format!("error {code}") } else { unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned() }
    }

    /// Converts the return value of a call to a result.
    pub(super) fn check(&self, what: &'static str, code: c_int) -> Result<(), FabricError> {
        let locks = ["fi_mr_reg", "fi_mr_regattr"].contains(&what) && code == -libc::ENOMEM;
        let remedy = if locks { "; the limit of locked memory may be too low (ulimit -l)" } else { "" };
        if code == 0 { Ok(()) } else { Err(FabricError::Call(what, self.error(code) + remedy)) }
    }

    /// Returns descriptions of fabrics with the capabilities that the transport needs, in the library's order; with `devices`, those that access device memory.
    pub(super) fn fabrics(&self, choice: Option<&DomainChoice>, devices: bool) -> Result<Vec<Info>, FabricError> {
        // SAFETY: L1, L3.
        let hints = Info { raw: unsafe { (self.functions.dupinfo)(ptr::null()) }, library: *self };
        if hints.raw.is_null() {
            return Err(FabricError::Call("fi_dupinfo", "no memory".into()));
        }
        // SAFETY: L3: an empty description has all attributes.
        unsafe {
            let wishes = &mut *hints.raw;
            wishes.caps = FI_MSG | FI_RMA | if devices { FI_HMEM } else { 0 };
            wishes.mode = FI_CONTEXT | FI_CONTEXT2;
            (*wishes.ep_attr).kind = FI_EP_RDM;
            (*wishes.tx_attr).msg_order = FI_ORDER_SAS;
            (*wishes.rx_attr).msg_order = FI_ORDER_SAS;
            let domain = &mut *wishes.domain_attr;
            domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
            domain.mr_mode |= if devices { FI_MR_HMEM } else { 0 };
            domain.threading = FI_THREAD_DOMAIN;
            domain.data_progress = FI_PROGRESS_MANUAL;
            domain.resource_mgmt = FI_RM_ENABLED;
            domain.name = duplicated(choice.and_then(|choice| choice.domain.as_deref()))?;
            (*wishes.fabric_attr).prov_name = duplicated(choice.map(|choice| &choice.provider[..]))?;
        }
        let mut found = ptr::null_mut();
        // SAFETY: L1, L3.
        let code = keeping_signals(|| unsafe {
            (self.functions.getinfo)(API_VERSION, ptr::null(), ptr::null(), 0, hints.raw, &mut found)
        });
        if code != 0 || found.is_null() {
            return Err(FabricError::None(named(choice), self.error(code)));
        }
        let found = Info { raw: found, library: *self };
        let mut infos = Vec::new();
        let mut next = found.raw.cast_const();
        while !next.is_null() && infos.len() < INFOS_MAX {
            // SAFETY: L3: a list that ends with null; a copy has no next.
            let copy = unsafe { (self.functions.dupinfo)(next) };
            if !copy.is_null() {
                infos.push(Info { raw: copy, library: *self });
            }
            // SAFETY: as above.
            next = unsafe { (*next).next };
        }
        Ok(infos)
    }
}

impl Info {
    /// The name of the fabric: its provider and its domain.
    pub(super) fn name(&self) -> String {
        format!("{}:{}", self.provider(), self.domain())
    }

    /// The name of the provider, such as `tcp;ofi_rxm`.
    pub(super) fn provider(&self) -> String {
        // SAFETY: L3.
        unsafe { text((*(*self.raw).fabric_attr).prov_name) }
    }

    /// The name of the domain: a device or an interface.
    pub(super) fn domain(&self) -> String {
        // SAFETY: L3.
        unsafe { text((*self.domain_attr()).name) }
    }

    pub(super) fn domain_attr(&self) -> *mut FiDomainAttr {
        // SAFETY: L3.
        unsafe { (*self.raw).domain_attr }
    }

    pub(super) fn mr_mode(&self) -> c_int {
        // SAFETY: L3.
        unsafe { (*self.domain_attr()).mr_mode }
    }

    /// Whether device memory may be registered.
    pub(super) fn has_devices(&self) -> bool {
        // SAFETY: L3.
        unsafe { (*self.raw).caps & FI_HMEM != 0 }
    }

    /// Whether memory is addressed by key and virtual address, not by key and offset.
    pub(super) fn has_virtual_addresses(&self) -> bool {
        self.mr_mode() & FI_MR_VIRT_ADDR != 0
    }

    /// How peers address memory.
    pub(super) fn keys(&self) -> KeyMode {
        match (self.mr_mode() & FI_MR_PROV_KEY != 0, self.has_virtual_addresses()) {
            (true, _) => KeyMode::Provided,
            (false, true) => KeyMode::VirtualAddress,
            (false, false) => KeyMode::Offset,
        }
    }

    pub(super) fn cq_data_bytes(&self) -> usize {
        // SAFETY: L3.
        unsafe { (*self.domain_attr()).cq_data_size }
    }

    pub(super) fn message_bytes_max(&self) -> usize {
        // SAFETY: L3.
        unsafe { (*(*self.raw).ep_attr).max_msg_size }
    }

    pub(super) fn address_format(&self) -> u32 {
        // SAFETY: L3.
        unsafe { (*self.raw).addr_format }
    }

    /// The local IP address of the fabric, if it uses IP addresses.
    pub(super) fn source(&self) -> Option<IpAddr> {
        // SAFETY: L3: as long as it says.
        let bytes = unsafe {
            let info = &*self.raw;
            let is_there = !info.src_addr.is_null();
            std::slice::from_raw_parts(
                if is_there { info.src_addr.cast::<u8>() } else { ptr::dangling() },
                if is_there { info.src_addrlen } else { 0 },
            )
        };
        let family = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
        match (self.address_format(), i32::from(family)) {
            (FI_SOCKADDR..=FI_SOCKADDR_IN6, libc::AF_INET) => <[u8; 4]>::try_from(bytes.get(4..8)?).ok().map(IpAddr::from),
            (FI_SOCKADDR..=FI_SOCKADDR_IN6, libc::AF_INET6) => <[u8; 16]>::try_from(bytes.get(8..24)?).ok().map(IpAddr::from),
            _ => None,
        }
    }

    /// Sizes of the provider's transmit and receive queues, in operations.
    pub(super) fn queue_sizes(&self) -> [usize; 2] {
        // SAFETY: L3.
        unsafe { [(*(*self.raw).tx_attr).size, (*(*self.raw).rx_attr).size] }
    }
}

/// Signals whose handlers some providers (psm2, psm3) replace when they are loaded: a crash would end a rank with exit code 1 and a page of addresses.
const HANDLED: [c_int; 9] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGSEGV,
    libc::SIGTERM,
    libc::SIGTRAP,
];

/// Requests to end that the calling thread holds back meanwhile: the handler of a provider would end the process with exit code 1 and without a line.
const HELD: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Calls `act`, and then restores the signal handlers. A request to end that arrives at this thread meanwhile is handled afterwards, by the handler
/// from before.
fn keeping_signals<T>(act: impl FnOnce() -> T) -> T {
    let handlers = HANDLED.map(|signal| {
        // SAFETY: L4: all bytes zero are a valid value, which the call overwrites.
        let mut handler: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: L4.
        let asked = unsafe { libc::sigaction(signal, ptr::null(), &mut handler) };
        (signal, handler, asked == 0)
    });
    // SAFETY: L5: all bytes zero are a valid value, and the calls write to it alone.
    let before = unsafe {
        let (mut held, mut before): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut held);
        for signal in HELD {
            libc::sigaddset(&mut held, signal);
        }
        (libc::pthread_sigmask(libc::SIG_BLOCK, &held, &mut before) == 0).then_some(before)
    };
    let result = act();
    for (signal, handler, _) in handlers.into_iter().filter(|&(_, _, is_known)| is_known) {
        // SAFETY: L4.
        unsafe { libc::sigaction(signal, &handler, ptr::null_mut()) };
    }
    if let Some(before) = before {
        // SAFETY: L5.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut()) };
    }
    result
}

/// The text of a choice.
pub(super) fn named(choice: Option<&DomainChoice>) -> String {
    choice.map_or_else(|| "any provider".into(), DomainChoice::to_string)
}

/// Copies a text for the library, which frees it.
fn duplicated(from: Option<&str>) -> Result<*mut c_char, FabricError> {
    let Some(from) = from else { return Ok(ptr::null_mut()) };
    let from = CString::new(from).map_err(|error| FabricError::None(from.into(), error.to_string()))?;
    // SAFETY: L2.
    Ok(unsafe { libc::strdup(from.as_ptr()) })
}

/// # Safety
/// Null, or L2.
unsafe fn text(from: *const c_char) -> String {
    // SAFETY: the caller's promise.
    if from.is_null() { String::new() } else { unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static OURS: AtomicU32 = AtomicU32::new(0);
    static THEIRS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn ours(_: c_int) {
        OURS.fetch_add(1, Ordering::SeqCst);
    }

    extern "C" fn theirs(_: c_int) {
        THEIRS.fetch_add(1, Ordering::SeqCst);
    }

    #[test]
    fn a_request_to_end_while_a_provider_is_loaded_is_handled_by_the_handler_from_before() {
        let install = |handler: extern "C" fn(c_int)| {
            // SAFETY: L4: the handlers only count.
            unsafe { libc::signal(libc::SIGHUP, handler as *const () as libc::sighandler_t) }
        };
        install(ours);
        let counts = keeping_signals(|| {
            install(theirs);
            // SAFETY: the handlers only count.
            unsafe { libc::raise(libc::SIGHUP) };
            [&OURS, &THEIRS].map(|count| count.load(Ordering::SeqCst))
        });
        assert_eq!((counts, OURS.load(Ordering::SeqCst), THEIRS.load(Ordering::SeqCst)), ([0, 0], 1, 0));
        // SAFETY: as above; the mask is as before.
        unsafe { libc::raise(libc::SIGHUP) };
        assert_eq!(OURS.load(Ordering::SeqCst), 2);
    }
}
