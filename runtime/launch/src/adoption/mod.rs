//! Jobs of other launchers: processes that know only a number and a key-value store set up a job among themselves.
//!
//! | folder | content |
//! |---|---|
//! | `launcher_store` | the interface to the launcher, a key-value store: PMI-1 (Hydra, MPICH, Intel MPI, srun), PMIx (Open MPI, PRRTE, srun), the variables of Open MPI's `mpirun` if they are sufficient, and a rendezvous over TCP |
//! | `hosts` | the hosts of the job, and the agreement of their first ranks through the store |
//! | `gathering` | the first rank of a host creates the resources that our launcher would create, and passes them to the other ranks |
//! | `monitor` | detection of ended and stopped ranks without our launcher |
//!
//! `docs/decisions/0019-adoption.md` gives the reasons.

mod gathering;
mod hosts;
mod launcher_store;
mod monitor;

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock};

use pelago_base::limits::RANKS_PER_HOST_MAX;
use pelago_base::{Duration, Rank};
use pelago_platform::Clock;
use pelago_shm::{HostAddress, HostMemory, HostMemoryError, HostPlan};
use rustix::io::Errno;

pub use crate::adoption::launcher_store::StoreError;
pub(crate) use crate::adoption::monitor::rank_monitor::RankMonitor;
pub use crate::adoption::monitor::ring::tell_fault;

use crate::adoption::gathering::follower::Follower;
use crate::adoption::gathering::leader::{Leader, RankResources};
use crate::adoption::gathering::message::{Hello, Secret};
use crate::adoption::gathering::socket::SocketName;
use crate::adoption::hosts::agreement::{self, Negotiation};
use crate::adoption::hosts::order::{HostOrder, HostRanks};
use crate::adoption::launcher_store::one_host::OneHost;
use crate::adoption::launcher_store::pmi::Pmi;
use crate::adoption::launcher_store::pmix::Pmix;
use crate::adoption::launcher_store::rendezvous::client::Rendezvous;
use crate::adoption::launcher_store::{KeyValue, fence};
use crate::adoption::monitor::exit_abort;
use crate::adoption::monitor::process_identity::{ProcessIdentity, ProcessLookup};
use crate::adoption::monitor::rank_monitor::LEAVE_LIMIT;
use crate::rank::shared_settings::{SettingDifference, SharedSettings};
use crate::system::{job_key, udp_ports};
use crate::{AdoptedJob, ForeignStore, LaunchSettings, OsClock, TransportChoice};

/// The key under which a host's leader stores the secret of its ranks, followed by the number of the host.
const SECRET_KEY: &str = "pelago-secret-";

/// The key under which each rank's process is published in the memory of the host.
const PROCESS_KEY: &str = "process";

/// The error of processes of another launcher that could not become a job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptionError {
    /// The launcher's store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ranks are on several hosts, and must not use a network.
    #[error("ranks on {0} hosts cannot reach each other by shared memory; set PELAGO_TRANSPORT to auto or udp")]
    Apart(usize),
    /// A host cannot take part.
    #[error("host {host} cannot take part: {why}")]
    HostRefused {
        /// Its name.
        host: String,
        /// The reason.
        why: String,
    },
    /// Hosts disagree.
    #[error(
        "{name} is {} on host {host}, and {} on host {first}: {name} has to be the same for all ranks; some launchers pass a variable to other \
         hosts only on request (mpirun -x {name})",
        .difference.value, .difference.expected, name = .difference.name
    )]
    SettingOfHost {
        /// A host.
        host: String,
        /// The first host.
        first: String,
        /// The setting, with the values of both.
        difference: SettingDifference,
    },
    /// The addresses of this host are unknown.
    #[error("cannot list the network interfaces: {0}")]
    Interfaces(std::io::Error),
    /// Ranks have not arrived.
    #[error(
        "{0} did not come within the start limit (PELAGO_START_SECONDS allows more): is each process of the job this program?"
    )]
    Missing(String),
    /// A rank has ended.
    #[error("rank {0} ended while the job was set up")]
    Ended(u32),
    /// Ranks disagree.
    #[error("rank {rank} belongs to a job of {size} ranks, and the first rank of its host to one of {leader_size}")]
    Size {
        /// The rank.
        rank: u32,
        /// Number of ranks according to the rank.
        size: u32,
        /// Number of ranks according to its leader.
        leader_size: u32,
    },
    /// Ranks disagree.
    #[error(
        "{name} is {} for rank {rank}, and {} for rank {leader} of its host: {name} has to be the same for all ranks",
        .difference.value, .difference.expected, name = .difference.name
    )]
    Setting {
        /// The rank.
        rank: u32,
        /// The first rank of its host.
        leader: u32,
        /// The setting, with the values of both.
        difference: SettingDifference,
    },
    /// Two processes have the same number.
    #[error("two processes of this host claim to be rank {0}")]
    Twice(u32),
    /// A process of another job has come to the rendezvous.
    #[error(
        "rank 0, which listens there, belongs to another job ({job}) than this rank {rank}: set MASTER_PORT or PELAGO_PORT to a port for each \
         job, or give each its own PELAGO_SECRET"
    )]
    OtherJob {
        /// The process.
        rank: u32,
        /// The job of the rendezvous.
        job: String,
    },
    /// Two processes with the same number have come to the rendezvous.
    #[error(
        "two processes with the same secret claim to be rank {0}: if two jobs meet at this port at the same time, give each its own \
         PELAGO_SECRET, or its own port (MASTER_PORT, PELAGO_PORT)"
    )]
    MetTwice(u32),
    /// A process is not visible.
    #[error("rank {0} is in another PID namespace, so that its end could not be seen: the ranks of a host have to share one")]
    Namespace(u32),
    /// A process of the same user does not belong to the job.
    #[error("a process that claims to be rank {0} does not know the secret that the launcher gave to the ranks")]
    Proof(u32),
    /// The leader refuses.
    #[error("{0}")]
    Refused(String),
    /// A process of another user occupies the name of the meeting place.
    #[error("a process of user {0} occupies the meeting place of the ranks of this host")]
    User(u32),
    /// Another process occupies the name of the meeting place.
    #[error("another process occupies the meeting place of the ranks of this host")]
    Taken,
    /// A rank has another version.
    #[error("rank {0} uses another version of the protocol of Pelago: are all ranks the same program?")]
    Message(u32),
    /// Too many ranks to gather.
    #[error(
        "the first rank of a host needs {needed} open files to gather the others and {allowed} are allowed; raise the limit (ulimit -n)"
    )]
    Descriptors {
        /// Descriptors needed.
        needed: u64,
        /// Descriptors allowed.
        allowed: u64,
    },
    /// The memory of the job cannot be created.
    #[error(transparent)]
    Host(#[from] HostMemoryError),
    /// The system provides no random numbers.
    #[error("cannot draw the key of the job: {0}")]
    Key(std::io::Error),
    /// The ranks cannot reach each other over UDP.
    #[error("cannot bind {0} UDP sockets to {1}: {2}; {remedy}", remedy = udp_ports::remedy(.2))]
    Sockets(u32, IpAddr, std::io::Error),
    /// The system refuses a call.
    #[error("the system refuses {0}: {1}")]
    System(&'static str, Errno),
}

impl AdoptionError {
    fn system(call: &'static str) -> impl Fn(Errno) -> Self {
        move |error| Self::System(call, error)
    }

    /// Whether the launcher has to end the other processes of a job on one host, or on several: those that do not learn of the failure otherwise.
    fn ends_others(&self, are_several: bool) -> bool {
        match self {
            // The rank that refuses ends the others.
            Self::Refused(_) => false,
            // Not even a rank of the same host: it is stopped, or does something else, and may never end.
            Self::Missing(_) => true,
            _ => are_several,
        }
    }

    fn missing(ranks: impl IntoIterator<Item = u32>) -> Self {
        /// Maximum number of ranks that an error message names.
        const NAMED_MAX: usize = 8;
        let ranks: Vec<String> = ranks.into_iter().map(|rank| rank.to_string()).collect();
        let (named, more) = (&ranks[..ranks.len().min(NAMED_MAX)], ranks.len().saturating_sub(NAMED_MAX));
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Self::Missing(format!("{} {}{more}", if ranks.len() == 1 { "rank" } else { "ranks" }, named.join(", ")))
    }
}

/// An adopted rank: the memory of its host, its number, its socket and its monitor.
pub(crate) struct Adopted {
    pub(crate) host: Arc<HostMemory>,
    pub(crate) rank: Rank,
    pub(crate) socket: Option<OwnedFd>,
    pub(crate) monitor: RankMonitor,
}

/// Becomes a rank of the job that another launcher has started; `socket` is the connection to a launcher with PMI-1.
pub(crate) fn adopt(
    job: &AdoptedJob,
    socket: Option<OwnedFd>,
    settings: &LaunchSettings,
    clock: OsClock,
) -> Result<Adopted, AdoptionError> {
    let until = clock.now() + settings.start_limit;
    let process = job.rank.number();
    // Takes no time now, but about 20 ms after PMIx has started threads: the kernel waits until all of its cores have passed the scheduler.
    let _without_it_sleepers_poll = pelago_sync::asymmetric::register();
    let mut store: Box<dyn KeyValue> = match (&job.launcher, socket) {
        (&ForeignStore::Pmi { size, .. }, Some(socket)) => Box::new(Pmi::start(socket, clock, process, size, until)?),
        (ForeignStore::Rendezvous(point), _) => Box::new(Rendezvous::start(point, process, clock, until)?),
        _ => match OneHost::find(clock) {
            Some(launcher) => Box::new(launcher),
            None => Box::new(Pmix::start(clock, until)?),
        },
    };
    let order = HostOrder::of(store.facts());
    let rank = Rank::new(order.rank);
    let _the_first = ADOPTED_RANK.set(rank);
    let (host, socket) = match by_store(store.as_mut(), &order, settings, clock) {
        Ok(adopted) => adopted,
        Err(error) => {
            if error.ends_others(order.are_several()) {
                exit_abort::at_exit(Arc::new(Mutex::new(store)), 1, clock);
            } else {
                // The launcher then gives the others time to report why they end.
                store.leave(clock.now() + LEAVE_LIMIT);
            }
            return Err(error);
        }
    };
    let host = Arc::new(host);
    host.join(rank);
    let monitor = RankMonitor::start(host.clone(), rank, Arc::new(Mutex::new(store)), settings.failure_limit, clock);
    Ok(Adopted { monitor: monitor?, host, rank, socket })
}

/// The rank of this process among those of another launcher, which numbers processes in its own way.
static ADOPTED_RANK: OnceLock<Rank> = OnceLock::new();

/// Returns the rank of this process, if another launcher has started it.
pub fn adopted_rank() -> Option<Rank> {
    ADOPTED_RANK.get().copied()
}

/// Returns the memory of this host and this rank's socket, which the first rank of the host has created.
fn by_store(
    store: &mut dyn KeyValue,
    order: &HostOrder,
    settings: &LaunchSettings,
    clock: OsClock,
) -> Result<(HostMemory, Option<OwnedFd>), AdoptionError> {
    let (rank, size, here) = (order.rank, store.facts().size, order.here());
    if order.are_several() && settings.transport == TransportChoice::Shm {
        return Err(AdoptionError::Apart(order.hosts.len()));
    }
    if here.count > RANKS_PER_HOST_MAX {
        return Err(HostMemoryError::Ranks(here.count).into());
    }
    // The monitor detects ends of ranks by pidfds.
    if let ProcessLookup::Unknown(error) = ProcessIdentity::of(std::process::id()).find() {
        return Err(AdoptionError::System("pidfd_open", error));
    }
    let name = SocketName::new(&store.facts().job, here.number).map_err(AdoptionError::system("bind"))?;
    let hello = Hello { rank, size, process: std::process::id(), settings: SharedSettings::of(settings) };
    let key = format!("{SECRET_KEY}{}", order.place);
    if rank == here.first {
        let others: Vec<u32> = (here.first + 1..here.first + here.count).collect();
        let mut leader = Leader::open(&name, hello, &others, clock)?;
        return lead(&mut leader, store, order, &key, settings, clock).inspect_err(|error| leader.refuse(error));
    }
    let follower = Follower::open(&name, hello, here.first, clock, settings.start_limit)?;
    follower.gather()?;
    let fences = if order.are_several() { agreement::FENCES } else { usize::from(!store.awaits_values()) };
    for _ in 0..fences {
        fence(store, clock, clock.now() + settings.start_limit)?;
    }
    let wrong = |text: String| StoreError::Answer("get".into(), text);
    let text = store.get(here.leader, &key, clock.now() + settings.start_limit)?;
    let secret = Secret::parse(&text).ok_or_else(|| wrong(text))?;
    let uses_network = order.are_several() || settings.transport.has_network();
    let (memory, socket) = follower.prove(secret, uses_network)?;
    let host = HostMemory::attach(&memory)?;
    if host.ranks() != size || host.control(Rank::new(rank)).is_none() {
        return Err(AdoptionError::Message(here.first));
    }
    Ok((host, socket))
}

fn lead(
    leader: &mut Leader,
    store: &mut dyn KeyValue,
    order: &HostOrder,
    key: &str,
    settings: &LaunchSettings,
    clock: OsClock,
) -> Result<(HostMemory, Option<OwnedFd>), AdoptionError> {
    let until = |limit: Duration| clock.now() + limit;
    let processes = leader.gather(until(settings.start_limit))?;
    let secret = store.secret().map_or_else(|| job_key::draw().map(Secret), Ok).map_err(AdoptionError::Key)?;
    let size = store.facts().size;
    let (host, memory, mut sockets) = if order.are_several() {
        leader.go_on();
        let negotiation = Negotiation { store: &mut *store, order, settings, clock };
        let agreement = negotiation.agree(|store, until| store.put(key, &secret.to_string(), until))?;
        let HostRanks { first, count, .. } = order.here();
        let (first, heap_bytes) = (Rank::new(first), Some(agreement.heap_bytes));
        let plan = HostPlan { ranks: size, first, count, heap_bytes, key: agreement.key, hosts: &agreement.hosts };
        let (host, memory) = HostMemory::create(&plan)?;
        (host, memory, agreement.sockets)
    } else {
        let made = make(size, settings)?;
        store.put(key, &secret.to_string(), until(settings.start_limit))?;
        leader.go_on();
        if !store.awaits_values() {
            fence(store, clock, until(settings.start_limit))?;
        }
        made
    };
    // Before any other rank has the memory, so that every lookup succeeds.
    let all = [ProcessIdentity::of(std::process::id())].into_iter().chain(processes);
    host.reach().ranks().zip(all).for_each(|(rank, process)| _ = host.publish(rank, PROCESS_KEY, process.to_string().as_bytes()));
    let own = if sockets.is_empty() { None } else { Some(OwnedFd::from(sockets.remove(0))) };
    let others = (1..host.count() as usize)
        .map(|place| RankResources { memory: memory.as_fd(), socket: sockets.get(place - 1).map(AsFd::as_fd) });
    leader.supply(secret, &others.collect::<Vec<_>>(), until(settings.start_limit))?;
    Ok((host, own))
}

/// Creates the memory of a job of one host, and a socket for each rank if they reach each other over UDP.
fn make(size: u32, settings: &LaunchSettings) -> Result<(HostMemory, OwnedFd, Vec<UdpSocket>), AdoptionError> {
    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let plan = HostPlan::local(size, settings.heap_bytes);
    if !settings.transport.has_network() {
        let (host, memory) = HostMemory::create(&plan)?;
        return Ok((host, memory, Vec::new()));
    }
    let (port, sockets) = udp_ports::bind(LOOPBACK, size).map_err(|error| AdoptionError::Sockets(size, LOOPBACK, error))?;
    let hosts = [HostAddress { first: plan.first, address: (LOOPBACK, port).into() }];
    let key = job_key::draw().map_err(AdoptionError::Key)?;
    let (host, memory) = HostMemory::create(&HostPlan { key, hosts: &hosts, ..plan })?;
    Ok((host, memory, sockets))
}

#[cfg(test)]
mod tests;
