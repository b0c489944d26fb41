//! Synchronization without data: a counter and a barrier.

mod barrier;
mod counter;

pub use barrier::SyncBarrier;
pub use counter::Counter;
