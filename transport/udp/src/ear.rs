//! What the agent of a rank sleeps by: an ear on the socket, an alarm, and a call. Others may set them while it sleeps.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use pelago_base::Duration;
use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

/// What has been granted is not taken away.
const OWN: &str = "the system keeps what it has granted";

pub(crate) struct Ear {
    epoll: OwnedFd,
    socket: OwnedFd,
    alarm: OwnedFd,
    call: OwnedFd,
}

impl Ear {
    /// An ear that does not listen yet.
    pub(crate) fn new(socket: BorrowedFd<'_>) -> std::io::Result<Self> {
        let ear = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            socket: socket.try_clone_to_owned()?,
            alarm: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?,
            call: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        for source in [&ear.alarm, &ear.call] {
            epoll::add(&ear.epoll, source, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(ear)
    }

    /// Datagrams end the sleep from now on; whether the system has memory for that.
    pub(crate) fn listen(&self) -> bool {
        let added = epoll::add(&self.epoll, &self.socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        matches!(added, Ok(()) | Err(Errno::EXIST))
    }

    /// Datagrams do not end the sleep any more, and cost nothing here.
    pub(crate) fn turn_away(&self) {
        let _unless_it_did_not_listen = epoll::delete(&self.epoll, &self.socket);
    }

    /// The sleep ends when so much time has passed, if nothing ends it before; if `None`, at no time.
    pub(crate) fn set_alarm(&self, pause: Option<Duration>) {
        // A pause of nothing at all would be none.
        let pause = pause
            .map_or(std::time::Duration::ZERO, |pause| std::time::Duration::from(pause).max(std::time::Duration::from_nanos(1)));
        let once = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let set = timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: never, it_value: once });
        set.expect(OWN);
    }

    /// Whether the time of the alarm has come since it was set, or since this was asked last.
    pub(crate) fn has_rung(&self) -> bool {
        rustix::io::read(&self.alarm, &mut [0; 8]).is_ok()
    }

    /// Ends the sleep now, or the next.
    pub(crate) fn call(&self) {
        let _ = rustix::io::write(&self.call, &1u64.to_ne_bytes());
    }

    /// Sleeps. Whatever ends the sleep, whoever slept finds out itself.
    pub(crate) fn sleep(&self) {
        let _ = epoll::wait(&self.epoll, &mut [MaybeUninit::uninit(); 1], None);
    }
}
