//! One transport made of two: the near one for memory that it reaches, the far one for everything else.

use std::collections::BTreeMap;

use pelago_base::limits::SPLIT_OPERATIONS_MAX;
use pelago_base::{AddressLayout, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Flags, Network, Operation, PostError, Rail, RegisterError,
    Registry, Token, Transport, TwoSided,
};

use crate::captured::Work;

/// Chooses between two transports for each operation: `near` if all memory that it names is near, else `far`. Two-sided messages go by
/// `far`, if it has them. Bytes are moved unless both transports move sizes. Its rails are those of
/// `near` and then those of `far`; by the latter a near rank is reached too, by whoever asks for that.
///
/// `far` leads to every rank, `near` to some of them. The layer bears the name and the address of `far`; how a near rank is reached by
/// `near` follows from its number. Memory is registered with both, so that each peer finds it whichever way it comes; so `near`
/// and `far` accept a second `deregister` of what they have given up already.
///
/// A fence orders the operations of both to one peer, and is exact: an operation after it is refused with `Full` until those
/// that the *other* transport accepted for that peer before it have completed; within one transport its own fence suffices.
/// For that every operation has a place in a table, whose index is the token inside. Costs: some instructions per operation and no
/// allocation once the table has grown to what is under way; per peer 48 bytes.
pub struct Split<N, F, P> {
    near: N,
    far: F,
    layout: AddressLayout,
    is_near: P,
    near_address: fn(Rank) -> Address,
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    /// The number of the first rail of `far`.
    first_far: usize,
    address: Address,
    /// Those that a peer is reached by: as is best, or by a rail of `far`.
    endpoints: BTreeMap<(Rank, Option<Rail>), Endpoint>,
    /// By number of endpoint.
    peers: Vec<Peer>,
    operations: Vec<UnderWay>,
    free: Vec<u32>,
}

/// A peer, through both transports.
struct Peer {
    /// None for a rank that is not near.
    near: Option<Endpoint>,
    far: Endpoint,
    /// How often a fence was asked for.
    fences: u32,
    /// Whether one comes before what is posted next, on either side.
    fenced: [bool; 2],
    /// Operations that each side has accepted and not completed.
    under_way: [u32; 2],
    /// Those of them that were accepted before the last fence.
    before: [u32; 2],
}

/// An operation that one of the two has accepted.
struct UnderWay {
    token: Token,
    peer: u32,
    /// The fences of the peer before it.
    fences: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Near = 0,
    Far = 1,
}

impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> Split<N, F, P> {
    /// Reaches the ranks for which `is_near` holds by `near`, which finds them by `near_address`, and all ranks by `far`. Both divide
    /// addresses by `layout`.
    pub fn new(mut near: N, mut far: F, layout: AddressLayout, is_near: P, near_address: fn(Rank) -> Address) -> Self {
        let (close, distant) = (near.network(), far.network());
        let first_far = close.rails().len();
        let write_bytes_max = close.capabilities().write_bytes_max.min(distant.capabilities().write_bytes_max);
        // Bytes that either side moves by size alone.
        let data_bytes_max = close.capabilities().data_bytes_max.max(distant.capabilities().data_bytes_max);
        let limited = |rail: &Capabilities| Capabilities { write_bytes_max, data_bytes_max, ..*rail };
        let capabilities = limited(distant.capabilities());
        let rails = close.rails().iter().chain(distant.rails()).map(limited).collect();
        let address = distant.address();
        Self {
            first_far,
            address,
            near,
            far,
            layout,
            is_near,
            near_address,
            capabilities,
            rails,
            endpoints: BTreeMap::new(),
            peers: Vec::new(),
            operations: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The transport to near ranks.
    pub fn near(&self) -> &N {
        &self.near
    }

    /// The transport to all ranks.
    pub fn far(&self) -> &F {
        &self.far
    }

    /// Which of the two some work takes to `peer`, and the peer's endpoint there.
    fn way(&self, peer: &Peer, work: Work<'_>) -> (Side, Endpoint) {
        match (peer.near, work.ends(self.layout)) {
            (Some(near), Some(ends)) if ends.into_iter().all(&self.is_near) => (Side::Near, near),
            _ => (Side::Far, peer.far),
        }
    }

    /// Posts some work to the side that it takes. A later fence waits for a message as for all that is under way there.
    #[inline]
    fn start(&mut self, now: Instant, to: Endpoint, work: Work<'_>, token: Token) -> Result<(), PostError> {
        let peer = self.peers.get(to.0 as usize).ok_or(PostError::Unknown(to))?;
        let (side, inside) = self.way(peer, work);
        if peer.before[1 - side as usize] > 0 && !work.is_message() {
            return Err(PostError::Full);
        }
        let under_way = UnderWay { token, peer: to.0, fences: peer.fences };
        let place = self.place(under_way).ok_or(PostError::Full)?;
        let work = match work {
            Work::Operation(operation, flags) => {
                let fence = std::mem::take(&mut self.peers[to.0 as usize].fenced[side as usize]);
                Work::Operation(operation, Flags { fence, ..flags })
            }
            message @ Work::Message(_) => message,
        };
        let posted = match side {
            Side::Near => work.post(&mut self.near, now, inside, Token(place.into())),
            Side::Far => work.post(&mut self.far, now, inside, Token(place.into())),
        };
        match posted {
            Ok(()) => self.peers[to.0 as usize].under_way[side as usize] += 1,
            Err(_) => self.free.push(place),
        }
        posted
    }

    /// What was posted to an endpoint takes effect before what is posted from now on.
    fn fence(&mut self, to: Endpoint) {
        let Some(peer) = self.peers.get_mut(to.0 as usize) else { return };
        peer.fenced = [true; 2];
        if peer.near.is_some() {
            peer.fences = peer.fences.wrapping_add(1);
            peer.before = peer.under_way;
        }
    }

    /// The number of a rail among those of the side that has it.
    fn inside(&self, rail: Rail) -> Option<(Side, Rail)> {
        let (side, number) = match rail.number().checked_sub(self.first_far) {
            None => (Side::Near, rail.number()),
            Some(number) => (Side::Far, number),
        };
        Rail::new(number).filter(|_| rail.number() < self.rails.len()).map(|rail| (side, rail))
    }

    /// The number that a rail of one side has here.
    fn outside(&self, side: Side, rail: Rail) -> Rail {
        let first = if side == Side::Near { 0 } else { self.first_far };
        Rail::new(first + rail.number()).unwrap_or(Rail::FIRST)
    }

    /// The endpoint that is known by a name, or a new one.
    fn endpoint(&mut self, name: (Rank, Option<Rail>), near: Option<Endpoint>, far: Endpoint) -> Endpoint {
        let new = Endpoint(self.peers.len() as u32);
        let endpoint = *self.endpoints.entry(name).or_insert(new);
        if endpoint == new {
            self.peers.push(Peer { near, far, fences: 0, fenced: [false; 2], under_way: [0; 2], before: [0; 2] });
        }
        endpoint
    }

    /// A place in the table of operations.
    fn place(&mut self, operation: UnderWay) -> Option<u32> {
        if let Some(place) = self.free.pop() {
            self.operations[place as usize] = operation;
            return Some(place);
        }
        let place = self.operations.len();
        (place < SPLIT_OPERATIONS_MAX).then(|| {
            self.operations.push(operation);
            place as u32
        })
    }

    /// Gives completions of one side their own tokens back.
    fn settle(&mut self, side: Side, completed: &mut [Completion]) {
        for Completion { token, .. } in completed {
            let place = token.0 as u32;
            let operation = &self.operations[place as usize];
            let peer = &mut self.peers[operation.peer as usize];
            peer.under_way[side as usize] -= 1;
            if operation.fences != peer.fences {
                peer.before[side as usize] -= 1;
            }
            *token = operation.token;
            self.free.push(place);
        }
    }
}

impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> Transport for Split<N, F, P> {
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
        match operation {
            Operation::Write { bytes, .. } if bytes.len() > self.capabilities.write_bytes_max => {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) if self.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            _ => {}
        }
        if flags.fence {
            self.fence(to);
        }
        self.start(now, to, Work::Operation(operation, Flags { fence: false, ..flags }), token)
    }

    fn flush(&mut self, now: Instant) {
        self.near.flush(now);
        self.far.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut moved = false;
        for side in [Side::Near, Side::Far] {
            let before = completed.len();
            moved |= match side {
                Side::Near => self.near.progress(now, completed),
                Side::Far => self.far.progress(now, completed),
            };
            self.settle(side, &mut completed[before..]);
        }
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.near.next_deadline(), self.far.next_deadline()].into_iter().flatten().min()
    }

    fn before_sleep(&mut self) {
        self.near.before_sleep();
        self.far.before_sleep();
    }

    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        self.far.two_sided()?;
        Some(self)
    }
}

#[deny(clippy::missing_trait_methods)]
impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> Network for Split<N, F, P> {
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
        if (self.is_near)(peer) {
            let rail = self.near.network().rail_to(peer);
            return self.outside(Side::Near, rail);
        }
        let rail = self.far.network().rail_to(peer);
        self.outside(Side::Far, rail)
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        match self.inside(rail) {
            // What else `near` may have stays closed, as what names memory that is not near goes by `far`.
            Some((Side::Near, rail)) => (self.is_near)(peer) && rail == self.near.network().rail_to(peer),
            Some((Side::Far, rail)) => self.far.network().is_reachable(rail, peer),
            None => false,
        }
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        let Some(rail) = rail.filter(|&rail| rail != self.rail_to(peer)) else {
            let far = self.far.network().connect(None, peer, address)?;
            let near = match (self.is_near)(peer) {
                true => Some(self.near.network().connect(None, peer, &(self.near_address)(peer))?),
                false => None,
            };
            return Ok(self.endpoint((peer, None), near, far));
        };
        let reachable = self.is_reachable(rail, peer);
        let Some((Side::Far, inside)) = self.inside(rail).filter(|_| reachable) else {
            return Err(ConnectError::Unreachable(peer));
        };
        let far = self.far.network().connect(Some(inside), peer, address)?;
        Ok(self.endpoint((peer, Some(rail)), None, far))
    }

    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        self.near.network().peer_failed(now, peer);
        self.far.network().peer_failed(now, peer);
    }
}

impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> Registry for Split<N, F, P> {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.near.memory().register(start, memory.clone())?;
        self.far.memory().register(start, memory).inspect_err(|_| {
            // Nobody has been told of the memory, so nobody is inside.
            self.near.memory().deregister(start);
        })
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let (near, far) = (self.near.memory().deregister(start), self.far.memory().deregister(start));
        near && far
    }
}

impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> TwoSided for Split<N, F, P> {
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        self.start(now, to, Work::Message(bytes), token)
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        self.far.two_sided()?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, Fault, Faults, Loopback, Trace};
    use pelago_base::SegmentId;
    use pelago_memory::{CellSlice, Cells};

    const SEGMENT: SegmentId = SegmentId::SYMMETRIC;

    /// Hands out one completion at a time, the last first, and once does not let go of memory, if it is told to. Remembers whether
    /// its user sleeps.
    struct Reluctant {
        inner: Loopback,
        held: Vec<Completion>,
        is_backward: bool,
        is_inside: bool,
        sleeps: bool,
        lost: Option<Rank>,
    }

    impl From<Loopback> for Reluctant {
        fn from(inner: Loopback) -> Self {
            Self { inner, held: Vec::new(), is_backward: false, is_inside: false, sleeps: false, lost: None }
        }
    }

    impl Transport for Reluctant {
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
            self.inner.post(now, to, operation, flags, token)
        }

        fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
            let moved = self.inner.progress(now, &mut self.held);
            let handed_out = if self.is_backward { self.held.len().saturating_sub(1) } else { 0 };
            completed.extend(self.held.drain(handed_out..));
            moved
        }

        fn next_deadline(&self) -> Option<Instant> {
            self.inner.next_deadline()
        }

        fn before_sleep(&mut self) {
            self.sleeps = true;
        }

        fn flush(&mut self, _now: Instant) {}

        fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
            None
        }
    }

    impl Network for Reluctant {
        fn capabilities(&self) -> &Capabilities {
            self.inner.capabilities()
        }

        fn address(&self) -> Address {
            self.inner.address()
        }

        fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
            self.inner.connect(rail, peer, address)
        }

        fn peer_failed(&mut self, _now: Instant, peer: Rank) {
            self.lost = Some(peer);
        }
    }

    impl Registry for Reluctant {
        fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
            self.inner.register(start, memory)
        }

        fn deregister(&mut self, start: GlobalAddress) -> bool {
            !std::mem::take(&mut self.is_inside) && self.inner.deregister(start)
        }
    }

    /// Rank 0 of four: 0 and 1 are near it.
    struct Job {
        split: Split<Reluctant, Reluctant, fn(Rank) -> bool>,
        memory: Vec<Cells<'static>>,
        /// Whether a fence comes before what is posted next.
        is_fenced: bool,
    }

    impl Job {
        fn new() -> Self {
            let layout = AddressLayout::new(4, 4096).unwrap();
            let [mut near, mut far] = [0; 2].map(|_| Loopback::network(layout, 4));
            let memory: Vec<_> = (0..4).map(|_| Cells::from_mut(vec![0u64; 512].leak())).collect();
            for network in [&mut near, &mut far] {
                for (rank, (end, memory)) in (0..).map(Rank::new).zip(network.iter_mut().zip(&memory)) {
                    end.register(layout.encode(rank, SEGMENT, 0).unwrap(), (*memory).into()).unwrap();
                }
            }
            let address: fn(Rank) -> Address = |rank| Address(rank.number().to_le_bytes().into());
            let (near, far) = (near.remove(0).into(), far.remove(0).into());
            let mut split = Split::new(near, far, layout, (|rank: Rank| rank.number() < 2) as _, address);
            (0..4)
                .map(Rank::new)
                .for_each(|rank| assert_eq!(split.connect(None, rank, &address(rank)), Ok(Endpoint(rank.number()))));
            Self { split, memory, is_fenced: false }
        }

        fn bytes(&self, rank: usize) -> CellSlice<'static, u8> {
            self.memory[rank].elements().unwrap()
        }

        fn at(&self, rank: u32) -> GlobalAddress {
            self.split.layout.encode(Rank::new(rank), SEGMENT, 0).unwrap()
        }

        fn write(&mut self, to: u32, byte: u8, token: u64) -> Result<(), PostError> {
            let operation = Operation::Write { to: self.at(to), bytes: &[byte] };
            self.post(to, operation, token)
        }

        /// From a near rank to a far one: by the far transport.
        fn copy_out(&mut self, token: u64) -> Result<(), PostError> {
            let operation = Operation::Copy { from: self.at(1), to: self.at(2), bytes: 1 };
            self.post(1, operation, token)
        }

        /// Behind the fence that was asked for, if one was.
        fn post(&mut self, to: u32, operation: Operation<'_>, token: u64) -> Result<(), PostError> {
            let fence = std::mem::take(&mut self.is_fenced);
            self.split.post(Instant::ZERO, Endpoint(to), operation, Flags { fence, more: false }, Token(token))
        }

        fn progress(&mut self) -> Vec<u64> {
            let mut completed = Vec::new();
            self.split.progress(Instant::ZERO, &mut completed);
            completed.iter().map(|completion| completion.token.0).collect()
        }
    }

    #[test]
    fn a_fence_holds_one_side_until_the_other_has_done_what_came_before() {
        let mut job = Job::new();
        job.bytes(1).store(0, 7);
        job.copy_out(1).unwrap();
        job.is_fenced = true;
        assert_eq!(job.write(1, 8, 2), Err(PostError::Full), "the copy has still to read");
        assert_eq!(job.write(0, 8, 3), Ok(()), "another peer");
        assert_eq!(job.copy_out(4), Ok(()), "the same side: its own fence is enough");
        assert_eq!(job.progress(), [3, 1, 4]);
        assert_eq!(job.write(1, 8, 5), Ok(()));
        assert_eq!(job.progress(), [5]);
        assert_eq!(job.bytes(2).load(0), 7);
    }

    #[test]
    fn what_comes_after_a_fence_is_not_waited_for() {
        let mut job = Job::new();
        job.split.near.is_backward = true;
        job.write(1, 1, 1).unwrap();
        job.is_fenced = true;
        job.write(1, 2, 2).unwrap();
        assert_eq!(job.progress(), [2]);
        assert_eq!(job.copy_out(3), Err(PostError::Full), "what has completed came after the fence, not before");
        assert_eq!(job.progress(), [1]);
        job.write(1, 3, 4).unwrap();
        assert_eq!(job.copy_out(3), Ok(()), "the write under way came after the fence");
        assert_eq!(job.progress(), [4, 3]);
    }

    #[test]
    fn tokens_that_are_used_twice_come_back_twice() {
        let mut job = Job::new();
        (0..3).for_each(|peer| job.write(peer, 1, 9).unwrap());
        assert_eq!(job.progress(), [9, 9, 9]);
        assert!(job.split.peers.iter().all(|peer| peer.under_way == [0; 2]));
    }

    #[test]
    fn a_refusal_takes_no_room() {
        let mut job = Job::new();
        let accepted =
            (0..2 * SPLIT_OPERATIONS_MAX as u64).filter(|&token| job.write((token % 4) as u32, 1, token).is_ok()).count();
        assert_eq!(job.progress().len(), accepted);
        assert!(job.split.operations.len() <= accepted + 1, "refused operations share a place");
        assert_eq!(job.split.free.len(), job.split.operations.len(), "every place is free again");
        job.split.operations.resize_with(SPLIT_OPERATIONS_MAX, || UnderWay { token: Token(0), peer: 0, fences: 0 });
        job.split.free.clear();
        assert_eq!(job.write(0, 1, 0), Err(PostError::Full), "the table is full");
    }

    #[test]
    fn memory_that_the_far_side_refuses_is_not_left_with_the_near_one() {
        let mut job = Job::new();
        let spare = job.split.layout.encode(Rank::new(0), SegmentId::REGISTERED_FIRST, 0).unwrap();
        job.split.far.register(spare, job.memory[0].into()).unwrap();
        assert_eq!(job.split.register(spare, job.memory[0].into()), Err(RegisterError::Addresses(spare)));
        job.split.far.deregister(spare);
        assert_eq!(job.split.register(spare, job.memory[0].into()), Ok(()));
    }

    #[test]
    fn both_are_told_of_a_sleep_and_a_loss_through_every_layer() {
        let split = Job::new().split;
        let layout = split.layout;
        let mut stack = Count::new(Trace::new(Fault::new(split, layout, Faults::default()), (|_| ()) as fn(&str)));
        stack.before_sleep();
        stack.network().peer_failed(Instant::ZERO, Rank::new(2));
        let split = stack.inner().inner().inner();
        assert!(split.near().sleeps && split.far().sleeps);
        assert_eq!([split.near().lost, split.far().lost], [Some(Rank::new(2)); 2]);
    }

    #[test]
    fn memory_is_free_when_nobody_is_inside_on_either_side() {
        let mut job = Job::new();
        job.split.near.is_inside = true;
        let heap = job.at(0);
        assert!(!job.split.deregister(heap));
        assert!(job.split.deregister(heap));
    }
}
