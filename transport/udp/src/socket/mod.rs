//! A UDP socket that sends and receives many datagrams per system call.
//!
//! | part | for |
//! |---|---|
//! | [`Outgoing`] | datagrams to send; `queue` groups them into messages and handles the outcome of sending |
//! | [`Incoming`] | messages received: datagrams, some of which the kernel has joined |
//! | `lanes` | connected sockets for the most frequent destinations |
//! | `kernel` | the system calls |
//! | `name`, `control` | addresses and options in the layout that the kernel reads |

mod control;
mod incoming;
mod kernel;
mod lanes;
mod name;
mod outgoing;
mod queue;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicUsize;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};

use crate::limits::{UDP_PAYLOAD_BYTES_MAX, UDP_RUN_BYTES_MAX, UDP_SOCKET_BUFFER_BYTES};

pub(crate) use self::kernel::keep_from_dumps;
pub use incoming::Incoming;
pub use outgoing::Outgoing;
pub use queue::Sent;

/// Payload in bytes that every IPv6 path carries: its smallest MTU is 1,280 bytes with headers. RFC 9000, section 14, starts with this
/// payload too.
const PAYLOAD_BYTES_UNKNOWN: usize = 1200;

/// A bound UDP socket, IPv4 or IPv6, that never blocks.
///
/// Callable from several threads at once, each with its own [`Outgoing`] and [`Incoming`].
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    local: SocketAddr,
    /// Maximum length of the segments into which the kernel cuts a message, lowered when it refuses a length; 0: it cuts none.
    segment_bytes_max: AtomicUsize,
    /// Whether sending behaves as if the kernel had no buffer space.
    #[cfg(test)]
    pub(crate) is_full: std::sync::atomic::AtomicBool,
}

impl Socket {
    /// Creates a socket and binds it; for port 0 the system chooses one.
    ///
    /// # Errors
    /// Errors of the system: the address is in use, or does not belong to this host.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::prepare(UdpSocket::bind(address)?)
    }

    /// Takes over a socket that already exists and is bound.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`]: the descriptor is not a bound, unconnected UDP socket; or an error of the system.
    pub fn adopt(descriptor: OwnedFd) -> io::Result<Self> {
        if let Some(wrong) = what_is_wrong(&descriptor) {
            let advice = "hand over a UDP socket that is bound to an address and connected to none";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the inherited descriptor {wrong}: {advice}")));
        }
        Self::prepare(descriptor.into())
    }

    /// The address that the socket is bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The descriptor, for waiting until a datagram has arrived.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Number of bytes of datagrams that the system keeps until they are received; it drops datagrams beyond that.
    pub fn receive_buffer_bytes(&self) -> usize {
        received_bytes(self.descriptor()).unwrap_or(0)
    }

    /// Returns the size in bytes of the largest datagram that the path to `to` carries unfragmented, as far as this host knows: at most
    /// 65,507, and 1,200 if no path is known. Larger datagrams arrive too, but in fragments. Cost: a few system calls.
    pub fn payload_bytes_max(&self, to: SocketAddr) -> usize {
        let to = name::canonical(to);
        self.path_bytes(to).map_or(PAYLOAD_BYTES_UNKNOWN, |bytes| payload_bytes(to, bytes))
    }

    /// Sends as much of the batch as the kernel takes now; the rest stays in it, for another call.
    ///
    /// Datagrams leave in their order. Those that the kernel refuses for any other reason than lack of buffer space count as lost in the
    /// network. Cost: one system call, if the kernel takes everything.
    pub fn send(&self, batch: &mut Outgoing) -> Sent {
        self.send_around(batch, &[])
    }

    /// As [`send`](Self::send), for a batch of which some bytes lie in `outside`. When the call returns, the bytes of unsent datagrams have been
    /// copied, so that `outside` is no longer needed.
    pub(crate) fn send_around(&self, batch: &mut Outgoing, outside: &[u8]) -> Sent {
        #[cfg(test)]
        if self.is_full.load(std::sync::atomic::Ordering::Relaxed) {
            return batch.keep(outside);
        }
        batch.send(outside, self.descriptor(), |to| self.connect(to).ok(), &self.segment_bytes_max)
    }

    /// Replaces the contents of `incoming` by the messages that have arrived, and returns their number.
    ///
    /// Cost: one system call, whether anything has arrived or not.
    pub fn receive(&self, incoming: &mut Incoming) -> usize {
        incoming.receive(self.descriptor())
    }

    fn prepare(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
        enlarge_buffers(socket.as_fd())?;
        let local = socket.local_addr()?;
        allow_fragments(socket.as_fd(), local)?;
        forget_errors(socket.as_fd());
        // An older kernel delivers each datagram by itself, which is as good.
        let _ = kernel::set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_GRO, 1);
        // An older kernel ignores the option of a message and sends the segments as one datagram, so support is tested here.
        let segments = kernel::set_option(socket.as_fd(), libc::SOL_UDP, libc::UDP_SEGMENT, 0).is_ok();
        let segment_bytes_max = AtomicUsize::new(if segments { UDP_RUN_BYTES_MAX } else { 0 });
        Ok(Self {
            socket,
            local: name::canonical(local),
            segment_bytes_max,
            #[cfg(test)]
            is_full: false.into(),
        })
    }

    /// Returns the path MTU to `to` in bytes, as seen from the local address of this socket.
    fn path_bytes(&self, to: SocketAddr) -> Result<usize, Errno> {
        let probe = self.route(to)?;
        let bytes = if to.is_ipv4() { sockopt::ip_mtu(&probe)? } else { sockopt::ipv6_mtu(&probe)? };
        Ok(bytes as usize)
    }

    /// Creates a socket that sends to `to` only, from the local address of this socket and a port of its own. Nothing is received from it.
    fn connect(&self, to: SocketAddr) -> Result<OwnedFd, Errno> {
        let socket = self.route(to)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        sockopt::set_socket_recv_buffer_size(&socket, 0)?;
        enlarge_sending(socket.as_fd())?;
        allow_fragments(socket.as_fd(), to)?;
        Ok(socket)
    }

    /// Creates a socket that is connected to `to` from the local address of this socket.
    fn route(&self, to: SocketAddr) -> Result<OwnedFd, Errno> {
        let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        if !self.local.ip().is_unspecified() && self.local.is_ipv4() == to.is_ipv4() {
            let mut from = self.local;
            from.set_port(0);
            rustix::net::bind(&socket, &from)?;
        }
        rustix::net::connect(&socket, &to)?;
        Ok(socket)
    }
}

/// Returns the payload of a packet: its size less the headers of IP and UDP.
fn payload_bytes(to: SocketAddr, packet_bytes: usize) -> usize {
    let headers = if to.is_ipv4() { 20 + 8 } else { 40 + 8 };
    packet_bytes.saturating_sub(headers).min(UDP_PAYLOAD_BYTES_MAX)
}

/// Returns why a descriptor cannot be adopted, if it cannot.
fn what_is_wrong(descriptor: &OwnedFd) -> Option<&'static str> {
    let Ok(family) = sockopt::socket_domain(descriptor) else { return Some("is no socket") };
    if ![AddressFamily::INET, AddressFamily::INET6].contains(&family) {
        return Some("is a socket of neither IPv4 nor IPv6");
    }
    if !matches!(sockopt::socket_protocol(descriptor), Ok(Some(ipproto::UDP))) {
        return Some("is a socket, but does not speak UDP");
    }
    if rustix::net::getpeername(descriptor).is_ok_and(|peer| peer.is_some()) {
        return Some("is a UDP socket that is connected to one peer");
    }
    let local = rustix::net::getsockname(descriptor).ok().and_then(|local| SocketAddr::try_from(local).ok());
    local.is_none_or(|local| local.port() == 0).then_some("is a UDP socket without an address")
}

/// Requests large buffers, beyond the limit for users if this process has the right. A buffer that is large enough is left as it is:
/// the process that created the socket may have had the right to more.
fn enlarge_buffers(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    let bytes = UDP_SOCKET_BUFFER_BYTES;
    if received_bytes(socket)? < bytes {
        sockopt::set_socket_recv_buffer_size_force(socket, bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, bytes))?;
    }
    enlarge_sending(socket)
}

fn enlarge_sending(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    let bytes = UDP_SOCKET_BUFFER_BYTES;
    if sockopt::socket_send_buffer_size(socket)? / 2 < bytes {
        sockopt::set_socket_send_buffer_size_force(socket, bytes)
            .or_else(|_| sockopt::set_socket_send_buffer_size(socket, bytes))?;
    }
    Ok(())
}

/// Returns the size of the receive buffer. The kernel doubles the requested size to have room for its own records, and reports the
/// doubled size.
fn received_bytes(socket: BorrowedFd<'_>) -> Result<usize, Errno> {
    Ok(sockopt::socket_recv_buffer_size(socket)? / 2)
}

/// Lets routers and the kernel fragment datagrams that are too large for a path: otherwise a path with a smaller MTU than known would
/// drop datagrams, and their retransmissions of the same length as well.
fn allow_fragments(socket: BorrowedFd<'_>, local: SocketAddr) -> Result<(), Errno> {
    if local.is_ipv6() {
        sockopt::set_ipv6_mtu_discover(socket, sockopt::Ipv6PathMtuDiscovery::DONT)?;
    }
    // An IPv6 socket may send to IPv4 addresses too.
    sockopt::set_ip_mtu_discover(socket, sockopt::Ipv4PathMtuDiscovery::DONT)
}

/// Stops the kernel from queueing errors of sent datagrams, in case the creator of the socket enabled that: no code here reads the
/// queue, and a thread that waits for the descriptor would be woken again and again.
fn forget_errors(socket: BorrowedFd<'_>) {
    let _ = kernel::set_option(socket, libc::SOL_IP, libc::IP_RECVERR, 0);
    let _ = kernel::set_option(socket, libc::SOL_IPV6, libc::IPV6_RECVERR, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// Longer than any exchange here takes, so that a missing datagram is detected.
    const PATIENCE: Duration = Duration::from_secs(20);

    /// Sends datagrams of these lengths in one batch; returns the lengths of the messages that arrived.
    fn exchange(sender: &Socket, receiver: &Socket, lengths: &[usize]) -> Vec<usize> {
        let (mut outgoing, mut incoming) = (Outgoing::new(), Incoming::new());
        for &length in lengths {
            outgoing.room(length).unwrap();
            outgoing.commit(receiver.local_address(), length);
        }
        assert_eq!(sender.send(&mut outgoing), Sent { sent: lengths.len(), dropped: 0, left: 0 });
        receiver.socket.set_nonblocking(false).unwrap();
        receiver.socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut arrived = Vec::new();
        while arrived.iter().sum::<usize>() < lengths.iter().sum() {
            receiver.socket.peek(&mut [0]).unwrap();
            receiver.receive(&mut incoming);
            arrived.extend(incoming.messages().map(|message| message.len()));
        }
        arrived
    }

    #[test]
    fn datagrams_of_one_length_pass_the_kernel_as_one_message() {
        let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for option in [libc::UDP_SEGMENT, libc::UDP_GRO] {
            if let Err(error) = kernel::set_option(other.as_fd(), libc::SOL_UDP, option, 0) {
                return eprintln!("not tested: the kernel does not cut and join messages: {error}");
            }
        }
        let [sender, receiver] = [(); 2].map(|()| Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap());
        let lengths = [[1000; 9].as_slice(), &[10]].concat();
        assert_eq!(exchange(&sender, &receiver, &lengths), [9010]);
    }

    #[test]
    fn what_is_too_large_for_a_path_is_cut_there() {
        let socket = Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let lane = socket.connect(socket.local_address()).unwrap();
        for descriptor in [socket.descriptor(), lane.as_fd()] {
            assert_eq!(sockopt::ip_mtu_discover(descriptor).unwrap(), sockopt::Ipv4PathMtuDiscovery::DONT);
        }
        let Ok(socket) = Socket::bind((Ipv6Addr::LOCALHOST, 0).into()) else { return eprintln!("not tested: no IPv6 here") };
        let lane = socket.connect(socket.local_address()).unwrap();
        for descriptor in [socket.descriptor(), lane.as_fd()] {
            assert_eq!(sockopt::ipv6_mtu_discover(descriptor).unwrap(), sockopt::Ipv6PathMtuDiscovery::DONT);
        }
    }

    #[test]
    fn a_payload_is_what_the_headers_leave() {
        let [four, six] = ["10.0.0.1:1", "[2001:db8::1]:1"].map(|address| address.parse().unwrap());
        assert_eq!([1500, 65_535, 27, 0].map(|bytes| payload_bytes(four, bytes)), [1472, 65_507, 0, 0]);
        assert_eq!([1500, 65_575, 47, 0].map(|bytes| payload_bytes(six, bytes)), [1452, 65_507, 0, 0]);
    }

    #[test]
    fn what_the_kernel_does_not_cut_arrives_all_the_same() {
        let (Ok(sender), Ok(receiver)) =
            (Socket::bind((Ipv6Addr::LOCALHOST, 0).into()), Socket::bind((Ipv6Addr::LOCALHOST, 0).into()))
        else {
            return eprintln!("not tested: no IPv6 here");
        };
        // As if the path had this MTU: the kernel does not cut messages into segments that would have to be fragmented.
        kernel::set_option(sender.descriptor(), libc::SOL_IPV6, libc::IPV6_MTU, 1280).unwrap();
        assert_eq!(exchange(&sender, &receiver, &[2000; 5]), [2000; 5]);
        assert!(sender.segment_bytes_max.load(Ordering::Relaxed) < 2000);
    }

    #[test]
    fn an_adopted_socket_no_longer_wakes_for_errors() {
        let inherited = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        kernel::set_option(inherited.as_fd(), libc::SOL_IP, libc::IP_RECVERR, 1).unwrap();
        let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        inherited.send_to(b"is anybody there?", gone).unwrap();
        let patience = Timespec::try_from(PATIENCE).unwrap();
        let woken = |socket: BorrowedFd<'_>, until| poll(&mut [PollFd::new(&socket, PollFlags::ERR)], Some(until)).unwrap();
        assert_eq!(woken(inherited.as_fd(), &patience), 1);
        let socket = Socket::adopt(inherited.into()).unwrap();
        assert_eq!(socket.receive(&mut Incoming::new()), 0);
        assert_eq!(woken(socket.descriptor(), &Timespec::default()), 0);
    }
}
