//! The event wait set on which the progress thread of a rank sleeps: the socket, an alarm (timer) and a call (eventfd). Other threads may
//! set them while it sleeps.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use pelago_base::Duration;
use rustix::event::{EventfdFlags, PollFd, PollFlags, epoll, eventfd, poll};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};

/// Why setting a timer cannot fail: the descriptor stays valid.
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
    /// Creates a set without the socket: [`listen`](Self::listen) adds it.
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

    /// Makes datagrams end the sleep from now on; returns whether the system has memory for that.
    pub(crate) fn listen(&self) -> bool {
        let added = epoll::add(&self.epoll, &self.socket, epoll::EventData::new_u64(0), epoll::EventFlags::IN);
        matches!(added, Ok(()) | Err(Errno::EXIST))
    }

    /// Makes datagrams no longer end the sleep, so that they cost nothing here.
    pub(crate) fn turn_away(&self) {
        let _unless_it_did_not_listen = epoll::delete(&self.epoll, &self.socket);
    }

    /// Sets the time after which the sleep ends if nothing ends it before; `None` disarms the alarm.
    pub(crate) fn set_alarm(&self, pause: Option<Duration>) {
        // A pause of zero would disarm the timer.
        let pause = pause
            .map_or(std::time::Duration::ZERO, |pause| std::time::Duration::from(pause).max(std::time::Duration::from_nanos(1)));
        let times = Itimerspec { it_interval: Timespec::default(), it_value: timespec(pause) };
        let set = timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &times);
        set.expect(OWN);
    }

    /// Whether the alarm has expired since it was set, or since the last call.
    pub(crate) fn has_rung(&self) -> bool {
        rustix::io::read(&self.alarm, &mut [0; 8]).is_ok()
    }

    /// Ends the current sleep and all later ones.
    pub(crate) fn call(&self) {
        let _ = rustix::io::write(&self.call, &1u64.to_ne_bytes());
    }

    /// Sleeps until any event; the caller finds out which one it was.
    pub(crate) fn sleep(&self) {
        #[cfg(test)]
        self.sleeps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let _ = epoll::wait(&self.epoll, &mut [MaybeUninit::uninit(); 1], None);
    }

    /// Sleeps until the socket is readable, for `limit` at most; returns whether it is.
    pub(crate) fn nap(&self, limit: Duration) -> bool {
        poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timespec(limit.into()))) == Ok(1)
    }

    /// Number of sleeps that have begun.
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

    /// Longer than any test here takes, so that a sleep that nothing else ends is detected by its alarm.
    const FAR: Duration = Duration::from_milliseconds(20_000);

    /// A socket with one datagram to receive.
    fn socket() -> UdpSocket {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.send_to(&[1], socket.local_addr().unwrap()).unwrap();
        socket
    }

    /// Whether an alarm set to `pause` is the event that ends a sleep.
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
            // The alarm expires, and is set again before `has_rung` is called.
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
