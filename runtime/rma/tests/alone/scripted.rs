//! Rank 0 of a job whose other ranks do not exist: a test records the requests to its transport, and determines the answers.
//!
//! Invariant **U1** of `pelago-platform` (`trusted.rs`): the transport accesses no memory of operations, and no registered memory, at all.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard};

use pelago_base::{AddressLayout, Counters, Duration, GlobalAddress, Instant, Rank, SegmentId, Team};
use pelago_memory::{Reach, Region};
use pelago_platform::{
    Activity, Address, Bootstrap, BootstrapError, Capabilities, Clock, Completion, ConnectError, Endpoint, Extensions, Failure,
    Fault, Flags, For, Network, Operation, PostError, Rail, ReductionGroup, ReductionOperator, Reductions, RegisterError,
    Registry, Reports, Tally, Token, Transfer, Transport, TrustedTransport, TwoSided, VirtualTime, Wait, WaitPolicy, WaitSite,
    Woken,
};
use pelago_rma::{GlobalPtr, Parts, World};

/// Size of a heap; a power of two, so that every offset that can be addressed is in it.
pub(crate) const HEAP_BYTES: u64 = 1 << 20;

/// Number of ranks of most of these jobs.
pub(crate) const RANKS: u32 = 3;

/// Number of polls of a wait while spinning.
pub(crate) const SPINS: u32 = 1000;

/// Number of polls of the transport after which a spinning wait yields between them.
pub(crate) const POLLS_ALONE: u32 = 32;

/// Number of polls of a spinning wait that polls the transport each time: the yields between them count, too.
pub(crate) const POLLS: u32 = (SPINS + POLLS_ALONE) / 2;

/// A call of the platform, other than operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The activity of a thread.
    Does(Activity),
    Entered,
    Left,
    /// The kind of event, and the deadline.
    Park(For, Option<Instant>),
    Compute(Duration),
    Gather(u64),
    /// A post that may be held back to share a message with later ones.
    More,
    /// A post that wakes its target.
    Notify,
    Flush,
    Survive,
    Lose(Rank),
    /// Of the bootstrap.
    Barrier,
    Finish,
}

/// More calls than any test makes.
const SAID_MAX: usize = 1_000_000;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Write,
    Signalled,
    Put,
    Get,
    Copy,
    Atomic,
}

/// A request to a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// An operation that it accepted; its endpoint is the number of the rank, plus ten or twenty for a given rail.
    Post(u32),
    Fence(u32),
}

/// The fate of operations that a transport accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The test completes them.
    #[default]
    Waits,
    /// Each completes at the next progress.
    Completes,
    /// Each fails, one with each progress.
    Denies,
}

/// The result of registering and unregistering memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manners {
    /// Registration is refused.
    pub(crate) refuses: bool,
    /// A peer accesses the registered memory.
    pub(crate) somebody_is_inside: bool,
}

/// The wait policy unless a test specifies another: one thread.
const POLICY: WaitPolicy = WaitPolicy { spins: 0, yields: 0, is_oversubscribed: false, line_bytes: 64, takes_threads: false };

/// The event that wakes a sleeping rank.
type Wake = Box<dyn FnOnce(&mut Script) + Send>;

/// A transport that does nothing on its own.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) calls: Vec<Call>,
    /// The kinds of accepted operations.
    pub(crate) kinds: Vec<Kind>,
    /// The tokens of accepted operations, and their addresses.
    posted: Vec<(Token, GlobalAddress)>,
    /// Maximum number of blocks of a list in one operation, and maximum length of blocks that are worth it.
    pub(crate) blocks_max: usize,
    pub(crate) block_bytes_max: u64,
    /// Number of further answers `Full`.
    pub(crate) refusals: usize,
    /// The fate of accepted operations.
    pub(crate) answer: Answer,
    completions: Vec<Completion>,
    pub(crate) progressed: u32,
    /// Number of further calls of `progress` that report progress although nothing completes. Each takes a nanosecond.
    pub(crate) stirs: u32,
    /// Whether a sleep was announced since the last progress.
    pub(crate) sleeps: bool,
    pub(crate) said: Vec<Said>,
    /// Number of yields of the rank.
    pub(crate) given_way: u32,
    /// Number of yields after which further ones are useless.
    pub(crate) yields_max: Option<u32>,
    /// Number of operations in flight according to the reports.
    pub(crate) in_flight: i32,
    /// The current time: a sleep with a deadline advances it to the deadline.
    pub(crate) now: Instant,
    /// The time at which the transport wants to make progress.
    pub(crate) deadline: Option<Instant>,
    /// The event of the next sleep, instead of a deadlock.
    pub(crate) wakes: Option<Wake>,
    /// The known fault of the job.
    pub(crate) fault: Option<Fault>,
    /// Failed ranks, in a job that continues without them.
    pub(crate) lost: Vec<Rank>,
    /// Whether ranks share cores, and may have threads.
    policy: Option<WaitPolicy>,
    /// The endpoints of connections.
    pub(crate) connected: Vec<Endpoint>,
    /// Whether the pages of passed bytes are checked, and for each whether all were in memory.
    pub(crate) watches_pages: bool,
    pub(crate) pages: Vec<bool>,
    /// The values that the rank has published.
    pub(crate) published: BTreeMap<String, Vec<u8>>,
    /// Addresses and sizes of registered memory.
    pub(crate) registered: BTreeMap<GlobalAddress, u64>,
    /// Whether its writes wake no rank.
    silent: bool,
    /// The result of registering.
    pub(crate) registry: Manners,
    /// The transfers of which only the size was sent.
    pub(crate) sizes: Vec<Transfer>,
    /// The two-sided messages that have arrived; `None` if the network does not support them.
    pub(crate) inbox: Option<VecDeque<(Rank, Box<[u8]>)>>,
    /// The sent messages, with their endpoints.
    pub(crate) sent: Vec<(Endpoint, Vec<u8>)>,
    /// Contributions in flight, if the network combines those of all ranks; the result of each is the contribution of this rank.
    contributed: Option<VecDeque<Vec<u64>>>,
}

impl Script {
    /// Returns a script whose network combines contributions.
    pub(crate) fn of_combining() -> Self {
        Self { contributed: Some(VecDeque::new()), ..Self::default() }
    }

    /// Returns a script whose ranks share cores, or do not.
    pub(crate) fn of_oversubscribed(is_oversubscribed: bool) -> Self {
        Self { policy: Some(WaitPolicy { is_oversubscribed, ..POLICY }), ..Self::default() }
    }

    /// Returns a script whose writes wake no rank without a notification, or wake their targets.
    pub(crate) fn of_silent(silent: bool) -> Self {
        Self { silent, ..Self::default() }
    }

    /// Returns a script whose ranks may have threads, or may not.
    pub(crate) fn of_threads(takes_threads: bool) -> Self {
        Self { policy: Some(WaitPolicy { takes_threads, ..POLICY }), ..Self::default() }
    }

    /// Completes the `index`-th accepted operation.
    pub(crate) fn complete(&mut self, index: usize, result: Result<u64, Failure>) {
        self.completions.push(Completion { token: self.posted[index].0, result });
    }

    /// Returns the addresses of all accepted operations: of the target, or of the source of a get or a copy.
    pub(crate) fn posted(&self) -> impl ExactSizeIterator<Item = GlobalAddress> {
        self.posted.iter().map(|&(_, at)| at)
    }

    /// Returns their tokens.
    pub(crate) fn tokens(&self) -> impl ExactSizeIterator<Item = Token> {
        self.posted.iter().map(|&(token, _)| token)
    }

    /// Checks the pages of some bytes.
    fn watch(&mut self, bytes: &[u8]) {
        if self.watches_pages {
            let mut pages = bytes.chunks(PAGE_BYTES).chain([&bytes[bytes.len() - 1..]]);
            self.pages.push(pages.all(is_in_memory));
        }
    }

    fn say(&mut self, said: Said) {
        assert!(self.said.len() < SAID_MAX, "it goes on for ever");
        self.said.push(said);
    }

    /// Whether the transport accepts an operation.
    fn has_room(&mut self) -> Result<(), PostError> {
        let left = self.refusals.checked_sub(1).map(|left| self.refusals = left);
        if left.is_some() { Err(PostError::Full) } else { Ok(()) }
    }

    /// Determines the fate of an accepted operation.
    fn accept(&mut self, to: Endpoint, at: GlobalAddress, token: Token) {
        self.posted.push((token, at));
        let last = self.posted.len() - 1;
        if self.answer == Answer::Denies {
            self.complete(last, Err(Failure::OutOfBounds(GlobalAddress::NULL)));
        } else if self.answer == Answer::Completes {
            self.complete(last, Ok(0));
            self.posted.pop();
        } else {
            self.calls.push(Call::Post(to.0));
        }
    }
}

/// Size of a memory page.
const PAGE_BYTES: usize = 4096;

/// Whether the page in which these bytes begin is in memory: the highest bit of the system's entry for it.
fn is_in_memory(bytes: &[u8]) -> bool {
    let (mut word, page) = ([0; 8], bytes.as_ptr().addr() / PAGE_BYTES);
    let pages = File::open("/proc/self/pagemap").unwrap();
    pages.read_exact_at(&mut word, 8 * page as u64).unwrap();
    u64::from_ne_bytes(word) >> 63 == 1
}

/// Returns rank 0 of a job of `size` ranks, of which loads and stores reach only its own memory, with a transport that is shared with the
/// test.
pub(crate) fn lone(size: u32) -> (World, Arc<Mutex<Script>>) {
    lone_with(size, Script::default(), u64::MAX)
}

/// As `lone`, for a transport with this initial state, which moves the bytes of transfers up to `data_bytes_max`.
pub(crate) fn lone_with(size: u32, script: Script, data_bytes_max: u64) -> (World, Arc<Mutex<Script>>) {
    let script = Arc::new(Mutex::new(script));
    (World::new(parts(size, HEAP_BYTES, &script, data_bytes_max)).unwrap(), script)
}

/// Returns the parts of such a job.
pub(crate) fn parts(size: u32, heap_bytes: u64, script: &Arc<Mutex<Script>>, data_bytes_max: u64) -> Parts {
    let Script { silent, blocks_max, block_bytes_max, .. } = *script.lock().unwrap();
    let addresses = AddressLayout::new(size, heap_bytes).unwrap();
    let scripted = Scripted {
        size,
        script: script.clone(),
        rails: RAILS.map(|rail| Capabilities { data_bytes_max, blocks_max, block_bytes_max, wakes_target: !silent, ..rail }),
        messages: Messages(script.clone()),
    };
    Parts {
        reach: Reach::private(addresses, Rank::new(0)).unwrap(),
        clock: Arc::new(Still(script.clone())),
        wait: Arc::new(Restless(script.clone())),
        virtual_time: Some(Arc::new(Restless(script.clone()))),
        bootstrap: Box::new(First(size, script.clone())),
        // SAFETY: U1.
        transport: unsafe { TrustedTransport::new(Box::new(scripted)) },
    }
}

/// Returns a pointer to a word in the heap of a rank of a job of [`RANKS`].
pub(crate) fn word(rank: u32) -> GlobalPtr<u64> {
    let layout = AddressLayout::new(RANKS, HEAP_BYTES).unwrap();
    GlobalPtr::from_address(layout.encode(Rank::new(rank), SegmentId::SYMMETRIC, 64 * 1024).unwrap()).unwrap()
}

/// Minimum size in bytes of a put that leaves together with its signal.
pub(crate) const SIGNALLED_BYTES_MIN: usize = 48;

/// Two rails, of which the second is three times as fast.
const RAILS: [Capabilities; 2] = {
    let slow = Capabilities {
        inject_size: 64,
        signalled_bytes_min: SIGNALLED_BYTES_MIN,
        latency: Duration::from_nanoseconds(1),
        bytes_per_second: 1e9,
        ..Capabilities::of("scripted")
    };
    [slow, Capabilities { bytes_per_second: 3e9, ..slow }]
};

/// A rank to which no explicit rail has a route.
pub(crate) const ALONE: Rank = Rank::new(2);

struct Scripted {
    size: u32,
    script: Arc<Mutex<Script>>,
    rails: [Capabilities; 2],
    messages: Messages,
}

impl Scripted {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }
}

impl Transport for Scripted {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self
    }

    fn post(
        &mut self,
        _now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        let mut script = self.script();
        if flags.fence && script.answer != Answer::Completes {
            script.calls.push(Call::Fence(to.0));
        }
        script.has_room()?;
        if flags.more {
            script.say(Said::More);
        }
        if flags.notify {
            script.say(Said::Notify);
        }
        let (kind, at) = match operation {
            Operation::Write { to, bytes } => {
                script.watch(bytes);
                (Some(Kind::Write), to)
            }
            Operation::Signalled { to, bytes, .. } => {
                script.watch(bytes);
                (Some(Kind::Signalled), to)
            }
            Operation::Put { to, .. } | Operation::PutBlocks { to, .. } => (Some(Kind::Put), to),
            Operation::Get { from, .. } | Operation::GetBlocks { from, .. } => (Some(Kind::Get), from),
            Operation::Copy { from, .. } => (Some(Kind::Copy), from),
            Operation::Atomic { at, .. } => (Some(Kind::Atomic), at),
            Operation::Sized(transfer) => {
                script.sizes.push(transfer);
                let (Transfer::Put { to: at, .. } | Transfer::Get { from: at, .. } | Transfer::Copy { from: at, .. }) = transfer;
                (None, at)
            }
        };
        if script.answer != Answer::Completes {
            script.kinds.extend(kind);
        }
        script.accept(to, at, token);
        Ok(())
    }

    fn flush(&mut self, _now: Instant) {
        self.script().say(Said::Flush);
    }

    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut script = self.script();
        script.progressed += 1;
        script.sleeps = false;
        let due = if script.answer == Answer::Denies { script.completions.len().min(1) } else { script.completions.len() };
        completed.extend(script.completions.drain(..due));
        let stirs = script.stirs > 0;
        if stirs {
            script.stirs -= 1;
            script.now = script.now + Duration::from_nanoseconds(1);
        }
        stirs || !completed.is_empty()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.script().deadline
    }

    fn before_sleep(&mut self) {
        self.script().sleeps = true;
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }
}

impl Extensions for Scripted {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        let has_messages = self.script().inbox.is_some();
        has_messages.then_some(&mut self.messages)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        let combines = self.script().contributed.is_some();
        combines.then_some(self)
    }
}

impl Reductions for Scripted {
    fn words_max(&mut self) -> usize {
        8
    }

    fn open(&mut self, _members: &Team) -> Option<ReductionGroup> {
        Some(ReductionGroup(0))
    }

    fn contribute(
        &mut self,
        _now: Instant,
        _to: ReductionGroup,
        _operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<(), PostError> {
        let mut script = self.script();
        script.has_room()?;
        script.contributed.get_or_insert_default().push_back(words.to_vec());
        script.accept(Endpoint(0), GlobalAddress::NULL, token);
        Ok(())
    }

    fn take(&mut self, _of: ReductionGroup, into: &mut [u64]) -> bool {
        let words = self.script().contributed.as_mut().and_then(VecDeque::pop_front);
        words.inspect(|words| into.copy_from_slice(words)).is_some()
    }

    fn close(&mut self, _group: ReductionGroup) {}
}

impl Network for Scripted {
    fn capabilities(&self) -> &Capabilities {
        &self.rails[0]
    }

    fn rails(&self) -> &[Capabilities] {
        &self.rails
    }

    fn address(&self) -> Address {
        Address(Vec::new())
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        assert!(peer.number() < self.size, "rank {peer} of {}", self.size);
        rail.number() < RAILS.len() && peer != ALONE
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, _address: &Address) -> Result<Endpoint, ConnectError> {
        let row = rail.map_or(0, |rail| rail.number() as u32 + 1);
        let endpoint = Endpoint(10 * row + peer.number());
        self.script().connected.push(endpoint);
        Ok(endpoint)
    }

    fn peer_failed(&mut self, _now: Instant, peer: Rank) {
        self.script().said.push(Said::Lose(peer));
    }
}

impl Registry for Scripted {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let mut script = self.script();
        if script.registry.refuses {
            return Err(RegisterError::Full(0));
        }
        script.registered.insert(start, memory.bytes());
        Ok(())
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let mut script = self.script();
        !script.registry.somebody_is_inside && script.registered.remove(&start).is_some()
    }
}

/// The transport's two-sided messages.
struct Messages(Arc<Mutex<Script>>);

impl TwoSided for Messages {
    fn send(&mut self, _now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let mut script = self.0.lock().unwrap();
        script.has_room()?;
        script.watch(bytes);
        script.sent.push((to, bytes.to_vec()));
        script.accept(to, GlobalAddress::NULL, token);
        Ok(())
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        self.0.lock().unwrap().inbox.as_mut()?.pop_front()
    }
}

/// A clock that advances only in sleeps.
struct Still(Arc<Mutex<Script>>);

impl Clock for Still {
    fn now(&self) -> Instant {
        self.0.lock().unwrap().now
    }
}

struct Restless(Arc<Mutex<Script>>);

impl Restless {
    fn tell(&self, said: Said) {
        let mut script = self.0.lock().unwrap();
        if script.answer != Answer::Completes {
            script.say(said);
        }
    }
}

impl Wait for Restless {
    fn policy(&self) -> WaitPolicy {
        WaitPolicy { spins: SPINS, yields: SPINS, ..self.0.lock().unwrap().policy.unwrap_or(POLICY) }
    }

    fn park(&self, what: For, until: Option<Instant>, ready: &mut dyn FnMut() -> bool) -> Woken {
        if ready() {
            // The system reports a fault first, whatever else has occurred.
            return self.fault().map_or(Woken::Look, Woken::Fault);
        }
        let mut script = self.0.lock().unwrap();
        assert!(script.sleeps, "whoever sleeps says so to the transport");
        script.say(Said::Park(what, until));
        if let Some(fault) = script.fault {
            return Woken::Fault(fault);
        }
        if let Some(wake) = script.wakes.take() {
            wake(&mut script);
            return Woken::Look;
        }
        match until {
            Some(until) => {
                script.now = until;
                Woken::Look
            }
            // Nothing would ever wake the rank.
            None => Woken::Fault(Fault::Deadlock),
        }
    }

    fn yield_now(&self) -> bool {
        let mut script = self.0.lock().unwrap();
        script.given_way += 1;
        script.yields_max.is_none_or(|max| script.given_way < max)
    }

    fn note(&self, activity: Activity) {
        self.tell(Said::Does(activity));
    }

    fn reports(&self) -> Option<&dyn Reports> {
        Some(self)
    }

    fn fault(&self) -> Option<Fault> {
        self.0.lock().unwrap().fault
    }

    fn tolerate_peer_failures(&self) {
        self.tell(Said::Survive);
    }

    fn failed_peer(&self, known: usize) -> Option<Rank> {
        self.0.lock().unwrap().lost.get(known).copied()
    }
}

impl Reports for Restless {
    fn show(&self, _site: &WaitSite) -> Option<u8> {
        None
    }

    fn hide(&self, _place: Option<u8>, _site: &WaitSite) {}

    fn tally(&self, tally: &Tally) {
        self.0.lock().unwrap().in_flight += tally.in_flight;
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }
}

impl VirtualTime for Restless {
    fn compute(&self, duration: Duration) {
        self.tell(Said::Compute(duration));
    }

    fn gather(&self, bytes: u64) {
        self.tell(Said::Gather(bytes));
    }

    fn entered(&self) {
        self.tell(Said::Entered);
    }

    fn left(&self) {
        self.tell(Said::Left);
    }
}

/// The bootstrap of rank 0. Of other ranks, only the addresses for the transport can be looked up.
struct First(u32, Arc<Mutex<Script>>);

impl Bootstrap for First {
    fn rank(&self) -> Rank {
        Rank::new(0)
    }

    fn size(&self) -> u32 {
        self.0
    }

    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError> {
        self.1.lock().unwrap().published.insert(key.into(), value.into());
        Ok(())
    }

    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError> {
        // All ranks have published the same values.
        self.1.lock().unwrap().published.get(key).cloned().ok_or_else(|| BootstrapError::Missing(rank, key.into()))
    }

    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError> {
        meanwhile();
        self.1.lock().unwrap().said.push(Said::Barrier);
        Ok(())
    }

    fn finish(&mut self) {
        self.1.lock().unwrap().said.push(Said::Finish);
    }
}
