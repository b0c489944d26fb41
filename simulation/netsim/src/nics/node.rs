//! What a node does without the network.

use crate::machine::picoseconds;
use crate::machine::spec::SharedSpec;
use crate::network::Medium;
use crate::nics::transfer::OperationKind;

/// A node's own state.
#[derive(Default)]
pub(crate) struct Node {
    /// When it can copy the next bytes within itself.
    copy_free: u64,
    /// When its host can consume the next datagram.
    pub(crate) service_free: u64,
    /// Datagrams that have come and are not consumed.
    pub(crate) slots: u32,
}

impl Node {
    /// Copies bytes, one copy after another; says when they have arrived.
    pub(crate) fn copy(&mut self, now: u64, path: Medium, bytes: u64) -> u64 {
        self.copy_free = self.copy_free.max(now).saturating_add(path.rate.time(bytes));
        self.copy_free.saturating_add(path.cable)
    }
}

/// Memory that the ranks of a node share, in picoseconds.
pub(crate) struct SharedMemory {
    visible: u64,
    atomic: u64,
    put: Times,
    get: Times,
}

/// How long so many bytes take: points by bytes, at least one; the first has bytes.
struct Times(Vec<(u64, u64)>);

impl SharedMemory {
    pub(crate) fn new(spec: &SharedSpec) -> Self {
        let times = |pairs: &[(u64, f64)]| Times(pairs.iter().map(|&(bytes, time)| (bytes, picoseconds(time))).collect());
        let (visible, atomic) = (picoseconds(spec.visible_ns), picoseconds(spec.atomic_ns));
        Self { visible, atomic, put: times(&spec.put), get: times(&spec.get) }
    }

    /// How long an operation keeps the core of the initiator busy, and, if it has no result, how long after that other ranks see it.
    pub(crate) fn time(&self, kind: OperationKind, bytes: u64) -> (u64, Option<u64>) {
        match kind {
            OperationKind::Atomic => (self.atomic, None),
            OperationKind::Get => (self.get.of(bytes), None),
            OperationKind::Put | OperationKind::Copy | OperationKind::Datagram => (self.put.of(bytes), Some(self.visible)),
        }
    }
}

impl Times {
    /// On the straight line between the two points beside it; below the first as the first; beyond the last at its rate.
    fn of(&self, bytes: u64) -> u64 {
        let after = self.0.partition_point(|&(size, _)| size < bytes);
        let (line, from, over) = match (after.checked_sub(1).map(|before| self.0[before]), self.0.get(after)) {
            (None, first) => return first.map_or(0, |&(_, time)| time),
            (Some((small, fast)), Some(&(large, slow))) => ((slow, fast), bytes - small, large - small),
            (Some((small, time)), None) => ((time, 0), bytes, small),
        };
        let part = |time: u64, from: u64| u128::from(time) * u128::from(from) / u128::from(over);
        u64::try_from(part(line.0, from) + part(line.1, over.saturating_sub(from))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_lie_on_lines_between_what_was_measured() {
        let times = Times(vec![(8, 1_000), (64, 9_000), (1024, 5_000)]);
        assert_eq!([0, 1, 8, 36, 64, 544, 1024].map(|bytes| times.of(bytes)), [1_000, 1_000, 1_000, 5_000, 9_000, 7_000, 5_000]);
        assert_eq!([2048, 1 << 20].map(|bytes| times.of(bytes)), [10_000, 5_120_000]);
        assert_eq!(times.of(u64::MAX), u64::MAX, "no longer than there is time");
        assert_eq!(Times(vec![(8, u64::MAX)]).of(u64::MAX), u64::MAX);
    }
}
