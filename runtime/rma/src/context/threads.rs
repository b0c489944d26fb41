//! Other threads of the rank.

use std::sync::Arc;
use std::thread::{self, ThreadId};

use pelago_platform::Activity;

use crate::progress::port::{Port, SharedHub};
use crate::shared::Shared;
use crate::{Context, Error, Result};

/// Creates contexts for other threads of this rank. Cheap to clone and to send.
///
/// Every thread has its own context, so that the path to mapped memory stays free of locks; threads contend for a lock only when they
/// use a transport. A handle belongs to the context that issued it.
#[derive(Clone)]
pub struct ContextFactory {
    /// First, so that the transport is dropped before the memory that was lent to it (R2).
    hub: Arc<SharedHub>,
    shared: Arc<Shared>,
    /// The thread of the ranks, if no other thread may use contexts.
    only: Option<ThreadId>,
}

impl Context {
    /// Returns a factory of contexts for other threads. After the first call, contexts take a lock when they use a transport; the path to
    /// mapped memory stays lock-free.
    pub fn context_factory(&self) -> ContextFactory {
        let coroutines = (!self.takes_threads()).then(|| self.shared.wait.clone());
        let only = (!self.takes_threads()).then(|| thread::current().id());
        ContextFactory { hub: self.engine.borrow_mut().port().share(coroutines), shared: self.shared.clone(), only }
    }

    /// Whether other threads of this rank may use contexts. In a simulation ranks are coroutines of one thread, and no other thread may.
    pub fn takes_threads(&self) -> bool {
        self.shared.policy.takes_threads
    }

    /// Whether this rank's host has more ranks than cores, as far as this rank knows, so that ranks share cores.
    pub fn shares_cores(&self) -> bool {
        self.shared.policy.is_oversubscribed
    }

    /// Calls `wait`, which waits for an event outside the library. Meanwhile this thread does not count as a user of the library: if all other
    /// threads wait, a deadlock is reported, although this thread may continue.
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
    /// There are 65,536 contexts, including dropped ones with operations that have not ended; the platform
    /// [takes no threads](Context::takes_threads), and the calling thread is not that of the ranks.
    pub fn context(&self) -> Result<Context> {
        if self.only.is_some_and(|only| only != thread::current().id()) {
            return Err(Error::Unsupported(
                "the ranks of this job, as those of a simulation, are in one thread, and other threads have no contexts; World::takes_threads tells",
            ));
        }
        Ok(Context::new(self.shared.clone(), Port::to(self.hub.clone())?))
    }
}

/// Makes a thread in a blocking region a user of the library again when dropped.
struct Back<'c>(&'c Context);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.shared.wait.note(Activity::Joins);
    }
}
