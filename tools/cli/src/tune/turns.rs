//! Measures the time of a switch between two threads on one core.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Duration of the measurement.
const TURNS: Duration = Duration::from_millis(20);

/// Returns the nanoseconds from `yield_now` in one thread until another runs on the same core; `None` if threads cannot be bound to one core.
pub(crate) fn switch_ns() -> Option<f64> {
    let allowed = sched_getaffinity(None).ok()?;
    let core = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core))?;
    let (turn, over, switches, start) = (AtomicU64::new(0), AtomicBool::new(false), AtomicU64::new(0), Barrier::new(2));
    let play = |me: u64| {
        let mut one = CpuSet::new();
        one.set(core);
        let pinned = sched_setaffinity(None, &one).is_ok();
        start.wait();
        let begin = Instant::now();
        while !over.load(Ordering::Relaxed) {
            if turn.load(Ordering::Relaxed) == me {
                turn.store(1 - me, Ordering::Relaxed);
                switches.fetch_add(1, Ordering::Relaxed);
                if begin.elapsed() >= TURNS {
                    over.store(true, Ordering::Relaxed);
                }
            }
            yield_now();
        }
        pinned.then_some(begin.elapsed())
    };
    let times = std::thread::scope(|scope| {
        let other = scope.spawn(|| play(1));
        // Spawned, so that the affinity of the calling thread does not change.
        let me = scope.spawn(|| play(0));
        [me, other].map(|thread| thread.join().ok().flatten())
    });
    let time = times.into_iter().collect::<Option<Vec<_>>>()?.into_iter().max()?;
    Some(time.as_secs_f64() * 1e9 / switches.load(Ordering::Relaxed).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_take_turns_and_this_one_keeps_its_cores() {
        let before = sched_getaffinity(None).unwrap();
        let switch = switch_ns().unwrap();
        assert!(switch > 0.0 && switch.is_finite(), "{switch}");
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
