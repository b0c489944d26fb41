//! The internal symbols of the C library that its samples call or define themselves. A program's own definition takes the place of the one
//! here for the program's calls; the library calls none of them and needs none of them.
#![allow(unsafe_code)]

use std::ffi::c_int;

use pelago_c_support::exit;

use super::call;
use crate::library::{library, own_rank};
use crate::refusal;

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
