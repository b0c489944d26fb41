//! The transport between ranks that reach each other over UDP.

use std::net::SocketAddr;
use std::sync::Arc;

use pelago_base::{AddressLayout, Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::completed as fetch_completed;
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Clock, Completion, ConnectError, Endpoint, Extensions, Flags, Network, Operation, PostError,
    Protection, Rail, RegisterError, Registry, Token, Transport,
};
use pelago_protocol::{Config, Key, LIST_BLOCKS_MAX, PeerIndex};

use crate::Socket;
use crate::driver::{Driver, Watcher};
use crate::limits::{UDP_INJECT_SIZE, UDP_PUT_DATAGRAM_BYTES_MAX, UDP_SIGNALLED_BYTES_MIN};
use crate::progress_thread::{ProgressThread, Shared};
use crate::socket::keep_from_dumps;

/// Parameters of the transport of a rank.
pub struct Setup {
    /// The rank.
    pub me: Rank,
    /// Division of the job's global addresses into rank, segment and offset.
    pub layout: AddressLayout,
    /// The socket on which the rank receives datagrams.
    pub socket: Socket,
    /// The job's secret.
    pub key: [u8; 16],
    /// Whether datagrams are encrypted; the same on all ranks.
    pub encrypt: bool,
    /// Time without an answer after which the transport asks the watcher whether a peer is alive.
    pub failure_limit: Duration,
    /// Returns the address of a rank that sends to this one before this one has connected to it.
    pub find: Box<dyn Fn(Rank) -> Option<SocketAddr> + Send>,
    /// Called when the rank, if it sleeps, should poll: an operation completed, or a peer wrote to its memory.
    pub wake: Box<dyn Fn() + Send + Sync>,
    /// Knows which ranks are alive, and receives reports of those that cannot be reached.
    pub watcher: Box<dyn Watcher>,
    /// The clock that the rank uses as well.
    pub clock: Arc<dyn Clock>,
    /// Whether a progress thread serves peers while the rank computes or sleeps. Without it the rank serves them when it makes progress.
    pub progress_thread: bool,
}

/// Costs of operations over UDP. The cores of the target perform all of them.
pub const CAPABILITIES: Capabilities = Capabilities {
    inject_size: UDP_INJECT_SIZE,
    blocks_max: LIST_BLOCKS_MAX,
    signalled_bytes_min: UDP_SIGNALLED_BYTES_MIN,
    put_message_bytes: UDP_PUT_DATAGRAM_BYTES_MAX,
    latency: Duration::from_microseconds(5),
    bytes_per_second: 5e9,
    protection: Protection::Authenticated,
    keeps_time: true,
    ..Capabilities::of("udp")
};

/// The transport between ranks that reach each other over UDP.
///
/// The rank itself performs the requests of its peers, inside [`progress`](Transport::progress) or by its progress thread.
pub struct Udp {
    /// The first field, so that the thread ends before the state that it shares is dropped.
    pub(crate) progress_thread: Option<ProgressThread>,
    pub(crate) shared: Arc<Shared>,
    capabilities: Capabilities,
    address: SocketAddr,
    connected: u32,
}

impl Udp {
    /// Creates the transport of a rank.
    ///
    /// # Errors
    /// The system refuses to start the progress thread.
    pub fn new(setup: Setup) -> std::io::Result<Self> {
        let Setup { me, layout, socket, key, encrypt, failure_limit, find, wake, watcher, clock, progress_thread } = setup;
        let address = socket.local_address();
        // Half of the kernel's buffer: the other half is for the kernel's own records of the datagrams.
        let receive_window_bytes = socket.receive_buffer_bytes() as u64 / 2;
        let incarnation = std::process::id();
        let config = Config { me, incarnation, layout, key: Key(key), encrypt, failure_limit, receive_window_bytes };
        let driver = Driver::new(socket, config, clock.clone(), find, watcher);
        let shared = Arc::new(Shared::new(driver, wake));
        // The driver holds the key of the job.
        keep_from_dumps(&*shared);
        let progress_thread = progress_thread.then(|| ProgressThread::start(shared.clone(), clock)).transpose()?;
        let protection = if encrypt { Protection::Encrypted } else { Protection::Authenticated };
        let capabilities = Capabilities { protection, ..CAPABILITIES };
        Ok(Self { progress_thread, shared, capabilities, address, connected: 0 })
    }

    /// Returns a function that reads the counters of the network traffic and of refused datagrams. It may be called at any time, also after the
    /// transport has ended.
    pub fn counters(&self) -> Box<dyn Fn() -> Counters + Send + Sync> {
        let shared = self.shared.clone();
        Box::new(move || shared.lock().conversations.counters().clone())
    }

    /// Returns a function that sleeps until the next datagram, for the given time at most, and returns whether one has arrived; `false` at once while
    /// the progress thread receives datagrams. For ranks with one thread, to whose memory only this transport writes. `None` without a progress thread.
    pub fn nap(&self) -> Option<impl Fn(Duration) -> bool + Send + Sync + use<>> {
        self.progress_thread.as_ref().map(ProgressThread::nap)
    }
}

impl Transport for Udp {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        if to.0 >= self.connected {
            return Err(PostError::Unknown(to));
        }
        let mut driver = self.shared.lock();
        if driver.join(PeerIndex(to.0), &operation, flags, token) {
            return Ok(());
        }
        let (busy, now) = (Driver::time_to_post(&operation), driver.now(now));
        if let (Some(progress_thread), Some(busy)) = (&mut self.progress_thread, busy) {
            progress_thread.excuse_for(&mut driver, now, busy);
        }
        let posted = driver.post(now, PeerIndex(to.0), operation, flags, token);
        if let Some(progress_thread) = &mut self.progress_thread {
            progress_thread.remind(&driver, now);
        }
        if busy.is_some() && driver.has_news() {
            drop(driver);
            self.shared.wake();
        }
        posted
    }

    fn flush(&mut self, now: Instant) {
        let mut driver = self.shared.lock();
        let now = driver.advance_to(now);
        driver.release(now);
        if let Some(progress_thread) = &mut self.progress_thread {
            progress_thread.remind(&driver, now);
        }
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut driver = self.shared.lock();
        let now = driver.advance_to(now);
        let excused = self.progress_thread.as_mut().is_some_and(|progress_thread| progress_thread.excuse(&mut driver, now));
        // Acknowledgements wait only if the progress thread is excused: a listening one would not know of them.
        let moved = driver.drive(now, excused);
        if let Some(progress_thread) = self.progress_thread.as_mut().filter(|_| !excused) {
            progress_thread.remind(&driver, now);
        }
        let news = driver.has_news();
        let any = fetch_completed(&mut driver.conversations, completed);
        drop(driver);
        // Another thread of this rank may sleep until these completions or writes.
        if news {
            self.shared.wake();
        }
        moved || any
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.shared.lock().next_deadline()
    }

    fn before_sleep(&mut self) {
        if let Some(progress_thread) = &self.progress_thread {
            progress_thread.attend();
        }
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

impl Network for Udp {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn address(&self) -> Address {
        Address(self.address.to_string().into())
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if rail.is_some_and(|rail| rail != Rail::FIRST) {
            return Err(ConnectError::Unreachable(peer));
        }
        let text = std::str::from_utf8(&address.0).ok();
        let parsed = text.and_then(|text| text.parse().ok()).ok_or_else(|| ConnectError::Address(address.clone()))?;
        let PeerIndex(index) = self.shared.lock().connect(peer, parsed);
        self.connected = self.connected.max(index + 1);
        Ok(Endpoint(index))
    }

    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        let mut driver = self.shared.lock();
        let now = driver.advance_to(now);
        driver.conversations.peer_failed(now, peer);
        driver.handle_events(now);
        drop(driver);
        self.shared.wake();
    }
}

impl Registry for Udp {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.shared.lock().memory.register(start, memory)
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        self.shared.lock().deregister(start)
    }
}

#[cfg(test)]
mod tests;
