//! The job, seen from one rank.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

use pelago_base::{Rank, SegmentId, Team};
use pelago_memory::Pod;
use pelago_platform::Parts;

use crate::memory::segment::{ALIGN_BYTES, bytes_of, register_heaps};
use crate::memory::symmetric_heap::SymmetricHeap;
use crate::progress::port::Port;
use crate::shared::Shared;
use crate::team::group::{Group, Meeting, scratch_bytes};
use crate::team::symmetric::Symmetric;
use crate::{BarrierAlgorithm, Context, Error, Result};

/// The key under which rank 0 publishes how all ranks meet.
const BARRIER_KEY: &str = "barrier";

/// Where the scratch memory lies in the symmetric heap.
const SCRATCH_OFFSET: u64 = 0;

/// The job, seen from one rank: everything that a [`Context`] does, and what all ranks do together.
///
/// Collective operations are called by every rank, in the same order. A world stays in its thread; [`Context::context_factory`] makes contexts for
/// others.
pub struct World {
    context: Context,
    meeting: Meeting,
    /// Made with the first allocation; until then only the scratch memory is in use.
    symmetric: RefCell<Option<Box<SymmetricHeap>>>,
}

impl World {
    /// Takes part in the job. Collective.
    ///
    /// # Errors
    /// A rank ended before all had come.
    pub fn new(parts: Parts) -> Result<Self> {
        let Parts { reach, clock, wait, virtual_time, mut bootstrap, mut transport } = parts;
        let policy = wait.policy();
        let (rank, size) = (bootstrap.rank(), bootstrap.size());
        control_span!("join", rank = rank.number(), size = size);
        register_heaps(&reach, rank, transport.as_mut())?;
        let network = transport.network();
        bootstrap.publish(network.capabilities().name, &network.address().0)?;
        // Where all ranks are on one host they may see different numbers of cores, so that one decides for all.
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
            return Err(Error::NoMemory { bytes, heap_bytes });
        }
        let meeting = Meeting::new(Team::all(size), rank.number(), kind, SCRATCH_OFFSET, policy.line_bytes);
        let shared = Arc::new(Shared::new(reach, clock, wait, virtual_time, bootstrap, transport.network()));
        Ok(Self { context: Context::new(shared, Port::Own(transport)), meeting, symmetric: RefCell::new(None) })
    }

    /// Ends this rank's part of the job in good order, when every rank does. Collective.
    ///
    /// # Errors
    /// An operation has failed that nobody was told of, also one of a [shared](Context::context_factory) context that was dropped since, or the job is
    /// at fault.
    pub fn finish(self) -> Result<()> {
        self.leave()
    }

    /// As [`finish`](Self::finish), for a world that something else still holds: nothing may be done with it afterwards. Collective.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn leave(&self) -> Result<()> {
        control_span!("leave", rank = self.rank().number());
        let alone = !self.shared().tolerates_peer_failures() && self.shared().is_all_mapped();
        let untold = match self.quiet() {
            // Others are not to wait because of it: it is reported when all have come.
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

    /// Answers others until all are done: whoever left early would leave them waiting for the last acknowledgement, or count as lost.
    fn leave_together(&self) -> Result<()> {
        let mut meanwhile = || {
            let moved = self.context.progress();
            if !moved {
                self.context.before_sleep();
            }
            moved
        };
        Ok(self.context.shared().bootstrap().barrier(&mut meanwhile)?)
    }

    /// Allocates `count` zeroed values on every rank, at the same place of its memory. Collective; `count` is the same everywhere.
    ///
    /// Cost: one allreduce of up to 144 bytes, and a barrier if memory was given back since the last allocation; with more than 1,024
    /// allocations alive, then a second allreduce before it. Pages are taken from the system when they are first touched.
    ///
    /// # Errors
    /// The heap is full, ranks asked for different sizes (all ranks get the same error), or the job is
    /// at fault.
    pub fn alloc<T: Pod>(&self, count: usize) -> Result<Symmetric<'_, T>> {
        let heap_bytes = self.context.reach.addresses().segment_bytes();
        let asked = (count as u64).saturating_mul(size_of::<T>() as u64);
        control_span!("alloc", bytes = asked);
        self.agree(asked)?;
        let bytes = bytes_of::<T>(count, heap_bytes)?;
        let mut symmetric = self.symmetric.borrow_mut();
        let symmetric = symmetric.get_or_insert_with(|| Box::new(SymmetricHeap::new(heap_bytes, scratch_bytes(self.size()))));
        let (slot, offset) = symmetric.allocate(bytes).ok_or(Error::NoMemory { bytes, heap_bytes })?;
        Ok(Symmetric::new(self, slot, offset, count))
    }

    /// The team of `team`'s members, each of which may then meet the others. Collective over all ranks of the job; `None` for a rank
    /// that is not a member.
    ///
    /// # Errors
    /// As [`alloc`](Self::alloc).
    pub fn group(&self, team: &Team) -> Result<Option<Group<'_>>> {
        control_span!("group", members = team.size());
        let scratch = self.alloc::<u64>(scratch_bytes(team.size()).div_ceil(8) as usize)?;
        let offset = self.context.reach.addresses().offset(scratch.at(self.rank(), 0).address());
        let Some(position) = team.position(self.rank()) else { return Ok(None) };
        let meeting = self.meeting.of_group(team.clone(), position, offset);
        Ok(Some(Group::new(&self.context, meeting, Some(scratch))))
    }

    /// The team of `team`'s members in memory that the caller has: [`Group::scratch_words`] zeroed words at `offset` of the symmetric
    /// memory of each member, which nobody else uses for as long as the group lives. Not collective: the members have agreed on it.
    ///
    /// # Errors
    /// This rank is not a member; the words are not in the heap, or not aligned to a line.
    pub fn group_within(&self, team: &Team, offset: u64) -> Result<Group<'_>> {
        let addresses = self.context.reach.addresses();
        let bytes = scratch_bytes(team.size());
        if !offset.is_multiple_of(ALIGN_BYTES) || offset.saturating_add(bytes) > addresses.segment_bytes() {
            return Err(Error::Invalid("the memory of a group lies in the heap, from a multiple of 64 bytes on"));
        }
        let position = team.position(self.rank()).ok_or(Error::NotMember(self.rank()))?;
        Ok(Group::new(&self.context, self.meeting.of_group(team.clone(), position, offset), None))
    }

    /// Returns when every rank has called it; what each put before is visible to all after. Collective.
    ///
    /// Cost: log₂ n messages per rank; one atomic where ranks share cores.
    ///
    /// # Errors
    /// An operation whose handle nobody waited for has failed, or the job is at fault.
    #[inline]
    pub fn barrier(&self) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier(&self.context)
    }

    /// As [`barrier`](Self::barrier), by an algorithm of the caller's choice, the same on every rank. Algorithms may be mixed. Collective.
    ///
    /// Cost: see [`BarrierAlgorithm`].
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn barrier_by(&self, algorithm: BarrierAlgorithm) -> Result<()> {
        self.context.quiet()?;
        self.meeting.barrier_by(&self.context, algorithm)
    }

    /// Brings the values of `root` to all ranks. Collective.
    ///
    /// Cost: log₂ n steps and a barrier for every 16 KiB.
    ///
    /// # Errors
    /// The job is at fault.
    ///
    /// # Panics
    /// The job has no such rank.
    pub fn broadcast<T: Pod>(&self, root: Rank, values: &mut [T]) -> Result<()> {
        assert!(root.number() < self.size(), "rank {root} of {}", self.size());
        self.meeting.broadcast(&self.context, root.number(), values)
    }

    /// Combines the values of all ranks, element by element and in a fixed order, and brings the result to all, bitwise the same
    /// everywhere. Collective.
    ///
    /// Cost: 2·log₂ n steps for every 16 KiB.
    ///
    /// # Errors
    /// The job is at fault.
    pub fn allreduce<T: Pod>(&self, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<()> {
        self.meeting.allreduce(&self.context, values, combine)
    }

    /// Goes on when ranks are lost, instead of ending the job: `tell` is called with each of them, in this thread, from inside a call that
    /// waits or makes [`progress`](Context::progress). Called on every rank, before anything is lost.
    ///
    /// From then on, of a rank that was lost:
    /// - operations on its memory fail with `PeerLost`, as far as they pass through a transport; what it left in the memory of this host
    ///   can still be read and written;
    /// - a wait for a value ([`wait_until`](Context::wait_until)) that is under way when ranks may see the loss ends with `PeerLost` once, for
    ///   nobody knows who was to write the value; it may be begun again;
    /// - meetings of a team that it belongs to end with `PeerLost`, on all its members; other [groups](Self::group), made before, go on;
    /// - [`finish`](World::finish), and so the end of `pelago::run`, waits for the ranks that are left.
    ///
    /// The launcher reports which ranks were lost; the job ends well if the others do.
    pub fn on_peer_lost(&self, tell: impl FnMut(Rank) + 'static) {
        self.go_on_without_lost_ranks(Box::new(tell));
    }

    /// Notes that this rank has dropped an allocation.
    pub(crate) fn drop_symmetric(&self, slot: usize) {
        if let Some(symmetric) = &mut *self.symmetric.borrow_mut() {
            symmetric.drop_slot(slot);
        }
    }

    /// Makes sure that all ranks ask for the same, and frees what all have dropped.
    fn agree(&self, bytes: u64) -> Result<()> {
        let combine = |words: &mut [u64]| self.allreduce(words, |one, other| one & other);
        let mut words = vec![!bytes, bytes];
        if let Some(symmetric) = &*self.symmetric.borrow() {
            words.extend(symmetric.summary());
        }
        if words[2..].iter().any(|&dropped| dropped != 0) {
            // What this rank has put there has arrived before its owner clears it.
            self.context.quiet()?;
        }
        combine(&mut words)?;
        if words[..2] != [!bytes, bytes] {
            return Err(Error::Disagreement("the size of an allocation"));
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
        // No rank may write to memory that another has still to clear.
        self.barrier()
    }
}

impl Deref for World {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
