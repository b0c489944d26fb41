//! What the progress thread of a rank sleeps by: the socket, an alarm, and a call. Others may set them while it sleeps.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use pelago_base::Duration;
use rustix::event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

/// What has been granted is not taken away.
const OWN: &str = "the system keeps what it has granted";

pub(crate) struct WaitSet {
    epoll: OwnedFd,
    socket: OwnedFd,
    alarm: OwnedFd,
    call: OwnedFd,
    #[cfg(test)]
    sleeps: std::sync::atomic::AtomicU64,
}

impl WaitSet {
    /// A set in which the socket is not yet.
    pub(crate) fn new(socket: BorrowedFd<'_>) -> std::io::Result<Self> {
        let wait_set = Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            socket: socket.try_clone_to_owned()?,
            alarm: timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?,
            call: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            #[cfg(test)]
            sleeps: Default::default(),
        };
        for source in [&wait_set.alarm, &wait_set.call] {
            epoll::add(&wait_set.epoll, source, epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
        }
        Ok(wait_set)
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
        let times = Itimerspec { it_interval: Timespec::default(), it_value: timespec(pause) };
        let set = timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &times);
        set.expect(OWN);
    }

    /// Whether the time of the alarm has come since it was set, or since this was asked last.
    pub(crate) fn has_rung(&self) -> bool {
        rustix::io::read(&self.alarm, &mut [0; 8]).is_ok()
    }

    /// Ends the sleep now, and all that follow.
    pub(crate) fn call(&self) {
        let _ = rustix::io::write(&self.call, &1u64.to_ne_bytes());
    }

    /// Sleeps. Whatever ends the sleep, whoever slept finds out itself.
    pub(crate) fn sleep(&self) {
        #[cfg(test)]
        self.sleeps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _ = epoll::wait(&self.epoll, &mut [MaybeUninit::uninit(); 1], None);
    }

    /// Sleeps until the socket can be read, for so long at most; whether it can.
    pub(crate) fn nap(&self, limit: Duration) -> bool {
        poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timespec(limit.into()))) == Ok(1)
    }

    /// How many sleeps have begun.
    #[cfg(test)]
    pub(crate) fn sleeps(&self) -> u64 {
        self.sleeps.load(std::sync::atomic::Ordering::Relaxed)
    }
}

fn timespec(time: std::time::Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsFd;

    /// Longer than anything here takes, so that a sleep that nothing ends is told by its alarm.
    const FAR: Duration = Duration::from_milliseconds(20_000);

    /// A socket that a datagram lies in.
    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.send_to(&[1], socket.local_addr().unwrap()).unwrap();
        socket
    }

    /// Whether the alarm is what ends a sleep, when it rings after so long.
    fn sleeps_until_alarm(wait_set: &WaitSet, pause: Duration) -> bool {
        wait_set.set_alarm(Some(pause));
        wait_set.sleep();
        wait_set.has_rung()
    }

    #[test]
    fn datagrams_end_a_sleep_only_while_it_listens() {
        let socket = socket();
        let wait_set = WaitSet::new(socket.as_fd()).unwrap();
        let soon = Duration::from_milliseconds(10);
        assert!(sleeps_until_alarm(&wait_set, soon), "it does not listen yet");
        for _ in 0..2 {
            assert!(wait_set.listen() && wait_set.listen());
            assert!(!sleeps_until_alarm(&wait_set, FAR), "it listens");
            wait_set.turn_away();
            wait_set.turn_away();
            assert!(sleeps_until_alarm(&wait_set, soon), "it was turned away");
        }
    }

    #[test]
    fn an_alarm_rings_once_and_not_if_it_is_put_off() {
        let socket = socket();
        let wait_set = WaitSet::new(socket.as_fd()).unwrap();
        assert!(!wait_set.has_rung());
        assert!(sleeps_until_alarm(&wait_set, Duration::ZERO), "at once");
        assert!(!wait_set.has_rung(), "once");
        for put_off in [None, Some(FAR)] {
            wait_set.set_alarm(Some(Duration::ZERO));
            // It rings, and is put off before anybody hears it.
            wait_set.sleep();
            wait_set.set_alarm(put_off);
            assert!(!wait_set.has_rung());
        }
    }

    #[test]
    fn a_call_ends_every_sleep() {
        let socket = socket();
        let wait_set = WaitSet::new(socket.as_fd()).unwrap();
        wait_set.call();
        assert!(!sleeps_until_alarm(&wait_set, FAR) && !sleeps_until_alarm(&wait_set, FAR));
    }
}
