//! A rank as a coroutine: code that can stop in the middle and go on later, on a stack of its own.
//!
//! Invariants of the unsafe code:
//!
//! - **F1** What a body borrows outlives its fiber: `with_fibers`, which makes them, drops all before it returns, and hands none out.
//! - **F2** A fiber is suspended only from inside itself, on the thread that resumed it: `CURRENT` is set while one runs, and only then.
//! - **F3** What a fiber that is abandoned has on its stack is never dropped: frames of other languages may be among it. Nobody else may
//!   have a pointer there that is followed later; whoever abandons one sees to that.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::stacks::{RankStack, Stacks};

thread_local! {
    /// How the fiber that runs on this thread stops.
    static CURRENT: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };

    /// Whether the fiber that has just stopped never goes on.
    static ABANDONED: Cell<bool> = const { Cell::new(false) };
}

/// What becomes of a fiber that has not ended when nobody resumes it any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// What it has on its stack is dropped.
    Dropped,
    /// Nothing of it is touched.
    Abandoned,
}

/// The bodies of all ranks, each as far as it has come; `None` for those that have ended.
pub(crate) struct Fibers<'s> {
    fibers: Vec<Option<Coroutine<(), (), (), RankStack<'s>>>>,
    rest: Rest,
}

/// Calls `drive` with so many fibers, none of which has begun: `body`, called with the number of each. `rest` becomes of those that have not
/// ended when it returns.
pub(crate) fn with_fibers<R>(
    count: u32,
    stacks: &Stacks,
    rest: Rest,
    body: impl Fn(u32),
    drive: impl FnOnce(&mut Fibers<'_>) -> R,
) -> R {
    let body = &body;
    let fiber = |number| {
        let begin = move |yielder: &Yielder<(), ()>, ()| {
            CURRENT.set(Some(NonNull::from(yielder)));
            body(number);
        };
        // SAFETY: F1.
        Some(unsafe { Coroutine::with_stack_unchecked(stacks.of(number), begin) })
    };
    let mut fibers = Fibers { fibers: (0..count).map(fiber).collect(), rest };
    drive(&mut fibers)
}

impl Fibers<'_> {
    /// Has a fiber go on until its body stops or ends; returns whether it has ended.
    pub(crate) fn resume(&mut self, number: u32) -> bool {
        let place = &mut self.fibers[number as usize];
        let Some(fiber) = place else { return true };
        let before = CURRENT.take();
        let returned = matches!(fiber.resume(()), CoroutineResult::Return(()));
        CURRENT.set(before);
        let abandoned = ABANDONED.take();
        if abandoned {
            // SAFETY: F3.
            unsafe { fiber.force_reset() };
        }
        if returned || abandoned {
            *place = None;
        }
        returned || abandoned
    }
}

impl Drop for Fibers<'_> {
    fn drop(&mut self) {
        if self.rest == Rest::Abandoned {
            for fiber in self.fibers.iter_mut().flatten() {
                // SAFETY: F3.
                unsafe { fiber.force_reset() };
            }
        }
    }
}

/// What a closure borrows, on its way to the other stack of the same thread.
struct SameThread<T>(T);

// SAFETY: F2: it is used on the thread that made it.
unsafe impl<T> Send for SameThread<T> {}

/// Runs `f` on the stack of whoever resumed the fiber, so that fibers need little of their own; outside of fibers, at once.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    let Some(current) = CURRENT.get() else { return f() };
    let f = SameThread(f);
    // SAFETY: F2: the yielder of the fiber that runs now.
    unsafe { current.as_ref() }.on_parent_stack(move || {
        let SameThread(f) = { f };
        f()
    })
}

/// Stops the running fiber until it is resumed.
///
/// # Panics
/// The caller is in no fiber.
pub(crate) fn suspend() {
    let current = CURRENT.get().expect("ranks of a simulation wait in their own thread");
    // SAFETY: F2: the yielder of the fiber that runs now.
    unsafe { current.as_ref() }.suspend(());
    CURRENT.set(Some(current));
}

/// Stops the running fiber for ever.
///
/// # Panics
/// The caller is in no fiber.
pub(crate) fn abandon() -> ! {
    ABANDONED.set(true);
    suspend();
    unreachable!("an abandoned fiber is never resumed")
}
