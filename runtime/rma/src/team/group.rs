//! Broadcast and allreduce of a team, and the state of its barriers (`barrier.rs`); they use puts into scratch memory at the same offset of each member.
//!
//! Every flag holds the number of the last step that it announces, so that it needs no reset and a member that is a step ahead does no
//! harm. A buffer is overwritten only after its reader is known to have read it: see `broadcast` and `reduce`. The flag of a step with data also
//! holds the `terms` of the step at the writer, so that members find out without a message that they called with different lengths.

use std::cell::Cell;

use pelago_base::{GlobalAddress, Rank, SegmentId, Team};
use pelago_memory::{CellSlice, Pod};
use pelago_platform::ReductionOperator;

use crate::context::wait::Whom;
use crate::limits::COLLECTIVE_CHUNK_BYTES;
use crate::memory::segment::{ALIGN_BYTES, known};
use crate::operations::reduction::NetworkGroup;
use crate::{BarrierAlgorithm, Context, Error, GlobalPtr, Result, Symmetric};

/// Maximum number of rounds of a barrier or a tree, for a job of maximum size.
pub(crate) const ROUNDS_MAX: u64 = pelago_base::limits::RANKS_MAX.ilog2() as u64;

/// Bits of a flag that hold the terms of its step; the others hold the number of the step, which suffices for years of nothing but such steps.
const TERMS_BITS: u32 = 16;

/// The terms of a step whose members disagree; no step has these by [`terms`].
const DISAGREED: u64 = (1 << TERMS_BITS) - 1;

/// The lines of the scratch memory, by number: one per word for which a member waits. The platform determines their length
/// ([`WaitPolicy::line_bytes`](pelago_platform::WaitPolicy::line_bytes)). The two lines of a round of a barrier are a pair that cores fetch together.
pub(crate) const ARRIVED: u64 = 0;
pub(crate) const RELEASED: u64 = ARRIVED + 1;
pub(crate) const MET: u64 = RELEASED + 1;
const BROUGHT: u64 = MET + 2 * ROUNDS_MAX;
const REDUCED: u64 = BROUGHT + 1;
/// The last line, a cache line on every platform.
pub(crate) const RING: u64 = REDUCED + ROUNDS_MAX;
/// Offset of the buffers that follow, one for a broadcast and one per round of a reduction.
const BUFFERS: u64 = (RING + 1) * ALIGN_BYTES;

/// Size of the word at the start of a line.
pub(crate) const WORD_BYTES: u64 = size_of::<u64>() as u64;

/// Size of the scratch memory of a team of `size` members in bytes.
pub(crate) fn scratch_bytes(size: u32) -> u64 {
    BUFFERS + (1 + u64::from(rounds(size))) * COLLECTIVE_CHUNK_BYTES as u64
}

/// Number of doublings from 1 until `size` is reached.
pub(crate) const fn rounds(size: u32) -> u32 {
    size.next_power_of_two().ilog2()
}

/// The state of one member for barriers and collectives.
pub(crate) struct Meeting {
    team: Team,
    position: u32,
    kind: BarrierAlgorithm,
    /// The algorithm without the network.
    software: BarrierAlgorithm,
    network: Option<NetworkGroup>,
    scratch_offset: u64,
    line_bytes: u64,
    /// Number of barriers so far, of central ones among them, and of data steps.
    barriers: Cell<u64>,
    centrals: Cell<u64>,
    steps: Cell<u64>,
}

impl Meeting {
    /// Returns the state of the member at `position`. `software` is the algorithm of barriers where the network does not combine.
    pub(crate) fn new(
        (team, position): (Team, u32),
        software: BarrierAlgorithm,
        network: Option<NetworkGroup>,
        scratch_offset: u64,
        line_bytes: u64,
    ) -> Self {
        let kind = if network.is_some() { BarrierAlgorithm::Network } else { software };
        let [barriers, centrals, steps] = [0; 3].map(Cell::new);
        debug_assert!(
            (2 * WORD_BYTES..=ALIGN_BYTES).contains(&line_bytes),
            "a word and a value fit a line, and the lines a page"
        );
        Self { team, position, kind, software, network, scratch_offset, line_bytes, barriers, centrals, steps }
    }

    /// Returns the state of the member at `position` of another team, with its own scratch memory.
    pub(crate) fn of_group(&self, context: &Context, team: Team, position: u32, scratch_offset: u64) -> Self {
        let network = context.open_in_network(&team);
        Self::new((team, position), self.software, network, scratch_offset, self.line_bytes)
    }

    /// Returns the group of the team in the network, if the network combines for it.
    pub(crate) fn network(&self) -> Option<NetworkGroup> {
        self.network
    }

    #[inline]
    pub(crate) fn kind(&self) -> BarrierAlgorithm {
        self.kind
    }

    /// Returns the offset of a line in the scratch memory, in bytes.
    #[inline]
    pub(crate) fn line(&self, number: u64) -> u64 {
        number * self.line_bytes
    }

    #[inline]
    pub(crate) fn team(&self) -> &Team {
        &self.team
    }

    #[inline]
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// Starts a barrier and returns its number.
    #[inline]
    pub(crate) fn begin_barrier(&self) -> u64 {
        next(&self.barriers)
    }

    /// Starts a central barrier and returns its number among the central barriers.
    pub(crate) fn begin_central(&self) -> u64 {
        next(&self.centrals)
    }

    /// Copies the values of the member at `root` to all. Each chunk begins with a barrier: a member that enters it has read the values of
    /// earlier broadcasts and reductions.
    pub(crate) fn broadcast<T: Pod>(&self, context: &Context, root: u32, values: &mut [T]) -> Result<()> {
        let mut rest = values;
        loop {
            let (chunk, later) = rest.split_at_mut(rest.len().min(const { chunk_length::<T>() }));
            let own = terms(size_of_val(chunk), !later.is_empty(), u64::from(root) << 3);
            self.barrier(context)?;
            self.bring(context, root, next(&self.steps), (own, own), chunk)?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// Combines the values of all members, element by element, and returns the result on all; bitwise the same everywhere.
    ///
    /// A member sends its part of a chunk only after it has the result of the previous chunk, so that its parent has read its previous
    /// part; and a parent sends a result only after it has the part of the member, which has therefore read the previous result.
    pub(crate) fn allreduce<T: Pod>(&self, context: &Context, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<()> {
        self.allreduce_by(context, 0, values, combine)
    }

    /// As `allreduce`, with a number for the operator as one of the terms. Members that disagree end this step together, all with the error.
    fn allreduce_by<T: Pod>(
        &self,
        context: &Context,
        operator: u64,
        values: &mut [T],
        combine: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let mut rest = values;
        loop {
            let (chunk, later) = rest.split_at_mut(rest.len().min(const { chunk_length::<T>() }));
            let (step, own) = (next(&self.steps), terms(size_of_val(chunk), !later.is_empty(), operator));
            let agreed = self.reduce(context, step, own, chunk, &combine)?;
            self.bring(context, 0, step, (own, agreed), chunk)?;
            if later.is_empty() {
                return Ok(());
            }
            rest = later;
        }
    }

    /// As `allreduce`, for words and an operator that networks know: the network combines them if it serves the team and takes so many words.
    pub(crate) fn allreduce_words(&self, context: &Context, operator: ReductionOperator, words: &mut [u64]) -> Result<()> {
        match self.network {
            Some(network) if (1..=network.words_max).contains(&words.len()) => {
                context.is_whole(&self.team)?;
                context.combine_in_network(network, operator, words)
            }
            _ => self.allreduce_by(context, (operator as u64 + 1) << 11, words, |left, right| operator.combine(left, right)),
        }
    }

    /// A binomial tree with its root at `root`: every member but the root receives once, and sends to its children. `own` are the terms of this
    /// member, `agreed` those of the members below it so far.
    #[inline(never)]
    fn bring<T: Pod>(
        &self,
        context: &Context,
        root: u32,
        step: u64,
        (own, mut agreed): (u64, u64),
        values: &mut [T],
    ) -> Result<()> {
        let size = self.team.size();
        let relative = (self.position + size - root) % size;
        if relative != 0 {
            let parent = (relative & (relative - 1)) + root;
            if self.hear(context, parent % size, self.line(BROUGHT), step)? != own {
                agreed = DISAGREED;
            }
            if agreed == own {
                self.told(context, 0, self.line(BROUGHT), values.len()).read(0, values);
            }
        }
        for round in (0..relative.trailing_zeros()).rev().filter(|round| relative + (1 << round) < size) {
            let child = (relative + (1 << round) + root) % size;
            self.tell(context, child, 0, self.line(BROUGHT), (step, agreed), if agreed == own { values } else { &[] })?;
        }
        if agreed == own {
            Ok(())
        } else {
            Err(Error::Disagreement("the length, the root or the operator of a broadcast or reduction"))
        }
    }

    /// A binomial tree with its root at position 0: every member combines the values of its children, in order, and sends them to its parent.
    /// Returns the terms of this member if those of the members below it are the same.
    #[inline(never)]
    fn reduce<T: Pod>(
        &self,
        context: &Context,
        step: u64,
        own: u64,
        values: &mut [T],
        combine: &impl Fn(T, T) -> T,
    ) -> Result<u64> {
        let (size, mut agreed) = (self.team.size(), own);
        for round in 0..rounds(size) {
            let (buffer, line) = (1 + u64::from(round), self.line(REDUCED + u64::from(round)));
            if self.position & (1 << round) != 0 {
                let values = if agreed == own { &*values } else { &[] };
                return self.tell(context, self.position - (1 << round), buffer, line, (step, agreed), values).map(|()| agreed);
            }
            if self.position + (1 << round) < size {
                if self.hear(context, self.position + (1 << round), line, step)? != own {
                    agreed = DISAGREED;
                }
                if agreed != own {
                    continue;
                }
                let heard = self.told::<T>(context, buffer, line, values.len());
                for (index, value) in values.iter_mut().enumerate() {
                    *value = combine(*value, heard.load(index));
                }
            }
        }
        Ok(agreed)
    }

    /// Writes values to a buffer of a member, or beside the flag if they fit its line, then the step and its terms to the flag.
    #[inline(never)]
    fn tell<T: Pod>(
        &self,
        context: &Context,
        member: u32,
        buffer: u64,
        line: u64,
        (step, terms): (u64, u64),
        values: &[T],
    ) -> Result<()> {
        let (flag, word) = (self.word(context, member, line), step << TERMS_BITS | terms);
        if values.is_empty() {
            return context.put(flag, &[word]).map(drop);
        }
        let to = known(self.address(context, self.member(member), self.place::<T>(buffer, line, values.len())));
        let write = || context.put_data(to, values);
        context.pair(write, |data| context.after(&data).put(flag, &[word])).map(drop)
    }

    /// Waits until the word of this member at `offset`, written by the member at position `from`, announces `step`. Never inlined, so that its
    /// stack frame does not exist while words are put.
    #[inline(never)]
    pub(crate) fn wait(&self, context: &Context, from: u32, offset: u64, step: u64) -> Result<()> {
        let own = self.local::<u64>(context, offset, 1);
        let from = Whom::Rank(self.member(from));
        context.block_on_word("a barrier or collective call", from, None, (own, 0), || {
            context.is_whole(&self.team)?;
            Ok((own.load(0) >= step).then_some(()))
        })
    }

    /// As `wait`, for a step with data; returns the terms of the step at the member at `from`.
    #[inline(never)]
    fn hear(&self, context: &Context, from: u32, offset: u64, step: u64) -> Result<u64> {
        let own = self.local::<u64>(context, offset, 1);
        let from = Whom::Rank(self.member(from));
        context.block_on_word("a barrier or collective call", from, None, (own, 0), || {
            context.is_whole(&self.team)?;
            let word = own.load(0);
            // A flag that is a step ahead belongs to a member that has made other calls.
            let found = if word >> TERMS_BITS == step { word & DISAGREED } else { DISAGREED };
            Ok((word >> TERMS_BITS >= step).then_some(found))
        })
    }

    /// Returns the received values.
    fn told<'c, T: Pod>(&self, context: &'c Context, buffer: u64, line: u64, length: usize) -> CellSlice<'c, T> {
        self.local(context, self.place::<T>(buffer, line, length), length)
    }

    /// Returns the offset for `length` values: in the line of their flag, if they fit beside it, so that no other page is accessed; else in a
    /// buffer.
    fn place<T>(&self, buffer: u64, line: u64, length: usize) -> u64 {
        let beside = WORD_BYTES.max(align_of::<T>() as u64);
        if beside + (length * size_of::<T>()) as u64 <= self.line_bytes {
            return line + beside;
        }
        BUFFERS + buffer * COLLECTIVE_CHUNK_BYTES as u64
    }

    /// Returns a pointer to the word of a member at `offset`.
    #[inline]
    pub(crate) fn word(&self, context: &Context, member: u32, offset: u64) -> GlobalPtr<u64> {
        known(self.address(context, self.member(member), offset))
    }

    #[inline]
    fn member(&self, position: u32) -> Rank {
        self.team.rank(position).expect("positions are computed below the size")
    }

    #[inline]
    pub(crate) fn address(&self, context: &Context, rank: Rank, offset: u64) -> GlobalAddress {
        let address = context.reach.addresses().encode(rank, SegmentId::SYMMETRIC, self.scratch_offset + offset);
        address.expect("the scratch memory is allocated")
    }

    fn local<'c, T: Pod>(&self, context: &'c Context, offset: u64, length: usize) -> CellSlice<'c, T> {
        let address = self.address(context, context.rank(), offset);
        let cells = context.reach.cells(address, (length * size_of::<T>()) as u64);
        cells.and_then(|cells| cells.elements()).expect("the scratch memory is allocated and aligned")
    }
}

/// The terms of a step on `bytes` bytes: members whose calls differ in the bytes of this step or in whether another one follows have different ones;
/// members whose calls differ in `argument`, the operator or the root, mostly.
fn terms(bytes: usize, is_followed: bool, argument: u64) -> u64 {
    const FOLLOWED: u64 = 1 << (TERMS_BITS - 1);
    let own = bytes as u64 ^ (argument % FOLLOWED);
    (if is_followed { own | FOLLOWED } else { own }).min(DISAGREED - 1)
}

fn next(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get() + 1);
    counter.get()
}

const _: () = {
    assert!(BUFFERS <= 4096, "the lines of the largest job are one page");
    assert!(MET.is_multiple_of(2), "the two lines of a round are a pair");
    assert!(ARRIVED < RELEASED && RELEASED < MET, "each word has a line of its own");
    assert!(
        BROUGHT - MET == 2 * ROUNDS_MAX && REDUCED > BROUGHT && RING - REDUCED == ROUNDS_MAX,
        "each word has a line of its own"
    );
};

/// Number of values per buffer.
const fn chunk_length<T>() -> usize {
    assert!(
        0 < size_of::<T>() && size_of::<T>() <= COLLECTIVE_CHUNK_BYTES,
        "an element of a broadcast or a reduction has 1 byte to 16 KiB"
    );
    COLLECTIVE_CHUNK_BYTES / size_of::<T>()
}

/// A team with the state for collectives, seen from one of its members; returned by [`World::group`](crate::World::group).
///
/// Its operations are collective: every member calls the same ones in the same order.
pub struct Group<'w> {
    context: &'w Context,
    meeting: Meeting,
    /// `None` if the memory belongs to the caller.
    _scratch: Option<Symmetric<'w, u64>>,
}

impl<'w> Group<'w> {
    pub(crate) fn new(context: &'w Context, meeting: Meeting, scratch: Option<Symmetric<'w, u64>>) -> Self {
        Self { context, meeting, _scratch: scratch }
    }

    /// Number of words of memory of each member of a group of `size` members, for [`World::group_within`](crate::World::group_within).
    pub fn scratch_words(size: u32) -> usize {
        (scratch_bytes(size).div_ceil(WORD_BYTES) as usize).next_multiple_of((ALIGN_BYTES / WORD_BYTES) as usize)
    }

    /// The members.
    pub fn team(&self) -> &Team {
        &self.meeting.team
    }

    /// Position of this rank among the members.
    pub fn position(&self) -> u32 {
        self.meeting.position
    }

    /// Returns after every member has called it; puts of each member before the call are visible to all afterwards.
    ///
    /// Cost: log₂ n messages per member; one atomic if members share cores; one contribution where the network combines for the team.
    ///
    /// # Errors
    /// An operation has failed and was not reported: then this member has not entered the barrier, and the others wait until it calls again. The job has
    /// a fault.
    pub fn barrier(&self) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier(self.context)
    }

    /// As [`barrier`](Self::barrier), but failures of earlier operations are left to the next call that reports them; see
    /// [`World::meet`](crate::World::meet).
    ///
    /// # Errors
    /// The job has a fault.
    pub fn meet(&self) -> Result<()> {
        self.context.await_quiet()?;
        self.meeting.barrier(self.context)
    }

    /// As [`barrier`](Self::barrier), with a given algorithm, the same for every member. Algorithms may be mixed.
    ///
    /// Cost: see [`BarrierAlgorithm`].
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn barrier_by(&self, algorithm: BarrierAlgorithm) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier_by(self.context, algorithm)
    }

    /// As [`meet`](Self::meet), with a given algorithm, as [`barrier_by`](Self::barrier_by).
    ///
    /// # Errors
    /// The job has a fault.
    pub fn meet_by(&self, algorithm: BarrierAlgorithm) -> Result<()> {
        self.context.await_quiet()?;
        self.meeting.barrier_by(self.context, algorithm)
    }

    /// Copies the values of the member at position `root` to all members.
    ///
    /// Cost: log₂ n steps and a barrier for every 16 KiB, and for no values. An element has 1 byte to 16 KiB; a call with another element type does
    /// not compile.
    ///
    /// # Errors
    /// [`Error::Disagreement`]: this member and the one that sent the values here, or that one and its sender, have other lengths or roots. The other
    /// members are not told; see [`World::broadcast`](crate::World::broadcast). The job has a fault.
    ///
    /// # Panics
    /// There is no such position.
    pub fn broadcast<T: Pod>(&self, root: u32, values: &mut [T]) -> Result<()> {
        assert!(
            root < self.meeting.team.size(),
            "position {root} does not exist: the team has {} members",
            self.meeting.team.size()
        );
        self.meeting.broadcast(self.context, root, values)
    }

    /// Combines the values of all members, element by element and in a fixed order, and returns the result on all.
    ///
    /// Cost: 2·log₂ n steps for every 16 KiB, and for no values. An element has 1 byte to 16 KiB; a call with another element type does not compile.
    ///
    /// # Errors
    /// [`Error::Disagreement`], on every member: the values have another length on some member; `combine` is not compared. The job has a fault.
    pub fn allreduce<T: Pod>(&self, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<()> {
        self.meeting.allreduce(self.context, values, combine)
    }

    /// As [`allreduce`](Self::allreduce), for words and an operator that networks know. `f64` words are added in an order that depends on the
    /// positions of the members and the network.
    ///
    /// Cost: one contribution where the network [combines](Self::network_words) so many words for the team; else as `allreduce`.
    ///
    /// # Errors
    /// [`Error::Disagreement`], on every member, unless the network combines: the members pass different numbers of words or different operators. Where the
    /// network combines, such members get wrong words or wait for each other.
    /// The job has a fault.
    pub fn allreduce_words(&self, operator: ReductionOperator, words: &mut [u64]) -> Result<()> {
        self.meeting.allreduce_words(self.context, operator, words)
    }

    /// Returns the maximum number of words that the network combines for this team, on all members the same: 0 if it performs their barriers
    /// only, `None` if not even these.
    pub fn network_words(&self) -> Option<usize> {
        self.meeting.network().map(|network| network.words_max)
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if let Some(network) = self.meeting.network() {
            self.context.close_in_network(network);
        }
    }
}
