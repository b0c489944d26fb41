//! A rank as a coroutine: code that can stop in the middle and go on later, on a stack of its own.
//!
//! Invariants of the unsafe code:
//!
//! - **F1** What a body borrows outlives its fiber: `run` in `lib.rs` drops all fibers before it returns.
//! - **F2** A fiber is suspended only from inside itself, on the thread that resumed it: `CURRENT` is set while one runs, and only then.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ptr::NonNull;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::stacks::RankStack;

thread_local! {
    /// How the fiber that runs on this thread stops.
    static CURRENT: Cell<Option<NonNull<Yielder<(), ()>>>> = const { Cell::new(None) };
}

/// The body of a rank, as far as it has come.
pub(crate) struct Fiber(Coroutine<(), (), (), RankStack>);

impl Fiber {
    /// A fiber that has not begun.
    ///
    /// # Safety
    /// F1: what `body` borrows lives until the fiber has ended or is dropped.
    pub(crate) unsafe fn new(stack: RankStack, body: impl FnOnce()) -> Self {
        let begin = move |yielder: &Yielder<(), ()>, ()| {
            CURRENT.set(Some(NonNull::from(yielder)));
            body();
        };
        // SAFETY: the caller's promise.
        Self(unsafe { Coroutine::with_stack_unchecked(stack, begin) })
    }

    /// Goes on until the body stops or ends; returns whether it has ended.
    pub(crate) fn resume(&mut self) -> bool {
        let before = CURRENT.take();
        let ended = matches!(self.0.resume(()), CoroutineResult::Return(()));
        CURRENT.set(before);
        ended
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
