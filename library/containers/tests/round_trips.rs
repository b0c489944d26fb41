//! How many round trips operations on containers of another rank take: two datagrams each, on a simulated machine on which datagrams cost time of a core.

use pelago_base::{Event, Rank};
use pelago_containers::{GlobalDeque, GlobalHeap, GlobalMap, GlobalVector};
use pelago_rma::{Result, World};
use pelago_test_support::simulated;

const USER: Rank = Rank::new(0);
const OWNER: Rank = Rank::new(1);

/// What a rank does with a container of its own or of both ranks, so many times; what it does besides does not depend on that.
type Use = fn(&GlobalHeap<'_>, u64) -> Result<()>;

/// The datagrams of both ranks where one does something so many times.
fn datagrams(act: Use, turns: u64) -> u64 {
    let outcome = simulated::run(&simulated::settings_by_datagrams(2), |world: &World| {
        let heap = GlobalHeap::new(world, 1 << 20)?;
        act(&heap, if world.rank() == USER { turns } else { 0 })?;
        world.barrier()
    });
    assert_eq!((outcome.fault, &outcome.stuck[..]), (None, &[][..]));
    outcome.counters.iter().map(|counters| counters.of(Event::DatagramSent)).sum()
}

/// As many round trips as the documentation of each operation says.
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

/// Finds a key so often whose value was written some times.
fn found(heap: &GlobalHeap<'_>, turns: u64, writes: u64) -> Result<()> {
    let map = GlobalMap::<u64, u64>::new(heap, 10)?;
    let key = (0..).find(|key| map.owner(key) == OWNER).unwrap();
    if heap.world().rank() == USER {
        (0..writes).try_for_each(|number| map.set(&key, &number).map(drop))?;
    }
    (0..turns).try_for_each(|_| map.find(&key).map(|value| assert_eq!(value, Some(writes - 1))))
}
