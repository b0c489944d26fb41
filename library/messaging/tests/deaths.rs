//! A sender dies after each of its operations, at a mailbox that others continue to use: in virtual time, with the library's own protocol.

use std::cell::Cell;

use pelago_base::{Duration, Instant, Rank};
use pelago_messaging::{Channel, ChannelSettings, Lengths, Mailbox, Messages, Placement, Sent, Settings, Waiting};
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::{FaultInjection, Protocol, simulate};
use pelago_test_support::faulty::{self, run_with_death, run_with_death_noting};

const RANKS: u32 = 4;
const MESSAGES: u64 = 6;
const RECEIVER: Rank = Rank::new(0);

/// A time limit in virtual time that no operation reaches unless the test hangs.
const HANG: Duration = Duration::from_milliseconds(1_000);

/// The results of a job.
struct Ended {
    /// The times of the operations of the watched rank after the creation of the mailbox.
    noted: Vec<Instant>,
    /// The numbers of the received messages, by sender.
    came: Vec<Vec<u64>>,
    /// Number of complete messages of the victim.
    completed: u64,
}

/// All ranks send to one receiver through two slots, so that an unused ticket would block all senders.
fn play_noting(watched: Rank, settings: &Settings, victim: Rank, dies: Option<Instant>) -> Ended {
    let completed = Cell::new(0);
    let (noted, found) = run_with_death_noting(watched, RANKS, FaultInjection::default(), (victim, dies), |world, begin| {
        world.on_peer_lost(|_| {});
        let mailbox = Mailbox::new(world, RECEIVER, settings.clone())?;
        world.barrier()?;
        begin();
        if world.rank() == RECEIVER {
            return receive(world, &mailbox, victim);
        }
        let mut sender = mailbox.sender(RECEIVER)?;
        for number in 0..MESSAGES {
            // The sender holds its ticket while it computes, for longer than the receiver takes to check for tickets of lost ranks: the receiver finds the
            // ticket of a living sender without its message.
            while let Sent::Full(_) = sender.try_send(number.to_le_bytes())? {
                world.compute(Duration::from_milliseconds(30));
            }
            if number % 2 == 1 {
                sender.flush()?;
                if world.rank() == victim {
                    completed.set(number + 1);
                }
            }
        }
        // `quiet` does not report failures that the library has handled.
        world.quiet()?;
        Ok(Vec::new())
    });
    let came = found[RECEIVER.number() as usize].clone().expect("the receiver does not die");
    Ended { noted, came, completed: completed.get() }
}

fn receive(world: &World, mailbox: &Mailbox<'_>, victim: Rank) -> Result<Vec<Vec<u64>>> {
    let mut came = vec![Vec::new(); RANKS as usize];
    let mut receiver = mailbox.receiver()?;
    let living = || (1..RANKS).map(Rank::new).filter(|&rank| rank != victim);
    loop {
        let is_all = living().all(|rank| came[rank.number() as usize].len() as u64 == MESSAGES);
        // Messages of the victim may still be in flight.
        let limit = if is_all { Duration::from_milliseconds(100) } else { HANG };
        match receiver.receive_within(limit) {
            Ok(message) => {
                let number = u64::from_le_bytes(message.to_vec().try_into().unwrap());
                came[message.from().number() as usize].push(number);
            }
            Err(Error::TimedOut { .. }) if is_all => return Ok(came),
            Err(error) => panic!("at {:?}: {error}; came: {came:?}", world.now()),
        }
    }
}

#[test]
fn what_the_living_send_comes_whenever_another_sender_dies() {
    lose_each_time(&Settings::new(2, 8), &[1, 3].map(Rank::new));
}

/// Shares of 2, 1 and 1 slots; the victim and a living rank use the last share.
#[test]
fn no_slot_of_a_share_of_any_size_is_lost_with_a_sender() {
    let proxies = (0..3).map(Rank::new).collect();
    lose_each_time(&Settings::new(4, 8).placed(Placement::Split { proxies, borrow: false }), &[Rank::new(3)]);
}

/// Three ranks share a relay with the receiver: rank 2. Victims die as members, and while they take tickets for the others.
#[test]
fn no_slot_is_lost_with_a_sender_that_takes_tickets_for_others() {
    lose_each_time(&Settings::new(2, 8).relayed(4), &[1, 3].map(Rank::new));
}

/// The relay itself dies, after each of its own operations and after each of a member, which takes its tickets at the counters from then on.
#[test]
fn no_slot_is_lost_with_a_relay() {
    let settings = Settings::new(2, 8).relayed(4);
    for watched in [RELAY, Rank::new(1)] {
        lose_each_time_noting(watched, &settings, &[RELAY]);
    }
    // The receiver and rank 1 share one relay, ranks 2 and 3 the other: requests through the living relay are not affected.
    lose_each_time_noting(Rank::new(2), &Settings::new(2, 8).relayed(2), &[Rank::new(3)]);
}

/// The rank that is the relay of four ranks.
const RELAY: Rank = Rank::new(2);

fn lose_each_time(settings: &Settings, victims: &[Rank]) {
    victims.iter().for_each(|&victim| lose_each_time_noting(victim, settings, &[victim]));
}

fn lose_each_time_noting(watched: Rank, settings: &Settings, victims: &[Rank]) {
    for &victim in victims {
        let play = |victim, dies| play_noting(watched, settings, victim, dies);
        let whole = play(victim, None);
        assert!(whole.came.iter().skip(1).all(|came| came.iter().copied().eq(0..MESSAGES)), "{:?}", whole.came);
        assert!(whole.noted.len() > 10, "{} operations", whole.noted.len());
        for (number, &at) in whole.noted.iter().enumerate() {
            for later in [1, 900].map(Duration::from_nanoseconds) {
                let Ended { came, completed, .. } = play(victim, Some(at + later));
                for (rank, came) in (0..).map(Rank::new).zip(&came).skip(1).filter(|(rank, _)| *rank != victim) {
                    assert!(came.iter().copied().eq(0..MESSAGES), "operation {number} of rank {victim}: {came:?} of rank {rank}");
                }
                let came = &came[victim.number() as usize];
                assert!(came.is_sorted_by(|one, next| one < next), "operation {number} of rank {victim}: {came:?}");
                assert!(
                    (0..completed).all(|number| came.contains(&number)),
                    "operation {number}: {came:?}, {completed} complete"
                );
            }
        }
    }
}

/// Whether an error is the loss of `rank`.
fn is_loss_of(rank: Rank, error: &Error) -> bool {
    matches!(error, Error::Failed(Failure::PeerLost(lost)) | Error::Fault(Fault::PeerLost(lost)) if *lost == rank)
}

/// The holder of a share of the counters dies after each operation of the receiver. Only the mailbox reports that loss, if any call does, and the job
/// ends without an error for all ranks that do not need the holder.
#[test]
fn the_receiver_learns_once_that_a_holder_of_counters_has_died() {
    const HOLDER: Rank = Rank::new(2);
    let play = |waiting: Waiting, dies: Option<Instant>| {
        let proxies = vec![Rank::new(1), HOLDER];
        let settings = Settings { waiting, ..Settings::new(8, 8).placed(Placement::Split { proxies, borrow: false }) };
        let told = Cell::new(0);
        let (noted, _) = run_with_death_noting(RECEIVER, RANKS, FaultInjection::default(), (HOLDER, dies), |world, begin| {
            world.on_peer_lost(|_| {});
            let mailbox = Mailbox::new(world, RECEIVER, settings.clone())?;
            world.barrier()?;
            begin();
            if world.rank() == RECEIVER {
                let mut receiver = mailbox.receiver()?;
                loop {
                    match receiver.receive_within(Duration::from_milliseconds(100)) {
                        Ok(message) => drop(message.to_vec()),
                        Err(Error::TimedOut { .. }) => break,
                        Err(error) => {
                            assert!(is_loss_of(HOLDER, &error), "{error}");
                            told.set(1);
                            break;
                        }
                    }
                }
            } else {
                let mut sender = mailbox.sender(RECEIVER)?;
                let sent = (0..4 * MESSAGES).try_for_each(|number| sender.send(number.to_le_bytes()));
                assert!(sent.as_ref().err().is_none_or(|error| is_loss_of(HOLDER, error)), "{sent:?}");
            }
            Ok(())
        });
        (noted, told.get())
    };
    for waiting in [Waiting::Notified, Waiting::BackingOff] {
        let (noted, _) = play(waiting, None);
        assert!(noted.len() > 10, "{} operations", noted.len());
        let dies = noted.into_iter().flat_map(|at| [1, 900].map(|later| at + Duration::from_nanoseconds(later)));
        let told: u32 = dies.map(|at| play(waiting, Some(at)).1).sum();
        assert!(told > 0 || waiting != Waiting::Notified, "nobody was told");
    }
}

/// A sender dies after its message was fetched, before the acknowledgement: its receiver has the message, and no operation of the receiver fails.
#[test]
fn who_has_fetched_a_message_does_not_need_its_sender() {
    const SENDER: Rank = Rank::new(2);
    let play = |dies: Option<Instant>| {
        let received = Cell::new(0);
        let (noted, _) = run_with_death_noting(RECEIVER, RANKS, FaultInjection::default(), (SENDER, dies), |world, begin| {
            world.on_peer_lost(|_| {});
            let messages = Messages::new(world, Lengths::RENDEZVOUS, Settings::new(4, 100), Settings::new(8, 100))?;
            let mut party = messages.party()?;
            world.barrier()?;
            begin();
            if world.rank() == SENDER {
                return (0..2).try_for_each(|number| party.send(RECEIVER, number, &[1; 600]));
            }
            while world.rank() == RECEIVER && received.get() < 2 {
                match party.receive_within(Duration::from_milliseconds(50), Some(SENDER), None) {
                    Ok(message) => {
                        assert_eq!(message.bytes, [1; 600]);
                        received.set(received.get() + 1);
                    }
                    Err(Error::TimedOut { .. }) => break,
                    Err(error) if is_loss_of(SENDER, &error) => break,
                    Err(error) => panic!("{error}"),
                }
            }
            Ok(())
        });
        (noted, received.get())
    };
    let (noted, received) = play(None);
    assert!(received == 2 && noted.len() > 3, "{} operations", noted.len());
    let dies = noted.into_iter().flat_map(|at| [1, 300, 900].map(|later| at + Duration::from_nanoseconds(later)));
    let received: Vec<_> = dies.map(|at| play(Some(at)).1).collect();
    assert!([0, 1, 2].iter().all(|count| received.contains(count)), "{received:?}");
}

/// A wait for a lost rank, or for any rank if all others are lost, ends with the loss after the arrived messages were received; a wait for a living rank
/// continues.
#[test]
fn whoever_waits_for_messages_that_cannot_come_any_more_learns_of_the_loss() {
    const VICTIM: Rank = Rank::new(1);
    const OTHER: Rank = Rank::new(2);
    const WAYS: [Lengths; 3] = [Lengths::EAGER, Lengths::ACQUIRED, Lengths { eager_bytes_max: 0, acquired_bytes_max: 1 }];
    let lost = |rank| Err(Error::Fault(Fault::PeerLost(rank)));
    // The ranks for which the receiver waits, and the results of three waits.
    let expected = [
        (Some(VICTIM), vec![Ok(VICTIM), Ok(VICTIM), lost(VICTIM)]),
        (Some(OTHER), vec![Ok(OTHER)]),
        (None, vec![Ok(VICTIM), Ok(VICTIM), lost(OTHER)]),
    ];
    for (lengths, (from, expected), limit) in WAYS
        .into_iter()
        .flat_map(|lengths| expected.iter().map(move |expected| (lengths, expected)))
        .flat_map(|(lengths, expected)| [None, Some(HANG)].map(|limit| (lengths, expected.clone(), limit)))
    {
        let all_others = from.is_none().then_some((OTHER, DEATH + Duration::from_milliseconds(1)));
        let faults = FaultInjection { deaths: all_others.into_iter().collect(), ..FaultInjection::default() };
        let (_, found) = run_with_death(3, faults, (VICTIM, Some(DEATH)), |world, _| {
            world.on_peer_lost(|_| {});
            let messages = Messages::new(world, lengths, Settings::new(8, 100), Settings::new(8, 100))?;
            let mut party = messages.party()?;
            world.barrier()?;
            match world.rank() {
                RECEIVER => {
                    let receive = |_| match limit {
                        None => party.receive(from, None).map(|message| message.from),
                        Some(limit) => party.receive_within(limit, from, None).map(|message| message.from),
                    };
                    let came: Vec<_> = (0..expected.len()).map(receive).collect();
                    return Ok(Some((came, world.now())));
                }
                VICTIM => {
                    (0..2).try_for_each(|tag| party.send(RECEIVER, tag, &[7]))?;
                    world.compute(HANG);
                }
                _ => {
                    world.compute(ALL_KNOW + ALL_KNOW);
                    party.send(RECEIVER, 0, &[9])?;
                }
            }
            Ok(None)
        });
        let (came, at) = found[RECEIVER.index()].clone().flatten().unwrap();
        assert_eq!(came, expected, "{lengths:?}, from {from:?} within {limit:?}");
        assert!(at > DEATH && at < DEATH + Duration::from_milliseconds(50), "{at:?}");
    }
}

#[test]
fn the_receiver_of_a_mailbox_learns_that_nobody_is_left_to_send() {
    for limit in [None, Some(HANG)] {
        let others = vec![(Rank::new(2), DEATH)];
        let faults = FaultInjection { deaths: others, ..FaultInjection::default() };
        let (_, found) = run_with_death(3, faults, (Rank::new(1), Some(DEATH)), |world, _| {
            world.on_peer_lost(|_| {});
            let mailbox = Mailbox::new(world, RECEIVER, Settings::new(4, 8))?;
            if world.rank() == RECEIVER {
                let mut receiver = mailbox.receiver()?;
                let mut receive = || match limit {
                    None => receiver.receive().map(|message| message.to_vec()),
                    Some(limit) => receiver.receive_within(limit).map(|message| message.to_vec()),
                };
                return Ok((0..2).map(|_| receive()).collect());
            }
            if world.rank() == Rank::new(1) {
                mailbox.sender(RECEIVER)?.send([5])?;
            }
            world.compute(HANG);
            Ok(Vec::new())
        });
        let found = found[RECEIVER.index()].clone().unwrap();
        assert_eq!(found[0], Ok(vec![5]));
        assert!(found[1].as_ref().is_err_and(|error| (1..3).any(|rank| is_loss_of(Rank::new(rank), error))), "{found:?}");
    }
}

/// The time of a death, and the time from the start of the job until all ranks know of it.
const DEATH: Instant = Instant::from_picoseconds(5_000_000_000);
const ALL_KNOW: Duration = Duration::from_milliseconds(6);

/// A sender that waits until its message is fetched gets the loss of the receiver as an error, also if other ranks are lost with it, and continues to
/// wait if the receiver lives.
#[test]
fn who_waits_until_its_message_is_fetched_learns_of_the_loss_of_its_receiver_alone() {
    const SENDER: Rank = Rank::new(1);
    for (deaths, lost) in [(vec![2], false), (vec![0], true), (vec![2, 0], true), (vec![0, 2], true), (vec![2, 3], false)] {
        let victim = Rank::new(deaths[0]);
        let others = deaths[1..].iter().map(|&rank| (Rank::new(rank), DEATH)).collect();
        let faults = FaultInjection { deaths: others, ..FaultInjection::default() };
        let (_, sent) = run_with_death(RANKS, faults, (victim, Some(DEATH)), |world, _| {
            world.on_peer_lost(|_| {});
            let messages = Messages::new(world, Lengths::RENDEZVOUS, Settings::new(4, 100), Settings::new(8, 100))?;
            let mut party = messages.party()?;
            world.barrier()?;
            if world.rank() == SENDER {
                let sent = party.send(RECEIVER, 0, &[1; 600]);
                assert!(world.now() > DEATH, "it waited");
                return Ok(Some(sent));
            }
            world.compute(ALL_KNOW + ALL_KNOW);
            if world.rank() == RECEIVER {
                assert_eq!(party.receive_within(HANG, None, None)?.bytes, [1; 600]);
            }
            Ok(None)
        });
        let expected = if lost { Err(Error::Fault(Fault::PeerLost(RECEIVER))) } else { Ok(()) };
        assert_eq!(sent[SENDER.index()], Some(Some(expected)), "{deaths:?} died");
    }
}

#[test]
fn who_releases_a_message_learns_that_the_holder_of_its_counters_has_died() {
    const HOLDER: Rank = Rank::new(3);
    let (_, released) = run_with_death(RANKS, FaultInjection::default(), (HOLDER, Some(DEATH)), |world, _| {
        world.on_peer_lost(|_| {});
        let mailbox = Mailbox::new(world, RECEIVER, Settings::new(1, 8).placed(Placement::Proxy(HOLDER)))?;
        if world.rank() == Rank::new(1) {
            let mut sender = mailbox.sender(RECEIVER)?;
            sender.send([1])?;
            sender.flush()?;
        }
        world.compute(ALL_KNOW);
        if world.rank() != RECEIVER {
            return Ok(None);
        }
        world.progress();
        Ok(Some(mailbox.receiver()?.receive()?.release()))
    });
    let released = released[RECEIVER.index()].as_ref().unwrap().as_ref().unwrap();
    assert!(released.as_ref().is_err_and(|error| is_loss_of(HOLDER, error)), "{released:?}");
}

/// In a job that does not go on without lost ranks, no rank waits for ever, and all get the loss as an error.
#[test]
fn whoever_waits_learns_that_the_job_is_at_fault() {
    const VICTIM: Rank = Rank::new(3);
    let mut faults = FaultInjection { deaths: vec![(VICTIM, DEATH)], ..FaultInjection::default() };
    faults.announced_after = Some(Duration::from_microseconds(200));
    for way in 0..8 {
        let settings = faulty::settings(RANKS, 2, faults.clone());
        let outcome = simulate(&settings, |parts| -> Result<()> {
            let world = World::new(*parts).unwrap();
            // Slots and channels for one message, which are full when a second message waits.
            let mailbox = Mailbox::new(&world, RECEIVER, Settings::new(1, 8)).unwrap();
            // The victim is the relay of rank 2.
            let relayed = Mailbox::new(&world, RECEIVER, Settings::new(1, 8).relayed(2)).unwrap();
            let channel = Channel::new(&world, Rank::new(1), RECEIVER, ChannelSettings::new(1, 8)).unwrap();
            let messages = Messages::new(&world, Lengths::RENDEZVOUS, Settings::new(4, 100), Settings::new(8, 100)).unwrap();
            world.barrier().unwrap();
            let waited = match (way, world.rank().number()) {
                (0, 0) => mailbox.receiver().unwrap().receive().map(drop),
                (1, 0) => mailbox.receiver().unwrap().receive_within(HANG).map(drop),
                (2, 0) => channel.receiver().unwrap().receive().map(drop),
                (3, 0) => messages.party().unwrap().receive(None, None).map(drop),
                (4, 1) => messages.party().unwrap().send(RECEIVER, 0, &[1; 600]),
                (5, 1) => mailbox.sender(RECEIVER).unwrap().send_all(&[[1], [2]]),
                (7, 2) => {
                    let mut sender = relayed.sender(RECEIVER).unwrap();
                    (0..u32::MAX).try_for_each(|number| sender.send(number.to_le_bytes()))
                }
                (6, 1) => {
                    let mut sender = channel.sender().unwrap();
                    (0..2).try_for_each(|number| sender.send([number]))
                }
                _ => {
                    world.compute(ALL_KNOW + ALL_KNOW);
                    return Ok(());
                }
            };
            assert!(matches!(waited, Err(Error::Fault(Fault::PeerLost(VICTIM)))), "way {way}: {waited:?}");
            assert!(world.now() > DEATH && world.now() < DEATH + ALL_KNOW, "at {:?}", world.now());
            Ok(())
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.stuck, outcome.failed), (Vec::new(), None), "way {way}");
    }
}

/// A flush returns after the arrival of the message, which the receiver polls for continually.
#[test]
fn a_flush_returns_when_what_was_sent_has_come() {
    let protocol: Protocol = "delay=0.5:60us".parse().unwrap();
    for seed in 0..5 {
        let settings = pelago_simulator::Settings { seed, ..faulty::settings(2, 1, protocol.faults.clone()) };
        let times = faulty::run(
            &settings,
            |_| false,
            |world, _| {
                let mailbox = Mailbox::new(world, RECEIVER, Settings::new(4, 40))?;
                world.barrier()?;
                let now = if world.rank() == RECEIVER {
                    mailbox.receiver()?.receive()?.release()?;
                    world.now()
                } else {
                    // The end must not be dropped before the time is read, because the drop flushes too.
                    let mut sender = mailbox.sender(RECEIVER)?;
                    sender.send([1; 40])?;
                    sender.flush()?;
                    world.now()
                };
                world.barrier()?;
                Ok(now)
            },
        );
        assert!(times[0] < times[1], "seed {seed}: {times:?}");
    }
}
