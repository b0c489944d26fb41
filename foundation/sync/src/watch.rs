//! Who sees to what others have left: whoever watches anyhow, or a stand-in that has to be woken.

use crate::primitive::{AtomicU32, Ordering, constructor, fence};

/// How many threads of an owner watch for what others leave for it, so that its stand-in may sleep meanwhile.
///
/// **Nothing is left lying**: if something is left in one thread before [`is_kept`](Self::is_kept), and looked for in another after
/// [`end`](Self::end), then it is found there, or `is_kept` says that this watch is over. Whoever leaves something wakes the stand-in unless the
/// watch is kept; whoever ends a watch wakes it if something is left. `README.md` has the proof. All zero bytes are a watch that nobody
/// keeps.
///
/// A process that dies while it watches watches for ever; what is left for it is lost with it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Watch {
    watchers: AtomicU32,
}

impl Watch {
    constructor! {
        /// A watch that nobody keeps.
        pub fn new() -> Self {
            Self { watchers: AtomicU32::new(0) }
        }
    }

    /// This thread watches: until it [ends](Self::end) that, it looks again and again, or sleeps where whoever leaves something wakes it.
    ///
    /// Cost: one atomic.
    pub fn begin(&self) {
        self.watchers.fetch_add(1, Ordering::Relaxed);
    }

    /// This thread watches no longer. To be followed by a look at what is left. Cost: one atomic and a full fence.
    pub fn end(&self) {
        self.watchers.fetch_sub(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Whether somebody watches. To be asked when something has been left. Cost: a full fence and a load. Callable from any thread.
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
