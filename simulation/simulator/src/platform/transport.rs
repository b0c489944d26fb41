//! The transport of a simulated rank.

use std::sync::Arc;

use pelago_base::{Duration, GlobalAddress, Instant, Rank, Team};
use pelago_memory::Region;
use pelago_platform::{
    Address, Capabilities, Completion, ConnectError, Endpoint, Extensions, Flags, Network, Operation, PostError, Rail,
    ReductionGroup, ReductionOperator, Reductions, RegisterError, Registry, Token, Transport, TwoSided,
};

use super::shared_job::SharedJob;
use super::{address_of, is_address_of};
use crate::job::POLL;
use crate::protocol::driver::{Load, Step};
use crate::ranks::fiber;

/// Maximum number of messages that one call of `progress` receives.
const MESSAGES_PER_LOOK: u32 = 8;

/// The transport of one rank.
pub(super) struct SimulatedTransport {
    pub(super) rank: Rank,
    pub(super) shared: Arc<SharedJob>,
}

impl SimulatedTransport {
    /// Returns the endpoint of a peer by one rail, or by the rail that the machine chooses for each operation.
    fn endpoint(&self, peer: Rank, rail: Option<Rail>) -> Endpoint {
        let row = rail.map_or(0, |rail| rail.number() as u32 + 1);
        Endpoint(row * self.shared.size + peer.number())
    }

    /// Returns the peer and the rail of an endpoint.
    fn target_of(&self, Endpoint(number): Endpoint) -> Result<(Rank, Option<u8>), PostError> {
        let size = self.shared.size;
        let (row, peer) = (number / size, Rank::new(number % size));
        match row {
            0 => Ok((peer, None)),
            _ if row as usize <= self.shared.rails.len() => Ok((peer, Some(row as u8 - 1))),
            _ => Err(PostError::Unknown(Endpoint(number))),
        }
    }
}

/// Operations on machines where datagrams take core time: the rank is busy with each message.
impl SimulatedTransport {
    fn post_driven(&self, to: Rank, operation: Operation<'_>, flags: Flags, token: Token) -> Result<(), PostError> {
        self.await_step();
        let mut job = self.shared.job();
        let (busy, loads) = fiber::outside(|| job.post_driven(self.rank, to, operation, flags, token))?;
        drop(job);
        self.shared.stay_busy(busy);
        for load in loads {
            self.send_driven(load);
        }
        self.shared.job().set_timer(self.rank);
        Ok(())
    }

    /// Drives the protocol like `pelago-udp`: sends what waits, receives what has arrived, and sends what results from that; returns whether
    /// any message was sent or received.
    fn drive(&self) -> bool {
        self.await_step();
        self.shared.job().look_driven(self.rank);
        let has_work = self.shared.job().has_work(self.rank);
        let mut moved = has_work && self.send_driven(Load::Any { patient: false });
        let mut taken = 0;
        while taken < MESSAGES_PER_LOOK {
            let begun = self.shared.job().begin_receive(self.rank);
            let Some((step, time)) = begun else { break };
            self.step(step, time);
            taken += 1;
        }
        if taken > 0 {
            moved = true;
            self.send_driven(Load::Any { patient: true });
        }
        moved
    }

    /// Sends the messages of a load; returns whether there were any.
    fn send_driven(&self, load: Load) -> bool {
        self.await_step();
        let mut any = false;
        loop {
            let begun = fiber::outside(|| self.shared.job().begin_send(self.rank, load));
            let Some((step, time)) = begun else { return any };
            self.step(step, time);
            any = true;
        }
    }

    fn step(&self, step: Step, time: Duration) {
        self.shared.stay_busy(time);
        fiber::outside(|| self.shared.job().end_step(self.rank, step));
    }

    /// Waits until the current step of the progress thread has ended.
    fn await_step(&self) {
        loop {
            let left = self.shared.job().step_left(self.rank);
            match left {
                Some(left) if self.shared.job().running.is_some() && self.shared.job().fault.is_none() => {
                    self.shared.wait_for(left.max(Duration::from_picoseconds(1)));
                }
                _ => return,
            }
        }
    }
}

impl Transport for SimulatedTransport {
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
        match operation {
            Operation::Write { bytes, .. } if bytes.len() > self.shared.capabilities.inject_size => {
                return Err(PostError::TooLong(bytes.len()));
            }
            Operation::Sized(_) if self.shared.capabilities.data_bytes_max == u64::MAX => return Err(PostError::Sizes),
            Operation::PutBlocks { .. } | Operation::GetBlocks { .. } if self.shared.capabilities.blocks_max == 0 => {
                return Err(PostError::Blocks);
            }
            Operation::Signalled { .. } => return Err(PostError::Signalled),
            _ => {}
        }
        let target = self.target_of(to)?;
        let mut job = self.shared.job();
        if flags.fence {
            fiber::outside(|| job.fence(self.rank, target.0));
        }
        let first_use = job.first_use_time(self.rank, &operation);
        if first_use > Duration::ZERO {
            drop(job);
            self.shared.pass(first_use);
            job = self.shared.job();
        }
        if job.is_driven() && !matches!(operation, Operation::Sized(_)) {
            drop(job);
            return self.post_driven(target.0, operation, flags, token);
        }
        let busy = fiber::outside(|| job.post(self.rank, target, operation, token))?;
        drop(job);
        self.shared.stay_busy(busy);
        Ok(())
    }

    /// A call outside of ranks advances the network by one event.
    fn progress(&mut self, _now: Instant, completed: &mut Vec<Completion>) -> bool {
        let mut job = self.shared.job();
        if job.is_driven() {
            drop(job);
            let moved = self.drive();
            job = self.shared.job();
            if moved | fiber::outside(|| job.take_completed(self.rank, completed)) {
                return true;
            }
        }
        // Most calls find no completion, and need not leave the stack of the rank.
        if job.may_have_completed(self.rank) && fiber::outside(|| job.take_completed(self.rank, completed)) {
            return true;
        }
        let Some(running) = job.running else {
            return job.step() | job.take_completed(self.rank, completed);
        };
        let Some(duration) = job.count_poll(running, POLL) else { return false };
        drop(job);
        self.shared.pass(duration);
        self.shared.job().take_completed(self.rank, completed)
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        Some(self)
    }

    fn flush(&mut self, _now: Instant) {
        let load = self.shared.job().release_driven(self.rank);
        if let Some(load) = load {
            self.send_driven(load);
        }
    }

    fn before_sleep(&mut self) {}
}

impl Network for SimulatedTransport {
    fn capabilities(&self) -> &Capabilities {
        &self.shared.capabilities
    }

    fn rails(&self) -> &[Capabilities] {
        &self.shared.rails
    }

    fn address(&self) -> Address {
        address_of(self.rank)
    }

    fn rail_to(&mut self, peer: Rank) -> Rail {
        self.shared.job().rail_to(self.rank, peer)
    }

    fn is_reachable(&mut self, rail: Rail, peer: Rank) -> bool {
        rail.number() < self.shared.rails.len() && self.shared.job().rail_connects(rail, self.rank, peer)
    }

    fn connect(&mut self, rail: Option<Rail>, peer: Rank, address: &Address) -> Result<Endpoint, ConnectError> {
        if peer.number() >= self.shared.size {
            return Err(ConnectError::Unreachable(peer));
        }
        if !is_address_of(peer, address) {
            return Err(ConnectError::Address(address.clone()));
        }
        match rail {
            Some(rail) if !self.is_reachable(rail, peer) => Err(ConnectError::Unreachable(peer)),
            // The machine's choice of a rail may depend on the size of the operation.
            Some(rail) if self.shared.rails.len() > 1 => Ok(self.endpoint(peer, Some(rail))),
            _ => Ok(self.endpoint(peer, None)),
        }
    }

    fn peer_failed(&mut self, _now: Instant, peer: Rank) {
        self.shared.job().peer_failed(self.rank, peer);
    }
}

impl Registry for SimulatedTransport {
    fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let mut job = self.shared.job();
        if let Some(stations) = &mut job.stations {
            return stations.register(self.rank, start, memory);
        }
        job.memory.register(self.rank, start, memory)
    }

    fn deregister(&mut self, start: GlobalAddress) -> bool {
        let mut job = self.shared.job();
        if let Some(stations) = &mut job.stations {
            return stations.deregister(self.rank, start);
        }
        job.memory.deregister(self.rank, start);
        true
    }
}

impl Extensions for SimulatedTransport {
    fn two_sided(&mut self) -> Option<&mut dyn TwoSided> {
        // The library's own protocol has no two-sided messages.
        if self.shared.job().stations.is_some() { None } else { Some(self) }
    }

    fn reductions(&mut self) -> Option<&mut dyn Reductions> {
        let words_max = self.shared.job().reduction_words_max();
        words_max.is_some().then_some(self)
    }
}

impl Reductions for SimulatedTransport {
    fn words_max(&mut self) -> usize {
        self.shared.job().reduction_words_max().unwrap_or(0)
    }

    fn open(&mut self, members: &Team) -> Option<ReductionGroup> {
        let mut job = self.shared.job();
        fiber::outside(|| job.open_reductions(self.rank, members)).map(ReductionGroup)
    }

    fn contribute(
        &mut self,
        _now: Instant,
        ReductionGroup(group): ReductionGroup,
        operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<(), PostError> {
        let mut job = self.shared.job();
        let busy = fiber::outside(|| job.contribute(self.rank, group, operator, words, token))?;
        drop(job);
        self.shared.stay_busy(busy);
        Ok(())
    }

    fn take(&mut self, ReductionGroup(group): ReductionGroup, into: &mut [u64]) -> bool {
        let mut job = self.shared.job();
        fiber::outside(|| job.reductions.take(self.rank, group, into))
    }

    fn close(&mut self, ReductionGroup(group): ReductionGroup) {
        let mut job = self.shared.job();
        fiber::outside(|| job.reductions.close(self.rank, group));
    }
}

impl TwoSided for SimulatedTransport {
    fn send(&mut self, _now: Instant, to: Endpoint, bytes: &[u8], token: Token) -> Result<(), PostError> {
        let (peer, _) = self.target_of(to)?;
        let mut job = self.shared.job();
        fiber::outside(|| job.send_message(self.rank, peer, bytes, token))
    }

    fn take(&mut self) -> Option<(Rank, Box<[u8]>)> {
        let mut job = self.shared.job();
        fiber::outside(|| job.take_message(self.rank))
    }
}
