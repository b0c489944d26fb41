//! The error type of measurements.

/// Reason why a measurement has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library reported it.
    #[error(transparent)]
    Library(#[from] pelago::Error),
    /// A receiver read data that differ from the sent ones: a bug in the library, or in the measurement.
    #[error("{what} is wrong: {found:#x} instead of {expected:#x}; all measurements of this run are invalid")]
    Wrong {
        /// Name of the value.
        what: &'static str,
        /// Value read.
        found: u64,
        /// Expected value.
        expected: u64,
    },
    /// The raw limits need memory that all ranks map, and this memory is not mapped.
    #[error("the raw limits need ranks that map each other's memory; measure with --transport shm on one machine")]
    NotMapped,
    /// A system call that the measurement needs failed.
    #[error("{0}: {1}")]
    System(&'static str, std::io::Error),
}

pub(crate) type Result<T, E = Error> = core::result::Result<T, E>;

/// Compares a value read by a receiver with the sent one.
pub(crate) fn check(what: &'static str, found: u64, expected: u64) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Wrong { what, found, expected }) }
}
