//! Several variables under one synchronization variable.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut, Range};

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Result, World};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::blocks::Blocks;
use super::multi_acquire::{AcquireRequest, sealed};
use crate::{Placement, ReadGuard, Shared, Statistics, WriteGuard};

/// Alignment of each part, and maximum alignment of its values: that of the units of a bundle.
const PART_ALIGN: usize = align_of::<Unit>();

/// Unit of the private copy, so that values of all parts are aligned.
type Unit = u128;

/// Several variables that are acquired together: slices of plain old data, of one to eight types, under one synchronization variable.
///
/// It is to a tuple of slices what [`Shared`] is to one value, with the same guards. Writes are recorded by part: of a long bundle only the
/// changed parts are transferred.
///
/// ```
/// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
/// # use pelago_dsm::Bundle;
/// let mut means = Bundle::<(f64, u64)>::new(world, world.rank(), (vec![0.0; 30], vec![0; 10]))?;
/// let mut guard = means.write()?;
/// let (mut sums, mut counts) = guard.parts_mut();
/// sums[3] += 0.5;
/// counts[1] += 1;
/// guard.release()?;
/// let guard = means.read()?;
/// let (sums, counts) = guard.parts();
/// assert_eq!((sums[3], counts[1]), (0.5, 1));
/// # Ok(())
/// # }
/// ```
pub struct Bundle<'w, P: Parts> {
    shared: Shared<'w, [Unit]>,
    layout: Layout<P>,
}

/// The layout of the parts.
struct Layout<P> {
    /// The byte range of each part.
    parts: Vec<Range<usize>>,
    types: PhantomData<fn() -> P>,
}

/// The parts of a [`Bundle`], to read.
pub struct BundleReadGuard<'g, 'w, P: Parts> {
    guard: ReadGuard<'g, 'w, [Unit]>,
    layout: &'g Layout<P>,
}

/// The parts of a [`Bundle`], to read and write.
pub struct BundleWriteGuard<'g, 'w, P: Parts> {
    guard: WriteGuard<'g, 'w, [Unit]>,
    layout: &'g Layout<P>,
}

/// One part of a [`Bundle`], to read and write. A mutable dereference counts as a write of the whole part.
pub struct PartMut<'a, T> {
    values: &'a mut [T],
    /// Its offset in the bundle, in bytes.
    start: usize,
    blocks: &'a Blocks,
}

/// A request to read a bundle, for [`acquire`](crate::acquire); see [`Bundle::to_read`].
#[must_use = "a request does nothing until it is given to acquire"]
pub struct BundleReadRequest<'g, 'w, P: Parts>(&'g mut Bundle<'w, P>);

/// A request to write a bundle, for [`acquire`](crate::acquire); see [`Bundle::to_write`].
#[must_use = "a request does nothing until it is given to acquire"]
pub struct BundleWriteRequest<'g, 'w, P: Parts>(&'g mut Bundle<'w, P>);

/// Tuples of one to eight types of plain old data, of which a [`Bundle`] has a slice each.
pub trait Parts: plain::Plain + 'static {
    /// The values with which a bundle begins: a tuple of vectors.
    type Initial;
    /// The parts, to read: a tuple of slices.
    type Refs<'a>;
    /// The parts, to write: a tuple of [`PartMut`].
    type Muts<'a>;

    #[doc(hidden)]
    fn bytes(initial: &Self::Initial) -> Vec<&[u8]>;

    #[doc(hidden)]
    fn refs<'a>(bytes: &'a [u8], parts: &[Range<usize>]) -> Self::Refs<'a>;

    #[doc(hidden)]
    fn muts<'a>(bytes: &'a mut [u8], parts: &[Range<usize>], marks: Marks<'a>) -> Self::Muts<'a>;
}

/// The record of written blocks.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Marks<'a>(&'a Blocks);

pelago_base::debug! {
    Marks['a]['a] {}
}

impl<'w, P: Parts> Bundle<'w, P> {
    /// Creates a bundle with the home's `initial` as its first version. Collective; `home` and all lengths are the same on all ranks.
    ///
    /// Cost: as [`Shared::new`].
    ///
    /// # Errors
    /// As [`Shared::new`]; the lengths of parts differ from rank to rank.
    pub fn new(world: &'w World, home: Rank, initial: P::Initial) -> Result<Self> {
        let parts = P::bytes(&initial);
        let mut ends = Vec::new();
        let mut start = 0;
        for part in &parts {
            ends.push(start..start + part.len());
            start += part.len().next_multiple_of(PART_ALIGN);
        }
        agree(world, &ends)?;
        let mut private = vec![0; start / size_of::<Unit>()];
        for (range, part) in ends.iter().zip(&parts) {
            private.as_mut_bytes()[range.clone()].copy_from_slice(part);
        }
        let padded: Vec<_> = parts.iter().map(|part| part.len().next_multiple_of(PART_ALIGN)).collect();
        let shared = Shared::of_parts(world, home, private.into_boxed_slice(), &padded)?;
        Ok(Self { shared, layout: Layout { parts: ends, types: PhantomData } })
    }

    /// Sets the place of the token after this rank has held the bundle; as [`Shared::place`].
    ///
    /// # Errors
    /// As [`Shared::place`].
    pub fn place(&mut self, placement: Placement) -> Result<()> {
        self.shared.place(placement)
    }

    /// Acquires all parts to read; as [`Shared::read`].
    ///
    /// # Errors
    /// As [`Shared::read`].
    pub fn read(&mut self) -> Result<BundleReadGuard<'_, 'w, P>> {
        Ok(BundleReadGuard { guard: self.shared.read()?, layout: &self.layout })
    }

    /// Acquires all parts to write; as [`Shared::write`].
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn write(&mut self) -> Result<BundleWriteGuard<'_, 'w, P>> {
        Ok(BundleWriteGuard { guard: self.shared.write()?, layout: &self.layout })
    }

    /// As [`read`](Self::read), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`Shared::read`].
    pub fn try_read(&mut self) -> Result<Option<BundleReadGuard<'_, 'w, P>>> {
        let layout = &self.layout;
        Ok(self.shared.try_read()?.map(|guard| BundleReadGuard { guard, layout }))
    }

    /// As [`write`](Self::write), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn try_write(&mut self) -> Result<Option<BundleWriteGuard<'_, 'w, P>>> {
        let layout = &self.layout;
        Ok(self.shared.try_write()?.map(|guard| BundleWriteGuard { guard, layout }))
    }

    /// As [`read`](Self::read), if it is this rank's turn within `limit`; see [`Shared::read_within`].
    ///
    /// # Errors
    /// As [`Shared::read_within`].
    pub fn read_within(&mut self, limit: Duration) -> Result<BundleReadGuard<'_, 'w, P>> {
        Ok(BundleReadGuard { guard: self.shared.read_within(limit)?, layout: &self.layout })
    }

    /// As [`write`](Self::write), if it is this rank's turn within `limit`; see [`Shared::read_within`].
    ///
    /// # Errors
    /// As [`Shared::write_within`].
    pub fn write_within(&mut self, limit: Duration) -> Result<BundleWriteGuard<'_, 'w, P>> {
        Ok(BundleWriteGuard { guard: self.shared.write_within(limit)?, layout: &self.layout })
    }

    /// As [`Shared::prefetch`].
    ///
    /// # Errors
    /// As [`Shared::prefetch`].
    pub fn prefetch(&mut self) -> Result<bool> {
        self.shared.prefetch()
    }

    /// A request to read this bundle, for [`acquire`](crate::acquire) of several variables.
    pub fn to_read(&mut self) -> BundleReadRequest<'_, 'w, P> {
        BundleReadRequest(self)
    }

    /// A request to write this bundle, for [`acquire`](crate::acquire) of several variables.
    pub fn to_write(&mut self) -> BundleWriteRequest<'_, 'w, P> {
        BundleWriteRequest(self)
    }

    /// The rank that holds the words of the lock.
    pub fn home(&self) -> Rank {
        self.shared.home()
    }

    /// Counts of the costs of the bundle for this rank so far.
    pub fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }

    /// A description of the bundle and its cost, in one line.
    pub fn explain(&self) -> String {
        format!("{} parts, {}", self.layout.parts.len(), self.shared.explain())
    }
}

/// Checks that all ranks have parts of the same lengths.
fn agree(world: &World, parts: &[Range<usize>]) -> Result<()> {
    let lengths = parts.iter().flat_map(|part| [part.len() as u64, !(part.len() as u64)]);
    let mine: Vec<u64> = lengths.collect();
    let mut all = mine.clone();
    world.allreduce(&mut all, |one, other| one & other)?;
    if all == mine { Ok(()) } else { Err(Error::Disagreement("the lengths of a bundle's parts")) }
}

impl<'g, 'w, P: Parts> BundleReadGuard<'g, 'w, P> {
    /// The parts.
    pub fn parts(&self) -> P::Refs<'_> {
        P::refs(self.guard.as_bytes(), &self.layout.parts)
    }

    /// As [`ReadGuard::release`].
    ///
    /// # Errors
    /// As [`ReadGuard::release`].
    pub fn release(self) -> Result<()> {
        self.guard.release()
    }

    /// As [`ReadGuard::upgrade`].
    ///
    /// # Errors
    /// As [`ReadGuard::upgrade`].
    pub fn upgrade(self) -> Result<BundleWriteGuard<'g, 'w, P>> {
        Ok(BundleWriteGuard { guard: self.guard.upgrade()?, layout: self.layout })
    }

    /// As [`ReadGuard::version`].
    pub fn version(&self) -> u64 {
        self.guard.version()
    }
}

impl<'g, 'w, P: Parts> BundleWriteGuard<'g, 'w, P> {
    /// The parts, to read.
    pub fn parts(&self) -> P::Refs<'_> {
        P::refs(self.guard.as_bytes(), &self.layout.parts)
    }

    /// The parts, to write; a part counts as written once it is mutably dereferenced.
    pub fn parts_mut(&mut self) -> P::Muts<'_> {
        let (bytes, blocks) = self.guard.bytes_mut();
        P::muts(bytes, &self.layout.parts, Marks(blocks))
    }

    /// As [`WriteGuard::release`].
    ///
    /// # Errors
    /// As [`WriteGuard::release`].
    pub fn release(self) -> Result<()> {
        self.guard.release()
    }

    /// As [`WriteGuard::abort`].
    ///
    /// # Errors
    /// As [`WriteGuard::release`].
    pub fn abort(self) -> Result<()> {
        self.guard.abort()
    }

    /// As [`WriteGuard::downgrade`].
    ///
    /// # Errors
    /// As [`WriteGuard::release`].
    pub fn downgrade(self) -> Result<BundleReadGuard<'g, 'w, P>> {
        Ok(BundleReadGuard { guard: self.guard.downgrade()?, layout: self.layout })
    }

    /// As [`WriteGuard::wait`].
    ///
    /// # Errors
    /// As [`WriteGuard::wait`].
    pub fn wait(self) -> Result<Self> {
        Ok(Self { guard: self.guard.wait()?, layout: self.layout })
    }

    /// As [`WriteGuard::wait_while`].
    ///
    /// # Errors
    /// As [`WriteGuard::wait`].
    pub fn wait_while(self, mut condition: impl FnMut(P::Refs<'_>) -> bool) -> Result<Self> {
        let mut guard = self;
        while condition(guard.parts()) {
            guard = guard.wait()?;
        }
        Ok(guard)
    }

    /// As [`WriteGuard::notify_one`].
    ///
    /// # Errors
    /// As [`WriteGuard::notify_one`].
    pub fn notify_one(&mut self) -> Result<bool> {
        self.guard.notify_one()
    }

    /// As [`WriteGuard::notify_all`].
    ///
    /// # Errors
    /// As [`WriteGuard::notify_one`].
    pub fn notify_all(&mut self) -> Result<u32> {
        self.guard.notify_all()
    }

    /// As [`WriteGuard::version`].
    pub fn version(&self) -> u64 {
        self.guard.version()
    }
}

impl<T> PartMut<'_, T> {
    /// Returns some of the elements, to write. Of a bundle above 8 KiB, only the blocks of these elements are transferred later; a mutable
    /// dereference of the part marks all its elements as written.
    ///
    /// # Panics
    /// The range reaches past the end.
    pub fn range_mut(&mut self, range: Range<usize>) -> &mut [T] {
        let part = &mut self.values[range.clone()];
        self.blocks.write(self.start + range.start * size_of::<T>()..self.start + range.end * size_of::<T>());
        part
    }
}

impl<T> Deref for PartMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.values
    }
}

impl<T> DerefMut for PartMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.range_mut(0..self.values.len())
    }
}

impl<P: Parts> sealed::Sealed for BundleReadRequest<'_, '_, P> {}
impl<P: Parts> sealed::Sealed for BundleWriteRequest<'_, '_, P> {}

impl<'g, 'w, P: Parts> AcquireRequest for BundleReadRequest<'g, 'w, P> {
    type Guard = BundleReadGuard<'g, 'w, P>;

    fn order(&self) -> u64 {
        self.0.shared.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.read()
    }
}

impl<'g, 'w, P: Parts> AcquireRequest for BundleWriteRequest<'g, 'w, P> {
    type Guard = BundleWriteGuard<'g, 'w, P>;

    fn order(&self) -> u64 {
        self.0.shared.order()
    }

    fn take(self) -> Result<Self::Guard> {
        self.0.write()
    }
}

fn values<T: FromBytes + Immutable>(bytes: &[u8]) -> &[T] {
    <[T]>::ref_from_bytes(bytes).expect("a part is aligned and whole")
}

fn values_mut<T: FromBytes + IntoBytes>(bytes: &mut [u8]) -> &mut [T] {
    <[T]>::mut_from_bytes(bytes).expect("a part is aligned and whole")
}

mod plain {
    /// Prevents other implementations, because this trait converts bytes to references.
    pub trait Plain {}
}

macro_rules! parts {
    ($($part:ident),+) => {
        impl<$($part: FromBytes + IntoBytes + Immutable + 'static),+> plain::Plain for ($($part,)+) {}

        impl<$($part: FromBytes + IntoBytes + Immutable + 'static),+> Parts for ($($part,)+) {
            type Initial = ($(Vec<$part>,)+);
            type Refs<'a> = ($(&'a [$part],)+);
            type Muts<'a> = ($(PartMut<'a, $part>,)+);

            #[allow(non_snake_case)]
            fn bytes(initial: &Self::Initial) -> Vec<&[u8]> {
                const { $(assert!(align_of::<$part>() <= PART_ALIGN, "no value of a bundle needs more than that");)+ }
                let ($($part,)+) = initial;
                vec![$($part.as_slice().as_bytes()),+]
            }

            fn refs<'a>(bytes: &'a [u8], parts: &[Range<usize>]) -> Self::Refs<'a> {
                let mut parts = parts.iter();
                ($(values::<$part>(&bytes[parts.next().expect("there are as many").clone()]),)+)
            }

            fn muts<'a>(bytes: &'a mut [u8], parts: &[Range<usize>], Marks(blocks): Marks<'a>) -> Self::Muts<'a> {
                let (mut rest, mut start) = (bytes, 0);
                let mut parts = parts.iter();
                let mut next = || {
                    let part = parts.next().expect("there are as many");
                    let (_, after) = std::mem::take(&mut rest).split_at_mut(part.start - start);
                    let (bytes, after) = after.split_at_mut(part.len());
                    (rest, start) = (after, part.end);
                    (bytes, part.start)
                };
                ($({
                    let (bytes, start) = next();
                    PartMut { values: values_mut::<$part>(bytes), start, blocks }
                },)+)
            }
        }
    };
}

parts!(A);
parts!(A, B);
parts!(A, B, C);
parts!(A, B, C, D);
parts!(A, B, C, D, E);
parts!(A, B, C, D, E, F);
parts!(A, B, C, D, E, F, G);
parts!(A, B, C, D, E, F, G, H);
