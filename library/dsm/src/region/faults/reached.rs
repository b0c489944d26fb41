//! Which pages of memory a program sees, and which it may write: pages of the machine, on which those of a region begin and end anywhere.
//!
//! - **F1** A page of memory is in sight only if nothing on it is behind.
//! - **F2** It can be written only if every page of the region on it has noted that it is, or is kept and has.

use core::ops::Range;

use pelago_rma::Error;

/// What a program may do with a page of memory.
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
    /// Whether they were changed between the two last releases, and so may be again.
    changed: Box<[bool]>,
    /// Those that could be written, and were not.
    unchanged: Vec<Range<usize>>,
    /// Those that can be written.
    writable: Vec<usize>,
    /// Those that go out of sight.
    hidden: Vec<usize>,
    /// What could not be fetched, while a program needed it.
    pub(in crate::region) failed: Option<Error>,
}

impl Reached {
    /// So many elements of so many bytes.
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

    /// A program may do that with a page from now on.
    pub(super) fn grant(&mut self, page: usize, access: Access) {
        if access == Access::Write && self.pages[page] != Access::Write {
            self.writable.push(page);
        }
        self.pages[page] = access;
    }

    /// A page that is in sight and is to be written, and those after it that were written before too, as it was.
    pub(super) fn read_ahead(&self, page: usize) -> Range<usize> {
        let is_alike = |&page: &usize| self.changed[page] && self.pages[page] == Access::Read;
        let count = (page..self.pages.len().min(page + AHEAD_MAX)).take_while(is_alike).count();
        page..page + count.max(1)
    }

    /// Elements that could be written are as they were.
    pub(in crate::region) fn unchanged(&mut self, elements: &Range<usize>) {
        self.unchanged.push(self.pages_of(elements));
    }

    /// The elements that lie on pages, also in part.
    pub(super) fn elements(&self, pages: &Range<usize>) -> Range<usize> {
        let Self { element_bytes, page_bytes, length, .. } = *self;
        (pages.start * page_bytes / element_bytes).min(length)..(pages.end * page_bytes).div_ceil(element_bytes).min(length)
    }

    /// The pages on which elements lie.
    fn pages_of(&self, elements: &Range<usize>) -> Range<usize> {
        elements.start * self.element_bytes / self.page_bytes..(elements.end * self.element_bytes).div_ceil(self.page_bytes)
    }

    /// What is on the pages of some elements may be other than what is seen.
    pub(in crate::region) fn hide(&mut self, elements: Range<usize>) {
        for page in self.pages_of(&elements) {
            if core::mem::take(&mut self.pages[page]) != Access::None {
                self.hidden.push(page);
            }
        }
    }

    /// The pages that go out of sight.
    pub(super) fn take_hidden(&mut self) -> impl Iterator<Item = Range<usize>> + use<> {
        runs(core::mem::take(&mut self.hidden))
    }

    /// The pages that are no longer to be written: all that can be, but those of which that holds as ever.
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

/// Pages that follow each other.
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
