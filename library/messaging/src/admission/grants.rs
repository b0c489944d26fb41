//! Tests of when a receiver sends its grants, and for which senders it rings.

use pelago_base::{Duration, Rank};
use pelago_platform::Operation;

use super::{Admission, Granter, Receivers, Requester, rung};
use crate::credit::{Credit, Ticket};
use crate::settings::{Placement, Settings, Waiting};
use pelago_test_support::faulty::run_late;
use pelago_test_support::threads::{Platform, run};

const RECEIVER: Rank = Rank::new(0);

/// The number of granted tickets in the counters.
fn granted(admission: &Admission<'_>) -> u32 {
    admission.look(admission.share(RECEIVER, 0)).unwrap().granted.number()
}

#[test]
fn a_quarter_of_the_slots_is_told_at_a_time_and_the_rest_when_that_is_asked() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(8)).unwrap();
            if world.rank() == RECEIVER {
                let mut granter = Granter::new(&admission);
                let mut seen = Vec::new();
                for _ in 0..3 {
                    granter.give(0).unwrap();
                    seen.push((granter.operations(), granted(&admission)));
                }
                for _ in 0..2 {
                    granter.flush().unwrap();
                    seen.push((granter.operations(), granted(&admission)));
                }
                assert_eq!(seen, [(0, 8), (1, 10), (1, 10), (2, 11), (2, 11)], "operations, and tickets granted");
            }
            world.barrier().unwrap();
        });
    }
}

/// With fewer, a receiver would wait for a notification behind transfers of other ranks.
#[test]
fn a_receiver_may_have_a_notification_on_its_way_for_each_slot() {
    run(Platform::Mapped, 1, |world| {
        for (slots, most) in [(1, 64), (256, 256), (2048, 512)] {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(slots)).unwrap();
            assert_eq!(Granter::new(&admission).notifications_max(), [most; 2], "{slots} slots");
        }
    });
}

#[test]
fn a_holder_is_told_at_once_if_it_is_the_receiver_itself() {
    run(Platform::Mapped, 2, |world| {
        for (holder, slots, operations) in [(0, 8, 1), (1, 8, 0), (0, 4, 1), (1, 4, 1)] {
            let settings = Settings::permits(slots).placed(Placement::Proxy(Rank::new(holder)));
            let admission = Admission::new(world, Receivers::One(RECEIVER), settings).unwrap();
            if world.rank() == RECEIVER {
                let mut granter = Granter::new(&admission);
                granter.give_at_once(0).unwrap();
                assert_eq!(granter.operations(), operations, "{slots} slots, counters at rank {holder}");
            }
            world.barrier().unwrap();
        }
    });
}

/// A late grant before the one that carries, and a late one that carries before others. Otherwise the holder of the counters would see a ticket less,
/// or one more, than were taken, and a sender would get the ticket of another or leave one out.
#[test]
fn a_grant_that_carries_overtakes_no_other_and_is_overtaken_by_none() {
    const HOLDER: Rank = Rank::new(1);
    const CARRYING: u64 = Credit::grant(Ticket::new(u32::MAX - 1), 2);
    // Before the one that carries, that one, and after it.
    let [before, carries, after] = [4, 2, 0].map(|left| Ticket::new(0u32.wrapping_sub(left)));
    assert_eq!([before, carries, after].map(|granted| Credit::carries(granted, 2)), [false, true, false]);
    let is_plain: fn(&Operation<'_>) -> bool = |operation| matches!(operation, Operation::Atomic { operand: 2, .. });
    let is_carrying: fn(&Operation<'_>) -> bool = |operation| matches!(operation, Operation::Atomic { operand: CARRYING, .. });
    for waiting in [Waiting::Notified, Waiting::BackingOff] {
        for is_late in [is_plain, is_carrying] {
            run_late(2, is_late, |world| {
                let settings = Settings { waiting, ..Settings::permits(8).placed(Placement::Proxy(HOLDER)) };
                let admission = Admission::new(world, Receivers::One(RECEIVER), settings)?;
                let taken = before;
                if world.rank() == HOLDER {
                    let at = admission.taken_at(admission.share(RECEIVER, 0));
                    world.put(at, &[Credit { taken, granted: before }.word()])?.wait()?;
                }
                world.barrier()?;
                if world.rank() == RECEIVER {
                    let mut granter = Granter::new(&admission);
                    granter.start_at(before);
                    (0..6).try_for_each(|_| granter.give(0))?;
                } else {
                    let end = after.after(2);
                    loop {
                        let credit = admission.look(admission.share(RECEIVER, 0))?;
                        assert_eq!(credit.taken, taken, "no sender has taken a ticket");
                        if credit.granted == end {
                            break;
                        }
                        world.compute(Duration::from_microseconds(1));
                    }
                }
                world.barrier()
            });
        }
    }
}

#[test]
fn who_waits_for_a_ticket_that_is_granted_hears_its_bell() {
    let sender = Rank::new(1);
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(1)).unwrap();
            let second = Ticket::new(1);
            if world.rank() == sender {
                let mut requester = Requester::new(&admission, RECEIVER).unwrap();
                let first = requester.take(1).unwrap();
                requester.wait(first).unwrap();
                assert_eq!(requester.take(1).unwrap(), second);
                requester.wait(second).unwrap();
                world.barrier().unwrap();
                assert_eq!(
                    admission.words.local().load(admission.bell_index(0)),
                    rung(RECEIVER, 0, second),
                    "this rank has one sender"
                );
            } else {
                let mut granter = Granter::new(&admission);
                let waiter = admission.waiter_index(0, second);
                world.wait_until(admission.words.local(), waiter, |seen| seen != 0).unwrap();
                granter.give(0).unwrap();
                assert_eq!(granter.operations(), 2, "a grant and a bell");
                assert_eq!(admission.words.local().load(waiter), 0, "nobody waits any more");
                // No sender waits for the next ticket.
                granter.give(0).unwrap();
                assert_eq!(granter.operations(), 3);
                world.barrier().unwrap();
            }
            world.barrier().unwrap();
        });
    }
}

/// Ticket numbers wrap: without a reset, an old bell would count for tickets that are not granted.
#[test]
fn what_a_bell_has_shown_before_a_wait_grants_nothing() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(1)).unwrap();
            let (second, looked) = (Ticket::new(1), world.alloc::<u64>(1).unwrap());
            if world.rank() == RECEIVER {
                world.wait_until(admission.words.local(), admission.waiter_index(0, second), |seen| seen != 0).unwrap();
                // A sender that accepts the old bell reports it immediately.
                let limit = Duration::from_milliseconds(20);
                assert!(world.wait_until_within(limit, looked.local(), 0, |looked| looked != 0).is_err());
                Granter::new(&admission).give(0).unwrap();
            } else {
                let mut requester = Requester::new(&admission, RECEIVER).unwrap();
                requester.take(1).unwrap();
                requester.take(1).unwrap();
                admission.words.local().store(admission.bell_index(0), rung(RECEIVER, 0, second.after(1 << 30)));
                requester.wait(second).unwrap();
                world.put(looked.at(RECEIVER, 0), &[1]).unwrap();
            }
            world.barrier().unwrap();
        });
    }
}

#[test]
fn whoever_waits_hears_once_when_all_its_tickets_are_granted_and_what_else_is() {
    for platform in [Platform::Mapped, Platform::Remote] {
        run(platform, 2, |world| {
            let admission = Admission::new(world, Receivers::One(RECEIVER), Settings::permits(8)).unwrap();
            let last = Ticket::new(10);
            if world.rank() == RECEIVER {
                let mut granter = Granter::new(&admission);
                world.wait_until(admission.words.local(), admission.waiter_index(0, last), |seen| seen != 0).unwrap();
                (0..4).for_each(|_| granter.give(0).unwrap());
                assert_eq!(granter.operations(), 3, "two grants of two tickets, and a bell");
            } else {
                let mut requester = Requester::new(&admission, RECEIVER).unwrap();
                requester.take(8).unwrap();
                let first = requester.take(3).unwrap();
                (0..3).for_each(|step| requester.wait(first.after(step)).unwrap());
                let bell = || admission.words.local().load(admission.bell_index(0));
                world.wait_until(admission.words.local(), admission.bell_index(0), |seen| seen != 0).unwrap();
                assert_eq!(bell(), rung(RECEIVER, 0, last.after(1)));
            }
            world.barrier().unwrap();
        });
    }
}
