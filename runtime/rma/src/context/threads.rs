//! Other threads of the rank.

use std::sync::{Arc, Mutex};

use pelago_platform::Activity;

use crate::progress::port::{Hub, Port};
use crate::shared::Shared;
use crate::{Context, Result};

/// Makes contexts for other threads of this rank. Cheap to clone and to send.
///
/// Every thread has a context of its own, so that the path to mapped memory stays free of locks; threads meet at a lock only when they
/// use a transport. Handles are of the context that issued them.
#[derive(Clone)]
pub struct ContextFactory {
    /// First, so that the transport is dropped before the memory that it was lent (R2).
    hub: Arc<Mutex<Hub>>,
    shared: Arc<Shared>,
}

impl Context {
    /// A maker of contexts for other threads. From the first call on, contexts meet at a lock when they use a transport; the path to
    /// mapped memory stays free of it.
    pub fn context_factory(&self) -> ContextFactory {
        ContextFactory { hub: self.engine.borrow_mut().port().share(), shared: self.shared.clone() }
    }

    /// Whether other threads of this rank may use contexts. In a simulation ranks are coroutines of one thread, and none other may.
    pub fn takes_threads(&self) -> bool {
        self.shared.policy.takes_threads
    }

    /// Whether this rank's host has more ranks than cores, as far as this rank sees, so that they take turns.
    pub fn shares_cores(&self) -> bool {
        self.shared.policy.is_oversubscribed
    }

    /// Waits for something that is no part of the library, for as long as `wait` does. Meanwhile this thread is none of those that use the
    /// library: if all others wait, it is a deadlock, though this one may go on.
    pub fn blocking_region<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.wait.note(Activity::Leaves);
        let _back = Back(self);
        wait()
    }
}

impl ContextFactory {
    /// A context for the calling thread.
    ///
    /// # Errors
    /// There are 65,536 contexts, or so many have been dropped while operations of theirs were under way, which have not ended.
    pub fn context(&self) -> Result<Context> {
        Ok(Context::new(self.shared.clone(), Port::to(self.hub.clone())?))
    }
}

/// A thread that is aside uses the library again when this is dropped.
struct Back<'c>(&'c Context);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.shared.wait.note(Activity::Joins);
    }
}
