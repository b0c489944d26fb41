//! Tests of tickets that are taken ahead and not used: the receiver withdraws them or the sender returns them, and none is used twice (G3).

use pelago_base::Duration;
use pelago_rma::{Error, World};

use super::*;
use crate::mailbox::MailReceiver;
use crate::settings::Settings;
use pelago_test_support::threads::{PLATFORMS, Platform, run};

const RECEIVER: Rank = Rank::new(0);
const HOLDER: Rank = Rank::new(1);
const OTHER: Rank = Rank::new(2);

/// A time limit that no operation reaches unless the test hangs.
const HANG: Duration = Duration::from_milliseconds(20_000);

impl MailSender<'_, '_> {
    /// Sends one message, and holds `count` tickets behind it.
    fn send_and_hold(&mut self, message: [u8; 1], count: u32) {
        let ticket = self.requester.take_and_hold(count + 1).unwrap();
        self.requester.wait(ticket).unwrap();
        self.write(ticket, &message).unwrap();
    }
}

/// Receives these messages in this order, by `receive_within` or after `try_receive`.
fn expect(receiver: &mut MailReceiver<'_, '_>, expected: &[u8], by_trying: bool) {
    for expected in expected {
        if by_trying {
            while !receiver.has_come() {
                let Some(message) = receiver.try_receive().unwrap() else { continue };
                message.keep();
                break;
            }
        }
        assert_eq!(receiver.receive_within(HANG).unwrap().to_vec(), [*expected]);
    }
}

fn meet(world: &World) {
    world.barrier().unwrap();
}

/// A rank that holds tickets waits for something else: the messages of another rank still arrive, and the tickets are not used afterwards.
#[test]
fn the_receiver_withdraws_what_a_sender_does_not_use_and_the_sender_goes_on_with_others() {
    for platform in PLATFORMS {
        for by_trying in [false, true] {
            run(platform, 3, |world| {
                let mailbox = Mailbox::new(world, RECEIVER, Settings::new(16, 8)).unwrap();
                // If the words of other ranks are mapped, no tickets are taken ahead or withdrawn.
                let is_ahead = mailbox.admission.world().reach().place(mailbox.memory.at(RECEIVER, 0)).is_none();
                let mut sender = mailbox.sender(RECEIVER).unwrap();
                if world.rank() == HOLDER {
                    sender.send_and_hold([1], 5);
                    meet(world);
                    meet(world);
                    if is_ahead {
                        assert_eq!(sender.requester.use_ahead(1), None, "they were withdrawn");
                    }
                    sender.send([4]).unwrap();
                    sender.send([5]).unwrap();
                    assert!(!is_ahead || sender.requests() == 3, "two tickets, after those withdrawn");
                    meet(world);
                } else if world.rank() == OTHER {
                    meet(world);
                    sender.send([2]).unwrap();
                    sender.send([3]).unwrap();
                    sender.flush().unwrap();
                    meet(world);
                    meet(world);
                } else {
                    let mut receiver = mailbox.receiver().unwrap();
                    expect(&mut receiver, &[1], by_trying);
                    meet(world);
                    expect(&mut receiver, &[2, 3], by_trying);
                    meet(world);
                    expect(&mut receiver, &[4, 5], by_trying);
                    assert!(receiver.try_receive().unwrap().is_none());
                    meet(world);
                }
                drop(sender);
                meet(world);
            });
        }
    }
}

/// Dropping or flushing a sender marks the slots of granted tickets as void immediately, so that the receiver need not withdraw them.
#[test]
fn a_sender_returns_granted_tickets_when_it_is_flushed_or_dropped() {
    for is_dropped in [false, true] {
        run(Platform::Remote, 2, |world| {
            let mailbox = Mailbox::new(world, RECEIVER, Settings::new(16, 8)).unwrap();
            if world.rank() == HOLDER {
                let mut sender = mailbox.sender(RECEIVER).unwrap();
                sender.send_and_hold([1], 5);
                sender.flush().unwrap();
                sender.send_and_hold([2], 3);
                if is_dropped {
                    drop(sender);
                    sender = mailbox.sender(RECEIVER).unwrap();
                } else {
                    sender.flush().unwrap();
                }
                sender.send([3]).unwrap();
                sender.flush().unwrap();
                meet(world);
            } else {
                // All messages are in their slots.
                meet(world);
                let mut receiver = mailbox.receiver().unwrap();
                for expected in 1..4 {
                    let message = receiver.try_receive().unwrap().expect("nothing is missing before it");
                    assert_eq!(message.to_vec(), [expected]);
                }
                assert!(receiver.try_receive().unwrap().is_none());
            }
            meet(world);
        });
    }
}

/// Tickets that are not granted cannot be returned: a sender that is dropped leaves them to the receiver, and does not wait.
#[test]
fn a_sender_that_is_dropped_leaves_tickets_that_are_not_granted_to_the_receiver() {
    run(Platform::Remote, 3, |world| {
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(4, 8)).unwrap();
        if world.rank() == HOLDER {
            // The last sender leaves six tickets; its message is the last for which there is a slot.
            for number in 0..4 {
                mailbox.sender(RECEIVER).unwrap().send_and_hold([number], if number == 3 { 6 } else { 0 });
            }
            meet(world);
            let mut sender = mailbox.sender(RECEIVER).unwrap();
            sender.send([5]).unwrap();
            sender.flush().unwrap();
        } else if world.rank() == OTHER {
            meet(world);
        } else {
            meet(world);
            let mut receiver = mailbox.receiver().unwrap();
            expect(&mut receiver, &[0, 1, 2, 3, 5], false);
            assert!(matches!(receiver.receive_within(Duration::from_milliseconds(1)).map(drop), Err(Error::TimedOut { .. })));
        }
        meet(world);
    });
}

/// A rank may have eight senders, also if earlier senders left tickets: a new sender waits until the receiver has withdrawn some.
#[test]
fn a_number_of_a_sender_is_used_again_when_what_it_left_was_withdrawn() {
    run(Platform::Remote, 2, |world| {
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(8, 8)).unwrap();
        if world.rank() == HOLDER {
            for number in 0..8 {
                let mut sender = mailbox.sender(RECEIVER).unwrap();
                let ticket = sender.requester.take_and_hold(3).unwrap();
                sender.requester.wait(ticket).unwrap();
                sender.write(ticket, &[number]).unwrap();
                // Each sender leaves two tickets, none of which it knows to be granted.
                sender.requester.forget_grants();
            }
            let mut sender = mailbox.sender(RECEIVER).unwrap();
            sender.send([8]).unwrap();
            sender.flush().unwrap();
        } else {
            let mut receiver = mailbox.receiver().unwrap();
            expect(&mut receiver, &[0, 1, 2, 3, 4, 5, 6, 7, 8], false);
        }
        meet(world);
    });
}

/// A receiver queries the senders once for a missing message: if the ticket was used, the message is in flight.
#[test]
fn a_receiver_looks_once_for_each_ticket_that_is_missing() {
    run(Platform::Remote, 2, |world| {
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(16, 8)).unwrap();
        if world.rank() == HOLDER {
            let mut sender = mailbox.sender(RECEIVER).unwrap();
            // The ticket is not held, as if its message were in flight.
            let ticket = sender.requester.take(1).unwrap();
            meet(world);
            meet(world);
            sender.write(ticket, &[1]).unwrap();
            sender.flush().unwrap();
        } else {
            let mut receiver = mailbox.receiver().unwrap();
            meet(world);
            assert_eq!(receiver.withdraws_after(), None, "nobody has missed it");
            while receiver.withdraw().unwrap() != Some(Duration::ZERO) {
                assert!(receiver.withdraws_after().is_some());
                std::thread::yield_now();
            }
            assert_eq!((receiver.withdraw().unwrap(), receiver.withdraws_after()), (None, None), "its message comes");
            meet(world);
            expect(&mut receiver, &[1], false);
        }
        meet(world);
    });
}
