//! A message whose `as_ref` returns other bytes in each call is never longer than its slot.

use std::cell::Cell;

use pelago_base::Rank;
use pelago_messaging::{Channel, ChannelSettings, Mailbox, Sent, Settings};
use pelago_rma::{Error, Result};
use pelago_test_support::threads::{Platform, run};

const SLOT_BYTES: usize = 8;

/// More slots than messages, so that the queue is never full: a full one returns the message, whatever its length.
const SLOTS: u32 = 16;

const FROM: Rank = Rank::new(0);
const TO: Rank = Rank::new(1);

/// Bytes of which the first calls return as many as a slot holds, and later calls more.
#[derive(Debug)]
struct Growing {
    calls: Cell<u32>,
    short_calls: u32,
    bytes: [u8; 3 * SLOT_BYTES],
}

impl Growing {
    fn after(short_calls: u32) -> Self {
        Self { calls: Cell::new(0), short_calls, bytes: [0xFF; 3 * SLOT_BYTES] }
    }
}

impl AsRef<[u8]> for Growing {
    fn as_ref(&self) -> &[u8] {
        let call = self.calls.replace(self.calls.get() + 1);
        if call < self.short_calls { &self.bytes[..SLOT_BYTES] } else { &self.bytes }
    }
}

/// Sends growing messages by `send`, and a good one after each; `receive` gets the good ones.
fn play<M: std::fmt::Debug>(rank: Rank, mut send: impl FnMut(Growing) -> Result<M>, mut good: impl FnMut(u8)) {
    for number in 0..4 {
        for short_calls in [0, 1] {
            if rank == FROM {
                let sent = send(Growing::after(short_calls));
                assert!(matches!(sent, Err(Error::TooLong { limit: SLOT_BYTES, .. })), "{short_calls}: {sent:?}");
            }
            good(number);
        }
    }
}

#[test]
fn a_mailbox_refuses_it() {
    run(Platform::Mapped, 2, |world| {
        let rank = world.rank();
        for all_at_once in [false, true] {
            let mailbox = Mailbox::new(world, TO, Settings::new(SLOTS, SLOT_BYTES)).unwrap();
            if rank == FROM {
                let sender = std::cell::RefCell::new(mailbox.sender(TO).unwrap());
                let send = |message| match all_at_once {
                    true => sender.borrow_mut().send_all(&[message]).map(|()| Sent::Sent),
                    false => sender.borrow_mut().try_send(message),
                };
                play(rank, send, |number| sender.borrow_mut().send([number; SLOT_BYTES]).unwrap());
            } else {
                let mut receiver = mailbox.receiver().unwrap();
                let receive = |number| assert_eq!(receiver.receive().unwrap().to_vec(), [number; SLOT_BYTES]);
                play(rank, |_| Ok(()), receive);
            }
            world.barrier().unwrap();
        }
    });
}

#[test]
fn a_channel_refuses_it() {
    run(Platform::Mapped, 2, |world| {
        let rank = world.rank();
        let channel = Channel::new(world, FROM, TO, ChannelSettings::new(SLOTS, SLOT_BYTES)).unwrap();
        if rank == FROM {
            let sender = std::cell::RefCell::new(channel.sender().unwrap());
            play(
                rank,
                |message| sender.borrow_mut().try_send(message),
                |number| {
                    sender.borrow_mut().send([number; SLOT_BYTES]).unwrap();
                },
            );
        } else {
            let mut receiver = channel.receiver().unwrap();
            play(rank, |_| Ok(()), |number| assert_eq!(receiver.receive().unwrap().to_vec(), [number; SLOT_BYTES]));
        }
        world.barrier().unwrap();
    });
}
