//! The system calls that not every Linux permits: their purpose, and the consequence of a refusal.
//!
//! Calls that any program needs, such as `read`, `mmap`, `futex`, `clone` and `execve`, are not listed.
//!
//! - **C1** A call is tested with arguments for which it has no effect: a descriptor that is not open, an empty range or
//!   list, an invalid flag, an impossible process. A filter checks the call's number before.
#![allow(unsafe_code)]

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;

use rustix::io::Errno;

use crate::launcher::system::call_error::{NamedCall, SystemCallError};

/// The oldest Linux with all features that the launcher needs: `waitid` by a descriptor.
pub const OLDEST_LINUX: (u32, u32) = (5, 4);

/// A system call.
pub struct SystemCall {
    /// Its name.
    pub name: &'static str,
    /// Its number on this architecture.
    pub number: i64,
    /// Its purpose.
    pub purpose: &'static str,
    /// The jobs that need it.
    pub need: CallNeed,
    /// The errors that are fatal for these jobs; after other errors the call is replaced.
    fatal: &'static [Errno],
    arguments: [i64; 6],
}

/// The jobs that need a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallNeed {
    /// Every job.
    Job,
    /// Jobs whose ranks reach each other over a network.
    Network,
    /// None; the text is the consequence of a refusal.
    Nobody(&'static str),
}

/// An invalid descriptor, or an invalid flag.
const NONE: i64 = -1;

/// A number that no process has: larger than any.
const NOBODY: i64 = 1 << 30;

/// All calls.
pub const SYSTEM_CALLS: &[SystemCall] = &[
    job("epoll_create1", libc::SYS_epoll_create1, "waiting for thousands of ranks", [NONE, 0, 0, 0, 0, 0]),
    job("epoll_ctl", libc::SYS_epoll_ctl, "waiting for thousands of ranks", [NONE, 0, 0, 0, 0, 0]),
    job("epoll_pwait", libc::SYS_epoll_pwait, "waiting for thousands of ranks", [NONE, 0, 0, 0, 0, 0]),
    // The address of the timeout is invalid.
    job("ppoll", libc::SYS_ppoll, "waiting for ranks, signals and output at once", [0, 0, 1, 0, 0, 0]),
    job("pidfd_open", libc::SYS_pidfd_open, "detecting the end of a rank", [NONE, NONE, 0, 0, 0, 0]),
    job("waitid", libc::SYS_waitid, "exit status of a rank", [NONE, 0, 0, 0, 0, 0]),
    job("setpgid", libc::SYS_setpgid, "ending the child processes of a rank", [NOBODY, 0, 0, 0, 0, 0]),
    job("socketpair", libc::SYS_socketpair, "starting ranks, receiving signals", [NONE, NONE, 0, 0, 0, 0]),
    job("recvfrom", libc::SYS_recvfrom, "starting ranks, receiving datagrams", [NONE, 0, 0, 0, 0, 0]),
    job("pipe2", libc::SYS_pipe2, "the output of ranks", [0, NONE, 0, 0, 0, 0]),
    job("fcntl", libc::SYS_fcntl, "passing descriptors to ranks", [NONE, 0, 0, 0, 0, 0]),
    job("ioctl", libc::SYS_ioctl, "non-blocking reads", [NONE, 0, 0, 0, 0, 0]),
    job("memfd_create", libc::SYS_memfd_create, "shared memory of the ranks of a host", [0, NONE, 0, 0, 0, 0]),
    job("ftruncate", libc::SYS_ftruncate, "shared memory of the ranks of a host", [NONE, 0, 0, 0, 0, 0]),
    job("fstat", libc::SYS_fstat, "shared memory of the ranks of a host", [NONE, 0, 0, 0, 0, 0]),
    network("socket", libc::SYS_socket, "datagrams", [NONE, NONE, 0, 0, 0, 0]),
    network("bind", libc::SYS_bind, "datagrams", [NONE, 0, 0, 0, 0, 0]),
    network("getsockname", libc::SYS_getsockname, "datagrams", [NONE, 0, 0, 0, 0, 0]),
    network("sendto", libc::SYS_sendto, "datagrams", [NONE, 0, 0, 0, 0, 0]),
    network("setsockopt", libc::SYS_setsockopt, "datagrams", [NONE, 0, 0, 0, 0, 0]),
    network("getsockopt", libc::SYS_getsockopt, "datagrams", [NONE, 0, 0, 0, 0, 0]),
    network("timerfd_create", libc::SYS_timerfd_create, "progress thread", [NONE, NONE, 0, 0, 0, 0]),
    network("timerfd_settime", libc::SYS_timerfd_settime, "progress thread", [NONE, NONE, 0, 0, 0, 0]),
    network("eventfd2", libc::SYS_eventfd2, "progress thread", [0, NONE, 0, 0, 0, 0]),
    // The C library falls back to `clone` if this call is unknown, but not after other errors.
    SystemCall { fatal: &[Errno::PERM], ..network("clone3", libc::SYS_clone3, "progress thread", [0; 6]) },
    any("sendmmsg", libc::SYS_sendmmsg, "batches of datagrams", [NONE, 0, 0, 0, 0, 0], "one datagram at a time"),
    any("recvmmsg", libc::SYS_recvmmsg, "batches of datagrams", [NONE, 0, 0, 0, 0, 0], "one datagram at a time"),
    any("sendmsg", libc::SYS_sendmsg, "segmentation offload (UDP_SEGMENT)", [NONE, 0, 0, 0, 0, 0], "other calls"),
    any(
        "recvmsg",
        libc::SYS_recvmsg,
        "listing the network interfaces of a host, in a job of several hosts",
        [NONE, 0, 0, 0, 0, 0],
        "on one host; jobs of several hosts do not start",
    ),
    any(
        "connect",
        libc::SYS_connect,
        "path MTU to another host",
        [NONE, 0, 0, 0, 0, 0],
        "datagrams of a size that every network carries",
    ),
    any(
        "close_range",
        libc::SYS_close_range,
        "the guard process closes inherited descriptors",
        [1, 0, 0, 0, 0, 0],
        "descriptors are closed one by one",
    ),
    any("prctl", libc::SYS_prctl, "ranks end if the launcher is killed", [NONE, 0, 0, 0, 0, 0], "the guard process ends them"),
    any(
        "kill",
        libc::SYS_kill,
        "ending groups of processes",
        [NOBODY, 0, 0, 0, 0, 0],
        "pidfd_send_signal ends ranks, but not their child processes",
    ),
    any("pidfd_send_signal", libc::SYS_pidfd_send_signal, "ending a rank if kill is refused", [NONE, 0, 0, 0, 0, 0], "kill"),
    any(
        "wait4",
        libc::SYS_wait4,
        "collecting ended processes",
        [NOBODY, 0, NONE, 0, 0, 0],
        "the system collects them after the job",
    ),
    any("getrandom", libc::SYS_getrandom, "the key of the job", [0, 0, 0, 0, 0, 0], "/dev/urandom"),
    any(
        "membarrier",
        libc::SYS_membarrier,
        "wake-ups without fences",
        [NONE, NONE, 0, 0, 0, 0],
        "sleepers poll each millisecond",
    ),
    any(
        "process_vm_readv",
        libc::SYS_process_vm_readv,
        "copies from registered memory",
        [0, 0, 0, 0, 0, 0],
        "the owner's thread copies",
    ),
    any(
        "process_vm_writev",
        libc::SYS_process_vm_writev,
        "copies to registered memory",
        [0, 0, 0, 0, 0, 0],
        "the owner's thread copies",
    ),
    any("sched_getaffinity", libc::SYS_sched_getaffinity, "binding ranks to cores", [NONE, 0, 0, 0, 0, 0], "ranks run anywhere"),
    any("sched_setaffinity", libc::SYS_sched_setaffinity, "binding ranks to cores", [NONE, 0, 0, 0, 0, 0], "ranks run anywhere"),
    any("madvise", libc::SYS_madvise, "huge pages, and returning memory", [0, 0, NONE, 0, 0, 0], "small pages"),
    any(
        "userfaultfd",
        libc::SYS_userfaultfd,
        "regions as one slice (dsm)",
        [NONE, 0, 0, 0, 0, 0],
        "such regions are refused; others work",
    ),
];

/// The errors of filters, and of kernels that are too old.
const REFUSED: &[Errno] = &[Errno::NOSYS, Errno::PERM];

const fn job(name: &'static str, number: i64, purpose: &'static str, arguments: [i64; 6]) -> SystemCall {
    SystemCall { name, number, purpose, need: CallNeed::Job, fatal: REFUSED, arguments }
}

const fn network(name: &'static str, number: i64, purpose: &'static str, arguments: [i64; 6]) -> SystemCall {
    SystemCall { name, number, purpose, need: CallNeed::Network, fatal: REFUSED, arguments }
}

const fn any(name: &'static str, number: i64, purpose: &'static str, arguments: [i64; 6], instead: &'static str) -> SystemCall {
    SystemCall { name, number, purpose, need: CallNeed::Nobody(instead), fatal: &[], arguments }
}

impl SystemCall {
    /// Returns the reason why the system refuses the call, if it does.
    pub fn refusal(&self) -> Option<io::Error> {
        self.error().filter(|error| REFUSED.contains(error)).map(io::Error::from)
    }

    /// Returns the error of the call, which has no effect.
    fn error(&self) -> Option<Errno> {
        let [a, b, c, d, e, f] = self.arguments;
        // SAFETY: C1.
        let returned = unsafe { libc::syscall(self.number, a, b, c, d, e, f) };
        (returned < 0).then(|| Errno::from_io_error(&io::Error::last_os_error())).flatten()
    }
}

/// Whether the kernel segments large sent datagrams, and whether it coalesces received ones: the option, and the reason if not.
pub fn datagram_options() -> [(&'static str, Option<io::Error>); 2] {
    [("UDP_SEGMENT", libc::UDP_SEGMENT), ("UDP_GRO", libc::UDP_GRO)].map(|(name, option)| (name, set_option(option).err()))
}

/// Sets an option of a socket to 0, its present value.
fn set_option(option: libc::c_int) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let off: libc::c_int = 0;
    let (value, bytes) = ((&raw const off).cast(), size_of_val(&off) as libc::socklen_t);
    // SAFETY: `value` points to `bytes` bytes, which the kernel reads.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_UDP, option, value, bytes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Tests the calls that every job needs, or every job that uses a network: a missing call is reported once, and before any rank runs.
pub(crate) fn check(uses_network: bool) -> Result<(), SystemCallError> {
    let needed = SYSTEM_CALLS.iter().filter(|call| call.need == CallNeed::Job || uses_network && call.need == CallNeed::Network);
    for call in needed {
        if let Some(error) = call.error().filter(|error| call.fatal.contains(error)) {
            return Err(error).named(call.name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_system_grants_is_not_refused() {
        assert!(check(true).is_ok());
        // Linux 4.18 and 5.0.
        assert!(datagram_options().iter().all(|(_, refusal)| refusal.is_none()));
        let refused: Vec<_> = SYSTEM_CALLS.iter().filter(|call| call.refusal().is_some()).map(|call| call.name).collect();
        // Not every user may have it.
        assert!(refused.iter().all(|name| *name == "userfaultfd"), "{refused:?}");
    }

    #[test]
    fn a_call_that_there_is_not_is_refused() {
        let missing = job("missing", 1 << 20, "nothing", [0; 6]);
        assert_eq!(missing.error(), Some(Errno::NOSYS));
        assert!(missing.refusal().is_some());
    }
}
