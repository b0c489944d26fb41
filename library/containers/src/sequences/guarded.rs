//! Containers that several ranks change, one at a time.

use pelago_base::{Duration, GlobalAddress, Rank};
use pelago_rma::{Error, Failure, GlobalPtr, Result, World};

use crate::GlobalHeap;
use crate::memory::words_at;

/// Initial pause of a rank that waits for the change of another rank. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(2);
/// Maximum pause between two checks.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1);

/// A container that several ranks may change, one at a time: a vector, a deque, a list, or several of them that are changed together.
///
/// A word in global memory names the rank that changes it. A waiting rank polls this word with pauses from 2 µs to 1 ms; the order of waiting ranks is
/// not defined. A read that may be concurrent with a change must also use [`change`](Self::change).
///
/// ```
/// # use pelago_containers::{GlobalDeque, GlobalHeap, Guarded};
/// # use pelago_base::{GlobalAddress, Rank};
/// # use pelago_rma::{Result, World};
/// # fn example(world: &World) -> Result<()> {
/// let heap = GlobalHeap::new(world, 1 << 16)?;
/// let mut addresses = [0; 2];
/// if world.rank().number() == 0 {
///     let jobs = GlobalDeque::<u64>::new(&heap, Rank::new(0), 16)?;
///     addresses = [jobs.address(), Guarded::new(&heap, Rank::new(0), jobs)?.address()].map(GlobalAddress::bits);
/// }
/// world.broadcast(Rank::new(0), &mut addresses)?;
/// let [jobs, guard] = addresses.map(GlobalAddress::from_bits);
/// let jobs = Guarded::open(&heap, guard, GlobalDeque::<u64>::open(&heap, jobs)?)?;
/// jobs.change(|jobs| jobs.push_back(7))?;                       // on any rank, at any time
/// let first = jobs.change(|jobs| jobs.pop_front())?;
/// # Ok(())
/// # }
/// ```
pub struct Guarded<'h, 'w, C> {
    heap: &'h GlobalHeap<'w>,
    /// One more than the number of the rank that changes the container; 0 if none does.
    owner: GlobalPtr<u64>,
    container: C,
}

impl<'h, 'w, C> Guarded<'h, 'w, C> {
    /// Guards a container by a word on `rank`. From now on each rank changes it only by [`change`](Self::change).
    ///
    /// Cost: an allocation.
    ///
    /// # Errors
    /// As [`GlobalHeap::allocate`].
    pub fn new(heap: &'h GlobalHeap<'w>, rank: Rank, container: C) -> Result<Self> {
        let owner = words_at(heap.allocate(rank, 8)?.bits())?;
        heap.world().put(owner, &[0])?.wait()?;
        Ok(Self { heap, owner, container })
    }

    /// Opens the same container on another rank, by the address of the word that guards it.
    ///
    /// # Errors
    /// The address is null.
    pub fn open(heap: &'h GlobalHeap<'w>, at: GlobalAddress, container: C) -> Result<Self> {
        Ok(Self { heap, owner: words_at(at.bits())?, container })
    }

    /// The address of the word, for other ranks.
    pub fn address(&self) -> GlobalAddress {
        self.owner.address()
    }

    /// Changes the container while no other rank does; the rank that changes it next sees the complete change.
    ///
    /// Cost: that of `act`, a `quiet`, and two round trips, with one more for each poll while other ranks change the container.
    ///
    /// # Errors
    /// As `act`, after which others may change the container; this rank is changing it already; a rank was lost while it changed the container, and the
    /// change may be incomplete; the job is at fault.
    ///
    /// # Panics
    /// As `act`. If the program catches the panic and continues, the container stays reserved by this rank, and other ranks wait for it.
    pub fn change<R>(&self, act: impl FnOnce(&C) -> Result<R>) -> Result<R> {
        self.begin()?;
        let begun = self.world().mark();
        let done = act(&self.container);
        // Completes the change before other ranks see the word. An earlier failure of the program must not replace the result of the change.
        let settled = self.world().quiet_since(begun);
        self.world().swap(self.owner, 0)?.wait()?;
        let result = done?;
        settled.map(|()| result)
    }

    /// Frees the word; returns the container.
    ///
    /// # Errors
    /// The rank of the word was lost, or the job is at fault.
    pub fn destroy(self) -> Result<C> {
        self.heap.free(self.owner.address())?;
        Ok(self.container)
    }

    fn begin(&self) -> Result<()> {
        let (world, mine) = (self.world(), u64::from(self.world().rank()) + 1);
        let mut pause = PAUSE_MIN;
        loop {
            let found = world.compare_swap(self.owner, 0, mine)?.wait()?;
            if found == 0 {
                return Ok(());
            }
            if found == mine {
                return Err(Error::Invalid("this rank is changing the container already"));
            }
            let owner = Rank::new((found - 1) as u32);
            if world.lost().contains(&owner) {
                return Err(Failure::PeerLost(owner).into());
            }
            match world.wait_for("another rank's change of a container", Some(pause), || Ok(None::<()>)) {
                Err(Error::TimedOut { .. }) => {}
                other => other.map(|_| ())?,
            }
            pause = (pause + pause).min(PAUSE_MAX);
        }
    }

    fn world(&self) -> &'w World {
        self.heap.world()
    }
}
