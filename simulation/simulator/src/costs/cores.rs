//! The cores of each node, if the machine states their number: ranks that can run take turns on them.
//!
//! A rank that waits releases its core to the next one, as the library yields while it polls. A rank that computes keeps its core for a slice at
//! a time.

use std::collections::VecDeque;

use pelago_base::{Duration, Instant, Rank};
use pelago_netsim::Machine;

use crate::costs::noise::{CoreTime, Noise};

/// The time for which a computing rank keeps a core while others wait for it: the base slice of Linux's scheduler (EEVDF).
const SLICE: Duration = Duration::from_microseconds(3_000);

/// The cores of all nodes, and the ranks that wait for one.
pub(crate) struct Cores {
    nodes: Vec<NodeCores>,
    per_node: u32,
    switch: Duration,
    ranks: Vec<Turn>,
}

/// The use of a core by a rank.
#[derive(Clone, Default)]
struct Turn {
    /// The core that it has.
    core: Option<usize>,
    /// The remaining time of its computation, and the beginning of the current slice.
    rest: Duration,
    since: Instant,
}

struct NodeCores {
    cores: Vec<Core>,
    /// Ranks that wait for a core, in order of their requests.
    queue: VecDeque<u32>,
}

#[derive(Clone, Default)]
struct Core {
    is_taken: bool,
    /// The rank that had it last; any other rank costs a context switch.
    last: Option<u32>,
}

/// The answer to a rank's request for a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The rank has a core after this time.
    After(Duration),
    /// The rank waits until another one releases its core.
    Queued,
}

impl Cores {
    /// Makes the cores for `ranks` ranks; `None` if the machine does not state the number of cores of a node.
    pub(crate) fn of(machine: &Machine, ranks: u32, per_node: u32) -> Option<Self> {
        Some(Self::new(machine.cores()?, machine.switch(), ranks, per_node))
    }

    /// Makes at most a core for each rank of a node: ranks take no other, as each takes the first one that no rank has had, and keeps to it.
    fn new(cores: u32, switch: Duration, ranks: u32, per_node: u32) -> Self {
        let nodes = (0..ranks.div_ceil(per_node)).map(|node| {
            let count = cores.min(per_node).min(ranks - node * per_node);
            NodeCores { cores: vec![Core::default(); count as usize], queue: VecDeque::new() }
        });
        Self { nodes: nodes.collect(), per_node, switch, ranks: vec![Turn::default(); ranks as usize] }
    }

    /// Whether ranks of a node share cores.
    pub(crate) fn are_shared(&self) -> bool {
        self.nodes.first().is_some_and(|node| node.cores.len() < (self.per_node as usize).min(self.ranks.len()))
    }

    fn node(&mut self, rank: u32) -> &mut NodeCores {
        &mut self.nodes[(rank / self.per_node) as usize]
    }

    /// Requests a core for a rank.
    pub(crate) fn admit(&mut self, rank: u32) -> Admission {
        if self.ranks[rank as usize].core.is_some() {
            return Admission::After(Duration::ZERO);
        }
        let node = self.node(rank);
        let free = || node.cores.iter().enumerate().filter(|(_, core)| !core.is_taken);
        let own = free().find(|(_, core)| core.last == Some(rank)).map(|(number, _)| number);
        // Prefer a core that no rank has used to one that its last rank may reuse.
        let Some(number) = own.or_else(|| free().min_by_key(|(_, core)| core.last.is_some()).map(|(number, _)| number)) else {
            node.queue.push_back(rank);
            return Admission::Queued;
        };
        Admission::After(self.take(rank, number))
    }

    /// Assigns a free core to a rank; returns the time of the context switch.
    fn take(&mut self, rank: u32, number: usize) -> Duration {
        let core = &mut self.node(rank).cores[number];
        let is_same = core.last.is_none_or(|last| last == rank);
        *core = Core { is_taken: true, last: Some(rank) };
        self.ranks[rank as usize].core = Some(number);
        if is_same { Duration::ZERO } else { self.switch }
    }

    /// Releases the core of a rank; returns the rank that gets it next, if one waits, and the time until then.
    pub(crate) fn release(&mut self, rank: u32) -> Option<(u32, Duration)> {
        let number = self.ranks[rank as usize].core.take()?;
        let node = self.node(rank);
        node.cores[number].is_taken = false;
        let next = node.queue.pop_front()?;
        Some((next, self.take(next, number)))
    }

    /// Begins a computation of a rank of duration `time`.
    pub(crate) fn begin(&mut self, rank: Rank, time: Duration) {
        self.ranks[rank.index()].rest = time;
    }

    /// Begins a slice of a computing rank; returns when the slice or the computation ends.
    pub(crate) fn begin_slice(&mut self, rank: u32, now: Instant, noise: Option<&Noise>) -> Instant {
        let core = self.core_time(rank, noise);
        let turn = &mut self.ranks[rank as usize];
        turn.since = now;
        core.finish(now, turn.rest).min(now + SLICE)
    }

    /// Ends a slice of a rank; returns the remaining time of its computation.
    pub(crate) fn end_slice(&mut self, rank: u32, now: Instant, noise: Option<&Noise>) -> Duration {
        let core = self.core_time(rank, noise);
        let turn = &mut self.ranks[rank as usize];
        turn.rest = turn.rest - core.work(turn.since, now);
        turn.rest
    }

    /// Returns the core that a rank has, with its interruptions; one without interruptions if it has none.
    pub(crate) fn core_time<'n>(&self, rank: u32, noise: Option<&'n Noise>) -> CoreTime<'n> {
        let Some(number) = self.ranks[rank as usize].core else { return CoreTime::QUIET };
        let node = u64::from(rank / self.per_node);
        CoreTime::new(noise, node << 32 | number as u64)
    }

    /// Whether another rank of the node waits for a core.
    pub(crate) fn is_wanted(&mut self, rank: u32) -> bool {
        !self.node(rank).queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(ranks: u32, per_node: u32, cores: u32) -> Cores {
        Cores::new(cores, SWITCH, ranks, per_node)
    }

    const NONE: Duration = Duration::ZERO;
    const SWITCH: Duration = Duration::from_nanoseconds(700);

    #[test]
    fn ranks_take_turns_in_their_order() {
        let mut cores = cores(4, 4, 2);
        assert!(cores.are_shared());
        assert_eq!(
            [0, 1, 2, 3].map(|rank| cores.admit(rank)),
            [Admission::After(NONE), Admission::After(NONE), Admission::Queued, Admission::Queued]
        );
        assert_eq!((cores.release(1), cores.release(0)), (Some((2, SWITCH)), Some((3, SWITCH))));
        assert_eq!((cores.release(2), cores.release(3)), (None, None));
        assert_eq!(cores.admit(3), Admission::After(NONE), "it returns to the core that it had last");
        assert_eq!(cores.admit(0), Admission::After(SWITCH));
    }

    #[test]
    fn nodes_have_cores_of_their_own() {
        let mut cores = cores(4, 2, 2);
        assert!(!cores.are_shared());
        assert!([0, 1, 2, 3].map(|rank| cores.admit(rank)).iter().all(|admission| *admission == Admission::After(NONE)));
    }

    #[test]
    fn a_node_has_no_more_cores_than_ranks() {
        let mut cores = cores(5, 2, 1 << 16);
        assert!(!cores.are_shared());
        assert_eq!(cores.nodes.iter().map(|node| node.cores.len()).collect::<Vec<_>>(), [2, 2, 1]);
        for round in 0..3 {
            let ranks = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 1, 4, 0, 2]][round];
            assert!(ranks.iter().all(|&rank| cores.admit(rank) == Admission::After(NONE)), "round {round}");
            assert!(ranks.iter().all(|&rank| cores.release(rank).is_none()));
        }
    }

    #[test]
    fn computing_goes_on_after_a_slice() {
        let (mut cores, rank) = (cores(2, 2, 1), Rank::new(0));
        cores.begin(rank, Duration::from_microseconds(4_000));
        assert_eq!(cores.begin_slice(0, Instant::ZERO, None), Instant::ZERO + SLICE);
        assert_eq!(cores.end_slice(0, Instant::ZERO + SLICE, None), Duration::from_microseconds(1_000));
        let later = Instant::ZERO + Duration::from_microseconds(9_000);
        assert_eq!(cores.begin_slice(0, later, None), later + Duration::from_microseconds(1_000));
    }
}
