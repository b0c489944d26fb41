//! A request for memory that its owner deregisters before it serves the request fails, and changes nothing.

use std::sync::Arc;

use pelago_base::{AtomicOperator, Instant, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::{Address, Endpoint, Failure, Flags, Network, Operation, Registry, Token, Transport};
use pelago_shm::{CopyBy, HostMemory, HostPlan, Shm};

const OWNER: Rank = Rank::new(0);
const ASKER: Rank = Rank::new(1);

/// Maximum number of polls: a reply would have arrived by then.
const LOOKS_MAX: u32 = 1000;

#[test]
fn memory_that_is_gone_when_its_owner_looks_is_outside() {
    let host = Arc::new(HostMemory::create(&HostPlan::local(2, Some(1 << 20))).unwrap().0);
    [OWNER, ASKER].into_iter().for_each(|rank| _ = host.join(rank));
    let [mut owner, mut asker] = [OWNER, ASKER].map(|rank| Shm::new(host.clone(), rank, CopyBy::ProgressThread, true));
    asker.connect(None, OWNER, &Address(OWNER.number().to_le_bytes().into())).unwrap();
    let at = host.reach().addresses().encode(OWNER, SegmentId::REGISTERED_FIRST, 0).unwrap();
    let words = |word: u64| Cells::from_mut(vec![word; 8].leak());
    let (registered, local) = (words(1), words(2));
    let operations = [
        Operation::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 },
        Operation::Put { from: local, to: at },
        Operation::Get { from: at, to: local },
    ];
    for operation in operations {
        owner.register(at, registered.into()).unwrap();
        asker.post(Instant::ZERO, Endpoint(OWNER.number()), operation, Flags::NONE, Token(7)).unwrap();
        asker.progress(Instant::ZERO, &mut Vec::new());
        assert!(owner.deregister(at), "nobody is inside");
        let mut completed = Vec::new();
        for _ in 0..LOOKS_MAX {
            owner.progress(Instant::ZERO, &mut Vec::new());
            asker.progress(Instant::ZERO, &mut completed);
        }
        let results: Vec<_> = completed.into_iter().map(|completion| completion.result).collect();
        assert_eq!(results, [Err(Failure::OutOfBounds(at))], "{operation:?}");
    }
    for (cells, word) in [(registered, 1), (local, 2u64)] {
        let mut found = [0; 64];
        cells.read(&mut found);
        assert_eq!(found.as_chunks().0, [word.to_le_bytes(); 8]);
    }
}
