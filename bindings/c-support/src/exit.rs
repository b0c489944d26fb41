//! How the process ends: at once, or in good order.
#![allow(unsafe_code)]

use pelago::processes::{self, End};

use crate::simulated;

/// Ends the process at once, or the rank that runs if it is simulated: nothing that it has set up for its end is done, but what it has written to
/// its standard output is.
pub fn immediately(code: i32) -> ! {
    if simulated::is_simulation() {
        processes::end(End::Code(code & 0xff));
    }
    // SAFETY: flushes streams of the C library, which may be done at any time; ends the process.
    unsafe {
        libc::fflush(stdout);
        libc::_exit(code)
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Calls a function when the process ends in good order.
pub fn at_exit(call: extern "C" fn()) {
    // SAFETY: the function lives as long as the library, which is never unloaded while it is in use.
    unsafe { libc::atexit(call) };
}
