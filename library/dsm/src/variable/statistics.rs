//! Counts of the costs of a variable for this rank.

use core::fmt;

use pelago_base::Duration;

/// Counts of the costs of a variable for this rank so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Acquires to read.
    pub reads: u64,
    /// Acquires to write.
    pub writes: u64,
    /// Acquires in which the previous holder handed the token over, without the home.
    pub hand_overs: u64,
    /// Acquires of a token that this rank had kept; see [`Placement::Migrating`](crate::Placement::Migrating).
    pub kept: u64,
    /// Acquires that needed the data of another rank.
    pub fetched: u64,
    /// Bytes of that data.
    pub bytes: u64,
    /// Acquires among `fetched` whose data [`Shared::prefetch`](crate::Shared::prefetch) had fetched before.
    pub prefetched: u64,
    /// Acquires among `fetched` whose data came with the token.
    pub piggybacked: u64,
    /// Waits of this rank.
    pub waits: u64,
    /// The total time of the waits.
    pub waited: Duration,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, writes, hand_overs, kept, fetched, bytes, prefetched, piggybacked, waits, waited } = self;
        write!(f, "acquired {reads} times to read and {writes} to write, {hand_overs} of them handed over and {kept} kept; ")?;
        write!(
            f,
            "data fetched {fetched} times, {prefetched} of them prefetched and {piggybacked} with the token, {bytes} bytes; waited {waits} times, {waited:?}"
        )
    }
}
