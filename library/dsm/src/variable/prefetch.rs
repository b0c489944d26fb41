//! A copy of the newest version that is fetched before the variable is acquired.
//!
//! **A1** The copy is a version as it was released: the copy began after that version was recorded at the home, and the version's owner changes
//! its data only for a later version. So the copy is valid if the variable is acquired with the same version.

use pelago_rma::{Handle, Individual, Result};

use super::blocks::VERSIONS;
use crate::lock::RemoteWords;
use crate::lock::Version;
use crate::lock::WordAddress;

/// A copy of a version, in flight or complete.
pub(crate) struct Prefetch<'w> {
    /// The version of the copy; its number is 0 after the copy was used.
    pub(crate) version: Version,
    pub(crate) copied: Handle<'w>,
    /// The versions of the blocks, then the blocks, laid out as in the memory of the owner.
    pub(crate) landing: Individual<'w, u64>,
}

impl<'w> Prefetch<'w> {
    /// Begins to copy a version of a variable of `count` words; reuses the memory of the copy `before`.
    ///
    /// # Errors
    /// No memory is left; the owner is lost; the job is at fault.
    pub(crate) fn begin(words: &RemoteWords<'w>, before: Option<Self>, version: Version, count: usize) -> Result<Self> {
        let (world, count) = (words.world(), count - VERSIONS);
        let from = words.at(WordAddress { rank: version.owner, word: VERSIONS });
        match before {
            Some(mut prefetch) => {
                let _ended_whether_well_or_not = prefetch.copied.wait();
                prefetch.version = Version::default();
                prefetch.copied = world.copy(from, prefetch.landing.ptr(0), count)?;
                prefetch.version = version;
                Ok(prefetch)
            }
            None => {
                let landing = world.alloc_individual(count)?;
                let copied = world.copy(from, landing.ptr(0), count)?;
                Ok(Self { version, copied, landing })
            }
        }
    }
}

impl Drop for Prefetch<'_> {
    /// Waits for the copy, so that it does not reach the memory after it is freed.
    fn drop(&mut self) {
        let _ended_whether_well_or_not = self.copied.wait();
    }
}
