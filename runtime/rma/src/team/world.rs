//! The job, seen from one rank.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

use pelago_base::{AddressError, Rank, SegmentId, Team};
use pelago_memory::Pod;
use pelago_platform::{Parts, ReductionOperator};

use crate::memory::segment::{ALIGN_BYTES, bytes_of, register_heaps};
use crate::memory::symmetric_heap::SymmetricHeap;
use crate::operations::reduction::NetworkGroup;
use crate::progress::port::Port;
use crate::shared::Shared;
use crate::team::group::{Group, Meeting, WORD_BYTES, scratch_bytes};
use crate::team::symmetric::Symmetric;
use crate::{BarrierAlgorithm, Context, Error, FixedMemory, Result};

/// The key under which rank 0 publishes the barrier algorithm for all ranks.
const BARRIER_KEY: &str = "barrier";

/// Offset of the scratch memory in the symmetric heap.
const SCRATCH_OFFSET: u64 = 0;

/// The job, seen from one rank: all functions of a [`Context`], and the collective functions of all ranks.
///
/// Collective functions are called by every rank, in the same order. A world stays in its thread; [`Context::context_factory`] creates contexts for
/// other threads.
pub struct World {
    context: Context,
    meeting: Meeting,
    /// Allocated with the first allocation; until then only the scratch memory is in use.
    symmetric: RefCell<Option<Box<SymmetricHeap>>>,
}

impl World {
    /// Joins the job. Collective.
    ///
    /// # Errors
    /// A rank ended before all had joined.
    pub fn new(parts: Parts) -> Result<Self> {
        let Parts { reach, clock, wait, virtual_time, mut bootstrap, transport } = parts;
        let mut transport = transport.into_inner();
        let policy = wait.policy();
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        control_span!("join", rank = rank.number(), size = size);
        register_heaps(&reach, rank, transport.as_mut())?;
        let network = transport.network();
        bootstrap.publish(network.capabilities().name, &network.address().0)?;
        // Ranks of one host may see different numbers of cores, so that one rank decides for all.
        let mapped = reach.ranks().len() == size as usize;
        let on_one_host = mapped || matches!(bootstrap.topology().levels()[..], [(_, 1), ..]);
        if on_one_host {
            bootstrap.publish(BARRIER_KEY, &[u8::from(policy.is_oversubscribed)])?;
        }
        bootstrap.barrier(&mut || false)?;
        let crowded = on_one_host && bootstrap.lookup(Rank::new(0), BARRIER_KEY)? == [1];
        let kind = match (crowded, mapped) {
            (true, true) => BarrierAlgorithm::Central,
            (true, false) => BarrierAlgorithm::Tree,
            (false, _) => BarrierAlgorithm::Dissemination,
        };
        let heap_bytes = reach.addresses().segment_bytes();
        let bytes = scratch_bytes(size);
        if bytes > heap_bytes {
            return Err(Error::NoMemory { bytes, heap_bytes, memory: FixedMemory::HEAP });
        }
        let all = Team::all(size);
        let reductions = transport.extensions().and_then(|extensions| extensions.reductions());
        let network = reductions.and_then(|reductions| NetworkGroup::open(reductions, &all));
        let meeting = Meeting::new((all, rank.number()), kind, network, SCRATCH_OFFSET, policy.line_bytes);
        let shared = Arc::new(Shared::new(reach, clock, wait, virtual_time, bootstrap, transport.network()));
        Ok(Self { context: Context::new(shared, Port::Own(transport)), meeting, symmetric: RefCell::new(None) })
    }

    /// Ends this rank's part of the job in good order, together with every other rank. Collective.
    ///
    /// # Errors
    /// An operation has failed and was not reported, including one of a [shared](Context::context_factory) context that was dropped since, or the job has
    /// a fault.
    pub fn finish(self) -> Result<()> {
        self.leave()
    }

    /// As [`finish`](Self::finish), for a world to which other references exist: it must not be used afterwards. Collective. Until all ranks have called
    /// it, background work and the function of [`on_peer_lost`](Self::on_peer_lost) run; their operations reach only ranks that this rank has reached before.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn leave(&self) -> Result<()> {
        control_span!("leave", rank = self.rank().number());
        let alone = !self.shared().tolerates_peer_failures() && self.shared().is_all_mapped();
        let untold = match self.quiet() {
            // The other ranks must not wait because of the failure: it is reported after all ranks have arrived.
            untold @ Err(Error::Failed(_)) => untold,
            quiet => Ok(quiet?),
        };
        if alone {
            self.meeting.barrier(&self.context)?;
        }
        self.context.drain(None)?;
        if !alone {
            self.leave_together()?;
        }
        self.context.shared().bootstrap().finish();
        untold.and(self.shared().tell_left_behind())
    }

    /// Serves other ranks until all are done: if this rank left early, others would wait for the last acknowledgement, or consider it failed.
    fn leave_together(&self) -> Result<()> {
        let mut meanwhile = || {
            let moved = self.context.progress();
            if !moved {
                self.context.before_sleep();
            }
            moved
        };
        self.context.shared().leave_together(&mut meanwhile)
    }

    /// Allocates `count` zeroed values on every rank, at the same offset of its memory. Collective; `count` is the same on every rank.
    ///
    /// A value has one byte at least, and an alignment of 64 at most; a call with another type does not compile:
    ///
    /// ```compile_fail,E0080
    /// fn example(world: &pelago_rma::World) {
    ///     let _nothing = world.alloc::<()>(1);
    /// }
    /// std::hint::black_box(example as fn(&pelago_rma::World));
    /// ```
    ///
    /// Cost: one allreduce of up to 144 bytes, and a barrier if memory was freed since the last allocation; with more than 1,024 live
    /// allocations, a second allreduce before this barrier. The system provides pages when they are first accessed.
    ///
    /// # Errors
    /// The heap is full, ranks requested different sizes (all ranks get the same error), or the job has a
    /// fault.
    pub fn alloc<T: Pod>(&self, count: usize) -> Result<Symmetric<'_, T>> {
        self.alloc_for(count, None)
    }

    /// As `alloc`, also for a group of `team`, which is the same on every rank.
    fn alloc_for<T: Pod>(&self, count: usize, team: Option<&Team>) -> Result<Symmetric<'_, T>> {
        let heap_bytes = self.context.reach.addresses().segment_bytes();
        let asked = (count as u64).saturating_mul(size_of::<T>() as u64);
        control_span!("alloc", bytes = asked);
        match team {
            None => self.agree(asked, "the size of an allocation")?,
            Some(team) => self.agree(team.digest(), "the team of a group")?,
        }
        let bytes = bytes_of::<T>(count, heap_bytes)?;
        let mut symmetric = self.symmetric.borrow_mut();
        let symmetric = symmetric.get_or_insert_with(|| Box::new(SymmetricHeap::new(heap_bytes, scratch_bytes(self.size()))));
        let (slot, offset) = symmetric.allocate(bytes).ok_or(Error::NoMemory { bytes, heap_bytes, memory: FixedMemory::HEAP })?;
        Ok(Symmetric::new(self, slot, offset, count))
    }

    /// Creates a group of `team`'s members, for collectives among them. Collective over all ranks of the job, members or not, with the same team;
    /// `None` for a rank that is not a member.
    ///
    /// # Errors
    /// The team contains a rank that the job does not have, or differs between ranks; otherwise as [`alloc`](Self::alloc).
    pub fn group(&self, team: &Team) -> Result<Option<Group<'_>>> {
        control_span!("group", members = team.size());
        self.has_all(team)?;
        let words = scratch_bytes(team.size()).div_ceil(WORD_BYTES) as usize;
        let scratch = self.alloc_for::<u64>(words, Some(team))?;
        let offset = self.context.reach.addresses().offset(scratch.at(self.rank(), 0).address());
        let Some(position) = team.position(self.rank()) else { return Ok(None) };
        let meeting = self.meeting.of_group(&self.context, team.clone(), position, offset);
        Ok(Some(Group::new(&self.context, meeting, Some(scratch))))
    }

    /// Creates a group of `team`'s members in memory of the caller: [`Group::scratch_words`] zeroed words at `offset` of the symmetric
    /// memory of each member, which are not used otherwise while the group exists. Not collective: the members have agreed on the offset.
    ///
    /// # Errors
    /// This rank is not a member; the team contains a rank that the job does not have; the words are not in the heap, or not aligned to a cache line.
    ///
    /// ```
    /// # use pelago_base::{Rank, Team};
    /// # use pelago_rma::{Group, Result, World};
    /// # fn example(world: &World) -> Result<()> {
    /// world.on_peer_lost(|_rank| {});
    /// // Before any failure: memory that is sufficient for every team, at the same offset on each rank.
    /// let memory = world.alloc::<u64>(Group::scratch_words(world.size()))?;
    /// let offset = world.reach().addresses().offset(memory.at(world.rank(), 0).address());
    /// // After a failure that all remaining ranks have noticed:
    /// let lost = world.lost();
    /// let rest: Vec<Rank> = world.ranks().filter(|rank| !lost.contains(rank)).collect();
    /// let group = world.group_within(&Team::of(&rest)?, offset)?;
    /// let mut count = [1_u64];
    /// group.allreduce(&mut count, |one, other| one + other)?;
    /// assert_eq!(count[0], rest.len() as u64);
    /// # Ok(())
    /// # }
    /// ```
    pub fn group_within(&self, team: &Team, offset: u64) -> Result<Group<'_>> {
        self.has_all(team)?;
        let addresses = self.context.reach.addresses();
        let bytes = scratch_bytes(team.size());
        if !offset.is_multiple_of(ALIGN_BYTES) || offset.saturating_add(bytes) > addresses.segment_bytes() {
            return Err(Error::Invalid("the memory of a group lies in the heap, from a multiple of 64 bytes on"));
        }
        let position = team.position(self.rank()).ok_or(Error::NotMember(self.rank()))?;
        Ok(Group::new(&self.context, self.meeting.of_group(&self.context, team.clone(), position, offset), None))
    }

    /// Returns after every rank has called it; puts of each rank before the call are visible to all afterwards. Collective.
    ///
    /// Cost: log₂ n messages per rank; one atomic if ranks share cores; one contribution where the network combines for all ranks.
    ///
    /// # Errors
    /// An operation has failed and was not reported: then this rank has not entered the barrier, and the others wait until it calls again. The job has a
    /// fault.
    #[inline]
    pub fn barrier(&self) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier(&self.context)
    }

    /// As [`barrier`](Self::barrier), but failures of earlier operations are left to the next call that reports them, as by
    /// [`await_quiet`](Context::await_quiet). For the collective functions of libraries. Collective.
    ///
    /// # Errors
    /// The job has a fault.
    pub fn meet(&self) -> Result<()> {
        self.context.await_quiet()?;
        self.meeting.barrier(&self.context)
    }

    /// As [`barrier`](Self::barrier), with a given algorithm, the same on every rank. Algorithms may be mixed. Collective.
    ///
    /// Cost: see [`BarrierAlgorithm`].
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn barrier_by(&self, algorithm: BarrierAlgorithm) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier_by(&self.context, algorithm)
    }

    /// As [`meet`](Self::meet), with a given algorithm, as [`barrier_by`](Self::barrier_by). Collective.
    ///
    /// # Errors
    /// The job has a fault.
    pub fn meet_by(&self, algorithm: BarrierAlgorithm) -> Result<()> {
        self.context.await_quiet()?;
        self.meeting.barrier_by(&self.context, algorithm)
    }

    /// Copies the values of `root` to all ranks. Collective.
    ///
    /// Cost: log₂ n steps and a barrier for every 16 KiB, and for no values. An element has 1 byte to 16 KiB; a call with another element type does
    /// not compile.
    ///
    /// # Errors
    /// [`Error::Disagreement`]: this rank and the one that sent the values here, or that one and its sender, have other lengths or roots. The other
    /// ranks are not told, and later collective calls may fail or wait for each other. Ranks with different roots may also get the values of either, or
    /// wait for each other, which is reported as a deadlock. The job has a fault.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn broadcast<T: Pod>(&self, root: Rank, values: &mut [T]) -> Result<()> {
        assert!(root.number() < self.size(), "rank {root} does not exist: the job has {} ranks", self.size());
        self.meeting.broadcast(&self.context, root.number(), values)
    }

    /// Combines the values of all ranks, element by element and in a fixed order, and returns the result on all, bitwise the same
    /// everywhere. Collective.
    ///
    /// Cost: 2·log₂ n steps for every 16 KiB, and for no values. An element has 1 byte to 16 KiB; a call with another element type does not compile.
    ///
    /// # Errors
    /// [`Error::Disagreement`], on every rank: the values have another length on some rank; `combine` is not compared. The job has a fault.
    pub fn allreduce<T: Pod>(&self, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<()> {
        self.meeting.allreduce(&self.context, values, combine)
    }

    /// As [`Group::allreduce_words`], for all ranks. Collective.
    ///
    /// # Errors
    /// As [`Group::allreduce_words`].
    pub fn allreduce_words(&self, operator: ReductionOperator, words: &mut [u64]) -> Result<()> {
        self.meeting.allreduce_words(&self.context, operator, words)
    }

    /// As [`Group::network_words`], for all ranks.
    pub fn network_words(&self) -> Option<usize> {
        self.meeting.network().map(|network| network.words_max)
    }

    /// Continues after failures of ranks, instead of ending the job: `tell` is called with each failed rank, in this thread, from inside a call that
    /// waits or makes [`progress`](Context::progress). Called on every rank, before any rank fails.
    ///
    /// From then on, for a rank that failed:
    /// - operations on its memory fail with `PeerLost`, if they use a transport; its memory on this host
    ///   can still be read and written;
    /// - a wait for a value ([`wait_until`](Context::wait_until)) that is in progress when ranks may notice the failure ends with `PeerLost` once, because
    ///   the rank that was to write the value is unknown; the wait may be started again;
    /// - barriers and collectives of a team that contains the rank end with `PeerLost`, on all its members; other [groups](Self::group), created
    ///   before, work on;
    /// - [`finish`](World::finish), and thus the end of `pelago::run`, waits for the remaining ranks.
    ///
    /// The launcher reports the failed ranks; the job succeeds if the others do.
    pub fn on_peer_lost(&self, tell: impl FnMut(Rank) + 'static) {
        self.go_on_without_lost_ranks(Box::new(tell));
    }

    /// Records that this rank has dropped an allocation.
    pub(crate) fn drop_symmetric(&self, slot: usize) {
        if let Some(symmetric) = &mut *self.symmetric.borrow_mut() {
            symmetric.drop_slot(slot);
        }
    }

    /// Checks that the job has all members of a team.
    fn has_all(&self, team: &Team) -> Result<()> {
        let (rank, ranks) = (team.highest(), self.size());
        if rank.number() < ranks { Ok(()) } else { Err(AddressError::Rank { rank, ranks }.into()) }
    }

    /// Checks that all ranks request the same, which `argument` names, and frees the allocations that all have dropped.
    fn agree(&self, asked: u64, argument: &'static str) -> Result<()> {
        let combine = |words: &mut [u64]| self.allreduce_words(ReductionOperator::And, words);
        let mut words = vec![!asked, asked];
        if let Some(symmetric) = &*self.symmetric.borrow() {
            words.extend(symmetric.summary());
        }
        if words[2..].iter().any(|&dropped| dropped != 0) {
            // This rank's puts to dropped memory must have arrived before the memory's owner clears it. Their failures are for `quiet`: the other
            // ranks wait for this rank.
            self.context.await_quiet()?;
        }
        combine(&mut words)?;
        if words[..2] != [!asked, asked] {
            return Err(Error::Disagreement(argument));
        }
        let runs = self.symmetric.borrow().as_ref().and_then(|symmetric| symmetric.runs(&words[2..]));
        let Some(runs) = runs else { return Ok(()) };
        let mut detail = self.symmetric.borrow().as_ref().map_or(Vec::new(), |symmetric| symmetric.detail(&runs));
        combine(&mut detail)?;
        let freed = self.symmetric.borrow_mut().as_mut().map_or(Vec::new(), |symmetric| symmetric.free(&runs, &detail));
        if freed.is_empty() {
            return Ok(());
        }
        for (offset, bytes) in freed {
            self.context.reach.clear(self.context.own_address(SegmentId::SYMMETRIC, offset), bytes);
        }
        // No rank may write to memory that another rank has not cleared yet.
        self.meet()
    }
}

impl Deref for World {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
