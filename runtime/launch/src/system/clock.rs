//! The system's monotonic clock.

use pelago_base::Instant;
use pelago_platform::Clock;

use crate::system::report::monotonic_ns;

/// The system's monotonic clock, relative to the creation of this value.
#[derive(Clone, Copy, Debug)]
pub struct OsClock(std::time::Instant);

impl OsClock {
    /// Returns a clock that is zero now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The monotonic time of the host at which this clock was zero, in nanoseconds. All processes of a host share that time.
    pub fn started_ns(&self) -> u64 {
        monotonic_ns().saturating_sub(self.0.elapsed().as_nanos() as u64)
    }
}

impl Clock for OsClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed().into()
    }
}
