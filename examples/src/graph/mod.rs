//! The activity of a rank as a graph of operations with dependencies: the common form of traces and schedules of other tools.
//!
//! | part | for |
//! |---|---|
//! | [`Graph`], [`Builder`] | the operations of one rank, and their dependencies |
//! | [`messages`] | tagged messages: puts into the memory of the receiver, and words that announce them |
//! | [`run`] | execution of the graph of a rank |
//! | [`cores`] | which operations of a core wait for a computation on it |
//! | [`source`] | files, plain or compressed |
//! | [`report`] | the total time of all ranks |

mod cores;
pub(crate) mod messages;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod source;

use pelago::collectives::Collective;

/// Maximum number of operations of a rank: 32 bytes each, and 8 for each dependency.
pub(crate) const OPERATIONS_MAX: usize = 1 << 24;

/// Maximum number of dependencies of a rank.
pub(crate) const DEPENDENCIES_MAX: usize = 4 * OPERATIONS_MAX;

/// Maximum bytes of one transfer.
pub(crate) const TRANSFER_BYTES_MAX: u64 = 1 << 40;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The rank computes for `amount` nanoseconds.
    Compute,
    /// Sends `amount` bytes to a receive of `peer`; ends when its memory may be reused.
    Send,
    /// Receives a message from `peer`, or from any rank.
    Receive,
    /// Writes `amount` bytes to the memory of `peer` without notification; ends when they have arrived.
    Put,
    /// Reads `amount` bytes of the memory of `peer`.
    Get,
    /// Modifies a word of `peer` and returns the old value.
    Atomic,
    /// A collective operation of a group, with `amount` bytes that each rank contributes, or receives if only one rank contributes.
    Collective(Collective),
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    pub(crate) kind: Kind,
    /// Core that the operation occupies; operations of one core exclude each other.
    pub(crate) core: u8,
    /// The other rank, or [`ANY`].
    pub(crate) peer: u32,
    /// Tag of a message, or [`ANY`]; for a collective operation its group, 0 for all ranks.
    pub(crate) tag: u32,
    /// Bytes, or nanoseconds.
    pub(crate) amount: u64,
    /// Position in the source: line of a text, or number of the operation.
    pub(crate) place: u32,
}

/// Any source, or any tag, of a receive.
pub(crate) const ANY: u32 = u32::MAX;

/// Event of an operation that lets a dependent operation begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Begun,
    Ended,
}

/// The operations of one rank.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) operations: Vec<Operation>,
    /// For each operation, the start of its dependents in `dependents`; one more entry at the end.
    firsts: Vec<u32>,
    /// Twice the number of a dependent operation, plus one if it waits for the beginning.
    dependents: Vec<u32>,
    /// Number of operations for which each operation waits.
    blockers: Vec<u32>,
}

impl Graph {
    /// Returns the operations that wait for the beginning, or for the end, of an operation.
    fn waiting_for(&self, operation: u32, when: When) -> impl Iterator<Item = u32> {
        let range = self.firsts[operation as usize] as usize..self.firsts[operation as usize + 1] as usize;
        let begun = u32::from(when == When::Begun);
        self.dependents[range].iter().filter(move |&&dependent| dependent & 1 == begun).map(|dependent| dependent >> 1)
    }

    /// Returns the number of cores that the operations occupy.
    pub(crate) fn cores(&self) -> usize {
        self.operations.iter().map(|operation| usize::from(operation.core) + 1).max().unwrap_or(1)
    }

    /// Returns the number of operations that move data, and the bytes moved.
    pub(crate) fn traffic(&self) -> [u64; 2] {
        let moves = self.operations.iter().filter(|operation| matches!(operation.kind, Kind::Send | Kind::Put | Kind::Get));
        moves.fold([0, 0], |[count, bytes], operation| [count + 1, bytes.saturating_add(operation.amount)])
    }
}

/// Collects the operations of a rank.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    operations: Vec<Operation>,
    /// Dependencies: awaited operation, waiting operation, and event.
    edges: Vec<(u32, u32, When)>,
}

impl Builder {
    /// Adds an operation and returns its number; `None` at the maximum.
    pub(crate) fn add(&mut self, operation: Operation) -> Option<u32> {
        let number = self.operations.len();
        if number == OPERATIONS_MAX {
            return None;
        }
        self.operations.push(operation);
        Some(number as u32)
    }

    /// Makes `operation` wait for `other`; returns `false` at the maximum of dependencies.
    pub(crate) fn waits(&mut self, operation: u32, other: u32, when: When) -> bool {
        let has_room = self.edges.len() < DEPENDENCIES_MAX;
        if has_room {
            self.edges.push((other, operation, when));
        }
        has_room
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// The dependencies have a cycle; the error is the first operation that never begins.
    pub(crate) fn finish(self) -> Result<Graph, Operation> {
        let Self { operations, edges } = self;
        let mut firsts = vec![0_u32; operations.len() + 1];
        let mut blockers = vec![0_u32; operations.len()];
        for &(other, operation, _) in &edges {
            firsts[other as usize + 1] += 1;
            blockers[operation as usize] += 1;
        }
        for index in 1..firsts.len() {
            firsts[index] += firsts[index - 1];
        }
        let (mut next, mut dependents) = (firsts.clone(), vec![0; edges.len()]);
        for (other, operation, when) in edges {
            let place = &mut next[other as usize];
            dependents[*place as usize] = operation << 1 | u32::from(when == When::Begun);
            *place += 1;
        }
        let graph = Graph { operations, firsts, dependents, blockers };
        match graph.first_that_never_begins() {
            Some(number) => Err(graph.operations[number]),
            None => Ok(graph),
        }
    }
}

impl Graph {
    fn first_that_never_begins(&self) -> Option<usize> {
        let mut left = self.blockers.clone();
        let mut ready: Vec<u32> = (0..left.len() as u32).filter(|&number| left[number as usize] == 0).collect();
        while let Some(number) = ready.pop() {
            for dependent in [When::Begun, When::Ended].into_iter().flat_map(|when| self.waiting_for(number, when)) {
                left[dependent as usize] -= 1;
                if left[dependent as usize] == 0 {
                    ready.push(dependent);
                }
            }
        }
        left.iter().position(|&left| left > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(place: u32) -> Operation {
        Operation { kind: Kind::Compute, core: 0, peer: 0, tag: 0, amount: 1, place }
    }

    #[test]
    fn operations_know_who_waits_for_them() {
        let mut builder = Builder::default();
        let numbers: Vec<u32> = (0..4).map(|place| builder.add(operation(place)).unwrap()).collect();
        for (waiting, other, when) in [(2, 0, When::Ended), (1, 0, When::Begun), (3, 0, When::Ended), (3, 2, When::Begun)] {
            assert!(builder.waits(numbers[waiting], numbers[other], when));
        }
        let graph = builder.finish().unwrap();
        assert_eq!(graph.blockers, [0, 1, 1, 2]);
        assert_eq!(graph.waiting_for(0, When::Ended).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(graph.waiting_for(0, When::Begun).collect::<Vec<_>>(), [1]);
        assert_eq!(graph.waiting_for(2, When::Begun).collect::<Vec<_>>(), [3]);
        assert_eq!(size_of::<Operation>(), 32);
    }

    #[test]
    fn a_circle_is_found() {
        let mut builder = Builder::default();
        (0..4).for_each(|place| assert_eq!(builder.add(operation(place)), Some(place)));
        for (waiting, other) in [(1, 2), (2, 3), (3, 1)] {
            assert!(builder.waits(waiting, other, When::Begun));
        }
        assert_eq!(builder.finish().unwrap_err().place, 1);
    }
}
