//! Who drives: the rank while it waits in the library, its agent otherwise.
//!
//! The agent sleeps in the kernel until a datagram comes. A rank that waits looks for datagrams itself, and would have its agent woken by
//! each of them; so the agent, when it wakes and sees that the rank has been looking, naps instead, apart from the socket, for as long
//! as the rank goes on. A rank that falls asleep, or leaves something for the agent to see to, says so; one that goes on to compute need not: the
//! agent finds out when its nap is over.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::driver::Driver;

/// The first nap, and the longest, to which naps double while the rank goes on looking.
const NAP_MIN: Duration = Duration::from_microseconds(50);
const NAP_MAX: Duration = Duration::from_microseconds(3200);

/// How often the agent of a rank that sleeps looks again after a datagram: a message is often followed by another, and to be woken takes
/// longer. Between two looks it lets others run.
const LOOKS: u32 = 50;

/// How much later than something is due the agent may wake without being called.
const LATE: Duration = Duration::from_milliseconds(2);

/// The agent naps and will look by itself.
const NAPPING: u64 = 0;

/// Called when the rank may want to look: something completed, or a peer wrote to its memory.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// What the rank and its agent share.
pub(crate) struct Shared {
    driver: Mutex<Driver>,
    wake: Wake,
    /// How often the rank has looked.
    looks: AtomicU64,
    /// Whether the rank sleeps and will not look before it is woken.
    sleeping: AtomicBool,
    /// Until when the agent sleeps, in picoseconds; [`NAPPING`] while it need not be called; the largest number is for ever.
    until: AtomicU64,
    stop: AtomicBool,
}

impl Shared {
    pub(crate) fn new(driver: Driver, wake: Wake) -> Self {
        let (looks, until) = (AtomicU64::new(0), AtomicU64::new(NAPPING));
        Self { driver: Mutex::new(driver), wake, looks, sleeping: AtomicBool::new(false), until, stop: AtomicBool::new(false) }
    }

    /// The rank looks.
    pub(crate) fn look(&self) -> MutexGuard<'_, Driver> {
        self.looks.store(self.looks.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        if self.sleeping.load(Ordering::Relaxed) {
            self.sleeping.store(false, Ordering::Relaxed);
        }
        self.lock()
    }

    /// A panic of one thread leaves the driver between two steps, all of which are consistent.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        (self.wake)();
    }
}

/// The thread that serves peers while the rank computes or sleeps. It ends when dropped.
pub(crate) struct Agent {
    shared: Arc<Shared>,
    call: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    pub(crate) fn start(shared: Arc<Shared>, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let call = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let socket = shared.lock().socket().descriptor().try_clone_to_owned()?;
        let thread = std::thread::Builder::new().name("pelago-agent".into()).stack_size(128 * 1024).spawn({
            let (shared, call) = (shared.clone(), call.clone());
            move || Attendance { shared: &shared, clock: clock.as_ref(), socket, call: &call }.run()
        })?;
        Ok(Self { shared, call, thread: Some(thread) })
    }

    /// The rank is about to sleep.
    pub(crate) fn attend(&self) {
        self.shared.sleeping.store(true, Ordering::SeqCst);
        if self.shared.until.load(Ordering::SeqCst) == NAPPING {
            self.call();
        }
    }

    /// Something is due at `due` that the agent may not know of.
    pub(crate) fn remind(&self, due: Instant) {
        let until = self.shared.until.load(Ordering::Relaxed);
        if until != NAPPING && until > (due + LATE).as_picoseconds() {
            self.call();
        }
    }

    /// Something is left for the agent, unless the rank sees to it first.
    pub(crate) fn hint(&self) {
        if self.shared.until.load(Ordering::Relaxed) != NAPPING {
            self.call();
        }
    }

    fn call(&self) {
        let _ = rustix::io::write(&*self.call, &1u64.to_ne_bytes());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.call();
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// The agent's own side.
struct Attendance<'a> {
    shared: &'a Shared,
    clock: &'a dyn Clock,
    socket: OwnedFd,
    call: &'a OwnedFd,
}

impl Attendance<'_> {
    fn run(&self) {
        let mut seen = self.shared.looks.load(Ordering::Relaxed);
        let mut nap = NAP_MIN;
        while !self.shared.stop.load(Ordering::SeqCst) {
            let looks = self.shared.looks.load(Ordering::Relaxed);
            if looks != seen && !self.shared.sleeping.load(Ordering::SeqCst) {
                seen = looks;
                self.nap(nap);
                nap = Duration::from_picoseconds(2 * nap.as_picoseconds()).min(NAP_MAX);
            } else {
                nap = NAP_MIN;
                self.serve();
            }
        }
    }

    /// Sleeps without an eye on the socket, unless the rank falls asleep.
    fn nap(&self, nap: Duration) {
        self.shared.until.store(NAPPING, Ordering::SeqCst);
        if !self.shared.sleeping.load(Ordering::SeqCst) {
            self.sleep(&mut [PollFd::new(self.call, PollFlags::IN)], Some(nap));
        }
    }

    /// Moves what can be moved, then sleeps until a datagram comes or something is due.
    fn serve(&self) {
        let mut looks = 0;
        let due = loop {
            let (moved, news, due) = {
                let mut driver = self.shared.lock();
                (driver.drive(self.clock.now(), false), driver.has_news(), driver.next_deadline())
            };
            if news {
                self.shared.wake();
            }
            looks = if moved { LOOKS } else { looks.saturating_sub(1) };
            // A rank that computes needs its processor; one that was woken looks by itself.
            if looks == 0 || !self.shared.sleeping.load(Ordering::Relaxed) {
                break due;
            }
            std::thread::yield_now();
        };
        self.shared.until.store(due.map_or(u64::MAX, |due| due.as_picoseconds().max(NAPPING + 1)), Ordering::SeqCst);
        let pause = due.map(|due| due.since(self.clock.now()));
        self.sleep(&mut [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(self.call, PollFlags::IN)], pause);
    }

    fn sleep(&self, descriptors: &mut [PollFd<'_>], pause: Option<Duration>) {
        let pause = pause.map(std::time::Duration::from);
        let pause = pause.map(|pause| Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) });
        // Whatever ends the sleep, the next look says what to do.
        let _ = poll(descriptors, pause.as_ref());
        let _ = rustix::io::read(self.call.as_fd(), &mut [0; 8]);
    }
}
