//! Tests of the claims of senders and their effect at a receiver (G1), in virtual time with the library's own protocol.

use pelago_base::{Duration, Instant, Rank};
use pelago_rma::{GlobalPtr, World};
use pelago_simulator::{FaultInjection, Protocol};

use super::*;
use crate::admission::{Receivers, Requester};
use crate::peer_loss::progress;
use crate::settings::{Placement, Settings};
use pelago_test_support::faulty::{run, run_with_death, settings};

const RECEIVER: Rank = Rank::new(0);
const SENDER: Rank = Rank::new(1);
const FIRST: Ticket = Ticket::new(0);

/// The time at which a rank dies, and the time at which the others go on.
const DEATH: Instant = Instant::from_picoseconds(5_000_000_000);
const ALL_KNOW: Instant = Instant::from_picoseconds(6_000_000_000);

/// More words than a network transfers in a few round trips.
const LONG: usize = 1 << 16;

/// The claims of the first sender of this rank.
fn claimed(admission: &Admission<'_>) -> [Claim; CLAIMS] {
    std::array::from_fn(|turn| Claim::of_word(admission.words.local().load(admission.claim_index(0, turn as u64))))
}

/// Sends a message; returns its ticket and its operation.
fn send<'w>(admission: &Admission<'w>, requester: &mut Requester<'_, 'w>, to: GlobalPtr<u64>) -> Result<(Ticket, Handle<'w>)> {
    let ticket = requester.take(1)?;
    let handle = admission.world.put(to, &[1; LONG])?;
    requester.used([handle])?;
    Ok((ticket, handle))
}

/// Computes until the given time.
fn compute_until(world: &World, until: Instant) {
    world.compute(until.since(world.now()));
}

#[test]
fn every_message_that_is_under_way_is_claimed_and_none_afterwards() {
    let program = |world: &World, _: &_| {
        let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(64))?;
        let room = world.alloc::<u64>(LONG)?;
        if world.rank() == SENDER {
            let mut requester = Requester::new(&admission, RECEIVER)?;
            let (mut sent, mut most) = (Vec::new(), 0);
            // To another rank, so that the operations on tickets are not ordered behind the messages.
            let elsewhere = Rank::new(2);
            for _ in 0..3 * CLAIMS {
                sent.push(send(&admission, &mut requester, room.at(elsewhere, 0))?);
                let claims = claimed(&admission);
                let mut under_way = 0;
                for (ticket, handle) in &sent {
                    if !handle.test()? {
                        assert!(claims.iter().any(|claim| claim.covers(0, *ticket)), "{ticket:?}: {claims:?}");
                        under_way += 1;
                    }
                }
                most = most.max(under_way);
            }
            assert_eq!(most, CLAIMS, "as many are under way as there are claims");
            // A dropped sender leaves no incomplete message without a claim.
            drop(requester);
            assert!(sent.iter().all(|(_, handle)| handle.test() == Ok(true)));
            assert_eq!(claimed(&admission), [Claim::default(); CLAIMS]);
        }
        world.barrier()
    };
    run(&settings(3, 1, FaultInjection::default()), |_| false, program);
}

#[test]
fn a_ticket_is_claimed_before_its_sender_knows_which_it_is() {
    for seed in 0..20 {
        let protocol: Protocol = "delay=0.5:60us".parse().unwrap();
        let mut settings = settings(2, 1, protocol.faults);
        settings.seed = seed;
        let seen = run(
            &settings,
            |_| false,
            |world, _| {
                let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(2))?;
                let (mut looks, begun) = (0, world.now());
                if world.rank() == SENDER {
                    let mut requester = Requester::new(&admission, RECEIVER)?;
                    assert_eq!(requester.take(1)?, FIRST);
                    // The sender holds the ticket for longer than the receiver checks.
                    world.compute(Duration::from_milliseconds(2));
                } else {
                    let granter = Granter::new(&admission);
                    while world.now().since(begun) < Duration::from_milliseconds(1) {
                        let is_taken = admission.look(admission.share(RECEIVER, 0))?.taken != FIRST;
                        assert!(!is_taken || granter.is_claimed(0, FIRST)?, "seed {seed}, look {looks}");
                        looks += u32::from(is_taken);
                        world.compute(Duration::from_nanoseconds(500));
                    }
                }
                world.barrier()?;
                Ok(looks)
            },
        );
        assert!(seen[RECEIVER.index()] > Some(10), "seed {seed}: {seen:?}");
    }
}

#[test]
fn who_gets_no_ticket_claims_none() {
    // A rank that dies holds the counters.
    let holder = Rank::new(2);
    let (_, ended) = run_with_death(3, FaultInjection::default(), (holder, Some(DEATH)), |world, _| {
        world.on_peer_lost(|_| {});
        let settings = Settings::permits(2).placed(Placement::Proxy(holder));
        let admission = Admission::new(world, Receivers::One(RECEIVER), settings)?;
        let mut requester = Requester::new(&admission, RECEIVER)?;
        compute_until(world, ALL_KNOW);
        assert!(world.rank() == holder || requester.take(1).is_err(), "nobody counts");
        Ok(claimed(&admission))
    });
    assert_eq!(ended, [Some([Claim::default(); CLAIMS]), Some([Claim::default(); CLAIMS]), None]);
}

#[test]
fn a_ticket_of_a_lost_rank_is_abandoned_and_no_other() {
    // A victim on the receiver's host, and one on another host.
    for victim in [1, 2].map(Rank::new) {
        let other = Rank::new(3 - victim.number());
        let (_, ended) = run_with_death(4, FaultInjection::default(), (victim, Some(DEATH)), |world, _| {
            world.on_peer_lost(|_| {});
            let admission = Admission::new(world, Receivers::Each, Settings::permits(8))?;
            // The victim takes the first ticket, then the last rank the second; another rank claims the first ticket of another receiver.
            let to = if world.rank() == other { Rank::new(3) } else { RECEIVER };
            // The last sender of the rank takes the ticket.
            let _others = (1..SENDERS).map(|_| Requester::new(&admission, to)).collect::<Result<Vec<_>>>()?;
            let mut requester = Requester::new(&admission, to)?;
            if world.rank() == Rank::new(3) {
                world.compute(Duration::from_milliseconds(1));
            }
            let ticket = if world.rank() == RECEIVER { None } else { Some(requester.take(1)?) };
            compute_until(world, ALL_KNOW);
            if let Some(ticket) = ticket {
                assert_eq!(ticket, FIRST.after(u32::from(world.rank() == Rank::new(3))));
                compute_until(world, ALL_KNOW + Duration::from_milliseconds(10));
                return Ok([false; 3]);
            }
            let granter = Granter::new(&admission);
            progress(world)?;
            let abandoned = [0, 1, 2].map(|step| granter.is_abandoned(0, FIRST.after(step)));
            abandoned.into_iter().collect::<Result<Vec<_>>>().map(|found| [found[0], found[1], found[2]])
        });
        assert_eq!(ended[RECEIVER.index()], Some([true, false, false]), "rank {victim} was lost");
    }
}
