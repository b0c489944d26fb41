//! The handler of faults. A fault of a rank ends the process with one line that names the rank: invalid memory, a division by zero, an illegal
//! instruction, a stack overflow, an abort.
//!
//! Faults while no rank runs, or inside the simulator, are attributed to the simulator: a line reports this, and the previous handler of the signal
//! is restored, so that the process dies of the signal. An exception is memory that a program has named in an operation, as the target of a get:
//! the simulator accesses it, and the rank is to blame if it does not exist.
//!
//! Invariants of the unsafe code:
//!
//! - **C1** The handler runs on a stack of its own, and makes only calls that are safe in a signal: it reads atomics, writes to standard error,
//!   and ends the process or restores the previous handler.
//! - **C2** The previous handler of a signal is written once, before this handler is installed.
#![allow(unsafe_code)]

use std::sync::OnceLock;

use libc::{c_int, c_void, sigaction, siginfo_t};

use crate::ranks::status::{AtWork, SimulationStatus};

/// The signals of faults, with their names, and whether their address is that of the accessed data.
const SIGNALS: [(c_int, &str, bool); 5] = [
    (libc::SIGSEGV, "SIGSEGV", true),
    (libc::SIGBUS, "SIGBUS", true),
    (libc::SIGFPE, "SIGFPE", false),
    (libc::SIGILL, "SIGILL", false),
    (libc::SIGABRT, "SIGABRT", false),
];

/// The exit code of a job with a failed rank, as of `pelago run` for ranks that a signal kills.
const RANK_LOST: c_int = 3;

/// Size in bytes of the signal stack of the handler.
const SIGNAL_STACK_BYTES: usize = 64 << 10;

/// The previous handlers of these signals, in the same order.
static BEFORE: [OnceLock<sigaction>; SIGNALS.len()] = [const { OnceLock::new() }; SIGNALS.len()];

/// Installs the handler that reports faults, for the calling thread and others that have a signal stack.
pub(crate) fn report_faults() {
    has_own_stack_for_signals();
    for ((signal, ..), before) in SIGNALS.iter().zip(&BEFORE) {
        before.get_or_init(|| {
            // SAFETY: all-zero bytes are a valid record, which the kernel fills.
            unsafe {
                let mut before: sigaction = std::mem::zeroed();
                sigaction(*signal, std::ptr::null(), &mut before);
                before
            }
        });
        // SAFETY: C1, C2; all-zero bytes are a valid record; the handler has the signature that SA_SIGINFO requires.
        unsafe {
            let mut action: sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            sigaction(*signal, &action, std::ptr::null_mut());
        }
    }
}

/// Sets a signal stack for the thread, if it has none: the standard library sets one only for threads of Rust programs.
fn has_own_stack_for_signals() {
    // SAFETY: all-zero bytes are a valid record; the kernel fills it; the new stack lives as long as the process.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        if libc::sigaltstack(std::ptr::null(), &mut stack) == 0 && stack.ss_flags & libc::SS_DISABLE != 0 {
            let memory = vec![0u8; SIGNAL_STACK_BYTES].leak();
            stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
    }
}

/// C1.
extern "C" fn handle(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid record, of the kind that the signal has.
    let (code, sender, address) = unsafe { ((*info).si_code, (*info).si_pid(), (*info).si_addr() as usize) };
    // A signal that a process sends, possibly to itself as in an abort, has no address; nor have faults whose address the kernel does not know.
    let is_sent = code <= 0;
    let address = Some(address).filter(|_| !is_sent && code != libc::SI_KERNEL);
    let is_own = !is_sent || sender == rustix::process::getpid().as_raw_nonzero().get();
    if is_own && let Some(status) = SimulationStatus::of_this_thread() {
        if let Some(rank) = status.accessed().filter(|_| matches!(signal, libc::SIGSEGV | libc::SIGBUS) && !is_sent) {
            say(&["pelago: rank ", number(rank as usize, 10, &mut [0; 20]), " was killed by "]);
            say_signal(signal, address);
            say(&[", which it has given to an operation as its own memory; the job was ended\n"]);
            // SAFETY: C1: ends the process at once.
            unsafe { libc::_exit(RANK_LOST) };
        }
        match status.at_work() {
            AtWork::Rank(rank) => {
                say(&["pelago: rank ", number(rank as usize, 10, &mut [0; 20])]);
                match address.and_then(|address| status.overflown(rank, address)) {
                    Some(bytes) => {
                        // The rest of its topmost page belongs to the heap.
                        let kilobytes = bytes.next_multiple_of(4096) / 1024;
                        say(&[
                            " overflowed its stack of ",
                            number(kilobytes, 10, &mut [0; 20]),
                            " KiB: give each rank more, with --stack\n",
                        ]);
                    }
                    None => {
                        say(&[" was killed by "]);
                        say_signal(signal, address);
                        say(&["; the job was ended\n"]);
                    }
                }
                // SAFETY: C1: ends the process at once.
                unsafe { libc::_exit(RANK_LOST) };
            }
            AtWork::Simulator(rank) => {
                say(&["pelago: the simulator itself was killed by "]);
                say_signal(signal, address);
                match rank {
                    Some(rank) => say(&[", in a call of rank ", number(rank as usize, 10, &mut [0; 20]), "\n"]),
                    None => say(&["; no rank was running\n"]),
                }
            }
        }
    }
    let before = SIGNALS.iter().zip(&BEFORE).find(|((known, ..), _)| *known == signal).and_then(|(_, before)| before.get());
    // SAFETY: C1, C2: after the handler has returned, a faulting instruction faults again, and a signal that was sent is raised again. A signal that
    // was sent gets the default action, as some handlers, such as that of the standard library, wait for a fault, which would not occur then.
    unsafe {
        match before {
            Some(before) if !is_sent => _ = sigaction(signal, before, std::ptr::null_mut()),
            _ => _ = libc::signal(signal, libc::SIG_DFL),
        }
        if is_sent {
            libc::raise(signal);
        }
    }
}

fn say_signal(signal: c_int, address: Option<usize>) {
    let known = SIGNALS.iter().find(|(known, ..)| *known == signal);
    let &(_, name, is_of_data) = known.unwrap_or(&SIGNALS[0]);
    say(&["signal ", number(signal as usize, 10, &mut [0; 20]), " (", name, ")"]);
    if let Some(address) = address {
        say(&[if is_of_data { " at address 0x" } else { " at instruction 0x" }, number(address, 16, &mut [0; 20])]);
    }
}

fn say(parts: &[&str]) {
    for part in parts {
        // SAFETY: C1: the text is borrowed.
        let _ = unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}

/// Returns a number as text, without an allocation.
fn number(mut number: usize, base: usize, digits: &mut [u8; 20]) -> &str {
    let mut first = digits.len();
    while first == digits.len() || number > 0 {
        first -= 1;
        digits[first] = b"0123456789abcdef"[number % base];
        number /= base;
    }
    std::str::from_utf8(&digits[first..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_an_allocation() {
        let text = |value, base| number(value, base, &mut [0; 20]).to_owned();
        assert_eq!([text(0, 10), text(1_048_575, 10), text(0xdead_beef, 16)], ["0", "1048575", "deadbeef"]);
        assert_eq!(text(usize::MAX, 10), usize::MAX.to_string());
    }
}
