//! What is kept of an operation until it ends, and of its outcome until somebody comes for it.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use pelago_base::AddressLayout;
use pelago_base::limits::FAILURES_REMEMBERED_MAX;
use pelago_platform::Failure;

use crate::buffer::Buffer;
use crate::peers::{NOBODY, PeerNumber};
use crate::task::Task;

/// An operation that has not ended.
#[derive(Default)]
pub(crate) struct Record {
    /// None for a write that the transport captured when it was issued.
    pub(crate) task: Option<Task>,
    /// The peer that it is posted to, and the one at the other end of a copy.
    pub(crate) peers: [PeerNumber; 2],
    /// Whether something is waited for that has not ended, though the operation may have begun behind it.
    pub(crate) waits: bool,
    /// Whether it was handed to the transport, as far as there was room.
    pub(crate) begun: bool,
    /// Whether nothing but the loss of the peer that it is posted to can make it fail.
    pub(crate) sure: bool,
    /// Whether it is sure and all of it is with the transport, so that a fence orders it before what is posted next.
    pub(crate) orderly: bool,
    /// Whether somebody will come for the word or the buffer.
    pub(crate) keep: bool,
    /// Whether `quiet` does not wait for it.
    pub(crate) signal: bool,
    /// Pieces that the transport has accepted and not completed.
    pub(crate) out: u32,
    /// Bytes that the transport has captured.
    pub(crate) written: u32,
    /// Pieces that it has accepted, and how many there are.
    pub(crate) posted: u64,
    pub(crate) pieces: u64,
    pub(crate) word: u64,
    pub(crate) failure: Option<Failure>,
}

impl Record {
    /// A write of so many bytes that the transport has captured.
    #[inline]
    pub(crate) fn written(peer: PeerNumber, sure: bool, bytes: usize) -> Self {
        let (peers, written) = ([peer, NOBODY], u32::try_from(bytes).unwrap_or(u32::MAX));
        Self { peers, begun: true, sure, orderly: sure, out: 1, written, posted: 1, pieces: 1, ..Self::default() }
    }

    /// How many bytes are kept for it.
    pub(crate) fn captured(&self) -> usize {
        self.task.as_ref().map_or(self.written as usize, Task::captured)
    }

    /// Whether all that is left to post goes to one rank by one rail.
    pub(crate) fn has_one_target(&self, addresses: AddressLayout) -> bool {
        self.task.as_ref().is_none_or(|task| task.has_one_target(addresses))
    }

    /// Whether it goes by several rails.
    pub(crate) fn is_parted(&self) -> bool {
        self.task.as_ref().is_some_and(Task::is_parted)
    }

    /// Whether nothing is left to post: all is posted, or a part has failed.
    pub(crate) fn is_posted(&self) -> bool {
        self.posted == self.pieces || self.failure.is_some()
    }

    /// Whether nothing is left to post, and the transport has completed what was.
    pub(crate) fn is_done(&self) -> bool {
        self.out == 0 && self.is_posted()
    }
}

/// What operations brought that have ended.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// Those that somebody will come for: the last, for which somebody often comes at once, and those before. These are never walked
    /// through, so that their order does not matter.
    last: Option<(u64, Outcome)>,
    kept: HashMap<u64, Outcome, BuildHasherDefault<Spread>>,
    failures: VecDeque<Failed>,
}

/// Spreads numbers that this rank gave out itself, one after another: nobody can choose them so that they meet.
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

/// What an operation brought.
pub(crate) struct Outcome {
    pub(crate) word: u64,
    pub(crate) buffer: Option<Buffer>,
    pub(crate) failure: Option<Failure>,
}

/// An operation that failed.
struct Failed {
    id: u64,
    failure: Failure,
    /// Whether somebody knows.
    told: bool,
}

impl Outcomes {
    /// Keeps an outcome until `take`.
    pub(crate) fn keep(&mut self, id: u64, outcome: Outcome) {
        if let Some((id, outcome)) = self.last.replace((id, outcome)) {
            self.kept.insert(id, outcome);
        }
    }

    /// The outcome of an operation that was kept.
    pub(crate) fn take(&mut self, id: u64) -> Option<Outcome> {
        match self.last.take_if(|(last, _)| *last == id) {
            Some((_, outcome)) => Some(outcome),
            None => self.kept.remove(&id),
        }
    }

    /// Remembers how an operation failed that nobody will come for; the oldest failure is forgotten.
    pub(crate) fn remember(&mut self, id: u64, failure: Failure) {
        if self.failures.len() == FAILURES_REMEMBERED_MAX {
            self.failures.pop_front();
        }
        self.failures.push_back(Failed { id, failure, told: false });
    }

    /// How an operation ended, which counts as told from now on.
    pub(crate) fn tell(&mut self, id: u64) -> Result<(), Failure> {
        let last = self.last.as_ref().filter(|(last, _)| *last == id).map(|(_, outcome)| outcome);
        if let Some(outcome) = last.or_else(|| self.kept.get(&id)) {
            return outcome.failure.map_or(Ok(()), Err);
        }
        self.failures.iter_mut().find(|failed| failed.id == id).map_or(Ok(()), |failed| {
            failed.told = true;
            Err(failed.failure)
        })
    }

    /// Whether a failure has not been told.
    pub(crate) fn has_news(&self) -> bool {
        self.failures.iter().any(|failed| !failed.told)
    }

    /// The first failure that nobody was told; all count as told from now on.
    pub(crate) fn first_failure(&mut self) -> Result<(), Failure> {
        let first = self.failures.iter().find(|failed| !failed.told).map(|failed| failed.failure);
        self.failures.iter_mut().for_each(|failed| failed.told = true);
        first.map_or(Ok(()), Err)
    }
}
