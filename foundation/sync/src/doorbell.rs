//! Doorbells, on which threads of any process sleep until another thread rings.

use core::time::Duration;

use crate::asymmetric::{heavy, light};
use crate::primitive::{AtomicU32, AtomicU64, Ordering, constructor, futex_wait, futex_wake_all};

/// Bit that is set while a thread sleeps or is about to. The other bits are the epoch, which each ring that finds the bit set advances.
const ASLEEP: u32 = 1;

/// How long a sleeper may miss a write when the kernel refuses the heavy fence: short for a person, long for a core.
const NAP: Duration = Duration::from_millis(1);

/// Unit of the range of quiet memory, counted from the bell on.
const PAGE_BYTES: usize = 4096;

/// Unit of the position of a sleeper's word, counted from the bell on.
const LINE_BYTES: usize = 64;

/// A doorbell in shared memory: a thread sleeps on it until a condition holds, and each thread that may have made the condition true rings.
///
/// **No wake-up is lost**: if a write comes before [`ring`](Self::ring) in one thread and `ready` of [`sleep`](Self::sleep) in
/// another reads the written memory, then `ready` sees the write or the sleeper is woken. This holds between all processes that
/// have called [`register`](crate::asymmetric::register); `README.md` has the proof. All zero bytes are a doorbell without sleepers.
///
/// 64 bytes, so that no other data shares its cache line: while there are no sleepers, each ringer reads its own cached copy.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Doorbell {
    word: AtomicU32,
    /// The wait of the announced sleepers: in the low half the cache line of their one word, counted from the bell and from 1, or 0 for any write;
    /// in the high half the value of `word` that they have announced.
    awaited: AtomicU64,
    /// Quiet memory, whose writers wake nobody: in the low half its first page, counted from the bell, in the high half its number of pages; 0 if
    /// there is none.
    quiet: AtomicU64,
}

/// Why [`Doorbell::sleep`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// The condition holds.
    Ready,
    /// A thread rang, or the system woke the sleeper spuriously; the condition may hold now.
    Rung,
    /// The time limit expired.
    TimedOut,
}

impl Doorbell {
    constructor! {
        /// Creates a doorbell without sleepers.
        pub fn new() -> Self {
            Self { word: AtomicU32::new(0), awaited: AtomicU64::new(0), quiet: AtomicU64::new(0) }
        }
    }

    /// Wakes all sleepers of this bell. Called after each write that a sleeper may wait for.
    ///
    /// Cost: one load, one test and one branch that is not taken, while there are no sleepers; otherwise one atomic and one system call
    /// for the first to ring. Callable from any thread of a registered process.
    #[inline(always)]
    pub fn ring(&self) {
        light();
        if self.word.load(Ordering::Relaxed) & ASLEEP != 0 {
            self.wake();
        }
    }

    /// As [`ring`](Self::ring), for a write of `bytes` bytes at `place`, which lies in the same mapping as the bell: wakes nobody if that
    /// memory is [quiet](Self::hush), or if all sleepers wait [for a word](Self::sleep_for) in a cache line that was not written.
    ///
    /// Cost: as `ring` while there are no sleepers; one more load and two more tests while all wait for another word.
    #[inline(always)]
    pub fn ring_for(&self, place: *const u8, bytes: usize) {
        self.ring_for_keeping(place, bytes, 0);
    }

    /// As [`ring_for`](Self::ring_for); returns `kept`, so that the caller need not save it across a call that rarely occurs.
    #[inline(always)]
    pub fn ring_for_keeping(&self, place: *const u8, bytes: usize, kept: u64) -> u64 {
        light();
        if self.word.load(Ordering::Relaxed) & ASLEEP != 0 && self.is_awaited(place, bytes) {
            return self.wake_for(place, bytes, kept);
        }
        kept
    }

    /// Makes the whole pages among `bytes` bytes from `start` on quiet: no sleeper of this bell waits for writes to them. They lie behind the bell
    /// in its mapping. Returns `false` if other memory is quiet already, or if the range contains no whole page.
    pub fn hush(&self, start: *const u8, bytes: usize) -> bool {
        let from = start.addr().wrapping_sub(self.addr());
        let (first, end) = (from.div_ceil(PAGE_BYTES), from.saturating_add(bytes) / PAGE_BYTES);
        let (Ok(first), Ok(pages)) = (u32::try_from(first), u32::try_from(end.saturating_sub(first))) else { return false };
        let quiet = u64::from(pages) << 32 | u64::from(first);
        pages > 0 && self.quiet.compare_exchange(0, quiet, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Ends the quiet of memory.
    pub fn listen(&self) {
        self.quiet.store(0, Ordering::Relaxed);
    }

    fn addr(&self) -> usize {
        core::ptr::from_ref(self).addr()
    }

    /// Sleeps until a thread rings, or for `limit` at least if none does; not at all if `ready` returns `true`.
    ///
    /// After [`Slept::Rung`] the caller checks its condition, and sleeps again if it does not hold. Several threads may
    /// sleep on one bell, each for its own condition; a ring wakes all. `ready` is called once, or once a millisecond if the
    /// kernel refuses the heavy fence. A sleeper that must survive the failure of ringers sets a limit: a process that dies between its
    /// write and the end of its ring wakes nobody.
    ///
    /// Cost: two atomics, one heavy fence and, unless ready, one system call. Callable from any thread.
    pub fn sleep(&self, limit: Option<Duration>, ready: &mut dyn FnMut() -> bool) -> Slept {
        self.sleep_in(0, limit, ready)
    }

    /// As [`sleep`](Self::sleep), if `ready` depends only on memory in this [line](Self::line): [`ring_for`](Self::ring_for) for other memory does
    /// not wake this sleeper, but [`ring`](Self::ring) does.
    pub fn sleep_for(&self, line: u32, limit: Option<Duration>, ready: &mut dyn FnMut() -> bool) -> Slept {
        self.sleep_in(line, limit, ready)
    }

    fn sleep_in(&self, line: u32, limit: Option<Duration>, ready: &mut dyn FnMut() -> bool) -> Slept {
        let announced = self.word.fetch_or(ASLEEP, Ordering::Relaxed) | ASLEEP;
        self.await_line(announced, line);
        let fenced = heavy();
        if ready() {
            // Other sleepers may have announced themselves meanwhile, so the bit stays; at worst the next ring wakes nobody.
            return Slept::Ready;
        }
        if fenced { self.doze(announced, limit) } else { self.nap(announced, limit, ready) }
    }

    /// Whether a thread has announced a sleep and none has rung since. A hint: it may change at any moment.
    pub fn has_sleeper(&self) -> bool {
        self.word.load(Ordering::Relaxed) & ASLEEP != 0
    }

    /// Returns the cache line, counted from the bell and from 1, of `bytes` bytes at `place` in the same mapping; `None` if they are not in one
    /// line, or too far away.
    pub fn line(&self, place: *const u8, bytes: usize) -> Option<u32> {
        let from = place.addr().wrapping_sub(self.addr());
        let is_one = from % LINE_BYTES + bytes <= LINE_BYTES;
        u32::try_from(from / LINE_BYTES + 1).ok().filter(|_| is_one)
    }

    /// Records that a sleeper that announced this word waits for this line; for any write, if others wait for another line.
    fn await_line(&self, announced: u32, line: u32) {
        let mut awaited = self.awaited.load(Ordering::Relaxed);
        loop {
            let age = announced.wrapping_sub((awaited >> 32) as u32) as i32;
            let merged = match age {
                // Others have announced a newer word: this sleeper will find the word changed.
                ..0 => return,
                0 if awaited as u32 == line => return,
                0 => 0,
                1.. => line,
            };
            let new = u64::from(announced) << 32 | u64::from(merged);
            match self.awaited.compare_exchange_weak(awaited, new, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => awaited = now,
            }
        }
    }

    /// Whether an announced sleeper may wait for a write of `bytes` bytes at `place`.
    #[inline(always)]
    fn is_awaited(&self, place: *const u8, bytes: usize) -> bool {
        let line = self.awaited.load(Ordering::Relaxed) as u32 as usize;
        // Distance from the start of the line to the last byte; for a write before the line it wraps around.
        let ahead = place
            .addr()
            .wrapping_sub(self.addr())
            .wrapping_add(bytes)
            .wrapping_sub(LINE_BYTES.wrapping_mul(line).wrapping_sub(LINE_BYTES - 1));
        line == 0 || ahead < LINE_BYTES - 1 + bytes
    }

    #[cold]
    #[inline(never)]
    fn wake_for(&self, place: *const u8, bytes: usize, kept: u64) -> u64 {
        let quiet = self.quiet.load(Ordering::Relaxed);
        let (first, pages) = (quiet as u32 as usize, (quiet >> 32) as usize);
        let from = place.addr().wrapping_sub(self.addr()).wrapping_sub(first * PAGE_BYTES);
        if from >= pages * PAGE_BYTES || bytes > pages * PAGE_BYTES - from {
            self.wake();
        }
        kept
    }

    #[cold]
    #[inline(never)]
    fn wake(&self) {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & ASLEEP != 0 {
            // Adding 1 clears bit 0 and carries into the epoch. Release, for the sleeper that finds a new epoch.
            match self.word.compare_exchange_weak(word, word.wrapping_add(1), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return futex_wake_all(&self.word),
                Err(now) => word = now,
            }
        }
    }

    /// Sleeps while the word equals the announced value.
    fn doze(&self, announced: u32, limit: Option<Duration>) -> Slept {
        if futex_wait(&self.word, announced, limit) {
            return Slept::TimedOut;
        }
        // Pairs with the ringer's release, which the futex does not.
        self.word.load(Ordering::Acquire);
        Slept::Rung
    }

    /// Sleeps in short naps, because a ringer may not have seen the announcement.
    fn nap(&self, announced: u32, limit: Option<Duration>, ready: &mut dyn FnMut() -> bool) -> Slept {
        let mut left = limit.unwrap_or(Duration::MAX);
        while !left.is_zero() {
            let nap = left.min(NAP);
            if self.doze(announced, Some(nap)) == Slept::Rung {
                return Slept::Rung;
            }
            if ready() {
                return Slept::Ready;
            }
            left -= nap;
        }
        Slept::TimedOut
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::asymmetric::register;
    use crate::primitive::AtomicU64;

    /// Turns a hang into a failure; nothing depends on its length.
    const HANG: Option<Duration> = Some(Duration::from_secs(60));

    fn word(bell: &Doorbell) -> u32 {
        bell.word.load(Ordering::Relaxed)
    }

    #[test]
    fn it_fills_one_cache_line() {
        assert_eq!((size_of::<Doorbell>(), align_of::<Doorbell>()), (64, 64));
    }

    #[test]
    fn a_ring_that_nobody_awaits_changes_nothing() {
        let bell = Doorbell::new();
        bell.ring();
        assert_eq!(word(&bell), 0);
    }

    #[test]
    fn a_ring_clears_the_bit_and_advances_the_epoch_even_past_the_last() {
        let bell = Doorbell { word: AtomicU32::new(u32::MAX - 1), ..Doorbell::default() };
        assert_eq!(bell.sleep(None, &mut || true), Slept::Ready);
        assert_eq!(word(&bell), u32::MAX);
        bell.ring();
        assert_eq!(word(&bell), 0);
    }

    #[test]
    fn it_has_a_sleeper_from_the_announcement_to_the_ring() {
        let bell = Doorbell::new();
        assert!(!bell.has_sleeper());
        assert_eq!(bell.sleep(Some(Duration::ZERO), &mut || bell.has_sleeper()), Slept::Ready);
        assert!(bell.has_sleeper(), "others may sleep still");
        bell.ring();
        assert!(!bell.has_sleeper());
    }

    /// Another thread may ring between a ringer's read of the word and its own wake-up.
    #[test]
    fn who_rings_second_changes_nothing() {
        let bell = Doorbell::new();
        bell.wake();
        assert_eq!(word(&bell), 0);
    }

    #[test]
    fn writes_to_quiet_memory_wake_nobody() {
        #[repr(C, align(4096))]
        struct Page([u8; PAGE_BYTES]);
        #[repr(C, align(4096))]
        struct Part {
            bell: Doorbell,
            memory: [Page; 4],
        }
        let part = Box::new(Part { bell: Doorbell::default(), memory: [const { Page([0; PAGE_BYTES]) }; 4] });
        let at = |byte: usize| part.memory.as_ptr().cast::<u8>().wrapping_add(byte);
        let rings = |byte: usize, bytes: usize| {
            let announced = part.bell.word.fetch_or(ASLEEP, Ordering::Relaxed) | ASLEEP;
            part.bell.ring_for(at(byte), bytes);
            word(&part.bell) != announced
        };
        assert!(!part.bell.hush(at(1), PAGE_BYTES), "no page of it is whole");
        assert!(rings(2 * PAGE_BYTES, 8), "nothing is quiet");
        assert!(
            part.bell.hush(at(PAGE_BYTES - 8), 2 * PAGE_BYTES + 16) && !part.bell.hush(at(0), PAGE_BYTES),
            "one memory at a time"
        );
        let quiet = [(PAGE_BYTES, 8), (3 * PAGE_BYTES - 1, 1), (PAGE_BYTES, 2 * PAGE_BYTES)];
        let heard = [(PAGE_BYTES - 8, 8), (PAGE_BYTES - 8, 16), (3 * PAGE_BYTES - 8, 16), (3 * PAGE_BYTES, 8), (0, 1)];
        assert!(!quiet.iter().any(|&(byte, bytes)| rings(byte, bytes)) && heard.iter().all(|&(byte, bytes)| rings(byte, bytes)));
        part.bell.listen();
        assert!(rings(PAGE_BYTES, 8));
    }

    #[test]
    fn writes_beside_the_only_word_that_is_awaited_wake_nobody() {
        let bell = Doorbell::new();
        let at = |byte: usize| (&raw const bell).cast::<u8>().wrapping_add(byte);
        let sleep = |line: Option<usize>| match line {
            Some(line) => bell.sleep_for(bell.line(at(64 * line + 8), 8).unwrap(), None, &mut || true),
            None => bell.sleep(None, &mut || true),
        };
        // The lines for which sleepers announce themselves in turn, `None` for any write; and the bytes that are written.
        let rings = |sleepers: &[Option<usize>], byte: usize, bytes: usize| {
            bell.ring();
            sleepers.iter().for_each(|&line| assert_eq!(sleep(line), Slept::Ready));
            bell.ring_for(at(byte), bytes);
            !bell.has_sleeper()
        };
        assert_eq!((bell.line(at(64 << 32), 8), bell.line(at(60), 8), bell.line(at(56), 8)), (None, None, Some(1)));
        let beside = [(640, 8), (576 - 8, 8), (0, 576), (641, 64), (640, 1 << 20), (4096, 1)];
        let within = [(576, 1), (639, 1), (576 + 8, 8), (575, 2), (0, 577), (0, 1 << 20)];
        for sleepers in [&[Some(9)][..], &[Some(9); 2]] {
            assert!(!beside.iter().any(|&(byte, bytes)| rings(sleepers, byte, bytes)), "{sleepers:?}");
            assert!(within.iter().all(|&(byte, bytes)| rings(sleepers, byte, bytes)), "{sleepers:?}");
        }
        for sleepers in [&[None][..], &[Some(9), None], &[None, Some(9)], &[Some(9), Some(3)]] {
            assert!(beside.iter().chain(&within).all(|&(byte, bytes)| rings(sleepers, byte, bytes)), "{sleepers:?}");
        }
    }

    /// Of two sleepers with different announced words, the one that records its line late changes nothing.
    #[test]
    fn who_has_been_woken_already_no_longer_says_for_what_it_sleeps() {
        let bell = Doorbell { word: AtomicU32::new(u32::MAX - 1), ..Doorbell::default() };
        let at = |byte: usize| (&raw const bell).cast::<u8>().wrapping_add(byte);
        let announced = word(&bell) | ASLEEP;
        bell.await_line(announced, 1);
        bell.await_line(announced.wrapping_add(2), 2);
        bell.await_line(announced, 1);
        bell.word.store(announced.wrapping_add(2), Ordering::Relaxed);
        bell.ring_for(at(0), 8);
        assert!(bell.has_sleeper());
        bell.ring_for(at(64), 8);
        assert!(!bell.has_sleeper());
    }

    #[test]
    fn a_ring_before_the_futex_ends_the_sleep() {
        let bell = Doorbell::new();
        let mut ring = || {
            bell.ring();
            false
        };
        assert_eq!(bell.sleep(HANG, &mut ring), Slept::Rung);
        assert_eq!(bell.nap(ASLEEP, HANG, &mut ring), Slept::Rung);
    }

    #[test]
    fn a_limit_is_honoured() {
        let bell = Doorbell::new();
        for limit in [Duration::ZERO, NAP / 2, 3 * NAP] {
            assert_eq!(bell.sleep(Some(limit), &mut || false), Slept::TimedOut);
            assert_eq!(bell.nap(ASLEEP, Some(limit), &mut || false), Slept::TimedOut);
        }
    }

    #[test]
    fn a_nap_looks_again_without_a_ring() {
        let bell = Doorbell { word: AtomicU32::new(ASLEEP), ..Doorbell::default() };
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            looks == 3
        };
        assert_eq!(bell.nap(ASLEEP, None, &mut third), Slept::Ready);
    }

    /// Three threads pass a number around, each asleep until its turn; all sleep on one bell.
    #[test]
    fn no_wake_up_is_lost_between_threads() {
        const THREADS: u64 = 3;
        const ROUNDS: u64 = if cfg!(miri) { 10 } else { 500 };
        let _may_refuse = register();
        let (bell, turn) = (Doorbell::new(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let (bell, turn) = (&bell, &turn);
                scope.spawn(move || {
                    for mine in (0..ROUNDS).map(|round| round * THREADS + me) {
                        while turn.load(Ordering::Acquire) != mine {
                            let slept = bell.sleep(HANG, &mut || turn.load(Ordering::Acquire) == mine);
                            assert_ne!(slept, Slept::TimedOut, "a wake-up was lost");
                        }
                        turn.store(mine + 1, Ordering::Release);
                        bell.ring();
                    }
                });
            }
        });
    }
}
