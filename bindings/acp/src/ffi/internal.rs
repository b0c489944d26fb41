//! Internal symbols of the reference implementation that its samples call or define themselves. A program's own definition replaces the one
//! here for the program's calls. The library itself does not call them.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago_c_support::exit;

use super::call;
use crate::library::{library, own_rank};
use crate::refusal;

/// Returns the start of the memory of a rank from which `acp_malloc` allocates; null if there is no such rank.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_query_starter_ga_dl(rank: c_int) -> u64 {
    call("iacp_query_starter_ga_dl", 0, || Ok(library()?.heap_of(rank)?.bits()))
}

/// Returns null: channels have no addressable memory.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_query_starter_ga_cl(_rank: c_int) -> u64 {
    0
}

/// Does nothing: `acp_init` initializes all parts.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_init_dl() -> c_int {
    0
}

/// Does nothing: `acp_init` initializes all parts.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_init_cl() -> c_int {
    0
}

/// Does nothing: `acp_finalize` finalizes all parts.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_finalize_dl() -> c_int {
    0
}

/// Does nothing: `acp_finalize` finalizes all parts.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_finalize_cl() -> c_int {
    0
}

/// Does nothing: `acp_abort` ends the job.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_abort_dl() {}

/// Ends the job. Samples call it after they have printed the reason.
#[unsafe(no_mangle)]
pub extern "C" fn iacp_abort_cl() {
    refusal::write_line(own_rank(), &"iacp_abort_cl: the job is ended");
    exit::immediately(1)
}
