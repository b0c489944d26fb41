//! What a variable has cost this rank.

use core::fmt;

use pelago_base::Duration;

/// What a variable has cost this rank so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// How often it was acquired to read.
    pub reads: u64,
    /// How often it was acquired to write.
    pub writes: u64,
    /// How many of these were handed over by another rank that had it before, without going by the home.
    pub hand_overs: u64,
    /// How many found what this rank had kept; see [`Placement::Migrating`](crate::Placement::Migrating).
    pub kept: u64,
    /// How often data had to be brought.
    pub brought: u64,
    /// Bytes of that.
    pub bytes: u64,
    /// How often data had been brought ahead by [`Shared::prefetch`](crate::Shared::prefetch), of the times that it was brought.
    pub ahead: u64,
    /// How often short data came along with the token, of the times that it was brought.
    pub along: u64,
    /// How often this rank had to wait, and how long altogether.
    pub waits: u64,
    /// See `waits`.
    pub waited: Duration,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, writes, hand_overs, kept, brought, bytes, ahead, along, waits, waited } = self;
        write!(f, "acquired {reads} times to read and {writes} to write, {hand_overs} of them handed over and {kept} kept; ")?;
        write!(
            f,
            "data brought {brought} times, {ahead} of them ahead and {along} along with the token, {bytes} bytes; waited {waits} times, {waited:?}"
        )
    }
}
