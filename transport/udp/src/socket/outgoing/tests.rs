//! What becomes of datagrams that a socket does not take: one that is full, one whose peer is gone, one that takes a part.

use std::net::Ipv4Addr;
use std::os::unix::net::UnixDatagram;

use super::*;

const BYTES: usize = UDP_LENT_MESSAGE_BYTES_MIN;

/// More bytes than a pipe holds.
const TOO_MANY: usize = 80 << 10;

/// More messages than any socket keeps.
const MANY: usize = 100_000;

/// Where the lane leads, as far as it says.
fn to() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 7000).into()
}

/// Bytes of one content, from the beginning of a page on.
struct Pages(Vec<u8>);

impl Pages {
    fn of(content: u8) -> Self {
        Self(vec![content; TOO_MANY + 4096])
    }

    fn bytes(&self, bytes: usize) -> &[u8] {
        let start = (0..4096).find(|&start| begins_page(&self.0[start..])).expect("a page begins somewhere");
        &self.0[start..start + bytes]
    }
}

/// A lane, and who receives what is sent by it: a socket that, unlike UDP on the loopback, is full when nothing is received.
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

/// Lends bytes as one message.
fn lend(passage: &mut Option<Passage>, lanes: &mut Lanes, bytes: &[u8]) -> Option<Result<usize, Errno>> {
    let (mut departures, other, name) = (Departures::new(1), UnixDatagram::unbound().unwrap(), to().into());
    let lane = lanes.take(to(), 1, |_| None);
    let mut way = SendPath { socket: other.as_fd(), lane, departures: &mut departures, passage, lend: true, has_lent: false };
    let lent = way.lend(&Message { to: &name, bytes, start: 0, gaps: &[], outside: &[], cut_into: None });
    assert_eq!(way.has_lent, lent == Some(Ok(1)));
    lent
}

/// Receives the next message: its length and its contents, which are all the same.
fn receive(socket: &UnixDatagram) -> Option<(usize, u8)> {
    let mut buffer = vec![0; 2 * TOO_MANY];
    let bytes = socket.recv(&mut buffer).ok()?;
    assert!(buffer[..bytes].iter().all(|&byte| byte == buffer[0]), "of one message");
    Some((bytes, buffer[0]))
}

#[test]
fn what_a_full_socket_did_not_take_does_not_come_in_front_of_the_next() {
    let ((mut lanes, far), mut passage) = (lane(), Passage::open().ok());
    let [old, new] = [1, 2].map(Pages::of);
    for _ in 0..MANY {
        match lend(&mut passage, &mut lanes, old.bytes(BYTES)) {
            Some(Ok(1)) => {}
            None => return eprintln!("not tested: the kernel takes no pages for a socket"),
            other => {
                assert_eq!(other, Some(Err(Errno::AGAIN)), "it is full, and may be tried again");
                break;
            }
        }
    }
    while let Some(message) = receive(&far) {
        assert_eq!(message, (BYTES, 1));
    }
    assert_eq!(lend(&mut passage, &mut lanes, new.bytes(BYTES)), Some(Ok(1)));
    assert_eq!((receive(&far), receive(&far)), (Some((BYTES, 2)), None));
}

#[test]
fn who_was_refused_pages_or_took_a_part_of_them_gets_none_any_more() {
    let pages = Pages::of(1);
    for is_gone in [true, false] {
        let ((mut lanes, far), mut passage) = (lane(), Passage::open().ok());
        let bytes = if is_gone { BYTES } else { TOO_MANY };
        if is_gone {
            drop(far);
        }
        assert_eq!(lend(&mut passage, &mut lanes, pages.bytes(bytes)), None, "it is to be copied");
        // Remains in the passage would come in front of what another lane is given.
        let (mut other, far) = lane();
        assert_eq!((lend(&mut passage, &mut other, pages.bytes(BYTES)), receive(&far)), (None, None));
    }
}

#[test]
fn what_does_not_begin_a_page_is_copied() {
    let ((mut lanes, far), mut passage, pages) = (lane(), Passage::open().ok(), Pages::of(1));
    // From there on the longest message has a page more than a socket takes at once.
    assert_eq!(lend(&mut passage, &mut lanes, &pages.bytes(BYTES + 1)[1..]), None);
    assert_eq!(receive(&far), None, "nobody has tried");
}

#[test]
fn a_datagram_that_a_full_lane_does_not_take_stays() {
    let (mut outgoing, (lanes, far)) = (Outgoing::new(), lane());
    outgoing.lanes = lanes;
    let (socket, segment_bytes_max) = (UnixDatagram::unbound().unwrap(), AtomicUsize::new(0));
    let send = |outgoing: &mut Outgoing| outgoing.send(&[], socket.as_fd(), |_| None, &segment_bytes_max, false);
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
