//! A rank's conversations and its socket, moved by whoever holds them: the rank or its progress thread.

use std::hint::spin_loop;
use std::net::SocketAddr;

use pelago_base::{Counters, Duration, GlobalAddress, Instant, Rank};
use pelago_datagrams::{Found, Given, Station};
use pelago_memory::Region;
use pelago_platform::{Completion, Flags, Operation, PostError, RegisterError, Token};
use pelago_protocol::{INJECT_SIZE, Liveness, PeerIndex, Transmit};

use crate::limits::{UDP_DATAGRAM_BYTES_MAX, UDP_INJECT_SIZE, UDP_LENT_BYTES_MAX};
use crate::{Incoming, Outgoing, Socket};

/// To look whether more has arrived of a long write takes about as long as to copy so many bytes of it.
const LOOK_BYTES: u64 = 8 << 10;

/// Who looks so long after something was due has been away.
const AWAY: Duration = Duration::from_milliseconds(1);

/// Looks that take in what a socket keeps of short datagrams, eight at each.
const LOOKS_BEHIND_MAX: u32 = 2048;

/// A byte takes no longer to send, where sending is what takes long.
const NANOSECONDS_PER_BYTE_MAX: u64 = 1;

/// How long what the kernel has no room for waits at first: to be woken takes about as long.
const PAUSE_MIN: Duration = Duration::from_microseconds(50);

/// The same when nothing has left for long.
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
    Given(&'a Given<'a>),
}

pub(crate) struct Driver {
    socket: Socket,
    station: Station,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Whether the kernel may read what is sent when it is delivered: only what is in clear, as the place is used again.
    lends: bool,
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
    pub(crate) fn new(socket: Socket, station: Station, lends: bool, find: Find, watcher: Box<dyn Watcher>) -> Self {
        let (incoming, outgoing) = (Incoming::new(), Outgoing::new());
        let (peers, waiting, retry, pause, looks_behind) = (Vec::new(), None, Instant::ZERO, Duration::ZERO, 0);
        Self { socket, station, incoming, outgoing, lends, peers, find, watcher, waiting, retry, pause, looks_behind }
    }

    pub(crate) fn connect(&mut self, rank: Rank, address: SocketAddr) -> PeerIndex {
        let datagram_bytes = self.socket.payload_bytes_max(address).min(UDP_DATAGRAM_BYTES_MAX);
        let peer = self.station.connect(rank, datagram_bytes);
        self.name(peer, Some(address));
        peer
    }

    pub(crate) fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.station.register(start, memory)
    }

    pub(crate) fn deregister(&mut self, start: GlobalAddress) -> bool {
        self.station.deregister(start)
    }

    /// How long posting an operation may take; `None` if only the beginning of it is sent at once.
    pub(crate) fn time_to_post(operation: &Operation<'_>) -> Option<Duration> {
        let Operation::Write { bytes, .. } = operation else { return None };
        let sent_at_once = (INJECT_SIZE + 1..=UDP_INJECT_SIZE).contains(&bytes.len());
        sent_at_once.then(|| Duration::from_nanoseconds(bytes.len() as u64 * NANOSECONDS_PER_BYTE_MAX))
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
        if flags.fence {
            self.station.fence(to);
        }
        match operation {
            Operation::Write { to: at, bytes } if Self::time_to_post(&operation).is_some() => {
                let given = self.station.give(now, to, at, bytes, token)?;
                let taken_in = self.send_given(now, &given);
                self.station.capture(given);
                if let Some(now) = taken_in {
                    self.find_out(now);
                    self.flush(now, Load::Any { patient: true });
                }
            }
            operation => {
                self.station.post(now, to, operation, token)?;
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

    /// Sends what was given, and looks for as long whether it has arrived as it would take to capture it; returns when anything was
    /// taken in last.
    fn send_given(&mut self, now: Instant, given: &Given<'_>) -> Option<Instant> {
        let begun = std::time::Instant::now();
        self.flush(now, Load::Given(given));
        let (mut looks, mut unread, mut taken_in) = (0, self.station.unread_bytes(given), None);
        while looks < unread / LOOK_BYTES {
            looks += 1;
            let now = now + begun.elapsed().into();
            if self.take_in(now) {
                taken_in = Some(now);
                self.flush(now, Load::Given(given));
                unread = self.station.unread_bytes(given);
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
        let mut moved = self.station.has_work() && self.flush(now, Load::Any { patient: false });
        moved |= self.take_in(now);
        let late = !self.is_behind(now, moved) && self.station.handle_timeout(now);
        if !moved && !late && !self.station.has_work() && self.outgoing.is_empty() {
            return false;
        }
        self.find_out(now);
        let patient = patient && moved;
        if patient && !self.station.has_queue() && self.outgoing.is_empty() {
            return true;
        }
        moved | self.flush(now, Load::Any { patient })
    }

    /// Whether a rank that has been away for long finds so much that what it waits for may be there: the time of answers that lie in the
    /// socket has not come. For so many looks at most as take in all that a socket keeps.
    fn is_behind(&mut self, now: Instant, moved: bool) -> bool {
        let is_late = self.station.next_deadline().is_some_and(|due| now >= due + AWAY);
        self.looks_behind = if moved && is_late && self.looks_behind < LOOKS_BEHIND_MAX { self.looks_behind + 1 } else { 0 };
        self.looks_behind > 0
    }

    /// Takes in what has come; returns whether anything had.
    fn take_in(&mut self, now: Instant) -> bool {
        let messages = self.socket.receive(&mut self.incoming);
        for datagram in self.incoming.messages().flat_map(pelago_protocol::cut) {
            // What is refused is counted; it changes nothing here.
            let _ = self.station.take_in(now, datagram);
        }
        messages > 0
    }

    /// Hands over what has completed.
    pub(crate) fn completed(&mut self, into: &mut Vec<Completion>) -> bool {
        self.station.completed(into)
    }

    /// Whether the rank may want to look: something has completed, or a peer has written to its memory since this was asked last.
    pub(crate) fn has_news(&mut self) -> bool {
        self.station.has_news()
    }

    /// Whether acknowledgements wait that could leave now.
    pub(crate) fn is_owing(&self) -> bool {
        self.outgoing.is_empty() && self.station.is_owing()
    }

    /// While there is no room, whatever else is due waits until there may be.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        if self.outgoing.is_empty() { self.station.next_deadline() } else { Some(self.retry) }
    }

    pub(crate) fn lose(&mut self, now: Instant, rank: Rank) {
        self.station.lose(now, rank);
        self.find_out(now);
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.station.counters()
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Whether the kernel may still read something that was sent.
    #[cfg(test)]
    pub(crate) fn has_lent(&self) -> bool {
        self.outgoing.has_lent()
    }

    /// Sends what is to be sent; returns whether anything left.
    fn flush(&mut self, now: Instant, load: Load<'_>) -> bool {
        let (mut any, mut at, mut begun) = (false, now, None);
        if self.outgoing.has_lent() && self.station.stream_bytes() == Some(0) {
            self.outgoing.take_back();
        }
        loop {
            let more = self.fill(at, load);
            if self.outgoing.is_empty() {
                return any;
            }
            let sent = if self.may_lend() { self.socket.lend(&mut self.outgoing) } else { self.socket.send(&mut self.outgoing) };
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
            at = now + begun.get_or_insert_with(std::time::Instant::now).elapsed().into();
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
                Load::Any { patient } => self.station.transmit(now, None, room, patient),
                Load::Full(to) => self.station.transmit(now, Some(to), room, true),
                Load::Given(given) => self.station.transmit_given(now, given, room),
            };
            let Some(Transmit { peer, bytes, more, .. }) = transmit else { return false };
            if let Some(Some(address)) = self.peers.get(peer.0 as usize) {
                self.outgoing.commit(*address, bytes);
            }
            let is_all = match load {
                Load::Any { .. } => !self.station.has_work(),
                Load::Full(_) | Load::Given(_) => !more,
            };
            if is_all {
                return false;
            }
        }
        true
    }

    /// Whether the kernel may read the batch when it is delivered, as nothing else comes to its place until then. One peer takes datagrams in
    /// their order, so that what is older than what has arrived was read.
    fn may_lend(&self) -> bool {
        self.lends && self.outgoing.is_large() && has_place(self.station.stream_bytes())
    }

    fn find_out(&mut self, now: Instant) {
        while let Some(found) = self.station.find() {
            match found {
                Found::Met(peer, rank) => match (self.find)(rank) {
                    Some(address) => drop(self.connect(rank, address)),
                    None => self.name(peer, None),
                },
                Found::Silent(rank) => self.station.handle_liveness(now, rank, self.watcher.liveness(rank)),
                Found::Lost(rank) => self.watcher.lost(rank),
                Found::Unreachable(rank) => self.watcher.unreachable(rank),
            }
        }
    }

    fn name(&mut self, PeerIndex(index): PeerIndex, address: Option<SocketAddr>) {
        let index = index as usize;
        self.peers.resize(self.peers.len().max(index + 1), None);
        self.peers[index] = address;
    }
}

/// Whether nothing else comes to the place of what is on its way before it was read: `stream_bytes`, all to one peer.
fn has_place(stream_bytes: Option<u64>) -> bool {
    stream_bytes.is_some_and(|bytes| bytes <= UDP_LENT_BYTES_MAX as u64)
}

#[cfg(test)]
mod tests;
