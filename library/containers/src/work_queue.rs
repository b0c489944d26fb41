//! Tasks that make tasks, on all ranks: each works at its own, and takes those of others when it has none.
//!
//! A rank keeps its newest tasks to itself. Its oldest ones, which tend to make the most, lie in a ring that others may take from: one word has the number of
//! the first task there and how many there are. The owner adds and takes back, thieves take from the front, all by compare-and-swap of this word, so that each
//! task is one rank's. A thief reads the tasks that it has taken and then says so; until then their places are not used again.
//!
//! *The end:* rank 0 counts tasks that are not done. A rank counts for itself what it adds and what it has done. It tells rank 0 before others may take a task
//! that rank 0 has not counted, and when it has nothing left. So the count is 0 only when no rank has a task.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use pelago_base::{Duration, Rank};
use pelago_rma::{Error, Pod, Result, Symmetric, World};
use zerocopy::IntoBytes;

/// The tasks in the ring: the number of the first, and how many there are.
const SHARED: usize = 0;

/// How many tasks thieves have taken and read.
const READ: usize = 8;

/// How many tasks of the job are not done; used at rank 0.
const OPEN: usize = 16;

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
    /// Tasks that are handed to others together, and that a thief takes at most.
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
    own: RefCell<VecDeque<T>>,
    /// The number of the first shared task when this rank looked last: what is before it is taken.
    first: Cell<u32>,
    /// How many tasks were taken by others.
    taken_by_others: Cell<u64>,
    /// Tasks that are added before this rank looks again at what others have taken.
    until_look: Cell<u32>,
    /// What rank 0 does not know: tasks added less tasks done.
    untold: Cell<i64>,
    /// Whether the task that was taken out last is being worked at.
    is_working: Cell<bool>,
    /// The rank that is looked at next.
    victim: Cell<u32>,
    counters: Cell<WorkCounters>,
    losses: usize,
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
            own: RefCell::new(VecDeque::new()),
            first: Cell::new(0),
            taken_by_others: Cell::new(0),
            until_look: Cell::new(0),
            untold: Cell::new(0),
            is_working: Cell::new(false),
            victim: Cell::new(world.rank().number()),
            counters: Cell::default(),
            losses: world.losses(),
        })
    }

    /// Adds a task.
    ///
    /// Cost: no message; for each chunk of tasks that others may take, an atomic at rank 0.
    ///
    /// # Errors
    /// `TooMany`: this rank has as many own tasks as the settings say, and others have not taken those that they may; the task is not added. A rank was lost, or the job is
    /// at fault.
    pub fn push(&self, task: T) -> Result<()> {
        let length = self.own.borrow().len();
        if length >= 2 * self.settings.chunk {
            self.share_now_and_then(length)?;
        }
        self.own.borrow_mut().push_back(task);
        self.untold.set(self.untold.get() + 1);
        Ok(())
    }

    /// Takes a task out, of this rank or another; the one that was taken out before is done. `None` when there is none on any rank, and none is being worked at.
    /// Every rank calls it until it returns `None`; the queue may be used again after that, and after a barrier.
    ///
    /// Cost: of an own task: no message. Of another rank's: three round trips, for up to a chunk; where there is none, a read for each rank that is looked at.
    ///
    /// # Errors
    /// A rank was lost, or the job is at fault.
    pub fn next(&self) -> Result<Option<T>> {
        if self.is_working.replace(false) {
            self.untold.set(self.untold.get() - 1);
        }
        let mut pause = PAUSE_MIN;
        loop {
            let own = self.own.borrow_mut().pop_back();
            if let Some(task) = own {
                self.is_working.set(true);
                self.note(|counters| counters.taken += 1);
                return Ok(Some(task));
            }
            if self.take_back()? || self.steal()? {
                continue;
            }
            self.nothing_lost()?;
            if self.tell()? == 0 {
                return Ok(None);
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
        self.counters.get()
    }

    /// Lets others take the oldest tasks after some have been added, and whenever there is no room for own ones.
    fn share_now_and_then(&self, length: usize) -> Result<()> {
        let (until, is_full) = (self.until_look.get(), length >= self.settings.own);
        if until > 0 && !is_full {
            self.until_look.set(until - 1);
            return Ok(());
        }
        self.until_look.set((self.settings.chunk as u32 / 4).min(LOOK_EVERY));
        self.share()?;
        if is_full && self.own.borrow().len() >= self.settings.own {
            return Err(Error::TooMany { what: "tasks of a rank", limit: self.settings.own });
        }
        Ok(())
    }

    /// Lets others take the oldest tasks, if there is room for a chunk and few are there.
    fn share(&self) -> Result<()> {
        let (words, chunk) = (self.memory.local(), self.settings.chunk);
        // Read first: what was read was taken before.
        let read = words.load(READ);
        let shared = self.look();
        let unread = self.taken_by_others.get() - read;
        if shared.count as usize >= chunk || shared.count as usize + unread as usize + chunk > self.settings.shared {
            return Ok(());
        }
        // Nobody may find the count at rank 0 too low.
        if self.untold.get() > 0 {
            self.tell()?;
        }
        // Only this rank adds, so that what is behind the shared tasks is free whatever others take meanwhile.
        let end = shared.first.wrapping_add(shared.count);
        for (step, task) in (0..).zip(self.own.borrow_mut().drain(..chunk)) {
            let at = self.place(end.wrapping_add(step));
            let mut words_of_task = words.range(at..at + words_of::<T>()).to_vec();
            words_of_task.as_mut_bytes()[..size_of::<T>()].copy_from_slice(task.as_bytes());
            words.write(at, &words_of_task);
        }
        words.fetch_add(SHARED, chunk as u64);
        Ok(())
    }

    /// Takes tasks back that no other rank has taken; whether there were any.
    fn take_back(&self) -> Result<bool> {
        let words = self.memory.local();
        loop {
            let shared = self.look();
            let count = shared.count.min(self.settings.chunk as u32);
            if count == 0 {
                return Ok(false);
            }
            let rest = Shared { count: shared.count - count, ..shared };
            if words.compare_swap(SHARED, shared.word(), rest.word()) == shared.word() {
                let from = shared.first.wrapping_add(rest.count);
                let mut task = vec![0; words_of::<T>()];
                for step in 0..count {
                    words.read(self.place(from.wrapping_add(step)), &mut task);
                    self.own.borrow_mut().push_back(read(&task));
                }
                return Ok(true);
            }
        }
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
            self.note(|counters| counters.misses += 1);
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
            let mut tasks = vec![0; count as usize * words_of::<T>()];
            let start = self.place(shared.first);
            // The ring may end among them.
            let before_end = (self.memory.len() - start).min(tasks.len());
            let (one, other) = tasks.split_at_mut(before_end);
            world.get_into(self.memory.at(victim, start), one)?;
            if !other.is_empty() {
                world.get_into(self.memory.at(victim, FIRST), other)?;
            }
            world.add(self.memory.at(victim, READ), u64::from(count))?;
            self.own.borrow_mut().extend(tasks.chunks_exact(words_of::<T>()).map(read::<T>));
            self.note(|counters| counters.stolen += u64::from(count));
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

    /// Tells rank 0 what it does not know, and returns how many tasks are not done.
    fn tell(&self) -> Result<i64> {
        let untold = self.untold.replace(0);
        let before = self.world.fetch_add(self.memory.at(Rank::new(0), OPEN), untold.cast_unsigned())?.wait()?;
        Ok(before.cast_signed() + untold)
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

    fn note(&self, note: impl FnOnce(&mut WorkCounters)) {
        let mut counters = self.counters.get();
        note(&mut counters);
        self.counters.set(counters);
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
