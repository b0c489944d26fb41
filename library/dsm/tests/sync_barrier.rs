//! The barrier of Fagus: no rank leaves before all have entered, on every platform, with late messages, with lost messages, and with deaths.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{Duration, Instant, Rank};
use pelago_dsm::SyncBarrier;
use pelago_platform::Operation;
use pelago_rma::{Error, Failure, Fault, Result, World};
use pelago_simulator::FaultInjection;
use pelago_test_support::faulty::{run_late, run_with_death};
use pelago_test_support::simulated;
use pelago_test_support::threads::on_every_platform;

const MEETINGS: u64 = 30;

/// Each rank puts the number of the barrier to its right neighbour, which finds it after the barrier; `entered` counts all entries.
fn meet(world: &World, entered: &AtomicU64, pause: impl Fn(u64)) -> Result<()> {
    let size = u64::from(world.size());
    let inbox = world.alloc::<u64>(2)?;
    let barrier = SyncBarrier::new(world)?;
    for meeting in 1..=MEETINGS {
        pause(meeting);
        // Two places in turn, because the neighbour may be one barrier ahead.
        let place = meeting as usize % 2;
        world.put(inbox.at(world.rank().next(world.size()), place), &[meeting])?;
        entered.fetch_add(1, Ordering::Relaxed);
        barrier.wait()?;
        let all = entered.load(Ordering::Relaxed);
        assert!(all >= meeting * size, "rank {} leaves meeting {meeting} of {size} ranks after {all} entries", world.rank());
        assert_eq!(inbox.local().load(place), meeting, "what was put before is visible after");
    }
    world.barrier()
}

#[test]
fn nobody_leaves_before_all_have_entered_on_every_platform() {
    for ranks in [1, 2, 5] {
        // Each job has its own count; the platforms run one after another.
        let entered = AtomicU64::new(0);
        on_every_platform(&[ranks], |world, _| {
            world.barrier().unwrap();
            if world.rank().number() == 0 {
                entered.store(0, Ordering::Relaxed);
            }
            world.barrier().unwrap();
            meet(world, &entered, |_| ()).unwrap();
        });
    }
}

#[test]
fn nobody_leaves_before_all_have_entered_where_datagrams_are_late_or_lost() {
    for ranks in [2, 3, 7] {
        for seed in 0..8 {
            let mut late = simulated::settings_late(ranks, seed);
            if seed % 2 == 1 {
                late.protocol = Some("loss=0.05,duplicate=0.05,delay=0.2:50us".parse().unwrap());
            }
            let entered = AtomicU64::new(0);
            simulated::run_to_the_end(&late, "meetings", |world| {
                let me = u64::from(world.rank().number());
                meet(world, &entered, |meeting| world.compute(Duration::from_microseconds((meeting * 7 + me * 13) % 40)))
            });
        }
    }
}

/// A permit, or an entry, that leaves much later than the next operations of its rank.
#[test]
fn a_late_word_does_not_hide_a_later_one() {
    for is_late in [
        |operation: &Operation<'_>| matches!(operation, Operation::Write { .. }),
        |operation: &Operation<'_>| matches!(operation, Operation::Atomic { .. }),
    ] {
        for ranks in [2, 4] {
            let entered = AtomicU64::new(0);
            run_late(ranks, is_late, |world| meet(world, &entered, |_| ()));
        }
    }
}

const RANKS: u32 = 4;
const TURNS: u64 = 4;

/// Returns the times of the victim's operations and, for each rank that ended, the numbers of barriers that succeeded and that failed with the loss.
fn play(victim: Rank, dies: Option<Instant>) -> (Vec<Instant>, Vec<Option<(u64, u64)>>) {
    let entered = Cell::new([0; RANKS as usize]);
    run_with_death(RANKS, FaultInjection::default(), (victim, dies), |world, begin| {
        world.on_peer_lost(|_| ());
        let barrier = SyncBarrier::new(world)?;
        begin();
        let (mut met, mut refused) = (0, 0);
        for turn in 1..=TURNS {
            let mut counts = entered.get();
            counts[world.rank().index()] += 1;
            entered.set(counts);
            match barrier.wait() {
                Ok(()) => {
                    assert!(entered.get().iter().all(|&count| count >= turn), "turn {turn}: {:?}", entered.get());
                    assert_eq!(refused, 0, "no meeting succeeds after a loss that this rank was told of");
                    met += 1;
                }
                Err(Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank))) if rank == victim => {
                    refused += 1
                }
                Err(other) => panic!("{other}"),
            }
        }
        // An entry at a lost rank, or a permit to it, has failed since.
        match world.quiet() {
            Err(Error::Failed(Failure::PeerLost(rank)) | Error::Fault(Fault::PeerLost(rank))) => assert_eq!(rank, victim),
            ended => ended?,
        }
        Ok((met, refused))
    })
}

#[test]
fn a_rank_dies_after_each_of_its_operations() {
    // Rank 1 shares a node with rank 0, which needs no operation of a transport.
    for victim in [0, 2, 3].map(Rank::new) {
        let (noted, whole) = play(victim, None);
        // The first operation may precede the beginning.
        assert!(noted.len() as u64 >= TURNS - 1 && whole.iter().all(|met| *met == Some((TURNS, 0))), "{whole:?}");
        let mut refused_all = 0;
        for (number, &at) in noted.iter().enumerate() {
            for later in [1, 900, 3_000].map(Duration::from_nanoseconds) {
                let (_, found) = play(victim, Some(at + later));
                for rank in (0..RANKS).map(Rank::new).filter(|&rank| rank != victim) {
                    let found = found[rank.index()];
                    let (met, refused) = found.unwrap_or_else(|| panic!("operation {number} of rank {victim}: rank {rank} ends"));
                    assert_eq!(met + refused, TURNS, "each call returns");
                    refused_all += refused;
                }
            }
        }
        assert!(refused_all > 0, "somebody is told of rank {victim}");
    }
}
