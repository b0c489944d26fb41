//! A shared variable: data that is reached by a guard alone.

use core::fmt;
use core::ops::{Deref, DerefMut, Range};

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Failure, Result, World};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::Statistics;
use crate::ahead::Ahead;
use crate::copies::Copies;
use crate::memory::{KNOWN, Memory, Place, newest};
use crate::queue::{Member, Mode, Patience, Way};
use crate::together::{ToRead, ToWrite};
use crate::word::{Edition, Epoch};
use crate::words::Words;

/// Where a variable lies that nobody holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// At its home: who releases it tells the home, so that whoever comes finds it in one round trip.
    #[default]
    Home,
    /// With the rank that held it last: that acquires it again without a message, until another asks, who takes one round trip more. The home
    /// does not learn of what is released meanwhile: it is lost with the rank, as if it had not been.
    Migrating,
}

/// A variable that ranks share, with entry consistency: whoever acquires it sees what the last one to release it has written.
///
/// The data is reached by a [`ReadGuard`] or a [`WriteGuard`] alone, and goes along with the guard: what was written stays with who wrote
/// it until another rank acquires the variable and fetches what has changed. Who waits is served in the order of coming; readers that come
/// one after another read together. No core but those of the ranks that acquire and release takes part.
///
/// A rank that computes with a guard works on a copy of its own, so that references to it are ordinary ones. Acquiring takes `&mut self`,
/// so that no rank waits for itself.
///
/// # Loss of ranks
/// In a job that goes on without lost ranks ([`on_peer_lost`](World::on_peer_lost)), of a rank that is lost:
/// - which waits or holds the variable: the others go on with the last version that was released; of writers that wait, the order may
///   change once;
/// - which wrote the last version: whoever has a copy of it inherits it, by acquiring the variable; until then others get
///   `PeerLost` with its number, and [`restore`](Self::restore) begins a new version;
/// - which keeps the variable ([`Placement::Migrating`]): the others go on with the last version that another rank has acquired;
/// - which is the home: all others get `PeerLost` with its number, for ever.
///
/// If the last two ranks that had the variable to write are lost together, the one before the last version may come back. That is
/// no more than the survivors have seen.
pub struct Shared<'w, T: ?Sized> {
    core: Core<'w>,
    private: Box<T>,
}

/// All of a variable but its private copy.
struct Core<'w> {
    member: Member<Words<'w>>,
    copies: Copies,
    held: Held,
    statistics: Statistics,
    ahead: Option<Ahead<'w>>,
}

/// What this rank has acquired and not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    ToRead(Edition),
    ToWrite(Edition),
}

/// The data of a [`Shared`], to read. Other ranks may read it, too, and none writes.
pub struct ReadGuard<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> {
    hold: Hold<'g, 'w, T>,
}

/// The data of a [`Shared`], to read and write. No other rank reads or writes it.
///
/// Dropped while its thread panics, or forgotten, it keeps the variable held until this rank acquires it again or drops it: then the
/// variable is released without what was written.
pub struct WriteGuard<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> {
    hold: Hold<'g, 'w, T>,
}

/// A variable that is held until this is dropped.
struct Hold<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable>(Option<&'g mut Shared<'w, T>>);

impl<'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Shared<'w, T> {
    /// A variable that begins as the home's `initial`. Collective; `home` and the length of `initial` are the same everywhere.
    ///
    /// The home holds the words by which the lock goes round; it need not take part in anything. Cost: that of [`World::alloc`], and a
    /// barrier; in the memory of each rank, 448 bytes and the data, or three times the data where it has at most 4 KiB and travels by messages.
    ///
    /// # Errors
    /// As [`World::alloc`]; there is no such rank; the variable has no bytes.
    pub fn new(world: &'w World, home: Rank, initial: impl Into<Box<T>>) -> Result<Self> {
        let private: Box<T> = initial.into();
        let bytes = private.as_bytes().len();
        Self::of_parts(world, home, private, &[bytes])
    }

    /// As [`new`](Self::new), of parts of so many bytes.
    pub(crate) fn of_parts(world: &'w World, home: Rank, private: Box<T>, parts: &[usize]) -> Result<Self> {
        if home.number() >= world.size() {
            return Err(Error::Invalid("the home of a shared variable is no rank of the job"));
        }
        if private.as_bytes().is_empty() {
            return Err(Error::Invalid("a shared variable has at least one byte"));
        }
        let mut copies = Copies::of_parts(parts);
        // What comes along with the token, from where it was laid down and from who hands it over, each has a place of its own.
        let along = copies.short().filter(|_| world.ranks().any(|rank| !world.maps(rank)));
        let words = Words::new(world, home, copies.words() + along.map_or(0, |(_, count)| 2 * count + 1))?;
        if let Some((data, count)) = along {
            words.guess(data, copies.words(), count);
            words.parcel(data, copies.words() + count, count);
        }
        if world.rank() == home {
            copies.replace_all();
            let first = copies.publish(&words, Edition::default(), private.as_bytes())?;
            words.set_own(newest(Epoch::default()), first.word());
            words.set_own(KNOWN, first.word());
        }
        world.barrier()?;
        let (member, held, statistics) = (Member::new(words), Held::Nothing, Statistics::default());
        let core = Core { member, copies, held, statistics, ahead: None };
        Ok(Self { core, private })
    }

    /// Acquires the variable to read.
    ///
    /// Cost: a round trip to the home, one more for being counted and one for the data if it has changed.
    ///
    /// # Errors
    /// The home, or who wrote the last version, is lost; the job is at fault.
    pub fn read(&mut self) -> Result<ReadGuard<'_, 'w, T>> {
        self.acquire(Mode::Read, Patience::Endless)?;
        Ok(ReadGuard { hold: Hold(Some(self)) })
    }

    /// Acquires the variable to write.
    ///
    /// Cost: kept here: no message. Free and its data here: a round trip to the home. Free and its data elsewhere: two, or one if up to 4 KiB of
    /// data have lain at the home, or with who had it last, twice before. Handed over: one message to this rank, up to 4 KiB of data with it; for
    /// more, a round trip. To release it: nobody waits, unless the next in the queue may lose patience.
    ///
    /// # Errors
    /// The home, or who wrote the last version, is lost; the job is at fault.
    #[inline]
    pub fn write(&mut self) -> Result<WriteGuard<'_, 'w, T>> {
        self.acquire(Mode::Write, Patience::Endless)?;
        Ok(WriteGuard { hold: Hold(Some(self)) })
    }

    /// As [`read`](Self::read), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn try_read(&mut self) -> Result<Option<ReadGuard<'_, 'w, T>>> {
        Ok(self.acquire_in_time(Mode::Read, Patience::None)?.then_some(ReadGuard { hold: Hold(Some(self)) }))
    }

    /// As [`write`](Self::write), but `None` if it would have to wait for others.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn try_write(&mut self) -> Result<Option<WriteGuard<'_, 'w, T>>> {
        Ok(self.acquire_in_time(Mode::Write, Patience::None)?.then_some(WriteGuard { hold: Hold(Some(self)) }))
    }

    /// As [`read`](Self::read), if it is this rank's turn within `limit`. A rank that has lost patience keeps its place in the queue
    /// until it is passed over, and takes it again if it comes back before.
    ///
    /// # Errors
    /// The time ran out; else as [`read`](Self::read).
    pub fn read_within(&mut self, limit: Duration) -> Result<ReadGuard<'_, 'w, T>> {
        self.acquire_within(Mode::Read, limit)?;
        Ok(ReadGuard { hold: Hold(Some(self)) })
    }

    /// As [`write`](Self::write), if it is this rank's turn within `limit`; see [`read_within`](Self::read_within).
    ///
    /// # Errors
    /// The time ran out; else as [`write`](Self::write).
    pub fn write_within(&mut self, limit: Duration) -> Result<WriteGuard<'_, 'w, T>> {
        self.acquire_within(Mode::Write, limit)?;
        Ok(WriteGuard { hold: Hold(Some(self)) })
    }

    /// Acquires the variable to write and replaces its data, whoever was lost with the version before.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    ///
    /// # Panics
    /// `value` has another length than the variable.
    pub fn restore(&mut self, value: &T) -> Result<()> {
        assert_eq!(value.as_bytes().len(), self.private.as_bytes().len(), "a shared variable keeps its length");
        self.core.settle()?;
        self.core.take(Mode::Write, Patience::Endless, self.private.as_bytes())?;
        self.private.as_mut_bytes().copy_from_slice(value.as_bytes());
        self.core.copies.replace_all();
        self.core.release(self.private.as_bytes())
    }

    /// Begins to bring the newest data that the home knows of, for the next acquiring; returns whether anything is on its way. Waits for
    /// nobody, and has no say in who comes next.
    ///
    /// What is brought counts only if it is still the newest when the variable is acquired. While the variable is handed from rank to rank
    /// the home does not know the newest.
    ///
    /// Cost: a round trip to the home; all of the data travels, while this rank goes on. Once, memory for a second copy.
    ///
    /// # Errors
    /// The home is lost; no memory is left; the job is at fault.
    pub fn prefetch(&mut self) -> Result<bool> {
        self.core.prefetch()
    }

    /// A wish to read the variable together with others, for [`acquire`](crate::acquire).
    pub fn to_read(&mut self) -> ToRead<'_, 'w, T> {
        ToRead(self)
    }

    /// A wish to write the variable together with others, for [`acquire`](crate::acquire).
    pub fn to_write(&mut self) -> ToWrite<'_, 'w, T> {
        ToWrite(self)
    }

    /// From now on, where it lies after this rank has held it. Ranks need not agree; it begins as [`Placement::Home`].
    ///
    /// Cost: a round trip to the home if the variable was kept here and is no longer to be; else nothing.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn place(&mut self, placement: Placement) -> Result<()> {
        self.core.member.keep(placement == Placement::Migrating)
    }

    /// By which all ranks order variables.
    pub(crate) fn order(&self) -> u64 {
        let first = Place { rank: Rank::new(0), word: 0 };
        self.core.member.memory.at(first).address().bits()
    }

    /// Who holds the words of the lock.
    pub fn home(&self) -> Rank {
        self.core.member.memory.home()
    }

    /// What the variable has cost this rank so far.
    pub fn statistics(&self) -> Statistics {
        let (waits, waited) = self.core.member.memory.waits();
        Statistics { waits, waited, ..self.core.statistics }
    }

    /// What the variable is and what it has cost, in a line for people.
    pub fn explain(&self) -> String {
        let (home, version, blocks) = (self.home(), self.core.copies.version(), self.core.copies.blocks());
        let bytes = self.core.copies.bytes();
        let held = match self.core.held {
            Held::Nothing => "",
            Held::ToRead(_) => ", held to read",
            Held::ToWrite(_) => ", held to write",
        };
        format!("{bytes} bytes in {blocks} blocks, home {home}, version {version} here{held}; {}", self.statistics())
    }

    fn acquire_within(&mut self, mode: Mode, limit: Duration) -> Result<()> {
        let until = self.core.member.memory.world().now() + limit;
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
        if self.core.held != Held::Nothing {
            self.core.settle()?;
        }
        if !self.core.take(mode, patience, self.private.as_bytes())? {
            return Ok(false);
        }
        self.core.bring(self.private.as_mut_bytes())?;
        Ok(true)
    }
}

impl Core<'_> {
    /// Acquires the lock; whether that was possible in time.
    #[inline]
    fn take(&mut self, mode: Mode, patience: Patience, private: &[u8]) -> Result<bool> {
        let Self { member, copies, statistics, .. } = self;
        let adopt = |edition: Edition| {
            let orphaned = member.memory.losses() > 0 && member.is_lost(edition.owner);
            if orphaned && copies.version() == edition.version {
                return copies.inherit(&member.memory, edition, private);
            }
            Ok(edition)
        };
        member.memory.attend();
        member.memory.forget_guess();
        member.memory.offer(Edition::default());
        let Some(taken) = member.take(mode, patience, adopt)? else { return Ok(false) };
        if taken.way != Way::Lay {
            // What came along was read before the token came.
            member.memory.forget_guess();
        }
        statistics.hand_overs += u64::from(taken.way == Way::Handed);
        statistics.kept += u64::from(taken.way == Way::Kept);
        self.held = match mode {
            Mode::Read => {
                statistics.reads += 1;
                Held::ToRead(taken.edition)
            }
            Mode::Write => {
                statistics.writes += 1;
                Held::ToWrite(taken.edition)
            }
        };
        Ok(true)
    }

    /// Brings the data of what was acquired; if that is lost, releases it.
    #[inline]
    fn bring(&mut self, private: &mut [u8]) -> Result<()> {
        let (Held::ToRead(edition) | Held::ToWrite(edition)) = self.held else { return Ok(()) };
        let words = &self.member.memory;
        if self.copies.version() == edition.version {
            words.doubt_guess();
            return Ok(());
        }
        let orphaned = words.losses() > 0 && self.member.is_lost(edition.owner);
        let brought = match orphaned {
            _ if words.take_parcel(edition, private) => {
                self.copies.has_come(edition);
                self.statistics.along += 1;
                Ok(private.len())
            }
            true => Err(Failure::PeerLost(edition.owner).into()),
            false if self.is_ahead(edition) => {
                self.take_over(edition, private)?;
                return Ok(());
            }
            false if words.take_guess(edition.owner, private) => {
                self.copies.has_come(edition);
                self.statistics.along += 1;
                Ok(private.len())
            }
            false => self.copies.bring(words, edition, private),
        };
        match brought {
            Ok(bytes) => {
                self.statistics.brought += 1;
                self.statistics.bytes += bytes as u64;
                Ok(())
            }
            Err(error) => {
                self.release(private)?;
                Err(error)
            }
        }
    }

    /// Begins to bring the newest data that the home knows of.
    fn prefetch(&mut self) -> Result<bool> {
        let words = &self.member.memory;
        let newest = words.load(self.member.at_home(newest(self.member.state().epoch)))?;
        let edition = Edition::of_word(newest);
        let unknown = edition.version == 0 || edition.version <= self.copies.version() || edition.owner == words.me();
        if unknown || self.member.is_lost(edition.owner) {
            return Ok(false);
        }
        if self.ahead.as_ref().is_none_or(|ahead| ahead.edition != edition) {
            let before = self.ahead.take();
            self.ahead = Some(Ahead::begin(words, before, edition, self.copies.words())?);
        }
        Ok(true)
    }

    /// Whether the data of an edition was brought ahead.
    fn is_ahead(&self, edition: Edition) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.edition == edition && ahead.copied.wait().is_ok())
    }

    #[cold]
    fn take_over(&mut self, edition: Edition, private: &mut [u8]) -> Result<()> {
        let Some(ahead) = &mut self.ahead else { return Ok(()) };
        self.copies.take_over(&self.member.memory, edition, ahead.landing.ptr(0), private)?;
        ahead.edition = Edition::default();
        self.statistics.ahead += 1;
        self.statistics.brought += 1;
        self.statistics.bytes += (self.copies.bytes() + self.copies.blocks() * size_of::<u64>()) as u64;
        Ok(())
    }

    /// Releases what is held, with what was written.
    #[inline]
    fn release(&mut self, private: &[u8]) -> Result<()> {
        match std::mem::replace(&mut self.held, Held::Nothing) {
            Held::Nothing => Ok(()),
            Held::ToRead(_) => self.member.leave(),
            Held::ToWrite(before) => {
                let published = self.publish(before, private);
                let edition = *published.as_ref().unwrap_or(&before);
                self.member.give(edition)?;
                published.map(drop)
            }
        }
    }

    /// Releases what a guard held that was forgotten, without what was written.
    #[cold]
    fn settle(&mut self) -> Result<()> {
        self.copies.discard();
        self.release(&[])
    }

    /// Releases what was written, and is a reader from then on.
    fn downgrade(&mut self, private: &[u8]) -> Result<()> {
        let Held::ToWrite(before) = self.held else { return Ok(()) };
        let published = self.publish(before, private);
        let edition = *published.as_ref().unwrap_or(&before);
        self.held = Held::ToRead(edition);
        self.member.downgrade(edition)?;
        published.map(drop)
    }

    /// Makes what was written a version of its own, if anything was.
    #[inline]
    fn publish(&mut self, before: Edition, private: &[u8]) -> Result<Edition> {
        self.copies.compare(private);
        if !self.copies.is_written() {
            return Ok(before);
        }
        let published = self.copies.publish(&self.member.memory, before, private);
        match &published {
            Ok(edition) => {
                self.member.commit(*edition);
                self.member.memory.offer(*edition);
            }
            Err(_) => self.copies.discard(),
        }
        published
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> Hold<'g, 'w, T> {
    #[inline(always)]
    fn shared(&self) -> &Shared<'w, T> {
        self.0.as_ref().expect("it is held")
    }

    #[inline(always)]
    fn shared_mut(&mut self) -> &mut Shared<'w, T> {
        self.0.as_mut().expect("it is held")
    }

    /// The variable, which is held on.
    fn keep(mut self) -> &'g mut Shared<'w, T> {
        self.0.take().expect("it is held")
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Drop for Hold<'_, '_, T> {
    #[inline]
    fn drop(&mut self) {
        // Who panics does not wait for others. It holds the variable on, as if the guard had been forgotten.
        let Some(Shared { core, private }) = self.0.take().filter(|_| !std::thread::panicking()) else { return };
        let _whoever_acquires_it_next_is_told = core.release(private.as_bytes());
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> ReadGuard<'g, 'w, T> {
    /// Releases the variable, and tells whether that went well; dropping the guard does the same and tells nobody.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn release(self) -> Result<()> {
        let Shared { core, private } = self.hold.keep();
        core.release(private.as_bytes())
    }

    /// Releases the variable and acquires it to write. Others may write in between: [`version`](Self::version) tells.
    ///
    /// # Errors
    /// As [`Shared::write`].
    pub fn upgrade(self) -> Result<WriteGuard<'g, 'w, T>> {
        let shared = self.hold.keep();
        shared.core.release(shared.private.as_bytes())?;
        shared.write()
    }

    /// The number of the version that is read; each that is written has a higher one.
    pub fn version(&self) -> u64 {
        self.hold.shared().core.copies.version()
    }
}

impl<'g, 'w, T: ?Sized + FromBytes + IntoBytes + Immutable> WriteGuard<'g, 'w, T> {
    /// Releases the variable, and tells whether that went well as far as is known; dropping the guard does the same and tells nobody. Where it
    /// takes messages they are posted: what comes of them is told by the next operation on the variable, or by
    /// [`quiet`](pelago_rma::Context::quiet) if that comes before.
    ///
    /// # Errors
    /// The home is lost; no version is left, and what was written is not released; the job is at fault.
    #[inline]
    pub fn release(self) -> Result<()> {
        let Shared { core, private } = self.hold.keep();
        core.release(private.as_bytes())
    }

    /// Releases the variable without what was written.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn abort(self) -> Result<()> {
        let Shared { core, private } = self.hold.keep();
        core.copies.discard();
        core.release(private.as_bytes())
    }

    /// Releases what was written and reads on; no other rank writes in between.
    ///
    /// # Errors
    /// As [`release`](Self::release).
    pub fn downgrade(self) -> Result<ReadGuard<'g, 'w, T>> {
        let shared = self.hold.keep();
        shared.core.downgrade(shared.private.as_bytes())?;
        Ok(ReadGuard { hold: Hold(Some(shared)) })
    }

    /// Releases the variable, sleeps until another rank [tells](Self::notify_one) that it has changed, and acquires it again. Who sleeps
    /// may be told for no reason, and is, when a rank is lost: what it waits for is to be looked at again, as
    /// [`wait_while`](Self::wait_while) does.
    ///
    /// Cost: two round trips to the home and one to the last that waits, before the variable is released.
    ///
    /// # Errors
    /// As [`release`](Self::release) and [`Shared::write`].
    pub fn wait(self) -> Result<Self> {
        self.sleep(Patience::Endless).map(|(guard, _)| guard)
    }

    /// As [`wait`](Self::wait), for at most `limit` until it is told; then whether it was. To acquire the variable again may take longer.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_within(self, limit: Duration) -> Result<(Self, bool)> {
        let until = self.hold.shared().core.member.memory.world().now() + limit;
        self.sleep(Patience::Until(until))
    }

    /// Waits to be told of changes as long as `condition` holds of the data.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_while(self, mut condition: impl FnMut(&T) -> bool) -> Result<Self> {
        let mut guard = self;
        while condition(&guard) {
            guard = guard.wait()?;
        }
        Ok(guard)
    }

    /// Tells the rank that has waited longest, if any does; whether one did. It goes on when it has acquired the variable.
    ///
    /// Cost: a round trip to the home if none waits, else up to four.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn notify_one(&mut self) -> Result<bool> {
        Ok(self.hold.shared().core.member.tell(false)? > 0)
    }

    /// Tells all ranks that wait; how many they were.
    ///
    /// Cost: two round trips to the home, and two to each that waits.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn notify_all(&mut self) -> Result<u32> {
        self.hold.shared().core.member.tell(true)
    }

    fn sleep(self, patience: Patience) -> Result<(Self, bool)> {
        let epoch = self.hold.shared().core.member.enlist()?;
        let shared = self.hold.keep();
        shared.core.release(shared.private.as_bytes())?;
        let told = shared.core.member.sleep(patience)?;
        let guard = shared.write()?;
        if !told {
            guard.hold.shared().core.member.withdraw(epoch)?;
        }
        Ok((guard, told))
    }

    /// The variable's bytes, to write, and what is to be told of that.
    pub(crate) fn bytes_mut(&mut self) -> (&mut [u8], &Copies) {
        let Shared { core, private } = self.hold.shared_mut();
        (private.as_mut_bytes(), &core.copies)
    }

    /// The number of the version that was acquired; what is written is the next.
    pub fn version(&self) -> u64 {
        self.hold.shared().core.copies.version()
    }
}

impl<U: FromBytes + IntoBytes + Immutable> WriteGuard<'_, '_, [U]> {
    /// Some of the elements, to write: of a long variable only the blocks where they lie travel later, where a dereference to write
    /// stands for all.
    ///
    /// # Panics
    /// The range reaches past the end.
    pub fn range_mut(&mut self, range: Range<usize>) -> &mut [U] {
        let Shared { core, private } = self.hold.shared_mut();
        let part = &mut private[range.clone()];
        core.copies.write(range.start * size_of::<U>()..range.end * size_of::<U>());
        part
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Deref for ReadGuard<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.hold.shared().private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> Deref for WriteGuard<'_, '_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.hold.shared().private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable> DerefMut for WriteGuard<'_, '_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        let Shared { core, private } = self.hold.shared_mut();
        core.copies.write_all(private.as_bytes());
        private
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable + fmt::Debug> fmt::Debug for ReadGuard<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + FromBytes + IntoBytes + Immutable + fmt::Debug> fmt::Debug for WriteGuard<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized> Drop for Shared<'_, T> {
    /// Releases what a guard held that was forgotten, without what was written, and tells the home if it was kept.
    fn drop(&mut self) {
        let Core { copies, held, .. } = &mut self.core;
        if *held != Held::Nothing && !std::thread::panicking() {
            copies.discard();
            let _whoever_acquires_it_next_is_told = self.core.release(&[]);
        }
        if !std::thread::panicking() {
            let _whoever_acquires_it_next_is_told = self.core.member.lay_down();
        }
    }
}
