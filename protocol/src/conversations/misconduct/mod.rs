//! Tests of peers that have the job's key but violate the protocol: they harm only themselves. Also tests of internal state of an endpoint:
//! what it keeps, sends and measures.

mod scene;

use pelago_base::limits::RANKS_MAX;
use pelago_base::{AddressLayout, AtomicOperator, Block, Duration, GlobalAddress, Instant, Rank, SegmentId, Shape, Width};

use super::operations::{Origin, PEERS_OPERATIONS_MAX};
use super::requests::PEER_REQUEST_BYTES_MAX;
use crate::peer::receiver::SEQUENCE_WINDOW;
use crate::wire::blocks::Writer;
use crate::wire::{self, Acknowledgement, Frame, HEADER_BYTES, Place, TAG_BYTES, TRANSMISSION_MAX, WORDS_MAX};
use crate::{Completion, Config, Conversations, Denied, Event, Failure, Rejected, Request, reseal};
use scene::{FAILURE_LIMIT, HEAP_BYTES, Heard, KEY, Local, Pair, RANKS, Scene, at, config, endpoint, layout, memory, received};

#[test]
fn what_was_never_sent_cannot_be_acknowledged() {
    let mut scene = Scene::new();
    assert_eq!(scene.write(1).len(), 1);
    for next in [2, 3, 1 << 40, u64::MAX] {
        scene.acknowledge(next, 0).unwrap();
        scene.acknowledge(next, u64::MAX).unwrap();
        assert_eq!(scene.ended(), [], "who says so has not received what was sent either");
    }
    scene.acknowledge(0, !1).unwrap();
    assert_eq!(scene.write(2).len(), 1);
    assert_eq!(scene.ended(), [], "what is sent later was not acknowledged before");
    scene.acknowledge(0, 2).unwrap();
    assert_eq!(scene.ended(), [(2, Ok(0))]);
    for _ in 0..2 {
        scene.acknowledge(2, 0).unwrap();
    }
    assert_eq!(scene.ended(), [(1, Ok(0))], "once");
}

#[test]
fn numbers_far_ahead_are_left_to_be_sent_again() {
    let mut scene = Scene::new();
    let add = Frame::Atomic { operation: 0, at: at(0, 0), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    for (sequence, outcome) in [(SEQUENCE_WINDOW, Rejected::Early), (1 << 40, Rejected::Early), (u64::MAX, Rejected::Early)] {
        let place = Place { sequence, after: 0 };
        assert_eq!(scene.send(1, received(0), Some(place), &[add]), Err(outcome));
    }
    for (sequence, after) in [(SEQUENCE_WINDOW - 1, 1), (1, 1), (0, u64::MAX)] {
        assert_eq!(scene.send(1, received(0), Some(Place { sequence, after }), &[add]), Err(Rejected::Early));
    }
    assert_eq!(scene.memory.heap[0], 0);
    for (count, sequence) in (1..).zip([SEQUENCE_WINDOW - 1, 5, 0]) {
        let place = Some(Place { sequence, after: 0 });
        assert_eq!(scene.send(1, received(0), place, &[add]), Ok(()));
        assert_eq!(scene.send(1, received(0), place, &[add]), Err(Rejected::Duplicate));
        assert_eq!(scene.memory.heap[0], count);
    }
    assert!(!scene.listen(1).is_empty(), "it is told");
}

#[test]
fn what_makes_no_sense_is_refused_where_it_ends_to_make_sense() {
    let mut scene = Scene::new();
    let write = Frame::Write { to: at(0, 0), bytes: &[1; 8] };
    let mut frames = Vec::new();
    write.append(&mut frames);
    let whole = scene.datagram(1, received(0), Some(Place { sequence: 0, after: 0 }), &frames);
    for bytes in HEADER_BYTES..whole.len() - TAG_BYTES {
        scene.transmission += 1;
        let mut cut = [&whole[..bytes], &[0; TAG_BYTES][..]].concat();
        assert!(reseal(KEY, false, Rank::new(0), &mut cut));
        let outcome = scene.me.handle_datagram(scene.now, &mut cut, &mut scene.memory);
        // A datagram that ends after its sequence number is valid, and its number is then taken: the longer pieces are duplicates.
        let is_whole = bytes == HEADER_BYTES + Acknowledgement::FIXED_BYTES + 8;
        let is_repeated = bytes > HEADER_BYTES + Acknowledgement::FIXED_BYTES + 8;
        assert_eq!(
            outcome,
            if is_whole {
                Ok(())
            } else if is_repeated {
                Err(Rejected::Duplicate)
            } else {
                Err(Rejected::Malformed)
            }
        );
    }
    // More words than an acknowledgement may have, with room for them and without.
    for room in [0, 8 * 255] {
        let mut datagram = scene.datagram(1, received(0), None, &vec![0; room]);
        let one = scene.datagram(1, Acknowledgement { words_used: 1, ..received(0) }, None, &vec![0; room]);
        let place = (HEADER_BYTES..).find(|&place| datagram[place] != one[place]).unwrap();
        datagram[place] = WORDS_MAX as u8 + 1;
        assert!(reseal(KEY, false, Rank::new(0), &mut datagram));
        assert_eq!(scene.me.handle_datagram(scene.now, &mut datagram, &mut scene.memory), Err(Rejected::Malformed));
    }
    // Frames before the invalid one are executed, later ones are not.
    let nonsense = [&frames[..], &[99], &frames].concat();
    let place = Some(Place { sequence: 1, after: 0 });
    assert_eq!(scene.send_bytes(1, received(0), place, &nonsense), Err(Rejected::Malformed));
    assert_eq!(scene.memory.heap[..9], [1, 1, 1, 1, 1, 1, 1, 1, 0]);
}

#[test]
fn nobody_answers_for_another_or_something_else() {
    let mut scene = Scene::new();
    let get = Request::Get { from: at(1, 0), to: Local(0), bytes: 8 };
    let operation = Scene::operation(&scene.submit(get, 7));
    let answer = Frame::Data { operation, bytes: &[1; 8] };
    let wrong = |other: u32| {
        [
            Frame::Value { operation: other, value: 5 },
            Frame::Data { operation: other, bytes: &[9; 8] },
            Frame::Denied { operation: other, denied: Denied::Outside, second: false },
            Frame::PeerLost { operation: other, rank: Rank::new(1) },
        ]
    };
    // Answers from another rank, or for an operation that does not exist.
    for (from, number) in [(2, operation), (1, operation + 1), (1, operation + (1 << 13)), (1, u32::MAX)] {
        scene.tell(from, &wrong(number)).unwrap();
        assert_eq!(scene.ended(), []);
    }
    // Not an answer to a get, or more bytes than requested.
    scene.tell(1, &[Frame::Value { operation, value: 5 }, Frame::Data { operation, bytes: &[9; 9] }]).unwrap();
    for offset in [1, 8, u64::MAX, u64::MAX - 7] {
        scene.tell(1, &[Frame::DataPiece { operation, offset, bytes: &[9; 8] }]).unwrap();
    }
    assert_eq!((scene.ended(), &scene.memory.local[..]), (vec![], &[0; 8][..]));
    scene.tell(1, &[answer, answer]).unwrap();
    scene.tell(1, &[answer]).unwrap();
    assert_eq!((scene.ended(), &scene.memory.local[..]), (vec![(7, Ok(0))], &[1; 8][..]));
    // A put has no answer except its acknowledgement: tries all numbers that it may have.
    let put = scene.submit(Request::Put { from: Local(0), to: at(1, 0), bytes: 8 }, 8);
    let numbers = (0..4).flat_map(|reused| [0, 1].map(|index| index + (reused << 13)));
    for number in numbers {
        scene.tell(1, &wrong(number)).unwrap();
        assert_eq!(scene.ended(), []);
    }
    scene.acknowledge(put[0].place.unwrap().sequence + 1, 0).unwrap();
    assert_eq!(scene.ended(), [(8, Ok(0))]);
}

#[test]
fn refusals_are_kept_within_bounds_and_waited_for() {
    let mut scene = Scene::new();
    assert_eq!(scene.write(1).len(), 1);
    let told = |next, refused| Acknowledgement { refused, ..received(next) };
    // The peer reports one refusal; an older datagram does not report it yet.
    for refused in [1, 0, 1] {
        scene.send(1, told(1, refused), None, &[]).unwrap();
        assert_eq!(scene.ended(), [], "what was refused is not known");
    }
    let refusal = Frame::Refused { sequence: 0, index: 0, denied: Denied::Misaligned };
    let place = Some(Place { sequence: 0, after: 0 });
    scene.send(1, told(1, 1), place, &[refusal]).unwrap();
    assert_eq!(scene.ended(), [(1, Err(Failure::Misaligned(at(1, 0))))]);
    // Refusals for a datagram with one write, and for a datagram that does not exist.
    assert_eq!(scene.write(2).len(), 1);
    let refusals = [1, 77].map(|sequence| [Frame::Refused { sequence, index: 5, denied: Denied::Outside }; 40]).concat();
    for sequence in 1..200 {
        scene.send(1, told(1, 1), Some(Place { sequence, after: 0 }), &refusals).unwrap();
    }
    let kept = &scene.me.peers[0].active.as_ref().unwrap().sender.sent(1).unwrap().refused;
    assert!(kept.len() <= 2, "{}", kept.len());
}

/// The counts of refusals wrap around. A peer that was idle continues them.
#[test]
fn a_peer_that_has_refused_any_number_of_writes_is_written_to_after_a_rest() {
    for refused in [0, 1, i32::MAX as u32, 1 << 31, u32::MAX] {
        let mut scene = Scene::new();
        scene.me.peers[0].refusals_received = refused;
        scene.write(1);
        scene.send(1, Acknowledgement { refused, ..received(1) }, None, &[]).unwrap();
        assert_eq!(scene.ended(), [(1, Ok(0))], "{refused}");
        scene.write(2);
        let refusal = Frame::Refused { sequence: 1, index: 0, denied: Denied::Outside };
        let said = Acknowledgement { refused: refused.wrapping_add(1), ..received(2) };
        scene.send(1, said, Some(Place { sequence: 0, after: 0 }), &[refusal]).unwrap();
        assert_eq!(scene.ended(), [(2, Err(Failure::OutOfBounds(at(1, 0))))], "{refused}");
    }
}

#[test]
fn whoever_asked_for_a_copy_hears_why_its_bytes_were_refused() {
    for denied in [Denied::Outside, Denied::Misaligned, Denied::Device] {
        let mut scene = Scene::new();
        scene.tell(1, &[Frame::Copy { operation: 4, from: at(0, 0), to: at(2, 8), bytes: 8 }]).unwrap();
        let sequence = scene.listen(2)[0].place.unwrap().sequence;
        let refusal = Frame::Refused { sequence, index: u16::MAX, denied };
        let place = Some(Place { sequence: 0, after: 0 });
        scene.send(2, Acknowledgement { refused: 1, ..received(1) }, place, &[refusal]).unwrap();
        let heard = scene.listen(1);
        let told: Vec<_> = heard.iter().flat_map(|heard| wire::frames(&heard.frames)).collect();
        assert_eq!(told, [Some(Frame::Denied { operation: 4, denied, second: true })]);
    }
}

#[test]
fn copies_lead_to_ranks_of_the_job() {
    let mut scene = Scene::new();
    let beyond = AddressLayout::new(RANKS + 1, HEAP_BYTES as u64).unwrap();
    let to = beyond.encode(Rank::new(RANKS), SegmentId::new(1).unwrap(), 0).unwrap();
    assert_eq!(layout().rank(to), Rank::new(RANKS), "an address that a job of one rank more has");
    scene.tell(1, &[Frame::Copy { operation: 4, from: at(0, 0), to, bytes: 8 }]).unwrap();
    let heard = scene.listen(1);
    let denied = Frame::Denied { operation: 4, denied: Denied::Outside, second: true };
    assert_eq!(wire::frames(&heard[0].frames).collect::<Vec<_>>(), [Some(denied)]);
    assert_eq!(scene.me.peers(), (2, 1), "nobody was met");
    assert!(scene.me.poll_event().is_none());
}

#[test]
fn copies_to_the_end_of_all_addresses_are_sent_to_whom_they_name() {
    let layout = AddressLayout::new(RANKS + 1, HEAP_BYTES as u64).unwrap();
    let mut scene = Scene { me: Conversations::new(Config { layout, ..config(0) }), ..Scene::new() };
    scene.me.connect(Rank::new(1), 1200);
    let to = GlobalAddress::from_bits(u64::MAX);
    assert_eq!(layout.rank(to), Rank::new(RANKS), "all bits of the rank are set");
    scene.tell(1, &[Frame::Copy { operation: 4, from: at(0, 0), to, bytes: HEAP_BYTES as u64 }]).unwrap();
    assert_eq!(scene.listen(RANKS).len(), 4, "that rank refuses them");
}

#[test]
fn a_share_of_less_than_a_byte_lets_one_datagram_pass() {
    // The socket of a user without privileges, in a job of more ranks than its receive window has bytes.
    let layout = AddressLayout::new(RANKS_MAX, HEAP_BYTES as u64).unwrap();
    let mut me = Conversations::new(Config { layout, receive_window_bytes: 106_496, ..config(0) });
    let (peer, mut now) = (me.connect(Rank::new(1), 1200), Instant::ZERO);
    let to = layout.encode(Rank::new(1), SegmentId::new(1).unwrap(), 0).unwrap();
    me.submit(now, peer, Request::Write { to, bytes: b"8 bytes." }, 1).unwrap();
    let mut buffer = [0; 1 << 16];
    while me.poll_transmit(now, &memory(), &mut buffer, false).is_none() {
        now = me.poll_timeout().expect("something is to be sent");
        assert!(now < Instant::ZERO + FAILURE_LIMIT, "nothing is sent");
        me.handle_timeout(now);
    }
}

#[test]
fn who_asks_for_too_much_at_once_gets_no_further() {
    let mut scene = Scene::new();
    // With this window, no answer may be sent to the peer.
    let said = Acknowledgement { receive_window: 0, ..received(0) };
    let asks = [Frame::Get { operation: 1, from: at(0, 0), bytes: HEAP_BYTES as u64 }; 40];
    let mut taken = 0;
    while scene.send(1, said, Some(Place { sequence: taken, after: 0 }), &asks).is_ok() {
        taken += 1;
        assert!(taken < 100, "it takes everything");
    }
    // A peer may have 512 outstanding requests; twice as many are kept, plus this rank's own maximum of transfers.
    assert_eq!(taken, (256 + 2 * 512) / 40 + 1);
    assert_eq!(scene.send(1, said, Some(Place { sequence: taken, after: 0 }), &asks), Err(Rejected::Early));
    // Another peer is served all the same.
    scene.tell(2, &[Frame::Get { operation: 1, from: at(0, 0), bytes: 8 }]).unwrap();
    assert_eq!(scene.listen(2).len(), 1);
}

#[test]
fn answers_that_wait_take_no_room_from_operations_of_the_rank_itself() {
    let mut scene = Scene::new();
    let said = Acknowledgement { receive_window: 0, ..received(0) };
    let gets = [Frame::Get { operation: 1, from: at(0, 0), bytes: 960 }; 40];
    for sequence in 0..12 {
        scene.send(1, said, Some(Place { sequence, after: 0 }), &gets).unwrap();
    }
    assert!(scene.me.kept_bytes > 400_000, "{}", scene.me.kept_bytes);
    let (peer, write) = (scene.me.connect(Rank::new(1), 1200), Request::Write { to: at(1, 0), bytes: b"8 bytes." });
    assert_eq!(scene.me.submit(scene.now, peer, write, 7), Ok(()));
}

#[test]
fn what_an_acknowledgement_has_no_room_for_is_told_by_the_next_datagram() {
    for is_told_before in [false, true] {
        let mut scene = Scene::new();
        scene.memory.local = vec![1; 5_000];
        assert_eq!(scene.submit(Request::Put { from: Local(0), to: at(1, 0), bytes: 5_000 }, 1).len(), 5);
        // The preceding number is missing: an acknowledgement of this one is longer than those sent with the put.
        scene.send(1, received(0), Some(Place { sequence: 1, after: 0 }), &[]).unwrap();
        if is_told_before {
            assert_eq!(scene.listen(1).len(), 1);
        }
        scene.now = scene.me.poll_timeout().unwrap();
        scene.me.handle_timeout(scene.now);
        let heard = scene.listen(1);
        let numbers: Vec<_> = heard.iter().map(|heard| heard.place.map(|place| place.sequence)).collect();
        assert_eq!(numbers, [Some(0), None], "the oldest again, and an acknowledgement");
        assert_eq!(scene.listen(1).len(), 0);
    }
}

#[test]
fn nothing_is_kept_of_what_has_arrived() {
    let mut scene = Scene::new();
    let word = at(1, 0);
    let requests = [
        Request::Write { to: word, bytes: &[1; 100] },
        Request::Get { from: word, to: Local(0), bytes: 8 },
        Request::Copy { from: word, to: at(0, 0), bytes: 8 },
        Request::Atomic { at: word, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 },
    ];
    for (token, request) in (1..).zip(requests) {
        let sequence = scene.submit(request, token)[0].place.unwrap().sequence;
        assert!(scene.me.kept_bytes > 0, "until it has arrived");
        scene.acknowledge(sequence + 1, 0).unwrap();
        assert_eq!(scene.me.kept_bytes, 0, "{request:?}");
    }
    // Answers of this rank, also if the memory is no longer registered when its bytes are sent.
    let asked =
        [Frame::Get { operation: 7, from: at(0, 0), bytes: 8 }, Frame::Get { operation: 8, from: at(0, 0), bytes: 2_000 }];
    scene.tell(1, &asked).unwrap();
    scene.memory.heap.clear();
    let heard = scene.listen(1);
    let told: Vec<_> = heard.iter().flat_map(|heard| wire::frames(&heard.frames)).collect();
    let denied = Frame::Denied { operation: 8, denied: Denied::Outside, second: false };
    assert_eq!(told, [Some(Frame::Data { operation: 7, bytes: &[0; 8] }), Some(denied)]);
    assert!(scene.me.kept_bytes > 0);
    scene.acknowledge(heard[0].place.unwrap().sequence + 1, 0).unwrap();
    assert_eq!(scene.me.kept_bytes, 0);
    // An operation that is never answered, as the peer has failed.
    scene.submit(requests[0], 9);
    scene.me.peer_failed(scene.now, Rank::new(1));
    assert_eq!(scene.me.kept_bytes, 0);
}

#[test]
fn nothing_is_written_past_the_last_block_of_a_shape() {
    let mut scene = Scene::new();
    let shape = Shape::strided(2, 4, 8);
    for (offset, bytes) in [(0, 9), (4, 5), (8, 1), (u64::MAX, 1)] {
        let bytes = vec![7; bytes];
        scene.tell(1, &[Frame::PutShape { to: at(0, 0), shape, offset, bytes: &bytes }]).unwrap();
        let heard = scene.listen(1);
        let told: Vec<_> = heard.iter().flat_map(|heard| wire::frames(&heard.frames)).collect();
        assert!(matches!(told[..], [Some(Frame::Refused { denied: Denied::Outside, .. })]), "{told:?}");
        assert!(scene.memory.heap.iter().all(|&byte| byte == 0));
    }
    scene.tell(1, &[Frame::PutShape { to: at(0, 0), shape, offset: 2, bytes: &[7; 6] }]).unwrap();
    assert_eq!(scene.memory.heap[..14], [0, 0, 7, 7, 0, 0, 0, 0, 7, 7, 7, 7, 0, 0]);
}

#[test]
fn requests_without_room_wait_within_bounds() {
    let mut scene = Scene::new();
    // Rank 1, the destination of the copies, is silent.
    let copy = |operation| Frame::Copy { operation, from: at(0, 0), to: at(1, 0), bytes: 8 };
    let mut taken = 0;
    while scene.tell(2, &[copy(1); 32]).is_ok() {
        taken += 32;
        assert!(taken <= 100_000, "it takes everything");
    }
    let waiting = PEER_REQUEST_BYTES_MAX / (32 * 29) * 32;
    assert_eq!((scene.me.operations(), taken), (PEERS_OPERATIONS_MAX, PEERS_OPERATIONS_MAX + waiting));
    scene.next[2] -= 1;
    assert_eq!(scene.tell(2, &[Frame::Write { to: at(0, 0), bytes: &[1; 8] }]), Ok(()), "what needs no room is done");
    let told = scene.listen(2).iter().filter(|heard| wire::frames(&heard.frames).next().is_some()).count();
    assert_eq!(told, 0, "what waits is done, sooner or later");
    // Operations of this rank have room all the same.
    let (peer, get) = (scene.me.connect(Rank::new(2), 1200), Request::Get { from: at(2, 0), to: Local(0), bytes: 8 });
    scene.me.submit(scene.now, peer, get, 7).unwrap();
    // A request of another rank has its turn with the second one that leaves.
    scene.tell(1, &[copy(33)]).unwrap();
    for next in [1, 2] {
        scene.acknowledge(next, 0).unwrap();
        let of_rank_1 = scene.me.operations.puts().filter(|put| put.origin == Origin::Peer { index: 0, operation: 33 });
        assert_eq!(of_rank_1.count() as u64, next - 1);
        assert_eq!(scene.me.operations.for_peers.operations, PEERS_OPERATIONS_MAX);
    }
    // Nothing waits for a rank that has failed.
    scene.me.peer_failed(scene.now, Rank::new(2));
    assert!(scene.me.requests.is_empty());
}

/// A peer whose request waits for longer than the peer is active is answered, and its silence begins with the answer.
#[test]
fn a_request_that_has_waited_for_long_is_done_for_a_peer_that_rests() {
    let mut scene = Scene::new();
    let mut encoded = vec![0; 1 << 16];
    let writer = &mut Writer::new(&mut encoded);
    wire::get_list(writer, (1, 0), at(0, 0), 1, 30_000);
    writer.blocks((0..30_000).map(|_| Block { offset: 0, bytes: 1 }));
    let bytes = writer.written();
    encoded.truncate(bytes);
    for sequence in 0..3 {
        scene.send_bytes(1, received(0), Some(Place { sequence, after: 0 }), &encoded).unwrap();
    }
    scene.tell(2, &[Frame::Get { operation: 5, from: at(0, 0), bytes: 2_000 }]).unwrap();
    assert_eq!(scene.listen(2).len(), 1, "an acknowledgement");
    scene.now = scene.now + FAILURE_LIMIT;
    scene.me.handle_timeout(scene.now);
    assert!(scene.me.peers[1].active.is_none());
    let mut told = Vec::new();
    for _ in 0..3 * 30_000 / 900 {
        if !told.is_empty() {
            break;
        }
        let next = scene.me.peers[0].active.as_ref().unwrap().sender.next();
        scene.acknowledge(next, 0).unwrap();
        told = scene.listen(2);
    }
    let frames: Vec<_> = told.iter().filter_map(|heard| wire::frames(&heard.frames).next()).collect();
    assert!(matches!(frames[..], [Some(Frame::DataPiece { operation: 5, offset: 0, .. }), _]), "{frames:?}");
    scene.me.handle_timeout(scene.now + Duration::from_milliseconds(100));
    let events: Vec<_> = std::iter::from_fn(|| scene.me.poll_event()).collect();
    assert!(!events.contains(&Event::Silent(Rank::new(2))), "{events:?}");
}

#[test]
fn requests_are_taken_until_too_much_is_kept() {
    let (most, get) = (64 << 20, Frame::Get { operation: 1, from: at(0, 0), bytes: 8 });
    for (kept, outcome) in [(most, Ok(())), (most + 1, Err(Rejected::Early))] {
        let mut scene = Scene::new();
        scene.me.kept_bytes = kept;
        assert_eq!(scene.tell(1, &[get]), outcome);
        assert_eq!(scene.me.kept_bytes > kept, outcome.is_ok());
    }
}

#[test]
fn who_sends_first_of_all_is_counted() {
    let mut scene = Scene::new();
    for (from, window) in [(1, 1 << 20), (2, 1 << 19)] {
        scene.tell(from, &[]).unwrap();
        assert_eq!(scene.me.receive_window(), window, "{from} send");
    }
}

#[test]
fn a_fence_behind_what_has_arrived_orders_nothing() {
    let mut scene = Scene::new();
    let peer = scene.me.connect(Rank::new(1), 1200);
    let fenced = |heard: &[Heard]| heard[0].place.unwrap().after;
    for round in [0, 2] {
        scene.write(round);
        scene.me.fence(peer);
        scene.acknowledge(round + 1, 0).unwrap();
        assert_eq!(fenced(&scene.write(round + 1)), 0);
        scene.acknowledge(round + 2, 0).unwrap();
        scene.me.fence(peer);
    }
    scene.write(4);
    scene.me.fence(peer);
    assert_eq!(fenced(&scene.write(5)), 5, "it has not arrived");
}

#[test]
fn what_has_arrived_is_read_no_more_although_something_older_has_not() {
    let mut scene = Scene::new();
    let peer = scene.me.connect(Rank::new(1), 1200);
    scene.write(0);
    let bytes = [1; 5_000];
    let mut put = |token| {
        let injection = scene.me.inject(scene.now, peer, at(1, 0), &bytes, token).unwrap();
        scene.me.capture(&injection);
        let heard = scene.listen(1);
        let offset = |heard: &Heard| match wire::frames(&heard.frames).next() {
            Some(Some(Frame::PutPiece { offset, .. })) => offset,
            frame => panic!("{frame:?}"),
        };
        (heard.iter().map(offset).collect::<Vec<_>>(), injection)
    };
    let [(one, first), (other, second)] = [1, 2].map(&mut put);
    assert_eq!([one.len(), other.len()], [5, 5]);
    let unread = |scene: &Scene| [first, second].map(|injection| scene.me.unread_from(&injection));
    assert_eq!(unread(&scene), [Some(0); 2]);
    // Acknowledges the first two pieces of one, and all of the other except its fourth; nothing sent before them.
    scene.acknowledge(0, [1, 2, 6, 7, 8, 10].map(|sequence| 1 << sequence).iter().sum()).unwrap();
    assert_eq!(unread(&scene), [Some(one[2]), Some(other[3])]);
    // Requested memory counts as being read until its bytes have arrived, separately for each request.
    let asks = [0, 2_000].map(|offset| Frame::Get { operation: 1, from: at(0, offset), bytes: 1_000 });
    scene.tell(1, &asks).unwrap();
    let is_read = |scene: &Scene| [0, 2_000].map(|offset| scene.me.is_reading(at(0, offset), 1));
    assert_eq!(is_read(&scene), [true; 2], "not sent yet");
    let answers = scene.listen(1).iter().filter_map(|heard| heard.place).filter(|place| place.sequence > 10).count();
    assert_eq!(answers, 2, "besides what is lost");
    assert_eq!(is_read(&scene), [true; 2]);
    scene.acknowledge(0, 1 << 12).unwrap();
    assert_eq!(is_read(&scene), [true, false]);
}

#[test]
fn memory_of_a_capture_is_used_again_once_its_bytes_have_arrived() {
    let mut scene = Scene::new();
    let peer = scene.me.connect(Rank::new(1), 1200);
    scene.write(0);
    scene.acknowledge(1, 0).unwrap();
    let bytes = [1; 5_000];
    let mut next = 1;
    for round in 0..3 {
        let injection = scene.me.inject(scene.now, peer, at(1, 0), &bytes, round).unwrap();
        scene.me.capture(&injection);
        assert_eq!((scene.me.captured_bytes(), scene.me.captures.spare_bytes()), (bytes.len(), 0), "round {round}");
        next += scene.listen(1).iter().filter(|heard| heard.place.is_some()).count() as u64;
        scene.acknowledge(next, 0).unwrap();
        assert_eq!((scene.me.captured_bytes(), scene.me.captures.spare_bytes()), (0, bytes.len()), "round {round}");
    }
    // There is no traffic, and no active state is kept for the peer.
    for _ in 0..100 {
        let due = scene.me.poll_timeout();
        due.inspect(|&due| scene.now = scene.now.max(due));
        scene.me.handle_timeout(scene.now);
        scene.listen(1);
    }
    assert_eq!((scene.me.peers().1, scene.me.captures.spare_bytes()), (0, 0));
}

#[test]
fn what_ends_at_once_gives_its_memory_back() {
    let mut scene = Scene::new();
    scene.me.peer_failed(scene.now, Rank::new(1));
    let (word, local) = (at(1, 0), Local(3));
    let requests = [
        (Request::Put { from: local, to: word, bytes: 8 }, Some(local)),
        (Request::Get { from: word, to: local, bytes: 8 }, Some(local)),
        (Request::Write { to: word, bytes: &[1; 8] }, None),
    ];
    for (request, local) in requests {
        assert_eq!(scene.submit(request, 7).len(), 0);
        let result = Err(Failure::PeerLost(Rank::new(1)));
        assert_eq!(scene.me.poll_completion(), Some(Completion { token: 7, result, local }), "{request:?}");
    }
}

#[test]
#[should_panic(expected = "each transmission has its own number")]
fn no_transmission_has_the_number_of_another() {
    let mut scene = Scene::new();
    scene.me.transmissions = TRANSMISSION_MAX - 1;
    assert_eq!(scene.write(1).len(), 1);
    scene.write(2);
}

#[test]
fn only_an_answer_that_was_given_at_once_to_the_latest_try_tells_a_round_trip() {
    let (mut pair, micro) = (Pair([endpoint(0), endpoint(1)]), Duration::from_microseconds);
    let to = pair.0[0].connect(Rank::new(1), 1200);
    let mut now = Instant::ZERO;
    pair.0[0].submit(now, to, Request::Write { to: at(0, 0), bytes: b"8 bytes." }, 1).unwrap();
    let first = pair.next(0, now);
    now = pair.0[0].poll_timeout().unwrap();
    pair.0[0].handle_timeout(now);
    let _second = pair.next(0, now);
    // The answer to the first transmission arrives just after the second has been sent.
    pair.take(1, now, first);
    let answer = pair.next(1, now);
    pair.take(0, now + micro(1), answer);
    assert!(pair.smoothed(0) == Duration::ZERO || pair.smoothed(0) > micro(1000), "{:?}", pair.smoothed(0));
    // The requester of a get acknowledges the answer later.
    now = now + micro(10);
    pair.0[0].submit(now, to, Request::Get { from: at(0, 0), to: Local(0), bytes: 8 }, 2).unwrap();
    let asks = pair.next(0, now);
    pair.take(1, now, asks);
    let answer = pair.next(1, now);
    pair.take(0, now, answer);
    now = now + micro(1000);
    pair.0[0].handle_timeout(now);
    let told = pair.next(0, now);
    pair.take(1, now, told);
    assert!(pair.smoothed(1) < micro(500), "{:?}", pair.smoothed(1));
    // Answers that are sent at once give samples, whether they are values or acknowledgements.
    let (mut other, start) = (Pair([endpoint(0), endpoint(1)]), Instant::ZERO);
    let to = other.0[0].connect(Rank::new(1), 1200);
    other.0[0].submit(start, to, Request::Get { from: at(0, 0), to: Local(0), bytes: 8 }, 1).unwrap();
    let asks = other.next(0, start);
    other.take(1, start + micro(10), asks);
    let answer = other.next(1, start + micro(10));
    other.take(0, start + micro(20), answer);
    assert_eq!(other.smoothed(0), micro(20));
    pair.0[1].submit(now, to, Request::Write { to: at(0, 0), bytes: b"8 bytes." }, 3).unwrap();
    let asks = pair.next(1, now);
    pair.take(0, now + micro(10), asks);
    let answer = pair.next(0, now + micro(10));
    pair.take(1, now + micro(30), answer);
    assert_eq!(pair.smoothed(1), micro(30));
}
