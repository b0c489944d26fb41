//! Generated jobs: for all settings, kinds of sends and times of receives, each message arrives once, in its sender's order and unchanged, and
//! never more messages are in flight than there are slots.

use std::sync::atomic::{AtomicI64, Ordering};

use pelago_base::{Duration, Rank};
use pelago_messaging::{
    Channel, ChannelReceiver, ChannelSender, ChannelSettings, Counting, Limit, MailReceiver, Mailbox, Placement, Sent, Settings,
    Waiting,
};
use pelago_rma::{Error, World};
use pelago_test_support::threads::{PLATFORMS, Platform, run};
use proptest::prelude::*;

/// Maximum length of a message in bytes.
const BYTES: usize = 96;

/// An action of a sender.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send,
    /// Tries until a slot is free.
    Try,
    /// Tries once. If no slot is free, the message is sent by another action later, and the next message uses the held ticket.
    TryOnce,
    /// Sends several messages at once.
    All(u32),
    /// Drops the sender, with the ticket that it may hold, and creates another.
    Remake,
    Flush,
    Pause,
}

#[derive(Clone, Debug)]
struct Job {
    settings: Settings,
    /// The actions of each sender.
    senders: Vec<Vec<Act>>,
    /// The pauses of the receiver before messages, used cyclically, and the calls by which it receives.
    pauses: Vec<(u32, Look)>,
}

#[derive(Clone, Copy, Debug)]
enum Look {
    Receive,
    Try,
    Within,
}

fn act() -> impl Strategy<Value = Act> {
    use Act::*;
    prop_oneof![
        3 => Just(Send),
        2 => Just(Try),
        2 => Just(TryOnce),
        1 => (1..20_u32).prop_map(All),
        1 => Just(Remake),
        1 => Just(Flush),
        1 => Just(Pause)
    ]
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    prop::collection::vec(act(), 0..30)
}

fn looks() -> impl Strategy<Value = Vec<(u32, Look)>> {
    let pause = prop_oneof![4 => Just(0), 2 => 1..5_u32, 1 => 20..60_u32];
    prop::collection::vec((pause, prop_oneof![Just(Look::Receive), Just(Look::Try), Just(Look::Within)]), 1..20)
}

/// Settings for a job of `size` ranks.
fn settings(size: u32) -> impl Strategy<Value = Settings> {
    let placement = prop_oneof![
        2 => Just(Placement::Receiver),
        1 => (0..size).prop_map(|rank| Placement::Proxy(Rank::new(rank))),
        2 => (1..=size, any::<bool>()).prop_map(move |(shares, borrow)| Placement::evenly(shares, size, borrow)),
    ];
    let counting = prop_oneof![Just(Counting::OneWord), Just(Counting::TwoWords)];
    let waiting = prop_oneof![2 => Just(Waiting::Notified), 1 => Just(Waiting::BackingOff), 1 => Just(Waiting::Polling)];
    let waiters = prop_oneof![2 => Just(0), 1 => Just(8), 1 => Just(128)];
    let relays = prop_oneof![2 => Just(0), 1 => 2..5_u32];
    (0..=6_u32, placement, counting, waiting, waiters, relays).prop_map(
        |(slots, placement, counting, waiting, waiters, relays)| {
            let shares = if let Placement::Split { proxies, .. } = &placement { proxies.len() as u32 } else { 1 };
            // Counters in two words need a number of shares that is a power of two.
            let counting = if shares.is_power_of_two() { counting } else { Counting::OneWord };
            let borrows = matches!(placement, Placement::Split { borrow: true, .. });
            let relay_ranks = if counting == Counting::OneWord && !borrows { relays } else { 0 };
            Settings {
                counting,
                waiting,
                waiters,
                relay_ranks,
                ..Settings::new((1 << slots).max(shares.next_power_of_two()), BYTES)
            }
            .placed(placement)
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
    (1..=4_usize).prop_flat_map(|senders| {
        (settings(senders as u32 + 1), prop::collection::vec(acts(), senders), looks())
            .prop_map(|(settings, senders, pauses)| Job { settings, senders, pauses })
    })
}

/// The message `number` of `from`, which its length and its bytes identify.
fn message(from: Rank, number: u32) -> Vec<u8> {
    let mixed = (u64::from(from) << 32 | u64::from(number)).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..mixed as usize % (BYTES + 1)).map(|place| (mixed >> (place % 8 * 7)) as u8 ^ place as u8).collect()
}

/// Number of messages that the actions of a sender send.
fn count(acts: &[Act]) -> u32 {
    acts.iter()
        .map(|act| match act {
            Act::Send | Act::Try | Act::TryOnce => 1,
            Act::All(count) => *count,
            Act::Remake | Act::Flush | Act::Pause => 0,
        })
        .sum()
}

/// A bound on the messages in slots: those known to have arrived, minus those that were consumed before.
struct InUse {
    slots: i64,
    here: AtomicI64,
}

impl InUse {
    fn come(&self, messages: u32) {
        let here = self.here.fetch_add(messages.into(), Ordering::SeqCst) + i64::from(messages);
        assert!(here <= self.slots, "{here} messages in {} slots", self.slots);
    }

    fn consumed(&self) {
        self.here.fetch_sub(1, Ordering::SeqCst);
    }
}

fn send(world: &World, mailbox: &Mailbox<'_>, acts: &[Act], in_use: &InUse) {
    let to = Rank::new(0);
    let mut sender = mailbox.sender(to).unwrap();
    let (mut number, mut flushed) = (0, 0);
    for &act in acts {
        match act {
            Act::Send => sender.send(message(world.rank(), number)).unwrap(),
            Act::Try => {
                let mut message = message(world.rank(), number);
                while let Sent::Full(back) = sender.try_send(message).unwrap() {
                    message = back;
                    std::thread::yield_now();
                }
            }
            Act::TryOnce => match sender.try_send(message(world.rank(), number)).unwrap() {
                Sent::Sent => {}
                Sent::Full(message) => {
                    drop(sender);
                    sender = mailbox.sender(to).unwrap();
                    sender.send(message).unwrap();
                }
            },
            Act::All(count) => {
                let messages: Vec<_> = (number..number + count).map(|number| message(world.rank(), number)).collect();
                sender.send_all(&messages).unwrap();
            }
            Act::Remake => {
                drop(sender);
                sender = mailbox.sender(to).unwrap();
            }
            Act::Flush => {
                sender.flush().unwrap();
                in_use.come(number - flushed);
                flushed = number;
            }
            Act::Pause => std::thread::yield_now(),
        }
        number += count(&[act]);
    }
    sender.flush().unwrap();
    in_use.come(number - flushed);
}

fn receive_one<'r>(receiver: &'r mut MailReceiver<'_, '_>, look: Look) -> Option<pelago_messaging::MessageGuard<'r>> {
    match look {
        Look::Receive => Some(receiver.receive().unwrap()),
        Look::Try => receiver.try_receive().unwrap(),
        Look::Within => match receiver.receive_within(Duration::from_microseconds(10)) {
            Err(Error::TimedOut { .. }) => None,
            other => Some(other.unwrap()),
        },
    }
}

fn receive(mailbox: &Mailbox<'_>, job: &Job, in_use: &InUse) {
    let mut receiver = mailbox.receiver().unwrap();
    let counts: Vec<_> = job.senders.iter().map(|acts| count(acts)).collect();
    let mut next = vec![0; counts.len()];
    let mut pauses = job.pauses.iter().cycle();
    while next.iter().sum::<u32>() < counts.iter().sum() {
        let &(pause, look) = pauses.next().unwrap();
        (0..pause).for_each(|_| std::thread::yield_now());
        let Some(received) = receive_one(&mut receiver, look) else { continue };
        let from = received.from();
        let number = &mut next[from.index() - 1];
        let expected = message(from, *number);
        assert_eq!(received.to_vec(), expected, "message {number} of rank {from}");
        (0..pause).for_each(|_| std::thread::yield_now());
        assert_eq!(received.to_vec(), expected, "nobody writes to a slot that is not free");
        *number += 1;
        in_use.consumed();
        received.release().unwrap();
    }
    assert_eq!(next, counts);
    assert!(receiver.try_receive().unwrap().is_none());
}

fn exchange(platform: Platform, job: &Job) {
    let in_use = InUse { slots: job.settings.slots.into(), here: AtomicI64::new(0) };
    run(platform, job.senders.len() as u32 + 1, |world| {
        let mailbox = Mailbox::new(world, Rank::new(0), job.settings.clone()).unwrap();
        match world.rank().index() {
            0 => receive(&mailbox, job, &in_use),
            sender => send(world, &mailbox, &job.senders[sender - 1], &in_use),
        }
        world.barrier().unwrap();
    });
}

/// At most as many permits as the limit has are in use, each from its acquisition to its release.
fn limited(platform: Platform, job: &Job) {
    let settings = Settings { message_bytes: 0, ..job.settings.clone() };
    let settings = match settings.placement.clone() {
        Placement::Split { proxies, .. } => settings.placed(Placement::Split { proxies, borrow: false }),
        _ => settings,
    };
    let (permits, acquired) = (i64::from(settings.slots), AtomicI64::new(0));
    run(platform, job.senders.len() as u32 + 1, |world| {
        let limit = Limit::new(world, Rank::new(0), settings.clone()).unwrap();
        let sent = world.alloc::<u64>(world.size() as usize).unwrap();
        let to = Rank::new(0);
        if let Some(acts) = world.rank().index().checked_sub(1).map(|sender| &job.senders[sender]) {
            let mut sender = limit.sender(to).unwrap();
            for act in acts {
                match act {
                    Act::Send | Act::All(_) => sender.acquire().unwrap(),
                    Act::Try | Act::TryOnce => {
                        while !sender.try_acquire().unwrap() {
                            std::thread::yield_now();
                        }
                    }
                    _ => continue,
                }
                let now = acquired.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= permits, "{now} of {permits} permits are acquired");
                world.add(sent.at(to, world.rank().index()), 1).unwrap();
            }
        } else {
            let mut receiver = limit.receiver().unwrap();
            let sends = |act: &&Act| !matches!(act, Act::Remake | Act::Flush | Act::Pause);
            let total: usize = job.senders.iter().map(|acts| acts.iter().filter(sends).count()).sum();
            let mut released = vec![0; world.size() as usize];
            while released.iter().sum::<u64>() < total as u64 {
                for from in world.ranks().skip(1) {
                    for _ in released[from.index()]..sent.local().load(from.index()) {
                        released[from.index()] += 1;
                        acquired.fetch_sub(1, Ordering::SeqCst);
                        receiver.release(from).unwrap();
                    }
                }
                receiver.flush().unwrap();
                world.progress();
                std::thread::yield_now();
            }
        }
        world.barrier().unwrap();
    });
}

/// A channel, message by message.
fn converse(platform: Platform, slots: u32, acts: &[Act], looks: &[(u32, Look)]) {
    let in_use = InUse { slots: slots.into(), here: AtomicI64::new(0) };
    run(platform, 2, |world| {
        let (zero, one) = (Rank::new(0), Rank::new(1));
        let channel = Channel::new(world, one, zero, ChannelSettings::new(slots, BYTES)).unwrap();
        if world.rank() == one {
            speak(&mut channel.sender().unwrap(), acts, &in_use);
        } else {
            listen(&mut channel.receiver().unwrap(), count(acts), looks, &in_use);
        }
        world.barrier().unwrap();
    });
}

fn speak(sender: &mut ChannelSender<'_>, acts: &[Act], in_use: &InUse) {
    let (mut number, mut flushed) = (0, 0);
    for &act in acts {
        for _ in 0..count(&[act]) {
            let mut message = message(Rank::new(1), number);
            number += 1;
            if matches!(act, Act::Send | Act::All(_)) {
                sender.send(message).unwrap();
                continue;
            }
            while let Sent::Full(back) = sender.try_send(message).unwrap() {
                message = back;
                std::thread::yield_now();
            }
        }
        if matches!(act, Act::Flush) {
            sender.flush().unwrap();
            in_use.come(number - flushed);
            flushed = number;
        }
    }
    sender.flush().unwrap();
    in_use.come(number - flushed);
}

fn listen(receiver: &mut ChannelReceiver<'_>, count: u32, looks: &[(u32, Look)], in_use: &InUse) {
    let (mut number, mut looks) = (0, looks.iter().cycle());
    while number < count {
        let &(pause, look) = looks.next().unwrap();
        (0..pause).for_each(|_| std::thread::yield_now());
        let received = match look {
            Look::Receive => Some(receiver.receive().unwrap()),
            Look::Try => receiver.try_receive().unwrap(),
            Look::Within => receiver.receive_within(Duration::from_microseconds(10)).ok(),
        };
        let Some(received) = received else { continue };
        let expected = message(Rank::new(1), number);
        assert_eq!(received.to_vec(), expected, "message {number}");
        (0..pause).for_each(|_| std::thread::yield_now());
        assert_eq!(received.to_vec(), expected, "nobody writes to a segment that is not free");
        assert_eq!((received.from(), received.len()), (Rank::new(1), expected.len()));
        number += 1;
        in_use.consumed();
    }
    assert!(receiver.try_receive().unwrap().is_none() && receiver.is_empty());
}

/// A channel, as a stream of bytes that both ends divide arbitrarily.
fn flow(platform: Platform, settings: ChannelSettings, written: &[usize], read: &[usize]) {
    let bytes: Vec<u8> = (0..written.iter().sum::<usize>()).map(|place| (place * 7 + place / 251) as u8).collect();
    run(platform, 2, |world| {
        let (zero, one) = (Rank::new(0), Rank::new(1));
        let channel = Channel::new(world, zero, one, settings).unwrap();
        let (mut place, mut even) = (0, false);
        if world.rank() == zero {
            let mut sender = channel.sender().unwrap();
            for &length in written {
                let mut part = &bytes[place..place + length];
                place += length;
                if length % 2 == 0 {
                    sender.send_stream(part).unwrap();
                }
                while length % 2 == 1 && !part.is_empty() {
                    part = &part[sender.try_send_stream(part).unwrap()..];
                    std::thread::yield_now();
                }
            }
        } else {
            let mut receiver = channel.receiver().unwrap();
            for length in read.iter().cycle() {
                let mut part = vec![0; (*length).min(bytes.len() - place)];
                even = !even;
                if even {
                    receiver.receive_stream(&mut part).unwrap();
                } else {
                    let came = receiver.try_receive_stream(&mut part).unwrap();
                    part.truncate(came);
                }
                assert_eq!(part, bytes[place..place + part.len()], "from byte {place} on");
                place += part.len();
                if place == bytes.len() {
                    break;
                }
            }
            assert!(receiver.try_receive().unwrap().is_none());
        }
        world.barrier().unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn mailboxes_lose_nothing_double_nothing_and_never_overflow(job in job()) {
        PLATFORMS.into_iter().for_each(|platform| exchange(platform, &job));
    }

    #[test]
    fn limits_are_kept(job in job()) {
        PLATFORMS.into_iter().for_each(|platform| limited(platform, &job));
    }

    #[test]
    fn channels_lose_nothing_double_nothing_and_never_overflow(slots in 0..=6_u32, acts in acts(), looks in looks()) {
        PLATFORMS.into_iter().for_each(|platform| converse(platform, 1 << slots, &acts, &looks));
    }

    #[test]
    fn streams_keep_every_byte_in_its_place(
        slots in 0..=4_u32,
        segment_bytes in 1..40_usize,
        written in prop::collection::vec(0..120_usize, 0..20),
        read in prop::collection::vec(1..150_usize, 1..10),
    ) {
        let settings = ChannelSettings::new(1 << slots, segment_bytes);
        PLATFORMS.into_iter().for_each(|platform| flow(platform, settings, &written, &read));
    }
}
