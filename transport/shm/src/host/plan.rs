//! The sizes and addresses from which the memory of a host is created.

use std::net::SocketAddr;

use pelago_base::Rank;
use pelago_base::limits::{RANKS_PER_HOST_MAX, SEGMENT_BYTES_MAX};
use rustix::process::{Resource, getrlimit};

use crate::host::region_table::RegionEntry;
use crate::limits::{HOST_REGIONS_MAX, HOST_REGIONS_MIN, HOSTS_MAX};
use crate::{HostMemory, HostMemoryError};

/// Address space that the heaps of a host may take: half of what a process has.
pub(crate) const ADDRESS_SPACE_BYTES: u64 = 1 << 46;

/// The sizes and addresses from which the memory of one host of a job is created.
#[derive(Clone, Copy)]
pub struct HostPlan<'a> {
    /// Number of ranks of the job.
    pub ranks: u32,
    /// The first rank of this host.
    pub first: Rank,
    /// Number of ranks of this host, consecutive from the first.
    pub count: u32,
    /// Maximum size in bytes of each of a rank's two heaps; rounded up to a power of two. The same on every host of the job. `None` stands for
    /// [`HostMemory::heap_bytes_default`], and is allowed if all ranks are on this host.
    pub heap_bytes: Option<u64>,
    /// The job's secret, for transports that authenticate.
    pub key: [u8; 16],
    /// Addresses at which ranks receive datagrams: one entry for each host of the job, in the order of their ranks; empty without a network.
    pub hosts: &'a [HostAddress],
}

/// The address at which the ranks of one host receive datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress {
    /// The first rank of the host, which has the ranks up to the first of the next.
    pub first: Rank,
    /// The address of that rank; the k-th rank after it uses the port + k.
    pub address: SocketAddr,
}

impl HostPlan<'_> {
    /// A job of `ranks` ranks, all on this host and without a network.
    pub fn local(ranks: u32, heap_bytes: Option<u64>) -> Self {
        Self { ranks, first: Rank::new(0), count: ranks, heap_bytes, key: [0; 16], hosts: &[] }
    }

    /// Size of a heap in bytes.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.heap_bytes.unwrap_or_else(|| HostMemory::heap_bytes_default(self.count))
    }

    /// Refuses plans that no job can have.
    pub(crate) fn check(&self) -> Result<(), HostMemoryError> {
        if self.count > RANKS_PER_HOST_MAX {
            return Err(HostMemoryError::Ranks(self.count));
        }
        let fits = self.first.number().checked_add(self.count).is_some_and(|end| end <= self.ranks);
        let rules = [
            (self.count > 0 && fits, "its ranks are none of the job"),
            (self.heap_bytes.is_some() || self.count == self.ranks, "on several hosts, the size of a heap must be given"),
            (self.hosts.len() <= HOSTS_MAX, "the job has too many hosts"),
            (self.is_table_ordered(), "the hosts are not in the order of their ranks"),
            (self.have_ranks_ports(), "a rank's port would be past the last that there is"),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, why)) => Err(HostMemoryError::Plan(why)),
            None => Ok(()),
        }
    }

    fn is_table_ordered(&self) -> bool {
        let starts = self.hosts.first().is_none_or(|host| host.first == Rank::new(0));
        let ends = self.hosts.last().is_none_or(|host| host.first.number() < self.ranks);
        starts && ends && self.hosts.is_sorted_by(|one, next| one.first < next.first)
    }

    fn have_ranks_ports(&self) -> bool {
        let nexts = self.hosts.iter().skip(1).map(|host| host.first.number()).chain([self.ranks]);
        self.hosts.iter().zip(nexts).all(|(host, next)| {
            let others = next.saturating_sub(host.first.number()).saturating_sub(1);
            host.address.port() > 0 && others <= u32::from(u16::MAX - host.address.port())
        })
    }
}

impl HostMemory {
    /// Default maximum size of each heap on a host of `count` ranks: the memory of the machine,
    /// unless that many ranks would exceed the address space, or half of the bytes that the user may map or put into a file.
    ///
    /// A job of several hosts uses the minimum of theirs.
    pub fn heap_bytes_default(count: u32) -> u64 {
        let info = rustix::system::sysinfo();
        let memory = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
        let share = (address_space() / 4 / u64::from(count.max(1))).max(1);
        memory.next_power_of_two().min(1 << share.ilog2()).clamp(1 << 20, SEGMENT_BYTES_MAX)
    }
}

/// Number of entries of the table of registered regions of each of `count` ranks: as many as fit an eighth of the address space, within the
/// limits.
pub(crate) fn regions_per_rank(count: u32) -> u32 {
    let share = address_space() / 8 / u64::from(count.max(1)) / size_of::<RegionEntry>() as u64;
    (1 << share.max(1).ilog2()).clamp(u64::from(HOST_REGIONS_MIN), u64::from(HOST_REGIONS_MAX)) as u32
}

/// Address space of a process, as far as the user may map it and put it into a file.
fn address_space() -> u64 {
    let allowed = [Resource::As, Resource::Fsize].into_iter().filter_map(|resource| getrlimit(resource).current).min();
    allowed.unwrap_or(u64::MAX).min(2 * ADDRESS_SPACE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(first: u32, port: u16) -> HostAddress {
        HostAddress { first: Rank::new(first), address: ([10, 0, 0, 1], port).into() }
    }

    fn why(plan: HostPlan<'_>) -> &'static str {
        match plan.check() {
            Err(HostMemoryError::Plan(why)) => why,
            Err(other) => panic!("{other}"),
            Ok(()) => "",
        }
    }

    #[test]
    fn what_no_job_can_be_is_refused_with_its_reason() {
        let good = [host(0, 7000), host(2, 65533)];
        let plan = HostPlan { first: Rank::new(2), count: 3, heap_bytes: Some(4096), hosts: &good, ..HostPlan::local(5, None) };
        assert_eq!(why(plan), "");
        assert_eq!(why(HostPlan::local(5, None)), "");
        assert!(why(HostPlan { count: 4, ..plan }).contains("none of the job"));
        assert!(why(HostPlan { count: 0, ..plan }).contains("none of the job"));
        assert!(why(HostPlan { heap_bytes: None, ..plan }).contains("heap"));
        let many = vec![host(0, 1); HOSTS_MAX + 1];
        assert!(why(HostPlan { hosts: &many, ..plan }).contains("too many hosts"));
        for wrong in [[host(1, 1), host(2, 1)], [host(0, 1), host(0, 1)], [host(0, 1), host(5, 1)]] {
            assert!(why(HostPlan { hosts: &wrong, ..plan }).contains("order"), "{wrong:?}");
        }
        for wrong in [[host(0, 65535), host(2, 1)], [host(0, 1), host(2, 65534)], [host(0, 0), host(2, 1)]] {
            assert!(why(HostPlan { hosts: &wrong, ..plan }).contains("port"), "{wrong:?}");
        }
        let all = [host(0, 7000)];
        assert!(why(HostPlan { ranks: u32::MAX, hosts: &all, ..plan }).contains("port"));
        assert!(matches!(HostPlan::local(RANKS_PER_HOST_MAX + 1, None).check(), Err(HostMemoryError::Ranks(_))));
    }
}
