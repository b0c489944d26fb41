//! Requests to a rank whose thread stops waiting are served, by that thread or by the progress thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant as Moment};

use pelago_base::{AtomicOperator, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Address, Completion, Endpoint, Flags, Network, Operation, Registry, Token, Transport};
use pelago_shm::{CopyBy, HostMemory, HostPlan, Shm};

const OWNER: Rank = Rank::new(0);
const ASKER: Rank = Rank::new(1);
const ROUNDS: u64 = 20_000;

/// Time limit that turns a hang into a failure; nothing depends on its length.
const HANG: Duration = Duration::from_secs(10);

/// Posts one atomic addition.
fn ask(asker: &mut Shm, at: GlobalAddress) {
    let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
    asker.post(Instant::ZERO, Endpoint(OWNER.number()), add, Flags::NONE, Token(7)).unwrap();
}

/// The result of the addition; `None` if there is no reply.
fn answer(asker: &mut Shm, host: &HostMemory) -> Option<u64> {
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

/// The end of the owner's wait in a round.
#[derive(PartialEq)]
enum Wait {
    /// When the request was made, without a poll: the progress thread must reply.
    UntilAsked,
    /// When the reply has arrived: the progress thread was not woken.
    UntilAnswered,
    /// After this number of polls, whether the request has arrived by then or not.
    For(u64),
}

impl Wait {
    fn of(round: u64) -> Self {
        match round % 50 {
            0 => Self::UntilAsked,
            1 => Self::UntilAnswered,
            looks => Self::For(looks - 2),
        }
    }
}

/// In each round the owner waits for a moment and then computes until the request that arrived in between is answered.
#[test]
fn a_request_that_comes_while_a_wait_ends_is_answered() {
    let host = Arc::new(HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap().0);
    [OWNER, ASKER].into_iter().for_each(|rank| _ = host.join(rank));
    let [start, asked, answered] = [(); 3].map(|()| Barrier::new(2));
    let (rounds_over, left_lying) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut owner = Shm::new(host.clone(), OWNER, CopyBy::Attach, false);
            let words: &'static mut [u64] = Box::leak(vec![0; 8].into());
            let words_at = host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, 0).unwrap();
            owner.register(words_at, Cells::from_mut(words).into()).unwrap();
            let control = host.control(OWNER).unwrap();
            let mut look = || owner.progress(Instant::ZERO, &mut Vec::new());
            for round in 0..ROUNDS {
                control.attend();
                start.wait();
                match Wait::of(round) {
                    Wait::UntilAsked => _ = asked.wait(),
                    Wait::UntilAnswered => {
                        while rounds_over.load(Ordering::Relaxed) == round {
                            look();
                            std::thread::yield_now();
                        }
                    }
                    Wait::For(looks) => (0..looks).for_each(|_| _ = look()),
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
            asker.connect(None, OWNER, &Address(OWNER.number().to_le_bytes().into())).unwrap();
            let at = host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, 8).unwrap();
            for round in 0..ROUNDS {
                start.wait();
                for _ in 0..round % 37 {
                    std::hint::spin_loop();
                }
                ask(&mut asker, at);
                if Wait::of(round) == Wait::UntilAsked {
                    asked.wait();
                }
                left_lying.store(answer(&mut asker, &host) != Some(round), Ordering::Relaxed);
                rounds_over.store(round + 1, Ordering::Relaxed);
                answered.wait();
                if left_lying.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
    });
    assert!(!left_lying.into_inner(), "a request was left lying, or counted wrong");
}
