//! Ends of the process: immediate, or orderly through exit handlers.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

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
    fn on_exit(call: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Registers a function to be called with the exit code when this process ends through `exit` or by returning from `main`. Processes that it forks inherit the
/// handler, but do not call the function: they are no ranks.
pub fn at_exit(call: fn(c_int)) {
    extern "C" fn handler(code: c_int, _: *mut c_void) {
        if let Some(&(process, call)) = REGISTERED.get()
            && process == std::process::id()
        {
            call(code);
        }
    }
    if REGISTERED.set((std::process::id(), call)).is_ok() {
        // SAFETY: the function lives as long as the library, which is never unloaded while it is in use.
        unsafe { on_exit(handler, std::ptr::null_mut()) };
    }
}

/// The process that registered a function, and the function.
static REGISTERED: OnceLock<(u32, fn(c_int))> = OnceLock::new();
