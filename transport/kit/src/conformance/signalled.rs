//! T14 signalled: bytes and their signal word as one operation; refused where a rail does not accept it.

use pelago_base::Rank;
use pelago_platform::{Failure, Operation, PostError};

use super::Fixture;
use super::world::{World, expect};

const HERE: Rank = Rank::new(0);
const THERE: Rank = Rank::new(1);

/// Number of repetitions of each length, so that errors of a transport with random delays are likely to show.
const ROUNDS: u64 = 8;

/// A rank that sees the word sees the bytes, for all lengths, with several operations in flight and no other order. Lengths below the minimum of the rail
/// are refused, and all lengths where the rail accepts none.
pub fn whoever_sees_the_word_sees_the_bytes<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (least, most) = limits(&mut world);
    for (data, flag) in world.segment_pairs() {
        let mut expected = world.fill(1);
        // Two words, and two places for bytes behind them.
        let room = most.min((world.segment_bytes(data) - 64) / 2);
        let lengths = [0, least.saturating_sub(1), least, least.saturating_add(1), 3000, 66_000, room];
        for length in lengths.into_iter().filter(|&length| length <= room) {
            for round in 1..=ROUNDS {
                let place = 64 + (round % 2) * room;
                let (to, at) = (world.address(THERE, data, place), world.address(THERE, flag, round % 2 * 8));
                let (bytes, word) = (vec![round as u8; length as usize], round << 32 | length);
                let operation = Operation::Signalled { to, bytes: &bytes, at, word };
                if length < least {
                    assert_eq!(world.post_or_refusal(HERE, operation), Err(PostError::Signalled), "{length} bytes (T14)");
                    continue;
                }
                let token = world.post(HERE, operation);
                world.until("the word is seen (T4)", |world| world.bytes(THERE, flag, round % 2 * 8, 8) == word.to_ne_bytes());
                assert!(
                    world.bytes(THERE, data, place, length) == bytes,
                    "round {round}: the word of {length} bytes overtook them (T14)"
                );
                expect(&mut expected, THERE, data, place, &bytes);
                expect(&mut expected, THERE, flag, round % 2 * 8, &word.to_ne_bytes());
                if round % 3 == 0 {
                    assert_eq!(world.wait(token), Ok(0));
                }
            }
        }
        world.quiet();
        world.expect_memory(&expected, "signalled writes");
    }
}

/// If the address of the bytes is invalid, neither the bytes nor the word are written; if that of the word is, the operation fails, and nothing else is
/// written (T8).
pub fn a_word_whose_bytes_lead_nowhere_is_not_written<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let (least, most) = limits(&mut world);
    for (data, flag) in world.segment_pairs() {
        let mut expected = world.fill(2);
        let end = world.segment_bytes(data);
        let outside = world.address(THERE, world.spare_segment(), 0);
        let (start, at) = (world.address(THERE, data, 64), world.address(THERE, flag, 0));
        for length in [least, least.saturating_add(1), 3000, 66_000].into_iter().filter(|&length| length <= most.min(end - 64)) {
            let bytes = vec![0x5A; length as usize];
            if length < least {
                continue;
            }
            for to in [world.address(THERE, data, end - length + 1), outside] {
                let result = world.run(HERE, Operation::Signalled { to, bytes: &bytes, at, word: 7 });
                assert_eq!(result, Err(Failure::OutOfBounds(to)), "{length} bytes");
                world.expect_memory(&expected, "bytes that lead nowhere (T14)");
            }
            let result = world.run(HERE, Operation::Signalled { to: start, bytes: &bytes, at: outside, word: 7 });
            assert_eq!(result, Err(Failure::OutOfBounds(outside)), "the word of {length} bytes");
            // The contract leaves open whether the bytes are written before the address of the word is found to be invalid.
            if world.bytes(THERE, data, 64, length) == bytes {
                expect(&mut expected, THERE, data, 64, &bytes);
            }
            world.expect_memory(&expected, "a word that leads nowhere");
        }
    }
}

/// The minimum and maximum number of bytes that the rail accepts with a signal.
fn limits<F: Fixture>(world: &mut World<F>) -> (u64, u64) {
    let network = world.transport(HERE).network();
    let rail = network.rail_to(THERE).number();
    (network.rails()[rail].signalled_bytes_min as u64, network.capabilities().inject_size as u64)
}
