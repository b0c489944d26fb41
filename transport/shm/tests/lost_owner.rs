//! Requests to a rank that fails before it serves them are withdrawn: they leave their reply slots to later requests, and are never executed.

use std::sync::Arc;

use pelago_base::{AtomicOperator, Instant, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Address, Endpoint, Failure, Flags, Network, Operation, Registry, Token, Transport};
use pelago_shm::limits::PROGRESS_THREAD_REPLIES_MAX;
use pelago_shm::{CopyBy, HostMemory, HostPlan, Shm};

const ASKER: Rank = Rank::new(0);
const LOST: Rank = Rank::new(1);
const OTHER: Rank = Rank::new(2);

#[test]
fn requests_to_a_failed_rank_are_withdrawn() {
    let host = Arc::new(HostMemory::create(&HostPlan::local(3, Some(1 << 20))).unwrap().0);
    host.set_fault_tolerant();
    [ASKER, LOST, OTHER].into_iter().for_each(|rank| assert!(host.join(rank)));
    let [mut asker, mut lost, mut other] =
        [ASKER, LOST, OTHER].map(|rank| Shm::new(host.clone(), rank, CopyBy::ProgressThread, true));
    let place = |rank| host.reach().addresses().encode(rank, SegmentId::REGISTERED_FIRST, 0).unwrap();
    let [its_word, others_word] = [5_u64, 6].map(|word| Cells::from_mut(vec![word].leak()));
    lost.register(place(LOST), its_word.into()).unwrap();
    other.register(place(OTHER), others_word.into()).unwrap();
    let ask = |asker: &mut Shm, rank: Rank| {
        asker.connect(None, rank, &Address(rank.number().to_le_bytes().into())).unwrap();
        let add = Operation::Atomic { at: place(rank), width: Width::Eight, operator: AtomicOperator::Add, operand: 1 };
        asker.post(Instant::ZERO, Endpoint(rank.number()), add, Flags::NONE, Token(7))
    };
    let ended = |asker: &mut Shm| {
        let mut completed = Vec::new();
        asker.progress(Instant::ZERO, &mut completed);
        completed.into_iter().map(|completion| completion.result).collect::<Vec<_>>()
    };
    for _ in 0..PROGRESS_THREAD_REPLIES_MAX {
        ask(&mut asker, LOST).unwrap();
    }
    assert!(host.mark_failed(LOST));
    assert_eq!(ended(&mut asker), [Err(Failure::PeerLost(LOST)); PROGRESS_THREAD_REPLIES_MAX]);
    assert_eq!(ask(&mut asker, OTHER), Ok(()));
    // The failed rank was only slow.
    for _ in 0..2 * PROGRESS_THREAD_REPLIES_MAX {
        lost.progress(Instant::ZERO, &mut Vec::new());
    }
    assert_eq!((its_word.to_vec(), ended(&mut asker)), (5_u64.to_ne_bytes().to_vec(), vec![]));
    other.progress(Instant::ZERO, &mut Vec::new());
    assert_eq!(ended(&mut asker), [Ok(6)]);
}
