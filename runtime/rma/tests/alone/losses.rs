//! Continuing after failures of ranks.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use pelago_base::{Rank, Team};
use pelago_platform::Fault;
use pelago_rma::{BarrierAlgorithm, Error, World};

use super::scripted::{Said, Script, lone};

/// The failed ranks that were reported to a job.
type Told = Rc<RefCell<Vec<u32>>>;

/// A job that continues after failures.
fn job() -> (World, Arc<Mutex<Script>>, Told) {
    let (world, script) = lone(4);
    let told = Told::default();
    let tell = told.clone();
    world.on_peer_lost(move |rank| tell.borrow_mut().push(rank.number()));
    assert!(script.lock().unwrap().said.contains(&Said::Survive), "the platform lets it go on");
    (world, script, told)
}

fn lose(script: &Mutex<Script>, rank: u32) {
    script.lock().unwrap().lost.push(Rank::new(rank));
}

#[test]
fn every_lost_rank_is_told_once_in_order() {
    let (world, script, told) = job();
    world.progress();
    assert_eq!((world.lost(), world.losses()), (vec![], 0));
    lose(&script, 3);
    lose(&script, 1);
    world.progress();
    world.progress();
    assert_eq!((world.lost(), world.losses()), (vec![Rank::new(3), Rank::new(1)], 2));
    assert_eq!(*told.borrow(), [3, 1]);
    let to_transport = script.lock().unwrap().said.iter().filter(|said| matches!(said, Said::Lose(_))).count();
    assert_eq!(to_transport, 2, "the transport knows as well");
    // A context that is created later notices all failures.
    let other = world.context_factory().context().unwrap();
    other.progress();
    assert_eq!((other.lost().len(), told.borrow().len()), (2, 2));
}

/// The function makes progress, during which another rank fails.
#[test]
fn a_rank_that_is_lost_while_the_function_runs_is_told_after_it() {
    let (world, script) = lone(4);
    let (world, told) = (Rc::new(world), Told::default());
    let (inner, tell, loses) = (Rc::downgrade(&world), told.clone(), script.clone());
    world.on_peer_lost(move |rank| {
        if rank == Rank::new(3) {
            lose(&loses, 1);
            inner.upgrade().unwrap().progress();
        }
        tell.borrow_mut().push(rank.number());
    });
    lose(&script, 3);
    world.progress();
    assert_eq!((world.losses(), told.borrow().clone()), (2, vec![3, 1]));
    lose(&script, 2);
    world.progress();
    assert_eq!(*told.borrow(), [3, 1, 2]);
}

/// A panic of the function that the program catches leaves it registered.
#[test]
fn ranks_that_are_lost_after_a_panic_of_the_function_are_told() {
    let (world, script) = lone(4);
    let told = Told::default();
    let tell = told.clone();
    world.on_peer_lost(move |rank| {
        tell.borrow_mut().push(rank.number());
        assert_ne!(rank, Rank::new(3), "a panic of the program");
    });
    lose(&script, 3);
    lose(&script, 1);
    assert!(catch_unwind(AssertUnwindSafe(|| world.progress())).is_err());
    world.progress();
    assert_eq!((world.losses(), told.borrow().clone()), (2, vec![3, 1]));
}

#[test]
fn a_rank_that_cannot_go_on_takes_no_notice() {
    let (world, script) = lone(4);
    lose(&script, 1);
    world.progress();
    assert_eq!((world.lost(), world.losses()), (vec![], 0));
}

#[test]
fn a_wait_for_a_value_ends_once() {
    let (world, script, _) = job();
    let memory = world.alloc_individual::<u64>(1).unwrap();
    script.lock().unwrap().wakes = Some(Box::new(|script| script.lost.push(Rank::new(2))));
    let wait = || world.wait_until(memory.local(), 0, |value| value == 1);
    assert_eq!(wait(), Err(Error::Fault(Fault::PeerLost(Rank::new(2)))));
    assert_eq!(wait(), Err(Error::Fault(Fault::Deadlock)), "it may be begun again");
    memory.local().store(0, 1);
    assert_eq!(wait(), Ok(1));
}

#[test]
fn a_meeting_ends_if_a_member_is_lost() {
    let (world, script, _) = job();
    lose(&script, 1);
    world.progress();
    let lost = Err(Error::Fault(Fault::PeerLost(Rank::new(1))));
    for algorithm in BarrierAlgorithm::ALL {
        assert_eq!(world.barrier_by(algorithm), lost, "{algorithm}");
    }
    assert_eq!(world.allreduce(&mut [1], |one, other| one + other), lost);
    assert_eq!(Team::all(4).size(), world.size());
    // Also if the rank fails while others wait for it.
    for algorithm in [BarrierAlgorithm::Dissemination, BarrierAlgorithm::Ring] {
        let (world, script, _) = job();
        script.lock().unwrap().wakes = Some(Box::new(|script| script.lost.push(Rank::new(3))));
        assert_eq!(world.barrier_by(algorithm), Err(Error::Fault(Fault::PeerLost(Rank::new(3)))), "{algorithm}");
        let posted = script.lock().unwrap().posted().len();
        (0..posted).for_each(|index| script.lock().unwrap().complete(index, Ok(0)));
    }
}
