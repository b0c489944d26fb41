//! The simulated network between the endpoints, and the clock.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use pelago_base::{AddressLayout, Duration, Event as Counted, Instant, Rank};
use pelago_protocol::{Completion, Config, Conversations, Event, Failure, Full, Key, Liveness, PeerIndex, Rejected, Request};

use crate::memory::{Local, RankMemory};

/// Behaviour of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    /// Number of lost datagrams per million.
    pub(crate) lost: u64,
    /// Number of datagrams per million that arrive a second time, later.
    pub(crate) repeated: u64,
    /// Shortest and longest delay in nanoseconds; differences reorder datagrams.
    pub(crate) delay: (u64, u64),
}

impl Weather {
    pub(crate) const FAIR: Self = Self { lost: 0, repeated: 0, delay: (2_000, 2_000) };

    /// Up to four of ten lost, up to three of ten repeated, delays that differ by a factor of up to a hundred.
    pub(crate) fn foul(random: &mut Random) -> Self {
        let shortest = 1_000 + random.below(20_000);
        let longest = shortest * (1 + random.below(100));
        Self { lost: random.below(400_001), repeated: random.below(300_001), delay: (shortest, longest) }
    }
}

/// Pseudo-random numbers from a seed.
pub(crate) struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.u64(..limit.max(1))
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Time of arrival of a datagram, its number in the order of sending, its destination, and its bytes.
type Arrival = (Instant, u64, usize, Vec<u8>);

pub(crate) type Outcome = Result<u64, Failure>;

/// A datagram that a rank has sent.
pub(crate) struct Departure {
    pub(crate) at: Instant,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) datagram: Vec<u8>,
}

/// Additional delay of a datagram; `None` if it never arrives.
pub(crate) type Fate = Option<Duration>;

/// Fate of a datagram without additional delay.
pub(crate) const CARRIED: Fate = Some(Duration::ZERO);

/// The job: endpoints, datagrams between them, and results.
pub(crate) struct Network {
    pub(crate) layout: AddressLayout,
    pub(crate) endpoints: Vec<Conversations<RankMemory>>,
    pub(crate) memories: Vec<RankMemory>,
    pub(crate) weather: Weather,
    pub(crate) random: Random,
    pub(crate) now: Instant,
    /// Results of ended operations, by rank and token.
    pub(crate) ended: BTreeMap<(usize, u64), Outcome>,
    pub(crate) lost: Vec<(usize, Rank)>,
    pub(crate) unreachable: Vec<(usize, Rank)>,
    /// Liveness queries (asking rank, peer, time), and the answer to them.
    pub(crate) asked: Vec<(usize, Rank, Instant)>,
    pub(crate) liveness: fn(Rank) -> Liveness,
    pub(crate) dead: Vec<bool>,
    /// Recording of all sent datagrams, if enabled.
    pub(crate) recorded: Option<Vec<Departure>>,
    /// Fate of single datagrams, in addition to the weather.
    pub(crate) fate: Box<dyn FnMut(&Departure) -> Fate>,
    /// Maximum datagram size that each rank can send or receive.
    pub(crate) datagram_bytes: Vec<usize>,
    on_the_way: BinaryHeap<Reverse<Arrival>>,
    sent: u64,
    steps: u64,
    seed: u64,
    encrypt: bool,
    buffer: Vec<u8>,
}

pub(crate) const KEY: Key = Key([0x5A; 16]);
pub(crate) const FAILURE_LIMIT: Duration = Duration::from_milliseconds(5_000);

/// Maximum number of steps: more than any test takes.
const STEPS_MAX: u64 = 5_000_000;

/// Receive window of each rank.
pub(crate) const RECEIVE_WINDOW_BYTES: u64 = 1 << 20;

impl Network {
    pub(crate) fn new(ranks: u32, seed: u64, weather: Weather) -> Self {
        Self::with(ranks, seed, weather, 1400, false)
    }

    pub(crate) fn with(ranks: u32, seed: u64, weather: Weather, datagram_bytes: usize, encrypt: bool) -> Self {
        let layout = AddressLayout::new(ranks, 1 << 20).unwrap();
        Self {
            layout,
            endpoints: (0..ranks).map(|rank| Conversations::new(config(layout, rank, 1, encrypt))).collect(),
            memories: (0..ranks).map(|rank| RankMemory::new(layout, Rank::new(rank))).collect(),
            weather,
            random: Random::new(seed),
            now: Instant::ZERO,
            ended: BTreeMap::new(),
            lost: Vec::new(),
            unreachable: Vec::new(),
            asked: Vec::new(),
            liveness: |_| Liveness::Unknown,
            dead: vec![false; ranks as usize],
            recorded: None,
            fate: Box::new(|_| CARRIED),
            datagram_bytes: vec![datagram_bytes; ranks as usize],
            on_the_way: BinaryHeap::new(),
            sent: 0,
            steps: 0,
            seed,
            encrypt,
            buffer: vec![0; 1 << 16],
        }
    }

    /// Returns the index of peer `to` at `from`.
    pub(crate) fn peer(&mut self, from: usize, to: usize) -> PeerIndex {
        self.endpoints[from].connect(Rank::new(to as u32), self.datagram_bytes[from])
    }

    pub(crate) fn try_submit(&mut self, from: usize, to: usize, request: Request<'_, Local>, token: u64) -> Result<(), Full> {
        let peer = self.peer(from, to);
        self.endpoints[from].submit(self.now, peer, request, token)?;
        self.pump(from);
        Ok(())
    }

    /// Submits if there is room, without sending anything.
    pub(crate) fn hold(&mut self, from: usize, to: usize, request: Request<'_, Local>, token: u64) -> bool {
        let peer = self.peer(from, to);
        self.endpoints[from].submit(self.now, peer, request, token).is_ok()
    }

    /// Submits as soon as there is room.
    pub(crate) fn submit(&mut self, from: usize, to: usize, request: Request<'_, Local>, token: u64) {
        while self.try_submit(from, to, request, token).is_err() {
            assert!(self.step(), "{}: full for ever", self.about());
        }
    }

    pub(crate) fn fence(&mut self, from: usize, to: usize) {
        let peer = self.peer(from, to);
        self.endpoints[from].fence(peer);
    }

    /// Creates local memory of a rank.
    pub(crate) fn local(&mut self, rank: usize, bytes: Vec<u8>) -> Local {
        self.memories[rank].locals.push(bytes);
        Local(self.memories[rank].locals.len() as u64 - 1)
    }

    /// Runs until an operation ends.
    pub(crate) fn wait(&mut self, rank: usize, token: u64) -> Outcome {
        while !self.ended.contains_key(&(rank, token)) {
            assert!(self.step(), "{}: operation {token} of rank {rank} never ends", self.about());
        }
        self.ended[&(rank, token)]
    }

    /// Runs until a moment, or until there are no more events.
    pub(crate) fn run_until(&mut self, moment: Instant) {
        while self.now < moment && self.step() {}
    }

    /// Returns the count of an event at a rank.
    pub(crate) fn count(&self, rank: usize, event: Counted) -> u64 {
        self.endpoints[rank].counters().of(event)
    }

    /// Returns the number of bytes in flight to a rank.
    pub(crate) fn bytes_on_the_way(&self, to: usize) -> usize {
        self.on_the_way.iter().filter(|Reverse(arrival)| arrival.2 == to).map(|Reverse(arrival)| arrival.3.len()).sum()
    }

    /// Runs until there are no more events; the state of idle peers has been dropped by then.
    pub(crate) fn quiet(&mut self) {
        while self.step() {}
    }

    /// Handles the next event; returns `false` if there are no more.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        assert!(self.steps < STEPS_MAX, "{}: no end", self.about());
        let arrival = self.on_the_way.peek().map(|Reverse((at, ..))| *at);
        let alive = (0..self.endpoints.len()).filter(|&rank| !self.dead[rank]);
        let timeout = alive.filter_map(|rank| Some((self.endpoints[rank].poll_timeout()?, rank))).min();
        match (arrival, timeout) {
            (Some(at), due) if due.is_none_or(|(due, _)| at <= due) => {
                let Some(Reverse((at, _, to, mut datagram))) = self.on_the_way.pop() else { return false };
                self.now = self.now.max(at);
                let _ = self.deliver(to, &mut datagram);
                true
            }
            (_, Some((due, rank))) => {
                self.now = self.now.max(due);
                self.endpoints[rank].handle_timeout(self.now);
                self.pump(rank);
                true
            }
            _ => false,
        }
    }

    /// Sends a datagram that a test took from an endpoint.
    pub(crate) fn carry_now(&mut self, to: usize, datagram: &[u8]) {
        self.carry(to, datagram.to_vec(), Duration::ZERO);
    }

    /// Delivers all datagrams in flight, without sending any new ones.
    pub(crate) fn arrive(&mut self) {
        while let Some(Reverse((at, _, to, mut datagram))) = self.on_the_way.pop() {
            self.now = self.now.max(at);
            let _ = self.endpoints[to].handle_datagram(self.now, &mut datagram, &mut self.memories[to]);
        }
    }

    /// Delivers a datagram to a rank.
    pub(crate) fn deliver(&mut self, to: usize, datagram: &mut [u8]) -> Result<(), Rejected> {
        if self.dead[to] {
            return Ok(());
        }
        let outcome = self.endpoints[to].handle_datagram(self.now, datagram, &mut self.memories[to]);
        self.pump(to);
        outcome
    }

    /// Ends a rank's process.
    pub(crate) fn kill(&mut self, rank: usize) {
        self.dead[rank] = true;
    }

    /// Replaces a rank's process by a new one without any state.
    pub(crate) fn restart(&mut self, rank: usize) {
        self.dead[rank] = false;
        self.endpoints[rank] = Conversations::new(config(self.layout, rank as u32, 2, self.encrypt));
    }

    /// Sends a rank's datagrams and collects its completions and events.
    pub(crate) fn pump(&mut self, rank: usize) {
        if self.dead[rank] {
            return;
        }
        self.tell(rank);
        while let Some(transmit) = self.endpoints[rank].poll_transmit(self.now, &self.memories[rank], &mut self.buffer, false) {
            let datagram = self.buffer[..transmit.bytes].to_vec();
            self.send(rank, transmit.to.index(), datagram);
        }
        self.tell(rank);
    }

    /// Collects a rank's completions and events.
    fn tell(&mut self, rank: usize) {
        while let Some(Completion { token, result, .. }) = self.endpoints[rank].poll_completion() {
            let before = self.ended.insert((rank, token), result);
            assert_eq!(before, None, "{}: {token} of {rank} ended twice", self.about());
        }
        while let Some(event) = self.endpoints[rank].poll_event() {
            match event {
                Event::Met(_, peer) => drop(self.endpoints[rank].connect(peer, self.datagram_bytes[rank])),
                Event::Silent(peer) => {
                    self.asked.push((rank, peer, self.now));
                    let liveness = (self.liveness)(peer);
                    self.endpoints[rank].handle_liveness(self.now, peer, liveness);
                }
                Event::Lost(peer) => self.lost.push((rank, peer)),
                Event::Unreachable(peer) => self.unreachable.push((rank, peer)),
            }
        }
    }

    pub(crate) fn about(&self) -> String {
        format!("seed {:#x}, {:?}", self.seed, self.weather)
    }

    fn send(&mut self, from: usize, to: usize, datagram: Vec<u8>) {
        let departure = Departure { at: self.now, from, to, datagram };
        if let Some(later) = (self.fate)(&departure) {
            if self.random.below(1_000_000) < self.weather.repeated {
                self.carry(to, departure.datagram.clone(), later);
            }
            if self.random.below(1_000_000) >= self.weather.lost {
                self.carry(to, departure.datagram.clone(), later);
            }
        }
        if let Some(recorded) = &mut self.recorded {
            recorded.push(departure);
        }
    }

    fn carry(&mut self, to: usize, datagram: Vec<u8>, later: Duration) {
        let (shortest, longest) = self.weather.delay;
        let delay = Duration::from_nanoseconds(shortest + self.random.below(longest - shortest + 1));
        self.sent += 1;
        self.on_the_way.push(Reverse((self.now + delay + later, self.sent, to, datagram)));
    }
}

fn config(layout: AddressLayout, rank: u32, incarnation: u32, encrypt: bool) -> Config {
    Config {
        me: Rank::new(rank),
        incarnation,
        layout,
        key: KEY,
        encrypt,
        failure_limit: FAILURE_LIMIT,
        receive_window_bytes: RECEIVE_WINDOW_BYTES,
    }
}
