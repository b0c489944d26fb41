//! A team and the memory in which it does things together.

use std::cell::RefCell;

use pelago_base::{Duration, Instant, Team};
use pelago_rma::{BarrierAlgorithm, Error, Group, Pod, Rail, Result, Symmetric, World};

use crate::choice::{Candidate, Choice, Explanation, Rails};
use crate::cost::Model;
use crate::executor::{Ends, LINE_BYTES, Layout, Place, kept, rail_between};
use crate::operator::{Fold, Nothing};
use crate::plan::{Plan, State, shifts};
use crate::pool::{Pool, Region};
use crate::schedule::Shape;
use crate::{Algorithm, Operation, Operator};

/// Slots that a plan has at most: how many operations a member may be ahead of another. Where members share cores, one that has the turn
/// does as many as there are slots, so that a turn is shared by many operations.
const SLOTS_MAX: usize = 512;

/// Bytes of the room of all slots of a plan, unless two need more: as much as a core's own cache holds. What is written again has then
/// left the caches of those who wrote and read it last; a line that another core still holds changed comes from there three times as slowly.
const ROOM_BYTES: usize = 1024 * 1024;

/// Bytes of the lines of all slots of a plan, unless two need more. They are cleared when the plan is made.
const LINES_BYTES: usize = 64 * 1024;

/// Prepared one-shot operations that are kept for the next like them.
const PREPARED_MAX: usize = 32;

/// Entries of the table of choices.
const TABLE_MAX: usize = 256;

/// Candidates that a trial tries whatever they need, beside the simplest one: the best by the model.
const TRIED: usize = 3;

/// Messages of a member in candidates that it tries too: a model may be wrong, but trials are to end.
const TRIED_MESSAGES_MAX: u64 = 512;

/// A candidate whose first batch takes so many times as long as those of another is tried no further.
const HOPELESS: u64 = 3;

/// Batches of a trial at most; it ends sooner when two one after the other differ by no more than one in `TRIAL_SAME`.
const TRIAL_BATCHES_MAX: usize = 9;
const TRIAL_SAME: u64 = 200;

/// How long a batch is to last, and how many operations it has at least and at most: the clock is read around all of them, which follow one
/// another as in a program that does many. Where one is long there are two.
const TRIAL_BATCH: Duration = Duration::from_microseconds(100);
const TRIAL_OPERATIONS: (u64, u64) = (8, 64);
const TRIAL_LONG: Duration = Duration::from_microseconds(2000);

/// Between operations that are tried apart, in virtual time: longer than agreeing on the next one leaves anything under way.
const TRIAL_PAUSE: Duration = Duration::from_microseconds(1000);

/// Bytes of a piece, unless a program says otherwise: long beside the time of a message, short beside what a core keeps near.
const FLOWING_BYTES: usize = 64 * 1024;

/// Steps of the largest schedule that is considered: more would be memory for nothing.
const MESSAGES_MAX: u64 = 1 << 16;

/// Words that are put to measure what a byte costs.
const PROBE_WORDS: usize = 2048;

/// How much memory operations may use, and what is known of the machine.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of each member for all plans and prepared operations together. Pages are taken when they are first used.
    pub memory_bytes: usize,
    /// Bytes of each member for one plan, at most: longer blocks go in pieces.
    pub plan_bytes: usize,
    /// Bytes of a piece of an operation whose pieces follow one another through members, as those of a long broadcast do.
    pub piece_bytes: usize,
    /// Consecutive members on a host; `None`: those that reach each other's memory, if there are equally many on each host.
    pub per_host: Option<u32>,
    /// What steps cost; `None`: it is measured, by some barriers and puts.
    pub model: Option<Model>,
    /// Whether plans are for operations that come one at a time: trials then begin each after all members have met, in virtual time at the same
    /// instant, and judge how long it takes. Else operations follow one another, and what counts is how many are done.
    pub apart: bool,
    /// By which rails messages go; `None`: a trial tries them all, and what is not tried goes as is best for each member.
    pub rails: Option<Rails>,
}

impl Default for Settings {
    fn default() -> Self {
        let (memory_bytes, plan_bytes, piece_bytes) = (64 << 20, 4 << 20, FLOWING_BYTES);
        Self { memory_bytes, plan_bytes, piece_bytes, per_host: None, model: None, apart: false, rails: None }
    }
}

/// A team that does things together, seen from one member.
///
/// Its operations are collective: every member calls the same ones in the same order, with the same counts. None of them is a barrier.
pub struct Collectives<'w> {
    world: &'w World,
    team: Team,
    position: u32,
    group: Option<Group<'w>>,
    words: Symmetric<'w, u64>,
    pool: RefCell<Pool>,
    per_host: u32,
    mapped: bool,
    model: Model,
    plan_bytes: usize,
    piece_bytes: usize,
    apart: bool,
    rails: Option<Rails>,
    prepared: RefCell<Vec<Prepared>>,
    table: RefCell<Vec<Entry>>,
}

/// What a one-shot operation needs, and whose it is.
struct Prepared {
    key: Key,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    operation: Operation,
    count: usize,
    value_bytes: usize,
    commutes: bool,
}

/// A choice that was made.
struct Entry {
    /// Its first root.
    operation: Operation,
    bytes: usize,
    algorithm: Algorithm,
}

impl<'w> Collectives<'w> {
    /// All ranks of the job. Collective.
    ///
    /// Cost: an allocation, and some barriers and puts by which latency and bandwidth are measured.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn new(world: &'w World, settings: &Settings) -> Result<Self> {
        let all = Team::all(world.size());
        let words = world.alloc(settings.memory_bytes / 8)?;
        Self::with(world, all, world.rank().number(), None, words, settings)
    }

    /// The members of a team. Collective over all ranks of the job; `None` for a rank that is not a member.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn of(world: &'w World, team: &Team, settings: &Settings) -> Result<Option<Self>> {
        let group = world.group(team)?;
        let words = world.alloc(settings.memory_bytes / 8)?;
        let Some(group) = group else { return Ok(None) };
        let position = group.position();
        Self::with(world, team.clone(), position, Some(group), words, settings).map(Some)
    }

    fn with(
        world: &'w World,
        team: Team,
        position: u32,
        group: Option<Group<'w>>,
        words: Symmetric<'w, u64>,
        settings: &Settings,
    ) -> Result<Self> {
        let pool = RefCell::new(Pool::new(words.len()));
        let unknown = Model { latency_ns: 1000.0, message_ns: 100.0, byte_ns: 0.1 };
        let (prepared, table) = Default::default();
        let mut collectives = Self {
            world,
            team,
            position,
            group,
            words,
            pool,
            per_host: 1,
            mapped: false,
            model: settings.model.unwrap_or(unknown),
            plan_bytes: settings.plan_bytes,
            piece_bytes: settings.piece_bytes,
            apart: settings.apart,
            rails: settings.rails,
            prepared,
            table,
        };
        (collectives.per_host, collectives.mapped) = collectives.find_hosts(settings.per_host)?;
        if settings.model.is_none() {
            collectives.model = collectives.measure()?;
        }
        Ok(collectives)
    }

    /// The members.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Where this rank stands among them.
    pub fn position(&self) -> u32 {
        self.position
    }

    /// Consecutive members on a host.
    pub fn per_host(&self) -> u32 {
        self.per_host
    }

    /// What steps cost, as far as is known.
    pub fn model(&self) -> Model {
        self.model
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    pub(crate) fn place(&self) -> Place<'_, 'w> {
        let Self { world, team, position, words, mapped, .. } = self;
        Place { world, team, position: *position, words, mapped: *mapped }
    }

    pub(crate) fn give_back(&self, region: Region) {
        self.pool.borrow_mut().give(region);
    }

    /// Prepares an operation that combines nothing, on blocks of `count` values.
    ///
    /// Cost: a reduction over the team, and the trial, if there is one.
    ///
    /// # Errors
    /// It combines values; the algorithm does not do it; no memory is left; members disagree; the job is at fault.
    pub fn plan<T: Pod>(&self, operation: Operation, count: usize, choice: Choice) -> Result<Plan<'_, 'w, T>> {
        if operation.combines() {
            return Err(Error::Invalid("the operation combines values: plan it with an operator"));
        }
        self.plan_of(operation, count, Nothing, choice)
    }

    /// As [`plan`](Self::plan), for any operation; `operator` combines where values are combined.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_of<'c, T: Pod>(
        &'c self,
        operation: Operation,
        count: usize,
        operator: impl Operator<T> + 'c,
        choice: Choice,
    ) -> Result<Plan<'c, 'w, T>> {
        let key = self.key::<T>(operation, count, operator.commutes())?;
        let (state, explanation) = self.prepare::<T>(key, &operator, choice)?;
        Ok(Plan::new(self, operation, state, Box::new(operator), explanation))
    }

    /// All algorithms that can do an operation on blocks of `count` values, the one that is predicted to be fastest first.
    ///
    /// # Errors
    /// The root is no member.
    pub fn candidates<T: Pod>(&self, operation: Operation, count: usize, commutes: bool) -> Result<Vec<Candidate>> {
        Ok(self.candidates_of(self.key::<T>(operation, count, commutes)?))
    }

    /// Tries out an operation, and remembers the outcome for one-shot operations with nearly as many bytes. Collective.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn tune<T: Pod>(&self, operation: Operation, count: usize, operator: impl Operator<T>) -> Result<Explanation> {
        let key = self.key::<T>(operation, count, operator.commutes())?;
        let (state, explanation) = self.prepare::<T>(key, &operator, Choice::Trial)?;
        self.give_back(state.layout.region);
        self.set(operation, explanation.bytes, explanation.chosen)?;
        Ok(explanation)
    }

    /// Says by which algorithm one-shot operations with nearly so many bytes in a block are done; the same on every member. Where it is not
    /// possible, another is chosen.
    ///
    /// # Errors
    /// The table is full.
    pub fn set(&self, operation: Operation, bytes: usize, algorithm: Algorithm) -> Result<()> {
        let (mut table, operation) = (self.table.borrow_mut(), operation.rooted(0));
        table.retain(|entry| entry.operation != operation || entry.bytes != bytes);
        if table.len() == TABLE_MAX {
            return Err(Error::TooMany { what: "choices", limit: TABLE_MAX });
        }
        table.push(Entry { operation, bytes, algorithm });
        self.prepared.borrow_mut().retain(|prepared| {
            let other = prepared.key.operation.rooted(0) != operation;
            if !other {
                self.give_back(prepared.state.layout.region);
            }
            other
        });
        Ok(())
    }

    /// Returns when every member has called it; what each had completed before is seen by all after.
    ///
    /// Cost: that of [`World::barrier`].
    ///
    /// # Errors
    /// The job is at fault.
    pub fn barrier(&self) -> Result<()> {
        self.group.as_ref().map_or_else(|| self.world.barrier(), Group::barrier)
    }

    /// Brings the values of the member at `root` to all.
    ///
    /// # Errors
    /// No memory is left; there is no such member; the job is at fault.
    pub fn broadcast<T: Pod>(&self, root: u32, values: &mut [T]) -> Result<()> {
        self.once(Operation::Broadcast { root }, values.len(), None, values, &Nothing, false)
    }

    /// Combines the values of all members; the one at `root` gets the result. Others keep theirs.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn reduce<T: Pod>(&self, root: u32, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let operation = Operation::Reduce { root };
        let commutes = operator.commutes();
        if self.position == root {
            return self.once(operation, values.len(), None, values, &operator, commutes);
        }
        self.once(operation, values.len(), Some(values), &mut [], &operator, commutes)
    }

    /// Combines the values of all members; all get the result, bitwise the same.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn allreduce<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Operation::Allreduce, values.len(), None, values, &operator, commutes)
    }

    /// Brings the block of each member to all: `all` has them in the order of members.
    ///
    /// # Errors
    /// `all` has not as many values; else as [`broadcast`](Self::broadcast).
    pub fn allgather<T: Pod>(&self, own: &[T], all: &mut [T]) -> Result<()> {
        self.once(Operation::Allgather, own.len(), Some(own), all, &Nothing, false)
    }

    /// Combines the blocks of all members; each gets the one at its position.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn reduce_scatter<T: Pod>(&self, all: &[T], own: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Operation::ReduceScatter, own.len(), Some(all), own, &operator, commutes)
    }

    /// Brings the block of each member to the one at `root`; elsewhere `all` is empty.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn gather<T: Pod>(&self, root: u32, own: &[T], all: &mut [T]) -> Result<()> {
        self.once(Operation::Gather { root }, own.len(), Some(own), all, &Nothing, false)
    }

    /// Brings to each member its block of the one at `root`; elsewhere `all` is empty.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn scatter<T: Pod>(&self, root: u32, all: &[T], own: &mut [T]) -> Result<()> {
        self.once(Operation::Scatter { root }, own.len(), Some(all), own, &Nothing, false)
    }

    /// Brings to each member its block of every other: `from` has a block for each, `into` gets one of each.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn alltoall<T: Pod>(&self, from: &[T], into: &mut [T]) -> Result<()> {
        let count = into.len() / self.team.size() as usize;
        self.once(Operation::Alltoall, count, Some(from), into, &Nothing, false)
    }

    /// Combines the values of all members up to this one.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn scan<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Operation::Scan, values.len(), None, values, &operator, commutes)
    }

    /// Combines the values of all members before this one; the first keeps its own.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn exclusive_scan<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Operation::ExclusiveScan, values.len(), None, values, &operator, commutes)
    }

    /// Does an operation as prepared for the last like it, or prepares it.
    fn once<T: Pod>(
        &self,
        operation: Operation,
        count: usize,
        input: Option<&[T]>,
        output: &mut [T],
        fold: &dyn Fold<T>,
        commutes: bool,
    ) -> Result<()> {
        let (position, size) = (self.position, self.team.size());
        let needed = |blocks: u32| blocks as usize * count;
        let (blocks_in, blocks_out) = (operation.blocks_in(position, size), operation.blocks_out(position, size));
        let brought = input.is_none_or(|input| input.len() == needed(blocks_in));
        if !brought || output.len() != needed(blocks_out) {
            return Err(Error::Invalid("the values are not as many as the operation needs at this member"));
        }
        let key = self.key::<T>(operation, count, commutes)?;
        let found = self.prepared.borrow().iter().position(|prepared| prepared.key == key);
        let mut prepared = match found {
            Some(index) => self.prepared.borrow_mut().remove(index),
            None => Prepared { key, state: self.prepare_once(key)? },
        };
        let [mut temporary, mut chunk] =
            [prepared.state.layout.temporary(), prepared.state.layout.chunk()].map(|length| vec![T::new_zeroed(); length]);
        let shifts = if input.is_none() { shifts(operation, position as usize) } else { (0, 0) };
        let ends = Ends { input, output, shifts, temporary: &mut temporary, chunk: &mut chunk };
        let done = prepared.state.begin().and_then(|()| prepared.state.advance(self, ends, fold, true));
        self.prepared.borrow_mut().push(prepared);
        done.map(drop)
    }

    /// Prepares a one-shot operation, and forgets those that have not been used for longest if there is no room.
    fn prepare_once(&self, key: Key) -> Result<State> {
        let chosen = self.choose(key);
        if self.prepared.borrow().len() == PREPARED_MAX {
            self.forget();
        }
        loop {
            match self.make(key, chosen, self.rails.unwrap_or_default()) {
                Err(Error::NoMemory { .. }) if self.forget() => {}
                other => return other,
            }
        }
    }

    /// Forgets the prepared operation that has not been used for longest, if there is one.
    fn forget(&self) -> bool {
        let mut prepared = self.prepared.borrow_mut();
        let any = !prepared.is_empty();
        if any {
            self.give_back(prepared.remove(0).state.layout.region);
        }
        any
    }

    fn key<T: Pod>(&self, operation: Operation, count: usize, commutes: bool) -> Result<Key> {
        if operation.root().is_some_and(|root| root >= self.team.size()) {
            return Err(Error::Invalid("the root is no member of the team"));
        }
        if size_of::<T>() == 0 || size_of::<T>() > self.plan_bytes / 64 || align_of::<T>() > 32 {
            return Err(Error::Invalid("collective operations take values of some bytes, at most a 64th of a plan's memory"));
        }
        Ok(Key { operation, count, value_bytes: size_of::<T>(), commutes })
    }

    fn shape(&self, key: Key, algorithm: Algorithm) -> Shape {
        let Key { operation, count, commutes, .. } = key;
        Shape { operation, algorithm, size: self.team.size(), count, per_host: self.per_host, commutes }
    }

    fn candidates_of(&self, key: Key) -> Vec<Candidate> {
        let shapes = Algorithm::ALL.map(|algorithm| self.shape(key, algorithm));
        let possible = shapes.into_iter().filter(|shape| shape.is_possible(self.mapped));
        let mut candidates: Vec<_> = possible
            .map(|shape| {
                let promise = shape.promise();
                let predicted = self.model.predict(promise, key.value_bytes);
                Candidate {
                    algorithm: shape.algorithm,
                    promise,
                    predicted,
                    measured: None,
                    rails: self.rails.unwrap_or_default(),
                }
            })
            .filter(|candidate| candidate.promise.messages <= MESSAGES_MAX)
            .collect();
        // Of equals the simpler one.
        candidates.sort_by_key(|candidate| candidate.predicted);
        candidates
    }

    /// What the table says of nearly as many bytes, else the model.
    fn choose(&self, key: Key) -> Algorithm {
        let (table, bytes) = (self.table.borrow(), (key.count * key.value_bytes).max(1));
        let distance = |entry: &&Entry| bytes.ilog2().abs_diff(entry.bytes.max(1).ilog2());
        let alike = table.iter().filter(|entry| entry.operation == key.operation.rooted(0));
        let possible = alike.filter(|entry| self.shape(key, entry.algorithm).is_possible(self.mapped));
        let set = possible.min_by_key(distance).map(|entry| entry.algorithm);
        let modelled = || self.candidates_of(key).first().map_or(Algorithm::Flat, |first| first.algorithm);
        set.unwrap_or_else(modelled)
    }

    fn prepare<T: Pod>(&self, key: Key, fold: &dyn Fold<T>, choice: Choice) -> Result<(State, Explanation)> {
        let mut candidates = self.candidates_of(key);
        let asked = self.rails.unwrap_or_default();
        let (chosen, rails) = match choice {
            Choice::Fixed(algorithm) => {
                let possible = self.team.size() == 1 || candidates.iter().any(|candidate| candidate.algorithm == algorithm);
                (possible.then_some(algorithm).ok_or(Error::Invalid("the algorithm does not do this operation here"))?, asked)
            }
            Choice::Table => (self.choose(key), asked),
            Choice::Trial => self.try_out::<T>(key, fold, &mut candidates)?,
        };
        let state = self.make(key, chosen, rails)?;
        let (operation, size, bytes) = (key.operation, self.team.size(), key.count * key.value_bytes);
        let names = self.world.rails().iter().map(|rail| rail.name).collect();
        Ok((state, Explanation { operation, size, bytes, candidates, chosen, rails, names, by: choice }))
    }

    /// The rails that are tried: those that were asked for, else as is best for each member first, then each two.
    fn rails_to_try(&self) -> Vec<Rails> {
        let rails = || (0..self.world.rails().len()).filter_map(Rail::new);
        match self.rails {
            Some(asked) => vec![asked],
            None if rails().count() == 1 => vec![Rails::default()],
            None => {
                let is_one_kind = self.per_host == 1 || self.per_host >= self.team.size();
                let two = |far: Rail| {
                    let near = rails().filter(move |&near| !is_one_kind || near == far);
                    near.map(move |near| Rails { near: Some(near), far: Some(far) })
                };
                [Rails::default()].into_iter().chain(rails().flat_map(two)).collect()
            }
        }
    }

    /// Measures the candidates by all rails, the best by the model first, and returns the fastest; one that was measured before, if it is not slower
    /// by a twentieth.
    fn try_out<T: Pod>(&self, key: Key, fold: &dyn Fold<T>, candidates: &mut [Candidate]) -> Result<(Algorithm, Rails)> {
        let simplest = candidates.iter().map(|candidate| candidate.algorithm).min_by_key(|algorithm| *algorithm as u8);
        let all_rails = self.rails_to_try();
        let mut best: Option<((Algorithm, Rails), Duration)> = None;
        for (index, candidate) in candidates.iter_mut().enumerate() {
            let is_cheap = candidate.promise.messages <= TRIED_MESSAGES_MAX;
            if index >= TRIED && !is_cheap && Some(candidate.algorithm) != simplest {
                continue;
            }
            for &rails in &all_rails {
                let state = match self.make(key, candidate.algorithm, rails) {
                    Err(Error::NoMemory { .. }) => continue,
                    made => made?,
                };
                let measured = self.time::<T>(key, state, fold, best.map(|(_, least)| least))?;
                if candidate.measured.is_none_or(|least| measured < least) {
                    (candidate.measured, candidate.rails) = (Some(measured), rails);
                }
                let better = best.is_none_or(|(_, least)| measured.as_picoseconds() * 20 < least.as_picoseconds() * 19);
                if better {
                    best = Some(((candidate.algorithm, rails), measured));
                }
            }
        }
        Ok(best.map_or((Algorithm::Flat, Rails::default()), |(way, _)| way))
    }

    /// What one operation takes, on zeroes: the median of some batches, each as the slowest member had it. Where nothing disturbs, as in a
    /// simulation, two batches say as much as many. `best` is that of another algorithm.
    fn time<T: Pod>(&self, key: Key, mut state: State, fold: &dyn Fold<T>, best: Option<Duration>) -> Result<Duration> {
        let size = self.team.size();
        let of = |blocks: u32| vec![T::new_zeroed(); blocks as usize * key.count];
        let input = of(key.operation.blocks_in(self.position, size));
        let mut output = of(key.operation.blocks_out(self.position, size));
        let [mut temporary, mut chunk] =
            [state.layout.temporary(), state.layout.chunk()].map(|length| vec![T::new_zeroed(); length]);
        let mut times = Vec::with_capacity(TRIAL_BATCHES_MAX);
        // The first operation touches pages, and tells how many a batch has; the first batch whether to go on.
        let (mut operations, mut batch) = (1, 0);
        while times.len() < TRIAL_BATCHES_MAX {
            let (mut start, mut lasted) = (self.world.now(), 0);
            for _ in 0..operations {
                if self.apart {
                    lasted += (self.world.now() - start).as_picoseconds();
                    start = self.meet_to_begin()?;
                }
                state.begin()?;
                let ends = Ends {
                    input: Some(&input[..]),
                    output: &mut output,
                    shifts: (0, 0),
                    temporary: &mut temporary,
                    chunk: &mut chunk,
                };
                state.advance(self, ends, fold, true)?;
            }
            // Members do not run away from each other.
            let mut slowest = [lasted + (self.world.now() - start).as_picoseconds()];
            self.agree(&mut slowest, u64::max)?;
            let time = slowest[0] / operations;
            batch += 1;
            match batch {
                1 => {
                    let least = if time > TRIAL_LONG.as_picoseconds() { 2 } else { TRIAL_OPERATIONS.0 };
                    operations = (TRIAL_BATCH.as_picoseconds() / time.max(1)).clamp(least, TRIAL_OPERATIONS.1);
                    continue;
                }
                2 if best.is_some_and(|best| time / HOPELESS > best.as_picoseconds()) => {
                    times.push(time);
                    break;
                }
                _ => {}
            }
            let is_same = times.last().is_some_and(|&last: &u64| last.abs_diff(time) <= last / TRIAL_SAME);
            times.push(time);
            if is_same {
                break;
            }
        }
        self.give_back(state.layout.region);
        times.sort_unstable();
        Ok(Duration::from_picoseconds(times[times.len() / 2]))
    }

    /// Waits until all members are here and nothing is under way, and returns when that is: in virtual time, the same instant for all.
    fn meet_to_begin(&self) -> Result<Instant> {
        let mut last = [self.world.now().as_picoseconds()];
        self.agree(&mut last, u64::max)?;
        self.world.compute(Instant::from_picoseconds(last[0]) + TRIAL_PAUSE - self.world.now());
        Ok(self.world.now())
    }

    /// Memory and steps for an operation by an algorithm. Collective.
    fn make(&self, key: Key, algorithm: Algorithm, rails: Rails) -> Result<State> {
        let size = self.team.size();
        let (whole, value_bytes) = (self.shape(key, algorithm), key.value_bytes);
        if size == 1 {
            return Ok(State::new(self.alone(key, algorithm)));
        }
        self.meet_for(key, algorithm, rails)?;
        let mut shape = whole;
        let flows = matches!(key.operation, Operation::Broadcast { .. } | Operation::Reduce { .. })
            || matches!(algorithm, Algorithm::Chain | Algorithm::Shared);
        let most = if flows { self.piece_bytes.min(self.plan_bytes / 2) } else { self.plan_bytes / 2 };
        let rail = |to| rail_between(self.world, &self.team, rails, self.per_host, [self.position, to]);
        let maps = |to| rail(to).is_none() && self.team.rank(to).is_some_and(|rank| self.world.maps(rank));
        let (piece, slot_values) = loop {
            let piece = shape.schedule(self.position);
            let mut values = [(piece.room + kept(&piece, value_bytes, maps)) as u64];
            // What is kept depends on who is a neighbour.
            if !self.mapped || rails != Rails::default() {
                self.agree(&mut values, u64::max)?;
            }
            let block = if flows { shape.count * value_bytes } else { 0 };
            if values[0] as usize * value_bytes <= self.plan_bytes / 2 && block <= most || shape.count <= 1 {
                break (piece, values[0] as usize);
            }
            shape.count = shape.count.div_ceil(2);
        };
        let rest = match key.count % shape.count.max(1) {
            0 => None,
            rest => Some(Shape { count: rest, ..shape }.schedule(self.position)),
        };
        let of_room = self.plan_bytes.min(ROOM_BYTES) / (slot_values * value_bytes).max(1);
        let of_lines = LINES_BYTES / (piece.lines as usize * LINE_BYTES).max(1);
        let slots = of_room.min(of_lines).clamp(2, SLOTS_MAX);
        let kept = slot_values - piece.room;
        let needed = Layout::words(size, slots, &piece, kept, value_bytes);
        let region = self.take(needed)?;
        let (awaits, owes) = (piece.awaits(), piece.owes());
        let layout = Layout { shape, count: key.count, value_bytes, slots, piece, rest, awaits, owes, kept, region, rails };
        self.settle(&layout)?;
        Ok(State::new(layout))
    }

    /// Of a single member: what it brings is what it gets.
    fn alone(&self, key: Key, algorithm: Algorithm) -> Layout {
        use crate::schedule::{Buffer, Schedule, Span, Step};
        let whole = |buffer| Span::blocks(buffer, 0, 1, key.count);
        let gets = key.operation.blocks_in(0, 1) == 1 && key.operation != Operation::ExclusiveScan;
        let copy = Step::Copy { from: whole(Buffer::Input), to: whole(Buffer::Output) };
        let piece = Schedule { steps: if gets { vec![copy] } else { Vec::new() }, ..Schedule::default() };
        let shape = Shape { size: 1, ..self.shape(key, algorithm) };
        let region = Region { start: 0, words: 0 };
        let (awaits, owes) = (Vec::new(), Vec::new());
        let (count, value_bytes) = (key.count, key.value_bytes);
        Layout { shape, count, value_bytes, slots: 1, piece, rest: None, awaits, owes, kept: 0, region, rails: Rails::default() }
    }

    fn take(&self, words: usize) -> Result<Region> {
        let heap_bytes = self.words.len() as u64 * 8;
        self.pool.borrow_mut().take(words).ok_or(Error::NoMemory { bytes: words as u64 * 8, heap_bytes })
    }

    /// Makes sure that all want the same. From then on nobody uses memory that all have given back.
    fn meet_for(&self, key: Key, algorithm: Algorithm, rails: Rails) -> Result<()> {
        // What this member has put for an earlier plan has arrived: credits are not waited for by those who get them.
        self.world.quiet()?;
        let Key { operation, count, value_bytes, commutes } = key;
        let place = Operation::ALL.iter().position(|other| *other == operation.rooted(0)).unwrap_or_default();
        let names = (place as u64) << 16 | (algorithm as u64) << 8 | u64::from(commutes);
        let number = |rail: Option<Rail>| rail.map_or(0, |rail| rail.number() as u64 + 1);
        let root = u64::from(operation.root().unwrap_or_default()) << 16 | number(rails.near) << 8 | number(rails.far);
        self.agree_on([names, root, count as u64, value_bytes as u64])
    }

    /// Clears the flags of a new plan, and makes sure that all have the same memory for it.
    fn settle(&self, layout: &Layout) -> Result<()> {
        let words = self.words.local();
        layout.flags().for_each(|flag| words.store(flag, 0));
        let Region { start, words } = layout.region;
        self.agree_on([start as u64, words as u64, 0, 0]).inspect_err(|_| self.give_back(layout.region))
    }

    fn agree_on(&self, mine: [u64; 4]) -> Result<()> {
        let mut all = [[0; 4]; 2];
        all[0] = mine;
        all[1] = mine.map(|word| !word);
        self.agree(all.as_flattened_mut(), |one, other| one & other)?;
        if all == [mine, mine.map(|word| !word)] {
            Ok(())
        } else {
            Err(Error::Disagreement("a plan of a team, or the order of plans"))
        }
    }

    fn agree(&self, words: &mut [u64], combine: impl Fn(u64, u64) -> u64) -> Result<()> {
        match &self.group {
            Some(group) => group.allreduce(words, combine),
            None => self.world.allreduce(words, combine),
        }
    }

    /// Members of a host, and whether it is the only one.
    fn find_hosts(&self, given: Option<u32>) -> Result<(u32, bool)> {
        let (size, position) = (self.team.size(), self.position);
        let maps = |&other: &u32| self.team.rank(other).is_some_and(|rank| self.world.maps(rank));
        let before = (0..position).rev().take_while(maps).count() as u32;
        let after = (position + 1..size).take_while(maps).count() as u32;
        let (first, count) = (position - before, before + 1 + after);
        let mut most = [u64::from(count)];
        self.agree(&mut most, u64::max)?;
        let most = most[0] as u32;
        let regular = first.is_multiple_of(most) && count == most.min(size - first);
        let mut all = [u64::from(regular)];
        self.agree(&mut all, |one, other| one & other)?;
        let found = if all[0] == 1 { most } else { 1 };
        Ok((given.unwrap_or(found).clamp(1, size), most == size))
    }

    /// What steps cost here.
    fn measure(&self) -> Result<Model> {
        const TIMES: u64 = 5;
        let size = self.team.size();
        let probe = PROBE_WORDS.min(self.words.len());
        if size == 1 || probe == 0 {
            return Ok(self.model);
        }
        let meet = || match &self.group {
            Some(group) => group.barrier_by(BarrierAlgorithm::Dissemination),
            None => self.world.barrier_by(BarrierAlgorithm::Dissemination),
        };
        let since = |start: Instant| (self.world.now() - start).as_picoseconds();
        let median = |act: &dyn Fn() -> Result<()>| -> Result<u64> {
            let mut times = [0; TIMES as usize];
            for time in &mut times {
                let start = self.world.now();
                act()?;
                *time = since(start);
            }
            times.sort_unstable();
            Ok(times[times.len() / 2])
        };
        let right = self.team.rank((self.position + 1) % size).expect("a member");
        let to = self.words.at(right, 0);
        let block = vec![0_u64; probe];
        meet()?;
        let barrier = median(&meet)?;
        let few = median(&|| {
            (0..16).try_for_each(|word| self.world.put(to.add(word.min(probe as u64 - 1)), &[0]).map(drop))?;
            self.world.flush(right)
        })?;
        let many = median(&|| {
            self.world.put(to, &block)?;
            self.world.flush(right)
        })?;
        self.barrier()?;
        let mut slowest = [barrier, few, many];
        self.agree(&mut slowest, u64::max)?;
        let [barrier, few, many] = slowest.map(|picoseconds| picoseconds as f64 / 1e3);
        let latency_ns = barrier / f64::from(size.next_power_of_two().ilog2());
        let byte_ns = ((many - few) / (probe as f64 * 8.0)).max(0.03);
        Ok(Model { latency_ns, message_ns: (few / 16.0).max(10.0), byte_ns })
    }
}
