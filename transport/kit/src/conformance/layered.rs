//! The fixture for layers: ends of a `Loopback` network, each wrapped.

use std::collections::BTreeMap;

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::Transport;

use super::Fixture;
use crate::Loopback;

/// Bytes of the largest segment: a whole one, past whose end nothing can be addressed.
const WHOLE_BYTES: usize = 128 * 1024;

/// Bytes of the other segment: room for the longest transfer of the tests, and an end inside what can be addressed.
const PART_BYTES: usize = 72_008;

/// A job of [`Loopback`] ends in layers of type `T`. Its memory is never freed: it is made for tests.
pub struct Layered<T> {
    layout: AddressLayout,
    ends: Vec<T>,
    memory: BTreeMap<(Rank, SegmentId), Cells<'static>>,
    lose: fn(&T, Rank),
}

impl<T: Transport> Layered<T> {
    /// `ranks` ends, each put into its layers by `wrap`. `lose` loses a rank in every network inside.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn new(ranks: u32, wrap: impl Fn(AddressLayout, Loopback) -> T, lose: fn(&T, Rank)) -> Self {
        let layout = AddressLayout::new(ranks, WHOLE_BYTES as u64).expect("a job has ranks");
        let ends = Loopback::network(layout, ranks).into_iter().map(|end| wrap(layout, end)).collect();
        let mut job = Self { layout, ends, memory: BTreeMap::new(), lose };
        for rank in (0..ranks).map(Rank::new) {
            for (segment, bytes) in [(SegmentId::SYMMETRIC, WHOLE_BYTES), (SegmentId::REGISTERED_FIRST, PART_BYTES)] {
                let memory = Cells::from_mut(vec![0u64; bytes / 8].leak());
                let start = layout.encode(rank, segment, 0).expect("inside");
                job.transport(rank).memory().register(start, memory.into()).expect("nothing is registered yet");
                job.memory.insert((rank, segment), memory);
            }
        }
        job
    }
}

impl<T: Transport> Fixture for Layered<T> {
    fn layout(&self) -> AddressLayout {
        self.layout
    }

    fn segments(&self) -> Vec<SegmentId> {
        vec![SegmentId::SYMMETRIC, SegmentId::REGISTERED_FIRST]
    }

    fn memory(&self, rank: Rank, segment: SegmentId) -> Cells<'_> {
        self.memory[&(rank, segment)]
    }

    fn transport(&mut self, rank: Rank) -> &mut dyn Transport {
        &mut self.ends[rank.index()]
    }

    fn lose(&mut self, rank: Rank) -> bool {
        (self.lose)(&self.ends[0], rank);
        true
    }
}
