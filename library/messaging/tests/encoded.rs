//! Values of types with serde as messages (feature `serde`).
#![cfg(feature = "serde")]

use std::collections::BTreeMap;

use pelago_base::Rank;
use pelago_messaging::{Channel, ChannelSettings, Mailbox, Settings};
use pelago_rma::Error;
use pelago_test_support::threads::on_every_platform;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Order {
    Stop,
    Rows { first: u64, values: Vec<f32> },
    Names(BTreeMap<String, Option<i64>>),
}

const BYTES: usize = 4096;

/// A value whose encoding writes some bytes and then fails.
struct Half;

impl Serialize for Half {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (1u8, Unknown).serialize(serializer)
    }
}

struct Unknown;

impl Serialize for Unknown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_seq(None).map(|_| unreachable!("a length is needed"))
    }
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![
        Just(Order::Stop),
        (any::<u64>(), prop::collection::vec(-1e9f32..1e9, 0..900)).prop_map(|(first, values)| Order::Rows { first, values }),
        prop::collection::btree_map(".{0,9}", any::<Option<i64>>(), 0..20).prop_map(Order::Names),
    ]
}

/// Sends each value, and after every third a message that is no value of that type, a value that cannot be encoded and one that is too long.
fn exchange(orders: &[Order]) {
    on_every_platform(&[2], |world, _| {
        let (to, from) = (Rank::new(0), Rank::new(1));
        let mailbox = Mailbox::new(world, to, Settings::new(4, BYTES)).unwrap();
        if world.rank() == from {
            let mut sender = mailbox.sender(to).unwrap();
            for (number, order) in orders.iter().enumerate() {
                sender.send_encoded(order).unwrap();
                if number % 3 == 0 {
                    assert!(matches!(sender.send_encoded(&Half), Err(Error::Invalid(_))));
                    assert!(matches!(sender.send_encoded(&vec![1.5f32; BYTES]), Err(Error::TooLong { limit: BYTES, .. })));
                    sender.send([9]).unwrap();
                    sender.send([0, 0]).unwrap();
                }
            }
        } else if world.rank() == to {
            let mut receiver = mailbox.receiver().unwrap();
            for (number, order) in orders.iter().enumerate() {
                assert_eq!(receiver.receive().unwrap().decode::<Order>().unwrap(), *order);
                if number % 3 == 0 {
                    for why in ["no such variant", "bytes behind the value"] {
                        let refused = receiver.receive().unwrap().decode::<Order>();
                        assert!(matches!(refused, Err(Error::Invalid(_))), "{why}: {refused:?}");
                    }
                }
            }
        }
        world.barrier().unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn values_arrive_as_they_were_and_nothing_else_is_taken_for_one(orders in prop::collection::vec(order(), 1..6)) {
        exchange(&orders);
    }
}

/// A channel takes the same kinds of messages as a mailbox.
#[test]
fn a_channel_sends_values_pieces_and_encoded_values() {
    on_every_platform(&[2], |world, _| {
        let (from, to) = (Rank::new(0), Rank::new(1));
        let channel = Channel::new(world, from, to, ChannelSettings { slots: 4, segment_bytes: 64 }).unwrap();
        let order = Order::Rows { first: 7, values: vec![0.5, -1.0] };
        if world.rank() == from {
            let mut sender = channel.sender().unwrap();
            for _ in 0..10 {
                sender.send_values(&[1_u64, 2, 3]).unwrap();
                sender.send_pieces(&[b"head", &[], b": body"]).unwrap();
                assert!(matches!(sender.send_encoded(&Half), Err(Error::Invalid(_))));
                assert!(matches!(sender.send_pieces(&[&[0; 40], &[0; 40]]), Err(Error::TooLong { bytes: 80, limit: 64, .. })));
                sender.send_encoded(&order).unwrap();
            }
        } else if world.rank() == to {
            let mut receiver = channel.receiver().unwrap();
            for _ in 0..10 {
                assert_eq!(receiver.receive().unwrap().values::<u64>().unwrap(), [1, 2, 3]);
                assert_eq!(receiver.receive().unwrap().to_vec(), b"head: body");
                assert_eq!(receiver.receive().unwrap().decode::<Order>().unwrap(), order);
            }
        }
        world.barrier().unwrap();
    });
}
