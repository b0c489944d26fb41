//! A transport made of two: one for the ranks of this node, one for all ranks.

use std::collections::BTreeMap;

use pelago_base::{AddressLayout, GlobalAddress, Instant, Rank};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Flags, Network, Operation, PostError, Rail,
    Reductions, RegisterError, Registry, Token, Transport, TwoSided,
};

use crate::captured::ends;

/// Two transports as one: endpoints of ranks of this node use `intra`, endpoints of other ranks `inter`. Two-sided messages use `inter`, if it
/// supports them. Bytes are moved unless both transports move sizes. The rails are those of `intra` and then those of `inter`; a caller that names
/// a rail of `inter` reaches the ranks of this node through it too. Copies from ranks of this node to others also use `inter`.
///
/// `inter` reaches every rank, `intra` some of them. The layer has the name and the address of `inter`; the address of a rank in
/// `intra` follows from its number. Memory is registered with both, so that peers reach it by either transport. Therefore `intra`
/// and `inter` must accept a second `deregister` of a region that they have already removed.
///
/// Operations, their tokens and flags pass through unchanged; the layer stores none of them. It stores 16 bytes per endpoint, and as many to find it.
pub struct Split<I, E, P> {
    intra: I,
    inter: E,
    layout: AddressLayout,
    is_in_node: P,
    intra_address: fn(Rank) -> Address,
    capabilities: Capabilities,
    rails: Vec<Capabilities>,
    /// The number of the first rail of `inter`.
    first_inter: usize,
    address: Address,
    /// Endpoints by peer and by rail of `inter`; without a rail, the endpoint that is best for the peer.
    endpoints: BTreeMap<(Rank, Option<Rail>), Endpoint>,
    /// Route of each endpoint, by its number.
    routes: Vec<Route>,
}

/// Inner endpoints of an endpoint.
#[derive(Clone, Copy)]
enum Route {
    /// The endpoint of `intra`, and that of `inter` for two-sided messages.
    Intra(Endpoint, Endpoint),
    Inter(Endpoint),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Intra,
    Inter,
}

impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> Split<I, E, P> {
    /// Creates a transport that reaches the ranks for which `is_in_node` holds by `intra`, at the addresses `intra_address`, and all ranks by
    /// `inter`. Both use `layout` for global addresses.
    pub fn new(mut intra: I, mut inter: E, layout: AddressLayout, is_in_node: P, intra_address: fn(Rank) -> Address) -> Self {
        let (near, far) = (intra.network(), inter.network());
        let first_inter = near.rails().len();
        let [node, all] = [*near.capabilities(), *far.capabilities()];
        let (inject_size, message_bytes_max) =
            (node.inject_size.min(all.inject_size), node.message_bytes_max.min(all.message_bytes_max));
        // The larger limit: above it, both sides move sizes only.
        let data_bytes_max = node.data_bytes_max.max(all.data_bytes_max);
        let limited = |rail: &Capabilities| Capabilities { inject_size, message_bytes_max, data_bytes_max, ..*rail };
        let capabilities = Capabilities {
            operations_max: node.operations_max.min(all.operations_max),
            blocks_max: node.blocks_max.min(all.blocks_max),
            block_bytes_max: node.block_bytes_max.min(all.block_bytes_max),
            signalled_bytes_min: node.signalled_bytes_min.max(all.signalled_bytes_min),
            atomics: node.atomics.and(all.atomics),
            ordering: node.ordering.min(all.ordering),
            wakes_target: node.wakes_target && all.wakes_target,
            keeps_time: node.keeps_time && all.keeps_time,
            ..limited(&all)
        };
        let rails = near.rails().iter().chain(far.rails()).map(limited).collect();
        let address = far.address();
        let (endpoints, routes) = (BTreeMap::new(), Vec::new());
        Self { intra, inter, layout, is_in_node, intra_address, capabilities, rails, first_inter, address, endpoints, routes }
    }

    /// The transport to the ranks of this node.
    pub fn intra_node(&self) -> &I {
        &self.intra
    }

    /// The transport to all ranks.
    pub fn inter_node(&self) -> &E {
        &self.inter
    }

    fn route(&self, endpoint: Endpoint) -> Result<Route, PostError> {
        self.routes.get(endpoint.0 as usize).copied().ok_or(PostError::Unknown(endpoint))
    }

    /// The side of a rail, and its number there.
    fn inside(&self, rail: Rail) -> Option<(Side, Rail)> {
        let (side, number) = match rail.number().checked_sub(self.first_inter) {
            None => (Side::Intra, rail.number()),
            Some(number) => (Side::Inter, number),
        };
        Rail::new(number).filter(|_| rail.number() < self.rails.len()).map(|rail| (side, rail))
    }

    /// The number in this layer of a rail of one side.
    fn outside(&self, side: Side, rail: Rail) -> Rail {
        let first = if side == Side::Intra { 0 } else { self.first_inter };
        Rail::new(first + rail.number()).unwrap_or(Rail::FIRST)
    }

    /// Returns the endpoint for a peer and a rail, or creates it.
    fn endpoint(&mut self, name: (Rank, Option<Rail>), route: Route) -> Endpoint {
        let new = Endpoint(self.routes.len() as u32);
        let endpoint = *self.endpoints.entry(name).or_insert(new);
        if endpoint == new {
            self.routes.push(route);
        }
        endpoint
    }
}

impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> Transport for Split<I, E, P> {
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
            Operation::Write { bytes, .. } | Operation::Signalled { bytes, .. }
                if bytes.len() > self.capabilities.inject_size =>
            {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) if self.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            _ => {}
        }
        match self.route(to)? {
            Route::Inter(inside) => self.inter.post(now, inside, operation, flags, token),
            Route::Intra(inside, _) => match ends(self.layout, &operation)[1] {
                other if (self.is_in_node)(other) => self.intra.post(now, inside, operation, flags, token),
                other => Err(PostError::Elsewhere(other)),
            },
        }
    }

    fn flush(&mut self, now: Instant) {
        self.intra.flush(now);
        self.inter.flush(now);
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let (intra, inter) = (self.intra.progress(now, completed), self.inter.progress(now, completed));
        intra || inter
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.intra.next_deadline(), self.inter.next_deadline()].into_iter().flatten().min()
    }

    fn before_sleep(&mut self) {
        self.intra.before_sleep();
        self.inter.before_sleep();
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inter.extensions()?;
        Some(self)
    }
}

impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> Extensions for Split<I, E, P> {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        self.inter.extensions()?.two_sided()?;
        Some(self)
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        self.inter.extensions()?.reductions()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> Network for Split<I, E, P> {
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
        if (self.is_in_node)(peer) {
            let rail = self.intra.network().rail_to(peer);
            return self.outside(Side::Intra, rail);
        }
        let rail = self.inter.network().rail_to(peer);
        self.outside(Side::Inter, rail)
    }

    fn rail_of_copy(&mut self, from: Rank, to: Rank) -> Option<Rail> {
        if (self.is_in_node)(from) && !(self.is_in_node)(to) {
            let rail = self.inter.network().rail_to(from);
            return Some(self.outside(Side::Inter, rail));
        }
        let intra = (self.is_in_node)(from);
        let (side, network) = if intra { (Side::Intra, self.intra.network()) } else { (Side::Inter, self.inter.network()) };
        let rail = network.rail_of_copy(from, to)?;
        Some(self.outside(side, rail))
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        match self.inside(rail) {
            // Other rails of `intra` are not offered: operations on memory of other nodes use `inter`.
            Some((Side::Intra, rail)) => (self.is_in_node)(peer) && rail == self.intra.network().rail_to(peer),
            Some((Side::Inter, rail)) => self.inter.network().is_reachable(rail, peer),
            None => false,
        }
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        let Some(rail) = rail.filter(|&rail| rail != self.rail_to(peer)) else {
            let inter = self.inter.network().connect(None, peer, address)?;
            let route = match (self.is_in_node)(peer) {
                true => Route::Intra(self.intra.network().connect(None, peer, &(self.intra_address)(peer))?, inter),
                false => Route::Inter(inter),
            };
            return Ok(self.endpoint((peer, None), route));
        };
        let reachable = self.is_reachable(rail, peer);
        let Some((Side::Inter, inside)) = self.inside(rail).filter(|_| reachable) else {
            return Err(ConnectError::Unreachable(peer));
        };
        let inter = self.inter.network().connect(Some(inside), peer, address)?;
        Ok(self.endpoint((peer, Some(rail)), Route::Inter(inter)))
    }

    fn peer_failed(&mut self, now: Instant, peer: Rank) {
        self.intra.network().peer_failed(now, peer);
        self.inter.network().peer_failed(now, peer);
    }
}

impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> Registry for Split<I, E, P> {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        self.intra.memory().register(start, memory.clone())?;
        self.inter.memory().register(start, memory).inspect_err(|_| {
            // No peer knows of the memory yet, so no access is in progress.
            self.intra.memory().deregister(start);
        })
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let (intra, inter) = (self.intra.memory().deregister(start), self.inter.memory().deregister(start));
        intra && inter
    }
}

impl<I: Transport, E: Transport, P: Fn(Rank) -> bool + Send> TwoSided for Split<I, E, P> {
    fn send(&mut self, now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let (Route::Intra(_, inside) | Route::Inter(inside)) = self.route(to)?;
        self.inter.extensions().and_then(|inner| inner.two_sided()).ok_or(PostError::Unknown(to))?.send(now, inside, bytes, token)
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        self.inter.extensions()?.two_sided()?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Count, Fault, Faults, Loopback, Trace};
    use pelago_base::SegmentId;
    use pelago_memory::{CellSlice, Cells};

    const SEGMENT: SegmentId = SegmentId::SYMMETRIC;

    /// A transport that refuses one deregistration if `is_inside` is set, remembers whether its user sleeps, and counts fences.
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

        fn extensions(&mut self) -> Option<&mut dyn Extensions> {
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

    /// Rank 0 of four; ranks 0 and 1 are on its node.
    struct Job {
        split: Split<Reluctant, Reluctant, fn(Rank) -> bool>,
        memory: Vec<Cells<'static>>,
        /// Whether the next operation is posted with a fence.
        is_fenced: bool,
    }

    impl Job {
        fn new() -> Self {
            let layout = AddressLayout::new(4, 4096).unwrap();
            let [mut intra, mut inter] = [0; 2].map(|_| Loopback::network(layout, 4));
            let memory: Vec<_> = (0..4).map(|_| Cells::from_mut(vec![0u64; 512].leak())).collect();
            for network in [&mut intra, &mut inter] {
                for (rank, (end, memory)) in (0..).map(Rank::new).zip(network.iter_mut().zip(&memory)) {
                    end.register(layout.encode(rank, SEGMENT, 0).unwrap(), (*memory).into()).unwrap();
                }
            }
            let address: fn(Rank) -> Address = |rank| Address(rank.number().to_le_bytes().into());
            let (intra, inter) = (intra.remove(0).into(), inter.remove(0).into());
            let mut split = Split::new(intra, inter, layout, (|rank: Rank| rank.number() < 2) as _, address);
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

        /// Posts with a fence if `is_fenced` is set.
        fn post(&mut self, to: u32, operation: Operation<'_>, token: u64) -> Result<(), PostError> {
            let fence = std::mem::take(&mut self.is_fenced);
            self.split.post(Instant::ZERO, Endpoint(to), operation, Flags { fence, ..Flags::NONE }, Token(token))
        }

        fn progress(&mut self) -> Vec<u64> {
            let mut completed = Vec::new();
            self.split.progress(Instant::ZERO, &mut completed);
            completed.iter().map(|completion| completion.token.0).collect()
        }
    }

    #[test]
    fn a_copy_to_another_node_goes_by_the_rail_that_leads_to_both() {
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
        assert_eq!([&job.split.intra, &job.split.inter].map(|side| side.fences), [1, 1]);
        assert_eq!(job.progress(), [u64::MAX, 9, 9, 9]);
        assert_eq!(
            job.split.post(Instant::ZERO, Endpoint(4), Operation::Write { to: job.at(0), bytes: &[1] }, Flags::NONE, Token(1)),
            Err(PostError::Unknown(Endpoint(4)))
        );
    }

    #[test]
    fn memory_that_one_side_refuses_is_not_left_with_the_other() {
        let mut job = Job::new();
        let spare = job.split.layout.encode(Rank::new(0), SegmentId::REGISTERED_FIRST, 0).unwrap();
        job.split.inter.register(spare, job.memory[0].into()).unwrap();
        assert_eq!(job.split.register(spare, job.memory[0].into()), Err(RegisterError::Addresses(spare)));
        job.split.inter.deregister(spare);
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
        assert!(split.intra_node().sleeps && split.inter_node().sleeps);
        assert_eq!([split.intra_node().lost, split.inter_node().lost], [Some(Rank::new(2)); 2]);
    }

    #[test]
    fn memory_is_free_when_nobody_is_inside_on_either_side() {
        let mut job = Job::new();
        job.split.intra.is_inside = true;
        let heap = job.at(0);
        assert!(!job.split.deregister(heap));
        assert!(job.split.deregister(heap));
    }
}
