//! Tests of puts and gets whose ends are blocks: packed in transit, scattered on arrival, once, all or nothing.

use pelago_base::{Block, Blocks, Duration, Event, GlobalAddress, Shape};
use pelago_protocol::{Failure, LIST_BLOCKS_MAX, Request};

use crate::memory::{Local, SEGMENT_BYTES, at};
use crate::network::{CARRIED, Departure, Network, Random, Weather};

/// Blocks of memory, owned by the test.
#[derive(Clone, Debug)]
enum Owned {
    Shape(Shape),
    List(Vec<Block>),
}

impl Owned {
    fn as_blocks(&self) -> Blocks<'_> {
        match self {
            Self::Shape(shape) => Blocks::Shape(shape),
            Self::List(list) => Blocks::List(list),
        }
    }

    /// Returns the offset of each byte, in transfer order.
    fn places(&self) -> Vec<usize> {
        let blocks: Vec<_> = match self {
            Self::Shape(shape) => shape.offsets().map(|offset| (offset, shape.block)).collect(),
            Self::List(list) => list.iter().map(|block| (block.offset, block.bytes)).collect(),
        };
        blocks.into_iter().flat_map(|(offset, bytes)| offset as usize..(offset + bytes) as usize).collect()
    }

    /// Returns random blocks of up to some thousand bytes that do not overlap.
    fn random(random: &mut Random) -> Self {
        if random.below(2) == 0 {
            return Self::Shape(shape(random));
        }
        let mut end = 0;
        let mut list: Vec<_> = (0..random.below(300))
            .map(|_| {
                let longest = [9, 9, 9, 200][random.below(4) as usize];
                let block = Block { offset: end + random.below(20), bytes: random.below(longest) };
                end = block.offset + block.bytes;
                block
            })
            .collect();
        fastrand::Rng::with_seed(random.next()).shuffle(&mut list);
        Self::List(list)
    }
}

/// Returns a random shape of up to some thousand bytes whose blocks do not overlap, in one to three dimensions.
fn shape(random: &mut Random) -> Shape {
    let longest = [8, 8, 64, 3_000][random.below(4) as usize];
    let block = 1 + random.below(longest);
    let counts = [6, 5, 12].map(|most| 1 + random.below(most));
    let fast = block + random.below(30);
    let middle = fast * counts[2] + random.below(40);
    Shape { block, counts, strides: [middle * counts[1] + random.below(50), middle, fast] }
}

/// Returns a random shape of `bytes` bytes, for the local end of an operation.
fn local_shape(random: &mut Random, bytes: u64) -> Shape {
    let blocks = (1..40).filter(|count| bytes.is_multiple_of(*count)).collect::<Vec<_>>();
    let count = blocks[random.below(blocks.len() as u64) as usize];
    let block = bytes / count;
    Shape::strided(count, block, block + random.below(9))
}

fn places(shape: &Shape) -> Vec<usize> {
    Owned::Shape(*shape).places()
}

/// As `transfers_are_cut_between_words`, of blocks that are longer than a datagram, or not as long.
#[test]
fn blocks_are_cut_between_words() {
    for (datagram_bytes, block) in
        [1_200, 1_201, 1_207, 8_972].into_iter().flat_map(|bytes| [16, 24, 3_000, 20_000].map(|block| (bytes, block)))
    {
        let blocks = [
            Owned::Shape(Shape::strided(5, block, block + 16)),
            Owned::List((0..5).map(|number| Block { offset: number * (block + 16), bytes: block - number % 2 * 8 }).collect()),
        ];
        for (kind, blocks) in blocks.iter().flat_map(|blocks| [(0, blocks), (1, blocks)]) {
            let mut network = Network::with(2, 1, Weather::FAIR, datagram_bytes, kind == 1);
            let bytes = blocks.places().len() as u64;
            let (local, near) = (network.local(0, vec![7; bytes as usize]), Shape::strided(1, bytes, 0));
            let there = at(network.layout, 1, 1, 16);
            let request = match kind {
                0 => Request::PutBlocks { from: local, from_shape: &near, to: there, blocks: blocks.as_blocks() },
                _ => Request::GetBlocks { from: there, blocks: blocks.as_blocks(), to: local, to_shape: &near },
            };
            network.submit(0, 1, request, 0);
            network.quiet();
            assert!(network.ended.values().all(Result::is_ok));
            let accesses = network.memories[1].accesses.borrow();
            let ends: Vec<_> = accesses.iter().flat_map(|range| [range.start, range.end]).collect();
            assert!(
                accesses.len() >= 5 && ends.iter().all(|end| end.is_multiple_of(8)),
                "{datagram_bytes} {kind} {blocks:?}: {ends:?}"
            );
        }
    }
}

/// Random puts and gets of blocks, each to separate memory, along with short writes, over a network that loses, repeats, delays and reorders.
#[test]
fn operations_on_blocks_agree_with_an_oracle() {
    (0..400).for_each(|seed| oracle(0xB10C_0000 + seed));
}

fn oracle(seed: u64) {
    let mut random = Random::new(seed);
    let weather = Weather::foul(&mut random);
    let datagram_bytes = [1_200, 1_400, 8_972, 65_507][random.below(4) as usize];
    let mut network = Network::with(2, random.next(), weather, datagram_bytes, random.below(2) == 1);
    for segment in network.memories[1].segments.iter_mut().flatten() {
        segment.copy_from_slice(&random.bytes(SEGMENT_BYTES));
    }
    let mut expected = network.memories[1].segments.clone();
    // Each operation has its own part of the segment, so that order does not matter.
    let (operations, mut start) = (1 + random.below(12), [0_usize; 2]);
    let mut got: Vec<(Local, Vec<u8>)> = Vec::new();
    for token in 0..operations {
        let blocks = Owned::random(&mut random);
        let (moved, segment) = (blocks.places(), random.below(2) as usize);
        let extent = moved.iter().max().map_or(0, |last| last + 1);
        if start[segment] + extent > SEGMENT_BYTES {
            break;
        }
        let place = at(network.layout, 1, segment as u32 + 1, start[segment] as u64);
        let near = local_shape(&mut random, moved.len() as u64);
        let near_places = places(&near);
        let local_bytes = random.bytes(near.extent().unwrap() as usize + 3);
        let local = network.local(0, local_bytes.clone());
        let there = expected[segment].as_mut().unwrap();
        if random.below(2) == 0 {
            for (&to, &from) in moved.iter().zip(&near_places) {
                there[start[segment] + to] = local_bytes[from];
            }
            let put = Request::PutBlocks { from: local, from_shape: &near, to: place, blocks: blocks.as_blocks() };
            network.submit(0, 1, put, token);
        } else {
            let mut filled = local_bytes;
            for (&from, &to) in moved.iter().zip(&near_places) {
                filled[to] = there[start[segment] + from];
            }
            got.push((local, filled));
            let get = Request::GetBlocks { from: place, blocks: blocks.as_blocks(), to: local, to_shape: &near };
            network.submit(0, 1, get, token);
        }
        start[segment] += extent;
    }
    network.quiet();
    let about = network.about();
    assert!(network.ended.values().all(|result| *result == Ok(0)), "{about}: {:?}", network.ended);
    assert!(network.memories[1].segments == expected, "{about}: what was put, and nothing else");
    for (Local(number), filled) in got {
        assert!(network.memories[0].locals[number as usize] == filled, "{about}: what was got, and nothing else");
    }
    assert!(network.endpoints.iter().all(|endpoint| endpoint.operations() == 0), "{about}");
    assert_eq!([0, 1].map(|rank| network.count(rank, Event::DatagramMalformed)), [0, 0], "{about}");
}

/// Returns single numbers at `count` random offsets in `bytes` bytes.
fn numbers(count: u64, bytes: u64) -> Owned {
    let mut random = Random::new(count);
    Owned::List((0..count).map(|_| Block { offset: 8 * random.below(bytes / 8), bytes: 8 }).collect())
}

/// Returns the datagrams and bytes that rank 0 and rank 1 send for one operation, after their first exchange.
fn traffic(datagram_bytes: usize, is_put: bool, blocks: &Owned) -> [(u64, usize); 2] {
    let mut network = Network::with(2, 1, Weather::FAIR, datagram_bytes, false);
    let write = Request::Write { to: at(network.layout, 1, 2, 0), bytes: b"hello" };
    network.submit(0, 1, write, 0);
    network.quiet();
    let packed = Shape::contiguous(blocks.as_blocks().bytes().unwrap());
    let local = network.local(0, vec![1; packed.block as usize]);
    let place = at(network.layout, 1, 1, 0);
    network.recorded = Some(Vec::new());
    let blocks = blocks.as_blocks();
    let request = if is_put {
        Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks }
    } else {
        Request::GetBlocks { from: place, blocks, to: local, to_shape: &packed }
    };
    network.submit(0, 1, request, 1);
    assert_eq!(network.wait(0, 1), Ok(0));
    let sent = network.recorded.take().unwrap();
    [0, 1].map(|rank| {
        let by = sent.iter().filter(|departure| departure.from == rank);
        (by.clone().count() as u64, by.map(|departure| departure.datagram.len()).sum())
    })
}

#[test]
fn two_thousand_numbers_at_any_places_are_one_datagram_each_way() {
    let blocks = numbers(2_000, SEGMENT_BYTES as u64);
    // Four bytes of a list and eight of data for each number, and the overhead of the datagram.
    let [put, acknowledged] = traffic(65_507, true, &blocks);
    assert!(put.0 == 1 && put.1 < 2_000 * 12 + 120 && acknowledged.0 == 1, "{put:?} {acknowledged:?}");
    let [asked, answered] = traffic(65_507, false, &blocks);
    // The answer is acknowledged.
    assert_eq!((asked.0, answered.0), (2, 1));
    assert!(asked.1 < 2_000 * 4 + 180 && answered.1 < 2_000 * 8 + 120, "{asked:?} {answered:?}");
    // With Ethernet datagrams, as many as the bytes need.
    let [put, _] = traffic(1_400, true, &blocks);
    assert!(put.0 <= 20, "{put:?}");
    let [asked, answered] = traffic(1_400, false, &blocks);
    // Eight requests, fifteen answers, and their acknowledgements.
    assert!(asked.0 + answered.0 <= 32 && asked.1 < 10_000 && answered.1 < 18_000, "{asked:?} {answered:?}");
}

#[test]
fn a_face_of_single_numbers_takes_as_many_datagrams_as_a_packed_one() {
    for counts in [[1, 1, 4_096], [1, 64, 64], [16, 16, 16]] {
        let face = Owned::Shape(Shape { block: 8, counts, strides: [4 * 4_096, 960, 48] });
        for datagram_bytes in [1_400, 65_507] {
            for is_put in [true, false] {
                let packed = Owned::Shape(Shape::contiguous(8 * 4_096));
                let [face, packed] = [&face, &packed].map(|blocks| traffic(datagram_bytes, is_put, blocks));
                assert!(face[0].0 <= packed[0].0 + 1 && face[1].0 <= packed[1].0 + 1, "{face:?} {packed:?}");
                // A shape takes about twenty bytes.
                assert!(face[0].1 <= packed[0].1 + 40 * packed[0].0 as usize, "{face:?} {packed:?}");
            }
        }
    }
}

#[test]
fn nothing_is_written_unless_all_blocks_may_be() {
    let all = SEGMENT_BYTES as u64;
    let past = [
        Owned::Shape(Shape::strided(100, 100, (all - 100) / 99 + 1)),
        Owned::Shape(Shape { block: 8, counts: [2, 50, 50], strides: [all - 7, 400, 8] }),
        Owned::List(vec![
            Block { offset: 0, bytes: 4_000 },
            Block { offset: all - 5, bytes: 8 },
            Block { offset: 5_000, bytes: 8 },
        ]),
        Owned::List((0..4_000).rev().map(|number| Block { offset: number * 70, bytes: 8 }).collect()),
    ];
    for (seed, blocks) in (0..).zip(past) {
        let mut network = Network::new(2, seed, Weather { lost: 200_000, repeated: 200_000, delay: (1_000, 90_000) });
        let packed = Shape::contiguous(blocks.as_blocks().bytes().unwrap());
        let local = network.local(0, vec![7; packed.block as usize]);
        let place = at(network.layout, 1, 1, 0);
        let outside = Err(Failure::OutOfBounds(place));
        let put = Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks: blocks.as_blocks() };
        network.submit(0, 1, put, 0);
        assert_eq!(network.wait(0, 0), outside, "{blocks:?}");
        let get = Request::GetBlocks { from: place, blocks: blocks.as_blocks(), to: local, to_shape: &packed };
        network.submit(0, 1, get, 1);
        assert_eq!(network.wait(0, 1), outside, "{blocks:?}");
        network.quiet();
        assert_eq!(network.memories[1].written, 0, "of no block");
        assert!(network.memories[0].locals[0].iter().all(|&byte| byte == 7), "nothing came");
    }
}

#[test]
fn blocks_past_all_memory_fail() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let (place, local) = (at(network.layout, 1, 1, 0), network.local(0, vec![7; 8]));
    let list = [Block { offset: u64::MAX, bytes: 8 }];
    let (far, packed) = (Shape::strided(2, 4, u64::MAX), Shape::contiguous(8));
    for (token, blocks) in [Blocks::List(&list), Blocks::Shape(&far)].into_iter().enumerate() {
        network.submit(0, 1, Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks }, 2 * token as u64);
        network.submit(0, 1, Request::GetBlocks { from: place, blocks, to: local, to_shape: &packed }, 2 * token as u64 + 1);
    }
    network.quiet();
    assert_eq!(network.ended.into_values().collect::<Vec<_>>(), [Err(Failure::OutOfBounds(place)); 4]);
}

#[test]
fn an_answer_that_would_have_no_end_is_refused() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    let (place, local) = (at(network.layout, 1, 1, 0), network.local(0, vec![7; 8]));
    let (again, packed) = (Shape::strided(1 << 40, 8, 0), Shape::contiguous(1 << 43));
    let get = Request::GetBlocks { from: place, blocks: Blocks::Shape(&again), to: local, to_shape: &packed };
    network.submit(0, 1, get, 0);
    assert_eq!(network.wait(0, 0), Err(Failure::OutOfBounds(place)));
    assert_eq!(network.count(1, Event::DatagramSent), 1);
    // A list may not repeat the same bytes beyond a mebibyte.
    for (token, blocks, outcome) in [(1, 10, Ok(0)), (2, 11, Err(Failure::OutOfBounds(place)))] {
        let (list, packed) = (vec![Block { offset: 0, bytes: 100_000 }; blocks], Shape::contiguous(100_000 * blocks as u64));
        let local = network.local(0, vec![0; packed.block as usize]);
        let get = Request::GetBlocks { from: place, blocks: Blocks::List(&list), to: local, to_shape: &packed };
        network.submit(0, 1, get, token);
        assert_eq!(network.wait(0, token), outcome, "{blocks} times");
    }
}

/// Every datagram of a put arrives again, in any order, after the operation has ended and its target has been overwritten.
#[test]
fn a_put_to_blocks_has_no_effect_after_its_end() {
    for (seed, blocks) in [numbers(1_500, 100_000), Owned::Shape(Shape::strided(900, 24, 100))].into_iter().enumerate() {
        let mut network = Network::new(2, seed as u64, Weather { repeated: 100_000, ..Weather::FAIR });
        let packed = Shape::contiguous(blocks.as_blocks().bytes().unwrap());
        let local = network.local(0, vec![1; packed.block as usize]);
        let place = at(network.layout, 1, 1, 0);
        network.recorded = Some(Vec::new());
        network.submit(0, 1, Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks: blocks.as_blocks() }, 0);
        assert_eq!(network.wait(0, 0), Ok(0));
        let mut sent = network.recorded.take().unwrap();
        sent.retain(|departure| departure.to == 1);
        assert!(sent.len() > 10);
        let written = network.memories[1].written;
        network.memories[1].segments[0].as_mut().unwrap().fill(9);
        fastrand::Rng::with_seed(seed as u64).shuffle(&mut sent);
        for Departure { mut datagram, .. } in sent {
            assert!(network.deliver(1, &mut datagram).is_err());
        }
        network.quiet();
        assert_eq!(network.memories[1].written, written);
        assert!(network.memories[1].segments[0].as_ref().unwrap().iter().all(|&byte| byte == 9));
    }
}

#[test]
fn memory_of_blocks_is_read_until_they_have_arrived() {
    let long = (0..3_500).map(|number| Block { offset: 70 * number, bytes: 60 }).collect();
    for blocks in [Owned::List(long), Owned::Shape(Shape::strided(20_000, 8, 12))] {
        let mut network = Network::new(2, 1, Weather::FAIR);
        let bytes = blocks.as_blocks().bytes().unwrap();
        let packed = Shape::contiguous(bytes);
        let local = network.local(0, vec![0; bytes as usize]);
        let place = at(network.layout, 1, 1, 1_000);
        network.submit(0, 1, Request::GetBlocks { from: place, blocks: blocks.as_blocks(), to: local, to_shape: &packed }, 0);
        let is_read = |network: &Network| network.endpoints[1].is_reading(at(network.layout, 1, 1, 0), SEGMENT_BYTES as u64);
        while !is_read(&network) {
            assert!(network.step());
        }
        // The memory is no longer registered, which is reported to the requester.
        network.memories[1].segments[0] = None;
        assert!(matches!(network.wait(0, 0), Err(Failure::OutOfBounds(_))));
        network.quiet();
        assert!(!is_read(&network) && network.endpoints[1].operations() == 0);
    }
}

#[test]
fn a_fence_orders_blocks() {
    let both = [numbers(900, 60_000), Owned::Shape(Shape::strided(900, 8, 64))];
    for (seed, blocks) in (0..20).flat_map(|seed| both.iter().map(move |blocks| (seed, blocks))) {
        let mut network = Network::new(2, seed, Weather { lost: 200_000, repeated: 100_000, delay: (1_000, 90_000) });
        let packed = Shape::contiguous(blocks.as_blocks().bytes().unwrap());
        let [ones, twos, into] = [1, 2, 0].map(|byte| network.local(0, vec![byte; packed.block as usize]));
        let place = at(network.layout, 1, 1, 0);
        for (token, from) in [(0, ones), (1, twos)] {
            network.submit(0, 1, Request::PutBlocks { from, from_shape: &packed, to: place, blocks: blocks.as_blocks() }, token);
            network.fence(0, 1);
        }
        network.submit(0, 1, Request::GetBlocks { from: place, blocks: blocks.as_blocks(), to: into, to_shape: &packed }, 2);
        network.fence(0, 1);
        // The get does not return data that is written after it.
        network.submit(0, 1, Request::Put { from: ones, to: place, bytes: packed.block }, 3);
        network.quiet();
        assert_eq!(network.ended.into_values().collect::<Vec<_>>(), [Ok(0); 4], "{seed}");
        let Local(number) = into;
        assert!(network.memories[0].locals[number as usize].iter().all(|&byte| byte == 2), "{seed}");
    }
}

#[test]
fn blocks_of_lists_are_bounded_and_what_has_no_room_is_done_later() {
    let mut network = Network::new(2, 1, Weather::FAIR);
    network.fate = Box::new(|_| None);
    let (place, local) = (at(network.layout, 1, 1, 0), network.local(0, vec![0; 8 * LIST_BLOCKS_MAX]));
    let list: Vec<_> = (0..LIST_BLOCKS_MAX as u64).map(|number| Block { offset: 24 * number, bytes: 8 }).collect();
    let (blocks, packed) = (Blocks::List(&list), Shape::contiguous(8 * list.len() as u64));
    let request = |is_put: bool| -> Request<'_, Local> {
        if is_put {
            Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks }
        } else {
            Request::GetBlocks { from: place, blocks, to: local, to_shape: &packed }
        }
    };
    let taken = (0..100).take_while(|&token| network.hold(0, 1, request(token % 2 == 0), token)).count() as u64;
    assert_eq!(taken, 65_536 / LIST_BLOCKS_MAX as u64);
    // Shapes do not count against the limit.
    let face = Shape::strided(1 << 12, 8, 24);
    assert!(network.hold(
        0,
        1,
        Request::PutBlocks { from: local, from_shape: &packed, to: place, blocks: Blocks::Shape(&face) },
        100
    ));
    network.fate = Box::new(|_| CARRIED);
    network.pump(0);
    network.submit(0, 1, request(true), 101);
    network.quiet();
    assert_eq!(network.ended.len() as u64, taken + 2);
    assert!(network.ended.values().all(|result| *result == Ok(0)));
}

/// Many ranks request lists from one whose answers are not sent: the lists that it keeps are bounded, and all are answered in the end.
#[test]
fn lists_that_are_answered_are_bounded() {
    const ASKING: usize = 40;
    let mut network = Network::with(ASKING as u32 + 1, 1, Weather::FAIR, 65_507, false);
    // After a first exchange, ranks know the maximum datagram size.
    for rank in 1..=ASKING {
        network.submit(rank, 0, Request::Write { to: at(network.layout, 0, 2, 0), bytes: b"hello" }, 1);
    }
    network.quiet();
    let speaks = std::rc::Rc::new(std::cell::Cell::new(false));
    network.fate = Box::new({
        let speaks = speaks.clone();
        move |departure| {
            let is_answer = departure.from == 0 && departure.datagram[3] & 1 != 0;
            (!is_answer || speaks.get()).then_some(Duration::ZERO)
        }
    });
    let list: Vec<_> = (0..LIST_BLOCKS_MAX as u64).map(|number| Block { offset: 24 * number, bytes: 8 }).collect();
    let packed = Shape::contiguous(8 * list.len() as u64);
    for rank in 1..=ASKING {
        let to = network.local(rank, vec![0; 8 * list.len()]);
        let from: GlobalAddress = at(network.layout, 0, 1, 0);
        assert!(network.hold(rank, 0, Request::GetBlocks { from, blocks: Blocks::List(&list), to, to_shape: &packed }, 0));
        network.pump(rank);
    }
    network.run_until(network.now + Duration::from_milliseconds(100));
    assert_eq!(network.endpoints[0].operations(), 17, "65,536 blocks, and a list more");
    // The lists of this rank have room beside those.
    let local = network.local(0, vec![0; 8 * list.len()]);
    let put = |token| {
        let (blocks, to) = (Blocks::List(&list), at(network.layout, 1, 1, 0));
        network.hold(0, 1, Request::PutBlocks { from: local, from_shape: &packed, to, blocks }, token)
    };
    assert_eq!((10..100).map(put).take_while(|&has_room| has_room).count(), 16);
    speaks.set(true);
    network.quiet();
    assert_eq!(network.ended.len(), 2 * ASKING + 16);
    assert!(network.ended.values().all(|result| *result == Ok(0)));
    assert_eq!(network.count(0, Event::DatagramEarly), 0, "what has no room waits");
}
