//! What peers do that the conformance suite has no hands for: bytes that no rank would send, floods, and waiting in a circle.

mod support;

use std::io::{ErrorKind, Write};
use std::net::TcpStream;

use pelago::platform::{Cells, Completion, Endpoint, Failure, Flags, Operation, Registry, Token, Transport};
use pelago::{AddressLayout, GlobalAddress, Instant, Rank, SegmentId};
use pelago_tcp::Tcp;

const BYTES: u64 = 1 << 20;
const PIECE_BYTES: u64 = 32 * 1024;

const PUT: u8 = 1;
const GET: u8 = 2;
const COPY: u8 = 3;
const ATOMIC: u8 = 4;
const DONE: u8 = 5;

/// More rounds than anything here takes.
const ROUNDS_MAX: u32 = 100_000;

fn layout() -> AddressLayout {
    AddressLayout::new(3, BYTES).expect("three ranks with a megabyte")
}

fn at(rank: u32, offset: u64) -> GlobalAddress {
    layout().encode(Rank::new(rank), SegmentId::SYMMETRIC, offset).expect("inside")
}

fn end(rank: u32, streams: Vec<Option<TcpStream>>) -> (Tcp, Cells<'static>) {
    let mut end = Tcp::new(Rank::new(rank), layout(), streams);
    let memory = Cells::from_mut(vec![0u64; BYTES as usize / 8].leak());
    end.register(at(rank, 0), memory).expect("nothing is registered yet");
    (end, memory)
}

/// Ranks 0 and 1 of three, and the connections of rank 2, by which a test says what it likes.
fn two_and_a_stranger() -> ([Tcp; 2], [TcpStream; 2]) {
    let [zero, one, two] = support::mesh(3).try_into().expect("three");
    let [to_zero, to_one, _] = two.try_into().expect("three");
    ([end(0, zero).0, end(1, one).0], [to_zero, to_one].map(|stream| stream.expect("not to itself")))
}

/// A frame of operation 0 as it travels: kind, operator, length of the payload, number, whole range, piece, value, what is expected.
fn frame(kind: u8, [whole_at, whole, skip, bytes, value]: [u64; 5], payload: &[u8]) -> Vec<u8> {
    let words = [0, whole_at, whole, skip, bytes, value, 0].map(u64::to_le_bytes);
    [&[kind, 0][..], &(payload.len() as u16).to_le_bytes(), &words.concat(), payload].concat()
}

/// How a write from one rank to another completes, while both ends make progress.
fn write(ends: &mut [Tcp; 2], from: usize, to: u32) -> Result<u64, Failure> {
    let operation = Operation::Write { to: at(to, 8), bytes: b"a write" };
    ends[from].post(Instant::ZERO, Endpoint(to), operation, Flags::NONE, Token(1)).expect("there is room");
    completion(ends, from)
}

/// How the next operation of a rank completes.
fn completion(ends: &mut [Tcp; 2], of: usize) -> Result<u64, Failure> {
    for _ in 0..ROUNDS_MAX {
        if let Some(completion) = progress(ends)[of].first() {
            return completion.result;
        }
    }
    panic!("an operation of {of} did not complete");
}

/// Lets both ends make progress; returns what completed at each.
fn progress(ends: &mut [Tcp; 2]) -> [Vec<Completion>; 2] {
    ends.each_mut().map(|end| {
        let mut completed = Vec::new();
        end.progress(Instant::ZERO, &mut completed);
        completed
    })
}

#[test]
fn a_frame_is_understood_as_these_tests_write_it() {
    let (mut ends, [mut to_zero, _]) = two_and_a_stranger();
    let start = at(0, 0).bits();
    to_zero.write_all(&frame(PUT, [start, 64, 56, 8, 0], b"the last")).expect("there is room");
    to_zero.write_all(&frame(GET, [start, 64, 56, 8, 0], b"")).expect("there is room");
    to_zero.set_nonblocking(false).expect("it is a socket");
    (0..2).for_each(|_| drop(progress(&mut ends)));
    let mut answers = [0; 2 * 60 + 8];
    std::io::Read::read_exact(&mut to_zero, &mut answers).expect("it is answered");
    assert_eq!((answers[0], answers[60], &answers[120..]), (DONE, DONE, &b"the last"[..]));
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
        ("a kind that does not exist", frame(0, [start, 8, 0, 8, 0], b"")),
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
        let get = Operation::Get { from: at(2, 0), to: Cells::from_mut(vec![0u64; 2].leak()) };
        ends[0].post(Instant::ZERO, Endpoint(2), get, Flags::NONE, Token(0)).expect("there is room");
        to_zero.write_all(&bytes).expect("there is room");
        let lost = Err(Failure::PeerLost(Rank::new(2)));
        assert_eq!(completion(&mut ends, 0), lost, "{name}");
        assert_eq!(write(&mut ends, 0, 2), lost, "{name}");
        assert_eq!([write(&mut ends, 0, 1), write(&mut ends, 1, 0), write(&mut ends, 0, 0)], [Ok(0); 3], "{name}");
        let put = frame(PUT, [at(1, 0).bits(), 2, 0, 2, 0], b"ok");
        assert!(to_one.write_all(&put).is_ok(), "{name}: to the other it is a rank as before");
    }
}

/// Frames of which some bytes are others, from a seed: whatever comes of it, other ranks go on.
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
        // Refused when it is lost: then another comes in its place.
        if stranger[0].write_all(&sent).is_err() {
            (ends, stranger) = two_and_a_stranger();
        }
        progress(&mut ends);
    }
    assert_eq!([write(&mut ends, 0, 1), write(&mut ends, 1, 0)], [Ok(0); 2]);
}

/// Sends a frame again and again, reads nothing, and returns how many bytes were taken before the connection was closed.
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
    // Rank 2 answers nothing, so that copies to it do not end.
    flood(&frame(COPY, [at(0, 0).bits(), 8, 0, 8, at(2, 0).bits()], b""));
}

/// Each rank has the next copy something to the one after it, and then does something behind a fence: if the second halves of copies were to
/// wait behind those fences, all would wait for each other.
#[test]
fn copies_in_a_circle_do_not_wait_for_each_other() {
    let (mut ends, memory): (Vec<Tcp>, Vec<_>) =
        support::mesh(3).into_iter().zip(0..).map(|(streams, rank)| end(rank, streams)).unzip();
    const COPIES: u64 = 100;
    for (end, me) in ends.iter_mut().zip(0u32..) {
        let [next, last] = [1, 2].map(|distance| (me + distance) % 3);
        memory[me as usize].part(64, 8).expect("inside").write(&[me as u8 + 1; 8]);
        let to = Endpoint(next);
        for index in 0..COPIES {
            let copy = Operation::Copy { from: at(next, 64), to: at(last, 4096 + 8 * index), bytes: 8 };
            end.post(Instant::ZERO, to, copy, Flags::NONE, Token(index)).expect("there is room");
            let write = Operation::Write { to: at(next, 128), bytes: &index.to_le_bytes() };
            end.post(Instant::ZERO, to, write, Flags::FENCE, Token(index)).expect("there is room");
        }
    }
    let mut completed = Vec::new();
    for _ in 0..ROUNDS_MAX {
        ends.iter_mut().for_each(|end| _ = end.progress(Instant::ZERO, &mut completed));
        if completed.len() as u64 == 3 * 2 * COPIES {
            assert!(completed.iter().all(|completion| completion.result == Ok(0)));
            for (me, memory) in memory.iter().enumerate() {
                let found = memory.part(4096, 8 * COPIES).expect("inside").to_vec();
                assert!(found.iter().all(|&byte| usize::from(byte) == (me + 2) % 3 + 1), "what came to {me}");
            }
            return;
        }
    }
    panic!("{} operations have completed, and no more do", completed.len());
}
