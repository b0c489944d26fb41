//! Two-sided messages arrive complete, with the tag of their sender, by each of the protocols that their lengths choose.

use pelago_base::{Duration, Rank};
use pelago_messaging::{Lengths, Messages, Settings};
use pelago_rma::{Error, World};
use pelago_test_support::threads::{PLATFORMS, Platform, run};

const MIXED: Lengths = Lengths { eager_bytes_max: 40, acquired_bytes_max: 100 };

fn body(from: Rank, number: u32) -> Vec<u8> {
    let length = [0, 1, 40, 41, 100, 101, 5000][number as usize % 7];
    (0..length).map(|place| (place as u32 ^ number.wrapping_mul(7) ^ from.number()) as u8).collect()
}

fn messages<'w>(world: &'w World, lengths: Lengths) -> Messages<'w> {
    Messages::new(world, lengths, Settings::new(4, 100), Settings::new(8, 6000)).unwrap()
}

#[test]
fn messages_of_all_lengths_arrive_by_all_ways() {
    for platform in PLATFORMS {
        for lengths in [MIXED, Lengths::EAGER, Lengths::RENDEZVOUS, Lengths::ACQUIRED] {
            run(platform, 3, |world| {
                let messages = messages(world, lengths);
                let mut party = messages.party().unwrap();
                if world.rank() == Rank::new(0) {
                    let mut seen = [[false; 21]; 2];
                    for _ in 0..42 {
                        let received = party.receive(None, None).unwrap();
                        assert_eq!(received.bytes, body(received.from, received.number));
                        assert_eq!(received.tag, received.number + 100);
                        let place = &mut seen[received.from.index() - 1][received.number as usize];
                        assert!(!std::mem::replace(place, true), "each message once");
                    }
                    assert!(party.try_receive(None, None).unwrap().is_none());
                } else {
                    (0..21).for_each(|number| party.send(Rank::new(0), number + 100, &body(world.rank(), number)).unwrap());
                }
                world.barrier().unwrap();
            });
        }
    }
}

#[test]
fn who_asks_for_a_tag_or_a_sender_gets_it_and_the_rest_waits() {
    for platform in PLATFORMS {
        for lengths in [Lengths::EAGER, Lengths::ACQUIRED] {
            run(platform, 3, |world| {
                let messages = messages(world, lengths);
                let mut party = messages.party().unwrap();
                if world.rank() == Rank::new(0) {
                    let mut receive = |from: Option<u32>, tag| party.receive(from.map(Rank::new), tag).unwrap();
                    assert_eq!(receive(Some(2), Some(3)).bytes, [2, 3]);
                    assert_eq!(receive(Some(1), None).bytes, [1, 0], "the first of that sender");
                    assert_eq!(receive(None, Some(2)).tag, 2);
                    let rest: Vec<_> = (0..5).map(|_| receive(None, None).bytes).collect();
                    assert!(rest.iter().all(|bytes| *bytes != [2, 3] && *bytes != [1, 0]));
                    assert!(party.unexpected_bytes_peak() > 0);
                } else {
                    (0..4u8).for_each(|tag| party.send(Rank::new(0), tag.into(), &[world.rank().number() as u8, tag]).unwrap());
                }
                world.barrier().unwrap();
            });
        }
    }
}

#[test]
fn ranks_that_send_to_each_other_before_they_receive_do_not_wait_for_ever() {
    for platform in PLATFORMS {
        run(platform, 2, |world| {
            let messages = messages(world, Lengths::EAGER);
            let mut party = messages.party().unwrap();
            let other = world.rank().next(2);
            (0..50).for_each(|number| party.send(other, number, &[7; 30]).unwrap());
            (0..50).for_each(|number| assert_eq!(party.receive(Some(other), None).unwrap().number, number));
            world.barrier().unwrap();
        });
    }
}

#[test]
fn what_is_not_asked_for_has_a_bound_and_waiting_has_an_end() {
    run(Platform::Mapped, 2, |world| {
        let messages = messages(world, Lengths::EAGER);
        let mut party = messages.party().unwrap();
        if world.rank() == Rank::new(0) {
            let limit = Duration::from_milliseconds(1);
            assert!(matches!(party.receive_within(limit, None, None), Err(Error::TimedOut { .. })));
            world.barrier().unwrap();
            world.barrier().unwrap();
            party.bound_unexpected(300);
            let full = party.try_receive(None, Some(9)).map(drop).unwrap_err();
            assert!(matches!(full, Error::NoMemory { heap_bytes: 300, .. }), "{full}");
            assert!(full.to_string().contains("Party::bound_unexpected"), "the setting that bounds it: {full}");
        } else {
            world.barrier().unwrap();
            (0..4).for_each(|tag| party.send(Rank::new(0), tag, &[0; 100]).unwrap());
            world.barrier().unwrap();
        }
        assert!(party.send(Rank::new(2), 0, &[]).is_err(), "there is no such rank");
        world.barrier().unwrap();
    });
}

/// A message that a receive has asked for is found before others exceed the bound: it waits for the next receive, in its order.
#[test]
fn what_was_found_before_the_bound_was_exceeded_is_not_lost() {
    for platform in PLATFORMS {
        run(platform, 2, |world| {
            let messages = messages(world, Lengths::EAGER);
            let mut party = messages.party().unwrap();
            if world.rank() == Rank::new(1) {
                [7, 8, 9].into_iter().for_each(|tag| party.send(Rank::new(0), tag, &[tag as u8; 100]).unwrap());
                party.send(Rank::new(0), 8, &[1]).unwrap();
            }
            world.barrier().unwrap();
            if world.rank() == Rank::new(0) {
                // Room for one message that was not asked for.
                party.bound_unexpected(300);
                assert!(matches!(party.receive(None, Some(8)), Err(Error::NoMemory { .. })));
                party.bound_unexpected(1 << 20);
                let received = party.receive(None, Some(8)).unwrap();
                assert_eq!((received.number, received.bytes), (1, vec![8; 100]));
                let rest: Vec<_> = (0..3).map(|_| party.receive(None, None).unwrap().number).collect();
                assert_eq!(rest, [0, 2, 3]);
            }
            world.barrier().unwrap();
        });
    }
}

/// The receiver fetches a message after its sender has given up waiting: the memory of the message is not used for anything else before.
#[test]
fn what_was_not_fetched_in_time_stays_in_place() {
    for platform in PLATFORMS {
        for is_dropped in [false, true] {
            run(platform, 2, |world| {
                let messages = messages(world, Lengths::RENDEZVOUS);
                let mut party = Some(messages.party().unwrap());
                let sender = Rank::new(0);
                let mut taken = Vec::new();
                if world.rank() == sender {
                    let party = party.as_mut().unwrap();
                    party.bound_rendezvous(Duration::from_milliseconds(1));
                    let late = party.send(Rank::new(1), 3, &[5; 200]);
                    assert!(matches!(late, Err(Error::TimedOut { .. })), "{late:?}");
                }
                if is_dropped && world.rank() == sender {
                    party = None;
                }
                if world.rank() == sender {
                    taken = (0..10).map(|_| world.alloc_individual::<u64>(26).unwrap()).collect();
                }
                world.barrier().unwrap();
                if world.rank() == Rank::new(1) {
                    assert_eq!(party.as_mut().unwrap().receive(None, Some(3)).unwrap().bytes, [5; 200]);
                }
                drop(party);
                world.barrier().unwrap();
                assert!(taken.iter().all(|memory| memory.local().to_vec() == [0; 26]), "nobody writes to memory in use");
            });
        }
    }
}

#[test]
fn messages_of_an_impossible_length_are_refused() {
    run(Platform::Mapped, 1, |world| {
        for (slots, eager) in [(usize::MAX, 100), (100, usize::MAX)] {
            let refused = Messages::new(world, MIXED, Settings::new(4, slots), Settings::new(8, eager)).map(drop);
            assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
        }
    });
}
