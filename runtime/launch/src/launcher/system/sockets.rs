//! Sockets that are bound, and whose address reaches its own host, before any rank starts.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, UdpSocket};

use pelago_base::Duration;
use pelago_platform::Clock;

use crate::OsClock;
use crate::launcher::LaunchError;
use crate::launcher::limits::{ADDRESS_PAUSE, ADDRESS_WAIT};
use crate::system::udp_ports::bind;

/// Binds as `bind` does, with retries: an interface that has just come up needs a moment for duplicate address detection.
///
/// # Errors
/// The system refuses, or datagrams of this host to that address do not arrive.
pub(crate) fn bind_reachable(ip: IpAddr, count: u32) -> Result<(u16, Vec<UdpSocket>), LaunchError> {
    let clock = OsClock::start();
    let end = clock.now() + ADDRESS_WAIT;
    let bound = loop {
        match bind(ip, count) {
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable && clock.now() < end => pause(ADDRESS_PAUSE),
            bound => break bound,
        }
    };
    let (port, sockets) = bound.map_err(|error| LaunchError::Sockets(count, ip, error))?;
    let probe = UdpSocket::bind((ip, 0)).map_err(|error| LaunchError::Sockets(count + 1, ip, error))?;
    reach_itself(&probe, || clock.now() < end).map_err(|error| LaunchError::Unreachable(ip, error))?;
    Ok((port, sockets))
}

/// Sends datagrams from a socket to itself until one arrives. The system accepts those for an interface that is down, and drops them.
fn reach_itself(socket: &UdpSocket, mut goes_on: impl FnMut() -> bool) -> Result<(), Error> {
    socket.set_read_timeout(Some(ADDRESS_PAUSE.into()))?;
    loop {
        socket.send_to(&[], socket.local_addr()?)?;
        match socket.recv_from(&mut []) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && goes_on() => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(Error::other("the system drops them")),
            answer => return answer.map(drop),
        }
    }
}

fn pause(pause: Duration) {
    std::thread::sleep(pause.into());
}
