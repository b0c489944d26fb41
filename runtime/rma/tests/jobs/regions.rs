//! Registered memory: many regions that are registered and dropped in any order, each accessible through its own addresses only.

use pelago_base::limits::{RANKS_MAX, SEGMENT_BYTES_MAX};
use pelago_base::{AddressLayout, GlobalAddress, Rank, SegmentId};
use pelago_memory::Space;
use pelago_platform::Failure;
use pelago_rma::limits::{REGION_GAP_BYTES, REGIONS_RETIRED_MAX};
use pelago_rma::{Error, GlobalPtr, Registered, World};
use proptest::prelude::*;

use pelago_test_support::threads::on_every_platform;

pub(crate) fn pointer(bits: u64) -> GlobalPtr<u64> {
    GlobalPtr::from_address(GlobalAddress::from_bits(bits)).unwrap()
}

/// Whether a get, a put, an atomic and either end of a copy fail at the address.
fn is_nowhere(world: &World, at: u64, elsewhere: GlobalPtr<u64>) -> bool {
    let to = pointer(at);
    let results = [
        world.get(to).map(drop),
        world.put(to, &[1]).and_then(|handle| handle.wait()),
        world.fetch_add(to, 1).and_then(|handle| handle.wait()).map(drop),
        world.copy(to, elsewhere, 1).and_then(|handle| handle.wait()),
        world.copy(elsewhere, to, 1).and_then(|handle| handle.wait()),
    ];
    results.iter().all(|result| *result == Err(Error::Failed(Failure::OutOfBounds(to.address()))))
}

#[derive(Clone, Debug)]
enum Step {
    Register(usize),
    Drop(prop::sample::Index),
    /// A put, a get, an atomic and a copy to the first value succeed.
    Access(prop::sample::Index, prop::sample::Index),
    /// The address `bytes` bytes past the end.
    Past(prop::sample::Index, u64),
    Dropped(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => (0usize..40).prop_map(Step::Register),
        2 => index().prop_map(Step::Drop),
        3 => (index(), index()).prop_map(|(region, value)| Step::Access(region, value)),
        2 => (index(), 0..REGION_GAP_BYTES / 8).prop_map(|(region, words)| Step::Past(region, words * 8)),
        2 => index().prop_map(Step::Dropped),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Compared with a model: live regions contain the values written there, and no address reaches other memory.
    #[test]
    fn regions_are_reached_by_their_own_addresses_alone(steps in prop::collection::vec(step(), 1..150)) {
        on_every_platform(&[1], |world, _| {
            let elsewhere = world.register(vec![99u64]).unwrap();
            let mut alive: Vec<(Registered<'_, u64>, Vec<u64>)> = Vec::new();
            let mut dropped: Vec<u64> = Vec::new();
            for (number, step) in (1..).zip(&steps) {
                match step {
                    Step::Register(length) => {
                        let values: Vec<u64> = (0..*length as u64).map(|index| number * 1000 + index).collect();
                        alive.push((world.register(values.clone()).unwrap(), values));
                    }
                    Step::Drop(index) if !alive.is_empty() => {
                        let (region, values) = alive.swap_remove(index.index(alive.len()));
                        dropped.push(region.ptr(0).address().bits());
                        assert_eq!(region.unregister(), Ok(Some(values)));
                    }
                    Step::Access(index, value) if !alive.is_empty() => {
                        let index = index.index(alive.len());
                        let (region, values) = &mut alive[index];
                        if values.is_empty() {
                            continue;
                        }
                        let index = value.index(values.len());
                        let at = region.ptr(index);
                        assert_eq!(world.get(at), Ok(values[index]));
                        world.put(at, &[number]).unwrap().wait().unwrap();
                        assert_eq!(world.fetch_add(at, 5).unwrap().wait(), Ok(number));
                        world.copy(at, region.ptr(0), 1).unwrap().wait().unwrap();
                        (values[index], values[0]) = (number + 5, number + 5);
                    }
                    Step::Past(index, past) if !alive.is_empty() => {
                        let (region, values) = &alive[index.index(alive.len())];
                        let end = region.ptr(0).address().bits() + 8 * values.len() as u64;
                        assert!(is_nowhere(world, end + past, elsewhere.ptr(0)), "step {number}");
                    }
                    Step::Dropped(index) if !dropped.is_empty() => {
                        let old = dropped[index.index(dropped.len())];
                        assert!(is_nowhere(world, old, elsewhere.ptr(0)), "step {number}");
                    }
                    _ => {}
                }
            }
            assert_eq!(elsewhere.local().load(0), 99);
            assert!(alive.iter().all(|(region, values)| region.local().to_vec() == *values));
        });
    }
}

/// In the largest possible job, addresses are found for as many regions.
#[test]
fn the_largest_job_has_addresses_for_many_regions() {
    let layout = AddressLayout::new(RANKS_MAX, SEGMENT_BYTES_MAX).unwrap();
    let numbers = layout.registered_segments();
    let mut space = Space::new(layout.segment_bytes(), numbers.clone().count() as u64, REGION_GAP_BYTES, REGIONS_RETIRED_MAX);
    assert!((0..100_000).all(|_| space.allocate(64 << 20).is_some()), "sixty-four mebibytes each");
    let last = SegmentId::new(*numbers.end()).unwrap();
    assert!(layout.encode(Rank::new(RANKS_MAX - 1), last, layout.segment_bytes() - 1).is_ok());
}
