//! A count of the changes to a structure of one owner that others read meanwhile.

use crate::primitive::{AtomicU64, Ordering, constructor, fence};

/// How often an owner has changed a structure of atomics that readers look through without a lock.
///
/// **What was read is of one moment** if [`read`](Self::read) gave a version before the first load and
/// [`is_still`](Self::is_still) holds after the last: no change was under way or began in between. Readers write nothing. `README.md` has the
/// proof. All zero bytes are a structure that was never changed.
///
/// One thread changes at a time. A process that dies half-way through a change leaves it under way for ever: readers bound their tries.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Version {
    /// Odd while a change is under way.
    word: AtomicU64,
}

impl Version {
    constructor! {
        /// Of a structure that was never changed.
        pub fn new() -> Self {
            Self { word: AtomicU64::new(0) }
        }
    }

    /// Changes the structure (owner), by relaxed stores. Cost: two stores.
    pub fn change<R>(&self, change: impl FnOnce() -> R) -> R {
        let before = self.word.load(Ordering::Relaxed);
        self.word.store(before.wrapping_add(1), Ordering::Relaxed);
        // A reader that sees a store of the change also sees, after its own fence, that the change had begun.
        fence(Ordering::Release);
        let result = change();
        // Release: who reads this version sees the whole change.
        self.word.store(before.wrapping_add(2), Ordering::Release);
        result
    }

    /// The version, unless a change is under way. Cost: one load.
    pub fn read(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word & 1 == 0).then_some(word)
    }

    /// Whether nothing was changed since `read` gave this version. Cost: one load.
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
