//! The file behind the mapping of a host (invariants H1 and H2 of the crate).
#![allow(unsafe_code)]

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::limits::{PUBLISHED_BYTES_MAX, RANKS_PER_HOST_MAX, SEGMENT_BYTES_MAX};
use pelago_base::{AddressLayout, LayoutError, Rank};
use pelago_memory::{Cells, Mapping, MappingError, Reach, ReachLayout};
use pelago_platform::Fault;
use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::process::{Resource, getrlimit};

use crate::control::{Control, Job, Stage};

/// "pelago" and the version of the layout.
const MAGIC: u64 = 0x7065_6c61_676f_0001;

/// Heaps begin at a multiple of the largest page that the kernel may give them.
const HEAPS_ALIGN: usize = 2 << 20;

/// Address space that the heaps of a host may take: half of what a process has.
const ADDRESS_SPACE_BYTES: u64 = 1 << 46;

/// The memory that the ranks of one host share: one file without a name, mapped by each of them.
///
/// Nothing of it has a name in the file system: when the last process that holds it ends, by whatever death, it is gone.
pub struct Host {
    reach: Reach,
    controls: usize,
    first: Rank,
    count: u32,
}

/// The memory of a host could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The job cannot be addressed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Too many ranks for one host.
    #[error("{0} ranks are too many for one host; the limit is {RANKS_PER_HOST_MAX}")]
    Ranks(u32),
    /// The kernel refused the file.
    #[error("cannot create the memory of the job: {0}")]
    File(#[from] rustix::io::Errno),
    /// The kernel refused the mapping.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The file is not the memory of a job, or of another version.
    #[error(
        "the inherited memory of the job is not one of this version of Pelago; rebuild the program and the pelago command together"
    )]
    Foreign,
}

impl Host {
    /// The memory for all ranks of a job of `ranks` ranks on this host.
    ///
    /// `heap_bytes` is the most that each of a rank's two heaps may grow to (rounded up to a power of two); `None` is as much as
    /// the machine has memory. Pages that nobody touches cost nothing.
    ///
    /// # Errors
    /// Too many ranks, too large a heap, or the kernel refuses.
    pub fn create(ranks: u32, heap_bytes: Option<u64>) -> Result<(Self, OwnedFd), HostError> {
        if ranks > RANKS_PER_HOST_MAX {
            return Err(HostError::Ranks(ranks));
        }
        let heap_bytes = heap_bytes.unwrap_or_else(|| heap_bytes_default(ranks));
        let layout = layout(ranks, Rank::new(0), ranks, heap_bytes)?;
        let file = memfd_create("pelago", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, layout.bytes())?;
        let host = Self::over(Mapping::shared(&file, layout.bytes() as usize)?, layout);
        let job = host.job();
        job.ranks.store(ranks, Ordering::Relaxed);
        job.first.store(0, Ordering::Relaxed);
        job.count.store(ranks, Ordering::Relaxed);
        job.heap_bytes.store(layout.addresses.segment_bytes(), Ordering::Relaxed);
        job.magic.store(MAGIC, Ordering::Release);
        Ok((host, file))
    }

    /// The memory behind a file that `create` made in another process.
    ///
    /// # Errors
    /// The file is not such a file, or the kernel refuses.
    pub fn attach(file: impl AsFd) -> Result<Self, HostError> {
        let bytes = fstat(&file)?.st_size as u64;
        if bytes < size_of::<Job>() as u64 {
            return Err(HostError::Foreign);
        }
        let head = Mapping::shared(&file, size_of::<Job>())?;
        // SAFETY: the mapping is as long and as aligned as a `Job`; H2.
        let job = unsafe { head.cells().pointer().cast::<Job>().as_ref() };
        if job.magic.load(Ordering::Acquire) != MAGIC {
            return Err(HostError::Foreign);
        }
        let first = Rank::new(job.first.load(Ordering::Relaxed));
        let (ranks, count) = (job.ranks.load(Ordering::Relaxed), job.count.load(Ordering::Relaxed));
        let layout = layout(ranks, first, count, job.heap_bytes.load(Ordering::Relaxed))?;
        if layout.bytes() > bytes {
            return Err(HostError::Foreign);
        }
        Ok(Self::over(Mapping::shared(&file, layout.bytes() as usize)?, layout))
    }

    fn over(mapping: Mapping, layout: ReachLayout) -> Self {
        // Whoever has the memory may ring. Where the kernel refuses, sleepers nap instead: slower to wake, never lost.
        let _supported = pelago_sync::asymmetric::register();
        Self { reach: Reach::new(Arc::new(mapping), layout), controls: layout.controls, first: layout.first, count: layout.count }
    }

    /// The heaps and doorbells.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// How many ranks the job has.
    pub fn ranks(&self) -> u32 {
        self.reach.addresses().ranks()
    }

    /// The job.
    pub fn job(&self) -> &Job {
        // SAFETY: H1, H2; `layout` puts a job at the start.
        unsafe { self.reach.mapping().cells().pointer().cast().as_ref() }
    }

    /// The part of `rank`, if it is on this host.
    pub fn control(&self, rank: Rank) -> Option<&Control> {
        let local = rank.number().wrapping_sub(self.first.number());
        // SAFETY: H1, H2; `layout` puts `count` control blocks there.
        (local < self.count).then(|| unsafe {
            self.reach.mapping().cells().pointer().add(self.controls).cast::<Control>().add(local as usize).as_ref()
        })
    }

    /// The parts of all ranks of this host, in order.
    pub fn controls(&self) -> impl Iterator<Item = (Rank, &Control)> {
        self.reach.ranks().filter_map(|rank| Some((rank, self.control(rank)?)))
    }

    /// Says that this process is `rank` from now on.
    pub fn join(&self, rank: Rank) {
        if let Some(control) = self.control(rank) {
            control.process.store(std::process::id(), Ordering::Release);
            control.set_stage(Stage::Joined);
        }
    }

    /// Says that `rank` has ended in good order.
    pub fn finish(&self, rank: Rank) {
        if let Some(control) = self.control(rank) {
            control.set_stage(Stage::Finished);
        }
    }

    /// Says that the job is at fault, and wakes every rank to see it.
    pub fn fail(&self, fault: Fault) {
        if let Fault::PeerLost(rank) = fault
            && let Some(control) = self.control(rank)
        {
            control.set_stage(Stage::Lost);
        }
        self.job().set_fault(fault);
        for (_, control) in self.controls() {
            control.bell.ring();
            control.agent_bell.ring();
        }
    }

    /// How many ranks have ever come to the meeting of [`Host::arrive`].
    pub fn arrivals(&self) -> u64 {
        self.job().arrivals.load(Ordering::Acquire)
    }

    /// Comes to the meeting by which ranks start and end together, and wakes those who wait there; returns how many came before.
    pub fn arrive(&self) -> u64 {
        let before = self.job().arrivals.fetch_add(1, Ordering::AcqRel);
        if (before + 1).is_multiple_of(u64::from(self.count)) {
            self.controls().for_each(|(_, control)| control.bell.ring());
        }
        before
    }

    /// Adds a record to what `rank` published; `false` if there is no room.
    pub fn publish(&self, rank: Rank, key: &str, value: &[u8]) -> bool {
        let Some(control) = self.control(rank) else { return false };
        let used = control.published_bytes.load(Ordering::Relaxed) as usize;
        let (Ok(key_bytes), Ok(value_bytes)) = (u16::try_from(key.len()), u16::try_from(value.len())) else { return false };
        let mut record = Vec::with_capacity(4 + key.len() + value.len());
        record.extend_from_slice(&key_bytes.to_le_bytes());
        record.extend_from_slice(&value_bytes.to_le_bytes());
        record.extend_from_slice(key.as_bytes());
        record.extend_from_slice(value);
        let Some(room) = words(&control.published).part(used as u64, record.len() as u64) else { return false };
        room.write(&record);
        control.published_bytes.store((used + record.len()) as u32, Ordering::Release);
        true
    }

    /// What `rank` published under `key`.
    pub fn published(&self, rank: Rank, key: &str) -> Option<Vec<u8>> {
        let control = self.control(rank)?;
        let used = (control.published_bytes.load(Ordering::Acquire) as usize).min(PUBLISHED_BYTES_MAX);
        let mut records = vec![0; used];
        words(&control.published).part(0, used as u64)?.read(&mut records);
        let mut rest = records.as_slice();
        while let Some((head, body)) = rest.split_at_checked(4) {
            let (found, after) = body.split_at_checked(usize::from(u16::from_le_bytes([head[0], head[1]])))?;
            let (value, after) = after.split_at_checked(usize::from(u16::from_le_bytes([head[2], head[3]])))?;
            if found == key.as_bytes() {
                return Some(value.to_vec());
            }
            rest = after;
        }
        None
    }
}

/// The bytes of an array of atomics.
pub(crate) fn words(words: &[AtomicU64]) -> Cells<'_> {
    // SAFETY: M1 by the borrow; atomics may be written through a shared reference.
    unsafe { Cells::new(std::ptr::NonNull::from(words).cast(), size_of_val(words)) }
}

fn layout(ranks: u32, first: Rank, count: u32, heap_bytes: u64) -> Result<ReachLayout, HostError> {
    let addresses = AddressLayout::new(ranks, heap_bytes)?;
    let controls = size_of::<Job>();
    let control_bytes = size_of::<Control>();
    let heaps = (controls + count as usize * control_bytes).next_multiple_of(HEAPS_ALIGN);
    Ok(ReachLayout { addresses, first, count, controls, control_bytes, heaps })
}

/// As much as the machine has memory, unless that many ranks would take up the address space, or more than half of what the user may
/// map or put into a file.
fn heap_bytes_default(ranks: u32) -> u64 {
    let info = rustix::system::sysinfo();
    let memory = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    let allowed = [Resource::As, Resource::Fsize].into_iter().filter_map(|resource| getrlimit(resource).current).min();
    let room = allowed.unwrap_or(u64::MAX).min(2 * ADDRESS_SPACE_BYTES) / 2;
    let share = (room / 2 / u64::from(ranks.max(1))).max(1);
    memory.next_power_of_two().min(1 << share.ilog2()).clamp(1 << 20, SEGMENT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_attachments_see_one_job() {
        let (made, file) = Host::create(3, Some(1 << 20)).unwrap();
        let attached = Host::attach(&file).unwrap();
        assert_eq!((attached.ranks(), attached.reach().addresses()), (3, made.reach().addresses()));
        attached.join(Rank::new(1));
        assert_eq!(made.control(Rank::new(1)).unwrap().stage(), Stage::Joined);
        assert!(made.control(Rank::new(3)).is_none());
        made.fail(Fault::PeerLost(Rank::new(2)));
        made.fail(Fault::Aborted);
        assert_eq!(attached.job().fault(), Some(Fault::PeerLost(Rank::new(2))), "the first fault stays");
        assert_eq!(attached.control(Rank::new(2)).unwrap().stage(), Stage::Lost);
    }

    #[test]
    fn what_is_published_is_found_until_the_room_is_used_up() {
        let (host, _file) = Host::create(2, Some(1 << 20)).unwrap();
        let rank = Rank::new(1);
        assert!(host.publish(rank, "udp", b"1.2.3.4"));
        assert!(host.publish(rank, "empty", b""));
        assert_eq!(host.published(rank, "udp").as_deref(), Some(&b"1.2.3.4"[..]));
        assert_eq!(host.published(rank, "empty").as_deref(), Some(&b""[..]));
        assert_eq!(host.published(rank, "shm"), None);
        assert_eq!(host.published(Rank::new(0), "udp"), None);
        assert!(!host.publish(rank, "long", &[0; PUBLISHED_BYTES_MAX]));
    }

    #[test]
    fn what_is_no_job_is_refused() {
        let file = memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        assert!(matches!(Host::attach(&file), Err(HostError::Foreign)));
        ftruncate(&file, 1 << 20).unwrap();
        assert!(matches!(Host::attach(&file), Err(HostError::Foreign)));
        assert!(matches!(Host::create(RANKS_PER_HOST_MAX + 1, None), Err(HostError::Ranks(_))));
        assert!(matches!(Host::create(1, Some(1 << 50)), Err(HostError::Layout(_))));
    }

    #[test]
    fn the_default_heaps_of_the_largest_host_fit_the_address_space() {
        for ranks in [1, 2, 3, 1000, RANKS_PER_HOST_MAX] {
            let layout = layout(ranks, Rank::new(0), ranks, heap_bytes_default(ranks)).unwrap();
            assert!(
                layout.bytes() <= ADDRESS_SPACE_BYTES + HEAPS_ALIGN as u64 + u64::from(ranks) * size_of::<Control>() as u64,
                "{ranks} ranks take {} bytes",
                layout.bytes()
            );
        }
    }
}
