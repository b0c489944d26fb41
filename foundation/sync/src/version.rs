//! A count of the changes to a structure of one owner that others read concurrently (a sequence lock).

use crate::primitive::{AtomicU64, Ordering, constructor, fence};

/// Number of changes by an owner to a structure of atomics that readers read without a lock.
///
/// **A read is consistent** if [`read`](Self::read) returned a version before the first load and [`is_still`](Self::is_still) holds after the
/// last: no change was in progress or began in between. Readers write nothing. `README.md` has the proof. All zero bytes are a structure that
/// was never changed.
///
/// Only one thread changes the structure at a time. If a process dies during a change, the change stays in progress for ever: readers must
/// limit their tries.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Version {
    /// Odd while a change is in progress.
    word: AtomicU64,
}

impl Version {
    constructor! {
        /// Creates the version of a structure that was never changed.
        pub fn new() -> Self {
            Self { word: AtomicU64::new(0) }
        }
    }

    /// Changes the structure (owner), by relaxed stores. Cost: two stores.
    pub fn change<R>(&self, change: impl FnOnce() -> R) -> R {
        let before = self.word.load(Ordering::Relaxed);
        self.word.store(before.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees a store of the change also sees, after its own fence, that the change has begun.
        fence(Ordering::Release);
        let result = change();
        // Release: a reader of this version sees the whole change.
        self.word.store(before.wrapping_add(2), Ordering::Release);
        result
    }

    /// Returns the version, unless a change is in progress. Cost: one load.
    pub fn read(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word & 1 == 0).then_some(word)
    }

    /// Whether nothing was changed since `read` returned this version. Cost: one load.
    pub fn is_still(&self, version: u64) -> bool {
        fence(Ordering::Acquire);
        self.word.load(Ordering::Relaxed) == version
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_change_makes_another_version_and_has_none_itself() {
        let version = Version::new();
        let first = version.read().unwrap();
        assert!(version.is_still(first));
        version.change(|| assert!(version.read().is_none() && !version.is_still(first)));
        assert!(!version.is_still(first) && version.read().is_some_and(|second| second != first));
    }
}
