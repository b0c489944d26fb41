//! Messages on one host do not allocate in repeated rounds of the same messages.

use pelago_base::Rank;
use pelago_messaging::{Mailbox, Settings};
use pelago_test_support::counting::{CountingAllocator, allocations};
use pelago_test_support::threads::{Platform, run};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const MESSAGES: u64 = 4_000;

/// Eight bytes, encoded unchanged.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Fixed([u8; 8]);

#[test]
fn loops_of_messages_allocate_nothing() {
    run(Platform::Mapped, 2, |world| {
        let (to, from) = (Rank::new(0), Rank::new(1));
        let mailbox = Mailbox::new(world, to, Settings::new(64, 64)).unwrap();
        let mut counted = Vec::with_capacity(3);
        if world.rank() == from {
            let mut sender = mailbox.sender(to).unwrap();
            for _ in 0..3 {
                let before = allocations();
                for number in 0..MESSAGES {
                    match number % 4 {
                        #[cfg(feature = "serde")]
                        3 => sender.send_encoded(&Fixed(number.to_le_bytes())).unwrap(),
                        0 => sender.send(number.to_le_bytes()).unwrap(),
                        1 => sender.send_pieces(&[&number.to_le_bytes()[..3], &number.to_le_bytes()[3..]]).unwrap(),
                        _ => sender.send_values(&[number]).unwrap(),
                    }
                }
                counted.push(allocations() - before);
            }
            sender.flush().unwrap();
        } else {
            let mut receiver = mailbox.receiver().unwrap();
            for _ in 0..3 {
                let before = allocations();
                for number in 0..MESSAGES {
                    let message = receiver.receive().unwrap();
                    assert_eq!(message.value::<u64>(), Ok(number));
                    #[cfg(feature = "serde")]
                    assert_eq!(message.decode::<Fixed>().map(|Fixed(bytes)| bytes), Ok(number.to_le_bytes()));
                }
                counted.push(allocations() - before);
            }
        }
        world.barrier().unwrap();
        // A wait that sleeps allocates memory; on a busy machine there are a few such waits.
        assert!(counted[2] < MESSAGES / 40, "rank {}: {counted:?} allocations for {MESSAGES} messages each", world.rank());
    });
}
