//! A rank's conversations, its memory and its socket, driven by the thread that holds their lock: the rank or its progress thread.
//!
//! A put passes three layers: [`Udp`](crate::Udp), which takes the lock; the driver, which owns the socket; and the [`RankConversations`]
//! of `pelago-protocol`. The put has one entry in the conversations; the only other record of it is the poster's.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::sync::Arc;

use pelago_base::{Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::{self, RankConversations, RankMemory};
use pelago_platform::{Clock, Flags, Operation, PostError, Token};
use pelago_protocol::{Config, Event, Injection, Liveness, PeerIndex, Signal, Transmit};

use crate::limits::{UDP_DATAGRAM_BYTES_MAX, UDP_INJECT_SIZE, UDP_SIGNALLED_BYTES_MIN};
use crate::{Incoming, Outgoing, Socket};

/// Number of bytes of a long write whose copying takes about as long as one poll for acknowledgements.
const LOOK_BYTES: u64 = 8 << 10;

/// Delay of a poll after a deadline from which on the rank counts as having been away.
const AWAY: Duration = Duration::from_milliseconds(1);

/// Maximum number of receive calls, eight datagrams each, that empty a socket buffer of short datagrams.
const LOOKS_BEHIND_MAX: u32 = 2048;

/// Assumed maximum transmission time per byte in ns on a host whose sends block.
const NANOSECONDS_PER_BYTE_MAX: u64 = 1;

/// Initial pause after the kernel had no buffer space: about the duration of a wake-up.
const PAUSE_MIN: Duration = Duration::from_microseconds(50);

/// Maximum pause after repeated lack of buffer space.
const PAUSE_MAX: Duration = Duration::from_microseconds(3200);

/// Returns the address at which a rank receives datagrams; `None` if there is no such rank.
pub(crate) type Find = Box<dyn Fn(Rank) -> Option<SocketAddr> + Send>;

/// Interface to the monitoring of the job: it knows which ranks are alive, and receives reports of ranks that do not answer.
pub trait Watcher: Send {
    /// Returns what is known of a rank that has not answered for the failure limit.
    fn liveness(&self, rank: Rank) -> Liveness;

    /// Called with each rank that was silent and is not known to be alive.
    fn lost(&self, rank: Rank);

    /// Called with each rank that is known to be alive, but has not answered for many failure limits.
    fn unreachable(&self, rank: Rank);
}

/// No monitoring: a rank that is silent for the failure limit counts as failed, without a report.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn liveness(&self, _rank: Rank) -> Liveness {
        Liveness::Unknown
    }

    fn lost(&self, _rank: Rank) {}

    fn unreachable(&self, _rank: Rank) {}
}

/// Selection of datagrams to send.
#[derive(Clone, Copy)]
enum Load<'a> {
    /// Everything; with `patient`, acknowledgements wait for a datagram that carries them.
    Any { patient: bool },
    /// To one peer, datagrams that gain nothing by waiting for further operations.
    Full(PeerIndex),
    /// The same, to the peer of an injected put that is not captured yet.
    Injected(&'a Injection<'a>),
}

pub(crate) struct Driver {
    pub(crate) socket: Socket,
    pub(crate) conversations: RankConversations,
    pub(crate) memory: RankMemory,
    clock: Arc<dyn Clock>,
    /// Latest time that was used: that of the conversations never decreases.
    latest: Instant,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Addresses of peers by their index; `None` if unknown: datagrams to that peer are dropped.
    peers: Vec<Option<SocketAddr>>,
    find: Find,
    watcher: Box<dyn Watcher>,
    /// Peer of the operations that were posted with `more` and are held back, if any.
    waiting: Option<PeerIndex>,
    /// Time of the next attempt after a lack of kernel buffer space, and the pause before it; the pause is zero while there is space.
    retry: Instant,
    pause: Duration,
    /// Number of consecutive polls that received something while a deadline was long overdue.
    looks_behind: u32,
}

impl Driver {
    pub(crate) fn new(socket: Socket, config: Config, clock: Arc<dyn Clock>, find: Find, watcher: Box<dyn Watcher>) -> Self {
        Self {
            socket,
            memory: RankMemory::new(config.layout, config.me),
            conversations: RankConversations::new(config),
            clock,
            latest: Instant::ZERO,
            incoming: Incoming::new(),
            outgoing: Outgoing::new(),
            peers: Vec::new(),
            find,
            watcher,
            waiting: None,
            retry: Instant::ZERO,
            pause: Duration::ZERO,
            looks_behind: 0,
        }
    }

    pub(crate) fn connect(&mut self, rank: Rank, address: SocketAddr) -> PeerIndex {
        let datagram_bytes = self.socket.payload_bytes_max(address).min(UDP_DATAGRAM_BYTES_MAX);
        let peer = self.conversations.connect(rank, datagram_bytes);
        self.name(peer, Some(address));
        peer
    }

    pub(crate) fn deregister(&mut self, start: GlobalAddress) -> bool {
        datagrams::deregister(&self.conversations, &mut self.memory, start)
    }

    /// Returns how long posting an operation may take; `None` if only the beginning of it is sent at once.
    pub(crate) fn time_to_post(operation: &Operation<'_>) -> Option<Duration> {
        let (Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }) = operation else { return None };
        let sent_at_once = (UDP_SIGNALLED_BYTES_MIN..=UDP_INJECT_SIZE).contains(&bytes.len());
        sent_at_once.then(|| Duration::from_nanoseconds(bytes.len() as u64 * NANOSECONDS_PER_BYTE_MAX))
    }

    /// Adds a short write to a datagram that is already held back; returns whether it did. Sends nothing, and makes no deadline earlier.
    #[inline]
    pub(crate) fn join(&mut self, to: PeerIndex, operation: &Operation<'_>, flags: Flags, token: Token) -> bool {
        let Operation::Write { to: at, bytes } = *operation else { return false };
        // Operations held back for one peer leave when an operation to another peer is posted.
        let waits_elsewhere = self.waiting.is_some_and(|other| other != to);
        let may = !flags.fence && !waits_elsewhere && datagrams::admit(&self.conversations).is_ok();
        may && self.conversations.join(to, at, bytes, token.0)
    }

    /// The current time, but no earlier than `at`.
    pub(crate) fn now(&mut self, at: Instant) -> Instant {
        let now = self.clock.now().max(at);
        self.advance_to(now)
    }

    /// Returns `at`, which a thread has read before it took the lock, or the latest time that another thread has used since.
    #[inline]
    pub(crate) fn advance_to(&mut self, at: Instant) -> Instant {
        self.latest = self.latest.max(at);
        self.latest
    }

    /// Starts an operation. Datagrams that gain nothing by waiting for further operations leave at once.
    pub(crate) fn post(
        &mut self,
        now: Instant,
        to: PeerIndex,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        datagrams::admit(&self.conversations)?;
        if flags.fence {
            self.conversations.fence(to);
        }
        match operation {
            Operation::Write { to: at, bytes } if Self::time_to_post(&operation).is_some() => {
                let injection = self.conversations.inject(now, to, at, bytes, token.0);
                self.post_injection(now, injection.map_err(|_| PostError::Full)?);
            }
            Operation::Signalled { to: start, bytes, at, word } if Self::time_to_post(&operation).is_some() => {
                let signal = Signal { at, word: word.to_ne_bytes() };
                let injection = self.conversations.inject_signalled(now, to, start, bytes, signal, token.0);
                self.post_injection(now, injection.map_err(|_| PostError::Full)?);
            }
            operation => {
                let request = datagrams::request(operation)?;
                self.conversations.submit(now, to, request, token.0).map_err(|_| PostError::Full)?;
                match self.waiting {
                    None if flags.more => self.waiting = Some(to),
                    Some(other) if flags.more && other == to => {}
                    waiting => {
                        if !flags.more && waiting.is_some_and(|other| other != to) {
                            self.release(now);
                        }
                        self.waiting = self.waiting.filter(|_| flags.more);
                        self.flush(now, Load::Full(to));
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends an injected put, and captures the bytes that may have to be sent again.
    fn post_injection(&mut self, now: Instant, injection: Injection<'_>) {
        let taken_in = self.send_injection(now, &injection);
        self.conversations.capture(&injection);
        if let Some(now) = taken_in {
            self.handle_events(now);
            self.flush(now, Load::Any { patient: true });
        }
    }

    /// Sends an injected put, and then polls for acknowledgements for as long as it would take to capture the unacknowledged bytes. Returns the
    /// time of the last poll that received something.
    fn send_injection(&mut self, now: Instant, injection: &Injection<'_>) -> Option<Instant> {
        let unread_bytes =
            |conversations: &RankConversations| conversations.unread_from(injection).map_or(0, |from| injection.bytes() - from);
        self.flush(now, Load::Injected(injection));
        let (mut looks, mut unread, mut taken_in) = (0, unread_bytes(&self.conversations), None);
        while looks < unread / LOOK_BYTES {
            looks += 1;
            let now = self.now(now);
            if self.take_in(now) {
                taken_in = Some(now);
                self.flush(now, Load::Injected(injection));
                unread = unread_bytes(&self.conversations);
            } else {
                spin_loop();
            }
        }
        taken_in
    }

    /// Sends the operations that were posted with `more` and are held back.
    pub(crate) fn release(&mut self, now: Instant) {
        if let Some(to) = self.waiting.take() {
            self.flush(now, Load::Full(to));
        }
    }

    /// Receives what has arrived and sends what is due; returns whether anything moved. With `patient`, acknowledgements of datagrams
    /// received just now wait: a caller that polls again soon may have a datagram to carry them.
    pub(crate) fn drive(&mut self, now: Instant, patient: bool) -> bool {
        // Operations that were held back, and acknowledgements that no datagram has carried.
        let mut moved = self.conversations.has_work() && self.flush(now, Load::Any { patient: false });
        moved |= self.take_in(now);
        let late = !self.is_behind(now, moved) && self.conversations.poll_timeout().is_some_and(|due| now >= due);
        if late {
            self.conversations.handle_timeout(now);
        }
        if !moved && !late && !self.conversations.has_work() && self.outgoing.is_empty() {
            return false;
        }
        self.handle_events(now);
        let patient = patient && moved;
        if patient && !self.conversations.has_queue() && self.outgoing.is_empty() {
            return true;
        }
        moved | self.flush(now, Load::Any { patient })
    }

    /// Whether timeouts are suspended because the rank was away for long and still receives datagrams: the answers it waits for may lie in
    /// the socket buffer. The suspension lasts for at most as many polls as empty a socket buffer.
    fn is_behind(&mut self, now: Instant, moved: bool) -> bool {
        let is_late = self.conversations.poll_timeout().is_some_and(|due| now >= due + AWAY);
        self.looks_behind = if moved && is_late && self.looks_behind < LOOKS_BEHIND_MAX { self.looks_behind + 1 } else { 0 };
        self.looks_behind > 0
    }

    /// Receives and processes the datagrams that have arrived; returns whether there were any.
    fn take_in(&mut self, now: Instant) -> bool {
        let messages = self.socket.receive(&mut self.incoming);
        for datagram in self.incoming.messages().flat_map(pelago_protocol::cut) {
            // The conversations count a refused datagram; it changes nothing here.
            let _ = self.conversations.handle_datagram(now, datagram, &mut self.memory);
        }
        messages > 0
    }

    /// Whether the rank should poll: completions are pending, or a peer has written to its memory since the last call.
    pub(crate) fn has_news(&mut self) -> bool {
        self.memory.take_touched() || self.conversations.completions() > 0
    }

    /// Whether acknowledgements are pending that could leave now.
    pub(crate) fn is_owing(&self) -> bool {
        self.outgoing.is_empty() && self.conversations.is_owing()
    }

    /// Returns the next deadline. While the kernel has no buffer space, this is the next attempt to send; all other deadlines wait for it.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.outgoing.is_empty() { self.conversations.poll_timeout() } else { Some(self.retry) }
    }

    /// Sends the datagrams that `load` selects; returns whether any left.
    fn flush(&mut self, now: Instant, load: Load<'_>) -> bool {
        let (mut any, mut at) = (false, now);
        loop {
            let more = self.fill(at, load);
            if self.outgoing.is_empty() {
                return any;
            }
            let outside = if let Load::Injected(injection) = load { injection.source() } else { &[] };
            let sent = self.socket.send_around(&mut self.outgoing, outside);
            any |= sent.sent + sent.dropped > 0;
            if sent.left > 0 {
                self.put_off(at, any);
                return any;
            }
            self.pause = Duration::ZERO;
            if !more {
                return any;
            }
            // Pacing needs the current time: one send call takes longer than the interval between paced datagrams.
            at = self.now(now);
        }
    }

    /// Schedules the next attempt: the kernel has no buffer space for the rest, even if `any` datagrams have just left. If the kernel
    /// accepted nothing after a full pause, the pause doubles, so that it is not much longer than the time for which the kernel has accepted
    /// nothing. The kernel holds several messages, so the device does not become idle.
    #[cold]
    fn put_off(&mut self, now: Instant, any: bool) {
        if any {
            self.pause = Duration::ZERO;
        }
        if self.pause == Duration::ZERO || now >= self.retry {
            self.pause = Duration::from_picoseconds(2 * self.pause.as_picoseconds()).clamp(PAUSE_MIN, PAUSE_MAX);
            self.retry = now + self.pause;
        }
    }

    /// Assembles datagrams; returns `true` if the batch is full, and `false` if nothing is left to send.
    fn fill(&mut self, now: Instant, load: Load<'_>) -> bool {
        while let Some(room) = self.outgoing.room(UDP_DATAGRAM_BYTES_MAX) {
            let transmit = match load {
                Load::Any { patient } => self.conversations.poll_transmit(now, &self.memory, room, patient),
                Load::Full(to) => self.conversations.poll_transmit_full(now, to, &self.memory, room),
                Load::Injected(injection) => self.conversations.poll_transmit_gathered(now, injection, &self.memory, room),
            };
            let Some(Transmit { peer, bytes, more, gap, .. }) = transmit else { return false };
            if let Some(Some(address)) = self.peers.get(peer.0 as usize) {
                self.outgoing.commit_around(*address, bytes, gap);
            }
            let is_all = match load {
                Load::Any { .. } => !self.conversations.has_work(),
                Load::Full(_) | Load::Injected(_) => !more,
            };
            if is_all {
                return false;
            }
        }
        true
    }

    pub(crate) fn handle_events(&mut self, now: Instant) {
        while let Some(event) = self.conversations.poll_event() {
            match event {
                Event::Met(peer, rank) => match (self.find)(rank) {
                    Some(address) => drop(self.connect(rank, address)),
                    None => self.name(peer, None),
                },
                Event::Silent(rank) => self.conversations.handle_liveness(now, rank, self.watcher.liveness(rank)),
                Event::Lost(rank) => self.watcher.lost(rank),
                Event::Unreachable(rank) => self.watcher.unreachable(rank),
            }
        }
    }

    fn name(&mut self, PeerIndex(index): PeerIndex, address: Option<SocketAddr>) {
        let index = index as usize;
        self.peers.resize(self.peers.len().max(index + 1), None);
        self.peers[index] = address;
    }
}

#[cfg(test)]
mod tests;
