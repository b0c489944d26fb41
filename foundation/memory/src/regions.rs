//! An ordered table of memory by global address, for memory that is not in one mapping.

use std::collections::BTreeMap;

use pelago_base::{AddressLayout, GlobalAddress};

use crate::Region;

/// Regions of memory, each with its range of global addresses and a note of the table's user.
///
/// Any number of regions, of any ranks. Finding, inserting and removing one takes O(log n).
#[derive(Debug)]
pub struct Regions<T = ()> {
    layout: AddressLayout,
    by_start: BTreeMap<u64, (Region<'static>, T)>,
}

impl<T> Regions<T> {
    /// Creates an empty table for a job with this address layout.
    pub const fn new(layout: AddressLayout) -> Self {
        Self { layout, by_start: BTreeMap::new() }
    }

    /// Maps the addresses from `start` on to `memory`; returns `false` if some are mapped already or do not belong to one segment of one rank.
    #[must_use]
    pub fn insert(&mut self, start: GlobalAddress, memory: impl Into<Region<'static>>, note: T) -> bool {
        let memory = memory.into();
        let (bits, bytes) = (start.bits(), memory.bytes());
        let mut before = self.by_start.range(..=bits).rev();
        let mut after = self.by_start.range(bits..);
        // An empty region also occupies an address.
        let is_free = before.next().is_none_or(|(&other, (memory, _))| bits - other >= memory.bytes().max(1))
            && after.next().is_none_or(|(&other, _)| other - bits >= bytes);
        let fits = is_free && self.layout.is_in_segment(start, bytes);
        if fits {
            self.by_start.insert(bits, (memory, note));
        }
        fits
    }

    /// Removes the region that begins at `start`.
    pub fn remove(&mut self, start: GlobalAddress) -> Option<(Region<'static>, T)> {
        self.by_start.remove(&start.bits())
    }

    /// Returns the region that begins at `start`.
    pub fn get_mut(&mut self, start: GlobalAddress) -> Option<(&Region<'static>, &mut T)> {
        self.by_start.get_mut(&start.bits()).map(|(memory, note)| (&*memory, note))
    }

    /// Returns `bytes` bytes from `address` on, if all are in one region, and the note of that region.
    pub fn find(&self, address: GlobalAddress, bytes: u64) -> Option<(Region<'static>, &T)> {
        let (start, memory, note) = self.at_or_before(address)?;
        Some((memory.part(address.bits() - start.bits(), bytes)?, note))
    }

    /// Returns the last region that begins at or before `address`, with its start and note. It need not contain `address`.
    pub fn at_or_before(&self, address: GlobalAddress) -> Option<(GlobalAddress, &Region<'static>, &T)> {
        let (&start, (memory, note)) = self.by_start.range(..=address.bits()).next_back()?;
        Some((GlobalAddress::from_bits(start), memory, note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cells;
    use pelago_base::{Rank, SegmentId};
    use proptest::prelude::*;

    const SEGMENT_BYTES: u64 = 4096;

    fn layout() -> AddressLayout {
        AddressLayout::new(2, SEGMENT_BYTES).unwrap()
    }

    fn at(rank: u32, offset: u64) -> GlobalAddress {
        layout().encode(Rank::new(rank), SegmentId::REGISTERED_FIRST, offset).unwrap()
    }

    fn cells(bytes: usize) -> Cells<'static> {
        Cells::from_mut(vec![0u8; bytes].leak())
    }

    #[test]
    fn addresses_of_no_segment_are_refused() {
        let mut regions = Regions::new(layout());
        assert!(!regions.insert(GlobalAddress::NULL, cells(1), ()));
        assert!(!regions.insert(GlobalAddress::from_bits(u64::MAX), cells(1), ()));
        assert!(!regions.insert(at(1, SEGMENT_BYTES - 8), cells(9), ()), "it would reach into the next segment");
        assert!(regions.insert(at(1, SEGMENT_BYTES - 8), cells(8), ()));
        assert!(regions.insert(at(0, 0), cells(SEGMENT_BYTES as usize), ()), "a whole segment, and the rank after it");
        assert!(regions.find(at(0, SEGMENT_BYTES - 1), 2).is_none() && regions.find(at(0, 0), u64::MAX).is_none());
    }

    #[test]
    fn what_is_noted_of_a_region_is_found_by_its_start_and_may_change() {
        let mut regions = Regions::new(layout());
        let memory = cells(16);
        assert!(regions.insert(at(0, 64), memory, 1));
        let (found, note) = regions.get_mut(at(0, 64)).unwrap();
        assert_eq!((found.bytes(), *note), (16, 1));
        *note = 2;
        assert_eq!(regions.find(at(0, 70), 1).map(|(_, &note)| note), Some(2));
        assert!(regions.get_mut(at(0, 70)).is_none(), "no region begins here");
    }

    proptest! {
        /// Compares with a simple model.
        #[test]
        fn the_bytes_of_a_region_are_found_and_no_others(
            steps in prop::collection::vec((0u64..300, 0usize..40, any::<bool>()), 1..60),
            (offset, bytes) in (0u64..400, prop_oneof![0u64..50, Just(u64::MAX), Just(u64::MAX - 7)]),
        ) {
            let memory = cells(40);
            let mut regions = Regions::new(layout());
            let mut model: BTreeMap<u64, u64> = BTreeMap::new();
            for (start, length, insert) in steps {
                let end = start + length as u64;
                if insert {
                    let free = model.iter().all(|(&other, &stop)| other != start && (end <= other || stop <= start));
                    let part = memory.part(0, length as u64).unwrap();
                    prop_assert_eq!(regions.insert(at(0, start), part, start), free);
                    if free {
                        model.insert(start, end);
                    }
                } else {
                    prop_assert_eq!(regions.remove(at(0, start)).map(|(_, note)| note), model.remove(&start).map(|_| start));
                }
            }
            let inside = |(start, stop): (&u64, &u64)| *start <= offset && bytes <= stop.saturating_sub(offset) && offset <= *stop;
            let found = regions.find(at(0, offset), bytes);
            if let Some((Region::Host(cells), &note)) = found {
                prop_assert!(model.get(&note).is_some_and(|stop| inside((&note, stop))));
                prop_assert_eq!(cells.pointer().as_ptr() as u64 - memory.pointer().as_ptr() as u64, offset - note);
            } else {
                prop_assert!(bytes == 0 || !model.iter().any(inside));
            }
        }
    }
}
