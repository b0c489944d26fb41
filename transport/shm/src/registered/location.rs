//! The location of a global address of this host, as seen from one rank (invariant H3 of the crate).
#![allow(unsafe_code)]

use std::ptr::NonNull;

use pelago_base::{GlobalAddress, Rank};
use pelago_memory::{Cells, DeviceRange, Region};
use pelago_platform::Failure;
use pelago_sync::Pass;

use crate::host::region_table::RegionLookup;
use crate::registered::cross_memory_attach::{self, CmaError};
use crate::{HostMemory, RankStage};

/// The location of some bytes of a rank of this host; they stay valid and in place while this value is held.
pub(crate) enum MemoryLocation<'a> {
    /// In this process's address space.
    Here { cells: Cells<'a>, _pass: Option<Pass<'a>> },
    /// In memory of a device, which this process accesses through its driver.
    Device { memory: Region<'static>, _pass: Pass<'a> },
    /// In memory of a device that another process has exported: this process copies, and only the owner performs atomics.
    Imported { memory: Region<'static>, _pass: Pass<'a> },
    /// In another process's memory.
    There { process: u32, address: u64, bytes: u64, _pass: Pass<'a> },
    /// Accessible only to its owner, another process: it is memory of a device, registrations change too fast to be read, or the number of the process
    /// means another one here.
    Unknown,
}

impl MemoryLocation<'_> {
    /// Whether only another process has the memory in its address space.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self, Self::There { .. } | Self::Unknown)
    }

    pub(crate) fn is_device(&self) -> bool {
        matches!(self, Self::Device { .. } | Self::Imported { .. })
    }

    /// Whether this process may copy, but only the owner may perform atomics.
    pub(crate) fn is_imported(&self) -> bool {
        matches!(self, Self::Imported { .. })
    }

    /// The memory, if this process can access it directly.
    pub(crate) fn region(&self) -> Option<Region<'_>> {
        match self {
            Self::Here { cells, .. } => Some(Region::Host(*cells)),
            Self::Device { memory, .. } | Self::Imported { memory, .. } => Some(memory.clone()),
            Self::There { .. } | Self::Unknown => None,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::There { bytes, .. } => *bytes,
            place => place.region().map_or(0, |region| region.bytes()),
        }
    }

    /// Reads, beginning at byte `start`.
    fn read(&self, start: u64, into: &mut [u8]) -> Result<(), CmaError> {
        match (self, self.region()) {
            (Self::There { process, address, .. }, _) => {
                cross_memory_attach::read(*process, address + start, Cells::from_mut(into))
            }
            (_, Some(memory)) => piece(&memory, start, into.len())?.read(into).map_err(|_| CmaError::Device),
            _ => Err(CmaError::Hidden),
        }
    }

    /// Writes, beginning at byte `start`.
    fn write(&self, start: u64, from: &mut [u8]) -> Result<(), CmaError> {
        match (self, self.region()) {
            (Self::There { process, address, .. }, _) => {
                cross_memory_attach::write(*process, address + start, Cells::from_mut(from))
            }
            (_, Some(memory)) => piece(&memory, start, from.len())?.write(from).map_err(|_| CmaError::Device),
            _ => Err(CmaError::Hidden),
        }
    }
}

/// Finds `bytes` bytes from `address` on, as `me` accesses them.
pub(crate) fn locate(host: &HostMemory, me: Rank, address: GlobalAddress, bytes: u64) -> Result<MemoryLocation<'_>, Failure> {
    let outside = Failure::OutOfBounds(address);
    let owner = host.reach().addresses().rank(address);
    let control = host.control(owner).ok_or(outside)?;
    if control.stage() == RankStage::Failed {
        return Err(Failure::PeerLost(owner));
    }
    if let Some(cells) = host.reach().cells(address, bytes) {
        return Ok(MemoryLocation::Here { cells, _pass: None });
    }
    let regions = host.regions(owner).ok_or(outside)?;
    let (start, exported, inside, pass) = loop {
        match regions.find(address.bits(), bytes) {
            RegionLookup::Inside { address, exported, inside, pass } => break (address, exported, inside, pass),
            RegionLookup::Nowhere => return Err(outside),
            RegionLookup::Changing if owner != me => return Ok(MemoryLocation::Unknown),
            // Another thread of this process is changing the table; the change does not block.
            RegionLookup::Changing => {}
        }
    };
    let Some(start) = start else {
        // Device memory of ranks of this process is known here; that of other processes is opened, if they have exported it.
        let found = host.devices().find(address, bytes).map(|(memory, ())| memory);
        if let Some(memory) = found {
            return Ok(MemoryLocation::Device { memory, _pass: pass });
        }
        let read = |address, into: &mut [u8]| {
            let process = host.process(control);
            process.is_some_and(|process| cross_memory_attach::read(process, address, Cells::from_mut(into)).is_ok())
        };
        let opened = exported.filter(|_| owner != me).and_then(|exported| host.imports().open(owner, exported, read));
        let imported = opened.and_then(|memory| Region::Device(DeviceRange::whole(memory)).part(inside, bytes));
        return Ok(imported.map_or(MemoryLocation::Unknown, |memory| MemoryLocation::Imported { memory, _pass: pass }));
    };
    if owner == me {
        let pointer = NonNull::new(start as *mut u8).ok_or(outside)?;
        // SAFETY: H3: the pass is held next to the cells; the caller of `register` guarantees M2.
        let cells = unsafe { Cells::new(pointer, bytes as usize) };
        return Ok(MemoryLocation::Here { cells, _pass: Some(pass) });
    }
    Ok(match host.process(control) {
        Some(process) => MemoryLocation::There { process, address: start, bytes, _pass: pass },
        None => MemoryLocation::Unknown,
    })
}

/// A copy that did not happen, or not completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopyError {
    pub(crate) why: CmaError,
    /// Whether the source is the reason, not the target.
    pub(crate) is_of_source: bool,
}

/// Copies between two places of equal length.
pub(crate) fn copy(from: &MemoryLocation<'_>, to: &MemoryLocation<'_>) -> Result<(), CopyError> {
    let [of_source, of_target] = [true, false].map(|is_of_source| move |why| CopyError { why, is_of_source });
    match (from, to) {
        (MemoryLocation::Unknown, _) => Err(of_source(CmaError::Hidden)),
        (_, MemoryLocation::Unknown) => Err(of_target(CmaError::Hidden)),
        (MemoryLocation::There { process, address, .. }, MemoryLocation::Here { cells, .. }) => {
            cross_memory_attach::read(*process, *address, *cells).map_err(of_source)
        }
        (MemoryLocation::Here { cells, .. }, MemoryLocation::There { process, address, .. }) => {
            cross_memory_attach::write(*process, *address, *cells).map_err(of_target)
        }
        _ => match (from.region(), to.region()) {
            (Some(source), Some(target)) => {
                let failed = |_| CopyError { why: CmaError::Device, is_of_source: !to.is_device() };
                target.copy_from(&source).map_err(failed)
            }
            _ => {
                let mut buffer = [0u8; 64 * 1024];
                for start in (0..from.bytes()).step_by(buffer.len()) {
                    let length = buffer.len().min((from.bytes() - start) as usize);
                    from.read(start, &mut buffer[..length]).map_err(of_source)?;
                    to.write(start, &mut buffer[..length]).map_err(of_target)?;
                }
                Ok(())
            }
        },
    }
}

fn piece<'a>(memory: &Region<'a>, start: u64, bytes: usize) -> Result<Region<'a>, CmaError> {
    memory.part(start, bytes as u64).ok_or(CmaError::Unmapped)
}

/// Local memory as a location.
pub(crate) fn local(cells: Cells<'_>) -> MemoryLocation<'_> {
    MemoryLocation::Here { cells, _pass: None }
}
