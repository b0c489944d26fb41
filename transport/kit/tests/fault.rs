//! The faults occur: a layer without faults would pass the conformance tests too.

use pelago_base::{AddressLayout, AtomicOperator, Duration, GlobalAddress, Instant, Rank, SegmentId, Width};
use pelago_kit::{Fault, Faults, Loopback};
use pelago_memory::Cells;
use pelago_platform::{Completion, Endpoint, Failure, Flags, Network, Operation, PostError, Registry, Token, Transport};

const SEGMENT: SegmentId = SegmentId::SYMMETRIC;

#[test]
fn posts_are_refused_as_often_as_asked() {
    let mut job = Job::new(Faults { seed: 3, full_per_mille: 250, ..Faults::default() });
    let refused = (0..1000).filter(|&token| job.post(1, token) == Err(PostError::Full)).count();
    assert!((200..300).contains(&refused), "{refused} of 1000");
    assert_eq!(job.fault.next_deadline(), Some(Instant::ZERO), "after a refusal somebody must look again");
    assert_eq!(job.progress_until_idle().len(), 1000 - refused);
    assert_eq!(job.fault.next_deadline(), None);
}

#[test]
fn delayed_operations_are_overtaken_but_not_past_a_fence() {
    let mut job = Job::new(Faults { seed: 3, delay_per_mille: 500, ..Faults::default() });
    for token in 0..40 {
        if token == 20 {
            job.is_fenced = true;
        }
        job.post(1, token).unwrap();
    }
    // Every operation adds 1, so its result is its place in the order of effects.
    let mut completed = job.progress_until_idle();
    completed.sort_by_key(|completion| completion.result.unwrap());
    let order = completed.iter().map(|completion| completion.token.0).collect::<Vec<_>>();
    assert!(!order[..20].is_sorted() && !order[20..].is_sorted(), "{order:?}");
    assert!(order[..20].iter().all(|&token| token < 20), "{order:?}");
}

#[test]
fn a_rank_is_lost_after_so_many_operations() {
    let mut job = Job::new(Faults { seed: 3, delay_per_mille: 500, peer_failed: Some((Rank::new(1), 10)), ..Faults::default() });
    (0..5).for_each(|token| job.post(1, token).unwrap());
    assert!(job.progress_until_idle().iter().all(|completion| completion.result.is_ok()));
    (5..30).for_each(|token| job.post(1 + token as u32 % 2, token).unwrap());
    let completed = job.progress_until_idle();
    assert_eq!(completed.len(), 25);
    for Completion { token, result } in completed {
        let lost = token.0 % 2 == 0;
        assert_eq!(result.err(), lost.then_some(Failure::PeerLost(Rank::new(1))), "{token:?}");
    }
}

#[test]
fn operations_under_way_are_lost_too() {
    let mut job = Job::new(Faults { peer_failed: Some((Rank::new(1), 10)), ..Faults::default() });
    (0..20).for_each(|token| job.post(1, token).unwrap());
    let completed = job.progress_until_idle();
    assert_eq!(completed.len(), 20);
    assert!(completed.iter().all(|completion| completion.result == Err(Failure::PeerLost(Rank::new(1)))));
}

#[test]
fn fences_in_a_row_are_one() {
    let mut job = Job::new(Faults { seed: 3, delay_per_mille: 1000, full_per_mille: 500, ..Faults::default() });
    while job.post(1, 0).is_err() {}
    let mut refused = 0;
    for _ in 0..1000 {
        job.is_fenced = true;
        refused += usize::from(job.post(1, 1) == Err(PostError::Full));
    }
    // Until the 64 entries that the layer holds are used: 32 operations and the fences between them, however often each fence was posted.
    assert_eq!(1000 - refused, 31);
}

#[test]
fn the_same_seed_gives_the_same_faults() {
    let run = |seed| {
        let mut job = Job::new(Faults { seed, full_per_mille: 100, delay_per_mille: 500, peer_failed: Some((Rank::new(2), 30)) });
        let refused = (0..50).map(|token| job.post(1 + token as u32 % 2, token).is_err()).collect::<Vec<_>>();
        (refused, job.progress_until_idle())
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// Rank 0 of three, which adds to a word of the others.
struct Job {
    fault: Fault<Loopback>,
    layout: AddressLayout,
    now: Instant,
    /// Whether the next operation is posted with a fence.
    is_fenced: bool,
}

impl Job {
    fn new(faults: Faults) -> Self {
        let layout = AddressLayout::new(3, 4096).unwrap();
        let mut ends = Loopback::network(layout, 3);
        for (rank, end) in (0..).map(Rank::new).zip(&mut ends) {
            end.register(layout.encode(rank, SEGMENT, 0).unwrap(), Cells::from_mut(vec![0u64; 1].leak()).into()).unwrap();
        }
        let addresses = ends.iter().map(Network::address).collect::<Vec<_>>();
        let mut fault = Fault::new(ends.swap_remove(0), layout, faults);
        for (rank, address) in addresses.iter().enumerate() {
            assert_eq!(fault.connect(None, Rank::new(rank as u32), address), Ok(Endpoint(rank as u32)));
        }
        Self { fault, layout, now: Instant::ZERO, is_fenced: false }
    }

    fn post(&mut self, to: u32, token: u64) -> Result<(), PostError> {
        let at: GlobalAddress = self.layout.encode(Rank::new(to), SEGMENT, 0).unwrap();
        let add = Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        let flags = Flags { fence: std::mem::take(&mut self.is_fenced), ..Flags::NONE };
        self.fault.post(self.now, Endpoint(to), add, flags, Token(token))
    }

    /// Advances from deadline to deadline, as a rank that waits for nothing else.
    fn progress_until_idle(&mut self) -> Vec<Completion> {
        let mut completed = Vec::new();
        for _ in 0..10_000 {
            let moved = self.fault.progress(self.now, &mut completed);
            match self.fault.next_deadline() {
                _ if moved => self.now = self.now + Duration::from_nanoseconds(1),
                Some(deadline) => {
                    assert!(deadline > self.now, "a deadline that is past although nothing moved would be waited for for ever");
                    self.now = deadline;
                }
                None => return completed,
            }
        }
        panic!("never idle");
    }
}
