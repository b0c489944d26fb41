//! The memory of one rank between guards, and a count of invalid accesses.
//!
//! Accesses to registered memory are checked here, as in every implementation. The protocol guarantees the validity of copies inside the rank and
//! of accesses to local memory: invalid ones are counted as trespasses, and are not executed.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, SegmentId, Width};
use pelago_protocol::{Denied, Memory};

/// Bytes of each of the two segments; the second begins with words for atomics.
pub(crate) const SEGMENT_BYTES: usize = 1 << 16;

/// The read-only segment, and the written one.
pub(crate) const SOURCE: u32 = 1;
pub(crate) const TARGET: u32 = 2;

const GUARD_BYTES: usize = 64;
const GUARD: u8 = 0xC5;

/// Returns the value of byte `offset` of the read-only segment, and of written bytes of the other one.
pub(crate) fn pattern(offset: usize) -> u8 {
    offset as u8
}

/// Bytes between two guards.
struct Guarded(Vec<u8>);

impl Guarded {
    fn new(bytes: impl ExactSizeIterator<Item = u8>) -> Self {
        let guard = || std::iter::repeat_n(GUARD, GUARD_BYTES);
        Self(guard().chain(bytes).chain(guard()).collect())
    }

    fn inside(&self) -> &[u8] {
        &self.0[GUARD_BYTES..self.0.len() - GUARD_BYTES]
    }

    fn inside_mut(&mut self) -> &mut [u8] {
        let end = self.0.len() - GUARD_BYTES;
        &mut self.0[GUARD_BYTES..end]
    }

    fn is_whole(&self) -> bool {
        let (before, after) = (&self.0[..GUARD_BYTES], &self.0[self.0.len() - GUARD_BYTES..]);
        before.iter().chain(after).all(|&byte| byte == GUARD)
    }
}

/// Local memory of an operation, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Local(pub(crate) u64);

/// The memory of one rank.
pub(crate) struct RankMemory {
    layout: AddressLayout,
    me: Rank,
    segments: [Guarded; 2],
    /// Local memory of the operations in flight.
    locals: BTreeMap<u64, Guarded>,
    lent: u64,
    trespasses: Cell<u64>,
}

impl RankMemory {
    pub(crate) fn new(layout: AddressLayout, me: Rank) -> Self {
        let source = Guarded::new((0..SEGMENT_BYTES).map(pattern));
        let target = Guarded::new((0..SEGMENT_BYTES).map(|_| 0));
        Self { layout, me, segments: [source, target], locals: BTreeMap::new(), lent: 0, trespasses: Cell::new(0) }
    }

    /// Allocates local memory with these bytes for an operation.
    pub(crate) fn lend(&mut self, bytes: impl ExactSizeIterator<Item = u8>) -> Local {
        self.lent += 1;
        self.locals.insert(self.lent, Guarded::new(bytes));
        Local(self.lent)
    }

    /// Removes the local memory of an operation, and returns its bytes.
    ///
    /// # Panics
    /// There is no such local memory.
    pub(crate) fn take_back(&mut self, Local(number): Local) -> Vec<u8> {
        let local = self.locals.remove(&number).expect("local memory is given back once");
        assert!(local.is_whole(), "bytes around local memory were changed");
        local.inside().to_vec()
    }

    /// Returns the bytes of the written segment.
    pub(crate) fn target(&self) -> &[u8] {
        self.segments[1].inside()
    }

    /// # Panics
    /// There was an invalid access.
    pub(crate) fn check(&self) {
        assert_eq!(self.trespasses.get(), 0, "rank {}: unchecked accesses went outside", self.me);
        assert!(self.segments.iter().all(Guarded::is_whole), "rank {}: bytes around a segment were changed", self.me);
        assert!(self.locals.values().all(Guarded::is_whole), "rank {}: bytes around local memory were changed", self.me);
    }

    fn find(&self, at: GlobalAddress, bytes: u64) -> Result<(usize, Range<usize>), Denied> {
        let segment = self.layout.segment(at).map(SegmentId::number).filter(|number| (SOURCE..=TARGET).contains(number));
        let segment = segment.filter(|_| self.layout.rank(at) == self.me).ok_or(Denied::Outside)?;
        let start = self.layout.offset(at);
        let end = start.checked_add(bytes).filter(|&end| end <= SEGMENT_BYTES as u64).ok_or(Denied::Outside)?;
        Ok((segment as usize - 1, start as usize..end as usize))
    }

    fn trespass(&self) {
        self.trespasses.set(self.trespasses.get() + 1);
    }
}

impl Memory for RankMemory {
    type Local = Local;

    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        let (segment, range) = self.find(from, into.len() as u64)?;
        into.copy_from_slice(&self.segments[segment].inside()[range]);
        Ok(())
    }

    fn read_local(&self, &Local(number): &Local, offset: u64, into: &mut [u8]) {
        let local = self.locals.get(&number).and_then(|local| part(offset, into.len()).and_then(|part| local.inside().get(part)));
        match local {
            Some(bytes) => into.copy_from_slice(bytes),
            None => self.trespass(),
        }
    }

    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        self.find(at, bytes).map(drop)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        let (segment, range) = self.find(to, bytes.len() as u64)?;
        self.segments[segment].inside_mut()[range].copy_from_slice(bytes);
        Ok(())
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)> {
        let (Ok((source, range)), Ok((target, place))) = (self.find(from, bytes), self.find(to, bytes)) else {
            self.trespass();
            return Err((Denied::Outside, false));
        };
        let moved = self.segments[source].inside()[range].to_vec();
        self.segments[target].inside_mut()[place].copy_from_slice(&moved);
        Ok(())
    }

    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        let (segment, range) = self.find(at, width.bytes())?;
        if !(range.start as u64).is_multiple_of(width.bytes()) {
            return Err(Denied::Misaligned);
        }
        let place = &mut self.segments[segment].inside_mut()[range];
        let mut word = [0; 8];
        word[..place.len()].copy_from_slice(place);
        let found = u64::from_le_bytes(word);
        let left = operator.apply(width, found, operand).to_le_bytes();
        place.copy_from_slice(&left[..place.len()]);
        Ok(found)
    }

    fn write_local(&mut self, &Local(number): &Local, offset: u64, bytes: &[u8]) {
        let local = self.locals.get_mut(&number);
        match local.and_then(|local| part(offset, bytes.len()).and_then(|part| local.inside_mut().get_mut(part))) {
            Some(place) => place.copy_from_slice(bytes),
            None => self.trespass(),
        }
    }
}

fn part(offset: u64, bytes: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    Some(start..start.checked_add(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> (AddressLayout, RankMemory) {
        let layout = AddressLayout::new(2, 1 << 20).unwrap();
        (layout, RankMemory::new(layout, Rank::new(1)))
    }

    fn at(layout: AddressLayout, offset: usize) -> GlobalAddress {
        layout.encode(Rank::new(1), SegmentId::new(TARGET).unwrap(), offset as u64).unwrap()
    }

    #[test]
    fn what_is_outside_is_denied() {
        let (layout, mut memory) = memory();
        assert_eq!(memory.write(at(layout, SEGMENT_BYTES - 1), &[1, 2]), Err(Denied::Outside));
        assert_eq!(memory.read(at(layout, SEGMENT_BYTES), &mut [0]), Err(Denied::Outside));
        assert_eq!(memory.find(GlobalAddress::from_bits(u64::MAX), u64::MAX), Err(Denied::Outside));
        memory.check();
    }

    #[test]
    #[should_panic(expected = "unchecked accesses")]
    fn a_copy_that_nobody_checked_is_noticed() {
        let (layout, mut memory) = memory();
        assert!(memory.copy(at(layout, 0), at(layout, SEGMENT_BYTES - 1), 2).is_err());
        memory.check();
    }

    #[test]
    #[should_panic(expected = "unchecked accesses")]
    fn local_memory_that_was_given_back_is_nobodys() {
        let (_, mut memory) = memory();
        let local = memory.lend([0; 8].into_iter());
        memory.write_local(&local, 0, &[1; 8]);
        assert_eq!(memory.take_back(local), [1; 8]);
        memory.write_local(&local, 0, &[1; 8]);
        memory.check();
    }

    #[test]
    #[should_panic(expected = "around a segment")]
    fn changed_guards_are_noticed() {
        let (_, mut memory) = memory();
        memory.segments[0].0[GUARD_BYTES - 1] = 0;
        memory.check();
    }
}
