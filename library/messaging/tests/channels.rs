//! The ends of a channel when no message arrives and when the other end dies: in virtual time, with the library's own protocol.

use std::cell::Cell;

use pelago_base::{Duration, Instant, Rank};
use pelago_messaging::{Channel, ChannelReceiver, ChannelSettings};
use pelago_rma::{Error, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run, run_with_death, settings};

const MESSAGES: u8 = 6;

/// Two ranks on different nodes, with two ranks per node.
const SENDER: Rank = Rank::new(1);
const RECEIVER: Rank = Rank::new(2);

/// A time limit in virtual time that no operation reaches unless the test hangs.
const HANG: Duration = Duration::from_milliseconds(1_000);

/// The call by which a receiver gets the next message.
#[derive(Clone, Copy, Debug)]
enum ReceiveBy {
    Receive,
    Within,
    Try,
    Stream,
    TryStream,
}

/// Receives the next message, of one byte.
fn next(world: &World, receiver: &mut ChannelReceiver<'_>, receive_by: ReceiveBy) -> Result<u8> {
    let mut byte = [0];
    let until = world.now() + HANG;
    loop {
        match receive_by {
            ReceiveBy::Receive => return Ok(receiver.receive()?.to_vec()[0]),
            ReceiveBy::Within => return Ok(receiver.receive_within(HANG)?.to_vec()[0]),
            ReceiveBy::Stream => return receiver.receive_stream(&mut byte).map(|()| byte[0]),
            ReceiveBy::Try => {
                if let Some(message) = receiver.try_receive()? {
                    return Ok(message.to_vec()[0]);
                }
            }
            ReceiveBy::TryStream => {
                if receiver.try_receive_stream(&mut byte)? > 0 {
                    return Ok(byte[0]);
                }
            }
        }
        assert!(world.now() < until, "nothing comes, and the loss of the sender is not told");
        world.compute(Duration::from_microseconds(10));
    }
}

#[test]
fn what_was_flushed_comes_whenever_the_sender_dies_and_then_its_loss_is_told() {
    for receive_by in [ReceiveBy::Receive, ReceiveBy::Within, ReceiveBy::Try, ReceiveBy::Stream, ReceiveBy::TryStream] {
        let play = |dies: Option<Instant>| {
            let completed = Cell::new(0);
            let (noted, came) = run_with_death(4, FaultInjection::default(), (SENDER, dies), |world, begin| {
                world.on_peer_lost(|_| {});
                let channel = Channel::new(world, SENDER, RECEIVER, ChannelSettings::new(4, 8))?;
                world.barrier()?;
                begin();
                if world.rank() == SENDER {
                    let mut sender = channel.sender()?;
                    for number in 0..MESSAGES {
                        sender.send([number])?;
                        if number % 2 == 1 {
                            sender.flush()?;
                            completed.set(number + 1);
                        }
                    }
                }
                let mut came = 0;
                if world.rank() == RECEIVER {
                    let mut receiver = channel.receiver()?;
                    while came < MESSAGES {
                        match next(world, &mut receiver, receive_by) {
                            Ok(number) => assert_eq!(number, came),
                            Err(Error::Fault(Fault::PeerLost(SENDER))) => break,
                            Err(error) => panic!("{receive_by:?}: {error}"),
                        }
                        came += 1;
                    }
                }
                Ok(came)
            });
            (noted, came[RECEIVER.index()].expect("the receiver does not die"), completed.get())
        };
        let (noted, came, _) = play(None);
        assert!(came == MESSAGES && noted.len() >= usize::from(MESSAGES), "{receive_by:?}: {came}, {} operations", noted.len());
        let mut broken = 0;
        for at in noted {
            for later in [1, 900].map(Duration::from_nanoseconds) {
                let (_, came, completed) = play(Some(at + later));
                assert!(came >= completed, "{receive_by:?}: {came} of {completed} that were complete");
                broken += u32::from(came < MESSAGES);
            }
        }
        assert!(broken > 0, "{receive_by:?}: no death came too early for a message");
    }
}

#[test]
fn a_sender_that_flushes_or_has_no_room_learns_that_its_receiver_died() {
    let death = Instant::from_picoseconds(5_000_000_000);
    let (_, ended) = run_with_death(4, FaultInjection::default(), (RECEIVER, Some(death)), |world, _| {
        world.on_peer_lost(|_| {});
        let channel = Channel::new(world, SENDER, RECEIVER, ChannelSettings::new(2, 8))?;
        if world.rank() != SENDER {
            world.compute(Duration::from_milliseconds(10));
            return Ok(Vec::new());
        }
        let mut sender = channel.sender()?;
        (0..2).try_for_each(|number| sender.send([number]))?;
        sender.flush()?;
        world.compute(Duration::from_milliseconds(10));
        world.progress();
        let tried = [sender.try_send([2]).map(drop), sender.try_send_stream(&[2]).map(drop)];
        Ok(tried.into_iter().chain([sender.flush(), sender.send([2])]).collect())
    });
    assert_eq!(ended[SENDER.index()], Some(vec![Err(Error::Fault(Fault::PeerLost(RECEIVER))); 4]));
}

#[test]
fn a_receiver_waits_within_its_limit_and_takes_from_a_stream_what_has_come() {
    run(
        &settings(2, 1, FaultInjection::default()),
        |_| false,
        |world, _| {
            let milliseconds = Duration::from_milliseconds;
            let channel = Channel::new(world, Rank::new(0), Rank::new(1), ChannelSettings::new(4, 4))?;
            world.barrier()?;
            let begun = world.now();
            if world.rank() == Rank::new(0) {
                let mut sender = channel.sender()?;
                world.compute(milliseconds(5));
                sender.send_stream(b"0123456789")?;
                sender.flush()?;
                world.compute(milliseconds(15));
            } else {
                let mut receiver = channel.receiver()?;
                let limit = milliseconds(2);
                assert_eq!(receiver.receive_within(limit).err(), Some(Error::TimedOut { what: "a message", limit }));
                let passed = world.now().since(begun);
                assert!((limit..milliseconds(3)).contains(&passed), "{passed:?}");
                assert_eq!(receiver.try_receive_stream(&mut [0; 8])?, 0);
                assert_eq!(receiver.receive_within(milliseconds(10))?.to_vec(), b"0123");
                let passed = world.now().since(begun);
                assert!((milliseconds(5)..milliseconds(6)).contains(&passed), "{passed:?}");
                world.compute(milliseconds(5));
                let mut bytes = [0; 8];
                assert_eq!(receiver.try_receive_stream(&mut bytes[..3])?, 3, "the part that has room");
                assert_eq!(receiver.try_receive_stream(&mut bytes[3..])?, 3, "the part that has come");
                assert_eq!(&bytes, b"456789\0\0");
            }
            world.barrier()
        },
    );
}

/// The program gets the bytes that were taken out of their segments, also if a later receive fails.
#[test]
fn a_stream_gives_what_has_come_before_it_tells_of_a_loss() {
    let death = Instant::from_picoseconds(5_000_000_000);
    let (_, ended) = run_with_death(4, FaultInjection::default(), (SENDER, Some(death)), |world, _| {
        world.on_peer_lost(|_| {});
        let channel = Channel::new(world, SENDER, RECEIVER, ChannelSettings::new(4, 4))?;
        if world.rank() == SENDER {
            let mut sender = channel.sender()?;
            sender.send_stream(b"01234")?;
            sender.flush()?;
        }
        world.compute(Duration::from_milliseconds(10));
        if world.rank() != RECEIVER {
            return Ok(Vec::new());
        }
        world.progress();
        let mut receiver = channel.receiver()?;
        Ok((0..2).map(|_| receiver.try_receive_stream(&mut [0; 8])).collect())
    });
    assert_eq!(ended[RECEIVER.index()], Some(vec![Ok(5), Err(Error::Fault(Fault::PeerLost(SENDER)))]));
}
