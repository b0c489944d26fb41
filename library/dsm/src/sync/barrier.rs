//! A barrier of two phases: all enter, one permits.

use core::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{Result, Symmetric, World};

/// Words of a cache line, so that each flag has its own.
const LINE: usize = 8;
/// How many have entered, ever: at rank 0.
const ENTERED: usize = 0;
/// The last barrier that was permitted: on every other rank.
const PERMITTED: usize = LINE;

/// The barrier of Fagus (paper C, section 4.2): every rank sends SYNC_ENTRY to rank 0 and waits for its SYNC_PERMIT, both of them control
/// words that take no path of data.
///
/// [`World::barrier`] needs fewer steps one after another, and no rank that hears of all; this one is for comparison, and for networks where
/// small messages to one rank are cheap.
pub struct SyncBarrier<'w> {
    world: &'w World,
    words: Symmetric<'w, u64>,
    met: Cell<u64>,
}

impl<'w> SyncBarrier<'w> {
    /// Collective.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn new(world: &'w World) -> Result<Self> {
        Ok(Self { world, words: world.alloc(2 * LINE)?, met: Cell::new(0) })
    }

    /// Returns when every rank has called it; what each put before is visible to all after. Collective.
    ///
    /// Cost: rank 0: a put to every other rank. Others: an atomic, and a wait for two messages one after the other.
    ///
    /// # Errors
    /// An operation whose handle nobody waited for has failed; the job is at fault.
    pub fn wait(&self) -> Result<()> {
        let Self { world, words, met } = self;
        world.quiet()?;
        met.set(met.get() + 1);
        let children = u64::from(world.size() - 1);
        if world.rank().number() == 0 {
            world.wait_until(words.local(), ENTERED, |entered| entered >= met.get() * children)?;
            for child in world.ranks().skip(1) {
                world.put(words.at(child, PERMITTED), &[met.get()])?;
            }
        } else {
            world.add(words.at(Rank::new(0), ENTERED), 1)?;
            world.wait_until(words.local(), PERMITTED, |permitted| permitted >= met.get())?;
        }
        Ok(())
    }
}
