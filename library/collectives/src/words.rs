//! The memory of a team: words at the same place of every member.

use pelago_base::{Rank, SegmentId};
use pelago_rma::{CellSlice, Context, GlobalPtr, Symmetric};

/// Bytes of a word.
const WORD_BYTES: u64 = size_of::<u64>() as u64;

/// A range of words in the symmetric memory of the job. It does not keep that memory allocated: [`Collectives`](crate::Collectives) does.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    /// Offset of the first word in the segment.
    offset: u64,
    length: usize,
}

impl Words {
    /// All words of an allocation.
    pub(crate) fn of(context: &Context, memory: &Symmetric<'_, u64>) -> Self {
        let offset = if memory.is_empty() { 0 } else { address_offset(context, memory.at(context.rank(), 0)) };
        Self { offset, length: memory.len() }
    }

    /// A part of the words.
    pub(crate) fn part(self, start: usize, length: usize) -> Self {
        debug_assert!(start + length <= self.length, "{length} words from {start} of {}", self.length);
        Self { offset: self.offset + start as u64 * WORD_BYTES, length }
    }

    pub(crate) fn length(self) -> usize {
        self.length
    }

    /// Returns the offset of the first word in the segment.
    pub(crate) fn offset(self) -> u64 {
        self.offset
    }

    /// The word at `index` of a rank.
    #[inline]
    pub(crate) fn at(self, context: &Context, rank: Rank, index: usize) -> GlobalPtr<u64> {
        assert!(index < self.length.max(1), "word {index} of {}", self.length);
        let offset = self.offset + index as u64 * WORD_BYTES;
        let address = context.reach().addresses().encode(rank, SegmentId::SYMMETRIC, offset);
        let pointer = address.ok().and_then(|address| GlobalPtr::from_address(address).ok());
        pointer.expect("the words are allocated")
    }

    /// This rank's own words.
    #[inline]
    pub(crate) fn local(self, context: &Context) -> CellSlice<'_, u64> {
        let address = context.reach().addresses().encode(context.rank(), SegmentId::SYMMETRIC, self.offset);
        let cells = address.ok().and_then(|address| context.reach().cells(address, self.length as u64 * WORD_BYTES));
        cells.and_then(|cells| cells.elements()).expect("the words are allocated")
    }
}

fn address_offset(context: &Context, first: GlobalPtr<u64>) -> u64 {
    context.reach().addresses().offset(first.address())
}
