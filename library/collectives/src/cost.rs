//! Bounds of the messages of an algorithm, and the cost model.

use pelago_base::Duration;

use crate::generate::rounds;
use crate::schedule::Shape;
use crate::{Algorithm as By, Collective as Do};

/// Cost of a piece besides its bytes, on networks whose data the cores move, as the bytes that are moved in that time: 8 µs at 4 GB/s.
const PIECE_COST_BYTES: usize = 32 * 1024;

/// Upper bounds of the messages of an algorithm; tests count them in the schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Length of the longest chain of messages, each sent after the previous one has arrived.
    pub steps: u64,
    /// Messages that the busiest member sends, empty ones included.
    pub messages: u64,
    /// Messages of all members together.
    pub messages_of_all: u64,
    /// Values that the busiest member sends, or reads from others.
    pub values: u64,
}

/// The cost of steps on a machine. The model proposes candidates; a trial decides if there is time for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Time from the sending of a short message to its receipt, in nanoseconds; it includes the turns of members that share cores.
    pub latency_ns: f64,
    /// Time of a member for one message, in nanoseconds.
    pub message_ns: f64,
    /// Time of a member for one byte, in nanoseconds.
    pub byte_ns: f64,
    /// Time that each message of any member costs all members, in nanoseconds, where members share cores and communicate over a network: hardly any
    /// two messages are sent at once. 0 elsewhere.
    pub turn_ns: f64,
}

impl Model {
    /// Predicts the time of an operation with values of `value_bytes` bytes.
    pub fn predict(&self, promise: Promise, value_bytes: usize) -> Duration {
        let bytes = promise.values as f64 * value_bytes as f64;
        let messages_ns = if self.turn_ns > 0.0 {
            (promise.messages_of_all + promise.steps) as f64 * self.turn_ns
        } else {
            promise.steps as f64 * self.latency_ns + promise.messages as f64 * self.message_ns
        };
        Duration::from_picoseconds(((messages_ns + bytes * self.byte_ns) * 1e3) as u64)
    }
}

impl Shape {
    /// Upper bounds for this algorithm, over all members.
    pub fn promise(&self) -> Promise {
        let (p, n) = (u64::from(self.size), self.count as u64);
        let (up, down) = (u64::from(rounds(self.size)), u64::from(self.size.ilog2()));
        let folded = u64::from(!self.size.is_power_of_two());
        let part = n.div_ceil(p);
        // If members that hand their values over outnumber half of their partners, a chain of messages leads from one of them to another: one more
        // step.
        let folding = folded + u64::from(2 * (p - (1 << down)) > 1 << down);
        let times = |factor: u64| factor.saturating_mul(n);
        let (steps, messages, values) = match (self.operation, self.algorithm) {
            (_, By::Hierarchical) => return self.promise_of_hosts(),
            (Do::Barrier, By::Flat) => (2, p - 1, 0),
            (Do::Barrier, By::Direct) => (1, p - 1, 0),
            (Do::Barrier, _) => (up, up, 0),
            (Do::Broadcast { .. }, By::Chain) => (p - 1, 1, n),
            (Do::Broadcast { .. }, By::Binomial) => (down, up, times(up)),
            (Do::Broadcast { .. }, By::Shared) => (1, p - 1, n),
            (Do::Broadcast { .. }, _) => (1, p - 1, times(p - 1)),
            (Do::Reduce { .. }, By::Flat) => (1, 1, n),
            (Do::Reduce { .. }, By::Shared) => (2, p, p * part + n),
            (Do::Reduce { root }, _) => (down + u64::from(root != 0 && !self.commutes), 1, n),
            (Do::Allreduce, By::Flat) => (2, p - 1, times(p - 1)),
            (Do::Allreduce, By::Direct) => (1, p - 1, times(p - 1)),
            (Do::Allreduce, By::Binomial) => (2 * down, up, times(up)),
            (Do::Allreduce, By::Halving) => {
                (2 * down + 2 * folded, 2 * down + folded, 2 * (n.div_ceil(1 << down) << down) + folded * n)
            }
            (Do::Allreduce, By::Ring) => (2 * (p - 1), 2 * (p - 1), 2 * (p - 1) * part),
            (Do::Allreduce, By::Shared) => (2, 2 * (p - 1), p * part + n),
            (Do::Allreduce, _) => (down + folding, down + folded, times(down + folded)),
            (Do::Allgather, By::Flat) => (2, p - 1, times((p - 1) * p)),
            (Do::Allgather, By::RecursiveDoubling | By::RecursiveDoublingFar) => {
                let blocks: u64 = (0..down).map(|round| if folded > 0 { (2 << round).min(p) } else { 1 << round }).sum();
                (down + folding, down + folded, times(blocks + folded * p))
            }
            (Do::Allgather, By::Ring) => (p - 1, p - 1, times(p - 1)),
            (Do::Allgather, By::Bruck) => (up, up, times(p - 1)),
            (Do::ReduceScatter, By::Flat) => (2, p - 1, times(p)),
            (Do::ReduceScatter, By::Ring) => (p - 1, p - 1, times(p - 1)),
            (Do::ReduceScatter, By::Halving) => (down, down, times(p - 1)),
            (Do::Gather { .. }, By::Flat) => (1, 1, n),
            (Do::Gather { .. }, By::Binomial) => (down, 1, times(1 << up >> 1)),
            (Do::Gather { .. }, _) => (1, 1, times(p - 1)),
            (Do::Scatter { .. }, By::Flat) => (1, p - 1, times(p - 1)),
            (Do::Scatter { .. }, By::Binomial) => (down, up, times(p - 1)),
            (Do::Scatter { .. }, _) => (1, p - 1, n),
            (Do::Alltoall, By::Pairwise) => (p - 1, p - 1, times(p - 1)),
            (Do::Alltoall, By::Bruck) => (up, up, times(up * (1 << up >> 1))),
            (Do::Scan | Do::ExclusiveScan, By::Chain) => (p - 1, 1, n),
            (Do::Scan | Do::ExclusiveScan, By::RecursiveDoubling) => (down, up, times(up)),
            // Every member sends to, or reads from, every other.
            _ => (1, p - 1, times(p - 1)),
        };
        let messages_of_all = match (self.operation, self.algorithm) {
            (_, By::Shared) => p * messages,
            (_, By::Flat) => steps * (p - 1),
            (_, By::Chain) => p - 1,
            (Do::Allreduce, By::Binomial) => 2 * (p - 1),
            (Do::Reduce { root }, _) => p - 1 + u64::from(root != 0 && !self.commutes),
            (Do::Broadcast { .. } | Do::Gather { .. } | Do::Scatter { .. }, _) => p - 1,
            _ => p * messages,
        };
        Promise { steps, messages, messages_of_all, values }
    }

    /// Bytes of a piece of a block whose pieces follow one another, on networks whose data the cores move. With S successive steps and a cost of c
    /// bytes for each piece, a block of B bytes in pieces of p bytes takes (B/p + S − 1)·(p + c), which is least for p = √(B·c/(S − 1)). At least
    /// `least`.
    pub(crate) fn piece_bytes(&self, value_bytes: usize, least: usize) -> usize {
        let block_bytes = self.count * value_bytes;
        match self.promise().steps as usize {
            0 | 1 => block_bytes.max(least),
            steps => (block_bytes.saturating_mul(PIECE_COST_BYTES) / (steps - 1)).isqrt().max(least),
        }
    }

    fn promise_of_hosts(&self) -> Promise {
        let (p, n, hosts, inside) = (u64::from(self.size), self.count as u64, self.hosts(), self.per_host.min(self.size));
        let (up, down) = (u64::from(rounds(hosts)), u64::from(hosts.ilog2()));
        let (up_inside, down_inside) = (u64::from(rounds(inside)), u64::from(inside.ilog2()));
        let folded = u64::from(!hosts.is_power_of_two());
        let times = |factor: u64| factor.saturating_mul(n);
        let (steps, messages, values) = match self.operation {
            Do::Barrier => (2 * down_inside + up, up + up_inside, 0),
            Do::Broadcast { .. } => (down + down_inside, up + up_inside, times(up + up_inside)),
            Do::Reduce { .. } => (down + down_inside, 1, n),
            Do::Allgather => {
                let others = u64::from(hosts) - 1;
                (2 + down_inside, others + up_inside, times(others * u64::from(inside) + up_inside * p))
            }
            _ => {
                let messages = down + folded + up_inside;
                (2 * down_inside + down + 2 * folded, messages, times(messages))
            }
        };
        Promise { steps, messages, messages_of_all: p * messages, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_share_cores_send_few_messages() {
        let alone = Model { latency_ns: 5000.0, message_ns: 2000.0, byte_ns: 0.1, turn_ns: 0.0 };
        let together = Model { turn_ns: 5000.0, ..alone };
        let predicted = |model: Model, size, algorithm| {
            let shape = Shape { operation: Do::Allreduce, algorithm, size, count: 1, per_host: 1, commutes: true };
            model.predict(shape.promise(), 8)
        };
        for size in [4, 8, 16] {
            for other in [By::Direct, By::RecursiveDoubling, By::Ring, By::Binomial] {
                assert!(predicted(together, size, By::Flat) < predicted(together, size, other), "{other} of {size}");
            }
            assert!(predicted(alone, size, By::RecursiveDoubling) < predicted(alone, size, By::Flat), "{size} with a core each");
        }
    }

    #[test]
    fn pieces_are_as_long_as_steps_are_few() {
        let shape = |algorithm, size| Shape {
            operation: Do::Broadcast { root: 0 },
            algorithm,
            size,
            count: 1 << 17,
            per_host: 1,
            commutes: true,
        };
        let bytes = |algorithm, size| shape(algorithm, size).piece_bytes(8, 65_536);
        assert_eq!([bytes(By::Binomial, 2), bytes(By::Flat, 9)], [1 << 20; 2], "one step");
        // The time that `piece_bytes` minimizes, for a chain of four.
        let takes = |piece: usize| ((1 << 20) as f64 / piece as f64 + 2.0) * (piece + PIECE_COST_BYTES) as f64;
        let best = bytes(By::Chain, 4);
        assert!([best / 2, best * 3 / 4, best * 4 / 3, best * 2].into_iter().all(|piece| takes(piece) > takes(best)), "{best}");
        assert_eq!(bytes(By::Chain, 100), 65_536, "the least");
    }
}
