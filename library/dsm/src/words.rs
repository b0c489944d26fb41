//! The words of a lock in the memory of the job.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{Ordering, fence};

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{Error, Fault, Fetch, GlobalPtr, Handle, Result, Symmetric, World};

use crate::memory::{Change, Memory, Place, Waited};
use crate::queue::lost_by;
use crate::word::Edition;

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
    parcel: RefCell<Option<Parcel<'w>>>,
    /// Whether there are ranks that reach this one by messages.
    is_apart: bool,
    acquired: Cell<u32>,
}

/// How often a rank that acquires looks for messages, which takes as long as a few acquirings without one.
const LOOK_EVERY: u32 = 64;

/// How often data must have lain where the token did before it is asked for with it.
const HITS_MIN: u32 = 2;

/// Data that comes along with the answer of a swap, for the case that this brings the token, and the newest version lies there.
///
/// **B1** It is read after the swap. If the swap has brought the token, nobody writes from then on; so what was read is the newest version, if that
/// is the one of the rank where it was read.
struct Guess {
    /// Where the data lies among the words of each rank, where it comes to, and how many words it has.
    data: usize,
    landing: usize,
    words: usize,
    /// Whether it has come.
    came: bool,
    /// How often it would have served, one time after another.
    hits: u32,
    /// Where the token was looked for last.
    asked: Option<Rank>,
}

/// Words that are put at once, few enough to travel in a datagram with others.
const PIECE_WORDS: usize = 120;

/// What a rank does to its own words.
const OWN: &str = "a rank reaches its own words";

/// Data that travels with the token to a rank that waits for it.
///
/// **B2** It is put after the stamp was taken away, and the stamp after it. So what lies there is the version that the stamp tells, if it
/// tells the same before it was read and afterwards.
struct Parcel<'w> {
    /// Where the stamp and then the data arrive, among the words of each rank.
    stamp: usize,
    data: usize,
    /// Where a rank's own version lies.
    own: usize,
    /// The version that goes along: this rank has written it since it got the token.
    edition: Edition,
    /// What is sent, and what nobody has waited for yet.
    words: Vec<u64>,
    sent: Vec<Handle<'w>>,
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
        let (posted, guess, parcel) = (RefCell::default(), RefCell::default(), RefCell::default());
        let (is_apart, acquired) = (world.ranks().any(|rank| !world.maps(rank)), Cell::new(0));
        Ok(Self { world, words, home, at_home, mine, gone, waited, waits, posted, guess, parcel, is_apart, acquired })
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    /// Data of so many words may come along with the token: it lies from the word `data` on, and comes to `landing`.
    pub(crate) fn guess(&self, data: usize, landing: usize, words: usize) {
        self.guess.replace(Some(Guess { data, landing, words, came: false, hits: 0, asked: None }));
    }

    /// Nothing has come along, or nothing that counts.
    #[inline]
    pub(crate) fn forget_guess(&self) {
        if let Some(guess) = &mut *self.guess.borrow_mut() {
            (guess.asked, guess.came) = (None, false);
        }
    }

    /// Data would have been of no use.
    #[inline]
    pub(crate) fn doubt_guess(&self) {
        if let Some(guess) = &mut *self.guess.borrow_mut() {
            guess.hits = 0;
        }
    }

    /// Has data come along from a rank where the token is looked for, after `swapped`, if that is worth while.
    fn ask_guess(&self, rank: Rank, swapped: &Handle<'w>) -> Result<Option<Handle<'w>>> {
        let mut guess = self.guess.borrow_mut();
        let Some(guess) = guess.as_mut().filter(|_| !self.world.maps(rank)) else { return Ok(None) };
        (guess.asked, guess.came) = (Some(rank), false);
        if guess.hits < HITS_MIN {
            return Ok(None);
        }
        let data = self.at(Place { rank, word: guess.data });
        self.world.after(swapped).copy(data, self.my(guess.landing), guess.words).map(Some)
    }

    /// Takes the data of a rank, if it has come along with the token.
    pub(crate) fn take_guess(&self, owner: Rank, private: &mut [u8]) -> bool {
        let mut guess = self.guess.borrow_mut();
        let Some(guess) = &mut *guess else { return false };
        guess.hits = if guess.asked == Some(owner) { guess.hits.saturating_add(1) } else { 0 };
        let served = guess.hits > 0 && guess.came;
        if served {
            self.read_own(guess.landing, private);
        }
        served
    }

    /// Reads bytes from this rank's own words.
    fn read_own(&self, word: usize, into: &mut [u8]) {
        let from = self.my(word).cast().expect("bytes are aligned anywhere");
        self.world.get_into(from, into).expect(OWN);
    }

    /// Data of so many words may travel with the token: it lies from the word `own` on, and arrives behind its stamp.
    pub(crate) fn parcel(&self, own: usize, stamp: usize, words: usize) {
        let (data, edition) = (stamp + 1, Edition::default());
        self.parcel.replace(Some(Parcel { stamp, data, own, edition, words: vec![0; words], sent: Vec::new() }));
    }

    /// What this rank has published is the version that goes along with the token; none if that of no data.
    #[inline]
    pub(crate) fn offer(&self, edition: Edition) {
        if let Some(parcel) = &mut *self.parcel.borrow_mut() {
            parcel.edition = edition;
        }
    }

    /// Takes the data of an edition, if it has come with the token.
    pub(crate) fn take_parcel(&self, edition: Edition, private: &mut [u8]) -> bool {
        let parcel = self.parcel.borrow();
        let Some(parcel) = parcel.as_ref().filter(|parcel| self.own(parcel.stamp) == edition.word()) else { return false };
        self.read_own(parcel.data, private);
        fence(Ordering::Acquire);
        self.own(parcel.stamp) == edition.word()
    }

    /// Sends the data that goes along with this word to a rank; the last of it, if there is any.
    fn send_parcel(&self, rank: Rank, word: u64) -> Result<Option<Handle<'w>>> {
        let mut parcel = self.parcel.borrow_mut();
        let Some(Parcel { stamp, data, own, words, sent, .. }) =
            parcel.as_mut().filter(|parcel| parcel.edition.version > 0 && parcel.edition.word() == word)
        else {
            return Ok(None);
        };
        self.world.get_into(self.my(*own), words).expect(OWN);
        let at = |word| self.at(Place { rank, word });
        let mut last = self.world.put(at(*stamp), &[0])?;
        sent.push(last);
        for (piece, words) in words.chunks(PIECE_WORDS).enumerate() {
            last = self.world.after(&last).put(at(*data + piece * PIECE_WORDS), words)?;
            sent.push(last);
        }
        last = self.world.after(&last).put(at(*stamp), &[word])?;
        sent.push(last);
        Ok(Some(last))
    }

    /// Waits for all data that was sent.
    fn wait_for_parcel(&self) -> Result<()> {
        let mut ended = Ok(());
        for handle in self.parcel.borrow_mut().iter_mut().flat_map(|parcel| parcel.sent.drain(..)) {
            ended = ended.and(handle.wait());
        }
        ended
    }

    /// The rank acquires something. It may do so again and again without a message; so it looks now and then whether others ask for what
    /// lies here.
    #[inline]
    pub(crate) fn attend(&self) {
        let acquired = self.acquired.get().wrapping_add(1);
        self.acquired.set(acquired);
        if self.is_apart && acquired.is_multiple_of(LOOK_EVERY) {
            self.world.progress();
        }
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
        let both = || {
            let swapped = match self.posted_to(at.rank) {
                None => self.world.swap(self.at(at), word)?,
                Some(posted) => self.world.after(&posted).swap(self.at(at), word)?,
            };
            let before = swapped.handle();
            let loaded =
                if before.was_done_at_once() { self.world.fetch(then)? } else { self.world.after(&before).fetch(then)? };
            let along = self.ask_guess(at.rank, &before);
            Ok((swapped, loaded, along))
        };
        let issued = if self.world.maps(at.rank) { both() } else { self.world.batch(both) };
        self.noting(issued.and_then(|(swapped, loaded, along)| {
            // Each is waited for, whatever becomes of the others: else `quiet` would tell of its failure.
            let came = along.and_then(|along| along.map(Handle::wait).transpose());
            let (swapped, loaded) = (swapped.wait(), loaded.wait());
            let found = (swapped?, loaded?);
            if let (Some(guess), Some(())) = (&mut *self.guess.borrow_mut(), came?) {
                guess.came = true;
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
            let changed = match change {
                Change::Store(word) if let Some(last) = self.send_parcel(rank, word)? => {
                    self.world.after(&last).put(first, &[word])?
                }
                _ => changed()?,
            };
            Ok((changed, self.world.after(&changed).compare_swap(then, expected, new)?))
        };
        let (changed, swapped) = match self.world.batch(both) {
            Ok(issued) => issued,
            Err(error) => {
                let _of_what_was_issued_before = self.wait_for_parcel();
                return self.noting(Err(error));
            }
        };
        self.posted.replace(Some(Posted { rank, changed, swapped }));
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        let Some(Posted { changed, swapped, .. }) = self.posted.take() else { return Ok(None) };
        let found = swapped.wait();
        // Else `quiet` would tell of their failure.
        let ended = self.wait_for_parcel();
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
