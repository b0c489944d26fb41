//! Ticks: a signal after every few milliseconds of CPU time of a simulation's thread, at which the running rank may be suspended, as if the
//! program had called the simulator there.
//!
//! Invariants of the unsafe code:
//!
//! - **T1** The handler does more than read atomics and thread-local cells only if the interrupted instruction lies in code of the program. There, on
//!   the stack of a rank, neither the simulator nor the library nor the C library is active for that rank, so that the handler may do anything that
//!   the program could do by a call, including suspending the rank with the frame of the signal on its stack. The kernel has saved all registers in
//!   that frame and restores them when the handler returns.
//! - **T2** `TICKS` points to a value on the stack of `with_ticks`, and is null before and after; the handler runs on the same thread.
//! - **T3** The signal is not blocked while the handler runs, because other ranks run before it returns; a tick inside the handler interrupts code that is
//!   not the program's, and returns immediately.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ops::Range;

use libc::{c_int, c_void, siginfo_t, ucontext_t};

/// CPU time between two ticks.
const TICK_NANOSECONDS: i64 = 4_000_000;

/// The signal of a tick: one that programs rarely use and that debuggers pass on silently.
const SIGNAL: c_int = libc::SIGURG;

/// Bytes of the stack, below and above the stack pointer, that are part of a state: the red zone, and the innermost frames. Threads other than a
/// rank's first have fewer bytes above it.
const BELOW: usize = 128;
const ABOVE: [usize; 2] = [256, 64];

thread_local! {
    static TICKS: Cell<*const Ticks<'static>> = const { Cell::new(std::ptr::null()) };
}

/// The data of the signal handler.
struct Ticks<'t> {
    /// The code of the program.
    code: Vec<Range<usize>>,
    /// As [`TickHandlers::running`].
    is_beside: &'t dyn Fn() -> Option<bool>,
    tick: &'t dyn Fn(u64),
}

/// The functions that are called at ticks.
pub(crate) struct TickHandlers<'t> {
    /// Returns whether the running thread is not its rank's first; `None` unless a rank runs outside of the simulator. Called in the signal handler.
    pub(crate) running: &'t dyn Fn() -> Option<bool>,
    /// Called with a hash of the state of the running rank, which may be suspended.
    pub(crate) tick: &'t dyn Fn(u64),
}

/// Calls `drive`, with a tick whenever the thread has used some milliseconds of CPU time and the interrupted instruction lies in `code`. There
/// are no ticks without code, or if the system has no timers.
pub(crate) fn with_ticks<R>(code: Vec<Range<usize>>, handlers: TickHandlers<'_>, drive: impl FnOnce() -> R) -> R {
    if code.is_empty() || !IS_SUPPORTED {
        return drive();
    }
    let ticks = Ticks { code, is_beside: handlers.running, tick: handlers.tick };
    TICKS.set((&raw const ticks).cast());
    let timer = Timer::start();
    let result = drive();
    drop(timer);
    TICKS.set(std::ptr::null());
    result
}

/// The timer, and the previous handler of the signal.
struct Timer {
    timer: libc::timer_t,
    before: libc::sigaction,
}

impl Timer {
    fn start() -> Option<Self> {
        // SAFETY: T1, T3: the handler has the signature that SA_SIGINFO requires; all-zero bytes are valid records; the timer notifies this thread.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
            if libc::sigaction(SIGNAL, &action, &mut before) != 0 {
                return None;
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = SIGNAL;
            event.sigev_notify_thread_id = libc::gettid();
            let mut timer: libc::timer_t = std::mem::zeroed();
            if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) != 0 {
                libc::sigaction(SIGNAL, &before, std::ptr::null_mut());
                return None;
            }
            let each = libc::timespec { tv_sec: 0, tv_nsec: TICK_NANOSECONDS };
            let times = libc::itimerspec { it_interval: each, it_value: each };
            libc::timer_settime(timer, 0, &times, std::ptr::null_mut());
            Some(Self { timer, before })
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer is our own; the previous handler is the one that the kernel has returned.
        unsafe {
            libc::timer_delete(self.timer);
            libc::sigaction(SIGNAL, &self.before, std::ptr::null_mut());
        }
    }
}

/// T1.
extern "C" fn handle(_signal: c_int, _info: *mut siginfo_t, context: *mut c_void) {
    let ticks = TICKS.get();
    // SAFETY: T2; the kernel passes the state of the thread, which nobody else uses.
    let (Some(ticks), Some(context)) = (unsafe { (ticks.as_ref(), context.cast::<ucontext_t>().as_ref()) }) else { return };
    let Some(machine) = Machine::of(context) else { return };
    if !ticks.code.iter().any(|range| range.contains(&machine.instruction)) {
        return;
    }
    let Some(is_beside) = (ticks.is_beside)() else { return };
    // SAFETY: a word of this thread, which the program may be about to read.
    let error = unsafe { *libc::__errno_location() };
    (ticks.tick)(machine.hash(ABOVE[usize::from(is_beside)]));
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = error };
}

/// The registers at an interruption.
struct Machine {
    instruction: usize,
    stack: usize,
    hash: Hash,
}

impl Machine {
    /// Returns a hash of the state, with bytes of the stack.
    fn hash(&self, above: usize) -> u64 {
        let mut hash = Hash(self.hash.0);
        for at in (self.stack - BELOW..self.stack + above).step_by(8) {
            // SAFETY: T1: the stack of a rank at its innermost frames; the frame of the signal lies below the red zone.
            hash.add(unsafe { (at as *const u64).read_volatile() });
        }
        hash.0
    }
}

/// FNV-1a, by words.
struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }
}

/// Whether the C library declares the registers in the frame of a signal.
const IS_SUPPORTED: bool = cfg!(any(all(target_arch = "x86_64", target_env = "gnu"), target_arch = "aarch64"));

#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
impl Machine {
    fn of(context: &ucontext_t) -> Option<Self> {
        let registers = &context.uc_mcontext.gregs;
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        // The general registers and the instruction pointer, without flags.
        registers[..=libc::REG_RIP as usize].iter().for_each(|&register| hash.add(register as u64));
        // SAFETY: the kernel saves these registers in the frame of the signal; null means that they were not used.
        if let Some(vectors) = unsafe { context.uc_mcontext.fpregs.as_ref() } {
            vectors._xmm.iter().flat_map(|vector| vector.element).for_each(|word| hash.add(word.into()));
        }
        let [instruction, stack] = [libc::REG_RIP, libc::REG_RSP].map(|register| registers[register as usize] as usize);
        Some(Self { instruction, stack: stack & !7, hash })
    }
}

#[cfg(target_arch = "aarch64")]
impl Machine {
    fn of(context: &ucontext_t) -> Option<Self> {
        let registers = &context.uc_mcontext;
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        registers.regs.iter().for_each(|&register| hash.add(register));
        [registers.sp, registers.pc].into_iter().for_each(|register| hash.add(register));
        Some(Self { instruction: registers.pc as usize, stack: registers.sp as usize, hash })
    }
}

#[cfg(not(any(all(target_arch = "x86_64", target_env = "gnu"), target_arch = "aarch64")))]
impl Machine {
    fn of(_context: &ucontext_t) -> Option<Self> {
        None
    }
}
