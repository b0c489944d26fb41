//! The memory that the ranks of one host share: one file, mapped by each of them (invariants H1 and H2 of the crate).
#![allow(unsafe_code)]

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::limits::{RANKS_PER_HOST_MAX, SEGMENT_BYTES_MAX};
use pelago_base::{AddressLayout, LayoutError, Rank};
use pelago_memory::{Cells, Mapping, MappingError, Reach, ReachLayout, memory_file};
use pelago_platform::Fault;
use rustix::fs::{fstat, stat};
use rustix::io::Errno;

use crate::HostPlan;
use crate::host::address_table::{self, AddressEntry};
use crate::host::control::{JobControl, RankControl, RankStage};
use crate::host::imports::Imports;
use crate::host::plan::regions_per_rank;
use crate::host::region_table::{self, RegionTable};
use crate::limits::{HOST_REGIONS_MAX, SETTINGS_BYTES_MAX};

/// "pelago" and the version of the layout.
const MAGIC: u64 = 0x7065_6c61_676f_0009;

/// Heaps begin at a multiple of the largest page that the kernel may give them.
const HEAPS_ALIGN: usize = 2 << 20;

/// Address space between two heaps: words of two ranks at the same offset differ also in the lowest address bits above the alignment.
const HEAPS_GAP: usize = HEAPS_ALIGN;

/// The memory that the ranks of one host share: one anonymous file (memfd), mapped by each of them.
///
/// The file has no name in the file system: the kernel frees it when the last process that holds it ends, for whatever reason.
pub struct HostMemory {
    reach: Reach,
    layout: HostLayout,
    /// Whether this process is in the PID namespace of the process that created the memory: only then, both mean the same by the number of a process.
    sees_processes: bool,
    /// Device memory that ranks of this process have registered.
    devices: Mutex<pelago_memory::Regions>,
    /// Device memory of other processes that is open in this one.
    imports: Imports,
}

/// Tables of registered regions begin at a page, so that a rank that registers nothing takes no memory for them.
const REGIONS_ALIGN: usize = 4096;

/// The layout of the file: control block of the job, control blocks of ranks, table of hosts, tables of registered regions, heaps.
#[derive(Clone, Copy)]
struct HostLayout {
    reach: ReachLayout,
    /// Offset in bytes of the table of hosts, and its number of hosts.
    table: usize,
    hosts: usize,
    /// Offset in bytes of the tables of registered regions, and the number of entries of each.
    regions: usize,
    regions_per_rank: u32,
}

/// The memory of a host could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostMemoryError {
    /// The job cannot be addressed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The heap of a rank cannot be addressed.
    #[error("the heap of a rank has between 1 and {SEGMENT_BYTES_MAX} bytes, not {0} (--heap, PELAGO_HEAP)")]
    HeapBytes(u64),
    /// Too many ranks for one host.
    #[error("{0} ranks are too many for one host; the limit is {RANKS_PER_HOST_MAX}")]
    Ranks(u32),
    /// The ranks, hosts and sizes of the job do not fit together.
    #[error("the memory of this host cannot be made: {0}")]
    Plan(&'static str),
    /// The kernel refused the file.
    #[error("cannot create the memory of the job: {0}")]
    File(#[from] Errno),
    /// The user may not have a file of this many bytes.
    #[error(
        "the memory of the job has {0} bytes and is a file, which is longer than allowed; raise the limit (ulimit -f) or lower the heap (--heap, PELAGO_HEAP)"
    )]
    FileTooLong(u64),
    /// The kernel refused the mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The file is not the memory of a job, or of another version.
    #[error(
        "the inherited memory of the job is not one of this version of Pelago; rebuild the program and the pelago command together"
    )]
    Foreign,
}

impl HostMemory {
    /// Creates the memory for the ranks of one host of a job. Untouched pages take no physical memory.
    ///
    /// # Errors
    /// Too many ranks, too large a heap, a plan that contradicts itself, or the kernel refuses.
    pub fn create(plan: &HostPlan<'_>) -> Result<(Self, OwnedFd), HostMemoryError> {
        plan.check()?;
        let per_rank = regions_per_rank(plan.count);
        let layout = layout(plan.ranks, plan.first, plan.count, plan.hosts.len(), per_rank, plan.heap_bytes())?;
        let bytes = layout.reach.bytes();
        let file = memory_file("pelago", bytes).map_err(|error| match error {
            Errno::FBIG => HostMemoryError::FileTooLong(bytes),
            error => error.into(),
        })?;
        let host = Self::over(Mapping::shared(&file, layout.reach.bytes() as usize)?, layout, true);
        let job = host.job();
        job.processes.store(pid_namespace(), Ordering::Relaxed);
        job.ranks.store(plan.ranks, Ordering::Relaxed);
        job.first.store(plan.first.number(), Ordering::Relaxed);
        job.count.store(plan.count, Ordering::Relaxed);
        job.heap_bytes.store(layout.reach.addresses.segment_bytes(), Ordering::Relaxed);
        job.hosts.store(plan.hosts.len() as u32, Ordering::Relaxed);
        job.regions.store(per_rank, Ordering::Relaxed);
        words(&job.key).write(&plan.key);
        for (entry, address) in host.table().iter().zip(plan.hosts) {
            entry.set(address);
        }
        job.magic.store(MAGIC, Ordering::Release);
        Ok((host, file))
    }

    /// Attaches to the memory behind a file that `create` made in another process.
    ///
    /// # Errors
    /// The file is not such a file, or the kernel refuses.
    pub fn attach(file: impl AsFd) -> Result<Self, HostMemoryError> {
        let bytes = fstat(&file)?.st_size as u64;
        if bytes < size_of::<JobControl>() as u64 {
            return Err(HostMemoryError::Foreign);
        }
        let head = Mapping::shared(&file, size_of::<JobControl>())?;
        // SAFETY: the mapping is as long and as aligned as a `JobControl`; H2.
        let job = unsafe { head.cells().pointer().cast::<JobControl>().as_ref() };
        if job.magic.load(Ordering::Acquire) != MAGIC {
            return Err(HostMemoryError::Foreign);
        }
        let [ranks, first, count, hosts, regions] =
            [&job.ranks, &job.first, &job.count, &job.hosts, &job.regions].map(|word| word.load(Ordering::Relaxed));
        let fits = first.checked_add(count).is_some_and(|end| end <= ranks);
        if count > RANKS_PER_HOST_MAX || regions > HOST_REGIONS_MAX || !fits {
            return Err(HostMemoryError::Foreign);
        }
        let heap_bytes = job.heap_bytes.load(Ordering::Relaxed);
        let layout = layout(ranks, Rank::new(first), count, hosts as usize, regions, heap_bytes)?;
        if layout.reach.bytes() > bytes {
            return Err(HostMemoryError::Foreign);
        }
        let namespace = pid_namespace();
        let sees_processes = namespace != 0 && namespace == job.processes.load(Ordering::Relaxed);
        Ok(Self::over(Mapping::shared(&file, layout.reach.bytes() as usize)?, layout, sees_processes))
    }

    fn over(mapping: Mapping, layout: HostLayout, sees_processes: bool) -> Self {
        // Every process that maps the memory may ring. Without membarrier, sleeping threads poll instead: they wake later, but miss no ring.
        let _supported = pelago_sync::asymmetric::register();
        let devices = Mutex::new(pelago_memory::Regions::new(layout.reach.addresses));
        let reach = Reach::new(Arc::new(mapping), layout.reach);
        Self { reach, layout, sees_processes, devices, imports: Imports::default() }
    }

    /// The heaps and doorbells.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.reach.addresses().ranks()
    }

    /// The first rank of this host.
    pub fn first(&self) -> Rank {
        self.layout.reach.first
    }

    /// Number of ranks of this host, consecutive from the first.
    pub fn count(&self) -> u32 {
        self.layout.reach.count
    }

    /// The job's secret, for transports that authenticate.
    pub fn key(&self) -> [u8; 16] {
        let mut key = [0; 16];
        words(&self.job().key).read(&mut key);
        key
    }

    /// Records the settings that all ranks of the job share, before any rank starts: a text of the launcher's, cut to 64 bytes.
    pub fn set_settings(&self, text: &str) {
        let mut bytes = [0; SETTINGS_BYTES_MAX];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        words(&self.job().settings).write(&bytes);
    }

    /// The settings that the launcher has recorded; empty if it has recorded none.
    pub fn settings(&self) -> String {
        let mut bytes = [0; SETTINGS_BYTES_MAX];
        words(&self.job().settings).read(&mut bytes);
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').into()
    }

    /// The address at which `rank` of the job receives datagrams; `None` without a network.
    ///
    /// Cost: a binary search in a table that the ranks of this host share.
    pub fn address_of(&self, rank: Rank) -> Option<SocketAddr> {
        (rank.number() < self.ranks()).then(|| address_table::find(self.table(), rank)).flatten()
    }

    /// The first rank of each host of the job, in order; empty without a network.
    pub fn first_ranks(&self) -> Vec<Rank> {
        address_table::first_ranks(self.table())
    }

    /// The control block of the job.
    pub fn job(&self) -> &JobControl {
        // SAFETY: H1, H2; `layout` puts the job's control block at the start.
        unsafe { self.reach.mapping().cells().pointer().cast().as_ref() }
    }

    /// The control block of `rank`, if it is on this host.
    pub fn control(&self, rank: Rank) -> Option<&RankControl> {
        let ReachLayout { first, count, controls, .. } = self.layout.reach;
        let local = rank.number().wrapping_sub(first.number());
        // SAFETY: H1, H2; `layout` puts `count` control blocks there.
        (local < count).then(|| unsafe {
            self.reach.mapping().cells().pointer().add(controls).cast::<RankControl>().add(local as usize).as_ref()
        })
    }

    /// Device memory that ranks of this process have registered.
    pub(crate) fn devices(&self) -> MutexGuard<'_, pelago_memory::Regions> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Device memory of other processes that is open in this one.
    pub(crate) fn imports(&self) -> &Imports {
        &self.imports
    }

    /// The registered regions of `rank`, if it is on this host.
    pub(crate) fn regions(&self, rank: Rank) -> Option<RegionTable<'_>> {
        let head = &self.control(rank)?.regions;
        let local = (rank.number() - self.first().number()) as usize;
        let entries = self.layout.regions_per_rank as usize;
        let start = self.layout.regions + local * entries * size_of::<region_table::RegionEntry>();
        // SAFETY: H1, H2; `layout` puts a table there for each rank of this host.
        let entries =
            unsafe { std::slice::from_raw_parts(self.reach.mapping().cells().pointer().add(start).cast().as_ptr(), entries) };
        Some(RegionTable::new(head, entries))
    }

    /// The control blocks of all ranks of this host, in order.
    pub fn controls(&self) -> impl Iterator<Item = (Rank, &RankControl)> {
        self.reach.ranks().filter_map(|rank| Some((rank, self.control(rank)?)))
    }

    /// Records that this process is `rank` from now on; returns `false` if a process has been this rank before.
    pub fn join(&self, rank: Rank) -> bool {
        let process = if self.sees_processes { std::process::id() } else { 0 };
        self.control(rank).is_none_or(|control| control.join(process))
    }

    /// The process ID of a rank, by which this process can reach its memory; `None` if one of the two is in another PID namespace.
    pub(crate) fn process(&self, control: &RankControl) -> Option<u32> {
        let process = control.process();
        (self.sees_processes && process != 0).then_some(process)
    }

    /// Records that `rank` has finished normally.
    pub fn finish(&self, rank: Rank) {
        if let Some(control) = self.control(rank) {
            control.set_stage(RankStage::Finished);
        }
    }

    /// Records a fault of the job, and wakes every rank of this host to see it. The rank of a [`Fault::PeerLost`] may be on another host.
    pub fn fail(&self, fault: Fault) {
        if let Fault::PeerLost(rank) = fault
            && let Some(control) = self.control(rank)
        {
            control.set_stage(RankStage::Failed);
        }
        self.job().set_fault(fault);
        self.ring();
    }

    /// Makes the job fault tolerant: from now on the other ranks continue after the failure of one.
    pub fn set_fault_tolerant(&self) {
        self.job().fault_tolerant.store(1, Ordering::Release);
    }

    /// Whether the job continues after the failure of ranks.
    pub fn is_fault_tolerant(&self) -> bool {
        self.job().fault_tolerant.load(Ordering::Acquire) != 0
    }

    /// Marks a rank, of this host or another, as failed. A fault-tolerant job continues without it, up to `FAILED_RANKS_MAX` failed ranks;
    /// any other job gets the fault [`Fault::PeerLost`]. Returns whether the job continues.
    pub fn mark_failed(&self, rank: Rank) -> bool {
        let job = self.job();
        let word = rank.number() + 1;
        // Several processes may report different ranks at once: a slot belongs to the first that fills it.
        let note = |slot: &AtomicU32| match slot.compare_exchange(0, word, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(taken) => taken == word,
        };
        if let Some(control) = self.control(rank) {
            control.set_stage(RankStage::Failed);
        }
        if !self.is_fault_tolerant() || !job.failed_ranks.iter().any(note) {
            self.fail(Fault::PeerLost(rank));
            return false;
        }
        self.ring();
        true
    }

    /// The failed ranks that the job continues without, in the order in which this host learned of them.
    pub fn failed_ranks(&self) -> impl Iterator<Item = Rank> {
        let words = self.job().failed_ranks.iter().map(|word| word.load(Ordering::Acquire));
        words.take_while(|word| *word != 0).map(|word| Rank::new(word - 1))
    }

    /// The last barrier of the start or the end, counted from 1, at which all ranks of this host have arrived that have not failed; 0 before
    /// the first.
    pub fn meeting(&self) -> u64 {
        let any_failed = self.failed_ranks().any(|rank| self.control(rank).is_some());
        if !any_failed {
            return self.arrivals() / u64::from(self.count());
        }
        let here = self.controls().filter(|(_, control)| control.stage() != RankStage::Failed);
        here.map(|(_, control)| control.meeting.load(Ordering::Acquire)).min().unwrap_or(u64::MAX)
    }

    /// Number of arrivals of ranks of this host at meetings so far.
    pub fn arrivals(&self) -> u64 {
        self.job().arrivals.load(Ordering::Acquire)
    }

    /// Records that `rank` arrives at its next meeting, a barrier by which ranks start and end together. The last rank of the host wakes the others.
    /// Returns the number of the meeting, from 1, and whether all ranks of this host have arrived.
    pub fn arrive(&self, rank: Rank) -> (u64, bool) {
        let meeting = self.control(rank).map_or(0, |control| control.meeting.fetch_add(1, Ordering::AcqRel) + 1);
        self.job().arrivals.fetch_add(1, Ordering::AcqRel);
        let complete = self.meeting() >= meeting;
        if complete && self.is_whole_job() {
            self.ring();
        }
        (meeting, complete)
    }

    /// Records that the ranks of all hosts have arrived at the `meeting`-th meeting, counted from 1, and wakes the ranks that wait there. For
    /// the launcher of this host, in a job of several hosts.
    pub fn release(&self, meeting: u64) {
        self.job().released.fetch_max(meeting, Ordering::Release);
        self.ring();
    }

    /// Whether every rank of the job has arrived at the `meeting`-th meeting, counted from 1.
    pub fn have_met(&self, meeting: u64) -> bool {
        if self.is_whole_job() {
            return self.meeting() >= meeting;
        }
        self.job().released.load(Ordering::Acquire) >= meeting
    }

    /// Whether every rank of the job is on this host.
    pub fn is_whole_job(&self) -> bool {
        self.count() == self.ranks()
    }

    /// Wakes every rank of this host.
    fn ring(&self) {
        for (_, control) in self.controls() {
            control.bell.ring();
            control.progress_thread_bell.ring();
        }
    }

    fn table(&self) -> &[AddressEntry] {
        let start = self.reach.mapping().cells().pointer();
        // SAFETY: H1, H2; `layout` puts `hosts` entries there.
        unsafe { std::slice::from_raw_parts(start.add(self.layout.table).cast().as_ptr(), self.layout.hosts) }
    }
}

/// The bytes of an array of atomics.
pub(crate) fn words(words: &[AtomicU64]) -> Cells<'_> {
    // SAFETY: M1 by the borrow; atomics may be written through a shared reference.
    unsafe { Cells::new(std::ptr::NonNull::from(words).cast(), size_of_val(words)) }
}

/// Returns the number of this process's PID namespace; 0 if the system does not tell it.
fn pid_namespace() -> u64 {
    stat("/proc/self/ns/pid").map_or(0, |namespace| namespace.st_ino)
}

fn layout(
    ranks: u32,
    first: Rank,
    count: u32,
    hosts: usize,
    regions_per_rank: u32,
    heap_bytes: u64,
) -> Result<HostLayout, HostMemoryError> {
    let addresses = AddressLayout::new(ranks, heap_bytes).map_err(|error| match error {
        LayoutError::SegmentBytes(bytes) => HostMemoryError::HeapBytes(bytes),
        error => error.into(),
    })?;
    let controls = size_of::<JobControl>();
    let control_bytes = size_of::<RankControl>();
    let table = controls + count as usize * control_bytes;
    let regions = (table + hosts * size_of::<AddressEntry>()).next_multiple_of(REGIONS_ALIGN);
    let regions_bytes = count as usize * regions_per_rank as usize * size_of::<region_table::RegionEntry>();
    let heaps = (regions + regions_bytes).next_multiple_of(HEAPS_ALIGN);
    let reach = ReachLayout { addresses, first, count, controls, control_bytes, heaps, gap: HEAPS_GAP };
    Ok(HostLayout { reach, table, hosts, regions, regions_per_rank })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostAddress;
    use crate::host::plan::ADDRESS_SPACE_BYTES;
    use crate::limits::{FAILED_RANKS_MAX, HOSTS_MAX, STAGING_BYTES};
    use pelago_base::SegmentId;

    fn local(ranks: u32) -> (HostMemory, OwnedFd) {
        HostMemory::create(&HostPlan::local(ranks, Some(1 << 20))).unwrap()
    }

    /// Three of eight ranks, from rank 3 on.
    fn between(hosts: &[HostAddress]) -> (HostMemory, OwnedFd) {
        let plan =
            HostPlan { first: Rank::new(3), count: 3, key: *b"sixteen letters.", hosts, ..HostPlan::local(8, Some(1 << 20)) };
        HostMemory::create(&plan).unwrap()
    }

    #[test]
    fn two_attachments_see_one_job() {
        let (made, file) = local(3);
        let attached = HostMemory::attach(&file).unwrap();
        assert_eq!((attached.ranks(), attached.reach().addresses()), (3, made.reach().addresses()));
        attached.join(Rank::new(1));
        assert_eq!(made.control(Rank::new(1)).unwrap().stage(), RankStage::Joined);
        assert!(made.control(Rank::new(3)).is_none());
        made.fail(Fault::PeerLost(Rank::new(2)));
        made.fail(Fault::Aborted);
        assert_eq!(attached.job().fault(), Some(Fault::PeerLost(Rank::new(2))), "the first fault stays");
        assert_eq!(attached.control(Rank::new(2)).unwrap().stage(), RankStage::Failed);
    }

    /// In another PID namespace, the number of a process means another process.
    #[test]
    fn a_rank_in_another_pid_namespace_is_not_reached_by_its_process() {
        let (host, file) = local(2);
        let ranks = [0, 1].map(Rank::new);
        assert!(HostMemory::attach(&file).unwrap().join(ranks[0]));
        host.job().processes.fetch_xor(1, Ordering::Relaxed);
        let stranger = HostMemory::attach(&file).unwrap();
        assert!(stranger.join(ranks[1]));
        assert_eq!(ranks.map(|rank| host.process(host.control(rank).unwrap())), [Some(std::process::id()), None]);
        assert_eq!(ranks.map(|rank| stranger.process(host.control(rank).unwrap())), [None, None]);
    }

    #[test]
    fn a_job_that_survives_goes_on_without_those_it_lost() {
        let (host, _file) = local(3);
        let failed = Rank::new(1);
        host.set_fault_tolerant();
        assert_eq!(host.arrive(failed), (1, false));
        assert_eq!(host.arrive(Rank::new(0)), (1, false));
        assert!(host.mark_failed(failed) && host.mark_failed(failed));
        assert_eq!((host.job().fault(), host.failed_ranks().collect::<Vec<_>>()), (None, vec![failed]));
        assert_eq!(host.control(failed).unwrap().stage(), RankStage::Failed);
        assert!(!host.have_met(1), "rank 2 has still to come");
        assert_eq!(host.arrive(Rank::new(2)), (1, true));
        assert!(host.have_met(1));
        assert_eq!((host.arrive(Rank::new(2)), host.arrive(Rank::new(0))), ((2, false), (2, true)));
        assert!(host.have_met(2) && !host.have_met(3));
    }

    #[test]
    fn a_job_that_does_not_survive_or_loses_too_many_is_at_fault() {
        let (host, _file) = local(FAILED_RANKS_MAX as u32 + 2);
        let (other, _file) = local(2);
        assert!(!other.mark_failed(Rank::new(1)));
        assert_eq!(other.job().fault(), Some(Fault::PeerLost(Rank::new(1))));
        host.set_fault_tolerant();
        for rank in 0..FAILED_RANKS_MAX as u32 {
            assert!(host.mark_failed(Rank::new(rank)));
        }
        let last = Rank::new(FAILED_RANKS_MAX as u32);
        assert!(!host.mark_failed(last));
        assert_eq!(host.job().fault(), Some(Fault::PeerLost(last)));
    }

    #[test]
    fn a_host_in_the_middle_of_a_job_is_attached_as_it_was_made() {
        let host = |first, port| HostAddress { first: Rank::new(first), address: ([10, 0, 0, first as u8], port).into() };
        let (made, file) = between(&[host(0, 100), host(3, 200), host(6, 300)]);
        let attached = HostMemory::attach(&file).unwrap();
        assert_eq!((attached.ranks(), attached.first(), attached.count()), (8, Rank::new(3), 3));
        assert_eq!(&attached.key(), b"sixteen letters.");
        let addresses: Vec<_> = (0..9).map(|rank| attached.address_of(Rank::new(rank))).collect();
        let expected = [(0, 100), (0, 101), (0, 102), (3, 200), (3, 201), (3, 202), (6, 300), (6, 301)];
        let expected = expected.map(|(host, port)| Some(([10, 0, 0, host], port).into()));
        assert_eq!(addresses, expected.into_iter().chain([None]).collect::<Vec<_>>());
        let here = |host: &HostMemory| (0..8).filter(|&rank| host.control(Rank::new(rank)).is_some()).collect::<Vec<_>>();
        assert_eq!((here(&made), here(&attached)), (vec![3, 4, 5], vec![3, 4, 5]));

        let last = attached.reach().addresses().encode(Rank::new(5), SegmentId::INDIVIDUAL, (1 << 20) - 8).unwrap();
        assert!(attached.reach().write(last, b"the end."));
        let mut seen = [0; 8];
        assert!(made.reach().read(last, &mut seen));
        assert_eq!(&seen, b"the end.");
        let elsewhere = made.reach().addresses().encode(Rank::new(6), SegmentId::SYMMETRIC, 0).unwrap();
        assert!(made.reach().cells(elsewhere, 1).is_none());
    }

    #[test]
    fn the_largest_table_lies_between_the_control_blocks_and_the_heaps() {
        let address = |host: u32| ([10, 1, (host >> 8) as u8, host as u8], 7000).into();
        let ranks = HOSTS_MAX as u32;
        let hosts: Vec<_> = (0..ranks).map(|host| HostAddress { first: Rank::new(host), address: address(host) }).collect();
        let plan = HostPlan { count: 1, hosts: &hosts, ..HostPlan::local(ranks, Some(1 << 20)) };
        let (host, _file) = HostMemory::create(&plan).unwrap();
        let heap = host.reach().addresses().encode(host.first(), SegmentId::SYMMETRIC, 0).unwrap();
        assert!(host.reach().write(heap, &[0xFF; 1 << 20]));
        words(&host.control(host.first()).unwrap().staging).write(&[0xFF; STAGING_BYTES]);
        assert!((0..ranks).all(|rank| host.address_of(Rank::new(rank)) == Some(address(rank))));
    }

    #[test]
    fn a_rank_of_another_host_may_be_lost() {
        let (host, _file) = between(&[]);
        let bell = &host.control(Rank::new(5)).unwrap().bell;
        // Announces a sleeper; only a ring removes it.
        bell.sleep(None, &mut || true);
        host.fail(Fault::PeerLost(Rank::new(7)));
        assert_eq!(host.job().fault(), Some(Fault::PeerLost(Rank::new(7))));
        assert!(!bell.has_sleeper());
        assert!(host.controls().all(|(_, control)| control.stage() == RankStage::Absent));
    }

    #[test]
    fn the_ranks_of_one_host_meet_when_all_have_come() {
        let (host, _file) = local(2);
        assert_eq!((host.arrive(Rank::new(1)), host.have_met(1)), ((1, false), false));
        let bell = &host.control(Rank::new(0)).unwrap().bell;
        bell.sleep(None, &mut || true);
        assert_eq!((host.arrive(Rank::new(0)), host.have_met(1), host.have_met(2)), ((1, true), true, false));
        assert!(!bell.has_sleeper());
    }

    #[test]
    fn where_a_job_has_other_hosts_a_meeting_ends_when_it_is_released() {
        let (host, _file) = between(&[]);
        (3..6).for_each(|rank| assert_eq!(host.arrive(Rank::new(rank)), (1, rank == 5)));
        assert_eq!((host.arrivals(), host.have_met(1)), (3, false));
        let bell = &host.control(Rank::new(4)).unwrap().bell;
        bell.sleep(None, &mut || true);
        host.release(1);
        assert!(host.have_met(1) && !host.have_met(2) && !bell.has_sleeper());
        host.release(3);
        host.release(2);
        assert!(host.have_met(3), "a late word takes nothing back");
    }

    #[test]
    fn settings_of_the_job_are_read_by_its_ranks() {
        let (host, file) = local(2);
        assert_eq!(host.settings(), "");
        host.set_settings("udp+1");
        assert_eq!(HostMemory::attach(&file).unwrap().settings(), "udp+1");
        host.set_settings(&"x".repeat(1000));
        assert_eq!(host.settings(), "x".repeat(SETTINGS_BYTES_MAX));
    }

    #[test]
    fn without_a_network_nobody_has_an_address() {
        let (host, _file) = local(2);
        assert_eq!((host.address_of(Rank::new(0)), host.key()), (None, [0; 16]));
    }

    #[test]
    fn a_heap_without_room_in_an_address_is_refused_with_its_option() {
        for bytes in [0, SEGMENT_BYTES_MAX + 1] {
            let error = HostMemory::create(&HostPlan::local(2, Some(bytes))).err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.ends_with(&format!("not {bytes} (--heap, PELAGO_HEAP)"))),
                "{error:?}"
            );
        }
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let file = memory_file("other", 0).unwrap();
        assert!(matches!(HostMemory::attach(&file), Err(HostMemoryError::Foreign)));
        rustix::fs::ftruncate(&file, 1 << 20).unwrap();
        assert!(matches!(HostMemory::attach(&file), Err(HostMemoryError::Foreign)));
        let (host, file) = local(1);
        host.job().regions.store(u32::MAX, Ordering::Relaxed);
        assert!(matches!(HostMemory::attach(&file), Err(HostMemoryError::Foreign)));
        host.job().regions.store(regions_per_rank(1), Ordering::Relaxed);
        host.job().hosts.store(u32::MAX, Ordering::Relaxed);
        assert!(matches!(HostMemory::attach(&file), Err(HostMemoryError::Foreign)));
        host.job().count.store(u32::MAX, Ordering::Relaxed);
        host.job().heap_bytes.store(1 << 40, Ordering::Relaxed);
        assert!(matches!(HostMemory::attach(&file), Err(HostMemoryError::Foreign)));
        let refused = |plan: HostPlan<'_>| HostMemory::create(&plan).err().unwrap();
        assert!(matches!(refused(HostPlan::local(RANKS_PER_HOST_MAX + 1, None)), HostMemoryError::Ranks(_)));
        assert!(matches!(refused(HostPlan::local(1, Some(1 << 50))), HostMemoryError::HeapBytes(_)));
        assert!(matches!(refused(HostPlan { count: 2, ..HostPlan::local(1, None) }), HostMemoryError::Plan(_)));
    }

    #[test]
    fn the_default_heaps_of_the_largest_host_fit_the_address_space() {
        for ranks in [1, 2, 3, 1000, RANKS_PER_HOST_MAX] {
            let regions = regions_per_rank(ranks);
            let layout = layout(ranks, Rank::new(0), ranks, 0, regions, HostMemory::heap_bytes_default(ranks)).unwrap();
            let controls =
                u64::from(ranks) * (size_of::<RankControl>() + regions as usize * size_of::<region_table::RegionEntry>()) as u64;
            assert!(
                layout.reach.bytes()
                    <= ADDRESS_SPACE_BYTES + 2 * HEAPS_ALIGN as u64 + 2 * u64::from(ranks) * HEAPS_GAP as u64 + controls,
                "{ranks} ranks take {} bytes",
                layout.reach.bytes()
            );
            assert!(controls < ADDRESS_SPACE_BYTES / 2, "{ranks} ranks have {regions} regions each");
        }
    }

    #[test]
    fn the_secret_is_kept_from_core_dumps() {
        let (host, _file) = between(&[]);
        let start = host.reach.mapping().cells().pointer().as_ptr().addr();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let is_there = |line: &&str| line.starts_with(&format!("{start:x}-"));
        let flags = maps.lines().skip_while(|line| !is_there(line)).find_map(|line| line.strip_prefix("VmFlags:"));
        assert!(flags.unwrap().split_whitespace().any(|flag| flag == "dd"), "{flags:?}");
    }
}
