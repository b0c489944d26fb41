//! Mailboxes and channels on a network that reorders datagrams, with a slow receiver: no message is overwritten, and none is lost.

use pelago_base::{Duration, Rank};
use pelago_messaging::{Channel, ChannelSettings, Counting, Mailbox, Settings};
use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const MESSAGES: u64 = 20;

fn message(from: Rank, number: u64) -> Vec<u8> {
    (0..40).map(|place| (u64::from(from) * 31 + number * 7 + place) as u8).collect()
}

/// All ranks send to one, which reads each message for some time.
fn all_to_one(world: &World, counting: Counting, relay_ranks: u32) -> Result<()> {
    let mailbox = Mailbox::new(world, Rank::new(0), Settings { counting, relay_ranks, ..Settings::new(4, 40) })?;
    if world.rank() != Rank::new(0) {
        let mut sender = mailbox.sender(Rank::new(0))?;
        (0..MESSAGES).try_for_each(|number| sender.send(message(world.rank(), number)))?;
        sender.flush()?;
    } else {
        let mut receiver = mailbox.receiver()?;
        let mut next = vec![0; world.size() as usize];
        for _ in 0..MESSAGES * u64::from(world.size() - 1) {
            let received = receiver.receive_within(Duration::from_milliseconds(1_000))?;
            let number = &mut next[received.from().index()];
            let expected = message(received.from(), *number);
            assert_eq!(received.to_vec(), expected, "message {number} of rank {}", received.from());
            world.compute(Duration::from_microseconds(20));
            assert_eq!(received.to_vec(), expected, "message {number} of rank {} stays in its slot", received.from());
            *number += 1;
        }
    }
    world.barrier()
}

/// Each rank sends to its right neighbour through a ring of few segments.
fn round(world: &World) -> Result<()> {
    let right = |rank: Rank| rank.next(world.size());
    let channels: Vec<_> =
        world.ranks().map(|rank| Channel::new(world, rank, right(rank), ChannelSettings::new(2, 40))).collect::<Result<_>>()?;
    let left = Rank::new((world.rank().number() + world.size() - 1) % world.size());
    let (mut sender, mut receiver) = (channels[world.rank().index()].sender()?, channels[left.index()].receiver()?);
    for number in 0..MESSAGES {
        sender.send(message(world.rank(), number))?;
        let received = receiver.receive()?;
        assert_eq!(received.to_vec(), message(left, number));
        received.release()?;
    }
    sender.flush()?;
    world.barrier()
}

/// A rank sends to the next as far ahead as the ring permits; the receiver repeatedly writes the number of consumed messages.
fn stream(world: &World) -> Result<()> {
    let channel = Channel::new(world, Rank::new(0), Rank::new(1), ChannelSettings::new(8, 40))?;
    if world.rank().number() == 0 {
        let mut sender = channel.sender()?;
        (0..20 * MESSAGES).try_for_each(|number| sender.send(message(world.rank(), number)))?;
        sender.flush()?;
    } else {
        let mut receiver = channel.receiver()?;
        for number in 0..20 * MESSAGES {
            let received = receiver.receive()?;
            assert_eq!(received.to_vec(), message(Rank::new(0), number));
            received.release()?;
        }
    }
    world.barrier()
}

#[test]
fn the_count_of_a_channel_is_not_overtaken_by_an_older_one() {
    for seed in 0..20 {
        simulated::run_to_the_end(&simulated::settings_late(2, seed), "a channel", stream);
    }
}

#[test]
fn messages_come_once_where_datagrams_overtake_each_other() {
    for ranks in [4, 5, 7] {
        for seed in 0..4 {
            for (counting, relays) in [(Counting::OneWord, 0), (Counting::TwoWords, 0), (Counting::OneWord, 3)] {
                let late = simulated::settings_late(ranks, seed);
                simulated::run_to_the_end(&late, "a mailbox", |world| all_to_one(world, counting, relays));
            }
            simulated::run_to_the_end(&simulated::settings_late(ranks, seed), "channels", round);
        }
    }
}

/// All ranks share a relay: if it were unlocked before its answers are complete, the next holder of the lock would take tickets for served requests again.
#[test]
fn a_relay_takes_each_ticket_once_where_its_answers_are_late() {
    for seed in 0..20 {
        let late = simulated::settings_late(7, seed);
        simulated::run_to_the_end(&late, "a mailbox with a relay", |world| all_to_one(world, Counting::OneWord, 7));
    }
}
