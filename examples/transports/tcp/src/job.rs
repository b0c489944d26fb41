//! The other parts of a rank: bootstrap through its launcher; waiting for events on all connections; the clock.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pelago::platform::{
    Activity, Bootstrap, BootstrapError, Clock, Fault, For, Parts, Reach, TrustedTransport, Wait, WaitPolicy, Woken,
};
use pelago::{AddressLayout, Instant, Rank, limits};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use crate::message::{Kind, Message, greet};
use crate::{Tcp, mesh};

/// The key under which each rank publishes the address on which it listens.
const LISTENS: &str = "listens";

/// The rank of this process in its job, and the address of the launcher.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    /// Number of this rank.
    pub rank: Rank,
    /// Number of ranks.
    pub size: u32,
    /// Address on which the launcher listens.
    pub launcher: SocketAddr,
    /// Secret of the job.
    pub key: [u8; 16],
}

impl Seat {
    /// Environment variables by which a launcher passes a seat.
    pub(crate) const VARIABLES: [&str; 4] = ["TCP_RANK", "TCP_SIZE", "TCP_LAUNCHER", "TCP_KEY"];

    /// Reads the seat from the environment; `None` if no launcher has started this process.
    pub fn from_environment() -> Option<Self> {
        let [rank, size, launcher, key] = Self::VARIABLES.map(|name| std::env::var(name).ok());
        let key = u128::from_str_radix(&key?, 16).ok()?.to_le_bytes();
        Some(Self { rank: Rank::new(rank?.parse().ok()?), size: size?.parse().ok()?, launcher: launcher?.parse().ok()?, key })
    }

    /// Returns the values for the environment, in the order of the variables.
    pub(crate) fn to_environment(self) -> [String; 4] {
        let key = format!("{:x}", u128::from_le_bytes(self.key));
        [self.rank.number().to_string(), self.size.to_string(), self.launcher.to_string(), key]
    }
}

/// Joins the job: returns the parts for [`run_with`](pelago::run_with), with a symmetric and a private heap of `heap_bytes` bytes each.
///
/// # Errors
/// The launcher or a rank cannot be reached, or has failed; the layout of addresses is not possible; there is not enough memory.
pub fn join(seat: Seat, heap_bytes: u64) -> io::Result<Parts> {
    let addresses = AddressLayout::new(seat.size, heap_bytes).map_err(io::Error::other)?;
    let reach = Reach::private(addresses, seat.rank).map_err(io::Error::other)?;
    let launcher = TcpStream::connect(seat.launcher)?;
    greet(&launcher, seat.key, seat.rank)?;
    let clock = Wall(std::time::Instant::now());
    let (losses, lost) = channel();
    let told = Mutex::new(Told {
        published: HashMap::new(),
        meetings: 0,
        lost: Vec::new(),
        broken: lost,
        aborted: false,
        tolerates_peer_failures: false,
    });
    let wait = Arc::new(Sleeper { told, events: epoll::create(epoll::CreateFlags::CLOEXEC)?, clock });
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    wait.watch(&bell)?;
    let (listens, told) = (launcher.try_clone()?, wait.clone());
    std::thread::Builder::new().name("launcher".into()).spawn(move || told.listen(&listens, &bell))?;

    let listener = TcpListener::bind((launcher.local_addr()?.ip(), 0))?;
    listener.set_nonblocking(true)?;
    wait.watch(&listener)?;
    let mut job = Job { seat, launcher, wait: wait.clone(), meetings: 0, published_bytes: 0 };
    let connected = |job: &mut Job| -> Result<_, BootstrapError> {
        let start = |error: &dyn std::fmt::Display| BootstrapError::Start(error.to_string());
        job.publish(LISTENS, listener.local_addr().map_err(|error| start(&error))?.to_string().as_bytes())?;
        job.barrier(&mut || false)?;
        let parse = |text: Vec<u8>| String::from_utf8(text).ok()?.parse().ok();
        let address = |rank| parse(job.lookup(rank, LISTENS)?).ok_or_else(|| start(&"a rank listens at no address"));
        let addresses: Vec<SocketAddr> = (0..seat.size).map(Rank::new).map(address).collect::<Result<_, _>>()?;
        let wait = || match wait.park(For::Anything, None, &mut || false) {
            Woken::Fault(fault) => Err(io::Error::other(fault)),
            Woken::Look => Ok(()),
        };
        mesh::connect(seat.rank, seat.key, &listener, &addresses, wait).map_err(|error| start(&error))
    };
    let streams = connected(&mut job).map_err(io::Error::other)?;
    streams.iter().flatten().try_for_each(|stream| wait.watch(stream))?;
    let transport = Box::new(Tcp::new(seat.rank, addresses, streams, losses));
    // SAFETY: an operation leaves the tables of `Tcp`, with its memory, when it completes, and a region when it is deregistered.
    #[allow(unsafe_code, reason = "the promise of the transport's author")]
    let transport = unsafe { TrustedTransport::new(transport) };
    Ok(Parts { reach, clock: Arc::new(clock), wait, virtual_time: None, bootstrap: Box::new(job), transport })
}

/// The system's clock, relative to the start of the rank.
#[derive(Clone, Copy)]
struct Wall(std::time::Instant);

impl Clock for Wall {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed().into()
    }
}

/// Waits until an event occurs on a connection.
struct Sleeper {
    told: Mutex<Told>,
    /// The epoll set: reports, edge-triggered, arrived data and room to send on all connections.
    events: OwnedFd,
    clock: Wall,
}

/// Information from the launcher and from the transport.
struct Told {
    published: HashMap<(Rank, String), Vec<u8>>,
    meetings: u64,
    lost: Vec<Rank>,
    /// Ranks whose connections the transport has lost since the last call.
    broken: Receiver<Rank>,
    /// Whether the connection to the launcher has ended.
    aborted: bool,
    /// Whether the job continues without failed ranks.
    tolerates_peer_failures: bool,
}

impl Told {
    fn lose(&mut self, rank: Rank) {
        if !self.lost.contains(&rank) {
            self.lost.push(rank);
        }
    }
}

impl Sleeper {
    fn watch(&self, what: impl std::os::fd::AsFd) -> io::Result<()> {
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::ET;
        Ok(epoll::add(&self.events, what, epoll::EventData::new_u64(0), flags)?)
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Like `told`, with all failed ranks: both the transport and the launcher report a death.
    fn losses(&self) -> MutexGuard<'_, Told> {
        let mut told = self.told();
        while let Ok(rank) = told.broken.try_recv() {
            told.lose(rank);
        }
        told
    }

    /// Stores the messages of the launcher until its connection ends.
    fn listen(&self, launcher: &TcpStream, bell: &OwnedFd) {
        loop {
            let message = Message::receive(launcher);
            let is_last = message.is_err();
            let mut told = self.told();
            match message {
                Ok(Message { kind: Kind::Published, rank, key, value }) => _ = told.published.insert((rank, key), value),
                Ok(Message { kind: Kind::Met, .. }) => told.meetings += 1,
                Ok(Message { kind: Kind::Lost, rank, .. }) => told.lose(rank),
                Ok(Message { kind: Kind::Finished, .. }) => {}
                Err(_) => told.aborted = true,
            }
            drop(told);
            // The write fails only if the count would overflow; then the event is already pending.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
            if is_last {
                return;
            }
        }
    }
}

impl Wait for Sleeper {
    fn policy(&self) -> WaitPolicy {
        // Polling is a system call, so sleeping costs little more. Threads of one rank do not wake each other.
        WaitPolicy { takes_threads: false, ..WaitPolicy::default() }
    }

    fn park(&self, _: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        // The kernel keeps an event that occurs after the call of `ready` (W1).
        if self.fault().is_none() && !ready() {
            let left = until.map(|until| std::time::Duration::from(until.since(self.clock.now())));
            let left = left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
            let mut found = [const { MaybeUninit::uninit() }; 16];
            // After an interruption the caller looks again.
            let _ = epoll::wait(&self.events, &mut found, left.as_ref());
        }
        self.fault().map_or(Woken::Look, Woken::Fault)
    }

    fn yield_now(&self) -> bool {
        std::thread::yield_now();
        true
    }

    fn note(&self, _: Activity) {}

    fn fault(&self) -> Option<Fault> {
        let told = self.losses();
        let lost = told.lost.first().filter(|_| !told.tolerates_peer_failures);
        lost.map(|&rank| Fault::PeerLost(rank)).or(told.aborted.then_some(Fault::Aborted))
    }

    fn tolerate_peer_failures(&self) {
        self.told().tolerates_peer_failures = true;
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        let told = self.losses();
        told.lost.get(known).copied().filter(|_| told.tolerates_peer_failures)
    }
}

/// The job, through the connection to the launcher.
struct Job {
    seat: Seat,
    launcher: TcpStream,
    wait: Arc<Sleeper>,
    /// Number of barriers that this rank has entered.
    meetings: u64,
    published_bytes: usize,
}

impl Job {
    fn say(&self, message: &Message) -> Result<(), BootstrapError> {
        message.send(&self.launcher).map_err(|_| Fault::Aborted.into())
    }
}

impl Bootstrap for Job {
    fn rank(&self) -> Rank {
        self.seat.rank
    }

    fn size(&self) -> u32 {
        self.seat.size
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        self.published_bytes += key.len() + value.len();
        if self.published_bytes > limits::PUBLISHED_BYTES_MAX {
            return Err(BootstrapError::TooLong(self.published_bytes));
        }
        self.say(&Message { key: key.into(), value: value.into(), ..Message::new(Kind::Published, self.seat.rank) })
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        let found = self.wait.told().published.get(&(rank, key.to_owned())).cloned();
        found.ok_or_else(|| BootstrapError::Missing(rank, key.into()))
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        self.say(&Message::new(Kind::Met, self.seat.rank))?;
        self.meetings += 1;
        let have_met = || self.wait.told().meetings >= self.meetings;
        while !have_met() {
            if let Woken::Fault(fault) = self.wait.park(For::Anything, None, &mut || have_met() || meanwhile()) {
                return Err(fault.into());
            }
        }
        Ok(())
    }

    fn finish(&mut self) {
        // Ignored if the launcher has ended.
        let _ = self.say(&Message::new(Kind::Finished, self.seat.rank));
    }
}
