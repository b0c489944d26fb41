//! Behaviour of peers that the conformance suite cannot produce: invalid frames, floods, and cyclic waiting.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::channel;

use pelago::platform::{Cells, Completion, Endpoint, Failure, Flags, Operation, PostError, Registry, Token, Transport};
use pelago::{AddressLayout, GlobalAddress, Instant, Rank, SegmentId, limits};
use pelago_tcp::Tcp;
use rustix::net::sockopt;

const BYTES: u64 = 1 << 20;
const PIECE_BYTES: u64 = 32 * 1024;
const FRAME_BYTES: usize = 60;
const WINDOW: u64 = 32;
const SOCKET_BYTES: usize = 4096;

const PUT: u8 = 1;
const GET: u8 = 2;
const COPY: u8 = 3;
const ATOMIC: u8 = 4;
const DONE: u8 = 5;
const OUT_OF_BOUNDS: u8 = 8;

/// Maximum number of rounds: more than any test takes.
const ROUNDS_MAX: u32 = 100_000;

fn layout() -> AddressLayout {
    AddressLayout::new(3, BYTES).expect("three ranks with a megabyte")
}

fn at(rank: u32, offset: u64) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).expect("inside")
}

fn end(rank: u32, streams: Vec<Option<TcpStream>>) -> (Tcp, Cells<'static>) {
    let mut end = Tcp::new(Rank::new(rank), layout(), streams, channel().0);
    let memory = Cells::from_mut(vec![0u64; BYTES as usize / 8].leak());
    end.register(at(rank, 0), memory.into()).expect("nothing is registered yet");
    (end, memory)
}

/// Returns ranks 0 and 1 of three, and the connections of rank 2, through which a test sends arbitrary data.
fn two_and_a_stranger() -> ([Tcp; 2], [TcpStream; 2]) {
    two_and_a_stranger_by(support::mesh(3))
}

fn two_and_a_stranger_by(mesh: Vec<Vec<Option<TcpStream>>>) -> ([Tcp; 2], [TcpStream; 2]) {
    let [zero, one, two] = mesh.try_into().expect("three");
    let [to_zero, to_one, _] = two.try_into().expect("three");
    ([end(0, zero).0, end(1, one).0], [to_zero, to_one].map(|stream| stream.expect("not to itself")))
}

/// Encodes a frame of operation 0: kind, operator, length of the payload, number, whole range, piece, value, expected value.
fn frame(kind: u8, [whole_at, whole, skip, bytes, value]: [u64; 5], payload: &[u8]) -> Vec<u8> {
    let words = [0, whole_at, whole, skip, bytes, value, 0].map(u64::to_le_bytes);
    [&[kind, 0][..], &(payload.len() as u16).to_le_bytes(), &words.concat(), payload].concat()
}

fn post(end: &mut Tcp, to: u32, operation: Operation<'_>, flags: Flags) {
    end.post(Instant::ZERO, Endpoint(to), operation, flags, Token(0)).expect("there is room");
}

/// Writes from one rank to another while both ends make progress; returns the result.
fn write(ends: &mut [Tcp; 2], from: usize, to: u32) -> Result<u64, Failure> {
    let operation = Operation::Write { to: at(to, 8), bytes: b"a write" };
    post(&mut ends[from], to, operation, Flags::NONE);
    completion(ends, from)
}

/// Returns the result of the next operation of a rank.
fn completion(ends: &mut [Tcp; 2], of: usize) -> Result<u64, Failure> {
    for _ in 0..ROUNDS_MAX {
        if let Some(completion) = progress(ends)[of].first() {
            return completion.result;
        }
    }
    panic!("an operation of {of} did not complete");
}

/// Makes progress at both ends; returns the completions of each.
fn progress(ends: &mut [Tcp; 2]) -> [Vec<Completion>; 2] {
    ends.each_mut().map(|end| {
        let mut completed = Vec::new();
        end.progress(Instant::ZERO, &mut completed);
        completed
    })
}

/// A connection by which a test plays rank 2.
struct Stranger<'a> {
    stream: &'a mut TcpStream,
    received: Vec<u8>,
}

impl Stranger<'_> {
    /// Returns the kind, number and address of the next complete request.
    fn request(&mut self) -> Option<(u8, u64, u64)> {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.stream.read(&mut bytes) {
            self.received.extend_from_slice(&bytes[..count]);
        }
        let word = |at: usize| Some(u64::from_le_bytes(self.received.get(at..at + 8)?.try_into().ok()?));
        let (kind, id, skip) = (*self.received.first()?, word(4)?, word(28)?);
        let end = FRAME_BYTES + usize::from(u16::from_le_bytes([*self.received.get(2)?, *self.received.get(3)?]));
        (self.received.len() >= end).then(|| drop(self.received.drain(..end))).map(|()| (kind, id, skip))
    }

    fn answer(&mut self, kind: u8, id: u64, skip: u64) {
        let mut answer = frame(kind, [0, 0, skip, 0, 0], b"");
        answer[4..12].copy_from_slice(&id.to_le_bytes());
        self.stream.write_all(&answer).expect("there is room");
    }
}

/// Returns local data for writes.
fn local(bytes: u64) -> Cells<'static> {
    Cells::from_mut(vec![7u64; bytes as usize / 8].leak())
}

#[test]
fn a_frame_is_understood_as_these_tests_write_it() {
    let (mut ends, [mut to_zero, _]) = two_and_a_stranger();
    let start = at(0, 0).bits();
    to_zero.write_all(&frame(PUT, [start, 64, 56, 8, 0], b"the last")).expect("there is room");
    to_zero.write_all(&frame(GET, [start, 64, 56, 8, 0], b"")).expect("there is room");
    to_zero.set_nonblocking(false).expect("it is a socket");
    (0..2).for_each(|_| drop(progress(&mut ends)));
    let mut answers = [0; 2 * FRAME_BYTES + 8];
    to_zero.read_exact(&mut answers).expect("it is answered");
    assert_eq!((answers[0], answers[FRAME_BYTES], &answers[2 * FRAME_BYTES..]), (DONE, DONE, &b"the last"[..]));
}

#[test]
fn whoever_writes_nonsense_is_lost_and_nobody_else() {
    let (start, nothing) = (at(0, 0).bits(), [0; 5]);
    let mut long = frame(GET, nothing, b"");
    long[2..4].copy_from_slice(&u16::MAX.to_le_bytes());
    let mut operator = frame(ATOMIC, [start, 8, 0, 8, 0], b"");
    operator[1] = 99;
    let mut unasked = frame(DONE, nothing, b"");
    unasked[4] = 1;
    let nonsense = [
        ("a failure that does not exist", frame(250, nothing, b"")),
        ("an answer that nobody waits for", unasked),
        ("an answer of fewer bytes than were asked for", frame(DONE, nothing, b"less")),
        ("an answer for bytes past the end", frame(DONE, [0, 0, 17, 0, 0], b"")),
        ("a payload longer than a piece", long),
        ("a put of other bytes than it says", frame(PUT, [start, 64, 0, 64, 0], b"less")),
        ("a piece past the end of its operation", frame(GET, [start, 64, 60, 8, 0], b"")),
        ("a piece whose place overflows", frame(GET, [start, 64, u64::MAX, 8, 0], b"")),
        ("a piece longer than a piece", frame(GET, [start, BYTES, 0, PIECE_BYTES + 1, 0], b"")),
        ("an operator that does not exist", operator),
    ];
    for (name, bytes) in nonsense {
        let (mut ends, [mut to_zero, mut to_one]) = two_and_a_stranger();
        post(&mut ends[0], 2, Operation::Get { from: at(2, 0), to: local(16) }, Flags::NONE);
        to_zero.write_all(&bytes).expect("there is room");
        let lost = Err(Failure::PeerLost(Rank::new(2)));
        assert_eq!(completion(&mut ends, 0), lost, "{name}");
        assert_eq!(write(&mut ends, 0, 2), lost, "{name}");
        assert_eq!([write(&mut ends, 0, 1), write(&mut ends, 1, 0), write(&mut ends, 0, 0)], [Ok(0); 3], "{name}");
        let put = frame(PUT, [at(1, 0).bits(), 2, 0, 2, 0], b"ok");
        assert!(to_one.write_all(&put).is_ok(), "{name}: to the other it is a rank as before");
    }
}

/// A connection that ends without a leave message reports a failure once; a rank that ends regularly sends a leave message first.
#[test]
fn the_loss_of_a_peer_is_told_and_its_leave_is_not() {
    let [mine, leaves, breaks] = support::mesh(3).try_into().expect("three");
    let (losses, lost) = channel();
    let mut me = Tcp::new(Rank::new(0), layout(), mine, losses);
    drop(end(1, leaves));
    drop(breaks);
    let mut completed = Vec::new();
    for _ in 0..2 {
        for peer in [1, 2] {
            post(&mut me, peer, Operation::Get { from: at(peer, 0), to: local(8) }, Flags::NONE);
        }
        (0..ROUNDS_MAX).find(|_| {
            me.progress(Instant::ZERO, &mut completed);
            completed.len() == 2
        });
        let lost = [1, 2].map(|peer| Err(Failure::PeerLost(Rank::new(peer))));
        let results: Vec<_> = completed.drain(..).map(|completion| completion.result).collect();
        assert!(results.len() == 2 && lost.iter().all(|lost| results.contains(lost)), "both are gone (T6): {results:?}");
    }
    assert_eq!(lost.try_iter().collect::<Vec<_>>(), [Rank::new(2)]);
}

/// Frames with pseudo-random wrong bytes do not affect other ranks.
#[test]
fn no_frame_makes_a_rank_panic() {
    let mut state = 1u64;
    // xorshift64 (Marsaglia: Xorshift RNGs, 2003).
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut ends, mut stranger) = two_and_a_stranger();
    for _ in 0..2000 {
        let (kind, bytes) = (draw(7) as u8, draw(100));
        let places = [at(0, 0), at(1, 0), at(2, 0), at(0, BYTES - 8), GlobalAddress::NULL].map(GlobalAddress::bits);
        let place = |number: u64| places[number as usize];
        let payload = if kind == PUT || kind == DONE { vec![7; bytes as usize] } else { Vec::new() };
        let mut sent = frame(kind, [place(draw(5)), bytes + draw(2), draw(2), bytes, place(draw(5))], &payload);
        for _ in 0..draw(3) {
            let index = draw(sent.len() as u64) as usize;
            sent[index] = draw(256) as u8;
        }
        // Refused after rank 2 has failed: then a new set of ranks replaces the old one.
        if stranger[0].write_all(&sent).is_err() {
            (ends, stranger) = two_and_a_stranger();
        }
        progress(&mut ends);
    }
    assert_eq!([write(&mut ends, 0, 1), write(&mut ends, 1, 0)], [Ok(0); 2]);
}

/// Sends a frame repeatedly and reads nothing; returns the number of bytes accepted before the connection was closed.
fn flood(frame: &[u8]) -> u64 {
    let (mut ends, [mut to_zero, _to_one]) = two_and_a_stranger();
    let (mut taken, mut rest) = (0, Vec::new());
    for _ in 0..ROUNDS_MAX {
        if rest.is_empty() {
            rest.extend_from_slice(frame);
        }
        match to_zero.write(&rest) {
            Ok(count) => {
                rest.drain(..count);
                taken += count as u64;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => {
                assert_eq!([write(&mut ends, 0, 1), write(&mut ends, 1, 0)], [Ok(0); 2], "the others go on");
                return taken;
            }
        }
        progress(&mut ends);
    }
    panic!("{taken} bytes were taken, and the flood goes on");
}

#[test]
fn whoever_asks_for_more_than_the_window_is_lost() {
    flood(&frame(GET, [at(0, 0).bits(), PIECE_BYTES, 0, PIECE_BYTES, 0], b""));
    // Rank 2 does not answer, so that copies to it do not end.
    flood(&frame(COPY, [at(0, 0).bits(), 8, 0, 8, at(2, 0).bits()], b""));
}

/// After the failure of the first piece of an operation longer than the window, the other pieces in flight are awaited, and no more are sent.
#[test]
fn what_has_failed_sends_no_more_and_stays_failed() {
    let (mut ends, [mut to_zero, _]) = two_and_a_stranger();
    post(&mut ends[0], 2, Operation::Put { from: local(3 * WINDOW * PIECE_BYTES), to: at(2, 0) }, Flags::NONE);
    let mut stranger = Stranger { stream: &mut to_zero, received: Vec::new() };
    for piece in 0..WINDOW {
        let request = (0..ROUNDS_MAX).find_map(|_| {
            assert!(progress(&mut ends)[0].is_empty(), "{piece} pieces of {WINDOW} were answered");
            stranger.request()
        });
        assert_eq!(request, Some((PUT, 0, piece * PIECE_BYTES)));
        stranger.answer(if piece == 0 { OUT_OF_BOUNDS } else { DONE }, 0, piece * PIECE_BYTES);
    }
    assert_eq!(completion(&mut ends, 0), Err(Failure::OutOfBounds(GlobalAddress::NULL)), "as the answer said");
    assert_eq!(stranger.request(), None, "a piece more");
}

#[test]
fn an_answer_to_what_was_not_sent_yet_is_nonsense() {
    let (mut ends, [mut to_zero, _]) = two_and_a_stranger();
    for _ in 0..=WINDOW {
        post(&mut ends[0], 2, Operation::Get { from: at(2, 0), to: local(0) }, Flags::NONE);
    }
    Stranger { stream: &mut to_zero, received: Vec::new() }.answer(DONE, WINDOW, 0);
    assert_eq!(completion(&mut ends, 0), Err(Failure::PeerLost(Rank::new(2))));
}

/// A fence of an operation refused as full applies to the next posted operation, even if the second half of another rank's copy comes between.
#[test]
fn a_refused_fence_is_that_of_the_next_operation() {
    let (mut ends, memory): (Vec<Tcp>, Vec<_>) = ends(3);
    let mut completed = Vec::new();
    memory[0].part(64, 8).expect("inside").write(&[7; 8]);
    // The copy does not end while rank 2 makes no progress.
    post(&mut ends[0], 1, Operation::Copy { from: at(1, 64), to: at(2, 0), bytes: 8 }, Flags::NONE);
    let fill = Operation::Write { to: at(0, 512), bytes: b"to itself" };
    let full = (0..).find(|_| ends[0].post(Instant::ZERO, Endpoint(0), fill, Flags::NONE, Token(1)) == Err(PostError::Full));
    assert_eq!(full, Some(limits::COMPLETIONS_MAX - 1), "as many as there is room for, and the copy");
    let (flag, later) =
        (Operation::Write { to: at(1, 0), bytes: b"the flag" }, Operation::Write { to: at(1, 8), bytes: b"and more" });
    assert_eq!(ends[0].post(Instant::ZERO, Endpoint(1), flag, Flags::FENCE, Token(2)), Err(PostError::Full));
    post(&mut ends[2], 0, Operation::Copy { from: at(0, 64), to: at(1, 128), bytes: 8 }, Flags::NONE);
    let has_room = (0..ROUNDS_MAX).any(|_| {
        ends[..2].iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, &mut completed));
        completed.len() == limits::COMPLETIONS_MAX - 1 && memory[1].part(128, 8).expect("inside").to_vec() == [7; 8]
    });
    assert!(has_room, "the other copy does not wait for the first");
    post(&mut ends[0], 1, flag, Flags::NONE);
    post(&mut ends[0], 1, later, Flags::NONE);
    (0..100).for_each(|_| ends[..2].iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, &mut completed)));
    assert_eq!(memory[1].part(0, 16).expect("inside").to_vec(), [0; 16], "they have overtaken the copy");
    complete(&mut ends, &mut completed, limits::COMPLETIONS_MAX + 3);
    assert_eq!(memory[1].part(0, 16).expect("inside").to_vec(), b"the flagand more");
}

#[test]
fn a_long_copy_behind_a_fence_does_not_wait_for_itself() {
    let (mut ends, memory) = ends(3);
    let (bytes, mut completed) = (3 * PIECE_BYTES, Vec::new());
    memory[1].part(0, bytes).expect("inside").write(&vec![9; bytes as usize]);
    post(&mut ends[0], 1, Operation::Copy { from: at(1, 0), to: at(2, 0), bytes }, Flags::FENCE);
    post(&mut ends[0], 1, Operation::Copy { from: at(1, 0), to: at(2, bytes), bytes }, Flags::FENCE);
    complete(&mut ends, &mut completed, 2);
    assert!(memory[2].part(0, 2 * bytes).expect("inside").to_vec().iter().all(|&byte| byte == 9));
}

/// Creates the ends of a number of ranks, each with its memory.
fn ends(ranks: u32) -> (Vec<Tcp>, Vec<Cells<'static>>) {
    support::mesh(ranks).into_iter().zip(0..).map(|(streams, rank)| end(rank, streams)).unzip()
}

/// Makes progress at all ends until `count` operations have completed successfully.
fn complete(ends: &mut [Tcp], completed: &mut Vec<Completion>, count: usize) {
    for _ in 0..ROUNDS_MAX {
        ends.iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, completed));
        if completed.len() == count {
            return assert!(completed.iter().all(|completion| completion.result.is_ok()), "{completed:?}");
        }
    }
    panic!("{} operations of {count} have completed, and no more do", completed.len());
}

/// A peer that reads nothing but stays within the window is slow, not failed: the output queued for it reaches the maximum.
#[test]
fn whoever_keeps_to_the_window_may_take_its_time() {
    // A few more than the window: sockets accept some pieces even with small buffers.
    for (asked, expected) in [(WINDOW, None), (WINDOW + 8, Some(Err(Failure::PeerLost(Rank::new(2)))))] {
        let mesh = support::mesh(3);
        // Small socket buffers: unread data wait at the sender.
        let [near, far] = [&mesh[0][2], &mesh[2][0]].map(|stream| stream.as_ref().expect("not to itself"));
        sockopt::set_socket_send_buffer_size(near, SOCKET_BYTES).expect("a socket has room");
        sockopt::set_socket_recv_buffer_size(far, SOCKET_BYTES).expect("a socket has room");
        let (mut ends, [mut to_zero, _to_one]) = two_and_a_stranger_by(mesh);
        for _ in 0..2 * WINDOW {
            post(&mut ends[0], 2, Operation::Put { from: local(PIECE_BYTES), to: at(2, 0) }, Flags::NONE);
        }
        for _ in 0..asked {
            to_zero.write_all(&frame(GET, [at(0, 0).bits(), PIECE_BYTES, 0, PIECE_BYTES, 0], b"")).expect("there is room");
        }
        let completed = (0..100).find_map(|_| progress(&mut ends)[0].first().map(|completion| completion.result));
        assert_eq!(completed, expected, "{asked} answers were not read");
    }
}

/// Each rank requests a copy from the next rank to the one after it, and then posts an operation behind a fence. If the second halves of copies
/// waited behind these fences, all ranks would wait for each other.
#[test]
fn copies_in_a_circle_do_not_wait_for_each_other() {
    const COPIES: u64 = 100;
    let (mut ends, memory) = ends(3);
    for (end, me) in ends.iter_mut().zip(0u32..) {
        let [next, last] = [1, 2].map(|distance| (me + distance) % 3);
        memory[me as usize].part(64, 8).expect("inside").write(&[me as u8 + 1; 8]);
        for index in 0..COPIES {
            post(end, next, Operation::Copy { from: at(next, 64), to: at(last, 4096 + 8 * index), bytes: 8 }, Flags::NONE);
            post(end, next, Operation::Write { to: at(next, 128), bytes: &index.to_le_bytes() }, Flags::FENCE);
        }
    }
    complete(&mut ends, &mut Vec::new(), 3 * 2 * COPIES as usize);
    for (me, memory) in memory.iter().enumerate() {
        let found = memory.part(4096, 8 * COPIES).expect("inside").to_vec();
        assert!(found.iter().all(|&byte| usize::from(byte) == (me + 2) % 3 + 1), "what came to {me}");
    }
}
