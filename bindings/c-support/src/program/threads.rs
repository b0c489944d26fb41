//! Threads that a simulated program creates: coroutines of their rank. Another one runs when one waits in the library or for another thread.
//!
//! Blocking on a mutex that a waiting coroutine holds would stop the whole process. Therefore locking tries the mutex, and lets the other
//! coroutines run until it succeeds.
//!
//! Invariant **A12**: the arguments satisfy the requirements of the replaced function; threads of all ranks run in one thread of the process.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};

use libc::{pthread_cond_t, pthread_mutex_t, pthread_t, sem_t, timespec};
use pelago::processes;

use super::{running_rank, substitutes};

/// Maximum number of threads that a simulated rank creates, including ended ones.
const THREADS_MAX: usize = 1 << 16;

/// Bytes of a thread's stack. Only touched pages are allocated.
const STACK_BYTES: usize = 2 << 20;

/// The threads of a rank except its first: the return value of each thread that has ended.
pub(super) struct Threads(Vec<Option<usize>>);

impl Threads {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }
}

/// Returns the replacements, by the name of the replaced function.
pub(super) fn all() -> [(&'static CStr, usize); 9] {
    [
        (c"pthread_create", create as *const () as usize),
        (c"pthread_join", join as *const () as usize),
        (c"pthread_detach", detach as *const () as usize),
        (c"pthread_exit", exit as *const () as usize),
        (c"pthread_self", this as *const () as usize),
        (c"pthread_mutex_lock", lock as *const () as usize),
        (c"pthread_cond_wait", wait as *const () as usize),
        (c"pthread_cond_timedwait", wait_until as *const () as usize),
        (c"sem_wait", take as *const () as usize),
    ]
}

extern "C" fn create(
    thread: *mut pthread_t,
    _attributes: *const c_void,
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let Some(rank) = running_rank() else { return libc::EAGAIN };
    let number = rank.threads().0.len() + 1;
    if number > THREADS_MAX {
        return libc::EAGAIN;
    }
    let argument = argument as usize;
    let body = move || note(number, main(argument as *mut c_void) as usize);
    if processes::begin_thread(number, STACK_BYTES, body).is_err() {
        return libc::EAGAIN;
    }
    rank.threads().0.push(None);
    // SAFETY: A12.
    unsafe { thread.write(number as pthread_t) };
    0
}

/// Records the return value of a thread of the running rank.
fn note(number: usize, returned: usize) {
    if let Some(rank) = running_rank() {
        rank.threads().0[number - 1] = Some(returned);
    }
}

extern "C" fn join(thread: pthread_t, into: *mut *mut c_void) -> c_int {
    let Some(rank) = running_rank() else { return libc::ESRCH };
    if thread as usize == processes::thread() {
        return libc::EDEADLK;
    }
    loop {
        let found = (thread as usize).checked_sub(1).and_then(|index| rank.threads().0.get(index).copied());
        match found {
            None => return libc::ESRCH,
            Some(None) => processes::let_threads_run(),
            Some(Some(returned)) => {
                if !into.is_null() {
                    // SAFETY: A12.
                    unsafe { into.write(returned as *mut c_void) };
                }
                return 0;
            }
        }
    }
}

extern "C" fn detach(_thread: pthread_t) -> c_int {
    0
}

extern "C" fn exit(returned: *mut c_void) -> ! {
    let number = processes::thread();
    if number > 0 {
        note(number, returned as usize);
        processes::end_thread()
    }
    // The rank ends after its last thread has ended.
    while running_rank().is_some_and(|rank| rank.threads().0.iter().any(Option::is_none)) {
        processes::let_threads_run();
    }
    substitutes::exit(0)
}

extern "C" fn this() -> pthread_t {
    processes::thread() as pthread_t
}

extern "C" fn lock(mutex: *mut pthread_mutex_t) -> c_int {
    loop {
        // SAFETY: A12.
        match unsafe { libc::pthread_mutex_trylock(mutex) } {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
        }
    }
}

/// Returns after the other coroutines have run, as a spurious wake-up: programs check their condition again.
extern "C" fn wait(_condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: A12.
    unsafe { libc::pthread_mutex_unlock(mutex) };
    processes::let_threads_run();
    lock(mutex)
}

extern "C" fn wait_until(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int {
    let outcome = wait(condition, mutex);
    // SAFETY: A12.
    let until = unsafe { ((*until).tv_sec, (*until).tv_nsec) };
    if outcome == 0 && substitutes::now() >= until { libc::ETIMEDOUT } else { outcome }
}

extern "C" fn take(semaphore: *mut sem_t) -> c_int {
    loop {
        // SAFETY: A12.
        if unsafe { libc::sem_trywait(semaphore) } == 0 {
            return 0;
        }
        // SAFETY: a variable of this thread.
        if unsafe { *libc::__errno_location() } != libc::EAGAIN {
            return -1;
        }
        processes::let_threads_run();
    }
}
