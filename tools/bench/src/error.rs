//! Why a measurement has no result.

/// Why a measurement has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library reported it.
    #[error(transparent)]
    Library(#[from] pelago::Error),
    /// A receiver read something else than was sent: a bug in the library, or in the measurement.
    #[error("{what} is wrong: {found:#x} instead of {expected:#x}; all measurements of this run are invalid")]
    Wrong {
        /// What was read.
        what: &'static str,
        /// What it was.
        found: u64,
        /// What it should have been.
        expected: u64,
    },
    /// The raw limits are those of memory that all ranks map, and this memory is not.
    #[error("the raw limits need ranks that map each other's memory; measure with --transport shm on one machine")]
    NotMapped,
    /// The system did not give what is measured.
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
}

pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Compares what a receiver read with what was sent.
pub(crate) fn check(what: &'static str, found: u64, expected: u64) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Wrong { what, found, expected }) }
}
