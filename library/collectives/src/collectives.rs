//! Collective operations of a team, and their memory.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pelago_base::Team;
use pelago_rma::{Error, Group, Pod, ReductionOperator, Result, Symmetric, World};

use crate::choice::{Candidate, Choice, Explanation, Rails};
use crate::cost::Model;
use crate::executor::{Ends, MemberContext};
use crate::member::{Member, Uses};
use crate::operator::{Bits, Fold, Nothing};
use crate::origin::Origin;
use crate::plan_state::{PlanState, shifts};
use crate::pool::{Pool, Region};
use crate::schedule::Shape;
use crate::scratch::Scratch;
use crate::settings::Settings;

use crate::words::Words;
use crate::{Algorithm, Collective, Operator};

/// What differs from the number that an operation needs at a member.
pub(crate) const INPUT: &str = "the number of values of the input";
pub(crate) const OUTPUT: &str = "the number of values of the output";
pub(crate) const IN_PLACE: &str = "the number of values in place";

/// Maximum number of prepared one-shot operations that are cached for calls of the same shape.
const PREPARED_MAX: usize = 32;

/// Minimum bytes of a block for the trial of a one-shot operation that is called often. The time of shorter ones is that of their messages, which the model
/// knows.
const TRIED_BYTES: usize = 16 * 1024;

/// Maximum number of entries of the table of choices.
const TABLE_MAX: usize = 256;

/// Addresses of a process, in bytes: no buffer is longer.
const ADDRESSES: usize = 1 << 47;

/// Maximum number of steps of a candidate schedule. Longer schedules are not considered.
const MESSAGES_MAX: u64 = 1 << 16;

/// Collective operations of a team, at one member.
///
/// Its operations are collective: every member calls the same ones in the same order, with the same counts. None of them is a barrier.
pub struct Collectives<'w> {
    pub(crate) world: &'w World,
    pub(crate) member: Rc<Member>,
    pub(crate) group: Option<Group<'w>>,
    pub(crate) origin: Origin<'w>,
    pub(crate) pool: RefCell<Pool>,
    pub(crate) scratch: Scratch,
    pub(crate) per_host: u32,
    pub(crate) model: Model,
    pub(crate) plan_bytes: usize,
    pub(crate) piece_bytes: usize,
    pub(crate) apart: bool,
    pub(crate) rails: Option<Rails>,
    calls_before_trial: Option<u64>,
    prepared: RefCell<Vec<Prepared>>,
    prepared_so_far: Cell<u64>,
    table: RefCell<Vec<Entry>>,
}

/// A prepared one-shot operation.
struct Prepared {
    key: Key,
    number: u64,
    /// Calls so far.
    calls: u64,
    state: Rc<RefCell<PlanState>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) operation: Collective,
    pub(crate) count: usize,
    pub(crate) value_bytes: usize,
    pub(crate) commutes: bool,
}

/// An entry of the table of choices.
struct Entry {
    /// The operation, with root 0.
    operation: Collective,
    bytes: usize,
    algorithm: Algorithm,
}

impl<'w> Collectives<'w> {
    /// Makes the collective operations of all ranks of the job. Collective.
    ///
    /// Cost: an allocation, and some barriers and puts by which latency and bandwidth are measured.
    ///
    /// # Errors
    /// As [`World::alloc`].
    pub fn new(world: &'w World, settings: &Settings) -> Result<Self> {
        let all = Team::all(world.size());
        let memory = world.alloc(settings.memory_bytes / 8)?;
        let words = Words::of(world, &memory);
        Self::with(world, (all, world.rank().number()), None, (words, Origin::whole(memory)), settings)
    }

    /// Makes the collective operations of a team. Collective over all ranks of the job, with the same team; `None` for a rank that is not a member.
    /// [`split`](Self::split) makes a team for each group of ranks at once.
    ///
    /// # Errors
    /// As [`World::group`].
    pub fn of(world: &'w World, team: &Team, settings: &Settings) -> Result<Option<Self>> {
        let group = world.group(team)?;
        let memory: Symmetric<'w, u64> = world.alloc(settings.memory_bytes / 8)?;
        let words = Words::of(world, &memory);
        let Some(group) = group else { return Ok(None) };
        let position = group.position();
        Self::with(world, (team.clone(), position), Some(group), (words, Origin::whole(memory)), settings).map(Some)
    }

    pub(crate) fn with(
        world: &'w World,
        (team, position): (Team, u32),
        group: Option<Group<'w>>,
        (words, origin): (Words, Origin<'w>),
        settings: &Settings,
    ) -> Result<Self> {
        let unknown = Model { latency_ns: 1000.0, message_ns: 100.0, byte_ns: 0.1, turn_ns: 0.0 };
        let mut collectives = Self {
            world,
            member: Rc::new(Member::new(team, position, words)),
            group,
            origin,
            pool: RefCell::new(Pool::new(words.length())),
            scratch: Scratch::default(),
            per_host: 1,
            model: settings.model.unwrap_or(unknown),
            plan_bytes: settings.plan_bytes,
            piece_bytes: settings.piece_bytes,
            apart: settings.apart,
            rails: settings.rails,
            calls_before_trial: settings.calls_before_trial,
            prepared: RefCell::default(),
            prepared_so_far: Cell::new(0),
            table: RefCell::default(),
        };
        let (per_host, mapped) = collectives.find_hosts(settings.per_host)?;
        collectives.per_host = per_host;
        collectives.member.mapped.set(mapped);
        if settings.model.is_none() {
            collectives.model = collectives.measure()?;
        }
        Ok(collectives)
    }

    /// The members.
    pub fn team(&self) -> &Team {
        &self.member.team
    }

    /// The position of this rank in the team.
    pub fn position(&self) -> u32 {
        self.member.position
    }

    /// Number of consecutive members on a host.
    pub fn per_host(&self) -> u32 {
        self.per_host
    }

    /// The cost model.
    pub fn model(&self) -> Model {
        self.model
    }

    pub(crate) fn world(&self) -> &'w World {
        self.world
    }

    pub(crate) fn context(&self) -> MemberContext<'_> {
        self.member.context(self.world)
    }

    /// Maximum bytes of a put that every network captures.
    pub(crate) fn captured(&self) -> usize {
        self.world.rails().iter().map(|rail| rail.inject_size).min().unwrap_or(0)
    }

    /// Maximum bytes of a put that fits one message on every network with a high cost per message; 0 if there is no such network.
    pub(crate) fn message_bytes(&self) -> usize {
        self.world.rails().iter().map(|rail| rail.put_message_bytes).filter(|&bytes| bytes > 0).min().unwrap_or(0)
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.member.mapped.get()
    }

    /// Waits, after a failure, until no operation is in flight. The returned error already reports failed puts to a failed member: the next barrier
    /// must not report them again. Failures of other operations of the program are left to it.
    pub(crate) fn told<R>(&self, ended: Result<R>) -> Result<R> {
        if ended.is_err() {
            let _at_fault = self.world.await_quiet();
            self.world.dismiss_lost();
        }
        ended
    }

    pub(crate) fn give_back(&self, region: Region) {
        self.pool.borrow_mut().give(region);
    }

    /// All algorithms that can do an operation on blocks of `count` values, the one that is predicted to be fastest first.
    ///
    /// # Errors
    /// The root is no member; the blocks of a member are longer than 128 TiB.
    pub fn candidates<T: Pod>(&self, operation: Collective, count: usize, commutes: bool) -> Result<Vec<Candidate>> {
        Ok(self.candidates_of(self.key::<T>(operation, count, commutes)?))
    }

    /// Runs a trial of an operation, and uses its result for one-shot operations with nearly as many bytes. Collective.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn tune<T: Pod>(&self, operation: Collective, count: usize, operator: impl Operator<T>) -> Result<Explanation> {
        let key = self.key::<T>(operation, count, operator.commutes())?;
        let (state, explanation) = self.prepare::<T>(key, &operator, Choice::Trial, &Ok(()))?;
        self.give_back(state.layout.region);
        self.set(operation, explanation.bytes, explanation.chosen)?;
        Ok(explanation)
    }

    /// Sets the algorithm of one-shot operations with nearly so many bytes in a block; the same on every member. If the algorithm is not
    /// possible, another is chosen.
    ///
    /// # Errors
    /// The table is full.
    pub fn set(&self, operation: Collective, bytes: usize, algorithm: Algorithm) -> Result<()> {
        let (mut table, operation) = (self.table.borrow_mut(), operation.rooted(0));
        table.retain(|entry| entry.operation != operation || entry.bytes != bytes);
        if table.len() == TABLE_MAX {
            return Err(Error::TooMany { what: "choices", limit: TABLE_MAX });
        }
        table.push(Entry { operation, bytes, algorithm });
        drop(table);
        self.forget_all(|key| key.operation.rooted(0) == operation)
    }

    /// Returns when every member has called it. All operations that members completed before are visible to all members after.
    ///
    /// Cost: that of [`World::barrier`].
    ///
    /// # Errors
    /// The job is at fault.
    pub fn barrier(&self) -> Result<()> {
        self.group.as_ref().map_or_else(|| self.world.barrier(), Group::barrier)
    }

    /// Copies the values of the member at `root` to all members.
    ///
    /// # Errors
    /// No memory is left; there is no such member; the job is at fault.
    pub fn broadcast<T: Pod>(&self, root: u32, values: &mut [T]) -> Result<()> {
        self.once(Collective::Broadcast { root }, values.len(), None, values, &Nothing, false)
    }

    /// Combines the values of all members; the one at `root` gets the result. Others keep theirs.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn reduce<T: Pod>(&self, root: u32, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let operation = Collective::Reduce { root };
        let commutes = operator.commutes();
        if self.position() == root {
            return self.once(operation, values.len(), None, values, &operator, commutes);
        }
        self.once(operation, values.len(), Some(values), &mut [], &operator, commutes)
    }

    /// Combines the values of all members; all get the result, bitwise the same.
    ///
    /// Cost: where the network [combines](Self::is_in_network) them, one contribution of each member.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn allreduce<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        if let Some(reduction) = self.in_network(values.len(), &operator) {
            return self.told(self.allreduce_in_network(reduction, values));
        }
        let commutes = operator.commutes();
        self.once(Collective::Allreduce, values.len(), None, values, &operator, commutes)
    }

    /// Copies the block of each member to all members: `all` has the blocks in the order of members.
    ///
    /// # Errors
    /// The length of `all` is wrong; else as [`broadcast`](Self::broadcast).
    pub fn allgather<T: Pod>(&self, own: &[T], all: &mut [T]) -> Result<()> {
        self.once(Collective::Allgather, own.len(), Some(own), all, &Nothing, false)
    }

    /// Combines the blocks of all members; each gets the one at its position.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn reduce_scatter<T: Pod>(&self, all: &[T], own: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Collective::ReduceScatter, own.len(), Some(all), own, &operator, commutes)
    }

    /// Copies the block of each member to the one at `root`; on other members `all` is empty.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn gather<T: Pod>(&self, root: u32, own: &[T], all: &mut [T]) -> Result<()> {
        self.once(Collective::Gather { root }, own.len(), Some(own), all, &Nothing, false)
    }

    /// Copies to each member its block of the member at `root`; on other members `all` is empty.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn scatter<T: Pod>(&self, root: u32, all: &[T], own: &mut [T]) -> Result<()> {
        self.once(Collective::Scatter { root }, own.len(), Some(all), own, &Nothing, false)
    }

    /// Exchanges blocks between all members: `from` has a block for each member, `into` gets one of each member.
    ///
    /// # Errors
    /// As [`allgather`](Self::allgather).
    pub fn alltoall<T: Pod>(&self, from: &[T], into: &mut [T]) -> Result<()> {
        let count = into.len() / self.team().size() as usize;
        self.once(Collective::Alltoall, count, Some(from), into, &Nothing, false)
    }

    /// Combines the values of all members up to this one.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn scan<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Collective::Scan, values.len(), None, values, &operator, commutes)
    }

    /// Combines the values of all members before this one; the first keeps its own.
    ///
    /// # Errors
    /// As [`broadcast`](Self::broadcast).
    pub fn exclusive_scan<T: Pod>(&self, values: &mut [T], operator: impl Operator<T>) -> Result<()> {
        let commutes = operator.commutes();
        self.once(Collective::ExclusiveScan, values.len(), None, values, &operator, commutes)
    }

    /// Whether the network combines the values of a one-shot [`allreduce`](Self::allreduce) of `count` values: it combines for this team, has the
    /// [operator](Operator::in_network), takes so many words, and no other algorithm was [tuned](Self::tune) or [set](Self::set) for the nearest
    /// number of bytes. The same on all members. Plans and started operations do not use the network.
    pub fn is_in_network<T: Pod>(&self, count: usize, operator: &impl Operator<T>) -> bool {
        self.in_network(count, operator).is_some()
    }

    fn in_network<T: Pod>(&self, count: usize, operator: &impl Operator<T>) -> Option<ReductionOperator> {
        let reduction = operator.in_network()?;
        let words_max = self.group.as_ref().map_or_else(|| self.world.network_words(), Group::network_words)?;
        let fits = size_of::<T>() == size_of::<u64>() && (1..=words_max).contains(&count);
        let set = self.set_for(Collective::Allreduce, count * size_of::<T>(), |_| true);
        (fits && set.is_none_or(|set| set == Algorithm::Network)).then_some(reduction)
    }

    fn allreduce_in_network<T: Pod>(&self, reduction: ReductionOperator, values: &mut [T]) -> Result<()> {
        let mut words = self.scratch.take::<u64>(values.len());
        let combined = &mut words[..values.len()];
        for (word, value) in combined.iter_mut().zip(&*values) {
            *word = u64::from_ne_bytes(value.as_bytes().try_into().expect("a value is a word"));
        }
        let done = match &self.group {
            Some(group) => group.allreduce_words(reduction, combined),
            None => self.world.allreduce_words(reduction, combined),
        };
        if done.is_ok() {
            values.iter_mut().zip(combined).for_each(|(value, word)| value.as_mut_bytes().copy_from_slice(&word.to_ne_bytes()));
        }
        self.scratch.give(words);
        done
    }

    /// Makes sure that the slices have the lengths that the operation needs at this member.
    pub(crate) fn check_lengths<T: Pod>(
        &self,
        operation: Collective,
        count: usize,
        input: Option<&[T]>,
        output: &[T],
    ) -> Result<()> {
        let (position, size) = (self.position(), self.team().size());
        let needed = |blocks: u32| blocks as usize * count;
        let (blocks_in, blocks_out) = (operation.blocks_in(position, size), operation.blocks_out(position, size));
        input.map_or(Ok(()), |input| Error::check_number(INPUT, input.len(), needed(blocks_in)))?;
        Error::check_number(OUTPUT, output.len(), needed(blocks_out))
    }

    /// Returns the current algorithm of one-shot operations of this kind; `None` if none is prepared: there was no call, or none recently.
    ///
    /// # Errors
    /// The root is no member.
    pub fn prepared<T: Pod>(&self, operation: Collective, count: usize, commutes: bool) -> Result<Option<Algorithm>> {
        let key = self.key::<T>(operation, count, commutes)?;
        let prepared = self.prepared.borrow();
        Ok(prepared.iter().find(|prepared| prepared.key == key).map(|prepared| prepared.state.borrow().layout.shape.algorithm))
    }

    /// Returns the prepared one-shot operation of this kind; prepares it if necessary.
    pub(crate) fn prepared_for<T: Pod>(&self, key: Key) -> Result<(u64, Rc<RefCell<PlanState>>)> {
        let found = self.prepared.borrow().iter().position(|prepared| prepared.key == key);
        let mut prepared = match found {
            Some(index) => self.prepared.borrow_mut().remove(index),
            None => self.numbered(key, 0, self.prepare_once(key)?),
        };
        prepared.calls += 1;
        let is_tried = self.calls_before_trial.is_some_and(|calls| prepared.calls == calls + 1) && self.may_try(key);
        // The most recently used operation is the last entry.
        self.prepared.borrow_mut().push(prepared);
        if is_tried {
            self.try_prepared::<T>(key)?;
        }
        Ok(self.prepared.borrow().last().map(|last| (last.number, last.state.clone())).expect("it was pushed"))
    }

    fn numbered(&self, key: Key, calls: u64, state: PlanState) -> Prepared {
        let number = self.prepared_so_far.get() + 1;
        self.prepared_so_far.set(number);
        Prepared { key, number, calls, state: Rc::new(RefCell::new(state)) }
    }

    /// Whether the algorithm is the model's choice, and another one may be faster.
    fn may_try(&self, key: Key) -> bool {
        let operation = key.operation.rooted(0);
        let is_set = self.table.borrow().iter().any(|entry| entry.operation == operation);
        key.count * key.value_bytes >= TRIED_BYTES && self.team().size() > 1 && !is_set
    }

    /// Tries the algorithms of the most recently used operation, and prepares it again if another one is faster. Collective.
    fn try_prepared<T: Pod>(&self, key: Key) -> Result<()> {
        let mut candidates = self.candidates_of(key);
        let (algorithm, rails) = match self.try_out::<T>(key, &Bits, &mut candidates, &Ok(()), false) {
            // The operation needs no such buffers, and keeps its algorithm.
            Err(Error::OutOfMemory { .. }) => return Ok(()),
            tried => tried?,
        };
        let (number, calls, before) = {
            let prepared = self.prepared.borrow();
            let last = prepared.last().expect("it was pushed");
            let layout = &last.state.borrow().layout;
            (last.number, last.calls, (layout.shape.algorithm, layout.rails))
        };
        // If no candidate finds room, none is measured.
        if before == (algorithm, rails) || candidates.iter().all(|candidate| candidate.measured.is_none()) {
            return Ok(());
        }
        self.wait_until_free(Uses::Plan(number))?;
        let state = self.make(key, algorithm, rails, &Ok(()))?;
        let new = self.numbered(key, calls, state);
        let old = self.prepared.borrow_mut().pop().expect("it was pushed");
        self.give_back(old.state.borrow().layout.region);
        self.prepared.borrow_mut().push(new);
        Ok(())
    }

    /// Runs a one-shot operation; prepares it unless an equal one is prepared.
    fn once<T: Pod>(
        &self,
        operation: Collective,
        count: usize,
        input: Option<&[T]>,
        output: &mut [T],
        fold: &dyn Fold<T>,
        commutes: bool,
    ) -> Result<()> {
        self.check_lengths(operation, count, input, output)?;
        let (number, state) = self.prepared_for::<T>(self.key::<T>(operation, count, commutes)?)?;
        self.wait_until_free(Uses::Plan(number))?;
        let mut state = state.borrow_mut();
        let lengths = [state.layout.temporary(), state.layout.chunk()];
        let [mut temporary, mut chunk] = lengths.map(|length| self.scratch.take::<T>(length));
        let shifts = if input.is_none() { shifts(operation, self.position() as usize) } else { (0, 0) };
        let ends = Ends { input, output, shifts, temporary: &mut temporary[..lengths[0]], chunk: &mut chunk[..lengths[1]] };
        let done = state.begin().and_then(|()| self.told(state.advance(self.context(), ends, fold, true)));
        self.scratch.give(chunk);
        self.scratch.give(temporary);
        done.map(drop)
    }

    /// Prepares a one-shot operation, and forgets the least recently used ones if there is no room.
    fn prepare_once(&self, key: Key) -> Result<PlanState> {
        let chosen = self.choose(key);
        if self.prepared.borrow().len() == PREPARED_MAX {
            self.forget()?;
        }
        self.make_with_room(key, chosen, self.rails.unwrap_or_default(), &Ok(()))
    }

    /// As [`make`](Self::make); forgets the least recently used prepared one-shot operations if there is no room.
    pub(crate) fn make_with_room(&self, key: Key, algorithm: Algorithm, rails: Rails, own: &Result<()>) -> Result<PlanState> {
        loop {
            match self.make(key, algorithm, rails, own) {
                Err(Error::NoMemory { .. }) if self.forget()? => {}
                other => return other,
            }
        }
    }

    /// Forgets the least recently used prepared operation, if there is one; if it is in flight, waits for its end.
    pub(crate) fn forget(&self) -> Result<bool> {
        let oldest = self.prepared.borrow().first().map(|prepared| prepared.number);
        let Some(number) = oldest else { return Ok(false) };
        self.wait_until_free(Uses::Plan(number))?;
        let prepared = self.prepared.borrow_mut().remove(0);
        self.give_back(prepared.state.borrow().layout.region);
        Ok(true)
    }

    /// Forgets all prepared operations of a kind.
    fn forget_all(&self, is_meant: impl Fn(&Key) -> bool) -> Result<()> {
        loop {
            let found = self.prepared.borrow().iter().position(|prepared| is_meant(&prepared.key));
            let Some(index) = found else { return Ok(()) };
            let number = self.prepared.borrow()[index].number;
            self.wait_until_free(Uses::Plan(number))?;
            let prepared = self.prepared.borrow_mut().remove(index);
            self.give_back(prepared.state.borrow().layout.region);
        }
    }

    pub(crate) fn key<T: Pod>(&self, operation: Collective, count: usize, commutes: bool) -> Result<Key> {
        if operation.root().is_some_and(|root| root >= self.team().size()) {
            return Err(Error::Invalid("the root must be a member of the team"));
        }
        if size_of::<T>() == 0 || size_of::<T>() > self.plan_bytes / 64 || align_of::<T>() > 32 {
            return Err(Error::Invalid(
                "an element of a collective operation has at least one byte, at most 1/64 of the memory of a plan, and an alignment of at \
                 most 32 bytes",
            ));
        }
        // The blocks of the member that has most.
        let (root, size) = (operation.root().unwrap_or(0), self.team().size());
        let blocks = operation.blocks_in(root, size).max(operation.blocks_out(root, size));
        let bytes = (blocks as usize).saturating_mul(count).saturating_mul(size_of::<T>());
        if bytes > ADDRESSES {
            return Err(Error::TooLong { what: "collective operation", bytes, limit: ADDRESSES });
        }
        Ok(Key { operation, count, value_bytes: size_of::<T>(), commutes })
    }

    pub(crate) fn shape(&self, key: Key, algorithm: Algorithm) -> Shape {
        let Key { operation, count, commutes, .. } = key;
        Shape { operation, algorithm, size: self.team().size(), count, per_host: self.per_host, commutes }
    }

    pub(crate) fn candidates_of(&self, key: Key) -> Vec<Candidate> {
        let shapes = Algorithm::ALL.map(|algorithm| self.shape(key, algorithm));
        let possible = shapes.into_iter().filter(|shape| shape.is_possible(self.is_mapped()));
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
        // The sort is stable: of equal predictions the simpler algorithm comes first.
        candidates.sort_by_key(|candidate| candidate.predicted);
        candidates
    }

    /// Returns the algorithm of the table for the nearest number of bytes, else the model's choice.
    pub(crate) fn choose(&self, key: Key) -> Algorithm {
        let is_possible = |algorithm| self.shape(key, algorithm).is_possible(self.is_mapped());
        let set = self.set_for(key.operation, key.count * key.value_bytes, is_possible);
        let modelled = || self.candidates_of(key).first().map_or(Algorithm::Flat, |first| first.algorithm);
        set.unwrap_or_else(modelled)
    }

    /// Returns the possible algorithm of the table for the nearest number of bytes, if it has one.
    fn set_for(&self, operation: Collective, bytes: usize, is_possible: impl Fn(Algorithm) -> bool) -> Option<Algorithm> {
        let (table, bytes) = (self.table.borrow(), bytes.max(1));
        let distance = |entry: &&Entry| bytes.ilog2().abs_diff(entry.bytes.max(1).ilog2());
        let alike = table.iter().filter(|entry| entry.operation == operation.rooted(0));
        let possible = alike.filter(|entry| is_possible(entry.algorithm));
        possible.min_by_key(distance).map(|entry| entry.algorithm)
    }

    /// Prepares an operation. `own`: whether this member has its memory for it. Collective.
    pub(crate) fn prepare<T: Pod>(
        &self,
        key: Key,
        fold: &dyn Fold<T>,
        choice: Choice,
        own: &Result<()>,
    ) -> Result<(PlanState, Explanation)> {
        let mut candidates = self.candidates_of(key);
        let asked = self.rails.unwrap_or_default();
        let (chosen, rails) = match choice {
            Choice::Fixed(algorithm) => {
                let possible = self.team().size() == 1 || candidates.iter().any(|candidate| candidate.algorithm == algorithm);
                (
                    possible
                        .then_some(algorithm)
                        .ok_or(Error::Invalid("the algorithm does not support this operation for this team"))?,
                    asked,
                )
            }
            Choice::Table => (self.choose(key), asked),
            Choice::Trial => self.try_out::<T>(key, fold, &mut candidates, own, true)?,
        };
        let state = self.make_with_room(key, chosen, rails, own)?;
        let (operation, size, bytes) = (key.operation, self.team().size(), key.count * key.value_bytes);
        let names = self.world.rails().iter().map(|rail| rail.name).collect();
        Ok((state, Explanation { operation, size, bytes, candidates, chosen, rails, names, by: choice }))
    }

    pub(crate) fn agree(&self, words: &mut [u64], combine: impl Fn(u64, u64) -> u64) -> Result<()> {
        let agreed = match &self.group {
            Some(group) => group.allreduce(words, combine),
            None => self.world.allreduce(words, combine),
        };
        self.told(agreed)
    }
}

impl Drop for Collectives<'_> {
    /// Waits for started operations: other members write to the memory that is freed.
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.member.started.borrow().is_empty() {
            let _at_fault = self.wait_for(|| self.member.started.borrow().is_empty());
        }
    }
}
