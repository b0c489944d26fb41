//! Active messages on networks with delays, and when a rank dies: in virtual time, with the library's own protocol.

use std::cell::RefCell;
use std::rc::Rc;

use pelago_base::{Duration, Instant, Rank};
use pelago_platform::Operation;
use pelago_rma::active::{ActiveMessages, Call, Functions, QueueSettings};
use pelago_rma::{Error, Failure, Fault, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run_late, run_with_death};

const SHORT: QueueSettings = QueueSettings { slots: 2, batch_bytes: 64, calls: 4, limit: None };

/// The arguments of the calls of a function, with their senders.
type Seen = Rc<RefCell<Vec<(Rank, u64)>>>;

/// Queues, and the messages that have run on this rank: sender and number.
fn queues<'w>(world: &'w World) -> pelago_rma::Result<(ActiveMessages<'w>, pelago_rma::active::Function<u64>, Seen)> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (mine, mut functions) = (seen.clone(), Functions::new());
    let note = functions.register(move |call: &Call<'_>, number: u64| mine.borrow_mut().push((call.from(), number)));
    Ok((ActiveMessages::new(world, functions, SHORT)?, note, seen))
}

/// Batches, or their flags, leave 400 µs late, longer than any other operation takes.
#[test]
fn a_batch_runs_when_all_of_it_has_come() {
    let is_late: [fn(&Operation<'_>) -> bool; 3] = [
        |operation| matches!(operation, Operation::Write { .. }),
        |operation| matches!(operation, Operation::Atomic { .. }),
        |_| true,
    ];
    for is_late in is_late {
        run_late(4, is_late, |world| {
            let (messages, note, seen) = queues(world)?;
            for number in 0..40 {
                let to = Rank::new((world.rank().number() + number as u32) % world.size());
                messages.send(to, note, number / 4)?;
            }
            messages.barrier()?;
            let seen = seen.borrow();
            for rank in world.ranks() {
                assert!(seen.iter().filter(|&&(from, _)| from == rank).map(|&(_, number)| number).eq(0..10), "{seen:?}");
            }
            Ok(())
        });
    }
}

/// Whenever a rank dies, the calls of all others fail with its loss, whether they send, wait for room or a reply, or are in a barrier; none waits for
/// ever.
#[test]
fn all_ranks_learn_of_a_lost_one() {
    let victim = Rank::new(3);
    let play = |dies: Option<Instant>| {
        let play = |world: &World, begin: &dyn Fn()| {
            world.on_peer_lost(|_| {});
            let (messages, note, seen) = queues(world)?;
            world.barrier()?;
            begin();
            let all = || {
                for number in 0..30 {
                    messages.send(Rank::new(0), note, number)?;
                    world.compute(Duration::from_microseconds(20));
                }
                messages.barrier()
            };
            let ended = all();
            match &ended {
                Ok(()) => assert!(world.rank().number() > 0 || seen.borrow().len() == 120),
                Err(
                    Error::Failed(Failure::PeerLost(rank) | Failure::Unreachable(rank)) | Error::Fault(Fault::PeerLost(rank)),
                ) => {
                    assert_eq!(*rank, victim);
                }
                other => panic!("{other:?}"),
            }
            // Each sent message has run at most once, in order.
            for rank in world.ranks() {
                assert!(
                    seen.borrow()
                        .iter()
                        .filter(|&&(from, _)| from == rank)
                        .map(|&(_, number)| number)
                        .zip(0..)
                        .all(|(a, b)| a == b)
                );
            }
            Ok(ended.is_ok())
        };
        run_with_death(4, FaultInjection::default(), (victim, dies), play)
    };
    let (moments, ended) = play(None);
    assert!(ended.iter().all(|ended| *ended == Some(true)) && moments.len() > 20, "{ended:?}, {} moments", moments.len());
    // After every third operation of the victim.
    for &moment in moments.iter().step_by(3) {
        let (_, ended) = play(Some(moment));
        assert_eq!(ended[victim.index()], None);
    }
}
