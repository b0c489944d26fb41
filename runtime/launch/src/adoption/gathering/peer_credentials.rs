//! The process at the other end of a Unix socket, according to the kernel.
//!
//! - **P1** The kernel writes at most as many bytes as the given size, into a structure all of whose bit patterns are valid: the
//!   process is 0 if it is not visible in the namespace of this one.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// The process that opened a connection, or that listens for connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerCredentials {
    /// Its number in this process's namespace; 0 if it has none.
    pub(crate) process: u32,
    /// Its user, in this process's namespace.
    pub(crate) user: u32,
}

impl PeerCredentials {
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Result<Self, Errno> {
        let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut bytes = size_of_val(&found) as libc::socklen_t;
        // SAFETY: P1; `found` and `bytes` live until the call returns.
        let refused = unsafe {
            libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &raw mut bytes)
        };
        if refused != 0 {
            let error = std::io::Error::last_os_error();
            return Err(error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error));
        }
        Ok(Self { process: found.pid.max(0) as u32, user: found.uid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_other_end_is_known() {
        let (one, _other) = UnixStream::pair().unwrap();
        let me = PeerCredentials { process: std::process::id(), user: rustix::process::geteuid().as_raw() };
        assert_eq!(PeerCredentials::of(one.as_fd()), Ok(me));
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(PeerCredentials::of(file.as_fd()), Err(Errno::NOTSOCK));
    }
}
