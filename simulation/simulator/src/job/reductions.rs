//! Reductions by the routers or NICs of the simulated network.
//!
//! The times of the results follow from those of the contributions alone, so that they are the same for any number of threads.

use pelago_base::{Duration, Rank, Team};
use pelago_netsim::ReductionLimits;
use pelago_platform::{PostError, ReductionOperator, Token};

use super::SimulatedJob;
use super::noise::core_of;
use super::tokens::WakeUp;
use crate::costs::progress_threads::Submitted;
use crate::operations::reductions::Contributed;

impl SimulatedJob {
    /// Returns what the machine reduces; `None` if it does not, or the library's own protocol carries the operations, which does not use such hardware.
    fn reduction_limits(&self) -> Option<ReductionLimits> {
        self.network.reduction().filter(|_| self.stations.is_none())
    }

    /// Returns the maximum number of words of a contribution; `None` if there are no reductions.
    pub(crate) fn reduction_words_max(&self) -> Option<usize> {
        self.reduction_limits().map(words_max)
    }

    /// Makes `rank` a member of the group of a team; `None` if the network does not serve it.
    pub(crate) fn open_reductions(&mut self, rank: Rank, team: &Team) -> Option<u32> {
        let limits = self.reduction_limits()?;
        if team.iter().any(|member| member.number() >= self.size()) {
            return None;
        }
        let Self { network, reductions, per_node, .. } = self;
        reductions.open((rank, team, *per_node), limits.groups_max, |nodes| network.reduction_tree(nodes))
    }

    /// Contributes for `rank` to the next reduction of a group; returns how long that keeps the core of the rank busy.
    pub(crate) fn contribute(
        &mut self,
        rank: Rank,
        group: u32,
        operator: ReductionOperator,
        words: &[u64],
        token: Token,
    ) -> Result<Duration, PostError> {
        let limits = self.reduction_limits().ok_or(PostError::Group)?;
        if words.len() > words_max(limits) {
            return Err(PostError::TooLong(size_of_val(words)));
        }
        let (now, idle) = (self.network.now(), self.ranks[rank.index()].in_flight == 0);
        if self.ranks[rank.index()].in_flight == self.in_flight_max {
            return Err(PostError::Full);
        }
        self.reductions.check(rank, group)?;
        let core = core_of(self.noise.as_ref(), self.cores.as_ref(), rank.number());
        let submitted = self.progress_threads.submit(now, rank, core, idle);
        let Submitted { busy, mut at, by_rank } = submitted.unwrap_or(Submitted { busy: Duration::ZERO, at: now, by_rank: true });
        if by_rank {
            // Interruptions of the core delay what it hands to the NIC.
            at = at + core.finish(at, limits.overhead).since(at + limits.overhead);
        }
        let node = rank.number() / self.per_node;
        let contributed = self.reductions.contribute((rank, group, node), at, operator, words, token)?;
        self.ranks[rank.index()].in_flight += 1;
        match contributed {
            Contributed::Waits => {}
            Contributed::Failed(completion) => self.add_completion(rank, completion),
            Contributed::Last => {
                for (rank, at) in self.reductions.results(group, self.per_node) {
                    let rank = rank.number();
                    self.network.wake_at(at, rank, WakeUp::Reduced { rank, group }.token());
                }
            }
        }
        Ok(busy)
    }

    /// Handles the arrival of a result at the NIC of a rank, which its progress thread may have to report.
    pub(super) fn receive_result(&mut self, rank: u32, group: u32) {
        match self.progress_threads.notify(self.network.now(), Rank::new(rank)) {
            Some(at) => self.network.wake_at(at, rank, WakeUp::ReductionReported { rank, group }.token()),
            None => self.deliver_result(rank, group),
        }
    }

    /// Completes the oldest contribution of a rank to a group.
    pub(super) fn deliver_result(&mut self, rank: u32, group: u32) {
        let rank = Rank::new(rank);
        if let Some(completion) = self.reductions.deliver(rank, group) {
            self.add_completion(rank, completion);
        }
    }
}

fn words_max(limits: ReductionLimits) -> usize {
    limits.bytes_max as usize / size_of::<u64>()
}
