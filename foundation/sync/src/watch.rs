//! Handling of requests that other threads leave: by a thread that watches for them anyway, or by a stand-in that must be woken.

use crate::primitive::{AtomicU32, Ordering, constructor, fence};

/// Number of threads of an owner that watch for requests, so that the owner's stand-in may sleep meanwhile.
///
/// **No request is missed**: if one thread leaves a request before [`is_kept`](Self::is_kept), and another looks for requests after
/// [`end`](Self::end), then it finds the request, or `is_kept` returns that this watch has ended. A thread that leaves a request wakes the
/// stand-in unless the watch is kept; a thread that ends a watch wakes the stand-in if a request is left. `README.md` has the proof. All zero
/// bytes are a watch without watchers.
///
/// A process that dies while it watches counts as watching for ever; requests left for it are lost with it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Watch {
    watchers: AtomicU32,
}

impl Watch {
    constructor! {
        /// Creates a watch without watchers.
        pub fn new() -> Self {
            Self { watchers: AtomicU32::new(0) }
        }
    }

    /// Starts the watch of this thread: until it [ends](Self::end) it, the thread polls for requests, or sleeps where a thread that leaves one
    /// wakes it.
    ///
    /// Cost: one atomic.
    pub fn begin(&self) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the watch of this thread. The caller then checks for requests. Cost: one atomic and a full fence.
    pub fn end(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether any thread watches. Called after a request has been left. Cost: a full fence and a load. Callable from any thread.
    pub fn is_kept(&self) -> bool {
        fence(Ordering::SeqCst);
        self.watchers.load(Ordering::Relaxed) > 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_until_the_last_that_watches_ends() {
        let watch = Watch::new();
        assert!(!watch.is_kept());
        watch.begin();
        watch.begin();
        watch.end();
        assert!(watch.is_kept());
        watch.end();
        assert!(!watch.is_kept());
    }
}
