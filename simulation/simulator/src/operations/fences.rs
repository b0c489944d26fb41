//! Operations of a pair of ranks that a fence holds back.

use std::collections::VecDeque;

/// The fences between an initiator and a target.
#[derive(Default)]
pub(crate) struct FenceOrder {
    /// The current epoch: the number of fences so far.
    pub(crate) epoch: u32,
    /// For each epoch from `first` on: the number of its operations that have not taken effect, and the operations that are held back.
    pub(crate) first: u32,
    pub(crate) epochs: VecDeque<(u32, Vec<u32>)>,
    /// The first epoch of which an operation has failed without effect: operations of later ones fail as well, as they take effect after it.
    failed: Option<u32>,
}

impl FenceOrder {
    /// The first fence of a pair of ranks, behind `left` operations that have not taken effect.
    pub(crate) fn after(left: u32) -> Self {
        Self { epoch: 1, epochs: VecDeque::from([(left, Vec::new())]), ..Self::default() }
    }

    /// Counts an operation of the current epoch; returns that epoch.
    pub(crate) fn admit(&mut self) -> u32 {
        let index = (self.epoch - self.first) as usize;
        if self.epochs.len() <= index {
            self.epochs.resize_with(index + 1, Default::default);
        }
        self.epochs[index].0 += 1;
        self.epoch
    }

    /// Whether all operations before `epoch` have taken effect.
    pub(crate) fn may(&self, epoch: u32) -> bool {
        epoch == self.first || self.epochs.iter().take((epoch - self.first) as usize).all(|(left, _)| *left == 0)
    }

    /// Holds an operation of `epoch` back.
    pub(crate) fn postpone(&mut self, epoch: u32, number: u32) {
        self.epochs[(epoch - self.first) as usize].1.push(number);
    }

    /// Removes an operation of `epoch` that was held back and has ended without effect, so that it is not released.
    pub(crate) fn withdraw(&mut self, epoch: u32, number: u32) {
        self.epochs[(epoch - self.first) as usize].1.retain(|&held| held != number);
    }

    /// Records that an operation of `epoch` has failed without effect.
    pub(crate) fn fail(&mut self, epoch: u32) {
        self.failed = Some(self.failed.map_or(epoch, |failed| failed.min(epoch)));
    }

    /// Whether an operation of `epoch` is ordered after one that has failed.
    pub(crate) fn fails(&self, epoch: u32) -> bool {
        self.failed.is_some_and(|failed| failed < epoch)
    }

    /// Records that an operation of `epoch` has taken effect; returns the operations that this releases.
    pub(crate) fn ended(&mut self, epoch: u32) -> Vec<u32> {
        self.epochs[(epoch - self.first) as usize].0 -= 1;
        let mut released = Vec::new();
        while self.epochs.len() > 1 && self.epochs[0].0 == 0 {
            self.epochs.pop_front();
            self.first += 1;
            released.append(&mut self.epochs[0].1);
        }
        released
    }

    /// Whether all operations have taken effect.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.epochs.iter().all(|(left, _)| *left == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_is_not_released() {
        let mut fences = FenceOrder::default();
        assert_eq!(fences.admit(), 0);
        fences.epoch = 1;
        assert_eq!([fences.admit(), fences.admit()], [1, 1]);
        [7, 8].into_iter().for_each(|number| fences.postpone(1, number));
        fences.withdraw(1, 7);
        assert_eq!(fences.ended(1), Vec::<u32>::new(), "its end releases nobody, as the first epoch goes on");
        assert_eq!(fences.ended(0), [8]);
    }
}
