//! What a launcher other than ours gives its processes: a number each, and a store of keys and values.

pub(crate) mod pmi;
pub(crate) mod pmix;
mod pmix_library;

use std::num::ParseIntError;
use std::os::fd::BorrowedFd;

use pelago_base::Instant;

/// What a launcher tells one of its processes about the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobFacts {
    /// This process.
    pub(crate) rank: u32,
    /// How many processes the job has.
    pub(crate) size: u32,
    /// The name of the job.
    pub(crate) job: String,
    /// Which processes are of one host.
    pub(crate) placement: Placement,
}

/// The launcher, as one of its processes sees it.
///
/// Contract:
/// - K1 fixed: `facts` never change; the name of the job is the same for all processes of a job, and no other job on its hosts has it.
/// - K2 fenced: what a process put before a `fence` is found by `get` on every process after it.
/// - K3 finite: every call ends by its deadline, with an error if the launcher has not answered.
pub(crate) trait KeyValue: Send {
    /// The job, and the place of this process in it.
    fn facts(&self) -> &JobFacts;

    /// Leaves `value`, of printable characters without spaces, under `key`.
    ///
    /// # Errors
    /// The launcher refuses or does not answer.
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), StoreError>;

    /// What `owner` left under `key`.
    ///
    /// # Errors
    /// Nothing, or the launcher does not answer.
    fn get(&mut self, owner: u32, key: &str, until: Instant) -> Result<String, StoreError>;

    /// Returns when all processes of the job have called it.
    ///
    /// # Errors
    /// Some have not.
    fn fence(&mut self, until: Instant) -> Result<(), StoreError>;

    /// Says that this process may end from now on, with any exit code, without the launcher's having to end the others. The last call.
    fn leave(&mut self, until: Instant);

    /// A descriptor that hangs up when the launcher has gone.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

/// The launcher's store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It has closed the connection.
    #[error("the launcher has closed its connection")]
    Gone,
    /// The library by which it is spoken to cannot be used.
    #[error(
        "a PMIx launcher has started this program, and {0} cannot be used: {1}; install it (Debian: libpmix2), start the program by \
         pelago run -n N, or set PELAGO_SINGLE=1 if single ranks are intended"
    )]
    Library(&'static str, String),
    /// It is silent.
    #[error("the launcher did not answer {0} within the start limit (PELAGO_START_SECONDS allows more)")]
    Silent(String),
    /// Not all processes have come to the fence.
    #[error(
        "not every rank came to the launcher's barrier within the start limit (PELAGO_START_SECONDS allows more): is each process of the job \
         this program?"
    )]
    Incomplete,
    /// It has said something else than the protocol allows.
    #[error("the launcher answered {0} by {1:?}")]
    Answer(String, String),
    /// It refuses.
    #[error("the launcher refuses {0}: {1}")]
    Refused(String, String),
    /// A key or a value is longer than it allows.
    #[error("the launcher's store takes keys and values of {0} bytes, and Pelago needs {1}")]
    Room(usize, usize),
    /// The system refuses.
    #[error("cannot speak to the launcher by descriptor {0} (PMI_FD): {1}")]
    System(i32, rustix::io::Errno),
}

/// Which ranks share a host: blocks of hosts that have the same number of consecutive ranks each, again and again until all ranks are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    host: u32,
    hosts: u32,
    ranks_per_host: u32,
}

impl Placement {
    /// All ranks are of one host.
    pub(crate) fn one_host(size: u32) -> Self {
        Self { blocks: vec![Block { host: 0, hosts: 1, ranks_per_host: size.max(1) }] }
    }

    /// The host of each rank.
    pub(crate) fn listed(hosts: &[u32]) -> Self {
        let runs = hosts.chunk_by(|host, next| host == next);
        Self { blocks: runs.map(|run| Block { host: run[0], hosts: 1, ranks_per_host: run.len() as u32 }).collect() }
    }

    /// Reads what launchers leave under `PMI_process_mapping`, such as `(vector,(0,2,4))`: from host 0 on, 2 hosts, 4 ranks on each.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let inner = text.strip_prefix("(vector,(")?.strip_suffix("))")?;
        let block = |text: &str| {
            let numbers: Result<Vec<u32>, ParseIntError> = text.split(',').map(str::parse).collect();
            let [host, hosts, ranks_per_host] = numbers.ok()?.try_into().ok()?;
            (hosts > 0 && ranks_per_host > 0 && host.checked_add(hosts).is_some()).then_some(Block {
                host,
                hosts,
                ranks_per_host,
            })
        };
        Some(Self { blocks: inner.split("),(").map(block).collect::<Option<_>>()? })
    }

    /// The host of `rank`, by the launcher's number of it.
    pub(crate) fn host_of(&self, rank: u32) -> u32 {
        let ranks = |block: &Block| u64::from(block.hosts) * u64::from(block.ranks_per_host);
        let mut left = u64::from(rank) % self.blocks.iter().map(ranks).sum::<u64>();
        for block in &self.blocks {
            if left < ranks(block) {
                return block.host + (left / u64::from(block.ranks_per_host)) as u32;
            }
            left -= ranks(block);
        }
        unreachable!("the rest is below the sum")
    }

    /// The ranks of the job that share the host of `rank`, in their order: the first of them leads.
    pub(crate) fn neighbours(&self, rank: u32, size: u32) -> Vec<u32> {
        let host = self.host_of(rank);
        (0..size).filter(|&other| self.host_of(other) == host).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_placed_as_the_launcher_says() {
        let hosts = |text: &str| -> Vec<u32> {
            let placement = Placement::parse(text).expect("a placement");
            (0..8).map(|rank| placement.host_of(rank)).collect()
        };
        assert_eq!(hosts("(vector,(0,2,4))"), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(hosts("(vector,(0,2,1))"), [0, 1, 0, 1, 0, 1, 0, 1], "round robin");
        assert_eq!(hosts("(vector,(0,1,1))"), [0; 8], "one process after the other on one host");
        assert_eq!(hosts("(vector,(0,1,2),(3,2,3))"), [0, 0, 3, 3, 3, 4, 4, 4]);
        let listed = Placement::listed(&[0, 1, 0, 0, 1]);
        assert_eq!((listed.neighbours(0, 5), listed.neighbours(4, 5)), (vec![0, 2, 3], vec![1, 4]));
        assert_eq!(Placement::one_host(8).neighbours(5, 8), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(Placement::parse("(vector,(0,2,1))").expect("a placement").neighbours(5, 8), [1, 3, 5, 7]);
    }

    #[test]
    fn what_is_no_placement_is_none() {
        for text in ["", "(vector,)", "(vector,())", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))", "(vector,(0,1,x))"]
        {
            assert_eq!(Placement::parse(text), None, "{text}");
        }
        assert_eq!(Placement::parse("(vector,(0,1,1,1))"), None);
        assert_eq!(Placement::parse("(vector,(4294967295,1,1))"), None, "there is no such host");
        assert_eq!(Placement::parse("(vector,(0,1,1)"), None, "cut off");
    }
}
