//! A rank's own copy of a region, page by page, with its stale elements and its elements that are not released. It has no context, because another
//! thread than its creator may use it.
//!
//! - **G1** No other rank reaches the private copy, so that references to it are ordinary ones.
//! - **G2** A page that was written has a twin, or is kept by this rank alone. A release puts only elements that differ from the twin to the home,
//!   so that only those are overwritten there.
//! - **G3** Nothing is fetched to a page that was written and not released: stale elements are fetched before the write, and an acquire releases
//!   first.

use core::ops::{Deref, DerefMut, Range};

use pelago_base::Rank;
use pelago_rma::{Context, Error, GlobalPtr, Handle, Pod, Result, Symmetric, World};
use zerocopy::{FromZeros, IntoBytes};

use super::log::Change;
use super::{Homes, RegionStatistics};

/// Maximum number of puts in flight during the release of a region.
const PUTS_MAX: usize = 256;

/// Maximum number of cached twins for pages that are written later.
const SPARE_MAX: usize = 1024;

/// Bytes that are compared at once to skip unchanged elements.
const COMPARED_BYTES: usize = 256;

/// Ranges of a region to read, and ranges to write; see [`Region::access`](super::Region::access).
pub type Ranges<'a, T, const R: usize, const W: usize> = ([&'a [T]; R], [&'a mut [T]; W]);

/// The state of a page at this rank.
struct Page<T> {
    /// Address of the home's copy.
    released: GlobalPtr<T>,
    home: Rank,
    /// Stale elements: those that others have changed since the last fetch.
    behind: Range<u32>,
    /// The elements before the page was written.
    twin: Option<Box<[T]>>,
    /// Whether the page was written since the last release.
    written: bool,
    users: PageUsers,
    /// Whether the page was written while it was kept, so that all of it is to be released.
    whole: bool,
    usage: Usage,
}

/// Whether this rank has ever used a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    Never,
    Used,
    /// Used, and in the list of stale pages.
    Listed,
}

/// The ranks that use a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageUsers {
    AllRanks,
    /// The page is kept by this rank alone.
    ThisRank,
}

impl<T> Page<T> {
    /// Whether this rank alone uses the page.
    fn is_kept(&self) -> bool {
        self.users == PageUsers::ThisRank
    }
}

/// The elements of a rank's own copy.
pub(super) enum Private<T> {
    Own(Box<[T]>),
    /// Elements that the program also reaches by page faults.
    #[cfg(feature = "page-faults")]
    Mapped(super::faults::Inner<T>),
}

impl<T> Default for Private<T> {
    fn default() -> Self {
        Self::Own(Box::default())
    }
}

impl<T: Pod> Deref for Private<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Own(elements) => elements,
            #[cfg(feature = "page-faults")]
            Self::Mapped(inner) => inner.elements(),
        }
    }
}

impl<T: Pod> DerefMut for Private<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Own(elements) => elements,
            #[cfg(feature = "page-faults")]
            Self::Mapped(inner) => inner.elements_mut(),
        }
    }
}

/// A rank's own copy of a region.
pub(super) struct Table<T> {
    me: Rank,
    private: Private<T>,
    pages: Box<[Page<T>]>,
    page_length: usize,
    /// Pages that were written since the last release and are not kept.
    written: Vec<u32>,
    /// Used pages that have become stale since the last [`fetch_used`](Self::fetch_used), each once, also if they were fetched since; for
    /// [`Coherence::Update`](super::Coherence::Update).
    behind: Vec<u32>,
    /// Twins that are no longer in use.
    spare: Vec<Box<[T]>>,
    statistics: RegionStatistics,
    /// The pages of memory that the program reaches by page faults.
    #[cfg(feature = "page-faults")]
    pub(super) reached: Option<super::faults::Reached>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            me: Rank::default(),
            private: Private::default(),
            pages: Box::default(),
            page_length: 0,
            written: Vec::new(),
            behind: Vec::new(),
            spare: Vec::new(),
            statistics: RegionStatistics::default(),
            #[cfg(feature = "page-faults")]
            reached: None,
        }
    }
}

impl<T: Pod> Table<T> {
    /// Creates the table, and the memory of the released elements, which must outlive it. Collective.
    pub(super) fn new<'w>(
        world: &'w World,
        private: Private<T>,
        page_length: usize,
        homes: Homes,
    ) -> Result<(Self, Symmetric<'w, T>)> {
        let count = private.len().div_ceil(page_length);
        let home_of = |page| homes.of(page, count, world.size());
        let mut slots = vec![0_usize; world.size() as usize];
        (0..count).for_each(|page| slots[home_of(page).index()] += 1);
        let most = slots.iter().copied().max().unwrap_or(0);
        let released = world.alloc(most.saturating_mul(page_length))?;
        slots.fill(0);
        let pages = (0..count).map(|page| {
            let home = home_of(page);
            let (released, behind, twin) = (released.at(home, slots[home.index()] * page_length), 0..0, None);
            slots[home.index()] += 1;
            let users = PageUsers::AllRanks;
            Page { released, home, behind, twin, users, written: false, whole: false, usage: Usage::Never }
        });
        let table = Self { me: world.rank(), private, pages: pages.collect(), page_length, ..Self::default() };
        Ok((table, released))
    }

    fn len(&self) -> usize {
        self.private.len()
    }

    fn count(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn statistics(&self) -> RegionStatistics {
        self.statistics
    }

    pub(super) fn access<const R: usize, const W: usize>(
        &mut self,
        context: &Context,
        reads: [Range<usize>; R],
        writes: [Range<usize>; W],
    ) -> Result<Ranges<'_, T, R, W>> {
        for range in reads.iter().chain(&writes) {
            self.check(range)?;
        }
        for range in &reads {
            self.fetch(context, range)?;
        }
        for range in &writes {
            self.fetch(context, range)?;
        }
        let order = disjoint(&reads, &writes)?;
        for range in &writes {
            self.write(range);
        }
        Ok(carve(&mut self.private, &order, reads, writes))
    }

    /// Marks the pages that lie entirely in a range as used by this rank alone.
    pub(super) fn keep(&mut self, context: &Context, range: Range<usize>) -> Result<()> {
        self.check(&range)?;
        for page in self.whole_pages(&range) {
            self.fetch(context, &self.elements(page))?;
            self.pages[page].users = PageUsers::ThisRank;
        }
        Ok(())
    }

    /// Ends `keep` for the pages that lie entirely in a range: their written elements are released with the rest.
    pub(super) fn give(&mut self, range: Range<usize>) -> Result<()> {
        self.check(&range)?;
        for number in self.whole_pages(&range) {
            let page = &mut self.pages[number];
            page.users = PageUsers::AllRanks;
            if page.whole && !page.written {
                page.written = true;
                self.written.push(number as u32);
            }
        }
        Ok(())
    }

    /// Puts the written elements to the homes; returns the changes. If a put fails, those of the other pages are made all the same, and their changes
    /// are among those returned.
    pub(super) fn publish(&mut self, context: &Context) -> (Vec<Change>, Result<()>) {
        let (mut changes, mut under_way, mut put) = (Vec::new(), Vec::new(), Ok(()));
        while let Some(number) = self.written.pop() {
            let (changed, page_put) = self.publish_page(context, number as usize, &mut under_way);
            changes.extend(changed.map(|elements| Change::Page(number as usize, elements)));
            put = put.and(page_put);
        }
        (changes, put.and(wait_all(&mut under_way)))
    }

    /// Puts the changed elements of a page to its home; returns the range of changes.
    fn publish_page<'c>(
        &mut self,
        context: &'c Context,
        number: usize,
        under_way: &mut Vec<Handle<'c>>,
    ) -> (Option<Range<usize>>, Result<()>) {
        let elements = self.elements(number);
        let page = &mut self.pages[number];
        let (own, at) = (page.home == self.me, page.released);
        let private = &self.private[elements.clone()];
        let twin = page.twin.take();
        page.written = false;
        let runs = match &twin {
            Some(twin) if !page.whole => Runs { before: &twin[..private.len()], now: private, next: 0 },
            _ => Runs { before: &[], now: private, next: 0 },
        };
        page.whole = false;
        let (mut changed, mut put) = (None::<Range<usize>>, Ok(()));
        for run in runs {
            changed = Some(changed.map_or(run.start, |changed| changed.start)..run.end);
            put = put.and(context.put(at.add(run.start as u64), &private[run.clone()]).map(|handle| under_way.push(handle)));
            if under_way.len() == PUTS_MAX {
                put = put.and(wait_all(under_way));
            }
            if !own {
                self.statistics.runs += 1;
                self.statistics.bytes_released += (run.len() * size_of::<T>()) as u64;
            }
        }
        if changed.is_some() && !own {
            self.statistics.released += 1;
            self.statistics.bytes_of_whole_pages += (self.page_length * size_of::<T>()) as u64;
        }
        self.spare.extend(twin.filter(|_| self.spare.len() < SPARE_MAX));
        #[cfg(feature = "page-faults")]
        if let Some(reached) = self.reached.as_mut().filter(|_| changed.is_none()) {
            reached.unchanged(&elements);
        }
        (changed, put)
    }

    /// Records a change of another rank.
    pub(super) fn change(&mut self, change: Change) {
        match change {
            Change::Page(number, elements) => self.fall_behind(number, elements),
            Change::All => (0..self.count()).for_each(|number| self.fall_behind(number, 0..self.page_length)),
        }
    }

    fn fall_behind(&mut self, number: usize, elements: Range<usize>) {
        // Ignores the part of a note outside the region: it comes from a rank with a different region.
        let length = if number < self.count() { self.elements(number).len() } else { 0 };
        let elements = elements.start.min(length) as u32..elements.end.min(length) as u32;
        let Some(page) = self.pages.get_mut(number).filter(|page| !page.is_kept() && !elements.is_empty()) else { return };
        #[cfg(feature = "page-faults")]
        if let Some(reached) = &mut self.reached {
            reached.hide(number * self.page_length..self.private.len().min((number + 1) * self.page_length));
        }
        if page.behind.is_empty() {
            page.behind = elements;
            if page.usage == Usage::Used {
                page.usage = Usage::Listed;
                self.behind.push(number as u32);
            }
        } else {
            page.behind = page.behind.start.min(elements.start)..page.behind.end.max(elements.end);
        }
    }

    /// Fetches the stale elements of all pages that were ever used.
    pub(super) fn fetch_used(&mut self, context: &Context) -> Result<()> {
        while let Some(number) = self.behind.pop() {
            self.pages[number as usize].usage = Usage::Used;
            self.fetch_page(context, number as usize)?;
        }
        Ok(())
    }

    /// Fetches the stale elements of the pages of a range.
    pub(super) fn fetch(&mut self, context: &Context, range: &Range<usize>) -> Result<()> {
        for number in self.pages_of(range) {
            self.fetch_page(context, number)?;
        }
        Ok(())
    }

    fn fetch_page(&mut self, context: &Context, number: usize) -> Result<()> {
        let usage = &mut self.pages[number].usage;
        if *usage == Usage::Never {
            *usage = Usage::Used;
        }
        let Range { start, end } = self.pages[number].behind.clone();
        if start == end {
            return Ok(());
        }
        let first = number * self.page_length;
        let (from, home) = (self.pages[number].released.add(u64::from(start)), self.pages[number].home);
        context.get_into(from, &mut self.private[first + start as usize..first + end as usize])?;
        self.pages[number].behind = 0..0;
        if home != self.me {
            self.statistics.fetched += 1;
            self.statistics.bytes_fetched += u64::from(end - start) * size_of::<T>() as u64;
            self.statistics.bytes_of_whole_pages += (self.page_length * size_of::<T>()) as u64;
        }
        Ok(())
    }

    /// Records that elements may be written from now on; keeps the twins of their pages.
    pub(super) fn write(&mut self, range: &Range<usize>) {
        for number in self.pages_of(range) {
            let elements = self.elements(number);
            let page = &mut self.pages[number];
            if page.is_kept() {
                page.whole = true;
                continue;
            }
            if page.written {
                continue;
            }
            page.written = true;
            self.written.push(number as u32);
            if !page.whole {
                let private = &self.private[elements];
                let mut twin = self.spare.pop().unwrap_or_else(|| vec![T::new_zeroed(); self.page_length].into_boxed_slice());
                twin[..private.len()].copy_from_slice(private);
                page.twin = Some(twin);
                self.statistics.twins += 1;
            }
        }
    }

    /// Discards the writes since the last release, except those on kept pages, and hides stale pages from the program.
    #[cfg(feature = "page-faults")]
    pub(super) fn discard(&mut self) {
        for number in core::mem::take(&mut self.written) {
            let elements = self.elements(number as usize);
            let page = &mut self.pages[number as usize];
            match page.twin.take() {
                Some(twin) => {
                    page.written = false;
                    self.private[elements.clone()].copy_from_slice(&twin[..elements.len()]);
                    self.spare.extend((self.spare.len() < SPARE_MAX).then_some(twin));
                }
                None => self.written.push(number),
            }
        }
        for number in 0..self.count() {
            if !self.pages[number].behind.is_empty() {
                let elements = self.elements(number);
                self.reached.iter_mut().for_each(|reached| reached.hide(elements.clone()));
            }
        }
    }

    /// Whether all pages of some elements are kept and marked as written.
    #[cfg(feature = "page-faults")]
    pub(super) fn is_kept(&self, elements: Range<usize>) -> bool {
        self.pages_of(&elements).all(|page| self.pages[page].is_kept() && self.pages[page].whole)
    }

    #[cfg(feature = "page-faults")]
    pub(super) fn private(&self) -> &Private<T> {
        &self.private
    }

    #[cfg(feature = "page-faults")]
    pub(super) fn count_fault(&mut self) {
        self.statistics.faults += 1;
    }

    fn check(&self, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.len() {
            return Ok(());
        }
        Err(Error::Invalid("a range ends past the end of its region, or before its start"))
    }

    fn pages_of(&self, range: &Range<usize>) -> Range<usize> {
        if range.is_empty() { 0..0 } else { range.start / self.page_length..range.end.div_ceil(self.page_length) }
    }

    /// The pages that lie entirely in a range.
    fn whole_pages(&self, range: &Range<usize>) -> Range<usize> {
        let end = if range.end == self.len() { self.count() } else { range.end / self.page_length };
        range.start.div_ceil(self.page_length)..end
    }

    fn elements(&self, page: usize) -> Range<usize> {
        page * self.page_length..self.len().min((page + 1) * self.page_length)
    }
}

/// Returns `length` zero elements for `what`, whose pages the system provides when they are first used.
///
/// # Errors
/// The process has no memory for them.
pub(super) fn zeroed<T: Pod>(what: &'static str, length: usize) -> Result<Box<[T]>> {
    let bytes = (length as u64).saturating_mul(size_of::<T>() as u64);
    <[T]>::new_box_zeroed_with_elems(length).map_err(|_| Error::OutOfMemory { what, bytes })
}

/// Waits for all handles, also after one has failed: otherwise `quiet` would report the failures of the others.
fn wait_all(under_way: &mut Vec<Handle<'_>>) -> Result<()> {
    under_way.drain(..).map(Handle::wait).fold(Ok(()), Result::and)
}

/// The runs of elements that differ from `before`; one run of all elements if `before` is empty.
struct Runs<'a, T> {
    before: &'a [T],
    now: &'a [T],
    next: usize,
}

impl<T: Pod> Iterator for Runs<'_, T> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let Self { before, now, .. } = *self;
        let length = now.len();
        if before.is_empty() {
            let all = self.next..length;
            self.next = length;
            return Some(all).filter(|all| !all.is_empty());
        }
        let differs = |element: usize| before[element].as_bytes() != now[element].as_bytes();
        let many = (COMPARED_BYTES / size_of::<T>().max(1)).max(1);
        let mut start = self.next;
        while start + many <= length && before[start..start + many].as_bytes() == now[start..start + many].as_bytes() {
            start += many;
        }
        while start < length && !differs(start) {
            start += 1;
        }
        let mut end = start;
        while end < length && differs(end) {
            end += 1;
        }
        self.next = end;
        (start < end).then_some(start..end)
    }
}

/// Returns the ranges that are written in ascending order; fails if one overlaps another range.
fn disjoint<const R: usize, const W: usize>(reads: &[Range<usize>; R], writes: &[Range<usize>; W]) -> Result<[usize; W]> {
    let mut order: [usize; W] = core::array::from_fn(|place| place);
    // Empty ranges first: they overlap nothing.
    order.sort_unstable_by_key(|&place| (!writes[place].is_empty(), writes[place].start));
    let overlap = |one: &Range<usize>, other: &Range<usize>| one.start.max(other.start) < one.end.min(other.end);
    let before = |pair: &[usize]| writes[pair[0]].is_empty() || writes[pair[0]].end <= writes[pair[1]].start;
    let among_writes = !order.windows(2).all(before);
    if among_writes || writes.iter().any(|write| reads.iter().any(|read| overlap(write, read))) {
        return Err(Error::Invalid("a range that is written overlaps another"));
    }
    Ok(order)
}

/// Cuts a slice into ranges to write, in their order, and ranges to read between them.
fn carve<'a, T, const R: usize, const W: usize>(
    slice: &'a mut [T],
    order: &[usize; W],
    reads: [Range<usize>; R],
    writes: [Range<usize>; W],
) -> Ranges<'a, T, R, W> {
    let mut written: [&mut [T]; W] = core::array::from_fn(|_| Default::default());
    let mut between: Vec<(usize, &[T])> = Vec::with_capacity(W + 1);
    let (mut rest, mut base) = (slice, 0);
    for &place in order.iter().filter(|&&place| !writes[place].is_empty()) {
        let Range { start, end } = writes[place];
        let (before, after) = rest.split_at_mut(start - base);
        let (write, after) = after.split_at_mut(end - start);
        between.push((base, before));
        written[place] = write;
        (rest, base) = (after, end);
    }
    between.push((base, rest));
    let find = |range: Range<usize>| {
        let holds = |&&(base, part): &&(usize, &[T])| base <= range.start && range.end <= base + part.len();
        between.iter().find(holds).map_or(&[][..], |&(base, part)| &part[range.start - base..range.end - base])
    };
    (reads.map(find), written)
}

#[cfg(test)]
mod tests {
    use pelago_test_support::threads::{Platform, run};
    use proptest::prelude::*;

    use super::*;

    /// A page that others change and this rank reads, again and again, is listed once.
    #[test]
    fn the_list_of_stale_pages_is_bounded_by_the_pages() {
        run(Platform::Mapped, 1, |world| {
            let private = Private::Own(vec![0_u64; 64].into_boxed_slice());
            let (mut table, _released) = Table::new(world, private, 16, Homes::Blocks).unwrap();
            for number in 0..100 {
                table.change(Change::Page(number % 4, 0..3));
                table.fetch(world, &(0..64)).unwrap();
            }
            assert_eq!(table.behind.len(), 4);
            table.change(Change::All);
            table.fetch_used(world).unwrap();
            assert!(table.behind.is_empty() && table.pages.iter().all(|page| page.behind.is_empty()));
            table.change(Change::Page(2, 0..1));
            table.fetch_used(world).unwrap();
            assert!(table.pages[2].behind.is_empty(), "a page is listed again");
        });
    }

    fn runs(before: &[u16], now: &[u16]) -> Vec<Range<usize>> {
        Runs { before, now, next: 0 }.collect()
    }

    #[test]
    fn all_has_changed_where_nothing_is_known() {
        assert!(runs(&[], &[1, 2, 3]).iter().eq([&(0..3)]));
    }

    proptest! {
        /// Runs are maximal and contain exactly the elements that differ.
        #[test]
        fn runs_are_what_differs(changes in proptest::collection::vec(0..3_u16, 1..700)) {
            let before = vec![7_u16; changes.len()];
            let now: Vec<u16> = changes.iter().map(|&change| if change == 0 { 8 } else { 7 }).collect();
            let found = runs(&before, &now);
            let mut expected = vec![false; now.len()];
            for run in &found {
                prop_assert!(!run.is_empty());
                run.clone().for_each(|place| expected[place] = true);
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert!(now.iter().zip(&expected).all(|(&value, &changed)| (value == 8) == changed));
        }

        /// `carve` returns the requested ranges, or `disjoint` refuses them because a range that is written overlaps another.
        #[test]
        fn ranges_are_cut_out(ends in proptest::collection::vec(0..20_usize, 8)) {
            let range = |place: usize| ends[2 * place].min(ends[2 * place + 1])..ends[2 * place].max(ends[2 * place + 1]);
            let (reads, writes) = ([range(0), range(1)], [range(2), range(3)]);
            let mut slice: Vec<usize> = (0..20).collect();
            let count = |place: usize, ranges: &[Range<usize>]| ranges.iter().filter(|range| range.contains(&place)).count();
            let overlaps = (0..20).any(|place| {
                let written = count(place, &writes);
                written > 1 || written == 1 && count(place, &reads) > 0
            });
            match disjoint(&reads, &writes) {
                Err(_) => prop_assert!(overlaps),
                Ok(order) => {
                    prop_assert!(!overlaps);
                    let (read, written) = carve(&mut slice, &order, reads.clone(), writes.clone());
                    for (found, range) in read.into_iter().zip(reads) {
                        prop_assert_eq!(found.to_vec(), range.collect::<Vec<_>>());
                    }
                    for (found, range) in written.into_iter().zip(writes) {
                        prop_assert_eq!(found.to_vec(), range.collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
