//! Tests of a sender alone; `tests/mesh` and `tests/crowd` test whole conversations.

use pelago_base::Duration;

use super::*;
use crate::peer::round_trip::{Patience, Worth};
use crate::wire::{Acknowledgement, HEADER_BYTES, PIECE_BYTES, TAG_BYTES};

#[test]
fn a_piece_that_is_sent_again_has_room_for_the_words_of_its_first_time() {
    for (words, after, frames, piece_bytes) in (0..=WORDS_MAX).flat_map(|words| [(words, 0, 0, 1_000), (words, 7, 90, 500)]) {
        let place = if after == 0 { 8 } else { 16 };
        let head = HEADER_BYTES + Acknowledgement::FIXED_BYTES + 8 * words + place;
        let bytes = (head + frames + PIECE_BYTES + piece_bytes + TAG_BYTES) as u32;
        let pieces = [
            Piece::Put { operation: 0, offset: 0, bytes: piece_bytes, head: PIECE_BYTES as u16 },
            Piece::Answer { operation: 0, from: GlobalAddress::NULL, offset: 0, bytes: piece_bytes },
        ];
        for piece in pieces.map(Some) {
            let draft = || Draft { frames: vec![0; frames], ..Draft::default() };
            assert_eq!(Sent { draft: draft(), piece, after, bytes, ..Sent::default() }.words_max(), words);
            // As long as a datagram that was sent without any words.
            let bytes = bytes - 8 * words as u32;
            assert_eq!(Sent { draft: draft(), piece, after, bytes, ..Sent::default() }.words_max(), 0);
        }
        assert_eq!(Sent { after, bytes, ..Sent::default() }.words_max(), WORDS_MAX, "frames alone leave room for all");
    }
}

const DATAGRAM_BYTES: usize = 1200;

fn sender() -> Sender {
    Sender::new(Before::default(), DATAGRAM_BYTES, 1 << 20, Instant::ZERO)
}

/// Retransmits all datagrams that may be sent now; returns their number.
fn repeat(sender: &mut Sender) -> usize {
    let (now, round_trip) = (Instant::ZERO, RoundTrip::default());
    let next = |sender: &mut Sender| match sender.poll(now, &round_trip, true)? {
        Next::Again(sequence) => {
            sender.handle_sent(now, Left { sequence, number: sequence + 1, bytes: 100, prompt: true }, &round_trip);
            Some(sequence)
        }
        other => panic!("{other:?}"),
    };
    std::iter::from_fn(|| next(sender)).take(100).count()
}

/// Returns the number of datagrams that are sent at once to a peer that answers the first of five after `silences` tries.
fn repeated_after(silences: u32, worth: Worth) -> usize {
    let mut sender = sender();
    for number in 0..5 {
        let sequence = sender.push(Draft::default(), None, 0);
        sender.handle_sent(Instant::ZERO, Left { sequence, number, bytes: 100, prompt: true }, &RoundTrip::default());
    }
    for tries in 1..=silences {
        sender.handle_silence(DATAGRAM_BYTES as u64, worth);
        assert_eq!(repeat(&mut sender), 1, "after {tries} tries");
    }
    let nothing = Acknowledgement::parse(&mut crate::wire::Reader(&[0; 64])).unwrap();
    sender.handle_acknowledgement(Instant::ZERO, &Acknowledgement { next: 1, ..nothing }, worth, DATAGRAM_BYTES as u64);
    repeat(&mut sender)
}

#[test]
fn a_peer_that_has_not_answered_is_asked_by_one_datagram_at_a_time() {
    let late = Worth::default();
    let mut lossy = late;
    lossy.handle_needed();
    for (silences, worth) in [(5, late), (LATE_TRIES, late), (5, lossy), (SILENT_TRIES, lossy)] {
        assert_eq!(repeated_after(silences, worth), 4, "it has answered: all others at once");
    }
    // A late peer has them in its buffers, unless it has been silent for long.
    for silences in 0..LATE_TRIES {
        assert_eq!(repeated_after(silences, late), 0, "after {silences} tries");
    }
}

#[test]
fn nothing_follows_the_last_datagram_of_a_window() {
    let mut sender = sender();
    while sender.next() < SEQUENCE_WINDOW - 2 {
        sender.push(Draft::default(), None, 0);
    }
    assert!(sender.may_follow(DATAGRAM_BYTES as u64), "after one more, there is room for the last");
    sender.push(Draft::default(), None, 0);
    assert!(!sender.may_follow(DATAGRAM_BYTES as u64));
}

/// Returns the round trip of a fast link.
fn near() -> RoundTrip {
    let mut round_trip = RoundTrip::default();
    (0..50).for_each(|_| round_trip.sample(Duration::from_microseconds(5)));
    round_trip
}

/// Sends a new datagram; returns its sequence number.
fn send(sender: &mut Sender, now: Instant, prompt: bool) -> u64 {
    let sequence = sender.push(Draft::default(), None, 0);
    sender.handle_sent(now, Left { sequence, number: 100 + sequence, bytes: 100, prompt }, &near());
    sequence
}

/// Acknowledges all datagrams before `next`.
fn acknowledge(sender: &mut Sender, now: Instant, next: u64) {
    let nothing = Acknowledgement::parse(&mut crate::wire::Reader(&[0; 64])).unwrap();
    sender.handle_acknowledgement(now, &Acknowledgement { next, ..nothing }, Worth::default(), DATAGRAM_BYTES as u64);
}

#[test]
fn what_the_peer_may_keep_back_is_asked_for_later_than_what_it_answers_at_once() {
    let due = |sender: &Sender| {
        let due = sender.answer_due(&near(), Patience::default());
        due.map(|due| due.since(Instant::ZERO))
    };
    let (at_once, kept_back) = (Some(Duration::from_microseconds(100)), Some(Duration::from_microseconds(2_100)));
    let mut sender = sender();
    send(&mut sender, Instant::ZERO, true);
    assert_eq!(due(&sender), at_once);
    acknowledge(&mut sender, Instant::ZERO, 1);
    assert_eq!(due(&sender), None);
    let sequence = send(&mut sender, Instant::ZERO, false);
    assert_eq!(due(&sender), kept_back, "none that is answered at once is on its way any more");
    for (prompt, expected) in [(true, at_once), (false, kept_back)] {
        sender.handle_sent(Instant::ZERO, Left { sequence, number: 200, bytes: 100, prompt }, &near());
        assert_eq!(due(&sender), expected, "the latest transmission decides");
    }
    send(&mut sender, Instant::ZERO, true);
    assert_eq!(due(&sender), at_once, "one of two");
}

#[test]
fn what_the_peer_may_keep_back_is_asked_for_soon_while_questions_are_needed() {
    let (mut sender, mut patience) = (sender(), Patience::default());
    patience.worth.handle_needed();
    send(&mut sender, Instant::ZERO, false);
    let due = sender.answer_due(&near(), patience).unwrap();
    assert_eq!(due.since(Instant::ZERO), Duration::from_microseconds(25 + 150));
}

#[test]
fn what_is_overtaken_by_a_datagram_that_has_arrived_is_asked_for_at_once() {
    let mut sender = sender();
    for _ in 0..2 {
        send(&mut sender, Instant::ZERO, false);
    }
    let nothing = Acknowledgement::parse(&mut crate::wire::Reader(&[0; 64])).unwrap();
    let mut words = nothing.words;
    words[0] = 0b10;
    let said = Acknowledgement { next: 0, words, words_used: 1, ..nothing };
    sender.handle_acknowledgement(Instant::ZERO, &said, Worth::default(), DATAGRAM_BYTES as u64);
    let due = sender.answer_due(&near(), Patience::default()).unwrap();
    assert_eq!(due.since(Instant::ZERO), Duration::from_microseconds(100));
}

#[test]
fn what_is_on_its_way_for_a_round_trip_is_not_lost_when_the_peer_repeats() {
    let (mut sender, round_trip) = (sender(), near());
    assert!(!sender.handle_repetition(Instant::ZERO, &round_trip), "nothing is on its way");
    let sequence = send(&mut sender, Instant::ZERO, false);
    let answered = Instant::ZERO + round_trip.smoothed();
    assert!(!sender.handle_repetition(answered, &round_trip));
    assert_eq!(sender.poll(answered, &round_trip, true), None);
    let later = answered + Duration::from_nanoseconds(1);
    assert!(sender.handle_repetition(later, &round_trip));
    assert_eq!(sender.poll(later, &round_trip, true), Some(Next::Again(sequence)));
    // Regardless of the estimated round trip: a peer that repeats its request has waited for longer.
    let mut far = RoundTrip::default();
    far.sample(Duration::from_milliseconds(1));
    send(&mut sender, later, false);
    assert!(!sender.handle_repetition(later, &far) && sender.handle_repetition(later + Duration::from_microseconds(13), &far));
}
