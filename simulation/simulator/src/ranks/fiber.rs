//! A rank as a coroutine: code that can be suspended and resumed, on a stack of its own.
//!
//! Invariants of the unsafe code:
//!
//! - **F1** The values that a body borrows outlive its fiber: `with_fibers`, which makes the fibers, drops all before it returns, and hands none
//!   out.
//! - **F2** A fiber is suspended only from inside itself, on the thread that resumed it: `CURRENT` is set while one runs on its own stack, and
//!   only then, also after a panic: otherwise the frames on the stack that resumed it would be overwritten.
//! - **F3** Values on the stack of an abandoned fiber are never dropped: frames of other languages may be among them. Nothing else may
//!   hold a pointer to that stack that is followed later; the caller that abandons a fiber ensures that.
//! - **F4** On a shared stack, a fiber is made, resumed and dropped only while its rank owns the stack and all its frames are there.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::thread::LocalKey;

use corosensei::stack::Stack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::ranks::float_control::FloatControl;
use crate::ranks::stacks::{RankStack, Stacks, ThreadStack};
use crate::ranks::status::SimulationStatus;

thread_local! {
    /// The yielder by which the fiber that runs on this thread is suspended.
    static CURRENT: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };

    /// Whether the rank of the fiber that has just been suspended must never be resumed, and whether that fiber, a thread, must not.
    static ABANDONED: Cell<bool> = const { Cell::new(false) };
    static THREAD_ENDED: Cell<bool> = const { Cell::new(false) };

    /// The address below which the fiber that was suspended last has no data on its stack.
    static STOPPED_AT: Cell<usize> = const { Cell::new(0) };

    /// Threads that the running rank has begun and that [`Fibers::resume`] has not collected yet.
    static BEGUN: RefCell<Vec<Thread>> = const { RefCell::new(Vec::new()) };

    /// Whether the stacks of fibers are being unwound.
    static UNWINDING: Cell<bool> = const { Cell::new(false) };

    /// The status, for signal handlers, of the simulation that this thread runs.
    static STATUS: Cell<Option<&'static SimulationStatus>> = const { Cell::new(None) };

    /// The number of threads of the running rank besides its first, and the number of the running thread: 0 is the first.
    static THREADS: Cell<usize> = const { Cell::new(0) };
    static THREAD: Cell<usize> = const { Cell::new(0) };
}

/// A thread of a rank other than its first.
struct Thread {
    number: usize,
    fiber: Coroutine<(), (), (), ThreadStack>,
}

/// The treatment of fibers that have not ended at the end of the simulation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// Their stacks are unwound, so that the values there are dropped.
    Dropped,
    /// Their stacks are not touched.
    Abandoned,
}

/// An upper bound of the bytes that suspending a fiber puts on its stack, below the frame of [`suspend`].
const SUSPENSION_BYTES: usize = 256;

type RankCoroutine<'s> = Coroutine<(), (), (), RankStack<'s>>;

/// The state of the body of a rank.
enum Body<'s> {
    New,
    Begun {
        coroutine: RankCoroutine<'s>,
        /// Bytes on a shared stack at its last suspension.
        depth: u32,
    },
    Ended,
}

impl Body<'_> {
    fn depth(&self) -> usize {
        if let Self::Begun { depth, .. } = *self { depth as usize } else { 0 }
    }
}

/// The bodies of all ranks.
pub(crate) struct Fibers<'s> {
    bodies: Vec<Body<'s>>,
    stacks: &'s Stacks,
    begin: &'s dyn Fn(u32) -> RankCoroutine<'s>,
    /// The further threads, only for ranks that have any.
    threads: BTreeMap<u32, Vec<Thread>>,
    unfinished: Unfinished,
}

/// The settings of the fibers of a simulation.
#[derive(Clone, Copy)]
pub(crate) struct FiberSettings<'s> {
    pub(crate) count: u32,
    pub(crate) stacks: &'s Stacks,
    /// The treatment of fibers that have not ended.
    pub(crate) unfinished: Unfinished,
    /// The status for signal handlers.
    pub(crate) status: &'static SimulationStatus,
}

/// Calls `drive` with fibers that have not begun; each executes `body` with its number.
pub(crate) fn with_fibers<R>(bodies: FiberSettings<'_>, body: impl Fn(u32), drive: impl FnOnce(&mut Fibers<'_>) -> R) -> R {
    let (FiberSettings { count, stacks, unfinished, status }, body) = (bodies, &body);
    let fiber = |number| -> RankCoroutine<'_> {
        let begin = move |yielder: &Yielder<(), ()>, ()| {
            CURRENT.set(Some(NonNull::from(yielder)));
            body(number);
        };
        // SAFETY: F1, F4.
        unsafe { Coroutine::with_stack_unchecked(stacks.of(number), begin) }
    };
    let _known = Replaced::of(&STATUS, Some(status));
    let bodies = (0..count).map(|_| Body::New).collect();
    let mut fibers = Fibers { bodies, stacks, begin: &fiber, threads: BTreeMap::new(), unfinished };
    drive(&mut fibers)
}

/// Replaces a value of this thread until it is dropped.
struct Replaced<T: Copy + 'static> {
    key: &'static LocalKey<Cell<T>>,
    before: T,
}

impl<T: Copy> Replaced<T> {
    fn of(key: &'static LocalKey<Cell<T>>, value: T) -> Self {
        Self { key, before: key.replace(value) }
    }
}

impl<T: Copy> Drop for Replaced<T> {
    fn drop(&mut self) {
        self.key.set(self.before);
    }
}

impl Fibers<'_> {
    /// Resumes a rank until its body and each of its threads are suspended or have ended; returns whether the body has ended.
    pub(crate) fn resume(&mut self, number: u32) -> bool {
        let mut threads = self.threads.remove(&number).unwrap_or_default();
        THREADS.set(threads.len());
        self.claim(number);
        let Self { bodies, stacks, begin, .. } = self;
        let body = &mut bodies[number as usize];
        if matches!(body, Body::New) {
            *body = Body::Begun { coroutine: begin(number), depth: 0 };
        }
        let Body::Begun { coroutine, depth } = body else { return true };
        let mut ended = resume(coroutine, 0) || ABANDONED.get();
        if let Some(stack) = stacks.shared() {
            *depth = stack.depth_of(STOPPED_AT.get()) as u32;
        }
        let mut next = 0;
        while !ended {
            BEGUN.with_borrow_mut(|begun| threads.append(begun));
            let Some(Thread { number, fiber }) = threads.get_mut(next) else { break };
            let returned = resume(fiber, *number);
            ended = ABANDONED.get();
            if returned || THREAD_ENDED.take() {
                abandon_fiber(&mut threads.swap_remove(next).fiber);
                // The thread may have begun others.
                THREADS.set(threads.len() + BEGUN.with_borrow(Vec::len));
            } else {
                next += 1;
            }
        }
        if ended {
            ABANDONED.set(false);
            THREAD_ENDED.set(false);
            BEGUN.with_borrow_mut(|begun| threads.append(begun));
            threads.iter_mut().for_each(|thread| abandon_fiber(&mut thread.fiber));
            if let Body::Begun { mut coroutine, .. } = std::mem::replace(&mut self.bodies[number as usize], Body::Ended) {
                abandon_fiber(&mut coroutine);
            }
        } else if !threads.is_empty() {
            self.threads.insert(number, threads);
        }
        THREADS.set(0);
        ended
    }

    /// Moves the frames of a rank to the shared stack, if there is one (F4).
    fn claim(&self, number: u32) {
        if let Some(stack) = self.stacks.shared() {
            stack.claim(number, self.bodies[number as usize].depth(), |owner| self.bodies[owner as usize].depth());
        }
    }
}

/// Resumes a fiber until it is suspended or ends; returns whether it has ended.
fn resume<S: Stack>(fiber: &mut Coroutine<(), (), (), S>, thread: usize) -> bool {
    let _as_before = (Replaced::of(&CURRENT, None), Replaced::of(&THREAD, thread));
    let own = FloatControl::read();
    let has_ended = matches!(fiber.resume(()), CoroutineResult::Return(()));
    own.write();
    has_ended
}

/// Abandons a fiber, unless it has ended and its stack is empty.
fn abandon_fiber<S: Stack>(fiber: &mut Coroutine<(), (), (), S>) {
    if !fiber.done() {
        // SAFETY: F3.
        unsafe { fiber.force_reset() };
    }
}

impl Drop for Fibers<'_> {
    fn drop(&mut self) {
        if self.unfinished == Unfinished::Abandoned {
            self.threads.values_mut().flatten().for_each(|thread| abandon_fiber(&mut thread.fiber));
        }
        let _unwinding = Replaced::of(&UNWINDING, true);
        for number in 0..self.bodies.len() {
            if let Body::Begun { coroutine, .. } = &mut self.bodies[number] {
                match self.unfinished {
                    Unfinished::Abandoned => abandon_fiber(coroutine),
                    Unfinished::Dropped => self.claim(number as u32),
                }
                self.bodies[number] = Body::Ended;
            }
        }
        // A panic may have prevented `resume` from resetting these.
        ABANDONED.set(false);
        THREAD_ENDED.set(false);
        THREADS.set(0);
        BEGUN.with_borrow_mut(Vec::clear);
    }
}

/// Whether the stacks of fibers are being unwound.
pub(crate) fn is_unwinding() -> bool {
    UNWINDING.get()
}

/// A closure on its way to another stack of the same thread.
struct SameThread<T>(T);

// SAFETY: F2: it is used on the thread that made it.
unsafe impl<T> Send for SameThread<T> {}

/// Runs `f` on the stack that resumed the fiber, so that small stacks suffice for fibers; outside of fibers, runs it directly. A fault in `f` is
/// attributed to the simulator.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let Some(current) = CURRENT.get() else { return f() };
    let f = SameThread(f);
    // SAFETY: F2: the yielder of the fiber that runs now.
    unsafe { current.as_ref() }.on_parent_stack(move || {
        let SameThread(f) = { f };
        let _outside = (Replaced::of(&CURRENT, None), Inside::begin());
        f()
    })
}

/// Marks that the simulator works for the running rank, until it is dropped.
struct Inside(bool);

impl Inside {
    fn begin() -> Self {
        Self(STATUS.get().is_some_and(|status| status.set_inside(true)))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(status) = STATUS.get() {
            status.set_inside(self.0);
        }
    }
}

/// Suspends the running fiber until it is resumed. Not inlined, so that all data of the fiber on its stack are above this frame or close below its
/// variables.
///
/// # Panics
/// The caller is in no fiber.
#[inline(never)]
pub(crate) fn suspend() {
    let current = CURRENT.get().expect("ranks of a simulation wait in their own thread");
    STOPPED_AT.set((&raw const current) as usize - SUSPENSION_BYTES);
    let own = FloatControl::read();
    // SAFETY: F2: the yielder of the fiber that runs now.
    unsafe { current.as_ref() }.suspend(());
    own.write();
    CURRENT.set(Some(current));
}

/// Begins a thread of the running rank, with a number other than 0 that no other has; it first runs when the rank stops.
pub(crate) fn begin_thread(number: usize, stack: ThreadStack, body: impl FnOnce() + 'static) {
    let begin = move |yielder: &Yielder<(), ()>, ()| {
        CURRENT.set(Some(NonNull::from(yielder)));
        body();
    };
    let fiber = Coroutine::with_stack(stack, begin);
    BEGUN.with_borrow_mut(|begun| begun.push(Thread { number, fiber }));
    THREADS.set(THREADS.get() + 1);
}

/// Whether the running rank has threads besides its first.
pub(crate) fn has_threads() -> bool {
    THREADS.get() > 0
}

/// Returns the number of the running thread within the running rank; 0 is the rank's first thread.
pub(crate) fn thread() -> usize {
    THREAD.get()
}

/// Ends the running thread, which must not be its rank's first, without returning to it.
pub(crate) fn abandon_thread() -> ! {
    THREAD_ENDED.set(true);
    suspend();
    unreachable!("an abandoned thread is never resumed")
}

/// Ends the running fiber and its rank with all threads, without returning to them.
///
/// # Panics
/// The caller is in no fiber.
pub(crate) fn abandon() -> ! {
    ABANDONED.set(true);
    suspend();
    unreachable!("an abandoned fiber is never resumed")
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;
    use crate::memory::RankMemory;
    use crate::ranks::status::StatusEntry;

    struct NotesWhereItIs<'n>(&'n RefCell<Vec<(bool, bool)>>);

    impl Drop for NotesWhereItIs<'_> {
        fn drop(&mut self) {
            // On the stack that resumed a fiber, no fiber runs.
            let is_in_fiber = || CURRENT.get().is_some();
            self.0.borrow_mut().push((is_in_fiber(), outside(is_in_fiber)));
        }
    }

    /// One fiber is suspended when the other panics: its stack is unwound while no fiber is current, so that no code runs on the stack of a fiber that has ended.
    #[test]
    fn no_fiber_runs_after_a_panic() {
        let memory = RankMemory::new(2, 1 << 16, 1 << 20, true).unwrap();
        let entry = StatusEntry::new(&Default::default());
        let (status, noted) = (entry.status(), RefCell::default());
        let stacks = Stacks::new(&memory, 2, status).unwrap();
        let settings = FiberSettings { count: 2, stacks: &stacks, unfinished: Unfinished::Dropped, status };
        let body = |number| {
            let _notes = NotesWhereItIs(&noted);
            assert_eq!(number, 0, "on purpose");
            suspend();
        };
        let drive = |fibers: &mut Fibers<'_>| {
            assert!(!fibers.resume(0));
            fibers.resume(1);
        };
        assert!(catch_unwind(AssertUnwindSafe(|| with_fibers(settings, body, drive))).is_err());
        assert_eq!(*noted.borrow(), [(true, false), (false, false)]);
        let left = (CURRENT.get().is_none(), STATUS.get().is_none(), UNWINDING.get(), THREAD.get(), THREADS.get());
        assert_eq!(left, (true, true, false, 0, 0));
    }

    /// A thread begins another one and ends before that one runs.
    #[test]
    fn a_thread_counts_from_its_beginning_on() {
        let memory = RankMemory::new(1, 1 << 16, 1 << 20, true).unwrap();
        let entry = StatusEntry::new(&Default::default());
        let (status, noted) = (entry.status(), Rc::new(Cell::new(None)));
        let stacks = Stacks::new(&memory, 1, status).unwrap();
        let settings = FiberSettings { count: 1, stacks: &stacks, unfinished: Unfinished::Dropped, status };
        let begin = |number, body: Box<dyn FnOnce()>| begin_thread(number, ThreadStack::new(64 << 10).unwrap(), body);
        let body = |_| {
            let noted = noted.clone();
            let second = move || noted.set(Some(has_threads()));
            begin(1, Box::new(move || begin(2, Box::new(second))));
            suspend();
        };
        with_fibers(settings, body, |fibers| assert!(!fibers.resume(0)));
        assert_eq!(noted.get(), Some(true));
    }

    /// Neither the other fiber nor the stack that resumes both rounds as the first one does.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_fiber_has_its_own_control_of_floating_point_operations() {
        let memory = RankMemory::new(2, 1 << 16, 1 << 20, true).unwrap();
        let entry = StatusEntry::new(&Default::default());
        let status = entry.status();
        let stacks = Stacks::new(&memory, 2, status).unwrap();
        let settings = FiberSettings { count: 2, stacks: &stacks, unfinished: Unfinished::Dropped, status };
        let third = || std::hint::black_box(1.0_f64) / std::hint::black_box(3.0);
        let nearest = third();
        let body = |number| {
            if number == 1 {
                // Rounds up.
                FloatControl { vector: 0x5f80, ..FloatControl::read() }.write();
            }
            (0..2).for_each(|_| suspend());
            assert_eq!(third() > nearest, number == 1);
        };
        let drive = |fibers: &mut Fibers<'_>| {
            for number in [1, 0, 1, 0, 1, 0] {
                fibers.resume(number);
                assert!(third() <= nearest);
            }
        };
        with_fibers(settings, body, drive);
    }
}
