//! Three ranks that perform operations on each other over a network that loses datagrams, in virtual time, and the properties that must hold for any
//! injected datagrams.

use std::collections::{BTreeMap, VecDeque};

use pelago_base::{AddressLayout, Duration, Instant, Rank};
use pelago_protocol::{Completion, Config, Conversations, Event, Key, Liveness, Rejected};

use crate::anatomy::{DATAGRAM_BYTES_MAX, from, sequence};
use crate::memory::RankMemory;
use crate::random::Random;

/// Number of ranks, and number of ranks that addresses and headers may name.
pub(crate) const PRESENT: usize = 3;
pub(crate) const RANKS: u32 = 6;

pub(crate) const KEY: Key = Key([0x5A; 16]);

const FAILURE_LIMIT: Duration = Duration::from_milliseconds(1_000);

/// Latency of a datagram, and interval of inputs: several datagrams are in flight at any time.
const DELAY: Duration = Duration::from_microseconds(50);
const TICK: Duration = Duration::from_microseconds(20);

/// Number of inputs after which time advances by a large step, and the step: it discards the state of idle peers, and silent peers count as failed.
const LEAP_TICKS: u64 = 512;
const LEAP: Duration = Duration::from_milliseconds(3_000);

/// Number of datagrams in flight above which no new operations are issued.
const BUSY: usize = 64;

/// Maximum number of recent datagrams that are kept for alteration and repetition.
const RECENT_MAX: usize = 256;

/// Number of consecutive calls, or of events in one period, above which a loop counts as endless.
const ENDLESS: usize = 100_000;

/// The initial state of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) encrypt: bool,
    /// Maximum datagram size of the network, and number of datagrams of which it loses one.
    pub(crate) datagram_bytes: usize,
    pub(crate) lost_one_in: usize,
    /// Ticks before the first input.
    pub(crate) warm_up: u64,
}

/// Ranks that have not communicated yet, and ranks that are communicating, for small and large datagrams.
pub(crate) const SCENARIOS: [Scenario; 6] = [
    Scenario { encrypt: false, datagram_bytes: 1_400, lost_one_in: 50, warm_up: 0 },
    Scenario { encrypt: false, datagram_bytes: 1_200, lost_one_in: 5, warm_up: 100 },
    Scenario { encrypt: false, datagram_bytes: 8_972, lost_one_in: 50, warm_up: 400 },
    Scenario { encrypt: false, datagram_bytes: 65_507, lost_one_in: 20, warm_up: 200 },
    Scenario { encrypt: true, datagram_bytes: 1_400, lost_one_in: 5, warm_up: 0 },
    Scenario { encrypt: true, datagram_bytes: 8_972, lost_one_in: 50, warm_up: 600 },
];

/// A running job.
pub(crate) struct Job {
    pub(crate) layout: AddressLayout,
    pub(crate) random: Random,
    pub(crate) now: Instant,
    pub(crate) endpoints: Vec<Conversations<RankMemory>>,
    pub(crate) memories: Vec<RankMemory>,
    pub(crate) scenario: Scenario,
    /// The operations in flight, by rank and token.
    pub(crate) under_way: BTreeMap<(usize, u64), Outcome>,
    pub(crate) asked: u64,
    /// Number of additions issued to each rank.
    pub(crate) additions: [u64; PRESENT],
    /// Whether only the ranks have the key: in this case, all operations must have correct results.
    is_sound: bool,
    ticks: u64,
    on_the_way: VecDeque<(Instant, usize, Vec<u8>)>,
    /// The last datagrams that were sent, and their targets.
    pub(crate) recent: VecDeque<(usize, Vec<u8>)>,
    /// For each pair of ranks, the number after the last sequence number that was sent.
    next: [[u64; PRESENT]; PRESENT],
    buffer: Vec<u8>,
}

/// The expected result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Memory of a rank is written.
    Written { rank: usize, offset: usize, bytes: usize },
    /// Local memory equals the bytes at an offset of the read-only segment.
    Fetched { offset: usize },
    /// A word is changed by an atomic.
    Changed,
}

impl Job {
    pub(crate) fn new(scenario: Scenario, is_sound: bool) -> Self {
        let layout = AddressLayout::new(RANKS, 1 << 20).expect("a small job");
        let ranks = || (0..PRESENT as u32).map(Rank::new);
        let mut job = Self {
            layout,
            random: Random::new(scenario.warm_up),
            now: Instant::ZERO,
            endpoints: ranks().map(|me| Conversations::new(config(me, layout, scenario.encrypt))).collect(),
            memories: ranks().map(|me| RankMemory::new(layout, me)).collect(),
            scenario,
            under_way: BTreeMap::new(),
            asked: 0,
            additions: [0; PRESENT],
            is_sound,
            ticks: 0,
            on_the_way: VecDeque::new(),
            recent: VecDeque::new(),
            next: [[0; PRESENT]; PRESENT],
            buffer: vec![0; DATAGRAM_BYTES_MAX],
        };
        (0..scenario.warm_up).for_each(|_| job.tick());
        job
    }

    /// Advances time by a tick, in which the ranks continue their work; sometimes by a long step.
    pub(crate) fn tick(&mut self) {
        self.ticks += 1;
        self.pass(if self.ticks.is_multiple_of(LEAP_TICKS) { LEAP } else { TICK });
        if self.on_the_way.len() < BUSY {
            self.ask();
        }
    }

    /// Delivers a datagram from any sender.
    pub(crate) fn inject(&mut self, to: usize, datagram: &mut [u8]) -> Result<(), Rejected> {
        let taken = self.endpoints[to].handle_datagram(self.now, datagram, &mut self.memories[to]);
        self.pump(to);
        taken
    }

    /// Returns the number below which all sequence numbers from `from` to `to` are used.
    pub(crate) fn next_sequence(&self, from: usize, to: usize) -> u64 {
        self.next.get(from).map_or(0, |next| next[to])
    }

    /// Marks a sequence number as used by an injected datagram.
    pub(crate) fn use_sequence(&mut self, from: usize, to: usize, sequence: u64) {
        if let Some(next) = self.next.get_mut(from) {
            next[to] = next[to].max(sequence.saturating_add(1));
        }
    }

    /// # Panics
    /// There was an access to forbidden memory, or a table has more entries than the job has ranks.
    pub(crate) fn check(&self) {
        self.memories.iter().for_each(RankMemory::check);
        for endpoint in &self.endpoints {
            let (known, active) = endpoint.peers();
            assert!(active <= known && known <= RANKS as usize, "{known} peers are known, {active} of them active, of {RANKS}");
        }
    }

    /// Ends the job. If only the ranks have the key, all operations must succeed. In any job, operations that wait for failed ranks complete exactly once.
    pub(crate) fn finish(mut self) {
        for _ in 0..ENDLESS {
            if !self.is_sound || self.under_way.is_empty() {
                break;
            }
            self.pass(LEAP);
        }
        if self.is_sound {
            assert_eq!(self.under_way.len(), 0, "work that never ends");
            self.check_additions();
        }
        for rank in 0..PRESENT {
            (0..RANKS).map(Rank::new).for_each(|lost| self.endpoints[rank].peer_failed(self.now, lost));
            self.is_sound = false;
            self.pump(rank);
            assert_eq!(self.endpoints[rank].peers().1, 0, "something is kept for lost peers");
        }
        assert_eq!(self.under_way.len(), 0, "operations that wait for lost ranks");
        self.check();
    }

    /// Advances time, and processes all events of the period.
    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        for _ in 0..ENDLESS {
            let arrival = self.on_the_way.front().map(|(at, ..)| *at);
            let timeout = (0..PRESENT).filter_map(|rank| Some((self.endpoints[rank].poll_timeout()?, rank))).min();
            match (arrival, timeout) {
                (Some(at), due) if at <= until && due.is_none_or(|(due, _)| at <= due) => self.arrive(),
                (_, Some((due, rank))) if due <= until => {
                    self.now = self.now.max(due);
                    self.endpoints[rank].handle_timeout(self.now);
                    self.pump(rank);
                }
                _ => {
                    self.now = until;
                    return;
                }
            }
        }
        panic!("there is no end to what is due before {until:?}");
    }

    fn arrive(&mut self) {
        let Some((at, to, mut datagram)) = self.on_the_way.pop_front() else { return };
        self.now = self.now.max(at);
        let taken = self.inject(to, &mut datagram);
        let understood = !matches!(taken, Err(Rejected::Malformed | Rejected::Forged));
        assert!(understood, "what a rank sends is {taken:?} to its peer");
    }

    /// Sends the datagrams of a rank, and processes its completions.
    pub(crate) fn pump(&mut self, rank: usize) {
        self.tell(rank);
        for _ in 0..ENDLESS {
            let Self { endpoints, memories, now, buffer, .. } = self;
            let Some(transmit) = endpoints[rank].poll_transmit(*now, &memories[rank], buffer, false) else {
                return self.tell(rank);
            };
            let most = self.scenario.datagram_bytes;
            assert!(transmit.bytes <= most, "a datagram of {} bytes, of which the network carries {most}", transmit.bytes);
            let datagram = self.buffer[..transmit.bytes].to_vec();
            self.send(transmit.to.index(), datagram);
        }
        panic!("there is no end to what {rank} sends");
    }

    fn send(&mut self, to: usize, datagram: Vec<u8>) {
        if to >= PRESENT {
            return;
        }
        if let (Some(from), Some(sequence)) = (from(&datagram), sequence(&datagram).filter(|_| !self.scenario.encrypt)) {
            self.use_sequence(from, to, sequence);
        }
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((to, datagram.clone()));
        if !self.random.one_in(self.scenario.lost_one_in) {
            self.on_the_way.push_back((self.now + DELAY, to, datagram));
        }
    }

    /// Processes the completions and events of a rank.
    fn tell(&mut self, rank: usize) {
        while let Some(Completion { token, result, local }) = self.endpoints[rank].poll_completion() {
            let expected = self.under_way.remove(&(rank, token));
            let expected = expected.unwrap_or_else(|| panic!("operation {token} of {rank} ends a second time"));
            let local = local.map(|local| self.memories[rank].take_back(local));
            if self.is_sound {
                assert!(result.is_ok(), "operation {token} of {rank}: {result:?}");
                self.verify(expected, local.as_deref());
            }
        }
        for _ in 0..ENDLESS {
            match self.endpoints[rank].poll_event() {
                None => return,
                Some(Event::Met(_, peer)) => drop(self.endpoints[rank].connect(peer, self.scenario.datagram_bytes)),
                Some(Event::Silent(peer)) => {
                    self.endpoints[rank].handle_liveness(self.now, peer, Liveness::Unknown);
                }
                Some(Event::Lost(peer) | Event::Unreachable(peer)) => {
                    assert!(!self.is_sound, "rank {peer} is lost to {rank}, or out of its reach, but it is there");
                }
            }
        }
        panic!("there is no end to what {rank} tells");
    }
}

fn config(me: Rank, layout: AddressLayout, encrypt: bool) -> Config {
    Config { me, incarnation: 1, layout, key: KEY, encrypt, failure_limit: FAILURE_LIMIT, receive_window_bytes: 1 << 20 }
}
