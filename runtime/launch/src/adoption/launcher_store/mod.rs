//! The interface to another launcher: it gives each process a number, and a key-value store.

pub(crate) mod one_host;
pub(crate) mod pmi;
pub(crate) mod pmix;
mod pmix_library;
pub(crate) mod rendezvous;

use std::num::ParseIntError;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::OsClock;
use crate::adoption::gathering::message::Secret;
use crate::adoption::launcher_store::pmi::timespec;

/// Maximum sizes in bytes of the keys and values that Pelago stores: every store accepts these.
pub(crate) const KEY_BYTES: usize = 32;
pub(crate) const VALUE_BYTES: usize = 512;

/// The launcher's information to one of its processes about the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobFacts {
    /// The number of this process.
    pub(crate) rank: u32,
    /// Number of processes of the job.
    pub(crate) size: u32,
    /// The name of the job.
    pub(crate) job: String,
    /// The host of each process.
    pub(crate) placement: Placement,
}

/// The launcher, as one of its processes sees it.
///
/// Contract:
/// - K1 fixed: `facts` never change; the name of the job is the same for all processes of a job, and unique among the jobs on its hosts.
/// - K2 fenced: a value that a process put before a `fence` is found by `get` on every process after it.
/// - K3 finite: every call ends by its deadline, with an error if the launcher has not answered.
pub(crate) trait KeyValue: Send {
    /// Returns the job, and the position of this process in it.
    fn facts(&self) -> &JobFacts;

    /// Returns the secret that only the processes of this job have from the launcher, if there is one: then they need not agree on another.
    fn secret(&self) -> Option<Secret> {
        None
    }

    /// Stores `value`, of printable characters without spaces, under `key`.
    ///
    /// # Errors
    /// The launcher refuses or does not answer.
    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), StoreError>;

    /// Returns the value that `owner` stored under `key`.
    ///
    /// # Errors
    /// There is no value, or the launcher does not answer.
    fn get(&mut self, owner: u32, key: &str, until: Instant) -> Result<String, StoreError>;

    /// Whether [`get`](Self::get) waits for a value that a process of the same host has not stored yet, so that no fence is needed before it.
    fn awaits_values(&self) -> bool {
        false
    }

    /// Whether a fence ends although a process that has failed does not enter it. Otherwise it never ends.
    fn ends_fences_without_failed(&self) -> bool {
        false
    }

    /// Notifies the launcher that this process has entered the next fence, without waiting for the others.
    ///
    /// # Errors
    /// The launcher does not accept the message.
    fn arrive(&mut self, until: Instant) -> Result<(), StoreError>;

    /// Returns the launcher's next event, without waiting: `descriptor` is readable if there may be one.
    ///
    /// # Errors
    /// The launcher has gone, or violates its protocol.
    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError>;

    /// Notifies the launcher that this process may end from now on, with any exit code, without a need to end the others. The last call.
    fn leave(&mut self, until: Instant);

    /// Asks the launcher to end all processes of the job; the launcher exits with `code` if it can. The last call, instead of `leave`.
    fn abort(&mut self, code: i32, until: Instant);

    /// Returns a descriptor that is readable if the launcher may have sent an event, and that hangs up when the launcher has gone.
    fn descriptor(&self) -> BorrowedFd<'_>;
}

/// An event that a launcher reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreEvent {
    /// All processes have entered the fence that this one has entered.
    Met,
    /// A process, by the launcher's number, has ended without leaving.
    Lost(u32),
    /// A process has asked the launcher to end the job, and the launcher leaves this to the processes.
    Aborted,
    /// No more events will come, which is not a fault.
    Over,
}

/// A store that a rank and its monitor use.
pub(crate) type SharedStore = Arc<Mutex<Box<dyn KeyValue>>>;

/// Locks the store.
pub(crate) fn locked(store: &SharedStore) -> MutexGuard<'_, Box<dyn KeyValue>> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns after all processes of the job have called it.
///
/// # Errors
/// Some have not called it until the given time, or one has ended.
pub(crate) fn fence(store: &mut dyn KeyValue, clock: OsClock, until: Instant) -> Result<(), StoreError> {
    store.arrive(until)?;
    loop {
        match store.hear()? {
            Some(StoreEvent::Met) => return Ok(()),
            Some(StoreEvent::Lost(process)) => return Err(StoreError::Lost(process)),
            Some(StoreEvent::Aborted) => return Err(StoreError::Unready("another rank has ended the job".into())),
            Some(StoreEvent::Over) => return Err(StoreError::Gone),
            None => {}
        }
        let left = until.since(clock.now());
        if left == Duration::ZERO {
            return Err(StoreError::Incomplete);
        }
        match poll(&mut [PollFd::from_borrowed_fd(store.descriptor(), PollFlags::IN)], Some(&timespec(left))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(StoreError::System(store.descriptor().as_raw_fd(), error)),
        }
    }
}

/// The launcher's store cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The launcher has closed the connection.
    #[error("the launcher has closed its connection")]
    Gone,
    /// The library for the connection cannot be used.
    #[error(
        "a PMIx launcher has started this program, and {0} cannot be used: {1}; install it (Debian: libpmix2), start the program by \
         pelago run -n N, or set PELAGO_SINGLE=1 if single ranks are intended"
    )]
    Library(&'static str, String),
    /// The launcher does not answer.
    #[error("the launcher did not answer {0} within the start limit (PELAGO_START_SECONDS allows more)")]
    Silent(String),
    /// Not all processes have entered the fence.
    #[error(
        "not every rank came to the launcher's barrier within the start limit (PELAGO_START_SECONDS allows more): is each process of the job \
         this program?"
    )]
    Incomplete,
    /// A process has ended before all had arrived.
    #[error("process {0} of the launcher ended while the job was set up")]
    Lost(u32),
    /// An answer violates the protocol.
    #[error("the launcher answered {0} by {1:?}")]
    Answer(String, String),
    /// The launcher refuses a request.
    #[error("the launcher refuses {0}: {1}")]
    Refused(String, String),
    /// A key or a value is longer than the store permits.
    #[error("the launcher's store takes keys and values of {0} bytes, and Pelago needs {1}")]
    Room(usize, usize),
    /// There is no secret for the rendezvous.
    #[error("{0}")]
    Secret(String),
    /// Too many processes for a rendezvous.
    #[error("{0} processes are more than the {1} that can meet at one of them: use a launcher with a store (PMI-1, PMIx)")]
    TooMany(u32, u32),
    /// The port of the rendezvous is in use.
    #[error(
        "rank 0 cannot listen at port {0} for the other ranks: {1}; set MASTER_PORT or PELAGO_PORT to a free port, the same for all ranks"
    )]
    Listen(u16, String),
    /// The rendezvous cannot be served.
    #[error("rank 0 cannot serve the other ranks: {0}")]
    Server(String),
    /// Process 0 is not reachable at the specified address.
    #[error("rank 0 does not listen at {0}, and so the ranks cannot meet: {1}; MASTER_ADDR and MASTER_PORT name the place")]
    Unreachable(String, String),
    /// Another process listens at the address.
    #[error(
        "the process that listens at {0} is not rank 0 of this job: set MASTER_PORT or PELAGO_PORT to a free port, the same for all ranks"
    )]
    Stranger(String),
    /// What listens at the address says nothing.
    #[error(
        "the process that listens at {0} did not answer within the start limit (PELAGO_START_SECONDS allows more): is it rank 0 of this job? \
         MASTER_ADDR, and MASTER_PORT or PELAGO_PORT, name the place"
    )]
    SilentPlace(String),
    /// The secrets differ.
    #[error("rank 0 at {0} has closed the connection: is PELAGO_SECRET the same for all ranks?")]
    Rejected(String),
    /// The job cannot be set up.
    #[error("{0}")]
    Unready(String),
    /// The system refuses.
    #[error(
        "cannot speak to the launcher by descriptor {0} (PMI_FD): {1}; if PMI_FD is a leftover of another program, remove it from the \
         environment, or set PELAGO_SINGLE=1"
    )]
    System(i32, Errno),
}

/// The host of each rank: blocks of hosts that have the same number of consecutive ranks each, repeated until all ranks are placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    parts: Vec<RepeatedBlocks>,
}

/// Blocks that are repeated `times` times.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RepeatedBlocks {
    times: u32,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    host: u32,
    hosts: u32,
    ranks_per_host: u32,
}

impl Placement {
    /// Returns the placement of all ranks on one host.
    pub(crate) fn one_host(size: u32) -> Self {
        Self::once(vec![Block { host: 0, hosts: 1, ranks_per_host: size.max(1) }])
    }

    /// Returns the placement for a list with the host of each rank.
    pub(crate) fn listed(hosts: &[u32]) -> Self {
        let runs = hosts.chunk_by(|host, next| host == next);
        Self::once(runs.map(|run| Block { host: run[0], hosts: 1, ranks_per_host: run.len() as u32 }).collect())
    }

    fn once(blocks: Vec<Block>) -> Self {
        Self { parts: vec![RepeatedBlocks { times: 1, blocks }] }
    }

    /// Parses the value that launchers store under `PMI_process_mapping`, such as `(vector,(0,2,4))`: starting with host 0, 2 hosts, 4 ranks on
    /// each. Hydra 5 writes `7` for one rank on host 7, and `[(0,2,1),7]x3` for blocks that are repeated three times.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix("(vector,")?.strip_suffix(')')?;
        let mut parts = Vec::new();
        loop {
            if let Some(repeated) = rest.strip_prefix('[') {
                let (blocks, after) = repeated.split_once("]x")?;
                let (times, after) = after.split_at(after.find(',').unwrap_or(after.len()));
                let times = times.parse().ok().filter(|&times| times > 0)?;
                parts.push(RepeatedBlocks { times, blocks: Block::parse_list(blocks)? });
                rest = after;
            } else {
                let (block, after) = Block::parse_first(rest)?;
                parts.push(RepeatedBlocks { times: 1, blocks: vec![block] });
                rest = after;
            }
            if rest.is_empty() {
                return Some(Self { parts });
            }
            rest = rest.strip_prefix(',')?;
        }
    }

    /// Returns the host of each process of a job, by the launcher's numbers of both, as an endless sequence: take as many as there are processes.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = u32> {
        let parts = self.parts.iter().cycle();
        let blocks = parts.flat_map(|part| std::iter::repeat_n(&part.blocks, part.times as usize)).flatten();
        let hosts = blocks.flat_map(|block| {
            let ranks = block.ranks_per_host;
            (block.host..block.host + block.hosts).map(move |host| (host, ranks))
        });
        hosts.flat_map(|(host, ranks)| std::iter::repeat_n(host, ranks as usize))
    }
}

impl Block {
    /// Splits a list into its first block and the rest.
    fn parse_first(text: &str) -> Option<(Self, &str)> {
        let Some(numbers) = text.strip_prefix('(') else {
            let (host, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
            let host: u32 = host.parse().ok()?;
            return host.checked_add(1).map(|_| (Self { host, hosts: 1, ranks_per_host: 1 }, rest));
        };
        let (numbers, rest) = numbers.split_once(')')?;
        let numbers: Result<Vec<u32>, ParseIntError> = numbers.split(',').map(str::parse).collect();
        let [host, hosts, ranks_per_host] = numbers.ok()?.try_into().ok()?;
        let is_good = hosts > 0 && ranks_per_host > 0 && host.checked_add(hosts).is_some();
        is_good.then_some((Self { host, hosts, ranks_per_host }, rest))
    }

    fn parse_list(mut text: &str) -> Option<Vec<Self>> {
        let mut blocks = Vec::new();
        loop {
            let (block, rest) = Self::parse_first(text)?;
            blocks.push(block);
            if rest.is_empty() {
                return Some(blocks);
            }
            text = rest.strip_prefix(',')?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_placed_as_the_launcher_says() {
        let hosts = |text: &str| -> Vec<u32> {
            let placement = Placement::parse(text).expect("a placement");
            placement.hosts().take(8).collect()
        };
        assert_eq!(hosts("(vector,(0,2,4))"), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(hosts("(vector,(0,2,1))"), [0, 1, 0, 1, 0, 1, 0, 1], "round robin");
        assert_eq!(hosts("(vector,(0,1,1))"), [0; 8], "one process after the other on one host");
        assert_eq!(hosts("(vector,(0,1,2),(3,2,3))"), [0, 0, 3, 3, 3, 4, 4, 4]);
        // As Hydra 5 writes it.
        assert_eq!(hosts("(vector,[(0,2,1)]x3,0)"), [0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(hosts("(vector,0,(1,1,2),2)"), [0, 1, 1, 2, 0, 1, 1, 2]);
        assert_eq!(hosts("(vector,[0,(1,1,2)]x2,5)"), [0, 1, 1, 0, 1, 1, 5, 0]);
        assert_eq!(Placement::listed(&[0, 1, 0, 0, 1]).hosts().take(5).collect::<Vec<_>>(), [0, 1, 0, 0, 1]);
        assert_eq!(Placement::one_host(8).hosts().take(9).collect::<Vec<_>>(), [0; 9]);
    }

    #[test]
    fn what_is_no_placement_is_none() {
        for text in ["", "(vector,)", "(vector,())", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))", "(vector,(0,1,x))"]
        {
            assert_eq!(Placement::parse(text), None, "{text}");
        }
        for text in [
            "(vector,[(0,1,1)]x0)",
            "(vector,[(0,1,1)])",
            "(vector,[]x2)",
            "(vector,[0]x2,)",
            "(vector,4294967295)",
            "(vector,0;1)",
        ] {
            assert_eq!(Placement::parse(text), None, "{text}");
        }
        assert_eq!(Placement::parse("(vector,(0,1,1,1))"), None);
        assert_eq!(Placement::parse("(vector,(4294967295,1,1))"), None, "there is no such host");
        assert_eq!(Placement::parse("(vector,(0,1,1)"), None, "cut off");
    }
}
