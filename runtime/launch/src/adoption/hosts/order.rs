//! The ranks of a job host by host: the ranks of one host are consecutive, whatever numbers the launcher has given to their processes.

use std::collections::HashMap;

use crate::adoption::launcher_store::JobFacts;

/// The hosts of a job in the order of their first processes, and the position of this process among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostOrder {
    /// The rank of this process.
    pub(crate) rank: u32,
    /// The index of its host.
    pub(crate) place: usize,
    pub(crate) hosts: Vec<HostRanks>,
}

/// The ranks of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostRanks {
    /// The launcher's number of the host.
    pub(crate) number: u32,
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// The launcher's number of the first rank's process.
    pub(crate) leader: u32,
}

impl HostOrder {
    /// Returns the order of a job: the launcher's process 0 is rank 0, and the processes of a host keep their order.
    ///
    /// Cost: linear in the processes of the job.
    pub(crate) fn of(facts: &JobFacts) -> Self {
        let (mut places, mut hosts) = (HashMap::new(), Vec::<HostRanks>::new());
        let (mut place, mut local) = (0, 0);
        for (process, number) in (0..facts.size).zip(facts.placement.hosts()) {
            let here = *places.entry(number).or_insert(hosts.len());
            if here == hosts.len() {
                hosts.push(HostRanks { number, first: 0, count: 0, leader: process });
            }
            if process == facts.rank {
                (place, local) = (here, hosts[here].count);
            }
            hosts[here].count += 1;
        }
        let mut next = 0;
        for host in &mut hosts {
            host.first = next;
            next += host.count;
        }
        Self { rank: hosts.get(place).map_or(0, |host| host.first) + local, place, hosts }
    }

    /// Returns the host of this process.
    pub(crate) fn here(&self) -> HostRanks {
        self.hosts[self.place]
    }

    /// Whether ranks are on other hosts.
    pub(crate) fn are_several(&self) -> bool {
        self.hosts.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adoption::launcher_store::Placement;

    fn order(rank: u32, hosts: &[u32]) -> HostOrder {
        let (size, placement) = (hosts.len() as u32, Placement::listed(hosts));
        HostOrder::of(&JobFacts { rank, size, job: String::new(), placement })
    }

    fn ranks(hosts: &[u32]) -> Vec<u32> {
        (0..hosts.len() as u32).map(|process| order(process, hosts).rank).collect()
    }

    #[test]
    fn ranks_of_a_host_are_consecutive_for_every_placement() {
        assert_eq!(ranks(&[7, 7, 3, 3]), [0, 1, 2, 3], "block");
        assert_eq!(ranks(&[0, 1, 0, 1, 0]), [0, 3, 1, 4, 2], "round robin");
        assert_eq!(ranks(&[5, 2, 2, 5, 9, 2]), [0, 2, 3, 1, 5, 4], "neither");
        let odd = order(5, &[5, 2, 2, 5, 9, 2]);
        let host = |number, first, count, leader| HostRanks { number, first, count, leader };
        assert_eq!((odd.place, odd.here()), (1, host(2, 2, 3, 1)));
        assert_eq!(odd.hosts, [host(5, 0, 2, 0), host(2, 2, 3, 1), host(9, 5, 1, 4)]);
        assert!(odd.are_several() && !order(0, &[4, 4]).are_several());
    }
}
