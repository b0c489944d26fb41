//! The access of one thread to the memory of the job. The methods, by subject:
//!
//! | file | subject |
//! |---|---|
//! | here | rank and size, mapped memory, progress |
//! | `handle` | operations in flight |
//! | `ordering`, `chain` | fence, quiet, flush; operations after others, in chains and batches |
//! | `waiting`, `wait` | waiting for handles, values and conditions |
//! | `rails` | networks |
//! | `time` | clocks, and functions for simulations only |
//! | `threads` | other threads of the rank |
//! | `background` | work that progresses while this rank waits: operations of higher layers, active messages |
//! | `survival` | ranks that failed |
//! | `../operations` | put, get, copy, atomics, messages |
//! | `../memory` | allocation and registration |

pub(crate) mod background;
pub(crate) mod chain;
pub(crate) mod handle;
pub(crate) mod ordering;
pub(crate) mod rails;
mod survival;
pub(crate) mod threads;
mod time;
pub(crate) mod wait;
mod waiting;

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use pelago_base::{Counters, Duration, Instant, Rank, Topology};
use pelago_memory::Reach;
use pelago_platform::{Activity, Fault, Tally};

use self::background::Backgrounds;
use self::survival::Losses;
use self::wait::Pace;
use crate::Result;
use crate::buffer::Spare;
use crate::progress::engine::Engine;
use crate::progress::port::Port;
use crate::progress::record::{Audience, Terms};
use crate::progress::task::Task;
use crate::shared::Shared;

/// Maximum time for which a dropped context waits for its operations.
const DROP_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// The access of one thread to the memory of the job.
///
/// A context stays in its thread (it is not `Sync`), so that its operations need no lock while it is the only context;
/// [`context_factory`](Self::context_factory) creates contexts for other threads.
///
/// The fields that every wait reads come first, adjacent to each other: with a million simulated ranks, a context is never in a cache when its rank runs.
#[repr(C)]
pub struct Context {
    /// First, so that a transport is dropped before the memory that was lent to it (R2).
    /// Boxed, because a context may be moved and lies on its thread's stack, which can be small.
    engine: Box<RefCell<Engine>>,
    shared: Arc<Shared>,
    pace: Pace,
    /// Whether the engine may have something to do.
    pub(crate) busy: Cell<bool>,
    /// The counter that every wait reads is its first field.
    losses: Losses,
    pub(crate) reach: Reach,
    pub(crate) spare: RefCell<Spare>,
    /// Allocated with the first background object.
    background: OnceCell<Box<Backgrounds>>,
    /// The address of the last accumulation on mapped memory, and the number stored there.
    pub(crate) left: Cell<(u64, u64)>,
}

impl Context {
    pub(crate) fn new(shared: Arc<Shared>, port: Port) -> Self {
        shared.wait.note(Activity::Joins);
        Self {
            reach: shared.reach.clone(),
            pace: Pace::of(&shared),
            shared,
            busy: Cell::new(false),
            losses: Losses::default(),
            spare: RefCell::default(),
            background: OnceCell::new(),
            left: Cell::default(),
            engine: Box::new(RefCell::new(Engine::new(port))),
        }
    }

    /// This rank.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.shared.rank
    }

    /// Number of ranks of the job.
    #[inline]
    pub fn size(&self) -> u32 {
        self.shared.size
    }

    /// The location of each rank in the machine: its host; in a simulation the switches of a fat tree, or the coordinates in a torus.
    pub fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// All ranks of the job, in order.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        (0..self.size()).map(Rank::new)
    }

    /// Whether loads and stores reach the heaps of `rank`, so that operations on them complete before the call returns.
    #[inline]
    pub fn maps(&self, rank: Rank) -> bool {
        self.reach.holds(rank)
    }

    /// The known fault of the job.
    pub fn fault(&self) -> Option<Fault> {
        self.shared.wait.fault()
    }

    /// Returns the event counters, by [name](pelago_base::Event::name): the operations of this context that were not done by loads and stores, and their
    /// bytes; the number of deferred operations and of sleeps of this context; and the counters of the network, for all contexts of the rank:
    /// datagrams, retransmissions, refused datagrams.
    ///
    /// Cost: operations on mapped memory are not counted and have no cost. Each other operation takes two additions. The call copies an array of about 25
    /// words and takes the lock of the network.
    pub fn counters(&self) -> Counters {
        let mut counters = self.shared.wait.reports().map_or_else(Counters::default, |reports| reports.counters());
        counters.merge(&self.engine.borrow().counters());
        counters
    }

    /// The memory that loads and stores reach. Threads without a context may use it; accesses take effect immediately.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Makes progress: posts deferred operations, serves other ranks' requests under manual progress, and processes completions.
    /// Returns whether progress was made. Waiting calls make progress themselves.
    pub fn progress(&self) -> bool {
        let _inside = self.shared.inside();
        if self.shared.tolerates_peer_failures() {
            self.note_losses();
        }
        let mut engine = self.engine.borrow_mut();
        let moved = engine.progress(&self.shared);
        self.busy.set(!engine.is_idle() || engine.has_failures());
        drop(engine);
        if self.has_background() { self.advance_background() | moved } else { moved }
    }

    /// Whether operations of this context remain to be posted: they wait for room in the network, or for the end of operations before them. Only calls of this
    /// context that wait or make progress post them; a thread that waits in another context for a consequence of such an operation waits for ever, unless
    /// `progress` is called here meanwhile.
    ///
    /// Cost: no call of the transport.
    pub fn has_deferred(&self) -> bool {
        self.busy.get() && !self.engine.borrow().is_all_begun()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn engine(&self) -> &RefCell<Engine> {
        &self.engine
    }

    fn count_park(&self) -> Tally {
        let mut engine = self.engine.borrow_mut();
        engine.count_park();
        engine.take_tally()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.engine.borrow_mut().port().with(|transport| transport.next_deadline())
    }

    pub(crate) fn before_sleep(&self) {
        self.engine.borrow_mut().port().with(|transport| transport.before_sleep());
    }

    /// Passes an operation to the engine, as soon as the engine has room.
    pub(crate) fn submit(&self, terms: Terms, task: Task, audience: Audience) -> Result<u64> {
        let _inside = self.shared.inside();
        self.make_room(task.captured())?;
        self.busy.set(true);
        self.engine.borrow_mut().submit(&self.shared, terms, task, audience)
    }

    /// Waits until the engine can accept another operation that captures `bytes` bytes.
    #[inline]
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        if self.engine.borrow().has_room(bytes) { Ok(()) } else { self.await_room(bytes) }
    }

    #[cold]
    fn await_room(&self, bytes: usize) -> Result<()> {
        let left = self.engine.borrow().in_flight_for_room();
        self.block_until_left("room for an operation", left, None, || Ok(self.engine.borrow().has_room(bytes).then_some(())))
    }
}

impl Drop for Context {
    /// Waits for operations in flight, for a bounded time: an accepted operation takes effect even if the program does not wait for it.
    /// [`World::finish`](crate::World::finish) reports a failure that was not reported before.
    fn drop(&mut self) {
        if self.busy.get() && !std::thread::panicking() {
            let ended = self.drain(Some(DROP_LIMIT)).and_then(|()| self.tell_all());
            ended.unwrap_or_else(|error| self.shared.leave_behind(error));
        }
        let tally = self.engine.get_mut().take_tally();
        self.shared.tally(tally);
        self.engine.get_mut().port().leave();
        self.shared.wait.note(Activity::Leaves);
    }
}
