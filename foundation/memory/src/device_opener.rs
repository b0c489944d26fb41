//! Registry of the drivers that open device memory exported by other processes of this host.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{DeviceError, DeviceHandle, DeviceMemory};

/// Opens memory of a driver from a handle of another process. The driver must check the handle, as it comes from a peer.
type Open = fn(&DeviceHandle) -> Result<Arc<dyn DeviceMemory>, DeviceError>;

/// Openers of the drivers that this process uses, by name.
static OPENERS: Mutex<Vec<([u8; DeviceHandle::NAME_BYTES], Open)>> = Mutex::new(Vec::new());

/// Registers the function by which a driver that this process uses opens memory of other processes. One per name: a later call replaces it.
///
/// # Panics
/// The name is longer than [`DeviceHandle::NAME_BYTES`].
pub fn set_device_opener(driver: &str, open: Open) {
    let name = DeviceHandle::new(driver, &[]).driver;
    let mut openers = OPENERS.lock().unwrap_or_else(PoisonError::into_inner);
    openers.retain(|(other, _)| *other != name);
    openers.push((name, open));
}

/// Opens memory that another process has exported; `None` if this process does not use its driver: a peer's handle starts no driver.
///
/// # Errors
/// The driver cannot open the memory in this process; access through the owner remains possible.
pub fn open_device(handle: &DeviceHandle) -> Option<Result<Arc<dyn DeviceMemory>, DeviceError>> {
    let find = || OPENERS.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|(name, _)| *name == handle.driver).copied();
    find().map(|(_, open)| open(handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_opened_by_its_driver_alone() {
        let handle = DeviceHandle::new("test-1", &[7; 100]);
        assert_eq!(DeviceHandle::decode(&handle.encode()), handle);
        assert!(handle.bytes()[..100] == [7; 100] && handle.bytes()[100..] == [0; 12]);
        assert!(open_device(&handle).is_none(), "no driver is in use");
        set_device_opener("test-1", |handle| Err(DeviceError(format!("{} here", handle.bytes()[0]))));
        assert_eq!(open_device(&handle).unwrap().err(), Some(DeviceError("7 here".into())));
        assert!(open_device(&DeviceHandle::new("test-2", &[])).is_none());
        set_device_opener("test-1", |_| Err(DeviceError("later".into())));
        assert_eq!(open_device(&handle).unwrap().err(), Some(DeviceError("later".into())), "the last one counts");
    }
}
