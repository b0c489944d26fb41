//! Who drives: the rank while it waits in the library, its agent otherwise.
//!
//! The agent sleeps in the kernel until a datagram comes. A rank that drives looks for datagrams itself, and would have its agent woken by
//! each of them, on a processor that it needs. So it turns the agent's ear from the socket and sets its alarm, which it puts off as long as
//! it drives: an agent that hears its alarm knows that the rank has gone on to compute, and listens again. A rank that falls asleep has it
//! listen at once. None of that wakes the agent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;

use crate::driver::Driver;
use crate::ear::Ear;

/// How long after a rank has looked last its agent takes over, at least. A wake-up costs a rank that shares its processor a quarter of that.
const ABSENCE_MIN: Duration = Duration::from_microseconds(200);

/// The same of a rank that has driven for long: to put the alarm off costs some microseconds, once in half that time.
const ABSENCE_MAX: Duration = Duration::from_microseconds(3200);

/// How often the agent of a rank that sleeps looks again after a datagram: a message is often followed by another, and to be woken takes
/// longer. Between two looks it lets others run.
const LOOKS: u32 = 50;

/// How much later than something is due the agent may wake without being told.
const LATE: Duration = Duration::from_milliseconds(2);

/// The rank drives, and the agent does not listen.
const EXCUSED: u64 = 0;

/// Called when the rank may want to look: something completed, or a peer wrote to its memory.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// What the rank and its agent share.
///
/// **A1** Whether the agent listens changes only with the lock of the driver, and its alarm with it; but that the agent may set it to ring
/// earlier. So an agent that sleeps listens, or has an alarm that rings soon.
pub(crate) struct Shared {
    driver: Mutex<Driver>,
    wake: Wake,
    /// Whether the rank sleeps and will not look before it is woken.
    sleeping: AtomicBool,
    /// Until when the agent listens, in picoseconds; [`EXCUSED`] while it does not; the largest number is for ever.
    until: AtomicU64,
    stop: AtomicBool,
}

impl Shared {
    pub(crate) fn new(driver: Driver, wake: Wake) -> Self {
        let (sleeping, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { driver: Mutex::new(driver), wake, sleeping, until: AtomicU64::new(EXCUSED), stop }
    }

    /// A panic of one thread leaves the driver between two steps, all of which are consistent.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the agent: none while the rank drives.
    fn lock_unless_excused(&self) -> Option<MutexGuard<'_, Driver>> {
        match self.driver.try_lock() {
            Ok(driver) => Some(driver),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => (self.until.load(Ordering::Relaxed) != EXCUSED).then(|| self.lock()),
        }
    }

    /// The agent listens from now on, until something is due.
    fn listen(&self, locked: &Driver, ear: &Ear, now: Instant) {
        self.set_alarm(locked.next_deadline(), ear, now);
        if !ear.listen() {
            ear.set_alarm(Some(ABSENCE_MIN));
        }
    }

    fn set_alarm(&self, due: Option<Instant>, ear: &Ear, now: Instant) {
        self.until.store(due.map_or(u64::MAX, |due| due.as_picoseconds().max(EXCUSED + 1)), Ordering::Relaxed);
        ear.set_alarm(due.map(|due| due.since(now)));
    }

    pub(crate) fn wake(&self) {
        (self.wake)();
    }
}

/// The thread that serves peers while the rank computes or sleeps. It ends when dropped.
pub(crate) struct Agent {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    ear: Arc<Ear>,
    thread: Option<JoinHandle<()>>,
    /// How long the agent waits from now on before it takes over, and when the rank puts its alarm off next.
    absence: Duration,
    put_off: Instant,
}

impl Agent {
    pub(crate) fn start(shared: Arc<Shared>, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let ear = Arc::new(Ear::new(shared.lock().socket().descriptor())?);
        let thread = std::thread::Builder::new().name("pelago-agent".into()).stack_size(128 * 1024).spawn({
            let (shared, clock, ear) = (shared.clone(), clock.clone(), ear.clone());
            move || Attendance { shared: &shared, clock: clock.as_ref(), ear: &ear }.run()
        })?;
        Ok(Self { shared, clock, ear, thread: Some(thread), absence: ABSENCE_MIN, put_off: Instant::ZERO })
    }

    /// The rank drives, and will not look again before `busy` has passed.
    #[inline]
    pub(crate) fn excuse(&mut self, _locked: &mut Driver, now: Instant, busy: Duration) {
        let listens = self.shared.until.load(Ordering::Relaxed) != EXCUSED;
        if listens || now >= self.put_off || busy > Duration::ZERO {
            self.put_alarm_off(now, busy, listens);
        }
    }

    #[cold]
    fn put_alarm_off(&mut self, now: Instant, busy: Duration, listens: bool) {
        if self.shared.sleeping.load(Ordering::Relaxed) {
            self.shared.sleeping.store(false, Ordering::Relaxed);
        }
        let doubled = Duration::from_picoseconds(2 * self.absence.as_picoseconds()).min(ABSENCE_MAX);
        self.absence = if listens { ABSENCE_MIN } else { doubled };
        self.ear.set_alarm(Some(self.absence + busy));
        self.put_off = now + Duration::from_picoseconds(self.absence.as_picoseconds() / 2);
        if listens {
            self.shared.until.store(EXCUSED, Ordering::Relaxed);
            self.ear.turn_away();
        }
    }

    /// The rank is about to sleep.
    pub(crate) fn attend(&self) {
        let driver = self.shared.lock();
        self.shared.sleeping.store(true, Ordering::Relaxed);
        if self.shared.until.load(Ordering::Relaxed) == EXCUSED {
            self.shared.listen(&driver, &self.ear, self.clock.now());
        }
    }

    /// Something may be due before an agent that listens knows.
    #[inline]
    pub(crate) fn remind(&self, locked: &Driver, now: Instant) {
        let until = self.shared.until.load(Ordering::Relaxed);
        if until == EXCUSED {
            return;
        }
        if let Some(due) = locked.next_deadline().filter(|&due| until > (due + LATE).as_picoseconds()) {
            self.shared.set_alarm(Some(due), &self.ear, now);
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.ear.call();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// The agent's own side.
struct Attendance<'a> {
    shared: &'a Shared,
    clock: &'a dyn Clock,
    ear: &'a Ear,
}

impl Attendance<'_> {
    fn run(&self) {
        self.serve();
        loop {
            self.ear.sleep();
            if self.shared.stop.load(Ordering::SeqCst) {
                return;
            }
            if self.shared.until.load(Ordering::Relaxed) != EXCUSED || self.ear.has_rung() {
                self.serve();
            }
        }
    }

    /// Moves what can be moved, and listens from then on; unless the rank is driving.
    fn serve(&self) {
        let mut looks = 0;
        loop {
            let Some(mut driver) = self.shared.lock_unless_excused() else { return self.ear.set_alarm(Some(ABSENCE_MIN)) };
            let (moved, news) = (driver.drive(self.clock.now(), false), driver.has_news());
            looks = if moved { LOOKS } else { looks.saturating_sub(1) };
            // A rank that computes needs its processor; one that was woken looks by itself.
            let is_last = looks == 0 || !self.shared.sleeping.load(Ordering::Relaxed);
            if is_last {
                self.shared.listen(&driver, self.ear, self.clock.now());
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
