//! The words of a lock in the memory of the job, read and changed by remote atomics.

use std::cell::{Cell, RefCell};

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{Error, Fault, Fetch, GlobalPtr, Handle, Result, Symmetric, World};

use super::memory::{Change, LockMemory, Waited, WordAddress};
use super::piggyback::{Piggyback, TokenPrefetch};
use super::queue::lost_rank;

/// The words of a lock, and the words of its data.
pub(crate) struct RemoteWords<'w> {
    world: &'w World,
    words: Symmetric<'w, u64>,
    home: Rank,
    at_home: GlobalPtr<u64>,
    mine: GlobalPtr<u64>,
    /// Ranks to which operations have failed, and whose loss the world may not know yet.
    gone: RefCell<Vec<Rank>>,
    waited: Cell<Duration>,
    waits: Cell<u64>,
    posted: RefCell<Option<Posted<'w>>>,
    pub(super) prefetch: RefCell<Option<TokenPrefetch>>,
    pub(super) piggyback: RefCell<Option<Piggyback<'w>>>,
    /// Whether some ranks reach this one by messages only.
    is_apart: bool,
    acquired: Cell<u32>,
}

/// Number of acquires between two calls of `progress`, which takes as long as a few acquires without a message.
const PROGRESS_EVERY: u32 = 64;

/// Message of operations on a rank's own words, which cannot fail.
pub(super) const OWN: &str = "a rank reaches its own words";

/// A posted change and compare-swap that were not waited for yet.
struct Posted<'w> {
    rank: Rank,
    changed: Handle<'w>,
    swapped: Fetch<'w, u64>,
}

impl<'w> RemoteWords<'w> {
    /// Allocates the words. Collective.
    pub(crate) fn new(world: &'w World, home: Rank, count: usize) -> Result<Self> {
        let words = world.alloc(count)?;
        let (at_home, mine) = (words.at(home, 0), words.at(world.rank(), 0));
        let (gone, waited, waits) = (RefCell::default(), Cell::new(Duration::ZERO), Cell::new(0));
        let (posted, prefetch, piggyback) = (RefCell::default(), RefCell::default(), RefCell::default());
        let (is_apart, acquired) = (world.ranks().any(|rank| !world.maps(rank)), Cell::new(0));
        Ok(Self { world, words, home, at_home, mine, gone, waited, waits, posted, prefetch, piggyback, is_apart, acquired })
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    /// Makes progress at each 64th acquire: a rank may acquire repeatedly without a message, while others request the token that it keeps.
    #[inline]
    pub(crate) fn progress_sometimes(&self) {
        let acquired = self.acquired.get().wrapping_add(1);
        self.acquired.set(acquired);
        if self.is_apart && acquired.is_multiple_of(PROGRESS_EVERY) {
            self.world.progress();
        }
    }

    /// The number of waits of this rank and their total time.
    pub(crate) fn waits(&self) -> (u64, Duration) {
        (self.waits.get(), self.waited.get())
    }

    /// The address of a word.
    #[inline]
    pub(crate) fn at(&self, place: WordAddress) -> GlobalPtr<u64> {
        match place.rank {
            rank if rank == self.home => self.at_home.add(place.word as u64),
            rank => self.words.at(rank, place.word),
        }
    }

    /// The handle of the last operation that was posted to a rank.
    #[inline]
    fn posted_to(&self, rank: Rank) -> Option<Handle<'w>> {
        self.posted.borrow().as_ref().filter(|posted| posted.rank == rank).map(|posted| posted.swapped.handle())
    }

    #[inline]
    pub(super) fn my(&self, word: usize) -> GlobalPtr<u64> {
        self.mine.add(word as u64)
    }

    /// Passes a result through; records the lost rank of an error, if the job goes on without it.
    #[inline]
    pub(crate) fn noting<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.note(error);
        }
        result
    }

    #[cold]
    fn note(&self, error: &Error) {
        if let Some(rank) = lost_rank(error)
            && self.world.goes_on_without_lost_ranks()
            && !self.lost().contains(&rank)
        {
            self.gone.borrow_mut().push(rank);
        }
    }
}

impl Drop for RemoteWords<'_> {
    /// Waits for the posted operations, so that none of them reaches the memory after it is freed.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ended_whether_well_or_not = self.settle();
        }
    }
}

impl LockMemory for RemoteWords<'_> {
    #[inline]
    fn me(&self) -> Rank {
        self.world.rank()
    }

    #[inline]
    fn home(&self) -> Rank {
        self.home
    }

    fn size(&self) -> u32 {
        self.world.size()
    }

    fn lost(&self) -> Vec<Rank> {
        let mut lost = self.world.lost();
        let gone = self.gone.borrow();
        lost.extend(gone.iter().filter(|rank| !lost.contains(rank)).copied().collect::<Vec<_>>());
        lost
    }

    #[inline]
    fn losses(&self) -> usize {
        if self.gone.borrow().is_empty() { self.world.losses() } else { self.lost().len() }
    }

    #[inline]
    fn load(&self, at: WordAddress) -> Result<u64> {
        self.noting(self.world.fetch(self.at(at)).and_then(|word| word.wait()))
    }

    #[inline]
    fn store(&self, at: WordAddress, word: u64) -> Result<()> {
        self.noting(self.world.put(self.at(at), &[word]).and_then(|put| put.wait()))
    }

    #[inline]
    fn swap(&self, at: WordAddress, word: u64) -> Result<u64> {
        self.noting(self.world.swap(self.at(at), word).and_then(|found| found.wait()))
    }

    #[inline]
    fn compare_swap(&self, at: WordAddress, expected: u64, new: u64) -> Result<u64> {
        self.noting(self.world.compare_swap(self.at(at), expected, new).and_then(|found| found.wait()))
    }

    #[inline]
    fn add(&self, at: WordAddress, operand: u64) -> Result<u64> {
        self.noting(self.world.fetch_add(self.at(at), operand).and_then(|found| found.wait()))
    }

    /// In one round trip, also with the posted operations.
    #[inline]
    fn swap_then_load(&self, at: WordAddress, word: u64, then: usize) -> Result<(u64, u64)> {
        let then = self.at(WordAddress { word: then, ..at });
        let both = || {
            let swapped = match self.posted_to(at.rank) {
                None => self.world.swap(self.at(at), word)?,
                Some(posted) => self.world.after(&posted).swap(self.at(at), word)?,
            };
            let before = swapped.handle();
            let loaded =
                if before.was_done_at_once() { self.world.fetch(then)? } else { self.world.after(&before).fetch(then)? };
            let prefetched = self.prefetch_after(at.rank, &before);
            Ok((swapped, loaded, prefetched))
        };
        let issued = if self.world.maps(at.rank) { both() } else { self.world.batch(both) };
        self.noting(issued.and_then(|(swapped, loaded, prefetched)| {
            // Waits for each operation, also if another has failed: otherwise `quiet` would report the failure.
            let came = prefetched.and_then(|handle| handle.map(Handle::wait).transpose());
            let (swapped, loaded) = (swapped.wait(), loaded.wait());
            let found = (swapped?, loaded?);
            if came?.is_some() {
                self.prefetch_arrived();
            }
            Ok(found)
        }))
    }

    /// In one round trip.
    #[inline]
    fn store_then_compare_swap(&self, at: WordAddress, word: u64, then: usize, expected: u64, new: u64) -> Result<u64> {
        let both = || {
            let (put, then) = (self.world.put(self.at(at), &[word])?, self.at(WordAddress { word: then, ..at }));
            if put.was_done_at_once() {
                return self.world.compare_swap(then, expected, new)?.wait();
            }
            let swapped = self.world.after(&put).compare_swap(then, expected, new)?;
            let found = swapped.wait();
            // Otherwise `quiet` would report its failure.
            put.wait()?;
            found
        };
        self.noting(both())
    }

    #[inline]
    fn post(&self, at: WordAddress, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>> {
        let (rank, first, then) = (at.rank, self.at(at), self.at(WordAddress { word: then, ..at }));
        let changed = || match change {
            Change::Store(word) => self.world.put(first, &[word]),
            Change::Raise(word) => self.world.max(first, word),
        };
        if self.world.maps(rank) {
            self.noting(changed())?;
            return self.noting(self.world.compare_swap(then, expected, new).and_then(|found| found.wait())).map(Some);
        }
        let both = || {
            let piggybacked = match change {
                Change::Store(word) => self.send_piggyback(rank, word)?.map(|last| (last, word)),
                Change::Raise(_) => None,
            };
            let changed = match piggybacked {
                Some((last, word)) => self.world.after(&last).put(first, &[word])?,
                None => changed()?,
            };
            Ok((changed, self.world.after(&changed).compare_swap(then, expected, new)?))
        };
        let (changed, swapped) = match self.world.batch(both) {
            Ok(issued) => issued,
            Err(error) => {
                let _of_what_was_issued_before = self.wait_for_piggyback();
                return self.noting(Err(error));
            }
        };
        self.posted.replace(Some(Posted { rank, changed, swapped }));
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        let Some(Posted { changed, swapped, .. }) = self.posted.take() else { return Ok(None) };
        let found = swapped.wait();
        // Otherwise `quiet` would report their failure.
        let ended = self.wait_for_piggyback();
        self.noting(changed.wait().and(ended).and(found).map(Some))
    }

    #[inline]
    fn own(&self, word: usize) -> u64 {
        self.world.get(self.my(word)).expect(OWN)
    }

    #[inline]
    fn set_own(&self, word: usize, value: u64) {
        self.world.put(self.my(word), &[value]).expect(OWN);
    }

    #[inline]
    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool {
        let found = self.world.compare_swap(self.my(word), expected, new).and_then(|found| found.wait());
        found.expect(OWN) == expected
    }

    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited> {
        let found = self.own(word);
        if is(found) {
            return Ok(Waited::Seen(found));
        }
        let (world, words) = (self.world, self.words.local());
        let begun = world.now();
        let waited = world.wait_for_value("the lock of a shared variable", until.map(|until| until - begun), words, word, is);
        self.waits.set(self.waits.get() + 1);
        self.waited.set(self.waited.get() + (world.now() - begun));
        match waited {
            Ok(value) => Ok(Waited::Seen(value)),
            Err(Error::TimedOut { .. }) => Ok(Waited::Late),
            Err(Error::Fault(Fault::PeerLost(_))) if world.fault().is_none() => Ok(Waited::Lost),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use pelago_rma::Failure;
    use pelago_simulator::{FaultInjection, simulate};
    use pelago_test_support::faulty::{run_with_death, settings};
    use pelago_test_support::threads::{Platform, run};

    use super::*;
    use crate::lock::{STATE, WORDS};

    /// In a job that goes on; in one that ends, no lock is recovered.
    #[test]
    fn a_rank_that_an_operation_has_failed_on_is_lost_before_the_world_knows() {
        run(Platform::Mapped, 3, |world| {
            let words = RemoteWords::new(world, Rank::new(0), WORDS).unwrap();
            let failed = |rank| words.noting::<()>(Err(Failure::PeerLost(Rank::new(rank)).into()));
            failed(1).unwrap_err();
            assert_eq!((words.lost(), words.losses()), (vec![], 0));
            world.on_peer_lost(|_| {});
            for (rank, lost) in [(1, &[1][..]), (1, &[1]), (2, &[1, 2])] {
                assert_eq!(failed(rank), Err(Failure::PeerLost(Rank::new(rank)).into()));
                assert_eq!(words.lost(), lost.iter().copied().map(Rank::new).collect::<Vec<_>>());
                assert_eq!(words.losses(), lost.len());
            }
            assert_eq!(world.losses(), 0);
            world.barrier().unwrap();
        });
    }

    #[test]
    fn a_loss_ends_a_wait() {
        const VICTIM: Rank = Rank::new(1);
        let dies = Instant::ZERO + Duration::from_milliseconds(2);
        run_with_death(2, FaultInjection::default(), (VICTIM, Some(dies)), |world, _| {
            world.on_peer_lost(|_| {});
            let words = RemoteWords::new(world, Rank::new(0), WORDS)?;
            if world.rank() == VICTIM {
                world.compute(Duration::from_milliseconds(20));
            } else {
                assert_eq!(words.wait(STATE, None, &mut |word| word != 0), Ok(Waited::Lost));
            }
            Ok(())
        });
    }

    #[test]
    fn a_loss_that_the_job_does_not_go_on_without_fails_a_wait() {
        const VICTIM: Rank = Rank::new(1);
        let dies = Instant::ZERO + Duration::from_milliseconds(2);
        let announced_after = Some(Duration::from_microseconds(200));
        let ended = simulate(
            &settings(2, 1, FaultInjection { deaths: vec![(VICTIM, dies)], announced_after, ..FaultInjection::default() }),
            |parts| -> Result<()> {
                let world = World::new(*parts)?;
                let words = RemoteWords::new(&world, Rank::new(0), WORDS)?;
                if world.rank() == VICTIM {
                    world.compute(Duration::from_milliseconds(20));
                } else {
                    let waited = words.wait(STATE, None, &mut |word| word != 0);
                    assert_eq!(waited, Err(Fault::PeerLost(VICTIM).into()));
                }
                Ok(())
            },
        );
        assert_eq!(ended.unwrap().results[0], Some(Ok(())));
    }
}
