//! All elements of a region as one slice: at a page fault, a thread of the library fetches the page or keeps its twin while the faulting thread waits.
//!
//! Only the thread that has the table reads and writes the copy through the inner mapping: the thread of the region or, while a guard exists, the
//! thread that serves faults. So nothing is released or refreshed while a guard exists, and the threads wait for each other only at a fault.

mod mapping;
mod reached;

use core::fmt;
use core::ops::{Deref, DerefMut, Range};
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pelago_rma::{Context, ContextFactory, Error, Pod, Result, World};

use super::RegionStatistics;
use super::pages::Pages;
use super::table::{Private, Table};
pub(super) use mapping::Inner;
use mapping::{Bell, Door, Fault, Outer};
use reached::Access;
pub(super) use reached::Reached;

/// The program's mapping of a region, and the thread that serves its faults.
pub(super) struct Faults<T: Pod> {
    outer: Outer<T>,
    desk: Arc<Desk<T>>,
    bell: Bell,
    /// Whether the thread that serves faults has the table.
    lent: bool,
    serving: Option<JoinHandle<()>>,
}

/// The place of the table while a guard of all elements exists.
struct Desk<T: Pod>(Mutex<Option<Table<T>>>);

impl<T: Pod> Desk<T> {
    fn lock(&self) -> MutexGuard<'_, Option<Table<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the copy of `length` elements and the thread that serves its faults. Collective.
///
/// # Errors
/// On all ranks, if one rank cannot create them.
pub(super) fn reach<T: Pod>(world: &World, length: usize) -> Result<(Inner<T>, Faults<T>)> {
    let made = if world.takes_threads() {
        mapping::map::<T>(length)
    } else {
        Err("a simulation has no page faults, as its ranks are coroutines of one process: use Region::new")
    };
    let made = made.and_then(|mapping::Twofold { inner, outer, door, bell }| {
        let desk = Arc::new(Desk(Mutex::new(None)));
        let (laid, factory) = (desk.clone(), world.context_factory());
        let serving = std::thread::Builder::new().name("pelago-faults".into()).spawn(move || serve(&door, &laid, &factory));
        let serving = serving.map_err(|_| "the system has no thread left to serve page faults: use Region::new")?;
        Ok((inner, Faults { outer, desk, bell, lent: false, serving: Some(serving) }))
    });
    let mut able = [u64::from(made.is_ok())];
    world.allreduce(&mut able, u64::min)?;
    match made {
        Ok(_) if able[0] == 0 => Err(Error::Unsupported("another rank of the job cannot have page faults: use Region::new")),
        made => made.map_err(Error::Unsupported),
    }
}

impl<T: Pod> Pages<'_, T> {
    /// Serves page faults from now on.
    pub(super) fn serve(&mut self, faults: Faults<T>) {
        self.table.reached = Some(Reached::new(self.len(), size_of::<T>(), rustix::param::page_size()));
        self.faults = Some(faults);
    }

    fn lend(&mut self) -> Result<()> {
        let faults = self.faults.as_mut().ok_or(Error::Invalid("the region was made without page faults"))?;
        faults.take_back(&mut self.table)?;
        *faults.desk.lock() = Some(core::mem::take(&mut self.table));
        faults.lent = true;
        Ok(())
    }
}

impl<T: Pod> Faults<T> {
    /// Takes the table back, if the thread that serves faults has it. If a fetch has failed, discards the writes since the last release.
    ///
    /// # Errors
    /// A fetch has failed; the error is returned once.
    pub(super) fn take_back(&mut self, table: &mut Table<T>) -> Result<()> {
        self.recall(table);
        let failed = table.reached.as_mut().and_then(|reached| reached.failed.take());
        failed.map_or(Ok(()), Err)
    }

    /// The statistics of the table, if the thread that serves faults has it.
    pub(super) fn lent_statistics(&self) -> Option<RegionStatistics> {
        self.lent.then(|| self.desk.lock().as_ref().map(Table::statistics)).flatten()
    }

    fn recall(&mut self, table: &mut Table<T>) {
        if !core::mem::take(&mut self.lent) {
            return;
        }
        *table = self.desk.lock().take().expect("nobody else takes it");
        if table.reached.as_ref().is_some_and(|reached| reached.failed.is_some()) {
            table.discard();
            self.settle(table);
        }
    }

    /// Hides stale pages from the program, and write-protects pages that are not recorded as written.
    pub(super) fn settle(&mut self, table: &mut Table<T>) {
        let Some(mut reached) = table.reached.take() else { return };
        reached.take_hidden().for_each(|pages| self.outer.hide(pages));
        reached.take_writable(|elements| table.is_kept(elements)).for_each(|pages| self.outer.protect(pages));
        table.reached = Some(reached);
    }
}

impl<T: Pod> Drop for Faults<T> {
    fn drop(&mut self) {
        self.bell.ring();
        if let Some(serving) = self.serving.take() {
            let _it_has_ended = serving.join();
        }
    }
}

/// Serves faults until the bell rings.
fn serve<T: Pod>(door: &Door, desk: &Desk<T>, factory: &ContextFactory) {
    let _for_good = Indispensable;
    let context = factory.context();
    while let Some(fault) = await_fault(door, context.as_ref().ok()) {
        let mut laid = desk.lock();
        let Some(table) = &mut *laid else {
            // The faulting thread has meanwhile got the page, and its guard has ended.
            door.wake(fault);
            continue;
        };
        let (pages, access) = table.serve(context.as_ref(), fault);
        if let Private::Mapped(inner) = table.private() {
            door.show(fault, pages, access, inner);
        }
    }
}

fn await_fault(door: &Door, context: Option<&Context>) -> Option<Fault> {
    context.map_or_else(|| door.next(), |context| context.blocking_region(|| door.next()))
}

/// Ends the process if the thread that serves faults panics: otherwise the program would wait at a fault for ever.
struct Indispensable;

impl Drop for Indispensable {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "pelago: page faults are no longer served: the process is ended");
            std::process::abort();
        }
    }
}

impl<T: Pod> Table<T> {
    /// Fetches the elements of a page of memory and records a write; returns the pages that the program may access, and the kind of access.
    fn serve(&mut self, context: Result<&Context, &Error>, fault: Fault) -> (Range<usize>, Access) {
        self.count_fault();
        let mut pages = fault.page..fault.page + 1;
        let Some(mut reached) = self.reached.take() else { return (pages, Access::Write) };
        let wanted = if fault.write { Access::Write } else { Access::Read };
        let access = wanted.max(reached.access(fault.page));
        if fault.write && fault.is_protected {
            pages = reached.read_ahead(fault.page);
        }
        let elements = reached.elements(&pages);
        // After a failed fetch nothing more is fetched: all writes will be discarded.
        if reached.failed.is_none() {
            let fetched = context.map_err(Clone::clone).and_then(|context| self.fetch(context, &elements));
            reached.failed = fetched.err();
        }
        if fault.write {
            self.write(&elements);
        }
        pages.clone().for_each(|page| reached.grant(page, access));
        self.reached = Some(reached);
        (pages, access)
    }
}

macro_rules! guard {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// It dereferences to a slice. If a page cannot be fetched because its home is lost, the program continues with the old contents of that page
        /// and of all other stale pages. [`end`](Self::end), or else the next call of the region, returns the error. The writes since the last release
        /// are then discarded, except those on kept pages.
        ///
        /// Other threads may use the slice. On some systems the kernel cannot fault on these pages: a system call on a part of the slice that the
        /// program has not touched before may fail with `EFAULT`.
        pub struct $name<'g, 'w, T: Pod>(&'g mut Pages<'w, T>);

        impl<'g, 'w, T: Pod> $name<'g, 'w, T> {
            pub(super) fn new(pages: &'g mut Pages<'w, T>) -> Result<Self> {
                pages.lend()?;
                Ok(Self(pages))
            }

            fn faults(&self) -> &Faults<T> {
                self.0.faults.as_ref().expect("looked for when made")
            }

            /// Ends the guard; returns an error if a fetch has failed.
            ///
            /// # Errors
            /// A home is lost; the job is at fault.
            pub fn end(self) -> Result<()> {
                let Pages { table, faults, .. } = &mut *self.0;
                faults.as_mut().map_or(Ok(()), |faults| faults.take_back(table))
            }
        }

        impl<T: Pod> Deref for $name<'_, '_, T> {
            type Target = [T];

            #[inline]
            fn deref(&self) -> &[T] {
                self.faults().outer.elements()
            }
        }

        impl<T: Pod> Drop for $name<'_, '_, T> {
            fn drop(&mut self) {
                let Pages { table, faults, .. } = &mut *self.0;
                if let Some(faults) = faults {
                    faults.recall(table);
                }
            }
        }

        impl<T: Pod + fmt::Debug> fmt::Debug for $name<'_, '_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }
    };
}

guard!(
    /// All elements of a region, to read; created by [`Region::all`](crate::Region::all).
    All
);
guard!(
    /// All elements of a region, to read and write; created by [`Region::all_mut`](crate::Region::all_mut).
    AllMut
);

impl<T: Pod> DerefMut for AllMut<'_, '_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.faults.as_mut().expect("looked for when made").outer.elements_mut()
    }
}
