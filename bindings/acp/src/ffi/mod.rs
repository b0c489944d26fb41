//! The exported C functions. Each passes its arguments on and converts the outcome to the return value of the interface.
//!
//! | file | holds |
//! |---|---|
//! | this one | the life of the library, ranks, addresses, memory |
//! | `operations` | copies and atomics |
//! | `channels`, `segments` | channels; segment buffers |
//! | `internal` | internal symbols of the C library that its samples use |
//!
//! Invariant **A4**: pointers from the program satisfy the requirements of the header; texts end with a zero byte.
//!
//! No panic leaves a function: a panic ends the process with one line.
#![allow(unsafe_code)]

pub mod channels;
pub mod internal;
pub mod operations;
pub mod segments;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use pelago::Scope;
use pelago_c_support::{exit, simulated};

use crate::handles;
use crate::library::{self, library, own_rank};
use crate::memory::Memory;
use crate::refusal::{self, Refusal};

/// Calls `f`. Returns `failed` if the call is refused.
pub(crate) fn call<R>(function: &str, failed: R, f: impl FnOnce() -> Result<R, Refusal>) -> R {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(result)) => result,
        Ok(Err(Refusal::Earlier(error))) => library::end(&error, function),
        Ok(Err(Refusal::Failed(error))) if error.scope() > Scope::Operation => library::end(&error, function),
        Ok(Err(why)) => {
            library::report(function, &why);
            failed
        }
        Err(_panic) => {
            refusal::write_line(own_rank(), &format_args!("{function}: a mistake in the library; the job is ended"));
            exit::immediately(1)
        }
    }
}

/// Like `call`, with the result 0 for success and -1 for failure.
fn status(function: &str, f: impl FnOnce() -> Result<(), Refusal>) -> c_int {
    call(function, -1, || f().map(|()| 0))
}

/// Returns the value of `result`, or ends the process if it is an error, which no return value can report.
fn or_end<R>(function: &str, result: pelago::Result<R>) -> R {
    result.unwrap_or_else(|error| library::end(&error, function))
}

/// Returns the address by which other ranks reach memory of this rank.
pub(super) fn shared(address: usize, bytes: usize) -> Result<usize, Refusal> {
    simulated::shared_address(address, bytes).ok_or(Refusal::NoMemory { address, bytes })
}

/// Initializes the library. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_init(_count: *mut c_int, _arguments: *mut *mut *mut c_char) -> c_int {
    status("acp_init", library::init)
}

/// Finalizes the library. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_finalize() -> c_int {
    status("acp_finalize", || library()?.finalize())
}

/// Reinitializes the library, with a new number for each rank. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_reset(rank: c_int) -> c_int {
    status("acp_reset", || library()?.reset(rank))
}

/// Ends the job with a message.
///
/// # Safety
/// `text` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn acp_abort(text: *const c_char) {
    // SAFETY: A4.
    let text = if text.is_null() { c"aborted" } else { unsafe { CStr::from_ptr(text) } };
    refusal::write_line(own_rank(), &text.to_string_lossy().trim_end());
    exit::immediately(1)
}

/// Waits for all ranks. Collective.
#[unsafe(no_mangle)]
pub extern "C" fn acp_sync() -> c_int {
    status("acp_sync", || {
        let library = library()?;
        or_end("acp_sync", library.sync());
        Ok(())
    })
}

/// Returns the number of this rank; -1 if the library is not initialized.
#[unsafe(no_mangle)]
pub extern "C" fn acp_rank() -> c_int {
    call("acp_rank", -1, || Ok(library()?.rank() as c_int))
}

/// Returns the number of ranks of the job; -1 if the library is not initialized.
#[unsafe(no_mangle)]
pub extern "C" fn acp_procs() -> c_int {
    call("acp_procs", -1, || Ok(library()?.size() as c_int))
}

/// Returns the starter memory of a rank; null if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_starter_ga(rank: c_int) -> u64 {
    call("acp_query_starter_ga", 0, || Ok(library()?.starter_of(rank)?.bits()))
}

/// Registers memory of this rank for access by all ranks. Returns its key; null on failure.
#[unsafe(no_mangle)]
pub extern "C" fn acp_register_memory(address: *mut c_void, bytes: usize, color: c_int) -> u64 {
    call("acp_register_memory", 0, || {
        let library = library()?;
        if color != 0 {
            return Err(Refusal::Color(color));
        }
        let address = shared(address as usize, bytes)?;
        library.monitor().with(|state| state.registrations.register(state.job, library.memory(), address, bytes))
    })
}

/// Ends a registration.
#[unsafe(no_mangle)]
pub extern "C" fn acp_unregister_memory(key: u64) -> c_int {
    status("acp_unregister_memory", || {
        let library = library()?;
        or_end("acp_unregister_memory", library.access().complete(handles::ALL));
        library.monitor().with(|state| state.registrations.unregister(library.memory(), key))
    })
}

/// Returns the global address of registered memory; null if the memory is not registered.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_ga(key: u64, address: *mut c_void) -> u64 {
    call("acp_query_ga", 0, || {
        let library = library()?;
        let address = shared(address as usize, 1)?;
        library.monitor().with(|state| Ok(state.registrations.address_of(key, address)?.bits()))
    })
}

/// Returns the address in this process of memory of this rank; null if the memory belongs to another rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_address(address: u64) -> *mut c_void {
    call("acp_query_address", std::ptr::null_mut(), || {
        let memory: &'static Memory = library()?.memory();
        match memory.own(address, 0) {
            Ok(cells) => Ok(simulated::program_address(cells.pointer().as_ptr() as usize) as *mut c_void),
            Err(Refusal::Elsewhere(_) | Refusal::Null(_)) => Ok(std::ptr::null_mut()),
            Err(why) => Err(why),
        }
    })
}

/// Returns the number of the rank that owns an address; -1 if no rank does.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_rank(address: u64) -> c_int {
    call("acp_query_rank", -1, || owner(address))
}

/// Returns the color of an address; -1 if the address is not valid.
#[unsafe(no_mangle)]
pub extern "C" fn acp_query_color(address: u64) -> c_int {
    call("acp_query_color", -1, || Ok(owner(address)?.min(0)))
}

/// Returns the number of the rank that owns an address; -1 for null, which is a permitted argument.
fn owner(address: u64) -> Result<c_int, Refusal> {
    match library()?.owner_of(address) {
        Err(Refusal::Null(_)) => Ok(-1),
        owner => Ok(owner? as c_int),
    }
}

/// Returns the number of colors.
#[unsafe(no_mangle)]
pub extern "C" fn acp_colors() -> c_int {
    1
}

/// Allocates memory on a rank. Returns null if there is not enough memory.
#[unsafe(no_mangle)]
pub extern "C" fn acp_malloc(bytes: usize, rank: c_int) -> u64 {
    call("acp_malloc", 0, || Ok(library()?.allocate(bytes, rank)?.bits()))
}

/// Frees memory that `acp_malloc` has allocated on any rank.
#[unsafe(no_mangle)]
pub extern "C" fn acp_free(address: u64) {
    call("acp_free", (), || if address == 0 { Ok(()) } else { library()?.free(address) });
}
