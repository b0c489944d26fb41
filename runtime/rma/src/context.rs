//! One thread's way to the memory of the job.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use pelago_base::{Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_memory::{GlobalPtr, Reach};
use pelago_platform::{Activity, Capabilities, Fault, Rail};

use crate::buffer::Spare;
use crate::chain::{Chain, Ordered, Terms};
use crate::engine::Engine;
use crate::handle::Handle;
use crate::order::After;
use crate::port::{ContextFactory, Port};
use crate::record::Audience;
use crate::shared::Shared;
use crate::survival::Losses;
use crate::task::Task;
use crate::wait::Pace;
use crate::{Error, Result};

/// How long a context that is dropped waits for its operations.
const DROP_LIMIT: Duration = Duration::from_milliseconds(10_000);

/// One thread's way to the memory of the job.
///
/// It stays in its thread (it is not `Sync`), so that nothing it does needs a lock while it is the only one; [`context_factory`](Self::context_factory)
/// makes more for other threads.
pub struct Context {
    /// First, so that a transport is dropped before the memory that it was lent (R2).
    /// Apart, as a context may be moved and stands on its thread's stack, which can be small.
    engine: Box<RefCell<Engine>>,
    pub(crate) reach: Reach,
    shared: Arc<Shared>,
    pub(crate) pace: Pace,
    /// Whether the engine may have something to do.
    pub(crate) busy: Cell<bool>,
    pub(crate) losses: Losses,
    pub(crate) spare: RefCell<Spare>,
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

    /// All ranks of the job, in order.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = Rank> + use<> {
        (0..self.size()).map(Rank::new)
    }

    /// Whether loads and stores reach the heaps of `rank`, so that operations on them are done when the call returns.
    #[inline]
    pub fn maps(&self, rank: Rank) -> bool {
        self.reach.holds(rank)
    }

    /// The networks by which this rank reaches others, by their numbers, and what operations cost on each. The first is the memory of the
    /// host where that is mapped.
    pub fn rails(&self) -> Vec<Capabilities> {
        self.engine.borrow_mut().port().with(|transport| transport.network().rails().to_vec())
    }

    /// The rail that operations on `rank` take by themselves.
    pub fn rail_to(&self, rank: Rank) -> Rail {
        self.engine.borrow_mut().port().with(|transport| transport.network().rail_to(rank))
    }

    /// Whether operations on `rank` may go by `rail`; by [all of them](Self::all_rails), if two lead there.
    pub fn reaches(&self, rail: Rail, rank: Rank) -> bool {
        rank.number() < self.size() && self.engine.borrow_mut().leads(rail, rank)
    }

    /// All rails at once, under a number of their own, after that of the last; `None` where there is one rail.
    ///
    /// By it a put, get or copy of 4096 bytes or more goes by all rails that lead there, in parts as the bytes per second that
    /// [`rails`](Self::rails) has of each: one block is cut, several are dealt out. It is one operation with one handle: it has ended when all parts
    /// have, and what comes [`after`](Self::after) it, or after a [`fence`](Self::fence), comes after all of them. Whatever is shorter, and
    /// atomics, go by the rail that is best.
    ///
    /// Cost: an operation of the transport for each part. Nothing follows a parted operation before it has ended.
    ///
    /// ```
    /// # use pelago_base::Rank;
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>, values: &[u64], rank: Rank) -> Result<()> {
    /// let all = context.all_rails().filter(|&all| context.reaches(all, rank));
    /// let put = context.on(all.unwrap_or(context.rail_to(rank))).put(data, values)?;
    /// context.after(&put).put(flag, &[1])?.wait()
    /// # }
    /// ```
    pub fn all_rails(&self) -> Option<Rail> {
        self.engine.borrow().joint()
    }

    /// Whether `rail` is the memory that an address lies in.
    pub(crate) fn is_mapped_by(&self, rail: Rail, at: GlobalAddress) -> bool {
        let rank = self.reach.addresses().rank(at);
        self.reach.holds(rank) && self.rail_to(rank) == rail
    }

    /// Operations that go by `rail` and no other: a copy is asked for by it of the owner of its source.
    ///
    /// Nothing orders what goes by one rail and what goes by another, [`fence`](Self::fence) included, but [`after`](Self::after) and completion.
    ///
    /// Cost: by the rail that is best nothing; by another to memory that is mapped an operation of the transport.
    ///
    /// # Errors
    /// Of each operation: the rail does not lead to the rank that it is posted to.
    pub fn on(&self, rail: Rail) -> Ordered<'_> {
        Ordered::new(self, Some(After::Nothing)).on(rail)
    }

    /// The present moment; virtual time in a simulation.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Lets `duration` of computing pass: in virtual time the clock moves on; on a real machine computing takes its own time, and nothing
    /// happens. It says how long a part of the program takes on the machine that is simulated.
    pub fn compute(&self, duration: Duration) {
        if let Some(time) = self.shared.virtual_time() {
            time.compute(duration);
        }
    }

    /// As [`compute`](Self::compute), for as long as the machine that is simulated takes to gather blocks of so many bytes into one piece, or to
    /// scatter them: for whoever packs what is to travel.
    pub fn gathered(&self, bytes: u64) {
        if let Some(time) = self.shared.virtual_time() {
            time.gather(bytes);
        }
    }

    /// Whether transfers move what they are given. `false` in a simulation that was asked for sizes only (`pelago sim --data sizes`): a put, get
    /// or copy of more than 64 bytes between two ranks takes its time there and leaves the memory of both ends as it was; shorter ones,
    /// atomics and collective operations are as ever.
    ///
    /// A program that is told so must neither check nor compute with what such transfers bring. One that never asks gets
    /// [`Error::SizesOnly`] from its first.
    pub fn moves_data(&self) -> bool {
        self.shared.moves_data()
    }

    /// What is known to be wrong with the job.
    pub fn fault(&self) -> Option<Fault> {
        self.shared.wait.fault()
    }

    /// How often an operation of this context was deferred and how often it slept. What passes through a transport is counted there.
    pub fn counters(&self) -> Counters {
        self.engine.borrow().counters()
    }

    /// A maker of contexts for other threads. From the first call on, contexts meet at a lock when they use a transport; the path to
    /// mapped memory stays free of it.
    pub fn context_factory(&self) -> ContextFactory {
        ContextFactory::new(self.engine.borrow_mut().port().share(), self.shared.clone())
    }

    /// Whether other threads of this rank may use contexts. In a simulation ranks are coroutines of one thread, and none other may.
    pub fn takes_threads(&self) -> bool {
        self.shared.policy.takes_threads
    }

    /// Waits for something that is no part of the library, for as long as `wait` does. Meanwhile this thread is none of those that use the
    /// library: if all others wait, it is a deadlock, though this one may go on.
    pub fn blocking_region<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.shared.wait.note(Activity::Leaves);
        let _back = Back(self);
        wait()
    }

    /// Operations that take effect after the one of `handle`, whichever ranks either concerns.
    #[inline]
    pub fn after<'c>(&'c self, handle: &Handle<'_>) -> Ordered<'c> {
        let after = match handle.parts() {
            None => Some(After::Nothing),
            Some((context, id)) => std::ptr::eq(context, self).then_some(After::One(id)),
        };
        Ordered::new(self, after)
    }

    /// Operations that take effect after all that this context issued before.
    ///
    /// Such an operation has no effect if one before it fails while it waits. If one has failed already that nobody was told of, the call reports
    /// it as [`quiet`](Self::quiet) does, also if it is one that brings a word.
    pub fn after_all(&self) -> Ordered<'_> {
        Ordered::new(self, Some(After::All))
    }

    /// A sequence of operations, each of which takes effect after the one before.
    pub fn chain(&self) -> Chain<'_> {
        Chain::new(self)
    }

    /// Issues several operations at once. Those that go to one rank leave in one message where the network allows it, which spares a message each;
    /// ordered ones as well.
    ///
    /// ```
    /// # use pelago_rma::{Context, GlobalPtr, Result};
    /// # fn example(context: &Context, data: GlobalPtr<u64>, flag: GlobalPtr<u64>) -> Result<u64> {
    /// let both = context.batch(|| {
    ///     let put = context.put(data, &[7])?;
    ///     context.after(&put).swap(flag, 1)
    /// })?;
    /// both.wait()
    /// # }
    /// ```
    ///
    /// Cost: a call of the transport, unless all ranks are mapped.
    pub fn batch<T>(&self, issue: impl FnOnce() -> T) -> T {
        if self.shared.is_all_mapped() {
            return issue();
        }
        let _held = Held::new(self);
        issue()
    }

    fn hold(&self, held: bool) {
        self.engine.borrow_mut().hold(&self.shared, held);
    }

    /// Orders operations per target and rail: those issued before take effect there before those issued after. One by
    /// [all rails](Self::all_rails) is on each.
    ///
    /// What fails at its target does not hold back what comes behind the fence: for that, order it [`after`](Self::after) the operation.
    ///
    /// Cost: nothing if nothing is in flight; waits where no transport can order what comes next.
    ///
    /// # Errors
    /// An operation is known to have failed that nobody was told of, as by [`quiet`](Self::quiet); the job is at fault.
    #[inline]
    pub fn fence(&self) -> Result<()> {
        if self.busy.get() { self.fence_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context has taken effect, and orders them before every later one, loads included.
    ///
    /// **Each failure is reported once, unless its handle reports it.** A failed operation is untold until its handle says so or a call of
    /// this context reports it: `quiet`, [`fence`](Self::fence), [`flush`](Self::flush), [`flush_all`](Self::flush_all), a barrier, or the
    /// issue of an operation [`after_all`](Self::after_all). Such a call returns the untold failure of the operation that was issued first,
    /// and all that are untold at that moment count as told by it: the next such call succeeds, if nothing fails in between. A
    /// [`Fetch`](crate::Fetch) that is still there reports its own failure, to which these calls come only when it is dropped unasked, and not
    /// if it only reads. An operation that is ordered [`after`](Self::after) one that fails reports the failure of both. A [`Handle`] reports
    /// the failure of its operation each time it is asked, whoever was told before.
    ///
    /// # Errors
    /// An operation has failed that nobody was told of (the first is named), or the job is at fault.
    #[inline]
    pub fn quiet(&self) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if self.busy.get() { self.quiet_engine() } else { Ok(()) }
    }

    /// Waits until every operation of this context that concerns `rank` has taken effect.
    ///
    /// # Errors
    /// An operation has failed that nobody was told of, whichever rank it concerned, as by [`quiet`](Self::quiet); the job is at fault.
    pub fn flush(&self, rank: Rank) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        self.block("flush", None, || Ok(self.engine.borrow().is_idle_towards(rank).then_some(())))?;
        self.tell_all()
    }

    /// As [`flush`](Self::flush), for all ranks. The words by which a barrier tells others are waited for too, which [`quiet`](Self::quiet)
    /// leaves to the next barrier.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn flush_all(&self) -> Result<()> {
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        if !self.busy.get() {
            return Ok(());
        }
        self.drain(None)?;
        self.tell_all()
    }

    /// Waits for all of `handles`.
    ///
    /// # Errors
    /// The first failure among them, after all have ended, or [`Error::Forgotten`]; the job is at fault.
    pub fn wait_all(&self, handles: &[Handle<'_>]) -> Result<()> {
        let mut failure = Ok(());
        for handle in handles {
            match self.own(handle)?.map_or(Ok(()), |id| self.wait_id(id)) {
                Err(error @ (Error::Failed(_) | Error::Forgotten)) => failure = failure.and(Err(error)),
                other => other?,
            }
        }
        failure
    }

    /// Waits until one of `handles` has ended and returns its index; `None` if there are none.
    ///
    /// # Errors
    /// The operation that ended failed, or [`Error::Forgotten`]; the job is at fault.
    pub fn wait_any(&self, handles: &[Handle<'_>]) -> Result<Option<usize>> {
        if handles.is_empty() {
            return Ok(None);
        }
        let ids = handles.iter().map(|handle| self.own(handle)).collect::<Result<Vec<_>>>()?;
        self.block("one of several operations", None, || {
            for (index, id) in ids.iter().enumerate() {
                if id.map_or(Ok(true), |id| self.poll_id(id))? {
                    return Ok(Some(index));
                }
            }
            Ok(None)
        })
        .map(Some)
    }

    /// Waits until `ready` returns something, while the library moves: for what no single call here waits for. `ready` is asked again after
    /// everything that may have changed its answer, and when this rank's doorbell is rung ([`reach`](Self::reach) has it for other threads).
    /// `what` names it in the error.
    ///
    /// # Errors
    /// Those of `ready`; `limit` has passed; the job is at fault.
    pub fn wait_for<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.block(what, limit, ready)
    }

    /// The memory that loads and stores reach. Threads that have no context may use it, and what is done there is done at once.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Lets the library move: posts what could not be posted, serves other ranks' requests with manual progress, and takes in what completed.
    /// Returns whether anything moved. Waiting calls do this by themselves.
    pub fn progress(&self) -> bool {
        let _inside = self.shared.inside();
        if self.shared.survives() {
            self.note_losses();
        }
        let mut engine = self.engine.borrow_mut();
        let moved = engine.progress(&self.shared);
        self.busy.set(!engine.is_idle() || engine.has_failures());
        moved
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn engine(&self) -> &RefCell<Engine> {
        &self.engine
    }

    pub(crate) fn count_park(&self) {
        self.engine.borrow_mut().count_park();
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
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
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        if self.engine.borrow().has_room(bytes) {
            return Ok(());
        }
        self.block("room for an operation", None, || Ok(self.engine.borrow().has_room(bytes).then_some(())))
    }

    #[cold]
    pub(crate) fn wait_id(&self, id: u64) -> Result<()> {
        self.block("an operation", None, || Ok(self.poll_id(id)?.then_some(())))
    }

    /// Whether an operation has ended.
    pub(crate) fn poll_id(&self, id: u64) -> Result<bool> {
        Ok(self.engine.borrow_mut().poll(id).transpose()?.is_some())
    }

    /// As `poll_id`, after moving it on if need be.
    pub(crate) fn test_id(&self, id: u64) -> Result<bool> {
        if self.poll_id(id)? {
            return Ok(true);
        }
        self.progress();
        self.poll_id(id)
    }

    #[cold]
    pub(crate) fn wait_word(&self, id: u64) -> Result<u64> {
        let ended = self.wait_id(id);
        if let Err(error) = ended {
            self.forget_word(id);
            return Err(error);
        }
        let (word, _) = self.engine.borrow_mut().take(id).expect("a word is kept until somebody takes it");
        Ok(word)
    }

    #[cold]
    pub(crate) fn forget_word(&self, id: u64) {
        let mut engine = self.engine.borrow_mut();
        engine.forget(id);
        // `quiet` is to report a failure that nobody came for.
        self.busy.set(self.busy.get() || engine.has_failures());
    }

    /// The number of an operation of this context, `None` if it was done at once.
    fn own(&self, handle: &Handle<'_>) -> Result<Option<u64>> {
        match handle.parts() {
            None => Ok(None),
            Some((context, id)) if std::ptr::eq(context, self) => Ok(Some(id)),
            Some(_) => Err(Error::ForeignHandle),
        }
    }

    #[cold]
    fn fence_engine(&self) -> Result<()> {
        let _inside = self.shared.inside();
        let is_ordered = {
            let mut engine = self.engine.borrow_mut();
            let orders = !engine.is_idle() && engine.all_posted(&self.shared);
            if orders {
                engine.fence();
            }
            orders || engine.is_idle()
        };
        if !is_ordered {
            self.drain(None)?;
        }
        self.tell_all()
    }

    #[cold]
    fn quiet_engine(&self) -> Result<()> {
        let _inside = self.shared.inside();
        let signals = self.engine.borrow().signals();
        self.block_until_left(signals, None, || Ok(self.engine.borrow().is_quiet().then_some(())))?;
        self.tell_all()
    }

    /// Reports the first failure that nobody was told of and nobody will come for; all of these count as told from now on.
    fn tell_all(&self) -> Result<()> {
        let mut engine = self.engine.borrow_mut();
        let told = engine.tell_all();
        self.busy.set(!engine.is_idle());
        told
    }

    /// Waits until everything has ended.
    pub(crate) fn drain(&self, limit: Option<Duration>) -> Result<()> {
        self.block_until_left(0, limit, || Ok(self.engine.borrow().is_idle().then_some(())))
    }

    /// Puts a word of a meeting: `quiet` does not wait for its end, which the next meeting implies.
    #[inline]
    pub(crate) fn signal(&self, to: GlobalPtr<u64>, word: u64) -> Result<Handle<'_>> {
        let handle = self.put(to, &[word])?;
        if let Some((_, id)) = handle.parts() {
            self.engine.borrow_mut().make_signal(id);
        }
        Ok(handle)
    }
}

/// What is issued may wait for company until this is dropped.
struct Held<'c>(&'c Context);

impl<'c> Held<'c> {
    fn new(context: &'c Context) -> Self {
        context.hold(true);
        Self(context)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.hold(false);
    }
}

/// A thread that is aside uses the library again when this is dropped.
struct Back<'c>(&'c Context);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.shared.wait.note(Activity::Joins);
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
        self.engine.get_mut().port().leave();
        self.shared.wait.note(Activity::Leaves);
    }
}
