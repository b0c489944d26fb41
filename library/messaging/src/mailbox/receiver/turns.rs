//! Tests of the order in which a receiver checks shares, and of its checks for messages of lost ranks.

use super::*;
use crate::admission::Requester;
use crate::settings::{Placement, Settings};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::run_with_death;
use pelago_test_support::threads::{Platform, run};

const RECEIVER: Rank = Rank::new(0);

#[test]
fn shares_take_turns() {
    // Rank 1 holds the first share, rank 3 the second; each uses its own.
    run(Platform::Mapped, 4, |world| {
        let settings = Settings::new(8, 8).placed(Placement::evenly(2, 4, false));
        let mailbox = Mailbox::new(world, RECEIVER, settings).unwrap();
        let send = |from: u32, count: u32| {
            if world.rank() == Rank::new(from) {
                let mut sender = mailbox.sender(RECEIVER).unwrap();
                (0..count).for_each(|number| sender.send(number.to_le_bytes()).unwrap());
            }
            world.barrier().unwrap();
        };
        send(3, 3);
        let mut receiver = (world.rank() == RECEIVER).then(|| mailbox.receiver().unwrap());
        let mut came = Vec::new();
        let mut receive = |count| {
            if let Some(receiver) = &mut receiver {
                came.extend((0..count).map(|_| receiver.receive().unwrap().from().number()));
            }
            world.barrier().unwrap();
        };
        receive(1);
        send(1, 3);
        receive(5);
        assert!(world.rank() != RECEIVER || came == [3, 1, 3, 1, 3, 1], "{came:?}");
    });
}

/// A rank with the first and the third ticket dies. The message of the second ticket arrives so soon after the receiver has checked the first ticket
/// that the receiver does not check the third immediately.
#[test]
fn tickets_of_the_lost_are_passed_over_one_after_another_and_not_asked_for_all_the_time() {
    let (victim, other) = (Rank::new(2), Rank::new(1));
    let milliseconds = Duration::from_milliseconds;
    let death = Instant::ZERO + milliseconds(5);
    let (_, came) = run_with_death(3, FaultInjection::default(), (victim, Some(death)), |world, _| {
        world.on_peer_lost(|_| {});
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(8, 8))?;
        let compute_until = |until: Duration| world.compute((Instant::ZERO + until).since(world.now()));
        let slow = |number: u64| compute_until(milliseconds(number));
        if world.rank() == RECEIVER {
            let mut receiver = mailbox.receiver()?;
            assert!(receiver.try_receive()?.is_none());
            assert_eq!(receiver.ask_at, Instant::ZERO, "nobody is lost");
            let first = receiver.receive()?.to_vec();
            let asked = receiver.ask_at;
            assert!(asked > Instant::ZERO && receiver.try_receive()?.is_none() && receiver.ask_at == asked, "not yet again");
            let second = receiver.receive()?.to_vec();
            world.barrier().ok();
            return Ok([first, second].concat());
        }
        let mut requester = Requester::new(&mailbox.admission, RECEIVER)?;
        if world.rank() == other {
            slow(2);
        } else {
            slow(1);
        }
        let mine = requester.take(1)?;
        if world.rank() == victim {
            slow(3);
            requester.take(1)?;
            slow(100);
        }
        slow(4);
        let last = mailbox.admission.taken(RECEIVER, 0);
        let mut sender = mailbox.sender(RECEIVER)?;
        sender.send([last.number() as u8])?;
        // The receiver has noticed the loss and checked the ticket.
        slow(10);
        requester.used(mailbox.slots(0).write(world, mailbox.ring_at(RECEIVER, 0), mine, &[mine.number() as u8])?)?;
        requester.flush()?;
        slow(100);
        world.barrier().ok();
        Ok(Vec::new())
    });
    assert_eq!(came[RECEIVER.index()].as_deref(), Some(&[1, 3][..]));
}
