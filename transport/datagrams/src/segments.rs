//! The memory of this rank as peers may reach it, and local memory that operations use.

use std::cell::Cell;

use pelago_base::{AddressLayout, AtomicOperator, GlobalAddress, Rank, Width};
use pelago_memory::{Cells, DeviceError, MemoryKind, Region, Regions};
use pelago_platform::RegisterError;
use pelago_protocol::{Denied, Local, Memory, Readable};

/// What the protocol keeps.
const INSIDE: &str = "the protocol stays inside what it was given, until it gives it back";

/// Registered regions by address, the heaps among them, and local memory by operation.
pub(crate) struct Segments {
    layout: AddressLayout,
    me: Rank,
    regions: Regions<State>,
    /// The open region of host memory that was found last, which is mostly the next one too: where it begins, and its bytes.
    recent: Cell<Option<(GlobalAddress, Cells<'static>)>>,
    locals: Vec<Option<Bytes>>,
    free: Vec<u32>,
    /// Whether a peer has written to this rank's memory since somebody asked.
    touched: bool,
}

/// Local memory of an operation.
enum Bytes {
    /// That of whoever posted it, until it has ended.
    Lent(Cells<'static>),
    /// A copy of what may still be sent, and which byte it begins with; empty before [`Segments::capture`].
    Kept { from: u64, bytes: Box<[u8]> },
}

/// What a write has been given, until it is captured.
#[derive(Clone, Copy)]
pub(crate) struct Loan<'a> {
    local: Local,
    bytes: &'a [u8],
}

impl Loan<'_> {
    pub(crate) fn local(self) -> Local {
        self.local
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Memory to send from, in which the bytes of a write are those that it was given.
pub(crate) struct Loaned<'a>(pub(crate) &'a Segments, pub(crate) Loan<'a>);

/// What may be done with a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// It is to be deregistered: what is being read goes on, nothing new begins.
    Closing,
}

impl Segments {
    pub(crate) fn new(layout: AddressLayout, me: Rank) -> Self {
        let (regions, recent) = (Regions::new(layout), Cell::new(None));
        Self { layout, me, regions, recent, locals: Vec::new(), free: Vec::new(), touched: false }
    }

    pub(crate) fn register(&mut self, start: GlobalAddress, memory: Region<'static>) -> Result<(), RegisterError> {
        let inserted = self.layout.rank(start) == self.me && self.regions.insert(start, memory, State::Open);
        inserted.then_some(()).ok_or(RegisterError::Addresses(start))
    }

    /// Lets nothing new begin in the region that begins at `start`; its bytes, if there is one.
    pub(crate) fn close(&mut self, start: GlobalAddress) -> Option<u64> {
        self.recent.set(None);
        let (memory, state) = self.regions.get_mut(start)?;
        *state = State::Closing;
        Some(memory.bytes())
    }

    /// Forgets a region that is closed.
    pub(crate) fn remove(&mut self, start: GlobalAddress) {
        self.regions.remove(start);
    }

    /// Lends local memory to an operation until it is taken back.
    pub(crate) fn lend(&mut self, cells: Cells<'static>) -> Local {
        self.place(Bytes::Lent(cells))
    }

    /// Gives bytes to an operation, to be captured before anybody else looks at its local memory.
    pub(crate) fn loan<'a>(&mut self, bytes: &'a [u8]) -> Loan<'a> {
        Loan { local: self.place(Bytes::Kept { from: 0, bytes: Box::default() }), bytes }
    }

    /// Keeps what an operation was given from the byte `from` on, until it is taken back.
    pub(crate) fn capture(&mut self, Loan { local: Local(index), bytes }: Loan<'_>, from: u64) {
        let bytes = bytes[from as usize..].into();
        self.locals[index as usize] = Some(Bytes::Kept { from, bytes });
    }

    /// How many bytes are kept.
    #[cfg(test)]
    pub(crate) fn kept_bytes(&self) -> usize {
        let kept = |local: &Option<Bytes>| if let Some(Bytes::Kept { bytes, .. }) = local { bytes.len() } else { 0 };
        self.locals.iter().map(kept).sum()
    }

    /// How many places local memory has, and how many of them are free.
    #[cfg(test)]
    pub(crate) fn places(&self) -> (usize, usize) {
        (self.locals.len(), self.free.len())
    }

    fn place(&mut self, bytes: Bytes) -> Local {
        let index = self.free.pop().unwrap_or(self.locals.len() as u32);
        if index as usize == self.locals.len() {
            self.locals.push(None);
        }
        self.locals[index as usize] = Some(bytes);
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

    /// The memory, if it is registered; also of a region that is closing if `closing`.
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

impl Readable for Segments {
    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        self.find(from, into.len() as u64, true)?.read(into).map_err(failed)
    }

    fn read_local(&self, from: Local, offset: u64, into: &mut [u8]) {
        let Local(index) = from;
        match self.locals[index as usize].as_ref().expect(INSIDE) {
            Bytes::Lent(cells) => cells.part(offset, into.len() as u64).expect(INSIDE).read(into),
            Bytes::Kept { from, bytes } => {
                into.copy_from_slice(part(bytes, offset.checked_sub(*from).expect(INSIDE), into.len()))
            }
        }
    }
}

impl Readable for Loaned<'_> {
    fn read(&self, from: GlobalAddress, into: &mut [u8]) -> Result<(), Denied> {
        self.0.read(from, into)
    }

    fn read_local(&self, from: Local, offset: u64, into: &mut [u8]) {
        let Self(segments, Loan { local, bytes }) = self;
        if from == *local {
            into.copy_from_slice(part(bytes, offset, into.len()));
        } else {
            segments.read_local(from, offset, into);
        }
    }
}

fn failed(_reason: DeviceError) -> Denied {
    Denied::Device
}

fn part(bytes: &[u8], offset: u64, length: usize) -> &[u8] {
    bytes[offset as usize..].get(..length).expect(INSIDE)
}

impl Memory for Segments {
    fn check(&self, at: GlobalAddress, bytes: u64) -> Result<(), Denied> {
        self.find(at, bytes, false).map(drop)
    }

    fn write(&mut self, to: GlobalAddress, bytes: &[u8]) -> Result<(), Denied> {
        let target = self.find(to, bytes.len() as u64, false)?;
        self.touched = true;
        target.write(bytes).map_err(failed)
    }

    fn copy(&mut self, from: GlobalAddress, to: GlobalAddress, bytes: u64) -> Result<(), (Denied, bool)> {
        let source = self.find(from, bytes, false).map_err(|denied| (denied, false))?;
        let target = self.find(to, bytes, false).map_err(|denied| (denied, true))?;
        self.touched = true;
        // Of two devices, nobody can tell which one failed.
        target.copy_from(&source).map_err(|error| (failed(error), source.kind() == MemoryKind::Host))
    }

    fn atomic(&mut self, at: GlobalAddress, width: Width, operator: AtomicOperator, operand: u64) -> Result<u64, Denied> {
        let word = self.find(at, width.bytes(), false)?;
        self.touched = true;
        word.atomic(width, operator, operand).map_err(failed)?.ok_or(Denied::Misaligned)
    }

    fn write_local(&mut self, to: Local, offset: u64, bytes: &[u8]) {
        let Local(index) = to;
        match self.locals[index as usize].as_ref().expect(INSIDE) {
            Bytes::Lent(cells) => cells.part(offset, bytes.len() as u64).expect(INSIDE).write(bytes),
            Bytes::Kept { .. } => unreachable!("what is kept is only sent"),
        }
    }
}
