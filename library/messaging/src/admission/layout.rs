//! Tests of the layout of the words of an admission: disjoint, inside its memory, the same for senders and receiver.

use std::collections::BTreeMap;

use super::{Admission, CLAIMS, LINE, Receivers, SENDERS};
use crate::credit::Ticket;
use crate::settings::{Placement, Settings};
use pelago_base::Rank;
use pelago_test_support::threads::{Platform, run};

const RANKS: u32 = 5;

/// Admission with two shares, each of four slots and eight places for waiting senders, held by ranks 1 and 3.
fn split() -> Settings {
    Settings::permits(8).with_waiters(16).placed(Placement::evenly(2, RANKS, false))
}

#[test]
fn every_word_has_its_own_place() {
    run(Platform::Mapped, RANKS, |world| {
        let admission = Admission::new(world, Receivers::One(Rank::new(0)), split()).unwrap();
        let index = |holder: u32, at: pelago_rma::GlobalPtr<u64>| {
            (at.address().bits() - admission.words.at(Rank::new(holder), 0).address().bits()) as usize / 8
        };
        let mut places = BTreeMap::new();
        let mut put = |at: usize, what: String| {
            assert!(at < admission.words.len(), "{what} at {at} is past the end");
            let before = places.insert(at, what.clone());
            assert_eq!(before, None, "{what} lies at the same place");
        };
        for (number, holder) in [(0, 1), (1, 3)] {
            let share = admission.share(Rank::new(0), number);
            assert_eq!(share.holder, Rank::new(holder));
            put(index(holder, admission.taken_at(share)), format!("taken of share {number}"));
            put(index(holder, admission.consumed_at(share)), format!("consumed of share {number}"));
        }
        for sender in 0..SENDERS {
            put(admission.sender_index(sender), format!("the receiver of sender {sender}"));
            put(admission.bell_index(sender), format!("the bell of sender {sender}"));
            for turn in 0..CLAIMS as u64 {
                put(admission.claim_index(sender, turn), format!("claim {turn} of sender {sender}"));
                assert_eq!(
                    admission.claim_index(sender, turn + CLAIMS as u64),
                    admission.claim_index(sender, turn),
                    "they take turns"
                );
                // The receiver reads the words of a sender in one get.
                assert!((1..=CLAIMS).contains(&(admission.claim_index(sender, turn) - admission.sender_index(sender))));
            }
        }
        for share in 0..admission.shares() {
            for ticket in 0..8 {
                put(
                    admission.waiter_index(share, Ticket::new(ticket)),
                    format!("who waits for ticket {ticket} of share {share}"),
                );
                let next_lap = admission.waiter_index(share, Ticket::new(ticket + 8));
                assert_eq!(next_lap, admission.waiter_index(share, Ticket::new(ticket)));
            }
        }
        assert_eq!((admission.server(1).slots, admission.waiters()), (4, 16));
        // Counters of different shares do not share a line.
        let lines =
            [0, 1].map(|number| index(number + number + 1, admission.taken_at(admission.share(Rank::new(0), number))) / LINE);
        assert_ne!(lines[0], lines[1]);
    });
}

#[test]
fn a_sender_uses_the_share_whose_holder_is_nearest() {
    run(Platform::Mapped, RANKS, |world| {
        let admission = Admission::new(world, Receivers::One(Rank::new(0)), split()).unwrap();
        let nearest = [0, 1, 2, 3, 4].map(|rank| admission.nearest(Rank::new(rank)));
        assert_eq!(nearest, [0, 0, 0, 1, 1]);
        let admission = Admission::new(world, Receivers::Each, Settings::permits(8)).unwrap();
        assert_eq!(
            (admission.nearest(world.rank()), admission.shares(), admission.server(0).slots, admission.waiters()),
            (0, 1, 8, 8)
        );
    });
}
