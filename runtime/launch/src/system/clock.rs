//! The system's monotonic clock.

use pelago_base::Instant;
use pelago_platform::Clock;

/// The system's monotonic clock, counted from when this value was made.
#[derive(Clone, Copy, Debug)]
pub struct OsClock(std::time::Instant);

impl OsClock {
    /// A clock that stands at zero now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

impl Clock for OsClock {
    fn now(&self) -> Instant {
        Instant::ZERO + self.0.elapsed().into()
    }
}
