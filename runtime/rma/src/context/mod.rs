//! One thread's way to the memory of the job. Its methods, by subject:
//!
//! | file | subject |
//! |---|---|
//! | here | who it is, the memory that it maps, progress |
//! | `handle` | operations in flight |
//! | `ordering`, `chain` | fence, quiet, flush; operations after others, in chains and batches |
//! | `waiting`, `wait` | waiting for handles, values and conditions |
//! | `rails` | networks |
//! | `time` | clocks, and what only a simulation knows |
//! | `threads` | other threads of the rank |
//! | `background` | what goes on while this rank waits: operations of other layers, active messages |
//! | `survival` | ranks that failed |
//! | `../operations` | put, get, copy, atomics, messages |
//! | `../memory` | allocation and registration |

pub(crate) mod background;
pub(crate) mod chain;
pub(crate) mod handle;
mod ordering;
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
use pelago_platform::{Activity, Fault};

use self::background::Backgrounds;
use self::survival::Losses;
use self::wait::{Pace, Whom};
use crate::Result;
use crate::buffer::Spare;
use crate::progress::engine::Engine;
use crate::progress::port::Port;
use crate::progress::record::{Audience, Terms};
use crate::progress::task::Task;
use crate::shared::Shared;

/// How long a context that is dropped waits for its operations.
const DROP_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// One thread's way to the memory of the job.
///
/// It stays in its thread (it is not `Sync`), so that nothing it does needs a lock while it is the only one; [`context_factory`](Self::context_factory)
/// makes more for other threads.
///
/// What every wait reads comes first, together: of a million simulated ranks, none finds its context in a cache.
#[repr(C)]
pub struct Context {
    /// First, so that a transport is dropped before the memory that it was lent (R2).
    /// Apart, as a context may be moved and stands on its thread's stack, which can be small.
    engine: Box<RefCell<Engine>>,
    shared: Arc<Shared>,
    pace: Pace,
    /// Whether the engine may have something to do.
    pub(crate) busy: Cell<bool>,
    /// Its count comes first.
    losses: Losses,
    pub(crate) reach: Reach,
    pub(crate) spare: RefCell<Spare>,
    /// Made with the first of them.
    background: OnceCell<Box<Backgrounds>>,
    /// The place of the last accumulation on mapped memory, and the number that it left there.
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

    /// This process.
    #[inline]
    pub fn rank(&self) -> Rank {
        self.shared.rank
    }

    /// How many ranks the job has.
    #[inline]
    pub fn size(&self) -> u32 {
        self.shared.size
    }

    /// Where the ranks of the job are in its machine: its hosts; in a simulation the switches of a fat tree, or the coordinates in a torus.
    pub fn topology(&self) -> &Topology {
        &self.shared.topology
    }

    /// All ranks of the job, in order.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        (0..self.size()).map(Rank::new)
    }

    /// Whether loads and stores reach the heaps of `rank`, so that operations on them are done when the call returns.
    #[inline]
    pub fn maps(&self, rank: Rank) -> bool {
        self.reach.holds(rank)
    }

    /// What is known to be wrong with the job.
    pub fn fault(&self) -> Option<Fault> {
        self.shared.wait.fault()
    }

    /// What has happened, by [name](pelago_base::Event::name): the operations of this context that were not done by loads and stores and their bytes,
    /// how often one was deferred and how often this context slept; and what the network counts, for all contexts of the rank:
    /// datagrams, those that left again, those that were refused.
    ///
    /// Cost: operations on mapped memory are not counted and pay nothing. Others pay two additions. The call copies an array of some 25 words and takes
    /// the lock of the network.
    pub fn counters(&self) -> Counters {
        let mut counters = self.shared.wait.reports().map_or_else(Counters::default, |reports| reports.counters());
        counters.merge(&self.engine.borrow().counters());
        counters
    }

    /// The memory that loads and stores reach. Threads that have no context may use it, and what is done there is done at once.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Lets the library move: posts what could not be posted, serves other ranks' requests with manual progress, and takes in what completed.
    /// Returns whether anything moved. Waiting calls do this by themselves.
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

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn engine(&self) -> &RefCell<Engine> {
        &self.engine
    }

    fn count_park(&self) -> [u64; 2] {
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

    /// Hands an operation to the engine, when there is room.
    pub(crate) fn submit(&self, terms: Terms, task: Task, audience: Audience) -> Result<u64> {
        let _inside = self.shared.inside();
        self.make_room(task.captured())?;
        self.busy.set(true);
        self.engine.borrow_mut().submit(&self.shared, terms, task, audience)
    }

    /// Waits until the engine can take another operation that keeps so many bytes.
    #[inline]
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        if self.engine.borrow().has_room(bytes) { Ok(()) } else { self.await_room(bytes) }
    }

    #[cold]
    fn await_room(&self, bytes: usize) -> Result<()> {
        self.block("room for an operation", Whom::Operations, None, || Ok(self.engine.borrow().has_room(bytes).then_some(())))
    }
}

impl Drop for Context {
    /// Waits for what is in flight, for a bounded time: an operation that was accepted takes effect though nobody waits for it. A failure that
    /// nobody was told of is left to [`World::finish`](crate::World::finish).
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
