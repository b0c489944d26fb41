//! Sockets that are bound, and whose address reaches its own host, before any rank starts.

use std::io::ErrorKind;
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
    // A datagram to the socket itself, which no rank receives.
    let way = UdpSocket::bind((ip, 0)).and_then(|socket| socket.send_to(&[], socket.local_addr()?));
    way.map_err(|error| LaunchError::Unreachable(ip, error))?;
    Ok((port, sockets))
}

fn pause(pause: Duration) {
    std::thread::sleep(pause.into());
}
