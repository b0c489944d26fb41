//! The fixture for transports whose ends can be created in one process: ends of any transport, or of a `Loopback` in layers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::{AddressLayout, Rank, SegmentId};
use pelago_memory::Cells;
use pelago_platform::{Capabilities, Transport};

use super::Fixture;
use crate::Loopback;

/// Size in bytes of the largest segment: the whole address range of a segment, so that addresses past its end do not exist.
const WHOLE_BYTES: usize = 128 * 1024;

/// Size in bytes of the other segment: enough for the longest transfer of the tests, with addressable bytes past its end.
const PART_BYTES: usize = 72_008;

/// Makes a rank fail as if its process had died.
type Fail<T> = Box<dyn Fn(&mut BTreeMap<Rank, T>, Rank)>;

/// Number of wake-ups of each rank.
pub type Wakes = Arc<[AtomicU64]>;

/// A job of ends of one transport, each with two registered segments. For tests only: their memory is never freed.
pub struct Ends<T> {
    layout: AddressLayout,
    ends: BTreeMap<Rank, T>,
    memory: BTreeMap<(Rank, SegmentId), Cells<'static>>,
    peer_failed: Fail<T>,
    wakes: Option<Wakes>,
}

impl<T: Transport + 'static> Ends<T> {
    /// The layout of the global addresses of a job of `ranks` ranks.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn layout(ranks: u32) -> AddressLayout {
        AddressLayout::new(ranks, WHOLE_BYTES as u64).expect("a job has ranks")
    }

    /// Creates a job of these ends, in the order of their ranks, made for the layout of [`layout`](Self::layout). `peer_failed` makes one of them
    /// fail: it may remove the end and drop it, because the tests do not use it afterwards.
    ///
    /// # Panics
    /// There are no ends, or an end refuses to register memory.
    pub fn new(ends: impl IntoIterator<Item = T>, peer_failed: impl Fn(&mut BTreeMap<Rank, T>, Rank) + 'static) -> Self {
        let mut ends: BTreeMap<Rank, T> = (0..).map(Rank::new).zip(ends).collect();
        let layout = Self::layout(ends.len() as u32);
        let mut memory = BTreeMap::new();
        for (&rank, end) in &mut ends {
            for (segment, bytes) in [(SegmentId::SYMMETRIC, WHOLE_BYTES), (SegmentId::REGISTERED_FIRST, PART_BYTES)] {
                let cells = Cells::from_mut(vec![0u64; bytes / 8].leak());
                let start = layout.encode(rank, segment, 0).expect("inside");
                end.memory().register(start, cells.into()).expect("nothing is registered yet");
                memory.insert((rank, segment), cells);
            }
        }
        Self { layout, ends, memory, peer_failed: Box::new(peer_failed), wakes: None }
    }

    /// Adds the counters of wake-ups, one for each rank.
    #[must_use]
    pub fn counting(self, wakes: Wakes) -> Self {
        Self { wakes: Some(wakes), ..self }
    }

    /// Creates counters for [`counting`](Self::counting).
    pub fn wakes(ranks: u32) -> Wakes {
        (0..ranks).map(|_| AtomicU64::new(0)).collect()
    }

    /// Creates a job of `ranks` ends of a [`Loopback`], to each of which `wrap` adds layers. `peer_failed` makes a rank fail in every inner network.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn layered(ranks: u32, wrap: impl Fn(AddressLayout, Loopback) -> T, peer_failed: fn(&T, Rank)) -> Self {
        Self::layered_like(Loopback::CAPABILITIES, ranks, wrap, peer_failed)
    }

    /// As [`layered`](Self::layered), with a loopback that behaves as `capabilities` say.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn layered_like(
        capabilities: Capabilities,
        ranks: u32,
        wrap: impl Fn(AddressLayout, Loopback) -> T,
        peer_failed: fn(&T, Rank),
    ) -> Self {
        let (layout, wakes) = (Self::layout(ranks), Self::wakes(ranks));
        let counted = wakes.clone();
        let wake = move |rank: Rank| _ = counted[rank.index()].fetch_add(1, Ordering::Relaxed);
        let ends = Loopback::network_like(capabilities, layout, ranks, wake).into_iter().map(|end| wrap(layout, end));
        let peer_failed =
            move |ends: &mut BTreeMap<Rank, T>, rank| peer_failed(ends.values().next().expect("a job has ranks"), rank);
        Self::new(ends, peer_failed).counting(wakes)
    }
}

impl<T: Transport> Fixture for Ends<T> {
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
        self.ends.get_mut(&rank).expect("nobody asks for a rank that was lost")
    }

    fn peer_failed(&mut self, rank: Rank) -> bool {
        (self.peer_failed)(&mut self.ends, rank);
        true
    }

    fn wakes(&self, rank: Rank) -> Option<u64> {
        Some(self.wakes.as_ref()?[rank.index()].load(Ordering::Relaxed))
    }
}
