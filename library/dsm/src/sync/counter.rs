//! A number that all ranks increment, and from which they claim ranges.

use core::ops::Range;

use pelago_base::Rank;
use pelago_rma::{Error, GlobalPtr, Result, Symmetric, World};

/// A number at a home, on which every operation is one remote atomic: for task numbers, tickets, counts of ready ranks.
///
/// No rank waits for another, so it has no guards. Each operation is atomic.
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
    /// Creates a counter with the home's `initial` as its first value. Collective; `home` is the same on all ranks.
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
        world.meet()?;
        Ok(Self { world, at, home, _word: word })
    }

    /// Adds to the number, which wraps; returns the previous value. Cost: a round trip to the home.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    pub fn add(&self, operand: u64) -> Result<u64> {
        self.world.fetch_add(self.at, operand)?.wait()
    }

    /// Returns the number. Cost: a round trip to the home. At the home it is a load, so a home that polls it in virtual time must also call
    /// [`progress`](pelago_rma::Context::progress).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn value(&self) -> Result<u64> {
        self.world.fetch(self.at)?.wait()
    }

    /// Replaces the number if it equals `expected`; returns the previous value. Cost: a round trip to the home.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn compare_swap(&self, expected: u64, new: u64) -> Result<u64> {
        self.world.compare_swap(self.at, expected, new)?.wait()
    }

    /// Claims up to `count` of the next numbers below `end`; `None` if all are claimed. No number is claimed twice. The call reads the number
    /// before it adds `count`, so that calls that find none do not let the number grow.
    ///
    /// Cost: two round trips to the home; more if `end` is so large that the additions of all ranks could pass 2⁶⁴ and ranks claim at the same time.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    ///
    /// # Panics
    /// `count` is 0.
    pub fn claim(&self, count: u64, end: u64) -> Result<Option<Range<u64>>> {
        assert!(count > 0, "nobody claims nothing");
        loop {
            let first = self.value()?;
            if first >= end {
                return Ok(None);
            }
            let count = count.min(end - first);
            // All ranks may add at the same time: the number must not wrap, as it would then be claimed again.
            let all = count.checked_mul(self.world.size().into()).and_then(|all| end.checked_add(all));
            if all.is_some() {
                let start = self.add(count)?;
                return Ok((start < end).then(|| start..end.min(start + count)));
            }
            if self.compare_swap(first, first + count)? == first {
                return Ok(Some(first..first + count));
            }
        }
    }

    /// The rank that holds the number.
    pub fn home(&self) -> Rank {
        self.home
    }
}
