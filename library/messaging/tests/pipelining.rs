//! Plain loops of `send` on a simulated network: the number of requests for tickets, and that no rank waits long for unused tickets.

use pelago_base::{Duration, Event, Instant, Rank};
use pelago_messaging::{Mailbox, Settings};
use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const RECEIVER: Rank = Rank::new(0);
const MESSAGES: u64 = 1000;

/// The number of round trips for tickets of each sender of a job that sends in plain loops, with one rank per node.
fn requests(senders: u32, settings: &Settings, work: Duration) -> Vec<u64> {
    let outcome = simulated::run(&simulated::settings("rx200-qdr", senders + 1, 1), |world| {
        let mailbox = Mailbox::new(world, RECEIVER, settings.clone())?;
        let mut requests = 0;
        if world.rank() == RECEIVER {
            let mut receiver = mailbox.receiver()?;
            for _ in 0..u64::from(senders) * MESSAGES {
                receiver.receive()?.release()?;
                world.compute(Duration::from_nanoseconds(100));
            }
        } else {
            let mut sender = mailbox.sender(RECEIVER)?;
            for number in 0..MESSAGES {
                sender.send(number.to_le_bytes())?;
                world.compute(work);
            }
            requests = sender.requests();
        }
        world.barrier()?;
        Ok(requests)
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    outcome.results.into_iter().skip(1).map(|result| result.unwrap().unwrap()).collect()
}

#[test]
fn a_plain_loop_requests_tickets_for_many_messages_at_once() {
    for senders in [1, 3, 7] {
        for slots in [64, 256] {
            let requests = requests(senders, &Settings::new(slots, 8), Duration::from_nanoseconds(200));
            let most = MESSAGES / u64::from(slots.min(128) / 8);
            assert!(requests.iter().all(|&requests| requests <= most), "{senders} senders, {slots} slots: {requests:?}");
        }
    }
}

#[test]
fn a_program_that_sends_now_and_then_requests_each_ticket_when_it_sends() {
    assert_eq!(requests(2, &Settings::new(64, 8), Duration::from_microseconds(200)), [MESSAGES; 2]);
}

/// While the receiver consumes nothing, every slot is usable for a message.
#[test]
fn all_slots_have_room_for_messages_while_the_receiver_does_not_receive() {
    const SLOTS: u32 = 256;
    simulated::run_to_the_end(&simulated::settings("rx200-qdr", 5, 1), "rooms", |world| {
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(SLOTS, 8))?;
        if world.rank() != RECEIVER {
            let mut sender = mailbox.sender(RECEIVER)?;
            (0..SLOTS / 4).try_for_each(|number| sender.send(number.to_le_bytes()))?;
        }
        world.barrier()?;
        if world.rank() == RECEIVER {
            let mut receiver = mailbox.receiver()?;
            for _ in 0..SLOTS {
                receiver.receive()?.release()?;
            }
        }
        world.barrier()
    });
}

/// One rank sends in a loop and then computes for a long time, with unused tickets, while another sends from time to time: each message of the other
/// arrives within the time after which the receiver withdraws tickets, and some round trips.
#[test]
fn nobody_waits_for_tickets_that_a_sender_took_ahead() {
    const LATE: Duration = Duration::from_microseconds(150);
    let busy = |world: &World, mailbox: &Mailbox<'_>, pause: Duration| -> Result<u64> {
        let mut sender = mailbox.sender(RECEIVER)?;
        for loops in 0..4_u64 {
            (0..100 + loops).try_for_each(|_| sender.send([0; 8]))?;
            world.compute(pause);
        }
        Ok(sender.requests())
    };
    let outcome = simulated::run(&simulated::settings("rx200-qdr", 3, 1), |world| {
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(64, 8))?;
        world.barrier()?;
        let mut told = 0;
        match world.rank().number() {
            0 => {
                let mut receiver = mailbox.receiver()?;
                for _ in 0..406 + 40 {
                    let message = receiver.receive()?;
                    let sent = u64::from_le_bytes(message.to_vec().try_into().unwrap());
                    message.release()?;
                    let late = world.now().since(Instant::from_picoseconds(sent));
                    assert!(sent == 0 || late < LATE, "{late:?} after it was sent");
                }
            }
            1 => told = busy(world, &mailbox, Duration::from_milliseconds(5))?,
            _ => {
                let mut sender = mailbox.sender(RECEIVER)?;
                for _ in 0..40 {
                    world.compute(Duration::from_microseconds(500));
                    sender.send(world.now().as_picoseconds().to_le_bytes())?;
                }
            }
        }
        world.barrier()?;
        Ok(told)
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    let told: Vec<_> = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).collect();
    assert!(told[1] < 200, "it took tickets ahead: {told:?}");
}

/// A message leaves together with its flag, also if no other operations are in flight with which both could leave: a ping-pong on a machine whose
/// datagrams cost core time.
#[test]
fn a_message_is_one_datagram() {
    let sent = |turns: u64| {
        let outcome = simulated::run(&simulated::settings_by_datagrams(2), |world| {
            let (me, other) = (world.rank(), Rank::new(1 - world.rank().number()));
            let mailbox = Mailbox::on_every_rank(world, Settings::new(16, 8))?;
            let (mut sender, mut receiver) = (mailbox.sender(other)?, mailbox.receiver()?);
            world.barrier()?;
            for _ in 0..turns {
                if me == RECEIVER {
                    receiver.receive()?.release()?;
                }
                sender.send([7; 8])?;
                if me != RECEIVER {
                    receiver.receive()?.release()?;
                }
            }
            Ok(sender.requests())
        });
        assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
        let datagrams: u64 = outcome.counters.iter().map(|counters| counters.of(Event::DatagramSent)).sum();
        let requests: u64 = outcome.results.into_iter().map(|result| result.unwrap().unwrap()).sum();
        [datagrams, requests]
    };
    let [few, many] = [100, 300].map(sent);
    let (messages, [datagrams, requests]) = (2 * (300 - 100), [0, 1].map(|index| many[index] - few[index]));
    // A request and its answer take tickets for several messages; an acknowledgement that does not share a datagram with a message is one more.
    assert!(datagrams <= messages + messages / 4 + 2 * requests, "{datagrams} for {messages} messages and {requests} requests");
}
