//! A simulated host whose ranks take turns on few cores, and drop datagrams for which their receive buffers have no room.

use std::collections::{BTreeSet, VecDeque};

use pelago_base::{AddressLayout, AtomicOperator, Duration, Event as Counted, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_protocol::{Config, Conversations, Denied, Event, Key, Liveness, Memory, Request};

/// Time to send or to receive a datagram, and to switch to another rank.
const SEND: Duration = Duration::from_nanoseconds(2_000);
const RECEIVE: Duration = Duration::from_nanoseconds(1_000);
const SWITCH: Duration = Duration::from_nanoseconds(2_000);

/// Time slice of a rank.
const SLICE: Duration = Duration::from_milliseconds(3);

/// Delivery time of a datagram.
const WIRE: Duration = Duration::from_nanoseconds(1_000);

/// Bytes that a short datagram takes of a receive buffer: the kernel's own record, and a part of a page for its data.
const RECORD_BYTES: u64 = 768;

const DATAGRAM_BYTES: usize = 8_000;

pub(crate) const FAILURE_LIMIT: Duration = Duration::from_milliseconds(1_000);

/// Configuration of the host.
#[derive(Clone, Copy)]
pub(crate) struct Build {
    pub(crate) ranks: u32,
    pub(crate) cores: usize,
    /// Size of a rank's receive buffer in the kernel, including the kernel's records.
    pub(crate) buffer_bytes: u64,
    /// Bytes of each write.
    pub(crate) write_bytes: u64,
}

pub(crate) struct Host {
    pub(crate) layout: AddressLayout,
    pub(crate) endpoints: Vec<Conversations<Words>>,
    memories: Vec<Words>,
    buffer_bytes: u64,
    write_bytes: u64,
    inboxes: Vec<Inbox>,
    /// Ranks to which each rank still has to write, in order.
    pub(crate) plans: Vec<VecDeque<usize>>,
    /// Time at which each core becomes free.
    cores: Vec<Instant>,
    /// Ranks by the time from which on they have something to do.
    ready: BTreeSet<(Instant, usize)>,
    ready_at: Vec<Option<Instant>>,
    /// Time until which a rank does not run, whatever it has to do.
    pub(crate) stopped: Vec<Instant>,
    pub(crate) now: Instant,
    /// Number of writes that have ended, and of those that have failed.
    pub(crate) ended: u64,
    pub(crate) failed: u64,
    /// Number of datagrams for which there was no room, and of queries whether a rank is alive.
    pub(crate) dropped: u64,
    pub(crate) asked: u64,
    buffer: Vec<u8>,
}

/// Datagrams that a rank has not received yet, with their times of arrival, and the bytes that they take of its buffer.
#[derive(Default)]
struct Inbox {
    datagrams: VecDeque<(Instant, Vec<u8>)>,
    bytes: u64,
}

impl Host {
    pub(crate) fn new(Build { ranks, cores, buffer_bytes, write_bytes }: Build) -> Self {
        let layout = AddressLayout::new(ranks, 1 << 20).unwrap();
        let config = |rank| Config {
            me: Rank::new(rank),
            incarnation: 1,
            layout,
            key: Key([7; 16]),
            encrypt: false,
            failure_limit: FAILURE_LIMIT,
            // As in the transport over sockets.
            receive_window_bytes: buffer_bytes / 4,
        };
        let count = ranks as usize;
        Self {
            layout,
            endpoints: (0..ranks).map(|rank| Conversations::new(config(rank))).collect(),
            memories: (0..ranks).map(|rank| Words { layout, me: Rank::new(rank), written: vec![0; count] }).collect(),
            buffer_bytes,
            write_bytes,
            inboxes: (0..ranks).map(|_| Inbox::default()).collect(),
            plans: vec![VecDeque::new(); count],
            cores: vec![Instant::ZERO; cores],
            ready: BTreeSet::new(),
            ready_at: vec![None; count],
            stopped: vec![Instant::ZERO; count],
            now: Instant::ZERO,
            ended: 0,
            failed: 0,
            dropped: 0,
            asked: 0,
            buffer: vec![0; 1 << 16],
        }
    }

    /// Runs until `ended` writes have ended; returns the time that this takes.
    pub(crate) fn run_until(&mut self, ended: u64) -> Duration {
        let begun = self.now;
        (0..self.endpoints.len()).for_each(|rank| self.plan(rank));
        while self.ended < ended {
            assert!(self.now.since(begun) < Duration::from_seconds(100.0), "{} of {ended} writes have ended", self.ended);
            self.step();
        }
        self.now.since(begun)
    }

    /// Returns the count of an event over all ranks.
    pub(crate) fn count(&self, event: Counted) -> u64 {
        self.endpoints.iter().map(|endpoint| endpoint.counters().of(event)).sum()
    }

    /// Returns the number of writes from `from` to `to`.
    pub(crate) fn written(&self, from: usize, to: usize) -> u32 {
        self.memories[to].written[from]
    }

    /// Runs the rank that has waited longest on the core that becomes free first.
    fn step(&mut self) {
        let (ready, rank) = self.ready.pop_first().expect("something is to be done");
        self.ready_at[rank] = None;
        let free = self.cores.iter_mut().min().expect("a core");
        let begin = ready.max(*free);
        let end = self.turn(rank, begin);
        *self.cores.iter_mut().min().expect("a core") = end + SWITCH;
        self.now = self.now.max(end);
        self.plan(rank);
    }

    /// Runs a rank from `begin` on: it handles received datagrams, then timeouts, then submits its next write.
    fn turn(&mut self, rank: usize, begin: Instant) -> Instant {
        let mut now = begin;
        while now < begin + SLICE {
            let mut moved = false;
            for _ in 0..8 {
                let Some((_, mut datagram)) = self.inboxes[rank].take(now) else { break };
                now = now + RECEIVE;
                let _counted = self.endpoints[rank].handle_datagram(now, &mut datagram, &mut self.memories[rank]);
                moved = true;
            }
            if !moved && self.endpoints[rank].poll_timeout().is_some_and(|due| due <= now) {
                self.endpoints[rank].handle_timeout(now);
                moved = true;
            }
            if !moved && let Some(&to) = self.plans[rank].front() {
                let peer = self.endpoints[rank].connect(Rank::new(to as u32), DATAGRAM_BYTES);
                let word = self.layout.encode(Rank::new(to as u32), SegmentId::SYMMETRIC, 8 * rank as u64).unwrap();
                let write = match self.write_bytes {
                    8 => Request::Write { to: word, bytes: &[1; 8] },
                    bytes => Request::Put { from: (), to: word, bytes },
                };
                if self.endpoints[rank].submit(now, peer, write, to as u64).is_ok() {
                    self.plans[rank].pop_front();
                    moved = true;
                }
            }
            self.tell(rank, now);
            now = self.flush(rank, now);
            if !moved {
                break;
            }
        }
        now
    }

    fn tell(&mut self, rank: usize, now: Instant) {
        while let Some(completion) = self.endpoints[rank].poll_completion() {
            self.ended += 1;
            self.failed += u64::from(completion.result.is_err());
        }
        while let Some(event) = self.endpoints[rank].poll_event() {
            match event {
                Event::Met(_, peer) => drop(self.endpoints[rank].connect(peer, DATAGRAM_BYTES)),
                Event::Silent(peer) => {
                    self.asked += 1;
                    self.endpoints[rank].handle_liveness(now, peer, Liveness::Alive);
                }
                Event::Lost(peer) | Event::Unreachable(peer) => panic!("rank {peer} is there"),
            }
        }
    }

    fn flush(&mut self, rank: usize, mut now: Instant) -> Instant {
        while let Some(transmit) = self.endpoints[rank].poll_transmit(now, &self.memories[rank], &mut self.buffer, false) {
            now = now + SEND;
            let (to, taken) = (transmit.to.index(), RECORD_BYTES + transmit.bytes as u64);
            let inbox = &mut self.inboxes[to];
            if inbox.bytes + taken > self.buffer_bytes {
                self.dropped += 1;
                continue;
            }
            inbox.bytes += taken;
            inbox.datagrams.push_back((now + WIRE, self.buffer[..transmit.bytes].to_vec()));
            self.plan(to);
        }
        now
    }

    /// Computes the time at which a rank has something to do.
    fn plan(&mut self, rank: usize) {
        let arrival = self.inboxes[rank].datagrams.front().map(|(at, _)| *at);
        let planned = (!self.plans[rank].is_empty()).then_some(self.now);
        let next = [arrival, planned, self.endpoints[rank].poll_timeout()].into_iter().flatten().min();
        let next = next.map(|next| next.max(self.stopped[rank]));
        // A rank that waits for its turn keeps its position.
        if let Some(known) = self.ready_at[rank] {
            if next.is_some_and(|next| next >= known) {
                return;
            }
            self.ready.remove(&(known, rank));
        }
        self.ready_at[rank] = next;
        self.ready.extend(next.map(|next| (next, rank)));
    }
}

impl Inbox {
    fn take(&mut self, now: Instant) -> Option<(Instant, Vec<u8>)> {
        let arrived = self.datagrams.front().is_some_and(|(at, _)| *at <= now);
        let taken = if arrived { self.datagrams.pop_front() } else { None };
        self.bytes -= taken.as_ref().map_or(0, |(_, datagram)| RECORD_BYTES + datagram.len() as u64);
        taken
    }
}

/// The memory of a rank: a word for each other rank, of which only the number of writes is recorded, and room for longer writes.
pub(crate) struct Words {
    layout: AddressLayout,
    me: Rank,
    written: Vec<u32>,
}

impl Memory for Words {
    type Local = ();

    fn read(&self, _from: GlobalAddress, _into: &mut [u8]) -> Result<(), Denied> {
        Err(Denied::Outside)
    }

    fn read_local(&self, _local: &(), _offset: u64, into: &mut [u8]) {
        into.fill(1);
    }

    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        let is_here = self.layout.rank(at) == self.me && self.layout.offset(at) + bytes <= 1 << 20;
        is_here.then_some(()).ok_or(Denied::Outside)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        self.check(to, bytes.len() as u64)?;
        if let Some(written) = self.written.get_mut((self.layout.offset(to) / 8) as usize) {
            *written += 1;
        }
        Ok(())
    }

    fn copy(&mut self, _from: GlobalAddress, _to: GlobalAddress, _bytes: u64) -> Result<(), (Denied, bool)> {
        Ok(())
    }

    fn atomic(&mut self, _at: GlobalAddress, _width: Width, _operator: AtomicOperator, _operand: u64) -> Result<u64, Denied> {
        Err(Denied::Outside)
    }

    fn write_local(&mut self, _local: &(), _offset: u64, _bytes: &[u8]) {}
}
