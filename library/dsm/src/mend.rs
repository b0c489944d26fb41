//! How a lock is mended after a rank was lost: who mends closes what every living rank does, decides, and opens it again in a new epoch.
//!
//! Where the token is follows from the states of the living alone: as long as they are closed it cannot move. If none of them has it, it was
//! lost or lies at the end of the queue, or its last holder has just begun to hand it on; whichever it is, a new one is made.

use pelago_base::Rank;
use pelago_rma::{Failure, Result};

use crate::memory::{BELL, KNOWN, Memory, Place, STATE, newest, readers, settlement, tail};
use crate::queue::{Member, lost_by};
use crate::word::{Edition, Epoch, Phase, SLOTS, Settlement, State, Tail};

/// What a living rank does and knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub(crate) rank: Rank,
    /// Closed, in the new epoch.
    pub(crate) state: State,
    /// The newest version that it knows of.
    pub(crate) known: Edition,
}

/// The words of the new epoch at the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mended {
    pub(crate) tail: Tail,
    pub(crate) newest: Edition,
    pub(crate) readers: u32,
}

/// Decides how a lock goes on in `epoch`, given what the living do, and the versions that the home was told of.
pub(crate) fn decide(epoch: Epoch, survivors: &[Survivor], told: &[Edition]) -> Mended {
    let in_phase = |phase| survivors.iter().filter(move |survivor| survivor.state.phase == phase);
    let readers = in_phase(Phase::Reading).count() as u32;
    let known = survivors.iter().map(|survivor| survivor.known);
    let newest = told.iter().copied().chain(known).max_by_key(|edition| edition.version).unwrap_or_default();
    let tail = match in_phase(Phase::Holding).next() {
        Some(holder) => Tail::of_rank(holder.rank, holder.state.node(), epoch),
        None => Tail::free(epoch, readers > 0),
    };
    Mended { tail, newest, readers }
}

/// The state in which a closed one goes on: who has the token keeps it, who reads reads on, and all others begin anew.
pub(crate) fn reopened(closed: State, readers: u32) -> State {
    let phase = match closed.phase {
        kept @ (Phase::Holding | Phase::Reading) => kept,
        _ => Phase::Idle,
    };
    State { closed: false, readers: phase == Phase::Holding && readers > 0, ..closed.with(phase) }
}

impl<M: Memory> Member<M> {
    /// Mends the lock as the one that was elected to, unless another is elected meanwhile.
    ///
    /// # Errors
    /// The home is lost; the job is at fault.
    #[cold]
    pub(crate) fn mend(&self, elected: Settlement, lost: &[Rank]) -> Result<()> {
        let epoch = elected.epoch;
        let mut survivors = Vec::new();
        for rank in (0..self.memory.size()).map(Rank::new).filter(|rank| !lost.contains(rank)) {
            match self.close(rank, epoch) {
                Ok(Some(survivor)) => survivors.push(survivor),
                Ok(None) => return Ok(()),
                Err(error) => self.unless_of_another(error)?,
            }
        }
        let mut told = [Edition::default(); SLOTS];
        for (slot, edition) in told.iter_mut().enumerate() {
            *edition = Edition::of_word(self.memory.load(self.at_home(newest(Epoch(slot as u16))))?);
        }
        let mended = decide(epoch, &survivors, &told);
        self.memory.store(self.at_home(newest(epoch)), mended.newest.word())?;
        self.memory.store(self.at_home(readers(epoch)), u64::from(mended.readers))?;
        self.memory.store(self.at_home(tail(epoch)), mended.tail.word())?;
        for Survivor { rank, state, .. } in survivors {
            // The list of those who wait to be told begins anew, too.
            let (told, opened) = (Place { rank, word: BELL }, reopened(state, mended.readers));
            let opened = self.memory.store_then_compare_swap(told, 1, STATE, state.word(), opened.word());
            opened.map(drop).or_else(|error| self.unless_of_another(error))?;
        }
        let whole = Settlement { mender: None, ..elected };
        self.memory.compare_swap(self.at_home(settlement()), elected.word(), whole.word())?;
        Ok(())
    }

    /// Closes what a rank does; `None` if somebody does so for a later epoch.
    fn close(&self, rank: Rank, epoch: Epoch) -> Result<Option<Survivor>> {
        let at = Place { rank, word: STATE };
        let mut found = State::of_word(self.memory.load(at)?);
        loop {
            if found.epoch.has_come(epoch) {
                return Ok(None);
            }
            let state = State { closed: true, epoch, ..found };
            let before = State::of_word(self.memory.compare_swap(at, found.word(), state.word())?);
            if before == found {
                let known = Edition::of_word(self.memory.load(Place { rank, word: KNOWN })?);
                return Ok(Some(Survivor { rank, state, known }));
            }
            found = before;
        }
    }

    /// Passes over the loss of a rank other than the home: whoever notices has the lock mended again.
    fn unless_of_another(&self, error: pelago_rma::Error) -> Result<()> {
        match lost_by(&error) {
            Some(rank) if rank != self.memory.home() && self.is_lost(rank) => Ok(()),
            Some(rank) => Err(Failure::PeerLost(rank).into()),
            None => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word::End;

    const EPOCH: Epoch = Epoch(3);

    fn survivor(rank: u32, phase: Phase, version: u64) -> Survivor {
        let rank = Rank::new(rank);
        let state = State { phase, closed: true, epoch: EPOCH, sequence: 9, readers: false };
        Survivor { rank, state, known: Edition { version, owner: rank } }
    }

    /// All phases that three ranks can be in together, and all orders of what they know.
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
                        let mended = decide(EPOCH, &survivors, &[]);
                        let opened: Vec<_> = survivors.iter().map(|survivor| reopened(survivor.state, mended.readers)).collect();
                        let holders: Vec<_> =
                            (0..3).filter(|&n| opened[n].phase == Holding).map(|n| Rank::new(n as u32)).collect();
                        let (last, readers) = match mended.tail.end {
                            End::Held { last, .. } => (Some(last), false),
                            End::Free { readers } => (None, readers),
                        };
                        assert_eq!(last, holders.first().copied(), "{phases:?}");
                        assert_eq!(mended.readers as usize, opened.iter().filter(|state| state.phase == Reading).count());
                        // Whoever writes next knows of the readers.
                        let told = holders.first().map_or(readers, |rank| opened[rank.index()].readers);
                        assert_eq!(told, mended.readers > 0, "{phases:?}");
                        assert!(opened.iter().all(|state| !state.closed && [Idle, Holding, Reading].contains(&state.phase)));
                        assert_eq!(mended.newest.version, 3);
                    }
                }
            }
        }
    }

    #[test]
    fn the_newest_version_may_be_known_at_home_alone() {
        let told = [Edition { version: 7, owner: Rank::new(5) }, Edition::default()];
        let mended = decide(EPOCH, &[survivor(0, Phase::Idle, 6)], &told);
        assert_eq!(mended.newest, told[0]);
        assert_eq!(mended.tail, Tail::free(EPOCH, false));
    }
}
