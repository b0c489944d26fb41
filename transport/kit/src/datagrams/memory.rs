//! The memory of a rank as the protocol accesses it: its registered regions, and local memory of its operations.

use std::cell::Cell;
use std::sync::atomic::{Ordering, fence};

use pelago_base::{AddressLayout, AtomicOperator, Block, GlobalAddress, Rank, Shape, Width};
use pelago_memory::{Cells, DeviceError, MemoryKind, Region, Regions, copy_strided, write_strided};
use pelago_platform::RegisterError;
use pelago_protocol::{Denied, Memory};

/// Why access to a part of local memory cannot fail.
const INSIDE: &str = "the protocol stays inside the local memory of an operation";

/// Registered regions by address, the heaps among them.
pub struct RankMemory {
    layout: AddressLayout,
    me: Rank,
    regions: Regions<State>,
    /// Start address and bytes of the open region of host memory that was found last: mostly, the next access is to the same region.
    recent: Cell<Option<(GlobalAddress, Cells<'static>)>>,
    /// Whether a peer has written to this rank's memory since the last [`take_touched`](Self::take_touched).
    touched: bool,
}

/// State of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Being deregistered: reads in progress continue, and no new access begins.
    Closing,
}

impl RankMemory {
    /// The memory of a rank that has registered nothing.
    pub fn new(layout: AddressLayout, me: Rank) -> Self {
        let (regions, recent) = (Regions::new(layout), Cell::new(None));
        Self { layout, me, regions, recent, touched: false }
    }

    /// As [`Registry::register`](pelago_platform::Registry::register).
    ///
    /// # Errors
    /// As there.
    pub fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let inserted = self.layout.rank(start) == self.me && self.regions.insert(start, memory, State::Open);
        inserted.then_some(()).ok_or(RegisterError::Addresses(start))
    }

    /// Closes the region that begins at `start` for new accesses; returns its size in bytes, if there is such a region.
    pub(super) fn close(&mut self, start: GlobalAddress) -> Option<u64> {
        self.recent.set(None);
        let (memory, state) = self.regions.get_mut(start)?;
        *state = State::Closing;
        Some(memory.bytes())
    }

    /// Removes a closed region.
    pub(super) fn remove(&mut self, start: GlobalAddress) {
        self.regions.remove(start);
    }

    /// Returns whether a peer has written to this rank's memory since the last call.
    pub fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched)
    }

    /// Returns the memory, if it is registered; with `closing`, also memory of a region that is closing.
    fn find(&self, at: GlobalAddress, bytes: u64, closing: bool) -> Result<Region<'static>, Denied> {
        let offset = |start: GlobalAddress| at.bits().wrapping_sub(start.bits());
        if let Some(found) = self.recent.get().and_then(|(start, cells)| cells.part(offset(start), bytes)) {
            return Ok(Region::Host(found));
        }
        let (start, memory, &state) = self.regions.at_or_before(at).ok_or(Denied::Outside)?;
        match (state, memory) {
            (State::Open, Region::Host(cells)) => self.recent.set(Some((start, *cells))),
            (State::Closing, _) if !closing => return Err(Denied::Outside),
            _ => {}
        }
        memory.part(offset(start), bytes).ok_or(Denied::Outside)
    }
}

fn failed(_reason: DeviceError) -> Denied {
    Denied::Device
}

impl Memory for RankMemory {
    type Local = Cells<'static>;

    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        self.find(at, bytes, false).map(drop)
    }

    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        // Keeps this read after all earlier reads: a fence orders them (T5).
        fence(Ordering::Acquire);
        self.find(from, into.len() as u64, true)?.read(into).map_err(failed)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        let target = self.find(to, bytes.len() as u64, false)?;
        self.touched = true;
        target.write(bytes).map_err(failed)
    }

    fn read_row(&self, from: GlobalAddress, row: Shape, into: &mut [u8]) -> Result<(), Denied> {
        match self.find(from, row.extent().map_err(|_| Denied::Outside)?, true)? {
            Region::Host(cells) => copy_strided(cells, row, Cells::from_mut(into), row.packed()),
            device @ Region::Device(_) => {
                for (offset, block) in row.offsets().zip(into.chunks_mut(row.block as usize)) {
                    device.part(offset, row.block).expect(INSIDE).read(block).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn write_row(&mut self, to: GlobalAddress, row: Shape, bytes: &[u8]) -> Result<(), Denied> {
        let target = self.find(to, row.extent().map_err(|_| Denied::Outside)?, false)?;
        self.touched = true;
        match target {
            Region::Host(cells) => write_strided(bytes, row.packed(), cells, row),
            device @ Region::Device(_) => {
                for (offset, block) in row.offsets().zip(bytes.chunks(row.block as usize)) {
                    device.part(offset, row.block).expect(INSIDE).write(block).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    fn read_blocks(
        &self,
        from: GlobalAddress,
        extent: u64,
        blocks: impl Iterator<Item = Block>,
        into: &mut [u8],
    ) -> Result<(), Denied> {
        let source = self.find(from, extent, true)?;
        let mut rest = into;
        for Block { offset, bytes } in blocks {
            let (part, others) = rest.split_at_mut(bytes as usize);
            match &source {
                Region::Host(cells) => cells.part(offset, bytes).expect(INSIDE).read(part),
                device => device.part(offset, bytes).expect(INSIDE).read(part).map_err(failed)?,
            }
            rest = others;
        }
        Ok(())
    }

    fn write_blocks(
        &mut self,
        to: GlobalAddress,
        extent: u64,
        blocks: impl Iterator<Item = Block>,
        bytes: &[u8],
    ) -> Result<(), Denied> {
        let target = self.find(to, extent, false)?;
        self.touched = true;
        let mut rest = bytes;
        for Block { offset, bytes } in blocks {
            let (part, others) = rest.split_at(bytes as usize);
            match &target {
                Region::Host(cells) => cells.part(offset, bytes).expect(INSIDE).write(part),
                device => device.part(offset, bytes).expect(INSIDE).write(part).map_err(failed)?,
            }
            rest = others;
        }
        Ok(())
    }

    fn read_local_row(&self, from: &Cells<'static>, offset: u64, row: Shape, into: &mut [u8]) {
        let cells = row.extent().ok().and_then(|extent| from.part(offset, extent)).expect(INSIDE);
        copy_strided(cells, row, Cells::from_mut(into), row.packed());
    }

    fn write_local_row(&mut self, to: &Cells<'static>, offset: u64, row: Shape, bytes: &[u8]) {
        let cells = row.extent().ok().and_then(|extent| to.part(offset, extent)).expect(INSIDE);
        write_strided(bytes, row.packed(), cells, row);
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)> {
        let source = self.find(from, bytes, false).map_err(|denied| (denied, false))?;
        let target = self.find(to, bytes, false).map_err(|denied| (denied, true))?;
        self.touched = true;
        // If both are devices, the error does not say which one failed.
        target.copy_from(&source).map_err(|error| (failed(error), source.kind() == MemoryKind::Host))
    }

    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        fence(Ordering::Acquire);
        let word = self.find(at, width.bytes(), false)?;
        self.touched = true;
        word.atomic(width, operator, operand).map_err(failed)?.ok_or(Denied::Misaligned)
    }

    fn read_local(&self, from: &Cells<'static>, offset: u64, into: &mut [u8]) {
        from.part(offset, into.len() as u64).expect(INSIDE).read(into);
    }

    fn write_local(&mut self, to: &Cells<'static>, offset: u64, bytes: &[u8]) {
        to.part(offset, bytes.len() as u64).expect(INSIDE).write(bytes);
    }
}
