//! The store of a rendezvous in each process.

use std::collections::VecDeque;
use std::fs::{read_link, read_to_string};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags, poll};

use crate::OsClock;
use crate::adoption::launcher_store::pmi::timespec;
use crate::adoption::launcher_store::rendezvous::message::{ToClient, ToServer};
use crate::adoption::launcher_store::rendezvous::sealed_stream::{
    Closed, Introduction, MAGIC, NONCE_BYTES, SealedStream, Side, TAG_BYTES, TO_CLIENT_BYTES_MAX, is_same,
};
use crate::adoption::launcher_store::rendezvous::server::Server;
use crate::adoption::launcher_store::{JobFacts, KeyValue, Placement, StoreError, StoreEvent};
use crate::rank::environment::RendezvousPoint;
use crate::system::job_key;

/// Maximum number of processes of a job that meets at a rendezvous. The server has a connection to each.
pub(crate) const PROCESSES_MAX: u32 = 4096;

/// Additional time for which a process waits, so that the server can report which processes are missing.
const GRACE: Duration = Duration::from_milliseconds(2000);

/// Initial pause between two checks whether the server listens.
const PAUSE_MIN: Duration = Duration::from_milliseconds(2);
/// Maximum pause between two checks whether the server listens.
const PAUSE_MAX: Duration = Duration::from_milliseconds(100);

/// Maximum duration of one connection attempt.
const CONNECT_LIMIT: Duration = Duration::from_milliseconds(2000);

/// Maximum number of connection attempts to a server that closes the connection, which happens if many processes without the secret
/// connect.
const INTRODUCTIONS_MAX: u32 = 3;

/// The stack of the server's thread.
const STACK_BYTES: usize = 256 * 1024;

/// A connection to the server.
pub(crate) struct Rendezvous {
    stream: SealedStream,
    clock: OsClock,
    facts: JobFacts,
    /// Events that the server has sent while a request was pending.
    events: VecDeque<StoreEvent>,
    /// Whether the server has gone.
    is_closed: bool,
}

impl Rendezvous {
    /// Joins the rendezvous as `rank`; process 0 serves it.
    pub(crate) fn start(point: &RendezvousPoint, rank: u32, clock: OsClock, until: Instant) -> Result<Self, StoreError> {
        let size = point.size;
        if size > PROCESSES_MAX {
            return Err(StoreError::TooMany(size, PROCESSES_MAX));
        }
        let secret = point.secret.read().map_err(StoreError::Secret)?;
        if rank == 0 {
            let listener = listen(point.port).map_err(|error| StoreError::Listen(point.port, error.to_string()))?;
            let server = Server::new(listener, secret, (size, &point.job), clock, until)
                .map_err(|error| StoreError::Server(error.to_string()))?;
            let thread = std::thread::Builder::new().name("pelago-meeting".into()).stack_size(STACK_BYTES);
            thread.spawn(move || server.run()).map_err(|error| StoreError::Server(error.to_string()))?;
        }
        Self::join(point, &secret, rank, clock, until)
    }

    /// Joins the rendezvous that process 0 serves.
    pub(super) fn join(
        point: &RendezvousPoint,
        secret: &[u8; 16],
        rank: u32,
        clock: OsClock,
        until: Instant,
    ) -> Result<Self, StoreError> {
        let size = point.size;
        let mut attempts = 0;
        let stream = loop {
            attempts += 1;
            match introduce(connect(point, rank, clock, until)?, secret, point, rank, clock, until) {
                Err(StoreError::Rejected(_)) if attempts < INTRODUCTIONS_MAX => {}
                introduced => break introduced?,
            }
        };
        let facts = JobFacts { rank, size, job: String::new(), placement: Placement::one_host(size) };
        let mut store = Self { stream, clock, facts, events: VecDeque::new(), is_closed: false };
        store.send(&ToServer::Come { host: host_identity() }, until)?;
        match store.answer("come", until + GRACE)? {
            ToClient::Placed { job, hosts } => {
                (store.facts.job, store.facts.placement) = (job, Placement::listed(&hosts));
                Ok(store)
            }
            other => Err(wrong("come", &other)),
        }
    }

    fn send(&mut self, message: &ToServer, until: Instant) -> Result<(), StoreError> {
        self.stream.send(&message.to_string());
        loop {
            self.stream.flush().map_err(|Closed| StoreError::Gone)?;
            if self.stream.waiting_bytes() == 0 {
                return Ok(());
            }
            wait(&self.stream, PollFlags::OUT, "a message", self.clock, until)?;
        }
    }

    /// Returns the answer to a request; events that arrive meanwhile are queued.
    fn answer(&mut self, what: &str, until: Instant) -> Result<ToClient, StoreError> {
        loop {
            match self.take()? {
                Some(ToClient::Refused(why)) => return Err(StoreError::Unready(why)),
                Some(message) => match event(&message) {
                    Some(event) => self.events.push_back(event),
                    None => return Ok(message),
                },
                None if self.is_closed => return Err(StoreError::Gone),
                None => wait(&self.stream, PollFlags::IN, what, self.clock, until)?,
            }
        }
    }

    /// Returns the server's next message, if there is one.
    fn take(&mut self) -> Result<Option<ToClient>, StoreError> {
        if !self.is_closed {
            self.is_closed = self.stream.receive().is_err();
        }
        let nonsense = || StoreError::Answer("the server of the rendezvous".into(), "what it never says".into());
        let text = self.stream.take(TO_CLIENT_BYTES_MAX).map_err(|Closed| nonsense())?;
        text.map(|text| ToClient::parse(&text, self.facts.size).ok_or_else(nonsense)).transpose()
    }
}

impl KeyValue for Rendezvous {
    fn facts(&self) -> &JobFacts {
        &self.facts
    }

    fn put(&mut self, key: &str, value: &str, until: Instant) -> Result<(), StoreError> {
        self.send(&ToServer::Put { key: key.into(), value: value.into() }, until)?;
        match self.answer("put", until)? {
            ToClient::Done => Ok(()),
            other => Err(wrong("put", &other)),
        }
    }

    fn get(&mut self, _owner: u32, key: &str, until: Instant) -> Result<String, StoreError> {
        self.send(&ToServer::Get { key: key.into() }, until)?;
        match self.answer("get", until)? {
            ToClient::Value(value) => Ok(value),
            other => Err(wrong("get", &other)),
        }
    }

    fn ends_fences_without_failed(&self) -> bool {
        true
    }

    fn arrive(&mut self, until: Instant) -> Result<(), StoreError> {
        self.send(&ToServer::Arrive, until)
    }

    fn hear(&mut self) -> Result<Option<StoreEvent>, StoreError> {
        if let Some(event) = self.events.pop_front() {
            return Ok(Some(event));
        }
        let was_closed = self.is_closed;
        match self.take()? {
            Some(message) => event(&message).map(Some).ok_or_else(|| wrong("nothing", &message)),
            // The server is a thread of process 0.
            None if self.is_closed && !was_closed && self.facts.rank != 0 => Ok(Some(StoreEvent::Lost(0))),
            None if self.is_closed => Err(StoreError::Gone),
            None => Ok(None),
        }
    }

    fn leave(&mut self, until: Instant) {
        if self.send(&ToServer::Leave, until).is_ok() {
            while let Ok(message) = self.answer("leave", until) {
                if message == ToClient::Left {
                    return;
                }
            }
        }
    }

    fn abort(&mut self, _code: i32, until: Instant) {
        let _unless_it_has_gone = self.send(&ToServer::Abort, until);
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Returns the event of an unsolicited message.
fn event(message: &ToClient) -> Option<StoreEvent> {
    match message {
        ToClient::Met => Some(StoreEvent::Met),
        ToClient::Lost(rank) => Some(StoreEvent::Lost(*rank)),
        ToClient::Aborted => Some(StoreEvent::Aborted),
        ToClient::Over => Some(StoreEvent::Over),
        _ => None,
    }
}

fn wrong(what: &str, answer: &ToClient) -> StoreError {
    StoreError::Answer(what.into(), answer.to_string().chars().take(100).collect())
}

/// Listens at a port of all addresses, including IPv4.
fn listen(port: u16) -> std::io::Result<TcpListener> {
    let all: [IpAddr; 2] = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    TcpListener::bind(&all.map(|address| SocketAddr::new(address, port))[..])
}

/// Connects to process 0, with retries until it listens.
fn connect(point: &RendezvousPoint, rank: u32, clock: OsClock, until: Instant) -> Result<SealedStream, StoreError> {
    let here = [SocketAddr::from((Ipv4Addr::LOCALHOST, point.port)), SocketAddr::from((Ipv6Addr::LOCALHOST, point.port))];
    let mut pause = PAUSE_MIN;
    loop {
        let found = if rank == 0 {
            Ok(here.to_vec())
        } else {
            (point.address.as_str(), point.port).to_socket_addrs().map(|found| found.take(4).collect())
        };
        let mut why = String::from("it has no address");
        match found {
            Err(error) => why = error.to_string(),
            Ok(addresses) => {
                for address in addresses {
                    let limit = until.since(clock.now()).min(CONNECT_LIMIT).max(PAUSE_MIN);
                    match TcpStream::connect_timeout(&address, limit.into()).and_then(to_another).and_then(SealedStream::new) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => why = error.to_string(),
                    }
                }
            }
        }
        if clock.now() >= until {
            return Err(StoreError::Unreachable(place(point), why));
        }
        std::thread::sleep(pause.into());
        pause = (pause + pause).min(PAUSE_MAX);
    }
}

/// Refuses a connection of a socket to itself: while nothing listens at a port of this host from which the kernel takes ports of outgoing
/// connections, it may take just this one, and process 0 could not listen there as long as the connection exists.
pub(super) fn to_another(stream: TcpStream) -> std::io::Result<TcpStream> {
    if stream.local_addr()? == stream.peer_addr()? {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    Ok(stream)
}

/// Proves that this process knows the secret, and checks that the server does.
fn introduce(
    mut stream: SealedStream,
    secret: &[u8; 16],
    point: &RendezvousPoint,
    rank: u32,
    clock: OsClock,
    until: Instant,
) -> Result<SealedStream, StoreError> {
    let stranger = || StoreError::Stranger(place(point));
    let greeting = take_clear(&mut stream, MAGIC.len() + NONCE_BYTES, point, clock, until)?;
    let (magic, server_nonce) = greeting.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(stranger());
    }
    let server_nonce = server_nonce.try_into().map_err(|_| stranger())?;
    let client_nonce = job_key::draw().map_err(|error| StoreError::Server(error.to_string()))?;
    let introduction = Introduction { server_nonce, client_nonce, rank, size: point.size, job: digest([&*point.job]) };
    let proof = introduction.proof(secret, Side::Client);
    stream.send_clear(
        &[&client_nonce[..], &rank.to_le_bytes(), &point.size.to_le_bytes(), &introduction.job.to_le_bytes(), &proof].concat(),
    );
    // The socket has room for so few bytes.
    stream.flush().map_err(|Closed| StoreError::Rejected(place(point)))?;
    let answer = take_clear(&mut stream, TAG_BYTES, point, clock, until)?;
    if !is_same(&answer, &introduction.proof(secret, Side::Server)) {
        return Err(stranger());
    }
    stream.seal(secret, &introduction, Side::Client);
    Ok(stream)
}

fn take_clear(
    stream: &mut SealedStream,
    count: usize,
    point: &RendezvousPoint,
    clock: OsClock,
    until: Instant,
) -> Result<Vec<u8>, StoreError> {
    loop {
        if let Some(bytes) = stream.take_clear(count) {
            return Ok(bytes);
        }
        wait(stream, PollFlags::IN, "the introduction", clock, until).map_err(|_| StoreError::SilentPlace(place(point)))?;
        if stream.receive().is_err() && stream.untaken_bytes() < count {
            return Err(StoreError::Rejected(place(point)));
        }
    }
}

fn place(point: &RendezvousPoint) -> String {
    format!("{} port {}", point.address, point.port)
}

/// Waits until the stream is readable or writable, or until the given time.
fn wait(stream: &SealedStream, flags: PollFlags, what: &str, clock: OsClock, until: Instant) -> Result<(), StoreError> {
    let left = until.since(clock.now());
    if left == Duration::ZERO {
        return Err(StoreError::Silent(what.into()));
    }
    // The caller checks again in any case.
    let _ = poll(&mut [PollFd::from_borrowed_fd(stream.as_fd(), flags)], Some(&timespec(left)));
    Ok(())
}

/// Equal for two processes that can share memory and see each other: with the same kernel, host name, network namespace and PID namespace.
fn host_identity() -> u64 {
    let link = |path: &str| read_link(path).unwrap_or_default().display().to_string();
    let parts = [
        rustix::system::uname().nodename().to_string_lossy().into_owned(),
        read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default(),
        link("/proc/self/ns/net"),
        link("/proc/self/ns/pid"),
    ];
    digest(parts.iter().map(|part| &**part))
}

/// The digest of some texts: FNV-1a.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
