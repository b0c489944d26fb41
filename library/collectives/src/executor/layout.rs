//! The memory of a plan, in tests: its parts do not overlap and lie in its region, and a slot has room for exactly the messages that are kept there.

use std::collections::BTreeMap;

use super::*;
use crate::{Algorithm, Collective};

const START: usize = 24;

fn layout(shape: Shape, position: u32, value_bytes: usize, slots: usize) -> Layout {
    let piece = shape.schedule(position);
    let kept = kept(&piece, value_bytes, (0, None), |_| false);
    let words = Layout::words(shape.size, slots, &piece, kept, value_bytes);
    let region = Region { start: START, words };
    let (awaits, owes, rails) = (piece.awaits(), piece.owes(), Rails::default());
    Layout { shape, count: shape.count, value_bytes, slots, piece, rest: None, awaits, owes, captured: 0, kept, region, rails }
}

/// A send of the values of `from` to a member.
fn send(to: u32, from: Vec<Span>) -> Step {
    let length = from.iter().map(Span::values).sum();
    Step::Send { to, from, message: ScheduledMessage { line: 0, at: 0, length } }
}

fn input(blocks: u32, length: usize) -> Span {
    Span::blocks(Buffer::Input, 0, blocks, length)
}

fn of_steps(steps: Vec<Step>) -> Schedule {
    Schedule { steps, ..Schedule::default() }
}

#[test]
fn every_word_of_a_plan_has_one_use() {
    for (operation, algorithm) in [
        (Collective::Allreduce, Algorithm::Flat),
        (Collective::Allgather, Algorithm::Ring),
        (Collective::Alltoall, Algorithm::Direct),
        (Collective::Scatter { root: 1 }, Algorithm::Binomial),
        (Collective::Barrier, Algorithm::RecursiveDoubling),
    ] {
        for (size, count, value_bytes, slots) in [(2, 1, 8, 2), (5, 700, 8, 3), (9, 3, 3, 8), (9, 1500, 12, 2)] {
            let shape = Shape { operation, algorithm, size, count, per_host: 1, commutes: true };
            for position in 0..size {
                let layout = layout(shape, position, value_bytes, slots);
                let say = |what: &str| format!("{what} of {shape:?} at {position}");
                let mut uses = BTreeMap::new();
                let mut put = |words: Range<usize>, what: String| {
                    for word in words {
                        assert!((START..START + layout.region.words).contains(&word), "{what}: word {word} is outside");
                        let before = uses.insert(word, what.clone());
                        assert_eq!(before, None, "{what} has the same word {word}");
                    }
                };
                put(START..START + size as usize, say("credits"));
                let values = layout.piece.room + layout.kept;
                for slot in 0..slots {
                    let lines = layout.lines_at(slot);
                    put(lines..lines + layout.piece.lines as usize * LINE, say("lines"));
                    let room = layout.room_at(slot);
                    put(room..room + (values * value_bytes).div_ceil(8), say("room"));
                    // Values of every type are aligned in the memory of a team, which begins at a line.
                    let is_aligned = [lines, room].iter().all(|word| word.is_multiple_of(LINE));
                    assert!(is_aligned, "{}", say("lines and room begin at a cache line"));
                }
                // Nothing is left over but what alignment takes: less than a line for credits and for each room.
                let unused = layout.region.words - uses.len();
                assert!(unused < LINE * (1 + slots), "{unused} unused words, {shape:?}");
                let flags: Vec<_> = layout.flags().collect();
                assert!(flags.iter().all(|flag| uses.contains_key(flag)));
                let heard = layout.piece.steps.iter().filter(|step| matches!(step, Step::Receive { .. })).count();
                assert_eq!(
                    flags.len(),
                    layout.awaits.len() + layout.piece.hears().len() + heard * slots,
                    "a flag of each message in each slot, and the credits"
                );
            }
        }
    }
}

#[test]
fn what_a_slot_keeps_is_what_a_network_sends_later() {
    let longest = INJECT_SIZE / 8;
    let schedule = of_steps(vec![
        send(1, vec![input(1, longest)]),
        send(2, vec![input(1, longest + 1)]),
        send(3, vec![input(2, longest)]),
        send(4, vec![input(1, longest + 7)]),
        Step::Copy { from: input(1, 5000), to: input(1, 5000) },
    ]);
    assert_eq!(kept(&schedule, 8, (0, None), |_| false), 4 * longest + 8, "not those of up to the inject size");
    assert_eq!(
        kept(&schedule, 8, (0, None), |member| member == 3),
        2 * longest + 8,
        "not those to a member whose memory is mapped"
    );
    assert_eq!(kept(&schedule, 8, (0, None), |_| true), 0);
    assert_eq!(kept(&schedule, 5, (0, None), |_| false), 2 * longest, "of shorter values");
    let captured = 8 * (longest + 7);
    assert_eq!(
        kept(&schedule, 8, (captured, None), |_| false),
        2 * longest,
        "not what the transport takes from where it is, which is one range"
    );
    let captured_whole = 8 * 2 * longest;
    assert_eq!(kept(&schedule, 8, (captured_whole, Some(longest)), |_| false), 0, "adjacent whole blocks are one range");
    assert_eq!(kept(&schedule, 8, (captured_whole, Some(longest + 1)), |_| false), 2 * longest, "parts of blocks are not");
    assert_eq!(kept(&schedule, 8, (captured - 1, None), |_| false), 3 * longest + 7, "no more than that");
}

#[test]
fn a_chunk_is_as_long_as_what_is_gathered_or_combined_at_once() {
    let shape =
        Shape { operation: Collective::Allgather, algorithm: Algorithm::Flat, size: 3, count: 1, per_host: 1, commutes: true };
    let chunk = |value_bytes, steps| {
        let layout = Layout { piece: of_steps(steps), ..layout(shape, 0, value_bytes, 2) };
        layout.chunk()
    };
    let message = ScheduledMessage { line: 0, at: 0, length: 9 };
    assert_eq!(chunk(8, vec![send(1, vec![input(1, 7)])]), 0, "one block is sent from where it is");
    assert_eq!(chunk(8, vec![send(1, vec![input(2, 7)])]), 14);
    assert_eq!(chunk(8, vec![send(1, vec![input(1, 7), input(1, 4)])]), 11);
    assert_eq!(chunk(8, vec![Step::Receive { from: 1, message, then: Then::Store(vec![input(3, 3)]) }]), 0);
    assert_eq!(chunk(8, vec![Step::Receive { from: 1, message, then: Then::Combine(input(3, 3), Side::Left) }]), 9);
    assert_eq!(chunk(8, vec![Step::Fetch { from: 1, at: 0, then: Then::Combine(input(2, 4), Side::Right) }]), 8);
    assert_eq!(chunk(8, vec![send(1, vec![input(2, 4000)])]), CHUNK_BYTES / 8, "no longer than stays in a cache");
    assert_eq!(chunk(2 * CHUNK_BYTES, vec![send(1, vec![input(2, 3)])]), 1);
}

#[test]
fn temporary_memory_is_enough_for_both_lengths_of_a_piece() {
    let shape =
        Shape { operation: Collective::Allreduce, algorithm: Algorithm::Flat, size: 3, count: 4, per_host: 1, commutes: true };
    let of = |temporary| Schedule { temporary, ..Schedule::default() };
    for (piece, rest, most) in [(5, None, 5), (5, Some(3), 5), (3, Some(6), 6)] {
        let layout = Layout { piece: of(piece), rest: rest.map(of), ..layout(shape, 0, 8, 2) };
        assert_eq!(layout.temporary(), most);
    }
    for (count, pieces) in [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)] {
        assert_eq!(Layout { count, ..layout(shape, 0, 8, 2) }.pieces(), pieces, "{count} values in pieces of 4");
    }
}

/// The parts of the last piece belong to other members than those of the pieces before, but fit the same memory.
#[test]
fn the_last_piece_fits_the_memory_of_a_slot() {
    let shapes = Collective::ALL.into_iter().flat_map(|operation| Algorithm::ALL.map(|algorithm| (operation, algorithm)));
    for (operation, algorithm) in shapes {
        for size in [2, 3, 5, 8, 9, 12] {
            let shape = |count| Shape { operation, algorithm, size, count, per_host: 2, commutes: true };
            if !shape(1).is_possible(true) {
                continue;
            }
            // Pieces of so many values, at each member.
            let all = |count| (0..size).map(|position| shape(count).schedule(position)).collect::<Vec<_>>();
            let all: Vec<_> = (0..20).map(all).collect();
            for (count, rest) in (2..all.len()).flat_map(|count| (1..count).map(move |rest| (count, rest))) {
                let (piece, last) = (&all[count], &all[rest]);
                assert!(piece[0].lines == last[0].lines && piece[0].room >= last[0].room, "{:?} and {rest}", shape(count));
                for value_bytes in [1, 2, 3, 5, 9].map(|inject| INJECT_SIZE / inject) {
                    let most = |schedules: &[Schedule]| {
                        schedules.iter().map(|schedule| kept(schedule, value_bytes, (0, None), |_| false)).max()
                    };
                    assert!(most(piece) >= most(last), "{:?} and {rest}, values of {value_bytes} bytes", shape(count));
                }
            }
        }
    }
}

#[test]
fn members_confirm_every_half_of_the_slots() {
    let shape = Shape {
        operation: Collective::Broadcast { root: 0 },
        algorithm: Algorithm::Flat,
        size: 3,
        count: 1,
        per_host: 1,
        commutes: true,
    };
    let every = |slots| layout(shape, 0, 8, slots).told_every();
    assert_eq!([1, 2, 3, 4, 7, 512].map(every), [1, 1, 1, 2, 3, 256]);
}

#[test]
fn a_line_has_room_for_its_flag_and_what_fits_beside_it() {
    assert_eq!((beside::<u8>(), beside::<u64>(), beside::<u128>(), beside::<Wide>()), (Some(1), Some(1), Some(2), None));
    let most = |fits: fn(usize) -> bool| (0..100).take_while(|&length| fits(length)).last();
    assert_eq!(most(fits_line::<u8>), Some(56));
    assert_eq!(most(fits_line::<[u8; 3]>), Some(18));
    assert_eq!(most(fits_line::<u64>), Some(7));
    assert_eq!(most(fits_line::<u128>), Some(3));
}

/// Aligned to a whole line, so that no value fits behind a flag in its line.
#[repr(align(64))]
struct Wide;
