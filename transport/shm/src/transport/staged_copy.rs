//! Copies that only the owners' progress threads can make: piece by piece through the requester's staging buffer.

use std::collections::VecDeque;

use pelago_base::{Duration, GlobalAddress, Rank};
use pelago_memory::{Cells, DeviceError, Region};
use pelago_platform::{Failure, Token};

use crate::HostMemory;
use crate::host::memory::words;
use crate::limits::STAGING_BYTES;
use crate::registered::location::{self, MemoryLocation, locate};
use crate::registered::progress_thread::OwnerTask;
use crate::transport::ReplySlots;

/// Copies in order; the first is in progress and uses the staging buffer, the others wait.
#[derive(Default)]
pub(crate) struct StagedCopies {
    copies: VecDeque<StagedCopy>,
}

/// Pause before a request is repeated that found the inbox of its owner full: no bell is rung when the owner takes a request.
pub(crate) const REQUEST_PAUSE: Duration = Duration::from_microseconds(50);

/// One copy.
pub(crate) struct StagedCopy {
    pub(crate) token: Token,
    pub(crate) from: CopyEnd,
    pub(crate) to: CopyEnd,
    pub(crate) bytes: u64,
    /// Number of bytes that have arrived.
    pub(crate) done: u64,
    /// Whether the staging buffer holds the piece after `done`.
    pub(crate) loaded: bool,
    /// The outstanding request: owner and reply slot.
    pub(crate) awaiting: Option<(Rank, u8)>,
}

/// One end of a copy.
pub(crate) enum CopyEnd {
    Captured(Vec<u8>),
    Local(Cells<'static>),
    Global(GlobalAddress),
}

impl StagedCopies {
    pub(crate) fn push(&mut self, copy: StagedCopy) {
        self.copies.push_back(copy);
    }

    pub(crate) fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether the copy in progress could not send its request. Called after [`step`](Self::step) has returned `None`.
    pub(crate) fn is_refused(&self) -> bool {
        self.copies.front().is_some_and(|copy| copy.awaiting.is_none())
    }

    /// Whether a copy reads from or writes to memory of `peer`.
    pub(crate) fn involves(&self, host: &HostMemory, peer: Rank) -> bool {
        let is_at = |end: &CopyEnd| matches!(end, CopyEnd::Global(address) if host.reach().addresses().rank(*address) == peer);
        self.copies.iter().any(|copy| is_at(&copy.from) || is_at(&copy.to))
    }

    /// Advances the first copy as far as possible; returns its token, its target and its result when it has ended.
    pub(crate) fn step(
        &mut self,
        host: &HostMemory,
        me: Rank,
        replies: &mut ReplySlots,
    ) -> Option<(Token, GlobalAddress, Result<u64, Failure>)> {
        let copy = self.copies.front_mut()?;
        let result = copy.step(host, me, replies).transpose()?;
        self.copies.pop_front().map(|copy| (copy.token, copy.to.address(), result.map(|()| 0)))
    }
}

impl StagedCopy {
    /// Returns `Ok(Some(()))` when all bytes have arrived, and `Ok(None)` while a request is outstanding or cannot be sent.
    fn step(&mut self, host: &HostMemory, me: Rank, replies: &mut ReplySlots) -> Result<Option<()>, Failure> {
        let staging = words(&host.control(me).expect("this rank is on its host").staging);
        loop {
            let piece = (self.bytes - self.done).min(STAGING_BYTES as u64);
            if let Some((owner, reply)) = self.awaiting {
                let address = if self.loaded { &self.to } else { &self.from };
                let CopyEnd::Global(address) = *address else { unreachable!("only global ends are asked for") };
                match replies.take(host, owner, reply) {
                    Err(failure) => return Err(failure),
                    Ok((status, value)) => match status.result(address, value) {
                        None => return Ok(None),
                        Some(result) => self.awaiting = result.map(|_| None)?,
                    },
                }
            } else {
                let buffer = staging.part(0, piece).expect("a piece fits the staging buffer");
                let end = if self.loaded { &self.to } else { &self.from };
                match self.place(host, me, end, piece)? {
                    Some(there) => {
                        let CopyEnd::Global(address) = *end else { unreachable!("only global ends are elsewhere") };
                        let task =
                            if self.loaded { OwnerTask::Store { bytes: piece } } else { OwnerTask::Fetch { bytes: piece } };
                        self.awaiting = replies.ask(host, there, advance(address, self.done), task).map(|reply| (there, reply));
                        if self.awaiting.is_none() {
                            return Ok(None);
                        }
                        continue;
                    }
                    None if self.loaded => self.unload(host, me, buffer)?,
                    None => self.load(host, me, buffer)?,
                }
            }
            if self.loaded {
                self.done += piece;
                if self.done == self.bytes {
                    return Ok(Some(()));
                }
            }
            self.loaded = !self.loaded;
        }
    }

    /// The rank whose progress thread must move the next piece, or `None` if this process can.
    fn place(&self, host: &HostMemory, me: Rank, end: &CopyEnd, piece: u64) -> Result<Option<Rank>, Failure> {
        let CopyEnd::Global(address) = *end else { return Ok(None) };
        let there = locate(host, me, advance(address, self.done), piece)?.is_there();
        Ok(there.then(|| host.reach().addresses().rank(address)))
    }

    fn load(&self, host: &HostMemory, me: Rank, buffer: Cells<'_>) -> Result<(), Failure> {
        let (start, length) = (self.done as usize, buffer.bytes());
        match &self.from {
            CopyEnd::Captured(bytes) => buffer.write(&bytes[start..start + length]),
            CopyEnd::Local(cells) => buffer.copy_from(cells.part(self.done, length as u64).expect("inside the copy")),
            CopyEnd::Global(address) => self.here(host, me, *address, length, |memory| Region::Host(buffer).copy_from(memory))?,
        }
        Ok(())
    }

    fn unload(&self, host: &HostMemory, me: Rank, buffer: Cells<'_>) -> Result<(), Failure> {
        match &self.to {
            CopyEnd::Captured(_) => unreachable!("captured bytes are a source"),
            CopyEnd::Local(cells) => cells.part(self.done, buffer.bytes() as u64).expect("inside the copy").copy_from(buffer),
            CopyEnd::Global(address) => {
                self.here(host, me, *address, buffer.bytes(), |memory| memory.copy_from(&buffer.into()))?
            }
        }
        Ok(())
    }

    fn here(
        &self,
        host: &HostMemory,
        me: Rank,
        address: GlobalAddress,
        bytes: usize,
        copy: impl FnOnce(&Region<'_>) -> Result<(), DeviceError>,
    ) -> Result<(), Failure> {
        let place = locate(host, me, advance(address, self.done), bytes as u64)?;
        let memory = place.region().expect("the place was looked up just before, and segments do not move");
        copy(&memory).map_err(|_| Failure::Device(address))
    }
}

/// The address `bytes` further on; the caller has checked the whole range.
fn advance(address: GlobalAddress, bytes: u64) -> GlobalAddress {
    GlobalAddress::from_bits(address.bits() + bytes)
}

impl CopyEnd {
    /// The address of a global end, null for memory of this process.
    pub(crate) fn address(&self) -> GlobalAddress {
        match self {
            Self::Global(address) => *address,
            Self::Local(_) | Self::Captured(_) => GlobalAddress::NULL,
        }
    }

    /// The location of the end, as `me` accesses it.
    pub(crate) fn place<'a>(&'a mut self, host: &'a HostMemory, me: Rank, bytes: u64) -> Result<MemoryLocation<'a>, Failure> {
        match self {
            Self::Captured(captured) => Ok(location::local(Cells::from_mut(captured))),
            Self::Local(cells) => Ok(location::local(*cells)),
            Self::Global(address) => locate(host, me, *address, bytes),
        }
    }
}
