//! The transport between ranks of several hosts: another transport that reaches all of them, such as datagrams, introduces them to each other.
//!
//! ```text
//!   rank                                     peer
//!     │ get (control) ─────────────────────▶ │  its record: the address of its endpoint; nobody there takes part
//!     │ ◀─────────────────────────── record  │
//!     │ HELLO (fabric) ════════════════════▶ │  from here on as between ranks of one host
//!     │ get (control), while it is awaited ▶ │  whether it lives is found out by the control transport
//!     │ put, get … (control), instead ─────▶ │  where the fabric does not lead
//!     │ GET (fabric), each failure limit ══▶ │  while it owes an answer over the fabric and is silent
//! ```

use std::collections::{BTreeMap, VecDeque};

use pelago_base::{AddressLayout, Duration, Failure, GlobalAddress, Instant, Rank, SegmentId};
use pelago_memory::{Cells, Region};
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Flags, Network, Operation, PostError, Rail,
    RegisterError, Registry, Token, Transport,
};

use crate::engine::Awaited;
use crate::fabric::FabricError;
use crate::limits::{
    PAUSE_MILLISECONDS, PROBE_MILLISECONDS, QUESTION_PAUSE_MILLISECONDS, QUESTIONS_MAX, SILENCE_FAILURE_LIMITS,
    SLOWEST_BYTES_PER_SECOND,
};
use crate::message::ADDRESS_BYTES_MAX;
use crate::transport::{Ofi, Setup};

/// The means by which ranks of several hosts find each other.
pub struct Introduction<C> {
    /// A transport to every rank that is used for nothing else.
    pub control: C,
    /// Returns the address of a rank on this transport.
    pub find: Box<dyn Fn(Rank) -> Option<Address> + Send>,
    /// The failure limit of the job: operations to a peer that owes an answer over the fabric end after 20 of them without a sign of life.
    pub failure_limit: Duration,
    /// Called with each rank whose operations have ended so: it is alive, and the fabric does not reach it.
    pub unreachable: Box<dyn Fn(Rank) + Send>,
}

/// [`Ofi`] between ranks that do not know each other's endpoints: they read them from each other's memory through a control transport, at the
/// first contact. A failure of the control transport counts as a failure of the peer. The control transport probes peers for which operations wait,
/// and reports failed ones to its creator.
///
/// Operations use the fabric, or the control transport where the fabric does not reach the peer, as between hosts with different fabrics. Memory is registered
/// with both. The address is that of the control transport.
pub struct Introduced<C> {
    ofi: Ofi,
    control: C,
    find: Box<dyn Fn(Rank) -> Option<Address> + Send>,
    layout: AddressLayout,
    address: Address,
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    /// Free memory for records; that of outstanding queries is not here.
    free: Vec<Cells<'static>>,
    asked: BTreeMap<u64, Question>,
    last: u64,
    wanted: VecDeque<Rank>,
    /// Whether this rank has connected to a peer since the last queries.
    has_met: bool,
    failure_limit: Duration,
    unreachable: Box<dyn Fn(Rank) + Send>,
    /// Peers for which operations waited at the last probe.
    awaited: BTreeMap<Rank, Silence>,
    last_probe: Instant,
    next_probe: Instant,
    retry: Option<Instant>,
    answers: Vec<Completion>,
}

/// Silence of a peer over the fabric.
#[derive(Clone, Copy)]
struct Silence {
    /// When the peer has last given a sign of life, or begun to owe an answer.
    since: Instant,
    /// When it was last asked for a sign of life.
    asked: Instant,
}

/// An outstanding read of another rank's record.
struct Question {
    rank: Rank,
    into: Cells<'static>,
    /// Whether the address of the rank is needed, and not only a sign of life.
    seeks: bool,
}

/// Size in bytes of the record that other ranks read: the length of the address, and the address.
const RECORD_BYTES: usize = (8 + ADDRESS_BYTES_MAX).next_multiple_of(8);

impl<C: Transport> Introduced<C> {
    /// Creates the transport of a rank. The library may search for devices for a second.
    ///
    /// # Errors
    /// As [`Ofi::new`]; or the control transport cannot register the record.
    pub fn new(setup: Setup, introduction: Introduction<C>) -> Result<Self, FabricError> {
        let Introduction { mut control, find, failure_limit, unreachable } = introduction;
        let (me, layout) = (setup.me, setup.layout);
        let ofi = Ofi::open(setup, true)?;
        let address = ofi.address().0;
        let own = memory();
        let mut bytes = [&(address.len() as u64).to_le_bytes()[..], &address].concat();
        bytes.resize(RECORD_BYTES, 0);
        own.write(&bytes);
        let registered = record(layout, me)
            .ok_or_else(|| "no address is left for it".to_owned())
            .and_then(|start| control.memory().register(start, own.into()).map_err(|error| error.to_string()));
        registered.map_err(|why| FabricError::System(format!("ranks cannot find each other: {why}")))?;
        let address = control.network().address();
        // Either transport may perform an operation, and posts to the control transport need the current time.
        let other = *control.network().capabilities();
        let limited = |rail: &Capabilities| Capabilities {
            message_bytes_max: rail.message_bytes_max.min(other.message_bytes_max),
            blocks_max: rail.blocks_max.min(other.blocks_max),
            keeps_time: false,
            ..*rail
        };
        ofi.shared.lock().limit_blocks(other.blocks_max);
        let (capabilities, rails) = (limited(ofi.capabilities()), ofi.rails().iter().map(limited).collect());
        Ok(Self {
            capabilities,
            rails,
            ofi,
            control,
            find,
            layout,
            address,
            free: (0..QUESTIONS_MAX).map(|_| memory()).collect(),
            asked: BTreeMap::new(),
            last: 0,
            wanted: VecDeque::new(),
            has_met: false,
            failure_limit,
            unreachable,
            awaited: BTreeMap::new(),
            last_probe: Instant::ZERO,
            next_probe: Instant::ZERO,
            retry: None,
            answers: Vec::new(),
        })
    }

    /// The transport over the fabric.
    pub fn ofi(&self) -> &Ofi {
        &self.ofi
    }

    /// The transport that introduces ranks.
    pub fn control(&self) -> &C {
        &self.control
    }

    /// Records in all capabilities how the fabric accesses device memory.
    fn show_devices(&mut self) {
        for shown in self.rails.iter_mut().chain([&mut self.capabilities]) {
            shown.device_memory = self.ofi.capabilities().device_memory;
        }
    }

    /// Queries the addresses that are needed.
    fn ask(&mut self, now: Instant) {
        let wanted = self.ofi.shared.lock().take_wanted();
        self.wanted.extend(wanted);
        self.has_met = false;
        self.retry = None;
        while let Some(&rank) = self.wanted.front() {
            match self.question(now, rank, true) {
                Ok(()) => {}
                Err(PostError::Full) => {
                    self.retry = Some(now + Duration::from_milliseconds(QUESTION_PAUSE_MILLISECONDS));
                    return;
                }
                Err(_) => self.ofi.shared.lock().found(rank, Err(Failure::Unreachable(rank))),
            }
            self.wanted.pop_front();
        }
    }

    /// Reads the record of a rank.
    fn question(&mut self, now: Instant, rank: Rank, seeks: bool) -> Result<(), PostError> {
        let nowhere = PostError::Elsewhere(rank);
        let from = record(self.layout, rank).ok_or(nowhere)?;
        let into = *self.free.last().ok_or(PostError::Full)?;
        let address = (self.find)(rank).ok_or(nowhere)?;
        let endpoint = self.control.network().connect(None, rank, &address).map_err(|_| nowhere)?;
        self.last += 1;
        self.control.post(now, endpoint, Operation::Get { from, to: into }, Flags::NONE, Token(self.last))?;
        self.free.pop();
        self.asked.insert(self.last, Question { rank, into, seeks });
        Ok(())
    }

    /// Posts operations to peers that the fabric does not reach to the control transport.
    fn go_around(&mut self, now: Instant) {
        let mut engine = self.ofi.shared.lock();
        while let Some((key, rank, operation, flags)) = engine.next_detour() {
            let endpoint = (self.find)(rank).and_then(|address| self.control.network().connect(None, rank, &address).ok());
            let nowhere = Err(PostError::Elsewhere(rank));
            let token = Token(AROUND | key as u64);
            let posted = endpoint.map_or(nowhere, |endpoint| self.control.post(now, endpoint, operation, flags, token));
            match posted {
                Ok(()) => engine.posted_around(None),
                Err(PostError::Full) => {
                    self.retry = Some(now + Duration::from_milliseconds(QUESTION_PAUSE_MILLISECONDS));
                    break;
                }
                Err(_) => engine.posted_around(Some(Failure::Unreachable(rank))),
            }
        }
    }

    fn answered(&mut self, Completion { token, result }: Completion) {
        if token.0 & AROUND != 0 {
            return self.ofi.shared.lock().detoured((token.0 & !AROUND) as usize, result);
        }
        let Some(Question { rank, into, seeks }) = self.asked.remove(&token.0) else { return };
        self.free.push(into);
        if seeks {
            let read = result.and_then(|_| read(into).ok_or(Failure::Unreachable(rank)));
            self.ofi.shared.lock().found(rank, read);
        }
    }

    /// Probes peers for which operations have waited since the last probe: the control transport detects the failure of one that does not answer.
    fn probe(&mut self, now: Instant) {
        if now < self.next_probe {
            return;
        }
        self.next_probe = now + Duration::from_milliseconds(PROBE_MILLISECONDS);
        let mut engine = self.ofi.shared.lock();
        engine.look_for_silent();
        let awaited = engine.awaited();
        drop(engine);
        for &Awaited { rank, .. } in &awaited {
            let is_asked = self.asked.values().any(|question| question.rank == rank);
            if !is_asked && self.awaited.contains_key(&rank) && self.question(now, rank, false) == Err(PostError::Full) {
                break;
            }
        }
        self.watch(now, awaited);
    }

    /// Ends operations to peers that have owed an answer over the fabric for too long, although the control transport reaches them. A
    /// fabric over sockets reports a network that drops its packets only after minutes.
    fn watch(&mut self, now: Instant, awaited: Vec<Awaited>) {
        let was_away = now.since(self.last_probe) > Duration::from_milliseconds(PAUSE_MILLISECONDS);
        self.last_probe = now;
        let before = std::mem::take(&mut self.awaited);
        let limit = self.failure_limit.as_picoseconds().saturating_mul(SILENCE_FAILURE_LIMITS);
        let mut unreachable = Vec::new();
        for Awaited { rank, owes, was_heard } in awaited {
            let known = before.get(&rank).copied().filter(|_| owes && !was_heard && !was_away);
            let mut silence = known.unwrap_or(Silence { since: now, asked: now });
            let silent = now.since(silence.since).as_picoseconds();
            let mut engine = self.ofi.shared.lock();
            if silent >= limit && silent >= limit.saturating_add(transfer_time(engine.access_bytes())) {
                if engine.give_up_silent(rank) {
                    unreachable.push(rank);
                }
                continue;
            }
            if now.since(silence.asked) >= self.failure_limit {
                silence.asked = now;
                engine.ask_silent(rank);
            }
            drop(engine);
            self.awaited.insert(rank, silence);
        }
        if !unreachable.is_empty() {
            // Another thread of this rank may wait for the operations.
            self.ofi.shared.tell(true, Vec::new());
            unreachable.into_iter().for_each(|rank| (self.unreachable)(rank));
        }
    }
}

/// Returns the time in ps that accesses of so many bytes take on the slowest network.
fn transfer_time(bytes: u64) -> u64 {
    const PICOSECONDS_PER_BYTE: u64 = 1_000_000_000_000 / SLOWEST_BYTES_PER_SECOND;
    bytes.saturating_mul(PICOSECONDS_PER_BYTE)
}

/// Allocates memory for the record of a rank. It lives as long as the process: until then a peer may read it, or an answer may arrive.
fn memory() -> Cells<'static> {
    Cells::from_mut(vec![0_u64; RECORD_BYTES / 8].leak())
}

/// The address in a record.
fn read(record: Cells<'static>) -> Option<Address> {
    let bytes = record.to_vec();
    let (length, address) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    address.get(..length).map(|address| Address(address.into()))
}

/// The address of a rank's record on the control transport: at the end of the addresses of registered memory, which are allocated from their beginning.
fn record(layout: AddressLayout, rank: Rank) -> Option<GlobalAddress> {
    let bytes = (RECORD_BYTES as u64).next_multiple_of(64);
    layout.encode(rank, SegmentId::new(layout.segment_max())?, layout.segment_bytes().checked_sub(bytes)?).ok()
}

/// Bit that marks tokens of operations through the control transport; other tokens are those of queries.
const AROUND: u64 = 1 << 63;

impl<C: Transport> Transport for Introduced<C> {
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
        let posted = self.ofi.post(now, to, operation, flags, token);
        if self.has_met || matches!(operation, Operation::Copy { .. }) {
            self.ask(now);
        }
        self.go_around(now);
        posted
    }

    fn flush(&mut self, now: Instant) {
        self.control.flush(now);
        self.ofi.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut answers = std::mem::take(&mut self.answers);
        let control = self.control.progress(now, &mut answers);
        answers.drain(..).for_each(|answer| self.answered(answer));
        self.answers = answers;
        let moved = self.ofi.progress(now, completed);
        self.ask(now);
        self.go_around(now);
        self.probe(now);
        control || moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        let probe = self.ofi.shared.lock().is_waiting().then_some(self.next_probe);
        [probe, self.retry, self.control.next_deadline(), self.ofi.next_deadline()].into_iter().flatten().min()
    }

    fn before_sleep(&mut self) {
        self.control.before_sleep();
        self.ofi.before_sleep();
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        None
    }
}

#[deny(clippy::missing_trait_methods)]
impl<C: Transport> Network for Introduced<C> {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn rails(&self) -> &[Capabilities] {
        &self.rails
    }

    fn address(&self) -> Address {
        self.address.clone()
    }

    fn rail_to(&mut self, peer: Rank) -> Rail {
        self.ofi.rail_to(peer)
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        self.ofi.is_reachable(rail, peer)
    }

    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        self.ofi.rail_of_copy(from, to)
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if rail.is_some_and(|rail| !self.is_reachable(rail, peer)) {
            return Err(ConnectError::Unreachable(peer));
        }
        // The control transport refuses an address that is not its own.
        self.control.network().connect(None, peer, address)?;
        self.has_met = true;
        self.ofi.shared.lock().connect_sought(peer, rail.unwrap_or(Rail::FIRST))
    }

    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        self.control.network().peer_failed(now, peer);
        self.ofi.peer_failed(now, peer);
    }
}

impl<C: Transport> Registry for Introduced<C> {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.control.memory().register(start, memory.clone())?;
        let registered = self.ofi.register(start, memory).inspect_err(|_| {
            // No peer knows of the memory yet, so no access is in progress.
            self.control.memory().deregister(start);
        });
        self.show_devices();
        registered
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let (around, ofi) = (self.control.memory().deregister(start), self.ofi.deregister(start));
        self.show_devices();
        around && ofi
    }
}
