//! Operations between ranks that share the memory of their node, where the machine says so: the core of a rank does them itself, one
//! after another.
//!
//! A put takes effect, and is complete, when others see it, some time after its core has done it; or before, when its rank goes on to
//! something else than a put, an atomic, a get or what leaves the node: those come after it for everybody.

use pelago_base::{Duration, Rank};
use pelago_netsim::Machine;
use pelago_platform::{Completion, Operation, Transfer};

use crate::core::Core;
use crate::operations::{Pending, Stage};
use crate::work::Work;

/// What the machine says of memory that ranks of a node share.
pub(crate) struct Near {
    /// How long after its end an operation is seen by a rank that looks for it; `None` if ranks share no memory.
    visible: Option<Duration>,
    /// How long the system needs for a page that nobody has used.
    page: Duration,
}

impl Near {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self { visible: machine.visible(), page: machine.page() }
    }
}

impl Core {
    /// How long the system needs for the pages that nobody has used and that an operation of `rank` writes to on its own node.
    pub(crate) fn pages_taken(&self, rank: Rank, operation: &Operation<'_>) -> Duration {
        let (to, bytes) = match *operation {
            Operation::Write { to, bytes } => (to, bytes.len() as u64),
            Operation::Put { from, to } => (to, from.bytes() as u64),
            _ => return Duration::ZERO,
        };
        let target = self.memory.addresses().rank(to).number();
        if self.near.page == Duration::ZERO
            || self.stations.is_some()
            || target / self.per_node != u32::from(rank) / self.per_node
        {
            return Duration::ZERO;
        }
        Duration::from_picoseconds(self.near.page.as_picoseconds().saturating_mul(self.memory.unused_pages(to, bytes)))
    }

    /// How long after it has taken effect an operation is seen: an atomic, whose answer comes before.
    pub(crate) fn seen_later(&self, pending: &Pending) -> Option<Duration> {
        self.near.visible.filter(|_| matches!(pending.work, Work::Atomic { .. }) && self.is_near(pending))
    }

    /// What a rank has put before to memory of its node takes effect, unless `number` is one more put of this kind.
    pub(crate) fn hasten_earlier(&mut self, number: u32) {
        let pending = self.operations.get(number);
        if self.near.visible.is_none() || self.is_near_put(pending) {
            return;
        }
        let (mut next, mut earlier) = (pending.earlier, Vec::new());
        while let Some(link) = next {
            let number = link.get() - 1;
            let pending = self.operations.get(number);
            if matches!(pending.stage, Stage::OnItsWay | Stage::AtSource) && self.is_near_put(pending) {
                earlier.push(number);
            }
            next = pending.earlier;
        }
        for number in earlier.into_iter().rev() {
            self.operations.get_mut(number).stage = Stage::Ahead;
            self.proceed_all(number);
            self.tell_ahead(number);
        }
    }

    /// The initiator of an operation that has taken effect ahead of its time may know, if it is done with it.
    pub(crate) fn tell_ahead(&mut self, number: u32) {
        let pending = self.operations.get_mut(number);
        if pending.stage == Stage::Ahead && pending.effective && pending.done && !std::mem::replace(&mut pending.told, true) {
            let (rank, completion) = (pending.rank, Completion { token: pending.token, result: pending.result });
            self.completed(rank, completion);
        }
    }

    fn is_near_put(&self, pending: &Pending) -> bool {
        matches!(pending.work, Work::Write { .. } | Work::Put { .. } | Work::Sized(Transfer::Put { .. })) && self.is_near(pending)
    }

    fn is_near(&self, pending: &Pending) -> bool {
        let (rank, target) = self.pair(pending);
        self.near.visible.is_some() && self.stations.is_none() && target / self.per_node == rank / self.per_node
    }
}
