//! The progress thread, and the division of work with its rank: the rank drives while it waits in the library, the progress thread otherwise.
//!
//! The progress thread sleeps in the kernel until a datagram arrives. A rank that drives polls for datagrams itself; each of them would also wake
//! the progress thread, on a core that the rank needs. So the rank removes the socket from the progress thread's wait set and sets the thread's
//! alarm, which it puts off as long as it drives. When the alarm rings, the rank has gone on to compute, and the progress thread listens again. A
//! rank that falls asleep makes it listen at once. None of these steps wakes the progress thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;

use crate::driver::Driver;
use crate::wait_set::WaitSet;

/// Minimum time after the last poll of a rank after which its progress thread takes over. A wake-up costs a rank that shares its core a
/// quarter of this time.
const ABSENCE_MIN: Duration = Duration::from_microseconds(200);

/// Maximum time after the last poll of a rank after which its progress thread takes over, for a rank that has polled for long: re-arming the timer
/// takes some microseconds, once in half of this time.
const ABSENCE_MAX: Duration = Duration::from_microseconds(3200);

/// Number of polls of the progress thread of a sleeping rank after the last datagram: a message is often followed by another, and a wake-up takes
/// longer. Between two polls the thread yields.
const LOOKS: u32 = 50;

/// Tolerated delay of the progress thread after a deadline: its alarm is set anew only if it would ring later than that.
const LATE: Duration = Duration::from_milliseconds(2);

/// Value of `until` while the rank drives and the progress thread does not listen.
const EXCUSED: u64 = 0;

/// Called when the rank should poll: an operation completed, or a peer wrote to its memory.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// State shared by the rank and its progress thread.
///
/// - **A1** The lock of the driver protects changes of the alarm and of whether the progress thread listens, except that the progress thread may
///   set the alarm to ring earlier without the lock. So a sleeping progress thread either listens or has an alarm that rings soon.
/// - **A2** While the progress thread does not listen, `sleeping` is false: a rank that falls asleep makes it listen, and a rank that drives is awake.
/// - **A3** The socket is in the wait set only while `until` says that the progress thread listens: otherwise datagrams would wake it again and again
///   without being read.
pub(crate) struct Shared {
    driver: Mutex<Driver>,
    wake: Wake,
    /// Whether the rank sleeps and will not poll before it is woken.
    sleeping: AtomicBool,
    /// Time until which the progress thread listens, in picoseconds; [`EXCUSED`] while it does not listen; `u64::MAX`: without end.
    until: AtomicU64,
    /// Earliest time at which the alarm rings while the progress thread does not listen, in picoseconds.
    rings: AtomicU64,
    stop: AtomicBool,
}

impl Shared {
    pub(crate) fn new(driver: Driver, wake: Wake) -> Self {
        let [sleeping, stop] = [false; 2].map(AtomicBool::new);
        let [until, rings] = [EXCUSED, 0].map(AtomicU64::new);
        Self { driver: Mutex::new(driver), wake, sleeping, until, rings, stop }
    }

    /// Locks the driver, also after a panic of another thread: the driver is consistent between any two steps.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the driver for the progress thread, whose alarm has `rung` or not; `None` while the rank drives.
    fn lock_unless_excused(&self, rung: bool, wait_set: &WaitSet) -> Option<MutexGuard<'_, Driver>> {
        let driver = match self.driver.try_lock() {
            Ok(driver) => driver,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if self.is_excused() => {
                // A progress thread whose alarm has not rung listened when it was woken; the rank has set the alarm since.
                if rung {
                    wait_set.set_alarm(Some(ABSENCE_MIN));
                }
                return None;
            }
            Err(TryLockError::WouldBlock) => self.lock(),
        };
        // The progress thread does not take over from a rank that has begun to drive while the thread waited for the lock.
        (rung || !self.is_excused()).then_some(driver)
    }

    /// Makes the progress thread listen from now on, until the next deadline.
    fn listen(&self, locked: &Driver, wait_set: &WaitSet, now: Instant) {
        // Acknowledgements that a thread has held back until its next poll have no other deadline.
        let due = if locked.is_owing() { Some(now) } else { locked.next_deadline() };
        self.set_alarm(due, wait_set, now);
        if !wait_set.listen() {
            self.set_alarm(Some(now + ABSENCE_MIN), wait_set, now);
        }
    }

    fn set_alarm(&self, due: Option<Instant>, wait_set: &WaitSet, now: Instant) {
        self.until.store(due.map_or(u64::MAX, |due| due.as_picoseconds().max(EXCUSED + 1)), Ordering::Relaxed);
        wait_set.set_alarm(due.map(|due| due.since(now)));
    }

    pub(crate) fn wake(&self) {
        (self.wake)();
    }

    /// Whether the rank drives and the progress thread does not listen. Changes only under the lock of the driver.
    fn is_excused(&self) -> bool {
        self.until.load(Ordering::Relaxed) == EXCUSED
    }

    fn rings(&self) -> Instant {
        Instant::from_picoseconds(self.rings.load(Ordering::Relaxed))
    }

    /// Sets the alarm of a progress thread that does not listen to ring after `pause`. The caller holds the lock of the driver.
    fn put_alarm_off(&self, wait_set: &WaitSet, now: Instant, pause: Duration) {
        wait_set.set_alarm(Some(pause));
        self.rings.store((now + pause).as_picoseconds(), Ordering::Relaxed);
    }
}

/// The thread that serves peers while the rank computes or sleeps. It ends when dropped.
pub(crate) struct ProgressThread {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    wait_set: Arc<WaitSet>,
    thread: Option<JoinHandle<()>>,
    /// Time without a poll after which the progress thread takes over from a rank that drives.
    absence: Duration,
    /// Time of the last poll that did not excuse a listening progress thread.
    looked: Instant,
    /// Time from which on a rank that drives puts the alarm off, while the progress thread does not listen.
    put_off: Instant,
}

impl ProgressThread {
    pub(crate) fn start(shared: Arc<Shared>, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let wait_set = Arc::new(WaitSet::new(shared.lock().socket.descriptor())?);
        let thread = std::thread::Builder::new().name("pelago-progress_thread".into()).stack_size(128 * 1024).spawn({
            let (shared, clock, wait_set) = (shared.clone(), clock.clone(), wait_set.clone());
            move || Attendance { shared: &shared, clock: clock.as_ref(), wait_set: &wait_set }.run()
        })?;
        let (absence, never) = (ABSENCE_MIN, Instant::ZERO);
        Ok(Self { shared, clock, wait_set, thread: Some(thread), absence, looked: never, put_off: never })
    }

    /// Called at each poll of the rank; returns whether the progress thread is excused. A single poll does not excuse it: that would cost more than
    /// it saves.
    #[inline]
    pub(crate) fn excuse(&mut self, _locked: &mut Driver, now: Instant) -> bool {
        let listens = self.listens();
        if !listens && now < self.put_off {
            return true;
        }
        self.excuse_longer(now, listens)
    }

    #[cold]
    fn excuse_longer(&mut self, now: Instant, listens: bool) -> bool {
        if listens && now >= self.looked + ABSENCE_MIN {
            self.looked = now;
            self.shared.sleeping.store(false, Ordering::Relaxed);
            return false;
        }
        let doubled = Duration::from_picoseconds(2 * self.absence.as_picoseconds()).min(ABSENCE_MAX);
        self.absence = if listens { ABSENCE_MIN } else { doubled };
        self.put_alarm_off(now, self.absence, listens);
        true
    }

    /// Keeps the progress thread away for the time `busy` that a post of the rank takes. Posting does not count as driving: however often the rank
    /// posts, the progress thread takes over in between.
    pub(crate) fn excuse_for(&mut self, _locked: &mut Driver, now: Instant, busy: Duration) {
        let listens = self.listens();
        if listens || now + busy >= self.shared.rings() {
            self.absence = if listens { ABSENCE_MIN } else { self.absence };
            self.put_alarm_off(now, busy + ABSENCE_MIN, listens);
        }
    }

    fn listens(&self) -> bool {
        !self.shared.is_excused()
    }

    #[cold]
    fn put_alarm_off(&mut self, now: Instant, pause: Duration, listens: bool) {
        self.shared.put_alarm_off(&self.wait_set, now, pause);
        self.put_off = now + Duration::from_picoseconds(pause.as_picoseconds() / 2);
        if listens {
            self.wait_set.turn_away();
            self.shared.sleeping.store(false, Ordering::Relaxed);
            self.shared.until.store(EXCUSED, Ordering::Relaxed);
        }
    }

    /// Makes the progress thread listen, because the rank is about to sleep.
    pub(crate) fn attend(&self) {
        let driver = self.shared.lock();
        self.shared.sleeping.store(true, Ordering::Relaxed);
        if self.shared.is_excused() {
            self.shared.listen(&driver, &self.wait_set, self.clock.now());
        }
    }

    /// Returns a function by which the thread of a rank that drives sleeps briefly: the next datagram wakes that thread, and not its progress thread.
    pub(crate) fn nap(&self) -> impl Fn(Duration) -> bool + Send + Sync + use<> {
        let (shared, clock, wait_set) = (self.shared.clone(), self.clock.clone(), self.wait_set.clone());
        move |limit| {
            let driver = shared.lock();
            if !shared.is_excused() || driver.is_owing() {
                return false;
            }
            let now = clock.now();
            if now + limit >= shared.rings() {
                shared.put_alarm_off(&wait_set, now, limit + ABSENCE_MIN);
            }
            drop(driver);
            wait_set.nap(limit)
        }
    }

    /// Sets the alarm of a listening progress thread anew if a deadline has become earlier.
    #[inline]
    pub(crate) fn remind(&mut self, locked: &Driver, now: Instant) {
        let until = self.shared.until.load(Ordering::Relaxed);
        if until == EXCUSED {
            if self.shared.rings() > now + ABSENCE_MAX {
                // The post for which the alarm was put off has ended.
                self.put_alarm_off(self.clock.now(), ABSENCE_MIN, false);
            }
            return;
        }
        if let Some(due) = locked.next_deadline().filter(|&due| until > (due + LATE).as_picoseconds()) {
            self.shared.set_alarm(Some(due), &self.wait_set, now);
        }
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.wait_set.call();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// The loop that runs on the progress thread.
struct Attendance<'a> {
    shared: &'a Shared,
    clock: &'a dyn Clock,
    wait_set: &'a WaitSet,
}

impl Attendance<'_> {
    fn run(&self) {
        self.serve(true);
        loop {
            self.wait_set.sleep();
            if self.shared.stop.load(Ordering::SeqCst) {
                return;
            }
            let rung = self.shared.is_excused();
            if !rung || self.wait_set.has_rung() {
                self.serve(rung);
            }
        }
    }

    /// Makes progress, and listens from then on, unless the rank drives. `rung`: the thread did not listen, and its alarm has rung.
    fn serve(&self, mut rung: bool) {
        let mut looks = 0;
        loop {
            let Some(mut driver) = self.shared.lock_unless_excused(std::mem::take(&mut rung), self.wait_set) else { return };
            let now = driver.advance_to(self.clock.now());
            let (moved, news) = (driver.drive(now, false), driver.has_news());
            looks = if moved { LOOKS } else { looks.saturating_sub(1) };
            // A rank that computes needs its core; a rank that was woken polls by itself.
            let is_last = looks == 0 || !self.shared.sleeping.load(Ordering::Relaxed);
            if is_last {
                self.shared.listen(&driver, self.wait_set, self.clock.now());
            }
            drop(driver);
            if news {
                self.shared.wake();
            }
            if is_last {
                return;
            }
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests;
