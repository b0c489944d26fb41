//! The words of a lock in a model: operations of ranks take effect one at a time, posted operations later, and those of a lost rank at any later time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use corosensei::Yielder;
use pelago_base::{Instant, Rank};
use pelago_dsm::lock::{Change, LockMemory, Mode, Remembered, Version, WORDS, Waited, WordAddress};
use pelago_rma::{Failure, Result};

pub(crate) const HOME: u32 = 0;
/// A request of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Load(WordAddress),
    Store(WordAddress, u64),
    Swap(WordAddress, u64),
    CompareSwap(WordAddress, u64, u64),
    Add(WordAddress, u64),
    Raise(WordAddress, u64),
    /// Waits until the word differs from `seen`, or the rank notices a loss, or, unless it is patient, for any time.
    Block {
        word: usize,
        seen: u64,
        losses: usize,
        patient: bool,
    },
    /// Waits until the posted operations have taken effect.
    Settle,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Begin,
    Word(u64),
    Lost(Rank),
    Late,
}

/// The words, and the state that no rank in the model can see.
pub(crate) struct Model {
    pub(crate) words: Vec<u64>,
    pub(crate) ranks: u32,
    pub(crate) apart: bool,
    pub(crate) posts: bool,
    /// The posted operations of each rank that have not taken effect, in order.
    pub(crate) posted: Vec<VecDeque<Request>>,
    /// The version that each rank has posted, until the operations have taken effect.
    pub(crate) posting: Vec<Option<Version>>,
    /// For each rank that keeps the token, the first version that it has released and that no other rank knows.
    pub(crate) kept: Vec<Option<u64>>,
    /// The value that the last posted compare-swap of each rank has found; `None` if its target was unreachable.
    pub(crate) found: Vec<Option<u64>>,
    pub(crate) dead: Option<Rank>,
    pub(crate) noticed: Vec<bool>,
    /// The ranks that hold the lock, and their access.
    pub(crate) inside: Vec<(Rank, Mode)>,
    pub(crate) given: u64,
    pub(crate) made: u64,
    pub(crate) wrong: Option<String>,
    /// For each rank, the number of completed actions, and its state between calls.
    pub(crate) done: Vec<(usize, Remembered)>,
}

impl Model {
    pub(crate) fn word(&mut self, at: WordAddress) -> &mut u64 {
        &mut self.words[at.rank.index() * WORDS + at.word]
    }

    /// Makes an operation take effect.
    pub(crate) fn perform(&mut self, request: Request) -> u64 {
        match request {
            Request::Load(at) => *self.word(at),
            Request::Store(at, new) | Request::Swap(at, new) => std::mem::replace(self.word(at), new),
            Request::CompareSwap(at, expected, new) => {
                let word = self.word(at);
                let found = *word;
                *word = if found == expected { new } else { found };
                found
            }
            Request::Add(at, operand) => {
                let word = self.word(at);
                let found = *word;
                *word = found.wrapping_add(operand);
                found
            }
            Request::Raise(at, new) => {
                let word = self.word(at);
                let found = *word;
                *word = found.max(new);
                found
            }
            Request::Block { .. } | Request::Settle => 0,
        }
    }

    /// Makes the next posted operation of a rank take effect, unless its target is unreachable.
    pub(crate) fn arrive(&mut self, rank: u32) {
        let Some(request) = self.posted[rank as usize].pop_front() else { return };
        let reached = !self.apart || Self::target(request) != self.dead;
        self.found[rank as usize] = reached.then(|| self.perform(request));
        if self.posted[rank as usize].is_empty() {
            self.posting[rank as usize] = None;
        }
    }

    pub(crate) fn target(request: Request) -> Option<Rank> {
        match request {
            Request::Load(at)
            | Request::Store(at, _)
            | Request::Swap(at, _)
            | Request::CompareSwap(at, ..)
            | Request::Add(at, _)
            | Request::Raise(at, _) => Some(at.rank),
            _ => None,
        }
    }

    pub(crate) fn enter(&mut self, rank: Rank, mode: Mode, version: Version) {
        let others = self.inside.iter().any(|&(_, other)| mode == Mode::Write || other == Mode::Write);
        if others {
            self.wrong = Some(format!("rank {rank} enters to {mode:?} while {:?} are inside", self.inside));
        }
        if version.number < self.given || version.number > self.made {
            self.wrong = Some(format!("rank {rank} gets {version:?}; {} was given, {} made", self.given, self.made));
        }
        self.inside.push((rank, mode));
        (0..).zip(&mut self.kept).filter(|&(other, _)| rank != Rank::new(other)).for_each(|(_, kept)| *kept = None);
    }

    pub(crate) fn exit(&mut self, rank: Rank) {
        self.inside.retain(|&(other, _)| other != rank);
    }

    /// Removes the guarantee for versions of a dying rank whose release has not arrived.
    pub(crate) fn doubt(&mut self, rank: Rank) {
        if let Some(version) = self.posting[rank.index()].filter(|version| version.owner == rank) {
            self.given = self.given.min(version.number - 1);
        }
        if let Some(version) = self.kept[rank.index()] {
            self.given = self.given.min(version - 1);
        }
    }

    /// Records that a rank has released a version.
    pub(crate) fn give(&mut self, rank: Rank, version: Version, remembered: Remembered) {
        self.given = self.given.max(version.number);
        if remembered.2.is_some() {
            self.kept[rank.index()].get_or_insert(version.number);
        }
    }
}

/// A rank's access to the words of the model.
pub(crate) struct Reach<'y> {
    pub(crate) me: Rank,
    pub(crate) model: Rc<RefCell<Model>>,
    pub(crate) yielder: &'y Yielder<Answer, Request>,
}

impl Reach<'_> {
    fn ask(&self, request: Request) -> Result<u64> {
        match self.yielder.suspend(request) {
            Answer::Word(word) => Ok(word),
            Answer::Lost(rank) => Err(Failure::PeerLost(rank).into()),
            other => unreachable!("{other:?}"),
        }
    }

    fn mine(&self, word: usize) -> WordAddress {
        WordAddress { rank: self.me, word }
    }
}

impl LockMemory for Reach<'_> {
    fn me(&self) -> Rank {
        self.me
    }

    fn home(&self) -> Rank {
        Rank::new(HOME)
    }

    fn size(&self) -> u32 {
        self.model.borrow().ranks
    }

    fn lost(&self) -> Vec<Rank> {
        let model = self.model.borrow();
        model.dead.filter(|_| model.noticed[self.me.index()]).into_iter().collect()
    }

    fn losses(&self) -> usize {
        usize::from(self.model.borrow().noticed[self.me.index()])
    }

    fn load(&self, at: WordAddress) -> Result<u64> {
        self.ask(Request::Load(at))
    }

    fn store(&self, at: WordAddress, word: u64) -> Result<()> {
        self.ask(Request::Store(at, word)).map(drop)
    }

    fn swap(&self, at: WordAddress, word: u64) -> Result<u64> {
        self.ask(Request::Swap(at, word))
    }

    fn compare_swap(&self, at: WordAddress, expected: u64, new: u64) -> Result<u64> {
        self.ask(Request::CompareSwap(at, expected, new))
    }

    fn add(&self, at: WordAddress, operand: u64) -> Result<u64> {
        self.ask(Request::Add(at, operand))
    }

    fn post(&self, at: WordAddress, change: Change, then: usize, expected: u64, new: u64) -> Result<Option<u64>> {
        let (first, word) = match change {
            Change::Store(word) => (Request::Store(at, word), word),
            Change::Raise(word) => (Request::Raise(at, word), word),
        };
        let second = Request::CompareSwap(WordAddress { word: then, ..at }, expected, new);
        if !self.model.borrow().posts || at.rank == self.me {
            self.ask(first)?;
            return self.ask(second).map(Some);
        }
        let mut model = self.model.borrow_mut();
        let posted = &mut model.posted[self.me.index()];
        assert!(posted.is_empty(), "one release at a time is posted");
        posted.extend([first, second]);
        model.posting[self.me.index()] = Some(Version::of_word(word));
        Ok(None)
    }

    fn settle(&self) -> Result<Option<u64>> {
        self.ask(Request::Settle).map(Some)
    }

    fn own(&self, word: usize) -> u64 {
        self.ask(Request::Load(self.mine(word))).unwrap()
    }

    fn set_own(&self, word: usize, value: u64) {
        self.ask(Request::Store(self.mine(word), value)).unwrap();
    }

    fn change_own(&self, word: usize, expected: u64, new: u64) -> bool {
        self.ask(Request::CompareSwap(self.mine(word), expected, new)).unwrap() == expected
    }

    fn wait(&self, word: usize, until: Option<Instant>, is: &mut dyn FnMut(u64) -> bool) -> Result<Waited> {
        let losses = self.losses();
        loop {
            let seen = self.own(word);
            if is(seen) {
                return Ok(Waited::Seen(seen));
            }
            if self.losses() != losses {
                return Ok(Waited::Lost);
            }
            if self.yielder.suspend(Request::Block { word, seen, losses, patient: until.is_none() }) == Answer::Late {
                return Ok(Waited::Late);
            }
        }
    }
}
