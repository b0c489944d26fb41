//! Ends of the process: immediate, or orderly through exit handlers.
#![allow(unsafe_code)]

use pelago::processes::{self, End};

use crate::simulated;

/// Ends the process immediately, or only the running rank in a simulation. Exit handlers do not run, but buffered standard output is
/// written.
pub fn immediately(code: i32) -> ! {
    if simulated::is_simulation() {
        processes::end(End::Code(code & 0xff));
    }
    // SAFETY: streams of the C library may be flushed at any time; the second call ends the process.
    unsafe {
        libc::fflush(stdout);
        libc::_exit(code)
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Registers a function to be called when the process ends through `exit` or by returning from `main`.
pub fn at_exit(call: extern "C" fn()) {
    // SAFETY: the function lives as long as the library, which is never unloaded while it is in use.
    unsafe { libc::atexit(call) };
}
