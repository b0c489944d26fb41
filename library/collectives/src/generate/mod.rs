//! Schedules: pure functions of a shape and a position.

mod builder;
mod exchange;
mod gather;
mod hierarchy;
mod reduction;
mod scan;
mod shared;
mod tree;

use crate::schedule::{Schedule, Shape};
use crate::{Algorithm as By, Collective as Do};

pub(crate) use builder::{Builder, rounds};

impl Shape {
    /// Whether the algorithm supports the operation for this number of members and this operator; `mapped`: all members' memory is mapped.
    pub fn is_possible(&self, mapped: bool) -> bool {
        let flat = !matches!(self.algorithm, By::Hierarchical) || self.hosts() > 1 && self.per_host > 1;
        flat && self.size > 1 && (mapped || self.algorithm != By::Shared) && self.has_algorithm()
    }

    /// Number of hosts.
    pub const fn hosts(&self) -> u32 {
        self.size.div_ceil(self.per_host)
    }

    fn has_algorithm(&self) -> bool {
        let Self { operation, algorithm, size, per_host, commutes, .. } = *self;
        match (operation, algorithm) {
            (Do::Barrier, By::Flat | By::Direct | By::Hierarchical | By::RecursiveDoubling) => true,
            (Do::Broadcast { .. }, By::Flat | By::Binomial | By::Chain | By::Hierarchical | By::Shared) => true,
            (Do::Reduce { .. }, By::Flat | By::Binomial | By::Shared) => true,
            // Hosts are counted from the root's: only with the first member as root do operands keep their order.
            (Do::Reduce { root }, By::Hierarchical) => commutes || root == 0 && per_host > 0,
            (Do::Allreduce, By::Flat | By::Direct | By::Binomial | By::Hierarchical | By::RecursiveDoubling | By::Shared) => true,
            (Do::Allreduce, By::Halving | By::Ring) => commutes,
            (
                Do::Allgather,
                By::Direct
                | By::Flat
                | By::Hierarchical
                | By::RecursiveDoubling
                | By::RecursiveDoublingFar
                | By::Ring
                | By::Bruck
                | By::Shared,
            ) => true,
            (Do::ReduceScatter, By::Flat | By::Direct | By::Shared) => true,
            (Do::ReduceScatter, By::Ring) => commutes,
            (Do::ReduceScatter, By::Halving) => commutes && size.is_power_of_two(),
            (Do::Gather { .. } | Do::Scatter { .. }, By::Flat | By::Binomial | By::Shared) => true,
            (Do::Alltoall, By::Direct | By::Pairwise | By::Bruck | By::Shared) => true,
            (Do::Scan | Do::ExclusiveScan, By::Direct | By::Chain | By::RecursiveDoubling | By::Shared) => true,
            _ => false,
        }
    }

    /// Returns the schedule of the member at `position`.
    ///
    /// # Panics
    /// The shape is not [possible](Self::is_possible), or has no such position or root.
    pub fn schedule(&self, position: u32) -> Schedule {
        assert!(position < self.size && self.operation.root().is_none_or(|root| root < self.size), "{position} of {self:?}");
        assert!(self.is_possible(true), "{self:?}");
        let mut builder = Builder::new(self, position);
        let build = &mut builder;
        match (self.operation, self.algorithm) {
            (_, By::Shared) => shared::any(build, self.operation),
            (_, By::Hierarchical) => hierarchy::any(build, self.operation),
            (Do::Barrier, By::Flat) => tree::barrier_flat(build),
            (Do::Barrier, By::Direct) => exchange::barrier_direct(build),
            (Do::Barrier, _) => exchange::barrier_dissemination(build),
            (Do::Broadcast { root }, By::Flat) => tree::broadcast_flat(build, root),
            (Do::Broadcast { root }, By::Chain) => tree::broadcast_chain(build, root),
            (Do::Broadcast { root }, _) => tree::broadcast(build, root),
            (Do::Reduce { root }, By::Flat) => reduction::reduce_flat(build, root),
            (Do::Reduce { root }, _) => reduction::reduce_binomial(build, root),
            (Do::Allreduce, By::Flat) => reduction::allreduce_flat(build),
            (Do::Allreduce, By::Binomial) => reduction::allreduce_binomial(build),
            (Do::Allreduce, By::Direct) => reduction::allreduce_direct(build),
            (Do::Allreduce, By::Halving) => reduction::allreduce_halving(build),
            (Do::Allreduce, By::Ring) => reduction::allreduce_ring(build),
            (Do::Allreduce, _) => reduction::allreduce_doubling(build),
            (Do::Allgather, By::Flat) => gather::allgather_flat(build),
            (Do::Allgather, By::Direct) => gather::allgather_direct(build),
            (Do::Allgather, By::RecursiveDoubling) => gather::allgather_near_first(build),
            (Do::Allgather, By::RecursiveDoublingFar) => gather::allgather_far_first(build),
            (Do::Allgather, By::Ring) => gather::allgather_ring(build),
            (Do::Allgather, _) => gather::allgather_bruck(build),
            (Do::ReduceScatter, By::Flat) => reduction::reduce_scatter_flat(build),
            (Do::ReduceScatter, By::Direct) => reduction::reduce_scatter_direct(build),
            (Do::ReduceScatter, By::Ring) => reduction::reduce_scatter_ring(build),
            (Do::ReduceScatter, _) => reduction::reduce_scatter_halving(build),
            (Do::Gather { root }, By::Flat) => gather::gather_flat(build, root),
            (Do::Gather { root }, _) => gather::gather_binomial(build, root),
            (Do::Scatter { root }, By::Flat) => gather::scatter_flat(build, root),
            (Do::Scatter { root }, _) => gather::scatter_binomial(build, root),
            (Do::Alltoall, By::Direct) => exchange::alltoall_direct(build),
            (Do::Alltoall, By::Pairwise) => exchange::alltoall_pairwise(build),
            (Do::Alltoall, _) => exchange::alltoall_bruck(build),
            (Do::Scan, By::Direct) => scan::direct(build, false),
            (Do::Scan, By::Chain) => scan::chain(build, false),
            (Do::Scan, _) => scan::doubling(build, false),
            (Do::ExclusiveScan, By::Direct) => scan::direct(build, true),
            (Do::ExclusiveScan, By::Chain) => scan::chain(build, true),
            (Do::ExclusiveScan, _) => scan::doubling(build, true),
        }
        builder.end()
    }
}
