//! The pages of memory that a program sees, and those that it may write. Pages of a region begin and end anywhere on pages of memory.
//!
//! - **F1** A page of memory is visible only if none of its elements is stale.
//! - **F2** A page of memory is writable only if every page of the region on it is recorded as written, or is kept and marked as written.

use core::ops::Range;

use pelago_rma::Error;

/// The access of a program to a page of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    #[default]
    None,
    Read,
    Write,
}

/// Maximum number of pages that become writable with one page fault. Only pages that were written before the last release do.
const AHEAD_MAX: usize = 64;

/// The pages of memory of a region.
#[derive(Debug)]
pub(in crate::region) struct Reached {
    element_bytes: usize,
    page_bytes: usize,
    length: usize,
    pages: Box<[Access]>,
    /// For each page, whether it was changed between the last two releases, and so may change again.
    changed: Box<[bool]>,
    /// Pages that were writable and did not change.
    unchanged: Vec<Range<usize>>,
    /// Pages that are writable.
    writable: Vec<usize>,
    /// Pages to be hidden.
    hidden: Vec<usize>,
    /// The error of a fetch during a page fault.
    pub(in crate::region) failed: Option<Error>,
}

impl Reached {
    /// Creates the pages of `length` elements, all hidden.
    pub(super) fn new(length: usize, element_bytes: usize, page_bytes: usize) -> Self {
        let element_bytes = element_bytes.max(1);
        let count = (length * element_bytes).div_ceil(page_bytes);
        let pages = vec![Access::None; count].into_boxed_slice();
        let (changed, unchanged) = (vec![false; count].into_boxed_slice(), Vec::new());
        let (writable, hidden) = (Vec::new(), Vec::new());
        Self { element_bytes, page_bytes, length, pages, changed, unchanged, writable, hidden, failed: None }
    }

    pub(super) fn access(&self, page: usize) -> Access {
        self.pages[page]
    }

    /// Grants a program access to a page.
    pub(super) fn grant(&mut self, page: usize, access: Access) {
        if access == Access::Write && self.pages[page] != Access::Write {
            self.writable.push(page);
        }
        self.pages[page] = access;
    }

    /// A visible page that is to be written and, if it changed before the last release, the visible pages behind it that did so too.
    pub(super) fn read_ahead(&self, page: usize) -> Range<usize> {
        let is_alike = |&page: &usize| self.changed[page] && self.pages[page] == Access::Read;
        let count = (page..self.pages.len().min(page + AHEAD_MAX)).take_while(is_alike).count();
        page..page + count.max(1)
    }

    /// Records that elements that were writable have not changed.
    pub(in crate::region) fn unchanged(&mut self, elements: &Range<usize>) {
        self.unchanged.push(self.pages_of(elements));
    }

    /// The elements that lie on pages, entirely or in part.
    pub(super) fn elements(&self, pages: &Range<usize>) -> Range<usize> {
        let Self { element_bytes, page_bytes, length, .. } = *self;
        (pages.start * page_bytes / element_bytes).min(length)..(pages.end * page_bytes).div_ceil(element_bytes).min(length)
    }

    /// The pages on which elements lie.
    fn pages_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element_bytes / self.page_bytes..(elements.end * self.element_bytes).div_ceil(self.page_bytes)
    }

    /// Marks the pages of stale elements to be hidden.
    pub(in crate::region) fn hide(&mut self, elements: Range<usize>) {
        for page in self.pages_of(&elements) {
            if core::mem::take(&mut self.pages[page]) != Access::None {
                self.hidden.push(page);
            }
        }
    }

    /// Takes the pages that are to be hidden.
    pub(super) fn take_hidden(&mut self) -> impl Iterator<Item = Range<usize>> + use<> {
        runs(core::mem::take(&mut self.hidden))
    }

    /// Takes the writable pages, which are to be write-protected, except those for which `stays` holds.
    pub(super) fn take_writable<F: Fn(Range<usize>) -> bool>(&mut self, stays: F) -> impl Iterator<Item = Range<usize>> + use<F> {
        let mut writable = core::mem::take(&mut self.writable);
        writable.retain(|&page| self.pages[page] == Access::Write);
        let (kept, protected): (Vec<_>, Vec<_>) = writable.into_iter().partition(|&page| stays(self.elements(&(page..page + 1))));
        for &page in &protected {
            (self.pages[page], self.changed[page]) = (Access::Read, true);
        }
        self.unchanged.drain(..).for_each(|pages| self.changed[pages].fill(false));
        self.writable = kept;
        runs(protected)
    }
}

/// Joins pages to ranges of consecutive pages.
fn runs(mut pages: Vec<usize>) -> impl Iterator<Item = Range<usize>> {
    pages.sort_unstable();
    pages.dedup();
    let mut pages = pages.into_iter().peekable();
    core::iter::from_fn(move || {
        let start = pages.next()?;
        let mut end = start + 1;
        while pages.next_if_eq(&end).is_some() {
            end += 1;
        }
        Some(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_pages_overlap_as_their_bytes_do() {
        for (length, element_bytes, page_bytes) in [(1, 1, 64), (1000, 8, 64), (333, 12, 64), (50, 100, 64), (64, 64, 64)] {
            let reached = Reached::new(length, element_bytes, page_bytes);
            let overlap = |element: usize, page: usize| {
                element * element_bytes < (page + 1) * page_bytes && page * page_bytes < (element + 1) * element_bytes
            };
            for page in 0..reached.pages.len() {
                let expected: Vec<usize> = (0..length).filter(|&element| overlap(element, page)).collect();
                assert_eq!(
                    reached.elements(&(page..page + 1)).collect::<Vec<_>>(),
                    expected,
                    "{length} of {element_bytes}, page {page}"
                );
            }
            for element in 0..length {
                let expected: Vec<usize> = (0..reached.pages.len()).filter(|&page| overlap(element, page)).collect();
                assert_eq!(reached.pages_of(&(element..element + 1)).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn what_changes_goes_out_of_sight_and_what_is_released_is_protected() {
        let mut reached = Reached::new(1024, 8, 64);
        for (page, access) in [(3, Access::Read), (4, Access::Write), (5, Access::Write), (7, Access::Write), (9, Access::Write)]
        {
            reached.grant(page, access);
        }
        reached.hide(0..33);
        assert!(reached.take_hidden().eq(core::iter::once(3..5)));
        assert_eq!(reached.take_hidden().count(), 0);
        assert_eq!(reached.take_writable(|elements| elements.contains(&56)).collect::<Vec<_>>(), [5..6, 9..10]);
        assert_eq!([3, 4, 5, 7, 9].map(|page| reached.access(page)), {
            use Access::{None, Read, Write};
            [None, None, Read, Write, Read]
        });
        assert_eq!([3, 5, 6].map(|page| reached.read_ahead(page)), [3..4, 5..6, 6..7]);
        assert!(reached.take_writable(|_| false).eq(core::iter::once(7..8)));
        assert_eq!(reached.take_writable(|_| false).count(), 0);
    }

    #[test]
    fn pages_that_change_by_turns_are_written_together() {
        let mut reached = Reached::new(8 * 200, 8, 64);
        let all = |reached: &mut Reached, pages: Range<usize>| pages.for_each(|page| reached.grant(page, Access::Write));
        all(&mut reached, 0..150);
        assert!(reached.take_writable(|_| false).eq(core::iter::once(0..150)));
        assert_eq!([0, 100, 149, 150].map(|page| reached.read_ahead(page)), [0..64, 100..150, 149..150, 150..151]);
        all(&mut reached, 0..64);
        reached.unchanged(&(8 * 10..8 * 64));
        assert!(reached.take_writable(|_| false).eq(core::iter::once(0..64)));
        assert_eq!([0, 10, 64].map(|page| reached.read_ahead(page)), [0..10, 10..11, 64..128]);
        reached.hide(8 * 5..8 * 6);
        assert_eq!(reached.read_ahead(0), 0..5);
    }
}
