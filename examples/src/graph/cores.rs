//! The cores of a rank: the operation that each one computes, and the operations that wait for the core.

use std::collections::VecDeque;

use pelago::Instant;

/// The cores of a rank, by number.
pub(super) struct Cores(Vec<Core>);

#[derive(Default)]
struct Core {
    /// End and operation of the computation on this core.
    computes: Option<(Instant, u32)>,
    /// Operations that became ready during the computation.
    held: VecDeque<u32>,
    /// Operations that were held until the last computation ended, and have not begun.
    released: VecDeque<u32>,
}

impl Cores {
    pub(super) fn new(count: usize) -> Self {
        Self(std::iter::repeat_with(Core::default).take(count).collect())
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns whether an operation may begin; if not, the core holds it until its computation has ended.
    pub(super) fn admits(&mut self, core: u8, operation: u32) -> bool {
        let Core { computes, held, .. } = self.core(core);
        if computes.is_some() {
            held.push_back(operation);
        }
        computes.is_none()
    }

    /// Begins a computation on a core without one.
    pub(super) fn compute(&mut self, core: u8, until: Instant, operation: u32) {
        self.core(core).computes = Some((until, operation));
    }

    /// Returns the earliest end of a computation.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.0.iter().filter_map(|core| core.computes).map(|(until, _)| until).min()
    }

    /// Ends the computation on a core if its time has come, and releases the held operations. Returns the operation that ended.
    pub(super) fn end(&mut self, core: u8, now: Instant) -> Option<u32> {
        let Core { computes, held, released } = self.core(core);
        let (_, operation) = computes.take_if(|(until, _)| *until <= now)?;
        append(released, held);
        Some(operation)
    }

    /// Returns the next released operation, which may begin; `None` if there is none. When the core computes again, the others are held again, behind
    /// those that were held since the release.
    pub(super) fn next_released(&mut self, core: u8) -> Option<u32> {
        let Core { computes, held, released } = self.core(core);
        if computes.is_some() {
            append(held, released);
        }
        released.pop_front()
    }

    fn core(&mut self, core: u8) -> &mut Core {
        &mut self.0[usize::from(core)]
    }
}

/// Appends `last` to `first`. Cost: the length of `first`, which is the short one here; all operations of a core may be in `last`.
fn append(first: &mut VecDeque<u32>, last: &mut VecDeque<u32>) {
    while let Some(operation) = first.pop_back() {
        last.push_front(operation);
    }
    std::mem::swap(first, last);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All operations of a core are ready at the start; each is released once, when the core is free for it.
    #[test]
    fn an_operation_is_released_once_however_many_wait() {
        let (mut cores, mut ended, mut steps) = (Cores::new(2), Vec::new(), 0);
        let at = Instant::from_picoseconds;
        let mut begin = |cores: &mut Cores, number: u32| {
            steps += 1;
            if cores.admits(1, number) {
                cores.compute(1, at(u64::from(number)), number);
            }
        };
        (0..1000).for_each(|number| begin(&mut cores, number));
        while let Some(until) = cores.next_end() {
            ended.extend(cores.end(1, until));
            while let Some(number) = cores.next_released(1) {
                begin(&mut cores, number);
            }
        }
        assert!(ended.iter().copied().eq(0..1000), "in the order in which they became ready");
        assert_eq!(steps, 1000 + 999);
    }

    #[test]
    fn an_operation_that_begins_before_the_released_ones_holds_them_again() {
        let (mut cores, [first, second]) = (Cores::new(1), [1, 2].map(Instant::from_picoseconds));
        cores.compute(0, first, 10);
        assert!(!cores.admits(0, 11) && !cores.admits(0, 12));
        assert_eq!(cores.end(0, Instant::from_picoseconds(0)), None);
        assert_eq!(cores.end(0, first), Some(10));
        assert!(cores.admits(0, 20));
        cores.compute(0, second, 20);
        assert!(!cores.admits(0, 21));
        assert_eq!((cores.next_released(0), cores.end(0, second), cores.next_end()), (None, Some(20), None));
        let released: Vec<u32> = std::iter::from_fn(|| cores.next_released(0)).collect();
        assert_eq!(released, [21, 11, 12]);
    }
}
