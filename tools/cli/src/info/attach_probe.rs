//! Detects whether processes may read each other's memory (cross-memory attach), which copies of registered memory require.
//!
//! - **A1** The probe reads only from one variable of this process into another.
#![allow(unsafe_code)]

/// Returns the reason why cross-memory attach is not possible, or `None` if it is.
pub(crate) fn refusal() -> Option<String> {
    let (from, mut into) = (0x7065_6c61_676f_u64, 0_u64);
    let size = size_of_val(&from);
    let there = libc::iovec { iov_base: (&raw const from).cast_mut().cast(), iov_len: size };
    let here = libc::iovec { iov_base: (&raw mut into).cast(), iov_len: size };
    // SAFETY: A1; both are `size` bytes long and outlive the call.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0) };
    if read != size as isize || into != from {
        return Some(format!("the system refuses it: {}", std::io::Error::last_os_error()));
    }
    // At level 1 ranks permit each other to attach; higher levels require privileges.
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    let level: u32 = scope.trim().parse().ok()?;
    (level >= 2).then(|| format!("kernel.yama.ptrace_scope is {level}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_refusal_has_a_reason() {
        assert!(super::refusal().is_none_or(|reason| !reason.is_empty()));
    }
}
