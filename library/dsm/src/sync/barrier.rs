//! A barrier of two phases: all ranks enter, and rank 0 permits them to go on.

use core::cell::Cell;

use pelago_base::Rank;
use pelago_rma::{Fault, Result, Symmetric, World};

/// Words of a cache line, so that each flag has its own.
const LINE: usize = 8;
/// The number of entries of all barriers so far: at rank 0.
const ENTERED: usize = 0;
/// The number of the last barrier that rank 0 has permitted: on every other rank.
const PERMITTED: usize = LINE;

/// The barrier of Fagus, `comm_sync` (paper C: Okuno et al., section 4.2): every rank sends SYNC_ENTRY to rank 0 and waits for SYNC_PERMIT of rank 0.
/// Both are words of eight bytes, which a machine with a path for small messages (AOTF on DIMMnet) sends by that path.
///
/// ```text
/// rank 1, 2, …                 rank 0
///    |-- SYNC_ENTRY: add 1 ------>|   waits for p − 1 more entries
///    |<-- SYNC_PERMIT: put n -----|   n: the number of the barrier
/// ```
///
/// Programs use [`World::barrier`], which has fewer consecutive messages and loads no single rank. This barrier serves comparisons with the paper,
/// and networks where small messages to one rank are cheap. `pelago run` and `pelago sim` time it as `barrier --algorithm entry-permit`.
///
/// Order: SYNC_ENTRY is an atomic. SYNC_PERMIT is a plain put to a word that is written once per barrier: rank 0 puts the number of a barrier only
/// after the receiver has entered that barrier, so after the receiver has seen the number before. So no earlier number is in transit.
///
/// A `SyncBarrier` belongs to the thread of its `World`, which is not `Sync`.
///
/// ```
/// # fn example(world: &pelago_rma::World) -> pelago_rma::Result<()> {
/// use pelago_dsm::SyncBarrier;
/// let barrier = SyncBarrier::new(world)?;
/// for _step in 0..10 {
///     // … puts to other ranks …
///     barrier.wait()?; // every rank sees all of them
/// }
/// # Ok(())
/// # }
/// ```
pub struct SyncBarrier<'w> {
    world: &'w World,
    words: Symmetric<'w, u64>,
    met: Cell<u64>,
}

impl<'w> SyncBarrier<'w> {
    /// Creates a barrier of all ranks of the job, with 128 bytes on each. Collective.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn new(world: &'w World) -> Result<Self> {
        Ok(Self { world, words: world.alloc(2 * LINE)?, met: Cell::new(0) })
    }

    /// Returns when every rank has called it; all puts before the call are then visible to all ranks. Collective.
    ///
    /// Cost, for p ranks: 2 (p − 1) messages of eight bytes. Rank 0: p − 1 puts. Other ranks: an atomic without a result, and a wait for two
    /// messages one after the other.
    ///
    /// # Errors
    /// - An operation whose handle the program has not waited for has failed; the job is at fault.
    /// - In a job that goes on without lost ranks ([`World::on_peer_lost`]): `PeerLost` with a lost rank, if not all ranks have entered. Every later
    ///   call then fails in the same way on all ranks, without a wait. A rank that was permitted before returns without an error, so that one rank may
    ///   succeed where another fails, as in every barrier.
    pub fn wait(&self) -> Result<()> {
        let Self { world, words, met } = self;
        world.quiet()?;
        met.set(met.get() + 1);
        let children = u64::from(world.size() - 1);
        if world.rank().number() == 0 {
            self.await_word(ENTERED, met.get() * children)?;
            for child in world.ranks().skip(1) {
                world.put(words.at(child, PERMITTED), &[met.get()])?;
            }
        } else {
            world.add(words.at(Rank::new(0), ENTERED), 1)?;
            self.await_word(PERMITTED, met.get())?;
        }
        Ok(())
    }

    /// Waits until a word of this rank has reached `enough`. It never does after the loss of a rank that has not entered.
    fn await_word(&self, index: usize, enough: u64) -> Result<()> {
        let world = self.world;
        let is_met = |word| word >= enough || world.losses() > 0;
        let found = world.wait_for_value("a barrier of two phases", None, self.words.local(), index, is_met)?;
        if found >= enough {
            return Ok(());
        }
        Err(Fault::PeerLost(world.lost()[0]).into())
    }
}
