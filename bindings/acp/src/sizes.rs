//! Sizes of the library's own memory, as variables that programs read or define themselves.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use pelago_c_support::program::variable_in_archive;

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
    let own = std::hint::black_box(&iacp_starter_memory_size_dl);
    let size = variable_in_archive(c"iacp_starter_memory_size_dl").unwrap_or(own);
    let _ = size.compare_exchange(DATA_BYTES_DEFAULT, bytes as usize, Ordering::Relaxed, Ordering::Relaxed);
}
