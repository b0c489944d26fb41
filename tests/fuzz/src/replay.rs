//! Reduction of a failed round to the few datagrams that cause the failure, and repetition of datagrams.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::campaign::Failure;
use crate::job::SCENARIOS;
use crate::round::{Course, Current, INPUTS, play, run};

/// Maximum number of trials for the reduction.
const TRIALS_MAX: usize = 2_000;

/// Passes a line to `line` for each initial state of a job, with the response of each rank to each of these datagrams.
///
/// # Panics
/// A rank panics, or a property is violated: the failure to be repeated.
pub fn replay(datagrams: &[Vec<u8>], mut line: impl FnMut(String)) {
    for scenario in SCENARIOS {
        let answers = play(Course { scenario, from_outside: false }, datagrams);
        line(format!("{scenario:?}: {answers:?}"));
    }
}

/// Repeats round `round` of `seed`.
///
/// # Panics
/// The failure of the round.
pub fn replay_round(seed: u64, round: u64) -> String {
    run(seed, round, INPUTS, &Current::default(), |_| {}).to_string()
}

/// Returns the datagrams of a failed round that suffice to make [`replay`] fail; `None` if they do not suffice, because the failure depends
/// on their times or on the duration. Runs up to two thousand jobs; those that fail panic.
pub fn shrink(failure: &Failure) -> Option<Vec<Vec<u8>>> {
    let mut kept = Vec::new();
    let see = |bytes: &[u8]| kept.push(bytes.to_vec());
    let _fails_again =
        catch_unwind(AssertUnwindSafe(|| run(failure.seed, failure.round, failure.input + 1, &Current::default(), see)));
    let (course, _) = Course::of_round(failure.seed, failure.round);
    let mut fails = |datagrams: &[Vec<u8>]| catch_unwind(|| play(course, datagrams)).is_err();
    fails(&kept).then(|| minimal(kept, &mut fails))
}

/// Removes halves, quarters and so on of the datagrams, as long as `fails` holds.
fn minimal(mut kept: Vec<Vec<u8>>, fails: &mut impl FnMut(&[Vec<u8>]) -> bool) -> Vec<Vec<u8>> {
    let mut part = kept.len().div_ceil(2);
    let mut trials = 0;
    while part > 0 && trials < TRIALS_MAX {
        let mut start = 0;
        while start < kept.len() && trials < TRIALS_MAX {
            let mut fewer = kept.clone();
            fewer.drain(start..kept.len().min(start + part));
            trials += 1;
            if fails(&fewer) {
                kept = fewer;
            } else {
                start += part;
            }
        }
        part /= 2;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let datagrams: Vec<Vec<u8>> = (0..100).map(|number| vec![number]).collect();
        let mut fails = |some: &[Vec<u8>]| [7, 30, 31].iter().all(|&number| some.contains(&vec![number]));
        assert_eq!(minimal(datagrams, &mut fails), [[7], [30], [31]]);
    }

    #[test]
    fn noise_is_forged_or_foreign_to_every_rank() {
        let mut lines = Vec::new();
        replay(&[vec![], vec![0xFF; 100]], |line| lines.push(line));
        assert_eq!(lines.len(), SCENARIOS.len());
        assert!(lines.iter().all(|line| line.matches("Err(Forged)").count() == 6), "{lines:?}");
    }
}
