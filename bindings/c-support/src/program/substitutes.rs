//! Replacements for functions of the C library that would affect the whole process, or take real time.
//!
//! Invariant **A11**: the arguments satisfy the requirements of the replaced function.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libc::{clockid_t, fd_set, nfds_t, pollfd, time_t, timespec, timeval};
use pelago::processes::{self, End};
use pelago::{Duration, Instant};

use super::{finish, running_rank, start, threads};
use crate::binding::{own_rank, write_line};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the replacements, by the name of the replaced function.
pub(super) fn all() -> Vec<(&'static CStr, usize)> {
    vec![
        (c"__libc_start_main", start as *const () as usize),
        (c"exit", exit as *const () as usize),
        (c"_exit", exit_at_once as *const () as usize),
        (c"_Exit", exit_at_once as *const () as usize),
        (c"quick_exit", exit_at_once as *const () as usize),
        (c"abort", abort as *const () as usize),
        (c"__assert_fail", assert_fail as *const () as usize),
        (c"__cxa_atexit", at_exit as *const () as usize),
        (c"sched_yield", yield_core as *const () as usize),
        (c"sleep", sleep as *const () as usize),
        (c"usleep", sleep_microseconds as *const () as usize),
        (c"nanosleep", sleep_nanoseconds as *const () as usize),
        (c"clock_nanosleep", sleep_by_clock as *const () as usize),
        (c"select", select as *const () as usize),
        (c"poll", poll as *const () as usize),
        (c"clock_gettime", clock_get as *const () as usize),
        (c"timespec_get", time_spec as *const () as usize),
        (c"gettimeofday", time_of_day as *const () as usize),
        (c"time", time as *const () as usize),
        // The clocks of the C++ libraries of gcc and clang, whose code asks the system.
        (c"_ZNSt6chrono3_V212steady_clock3nowEv", clock_nanoseconds as *const () as usize),
        (c"_ZNSt6chrono3_V212system_clock3nowEv", clock_nanoseconds as *const () as usize),
        (c"_ZNSt3__16chrono12steady_clock3nowEv", clock_nanoseconds as *const () as usize),
        (c"_ZNSt3__16chrono12system_clock3nowEv", clock_microseconds as *const () as usize),
        (c"fork", no_fork as *const () as usize),
        (c"vfork", no_fork as *const () as usize),
    ]
    .into_iter()
    .chain(threads::all())
    .collect()
}

pub(super) extern "C" fn exit(code: c_int) -> ! {
    processes::end(End::Code(finish(code)))
}

extern "C" fn exit_at_once(code: c_int) -> ! {
    processes::end(End::Code(code & 0xff))
}

extern "C" fn abort() -> ! {
    processes::end(End::Signal(libc::SIGABRT))
}

extern "C" fn assert_fail(condition: *const c_char, file: *const c_char, line: c_uint, function: *const c_char) -> ! {
    let text = |text: *const c_char| {
        // SAFETY: A11.
        if text.is_null() { "?".into() } else { unsafe { CStr::from_ptr(text) }.to_string_lossy() }
    };
    let [condition, file, function] = [condition, file, function].map(text);
    write_line(own_rank(), &format_args!("{file}:{line}: {function}: assertion {condition} failed"));
    abort()
}

extern "C" fn at_exit(handler: extern "C" fn(*mut c_void), argument: *mut c_void, _object: *mut c_void) -> c_int {
    match running_rank() {
        Some(rank) => {
            rank.handlers().push((handler, argument as usize));
            0
        }
        None => -1,
    }
}

extern "C" fn yield_core() -> c_int {
    processes::yield_now();
    0
}

extern "C" fn sleep(seconds: c_uint) -> c_uint {
    pause(u64::from(seconds) * NANOSECONDS_PER_SECOND);
    0
}

extern "C" fn sleep_microseconds(microseconds: c_uint) -> c_int {
    pause(u64::from(microseconds) * 1000);
    0
}

extern "C" fn sleep_nanoseconds(wanted: *const timespec, _left: *mut timespec) -> c_int {
    // SAFETY: A11.
    let Some(wanted) = (unsafe { wanted.as_ref() }) else { return failed(libc::EFAULT) };
    match (u64::try_from(wanted.tv_sec), u64::try_from(wanted.tv_nsec)) {
        (Ok(seconds), Ok(nanoseconds)) if nanoseconds < NANOSECONDS_PER_SECOND => {
            pause(seconds.saturating_mul(NANOSECONDS_PER_SECOND).saturating_add(nanoseconds));
            0
        }
        _ => failed(libc::EINVAL),
    }
}

extern "C" fn sleep_by_clock(clock: clockid_t, flags: c_int, wanted: *const timespec, left: *mut timespec) -> c_int {
    if matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID) {
        // SAFETY: A11.
        return unsafe { libc::clock_nanosleep(clock, flags, wanted, left) };
    }
    // SAFETY: A11.
    let Some(&timespec { tv_sec, tv_nsec }) = (unsafe { wanted.as_ref() }) else { return libc::EFAULT };
    if flags & libc::TIMER_ABSTIME != 0 && tv_sec >= 0 && (0..NANOSECONDS_PER_SECOND as i64).contains(&tv_nsec) {
        let now = now();
        let left = (i128::from(tv_sec) - i128::from(now.0)) * i128::from(NANOSECONDS_PER_SECOND) + i128::from(tv_nsec - now.1);
        pause(left.clamp(0, u64::MAX.into()) as u64);
        return 0;
    }
    // SAFETY: a variable of this thread.
    if sleep_nanoseconds(&timespec { tv_sec, tv_nsec }, left) == 0 { 0 } else { unsafe { *libc::__errno_location() } }
}

/// Waits for virtual time if no file is named: a wait for files takes real time.
extern "C" fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, limit: *mut timeval) -> c_int {
    // SAFETY: A11.
    match unsafe { limit.as_ref() } {
        Some(limit) if count == 0 && limit.tv_sec >= 0 && limit.tv_usec >= 0 => {
            let seconds = (limit.tv_sec as u64).saturating_mul(NANOSECONDS_PER_SECOND);
            pause(seconds.saturating_add((limit.tv_usec as u64).saturating_mul(1000)));
            0
        }
        // SAFETY: A11.
        _ => unsafe { libc::select(count, read, write, except, limit) },
    }
}

/// As [`select`].
extern "C" fn poll(files: *mut pollfd, count: nfds_t, milliseconds: c_int) -> c_int {
    match u64::try_from(milliseconds) {
        Ok(milliseconds) if count == 0 => {
            pause(milliseconds * 1_000_000);
            0
        }
        // SAFETY: A11.
        _ => unsafe { libc::poll(files, count, milliseconds) },
    }
}

fn pause(nanoseconds: u64) {
    processes::sleep(Duration::from_picoseconds(nanoseconds.saturating_mul(1000)));
}

/// Returns virtual time for clocks of real time. Clocks of CPU time are unchanged.
extern "C" fn clock_get(clock: clockid_t, into: *mut timespec) -> c_int {
    if matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID) {
        // SAFETY: A11.
        return unsafe { libc::clock_gettime(clock, into) };
    }
    let (seconds, nanoseconds) = now();
    // SAFETY: A11.
    let Some(into) = (unsafe { into.as_mut() }) else { return failed(libc::EFAULT) };
    (into.tv_sec, into.tv_nsec) = (seconds, nanoseconds);
    0
}

extern "C" fn time_spec(into: *mut timespec, base: c_int) -> c_int {
    if clock_get(libc::CLOCK_REALTIME, into) == 0 { base } else { 0 }
}

extern "C" fn time_of_day(into: *mut timeval, _zone: *mut c_void) -> c_int {
    let (seconds, nanoseconds) = now();
    // SAFETY: A11.
    if let Some(into) = unsafe { into.as_mut() } {
        (into.tv_sec, into.tv_usec) = (seconds, nanoseconds / 1000);
    }
    0
}

extern "C" fn time(into: *mut time_t) -> time_t {
    let (seconds, _) = now();
    // SAFETY: A11.
    if let Some(into) = unsafe { into.as_mut() } {
        *into = seconds;
    }
    seconds
}

/// Returns a time of a C++ clock, whose only member is this number.
extern "C" fn clock_nanoseconds() -> i64 {
    let (seconds, nanoseconds) = now();
    seconds * NANOSECONDS_PER_SECOND as i64 + nanoseconds
}

/// As [`clock_nanoseconds`].
extern "C" fn clock_microseconds() -> i64 {
    clock_nanoseconds() / 1000
}

/// Returns the virtual time in seconds and nanoseconds.
pub(super) fn now() -> (i64, i64) {
    let picoseconds = processes::now().map_or(0, |now| now.since(Instant::ZERO).as_picoseconds());
    let nanoseconds = picoseconds / 1000;
    ((nanoseconds / NANOSECONDS_PER_SECOND) as i64, (nanoseconds % NANOSECONDS_PER_SECOND) as i64)
}

extern "C" fn no_fork() -> c_int {
    write_line(own_rank(), &"fork: a simulated rank cannot become two");
    failed(libc::ENOSYS)
}

pub(super) fn failed(error: c_int) -> c_int {
    // SAFETY: a variable of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}
