//! All elements of a region as one slice: a thread fetches what a program reads, and keeps twins of what it writes, while the program stands still.
//!
//! Who has the copy's table alone reads and writes the copy: the thread of the region, or, while a guard lives, the one that serves faults. So
//! nothing is released or refreshed while a program reaches the elements, and neither waits for the other but at a fault.

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

/// The way to all elements of a region, and to who serves its faults.
pub(super) struct Faults<T: Pod> {
    outer: Outer<T>,
    desk: Arc<Desk<T>>,
    bell: Bell,
    /// Whether the table is lent.
    lent: bool,
    serving: Option<JoinHandle<()>>,
}

/// Where the table lies while a program reaches the elements.
struct Desk<T: Pod>(Mutex<Option<Table<T>>>);

impl<T: Pod> Desk<T> {
    fn lock(&self) -> MutexGuard<'_, Option<Table<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The copy of so many elements, and the way to them. Collective.
///
/// # Errors
/// A rank cannot have it, which all are told.
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
    /// Faults are served from now on.
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
    /// Takes the table back, if it was lent. What a program has written since something could not be fetched counts for nothing.
    ///
    /// # Errors
    /// Something could not be fetched; that is told once.
    pub(super) fn take_back(&mut self, table: &mut Table<T>) -> Result<()> {
        self.recall(table);
        let failed = table.reached.as_mut().and_then(|reached| reached.failed.take());
        failed.map_or(Ok(()), Err)
    }

    /// What the table that is lent says of its costs.
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

    /// Has a program fault where something is behind, or was not noted as written.
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
            // Who has stopped there has been shown the page, and ended, meanwhile.
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

/// Without the thread that has it, a program would stop for ever.
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
    /// Fetches the elements of a page of memory, and notes a write; returns the access that the program gets, and to which pages.
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
        // After something could not be fetched, nothing counts any more.
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
        /// It stands for a slice. If the home of a page is lost, so that it cannot be fetched, the program goes on with what was there before,
        /// at once and for all that is not here; [`end`](Self::end) tells, or, if that is not called, the next call of the region. Nothing that was
        /// written since the last release counts then, but on pages that are kept.
        ///
        /// Other threads may use the slice. The system itself may not, on some systems, be the first to touch a page: a call that is given a
        /// part of it that was never looked at may fail with `EFAULT`.
        pub struct $name<'g, 'w, T: Pod>(&'g mut Pages<'w, T>);

        impl<'g, 'w, T: Pod> $name<'g, 'w, T> {
            pub(super) fn new(pages: &'g mut Pages<'w, T>) -> Result<Self> {
                pages.lend()?;
                Ok(Self(pages))
            }

            fn faults(&self) -> &Faults<T> {
                self.0.faults.as_ref().expect("looked for when made")
            }

            /// Ends it, and tells whether all that was needed could be fetched.
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
    /// All elements of a region, to read; made by [`Region::all`](crate::Region::all).
    All
);
guard!(
    /// All elements of a region, to read and write; made by [`Region::all_mut`](crate::Region::all_mut).
    AllMut
);

impl<T: Pod> DerefMut for AllMut<'_, '_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        self.0.faults.as_mut().expect("looked for when made").outer.elements_mut()
    }
}
