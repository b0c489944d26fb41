//! C programs built as shared objects: this process loads one and calls its `main` for each rank of a simulation.
//!
//! - **O1** Only functions of the loaded object and of the library that it needs are called, and their names imply their types.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::process::ExitCode;

use crate::Refused;

/// Name of the hidden subcommand that executes such a program.
pub(crate) const COMMAND: &str = "object";

/// Functions of `libacp` and of `libsma` that call a `main` for each rank.
const SIMULATE: [&CStr; 2] = [c"iacp_simulate_main", c"isma_simulate_main"];

type Simulate = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;

/// Simulates the program named by the first word of `command` with the other words as its arguments.
pub(crate) fn main(command: Vec<OsString>) -> Result<ExitCode, Refused> {
    let text = |word: OsString| CString::new(word.into_vec()).map_err(|_| Refused("an argument holds a zero byte".into()));
    let arguments = command.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let path = arguments.first().expect("clap requires one");
    let name = path.to_string_lossy();
    // SAFETY: O1; the initializers of the object are those of the program that the user runs.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if object.is_null() {
        return Err(Refused(format!("cannot load {name}: {}", why())));
    }
    let find = |function: &CStr| {
        // SAFETY: only looks up a name.
        let found = unsafe { libc::dlsym(object, function.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    let main = find(c"main").ok_or_else(|| Refused(format!("{name} has no main that others may call")))?;
    let simulate = SIMULATE
        .into_iter()
        .find_map(find)
        .ok_or_else(|| Refused(format!("{name} is linked with a libacp that cannot be simulated")))?;
    let pointers: Vec<_> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    // SAFETY: O1: a function of the library; the strings outlive the call, and this process has one thread.
    let code = unsafe {
        let simulate: Simulate = std::mem::transmute(simulate);
        simulate(main, pointers.len() as c_int, pointers.as_ptr())
    };
    // SAFETY: flushes the buffered output of the C library; ends the process without the object's exit handlers, which have run at the end of
    // each rank.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(code)
    }
}

/// Returns the loader's error message.
fn why() -> String {
    // SAFETY: `dlerror` returns a string of the loader, or null.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "unknown".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
