//! Random moments and choices, for tests that kill somebody then.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// How often each kind of kill is tried, by this variable; a few times without it.
pub const KILLS: &str = "PELAGO_KILLS";

const KILLS_DEFAULT: u32 = 2;

/// The longest time from the first sign of life of all ranks to the kill: enough for thousands of operations.
const MOMENT_US_MAX: u64 = 30_000;

/// How often each kind of kill is to be tried.
pub fn kills() -> u32 {
    std::env::var(KILLS).ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS_DEFAULT)
}

/// A random number below `end`.
pub fn below(end: usize) -> usize {
    (RandomState::new().hash_one(0) % end as u64) as usize
}

/// Lets a random time pass.
pub fn wait() {
    std::thread::sleep(Duration::from_micros(below(MOMENT_US_MAX as usize) as u64));
}
