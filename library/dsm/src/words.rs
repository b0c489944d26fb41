//! The words of a lock in the memory of the job.

use core::ops::Range;
use std::cell::{Cell, RefCell};

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{Error, Fault, Fetch, GlobalPtr, Handle, Result, Symmetric, World};
use zerocopy::IntoBytes;

use crate::memory::{Change, Memory, Place, Waited};
use crate::queue::lost_by;

/// The words of a lock, and what follows them.
pub(crate) struct Words<'w> {
    world: &'w World,
    words: Symmetric<'w, u64>,
    home: Rank,
    at_home: GlobalPtr<u64>,
    mine: GlobalPtr<u64>,
    /// Ranks that operations have failed on, and that the world may not have heard of yet.
    gone: RefCell<Vec<Rank>>,
    waited: Cell<Duration>,
    waits: Cell<u64>,
    posted: RefCell<Option<Posted<'w>>>,
    guess: RefCell<Option<Guess>>,
}

/// How often data must have lain where the token did before it is asked for with it.
const HITS_MIN: u32 = 2;

/// Short data that comes along with the answer of a swap, for the case that this brings the token, and the newest version lies there.
///
/// **B1** It is read after the swap. If the swap has brought the token, nobody writes from then on; so what was read is the newest version, if that
/// is the one of the rank where it was read.
struct Guess {
    /// Where the data lies among the words of each rank, and how many words it has.
    first: usize,
    words: usize,
    /// What has come.
    found: Vec<u64>,
    /// How often it would have served, one time after another.
    hits: u32,
    /// Where the token was looked for last.
    asked: Option<Rank>,
}

/// A change and a compare-swap that nobody has waited for yet.
struct Posted<'w> {
    rank: Rank,
    changed: Handle<'w>,
    swapped: Fetch<'w, u64>,
}

impl<'w> Words<'w> {
    /// Allocates them. Collective.
    pub(crate) fn new(world: &'w World, home: Rank, count: usize) -> Result<Self> {
        let words = world.alloc(count)?;
        let (at_home, mine) = (words.at(home, 0), words.at(world.rank(), 0));
        let (gone, waited, waits) = (RefCell::default(), Cell::new(Duration::ZERO), Cell::new(0));
        Ok(Self { world, words, home, at_home, mine, gone, waited, waits, posted: RefCell::default(), guess: RefCell::default() })
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    /// Data of so many words may come along with the token; it lies from that word on.
    pub(crate) fn guess(&self, first: usize, words: usize) {
        self.guess.replace(Some(Guess { first, words, found: Vec::with_capacity(words), hits: 0, asked: None }));
    }

    /// Nothing has come along, or nothing that counts.
    #[inline]
    pub(crate) fn forget_guess(&self) {
        if let Some(guess) = &mut *self.guess.borrow_mut() {
            guess.asked = None;
            guess.found.clear();
        }
    }

    /// Data would have been of no use.
    #[inline]
    pub(crate) fn doubt_guess(&self) {
        if let Some(guess) = &mut *self.guess.borrow_mut() {
            guess.hits = 0;
        }
    }

    /// The token is looked for at a rank: where the data lies there, if it is worth while to ask for it.
    #[inline]
    fn ask_guess(&self, rank: Rank) -> Range<usize> {
        let mut guess = self.guess.borrow_mut();
        let Some(guess) = guess.as_mut().filter(|_| !self.world.maps(rank)) else { return 0..0 };
        guess.asked = Some(rank);
        guess.found.clear();
        if guess.hits >= HITS_MIN { guess.first..guess.first + guess.words } else { 0..0 }
    }

    /// Takes the data of a rank, if it has come along with the token.
    pub(crate) fn take_guess(&self, owner: Rank, private: &mut [u8]) -> bool {
        let mut guess = self.guess.borrow_mut();
        let Some(guess) = &mut *guess else { return false };
        guess.hits = if guess.asked == Some(owner) { guess.hits.saturating_add(1) } else { 0 };
        let served = guess.hits > 0 && guess.found.len() == guess.words;
        if served {
            private.copy_from_slice(&guess.found.as_bytes()[..private.len()]);
        }
        served
    }

    /// How often this rank has waited, and for how long.
    pub(crate) fn waits(&self) -> (u64, Duration) {
        (self.waits.get(), self.waited.get())
    }

    /// Where a word lies.
    #[inline]
    pub(crate) fn at(&self, place: Place) -> GlobalPtr<u64> {
        match place.rank {
            rank if rank == self.home => self.at_home.add(place.word as u64),
            rank => self.words.at(rank, place.word),
        }
    }

    /// The last that was posted to a rank, if anything was.
    #[inline]
    fn posted_to(&self, rank: Rank) -> Option<Handle<'w>> {
        self.posted.borrow().as_ref().filter(|posted| posted.rank == rank).map(|posted| posted.swapped.handle())
    }

    #[inline]
    fn my(&self, word: usize) -> GlobalPtr<u64> {
        self.mine.add(word as u64)
    }

    /// Notes the rank on which an operation has failed.
    #[inline]
    pub(crate) fn noting<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.note(error);
        }
        result
    }

    #[cold]
    fn note(&self, error: &Error) {
        if let Some(rank) = lost_by(error)
            && !self.lost().contains(&rank)
        {
            self.gone.borrow_mut().push(rank);
        }
    }
}

impl Drop for Words<'_> {
    /// The memory is given back when nothing that this rank has posted comes to it any more.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ended_whether_well_or_not = self.settle();
        }
    }
}

impl Memory for Words<'_> {
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
    fn load(&self, at: Place) -> Result<u64> {
        self.noting(self.world.fetch(self.at(at)).and_then(|word| word.wait()))
    }

    #[inline]
    fn store(&self, at: Place, word: u64) -> Result<()> {
        self.noting(self.world.put(self.at(at), &[word]).and_then(|put| put.wait()))
    }

    #[inline]
    fn swap(&self, at: Place, word: u64) -> Result<u64> {
        self.noting(self.world.swap(self.at(at), word).and_then(|found| found.wait()))
    }

    #[inline]
    fn compare_swap(&self, at: Place, expected: u64, new: u64) -> Result<u64> {
        self.noting(self.world.compare_swap(self.at(at), expected, new).and_then(|found| found.wait()))
    }

    #[inline]
    fn add(&self, at: Place, operand: u64) -> Result<u64> {
        self.noting(self.world.fetch_add(self.at(at), operand).and_then(|found| found.wait()))
    }

    /// In one round trip, also with what was posted.
    #[inline]
    fn swap_then_load(&self, at: Place, word: u64, then: usize) -> Result<(u64, u64)> {
        let then = self.at(Place { word: then, ..at });
        let guessed = self.ask_guess(at.rank);
        let mut along = Vec::with_capacity(guessed.len());
        let both = || {
            let swapped = match self.posted_to(at.rank) {
                None => self.world.swap(self.at(at), word)?,
                Some(posted) => self.world.after(&posted).swap(self.at(at), word)?,
            };
            let before = swapped.handle();
            let loaded =
                if before.was_done_at_once() { self.world.fetch(then)? } else { self.world.after(&before).fetch(then)? };
            for word in guessed {
                along.push(self.world.after(&before).fetch(self.at(Place { word, ..at }))?);
            }
            Ok((swapped, loaded))
        };
        let issued = if self.world.maps(at.rank) { both() } else { self.world.together(both) };
        self.noting(issued.and_then(|(swapped, loaded)| {
            let found = (swapped.wait()?, loaded.wait()?);
            if let (Some(guess), false) = (&mut *self.guess.borrow_mut(), along.is_empty()) {
                for word in along {
                    guess.found.push(word.wait()?);
                }
            }
            Ok(found)
        }))
    }

    /// In one round trip.
    #[inline]
    fn store_then_compare_swap(&self, at: Place, word: u64, then: usize, expected: u64, new: u64) -> Result<u64> {
        let both = || {
            let (put, then) = (self.world.put(self.at(at), &[word])?, self.at(Place { word: then, ..at }));
            if put.was_done_at_once() {
                return self.world.compare_swap(then, expected, new)?.wait();
            }
            let swapped = self.world.after(&put).compare_swap(then, expected, new)?;
            let found = swapped.wait();
            // Else `quiet` would tell of its failure.
            put.wait()?;
            found
        };
        self.noting(both())
    }

    #[inline]
    fn post(&self, at: Place, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>> {
        let (rank, first, then) = (at.rank, self.at(at), self.at(Place { word: then, ..at }));
        let changed = || match change {
            Change::Store(word) => self.world.put(first, &[word]),
            Change::Raise(word) => self.world.max(first, word),
        };
        if self.world.maps(rank) {
            self.noting(changed())?;
            return self.noting(self.world.compare_swap(then, expected, new).and_then(|found| found.wait())).map(Some);
        }
        let both = || {
            let changed = changed()?;
            Ok((changed, self.world.after(&changed).compare_swap(then, expected, new)?))
        };
        let (changed, swapped) = self.noting(self.world.together(both))?;
        self.posted.replace(Some(Posted { rank, changed, swapped }));
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        let Some(Posted { changed, swapped, .. }) = self.posted.take() else { return Ok(None) };
        let found = swapped.wait();
        // Else `quiet` would tell of its failure.
        self.noting(changed.wait().and(found).map(Some))
    }

    #[inline]
    fn own(&self, word: usize) -> u64 {
        self.world.get(self.my(word)).expect("a rank reaches its own words")
    }

    #[inline]
    fn set_own(&self, word: usize, value: u64) {
        self.world.put(self.my(word), &[value]).expect("a rank reaches its own words");
    }

    #[inline]
    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool {
        let found = self.world.compare_swap(self.my(word), expected, new).and_then(|found| found.wait());
        found.expect("a rank reaches its own words") == expected
    }

    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited> {
        let found = self.own(word);
        if is(found) {
            return Ok(Waited::Seen(found));
        }
        let (world, words) = (self.world, self.words.local());
        let begun = world.now();
        let waited = match until {
            None => world.wait_until(words, word, is),
            Some(until) => world.wait_until_within(until - begun, words, word, is),
        };
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
