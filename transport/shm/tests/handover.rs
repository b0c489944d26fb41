//! What is asked of a rank while its thread stops waiting is seen to, by that thread or by its agent.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant as Moment};

use pelago_base::{AtomicOperator, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Address, Completion, Endpoint, Operation, Token, Transport};
use pelago_shm::{CopyBy, Host, Plan, Shm};

const OWNER: Rank = Rank::new(0);
const ASKER: Rank = Rank::new(1);
const ROUNDS: u64 = 20_000;

/// Turns a hang into a failure; nothing depends on its length.
const HANG: Duration = Duration::from_secs(10);

/// One addition; what it finds, unless nobody answers.
fn add(asker: &mut Shm, host: &Host, at: GlobalAddress) -> Option<u64> {
    let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    asker.post(Instant::ZERO, Endpoint(OWNER.number()), add, Token(7)).unwrap();
    let (since, mut completed) = (Moment::now(), Vec::new());
    while !asker.progress(Instant::ZERO, &mut completed) {
        if since.elapsed() > HANG {
            return None;
        }
        host.control(ASKER).unwrap().bell.sleep(Some(Duration::from_micros(100)), &mut || false);
    }
    let [Completion { token: Token(7), result: Ok(found) }] = completed[..] else { panic!("{completed:?}") };
    Some(found)
}

/// Each round the owner waits for a moment and then computes for as long as the request takes that came in between.
#[test]
fn a_request_that_comes_while_a_wait_ends_is_answered() {
    let host = Arc::new(Host::create(&Plan::local(2, Some(1 << 20))).unwrap().0);
    [OWNER, ASKER].into_iter().for_each(|rank| host.join(rank));
    let (start, answered) = (Barrier::new(2), Barrier::new(2));
    let (served_by_rank, left_lying) = (AtomicU32::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut owner = Shm::new(host.clone(), OWNER, CopyBy::Attach, false);
            let words: &'static mut [u64] = Box::leak(vec![0; 8].into());
            owner.register(SegmentId::REGISTERED_FIRST, Cells::from_mut(words)).unwrap();
            let control = host.control(OWNER).unwrap();
            for round in 0..ROUNDS {
                control.attend();
                start.wait();
                for _ in 0..round % 50 {
                    if owner.progress(Instant::ZERO, &mut Vec::new()) {
                        served_by_rank.fetch_add(1, Ordering::Relaxed);
                    }
                }
                control.depart();
                answered.wait();
                if left_lying.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        scope.spawn(|| {
            let mut asker = Shm::new(host.clone(), ASKER, CopyBy::Attach, false);
            asker.connect(OWNER, &Address(OWNER.number().to_le_bytes().into())).unwrap();
            let at = host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, 8).unwrap();
            for round in 0..ROUNDS {
                start.wait();
                for _ in 0..round % 37 {
                    std::hint::spin_loop();
                }
                left_lying.store(add(&mut asker, &host, at) != Some(round), Ordering::Relaxed);
                answered.wait();
                if left_lying.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
    });
    assert!(!left_lying.into_inner(), "a request was left lying, or counted wrong");
    let by_rank = u64::from(served_by_rank.into_inner());
    assert!(by_rank > 0 && by_rank < ROUNDS, "both served: the rank {by_rank} of {ROUNDS}");
}
