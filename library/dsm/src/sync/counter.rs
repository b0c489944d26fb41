//! A number that all ranks count up, and share out.

use core::ops::Range;

use pelago_base::Rank;
use pelago_rma::{Error, GlobalPtr, Result, Symmetric, World};

/// A number at a home, on which every operation is one remote atomic: for numbers of tasks, tickets, how many are ready.
///
/// Nobody waits for anybody, so that it has no guards; an operation takes effect once, at one moment.
///
/// ```
/// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
/// # use pelago_dsm::Counter;
/// let tasks = Counter::new(world, world.rank(), 0)?;
/// while let Some(some) = tasks.claim(16, 1000)? {
///     for task in some { /* each is of one rank only */ }
/// }
/// # Ok(())
/// # }
/// ```
pub struct Counter<'w> {
    world: &'w World,
    at: GlobalPtr<u64>,
    home: Rank,
    _word: Symmetric<'w, u64>,
}

impl<'w> Counter<'w> {
    /// A counter that begins as the home's `initial`. Collective; `home` is the same everywhere.
    ///
    /// # Errors
    /// As [`World::alloc`]; there is no such rank.
    pub fn new(world: &'w World, home: Rank, initial: u64) -> Result<Self> {
        if home.number() >= world.size() {
            return Err(Error::Invalid("the home of a counter must be a rank of the job"));
        }
        let word = world.alloc(1)?;
        let at = word.at(home, 0);
        if world.rank() == home {
            world.put(at, &[initial])?;
        }
        world.barrier()?;
        Ok(Self { world, at, home, _word: word })
    }

    /// Adds to the number, which wraps; returns what it was. Cost: a round trip to the home.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn add(&self, operand: u64) -> Result<u64> {
        self.world.fetch_add(self.at, operand)?.wait()
    }

    /// What the number is. Cost: a round trip to the home; a load there, so that a home that polls it in virtual time calls
    /// [`progress`](pelago_rma::Context::progress) as well.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn value(&self) -> Result<u64> {
        self.world.fetch(self.at)?.wait()
    }

    /// Replaces the number if it is as expected; returns what it was. Cost: a round trip to the home.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn compare_swap(&self, expected: u64, new: u64) -> Result<u64> {
        self.world.compare_swap(self.at, expected, new)?.wait()
    }

    /// Takes the next numbers below `end`, at most so many; `None` if all are taken. No number is taken twice, and the counter grows by
    /// `count` with each call that finds none, so that it is looked at first.
    ///
    /// Cost: two round trips to the home.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Panics
    /// `count` is 0.
    pub fn claim(&self, count: u64, end: u64) -> Result<Option<Range<u64>>> {
        assert!(count > 0, "nobody claims nothing");
        if self.value()? >= end {
            return Ok(None);
        }
        let start = self.add(count)?;
        Ok((start < end).then(|| start..end.min(start.saturating_add(count))))
    }

    /// Who holds the number.
    pub fn home(&self) -> Rank {
        self.home
    }
}
