//! The memory of one rank: two segments of bytes, and local memory by number.

use std::cell::RefCell;
use std::ops::Range;

use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, SegmentId, Width};
use pelago_protocol::{Denied, Memory};

/// Bytes of each segment.
pub(crate) const SEGMENT_BYTES: usize = 1 << 18;

/// Local memory of an operation, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local(pub(crate) u64);

pub(crate) struct RankMemory {
    layout: AddressLayout,
    me: Rank,
    pub(crate) segments: [Option<Vec<u8>>; 2],
    pub(crate) locals: Vec<Vec<u8>>,
    /// Number of bytes that peers have written.
    pub(crate) written: u64,
    /// The ranges of the segments that operations of peers have read and written, each at once.
    pub(crate) accesses: RefCell<Vec<Range<usize>>>,
}

impl RankMemory {
    pub(crate) fn new(layout: AddressLayout, me: Rank) -> Self {
        let segment = || Some(vec![0; SEGMENT_BYTES]);
        Self { layout, me, segments: [segment(), segment()], locals: Vec::new(), written: 0, accesses: RefCell::default() }
    }

    /// Returns the word at an offset of the first segment.
    pub(crate) fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.segments[0].as_ref().unwrap()[offset..offset + 8].try_into().unwrap())
    }

    fn find(&self, at: GlobalAddress, bytes: u64) -> Result<(usize, Range<usize>), Denied> {
        let segment = self.layout.segment(at).ok_or(Denied::Outside)?.number() as usize - 1;
        let room = self.segments.get(segment).and_then(Option::as_ref).ok_or(Denied::Outside)?.len() as u64;
        let start = self.layout.offset(at);
        let end = start.checked_add(bytes).ok_or(Denied::Outside)?;
        if self.layout.rank(at) != self.me || end > room {
            return Err(Denied::Outside);
        }
        Ok((segment, start as usize..end as usize))
    }
}

pub(crate) fn at(layout: AddressLayout, rank: u32, segment: u32, offset: u64) -> GlobalAddress {
    layout.encode(Rank::new(rank), SegmentId::new(segment).unwrap(), offset).unwrap()
}

impl Memory for RankMemory {
    type Local = Local;

    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        let (segment, range) = self.find(from, into.len() as u64)?;
        into.copy_from_slice(&self.segments[segment].as_ref().unwrap()[range.clone()]);
        self.accesses.borrow_mut().push(range);
        Ok(())
    }

    fn read_local(&self, &Local(number): &Local, offset: u64, into: &mut [u8]) {
        into.copy_from_slice(&self.locals[number as usize][offset as usize..][..into.len()]);
    }

    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        self.find(at, bytes).map(drop)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        let (segment, range) = self.find(to, bytes.len() as u64)?;
        self.segments[segment].as_mut().unwrap()[range.clone()].copy_from_slice(bytes);
        self.accesses.borrow_mut().push(range);
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)> {
        let mut moved = vec![0; bytes as usize];
        self.read(from, &mut moved).map_err(|denied| (denied, false))?;
        self.write(to, &moved).map_err(|denied| (denied, true))
    }

    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        let (segment, range) = self.find(at, width.bytes())?;
        if !(range.start as u64).is_multiple_of(width.bytes()) {
            return Err(Denied::Misaligned);
        }
        let place = &mut self.segments[segment].as_mut().unwrap()[range];
        let mut word = [0; 8];
        word[..place.len()].copy_from_slice(place);
        let found = u64::from_le_bytes(word);
        let new = operator.apply(width, found, operand).to_le_bytes();
        place.copy_from_slice(&new[..place.len()]);
        Ok(found)
    }

    fn write_local(&mut self, &Local(number): &Local, offset: u64, bytes: &[u8]) {
        self.locals[number as usize][offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}
