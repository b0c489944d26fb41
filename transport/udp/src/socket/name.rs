//! Addresses in the layout in which the kernel reads them: `sockaddr_in` and `sockaddr_in6`.

use std::net::{IpAddr, SocketAddr};

/// Bytes of the larger of the two layouts.
const NAME_BYTES: usize = size_of::<libc::sockaddr_in6>();

const FAMILY_V4: [u8; 2] = (libc::AF_INET as u16).to_ne_bytes();
const FAMILY_V6: [u8; 2] = (libc::AF_INET6 as u16).to_ne_bytes();

/// An address as the kernel reads it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    layout: [u8; NAME_BYTES],
    used: usize,
}

impl Name {
    /// The bytes that the kernel reads.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.layout[..self.used]
    }
}

impl From<SocketAddr> for Name {
    fn from(address: SocketAddr) -> Self {
        let mut layout = [0; NAME_BYTES];
        layout[2..4].copy_from_slice(&address.port().to_be_bytes());
        let used = match address {
            SocketAddr::V4(address) => {
                layout[..2].copy_from_slice(&FAMILY_V4);
                layout[4..8].copy_from_slice(&address.ip().octets());
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                layout[..2].copy_from_slice(&FAMILY_V6);
                layout[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
                layout[8..24].copy_from_slice(&address.ip().octets());
                layout[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
                NAME_BYTES
            }
        };
        Self { layout, used }
    }
}

/// Returns the address in the form in which equal addresses compare equal: IPv4 for an IPv4-mapped IPv6 address, and no flow label
/// (which also leaves the choice of a label to the kernel).
pub(super) fn canonical(mut address: SocketAddr) -> SocketAddr {
    if let IpAddr::V4(ip) = address.ip().to_canonical() {
        return (ip, address.port()).into();
    }
    if let SocketAddr::V6(address) = &mut address {
        address.set_flowinfo(0);
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv6Addr, SocketAddrV6};

    #[test]
    fn one_address_has_one_form() {
        let dressed: SocketAddr = "[::ffff:10.1.2.3]:9".parse().unwrap();
        let plain: SocketAddr = "10.1.2.3:9".parse().unwrap();
        assert_eq!(canonical(dressed), plain);
        let with_flow = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 5, 77, 0);
        assert_eq!(canonical(with_flow.into()), SocketAddr::from((Ipv6Addr::LOCALHOST, 5)));
    }
}
