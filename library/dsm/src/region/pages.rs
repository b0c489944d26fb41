//! A rank's own copy of a region, and the thread that uses it: the thread that created it or, while a program has a guard of all elements, the
//! thread that serves page faults.

use core::ops::Range;

use pelago_base::Rank;
use pelago_rma::{Pod, Result, Symmetric, World};

#[cfg(feature = "page-faults")]
use super::faults::Faults;
use super::log::Change;
use super::table::{Private, Ranges, Table};
use super::{Homes, RegionStatistics};

/// A rank's own copy of a region.
pub(super) struct Pages<'w, T: Pod> {
    pub(super) world: &'w World,
    length: usize,
    page_length: usize,
    homes: Homes,
    pub(super) table: Table<T>,
    /// Declared before `_released`, so that the thread that fetches has ended before that memory is freed.
    #[cfg(feature = "page-faults")]
    pub(super) faults: Option<Faults<T>>,
    _released: Symmetric<'w, T>,
}

impl<'w, T: Pod> Pages<'w, T> {
    /// Collective.
    pub(super) fn new(world: &'w World, private: Private<T>, page_length: usize, homes: Homes) -> Result<Self> {
        let length = private.len();
        let (table, _released) = Table::new(world, private, page_length, homes)?;
        Ok(Self {
            world,
            length,
            page_length,
            homes,
            table,
            #[cfg(feature = "page-faults")]
            faults: None,
            _released,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn count(&self) -> usize {
        self.length.div_ceil(self.page_length)
    }

    pub(super) fn page_length(&self) -> usize {
        self.page_length
    }

    /// Number of pages of which this rank is the home.
    pub(super) fn homed(&self) -> usize {
        let (count, size) = (self.count(), self.world.size());
        (0..count).filter(|&page| self.homes.of(page, count, size) == self.world.rank()).count()
    }

    pub(super) fn home(&self, element: usize) -> Rank {
        assert!(element < self.length, "element {element} of {}", self.length);
        self.homes.of(element / self.page_length, self.count(), self.world.size())
    }

    pub(super) fn statistics(&self) -> RegionStatistics {
        #[cfg(feature = "page-faults")]
        if let Some(lent) = self.faults.as_ref().and_then(Faults::lent_statistics) {
            return lent;
        }
        self.table.statistics()
    }

    pub(super) fn access<const R: usize, const W: usize>(
        &mut self,
        reads: [Range<usize>; R],
        writes: [Range<usize>; W],
    ) -> Result<Ranges<'_, T, R, W>> {
        self.take_back()?;
        self.table.access(self.world, reads, writes)
    }

    pub(super) fn keep(&mut self, range: Range<usize>) -> Result<()> {
        self.take_back()?;
        self.table.keep(self.world, range)
    }

    pub(super) fn give(&mut self, range: Range<usize>) -> Result<()> {
        self.take_back()?;
        self.table.give(range)
    }

    /// Puts the written elements to the homes; returns the changes, also those of other pages if the home of some is lost.
    pub(super) fn publish(&mut self) -> (Vec<Change>, Result<()>) {
        if let Err(error) = self.take_back() {
            return (Vec::new(), Err(error));
        }
        let published = self.table.publish(self.world);
        self.settle();
        published
    }

    /// Records a change of another rank; [`settle`](Self::settle) must follow before the program continues.
    pub(super) fn change(&mut self, change: Change) {
        self.table.change(change);
    }

    /// Fetches the stale elements of all pages that were ever used.
    pub(super) fn fetch_used(&mut self) -> Result<()> {
        self.table.fetch_used(self.world)
    }

    /// Hides and protects pages of memory, so that the program faults on stale pages and on first writes.
    pub(super) fn settle(&mut self) {
        #[cfg(feature = "page-faults")]
        if let Some(faults) = &mut self.faults {
            faults.settle(&mut self.table);
        }
    }

    /// Takes the table back from the thread that serves faults, also after a guard was forgotten.
    ///
    /// # Errors
    /// A fetch has failed, and the error was not reported yet.
    fn take_back(&mut self) -> Result<()> {
        #[cfg(feature = "page-faults")]
        if let Some(faults) = &mut self.faults {
            return faults.take_back(&mut self.table);
        }
        Ok(())
    }
}
