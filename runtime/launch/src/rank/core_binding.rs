//! The cores to which a rank is bound.
//!
//! The system moves communicating ranks to one core, where they alternate, although another core is idle. A rank that
//! is bound to its own part of the cores shares them with no other rank, and its threads have as many cores as there are per rank.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores to which the ranks of a host are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreBinding {
    /// An equal part each, if there is a core for each rank of the host and there are two ranks or more; else as [`None`](Self::None).
    #[default]
    Auto,
    /// No binding: the system chooses.
    None,
}

impl CoreBinding {
    /// The corresponding words in the environment.
    pub(crate) const WORDS: [(&'static str, Self); 2] = [("auto", Self::Auto), ("none", Self::None)];

    /// Binds the calling thread, and threads that it starts later, to the cores of rank `number` of `ranks` on the host.
    ///
    /// A refusal by the system is not an error: the threads stay unbound.
    pub(crate) fn keep(self, number: u32, ranks: u32) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        let Some(own) = self.share(&allowed, number as usize, ranks as usize) else { return };
        let mut set = CpuSet::new();
        own.iter().for_each(|&core| set.set(core));
        let _refused = sched_setaffinity(None, &set);
    }

    /// Returns the cores to which the rank is bound, if not to all.
    fn share(self, allowed: &[usize], number: usize, ranks: usize) -> Option<&[usize]> {
        let is_shared = (2..=allowed.len()).contains(&ranks) && number < ranks;
        let bound = |number: usize| number * allowed.len() / ranks;
        (self == Self::Auto && is_shared).then(|| &allowed[bound(number)..bound(number + 1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_its_part_and_no_core_is_left_out() {
        let allowed: Vec<usize> = (0..12).filter(|core| core % 5 != 0).collect();
        for ranks in 2..=allowed.len() {
            let parts: Vec<&[usize]> =
                (0..ranks).map(|number| CoreBinding::Auto.share(&allowed, number, ranks).unwrap()).collect();
            assert!(parts.iter().all(|part| !part.is_empty()));
            assert_eq!(parts.concat(), allowed);
        }
    }

    #[test]
    fn ranks_share_all_cores_where_each_has_none_of_its_own_or_nobody_wants_it() {
        assert_eq!(CoreBinding::Auto.share(&[0, 1], 0, 1), None);
        assert_eq!(CoreBinding::Auto.share(&[0, 1], 0, 3), None);
        assert_eq!(CoreBinding::Auto.share(&[0, 1], 2, 2), None);
        assert_eq!(CoreBinding::None.share(&[0, 1], 0, 2), None);
    }

    #[test]
    fn a_thread_that_is_kept_keeps_those_that_it_starts() {
        let all = sched_getaffinity(None).unwrap().count();
        let kept = std::thread::spawn(|| {
            CoreBinding::Auto.keep(1, 2);
            std::thread::spawn(|| sched_getaffinity(None).unwrap().count()).join().unwrap()
        });
        assert_eq!(kept.join().unwrap(), if all < 2 { all } else { all.div_ceil(2) });
        assert_eq!(sched_getaffinity(None).unwrap().count(), all, "other threads are where they were");
    }
}
