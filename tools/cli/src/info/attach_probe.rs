//! Whether processes may read each other's memory here, as copies of registered memory do.
//!
//! - **A1** Reads between two variables of this process only.
#![allow(unsafe_code)]

/// Why cross-memory attach is not possible, if it is not.
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
    // Ranks allow each other to attach where level 1 asks for that; the levels above ask for privileges.
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
