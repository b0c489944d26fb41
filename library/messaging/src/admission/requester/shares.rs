//! Tests of the share that a sender uses, its registration, and its operations in flight.

use super::*;
use crate::admission::{Granter, Receivers};
use crate::settings::{Placement, Settings};
use pelago_test_support::threads::{Platform, run};

const RECEIVER: Rank = Rank::new(2);

/// Four shares of two slots, each held by another rank; the receiver issues all operations, and its own share has its rank number.
#[test]
fn a_sender_borrows_when_its_share_is_used_up_and_its_last_message_consumed() {
    for counting in [Counting::OneWord, Counting::TwoWords] {
        run(Platform::Mapped, 4, |world| {
            let proxies = world.ranks().collect();
            let settings = Settings { counting, ..Settings::permits(8).placed(Placement::Split { proxies, borrow: true }) };
            let admission = Admission::new(world, Receivers::One(RECEIVER), settings).unwrap();
            if world.rank() == RECEIVER {
                let (mut requester, mut other) =
                    (Requester::new(&admission, RECEIVER).unwrap(), Requester::new(&admission, RECEIVER).unwrap());
                let mut granter = Granter::new(&admission);
                let take =
                    |requester: &mut Requester<'_, '_>, count| (requester.take(count).unwrap().number(), requester.share());
                assert_eq!(take(&mut requester, 2), (0, 2));
                assert_eq!(take(&mut requester, 1), (2, 2));
                assert_eq!(take(&mut requester, 1), (3, 2), "its last message may come after one by another share");
                (0..4).for_each(|_| granter.give(2).unwrap());
                assert_eq!(take(&mut other, 2), (4, 2));
                assert_eq!(take(&mut requester, 1), (0, 3), "the next share that is not used up");
                assert_eq!(take(&mut other, 1), (6, 2));
                (0..3).for_each(|_| granter.give(2).unwrap());
                assert_eq!(take(&mut other, 1), (7, 2), "its own is not used up any more");
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_registration_replaces_an_earlier_one_and_no_later_one() {
    run(Platform::Mapped, 1, |world| {
        let admission = Admission::new(world, Receivers::Each, Settings::permits(4)).unwrap();
        let mut requester = Requester::new(&admission, world.rank()).unwrap();
        for (lap, left) in [(1, 1), (2, 2), (1, 2), (0, 2), (3, 3)] {
            let ticket = Ticket::new(1 + 4 * lap);
            requester.granted = Ticket::new(4 * lap);
            assert!(requester.register(ticket).unwrap());
            let found = Waiter::of_word(admission.words.local().load(admission.waiter_index(0, ticket)));
            let waiter = Waiter { rank: world.rank(), sender: 0, ticket: Ticket::new(1 + 4 * left) };
            assert_eq!(found, Some(waiter), "registered on lap {lap}");
        }
    });
}

/// The receiver granted ticket 1 before its sender was registered, and reads the entry again only after the sender of ticket 2 has replaced it.
#[test]
fn whoever_replaces_a_registration_rings_for_it_if_its_ticket_is_granted() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 3, |world| {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(1)).unwrap();
            let place = admission.waiter_index(0, Ticket::new(1));
            let registered = || Waiter::of_word(admission.words.local().load(place)).map(|waiter| waiter.ticket.number());
            let bell = || admission.words.local().load(admission.bell_index(0));
            let mut requester = Requester::new(&admission, RECEIVER).unwrap();
            if world.rank() == Rank::new(0) {
                assert!(requester.register(Ticket::new(1)).unwrap());
                assert!(requester.register(Ticket::new(1)).unwrap(), "once more, after an interruption");
                assert_eq!(bell(), 0, "it does not let itself in");
            }
            world.barrier().unwrap();
            if world.rank() == Rank::new(1) {
                requester.granted = Ticket::new(1);
                assert!(!requester.register(Ticket::new(2)).unwrap(), "ticket 1 is not granted");
            }
            world.barrier().unwrap();
            assert!(bell() == 0 && (world.rank() != RECEIVER || registered() == Some(1)));
            world.barrier().unwrap();
            if world.rank() == Rank::new(1) {
                requester.granted = Ticket::new(2);
                assert!(requester.register(Ticket::new(2)).unwrap());
            }
            world.barrier().unwrap();
            match world.rank().number() {
                0 => assert_eq!(bell(), rung(RECEIVER, 0, Ticket::new(1))),
                1 => assert_eq!(bell(), 0),
                _ => assert_eq!(registered(), Some(2)),
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn who_has_just_taken_a_ticket_registers_before_it_looks() {
    run(Platform::Mapped, 1, |world| {
        let admission = Admission::new(world, Receivers::Each, Settings::permits(1)).unwrap();
        let (mut requester, mut granter) = (Requester::new(&admission, world.rank()).unwrap(), Granter::new(&admission));
        for is_fresh in [true, false] {
            let ticket = (0..2).map(|_| requester.take(1).unwrap()).last().unwrap();
            requester.fresh = is_fresh;
            (0..2).for_each(|_| granter.give(0).unwrap());
            let looks = requester.looks();
            requester.wait(ticket).unwrap();
            let waiter = Waiter { rank: world.rank(), sender: 0, ticket };
            let is_registered = admission.words.local().load(admission.waiter_index(0, ticket)) == waiter.word();
            assert_eq!((is_registered, requester.looks() - looks), (is_fresh, 1));
        }
    });
}

#[test]
fn a_sender_has_a_bounded_number_of_operations_under_way() {
    run(Platform::Remote, 2, |world| {
        let admission = Admission::new(world, Receivers::Each, Settings::permits(64)).unwrap();
        let word = world.alloc::<u64>(1).unwrap();
        let mut requester = Requester::new(&admission, Rank::new(0)).unwrap();
        requester.take(1).unwrap();
        let handle = world.put(word.at(world.rank().next(2), 0), &[1]).unwrap();
        let mut most = 0;
        for _ in 0..SENDING_MAX {
            requester.used([handle; 2]).unwrap();
            most = most.max(requester.pending.len());
        }
        assert_eq!(most, SENDING_MAX - 2, "two for a message");
        drop(requester);
        world.barrier().unwrap();
    });
}
