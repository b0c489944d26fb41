//! Detects whether the machine was quiet during the measurement.

use std::fmt;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::statistics::{median, spread};

/// Duration of one observation of the cores.
const WATCH: Duration = Duration::from_millis(30);

/// Maximum fraction of the cores used by other programs, in the median of all observations.
const LOST_MAX: f64 = 0.02;

/// Maximum spread between rounds: of the median value, and of any program.
const SPREAD_MAX: f64 = 0.05;
const PROGRAM_SPREAD_MAX: f64 = 0.10;

/// Evidence on whether a machine is quiet.
#[derive(Default)]
pub(crate) struct Noise {
    /// Fraction of the cores used by other programs, for each observation.
    lost: Vec<f64>,
    /// Spread of each measured value, and of the real times of each program.
    values: Vec<f64>,
    programs: Vec<f64>,
}

/// Whether a machine was quiet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// No noise detected: the fraction of the cores used by other programs, and the median spread of the values.
    Quiet { lost: f64, spread: f64 },
    /// Not quiet, and the reason.
    Noisy(String),
    /// Too few rounds.
    Unknown,
}

impl Noise {
    /// Observes the use of the cores by other programs.
    pub(crate) fn watch(&mut self) {
        self.lost.push(lost());
    }

    /// Adds the measurements of one value in all rounds.
    pub(crate) fn value(&mut self, rounds: &[f64]) {
        self.values.extend(spread(rounds));
    }

    /// Adds the real times of a program.
    pub(crate) fn program(&mut self, times: &[f64]) {
        self.programs.extend(spread(times));
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let spreads = if self.values.is_empty() { &self.programs } else { &self.values };
        if spreads.is_empty() || self.lost.is_empty() {
            return Verdict::Unknown;
        }
        let (lost, spread) = (median(self.lost.clone()), median(spreads.clone()));
        let worst = self.programs.iter().copied().fold(0.0, f64::max);
        let mut reasons = Vec::new();
        for (found, most, what) in [
            (lost, LOST_MAX, "other programs had {} of the cores"),
            (spread, SPREAD_MAX, "a value changes by {} from round to round"),
            (worst, PROGRAM_SPREAD_MAX, "the time of a program changes by {}"),
        ] {
            if found > most {
                reasons.push(format!("{} (at most {})", what.replace("{}", &per_cent(found)), per_cent(most)));
            }
        }
        if reasons.is_empty() { Verdict::Quiet { lost, spread } } else { Verdict::Noisy(reasons.join(", ")) }
    }
}

impl Verdict {
    /// Returns the verdict as a word.
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Quiet { .. } => "quiet",
            Self::Noisy(_) => "noisy",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quiet { lost, spread } => {
                let [lost, spread] = [lost, spread].map(|part| per_cent(*part));
                write!(f, "quiet: other programs had {lost} of the cores, a value changes by {spread} from round to round")
            }
            Self::Noisy(why) => write!(f, "noisy: {why}; these figures do not count"),
            Self::Unknown => f.write_str("not known to be quiet: that takes at least 3 rounds; these figures do not count"),
        }
    }
}

fn per_cent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

/// Returns the fraction of all cores that busy threads of this process do not get.
fn lost() -> f64 {
    let cores = available_parallelism().map_or(1, usize::from);
    let watched: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(watch_core)).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let (wall, used) = watched.iter().fold((0.0, 0.0), |(wall, used), (w, u)| (wall + w, used + u));
    (1.0 - used / f64::max(wall, f64::MIN_POSITIVE)).clamp(0.0, 1.0)
}

/// Keeps a core busy; returns the elapsed time and the CPU time of this thread, in seconds.
fn watch_core() -> (f64, f64) {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let (start, before) = (Instant::now(), used());
    while start.elapsed() < WATCH {
        std::hint::spin_loop();
    }
    (start.elapsed().as_secs_f64(), used() - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(lost: f64, jitter: f64, program: f64) -> Noise {
        let mut noise = Noise { lost: vec![lost, lost, 0.9], ..Noise::default() };
        (0..5).for_each(|_| {
            noise.value(&[100.0 - 50.0 * jitter, 100.0, 100.0 + 50.0 * jitter, 100.0 - 50.0 * jitter, 100.0 + 50.0 * jitter])
        });
        noise.program(&[100.0 - 100.0 * program, 100.0, 100.0 + 100.0 * program]);
        noise
    }

    #[test]
    fn a_machine_that_keeps_its_times_is_quiet() {
        let verdict = noise(0.01, 0.02, 0.05).verdict();
        assert!(matches!(verdict, Verdict::Quiet { .. }), "{verdict}");
        assert_eq!(verdict.word(), "quiet");
    }

    #[test]
    fn a_noisy_machine_is_not_called_quiet() {
        for (noise, says) in [
            (noise(0.3, 0.02, 0.05), "had 30.0 % of the cores"),
            (noise(0.0, 0.2, 0.05), "a value changes by 20.0 %"),
            (noise(0.0, 0.02, 0.3), "the time of a program changes by 30.0 %"),
        ] {
            let verdict = noise.verdict();
            assert_eq!(verdict.word(), "noisy");
            assert!(verdict.to_string().contains(says) && verdict.to_string().contains("do not count"), "{verdict}");
        }
    }

    #[test]
    fn one_round_tells_nothing() {
        let mut noise = Noise { lost: vec![0.0], ..Noise::default() };
        noise.value(&[1.0]);
        noise.program(&[1.0, 1.0]);
        assert_eq!(noise.verdict(), Verdict::Unknown);
        assert!(Verdict::Unknown.to_string().contains("not known to be quiet"));
    }

    #[test]
    fn the_cores_are_watched() {
        let part = lost();
        assert!((0.0..1.0).contains(&part), "{part}");
    }
}
