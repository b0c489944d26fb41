//! Entry points for the loader and `pelago sim`, which execute the program as each rank of a simulated job.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use pelago_c_support::binding::Binding;
use pelago_c_support::program::{self, Main};

use crate::library;

/// This interface.
static BINDING: Binding = Binding { name: "acp", own_rank: library::own_rank, leave: |_code| library::leave() };

/// Called by the loader before the program is initialized.
#[used]
#[unsafe(link_section = ".init_array")]
static INITIALIZER: extern "C" fn() = {
    extern "C" fn initialize() {
        program::initialize(&BINDING);
    }
    initialize
};

/// Calls the `main` of a shared object, which the calling process has loaded, for each rank of the simulation that the environment requests.
/// Returns the exit code. The first of the `count` arguments is the program's name.
///
/// # Safety
/// `arguments` has `count` texts; the process has one thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn iacp_simulate_main(main: Main, count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { program::simulate_main(main, count, arguments) }
}
