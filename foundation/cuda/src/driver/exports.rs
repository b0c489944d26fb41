//! The allocations that other processes may have opened.
//!
//! To free one while a peer has it open is undefined by the driver's documentation, and nobody knows when an idle peer closes it. So it is kept, for the next
//! allocation of its size on its device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::limits::EXPORTS_MAX;

/// What was exported, and what of it waits for a next user.
#[derive(Default)]
pub(crate) struct Exports(Mutex<Vec<SharedAllocation>>);

struct SharedAllocation {
    device: u32,
    address: u64,
    /// The size of one that is not in use.
    kept: Option<u64>,
}

/// Whether an allocation may be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It was before.
    Known,
    /// From now on.
    New,
    /// There is no room for one more.
    Full,
}

impl Exports {
    /// Notes an allocation that is to be exported.
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

    /// Keeps an allocation that nobody here uses any more, if it was exported.
    pub(crate) fn keep(&self, address: u64, bytes: u64) -> bool {
        let mut shared = self.lock();
        shared.iter_mut().find(|one| one.address == address).map(|one| one.kept = Some(bytes)).is_some()
    }

    /// A kept allocation of a device, of just this size, for a new user.
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
