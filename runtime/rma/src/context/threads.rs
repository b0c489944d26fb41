//! Other threads of the rank.

use pelago_platform::Activity;

use crate::Context;
use crate::progress::port::ContextFactory;

impl Context {
    /// A maker of contexts for other threads. From the first call on, contexts meet at a lock when they use a transport; the path to
    /// mapped memory stays free of it.
    pub fn context_factory(&self) -> ContextFactory {
        ContextFactory::new(self.engine.borrow_mut().port().share(), self.shared.clone())
    }

    /// Whether other threads of this rank may use contexts. In a simulation ranks are coroutines of one thread, and none other may.
    pub fn takes_threads(&self) -> bool {
        self.shared.policy.takes_threads
    }

    /// Waits for something that is no part of the library, for as long as `wait` does. Meanwhile this thread is none of those that use the
    /// library: if all others wait, it is a deadlock, though this one may go on.
    pub fn blocking_region<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.wait.note(Activity::Leaves);
        let _back = Back(self);
        wait()
    }
}

/// A thread that is aside uses the library again when this is dropped.
struct Back<'c>(&'c Context);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.shared.wait.note(Activity::Joins);
    }
}
