//! Cross-memory attach: copies to and from another process of the same user, without its participation.
#![allow(unsafe_code)]

use pelago_memory::Cells;

/// Why a copy to or from another process did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CmaError {
    /// The system does not allow it here; the owner's progress thread can do it instead.
    Forbidden,
    /// The process is gone.
    Gone,
    /// The process has no such memory.
    Unmapped,
    /// Only the owner can access the memory, or knows its current location.
    Hidden,
    /// A device that holds part of the memory failed.
    Device,
}

/// Copies from `address` of `process` to `into`.
pub(crate) fn read(process: u32, address: u64, into: Cells<'_>) -> Result<(), CmaError> {
    transfer(libc::process_vm_readv, process, address, into)
}

/// Copies from `from` to `address` of `process`.
pub(crate) fn write(process: u32, address: u64, from: Cells<'_>) -> Result<(), CmaError> {
    transfer(libc::process_vm_writev, process, address, from)
}

type Call = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

fn transfer(call: Call, process: u32, address: u64, local: Cells<'_>) -> Result<(), CmaError> {
    let mut done = 0;
    while done < local.bytes() {
        let here = libc::iovec { iov_base: local.pointer().as_ptr().wrapping_add(done).cast(), iov_len: local.bytes() - done };
        let there = libc::iovec { iov_base: (address + done as u64) as *mut libc::c_void, iov_len: local.bytes() - done };
        // SAFETY: `here` is inside `local`, which M1 makes valid; the kernel checks `there` in the other process.
        let moved = unsafe { call(process as libc::pid_t, &here, 1, &there, 1, 0) };
        match usize::try_from(moved) {
            Ok(0) => return Err(CmaError::Unmapped),
            Ok(moved) => done += moved,
            Err(_) => match std::io::Error::last_os_error().raw_os_error() {
                Some(libc::ESRCH) => return Err(CmaError::Gone),
                Some(libc::EFAULT) => return Err(CmaError::Unmapped),
                _ => return Err(CmaError::Forbidden),
            },
        }
    }
    Ok(())
}

/// Allows other processes of this user to copy to and from this one, where the system requires such a permission.
pub(crate) fn allow() {
    // SAFETY: sets an attribute of this process and touches no memory. Systems without the attribute need no permission.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_apart() {
        let mut memory = [0u8; 8];
        assert_eq!(read(std::process::id(), 8, Cells::from_mut(&mut memory)), Err(CmaError::Unmapped));
        assert_eq!(read(u32::MAX >> 2, 8, Cells::from_mut(&mut memory)), Err(CmaError::Gone));
    }
}
