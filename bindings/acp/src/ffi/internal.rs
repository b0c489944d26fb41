//! The internal symbols of the C library that its samples call or define themselves. A program's own definition takes the place of the one
//! here for the program's calls; the library calls none of them and needs none of them.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::call;
use crate::library::{library, own_rank};
use crate::{exit, refusal};

/// What the C library has as the size of the data library's memory before a program or its launcher says otherwise.
const DATA_BYTES_DEFAULT: usize = 64 << 20;

/// Bytes of each rank's memory from which `acp_malloc` allocates; known from `acp_init` on. Setting it has no effect.
#[unsafe(no_mangle)]
pub static iacp_starter_memory_size_dl: AtomicUsize = AtomicUsize::new(DATA_BYTES_DEFAULT);

/// Bytes of each rank's memory for channels that have an address: none. Setting it has no effect.
#[unsafe(no_mangle)]
pub static iacp_starter_memory_size_cl: AtomicUsize = AtomicUsize::new(0);

/// A session begins in which each rank has so many bytes for `acp_malloc`. A size that the program has set stays.
pub(crate) fn set_data_bytes(bytes: u64) {
    // Whichever definition is in use: a program may have one of its own.
    let size = std::hint::black_box(&iacp_starter_memory_size_dl);
    let _ = size.compare_exchange(DATA_BYTES_DEFAULT, bytes as usize, Ordering::Relaxed, Ordering::Relaxed);
}

/// Where the memory of a rank begins from which `acp_malloc` allocates; null if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_query_starter_ga_dl(rank: c_int) -> u64 {
    call("iacp_query_starter_ga_dl", 0, || Ok(library()?.heap_of(rank)?.bits()))
}

/// Null: channels have no memory that has an address.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_query_starter_ga_cl(_rank: c_int) -> u64 {
    0
}

/// Nothing: `acp_init` does all.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_init_dl() -> c_int {
    0
}

/// Nothing: `acp_init` does all.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_init_cl() -> c_int {
    0
}

/// Nothing: `acp_finalize` does all.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_finalize_dl() -> c_int {
    0
}

/// Nothing: `acp_finalize` does all.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_finalize_cl() -> c_int {
    0
}

/// Nothing: `acp_abort` does all.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_abort_dl() {}

/// Ends the job. Samples call it after they have said why.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_abort_cl() {
    refusal::write_line(own_rank(), &"iacp_abort_cl: the job is ended");
    exit::immediately(1)
}
