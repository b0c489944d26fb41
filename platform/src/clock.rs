//! The source of time.

use pelago_base::Instant;

/// Source of time.
///
/// Contract:
/// - C1 monotonic: a later call never returns an earlier instant, on one rank.
/// - C2 bounded: `now` neither blocks nor allocates.
pub trait Clock: Send + Sync {
    /// The present moment.
    fn now(&self) -> Instant;
}
