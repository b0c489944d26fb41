//! Reaction to misuse: an error message of one line with routine, PE and argument, and the end of the job.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use pelago::{Error, Fault, Scope};
use pelago_c_support::simulated::PerRank;
use pelago_c_support::{binding, exit};

/// No number: the process is not a PE yet.
const NOBODY: u32 = u32::MAX;

/// The number of this PE, for messages.
static NUMBER: PerRank<AtomicU32> = PerRank::new(AtomicU32::new(NOBODY), || AtomicU32::new(NOBODY));

/// Sets the number of this PE.
pub(crate) fn set_number(number: u32) {
    NUMBER.get().store(number, Ordering::Relaxed);
}

/// Returns the number of this PE; `None` if the process is not a PE yet.
pub(crate) fn number() -> Option<u32> {
    Some(NUMBER.get().load(Ordering::Relaxed)).filter(|&number| number != NOBODY)
}

/// Writes one line to standard error.
pub(crate) fn write_line(routine: &str, why: &dyn fmt::Display) {
    match number() {
        Some(number) => binding::write_line(None, &format_args!("PE {number}: {routine}: {why}")),
        None => binding::write_line(None, &format_args!("{routine}: {why}")),
    }
}

/// Ends the job because of an invalid call.
#[cold]
#[inline(never)]
pub(crate) fn refuse(routine: &str, why: &dyn fmt::Display) -> ! {
    write_line(routine, &format_args!("{why}; the job is ended"));
    exit::immediately(1)
}

/// Ends the job because an operation has failed. `code` is the exit code of a job whose failure its launcher reports.
#[cold]
#[inline(never)]
pub(crate) fn end(routine: &str, error: &Error, code: Option<i32>) -> ! {
    // Another PE has ended the job without an error.
    let ended = matches!(error, Error::Fault(Fault::Ended));
    if let Some(code) = code.or(ended.then_some(0)) {
        exit::immediately(code);
    }
    write_line(routine, &format_args!("{error}; the job is ended"));
    exit::immediately(if error.scope() == Scope::Peer { 3 } else { 1 })
}
