//! Random moments and choices, for tests that kill processes.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The environment variable with the number of repetitions for each kind of kill; a few without it.
pub const KILLS: &str = "PELAGO_KILLS";

const KILLS_DEFAULT: u32 = 2;

/// Maximum time from the first output of all ranks to the kill: enough for thousands of operations.
const MOMENT_US_MAX: u64 = 30_000;

/// Returns the number of repetitions for each kind of kill.
pub fn kills() -> u32 {
    std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS_DEFAULT)
}

/// Returns a random number below `end`.
pub fn below(end: usize) -> usize {
    (RandomState::new().hash_one(0) % end as u64) as usize
}

/// Sleeps for a random time.
pub fn wait() {
    std::thread::sleep(Duration::from_micros(below(MOMENT_US_MAX as usize) as u64));
}
