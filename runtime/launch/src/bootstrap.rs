//! A rank whose host memory was created by a launcher or by the ranks themselves, or a program that was started alone.
#![allow(unsafe_code)]

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use pelago_base::{Rank, Topology};
use pelago_platform::{Awaited, Bootstrap, BootstrapError, For, Reports, WaitSite, Woken};
use pelago_shm::{HostAddress, HostMemory, HostMemoryError, HostPlan, RankControl};
use rustix::io::Errno;

use crate::adoption::{AdoptionError, RankMonitor, StoreError, adopt};
use crate::rank::environment::LaunchedJob;
use crate::rank::quit_report;
use crate::rank::shared_settings::{SettingDifference, SharedSettings};
use crate::system::job_key;
use crate::{AdoptedJob, CoreBinding, ForeignStore, LaunchSettings, OsClock, OsWait};

/// The key of the datagram address of a rank, which can be looked up although no rank has published it: an address as text, such as
/// `127.0.0.1:7000` or `[fe80::1%2]:7000`.
const DATAGRAMS: &str = "udp";

/// The same for ranks that exchange addresses by datagrams and then use a fabric.
const FABRIC: &str = "ofi";

/// The bootstrap of a rank.
pub struct LocalBootstrap {
    host: Arc<HostMemory>,
    rank: Rank,
    wait: Arc<OsWait>,
    /// The socket for datagrams, until it is taken.
    socket: Option<OwnedFd>,
    /// The pipe by which the launcher is notified when all ranks of this host have entered a barrier of the bootstrap.
    call: Option<OwnedFd>,
    /// Monitors the other ranks, if our launcher does not.
    monitor: Option<RankMonitor>,
}

/// A program could not become a rank.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The memory of the job cannot be used.
    #[error(transparent)]
    Host(#[from] HostMemoryError),
    /// The launcher's descriptor is closed.
    #[error(
        "descriptor {0}, which the launcher left for this rank, is not open: something between the launcher and this program closed it"
    )]
    Descriptor(RawFd),
    /// A program that was started alone requests the network, which cannot be used.
    #[error("cannot receive datagrams on this machine: {0}; PELAGO_TRANSPORT=auto needs no network")]
    Network(#[from] std::io::Error),
    /// The launcher's numbers do not match its memory.
    #[error("rank {rank} of {size} does not belong to the memory of this job, which has {ranks} ranks")]
    Rank {
        /// The rank of the environment.
        rank: Rank,
        /// The size of the environment.
        size: u32,
        /// Number of ranks for which the memory was created.
        ranks: u32,
    },
    /// A setting of this rank is not that of the job.
    #[error(
        "{name} is {} for rank {rank}, and {} for the job: {name} has to be the same for all ranks; set it for pelago run, not for a rank",
        .difference.value, .difference.expected, name = .difference.name
    )]
    Setting {
        /// The rank.
        rank: Rank,
        /// The setting, with the values of the rank and of the job.
        difference: SettingDifference,
    },
    /// Another process is or was this rank.
    #[error(
        "process {process} has taken part as rank {rank} already: a rank is one program that uses Pelago, which takes part once; \
         give every further program a pelago run of its own"
    )]
    Again {
        /// The rank.
        rank: Rank,
        /// The process that joined as this rank first.
        process: u32,
    },
    /// The processes of another launcher could not become a job.
    #[error(transparent)]
    Adoption(#[from] AdoptionError),
}

impl LocalBootstrap {
    /// Becomes the rank that `settings` specifies, or the only rank of its own job.
    ///
    /// # Errors
    /// The memory of the job cannot be used.
    pub fn start(settings: &LaunchSettings, clock: OsClock) -> Result<Self, StartError> {
        let (host, rank, [socket, call], monitor) = match (settings.job, &settings.adopted) {
            (Some(job), _) => joined(launched(&job, settings)?)?,
            (None, Some(job)) => adopted(job, settings, clock)?,
            (None, None) => joined(alone(settings)?)?,
        };
        let wait = Arc::new(OsWait::new(host.clone(), rank, clock, settings.deadlock_after));
        quit_report::install(&host, rank);
        Ok(Self { host, rank, wait, socket, call, monitor })
    }

    /// Returns the socket by which this rank receives datagrams, bound to its address, if ranks reach each other over UDP. Only the first
    /// call returns it.
    pub fn take_socket(&mut self) -> Option<OwnedFd> {
        self.socket.take()
    }

    /// Binds the calling thread, and threads that it starts later, to this rank's cores. To be called after the threads exist for which others
    /// wait while the rank computes: progress threads stay free to run on idle cores.
    pub fn bind(&self, binding: CoreBinding) {
        binding.keep(self.rank.number() - self.host.first().number(), self.host.count());
    }

    /// The memory of this host.
    pub fn host(&self) -> &Arc<HostMemory> {
        &self.host
    }

    /// The wait implementation of this rank.
    pub fn wait(&self) -> &Arc<OsWait> {
        &self.wait
    }
}

impl Bootstrap for LocalBootstrap {
    fn rank(&self) -> Rank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.host.ranks()
    }

    fn topology(&self) -> Topology {
        let firsts = self.host.first_ranks();
        if firsts.is_empty() {
            Topology::flat(self.size())
        } else {
            Topology::hosts(self.size(), firsts.iter().map(|first| first.number()))
        }
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        let published = self.host.publish(self.rank, key, value);
        published.then_some(()).ok_or(BootstrapError::TooLong(key.len() + value.len()))
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        let address = self.host.address_of(rank).filter(|_| [DATAGRAMS, FABRIC].contains(&key));
        let found = address.map(|address| address.to_string().into_bytes()).or_else(|| self.host.published(rank, key));
        found.ok_or_else(|| BootstrapError::Missing(rank, key.into()))
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        let (meeting, complete) = self.host.arrive(self.rank);
        if let Some(call) = self.call.as_ref().filter(|_| complete) {
            // A full pipe wakes the launcher as well, and a pipe without a reader has no launcher.
            let _ = rustix::io::write(call, &[1]);
        }
        if let Some(monitor) = self.monitor.as_ref().filter(|_| !self.host.is_whole_job()) {
            monitor.arrive();
        }
        if self.host.have_met(meeting) {
            return Ok(());
        }
        let site = WaitSite { what: "the start or end of the job", awaited: Awaited::Everyone, word: None, in_flight: 0 };
        let shown = self.wait.show(&site);
        let met = self.await_meeting(meeting, meanwhile);
        self.wait.hide(shown, &site);
        met
    }

    fn finish(&mut self) {
        self.host.finish(self.rank);
        self.monitor.iter_mut().for_each(RankMonitor::finish);
    }
}

impl LocalBootstrap {
    fn await_meeting(&self, meeting: u64, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        while !self.host.have_met(meeting) {
            let mut ready = || self.host.have_met(meeting) || meanwhile();
            if let Woken::Fault(fault) = self.wait.park_on_bell(For::Anything, None, &mut ready) {
                return Err(fault.into());
            }
        }
        Ok(())
    }
}

/// A rank that has joined.
type Joined = (Arc<HostMemory>, Rank, [Option<OwnedFd>; 2], Option<RankMonitor>);

fn joined((host, rank, descriptors): Start) -> Result<Joined, StartError> {
    if !host.join(rank) {
        return Err(StartError::Again { rank, process: host.control(rank).map_or(0, RankControl::process) });
    }
    Ok((Arc::new(host), rank, descriptors, None))
}

/// Returns a rank of a job that the ranks set up among themselves.
fn adopted(job: &AdoptedJob, settings: &LaunchSettings, clock: OsClock) -> Result<Joined, StartError> {
    let socket = match job.launcher {
        // The descriptor of another program, whose variables are left over, is closed as well.
        ForeignStore::Pmi { descriptor, .. } => {
            let refused = |_| AdoptionError::from(StoreError::System(descriptor, Errno::BADF));
            Some(inherit(descriptor).map_err(refused)?)
        }
        ForeignStore::Pmix | ForeignStore::Rendezvous(_) => None,
    };
    let adopted = adopt(job, socket, settings, clock)?;
    Ok((adopted.host, adopted.rank, [adopted.socket, None], Some(adopted.monitor)))
}

/// The resources of a rank at start: its host's memory, its number, its socket and its pipe to the launcher.
type Start = (HostMemory, Rank, [Option<OwnedFd>; 2]);

fn launched(job: &LaunchedJob, settings: &LaunchSettings) -> Result<Start, StartError> {
    let &LaunchedJob { rank, size, memory, socket, call } = job;
    let host = HostMemory::attach(&inherit(memory)?)?;
    if host.ranks() != size || host.control(rank).is_none() {
        return Err(StartError::Rank { rank, size, ranks: host.ranks() });
    }
    let of_job = SharedSettings::parse(&host.settings());
    if let Some(difference) = of_job.and_then(|of_job| SharedSettings::of(settings).difference(&of_job)) {
        return Err(StartError::Setting { rank, difference });
    }
    Ok((host, rank, [socket.map(inherit).transpose()?, call.map(inherit).transpose()?]))
}

/// Creates a job of one rank, which uses the network to itself if the user requests this.
fn alone(settings: &LaunchSettings) -> Result<Start, StartError> {
    let plan = HostPlan::local(1, settings.heap_bytes);
    if !settings.transport.has_network() {
        return Ok((HostMemory::create(&plan)?.0, plan.first, [None, None]));
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let hosts = [HostAddress { first: plan.first, address: socket.local_addr()? }];
    let key = job_key::draw()?;
    Ok((HostMemory::create(&HostPlan { key, hosts: &hosts, ..plan })?.0, plan.first, [Some(socket.into()), None]))
}

/// Takes over a descriptor that the launcher left open.
fn inherit(descriptor: RawFd) -> Result<OwnedFd, StartError> {
    // SAFETY: only inspected; closed or foreign descriptors are an error of the call.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(descriptor) };
    // Programs that this rank starts are not ranks, and must not inherit the descriptor.
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC).map_err(|_| StartError::Descriptor(descriptor))?;
    // SAFETY: open, and by the agreement with the launcher no other code of this process uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TransportChoice;
    use std::os::fd::{AsFd, BorrowedFd, IntoRawFd};

    use pelago_platform::Fault;
    use pelago_shm::RankStage;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::FdFlags;
    use rustix::pipe::{PipeFlags, pipe_with};

    /// Turns a hang into a failure; its length does not matter.
    const HANG: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

    fn settings(job: Option<LaunchedJob>) -> LaunchSettings {
        let none = LaunchSettings::from_variables(|_| None).unwrap();
        LaunchSettings { job, heap_bytes: Some(1 << 20), ..none }
    }

    #[test]
    fn a_program_alone_is_a_job_of_one() {
        let mut local = LocalBootstrap::start(&settings(None), OsClock::start()).unwrap();
        assert_eq!((local.rank(), local.size()), (Rank::new(0), 1));
        local.publish("key", b"value").unwrap();
        local.barrier(&mut || false).unwrap();
        assert_eq!(local.lookup(Rank::new(0), "key").unwrap(), b"value");
        assert!(matches!(local.lookup(Rank::new(0), "other"), Err(BootstrapError::Missing(..))));
        assert!(matches!(local.publish("long", &[0; 5000]), Err(BootstrapError::TooLong(_))));
    }

    /// A nap would return without polling, whatever has arrived, and serve no other rank.
    #[test]
    fn a_rank_that_waits_for_a_meeting_serves_others_and_does_not_nap() {
        let (_host, memory) = HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap();
        let memory = memory.try_clone().unwrap().into_raw_fd();
        let job = LaunchedJob { rank: Rank::new(0), size: 2, memory, socket: None, call: None };
        let mut local = LocalBootstrap::start(&settings(Some(job)), OsClock::start()).unwrap();
        local.wait().nap_by(|_| panic!("it does not nap"));
        let (host, mut looks) = (local.host().clone(), 0);
        let met = local.barrier(&mut || {
            looks += 1;
            if looks == 1 {
                host.join(Rank::new(1));
                host.arrive(Rank::new(1));
            }
            looks == 1
        });
        assert!(met.is_ok() && looks == 1);
    }

    #[test]
    fn a_rank_whose_settings_are_not_those_of_the_job_does_not_take_part() {
        let (host, memory) = HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap();
        host.set_settings(&SharedSettings::new(TransportChoice::Auto, true).to_string());
        let start = |rank, own: LaunchSettings| {
            let memory = memory.try_clone().unwrap().into_raw_fd();
            let job = LaunchedJob { rank: Rank::new(rank), size: 2, memory, socket: None, call: None };
            LocalBootstrap::start(&LaunchSettings { job: Some(job), ..own }, OsClock::start())
        };
        assert!(start(0, LaunchSettings { encrypt: true, ..settings(None) }).is_ok());
        let error = start(1, settings(None)).err().expect("it sends plain text").to_string();
        assert!(error.starts_with("PELAGO_ENCRYPT is 0 for rank 1, and 1 for the job"), "{error}");
        let udp = LaunchSettings { encrypt: true, transport: TransportChoice::Udp, ..settings(None) };
        let error = start(1, udp).err().expect("it has no socket").to_string();
        assert!(error.starts_with("PELAGO_TRANSPORT is udp for rank 1, and auto for the job"), "{error}");
        assert_eq!(host.control(Rank::new(1)).unwrap().stage(), RankStage::Absent);
    }

    #[test]
    fn a_program_alone_has_no_network_unless_it_wants_one() {
        let start = |transport| LocalBootstrap::start(&LaunchSettings { transport, ..settings(None) }, OsClock::start()).unwrap();
        let mut quiet = start(TransportChoice::Auto);
        assert!(quiet.take_socket().is_none());
        assert!(matches!(quiet.lookup(Rank::new(0), DATAGRAMS), Err(BootstrapError::Missing(..))));

        let mut networked = start(TransportChoice::Udp);
        let socket = UdpSocket::from(networked.take_socket().unwrap());
        assert!(networked.take_socket().is_none(), "there is one");
        let address = socket.local_addr().unwrap();
        assert!(address.ip().is_loopback());
        assert_eq!(networked.lookup(Rank::new(0), DATAGRAMS).unwrap(), address.to_string().into_bytes());
        assert_ne!(networked.host().key(), [0; 16]);
    }

    /// Returns rank `rank` of a job whose ranks 2 and 3 are on this host, started as by a launcher.
    fn launched(host: BorrowedFd<'_>, rank: u32, descriptors: [Option<RawFd>; 2]) -> LocalBootstrap {
        let memory = host.try_clone_to_owned().unwrap().into_raw_fd();
        let [socket, call] = descriptors;
        let job = LaunchedJob { rank: Rank::new(rank), size: 5, memory, socket, call };
        LocalBootstrap::start(&settings(Some(job)), OsClock::start()).unwrap()
    }

    fn plan(hosts: &[HostAddress]) -> HostPlan<'_> {
        HostPlan { first: Rank::new(2), count: 2, hosts, ..HostPlan::local(5, Some(1 << 20)) }
    }

    #[test]
    fn ranks_of_every_host_are_found_in_the_table() {
        let at = |first, address: &str| HostAddress { first: Rank::new(first), address: address.parse().unwrap() };
        let (_host, memory) =
            HostMemory::create(&plan(&[at(0, "10.0.0.1:70"), at(2, "[fe80::1%3]:80"), at(4, "[::1]:90")])).unwrap();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = socket.local_addr().unwrap();
        // As the launcher leaves it.
        rustix::io::fcntl_setfd(&socket, FdFlags::empty()).unwrap();
        let mut local = launched(memory.as_fd(), 3, [Some(socket.into_raw_fd()), None]);
        let mut text = |rank| String::from_utf8(local.lookup(Rank::new(rank), DATAGRAMS).unwrap()).unwrap();
        assert_eq!([1, 3, 4].map(&mut text), ["10.0.0.1:71", "[fe80::1%3]:81", "[::1]:90"]);
        assert_eq!(text(3).parse(), Ok(at(0, "[fe80::1%3]:81").address));
        assert!(matches!(local.lookup(Rank::new(5), DATAGRAMS), Err(BootstrapError::Missing(..))));
        assert!(matches!(local.lookup(Rank::new(4), "key"), Err(BootstrapError::Missing(..))));
        local.publish("key", b"value").unwrap();
        assert_eq!(local.lookup(Rank::new(3), "key").unwrap(), b"value");

        let socket = local.take_socket().unwrap();
        assert_eq!(rustix::io::fcntl_getfd(&socket).unwrap(), FdFlags::CLOEXEC, "programs that the rank starts are no ranks");
        assert_eq!(UdpSocket::from(socket).local_addr().unwrap(), address);
    }

    #[test]
    fn ranks_of_one_host_wait_for_the_others_and_the_last_calls_the_launcher() {
        let (host, memory) = HostMemory::create(&plan(&[])).unwrap();
        let (answer, call) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).unwrap();
        let [mut one, mut other] =
            [2, 3].map(|rank| launched(memory.as_fd(), rank, [None, Some(call.try_clone().unwrap().into_raw_fd())]));
        let calls = || rustix::io::read(&answer, &mut [0; 2]);
        for meeting in 1..=3 {
            // No assertion while threads wait, because they would wait for ever after a failure.
            let (early, called, waiting, ended) = std::thread::scope(|threads| {
                let first = threads.spawn(|| one.barrier(&mut || false));
                while host.arrivals() < meeting * 2 - 1 {
                    std::thread::yield_now();
                }
                let early = calls();
                let second = threads.spawn(|| other.barrier(&mut || false));
                let _ = poll(&mut [PollFd::new(&answer, PollFlags::IN)], Some(&HANG));
                let (called, waiting) = (calls(), !first.is_finished() && !second.is_finished());
                host.release(meeting);
                (early, called, waiting, [first, second].map(|thread| thread.join().unwrap()))
            });
            assert_eq!((early, called), (Err(Errno::AGAIN), Ok(1)), "the last calls, once");
            assert!(waiting && host.arrivals() == meeting * 2);
            assert_eq!(ended, [Ok(()), Ok(())]);
        }
    }

    #[test]
    fn a_meeting_ends_when_a_rank_of_another_host_is_lost() {
        let (host, memory) = HostMemory::create(&plan(&[])).unwrap();
        let mut one = launched(memory.as_fd(), 2, [None, None]);
        let lost = Fault::PeerLost(Rank::new(0));
        host.fail(lost);
        assert_eq!(one.barrier(&mut || false), Err(lost.into()));
    }

    #[test]
    fn a_rank_takes_part_once() {
        let (host, memory) = HostMemory::create(&plan(&[])).unwrap();
        let start = || {
            let memory = memory.try_clone().unwrap().into_raw_fd();
            let job = LaunchedJob { rank: Rank::new(2), size: 5, memory, socket: None, call: None };
            LocalBootstrap::start(&settings(Some(job)), OsClock::start())
        };
        let mut first = start().unwrap();
        let refused =
            || matches!(start(), Err(StartError::Again { rank, process }) if rank.number() == 2 && process == std::process::id());
        assert!(refused());
        first.finish();
        assert!(refused() && host.control(Rank::new(2)).is_some_and(|control| control.stage() == RankStage::Finished));
    }

    #[test]
    fn a_descriptor_that_is_closed_is_an_error() {
        let job = LaunchedJob { rank: Rank::new(0), size: 1, memory: 9999, socket: None, call: None };
        let error = LocalBootstrap::start(&settings(Some(job)), OsClock::start()).err().unwrap();
        assert!(matches!(error, StartError::Descriptor(9999)), "{error}");
        let launcher = ForeignStore::Pmi { descriptor: 9999, size: 2 };
        let left_over = LaunchSettings { adopted: Some(AdoptedJob { rank: Rank::new(0), launcher }), ..settings(None) };
        let error = LocalBootstrap::start(&left_over, OsClock::start()).err().unwrap().to_string();
        assert!(error.contains("descriptor 9999 (PMI_FD)") && error.contains("PELAGO_SINGLE=1"), "{error}");
    }
}
