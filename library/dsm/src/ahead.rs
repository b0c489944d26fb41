//! Data that is brought ahead of its acquiring.
//!
//! **A1** What was copied is an edition as it was released: the copying began after the home had been told of it, and the edition's owner
//! changes its copy only by a later edition. So it counts if the variable is acquired with the same edition.

use pelago_rma::{Handle, Individual, Result};

use crate::copies::VERSIONS;
use crate::memory::Place;
use crate::word::Edition;
use crate::words::Words;

/// A copy of an edition that is on its way, or has come.
pub(crate) struct Ahead<'w> {
    /// That of no data once it has served.
    pub(crate) edition: Edition,
    pub(crate) copied: Handle<'w>,
    /// The versions of the blocks, then the blocks, as they lie in the memory of the owner.
    pub(crate) landing: Individual<'w, u64>,
}

impl<'w> Ahead<'w> {
    /// Begins to copy an edition, of a variable of so many words, to where one was copied `before`.
    ///
    /// # Errors
    /// No memory is left; the owner is lost; the job is at fault.
    pub(crate) fn begin(words: &Words<'w>, before: Option<Self>, edition: Edition, count: usize) -> Result<Self> {
        let (world, count) = (words.world(), count - VERSIONS);
        let from = words.at(Place { rank: edition.owner, word: VERSIONS });
        match before {
            Some(mut ahead) => {
                let _ended_whether_well_or_not = ahead.copied.wait();
                ahead.edition = Edition::default();
                ahead.copied = world.copy(from, ahead.landing.ptr(0), count)?;
                ahead.edition = edition;
                Ok(ahead)
            }
            None => {
                let landing = world.alloc_individual(count)?;
                let copied = world.copy(from, landing.ptr(0), count)?;
                Ok(Self { edition, copied, landing })
            }
        }
    }
}

impl Drop for Ahead<'_> {
    /// The memory is given back when nothing comes to it any more.
    fn drop(&mut self) {
        let _ended_whether_well_or_not = self.copied.wait();
    }
}
