//! Tasks that make tasks, on all ranks: each works at its own, and takes those of others when it has none.
//!
//! A rank keeps its newest tasks to itself. Its oldest ones, which tend to make the most, lie in a ring that others may take from: one word has the number of
//! the first task there and how many there are. The owner adds and takes back, thieves take from the front, all by compare-and-swap of this word, so that each
//! task is one rank's. A thief reads the tasks that it has taken and then says so; until then their places are not used again.
//!
//! *The end:* rank 0 counts tasks that are not done. A rank counts for itself what it adds and what it has done. It tells rank 0 before others may take a task
//! that rank 0 has not counted, and when it has nothing left. So the count is 0 only when no rank has a task that others may know of. A rank whose first tasks nobody
//! knows of yet has not been out of tasks; rank 0 also counts the ranks that have, once each, and the end is when all ranks have and no task is open.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Pod, Result, Symmetric, World};
use zerocopy::IntoBytes;

/// The tasks in the ring: the number of the first, and how many there are.
const SHARED: usize = 0;

/// How many tasks thieves have taken and read.
const READ: usize = 8;

/// How many tasks of the job are not done, and above them how often a rank has been out of tasks for the first time of a search; used at rank 0.
const OPEN: usize = 16;

/// One rank that is out of tasks, in the word of open tasks: their number stays below half of it.
const ARRIVED: u64 = 1 << 40;

/// Words before the ring: those that different ranks write lie in cache lines of their own.
const FIRST: usize = 24;

/// Maximum number of tasks that a rank offers to other ranks.
const SHARED_MAX: usize = 1 << 20;

/// Maximum number of tasks that are added between two looks at what others have taken.
const LOOK_EVERY: u32 = 16;

/// Initial pause of a rank that has found no task before it searches again. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(2);
/// Maximum pause between two searches.
const PAUSE_MAX: Duration = Duration::from_milliseconds(1);

/// Sizes of a [`WorkQueue`], the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkSettings {
    /// Tasks that a rank keeps to itself, at most.
    pub own: usize,
    /// Tasks that a rank holds for others, at most; a power of two up to 1,048,576.
    pub shared: usize,
    /// Tasks that a thief takes at most. A rank hands half of its own to others whenever fewer than so many are left there.
    pub chunk: usize,
}

impl Default for WorkSettings {
    /// 65,536 own tasks, 1,024 shared, 32 at a time.
    fn default() -> Self {
        Self { own: 1 << 16, shared: 1 << 10, chunk: 32 }
    }
}

/// Numbers of one rank's tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCounters {
    /// Tasks that this rank took out to work at them.
    pub taken: u64,
    /// Tasks that it took from other ranks.
    pub stolen: u64,
    /// Ranks that it looked at in vain.
    pub misses: u64,
}

/// Tasks of all ranks, each of which may make more; every task is worked at once, by any rank.
///
/// The order of tasks is not defined: a rank works at its newest first, and takes the oldest of others. Where a rank is lost its tasks are lost, so that all
/// calls end with `PeerLost`.
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
/// Source: Olivier and Prins, *Scalable dynamic load balancing using UPC* (2008), where the owner's part and the shared part of a stack are divided likewise.
pub struct WorkQueue<'w, T> {
    world: &'w World,
    settings: WorkSettings,
    memory: Symmetric<'w, u64>,
    own: RefCell<Stack<T>>,
    /// Words of tasks on their way between own memory and a ring; the memory is used again.
    words: RefCell<Vec<u64>>,
    /// The number of the first shared task when this rank looked last: what is before it is taken.
    first: Cell<u32>,
    /// How many tasks were taken by others.
    taken_by_others: Cell<u64>,
    /// Tasks that are added before this rank looks again at what others have taken.
    until_look: Cell<u32>,
    /// Own tasks, with the one that is worked at, when rank 0 knew of all; changed when tasks go to the ring or come from other ranks. What rank 0 does not know is the
    /// difference to the present number.
    told: Cell<i64>,
    /// The search that goes on, from 1, and whether this rank has been out of tasks in it.
    search: Cell<(u64, bool)>,
    /// How many tasks were taken out when this rank last asked for one and had none: if as many now, none is being worked at.
    done: Cell<u64>,
    /// The rank that is looked at next.
    victim: Cell<u32>,
    taken: Cell<u64>,
    stolen: Cell<u64>,
    misses: Cell<u64>,
    losses: usize,
}

/// A rank's own tasks, the newest last.
struct Stack<T> {
    tasks: Vec<T>,
    /// Where the oldest one lies; those before it are other ranks'.
    start: usize,
}

impl<T> Stack<T> {
    #[inline]
    fn len(&self) -> usize {
        self.tasks.len() - self.start
    }

    #[inline]
    fn pop(&mut self) -> Option<T> {
        if self.tasks.len() > self.start { self.tasks.pop() } else { None }
    }

    fn oldest(&self, count: usize) -> &[T] {
        &self.tasks[self.start..self.start + count]
    }

    /// Moves the others to the front when half of the memory lies before them, so that a task is moved once on average.
    fn remove_oldest(&mut self, count: usize) {
        self.start += count;
        if 2 * self.start >= self.tasks.len() {
            self.tasks.drain(..self.start);
            self.start = 0;
        }
    }
}

/// The shared tasks of a rank, as its word says.
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

    /// Without so many at the front.
    fn without(self, count: u32) -> Self {
        Self { first: self.first.wrapping_add(count), count: self.count - count }
    }
}

impl<'w, T: Pod> WorkQueue<'w, T> {
    /// An empty queue. Collective.
    ///
    /// # Errors
    /// The settings are impossible; as [`World::alloc`].
    pub fn new(world: &'w World, settings: WorkSettings) -> Result<Self> {
        let WorkSettings { own, shared, chunk } = settings;
        if !shared.is_power_of_two() || shared > SHARED_MAX || !(1..=shared).contains(&chunk) || own < 2 * chunk {
            return Err(Error::Invalid(
                "the shared tasks of a work queue are a power of two up to 1,048,576, not fewer than a chunk, and there are two chunks of own tasks",
            ));
        }
        Ok(Self {
            world,
            settings,
            memory: world.alloc(FIRST + shared * words_of::<T>())?,
            own: RefCell::new(Stack { tasks: Vec::new(), start: 0 }),
            words: RefCell::default(),
            first: Cell::new(0),
            taken_by_others: Cell::new(0),
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
    /// Cost: no message; where others have taken tasks, an atomic at rank 0 for up to half of the own tasks. Nothing is allocated once there were as many tasks.
    ///
    /// # Errors
    /// `TooMany`: this rank has as many own tasks as the settings say, and others have not taken those that they may; the task is not added. A rank was lost, or the job is
    /// at fault.
    #[inline]
    pub fn push(&self, task: T) -> Result<()> {
        self.push_all([task])
    }

    /// Adds tasks; making them does not use the queue.
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

    /// Takes a task out, of this rank or another; the one that was taken out before is done. `None` when there is none on any rank, and none is being worked at.
    /// Every rank calls it until it returns `None`; the queue may be used again after that, and after a barrier.
    ///
    /// Cost: of an own task: no message. Of another rank's: three round trips, for up to a chunk; where there is none, a read for each rank that is looked at.
    ///
    /// # Errors
    /// A rank was lost, or the job is at fault.
    #[inline]
    pub fn next(&self) -> Result<Option<T>> {
        // The task is no result of the call that waits: one in registers is read as it was written, word by word, while the writes are on their way.
        match self.pop() {
            None if self.came_from_others()? => Ok(self.pop()),
            task => Ok(task),
        }
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        let task = self.own.borrow_mut().pop()?;
        self.taken.set(self.taken.get() + 1);
        Some(task)
    }

    #[cold]
    #[inline(never)]
    fn came_from_others(&self) -> Result<bool> {
        self.done.set(self.taken.get());
        let mut pause = PAUSE_MIN;
        loop {
            if self.take_back() || self.steal()? {
                return Ok(true);
            }
            self.nothing_lost()?;
            if self.is_over()? {
                return Ok(false);
            }
            match self.world.wait_for("tasks of other ranks", Some(pause), || Ok(None::<()>)) {
                Err(Error::TimedOut { .. }) => {}
                other => other.map(|_| ())?,
            }
            pause = (pause + pause).min(PAUSE_MAX);
        }
    }

    /// What passed here.
    pub fn counters(&self) -> WorkCounters {
        WorkCounters { taken: self.taken.get(), stolen: self.stolen.get(), misses: self.misses.get() }
    }

    /// Lets others take tasks, and says whether there is room for `count` more.
    #[cold]
    #[inline(never)]
    fn look_and_share(&self, count: usize) -> Result<()> {
        self.until_look.set((self.settings.chunk as u32 / 2).min(LOOK_EVERY));
        // Where others may take a chunk there is nothing to do, as nearly always. They only take, so that fewer than a chunk stay fewer.
        let chunk = self.settings.chunk;
        if self.own.borrow().len() >= 2 * chunk && (Shared::of(self.memory.local().load(SHARED)).count as usize) < chunk {
            self.share()?;
        }
        if self.own.borrow().len() + count > self.settings.own {
            return Err(Error::TooMany { what: "tasks of a rank", limit: self.settings.own });
        }
        Ok(())
    }

    /// Lets others take the older half of the tasks, if there is room for a chunk.
    #[inline(never)]
    fn share(&self) -> Result<()> {
        let (words, chunk) = (self.memory.local(), self.settings.chunk);
        // Read before the look: what was read was taken before.
        let read = words.load(READ);
        let shared = self.look();
        let unread = self.taken_by_others.get() - read;
        let room = self.settings.shared.saturating_sub(shared.count as usize + unread as usize);
        if room < chunk {
            return Ok(());
        }
        // Nobody may find the count at rank 0 too low.
        if self.untold() > 0 {
            self.tell(0)?;
        }
        // Only this rank adds, so that what is behind the shared tasks is free whatever others take meanwhile.
        let (end, mut own, mut staged) =
            (shared.first.wrapping_add(shared.count), self.own.borrow_mut(), self.words.borrow_mut());
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

    /// Takes tasks back that no other rank has taken; whether there were any.
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

    /// Where `count` tasks from `number` on lie in the ring, which may end among them: twice a first word, and the words of the tasks that are there.
    fn ring_ranges(&self, number: u32, count: usize) -> [(usize, Range<usize>); 2] {
        let (start, all) = (self.place(number), count * words_of::<T>());
        let before_end = (self.memory.len() - start).min(all);
        [(start, 0..before_end), (FIRST, before_end..all)]
    }

    /// Looks at the other ranks, one after the other, and takes half of the tasks of the first that has some, up to a chunk; whether there were any.
    fn steal(&self) -> Result<bool> {
        let (world, size) = (self.world, self.world.size());
        for _ in 1..size {
            let mut victim = (self.victim.get() + 1) % size;
            if victim == world.rank().number() {
                victim = (victim + 1) % size;
            }
            self.victim.set(victim);
            if self.steal_from(Rank::new(victim))? {
                // It may have more.
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

    /// What others may take here, and how many they have taken since the last look.
    fn look(&self) -> Shared {
        let shared = Shared::of(self.memory.local().load(SHARED));
        let taken = shared.first.wrapping_sub(self.first.replace(shared.first));
        self.taken_by_others.set(self.taken_by_others.get() + u64::from(taken));
        shared
    }

    /// Whether no rank has a task, for a rank that has none.
    fn is_over(&self) -> Result<bool> {
        let (search, was_out) = self.search.replace((self.search.get().0, true));
        let all = search.wrapping_mul(u64::from(self.world.size())).wrapping_mul(ARRIVED);
        let is_over = self.tell(if was_out { 0 } else { ARRIVED })? == all;
        if is_over {
            self.search.set((search + 1, false));
        }
        Ok(is_over)
    }

    /// Tells rank 0 what it does not know and `more`, and returns the word of open tasks.
    fn tell(&self, more: u64) -> Result<u64> {
        let untold = self.untold();
        self.told.set(self.told.get() + untold);
        let told = untold.cast_unsigned().wrapping_add(more);
        let before = self.world.fetch_add(self.memory.at(Rank::new(0), OPEN), told)?.wait()?;
        Ok(before.wrapping_add(told))
    }

    /// Tasks added less tasks done that rank 0 does not know of.
    fn untold(&self) -> i64 {
        self.own.borrow().len() as i64 + i64::from(self.is_working()) - self.told.get()
    }

    /// Whether the task that was taken out last is being worked at.
    fn is_working(&self) -> bool {
        self.taken.get() != self.done.get()
    }

    /// Tasks have come that were told of before.
    fn came(&self, words: &[u64]) {
        let tasks = words.chunks_exact(words_of::<T>());
        self.told.set(self.told.get() + tasks.len() as i64);
        self.own.borrow_mut().tasks.extend(tasks.map(read::<T>));
    }

    fn nothing_lost(&self) -> Result<()> {
        match self.world.lost().get(self.losses) {
            Some(&rank) => Err(pelago_rma::Failure::PeerLost(rank).into()),
            None => Ok(()),
        }
    }

    /// Where a task lies, by its number.
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
    use super::*;
    use pelago_test_support::threads::{Platform, run};

    #[test]
    fn places_of_tasks_that_were_taken_are_used_again_when_they_were_read() {
        run(Platform::Mapped, 1, |world| {
            let queue = WorkQueue::<u64>::new(world, WorkSettings { own: 100, shared: 2, chunk: 2 }).unwrap();
            let shared = || Shared::of(queue.memory.local().load(SHARED));
            (0..5).for_each(|task| queue.push(task).unwrap());
            assert_eq!(shared(), Shared { first: 0, count: 2 });
            // Another rank takes both, and has not read them.
            queue.memory.local().store(SHARED, shared().without(2).word());
            queue.push(5).unwrap();
            assert_eq!(shared(), Shared { first: 2, count: 0 });
            queue.memory.local().fetch_add(READ, 2);
            queue.push(6).unwrap();
            assert_eq!(shared(), Shared { first: 2, count: 2 });
        });
    }
}
