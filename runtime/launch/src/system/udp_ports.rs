//! The sockets by which the ranks of a host receive datagrams: all are bound before the first is used, so that every address is known.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, UdpSocket};

use crate::limits::BIND_ATTEMPTS_MAX;

/// Binds `count` sockets to consecutive ports of `ip`, which the system chooses; returns the first port, and the sockets in the order
/// of their ports. Started programs do not inherit them by default.
///
/// # Errors
/// The system refuses, or no `count` consecutive free ports were found.
pub(crate) fn bind(ip: IpAddr, count: u32) -> std::io::Result<(u16, Vec<UdpSocket>)> {
    bind_from(ip, count, || UdpSocket::bind((ip, 0)))
}

/// As `bind`; `first` binds the first socket of an attempt.
fn bind_from(
    ip: IpAddr,
    count: u32,
    mut first: impl FnMut() -> std::io::Result<UdpSocket>,
) -> std::io::Result<(u16, Vec<UdpSocket>)> {
    for _ in 0..BIND_ATTEMPTS_MAX {
        let first = first()?;
        let port = first.local_addr()?.port();
        if let Some(sockets) = follow(ip, first, port, count)? {
            return Ok((port, sockets));
        }
    }
    Err(Error::new(ErrorKind::AddrInUse, "no such number of consecutive ports was found free"))
}

/// Returns the sockets of an attempt; `None` if one of the ports is in use or beyond the last port number.
fn follow(ip: IpAddr, first: UdpSocket, port: u16, count: u32) -> std::io::Result<Option<Vec<UdpSocket>>> {
    let mut sockets = vec![first];
    for next in (u32::from(port) + 1..).take(count as usize - 1) {
        let Ok(next) = u16::try_from(next) else { return Ok(None) };
        match UdpSocket::bind((ip, next)) {
            Ok(socket) => sockets.push(socket),
            Err(error) if error.kind() == ErrorKind::AddrInUse => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(sockets))
}

/// Returns the remedy for sockets that cannot be bound.
pub(crate) fn remedy(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrNotAvailable => {
            "the address is not, or not yet, one that this machine may use: an interface that has just come up needs some seconds"
        }
        ErrorKind::AddrInUse => {
            "the ranks of a host need consecutive ports, the first of them from those that the system gives to programs: allow more \
             (sysctl net.ipv4.ip_local_port_range), start fewer ranks, or use shared memory (--transport shm) if there is one host"
        }
        _ => "start fewer ranks, or let them use shared memory (--transport shm)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// An address of this machine that nobody else uses.
    const QUIET: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 83, 71, 59));

    fn ports(sockets: &[UdpSocket]) -> Vec<u16> {
        sockets.iter().map(|socket| socket.local_addr().unwrap().port()).collect()
    }

    #[test]
    fn ports_are_consecutive_in_the_order_of_the_sockets() {
        for count in [1, 2, 40] {
            let (port, sockets) = bind(QUIET, count).unwrap();
            assert_eq!(ports(&sockets), (port..).take(count as usize).collect::<Vec<_>>());
            assert!(sockets.iter().all(|socket| socket.local_addr().unwrap().ip() == QUIET));
        }
    }

    #[test]
    fn an_attempt_that_meets_a_port_in_use_is_given_up_for_another() {
        let (port, mut held) = bind(QUIET, 3).unwrap();
        // The first attempt starts before a port that stays in use.
        let mut starts = vec![held.remove(0)];
        let (other, sockets) = bind_from(QUIET, 3, || starts.pop().map_or_else(|| UdpSocket::bind((QUIET, 0)), Ok)).unwrap();
        assert!(other != port && starts.is_empty());
        assert_eq!(ports(&sockets), [other, other + 1, other + 2]);
    }

    #[test]
    fn attempts_are_bounded() {
        let (_, held) = bind(QUIET, 2).unwrap();
        let mut attempts = 0;
        let error = bind_from(QUIET, 2, || {
            attempts += 1;
            held[0].try_clone()
        });
        assert_eq!((error.unwrap_err().kind(), attempts), (ErrorKind::AddrInUse, BIND_ATTEMPTS_MAX));
    }

    #[test]
    fn ports_that_are_not_free_have_another_remedy_than_an_address_that_is_not_here() {
        let texts =
            [ErrorKind::AddrInUse, ErrorKind::AddrNotAvailable, ErrorKind::PermissionDenied].map(|kind| remedy(&kind.into()));
        assert!(texts[0].contains("ip_local_port_range") && texts[1].contains("address") && texts[2].contains("fewer ranks"));
    }

    #[test]
    fn there_is_no_port_after_the_last() {
        let socket = || UdpSocket::bind((QUIET, 0)).unwrap();
        assert!(follow(QUIET, socket(), u16::MAX, 2).unwrap().is_none());
        assert_eq!(follow(QUIET, socket(), u16::MAX, 1).unwrap().unwrap().len(), 1);
    }

    #[test]
    fn an_address_of_another_machine_is_refused_at_once() {
        let documentation = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
        assert_ne!(bind(documentation, 1).unwrap_err().kind(), ErrorKind::AddrInUse);
        let here = UdpSocket::bind((QUIET, 0)).unwrap();
        assert!(follow(documentation, here, 7000, 2).is_err());
    }
}
