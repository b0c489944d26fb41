//! Values of types with serde as messages (feature `serde`).
#![cfg(feature = "serde")]

use std::collections::BTreeMap;

use pelago_base::Rank;
use pelago_messaging::{Mailbox, Settings};
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
