//! Blocking: the only file with calls that block.

use core::hint::spin_loop;

use pelago_base::{Duration, Instant, Rank, SegmentId};
use pelago_memory::{CellSlice, Pod};
use pelago_platform::{Awaited, For, WaitSite, Woken};

use crate::shared::Shared;
use crate::{Context, Error, Result};

/// Number of polls of memory per poll of the transport, while no operation of this context is in flight there. Polling the
/// transport of a host, for the requests of others, costs as much as many polls of memory, and the awaited event arrives through memory.
const LOOKS_PER_PROGRESS: Looks = Looks { at_once: 64, giving_way: 8 };

/// The same if some ranks are not mapped, and cores of this rank perform the atomics of others: the awaited event is as likely to arrive through
/// the transport. If networks write to memory and perform atomics without a core, the event arrives through memory.
const LOOKS_PER_PROGRESS_REMOTE: Looks = Looks { at_once: 1, giving_way: 1 };

/// Number of polls per poll of the transport while spinning, and while yielding; powers of two.
#[derive(Clone, Copy)]
struct Looks {
    at_once: u32,
    giving_way: u32,
}

/// Number of polls of the transport without progress after which a spinning wait yields between polls. The progress
/// thread of the target may be ready to run on this core, and the operation would wait until the spinning ends. If a poll is a system call, these polls
/// take some 10 µs, as long as an operation between two hosts.
const TRANSPORT_POLLS_ALONE: u32 = 32;

/// First and maximum sleep of a wait for an event that rings no doorbell: the cost of waking a thread, and a delay that is small for such waits.
const POLL_PAUSES: [Duration; 2] = [Duration::from_microseconds(20), Duration::from_milliseconds(1)];

/// An awaited event.
struct Wanted {
    what: &'static str,
    whom: Whom,
    limit: Option<Duration>,
    /// The kind of action that can cause the event.
    on: For,
    /// The address and size of the only element of this rank's memory that can cause the event, if there is one.
    word: Option<(usize, usize)>,
    /// Whether the event occurs outside the library and rings no doorbell.
    rings_nobody: bool,
}

/// The time limit of a wait. It begins when the wait first makes progress or stops spinning, so that a wait that ends at once reads no clock.
struct TimeLimit {
    limit: Option<Duration>,
    until: Option<Instant>,
}

impl TimeLimit {
    /// Returns the end of the time limit.
    fn until(&mut self, shared: &Shared) -> Option<Instant> {
        if self.until.is_none() {
            self.until = self.limit.map(|limit| shared.clock.now() + limit);
        }
        self.until
    }

    /// Whether the time limit has passed.
    fn has_passed(&mut self, shared: &Shared) -> bool {
        self.until(shared).is_some_and(|until| shared.clock.now() >= until)
    }
}

/// The rank whose action ends a wait, as far as the caller knows: used for reports only, and looked up only when the wait sleeps.
#[derive(Clone, Copy)]
pub(crate) enum Whom {
    Unknown,
    Everyone,
    Rank(Rank),
    /// The rank that an operation of this context was posted to.
    Operation(u64),
    /// The rank that all operations of this context were posted to, if it is a single one.
    Operations,
    /// The writer of the word at this address of the process.
    Word(usize),
}

/// The polling parameters of a context.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Number of polls while spinning.
    spins: u32,
    /// Number of polls of memory per poll of the transport.
    idle: Looks,
}

impl Pace {
    pub(crate) fn of(shared: &Shared) -> Self {
        let by_memory = shared.is_all_mapped() || !shared.serves_atomics;
        let idle = if by_memory { LOOKS_PER_PROGRESS } else { LOOKS_PER_PROGRESS_REMOTE };
        Self { spins: shared.policy.spins, idle }
    }
}

impl Context {
    /// Waits until the element at `index` of this rank's own memory satisfies `condition`, and returns it.
    ///
    /// Spins for a moment, then yields the core, then sleeps until an operation of the library writes to this rank's memory
    /// (a plain store of another thread is noticed late). `condition` may read other words of that memory as well; if it does not,
    /// [`wait_for_word`](Self::wait_for_word) avoids wake-ups by writes to other words.
    ///
    /// # Errors
    /// The job has a fault: a rank failed, or all ranks wait; see [`on_peer_lost`](crate::World::on_peer_lost).
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn wait_until<T: Pod>(&self, cells: CellSlice<'_, T>, index: usize, condition: impl FnMut(T) -> bool) -> Result<T> {
        self.wait_for_value("a value", None, cells, index, condition)
    }

    /// As [`wait_until`](Self::wait_until), for at most `limit`.
    ///
    /// # Errors
    /// The limit expired, or the job has a fault.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn wait_until_within<T: Pod>(
        &self,
        limit: Duration,
        cells: CellSlice<'_, T>,
        index: usize,
        condition: impl FnMut(T) -> bool,
    ) -> Result<T> {
        self.wait_for_value("a value", Some(limit), cells, index, condition)
    }

    /// As [`wait_until`](Self::wait_until), where `what` names the awaited event in errors and reports: for libraries.
    ///
    /// # Errors
    /// `limit` has expired; the job has a fault.
    ///
    /// # Panics
    /// `index` is past the end.
    pub fn wait_for_value<T: Pod>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        cells: CellSlice<'_, T>,
        index: usize,
        mut condition: impl FnMut(T) -> bool,
    ) -> Result<T> {
        let losses = self.losses();
        self.block_on_memory(what, word_of(cells, index), limit, || {
            self.nothing_lost_since(losses)?;
            let value = cells.load(index);
            Ok(condition(value).then_some(value))
        })
    }

    /// Waits until `ready` returns a value, and makes progress meanwhile.
    #[inline]
    pub(crate) fn block<T>(
        &self,
        what: &'static str,
        whom: Whom,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait(Wanted { what, whom, limit, on: For::Anything, word: None, rings_nobody: false }, ready)
    }

    /// As `block`, for a `ready` whose result may change without a doorbell.
    pub(crate) fn block_polling<T>(
        &self,
        what: &'static str,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait(Wanted { what, whom: Whom::Unknown, limit, on: For::Anything, word: None, rings_nobody: true }, ready)
    }

    /// As `block`, for a `ready` that depends only on the contents of this rank's memory.
    #[inline]
    pub(crate) fn block_on_memory<T>(
        &self,
        what: &'static str,
        whom: Whom,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.wait(Wanted { what, whom, limit, on: For::Memory, word: None, rings_nobody: false }, ready)
    }

    /// As `block_on_memory`, for a `ready` that depends only on the element at `index`.
    #[inline]
    pub(crate) fn block_on_word<T, V: Pod>(
        &self,
        what: &'static str,
        whom: Whom,
        limit: Option<Duration>,
        (cells, index): (CellSlice<'_, V>, usize),
        ready: impl FnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let word = Some((place_of(cells, index), size_of::<V>()));
        self.wait(Wanted { what, whom, limit, on: For::Memory, word, rings_nobody: false }, ready)
    }

    /// As `block`, but once asleep, the wait may sleep until at most `left` operations of this context are in flight.
    pub(crate) fn block_until_left(
        &self,
        what: &'static str,
        left: usize,
        limit: Option<Duration>,
        ready: impl FnMut() -> Result<Option<()>>,
    ) -> Result<()> {
        let on = For::AtMost(left as u32);
        self.wait(Wanted { what, whom: Whom::Operations, limit, on, word: None, rings_nobody: false }, ready)
    }

    #[inline]
    fn wait<T>(&self, wanted: Wanted, mut ready: impl FnMut() -> Result<Option<T>>) -> Result<T> {
        let mut limit = TimeLimit { limit: wanted.limit, until: None };
        match self.look_at_once(&mut ready, &mut limit)? {
            Some(found) => Ok(found),
            None => self.block_parked(wanted, limit, &mut ready),
        }
    }

    /// Spins for the configured number of polls, and starts again whenever progress was made: a message is often followed by another, and a wake-up
    /// takes longer. Polls of the transport yield the core soon, those of memory take only a few microseconds in total. Ends early if yields do not help.
    #[inline]
    fn look_at_once<T>(
        &self,
        ready: &mut (impl FnMut() -> Result<Option<T>> + ?Sized),
        limit: &mut TimeLimit,
    ) -> Result<Option<T>> {
        let (mut look, mut idle, mut polls) = (0, self.pace.idle.at_once, 0);
        while look < self.pace.spins {
            look += 1;
            if let Some(found) = ready()? {
                return Ok(Some(found));
            }
            if !self.is_time_to_move(look, idle) {
                spin_loop();
            } else if self.progress() {
                if self.shared.wait.fault().is_some() || limit.has_passed(&self.shared) {
                    // Retransmissions to a failed rank and requests of others are progress, too: they must hide neither the fault nor the time.
                    return Ok(None);
                }
                // Events at the transport, including requests of others, come in succession as well.
                (look, idle, polls) = (0, 1, 0);
            } else if polls < TRANSPORT_POLLS_ALONE {
                polls += 1;
            } else if self.shared.wait.yield_now() {
                // A yield takes as long as a poll.
                look += 1;
            } else {
                break;
            }
        }
        Ok(None)
    }

    /// Whether to make progress at this poll: at every poll while operations are in flight, else at every `idle`-th.
    #[inline]
    fn is_time_to_move(&self, look: u32, idle: u32) -> bool {
        self.busy.get() || look & (idle - 1) == 0
    }

    #[cold]
    fn block_parked<T>(&self, wanted: Wanted, mut time: TimeLimit, ready: &mut dyn FnMut() -> Result<Option<T>>) -> Result<T> {
        let Wanted { what, limit, on, word, rings_nobody, .. } = wanted;
        let [mut pause, pause_max] = POLL_PAUSES;
        let shared = self.shared();
        let mut shown = None;
        let _inside = shared.inside();
        let _waiting = shared.waiting();
        let until = time.until(shared);
        // Messages come in succession: after one has been seen, spin for the next.
        let mut moved = true;
        loop {
            if std::mem::take(&mut moved)
                && let Some(found) = self.look_giving_way(ready, &mut time)?
            {
                return Ok(found);
            }
            let mut outcome = None;
            let mut look = || {
                outcome = ready().transpose();
                moved = outcome.is_none() && self.progress();
                moved || outcome.is_some()
            };
            if !look() {
                let tally = self.count_park();
                shared.tally(tally);
                shown.get_or_insert_with(|| Shown::new(shared, self.site(&wanted)));
                let look_by = rings_nobody.then(|| shared.clock.now() + pause);
                pause = (pause + pause).min(pause_max);
                let due = [until, look_by, self.next_deadline(), self.retry_at()].into_iter().flatten().min();
                let mut look_again = || {
                    look() || {
                        self.before_sleep();
                        false
                    }
                };
                // A deferred operation may become possible with any completion; background work may depend on any write.
                let is_alone = !self.has_background() && self.engine().borrow().is_all_begun();
                let on =
                    if is_alone { word.and_then(|word| self.line_of_own(word)).map_or(on, For::Line) } else { For::Anything };
                let woken = shared.wait.park(on, due, &mut look_again);
                if let (Woken::Fault(fault), None) = (woken, &outcome) {
                    // The awaited event may have occurred nevertheless; then the next wait reports the fault.
                    return ready()?.ok_or(fault.into());
                }
            }
            if let Some(outcome) = outcome {
                return outcome;
            }
            if let Some(limit) = limit
                && time.has_passed(shared)
            {
                return ready()?.ok_or(Error::TimedOut { what, limit });
            }
        }
    }

    /// Returns the description of a wait for reports.
    #[cold]
    fn site(&self, wanted: &Wanted) -> WaitSite {
        let engine = self.engine().borrow();
        let (awaited, word) = match wanted.whom {
            Whom::Unknown => (Awaited::Unknown, None),
            Whom::Everyone => (Awaited::Everyone, None),
            Whom::Operations => (engine.only_target().map_or(Awaited::Unknown, Awaited::Rank), None),
            Whom::Rank(rank) => (Awaited::Rank(rank), None),
            Whom::Operation(id) => (engine.target_of(id).map_or(Awaited::Unknown, Awaited::Rank), None),
            Whom::Word(place) => (Awaited::Unknown, self.offset_of_own(place)),
        };
        WaitSite { what: wanted.what, awaited, word, in_flight: engine.in_flight() }
    }

    /// Returns the cache line of an element in a heap of this rank, which others write only through the mapping of the heaps.
    fn line_of_own(&self, (place, bytes): (usize, usize)) -> Option<u32> {
        self.offset_of_own(place)?;
        self.reach.bell(self.rank())?.line(std::ptr::without_provenance(place), bytes)
    }

    /// Returns the offset of an address of this process in a heap of this rank.
    fn offset_of_own(&self, place: usize) -> Option<u64> {
        let bytes = self.reach.addresses().segment_bytes();
        [SegmentId::SYMMETRIC, SegmentId::INDIVIDUAL].into_iter().find_map(|segment| {
            let start = self.reach.cells(self.own_address(segment, 0), 1)?.pointer().addr().get();
            place.checked_sub(start).map(|offset| offset as u64).filter(|offset| *offset < bytes)
        })
    }

    /// Polls, and yields the core between polls; spins again after progress. Returns the awaited value, or `None` after the configured number of
    /// polls without progress, when yields do not help, or when the wait is late. Fails if the job has a fault.
    #[inline(never)]
    fn look_giving_way<T>(&self, ready: &mut dyn FnMut() -> Result<Option<T>>, time: &mut TimeLimit) -> Result<Option<T>> {
        let shared = self.shared();
        let mut look = 0;
        while look < shared.policy.yields {
            look += 1;
            if let Some(found) = ready()? {
                return Ok(Some(found));
            }
            if self.is_time_to_move(look, self.pace.idle.giving_way) && self.progress() {
                look = 0;
                if let Some(found) = self.look_at_once(ready, time)? {
                    return Ok(Some(found));
                }
            }
            // A yield may give the core to other threads for milliseconds, so that all yields of a wait take longer than a rank has to leave a failed job.
            if let Some(fault) = shared.wait.fault() {
                self.progress();
                return ready()?.map(Some).ok_or(fault.into());
            }
            if time.has_passed(shared) || !shared.wait.yield_now() {
                break;
            }
        }
        Ok(None)
    }
}

/// Returns the address of the element at `index`, for reports.
pub(super) fn word_of<T: Pod>(cells: CellSlice<'_, T>, index: usize) -> Whom {
    Whom::Word(place_of(cells, index))
}

fn place_of<T: Pod>(cells: CellSlice<'_, T>, index: usize) -> usize {
    cells.cells().pointer().addr().get() + index * size_of::<T>()
}

/// Publishes a sleeping wait to the platform's reports until dropped.
struct Shown<'s> {
    shared: &'s Shared,
    site: WaitSite,
    place: Option<u8>,
}

impl<'s> Shown<'s> {
    fn new(shared: &'s Shared, site: WaitSite) -> Self {
        Self { shared, place: shared.wait.reports().and_then(|reports| reports.show(&site)), site }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if let Some(reports) = self.shared.wait.reports() {
            reports.hide(self.place, &self.site);
        }
    }
}
