//! Short data that travels with the token, so that the data needs no round trip of its own.
//!
//! Two cases:
//!
//! - **Piggyback**: a rank that hands the token over to a waiting rank puts the data before the token.
//! - **Prefetch from the likely holder**: a rank that requests the token from the rank where it lies also requests the data, ordered behind the
//!   token, if the last two such requests would have succeeded.
//!
//! Invariants:
//!
//! - **B1** A prefetch reads the data after the swap that requests the token. If that swap has acquired the token, no rank writes from then on. So the
//!   data is the newest version if the owner of the newest version is the rank that the data was read from.
//! - **B2** A piggyback clears the stamp, puts the data, and then sets the stamp, in this order. So the data is the version that the stamp names, if
//!   the stamp names the same version before and after the data was read.

use std::sync::atomic::{Ordering, fence};

use pelago_base::Rank;
use pelago_rma::{Handle, Result};

use super::encoding::Version;
use super::memory::{LockMemory, WordAddress};
use super::remote::{OWN, RemoteWords};

/// Consecutive requests that would have succeeded before data is prefetched with the token.
const HITS_MIN: u32 = 2;

/// Words of one put, so that it can share a datagram with other operations.
const PIECE_WORDS: usize = 120;

/// Data that is prefetched from the rank where the token is requested (B1).
pub(super) struct TokenPrefetch {
    /// The first word of the data on each rank, the first word of its copy on this rank, and the count of words.
    data: usize,
    landing: usize,
    words: usize,
    /// Whether the data has arrived.
    arrived: bool,
    /// Consecutive requests that would have succeeded.
    hits: u32,
    /// The rank where the token was requested last.
    asked: Option<Rank>,
}

/// Data that travels with the token to a waiting rank (B2).
pub(super) struct Piggyback<'w> {
    /// The word of each rank where the stamp arrives, and the first word where the data arrives.
    stamp: usize,
    data: usize,
    /// The first word of a rank's own published data.
    own: usize,
    /// The version that travels with the token: this rank has written it since it acquired the token.
    version: Version,
    /// The words that are sent.
    words: Vec<u64>,
    /// Puts that were not waited for yet.
    sent: Vec<Handle<'w>>,
}

impl<'w> RemoteWords<'w> {
    /// Enables the prefetch of `words` words of data, from the word `data` of the likely holder to the word `landing` of this rank.
    pub(crate) fn enable_prefetch(&self, data: usize, landing: usize, words: usize) {
        self.prefetch.replace(Some(TokenPrefetch { data, landing, words, arrived: false, hits: 0, asked: None }));
    }

    /// Discards the last prefetch.
    #[inline]
    pub(crate) fn reset_prefetch(&self) {
        if let Some(prefetch) = &mut *self.prefetch.borrow_mut() {
            (prefetch.asked, prefetch.arrived) = (None, false);
        }
    }

    /// Counts a miss: no data was needed.
    #[inline]
    pub(crate) fn miss_prefetch(&self) {
        if let Some(prefetch) = &mut *self.prefetch.borrow_mut() {
            prefetch.hits = 0;
        }
    }

    /// Marks the data of the last prefetch as arrived.
    pub(super) fn prefetch_arrived(&self) {
        if let Some(prefetch) = &mut *self.prefetch.borrow_mut() {
            prefetch.arrived = true;
        }
    }

    /// Requests the data of a rank after `swapped`, the request of the token, if the last requests would have succeeded.
    pub(super) fn prefetch_after(&self, rank: Rank, swapped: &Handle<'w>) -> Result<Option<Handle<'w>>> {
        let mut prefetch = self.prefetch.borrow_mut();
        let Some(prefetch) = prefetch.as_mut().filter(|_| !self.world().maps(rank)) else { return Ok(None) };
        (prefetch.asked, prefetch.arrived) = (Some(rank), false);
        if prefetch.hits < HITS_MIN {
            return Ok(None);
        }
        let data = self.at(WordAddress { rank, word: prefetch.data });
        self.world().after(swapped).copy(data, self.my(prefetch.landing), prefetch.words).map(Some)
    }

    /// Copies the prefetched data of `owner` to `private`; `false` if there is none.
    pub(crate) fn take_prefetched(&self, owner: Rank, private: &mut [u8]) -> bool {
        let mut prefetch = self.prefetch.borrow_mut();
        let Some(prefetch) = &mut *prefetch else { return false };
        prefetch.hits = if prefetch.asked == Some(owner) { prefetch.hits.saturating_add(1) } else { 0 };
        let served = prefetch.hits > 0 && prefetch.arrived;
        if served {
            self.read_own(prefetch.landing, private);
        }
        served
    }

    /// Enables the piggyback of `words` words of data, from the word `own` of the sender to the words behind `stamp` of the receiver.
    pub(crate) fn enable_piggyback(&self, own: usize, stamp: usize, words: usize) {
        let (data, version) = (stamp + 1, Version::default());
        self.piggyback.replace(Some(Piggyback { stamp, data, own, version, words: vec![0; words], sent: Vec::new() }));
    }

    /// Sets the version that travels with the token; none if its number is 0.
    #[inline]
    pub(crate) fn offer(&self, version: Version) {
        if let Some(piggyback) = &mut *self.piggyback.borrow_mut() {
            piggyback.version = version;
        }
    }

    /// Copies the data of a version to `private`; `false` if it has not arrived with the token.
    pub(crate) fn take_piggyback(&self, version: Version, private: &mut [u8]) -> bool {
        let piggyback = self.piggyback.borrow();
        let Some(piggyback) = piggyback.as_ref().filter(|piggyback| self.own(piggyback.stamp) == version.word()) else {
            return false;
        };
        self.read_own(piggyback.data, private);
        fence(Ordering::Acquire);
        self.own(piggyback.stamp) == version.word()
    }

    /// Sends the data of the version that `word` encodes to a rank; returns the last put, or `None` if that version was not offered.
    pub(super) fn send_piggyback(&self, rank: Rank, word: u64) -> Result<Option<Handle<'w>>> {
        let mut piggyback = self.piggyback.borrow_mut();
        let Some(Piggyback { stamp, data, own, words, sent, .. }) =
            piggyback.as_mut().filter(|piggyback| piggyback.version.number > 0 && piggyback.version.word() == word)
        else {
            return Ok(None);
        };
        self.world().get_into(self.my(*own), words).expect(OWN);
        let at = |word| self.at(WordAddress { rank, word });
        let mut last = self.world().put(at(*stamp), &[0])?;
        sent.push(last);
        for (piece, words) in words.chunks(PIECE_WORDS).enumerate() {
            last = self.world().after(&last).put(at(*data + piece * PIECE_WORDS), words)?;
            sent.push(last);
        }
        last = self.world().after(&last).put(at(*stamp), &[word])?;
        sent.push(last);
        Ok(Some(last))
    }

    /// Waits for all data that was sent.
    pub(super) fn wait_for_piggyback(&self) -> Result<()> {
        let mut ended = Ok(());
        for handle in self.piggyback.borrow_mut().iter_mut().flat_map(|piggyback| piggyback.sent.drain(..)) {
            ended = ended.and(handle.wait());
        }
        ended
    }

    /// Reads bytes from this rank's own words.
    fn read_own(&self, word: usize, into: &mut [u8]) {
        let from = self.my(word).cast().expect("bytes are aligned anywhere");
        self.world().get_into(from, into).expect(OWN);
    }
}
