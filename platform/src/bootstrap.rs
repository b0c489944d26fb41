//! The ranks of the job and the exchange of their addresses at start.

use pelago_base::{Rank, Topology};

/// The job as its launcher knows it.
///
/// Contract:
/// - B1 fixed: `rank` and `size` never change.
/// - B2 published: what a rank published before a `barrier` is found by `lookup` on every rank of its host after it,
///   and the addresses of transports on every rank of the job.
/// - B3 finite: every call ends, with an error if the job is at fault.
pub trait Bootstrap: Send {
    /// This process.
    fn rank(&self) -> Rank;

    /// Number of ranks of the job.
    fn size(&self) -> u32;

    /// Placement of the job's ranks in its machine, the same on every rank; a single host if the placement is unknown.
    fn topology(&self) -> Topology {
        Topology::flat(self.size())
    }

    /// Publishes `value` under `key` for the other ranks, up to
    /// [`PUBLISHED_BYTES_MAX`](crate::limits::PUBLISHED_BYTES_MAX) bytes of keys and values together.
    ///
    /// # Errors
    /// The published keys and values exceed the limit.
    fn publish(&mut self, key: &str, value: &[u8]) -> Result<(), BootstrapError>;

    /// Returns the value that `rank` published under `key`.
    ///
    /// # Errors
    /// `rank` published nothing under that key, or does not exist.
    fn lookup(&mut self, rank: Rank, key: &str) -> Result<Vec<u8>, BootstrapError>;

    /// Returns when every rank that has not failed has called it as often as this rank. `meanwhile` is called now and then, and before the
    /// rank sleeps; it returns whether it made progress.
    ///
    /// # Errors
    /// A rank ended before it called `barrier` as often.
    fn barrier(&mut self, meanwhile: &mut dyn FnMut() -> bool) -> Result<(), BootstrapError>;

    /// Reports that this rank has completed its part of the job without failure.
    fn finish(&mut self);
}

/// The job could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BootstrapError {
    /// The published keys and values exceed the limit.
    #[error("{0} bytes are too many to publish; the limit is {max}", max = crate::limits::PUBLISHED_BYTES_MAX)]
    TooLong(usize),
    /// Nothing is published under that key.
    #[error("rank {0} published nothing under the key {1:?}")]
    Missing(Rank, String),
    /// The program could not become a rank.
    #[error("cannot take part in the job: {0}")]
    Start(String),
    /// The job has ended, but its report could not be written.
    #[error("{0}")]
    Report(String),
    /// The job is at fault.
    #[error(transparent)]
    Fault(#[from] crate::Fault),
}
