//! Operations that are under way.

use std::num::NonZeroU32;

use pelago_base::Rank;
use pelago_platform::{Completion, Failure, Token};

use crate::work::Work;

/// The number of an operation in a list of one rank's.
pub(crate) type Link = Option<NonZeroU32>;

/// An operation that is under way.
pub(crate) struct Pending {
    pub(crate) earlier: Link,
    pub(crate) later: Link,
    pub(crate) rank: Rank,
    /// The rail that its poster has named.
    pub(crate) rail: Option<u8>,
    pub(crate) token: Token,
    pub(crate) work: Work,
    /// The fences before it, between its rank and its target; 0 for most.
    pub(crate) epoch: u32,
    pub(crate) result: Result<u64, Failure>,
    pub(crate) stage: Stage,
    /// Whether it stands in the list of those that wait for a fence.
    pub(crate) postponed: bool,
    /// Whether it has taken effect, and whether its initiator may know.
    pub(crate) effective: bool,
    pub(crate) done: bool,
    /// Whether its initiator knows that it has completed, and it only waits to be seen.
    pub(crate) told: bool,
    /// Of what a progress thread is asked for: whether one of its answer and the network's has come.
    pub(crate) heard: bool,
}

/// How far the network has brought an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    OnItsWay,
    AtSource,
    /// At its target before others see it.
    Ahead,
    AtTarget,
}

/// Operations by the number that the network calls them.
#[derive(Default)]
pub(crate) struct Operations {
    pub(crate) places: Vec<Option<Pending>>,
    free: Vec<u32>,
}

impl Operations {
    pub(crate) fn insert(&mut self, pending: Pending) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.places[number as usize] = Some(pending);
                number
            }
            None => {
                self.places.push(Some(pending));
                (self.places.len() - 1) as u32
            }
        }
    }

    pub(crate) fn get(&self, number: u32) -> &Pending {
        self.places[number as usize].as_ref().expect("the network names operations that it has")
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Pending {
        self.places[number as usize].as_mut().expect("the network names operations that it has")
    }

    pub(crate) fn remove(&mut self, number: u32) -> Pending {
        self.free.push(number);
        self.places[number as usize].take().expect("the network names operations that it has")
    }
}

/// Completions that nobody has fetched, of all ranks: few at a time, so that a rank has no room of its own for them.
#[derive(Default)]
pub(crate) struct Completions {
    places: Vec<(Completion, Link)>,
    free: Vec<u32>,
}

/// One rank's completions, oldest first.
#[derive(Default)]
pub(crate) struct Fetchable {
    first: Link,
    last: Link,
}

impl Completions {
    /// Adds one to those of a rank.
    pub(crate) fn add(&mut self, of: &mut Fetchable, completion: Completion) {
        let number = self.free.pop().unwrap_or(self.places.len() as u32);
        match self.places.get_mut(number as usize) {
            Some(place) => *place = (completion, None),
            None => self.places.push((completion, None)),
        }
        match of.last {
            Some(last) => self.places[last.get() as usize - 1].1 = link(number),
            None => of.first = link(number),
        }
        of.last = link(number);
    }

    /// Moves those of a rank; returns whether there were any.
    pub(crate) fn fetch(&mut self, of: &mut Fetchable, into: &mut Vec<Completion>) -> bool {
        let Fetchable { first: mut next, .. } = std::mem::take(of);
        let any = next.is_some();
        if any && into.capacity() == 0 {
            // Most are alone.
            into.reserve_exact(1);
        }
        while let Some(number) = next {
            let completion;
            (completion, next) = self.places[number.get() as usize - 1];
            into.push(completion);
            self.free.push(number.get() - 1);
        }
        any
    }
}

/// The link to an operation.
pub(crate) fn link(number: u32) -> Link {
    NonZeroU32::new(number + 1)
}
