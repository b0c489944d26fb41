//! Where operations between ranks go: to the domain of the ranks, to the node, or to the network.
//!
//! Operations between ranks that share the memory of their node, if the machine has such memory: the core of the initiator performs them, one
//! after another.
//!
//! A put takes effect and completes when other ranks can see it, some time after the core has performed it. It takes effect earlier if a later
//! operation of its rank that is not such a put (an atomic, a get, an operation that leaves the node) arrives first: for all ranks that
//! operation is ordered behind the put.

use pelago_base::{Duration, Rank};
use pelago_netsim::NetworkOperation;
use pelago_platform::{Completion, Operation};

use super::SimulatedJob;
use crate::operations::pending::{CompletionStage, OperationStage, PendingOperation};

impl SimulatedJob {
    /// Posts an operation between ranks, `late` after its overhead: by their domain if they are all of one, else between their nodes.
    #[inline]
    pub(super) fn post_between(
        &mut self,
        rail: Option<u8>,
        entity: u32,
        operation: NetworkOperation,
        token: u64,
        late: Duration,
    ) {
        if self.is_in_domain(&operation) {
            return self.network.post_in_domain(entity, operation, token, late);
        }
        let per_node = self.per_node;
        self.network.post_late(rail, entity, operation.map(|rank| rank / per_node), token, late);
    }

    /// Returns the time from posting an operation between ranks until the NIC or the domain gets it.
    pub(super) fn overhead(&self, rail: Option<u8>, entity: u32, operation: NetworkOperation) -> Duration {
        if self.is_in_domain(&operation) {
            return self.network.domain_overhead();
        }
        self.network.overhead(rail, entity, operation.map(|rank| rank / self.per_node))
    }

    /// Returns how long an operation between ranks keeps the core of its initiator busy.
    pub(super) fn busy(&self, operation: NetworkOperation) -> Duration {
        match self.shared_memory.visible {
            None => Duration::ZERO,
            Some(_) => self.network.busy(operation.map(|rank| rank / self.per_node)),
        }
    }

    #[inline]
    fn is_in_domain(&self, operation: &NetworkOperation) -> bool {
        self.domains.is_some_and(|domains| domains.performs(operation))
    }

    /// Returns how long the system takes to provide the pages that an intra-node put of `rank` is the first to use.
    pub(crate) fn first_use_time(&self, rank: Rank, operation: &Operation<'_>) -> Duration {
        let (to, bytes) = match *operation {
            Operation::Write { to, bytes } => (to, bytes.len() as u64),
            Operation::Put { from, to } => (to, from.bytes() as u64),
            _ => return Duration::ZERO,
        };
        let (page, target) = (self.shared_memory.page, self.memory.addresses().rank(to).number());
        if page == Duration::ZERO || self.stations.is_some() || target / self.per_node != rank.number() / self.per_node {
            return Duration::ZERO;
        }
        Duration::from_picoseconds(page.as_picoseconds().saturating_mul(self.memory.unused_pages(to, bytes)))
    }

    /// Returns the time from the effect of an intra-node atomic until other ranks see it; its result arrives earlier. `None` for other operations.
    pub(super) fn visible_after(&self, pending: &PendingOperation) -> Option<Duration> {
        self.shared_memory.visible.filter(|_| pending.operation.is_atomic() && self.is_intra_node(pending))
    }

    /// Makes earlier intra-node puts of the same rank take effect, unless `number` is one more such put.
    pub(super) fn hasten_earlier(&mut self, number: u32) {
        let pending = self.operations.get(number);
        if self.shared_memory.visible.is_none() || self.is_intra_node_put(pending) {
            return;
        }
        let (mut next, mut earlier) = (self.operations.surroundings(number).earlier, Vec::new());
        while let Some(link) = next {
            let number = link.get() - 1;
            let pending = self.operations.get(number);
            if matches!(pending.stage, OperationStage::InTransit | OperationStage::AtSource) && self.is_intra_node_put(pending) {
                earlier.push(number);
            }
            next = self.operations.surroundings(number).earlier;
        }
        for number in earlier.into_iter().rev() {
            self.operations.get_mut(number).stage = OperationStage::Early;
            self.proceed_all(number);
            self.complete_early(number);
        }
    }

    /// Delivers the completion of an operation that has taken effect early, if the network has finished it.
    pub(super) fn complete_early(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.stage == OperationStage::Early && pending.effective && pending.completion == CompletionStage::Finished {
            pending.completion = CompletionStage::Delivered;
            let (rank, completion) = (pending.rank, Completion { token: pending.token, result: pending.result });
            self.add_completion(rank, completion);
        }
    }

    fn is_intra_node_put(&self, pending: &PendingOperation) -> bool {
        pending.operation.is_put() && self.is_intra_node(pending)
    }

    fn is_intra_node(&self, pending: &PendingOperation) -> bool {
        let (rank, target) = self.pair(pending);
        self.shared_memory.visible.is_some() && self.stations.is_none() && target / self.per_node == rank / self.per_node
    }
}
