//! A rank's conversations, its memory and its socket, moved by the thread that holds them: the rank or its progress thread.
//!
//! A put passes three layers on its way to the socket, which is a part of the second: [`Udp`](crate::Udp), which takes the lock, the
//! driver, and the [`RankConversations`] of `pelago-protocol`. It has one entry in them; the other is the record of whoever posted it.

use std::hint::spin_loop;
use std::net::SocketAddr;
use std::sync::Arc;

use pelago_base::{Duration, GlobalAddress, Instant, Rank};
use pelago_kit::datagrams::{self, RankConversations, RankMemory};
use pelago_platform::{Clock, Flags, Operation, PostError, Token};
use pelago_protocol::{Config, Event, Injection, Liveness, PeerIndex, Signal, Transmit};

use crate::limits::{UDP_DATAGRAM_BYTES_MAX, UDP_INJECT_SIZE, UDP_SIGNALLED_BYTES_MIN};
use crate::{Incoming, Outgoing, Socket};

/// To look whether more has arrived of a long write takes about as long as to copy so many bytes of it.
const LOOK_BYTES: u64 = 8 << 10;

/// Who looks so long after something was due has been away.
const AWAY: Duration = Duration::from_milliseconds(1);

/// Maximum number of receive calls, eight datagrams each, that empty a socket buffer of short datagrams.
const LOOKS_BEHIND_MAX: u32 = 2048;

/// Assumed maximum transmission time per byte in ns on a host whose sends block.
const NANOSECONDS_PER_BYTE_MAX: u64 = 1;

/// Initial pause after the kernel had no buffer space: about the duration of a wake-up.
const PAUSE_MIN: Duration = Duration::from_microseconds(50);

/// Maximum pause after repeated lack of buffer space.
const PAUSE_MAX: Duration = Duration::from_microseconds(3200);

/// Where a rank receives datagrams, if there is such a rank.
pub(crate) type Find = Box<dyn Fn(Rank) -> Option<SocketAddr> + Send>;

/// What those who watch over the job know of its ranks, and what they are told.
pub trait Watcher: Send {
    /// What is known of a rank that has not answered for the failure limit.
    fn liveness(&self, rank: Rank) -> Liveness;

    /// Called with each rank that was silent and is not known to be alive.
    fn lost(&self, rank: Rank);

    /// Called with each rank that is known to be alive, but of which nothing has come for many failure limits.
    fn unreachable(&self, rank: Rank);
}

/// Nobody watches over the ranks: one that is silent for the failure limit is lost, and nobody is told.
pub struct Unwatched;

impl Watcher for Unwatched {
    fn liveness(&self, _rank: Rank) -> Liveness {
        Liveness::Unknown
    }

    fn lost(&self, _rank: Rank) {}

    fn unreachable(&self, _rank: Rank) {}
}

/// What is to be sent.
#[derive(Clone, Copy)]
enum Load<'a> {
    /// Everything; with `patient`, acknowledgements wait for a datagram that takes them along.
    Any { patient: bool },
    /// To one peer, what gains nothing by waiting for company.
    Full(PeerIndex),
    /// The same, while a write to it is not captured yet.
    Injected(&'a Injection<'a>),
}

pub(crate) struct Driver {
    pub(crate) socket: Socket,
    pub(crate) conversations: RankConversations,
    pub(crate) memory: RankMemory,
    clock: Arc<dyn Clock>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Where peers receive, by their index; `None` if nobody knows, which is as if everything to them were lost.
    peers: Vec<Option<SocketAddr>>,
    find: Find,
    watcher: Box<dyn Watcher>,
    /// To whom what is posted goes that waits for company.
    waiting: Option<PeerIndex>,
    /// When what the kernel has had no room for is tried again, and after how long a pause; none while it has room.
    retry: Instant,
    pause: Duration,
    /// How often in a row something has come while what was due was long overdue.
    looks_behind: u32,
}

impl Driver {
    pub(crate) fn new(socket: Socket, config: Config, clock: Arc<dyn Clock>, find: Find, watcher: Box<dyn Watcher>) -> Self {
        Self {
            socket,
            memory: RankMemory::new(config.layout, config.me),
            conversations: RankConversations::new(config),
            clock,
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

    /// How long posting an operation may take; `None` if only the beginning of it is sent at once.
    pub(crate) fn time_to_post(operation: &Operation<'_>) -> Option<Duration> {
        let (Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }) = operation else { return None };
        let sent_at_once = (UDP_SIGNALLED_BYTES_MIN..=UDP_INJECT_SIZE).contains(&bytes.len());
        sent_at_once.then(|| Duration::from_nanoseconds(bytes.len() as u64 * NANOSECONDS_PER_BYTE_MAX))
    }

    /// Adds a short write to a datagram that waits for company already; returns whether it did. Nothing leaves for it, and nothing is due sooner.
    #[inline]
    pub(crate) fn join(&mut self, to: PeerIndex, operation: &Operation<'_>, flags: Flags, token: Token) -> bool {
        let Operation::Write { to: at, bytes } = *operation else { return false };
        // What waits for one peer leaves when something is posted to another.
        let waits_elsewhere = self.waiting.is_some_and(|other| other != to);
        let may = !flags.fence && !waits_elsewhere && datagrams::admit(&self.conversations).is_ok();
        may && self.conversations.join(to, at, bytes, token.0)
    }

    /// The present moment, which is no earlier than `at`.
    pub(crate) fn now(&self, at: Instant) -> Instant {
        self.clock.now().max(at)
    }

    /// Starts an operation. What gains nothing by waiting for company leaves at once.
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

    /// Sends an injection, and captures what may have to be sent again.
    fn post_injection(&mut self, now: Instant, injection: Injection<'_>) {
        let taken_in = self.send_injection(now, &injection);
        self.conversations.capture(&injection);
        if let Some(now) = taken_in {
            self.handle_events(now);
            self.flush(now, Load::Any { patient: true });
        }
    }

    /// Sends an injection, and looks for as long whether it has arrived as it would take to capture it; returns when anything was taken in
    /// last.
    fn send_injection(&mut self, now: Instant, injection: &Injection<'_>) -> Option<Instant> {
        let unread_bytes =
            |conversations: &RankConversations| conversations.unread_from(injection).map_or(0, |from| injection.bytes() - from);
        self.flush(now, Load::Injected(injection));
        let (mut looks, mut unread, mut taken_in) = (0, unread_bytes(&self.conversations), None);
        while looks < unread / LOOK_BYTES {
            looks += 1;
            let now = self.clock.now().max(now);
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

    /// What was posted and waits for company leaves.
    pub(crate) fn release(&mut self, now: Instant) {
        if let Some(to) = self.waiting.take() {
            self.flush(now, Load::Full(to));
        }
    }

    /// Takes in what has come and sends what is to be sent; returns whether anything moved. With `patient`, acknowledgements of what
    /// has come just now wait: who looks again soon may have a datagram to take them along.
    pub(crate) fn drive(&mut self, now: Instant, patient: bool) -> bool {
        // What was posted and has waited for company, and acknowledgements that nothing has come along to take.
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

    /// Whether a rank that has been away for long finds so much that what it waits for may be there: the time of answers that lie in the
    /// socket has not come. For so many looks at most as take in all that a socket keeps.
    fn is_behind(&mut self, now: Instant, moved: bool) -> bool {
        let is_late = self.conversations.poll_timeout().is_some_and(|due| now >= due + AWAY);
        self.looks_behind = if moved && is_late && self.looks_behind < LOOKS_BEHIND_MAX { self.looks_behind + 1 } else { 0 };
        self.looks_behind > 0
    }

    /// Takes in what has come; returns whether anything had.
    fn take_in(&mut self, now: Instant) -> bool {
        let messages = self.socket.receive(&mut self.incoming);
        for datagram in self.incoming.messages().flat_map(pelago_protocol::cut) {
            // What is refused is counted; it changes nothing here.
            let _ = self.conversations.handle_datagram(now, datagram, &mut self.memory);
        }
        messages > 0
    }

    /// Whether the rank may want to look: something has completed, or a peer has written to its memory since this was asked last.
    pub(crate) fn has_news(&mut self) -> bool {
        self.memory.take_touched() || self.conversations.completions() > 0
    }

    /// Whether acknowledgements wait that could leave now.
    pub(crate) fn is_owing(&self) -> bool {
        self.outgoing.is_empty() && self.conversations.is_owing()
    }

    /// While there is no room, whatever else is due waits until there may be.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.outgoing.is_empty() { self.conversations.poll_timeout() } else { Some(self.retry) }
    }

    /// Sends what is to be sent; returns whether anything left.
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
            // What one call sends takes longer than the pace can wait.
            at = self.clock.now().max(now);
        }
    }

    /// The kernel has no room for what is left, even if `any` has left just now. If it has had its time and took nothing, it is
    /// given twice as much: not much more than it has gone without taking a message. It holds several, so no device runs dry.
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

    /// Assembles datagrams; returns whether there is no room for more rather than nothing to send.
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
