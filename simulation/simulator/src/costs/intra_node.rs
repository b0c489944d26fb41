//! The times of memory that the ranks of a node share, besides those of the operations themselves; domains of ranks.

use pelago_base::Duration;
use pelago_netsim::{Machine, NetworkOperation};

/// The costs of memory that the ranks of a node share, from the description of the machine.
pub(crate) struct SharedMemoryCosts {
    /// Time from the end of an operation until other ranks can see its effect; `None` if the ranks of a node share no memory.
    pub(crate) visible: Option<Duration>,
    /// Time that the system takes to provide a page on its first use.
    pub(crate) page: Duration,
}

impl SharedMemoryCosts {
    pub(crate) fn of(machine: &Machine) -> Self {
        Self { visible: machine.visible(), page: machine.page() }
    }
}

/// The domains: consecutive ranks of a node whose memories are connected directly.
#[derive(Clone, Copy)]
pub(crate) struct RankDomains {
    per_node: u32,
    ranks: u32,
}

impl RankDomains {
    /// Returns the domains of a machine with `per_node` ranks on each node; `None` if it has none.
    pub(crate) fn of(machine: &Machine, per_node: u32) -> Option<Self> {
        Some(Self { per_node, ranks: machine.domain_ranks()? })
    }

    /// Whether a domain performs an operation between ranks: all of them are of one domain, and the bytes leave their rank.
    pub(crate) fn performs(self, operation: &NetworkOperation) -> bool {
        let [by, from, to] = operation.ends();
        let domain = |rank: u32| (rank / self.per_node, rank % self.per_node / self.ranks);
        from != to && domain(by) == domain(from) && domain(by) == domain(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_are_consecutive_ranks_of_a_node() {
        let domains = RankDomains { per_node: 8, ranks: 4 };
        let put = |from, to| domains.performs(&NetworkOperation::Put { from, to, bytes: 8 });
        assert!(put(0, 3) && put(4, 7) && put(15, 12));
        assert!(!put(3, 4) && !put(4, 12) && !put(0, 8) && !put(2, 2));
        let copy = |by, from, to| domains.performs(&NetworkOperation::Copy { by, from, to, bytes: 8 });
        assert!(copy(0, 1, 2) && copy(0, 0, 1));
        assert!(!copy(4, 1, 2) && !copy(0, 1, 5) && !copy(0, 1, 1));
        assert!(domains.performs(&NetworkOperation::Atomic { by: 0, at: 1 }));
        assert!(!domains.performs(&NetworkOperation::Atomic { by: 1, at: 1 }));
        let node = RankDomains { ranks: u32::MAX, ..domains };
        assert!(node.performs(&NetworkOperation::Get { by: 0, at: 7, bytes: 8 }));
        assert!(!node.performs(&NetworkOperation::Get { by: 0, at: 8, bytes: 8 }));
    }
}
