//! T5 unordered except by `fence`: operations that a fence orders appear in this order to all ranks.

use pelago_base::{AtomicOperator, GlobalAddress, Rank, Width};
use pelago_platform::{Operation, Ordering};

use super::Fixture;
use super::world::{World, contents, local};

/// Number of repetitions of each case, so that errors of a transport with random delays are likely to show.
const ROUNDS: u64 = 24;

const POSTER: Rank = Rank::new(0);
const TARGET: Rank = Rank::new(1);
const THIRD: Rank = Rank::new(2);

/// A rank that sees a flag that was posted after a fence sees the effects of all operations before it, of every kind, also those of a copy to
/// a third rank.
pub fn later_effects_are_not_seen_without_earlier<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    for (data, flag) in world.segment_pairs() {
        world.fill(1);
        for round in 1..=ROUNDS {
            let (bytes, moved) = (vec![round as u8; 500], vec![!round as u8; 500]);
            world.memory(TARGET, data).part(2048, 500).expect("inside").write(&moved);
            let layout = world.layout();
            let at = |rank, segment, offset| layout.encode(rank, segment, offset).expect("inside");
            world.post(POSTER, Operation::Copy { from: at(TARGET, data, 2048), to: at(THIRD, data, 512), bytes: 500 });
            world.post(POSTER, Operation::Put { from: local(&bytes), to: at(TARGET, data, 1024) });
            world.post(POSTER, Operation::Write { to: at(TARGET, data, 64), bytes: &bytes[..64] });
            world.fence(POSTER, TARGET);
            let (raised, to) = (round.to_le_bytes(), at(TARGET, flag, 0));
            let token = match round % 3 {
                0 => world.post(POSTER, Operation::Write { to, bytes: &raised }),
                1 => world.post(POSTER, Operation::Put { from: local(&raised), to }),
                _ => world.post(POSTER, atomic(to, AtomicOperator::Swap, round)),
            };
            world.until("the flag is seen (T4)", |world| world.bytes(TARGET, flag, 0, 8) == raised);
            assert!(world.bytes(TARGET, data, 64, 64) == bytes[..64], "round {round}: the flag overtook a write");
            assert!(world.bytes(TARGET, data, 1024, 500) == bytes, "round {round}: the flag overtook a put");
            assert!(world.bytes(THIRD, data, 512, 500) == moved, "round {round}: the flag overtook a copy");
            assert!(world.wait(token).is_ok());
            world.quiet();
        }
    }
}

/// An operation that reads before a fence does not see data written after it.
pub fn reads_before_find_what_was_there<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 3);
    for segment in world.segments() {
        for round in 0..ROUNDS {
            let before = world.fill(round)[&(TARGET, segment)][..600].to_vec();
            let at = world.address(TARGET, segment, 0);
            let elsewhere = world.address(THIRD, segment, 1024);
            let fetched = local(&[0; 600]);
            let get = world.post(POSTER, Operation::Get { from: at, to: fetched });
            let load = world.post(POSTER, atomic(at, AtomicOperator::Load, 0));
            world.post(POSTER, Operation::Copy { from: at, to: elsewhere, bytes: 600 });
            world.fence(POSTER, TARGET);
            world.post(POSTER, Operation::Put { from: local(&[0xEE; 600]), to: at });
            assert_eq!(world.wait(get), Ok(0));
            assert!(contents(fetched) == before, "round {round}: a put overtook a get");
            let word = u64::from_le_bytes(before[..8].try_into().expect("eight bytes"));
            assert_eq!(world.wait(load), Ok(word), "round {round}: a put overtook a load");
            world.quiet();
            assert!(world.bytes(THIRD, segment, 1024, 600) == before, "round {round}: a put overtook a copy");
            assert!(world.bytes(TARGET, segment, 0, 600) == [0xEE; 600], "the put itself");
        }
    }
}

/// A long chain of operations, each fenced after the one before, needs no wait between them.
pub fn chains_need_no_wait<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    for segment in world.segments() {
        let at = world.address(TARGET, segment, 40);
        let links = (1..=2 * ROUNDS).map(|link| {
            let fetched = local(&[0; 8]);
            world.post(POSTER, Operation::Write { to: at, bytes: &link.to_le_bytes() });
            world.fence(POSTER, TARGET);
            let add = world.post(POSTER, atomic(at, AtomicOperator::Add, 1000));
            world.fence(POSTER, TARGET);
            world.post(POSTER, Operation::Get { from: at, to: fetched });
            world.fence(POSTER, TARGET);
            (link, add, fetched)
        });
        let links = links.collect::<Vec<_>>();
        world.quiet();
        for (link, add, fetched) in links {
            assert_eq!(world.wait(add), Ok(link), "an atomic after the write of {link}");
            assert_eq!(contents(fetched), (link + 1000).to_le_bytes(), "a get after adding to {link}");
        }
    }
}

/// Operations that a network [keeps in order](pelago_platform::Capabilities::ordering) are in order without a fence.
pub fn what_stays_in_order_by_itself_does<F: Fixture>(make: impl Fn(u32) -> F) {
    let mut world = World::new(make, 2);
    let ordering = world.capabilities(POSTER).ordering;
    for segment in world.segments() {
        world.fill(1);
        let [data, flag] = [1024, 0].map(|offset| world.address(TARGET, segment, offset));
        for round in (1..=ROUNDS).filter(|_| ordering >= Ordering::Writes) {
            let (bytes, raised) = (vec![round as u8; 500], round.to_le_bytes());
            world.post(POSTER, Operation::Put { from: local(&bytes), to: data });
            world.post(POSTER, Operation::Write { to: flag, bytes: &raised });
            world.until("the flag is seen (T4)", |world| world.bytes(TARGET, segment, 0, 8) == raised);
            assert!(world.bytes(TARGET, segment, 1024, 500) == bytes, "round {round}: a write overtook a put");
            if ordering == Ordering::All {
                let fetched = local(&[0; 8]);
                let add = world.post(POSTER, atomic(flag, AtomicOperator::Add, 1000));
                world.post(POSTER, Operation::Get { from: flag, to: fetched });
                world.post(POSTER, Operation::Write { to: flag, bytes: &[0; 8] });
                assert_eq!(world.wait(add), Ok(round), "round {round}: an atomic overtook a write, or was overtaken");
                world.quiet();
                assert_eq!(contents(fetched), (round + 1000).to_le_bytes(), "round {round}: a get overtook, or was overtaken");
            }
            world.quiet();
        }
    }
}

fn atomic(at: GlobalAddress, operator: AtomicOperator, operand: u64) -> Operation<'static> {
    Operation::Atomic { at, width: Width::Eight, operator, operand }
}
