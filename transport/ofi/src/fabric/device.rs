//! Whether a fabric accesses device memory directly, and why not.

use std::collections::BTreeSet;
use std::ffi::c_int;
use std::sync::{Mutex, PoisonError};

use pelago_memory::MemoryKind;
use pelago_platform::DeviceAccess;

use super::DomainChoice;
use super::abi::{FI_HMEM_CUDA, FI_HMEM_ROCR};
use super::library::{Info, Library};
use crate::limits::{REASONS_MAX, SLOT_BYTES};

/// The first version of the library that registers dma-bufs.
const VERSION_MIN: (u32, u32) = (1, 20);

/// Returns the description of the same fabric with access to device memory.
///
/// # Errors
/// The reason for which there is none.
pub(super) fn with_devices(library: Library, info: &Info, moves_memory: bool) -> Result<Info, String> {
    let (provider, domain) = (info.provider(), info.domain());
    if !moves_memory {
        return Err(format!("{provider} moves no memory by itself"));
    }
    let (major, minor) = library.version();
    if (major, minor) < VERSION_MIN {
        let (needed_major, needed_minor) = VERSION_MIN;
        return Err(format!("libfabric {major}.{minor} has no FI_MR_DMABUF, which {needed_major}.{needed_minor} has"));
    }
    let choice = DomainChoice { provider, domain: Some(domain) };
    let is_same = |other: &Info| {
        let is_named_alike = other.name() == info.name() && other.address_format() == info.address_format();
        is_named_alike && other.message_bytes_max() >= SLOT_BYTES && other.has_devices()
    };
    let found = library.fabrics(Some(&choice), true).ok().and_then(|infos| infos.into_iter().find(is_same));
    found.ok_or_else(|| format!("{} offers no FI_HMEM", choice.provider))
}

/// The library's number of a device's interface (`fi_hmem_iface`), and the number of the device there.
pub(super) fn interface(kind: MemoryKind) -> Option<(c_int, u64)> {
    match kind {
        MemoryKind::Device { driver: "cuda", ordinal } => Some((FI_HMEM_CUDA, ordinal.into())),
        MemoryKind::Device { driver: "hip", ordinal } => Some((FI_HMEM_ROCR, ordinal.into())),
        _ => None,
    }
}

/// Access to device memory before any is registered.
pub(super) fn access(devices: &Result<(), String>) -> DeviceAccess {
    let why = devices.as_ref().map_or_else(|why| known_reason(why), |()| "");
    DeviceAccess::Registered { registered: 0, staged: 0, why }
}

/// Makes a reason live for the rest of the process. Each is stored once, and their number is bounded.
pub(crate) fn known_reason(why: &str) -> &'static str {
    static REASONS: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut reasons = REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&known) = reasons.get(why) {
        return known;
    }
    if reasons.len() == REASONS_MAX {
        return "for other reasons than before";
    }
    let known = &*why.to_owned().leak();
    reasons.insert(known);
    known
}
