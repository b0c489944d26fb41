//! The meeting place of a host's ranks: Unix sockets without a name in the file system, whose packets contain a text and descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pelago_base::{Duration, Instant};
use pelago_platform::Clock;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, recvmsg, sendmsg, socket_with,
};

use crate::OsClock;
use crate::adoption::AdoptionError;
use crate::adoption::gathering::message::MESSAGE_BYTES_MAX;
use crate::adoption::gathering::peer_credentials::PeerCredentials;
use crate::adoption::launcher_store::pmi::timespec;

/// Maximum number of descriptors that a message carries.
const DESCRIPTORS_MAX: usize = 2;

/// Initial pause between two connection attempts to a leader that does not listen yet. It doubles up to the maximum.
const PAUSE_MIN: Duration = Duration::from_microseconds(500);
/// Maximum pause between two connection attempts to a leader that does not listen yet.
const PAUSE_MAX: Duration = Duration::from_milliseconds(20);

/// The name of a meeting place.
pub(crate) struct SocketName(SocketAddrUnix);

impl SocketName {
    /// Returns the name for the ranks of `job` on the launcher's `host`, for this user: two of the launcher's hosts may be one machine.
    pub(crate) fn new(job: &str, host: u32) -> Result<Self, Errno> {
        let text = format!("pelago/{}/{:016x}/{host}", rustix::process::geteuid().as_raw(), digest(job));
        SocketAddrUnix::new_abstract_name(text.as_bytes()).map(Self)
    }
}

/// FNV-1a: names of jobs may be longer than socket names. A collision gives no advantage, because any process can occupy the name anyway.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Listens at a meeting place. No other process can do so meanwhile; the name is freed with the descriptor.
pub(crate) fn hold(name: &SocketName, backlog: i32) -> Result<OwnedFd, AdoptionError> {
    let socket = socket()?;
    match bind(&socket, &name.0) {
        Err(Errno::ADDRINUSE) => Err(AdoptionError::Taken),
        bound => bound.and_then(|()| listen(&socket, backlog)).map_err(AdoptionError::system("bind")),
    }?;
    Ok(socket)
}

fn socket() -> Result<OwnedFd, AdoptionError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(AdoptionError::system("socket"))
}

/// One end of a connection.
pub(crate) struct Connection(OwnedFd);

/// A received message.
pub(crate) enum Received {
    /// A message.
    Message(String, Vec<OwnedFd>),
    /// No message yet.
    Nothing,
    /// A message that no rank sends.
    Nonsense,
    /// The other end is closed.
    End,
}

impl Connection {
    /// Connects to the process that listens at a meeting place; `None` if no process listens until the given time.
    pub(crate) fn open(name: &SocketName, clock: OsClock, until: Instant) -> Result<Option<Self>, AdoptionError> {
        let mut pause = PAUSE_MIN;
        loop {
            let socket = socket()?;
            match connect(&socket, &name.0) {
                Ok(()) => return Ok(Some(Self(socket))),
                // No process listens, or the leader's backlog is full.
                Err(Errno::CONNREFUSED | Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(AdoptionError::system("connect")(error)),
            }
            if clock.now() >= until {
                return Ok(None);
            }
            std::thread::sleep(pause.into());
            pause = (pause + pause).min(PAUSE_MAX);
        }
    }

    /// Accepts the next waiting connection of a meeting place, if there is one.
    pub(crate) fn accept(meeting_place: &OwnedFd) -> Option<Self> {
        accept_with(meeting_place, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok().map(Self)
    }

    /// Returns the process at the other end.
    pub(crate) fn peer(&self) -> Result<PeerCredentials, AdoptionError> {
        PeerCredentials::of(self.0.as_fd()).map_err(AdoptionError::system("getsockopt"))
    }

    /// Sends a message; the socket has room for more than either side ever sends. Returns whether the other end still accepts it.
    pub(crate) fn send(&self, message: &str, descriptors: &[BorrowedFd<'_>]) -> bool {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = descriptors.is_empty() || control.push(SendAncillaryMessage::ScmRights(descriptors));
        fits && sendmsg(&self.0, &[IoSlice::new(message.as_bytes())], &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// Receives a message, if there is one.
    pub(crate) fn receive(&self) -> Received {
        let mut bytes = [0; MESSAGE_BYTES_MAX];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut control, RecvFlags::CMSG_CLOEXEC);
        let received = match received {
            Ok(received) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Received::Nothing,
            Err(_) => return Received::End,
        };
        // Descriptors that are not returned are closed here.
        let rights = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let descriptors: Vec<OwnedFd> = rights.flatten().collect();
        if received.bytes == 0 {
            return Received::End;
        }
        let is_whole = !received.flags.intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC);
        match std::str::from_utf8(&bytes[..received.bytes]) {
            Ok(text) if is_whole => Received::Message(text.into(), descriptors),
            _ => Received::Nonsense,
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of the sockets is readable or closed; returns which are, or `None` if none is until the given time.
pub(crate) fn wait(sockets: &[BorrowedFd<'_>], clock: OsClock, until: Instant) -> Result<Option<Vec<bool>>, AdoptionError> {
    let mut polled: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    loop {
        let left = until.since(clock.now());
        if left == Duration::ZERO {
            return Ok(None);
        }
        match poll(&mut polled, Some(&timespec(left))) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(Some(polled.iter().map(|polled| !polled.revents().is_empty()).collect())),
            Err(error) => return Err(AdoptionError::system("poll")(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{send, socketpair};

    fn pair() -> (Connection, OwnedFd) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        (Connection(one), other)
    }

    #[test]
    fn messages_carry_descriptors_and_bounds() {
        let (one, other) = pair();
        let other = Connection(other);
        assert!(matches!(one.receive(), Received::Nothing));
        assert!(other.send("two", &[other.as_fd(), one.as_fd()]));
        let Received::Message(text, descriptors) = one.receive() else { panic!("a message") };
        assert_eq!((text.as_str(), descriptors.len()), ("two", 2));
        let flags = descriptors.iter().map(|descriptor| rustix::io::fcntl_getfd(descriptor).unwrap());
        assert!(
            flags.into_iter().all(|flags| flags == rustix::io::FdFlags::CLOEXEC),
            "programs that a rank starts do not have them"
        );
        drop((other, descriptors));
        assert!(matches!(one.receive(), Received::End));
        assert!(!one.send("late", &[]));
    }

    #[test]
    fn what_is_too_long_or_too_much_is_nonsense() {
        let (one, other) = pair();
        send(&other, &[b'x'; MESSAGE_BYTES_MAX + 1], SendFlags::empty()).unwrap();
        assert!(matches!(one.receive(), Received::Nonsense));
        send(&other, b"\xff", SendFlags::empty()).unwrap();
        assert!(matches!(one.receive(), Received::Nonsense));
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(9))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let many = [other.as_fd(); 9];
        assert!(control.push(SendAncillaryMessage::ScmRights(&many)));
        sendmsg(&other, &[IoSlice::new(b"many")], &mut control, SendFlags::empty()).unwrap();
        assert!(matches!(one.receive(), Received::Nonsense));
    }

    #[test]
    fn a_meeting_place_has_one_holder_and_none_after_it() {
        let name = SocketName::new(&format!("unit-{}", std::process::id()), 0).unwrap();
        let held = hold(&name, 4).unwrap();
        assert!(matches!(hold(&name, 4), Err(AdoptionError::Taken)));
        let clock = OsClock::start();
        assert!(Connection::open(&name, clock, clock.now()).unwrap().is_some());
        drop(held);
        assert!(Connection::open(&name, clock, clock.now()).unwrap().is_none());
    }

    #[test]
    fn jobs_and_hosts_have_places_of_their_own() {
        let texts = [("a", 0), ("b", 0), ("a", 1)].map(|(job, host)| SocketName::new(job, host).unwrap().0);
        assert!(texts[0] != texts[1] && texts[0] != texts[2]);
        assert!(SocketName::new(&"x".repeat(1000), u32::MAX).is_ok());
    }
}
