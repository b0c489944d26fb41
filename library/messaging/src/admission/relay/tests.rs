//! Tests of the requests and answers of a relay.

use super::*;
use crate::admission::{Receivers, Requester};
use crate::settings::{Placement, Settings};
use pelago_test_support::threads::{Platform, run};

const RECEIVER: Rank = Rank::new(0);

#[test]
fn requests_and_answers_are_read_as_they_were_written() {
    for (sequence, count) in [(0, 0), (1, 128), (u16::MAX, u32::MAX)] {
        let request = Request { sequence, count };
        assert_eq!(Request::of_word(request.word()), request);
    }
    for (taken, granted, ahead) in [(0, 0, 0), (7, 4, -3), (u32::MAX, 4, 5), (0, 40_000, i16::MAX), (40_000, 0, i16::MIN)] {
        let credit = Credit { taken: Ticket::new(taken), granted: Ticket::new(granted) };
        let answer = Answer::new(9, credit);
        assert_eq!((answer.sequence, answer.ahead, answer.first), (9, ahead, credit.taken));
        assert_eq!(Answer::of_word(answer.word()), answer);
    }
}

/// One rank takes tickets, and serves the requests of two other ranks.
#[test]
fn one_atomic_takes_the_tickets_of_all_requests_and_each_is_served_once() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 5, |world| {
            let settings = Settings::permits(4).placed(Placement::Receiver).relayed(4);
            let admission = Admission::new(world, Receivers::One(RECEIVER), settings).unwrap();
            if world.rank() == Rank::new(1) {
                let mut requester = Requester::new(&admission, RECEIVER).unwrap();
                let relay = admission.relay().unwrap();
                assert_eq!((relay.relay.holder, relay.relay.members, relay.number), (Rank::new(2), 4, 1));
                for (number, count) in [(2, 2), (3, 3)] {
                    let asked = Request { sequence: 1, count }.word();
                    world.put(relay.request_at(&admission, number), &[asked]).unwrap().wait().unwrap();
                }
                let answer = |number| Answer::of_word(world.get(relay.answer_at(&admission, number)).unwrap());
                assert_eq!(requester.take(1).unwrap(), Ticket::new(0));
                assert_eq!(admission.taken(RECEIVER, 0), Ticket::new(6), "one for this rank, five for others");
                // The answers are complete when the lock is free.
                assert_eq!(requester.take(2).unwrap(), Ticket::new(6));
                assert_eq!(admission.taken(RECEIVER, 0), Ticket::new(8), "nobody else has asked again");
                let found = [2, 3].map(|number| (answer(number).sequence, answer(number).first.number(), answer(number).ahead));
                assert_eq!(found, [(1, 1, 3), (1, 3, 1)]);
                // The second sender of a rank takes its tickets at the server.
                let asked = Request { sequence: 2, count: 1 }.word();
                world.put(relay.request_at(&admission, 2), &[asked]).unwrap().wait().unwrap();
                let mut other = Requester::new(&admission, RECEIVER).unwrap();
                assert_eq!(other.take(1).unwrap(), Ticket::new(8));
                assert_eq!(admission.taken(RECEIVER, 0), Ticket::new(9));
                assert_eq!(answer(2).sequence, 1);
            }
            world.barrier().unwrap();
        });
    }
}

/// The numbers of requests wrap, and a member reads the counters if its answer does not contain the granted tickets.
#[test]
fn requests_are_numbered_on_a_cycle_and_what_an_answer_does_not_tell_is_looked_for() {
    run(Platform::Mapped, 2, |world| {
        let settings = Settings::permits(2).placed(Placement::Receiver).relayed(2);
        let admission = Admission::new(world, Receivers::One(RECEIVER), settings).unwrap();
        if world.rank() == Rank::new(1) {
            let mut requester = Requester::new(&admission, RECEIVER).unwrap();
            admission.requests.set(u16::MAX - 2);
            let tickets: Vec<_> = (0..5).map(|_| requester.take(1).unwrap().number()).collect();
            assert_eq!(tickets, [0, 1, 2, 3, 4]);
            assert_eq!(requester.take(40_000).unwrap(), Ticket::new(5));
            assert_eq!(requester.take(1).unwrap(), Ticket::new(40_005));
            assert!(!requester.is_granted(Ticket::new(2)).unwrap() && requester.is_granted(Ticket::new(1)).unwrap());
        }
        world.barrier().unwrap();
    });
}

#[test]
fn only_ranks_of_one_receiver_have_relays_with_one_word_and_their_own_shares() {
    run(Platform::Mapped, 4, |world| {
        let relayed = Settings::permits(4).relayed(2);
        assert!(Admission::new(world, Receivers::One(RECEIVER), relayed.clone()).unwrap().relay().is_some());
        assert!(Admission::new(world, Receivers::One(RECEIVER), relayed.clone().relayed(1)).unwrap().relay().is_none());
        let refused = |receivers, settings| matches!(Admission::new(world, receivers, settings), Err(Error::Invalid(_)));
        assert!(refused(Receivers::Each, relayed.clone()));
        assert!(refused(Receivers::One(RECEIVER), relayed.clone().placed(Placement::evenly(2, 4, true))));
        assert!(refused(Receivers::One(RECEIVER), Settings::plain(4, 0).relayed(2)));
        assert!(refused(Receivers::One(RECEIVER), relayed.relayed(257)));
    });
}
