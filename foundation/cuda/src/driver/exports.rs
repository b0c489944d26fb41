//! The allocations that other processes may have opened.
//!
//! Freeing an allocation while a peer has it open is undefined according to the driver's documentation, and the owner cannot know when an idle peer
//! closes it. Therefore it is kept for the next allocation of its size on its device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::EXPORTS_MAX;

/// Exported allocations, in use or kept for reuse.
#[derive(Default)]
pub(crate) struct Exports(Mutex<Vec<SharedAllocation>>);

struct SharedAllocation {
    device: u32,
    address: u64,
    /// Size of the allocation if it is kept for reuse; `None` while it is in use.
    kept: Option<u64>,
}

/// Whether an allocation may be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It was exported before.
    Known,
    /// It is exported from now on.
    New,
    /// The maximum number of exports is reached.
    Full,
}

impl Exports {
    /// Records an allocation that is to be exported.
    pub(crate) fn admit(&self, device: u32, address: u64) -> Admission {
        let mut shared = self.lock();
        if shared.iter().any(|one| one.address == address) {
            return Admission::Known;
        }
        if shared.len() == EXPORTS_MAX {
            return Admission::Full;
        }
        shared.push(SharedAllocation { device, address, kept: None });
        Admission::New
    }

    /// Keeps an allocation that this process no longer uses, if it was exported; returns whether it was.
    pub(crate) fn keep(&self, address: u64, bytes: u64) -> bool {
        let mut shared = self.lock();
        shared.iter_mut().find(|one| one.address == address).map(|one| one.kept = Some(bytes)).is_some()
    }

    /// Returns a kept allocation of a device, of exactly this size, for reuse.
    pub(crate) fn take(&self, device: u32, bytes: u64) -> Option<u64> {
        let mut shared = self.lock();
        let found = shared.iter_mut().find(|one| one.device == device && one.kept == Some(bytes))?;
        found.kept = None;
        Some(found.address)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SharedAllocation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
