//! Threads that a simulated program creates: coroutines of their rank. Another one runs when one waits in the library or for another thread.
//!
//! Blocking on a mutex that a waiting coroutine holds would stop the whole process. Therefore locking tries the mutex, and lets the other
//! coroutines run until it succeeds.
//!
//! Invariant **A12**: the arguments satisfy the requirements of the replaced function; threads of all ranks run in one thread of the process.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use libc::{
    clockid_t, cpu_set_t, pthread_attr_t, pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t,
    pthread_spinlock_t, pthread_t, sched_param, sem_t, size_t, timespec,
};
use pelago::processes::{self, End};

use super::{running_rank, substitutes};
use crate::binding::{own_rank, write_line};

/// Maximum number of threads that a simulated rank creates, including ended ones.
const THREADS_MAX: usize = 1 << 16;

/// Bytes of the stack of a thread without attributes, as usual on Linux. Only touched pages are allocated.
const STACK_BYTES: usize = 8 << 20;

/// The threads of a rank except its first: the return value of each thread that has ended.
pub(super) struct Threads(Vec<Option<usize>>);

impl Threads {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }
}

/// Returns the replacements, by the name of the replaced function.
pub(super) fn all() -> Vec<(&'static CStr, usize)> {
    vec![
        (c"pthread_create", create as *const () as usize),
        (c"pthread_join", join as *const () as usize),
        (c"pthread_tryjoin_np", try_join as *const () as usize),
        (c"pthread_timedjoin_np", join_until as *const () as usize),
        (c"pthread_clockjoin_np", join_by_clock as *const () as usize),
        (c"pthread_detach", detach as *const () as usize),
        (c"pthread_exit", exit as *const () as usize),
        (c"pthread_self", this as *const () as usize),
        (c"pthread_cancel", no_cancel as *const () as usize),
        (c"pthread_mutex_lock", lock as *const () as usize),
        (c"pthread_mutex_timedlock", lock_until as *const () as usize),
        (c"pthread_mutex_clocklock", lock_by_clock as *const () as usize),
        (c"pthread_spin_lock", spin_lock as *const () as usize),
        (c"pthread_rwlock_rdlock", read_lock as *const () as usize),
        (c"pthread_rwlock_timedrdlock", read_lock_until as *const () as usize),
        (c"pthread_rwlock_clockrdlock", read_lock_by_clock as *const () as usize),
        (c"pthread_rwlock_wrlock", write_lock as *const () as usize),
        (c"pthread_rwlock_timedwrlock", write_lock_until as *const () as usize),
        (c"pthread_rwlock_clockwrlock", write_lock_by_clock as *const () as usize),
        (c"pthread_cond_wait", wait as *const () as usize),
        (c"pthread_cond_timedwait", wait_until as *const () as usize),
        (c"pthread_cond_clockwait", wait_by_clock as *const () as usize),
        (c"sem_wait", take as *const () as usize),
        (c"sem_timedwait", take_until as *const () as usize),
        (c"sem_clockwait", take_by_clock as *const () as usize),
        (c"pthread_barrier_init", barrier_init as *const () as usize),
        (c"pthread_barrier_wait", barrier_wait as *const () as usize),
        (c"pthread_barrier_destroy", barrier_destroy as *const () as usize),
        (c"pthread_kill", kill as *const () as usize),
        (c"pthread_getname_np", name as *const () as usize),
        (c"pthread_setname_np", set_name as *const () as usize),
        (c"pthread_getaffinity_np", cores as *const () as usize),
        (c"pthread_setaffinity_np", set_cores as *const () as usize),
        (c"pthread_getschedparam", policy as *const () as usize),
        (c"pthread_setschedparam", set_policy as *const () as usize),
        (c"pthread_getcpuclockid", clock as *const () as usize),
        (c"pthread_getattr_np", no_attributes as *const () as usize),
    ]
}

extern "C" fn create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    main: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let Some(rank) = running_rank() else { return libc::EAGAIN };
    let number = rank.threads().0.len() + 1;
    if number > THREADS_MAX {
        return libc::EAGAIN;
    }
    let mut bytes = STACK_BYTES;
    if !attributes.is_null() {
        // SAFETY: A12.
        unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut bytes) };
    }
    let argument = argument as usize;
    let body = move || note(number, main(argument as *mut c_void) as usize);
    if processes::begin_thread(number, bytes, body).is_err() {
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
    loop {
        match collect(thread, into) {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
        }
    }
}

extern "C" fn try_join(thread: pthread_t, into: *mut *mut c_void) -> c_int {
    let outcome = collect(thread, into);
    if outcome == libc::EBUSY {
        processes::let_threads_run();
    }
    outcome
}

extern "C" fn join_until(thread: pthread_t, into: *mut *mut c_void, until: *const timespec) -> c_int {
    until_then(until, || collect(thread, into))
}

/// All clocks of a simulated rank have the same time; the same holds for the other functions that name a clock.
extern "C" fn join_by_clock(thread: pthread_t, into: *mut *mut c_void, _clock: clockid_t, until: *const timespec) -> c_int {
    join_until(thread, into, until)
}

/// Writes the return value of a thread that has ended; returns an error number, `EBUSY` if the thread has not ended.
fn collect(thread: pthread_t, into: *mut *mut c_void) -> c_int {
    if thread as usize == processes::thread() {
        return libc::EDEADLK;
    }
    match state(thread) {
        None => libc::ESRCH,
        Some(None) => libc::EBUSY,
        Some(Some(returned)) => {
            if !into.is_null() {
                // SAFETY: A12.
                unsafe { into.write(returned as *mut c_void) };
            }
            0
        }
    }
}

/// Returns the return value of a thread of the running rank, `None` before it has ended; `None` if there is no such thread.
fn state(thread: pthread_t) -> Option<Option<usize>> {
    let index = (thread as usize).checked_sub(1)?;
    running_rank()?.threads().0.get(index).copied()
}

/// Lets other threads run until `attempt` returns something else than `EBUSY`, or until this virtual time.
fn until_then(until: *const timespec, mut attempt: impl FnMut() -> c_int) -> c_int {
    // SAFETY: A12.
    let until = unsafe { ((*until).tv_sec, (*until).tv_nsec) };
    loop {
        match attempt() {
            libc::EBUSY if substitutes::now() >= until => return libc::ETIMEDOUT,
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
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

extern "C" fn lock_until(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int {
    // SAFETY: A12.
    until_then(until, || unsafe { libc::pthread_mutex_trylock(mutex) })
}

extern "C" fn lock_by_clock(mutex: *mut pthread_mutex_t, _clock: clockid_t, until: *const timespec) -> c_int {
    lock_until(mutex, until)
}

extern "C" fn spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
    loop {
        // SAFETY: A12.
        match unsafe { libc::pthread_spin_trylock(lock) } {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
        }
    }
}

extern "C" fn read_lock(lock: *mut pthread_rwlock_t) -> c_int {
    loop {
        // SAFETY: A12.
        match unsafe { libc::pthread_rwlock_tryrdlock(lock) } {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
        }
    }
}

extern "C" fn write_lock(lock: *mut pthread_rwlock_t) -> c_int {
    loop {
        // SAFETY: A12.
        match unsafe { libc::pthread_rwlock_trywrlock(lock) } {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return outcome,
        }
    }
}

extern "C" fn read_lock_until(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int {
    // SAFETY: A12.
    until_then(until, || unsafe { libc::pthread_rwlock_tryrdlock(lock) })
}

extern "C" fn read_lock_by_clock(lock: *mut pthread_rwlock_t, _clock: clockid_t, until: *const timespec) -> c_int {
    read_lock_until(lock, until)
}

extern "C" fn write_lock_until(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int {
    // SAFETY: A12.
    until_then(until, || unsafe { libc::pthread_rwlock_trywrlock(lock) })
}

extern "C" fn write_lock_by_clock(lock: *mut pthread_rwlock_t, _clock: clockid_t, until: *const timespec) -> c_int {
    write_lock_until(lock, until)
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

extern "C" fn wait_by_clock(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    _clock: clockid_t,
    until: *const timespec,
) -> c_int {
    wait_until(condition, mutex, until)
}

extern "C" fn take(semaphore: *mut sem_t) -> c_int {
    loop {
        match try_take(semaphore) {
            libc::EBUSY => processes::let_threads_run(),
            outcome => return taken(outcome),
        }
    }
}

extern "C" fn take_until(semaphore: *mut sem_t, until: *const timespec) -> c_int {
    taken(until_then(until, || try_take(semaphore)))
}

extern "C" fn take_by_clock(semaphore: *mut sem_t, _clock: clockid_t, until: *const timespec) -> c_int {
    take_until(semaphore, until)
}

/// Tries a semaphore; returns an error number, `EBUSY` if the semaphore is 0.
fn try_take(semaphore: *mut sem_t) -> c_int {
    // SAFETY: A12; a variable of this thread.
    match unsafe { (libc::sem_trywait(semaphore), *libc::__errno_location()) } {
        (0, _) => 0,
        (_, libc::EAGAIN) => libc::EBUSY,
        (_, error) => error,
    }
}

/// Returns what functions of semaphores return.
fn taken(error: c_int) -> c_int {
    if error == 0 { 0 } else { substitutes::failed(error) }
}

/// The place of a `pthread_barrier_t`: the number of threads that meet, of those that have come, and of meetings.
#[repr(C)]
struct Barrier {
    count: AtomicU32,
    come: AtomicU32,
    meetings: AtomicU32,
}

const _: () =
    assert!(size_of::<Barrier>() <= size_of::<pthread_barrier_t>() && align_of::<Barrier>() <= align_of::<pthread_barrier_t>());

extern "C" fn barrier_init(barrier: *mut pthread_barrier_t, _attributes: *const c_void, count: c_uint) -> c_int {
    if count == 0 {
        return libc::EINVAL;
    }
    let made = Barrier { count: AtomicU32::new(count), come: AtomicU32::new(0), meetings: AtomicU32::new(0) };
    // SAFETY: A12; the assertion above.
    unsafe { barrier.cast::<Barrier>().write(made) };
    0
}

extern "C" fn barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    // SAFETY: A12: `barrier_init` has made it.
    let Barrier { count, come, meetings } = unsafe { &*barrier.cast::<Barrier>() };
    let meeting = meetings.load(Relaxed);
    if come.fetch_add(1, Relaxed) + 1 == count.load(Relaxed) {
        come.store(0, Relaxed);
        meetings.store(meeting.wrapping_add(1), Relaxed);
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while meetings.load(Relaxed) == meeting {
        processes::let_threads_run();
    }
    0
}

extern "C" fn barrier_destroy(_barrier: *mut pthread_barrier_t) -> c_int {
    0
}

/// Ends the job: a program that ignored an error would wait for the thread without end.
extern "C" fn no_cancel(_thread: pthread_t) -> c_int {
    write_line(own_rank(), &"pthread_cancel: a thread of a simulated rank cannot be cancelled; let it return");
    processes::end(End::Code(1))
}

/// Sends a signal to the process: its threads share handlers and masks.
extern "C" fn kill(thread: pthread_t, signal: c_int) -> c_int {
    match state(thread) {
        Some(Some(_)) => libc::ESRCH,
        None if thread != 0 => libc::ESRCH,
        // SAFETY: without memory.
        _ => unsafe { libc::pthread_kill(libc::pthread_self(), signal) },
    }
}

/// All threads have the name of the process, which keeps its own.
extern "C" fn name(_thread: pthread_t, into: *mut c_char, bytes: size_t) -> c_int {
    // SAFETY: A12.
    unsafe { libc::pthread_getname_np(libc::pthread_self(), into, bytes) }
}

extern "C" fn set_name(_thread: pthread_t, name: *const c_char) -> c_int {
    const NAME_BYTES: usize = 15;
    // SAFETY: A12.
    if unsafe { libc::strlen(name) } > NAME_BYTES { libc::ERANGE } else { 0 }
}

extern "C" fn cores(_thread: pthread_t, bytes: size_t, into: *mut cpu_set_t) -> c_int {
    // SAFETY: A12.
    unsafe { libc::pthread_getaffinity_np(libc::pthread_self(), bytes, into) }
}

/// Without effect: one thread runs all ranks, and cores of the simulated machine are others.
extern "C" fn set_cores(_thread: pthread_t, _bytes: size_t, _cores: *const cpu_set_t) -> c_int {
    0
}

extern "C" fn policy(_thread: pthread_t, policy: *mut c_int, parameter: *mut sched_param) -> c_int {
    // SAFETY: A12.
    unsafe { libc::pthread_getschedparam(libc::pthread_self(), policy, parameter) }
}

/// Without effect, as [`set_cores`].
extern "C" fn set_policy(_thread: pthread_t, _policy: c_int, _parameter: *const sched_param) -> c_int {
    0
}

extern "C" fn clock(_thread: pthread_t, into: *mut clockid_t) -> c_int {
    // SAFETY: A12.
    unsafe { into.write(libc::CLOCK_THREAD_CPUTIME_ID) };
    0
}

/// The attributes of the thread that runs all ranks would name a stack that is not the caller's.
extern "C" fn no_attributes(_thread: pthread_t, _into: *mut pthread_attr_t) -> c_int {
    libc::ENOSYS
}
