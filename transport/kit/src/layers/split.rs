//! One transport made of two: the near one for memory that it reaches, the far one for everything else.

use std::collections::BTreeMap;

use pelago_base::{AddressLayout, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Flags, Network, Operation, PostError, Rail, RegisterError,
    Registry, Token, Transport, TwoSided,
};

use crate::captured::ends;

/// Two transports as one: each endpoint leads by one of them, to near ranks by `near` and to others by `far`. Two-sided messages go by
/// `far`, if it has them. Bytes are moved unless both transports move sizes. Its rails are those of
/// `near` and then those of `far`; by the latter a near rank is reached too, by whoever asks for that. So are copies from near ranks to others.
///
/// `far` leads to every rank, `near` to some of them. The layer bears the name and the address of `far`; how a near rank is reached by
/// `near` follows from its number. Memory is registered with both, so that each peer finds it whichever way it comes; so `near`
/// and `far` accept a second `deregister` of what they have given up already.
///
/// Operations, their tokens and fences pass through as they are: nothing is kept of them. Per endpoint 16 bytes, and as many to find it.
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
    ways: Vec<Way>,
}

/// Where an endpoint leads.
#[derive(Clone, Copy)]
enum Way {
    /// By `near`; messages go by `far`.
    Near(Endpoint, Endpoint),
    Far(Endpoint),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Near,
    Far,
}

impl<N: Transport, F: Transport, P: Fn(Rank) -> bool + Send> Split<N, F, P> {
    /// Reaches the ranks for which `is_near` holds by `near`, which finds them by `near_address`, and all ranks by `far`. Both divide
    /// addresses by `layout`.
    pub fn new(mut near: N, mut far: F, layout: AddressLayout, is_near: P, near_address: fn(Rank) -> Address) -> Self {
        let (close, distant) = (near.network(), far.network());
        let first_far = close.rails().len();
        let inject_size = close.capabilities().inject_size.min(distant.capabilities().inject_size);
        // Bytes that either side moves by size alone.
        let data_bytes_max = close.capabilities().data_bytes_max.max(distant.capabilities().data_bytes_max);
        let limited = |rail: &Capabilities| Capabilities { inject_size, data_bytes_max, ..*rail };
        let capabilities = limited(distant.capabilities());
        let rails = close.rails().iter().chain(distant.rails()).map(limited).collect();
        let address = distant.address();
        let (endpoints, ways) = (BTreeMap::new(), Vec::new());
        Self { near, far, layout, is_near, near_address, capabilities, rails, first_far, address, endpoints, ways }
    }

    /// The transport to near ranks.
    pub fn near(&self) -> &N {
        &self.near
    }

    /// The transport to all ranks.
    pub fn far(&self) -> &F {
        &self.far
    }

    fn way(&self, endpoint: Endpoint) -> Result<Way, PostError> {
        self.ways.get(endpoint.0 as usize).copied().ok_or(PostError::Unknown(endpoint))
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
    fn endpoint(&mut self, name: (Rank, Option<Rail>), way: Way) -> Endpoint {
        let new = Endpoint(self.ways.len() as u32);
        let endpoint = *self.endpoints.entry(name).or_insert(new);
        if endpoint == new {
            self.ways.push(way);
        }
        endpoint
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
            Operation::Write { bytes, .. } if bytes.len() > self.capabilities.inject_size => {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) if self.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            _ => {}
        }
        match self.way(to)? {
            Way::Far(inside) => self.far.post(now, inside, operation, flags, token),
            Way::Near(inside, _) => match ends(self.layout, &operation)[1] {
                other if (self.is_near)(other) => self.near.post(now, inside, operation, flags, token),
                other => Err(PostError::Elsewhere(other)),
            },
        }
    }

    fn flush(&mut self, now: Instant) {
        self.near.flush(now);
        self.far.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let (near, far) = (self.near.progress(now, completed), self.far.progress(now, completed));
        near || far
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

    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        if (self.is_near)(from) && !(self.is_near)(to) {
            let rail = self.far.network().rail_to(from);
            return Some(self.outside(Side::Far, rail));
        }
        let near = (self.is_near)(from);
        let (side, network) = if near { (Side::Near, self.near.network()) } else { (Side::Far, self.far.network()) };
        let rail = network.rail_of_copy(from, to)?;
        Some(self.outside(side, rail))
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
            let way = match (self.is_near)(peer) {
                true => Way::Near(self.near.network().connect(None, peer, &(self.near_address)(peer))?, far),
                false => Way::Far(far),
            };
            return Ok(self.endpoint((peer, None), way));
        };
        let reachable = self.is_reachable(rail, peer);
        let Some((Side::Far, inside)) = self.inside(rail).filter(|_| reachable) else {
            return Err(ConnectError::Unreachable(peer));
        };
        let far = self.far.network().connect(Some(inside), peer, address)?;
        Ok(self.endpoint((peer, Some(rail)), Way::Far(far)))
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
        let (Way::Near(_, inside) | Way::Far(inside)) = self.way(to)?;
        self.far.two_sided().ok_or(PostError::Unknown(to))?.send(now, inside, bytes, token)
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

    /// Once does not let go of memory, if it is told to. Remembers whether its user sleeps, and counts fences.
    struct Reluctant {
        inner: Loopback,
        fences: u32,
        is_inside: bool,
        sleeps: bool,
        lost: Option<Rank>,
    }

    impl From<Loopback> for Reluctant {
        fn from(inner: Loopback) -> Self {
            Self { inner, fences: 0, is_inside: false, sleeps: false, lost: None }
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
            self.fences += u32::from(flags.fence);
            self.inner.post(now, to, operation, flags, token)
        }

        fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
            self.inner.progress(now, completed)
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
    fn a_copy_from_near_to_far_goes_by_the_rail_that_leads_to_both() {
        let mut job = Job::new();
        job.bytes(1).store(0, 7);
        let [near, far] = [1, 2].map(Rank::new);
        let copy = Operation::Copy { from: job.at(1), to: job.at(2), bytes: 1 };
        assert_eq!(job.post(1, copy, 1), Err(PostError::Elsewhere(far)));
        let rail = job.split.rail_of_copy(near, far).unwrap();
        let endpoint = job.split.connect(Some(rail), near, &Address(1u32.to_le_bytes().into())).unwrap();
        job.post(endpoint.0, copy, 2).unwrap();
        assert_eq!(job.progress(), [2]);
        assert_eq!(job.bytes(2).load(0), 7);
        for (from, to) in [(near, near), (far, near), (far, far)] {
            assert_eq!(job.split.rail_of_copy(from, to), None, "the endpoint without a rail leads there");
        }
    }

    #[test]
    fn tokens_and_fences_pass_through_as_they_are() {
        let mut job = Job::new();
        job.write(1, 1, u64::MAX).unwrap();
        job.write(2, 1, 9).unwrap();
        job.is_fenced = true;
        job.write(1, 1, 9).unwrap();
        job.is_fenced = true;
        job.write(2, 1, 9).unwrap();
        assert_eq!([&job.split.near, &job.split.far].map(|side| side.fences), [1, 1]);
        assert_eq!(job.progress(), [u64::MAX, 9, 9, 9]);
        assert_eq!(
            job.split.post(Instant::ZERO, Endpoint(4), Operation::Write { to: job.at(0), bytes: &[1] }, Flags::NONE, Token(1)),
            Err(PostError::Unknown(Endpoint(4)))
        );
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
