//! The results of ended operations, until they are taken.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use pelago_base::Rank;
use pelago_platform::Failure;

use crate::Result;
use crate::buffer::Buffer;
use crate::order::failures::Failures;

/// The results of operations, with the words and buffers of some.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// The results that will be taken: the last one, which is often taken immediately, and the earlier ones. As many as the program holds
    /// handles of.
    last: Option<(u64, Outcome)>,
    kept: HashMap<u64, Outcome, BuildHasherDefault<Spread>>,
    /// Number of unreported failures among them.
    kept_untold: usize,
    /// The failures whose results will not be taken.
    failures: Failures,
}

/// A hash function for numbers that this rank assigned consecutively: no adversary can choose colliding numbers.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The result of an operation.
pub(crate) struct Outcome {
    pub(crate) word: u64,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) failed: Option<Failed>,
}

/// A failure.
#[derive(Clone, Copy)]
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// Whether the failure has been reported.
    pub(crate) told: bool,
    /// Whether the failure concerns only the taker of the result.
    pub(crate) only_reads: bool,
}

impl Outcomes {
    /// Records the end of an operation whose result will not be taken; `told`: whether a failure has been reported.
    #[inline]
    pub(crate) fn end(&mut self, id: u64, failure: Option<Failure>, told: bool) {
        match failure {
            None => self.failures.add_success(id),
            Some(failure) => self.failures.add(id, failure, told),
        }
    }

    /// Stores a result until `take`.
    pub(crate) fn keep(&mut self, id: u64, outcome: Outcome) {
        self.kept_untold += usize::from(outcome.failed.is_some_and(|failed| !failed.told));
        if let Some((id, outcome)) = self.last.replace((id, outcome)) {
            self.kept.insert(id, outcome);
        }
    }

    /// Takes a stored result. A failure stays known to its handles; an unreported failure is left to `quiet` from now on, unless the operation
    /// only reads.
    pub(crate) fn take(&mut self, id: u64) -> Option<Outcome> {
        let outcome = match self.last.take_if(|(last, _)| *last == id) {
            Some((_, outcome)) => outcome,
            None => self.kept.remove(&id)?,
        };
        let Failed { failure, told, only_reads } = match outcome.failed {
            None => return Some(outcome),
            Some(failed) => failed,
        };
        self.kept_untold -= usize::from(!told);
        self.failures.add(id, failure, told || only_reads);
        Some(outcome)
    }

    /// Returns the result of an operation, which counts as reported from now on.
    ///
    /// # Errors
    /// The operation failed, or its result was forgotten.
    #[inline]
    pub(crate) fn tell(&mut self, id: u64) -> Result<()> {
        let last = self.last.as_mut().filter(|(last, _)| *last == id).map(|(_, outcome)| outcome);
        let Some(outcome) = last.or_else(|| self.kept.get_mut(&id)) else { return self.failures.tell(id) };
        let Some(failed) = &mut outcome.failed else { return Ok(()) };
        self.kept_untold -= usize::from(!std::mem::replace(&mut failed.told, true));
        Err(failed.failure.into())
    }

    /// Whether there is an unreported failure whose result will not be taken.
    #[inline]
    pub(crate) fn has_untold(&self) -> bool {
        self.failures.has_untold()
    }

    /// Returns the first unreported failure whose result will not be taken; all such failures count as reported from now on.
    #[inline]
    pub(crate) fn tell_all(&mut self) -> Result<()> {
        self.failures.tell_all().map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// As `tell_all`, for operations from number `from` on.
    pub(crate) fn tell_from(&mut self, from: u64) -> Result<()> {
        self.failures.tell_from(from).map_or(Ok(()), |failure| Err(failure.into()))
    }

    /// Counts failures of operations whose results will not be taken as reported, if these ranks are their reason.
    pub(crate) fn dismiss_lost(&mut self, ranks: &[Rank]) {
        self.failures.dismiss_lost(ranks);
    }

    /// As `tell_all`, including failures of stored results, which the taker still receives.
    pub(crate) fn tell_all_and_kept(&mut self) -> Result<()> {
        let told = self.tell_all();
        if self.kept_untold == 0 {
            return told;
        }
        self.kept_untold = 0;
        let last = self.last.as_mut().map(|(id, outcome)| (*id, outcome));
        let kept = self.kept.iter_mut().map(|(&id, outcome)| (id, outcome)).chain(last);
        let untold = kept.filter_map(|(id, outcome)| Some((id, outcome.failed.as_mut().filter(|failed| !failed.told)?)));
        let first = untold
            .map(|(id, failed)| (id, std::mem::replace(failed, Failed { told: true, ..*failed }).failure))
            .min_by_key(|&(id, _)| id);
        told.and(first.map_or(Ok(()), |(_, failure)| Err(failure.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn kept_failures_count_until_somebody_is_told() {
        let mut outcomes = Outcomes::default();
        let lost = Failure::PeerLost(Rank::new(1));
        let failed = Failed { failure: lost, told: false, only_reads: false };
        (1..=4).for_each(|id| outcomes.keep(id, Outcome { word: 0, buffer: None, failed: Some(failed) }));
        outcomes.keep(5, Outcome { word: 0, buffer: None, failed: None });
        assert_eq!(outcomes.kept_untold, 4);
        assert_eq!([2, 2, 5].map(|id| outcomes.tell(id)), [Err(lost.into()), Err(lost.into()), Ok(())]);
        assert_eq!(outcomes.kept_untold, 3, "once");
        assert!(outcomes.take(2).is_some() && !outcomes.has_untold(), "somebody knows");
        assert!(outcomes.take(1).is_some() && outcomes.has_untold(), "now it is for quiet to tell");
        assert_eq!(outcomes.kept_untold, 2);
        assert_eq!((outcomes.tell_all_and_kept(), outcomes.tell_all_and_kept()), (Err(lost.into()), Ok(())));
        assert!([3, 4, 5].into_iter().all(|id| outcomes.take(id).is_some()) && outcomes.take(3).is_none());
        assert_eq!((outcomes.kept_untold, outcomes.has_untold()), (0, false));
    }

    #[test]
    fn numbers_are_spread() {
        let hashes: HashSet<u64> = (0..1000).map(|id: u64| BuildHasherDefault::<Spread>::default().hash_one(id)).collect();
        assert_eq!(hashes.len(), 1000);
        let top: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        assert_eq!(top.len(), 128, "a table compares these bits first");
    }
}
