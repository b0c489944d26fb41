//! The fixture for transports whose ends are made in one process: ends of any transport, or of a `Loopback`, each wrapped.

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

/// Loses a rank as if its process had died.
type Lose<T> = Box<dyn Fn(&mut BTreeMap<Rank, T>, Rank)>;

/// A job of ends of one transport, each with two registered segments. Their memory is never freed: it is made for tests.
pub struct Ends<T> {
    layout: AddressLayout,
    ends: BTreeMap<Rank, T>,
    memory: BTreeMap<(Rank, SegmentId), Cells<'static>>,
    lose: Lose<T>,
}

impl<T: Transport + 'static> Ends<T> {
    /// How a job of so many ranks divides its addresses.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn layout(ranks: u32) -> AddressLayout {
        AddressLayout::new(ranks, WHOLE_BYTES as u64).expect("a job has ranks")
    }

    /// These ends, in the order of their ranks, made for the layout of [`layout`](Self::layout). `lose` loses one of them: it may take the
    /// end out and drop it, because nothing asks for it afterwards.
    ///
    /// # Panics
    /// There are no ends, or an end refuses to register memory.
    pub fn new(ends: impl IntoIterator<Item = T>, lose: impl Fn(&mut BTreeMap<Rank, T>, Rank) + 'static) -> Self {
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
        Self { layout, ends, memory, lose: Box::new(lose) }
    }

    /// `ranks` ends of a [`Loopback`], each put into its layers by `wrap`. `lose` loses a rank in every network inside.
    ///
    /// # Panics
    /// There are no ranks, or too many for a job.
    pub fn layered(ranks: u32, wrap: impl Fn(AddressLayout, Loopback) -> T, lose: fn(&T, Rank)) -> Self {
        let layout = Self::layout(ranks);
        let ends = Loopback::network(layout, ranks).into_iter().map(|end| wrap(layout, end));
        Self::new(ends, move |ends, rank| lose(ends.values().next().expect("a job has ranks"), rank))
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

    fn lose(&mut self, rank: Rank) -> bool {
        (self.lose)(&mut self.ends, rank);
        true
    }
}
