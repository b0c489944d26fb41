//! The report of a rank in the memory of its host: the waits in which its threads sleep, the waits that ended last, and counters.
//!
//! The rank writes; the launcher, the other ranks and a signal handler of the rank read, without a lock. Atomics only, valid when zero
//! (invariant H2 of the crate). Each entry has a version: odd while it is written; a reader that sees it change reads again.

use core::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use pelago_base::Rank;
use pelago_platform::{Awaited, Tally, WaitSite};

use crate::limits::{REPORT_READS_MAX, WAIT_NAME_BYTES, WAIT_SITES_MAX, WAITS_REMEMBERED};

/// The report of one rank.
#[repr(C, align(64))]
pub struct RankReport {
    sites: [Entry; WAIT_SITES_MAX],
    /// Waits that have ended, the latest at `(ended - 1) % WAITS_REMEMBERED`.
    past: [Entry; WAITS_REMEMBERED],
    /// Number of waits with a sleep that have ended.
    ended: AtomicU64,
    operations: AtomicU64,
    bytes: AtomicU64,
    /// Number of operations that have not completed, at the last sleeps of the rank's threads. Modulo 2^32, as threads add their changes.
    in_flight: AtomicU32,
}

/// A wait in progress, or one that has ended.
#[repr(C)]
#[derive(Default)]
struct Entry {
    version: AtomicU32,
    /// 0: the entry is empty.
    in_use: AtomicU32,
    /// The awaited rank. 0: unknown; 1: every rank; else the rank's number plus 2.
    awaited: AtomicU32,
    in_flight: AtomicU32,
    /// The offset of a word plus 1; 0: none.
    word: AtomicU64,
    /// Time at which the wait began or ended, in nanoseconds of the system's monotonic clock.
    at: AtomicU64,
    name: [AtomicU64; WAIT_NAME_BYTES / 8],
}

/// A wait as a reader finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownWait {
    name: [u8; WAIT_NAME_BYTES],
    /// The rank whose action ends the wait.
    pub awaited: Awaited,
    /// The word of the rank's memory on which the thread waits, as an offset in the rank's heap.
    pub word: Option<u64>,
    /// Number of operations of the thread that have not completed.
    pub in_flight: u32,
    /// Time at which the wait began or ended, in nanoseconds of the system's monotonic clock.
    pub at_ns: u64,
}

/// The counters of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShownCounters {
    /// Number of operations through a transport; those on mapped memory are not counted.
    pub operations: u64,
    /// Number of bytes of these operations.
    pub bytes: u64,
    /// Number of waits in which a thread of the rank slept.
    pub waits: u64,
}

impl ShownWait {
    /// The purpose of the wait, in a few words.
    pub fn what(&self) -> &str {
        let end = self.name.iter().position(|byte| *byte == 0).unwrap_or(WAIT_NAME_BYTES);
        match core::str::from_utf8(&self.name[..end]) {
            Ok(name) => name,
            Err(error) => core::str::from_utf8(&self.name[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// Time in seconds since the wait began or ended.
    pub fn seconds_before(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.at_ns) as f64 / 1e9
    }
}

impl fmt::Display for ShownWait {
    /// The purpose of the wait and the awaited rank: `barrier, for rank 2`. Allocates no memory: a signal handler may call it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what())?;
        match self.awaited {
            Awaited::Rank(rank) => write!(f, ", for rank {rank}")?,
            Awaited::Everyone => f.write_str(", for all ranks")?,
            Awaited::Unknown => {}
        }
        self.word.map_or(Ok(()), |word| write!(f, ", in the word at offset {word:#x} of its heap"))?;
        match self.in_flight {
            0 => Ok(()),
            1 => f.write_str(", 1 operation under way"),
            count => write!(f, ", {count} operations under way"),
        }
    }
}

impl Entry {
    fn write(&self, site: &WaitSite, at_ns: u64) {
        // Odd whatever it was: two threads may write one entry at once, and the version is even when the last of them has ended.
        let version = self.version.load(Ordering::Relaxed) | 1;
        self.version.store(version, Ordering::Relaxed);
        fence(Ordering::Release);
        let awaited = match site.awaited {
            Awaited::Unknown => 0,
            Awaited::Everyone => 1,
            Awaited::Rank(rank) => rank.number() + 2,
        };
        self.awaited.store(awaited, Ordering::Relaxed);
        self.in_flight.store(site.in_flight, Ordering::Relaxed);
        self.word.store(site.word.map_or(0, |word| word + 1), Ordering::Relaxed);
        self.at.store(at_ns, Ordering::Relaxed);
        let mut name = [0; WAIT_NAME_BYTES];
        let bytes = site.what.len().min(WAIT_NAME_BYTES);
        name[..bytes].copy_from_slice(&site.what.as_bytes()[..bytes]);
        for (word, bytes) in self.name.iter().zip(name.as_chunks::<8>().0) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        self.version.store(version.wrapping_add(1), Ordering::Release);
    }

    /// Reads the entry; `None` if it is empty, or changed during every attempt.
    fn read(&self) -> Option<ShownWait> {
        for _ in 0..REPORT_READS_MAX {
            let version = self.version.load(Ordering::Acquire);
            let is_used = self.in_use.load(Ordering::Acquire) != 0;
            let awaited = match self.awaited.load(Ordering::Relaxed) {
                0 => Awaited::Unknown,
                1 => Awaited::Everyone,
                rank => Awaited::Rank(Rank::new(rank - 2)),
            };
            let mut name = [0; WAIT_NAME_BYTES];
            for (bytes, word) in name.as_chunks_mut::<8>().0.iter_mut().zip(&self.name) {
                *bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
            let shown = ShownWait {
                name,
                awaited,
                word: self.word.load(Ordering::Relaxed).checked_sub(1),
                in_flight: self.in_flight.load(Ordering::Relaxed),
                at_ns: self.at.load(Ordering::Relaxed),
            };
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version {
                return is_used.then_some(shown);
            }
        }
        None
    }
}

impl RankReport {
    /// Shows that a thread of the rank sleeps from now on for `site`. Returns the entry that it occupies until [`hide`](Self::hide); `None` if
    /// more threads sleep than there are entries, so that this one is not shown.
    pub fn show(&self, site: &WaitSite, now_ns: u64) -> Option<u8> {
        let is_free = |entry: &Entry| entry.in_use.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let place = self.sites.iter().position(is_free)?;
        self.sites[place].write(site, now_ns);
        Some(place as u8)
    }

    /// Records that the wait for `site` that `show` has shown has ended.
    pub fn hide(&self, place: Option<u8>, site: &WaitSite, now_ns: u64) {
        let number = self.ended.fetch_add(1, Ordering::AcqRel);
        // Two threads may write one entry at once if more than `WAITS_REMEMBERED` end at the same time: a reader sees a mixture.
        let past = &self.past[number as usize % WAITS_REMEMBERED];
        past.write(site, now_ns);
        past.in_use.store(1, Ordering::Release);
        if let Some(entry) = place.and_then(|place| self.sites.get(usize::from(place))) {
            entry.in_use.store(0, Ordering::Release);
        }
    }

    /// Adds the operations of a context to the counters.
    pub fn tally(&self, tally: &Tally) {
        self.operations.fetch_add(tally.operations, Ordering::Relaxed);
        self.bytes.fetch_add(tally.bytes, Ordering::Relaxed);
        self.in_flight.fetch_add(tally.in_flight.cast_unsigned(), Ordering::Relaxed);
    }

    /// Number of operations through a transport that had not completed when the rank's threads fell asleep. Exact while all of them sleep.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// The waits in which threads of the rank sleep now.
    pub fn waits(&self) -> impl Iterator<Item = ShownWait> {
        self.sites.iter().filter_map(Entry::read)
    }

    /// The waits that have ended last, the latest first.
    pub fn past_waits(&self) -> impl Iterator<Item = ShownWait> {
        let ended = self.ended.load(Ordering::Acquire);
        let numbers = (ended.saturating_sub(WAITS_REMEMBERED as u64)..ended).rev();
        numbers.filter_map(|number| self.past[number as usize % WAITS_REMEMBERED].read())
    }

    /// The counters.
    pub fn counters(&self) -> ShownCounters {
        ShownCounters {
            operations: self.operations.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            waits: self.ended.load(Ordering::Relaxed),
        }
    }
}

const _: () = assert!(WAIT_NAME_BYTES.is_multiple_of(8), "names are copied by words");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostMemory, HostPlan};

    fn host() -> HostMemory {
        HostMemory::create(&HostPlan::local(1, Some(1 << 20))).unwrap().0
    }

    fn site(what: &'static str) -> WaitSite {
        WaitSite { what, awaited: Awaited::Rank(Rank::new(7)), word: Some(0x40), in_flight: 2 }
    }

    #[test]
    fn a_wait_is_shown_until_it_ends_and_then_remembered() {
        let host = host();
        let report = &host.control(Rank::new(0)).unwrap().report;
        assert_eq!(report.waits().count() + report.past_waits().count(), 0);
        let place = report.show(&site("barrier"), 1_000);
        let shown = report.waits().next().unwrap();
        assert_eq!(shown.to_string(), "barrier, for rank 7, in the word at offset 0x40 of its heap, 2 operations under way");
        assert_eq!((shown.at_ns, shown.seconds_before(2_000_001_000)), (1_000, 2.0));
        report.hide(place, &site("barrier"), 5_000);
        assert_eq!(report.waits().count(), 0);
        let past: Vec<_> = report.past_waits().map(|past| (past.what().to_owned(), past.at_ns)).collect();
        assert_eq!(past, [("barrier".to_owned(), 5_000)]);
        assert_eq!(report.counters(), ShownCounters { operations: 0, bytes: 0, waits: 1 });
    }

    #[test]
    fn more_waits_than_entries_are_not_shown_and_the_latest_are_remembered() {
        let host = host();
        let report = &host.control(Rank::new(0)).unwrap().report;
        let places: Vec<_> = (0..WAIT_SITES_MAX + 1).map(|_| report.show(&site("quiet"), 1)).collect();
        assert_eq!(places.iter().flatten().count(), WAIT_SITES_MAX);
        for (number, place) in places.into_iter().enumerate() {
            report.hide(place, &site("quiet"), number as u64);
        }
        (0..10).for_each(|number| report.hide(None, &site("flush"), 100 + number));
        assert_eq!(report.waits().count(), 0, "each entry is free again");
        let ends: Vec<_> = report.past_waits().map(|past| past.at_ns).collect();
        assert_eq!(ends, (0..WAITS_REMEMBERED as u64).map(|before| 109 - before).collect::<Vec<_>>());
    }

    #[test]
    fn an_entry_that_two_threads_have_written_at_once_is_read() {
        let host = host();
        let report = &host.control(Rank::new(0)).unwrap().report;
        // Another thread has begun to write this entry, and ends before this one does.
        report.past[0].version.fetch_add(1, Ordering::Relaxed);
        report.hide(None, &site("barrier"), 5_000);
        assert_eq!(report.past_waits().map(|past| past.at_ns).collect::<Vec<_>>(), [5_000]);
    }

    #[test]
    fn a_long_name_is_cut_and_an_entry_that_is_being_written_is_not_read() {
        let host = host();
        let report = &host.control(Rank::new(0)).unwrap().report;
        report.show(&site("a name that is much longer than the space that an entry has for it, in umläuts: äöü"), 1);
        assert_eq!(report.waits().next().unwrap().what().len(), WAIT_NAME_BYTES);
        report.sites[0].version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(report.waits().count(), 0, "the writer has not ended");
    }
}
