//! Sockets that send to each other inside this machine, by IPv4 and IPv6.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use pelago_udp::limits::UDP_PAYLOAD_BYTES_MAX;
use pelago_udp::{Incoming, Outgoing, Sent, Socket};
use proptest::prelude::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{FdFlags, fcntl_getfd};
use rustix::net::{AddressFamily, SocketType, sockopt};

/// Longer than any step of the tests takes, so that a missing datagram is detected.
const PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// The address of this machine in each family that it has.
fn hosts() -> Vec<IpAddr> {
    let mut hosts = vec![IpAddr::V4(Ipv4Addr::LOCALHOST)];
    match UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) {
        Ok(_) => hosts.push(Ipv6Addr::LOCALHOST.into()),
        Err(error) => eprintln!("not tested with IPv6: {error}"),
    }
    hosts
}

fn bind(host: IpAddr) -> Socket {
    Socket::bind((host, 0).into()).unwrap()
}

/// An IPv6 socket that is reachable by IPv4 too, if there is IPv6.
fn bind_both() -> Option<Socket> {
    let socket = rustix::net::socket(AddressFamily::INET6, SocketType::DGRAM, None).ok()?;
    sockopt::set_ipv6_v6only(&socket, false).unwrap();
    rustix::net::bind(&socket, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))).unwrap();
    Some(Socket::adopt(socket).unwrap())
}

fn push(outgoing: &mut Outgoing, to: SocketAddr, datagram: &[u8]) {
    outgoing.room(datagram.len()).unwrap().copy_from_slice(datagram);
    outgoing.commit(to, datagram.len());
}

/// Sends one datagram.
fn send(from: &Socket, to: SocketAddr, datagram: &[u8]) {
    let mut outgoing = Outgoing::new();
    push(&mut outgoing, to, datagram);
    assert_eq!(from.send(&mut outgoing), Sent { sent: 1, dropped: 0, left: 0 });
}

/// A plain socket, to which the kernel delivers datagrams as they were sent.
fn bind_plain(host: IpAddr) -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((host, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// Waits for `count` datagrams.
fn receive_plain(socket: &UdpSocket, count: usize) -> Vec<(SocketAddr, Vec<u8>)> {
    let mut buffer = vec![0; UDP_PAYLOAD_BYTES_MAX];
    let mut receive = || socket.recv_from(&mut buffer).map(|(bytes, from)| (from, buffer[..bytes].to_vec()));
    (0..count).map(|_| receive().expect("it arrives")).collect()
}

/// Waits until something has arrived, and adds it.
fn receive_some(socket: &Socket, incoming: &mut Incoming, arrived: &mut Vec<u8>) {
    let ready = poll(&mut [PollFd::new(&socket.descriptor(), PollFlags::IN)], Some(&PATIENCE)).unwrap();
    assert_eq!(ready, 1, "nothing more arrives; there are {} bytes", arrived.len());
    let count = socket.receive(incoming);
    assert_eq!(incoming.messages().count(), count);
    arrived.extend(incoming.messages().flat_map(|message| message.to_vec()));
}

/// Waits for `bytes` bytes.
fn receive(socket: &Socket, bytes: usize) -> Vec<u8> {
    let (mut arrived, mut incoming) = (Vec::new(), Incoming::new());
    while arrived.len() < bytes {
        receive_some(socket, &mut incoming, &mut arrived);
    }
    arrived
}

/// Bytes of a sequence without repeated parts, from offset `from` on.
fn contents(from: usize, length: usize) -> Vec<u8> {
    (from..from + length).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

#[test]
fn datagrams_of_every_length_arrive_whole() {
    for host in hosts() {
        let (sender, receiver, (plain, address)) = (bind(host), bind(host), bind_plain(host));
        for length in (0..=100).chain(1471..=1473).chain(8971..=8973).chain(UDP_PAYLOAD_BYTES_MAX - 1..=UDP_PAYLOAD_BYTES_MAX) {
            let datagram = contents(length, length);
            send(&sender, receiver.local_address(), &datagram);
            assert!(receive(&receiver, length) == datagram, "{length} bytes to {host}");
            send(&sender, address, &datagram);
            assert!(receive_plain(&plain, 1) == [(sender.local_address(), datagram)], "{length} bytes to {host}");
        }
    }
}

#[test]
fn a_run_arrives_as_the_datagrams_that_it_was() {
    for host in hosts() {
        let (sender, receiver, (plain, address)) = (bind(host), bind(host), bind_plain(host));
        let runs = [vec![1000; 20], vec![999], vec![7; 70], vec![0, 0, 3], vec![1400; 10], vec![1401], vec![20_000]];
        let datagrams: Vec<_> =
            runs.concat().into_iter().enumerate().map(|(index, length)| contents(index * 777, length)).collect();
        for to in [address, receiver.local_address()] {
            let mut outgoing = Outgoing::new();
            for datagram in &datagrams {
                push(&mut outgoing, to, datagram);
            }
            assert_eq!(outgoing.len(), datagrams.len());
            assert_eq!(sender.send(&mut outgoing), Sent { sent: datagrams.len(), dropped: 0, left: 0 });
            assert!(outgoing.is_empty());
        }
        let arrived: Vec<_> = receive_plain(&plain, datagrams.len()).into_iter().map(|(_, datagram)| datagram).collect();
        assert!(arrived == datagrams, "to {host}");
        let joined = datagrams.concat();
        assert!(receive(&receiver, joined.len()) == joined, "to {host}");
    }
}

#[test]
fn a_batch_to_several_reaches_each_with_its_own() {
    for host in hosts() {
        let (sender, receivers) = (bind(host), [(); 3].map(|()| bind_plain(host)));
        let mut outgoing = Outgoing::new();
        let datagrams: Vec<_> = (0..60).map(|index| contents(index * 500, 500)).collect();
        for (index, datagram) in datagrams.iter().enumerate() {
            push(&mut outgoing, receivers[index % 3].1, datagram);
        }
        sender.send(&mut outgoing);
        for (index, (receiver, _)) in receivers.iter().enumerate() {
            let expected = datagrams.iter().skip(index).step_by(3).map(|datagram| (sender.local_address(), datagram.clone()));
            assert!(receive_plain(receiver, 20).into_iter().eq(expected), "receiver {index} of {host}");
        }
    }
}

#[test]
fn whoever_is_sent_to_often_gets_all_in_order() {
    for host in hosts() {
        let (sender, (receiver, address)) = (bind(host), bind_plain(host));
        let (mut outgoing, mut sources) = (Outgoing::new(), BTreeSet::new());
        for number in 0..3000u32 {
            push(&mut outgoing, address, &number.to_le_bytes());
            assert_eq!(sender.send(&mut outgoing), Sent { sent: 1, dropped: 0, left: 0 });
            let (from, datagram) = receive_plain(&receiver, 1).remove(0);
            assert_eq!(datagram, number.to_le_bytes());
            sources.insert(from);
        }
        assert_eq!(sources.len(), 2, "a socket for everybody, and one for whom most is sent to");
        assert!(sources.iter().all(|from| from.ip() == host));
        drop(receiver);
        push(&mut outgoing, address, b"is anybody there?");
        sender.send(&mut outgoing);
        push(&mut outgoing, address, b"no");
        assert_eq!(sender.send(&mut outgoing).left, 0, "what is refused is lost");
    }
}

#[test]
fn a_full_receiver_gets_nothing_twice() {
    for host in hosts() {
        let (sender, (receiver, address)) = (bind(host), bind_plain(host));
        sockopt::set_socket_recv_buffer_size(&receiver, 1).unwrap();
        let mut outgoing = Outgoing::new();
        for number in 0..2000u32 {
            if outgoing.room(400).is_none() {
                sender.send(&mut outgoing);
            }
            let mut datagram = [0; 400];
            datagram[..4].copy_from_slice(&number.to_le_bytes());
            push(&mut outgoing, address, &datagram);
        }
        sender.send(&mut outgoing);
        // Later datagrams may be lost too, until there is space again.
        receiver.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let (mut numbers, mut buffer) = (Vec::new(), [0; 400]);
        loop {
            match receiver.recv(&mut buffer) {
                Ok(0) => break,
                Ok(_) => numbers.push(buffer.first_chunk().copied().map(u32::from_le_bytes)),
                Err(_) => send(&sender, address, &[]),
            }
        }
        assert!(numbers.is_sorted_by(|a, b| a < b), "each number once, in order: {numbers:?}");
        assert!((1..2000).contains(&numbers.len()), "the receiver was full: {} arrived", numbers.len());
    }
}

#[test]
fn nothing_arrives_where_nothing_was_sent() {
    let socket = bind(Ipv4Addr::LOCALHOST.into());
    let mut incoming = Incoming::new();
    assert_eq!(socket.receive(&mut incoming), 0);
    send(&socket, socket.local_address(), b"to itself");
    receive_some(&socket, &mut incoming, &mut Vec::new());
    assert_eq!((socket.receive(&mut incoming), incoming.messages().count()), (0, 0), "the datagram is gone");
    assert_eq!(socket.send(&mut Outgoing::new()), Sent::default());
}

#[test]
fn messages_are_changed_in_place() {
    let socket = bind(Ipv4Addr::LOCALHOST.into());
    send(&socket, socket.local_address(), b"abc");
    let mut incoming = Incoming::new();
    receive_some(&socket, &mut incoming, &mut Vec::new());
    incoming.messages().for_each(|message| message.reverse());
    assert!(incoming.messages().all(|message| message == b"cba"));
}

#[test]
fn an_inherited_socket_is_adopted() {
    for host in hosts() {
        let inherited = UdpSocket::bind((host, 0)).unwrap();
        rustix::io::fcntl_setfd(&inherited, FdFlags::empty()).unwrap();
        let address = inherited.local_addr().unwrap();
        let socket = Socket::adopt(inherited.into()).unwrap();
        assert_eq!(socket.local_address(), address);
        assert_eq!(fcntl_getfd(socket.descriptor()).unwrap(), FdFlags::CLOEXEC);
        assert!(fcntl_getfl(socket.descriptor()).unwrap().contains(OFlags::NONBLOCK));
        send(&bind(host), address, b"hello");
        assert_eq!(receive(&socket, 5), b"hello");
    }
}

#[test]
fn only_bound_sockets_for_datagrams_are_adopted() {
    let connected = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    connected.connect(connected.local_addr().unwrap()).unwrap();
    let foreign: [(OwnedFd, &str); 5] = [
        (std::io::pipe().unwrap().0.into(), "is no socket"),
        (TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().into(), "does not speak UDP"),
        (UnixDatagram::unbound().unwrap().into(), "neither IPv4 nor IPv6"),
        (rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap(), "without an address"),
        (connected.into(), "connected to one peer"),
    ];
    for (descriptor, reason) in foreign {
        let error = Socket::adopt(descriptor).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn a_peer_that_is_gone_does_not_disturb_the_next_datagram() {
    for host in hosts() {
        let (socket, peer) = (bind(host), bind(host));
        let gone = bind(host).local_address();
        // The kernel reports refused datagrams to a socket that is connected to the refusing address.
        rustix::net::connect(socket.descriptor(), &gone).unwrap();
        send(&socket, gone, b"is anybody there?");
        let refused = poll(&mut [PollFd::new(&socket.descriptor(), PollFlags::ERR)], Some(&PATIENCE)).unwrap();
        assert_eq!(refused, 1, "the kernel tells it");
        rustix::net::connect(socket.descriptor(), &peer.local_address()).unwrap();
        send(&peer, socket.local_address(), b"yes");
        loop {
            let descriptor = socket.descriptor();
            let mut entries = [PollFd::new(&descriptor, PollFlags::IN)];
            assert_eq!(poll(&mut entries, Some(&PATIENCE)).unwrap(), 1, "the answer arrives");
            if entries[0].revents().contains(PollFlags::IN) {
                break;
            }
        }
        let mut incoming = Incoming::new();
        assert_eq!(socket.receive(&mut incoming), 1, "at once, in spite of the error");
        assert!(incoming.messages().all(|message| message == b"yes"));
    }
}

#[test]
fn a_socket_of_both_families_reaches_both() {
    let Some(both) = bind_both() else { return eprintln!("not tested: no IPv6 here") };
    let port = both.local_address().port();
    for host in hosts() {
        let peer = bind(host);
        send(&peer, (host, port).into(), b"ping");
        assert_eq!(receive(&both, 4), b"ping");
        let (plain, address) = bind_plain(host);
        send(&both, address, b"pong");
        assert_eq!(receive_plain(&plain, 1), [((host, port).into(), b"pong".to_vec())]);
    }
}

#[test]
fn the_largest_payload_is_that_of_the_way() {
    let bytes: usize = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
    for host in hosts() {
        let socket = bind(host);
        let headers = if host.is_ipv4() { 28 } else { 48 };
        assert_eq!(socket.payload_bytes_max(socket.local_address()), (bytes - headers).min(UDP_PAYLOAD_BYTES_MAX));
        // Broadcasts are not allowed on this socket, so that there is no path.
        assert_eq!(socket.payload_bytes_max((Ipv4Addr::BROADCAST, 9).into()), 1200);
    }
}

#[test]
fn buffers_are_large_and_those_that_are_larger_stay() {
    let bound = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let before = sockopt::socket_recv_buffer_size(bound.as_fd()).unwrap() / 2;
    let socket = Socket::adopt(bound.into()).unwrap();
    let granted = socket.receive_buffer_bytes();
    let most: usize = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
    assert!(granted >= before.max(most.min(4 << 20)), "{granted} bytes");
    let larger = socket.descriptor().try_clone_to_owned().unwrap();
    if sockopt::set_socket_recv_buffer_size_force(&larger, 16 << 20).is_ok() {
        assert_eq!(Socket::adopt(larger).unwrap().receive_buffer_bytes(), 16 << 20);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Loopback keeps the order, and the total stays below the smallest buffer of Linux.
    #[test]
    fn each_destination_receives_its_datagrams_in_order(
        datagrams in proptest::collection::vec((0..3usize, prop_oneof![0..4usize, 0..1500usize, Just(700)]), 1..100),
    ) {
        for host in hosts() {
            let (sender, receivers) = (bind(host), [(); 3].map(|()| bind_plain(host)));
            let mut expected = [(); 3].map(|()| Vec::new());
            let mut outgoing = Outgoing::new();
            for (index, &(to, length)) in datagrams.iter().enumerate() {
                push(&mut outgoing, receivers[to].1, &contents(index * 1009, length));
                expected[to].push((sender.local_address(), contents(index * 1009, length)));
            }
            let sent = sender.send(&mut outgoing);
            prop_assert_eq!(sent, Sent { sent: datagrams.len(), dropped: 0, left: 0 });
            for ((receiver, address), expected) in receivers.iter().zip(&mut expected) {
                // A duplicate would arrive before this datagram.
                expected.push((sender.local_address(), b"the last".to_vec()));
                send(&sender, *address, b"the last");
                let arrived = receive_plain(receiver, expected.len());
                prop_assert!(arrived == *expected, "to {}", host);
            }
        }
    }
}
