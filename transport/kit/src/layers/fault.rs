//! A layer that makes a transport behave as badly as its contract allows.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use pelago_base::{AddressLayout, Duration, Instant, Rank};
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Failure, Flags, Network, Operation, Ordering,
    PostError, Rail, Reductions, Registry, Token, Transport, TwoSided,
};

use crate::captured::{Captured, Work, check_blocks, length};

/// Maximum number of operations that a [`Fault`] delays at once: sufficient to reorder a burst, and small enough for occasional `Full`
/// answers.
const HELD_MAX: usize = 64;

/// Maximum delay of an operation: longer than most operations take, so that later ones overtake it.
const DELAY_MAX: Duration = Duration::from_microseconds(10);

/// Time after which delayed operations that found the inner transport full are posted again: a rank that waits for its memory is not woken when others
/// complete.
const POST_AGAIN_AFTER: Duration = Duration::from_microseconds(1);

/// Kinds and rates of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Seed of the random numbers: the same seed and the same calls give the same faults.
    pub seed: u64,
    /// Number of posts in 1000 that are refused with `Full` for no reason. Must be below 1000, otherwise nothing is ever accepted.
    pub full_per_mille: u32,
    /// Number of accepted operations in 1000 that are delayed for up to 10 µs, so that later ones overtake them.
    pub delay_per_mille: u32,
    /// A rank that fails, for this end only, and the number of operations that this end accepts before.
    pub peer_failed: Option<(Rank, u64)>,
}

/// Delays of operations by one rail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Number of operations in 1000 that are delayed.
    pub delay_per_mille: u32,
    /// Maximum delay.
    pub delay_max: Duration,
}

/// A transport that refuses, delays, reorders and loses operations, within the limits of the contract.
///
/// An operation is delayed before it reaches the inner transport, so its effect is late as well as its completion. Fences hold
/// (T5): no operation overtakes them. Deterministic (T7). Operations in flight when the rank fails may have taken effect there.
///
/// A transfer of which only the size travels is treated as any other operation. So is a two-sided message, except that fences do not order it;
/// messages of the failed rank that were not received yet are lost too. Otherwise no message that the network has accepted is dropped.
pub struct Fault<T> {
    inner: T,
    /// Capabilities and address of the inner transport; the capabilities without order and timing.
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    address: Address,
    layout: AddressLayout,
    faults: Faults,
    random: Rng,
    now: Instant,
    connected: BTreeMap<Endpoint, Rank>,
    /// Delays of each rail, if they differ from `faults`, and the delays of endpoints of these rails.
    manners: Vec<Manner>,
    by_rail: BTreeMap<Endpoint, Manner>,
    accepted: u64,
    /// Delayed operations and fences, in order of posting.
    held: Vec<Held>,
    /// Endpoints where a fence comes before the next operation that is posted to `inner`.
    fences: BTreeSet<Endpoint>,
    /// Operations that need the rank that is to fail, and were posted to `inner`.
    endangered: Vec<Token>,
    /// Operations that need the failed rank and complete at the next progress.
    failed: Vec<Token>,
    /// Whether a post was refused for no reason: then the next progress must come soon, as nothing else may ask for it.
    refused: bool,
    /// Whether a delayed operation found the inner transport full.
    is_full: bool,
}

enum Held {
    Work { to: Endpoint, work: OwnWork, token: Token, due: Instant },
    Fence { to: Endpoint },
}

/// A posted operation or message, with its own copy of the data that it borrowed.
enum OwnWork {
    Operation(Captured, Flags),
    Message(Box<[u8]>),
}

impl<T: Transport> Fault<T> {
    /// Adds faults to `inner`, whose global addresses follow `layout`.
    pub fn new(mut inner: T, layout: AddressLayout, faults: Faults) -> Self {
        let network = inner.network();
        // Delayed operations are overtaken, and the delay counts from the `now` of the post.
        let disturbed = |rail: &Capabilities| Capabilities { ordering: Ordering::Unordered, keeps_time: false, ..*rail };
        let (capabilities, rails) = (disturbed(network.capabilities()), network.rails().iter().map(disturbed).collect());
        let address = network.address();
        Self {
            inner,
            capabilities,
            rails,
            address,
            layout,
            faults,
            random: Rng::with_seed(faults.seed),
            now: Instant::ZERO,
            connected: BTreeMap::new(),
            manners: Vec::new(),
            by_rail: BTreeMap::new(),
            accepted: 0,
            held: Vec::new(),
            fences: BTreeSet::new(),
            endangered: Vec::new(),
            failed: Vec::new(),
            refused: false,
            is_full: false,
        }
    }

    /// Sets the delays of operations to endpoints of a named rail, by rail number; `faults` governs all other operations.
    #[must_use]
    pub fn by_rail(self, manners: Vec<Manner>) -> Self {
        Self { manners, ..self }
    }

    /// The inner transport.
    pub fn inner(&self) -> &T {
        &self.inner
    }

    /// Refuses, passes or delays a post that the inner transport has no other reason to refuse.
    fn start(&mut self, now: Instant, to: Endpoint, work: Work<'_>, token: Token) -> Result<(), PostError> {
        self.now = now;
        if !self.connected.contains_key(&to) {
            return Err(PostError::Unknown(to));
        }
        if self.random.u32(..1000) < self.faults.full_per_mille || self.held.len() + self.failed.len() >= HELD_MAX {
            self.refused = true;
            return Err(PostError::Full);
        }
        self.accept(to, work, token)?;
        self.accepted += 1;
        Ok(())
    }

    /// Passes or delays an accepted post.
    fn accept(&mut self, to: Endpoint, work: Work<'_>, token: Token) -> Result<(), PostError> {
        let fenced = !work.is_message() && self.held.iter().any(|held| held.is_fence() && held.endpoint() == to);
        let all = Manner { delay_per_mille: self.faults.delay_per_mille, delay_max: DELAY_MAX };
        let Manner { delay_per_mille, delay_max } = self.by_rail.get(&to).copied().unwrap_or(all);
        if self.random.u32(..1000) < delay_per_mille || fenced {
            let delay = Duration::from_picoseconds(1 + self.random.u64(..delay_max.as_picoseconds().max(1)));
            self.held.push(Held::Work { to, work: OwnWork::new(work), token, due: self.now + delay });
            return Ok(());
        }
        self.pass(to, work, token)
    }

    /// Posts to the inner transport, unless the work needs the failed rank.
    fn pass(&mut self, to: Endpoint, work: Work<'_>, token: Token) -> Result<(), PostError> {
        let needs = work.ends(self.layout).unwrap_or_else(|| [self.connected[&to]; 2]);
        let endangered = self.faults.peer_failed.is_some_and(|(rank, _)| needs.contains(&rank));
        if endangered && self.lost().is_some() {
            self.failed.push(token);
            return Ok(());
        }
        let work = match work {
            Work::Operation(operation, flags) => Work::Operation(operation, Flags { fence: self.fences.remove(&to), ..flags }),
            message @ Work::Message(_) => message,
        };
        work.post(&mut self.inner, self.now, to, token)?;
        if endangered {
            self.endangered.push(token);
        }
        Ok(())
    }

    /// Passes work whose delay has ended, as far as the inner transport accepts it. Returns whether any was passed.
    fn release(&mut self) -> bool {
        let held_before = self.held.len();
        self.is_full = false;
        while let Some(index) = self.next_to_release() {
            match self.held.remove(index) {
                Held::Fence { to } => drop(self.fences.insert(to)),
                Held::Work { to, work, token, due } => {
                    if self.pass(to, work.borrow(), token).is_err() {
                        self.held.insert(index, Held::Work { to, work, token, due });
                        self.is_full = true;
                        break;
                    }
                }
            }
        }
        self.held.len() < held_before
    }

    /// Selects by due time, not by time of posting, so that operations overtake each other even if a fence held them until all were due.
    fn next_to_release(&self) -> Option<usize> {
        let free = (0..self.held.len()).filter(|&index| self.may_pass(index));
        free.min_by_key(|&index| self.held[index].due())
    }

    /// Whether the entry at `index` may pass: an operation overtakes operations but no fence, a fence overtakes no operation, and messages
    /// are independent of both.
    fn may_pass(&self, index: usize) -> bool {
        let (held, mut earlier) = (&self.held[index], self.held[..index].iter());
        let is_one_fence = |other: &Held| held.is_fence() || other.is_fence();
        let stops = |other: &Held| other.is_ordered_at(held.endpoint()) && is_one_fence(other);
        held.due() <= self.now && (held.is_message() || !earlier.any(stops))
    }

    /// Makes everything posted to an endpoint so far take effect before what is posted next.
    fn fence(&mut self, to: Endpoint) {
        match self.held.iter().rfind(|held| held.is_ordered_at(to)) {
            None => drop(self.fences.insert(to)),
            Some(Held::Work { .. }) => self.held.push(Held::Fence { to }),
            Some(Held::Fence { .. }) => {}
        }
    }

    /// The failed rank, once it has failed.
    fn lost(&self) -> Option<Rank> {
        self.faults.peer_failed.and_then(|(rank, after)| (self.accepted >= after).then_some(rank))
    }
}

impl OwnWork {
    fn new(work: Work<'_>) -> Self {
        match work {
            Work::Operation(operation, flags) => Self::Operation(Captured::new(operation), flags),
            Work::Message(bytes) => Self::Message(bytes.into()),
        }
    }

    fn borrow(&self) -> Work<'_> {
        match self {
            // The operation with which it was to share a message may have left long ago.
            Self::Operation(operation, flags) => Work::Operation(operation.operation(), Flags { more: false, ..*flags }),
            Self::Message(bytes) => Work::Message(bytes),
        }
    }
}

impl Held {
    fn endpoint(&self) -> Endpoint {
        match *self {
            Self::Work { to, .. } | Self::Fence { to } => to,
        }
    }

    fn is_message(&self) -> bool {
        matches!(self, Self::Work { work: OwnWork::Message(_), .. })
    }

    /// Whether fences of `endpoint` order this entry.
    fn is_ordered_at(&self, endpoint: Endpoint) -> bool {
        self.endpoint() == endpoint && !self.is_message()
    }

    fn is_fence(&self) -> bool {
        matches!(self, Self::Fence { .. })
    }

    /// Time until which the entry is delayed; a fence is not delayed.
    fn due(&self) -> Instant {
        match *self {
            Self::Work { due, .. } => due,
            Self::Fence { .. } => Instant::ZERO,
        }
    }
}

impl<T: Transport> Transport for Fault<T> {
    fn network(&mut self) -> &mut dyn Network {
        self
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        // A delayed operation cannot be refused later, so all reasons for a refusal are checked here and in `start`.
        match operation {
            Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }
                if bytes.len() > self.capabilities.inject_size =>
            {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Signalled { bytes, .. } if self.rails.iter().all(|rail| bytes.len() < rail.signalled_bytes_min) => {
                return Err(PostError::Signalled);
            }
            Operation::Sized(_) if self.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            operation if length(&operation) > self.capabilities.message_bytes_max => {
                return Err(PostError::TooLong(length(&operation) as usize));
            }
            Operation::PutBlocks { from: local, from_shape: shape, blocks, .. }
            | Operation::GetBlocks { to: local, to_shape: shape, blocks, .. } => {
                match self.rails.iter().map(|rail| rail.blocks_max).max() {
                    None | Some(0) => return Err(PostError::Blocks),
                    Some(blocks_max) => check_blocks(local, shape, blocks, blocks_max)?,
                }
            }
            _ => {}
        }
        if flags.fence {
            self.fence(to);
        }
        self.start(now, to, Work::Operation(operation, Flags { fence: false, ..flags }), token)
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        self.now = now;
        let before = completed.len();
        let mut moved = self.inner.progress(now, completed) | std::mem::take(&mut self.refused);
        let lost = self.lost();
        for completion in &mut completed[before..] {
            if let Some(index) = self.endangered.iter().position(|token| *token == completion.token) {
                self.endangered.swap_remove(index);
                completion.result = lost.map_or(completion.result, |rank| Err(Failure::PeerLost(rank)));
            }
        }
        moved |= self.release() | !self.failed.is_empty();
        if let Some(rank) = lost {
            completed.extend(self.failed.drain(..).map(|token| Completion { token, result: Err(Failure::PeerLost(rank)) }));
        }
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        let at_once = (self.refused || !self.failed.is_empty()).then_some(self.now);
        let again = self.is_full.then(|| self.now + POST_AGAIN_AFTER);
        // Entries that are due and still held wait for a fence or for space in the inner transport; their due time no longer matters.
        let due = self.held.iter().map(Held::due).filter(|due| *due > self.now);
        due.chain(at_once).chain(again).chain(self.inner.next_deadline()).min()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()?;
        Some(self)
    }
}

impl<T: Transport> Extensions for Fault<T> {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        self.inner.extensions()?.two_sided()?;
        Some(self)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        self.inner.extensions()?.reductions()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<T: Transport> Network for Fault<T> {
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
        self.inner.network().rail_to(peer)
    }

    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        self.inner.network().rail_of_copy(from, to)
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        self.inner.network().is_reachable(rail, peer)
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        let endpoint = self.inner.network().connect(rail, peer, address)?;
        self.connected.insert(endpoint, peer);
        if let Some(&manner) = rail.and_then(|rail| self.manners.get(rail.number())) {
            self.by_rail.insert(endpoint, manner);
        }
        Ok(endpoint)
    }

    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        self.inner.network().peer_failed(now, peer);
    }
}

impl<T: Transport> TwoSided for Fault<T> {
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        self.start(now, to, Work::Message(bytes), token)
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let lost = self.lost();
        loop {
            let taken = self.inner.extensions()?.two_sided()?.take()?;
            if Some(taken.0) != lost {
                return Some(taken);
            }
        }
    }
}
