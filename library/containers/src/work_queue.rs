//! Work stealing: tasks that create tasks, on all ranks. Each rank executes its own tasks, and steals those of others when it has none.
//!
//! A rank keeps its newest tasks private. Its oldest tasks, which tend to create the most, lie in a ring from which others may steal: one word has the
//! number of the first task in the ring and their count. The owner adds tasks and takes them back at the end, thieves take from the front, all by atomics
//! on this word, so that each task belongs to one rank. A thief reads the tasks that it has taken and then increments a count of read tasks. Thieves may
//! read in another order than they took, so the count says nothing of a single place: the owner reuses places after all tasks taken so far were read.
//!
//! *Termination:* rank 0 counts the open tasks, those that are not done. Each rank counts locally the tasks that it adds and completes. It adds the
//! difference to the count at rank 0 before others may steal a task that rank 0 has not counted, and when it has no task left. So the count is 0 only if
//! no rank has a task that others may know. A rank with tasks that only it knows has not run out of tasks yet. Rank 0 also counts the ranks that have run
//! out of tasks, once each; the queue has terminated when all ranks have and no task is open.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Pod, Result, Symmetric, World};
use zerocopy::IntoBytes;

/// Index of the word of the ring: the number of its first task, and their count.
const SHARED: usize = 0;

/// Index of the count of tasks that thieves have taken and read.
const READ: usize = 8;

/// Index of the count of open tasks of the job and, above it, the count of first times that a rank has run out of tasks in a search; used at rank 0.
const OPEN: usize = 16;

/// The addend for a rank that has run out of tasks, in the word of open tasks, whose number stays below half of it.
const ARRIVED: u64 = 1 << 40;

/// Words before the ring, in separate cache lines if different ranks write them.
const FIRST: usize = 24;

/// Maximum number of tasks that a rank offers to other ranks.
const SHARED_MAX: usize = 1 << 20;

/// Maximum number of tasks that are added, or by which the private tasks become fewer, between two reads of the ring's word, if the others may soon have
/// taken all shared tasks.
const LOOK_EVERY: usize = 16;
/// Maximum number of tasks between two reads of the ring's word, as for [`LOOK_EVERY`], if enough shared tasks are left for the others meanwhile.
const LOOK_EVERY_MAX: usize = 128;

/// Number of private tasks from which on a rank shares half of them if it shares none.
const FEW: usize = 4;

/// Initial pause of a rank that has found no task before it searches again. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(2);
/// Maximum pause between two searches.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1);
/// Maximum pause in durations of the last search, if this is less: others may soon have tasks again.
const PAUSE_SEARCHES_MAX: u32 = 64;
/// The maximum pause is never less than this, or idle ranks would keep a core busy that others may share.
const PAUSE_MAX_MIN: Duration = Duration::from_microseconds(100);

/// Sizes of a [`WorkQueue`], the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkSettings {
    /// Maximum number of private tasks of a rank.
    pub own: usize,
    /// Maximum number of shared tasks of a rank; a power of two up to 1,048,576.
    pub shared: usize,
    /// Maximum number of tasks that a thief takes at once. A rank shares half of its private tasks when it has at least two chunks of them and fewer
    /// shared tasks than a chunk, or has at least four of them and shares none. It looks whenever it has added, or has taken out on balance, a quarter
    /// of its tasks, half a chunk, or 16, whichever is the least; instead of the last two, it is 128 if there are more shared tasks than the other ranks
    /// may take meanwhile. A rank that never has four tasks, or two chunks if these are fewer, does all of its work alone: choose 1 where tasks are long
    /// or few.
    pub chunk: usize,
}

impl Default for WorkSettings {
    /// 65,536 private tasks, 1,024 shared tasks, 32 at a time.
    fn default() -> Self {
        Self { own: 1 << 16, shared: 1 << 10, chunk: 32 }
    }
}

/// Counts of one rank's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounters {
    /// Tasks that this rank took out to execute them.
    pub taken: u64,
    /// Tasks that it stole from other ranks.
    pub stolen: u64,
    /// Attempts to steal from a rank without shared tasks.
    pub misses: u64,
}

/// Tasks of all ranks, each of which may create more; each task is executed exactly once, by any rank.
///
/// The order of tasks is not defined: a rank executes its newest tasks first, and steals the oldest tasks of others. The tasks of a lost rank are lost,
/// so that all calls then fail with `PeerLost`.
///
/// ```
/// # use pelago_containers::{WorkQueue, WorkSettings};
/// # use pelago_rma::{Result, World};
/// # fn example(world: &World) -> Result<u64> {
/// let queue = WorkQueue::<u64>::new(world, WorkSettings::default())?;
/// if world.rank().number() == 0 {
///     queue.push(20)?;
/// }
/// let mut calls = 0;
/// while let Some(n) = queue.next()? {      // counts the calls of a recursive function
///     calls += 1;
///     if n > 1 {
///         queue.push(n - 1)?;
///         queue.push(n - 2)?;
///     }
/// }
/// # Ok(calls)
/// # }
/// ```
///
/// Source: Olivier and Prins, *Scalable dynamic load balancing using UPC* (2008), with the same division of a stack into a private and a shared part.
pub struct WorkQueue<'w, T> {
    world: &'w World,
    settings: WorkSettings,
    memory: Symmetric<'w, u64>,
    own: RefCell<Stack<T>>,
    /// Buffer, reused, for tasks that move between private memory and a ring.
    words: RefCell<Vec<u64>>,
    /// The number of the first shared task at the last read of the ring's word: earlier ones were stolen.
    first: Cell<u32>,
    /// Number of tasks that others have stolen.
    taken_by_others: Cell<u64>,
    /// The number of a shared task before which thieves have read all tasks.
    read_before: Cell<u32>,
    /// Number of tasks to add before this rank reads the ring's word again.
    until_look: Cell<u32>,
    /// The number of private tasks, including the one in execution, that rank 0 has counted; adjusted when tasks move to the ring or come from other ranks.
    /// The difference to the present number is not counted yet.
    told: Cell<i64>,
    /// The number of the current search, from 1, and whether this rank has run out of tasks in it.
    search: Cell<(u64, bool)>,
    /// The value of `taken` when this rank last asked for a task and had none: if it is the same now, no task is in execution.
    done: Cell<u64>,
    /// The rank before the one from which to steal next.
    victim: Cell<u32>,
    taken: Cell<u64>,
    stolen: Cell<u64>,
    misses: Cell<u64>,
    losses: usize,
}

/// A rank's private tasks, the newest last.
struct Stack<T> {
    tasks: Vec<T>,
    /// The index of the oldest task; those before it were shared.
    start: usize,
    /// The number of tasks, from index 0 on, at which none is taken out before the rank has read the ring's word; at least `start`.
    stop: usize,
}

impl<T> Stack<T> {
    #[inline]
    fn len(&self) -> usize {
        self.tasks.len() - self.start
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.tasks.len() > self.stop { self.tasks.pop() } else { None }
    }

    fn oldest(&self, count: usize) -> &[T] {
        &self.tasks[self.start..self.start + count]
    }

    /// Removes the oldest tasks. Moves the rest to the front when half of the memory lies before them, so that a task is moved once on average.
    fn remove_oldest(&mut self, count: usize) {
        self.start += count;
        if 2 * self.start >= self.tasks.len() {
            self.tasks.drain(..self.start);
            self.stop = self.stop.saturating_sub(self.start);
            self.start = 0;
        }
        self.stop = self.stop.max(self.start);
    }
}

/// The shared tasks of a rank: the fields of the ring's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shared {
    first: u32,
    count: u32,
}

impl Shared {
    fn of(word: u64) -> Self {
        Self { first: (word >> 32) as u32, count: word as u32 }
    }

    fn word(self) -> u64 {
        u64::from(self.first) << 32 | u64::from(self.count)
    }

    /// The shared tasks without the first `count`.
    fn without(self, count: u32) -> Self {
        Self { first: self.first.wrapping_add(count), count: self.count - count }
    }
}

impl<'w, T: Pod> WorkQueue<'w, T> {
    /// Creates an empty queue. Collective.
    ///
    /// # Errors
    /// The settings are impossible; as [`World::alloc`].
    pub fn new(world: &'w World, settings: WorkSettings) -> Result<Self> {
        let WorkSettings { own, shared, chunk } = settings;
        if !shared.is_power_of_two() || shared > SHARED_MAX || !(1..=shared).contains(&chunk) || own < 2 * chunk {
            return Err(Error::Invalid(
                "a work queue needs: chunk at least 1; shared a power of two, from chunk to 1,048,576; own at least two chunks",
            ));
        }
        Ok(Self {
            world,
            settings,
            memory: world.alloc(FIRST + shared * words_of::<T>())?,
            own: RefCell::new(Stack { tasks: Vec::new(), start: 0, stop: 0 }),
            words: RefCell::default(),
            first: Cell::new(0),
            taken_by_others: Cell::new(0),
            read_before: Cell::new(0),
            until_look: Cell::new(0),
            told: Cell::new(0),
            search: Cell::new((1, false)),
            done: Cell::new(0),
            victim: Cell::new(world.rank().number()),
            taken: Cell::new(0),
            stolen: Cell::new(0),
            misses: Cell::new(0),
            losses: world.losses(),
        })
    }

    /// Adds a task.
    ///
    /// Cost: no message; if others have stolen tasks, an atomic at rank 0 for up to half of the private tasks. Allocates only for more tasks than ever before.
    ///
    /// # Errors
    /// `TooMany`: this rank has as many private tasks as the settings allow, and others have not stolen the shared ones; the task is not added. A rank was
    /// lost, or the job is at fault.
    #[inline]
    pub fn push(&self, task: T) -> Result<()> {
        self.push_all([task])
    }

    /// Adds tasks; the iterator must not use the queue.
    ///
    /// Cost: as [`push`](Self::push), once for all of them.
    ///
    /// # Errors
    /// As [`push`](Self::push); no task is added.
    #[inline]
    pub fn push_all(&self, tasks: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>) -> Result<()> {
        let tasks = tasks.into_iter();
        let count = tasks.len();
        if count == 0 {
            return Ok(());
        }
        let mut own = self.own.borrow_mut();
        let until = self.until_look.get() as usize;
        if until < count || own.len() + count > self.settings.own {
            drop(own);
            self.look_and_share(count)?;
            own = self.own.borrow_mut();
        } else {
            self.until_look.set((until - count) as u32);
        }
        own.tasks.extend(tasks);
        Ok(())
    }

    /// Takes out a task of this rank or another, and marks the previously taken one as done. `None` when no rank has a task, and none is in execution.
    /// Every rank must call it until it returns `None`; the queue may be used again after that and a barrier.
    ///
    /// Cost: as [`push`](Self::push) for an own task. Three round trips for up to a chunk of another rank's tasks, and a read for each rank without
    /// shared tasks.
    ///
    /// # Errors
    /// A rank was lost, or the job is at fault.
    #[inline]
    pub fn next(&self) -> Result<Option<T>> {
        // The task is no result of the call that waits: one in registers is read as it was written, word by word, while the writes are on their way.
        match self.pop() {
            None if self.has_more()? => Ok(self.pop()),
            task => Ok(task),
        }
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        let task = self.own.borrow_mut().pop()?;
        self.taken.set(self.taken.get() + 1);
        Some(task)
    }

    /// Makes the next private task available, or waits for one of another rank.
    #[cold]
    #[inline(never)]
    fn has_more(&self) -> Result<bool> {
        if self.own.borrow().len() > 0 {
            // The tasks of one list are shared too, although none is added later.
            self.look_and_share(0)?;
            return Ok(true);
        }
        self.done.set(self.taken.get());
        let mut pause = PAUSE_MIN;
        loop {
            let begun = self.world.now();
            if self.take_back() || self.steal()? {
                return Ok(true);
            }
            let searched = self.world.now().since(begun);
            self.nothing_lost()?;
            if self.is_over()? {
                return Ok(false);
            }
            match self.world.wait_for("tasks of other ranks", Some(pause), || Ok(None::<()>)) {
                Err(Error::TimedOut { .. }) => {}
                other => other.map(|_| ())?,
            }
            pause = (pause + pause).min((searched * PAUSE_SEARCHES_MAX).clamp(PAUSE_MAX_MIN, PAUSE_MAX));
        }
    }

    /// The counts of this rank's tasks.
    pub fn counters(&self) -> WorkCounters {
        WorkCounters { taken: self.taken.get(), stolen: self.stolen.get(), misses: self.misses.get() }
    }

    /// Shares tasks with others if necessary, and decides when to look again; fails if there is no room for `count` more private tasks.
    #[inline(never)]
    fn look_and_share(&self, count: usize) -> Result<()> {
        // Usually nothing is to be shared. A rank with few tasks looks often, and this part needs no stack.
        let (before, shared, chunk) = (self.own.borrow().len(), self.shared_count(), self.settings.chunk);
        let must_share = shared == 0 && before >= FEW.min(2 * chunk) || shared < chunk && before >= 2 * chunk;
        if must_share || before + count > self.settings.own {
            return self.share_for(count, must_share);
        }
        self.look_later(before, count, shared);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn share_for(&self, count: usize, must_share: bool) -> Result<()> {
        let before = self.own.borrow().len();
        if must_share {
            self.share()?;
        }
        if self.own.borrow().len() + count > self.settings.own {
            return Err(Error::TooMany { what: "tasks of a rank", limit: self.settings.own });
        }
        self.look_later(before, count, self.shared_count());
        Ok(())
    }

    /// Decides when this rank reads the ring's word again. It had `before` private tasks before it shared some, has `shared` tasks now, and adds `count`
    /// private ones next.
    #[inline]
    fn look_later(&self, before: usize, count: usize, shared: usize) {
        let (chunk, others) = (self.settings.chunk, self.world.size() as usize - 1);
        let mut own = self.own.borrow_mut();
        let tasks = own.len() + count;
        // Each of the others executes about as many tasks meanwhile as this rank, and takes at most a chunk more; then a chunk is left.
        let are_plenty = shared >= (LOOK_EVERY_MAX + chunk) * others + chunk;
        let most = if are_plenty { LOOK_EVERY_MAX } else { (chunk / 2).min(LOOK_EVERY) };
        let every = (tasks / 4).max(1).min(most);
        self.until_look.set(every as u32);
        // Those of a list that is added to no others are shared before the first is taken out.
        let available = if count > 0 && before < FEW { 0 } else { every.max(1) };
        own.stop = own.start + tasks.saturating_sub(available);
    }

    /// Number of this rank's shared tasks. Others only take: it may be smaller at once.
    #[inline]
    fn shared_count(&self) -> usize {
        Shared::of(self.memory.local().load(SHARED)).count as usize
    }

    /// Shares the older half of the private tasks, if the ring has room for a chunk.
    #[inline(never)]
    fn share(&self) -> Result<()> {
        let (words, chunk) = (self.memory.local(), self.settings.chunk);
        // Loaded before the ring's word: if the numbers are equal, no taken task is still to be read.
        let read = words.load(READ);
        let shared = self.look();
        if read == self.taken_by_others.get() {
            self.read_before.set(shared.first);
        }
        let end = shared.first.wrapping_add(shared.count);
        let room = self.settings.shared - end.wrapping_sub(self.read_before.get()) as usize;
        if room < chunk {
            return Ok(());
        }
        // The count at rank 0 must include the tasks before others can take them.
        if self.untold() > 0 {
            self.tell(0)?;
        }
        // Only this rank adds tasks, so the places behind the shared tasks stay free, whatever others take meanwhile.
        let (mut own, mut staged) = (self.own.borrow_mut(), self.words.borrow_mut());
        let count = (own.len() / 2).min(room);
        staged.clear();
        staged.resize(count * words_of::<T>(), 0);
        for (task, words) in own.oldest(count).iter().zip(staged.chunks_exact_mut(words_of::<T>())) {
            words.as_mut_bytes()[..size_of::<T>()].copy_from_slice(task.as_bytes());
        }
        own.remove_oldest(count);
        self.told.set(self.told.get() - count as i64);
        let [(start, one), (again, other)] = self.ring_ranges(end, count);
        words.write(start, &staged[one]);
        words.write(again, &staged[other]);
        words.fetch_add(SHARED, count as u64);
        Ok(())
    }

    /// Takes back shared tasks; returns whether there were any.
    fn take_back(&self) -> bool {
        let words = self.memory.local();
        loop {
            let shared = self.look();
            let count = shared.count.min(self.settings.chunk as u32);
            if count == 0 {
                return false;
            }
            let rest = Shared { count: shared.count - count, ..shared };
            if words.compare_swap(SHARED, shared.word(), rest.word()) == shared.word() {
                let mut staged = self.words.borrow_mut();
                staged.clear();
                staged.resize(count as usize * words_of::<T>(), 0);
                let [(start, one), (again, other)] = self.ring_ranges(shared.first.wrapping_add(rest.count), count as usize);
                words.read(start, &mut staged[one]);
                words.read(again, &mut staged[other]);
                self.came(&staged);
                return true;
            }
        }
    }

    /// The two parts of the ring with `count` tasks from `number` on, as they may wrap around: for each its first word, and the range of the tasks' words.
    fn ring_ranges(&self, number: u32, count: usize) -> [(usize, Range<usize>); 2] {
        let (start, all) = (self.place(number), count * words_of::<T>());
        let before_end = (self.memory.len() - start).min(all);
        [(start, 0..before_end), (FIRST, before_end..all)]
    }

    /// Tries the other ranks one after another, and steals half of the shared tasks of the first that has some, up to a chunk; returns whether there were
    /// any.
    fn steal(&self) -> Result<bool> {
        let (world, size) = (self.world, self.world.size());
        for _ in 1..size {
            let mut victim = (self.victim.get() + 1) % size;
            if victim == world.rank().number() {
                victim = (victim + 1) % size;
            }
            self.victim.set(victim);
            if self.steal_from(Rank::new(victim))? {
                // The victim may have more tasks.
                self.victim.set((victim + size - 1) % size);
                return Ok(true);
            }
            self.misses.set(self.misses.get() + 1);
        }
        Ok(false)
    }

    fn steal_from(&self, victim: Rank) -> Result<bool> {
        let world = self.world;
        let at = self.memory.at(victim, SHARED);
        let mut word = world.get(at)?;
        loop {
            let shared = Shared::of(word);
            let count = shared.count.div_ceil(2).min(self.settings.chunk as u32);
            if count == 0 {
                return Ok(false);
            }
            let found = world.compare_swap(at, word, shared.without(count).word())?.wait()?;
            if found != word {
                word = found;
                continue;
            }
            let mut staged = self.words.borrow_mut();
            staged.clear();
            staged.resize(count as usize * words_of::<T>(), 0);
            let [(start, one), (again, other)] = self.ring_ranges(shared.first, count as usize);
            world.get_into(self.memory.at(victim, start), &mut staged[one])?;
            if !other.is_empty() {
                world.get_into(self.memory.at(victim, again), &mut staged[other])?;
            }
            world.add(self.memory.at(victim, READ), u64::from(count))?;
            self.came(&staged);
            self.stolen.set(self.stolen.get() + u64::from(count));
            return Ok(true);
        }
    }

    /// Reads the ring's word, and counts the tasks that others have stolen since the last call.
    fn look(&self) -> Shared {
        let shared = Shared::of(self.memory.local().load(SHARED));
        let taken = shared.first.wrapping_sub(self.first.replace(shared.first));
        self.taken_by_others.set(self.taken_by_others.get() + u64::from(taken));
        shared
    }

    /// Whether no rank has a task; called by a rank that has none.
    fn is_over(&self) -> Result<bool> {
        let (search, was_out) = self.search.replace((self.search.get().0, true));
        let all = search.wrapping_mul(u64::from(self.world.size())).wrapping_mul(ARRIVED);
        let is_over = self.tell(if was_out { 0 } else { ARRIVED })? == all;
        if is_over {
            self.search.set((search + 1, false));
        }
        Ok(is_over)
    }

    /// Adds the uncounted tasks and `more` to the word of open tasks at rank 0, and returns that word.
    fn tell(&self, more: u64) -> Result<u64> {
        let untold = self.untold();
        self.told.set(self.told.get() + untold);
        let told = untold.cast_unsigned().wrapping_add(more);
        let before = self.world.fetch_add(self.memory.at(Rank::new(0), OPEN), told)?.wait()?;
        Ok(before.wrapping_add(told))
    }

    /// Number of tasks added minus tasks done that rank 0 has not counted.
    fn untold(&self) -> i64 {
        self.own.borrow().len() as i64 + i64::from(self.is_working()) - self.told.get()
    }

    /// Whether the task that was taken out last is in execution.
    fn is_working(&self) -> bool {
        self.taken.get() != self.done.get()
    }

    /// Adds tasks that rank 0 has counted already; this rank has no others.
    fn came(&self, words: &[u64]) {
        let tasks = words.chunks_exact(words_of::<T>());
        self.told.set(self.told.get() + tasks.len() as i64);
        let mut own = self.own.borrow_mut();
        // The stack is empty. Its limit is beyond its end if an iterator of the program has panicked, and so given fewer tasks than its length.
        own.stop = own.start;
        own.tasks.extend(tasks.map(read::<T>));
    }

    fn nothing_lost(&self) -> Result<()> {
        match self.world.lost().get(self.losses) {
            Some(&rank) => Err(pelago_rma::Failure::PeerLost(rank).into()),
            None => Ok(()),
        }
    }

    /// The index of a task's first word, by its number.
    fn place(&self, number: u32) -> usize {
        FIRST + (number as usize & (self.settings.shared - 1)) * words_of::<T>()
    }
}

const fn words_of<T>() -> usize {
    let words = size_of::<T>().div_ceil(8);
    if words == 0 { 1 } else { words }
}

fn read<T: Pod>(words: &[u64]) -> T {
    T::read_from_prefix(words.as_bytes()).map(|(task, _)| task).unwrap_or_else(|_| unreachable!("as many words as a task has"))
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::*;
    use pelago_test_support::threads::{Platform, run};

    #[test]
    fn places_of_tasks_that_were_taken_are_used_again_when_they_were_read() {
        run(Platform::Mapped, 1, |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings { own: 100, shared: 2, chunk: 2 }).unwrap();
            let shared = || Shared::of(queue.memory.local().load(SHARED));
            (0..5).for_each(|task| queue.push(task).unwrap());
            assert_eq!(shared(), Shared { first: 0, count: 2 });
            // Another rank has taken both, but has not read them.
            queue.memory.local().store(SHARED, shared().without(2).word());
            queue.push(5).unwrap();
            assert_eq!(shared(), Shared { first: 2, count: 0 });
            queue.memory.local().fetch_add(READ, 2);
            queue.push(6).unwrap();
            assert_eq!(shared(), Shared { first: 2, count: 2 });
        });
    }

    #[test]
    fn a_rank_looks_often_only_while_others_may_take_all_of_its_shared_tasks() {
        run(Platform::Mapped, 2, |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings { own: 4096, shared: 1024, chunk: 8 }).unwrap();
            queue.push_all([0; 1200]).unwrap();
            (0..5).for_each(|_| queue.push(0).unwrap());
            assert_eq!((queue.shared_count(), queue.until_look.get()), (602, LOOK_EVERY_MAX as u32));
            // The other rank has taken most of them.
            let words = queue.memory.local();
            words.store(SHARED, Shared::of(words.load(SHARED)).without(500).word());
            (0..=LOOK_EVERY_MAX).for_each(|_| queue.push(0).unwrap());
            assert_eq!(queue.until_look.get(), 4, "half a chunk");
        });
    }

    #[test]
    fn tasks_are_not_forgotten_after_an_iterator_has_panicked() {
        run(Platform::Mapped, 1, |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings { own: 100, shared: 2, chunk: 2 }).unwrap();
            (0..5).for_each(|task| queue.push(task).unwrap());
            assert_eq!(Shared::of(queue.memory.local().load(SHARED)).count, 2);
            (0..3).for_each(|_| assert!(queue.next().unwrap().is_some()));
            let tasks = (0..10).map(|_| -> u64 { resume_unwind(Box::new("a bug of the program")) });
            assert!(catch_unwind(AssertUnwindSafe(|| queue.push_all(tasks))).is_err());
            (0..2).for_each(|_| assert!(queue.next().unwrap().is_some(), "shared tasks are taken back"));
            assert_eq!(queue.next(), Ok(None));
        });
    }

    #[test]
    fn places_are_not_used_again_while_one_of_several_thieves_has_not_read() {
        run(Platform::Mapped, 1, |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings { own: 100, shared: 2, chunk: 1 }).unwrap();
            let words = queue.memory.local();
            let shared = || Shared::of(words.load(SHARED));
            (0..5).for_each(|task| queue.push(task).unwrap());
            while shared().count < 2 {
                queue.share().unwrap();
            }
            let first = words.load(FIRST);
            // Two ranks have taken a task each, and the second has read its task.
            words.store(SHARED, shared().without(2).word());
            words.fetch_add(READ, 1);
            (5..9).for_each(|task| queue.push(task).unwrap());
            assert_eq!((shared().count, words.load(FIRST)), (0, first), "the first can still read its task");
            words.fetch_add(READ, 1);
            queue.push(9).unwrap();
            assert!(shared().count > 0);
        });
    }
}
