//! The recovery of a lock after the loss of a rank: one elected rank closes the states of all living ranks, decides, and opens the states in a new
//! epoch.
//!
//! The states of the living ranks alone determine the place of the token: it cannot move while they are closed. If no living rank has it, it was
//! lost, or lies at the end of the queue, or its last holder has just begun to hand it over; in each case the recovery makes a new token.

use pelago_base::Rank;
use pelago_rma::{Failure, Result};

use super::encoding::{Epoch, Phase, Recovery, SLOTS, State, Tail, Version};
use super::memory::{KNOWN, LockMemory, NOTIFIED, STATE, WordAddress, newest, readers, recovery, tail};
use super::queue::{Member, lost_rank};

/// The state of a living rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub rank: Rank,
    /// Closed, in the new epoch.
    pub state: State,
    /// The newest version that the rank knows.
    pub known: Version,
}

/// The words of the new epoch at the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recovered {
    pub tail: Tail,
    pub newest: Version,
    pub readers: u32,
}

/// Decides the state of a lock in `epoch`, given the states of the living ranks and the versions that the home knows.
pub(crate) fn decide(epoch: Epoch, survivors: &[Survivor], told: &[Version]) -> Recovered {
    let in_phase = |phase| survivors.iter().filter(move |survivor| survivor.state.phase == phase);
    let readers = in_phase(Phase::Reading).count() as u32;
    let known = survivors.iter().map(|survivor| survivor.known);
    let newest = told.iter().copied().chain(known).max_by_key(|version| version.number).unwrap_or_default();
    let tail = match in_phase(Phase::Holding).next() {
        Some(holder) => Tail::of_rank(holder.rank, holder.state.node(), epoch),
        None => Tail::free(epoch, readers > 0),
    };
    Recovered { tail, newest, readers }
}

/// The open state that follows a closed one: a holder keeps the token, a reader continues to read, and all others begin a new attempt.
pub(crate) fn reopened(closed: State, readers: u32) -> State {
    let phase = match closed.phase {
        kept @ (Phase::Holding | Phase::Reading) => kept,
        _ => Phase::Idle,
    };
    State { closed: false, readers: phase == Phase::Holding && readers > 0, ..closed.with(phase) }
}

impl<M: LockMemory> Member<M> {
    /// Recovers the lock as the elected rank, unless another rank is elected meanwhile.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[cold]
    pub fn recover(&self, elected: Recovery, lost: &[Rank]) -> Result<()> {
        let epoch = elected.epoch;
        let mut survivors = Vec::new();
        for rank in (0..self.memory.size()).map(Rank::new).filter(|rank| !lost.contains(rank)) {
            match self.close(rank, epoch) {
                Ok(Some(survivor)) => survivors.push(survivor),
                Ok(None) => return Ok(()),
                Err(error) => self.unless_of_another(error)?,
            }
        }
        let mut told = [Version::default(); SLOTS];
        for (slot, version) in told.iter_mut().enumerate() {
            *version = Version::of_word(self.memory.load(self.at_home(newest(Epoch(slot as u16))))?);
        }
        let recovered = decide(epoch, &survivors, &told);
        self.memory.store(self.at_home(newest(epoch)), recovered.newest.word())?;
        self.memory.store(self.at_home(readers(epoch)), u64::from(recovered.readers))?;
        self.memory.store(self.at_home(tail(epoch)), recovered.tail.word())?;
        for Survivor { rank, state, .. } in survivors {
            // Also notifies the rank, as the list of the new epoch is empty (L3).
            let (told, opened) = (WordAddress { rank, word: NOTIFIED }, reopened(state, recovered.readers));
            let opened = self.memory.store_then_compare_swap(told, 1, STATE, state.word(), opened.word());
            opened.map(drop).or_else(|error| self.unless_of_another(error))?;
        }
        let whole = Recovery { recoverer: None, ..elected };
        self.memory.compare_swap(self.at_home(recovery()), elected.word(), whole.word())?;
        Ok(())
    }

    /// Closes the state of a rank; `None` if another recovery has closed it for a later epoch.
    fn close(&self, rank: Rank, epoch: Epoch) -> Result<Option<Survivor>> {
        let at = WordAddress { rank, word: STATE };
        let mut found = State::of_word(self.memory.load(at)?);
        loop {
            if found.epoch.has_come(epoch) {
                return Ok(None);
            }
            let state = State { closed: true, epoch, ..found };
            let before = State::of_word(self.memory.compare_swap(at, found.word(), state.word())?);
            if before == found {
                let known = Version::of_word(self.memory.load(WordAddress { rank, word: KNOWN })?);
                return Ok(Some(Survivor { rank, state, known }));
            }
            found = before;
        }
    }

    /// Ignores the loss of a rank other than the home: the rank that notices it recovers the lock again.
    fn unless_of_another(&self, error: pelago_rma::Error) -> Result<()> {
        match lost_rank(&error) {
            Some(rank) if rank != self.memory.home() && self.is_lost(rank) => Ok(()),
            Some(rank) => Err(Failure::PeerLost(rank).into()),
            None => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::encoding::End;

    const EPOCH: Epoch = Epoch(3);

    fn survivor(rank: u32, phase: Phase, version: u64) -> Survivor {
        let rank = Rank::new(rank);
        let state = State { phase, closed: true, epoch: EPOCH, sequence: 9, readers: false };
        Survivor { rank, state, known: Version { number: version, owner: rank } }
    }

    /// All combinations of phases of three ranks, and all orders of the versions that they know.
    #[test]
    fn whoever_has_the_token_keeps_it_and_else_there_is_one_new() {
        use Phase::*;
        let all = [Idle, Waiting, Holding, Reading, Leaving, Draining, Abandoned, Skipping];
        for one in all {
            for two in all {
                for three in all {
                    let phases = [one, two, three];
                    let count = |phase| phases.iter().filter(|&&other| other == phase).count();
                    // One token, of which `Draining` is a part.
                    if count(Holding) + count(Draining) > 1 {
                        continue;
                    }
                    for versions in [[1, 2, 3], [3, 1, 2], [2, 3, 1]] {
                        let survivors: Vec<_> = (0..3).map(|n| survivor(n as u32, phases[n], versions[n])).collect();
                        let recovered = decide(EPOCH, &survivors, &[]);
                        let opened: Vec<_> =
                            survivors.iter().map(|survivor| reopened(survivor.state, recovered.readers)).collect();
                        let holders: Vec<_> =
                            (0..3).filter(|&n| opened[n].phase == Holding).map(|n| Rank::new(n as u32)).collect();
                        let (last, readers) = match recovered.tail.end {
                            End::Held { last, .. } => (Some(last), false),
                            End::Free { readers } => (None, readers),
                        };
                        assert_eq!(last, holders.first().copied(), "{phases:?}");
                        assert_eq!(recovered.readers as usize, opened.iter().filter(|state| state.phase == Reading).count());
                        // The next writer knows that there are readers.
                        let told = holders.first().map_or(readers, |rank| opened[rank.index()].readers);
                        assert_eq!(told, recovered.readers > 0, "{phases:?}");
                        assert!(opened.iter().all(|state| !state.closed && [Idle, Holding, Reading].contains(&state.phase)));
                        assert_eq!(recovered.newest.number, 3);
                    }
                }
            }
        }
    }

    #[test]
    fn the_newest_version_may_be_known_at_home_alone() {
        let told = [Version { number: 7, owner: Rank::new(5) }, Version::default()];
        let recovered = decide(EPOCH, &[survivor(0, Phase::Idle, 6)], &told);
        assert_eq!(recovered.newest, told[0]);
        assert_eq!(recovered.tail, Tail::free(EPOCH, false));
    }
}
