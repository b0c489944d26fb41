//! The numbers of round trips of operations on containers of another rank: two datagrams each, on a simulated machine whose datagrams cost core time.

use pelago_base::{Event, Rank};
use pelago_containers::{GlobalDeque, GlobalHeap, GlobalMap, GlobalVector};
use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const USER: Rank = Rank::new(0);
const OWNER: Rank = Rank::new(1);

/// Uses a container of its own or of both ranks the given number of times; all other operations do not depend on that number.
type Use = fn(&GlobalHeap<'_>, u64) -> Result<()>;

/// The number of datagrams of both ranks if one rank performs `act` `turns` times.
fn datagrams(act: Use, turns: u64) -> u64 {
    let outcome = simulated::run(&simulated::settings_by_datagrams(2), |world: &World| {
        let heap = GlobalHeap::new(world, 1 << 20)?;
        act(&heap, if world.rank() == USER { turns } else { 0 })?;
        world.barrier()
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    outcome.counters.iter().map(|counters| counters.of(Event::DatagramSent)).sum()
}

/// Each operation takes the documented number of round trips.
#[test]
fn an_operation_takes_the_round_trips_that_it_says() {
    let uses: [(&str, u64, Use); 6] = [
        ("allocate, of what was freed: four; free: three", 7, |heap, turns| {
            (0..turns).try_for_each(|_| heap.free(heap.allocate(OWNER, 64)?))
        }),
        ("push_back: two; pop_back: two", 4, |heap, turns| {
            let vector = GlobalVector::new(heap, OWNER, 10)?;
            (0..turns).try_for_each(|number| {
                vector.push_back(number)?;
                assert_eq!(vector.pop_back()?, Some(number));
                Ok(())
            })
        }),
        ("push_front: two; pop_front: two", 4, |heap, turns| {
            let deque = GlobalDeque::new(heap, OWNER, 10)?;
            (0..turns).try_for_each(|number| {
                deque.push_front(number)?;
                assert_eq!(deque.pop_front()?, Some(number));
                Ok(())
            })
        }),
        ("get: two; set: two", 4, |heap, turns| {
            let vector = GlobalVector::new(heap, OWNER, 10)?;
            vector.push_back(7)?;
            (0..turns).try_for_each(|number| {
                vector.set(0, number)?;
                assert_eq!(vector.get(0)?, number);
                Ok(())
            })
        }),
        ("find: two", 2, |heap, turns| found(heap, turns, 1)),
        ("find of what was written twice: three", 3, |heap, turns| found(heap, turns, 2)),
    ];
    for (what, trips, act) in uses {
        assert_eq!(datagrams(act, 300) - datagrams(act, 100), 2 * trips * 200, "{what}");
    }
}

/// Finds a key `turns` times whose value was written `writes` times.
fn found(heap: &GlobalHeap<'_>, turns: u64, writes: u64) -> Result<()> {
    let map = GlobalMap::<u64, u64>::new(heap, 10)?;
    let key = (0..).find(|key| map.owner(key) == OWNER).unwrap();
    if heap.world().rank() == USER {
        (0..writes).try_for_each(|number| map.set(&key, &number).map(drop))?;
    }
    (0..turns).try_for_each(|_| map.find(&key).map(|value| assert_eq!(value, Some(writes - 1))))
}
