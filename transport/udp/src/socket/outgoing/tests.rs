//! Tests of datagrams that a full socket does not accept.

use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;

use super::*;

/// More messages than any socket buffers.
const MANY: usize = 100_000;

/// The nominal destination of the lane.
fn to() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 7000).into()
}

/// A lane and the socket that receives from it; unlike UDP on the loopback, it becomes full when nothing is received.
fn lane() -> (Lanes, UnixDatagram) {
    let (near, far) = UnixDatagram::pair().unwrap();
    [&near, &far].iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
    let (mut lanes, mut near) = (Lanes::default(), Some(OwnedFd::from(near)));
    for _ in 0..2 {
        lanes.take(to(), MANY as u32, |_| near.take());
    }
    assert!(near.is_none(), "it is the favourite");
    (lanes, far)
}

/// Receives the next message; returns its length and the value that all its bytes have.
fn receive(socket: &UnixDatagram) -> Option<(usize, u8)> {
    let mut buffer = vec![0; 2000];
    let bytes = socket.recv(&mut buffer).ok()?;
    assert!(buffer[..bytes].iter().all(|&byte| byte == buffer[0]), "of one message");
    Some((bytes, buffer[0]))
}

#[test]
fn a_datagram_that_a_full_lane_does_not_take_stays() {
    let (mut outgoing, (lanes, far)) = (Outgoing::new(), lane());
    outgoing.lanes = lanes;
    let (socket, segment_bytes_max) = (UnixDatagram::unbound().unwrap(), AtomicUsize::new(0));
    let send = |outgoing: &mut Outgoing| outgoing.send(&[], socket.as_fd(), |_| None, &segment_bytes_max);
    for _ in 0..MANY {
        outgoing.room(1000).unwrap().fill(1);
        outgoing.commit(to(), 1000);
        if send(&mut outgoing).sent == 0 {
            break;
        }
    }
    assert_eq!((outgoing.len(), send(&mut outgoing)), (1, Sent { sent: 0, dropped: 0, left: 1 }), "the socket is full");
    assert_eq!(receive(&far), Some((1000, 1)));
    assert_eq!(send(&mut outgoing), Sent { sent: 1, dropped: 0, left: 0 });
}
