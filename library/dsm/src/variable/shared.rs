//! A shared variable: one value or slice that a guard gives access to.

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Result, World};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::access::{Access, Held};
use super::blocks::Blocks;
use super::guard::{ReadGuard, WriteGuard};
use super::multi_acquire::{ReadRequest, WriteRequest};
use super::statistics::Statistics;
use crate::lock::{Epoch, KNOWN, LockMemory, Member, Mode, Patience, RemoteWords, Version, WordAddress, newest};

/// The place of the lock's token while no rank holds the variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// At its home: a release posts a message to the home, so that the next rank acquires the variable in one round trip.
    #[default]
    Home,
    /// At the rank that held it last: that rank acquires it again without a message, and another rank needs one more round trip. The home
    /// does not record releases meanwhile: they are lost with the rank.
    Migrating,
}

/// A variable that ranks share, with entry consistency: a rank that acquires it sees all writes before the last release.
///
/// Only a [`ReadGuard`] or a [`WriteGuard`] gives access to the data. Written data stays in the memory of its writer until another rank acquires
/// the variable and fetches the blocks that have changed. The lock serves ranks in the order of their requests; consecutive readers read together.
/// Only the cores of the ranks that acquire and release take part.
///
/// A guard refers to a private copy of this rank, so that references to the data are ordinary ones. Acquiring takes `&mut self`, so that no rank
/// waits for itself.
///
/// # Loss of ranks
/// In a job that goes on without lost ranks ([`on_peer_lost`](World::on_peer_lost)), the loss of
/// - a rank that waits or holds the variable: the others go on with the last version that was released; the order of waiting writers may
///   change once;
/// - the writer of the last version: a rank that has a copy of it inherits it by acquiring the variable; until then others get
///   `PeerLost` with the number of the lost rank, and [`restore`](Self::restore) begins a new version;
/// - a rank that keeps the variable ([`Placement::Migrating`]): the others go on with the last version that another rank has acquired;
/// - the home: all later acquires of the others fail with `PeerLost` and its number.
///
/// If the last two writers are lost together, the version before the last may come back. No survivor has seen a later one.
///
/// # Panics of the program
/// A rank that panics does not wait for others, and a release may have to wait. So a variable that is held and dropped while its thread panics is never
/// released, even if the panic is caught: other ranks wait until the rank is lost. A program that catches panics and goes on keeps the variable outside
/// of `catch_unwind`; its next acquire, or its drop, releases it.
pub struct Shared<'w, T: ?Sized> {
    pub(super) access: Access<'w>,
    pub(super) private: Box<T>,
}

impl<'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Shared<'w, T> {
    /// Creates a variable with the home's `initial` as its first version. Collective; `home` and the length of `initial` are the same on all ranks.
    ///
    /// The home holds the words of the lock; its core takes no part in later operations. Cost: that of [`World::alloc`], and a
    /// barrier; in the memory of each rank, 448 bytes and the data, or three times the data if it has at most 4 KiB and some rank is reached by messages.
    ///
    /// # Errors
    /// As [`World::alloc`]; there is no such rank; the variable has no bytes.
    pub fn new(world: &'w World, home: Rank, initial: impl Into<Box<T>>) -> Result<Self> {
        let private: Box<T> = initial.into();
        let bytes = private.as_bytes().len();
        Self::of_parts(world, home, private, &[bytes])
    }

    /// As [`new`](Self::new), for a variable of several parts, given by their lengths in bytes.
    pub(crate) fn of_parts(world: &'w World, home: Rank, private: Box<T>, parts: &[usize]) -> Result<Self> {
        if home.number() >= world.size() {
            return Err(Error::Invalid("the home of a shared variable must be a rank of the job"));
        }
        if private.as_bytes().is_empty() {
            return Err(Error::Invalid("a shared variable has at least one byte"));
        }
        let mut blocks = Blocks::of_parts(parts);
        // Data that is prefetched with the token and data that travels with the token arrive at different places.
        let short = blocks.short().filter(|_| world.ranks().any(|rank| !world.maps(rank)));
        let words = RemoteWords::new(world, home, blocks.words() + short.map_or(0, |(_, count)| 2 * count + 1))?;
        if let Some((data, count)) = short {
            words.enable_prefetch(data, blocks.words(), count);
            words.enable_piggyback(data, blocks.words() + count, count);
        }
        if world.rank() == home {
            blocks.replace_all();
            let first = blocks.publish(&words, Version::default(), private.as_bytes())?;
            words.set_own(newest(Epoch::default()), first.word());
            words.set_own(KNOWN, first.word());
        }
        world.meet()?;
        let (member, held, statistics) = (Member::new(words), Held::Nothing, Statistics::default());
        let access = Access { member, blocks, held, statistics, prefetch: None };
        Ok(Self { access, private })
    }

    /// Acquires the variable to read.
    ///
    /// Cost: a round trip to the home, one more to be counted as a reader, and one for the data if it has changed.
    ///
    /// # Errors
    /// The home, or the writer of the last version, is lost; the job is at fault.
    pub fn read(&mut self) -> Result<ReadGuard<'_, 'w, T>> {
        self.acquire(Mode::Read, Patience::Endless)?;
        Ok(ReadGuard::new(self))
    }

    /// Acquires the variable to write.
    ///
    /// Cost:
    ///
    /// | state of the variable | messages |
    /// |---|---|
    /// | kept by this rank | none |
    /// | free, newest version here | a round trip to the home |
    /// | free, newest version elsewhere | two round trips; one, if the data has at most 4 KiB and was on the rank with the token the last two times |
    /// | held by another rank | one message to this rank, with up to 4 KiB of data; a round trip for more data |
    ///
    /// The release waits for no message, unless the next rank in the queue may stop waiting.
    ///
    /// # Errors
    /// The home, or the writer of the last version, is lost; the job is at fault.
    #[inline]
    pub fn write(&mut self) -> Result<WriteGuard<'_, 'w, T>> {
        self.acquire(Mode::Write, Patience::Endless)?;
        Ok(WriteGuard::new(self))
    }

    /// As [`read`](Self::read), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read(&mut self) -> Result<Option<ReadGuard<'_, 'w, T>>> {
        Ok(self.acquire_in_time(Mode::Read, Patience::None)?.then_some(ReadGuard::new(self)))
    }

    /// As [`write`](Self::write), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn try_write(&mut self) -> Result<Option<WriteGuard<'_, 'w, T>>> {
        Ok(self.acquire_in_time(Mode::Write, Patience::None)?.then_some(WriteGuard::new(self)))
    }

    /// As [`read`](Self::read), if it is this rank's turn within `limit`. A rank that stops waiting keeps its place in the queue until the
    /// token passes it, and gets the place back if it acquires the variable before that.
    ///
    /// # Errors
    /// The time ran out; else as [`read`](Self::read).
    pub fn read_within(&mut self, limit: Duration) -> Result<ReadGuard<'_, 'w, T>> {
        self.acquire_within(Mode::Read, limit)?;
        Ok(ReadGuard::new(self))
    }

    /// As [`write`](Self::write), if it is this rank's turn within `limit`; see [`read_within`](Self::read_within).
    ///
    /// # Errors
    /// The time ran out; else as [`write`](Self::write).
    pub fn write_within(&mut self, limit: Duration) -> Result<WriteGuard<'_, 'w, T>> {
        self.acquire_within(Mode::Write, limit)?;
        Ok(WriteGuard::new(self))
    }

    /// Acquires the variable to write and replaces its data, also if the last version is lost.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    ///
    /// # Panics
    /// `value` has another length than the variable.
    pub fn restore(&mut self, value: &T) -> Result<()> {
        assert_eq!(value.as_bytes().len(), self.private.as_bytes().len(), "a shared variable keeps its length");
        self.access.settle()?;
        self.access.take(Mode::Write, Patience::Endless, self.private.as_bytes())?;
        self.private.as_mut_bytes().copy_from_slice(value.as_bytes());
        self.access.blocks.replace_all();
        self.access.release(self.private.as_bytes())
    }

    /// Begins to fetch the newest version that the home knows, for the next acquire; returns whether a transfer is in flight. Does not wait for
    /// other ranks, and does not change the order of the queue.
    ///
    /// The next acquire uses the data if its version is still the newest. The home does not know the newest version while ranks hand the
    /// variable over to each other.
    ///
    /// Cost: a round trip to the home, and a transfer of all data in the background. The first call allocates memory for a second copy.
    ///
    /// # Errors
    /// The home is lost; no memory is left; the job is at fault.
    pub fn prefetch(&mut self) -> Result<bool> {
        self.access.begin_prefetch()
    }

    /// A request to read this variable, for [`acquire`](crate::acquire) of several variables.
    pub fn to_read(&mut self) -> ReadRequest<'_, 'w, T> {
        ReadRequest(self)
    }

    /// A request to write this variable, for [`acquire`](crate::acquire) of several variables.
    pub fn to_write(&mut self) -> WriteRequest<'_, 'w, T> {
        WriteRequest(self)
    }

    /// Sets the place of the token after this rank has held the variable. Ranks need not agree; the default is [`Placement::Home`].
    ///
    /// Cost: a round trip to the home if this rank keeps the variable and no longer is to; else nothing.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn place(&mut self, placement: Placement) -> Result<()> {
        self.access.member.keep(placement == Placement::Migrating)
    }

    /// The order in which all ranks acquire several variables.
    pub(crate) fn order(&self) -> u64 {
        let first = WordAddress { rank: Rank::new(0), word: 0 };
        self.access.member.memory.at(first).address().bits()
    }

    /// The rank that holds the words of the lock.
    pub fn home(&self) -> Rank {
        self.access.member.memory.home()
    }

    /// Counts of the costs of the variable for this rank so far.
    pub fn statistics(&self) -> Statistics {
        let (waits, waited) = self.access.member.memory.waits();
        Statistics { waits, waited, ..self.access.statistics }
    }

    /// A description of the variable and its cost, in one line.
    pub fn explain(&self) -> String {
        let (home, version, blocks) = (self.home(), self.access.blocks.version(), self.access.blocks.blocks());
        let bytes = self.access.blocks.bytes();
        let held = match self.access.held {
            Held::Nothing => "",
            Held::ToRead(_) => ", held to read",
            Held::ToWrite(_) => ", held to write",
        };
        format!("{bytes} bytes in {blocks} blocks, home rank {home}, version {version} here{held}; {}", self.statistics())
    }

    fn acquire_within(&mut self, mode: Mode, limit: Duration) -> Result<()> {
        let until = self.access.member.memory.world().now() + limit;
        if self.acquire_in_time(mode, Patience::Until(until))? {
            return Ok(());
        }
        Err(Error::TimedOut { what: "a shared variable", limit })
    }

    #[inline]
    fn acquire(&mut self, mode: Mode, patience: Patience) -> Result<()> {
        let acquired = self.acquire_in_time(mode, patience)?;
        debug_assert!(acquired, "patience is endless");
        Ok(())
    }

    #[inline]
    fn acquire_in_time(&mut self, mode: Mode, patience: Patience) -> Result<bool> {
        if self.access.held != Held::Nothing {
            self.access.settle()?;
        }
        if !self.access.take(mode, patience, self.private.as_bytes())? {
            return Ok(false);
        }
        self.access.fetch(self.private.as_mut_bytes())?;
        Ok(true)
    }
}

impl<T: ?Sized> Drop for Shared<'_, T> {
    /// Releases a variable that a forgotten guard holds, without the written data, and releases a kept token to the home.
    fn drop(&mut self) {
        let Access { blocks, held, .. } = &mut self.access;
        if *held != Held::Nothing && !std::thread::panicking() {
            blocks.discard();
            let _whoever_acquires_it_next_is_told = self.access.release(&[]);
        }
        if !std::thread::panicking() {
            let _whoever_acquires_it_next_is_told = self.access.member.release_to_home();
        }
    }
}
