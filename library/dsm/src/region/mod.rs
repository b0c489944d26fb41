//! Regions with release consistency: all ranks read and write between synchronizations, and exchange changes when they synchronize.

#[cfg(feature = "page-faults")]
mod faults;
mod log;
mod pages;
mod statistics;
mod table;

use core::ops::Range;

use pelago_base::Rank;
use pelago_rma::{Error, Pod, Result, World};

use crate::{Shared, WriteGuard};
#[cfg(feature = "page-faults")]
pub use faults::{All, AllMut};
use log::{Log, NoteLayout};
use pages::Pages;
pub use statistics::RegionStatistics;
pub use table::Ranges;
use table::{Private, zeroed};

/// Maximum number of elements of a page. One word then names the range of changed elements.
const PAGE_LENGTH_MAX: usize = 1 << 15;

/// Default size of a page in bytes.
const PAGE_BYTES: usize = 4096;

/// The home of each page: the rank that holds its released elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Homes {
    /// Each rank is the home of an equal number of consecutive pages.
    #[default]
    Blocks,
    /// Pages are distributed over the ranks cyclically.
    Cyclic,
    /// One rank is the home of all pages.
    At(Rank),
}

impl Homes {
    /// The home of a page.
    pub fn of(self, page: usize, pages: usize, ranks: u32) -> Rank {
        match self {
            Self::Blocks => Rank::new((page / pages.div_ceil(ranks as usize).max(1)) as u32),
            Self::Cyclic => Rank::new((page % ranks as usize) as u32),
            Self::At(rank) => rank,
        }
    }
}

/// The update of pages that other ranks have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coherence {
    /// A changed page is fetched when it is used next.
    #[default]
    Invalidate,
    /// A changed page that this rank has ever used is fetched immediately.
    Update,
}

/// The layout of a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionSettings {
    /// Elements of a page, the unit of fetches and twins; 4 KiB of elements if `None`; at most 32,768.
    pub page_length: Option<usize>,
    /// The home of each page: the rank that holds its released elements.
    pub homes: Homes,
    /// The update of pages that other ranks have changed.
    pub coherence: Coherence,
}

/// An array that all ranks share, with release consistency: a rank's writes stay local until it releases, and it sees the released writes of other
/// ranks when it acquires.
///
/// A rank reads and writes ranges of a private copy. A comparison with a twin finds the written elements, and a release puts them to the home of the
/// page; so several ranks may write to one page at once, if not to the same elements. If two ranks write the same element between two
/// synchronizations, the element gets one of the two values. Ranges borrow the region, so that none outlives a synchronization.
///
/// Ranks synchronize by [`barrier`](Self::barrier), or one after another in [`sections`](Self::acquire). Any other means that orders ranks, such as
/// a [`Shared`](crate::Shared) or a message, serves as well, with [`publish`](Self::publish) before and [`refresh`](Self::refresh) after.
///
/// ```
/// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
/// # use pelago_dsm::{Region, RegionSettings};
/// let mut field = Region::<f64>::new(world, 1 << 20, RegionSettings::default())?;
/// let me = world.rank().index() * 1000;
/// field.write(me..me + 1000)?.fill(1.0);
/// field.barrier()?;                                                  // all ranks see all that was written
/// let sum: f64 = field.read(0..5000)?.iter().sum();                  // fetches pages that others have written
/// let ([left], [mine]) = field.access([me + 1000..me + 1001], [me..me + 1000])?;
/// mine[999] += left[0];
/// let mut section = field.acquire()?;                                // alone
/// section.write(0..1)?[0] += sum;
/// section.release()?;
/// # Ok(())
/// # }
/// ```
///
/// Cost: proportional to the written elements and to the changes of other ranks, not to the cached part of the region.
///
/// # Loss of ranks
/// The released elements of a page are lost with its home: a rank that needs them gets `PeerLost`, as does one that releases elements of that page,
/// once; those of other pages are then released. Rank 0 holds the notes of changes: if it is lost,
/// all ranks get `PeerLost`.
pub struct Region<'w, T: Pod> {
    lock: Shared<'w, u64>,
    pages: Pages<'w, T>,
    log: Log<'w>,
    coherence: Coherence,
}

/// A region, while no other rank is in a section of it; created by [`Region::acquire`].
///
/// Dropping it releases the section and ignores errors. If it is dropped while its thread panics, the written elements stay at this rank until its next
/// release.
pub struct Section<'g, 'w, T: Pod> {
    inside: Option<(&'g mut Pages<'w, T>, &'g mut Log<'w>)>,
    guard: Option<WriteGuard<'g, 'w, u64>>,
}

impl<'w, T: Pod> Region<'w, T> {
    /// Creates a region of `length` elements, all zero. Collective; the arguments are the same on all ranks.
    ///
    /// Memory: on each rank, the pages of which it is the home; a private copy of all pages, which the system allocates on first use; a twin of each
    /// page that is written; 64 bytes for each page; up to 512 KiB of notes.
    ///
    /// # Errors
    /// As [`World::alloc`]; there are no elements, more than 32,768 elements in a page, or more than 67,108,862 pages (262,142 of the longest pages);
    /// the process has no memory for the private copy.
    pub fn new(world: &'w World, length: usize, settings: RegionSettings) -> Result<Self> {
        Self::over(world, length, settings, || zeroed("the private copy of a region", length).map(Private::Own))
    }

    /// Creates a region with the private copy that `private` returns.
    fn over(
        world: &'w World,
        length: usize,
        settings: RegionSettings,
        private: impl FnOnce() -> Result<Private<T>>,
    ) -> Result<Self> {
        let RegionSettings { page_length, homes, coherence } = settings;
        let page_length = page_length.unwrap_or((PAGE_BYTES / size_of::<T>().max(1)).max(1));
        if !(1..=PAGE_LENGTH_MAX).contains(&page_length) || length == 0 {
            return Err(Error::Invalid("a region needs at least one element, and a page 1 to 32,768 elements"));
        }
        let notes = NoteLayout::new(page_length);
        if length.div_ceil(page_length) > notes.pages_max() {
            return Err(Error::TooMany { what: "pages of a region", limit: notes.pages_max() });
        }
        if let Homes::At(rank) = homes
            && rank.number() >= world.size()
        {
            return Err(Error::Invalid("the home of a region must be a rank of the job"));
        }
        let lock = Shared::new(world, Rank::new(0), 0)?;
        let pages = Pages::new(world, private()?, page_length, homes)?;
        let log = Log::new(world, pages.count(), notes)?;
        world.meet()?;
        Ok(Self { lock, pages, log, coherence })
    }

    /// As [`new`](Self::new); [`all`](Self::all) and [`all_mut`](Self::all_mut) then return all elements as one slice, without ranges. A thread that reads
    /// a stale page, or writes to a page for the first time, stops until a thread of the library has fetched the page or kept its twin. Collective.
    ///
    /// Memory: as [`new`](Self::new); the copy lies in a memory file of its own. A thread with its own context serves faults, so that contexts of this
    /// rank share a lock when they use a transport.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on all ranks if one of them has no `userfaultfd` (Linux 6.4), may not use it, or is simulated; else as
    /// [`new`](Self::new).
    #[cfg(feature = "page-faults")]
    pub fn with_page_faults(world: &'w World, length: usize, settings: RegionSettings) -> Result<Self> {
        let mut serving = None;
        let mut region = Self::over(world, length, settings, || {
            let (inner, faults) = faults::reach(world, length)?;
            serving = Some(faults);
            Ok(Private::Mapped(inner))
        })?;
        region.pages.serve(serving.expect("made with the copy"));
        Ok(region)
    }

    /// Releases, waits for all ranks, and acquires: each rank then sees the earlier writes of all ranks. Collective.
    ///
    /// Cost: the puts of the written elements to their homes, then a barrier, then a round trip to rank 0 and the notes of changes.
    ///
    /// # Errors
    /// A home is lost; the job is at fault.
    pub fn barrier(&mut self) -> Result<()> {
        self.publish()?;
        self.pages.world.meet()?;
        self.refresh()
    }

    /// Acquires: waits until no other rank is in a section; this rank then sees all earlier releases.
    ///
    /// Cost: that of [`Shared::write`] for a variable without data, then that of [`refresh`](Self::refresh).
    ///
    /// # Errors
    /// As [`refresh`](Self::refresh).
    pub fn acquire(&mut self) -> Result<Section<'_, 'w, T>> {
        let Self { lock, pages, log, coherence } = self;
        let guard = lock.write()?;
        refresh(pages, log, *coherence)?;
        Ok(Section { inside: Some((pages, log)), guard: Some(guard) })
    }

    /// Puts the written elements to their homes, for ranks that refresh later. For ranks that are ordered by other means than those of the region.
    ///
    /// Cost: a message for each run of changed elements, all concurrently, then two round trips to rank 0 if there were any.
    ///
    /// # Errors
    /// A home is lost; the job is at fault.
    pub fn publish(&mut self) -> Result<()> {
        publish(&mut self.pages, &mut self.log)
    }

    /// Reads the changes that other ranks have published; publishes the written elements of this rank first. For ranks that are ordered by other
    /// means than those of the region.
    ///
    /// Cost: a round trip to rank 0, and one for the notes if there are any.
    ///
    /// # Errors
    /// A home is lost; the job is at fault.
    pub fn refresh(&mut self) -> Result<()> {
        refresh(&mut self.pages, &mut self.log, self.coherence)
    }

    /// Declares that this rank alone uses the elements of a range until it calls [`give`](Self::give). A release then leaves out the pages that lie
    /// entirely in the range; they have no twins and are not compared.
    ///
    /// # Errors
    /// The range reaches past the end; a page of it cannot be fetched.
    pub fn keep(&mut self, range: Range<usize>) -> Result<()> {
        self.pages.keep(range)
    }

    /// Ends [`keep`](Self::keep) for the pages that lie entirely in a range: their elements are released with the rest from now on.
    ///
    /// # Errors
    /// The range reaches past the end.
    pub fn give(&mut self, range: Range<usize>) -> Result<()> {
        self.pages.give(range)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns `false`: a region has elements.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The number of elements of a page.
    pub fn page_length(&self) -> usize {
        self.pages.page_length()
    }

    /// The home of the page of an element.
    ///
    /// # Panics
    /// There is no such element.
    pub fn home(&self, element: usize) -> Rank {
        self.pages.home(element)
    }

    /// Counts of the costs of the region for this rank so far.
    pub fn statistics(&self) -> RegionStatistics {
        RegionStatistics { notes_sent: self.log.sent(), notes_seen: self.log.seen(), ..self.pages.statistics() }
    }

    /// A description of the region and its cost, in one line.
    pub fn explain(&self) -> String {
        let (length, pages, page, coherence) = (self.len(), self.pages.count(), self.page_length(), self.coherence);
        let (bytes, here) = (size_of::<T>(), self.pages.homed());
        let policy = match coherence {
            Coherence::Invalidate => "fetched when they are used",
            Coherence::Update => "fetched at once",
        };
        let shape = format!("{length} elements of {bytes} bytes in {pages} pages of {page}, {here} at home here");
        format!("{shape}; changed pages are {policy}; {}", self.statistics())
    }
}

impl<T: Pod> Section<'_, '_, T> {
    /// Releases the written elements and the section, and returns errors.
    ///
    /// # Errors
    /// A home is lost; the job is at fault.
    pub fn release(mut self) -> Result<()> {
        self.leave()
    }

    fn leave(&mut self) -> Result<()> {
        let published = match self.inside.take() {
            Some((pages, log)) => publish(pages, log),
            None => Ok(()),
        };
        let released = self.guard.take().map_or(Ok(()), WriteGuard::release);
        published.and(released)
    }
}

impl<T: Pod> Drop for Section<'_, '_, T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _whoever_needs_it_is_told = self.leave();
        }
    }
}

/// Access to elements, which is the same with and without a section.
macro_rules! ways {
    ([$($life:lifetime),+] $owner:ty, |$this:ident| $pages:expr) => {
        impl<$($life,)+ T: Pod> $owner {
            /// Returns elements to read: their values as of the last acquire of this rank, with its own writes since.
            ///
            /// Cost: for each page that other ranks have changed since it was fetched, a round trip to its home with the changed range.
            ///
            /// # Errors
            /// The range reaches past the end; the home of a page is lost; the job is at fault.
            pub fn read(&mut self, range: Range<usize>) -> Result<&[T]> {
                let ([read], []) = self.access([range], [])?;
                Ok(read)
            }

            /// Returns elements to read and write.
            ///
            /// Cost: as [`read`](Self::read), and for each page that was not written since the last release, a copy as its twin.
            ///
            /// # Errors
            /// As [`read`](Self::read).
            pub fn write(&mut self, range: Range<usize>) -> Result<&mut [T]> {
                let ([], [written]) = self.access([], [range])?;
                Ok(written)
            }

            /// Returns several ranges to read and others to write at the same time.
            ///
            /// # Errors
            /// A range that is written overlaps another; else as [`read`](Self::read).
            pub fn access<const R: usize, const W: usize>(
                &mut self,
                reads: [Range<usize>; R],
                writes: [Range<usize>; W],
            ) -> Result<Ranges<'_, T, R, W>> {
                let $this = self;
                $pages.access(reads, writes)
            }

            /// Returns all elements, to read, of a region that was created [with page faults](Region::with_page_faults): stale elements are fetched
            /// when they are read.
            ///
            /// Cost: a fault for each page of memory that is read for the first time since others have changed it, and the cost of
            /// [`read`](Self::read) for that page.
            ///
            /// # Errors
            /// The region was created without page faults; an earlier fetch of a page has failed.
            #[cfg(feature = "page-faults")]
            pub fn all(&mut self) -> Result<All<'_, 'w, T>> {
                let $this = self;
                All::new(&mut $pages)
            }

            /// Returns all elements, to read and write, as [`all`](Self::all); the first write to a page keeps its twin.
            ///
            /// # Errors
            /// As [`all`](Self::all).
            #[cfg(feature = "page-faults")]
            pub fn all_mut(&mut self) -> Result<AllMut<'_, 'w, T>> {
                let $this = self;
                AllMut::new(&mut $pages)
            }
        }
    };
}

ways!(['w] Region<'w, T>, |region| region.pages);
ways!(['g, 'w] Section<'g, 'w, T>, |section| section.inside.as_mut().expect("it has not left").0);

fn publish<T: Pod>(pages: &mut Pages<'_, T>, log: &mut Log<'_>) -> Result<()> {
    let (changed, put) = pages.publish();
    // Other ranks learn of what has arrived, although the home of other pages is lost.
    let noted = log.append(&changed);
    put.and(noted)
}

fn refresh<T: Pod>(pages: &mut Pages<'_, T>, log: &mut Log<'_>, coherence: Coherence) -> Result<()> {
    publish(pages, log)?;
    let followed = log.follow(|change| pages.change(change));
    pages.settle();
    followed?;
    if coherence == Coherence::Update { pages.fetch_used() } else { Ok(()) }
}
