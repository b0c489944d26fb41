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

/// The pages of memory of a region.
#[derive(Debug)]
pub(in crate::region) struct Reached {
    element_bytes: usize,
    page_bytes: usize,
    length: usize,
    pages: Box<[Access]>,
    /// Those that can be written.
    writable: Vec<usize>,
    /// Those that go out of sight.
    hidden: Vec<usize>,
    /// What could not be brought, while a program needed it.
    pub(in crate::region) failed: Option<Error>,
}

impl Reached {
    /// So many elements of so many bytes.
    pub(super) fn new(length: usize, element_bytes: usize, page_bytes: usize) -> Self {
        let element_bytes = element_bytes.max(1);
        let count = (length * element_bytes).div_ceil(page_bytes);
        let pages = vec![Access::None; count].into_boxed_slice();
        Self { element_bytes, page_bytes, length, pages, writable: Vec::new(), hidden: Vec::new(), failed: None }
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

    /// The elements that lie on a page, also in part.
    pub(super) fn elements(&self, page: usize) -> Range<usize> {
        let Self { element_bytes, page_bytes, length, .. } = *self;
        (page * page_bytes / element_bytes).min(length)..((page + 1) * page_bytes).div_ceil(element_bytes).min(length)
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
    pub(super) fn to_hide(&mut self) -> impl Iterator<Item = Range<usize>> + use<> {
        runs(core::mem::take(&mut self.hidden))
    }

    /// The pages that are no longer to be written: all that can be, but those of which that holds as ever.
    pub(super) fn to_protect<F: Fn(Range<usize>) -> bool>(&mut self, stays: F) -> impl Iterator<Item = Range<usize>> + use<F> {
        let mut writable = core::mem::take(&mut self.writable);
        writable.retain(|&page| self.pages[page] == Access::Write);
        let (kept, protected): (Vec<_>, Vec<_>) = writable.into_iter().partition(|&page| stays(self.elements(page)));
        protected.iter().for_each(|&page| self.pages[page] = Access::Read);
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
                assert_eq!(reached.elements(page).collect::<Vec<_>>(), expected, "{length} of {element_bytes}, page {page}");
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
        for (page, access) in [(3, Access::Read), (4, Access::Write), (5, Access::Write), (7, Access::Write), (9, Access::Write)] {
            reached.grant(page, access);
        }
        reached.hide(0..33);
        assert_eq!(reached.to_hide().collect::<Vec<_>>(), [3..5]);
        assert_eq!(reached.to_hide().count(), 0);
        assert_eq!(reached.to_protect(|elements| elements.contains(&56)).collect::<Vec<_>>(), [5..6, 9..10]);
        assert_eq!([3, 4, 5, 7, 9].map(|page| reached.access(page)), {
            use Access::{None, Read, Write};
            [None, None, Read, Write, Read]
        });
        assert_eq!(reached.to_protect(|_| false).collect::<Vec<_>>(), [7..8]);
        assert_eq!(reached.to_protect(|_| false).count(), 0);
    }
}
