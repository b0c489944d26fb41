//! Sockets that are bound and reach their own host before any rank starts.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};

use pelago_base::Duration;
use pelago_platform::Clock;

use crate::OsClock;
use crate::launcher::LaunchError;
use crate::launcher::limits::{ADDRESS_PAUSE, ADDRESS_WAIT};
use crate::system::udp_ports::bind;

/// Binds as `bind` does. An interface that has just come up may take a moment to find out that nobody else has its address.
///
/// # Errors
/// The system refuses, or datagrams do not get from this host to itself by that address.
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
    // A datagram to itself, which no rank sees.
    let way = UdpSocket::bind((ip, 0)).and_then(|socket| socket.send_to(&[], socket.local_addr()?));
    way.map_err(|error| LaunchError::Unreachable(ip, error))?;
    Ok((port, sockets))
}

fn pause(pause: Duration) {
    std::thread::sleep(pause.into());
}
