//! Device memory that other processes of this host have exported, opened in this one: once for each registration, and kept for later copies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use pelago_base::Rank;
use pelago_memory::{DeviceHandle, DeviceMemory, open_device};

use crate::host::region_table::ExportedDevice;
use crate::limits::IMPORTS_MAX;

/// Registrations that this process has opened, the oldest first. One that cannot be opened is recorded too, so that it is tried only once: accesses are
/// then requests to its owner.
#[derive(Default)]
pub(crate) struct Imports(Mutex<VecDeque<Import>>);

struct Import {
    owner: Rank,
    serial: u64,
    memory: Option<Arc<dyn DeviceMemory>>,
}

impl Imports {
    /// Returns the memory of a registration of `owner`; `None` if this process cannot open it, or does not use its driver. `read` copies the owner's
    /// handle, if it can; the caller holds a pass to the region, so that the handle stays in place.
    pub(crate) fn open(
        &self,
        owner: Rank,
        exported: ExportedDevice,
        read: impl FnOnce(u64, &mut [u8]) -> bool,
    ) -> Option<Arc<dyn DeviceMemory>> {
        let mut imports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = imports.iter().find(|known| (known.owner, known.serial) == (owner, exported.serial)) {
            return known.memory.clone();
        }
        let mut encoded = [0; DeviceHandle::ENCODED_BYTES];
        if !read(exported.handle, &mut encoded) {
            return None;
        }
        // A driver that this process does not use now may be in use later.
        let memory = open_device(&DeviceHandle::decode(&encoded))?.ok();
        if imports.len() == IMPORTS_MAX {
            imports.pop_front();
        }
        imports.push_back(Import { owner, serial: exported.serial, memory: memory.clone() });
        memory
    }
}
