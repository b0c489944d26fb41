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
