//! The job of one test: it posts operations, drives all ranks in turn in virtual time, and checks every completion.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use pelago_base::{AddressLayout, Duration, GlobalAddress, Instant, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::{Capabilities, Completion, Endpoint, Failure, Flags, Operation, PostError, Token, Transfer, Transport};

use super::Fixture;
use crate::captured::ends;

/// Maximum number of rounds of a test, one `progress` per rank and round.
const TURNS_MAX: u32 = 200_000;

/// Number of turns of every rank after the last completion, in which nothing may complete again.
const ROUNDS_AFTER: u32 = 8;

/// The time from one turn to the next.
const TURN: Duration = Duration::from_nanoseconds(100);

/// Contents of the registered memory of all ranks.
pub(super) type Memory = BTreeMap<(Rank, SegmentId), Vec<u8>>;

pub(super) struct World<F> {
    fixture: F,
    ranks: u32,
    about: String,
    now: Instant,
    turn: u32,
    idle_turns: u32,
    endpoints: BTreeMap<(Rank, Rank), Endpoint>,
    /// Whether operations are posted with a notification.
    notifies: bool,
    /// Poster and peer of pairs whose next operation is posted with a fence.
    fences: BTreeSet<(Rank, Rank)>,
    /// Poster and peer of pairs for which a copy used another endpoint, so that no fence orders it.
    detours: BTreeSet<(Rank, Rank)>,
    lost: BTreeSet<Rank>,
    posted: u64,
    pending: BTreeMap<Token, Rank>,
    results: BTreeMap<Token, Result<u64, Failure>>,
    log: Vec<(Instant, Rank, Completion)>,
}

impl<F: Fixture> World<F> {
    /// Creates a job in which every rank is connected to every rank, itself included.
    pub(super) fn new(make: impl Fn(u32) -> F, ranks: u32) -> Self {
        let mut world = Self {
            fixture: make(ranks),
            ranks,
            about: "the only run".into(),
            now: Instant::ZERO,
            turn: 0,
            idle_turns: 0,
            endpoints: BTreeMap::new(),
            notifies: false,
            fences: BTreeSet::new(),
            detours: BTreeSet::new(),
            lost: BTreeSet::new(),
            posted: 0,
            pending: BTreeMap::new(),
            results: BTreeMap::new(),
            log: Vec::new(),
        };
        for from in world.ranks() {
            for to in world.ranks() {
                let address = world.transport(to).network().address();
                let endpoint = world.transport(from).network().connect(None, to, &address).expect("every rank can be reached");
                world.endpoints.insert((from, to), endpoint);
            }
        }
        world
    }

    /// Sets the name of the run in messages of failures.
    pub(super) fn about(&mut self, about: String) {
        self.about = about;
    }

    pub(super) fn name(&self) -> &str {
        &self.about
    }

    pub(super) fn ranks(&self) -> impl Iterator<Item = Rank> + Clone + use<F> {
        (0..self.ranks).map(Rank::new)
    }

    pub(super) fn layout(&self) -> AddressLayout {
        self.fixture.layout()
    }

    pub(super) fn segments(&self) -> Vec<SegmentId> {
        self.fixture.segments()
    }

    /// Every ordered pair of segments.
    pub(super) fn segment_pairs(&self) -> Vec<(SegmentId, SegmentId)> {
        let segments = self.segments();
        segments.iter().flat_map(|&one| segments.iter().map(move |&other| (one, other))).collect()
    }

    /// A segment that no rank has registered.
    pub(super) fn spare_segment(&self) -> SegmentId {
        let used = self.segments();
        let mut numbers = (SegmentId::REGISTERED_FIRST.number()..=self.layout().segment_max()).filter_map(SegmentId::new);
        numbers.find(|segment| !used.contains(segment)).expect("a layout has room for another segment")
    }

    pub(super) fn transport(&mut self, rank: Rank) -> &mut dyn Transport {
        self.fixture.transport(rank)
    }

    pub(super) fn endpoint(&self, from: Rank, to: Rank) -> Endpoint {
        self.endpoints[&(from, to)]
    }

    /// Makes operations that `from` posts to `to` use `endpoint` from now on.
    pub(super) fn redirect(&mut self, from: Rank, to: Rank, endpoint: Endpoint) {
        self.endpoints.insert((from, to), endpoint);
    }

    pub(super) fn address(&self, rank: Rank, segment: SegmentId, offset: u64) -> GlobalAddress {
        self.layout().encode(rank, segment, offset).expect("tests name what exists")
    }

    /// Number of bytes that a segment has on every rank.
    pub(super) fn segment_bytes(&self, segment: SegmentId) -> u64 {
        self.ranks().map(|rank| self.memory(rank, segment).bytes() as u64).min().expect("a job has ranks")
    }

    pub(super) fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_> {
        self.fixture.memory(rank, segment)
    }

    pub(super) fn bytes(&self, rank: Rank, segment: SegmentId, offset: u64, count: u64) -> Vec<u8> {
        self.memory(rank, segment).part(offset, count).expect("tests look inside").to_vec()
    }

    /// Writes different bytes everywhere; returns them.
    pub(super) fn fill(&mut self, seed: u64) -> Memory {
        let mut random = Rng::with_seed(seed);
        let mut filled = Memory::new();
        for rank in self.ranks() {
            for segment in self.segments() {
                let memory = self.memory(rank, segment);
                let bytes = random_bytes(&mut random, memory.bytes());
                memory.write(&bytes);
                filled.insert((rank, segment), bytes);
            }
        }
        filled
    }

    /// All registered memory.
    pub(super) fn snapshot(&self) -> Memory {
        let places = self.ranks().flat_map(|rank| self.segments().into_iter().map(move |segment| (rank, segment)));
        places.map(|(rank, segment)| ((rank, segment), self.memory(rank, segment).to_vec())).collect()
    }

    /// Fails unless all registered memory is as expected.
    pub(super) fn expect_memory(&self, expected: &Memory, what: &str) {
        for (&(rank, segment), expected) in expected {
            let found = self.bytes(rank, segment, 0, expected.len() as u64);
            if found != *expected {
                let at = (0..found.len()).find(|&at| found[at] != expected[at]).expect("they differ");
                let (found, expected, about, number) = (found[at], expected[at], &self.about, segment.number());
                panic!(
                    "{about}: {what}: byte {at} of segment {number} of rank {rank} is {found:#04x} instead of {expected:#04x}"
                );
            }
        }
    }

    /// Posts to the endpoint of the rank that the operation names, again while the result is `Full`.
    pub(super) fn post(&mut self, from: Rank, operation: Operation<'_>) -> Token {
        self.post_or_refusal(from, operation).unwrap_or_else(|refusal| panic!("{}: {operation:?}: {refusal}", self.about))
    }

    /// As `post`; any other refusal is returned.
    pub(super) fn post_or_refusal(&mut self, from: Rank, operation: Operation<'_>) -> Result<Token, PostError> {
        for _ in 0..TURNS_MAX {
            match self.post_once(from, operation) {
                Err(PostError::Full) => self.turn(),
                answer => return answer,
            }
        }
        panic!("{}: the queue of rank {from} stayed full for {TURNS_MAX} turns (T1)", self.about);
    }

    pub(super) fn post_once(&mut self, from: Rank, operation: Operation<'_>) -> Result<Token, PostError> {
        let [to, other] = ends(self.layout(), &operation);
        let detour = match operation {
            Operation::Copy { .. } | Operation::Sized(Transfer::Copy { .. }) => self.detour(from, to, other),
            _ => None,
        };
        // The fence takes effect even if the transport refuses the operation.
        let mut fence = self.fences.remove(&(from, to));
        if fence && (detour.is_some() || self.detours.contains(&(from, to))) {
            fence = false;
            while let Some((&token, _)) = self.pending.iter().find(|(_, poster)| **poster == from) {
                let _ = self.wait(token);
            }
        }
        if detour.is_some() {
            self.detours.insert((from, to));
        }
        let (now, token, flags) = (self.now, Token(self.posted), Flags { fence, notify: self.notifies, ..Flags::NONE });
        let endpoint = detour.unwrap_or_else(|| self.endpoint(from, to));
        self.transport(from).post(now, endpoint, operation, flags, token)?;
        self.posted += 1;
        self.pending.insert(token, from);
        Ok(token)
    }

    /// Posts by a function of the transport, the time and the token of the completion.
    pub(super) fn post_with(
        &mut self,
        from: Rank,
        post: impl FnOnce(&mut dyn Transport, Instant, Token) -> Result<(), PostError>,
    ) -> Result<Token, PostError> {
        let (now, token) = (self.now, Token(self.posted));
        post(self.transport(from), now, token)?;
        self.posted += 1;
        self.pending.insert(token, from);
        Ok(token)
    }

    /// The endpoint to which a copy must be posted, if it is not that of the owner of the source.
    fn detour(&mut self, from: Rank, to: Rank, other: Rank) -> Option<Endpoint> {
        let rail = self.transport(from).network().rail_of_copy(to, other)?;
        let address = self.transport(to).network().address();
        Some(self.transport(from).network().connect(Some(rail), to, &address).expect("it says that the rail leads there"))
    }

    /// Sets whether operations are posted with a notification from now on.
    pub(super) fn notify(&mut self, notifies: bool) {
        self.notifies = notifies;
    }

    /// Number of times that a rank has been woken, if the fixture counts.
    pub(super) fn wakes(&self, rank: Rank) -> Option<u64> {
        self.fixture.wakes(rank)
    }

    pub(super) fn capabilities(&mut self, rank: Rank) -> Capabilities {
        *self.transport(rank).network().capabilities()
    }

    /// Maximum number of blocks of a list that one operation moves from one rank to another.
    pub(super) fn blocks_max(&mut self, from: Rank, to: Rank) -> usize {
        let network = self.transport(from).network();
        let rail = network.rail_to(to);
        network.rails()[rail.number()].blocks_max
    }

    /// Makes the next operation from `from` to `to` be posted with a fence.
    pub(super) fn fence(&mut self, from: Rank, to: Rank) {
        self.fences.insert((from, to));
    }

    /// Posts and waits.
    pub(super) fn run(&mut self, from: Rank, operation: Operation<'_>) -> Result<u64, Failure> {
        let token = self.post(from, operation);
        self.wait(token)
    }

    /// Drives the ranks until `token` completes, and not one turn further: its effect must be visible then (T4).
    pub(super) fn wait(&mut self, token: Token) -> Result<u64, Failure> {
        self.until(&format!("{token:?} completes (T3, T6)"), |world| world.results.contains_key(&token));
        self.results[&token]
    }

    /// Drives the ranks until `done`, which is called before every turn.
    pub(super) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..TURNS_MAX {
            if done(self) {
                return;
            }
            self.turn();
        }
        panic!("{}: not within {TURNS_MAX} turns: {what}", self.about);
    }

    /// Waits for all completions, and a little longer to detect operations that complete twice.
    pub(super) fn quiet(&mut self) {
        while let Some((&token, _)) = self.pending.first_key_value() {
            let _ = self.wait(token);
        }
        (0..ROUNDS_AFTER * self.ranks).for_each(|_| self.turn());
    }

    pub(super) fn is_pending(&self, token: Token) -> bool {
        self.pending.contains_key(&token)
    }

    /// Lets the next rank make progress.
    pub(super) fn turn(&mut self) {
        let rank = Rank::new(self.turn % self.ranks);
        self.turn = self.turn.wrapping_add(1);
        if self.lost.contains(&rank) {
            return;
        }
        self.now = self.now + TURN;
        let (now, mut completed) = (self.now, Vec::new());
        let moved = self.transport(rank).progress(now, &mut completed);
        for completion in completed {
            let token = completion.token;
            let poster = self.pending.remove(&token);
            assert_eq!(poster, Some(rank), "{}: rank {rank} completed {token:?}, which was not under way there (T3)", self.about);
            self.results.insert(token, completion.result);
            self.log.push((now, rank, completion));
        }
        self.idle_turns = if moved { 0 } else { self.idle_turns + 1 };
        if self.idle_turns > self.ranks {
            self.skip_to_deadline();
        }
    }

    /// Makes a rank fail, if this fixture supports it.
    pub(super) fn peer_failed(&mut self, rank: Rank) -> bool {
        let can = self.fixture.peer_failed(rank);
        if can {
            self.lost.insert(rank);
            self.pending.retain(|_, poster| *poster != rank);
        }
        can
    }

    /// All completions, in order.
    pub(super) fn into_log(self) -> Vec<(Instant, Rank, Completion)> {
        self.log
    }

    fn skip_to_deadline(&mut self) {
        let alive = self.ranks().filter(|rank| !self.lost.contains(rank)).collect::<Vec<_>>();
        let deadline = alive.into_iter().filter_map(|rank| self.transport(rank).next_deadline()).min();
        self.now = deadline.map_or(self.now, |deadline| deadline.max(self.now));
    }
}

/// Memory that is never freed and begins at a multiple of 8: the local end of a transfer, for which a test promises any lifetime.
pub(super) fn local(bytes: &[u8]) -> Cells<'static> {
    let words = vec![0u64; bytes.len().div_ceil(8)].leak();
    let cells = Cells::from_mut(words).part(0, bytes.len() as u64).expect("rounded up");
    cells.write(bytes);
    cells
}

/// As `local`, beginning `shift` bytes after a multiple of 8.
pub(super) fn local_shifted(bytes: &[u8], shift: usize) -> Cells<'static> {
    let cells = local(&[&vec![0; shift], bytes].concat());
    cells.part(shift as u64, bytes.len() as u64).expect("just made")
}

/// The contents of cells.
pub(super) fn contents(cells: Cells<'_>) -> Vec<u8> {
    cells.to_vec()
}

/// Writes into expected memory.
pub(super) fn expect(memory: &mut Memory, rank: Rank, segment: SegmentId, offset: u64, bytes: &[u8]) {
    let place = memory.get_mut(&(rank, segment)).expect("a segment of the fixture");
    place[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
}

/// One of several values, at random.
pub(super) fn pick<T: Copy>(random: &mut Rng, from: &[T]) -> T {
    from[random.usize(..from.len())]
}

/// Pseudo-random bytes.
pub(super) fn random_bytes(random: &mut Rng, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    random.fill(&mut bytes);
    bytes
}
