//! The handler of SIGPIPE. The process ends quietly when a rank writes to a standard output or error output without a reader, as a job of `pelago run`
//! does. A write to another pipe without a reader is an error of this write only.
//!
//! Invariant of the unsafe code:
//!
//! - **O1** The handler makes only calls that are safe in a signal: it asks for the state of two descriptors, and ends the process. It restores `errno`.
#![allow(unsafe_code)]

use libc::{c_int, c_short, pollfd, sigaction};

/// The exit code of a job whose output has no reader, as of `pelago run`.
const NO_READER: c_int = 141;

/// Installs the handler, if the process ignores the signal as programs in Rust do. C programs end by the signal, or have a handler of their own.
pub(crate) fn end_without_reader() {
    // SAFETY: O1; all-zero bytes are valid records; the handler has the signature of handlers without SA_SIGINFO.
    unsafe {
        let mut before: sigaction = std::mem::zeroed();
        if sigaction(libc::SIGPIPE, std::ptr::null(), &mut before) == 0 && before.sa_sigaction == libc::SIG_IGN {
            let mut action: sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
            sigaction(libc::SIGPIPE, &action, std::ptr::null_mut());
        }
    }
}

/// O1.
extern "C" fn handle(_signal: c_int) {
    const ENDS: c_short = libc::POLLERR | libc::POLLHUP;
    let mut outputs = [libc::STDOUT_FILENO, libc::STDERR_FILENO].map(|fd| pollfd { fd, events: 0, revents: 0 });
    // SAFETY: O1: both descriptors' records are borrowed, and `errno` is a word of this thread.
    unsafe {
        let error = *libc::__errno_location();
        libc::poll(outputs.as_mut_ptr(), 2, 0);
        if outputs.iter().any(|output| output.revents & ENDS != 0) {
            libc::_exit(NO_READER);
        }
        *libc::__errno_location() = error;
    }
}
