//! How two ranks that both ask for a link find each other, without waiting.
//!
//! The end that sends writes a *letter*: some words of its own memory, whose address it puts at the head of the list that begins in the
//! receiver's letterbox. The end that receives takes the whole list, keeps what it does not expect yet, and answers the letter with the address
//! of its own words. From then on each knows where the other's words are.
//!
//! Links of one kind between two ranks, in one direction, are matched in the order in which each side asked for them.

pub(crate) mod channel;
pub(crate) mod segments;

use std::collections::HashMap;

use pelago::{CellSlice, Context, GlobalAddress, GlobalPtr, Individual, Rank, Result, Symmetric};
use pelago_memory::Cells;

use crate::refusal::Refusal;

/// Words of a letter: the next in the list, what it asks for, two numbers that both ends must agree on, the answer, how far the receiver is,
/// and whether it has left.
const NEXT: usize = 0;
const WANTED: usize = 1;
const SHAPE: usize = 2;
const ANSWER: usize = 4;
const PROGRESS: usize = 5;
const LEFT: usize = 6;
const LETTER_WORDS: usize = 7;

/// Words of a receiver's memory: how much has come, and whether the sender has left; then what is sent.
const HAS_LEFT: usize = 1;
pub(crate) const COME: usize = 0;
pub(crate) const BLOCK_WORDS: usize = 2;

/// The answer to a letter whose numbers are not the receiver's.
const MISMATCH: u64 = u64::MAX;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Channel,
    SegmentBuffer,
}

/// What this rank knows of links that are not joined yet.
pub(crate) struct Post {
    letterbox: Symmetric<'static, u64>,
    /// Letters that came before their link was asked for here, one for each link that another rank has asked for.
    early: HashMap<(Kind, Rank, u64), GlobalAddress>,
    /// How many links of each kind this rank has asked for: to a rank, and from it.
    asked: HashMap<(Kind, Rank, bool), u64>,
}

/// The end of a link that sends.
pub(crate) struct Outlet {
    letter: Individual<'static, u64>,
    pub(crate) peer: Rank,
}

/// The end of a link that receives.
pub(crate) struct Inlet {
    block: Individual<'static, u64>,
    pub(crate) peer: Rank,
    kind: Kind,
    number: u64,
    shape: [u64; 2],
    /// The sender's words, when its letter has come.
    letter: Option<GlobalPtr<u64>>,
}

/// Whether two ends are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined<T> {
    NotYet,
    /// They do not fit together, and never will be.
    Never,
    With(T),
}

impl Post {
    pub(crate) fn new(letterbox: Symmetric<'static, u64>) -> Self {
        Self { letterbox, early: HashMap::new(), asked: HashMap::new() }
    }

    /// Asks for a link to `peer`.
    pub(crate) fn outlet(
        &mut self,
        context: &'static Context,
        kind: Kind,
        peer: Rank,
        shape: [u64; 2],
    ) -> Result<Outlet, Refusal> {
        let letter = context.alloc_individual::<u64>(LETTER_WORDS)?;
        letter.local().write(WANTED, &[wanted(kind, self.number(kind, peer, true)), shape[0], shape[1]]);
        let (letterbox, address) = (self.letterbox.at(peer, 0), letter.ptr(0).address().bits());
        let mut head = context.get(letterbox)?;
        loop {
            letter.local().store(NEXT, head);
            let found = context.compare_swap(letterbox, head, address)?.wait()?;
            if found == head {
                return Ok(Outlet { letter, peer });
            }
            head = found;
        }
    }

    /// Asks for a link from `peer`, which is to write to `words` words here.
    pub(crate) fn inlet(
        &mut self,
        context: &'static Context,
        kind: Kind,
        peer: Rank,
        shape: [u64; 2],
        words: usize,
    ) -> Result<Inlet, Refusal> {
        let block = context.alloc_individual::<u64>(BLOCK_WORDS + words)?;
        let number = self.number(kind, peer, false);
        Ok(Inlet { block, peer, kind, number, shape, letter: None })
    }

    /// Takes the letters that have come.
    pub(crate) fn collect(&mut self, context: &Context) -> Result<()> {
        if self.letterbox.local().load(0) == 0 {
            return Ok(());
        }
        let mut next = context.swap(self.letterbox.at(context.rank(), 0), 0)?.wait()?;
        while next != 0 {
            let letter = GlobalPtr::<u64>::from_address(GlobalAddress::from_bits(next))?;
            let mut words = [0; 2];
            context.get_into(letter, &mut words)?;
            let from = context.reach().addresses().rank(letter.address());
            let kind = if words[WANTED] & 1 == 0 { Kind::Channel } else { Kind::SegmentBuffer };
            self.early.insert((kind, from, words[WANTED] >> 1), letter.address());
            next = words[NEXT];
        }
        Ok(())
    }

    /// The next number of a link of this kind with `peer`.
    fn number(&mut self, kind: Kind, peer: Rank, is_sent: bool) -> u64 {
        let asked = self.asked.entry((kind, peer, is_sent)).or_default();
        *asked += 1;
        *asked
    }
}

fn wanted(kind: Kind, number: u64) -> u64 {
    number << 1 | u64::from(kind == Kind::SegmentBuffer)
}

impl Outlet {
    /// The receiver's words.
    pub(crate) fn joined(&self) -> Result<Joined<GlobalPtr<u64>>> {
        Ok(match self.letter.local().load(ANSWER) {
            0 => Joined::NotYet,
            MISMATCH => Joined::Never,
            address => Joined::With(GlobalPtr::from_address(GlobalAddress::from_bits(address))?),
        })
    }

    /// The word in which the receiver says how far it is.
    pub(crate) fn progress(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.letter).range(PROGRESS..PROGRESS + 1)
    }

    /// Whether the receiver has left.
    pub(crate) fn is_left(&self) -> bool {
        self.letter.local().load(LEFT) != 0
    }

    /// Tells the receiver that nothing comes any more.
    pub(crate) fn leave(&self, context: &'static Context, block: GlobalPtr<u64>) -> Result<()> {
        context.after_all().put(block.add(HAS_LEFT as u64), &[1]).map(drop)
    }
}

impl Inlet {
    /// The sender's words: where to say how far this end is.
    pub(crate) fn joined(&mut self, post: &mut Post, context: &Context) -> Result<Joined<GlobalPtr<u64>>> {
        if self.letter.is_none() {
            let Some(at) = post.early.remove(&(self.kind, self.peer, self.number)) else { return Ok(Joined::NotYet) };
            let letter = GlobalPtr::<u64>::from_address(at)?;
            let mut shape = [0; 2];
            context.get_into(letter.add(SHAPE as u64), &mut shape)?;
            let fits = shape == self.shape;
            let answer = if fits { self.block.ptr(0).address().bits() } else { MISMATCH };
            context.put(letter.add(ANSWER as u64), &[answer])?;
            // A letter that was refused is remembered as null.
            self.letter = Some(letter);
            self.shape = if fits { shape } else { [MISMATCH; 2] };
        }
        Ok(match self.letter {
            Some(_) if self.shape == [MISMATCH; 2] => Joined::Never,
            Some(letter) => Joined::With(letter.add(PROGRESS as u64)),
            None => Joined::NotYet,
        })
    }

    /// The words that the sender writes.
    pub(crate) fn block(&self, context: &'static Context) -> CellSlice<'static, u64> {
        own(context, &self.block)
    }

    /// Whether the sender has left.
    pub(crate) fn is_left(&self) -> bool {
        self.block.local().load(HAS_LEFT) != 0
    }

    /// Tells the sender that nothing is taken any more.
    pub(crate) fn leave(&self, context: &'static Context) -> Result<()> {
        let Some(letter) = self.letter else { return Ok(()) };
        context.after_all().put(letter.add(LEFT as u64), &[1]).map(drop)
    }
}

/// Words of this rank, whose memory stays mapped as long as the job.
fn own(context: &'static Context, words: &Individual<'static, u64>) -> CellSlice<'static, u64> {
    let cells: Option<Cells<'static>> = context.reach().cells(words.ptr(0).address(), 8 * words.len() as u64);
    cells.and_then(Cells::elements).expect("own memory is mapped, and aligned to words")
}
