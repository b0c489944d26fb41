//! Operations in an idle network take the time of the model, to the picosecond.

use pelago_base::Instant;
use pelago_netsim::{FailureReason, Machine, Netsim, NetworkOperation, Notice};

fn rx200() -> Netsim {
    Netsim::new(&Machine::parse(Machine::bundled("rx200-qdr").unwrap()).unwrap(), 16, 1).unwrap()
}

/// Returns all notices from now on, with their times in picoseconds.
fn run(netsim: &mut Netsim) -> Vec<(u64, Notice)> {
    std::iter::from_fn(|| netsim.next().map(|notice| (netsim.now().as_picoseconds(), notice))).collect()
}

const OVERHEAD: u64 = 1_000_000;
const READ: u64 = 2_857;
/// 38 bytes at 4 GB/s, two cables, the router.
const DATA: u64 = 9_500 + 1_200 + 140_000;
/// The same for 30 bytes.
const CONTROL: u64 = 7_500 + 1_200 + 140_000;

#[test]
fn a_put_alone() {
    let mut netsim = rx200();
    netsim.post(3, NetworkOperation::Put { from: 3, to: 9, bytes: 8 }, 7);
    let effect = OVERHEAD + 156_414;
    assert_eq!(effect, OVERHEAD + READ + DATA + READ);
    let expected = [
        (OVERHEAD + READ, Notice::Read { token: 7 }),
        (effect, Notice::Effect { token: 7 }),
        (effect + 148_700, Notice::Done { token: 7 }),
    ];
    assert_eq!(run(&mut netsim), expected);
}

/// A packet that a link takes at once has not waited for it.
#[test]
fn only_packets_that_wait_for_a_link_are_in_its_queue() {
    let longest = |senders: u32| {
        let mut netsim = rx200();
        (0..senders).for_each(|from| netsim.post(from, NetworkOperation::Put { from, to: 9, bytes: 8 }, from.into()));
        run(&mut netsim);
        netsim.statistics().links.iter().map(|link| link.queue_max).max()
    };
    assert_eq!([1, 2, 5].map(longest), [0, 1, 4].map(Some));
}

#[test]
fn a_get_an_atomic_and_a_copy_alone() {
    let mut netsim = rx200();
    netsim.post(0, NetworkOperation::Get { by: 0, at: 1, bytes: 8 }, 1);
    let read = OVERHEAD + CONTROL + READ;
    let effect = read + DATA + READ;
    let expected =
        [(read, Notice::Read { token: 1 }), (effect, Notice::Effect { token: 1 }), (effect, Notice::Done { token: 1 })];
    assert_eq!(run(&mut netsim), expected);

    let mut netsim = rx200();
    netsim.post(0, NetworkOperation::Atomic { by: 0, at: 1 }, 2);
    let effect = OVERHEAD + CONTROL;
    assert_eq!(run(&mut netsim), [(effect, Notice::Effect { token: 2 }), (effect + CONTROL, Notice::Done { token: 2 })]);

    let mut netsim = rx200();
    netsim.post(0, NetworkOperation::Copy { by: 0, from: 1, to: 2, bytes: 8 }, 3);
    let read = OVERHEAD + CONTROL + READ;
    let effect = read + DATA + READ;
    let expected = [
        (read, Notice::Read { token: 3 }),
        (effect, Notice::Effect { token: 3 }),
        (effect + 2 * CONTROL, Notice::Done { token: 3 }),
    ];
    assert_eq!(run(&mut netsim), expected);
}

#[test]
fn within_a_node_nothing_takes_time() {
    let mut netsim = rx200();
    netsim.post(0, NetworkOperation::Put { from: 4, to: 4, bytes: 1 << 20 }, 5);
    let expected = [(0, Notice::Read { token: 5 }), (0, Notice::Effect { token: 5 }), (0, Notice::Done { token: 5 })];
    assert_eq!(run(&mut netsim), expected);
}

#[test]
fn what_cannot_be_done_fails() {
    let mut netsim = rx200();
    netsim.post(0, NetworkOperation::Put { from: 0, to: 16, bytes: 8 }, 5);
    assert_eq!(run(&mut netsim), [(0, Notice::Failed { token: 5, reason: FailureReason::NoSuchNode })]);
}

#[test]
fn entities_are_woken_in_their_order() {
    let mut netsim = rx200();
    let at = Instant::from_picoseconds(50);
    [(3, 30), (1, 10), (3, 31), (2, 20)].into_iter().for_each(|(entity, token)| netsim.wake_at(at, entity, token));
    let woken: Vec<_> = run(&mut netsim).into_iter().map(|(_, notice)| notice).collect();
    assert_eq!(woken, [10, 20, 30, 31].map(|token| Notice::Wake { token }));
}
