//! The memory of this rank as peers may reach it, and local memory that operations use.

use pelago_base::limits::REGISTERED_SEGMENTS_MAX;
use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, SegmentId, Width};
use pelago_memory::Cells;
use pelago_platform::RegisterError;
use pelago_protocol::{Denied, Local, Memory};

/// Segment numbers: null, the two heaps, and what programs register.
const SEGMENTS: usize = 3 + REGISTERED_SEGMENTS_MAX;

/// Registered segments by number, and local memory by operation.
pub(crate) struct Segments {
    layout: AddressLayout,
    me: Rank,
    segments: [Option<Segment>; SEGMENTS],
    locals: Vec<Option<Cells<'static>>>,
    free: Vec<u32>,
    /// Whether a peer has written to this rank's memory since somebody asked.
    touched: bool,
}

struct Segment {
    cells: Cells<'static>,
    /// Whether it is to be deregistered: what is being read goes on, nothing new begins.
    closing: bool,
}

impl Segments {
    pub(crate) fn new(layout: AddressLayout, me: Rank) -> Self {
        Self { layout, me, segments: [const { None }; SEGMENTS], locals: Vec::new(), free: Vec::new(), touched: false }
    }

    pub(crate) fn register(&mut self, id: SegmentId, cells: Cells<'static>) -> Result<(), RegisterError> {
        let free = self.segments.get_mut(id.number() as usize).filter(|segment| segment.is_none());
        let place = free.filter(|_| id.number() <= self.layout.segment_max()).ok_or(RegisterError::Identifier(id))?;
        *place = Some(Segment { cells, closing: false });
        Ok(())
    }

    /// Lets nothing new begin in a segment.
    pub(crate) fn close(&mut self, id: SegmentId) {
        if let Some(Some(segment)) = self.segments.get_mut(id.number() as usize) {
            segment.closing = true;
        }
    }

    pub(crate) fn remove(&mut self, id: SegmentId) {
        if let Some(segment) = self.segments.get_mut(id.number() as usize) {
            *segment = None;
        }
    }

    /// Lends local memory to an operation until it is taken back.
    pub(crate) fn lend(&mut self, cells: Cells<'static>) -> Local {
        let index = self.free.pop().unwrap_or(self.locals.len() as u32);
        if index as usize == self.locals.len() {
            self.locals.push(None);
        }
        self.locals[index as usize] = Some(cells);
        Local(u64::from(index))
    }

    pub(crate) fn take_back(&mut self, Local(index): Local) {
        self.locals[index as usize] = None;
        self.free.push(index as u32);
    }

    /// Whether a peer has written to this rank's memory since this was asked last.
    pub(crate) fn take_touched(&mut self) -> bool {
        std::mem::take(&mut self.touched)
    }

    /// The bytes, if they are registered; also of a segment that is closing if `closing`.
    fn find(&self, at: GlobalAddress, bytes: u64, closing: bool) -> Result<Cells<'static>, Denied> {
        let number = self.layout.segment(at).ok_or(Denied::Outside)?.number() as usize;
        let segment = self.segments.get(number).and_then(Option::as_ref).ok_or(Denied::Outside)?;
        if self.layout.rank(at) != self.me || segment.closing && !closing {
            return Err(Denied::Outside);
        }
        segment.cells.part(self.layout.offset(at), bytes).ok_or(Denied::Outside)
    }

    fn local(&self, Local(index): Local, offset: u64, bytes: usize) -> Cells<'static> {
        let cells = self.locals[index as usize].and_then(|cells| cells.part(offset, bytes as u64));
        cells.expect("the protocol stays inside what was lent, until it gives it back")
    }
}

impl Memory for Segments {
    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        self.find(at, bytes, false).map(drop)
    }

    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        self.find(from, into.len() as u64, true)?.read(into);
        Ok(())
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        self.find(to, bytes.len() as u64, false)?.write(bytes);
        self.touched = true;
        Ok(())
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) {
        if let (Ok(source), Ok(target)) = (self.find(from, bytes, false), self.find(to, bytes, false)) {
            target.copy_from(source);
            self.touched = true;
        }
    }

    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        let cells = self.find(at, width.bytes(), false)?;
        self.touched = true;
        cells.atomic(width, operator, operand).ok_or(Denied::Misaligned)
    }

    fn read_local(&self, from: Local, offset: u64, into: &mut [u8]) {
        self.local(from, offset, into.len()).read(into);
    }

    fn write_local(&mut self, to: Local, offset: u64, bytes: &[u8]) {
        self.local(to, offset, bytes.len()).write(bytes);
    }
}
