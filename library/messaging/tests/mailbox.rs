//! Every message arrives once, unchanged and in its sender's order, for all settings of a mailbox.

use pelago_base::{Duration, Rank};
use pelago_messaging::{Counting, Mailbox, Placement, Sent, Settings, Waiting};
use pelago_rma::{Error, Fault, World};
use pelago_test_support::earlier::after_a_failure;
use pelago_test_support::simulated;
use pelago_test_support::threads::{PLATFORMS, Platform, on_every_platform, run};

/// Number of messages of each sender.
const MESSAGES: u32 = 40;

/// The way in which a sender sends its messages.
#[derive(Clone, Copy, Debug)]
enum SendBy {
    Blocking,
    Trying,
    Batch,
}

/// The message `number` of `from`: of pseudo-random length, and with bytes that show whether it is complete.
fn message(from: Rank, number: u32, bytes_max: usize) -> Vec<u8> {
    let seed = u64::from(from) << 32 | u64::from(number);
    let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
    let length = 8 + mixed as usize % (bytes_max - 7);
    let mut bytes = [from.number().to_le_bytes(), number.to_le_bytes()].concat();
    bytes.extend((8..length).map(|place| (mixed >> (place % 7)) as u8 ^ place as u8));
    bytes
}

fn send(world: &World, mailbox: &Mailbox<'_>, to: Rank, send_by: SendBy) {
    let mut sender = mailbox.sender(to).unwrap();
    let messages: Vec<_> = (0..MESSAGES).map(|number| message(world.rank(), number, mailbox.message_bytes_max())).collect();
    match send_by {
        SendBy::Blocking => messages.iter().for_each(|message| sender.send(message).unwrap()),
        SendBy::Batch => sender.send_all(&messages).unwrap(),
        SendBy::Trying => {
            for message in messages {
                let mut message = message;
                while let Sent::Full(back) = sender.try_send(message).unwrap() {
                    message = back;
                    world.progress();
                    std::thread::yield_now();
                }
            }
        }
    }
    sender.flush().unwrap();
}

/// Receives all messages of `senders`, and checks their order.
fn receive(mailbox: &Mailbox<'_>, senders: u32) {
    let mut receiver = mailbox.receiver().unwrap();
    let mut next = vec![0; senders as usize + 1];
    for _ in 0..senders * MESSAGES {
        let received = receiver.receive().unwrap();
        let from = received.from();
        let expected = message(from, next[from.index()], mailbox.message_bytes_max());
        assert_eq!(received.to_vec(), expected, "message {} of rank {from}", next[from.index()]);
        std::thread::yield_now();
        assert_eq!(received.to_vec(), expected, "nobody writes to a slot that is not free");
        next[from.index()] += 1;
    }
    assert!(receiver.try_receive().unwrap().is_none());
}

fn exchange(platform: Platform, size: u32, settings: &Settings, send_by: SendBy) {
    run(platform, size, |world| {
        let mailbox = Mailbox::new(world, Rank::new(0), settings.clone()).unwrap();
        if world.rank() == Rank::new(0) {
            receive(&mailbox, size - 1);
        } else {
            send(world, &mailbox, Rank::new(0), send_by);
        }
        world.barrier().unwrap();
    });
}

#[test]
fn every_message_arrives_once_in_its_senders_order() {
    for platform in PLATFORMS {
        for (slots, send_by) in
            [(1, SendBy::Blocking), (1, SendBy::Trying), (2, SendBy::Batch), (8, SendBy::Blocking), (64, SendBy::Batch)]
        {
            for counting in [Counting::OneWord, Counting::TwoWords] {
                for waiting in [Waiting::Notified, Waiting::BackingOff, Waiting::Polling] {
                    let settings = Settings { counting, waiting, ..Settings::new(slots, 100) };
                    exchange(platform, 4, &settings, send_by);
                }
            }
        }
    }
}

#[test]
fn counters_may_lie_anywhere() {
    for platform in PLATFORMS {
        let placements = [Placement::Proxy(Rank::new(2)), Placement::evenly(2, 5, false), Placement::evenly(4, 5, true)];
        for placement in placements {
            for counting in [Counting::OneWord, Counting::TwoWords] {
                let settings = Settings { counting, ..Settings::new(4, 100).placed(placement.clone()) };
                for send_by in [SendBy::Blocking, SendBy::Trying, SendBy::Batch] {
                    exchange(platform, 5, &settings, send_by);
                }
            }
        }
    }
}

#[test]
fn every_rank_may_receive() {
    for platform in PLATFORMS {
        run(platform, 3, |world| {
            let mailbox = Mailbox::on_every_rank(world, Settings::new(128, 8)).unwrap();
            for to in world.ranks() {
                let mut sender = mailbox.sender(to).unwrap();
                (0..MESSAGES).for_each(|number| sender.send(u64::from(number).to_le_bytes()).unwrap());
            }
            let mut receiver = mailbox.receiver().unwrap();
            let mut next = [0; 3];
            for _ in 0..3 * MESSAGES {
                let received = receiver.receive().unwrap();
                let number = &mut next[received.from().index()];
                assert_eq!(received.to_vec(), u64::to_le_bytes(*number));
                *number += 1;
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn a_ticket_that_is_given_up_is_passed_over() {
    for platform in PLATFORMS {
        run(platform, 2, |world| {
            let mailbox = Mailbox::new(world, Rank::new(0), Settings::new(1, 8)).unwrap();
            if world.rank() == Rank::new(1) {
                let mut first = mailbox.sender(Rank::new(0)).unwrap();
                let mut second = mailbox.sender(Rank::new(0)).unwrap();
                assert_eq!(first.try_send([1]).unwrap(), Sent::Sent);
                assert_eq!(second.try_send([2]).unwrap(), Sent::Full([2]), "one slot, one message");
                world.barrier().unwrap();
                drop(second);
                first.send([3]).unwrap();
            } else {
                world.barrier().unwrap();
                let mut receiver = mailbox.receiver().unwrap();
                assert_eq!(receiver.receive().unwrap().to_vec(), [1]);
                assert_eq!(receiver.receive().unwrap().to_vec(), [3]);
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn what_is_impossible_is_refused() {
    run(Platform::Mapped, 2, |world| {
        let zero = Rank::new(0);
        let refused = |settings| Mailbox::new(world, zero, settings).map(drop).unwrap_err();
        let split =
            |proxies: &[u32]| Placement::Split { proxies: proxies.iter().map(|&rank| Rank::new(rank)).collect(), borrow: false };
        for settings in [
            Settings::new(3, 8),
            Settings::new(0, 8),
            Settings::new(1 << 17, 8),
            Settings::new(1, 0),
            Settings::new(1, 1 << 24),
            Settings::new(1, 8).placed(Placement::Proxy(Rank::new(2))),
            Settings::new(1, 8).placed(split(&[0, 1])),
            Settings::new(8, 8).placed(split(&[1, 0])),
            Settings::new(8, 8).placed(split(&[0, 2])),
            Settings::new(8, 8).placed(split(&[])),
        ] {
            assert!(matches!(refused(settings.clone()), Error::Invalid(_)), "{settings:?}");
        }
        assert!(Mailbox::new(world, Rank::new(2), Settings::new(1, 8)).is_err());
        let mailbox = Mailbox::new(world, zero, Settings::new(1, 8)).unwrap();
        assert!(mailbox.sender(Rank::new(1)).is_err(), "rank 1 does not receive");
        assert_eq!(mailbox.receiver().is_ok(), world.rank() == zero);
        assert!(mailbox.receiver().is_err(), "rank 1 does not, and rank 0 does already");
        let too_long = mailbox.sender(zero).unwrap().send([0; 9]).unwrap_err();
        assert_eq!(too_long, Error::TooLong { what: "message", bytes: 9, limit: 8 });
        let senders: Vec<_> = (0..8).map(|_| mailbox.sender(zero).unwrap()).collect();
        assert!(matches!(mailbox.sender(zero).map(drop), Err(Error::TooMany { limit: 8, .. })));
        drop(senders);
        mailbox.sender(zero).unwrap();
        world.barrier().unwrap();
    });
}

/// Messages of pieces, of values, and several at once.
#[test]
fn messages_may_consist_of_pieces_or_values_and_be_received_many_at_once() {
    for platform in PLATFORMS {
        run(platform, 3, |world| {
            let mailbox = Mailbox::new(world, Rank::new(0), Settings::new(32, 24)).unwrap();
            if world.rank() != Rank::new(0) {
                let mut sender = mailbox.sender(Rank::new(0)).unwrap();
                for number in 0..MESSAGES {
                    let number = [number.to_le_bytes(), (!number).to_le_bytes()];
                    sender.send_pieces(&[b"pieces", &[], &number[0], &number[1]]).unwrap();
                    sender.send_values(&[f64::from(world.rank().number()), 0.5, -1.0]).unwrap();
                }
                let long = sender.send_pieces(&[&[0; 20], &[0; 5]]);
                assert_eq!(long, Err(Error::TooLong { what: "message", bytes: 25, limit: 24 }));
            } else {
                let mut receiver = mailbox.receiver().unwrap();
                assert_eq!(receiver.receive_each(0, |_| unreachable!()), Ok(0));
                let (mut next, mut left) = ([0; 3], 4 * MESSAGES as usize);
                while left > 0 {
                    let count = receiver.receive_each(5, |message| {
                        let (from, number) = (message.from(), &mut next[message.from().index()]);
                        if *number % 2 == 0 {
                            let half: u32 = *number / 2;
                            let expected = [b"pieces" as &[u8], &half.to_le_bytes(), &(!half).to_le_bytes()].concat();
                            assert_eq!(message.to_vec(), expected);
                            assert!(message.value::<u64>().is_err() && message.values::<u32>().is_err());
                            assert_eq!(message.values::<[u8; 14]>().unwrap().len(), 1);
                        } else {
                            let expected = [f64::from(from.number()), 0.5, -1.0];
                            assert_eq!(message.values::<f64>().unwrap(), expected);
                            assert_eq!(message.value::<[f64; 3]>(), Ok(expected));
                        }
                        *number += 1;
                        Ok(())
                    });
                    let count = count.unwrap();
                    assert!((1..=5).contains(&count));
                    left -= count;
                }
                assert!(receiver.try_receive().unwrap().is_none());
            }
            world.barrier().unwrap();
        });
    }
}

/// A sender that waits for long waits for its bell alone, so that it is found if all ranks wait (G4). It holds a ticket of which the receiver grants the
/// predecessor alone before it waits itself.
#[test]
fn a_sender_that_waits_for_long_is_notified_and_reads_the_counters_no_more() {
    let long = Duration::from_milliseconds(100_000);
    for settings in [simulated::settings("laptop", 3, 3), simulated::settings_by_datagrams(3)] {
        simulated::run_to_the_end(&settings, "a full mailbox", |world| {
            let mailbox = Mailbox::new(world, Rank::new(0), Settings::new(2, 8))?;
            if world.rank() == Rank::new(0) {
                let mut receiver = mailbox.receiver()?;
                for number in 0..4 {
                    world.compute(if number % 2 == 0 { long } else { Duration::ZERO });
                    assert_eq!(receiver.receive()?.to_vec(), [0; 8]);
                    if number == 2 {
                        world.barrier()?;
                    }
                }
            } else {
                let mut sender = mailbox.sender(Rank::new(0))?;
                (0..2).try_for_each(|_| sender.send([0; 8]))?;
                sender.flush()?;
                assert!(sender.looks() < 30, "{} reads of the counters", sender.looks());
                world.barrier()?;
            }
            Ok(())
        });
    }
}

#[test]
fn a_sender_of_a_full_mailbox_is_part_of_a_deadlock() {
    for settings in [simulated::settings("laptop", 2, 2), simulated::settings_by_datagrams(2)] {
        let outcome = simulated::run(&settings, |world| {
            let mailbox = Mailbox::new(world, Rank::new(0), Settings::new(2, 8))?;
            if world.rank() == Rank::new(1) {
                let mut sender = mailbox.sender(Rank::new(0))?;
                (0..3).try_for_each(|_| sender.send([0; 8]))?;
            }
            world.barrier()
        });
        assert_eq!(outcome.fault, Some(Fault::Deadlock));
    }
}

#[test]
fn an_earlier_failure_stops_no_mailbox() {
    on_every_platform(&[3], |world, _| {
        after_a_failure(world, || drop(Mailbox::new(world, Rank::new(0), Settings::new(2, 64)).unwrap()));
        world.barrier().unwrap();
    });
}
