//! Sizes of the library's own memory, as exported variables that programs read or define themselves.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};

use pelago_c_support::program::variable_in_archive;

/// Size of the data library's memory in the reference implementation, unless the program or its launcher sets another one.
const DATA_BYTES_DEFAULT: usize = 64 << 20;

/// Bytes of each rank's memory from which `acp_malloc` allocates; valid from `acp_init` on. Setting the variable has no effect.
#[unsafe(no_mangle)]
pub static iacp_starter_memory_size_dl: AtomicUsize = AtomicUsize::new(DATA_BYTES_DEFAULT);

/// Bytes of each rank's addressable memory for channels, always 0. Setting the variable has no effect.
#[unsafe(no_mangle)]
pub static iacp_starter_memory_size_cl: AtomicUsize = AtomicUsize::new(0);

/// Sets the size of the memory for `acp_malloc` at the beginning of a session. A size that the program has set is kept.
pub(crate) fn set_data_bytes(bytes: u64) {
    // The definition that is in use: a program may have one of its own.
    let own = std::hint::black_box(&iacp_starter_memory_size_dl);
    let size = variable_in_archive(c"iacp_starter_memory_size_dl").unwrap_or(own);
    let _ = size.compare_exchange(DATA_BYTES_DEFAULT, bytes as usize, Ordering::Relaxed, Ordering::Relaxed);
}
