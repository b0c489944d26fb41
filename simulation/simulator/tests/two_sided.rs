//! Two-sided messages of simulated ranks: their outcome depends on the kind of the machine's rail.

use pelago_base::{Duration, Rank};
use pelago_netsim::Machine;
use pelago_platform::Failure;
use pelago_rma::{Error, Result, World};
use pelago_simulator::Settings;
use pelago_test_support::simulated;

/// Number of messages of each sender.
const MESSAGES: u32 = 6;

/// A star of machines of this kind, with four receive slots each.
fn settings(kind: &str, extra: &str) -> Settings {
    let base = Machine::bundled("rx200-qdr").unwrap();
    let base = base.replace("kind = \"infiniband-rc\"", &format!("kind = \"{kind}\""));
    let machine = Machine::parse(&format!("{base}\n{extra}[rail.receive]\nslots = 4\n")).unwrap();
    Settings { heap_bytes: 1 << 20, ..simulated::settings_on(machine, 4, 1) }
}

/// Three ranks send to rank 0, which first computes and then receives until no message arrives. Returns the number of messages received, and of sends
/// that failed.
fn incast(settings: &Settings, computing: Duration) -> (u32, u32) {
    let outcome = simulated::run(settings, |world| one_rank(world, computing));
    assert_eq!((outcome.fault, outcome.failed), (None, None));
    let counts = outcome.results.into_iter().map(|result| result.unwrap().unwrap());
    counts.fold((0, 0), |sum, (taken, failed)| (sum.0 + taken, sum.1 + failed))
}

fn one_rank(world: &World, computing: Duration) -> Result<(u32, u32)> {
    assert!(world.is_two_sided());
    let (mut taken, mut failed) = (0, 0);
    if world.rank() == Rank::new(0) {
        world.compute(computing);
        let nothing = world.alloc_individual::<u64>(1)?;
        let mut next = [0; 4];
        loop {
            let waited = world.wait_until_within(Duration::from_milliseconds(10), nothing.local(), 0, |_| {
                while let Some((from, bytes)) = world.take() {
                    let number = u32::from_le_bytes(bytes[..].try_into().expect("four bytes were sent"));
                    assert!(number >= next[from.index()] && number < MESSAGES, "once, and here in order");
                    next[from.index()] = number + 1;
                    taken += 1;
                }
                false
            });
            match waited {
                Err(Error::TimedOut { .. }) => break,
                other => drop(other?),
            }
        }
    } else {
        for number in 0..MESSAGES {
            match world.send(Rank::new(0), &number.to_le_bytes())?.wait() {
                Ok(()) => {}
                Err(Error::Failed(Failure::NotReady(rank))) if rank == Rank::new(0) => failed += 1,
                Err(error) => return Err(error),
            }
        }
    }
    Ok((taken, failed))
}

#[test]
fn a_receiver_that_is_there_takes_everything() {
    for kind in ["infiniband-rc", "infiniband-ud", "tofu"] {
        assert_eq!(incast(&settings(kind, ""), Duration::ZERO), (3 * MESSAGES, 0), "{kind}");
    }
}

#[test]
fn a_receiver_that_computes_is_not_ready_on_rc() {
    let once = "[rail.reliability]\nnot_ready_ns = 1000\nnot_ready_retries = 3\n";
    let (taken, failed) = incast(&settings("infiniband-rc", once), Duration::from_milliseconds(1));
    assert_eq!((taken, failed), (4, 3 * MESSAGES - 4), "four slots");
    let patient = "[rail.reliability]\nnot_ready_ns = 100000\nnot_ready_retries = 20\n";
    assert_eq!(incast(&settings("infiniband-rc", patient), Duration::from_milliseconds(1)), (3 * MESSAGES, 0));
}

#[test]
fn what_a_receiver_that_computes_has_no_room_for_is_lost_on_ud() {
    assert_eq!(incast(&settings("infiniband-ud", ""), Duration::from_milliseconds(1)), (4, 0));
}

#[test]
fn what_a_receiver_that_computes_has_no_room_for_waits_in_the_network_of_tofu() {
    assert_eq!(incast(&settings("tofu", ""), Duration::from_milliseconds(1)), (3 * MESSAGES, 0));
}
