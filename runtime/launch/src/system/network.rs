//! The addresses of a host, and the network between the hosts of a job.

use std::fmt;
use std::fs::{read_link, read_to_string};
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// An address with its network: the first bits, which all addresses of the network share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "launcher", derive(serde::Serialize, serde::Deserialize))]
pub struct IpNetwork {
    pub(crate) address: IpAddr,
    pub(crate) prefix_bits: u8,
}

/// The addresses at which a host can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "launcher", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HostAddresses {
    /// Equal for two hosts if they are one machine and share its loopback.
    pub(crate) machine: String,
    /// In the system's order.
    pub(crate) addresses: Vec<IpNetwork>,
}

/// The error for a text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("use an address and a prefix length, such as 10.1.0.0/16")]
pub struct IpNetworkError;

/// The reason why hosts cannot reach each other: one of them has no suitable address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no address {wanted}; it has {has}")]
pub(crate) struct ChoiceError {
    /// Index of the host.
    pub(crate) place: usize,
    wanted: String,
    has: String,
}

impl IpNetwork {
    /// Whether the network contains `address`.
    fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                let differ = u128::from(one.to_bits() ^ other.to_bits());
                differ >> 32_u8.saturating_sub(self.prefix_bits) == 0
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                let differ = one.to_bits() ^ other.to_bits();
                differ.checked_shr(128_u32.saturating_sub(self.prefix_bits.into())).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl HostAddresses {
    /// Returns the addresses of this host, at most `addresses_max`.
    ///
    /// # Errors
    /// The system does not list its interfaces.
    pub(crate) fn here(addresses_max: usize) -> std::io::Result<Self> {
        let network = |interface: if_addrs::Interface| match interface.addr {
            if_addrs::IfAddr::V4(v4) => IpNetwork { address: v4.ip.into(), prefix_bits: v4.prefixlen },
            if_addrs::IfAddr::V6(v6) => IpNetwork { address: v6.ip.into(), prefix_bits: v6.prefixlen },
        };
        let interfaces = if_addrs::get_if_addrs()?.into_iter().filter(if_addrs::Interface::is_oper_up);
        // One kernel, and one of its network namespaces, which has its own loopback.
        let kernel = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let network_of_kernel = read_link("/proc/self/ns/net").unwrap_or_default();
        let machine = format!("{} {}", kernel.trim(), network_of_kernel.display());
        Ok(Self { machine, addresses: interfaces.map(network).take(addresses_max).collect() })
    }

    fn first(&self, good: impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        self.addresses.iter().map(|network| network.address).find(|address| good(*address))
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

impl FromStr for IpNetwork {
    type Err = IpNetworkError;

    fn from_str(text: &str) -> Result<Self, IpNetworkError> {
        let (address, bits) = text.split_once('/').ok_or(IpNetworkError)?;
        let address: IpAddr = address.parse().map_err(|_| IpNetworkError)?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.parse().ok().filter(|bits| *bits <= bits_max).ok_or(IpNetworkError)?;
        Ok(Self { address, prefix_bits })
    }
}

/// Chooses the address of each host by which the others reach it.
///
/// The addresses are those in the network `asked`, if there is one; or loopback, if all hosts are one machine; or those in the first network, in
/// the order of the first host, in which every host has an address; or, across routers, the first address of each.
pub(crate) fn choose(hosts: &[&HostAddresses], asked: Option<&IpNetwork>) -> Result<Vec<IpAddr>, ChoiceError> {
    if let Some(network) = asked {
        return everywhere(hosts, |address| network.contains(address))
            .ok_or_else(|| without(hosts, format!("in {network}"), |address| network.contains(address)));
    }
    if hosts.iter().all(|host| host.machine == hosts[0].machine) {
        return Ok(vec![Ipv4Addr::LOCALHOST.into(); hosts.len()]);
    }
    let usable = |address: IpAddr| is_global(address) && is_of_one_machine(address, hosts);
    let families: [fn(&IpAddr) -> bool; 2] = [IpAddr::is_ipv4, IpAddr::is_ipv6];
    let first = |family: fn(&IpAddr) -> bool| hosts[0].addresses.iter().filter(move |network| family(&network.address));
    let candidates = families.into_iter().flat_map(first).filter(|network| usable(network.address));
    let mut common = candidates.filter_map(|network| everywhere(hosts, |address| network.contains(address) && usable(address)));
    common
        .next()
        .or_else(|| families.iter().find_map(|family| everywhere(hosts, |address| family(&address) && usable(address))))
        .ok_or_else(|| without(hosts, "that the others could reach".into(), usable))
}

/// Returns the first `good` address of each host, if every host has one.
fn everywhere(hosts: &[&HostAddresses], good: impl Fn(IpAddr) -> bool) -> Option<Vec<IpAddr>> {
    hosts.iter().map(|host| host.first(&good)).collect()
}

/// Returns the error for the first host without a suitable address, or for host 0 if each has one, but not of the same family.
fn without(hosts: &[&HostAddresses], wanted: String, good: impl Fn(IpAddr) -> bool) -> ChoiceError {
    let place = hosts.iter().position(|host| host.first(&good).is_none()).unwrap_or(0);
    let has = match &*hosts[place].addresses {
        [] => "none".into(),
        addresses => addresses.iter().map(IpNetwork::to_string).collect::<Vec<_>>().join(", "),
    };
    ChoiceError { place, wanted, has }
}

/// Whether the address is reachable beyond the machine itself and its link.
fn is_global(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !(link_local || address.is_loopback() || address.is_unspecified() || address.is_multicast())
}

/// Whether only one machine has the address. An address of several machines, such as that of a container bridge on each of them, is not usable.
fn is_of_one_machine(address: IpAddr, hosts: &[&HostAddresses]) -> bool {
    let mut owners = hosts.iter().filter(|host| host.first(|one| one == address).is_some());
    let machine = owners.next().map(|host| &host.machine);
    owners.all(|host| Some(&host.machine) == machine)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn network(text: &str) -> IpNetwork {
        text.parse().unwrap()
    }

    /// Returns the addresses chosen for hosts a, b, …, each a separate machine with these addresses.
    fn chosen(hosts: &[&[&str]], asked: Option<&str>) -> Result<Vec<String>, String> {
        let machines = hosts.iter().enumerate().map(|(index, addresses)| HostAddresses {
            machine: format!("machine {index}"),
            addresses: addresses.iter().map(|address| network(address)).collect(),
        });
        on(&machines.collect::<Vec<_>>(), asked)
    }

    fn on(hosts: &[HostAddresses], asked: Option<&str>) -> Result<Vec<String>, String> {
        let hosts: Vec<_> = hosts.iter().collect();
        let found = choose(&hosts, asked.map(network).as_ref()).map_err(|error| format!("host {}: {error}", error.place))?;
        Ok(found.iter().map(IpAddr::to_string).collect())
    }

    fn addresses(expected: &[&str]) -> Result<Vec<String>, String> {
        Ok(expected.iter().map(|address| (*address).to_owned()).collect())
    }

    #[test]
    fn the_first_network_that_all_have_in_common_is_taken() {
        let a = ["127.0.0.1/8", "192.168.7.1/24", "10.0.0.1/8", "fd00::1/64"];
        let b = ["127.0.0.1/8", "10.2.0.1/8", "192.168.8.1/24", "fd00::2/64"];
        assert_eq!(chosen(&[&a, &b], None), addresses(&["10.0.0.1", "10.2.0.1"]));
        assert_eq!(chosen(&[&a, &b, &["fd00::3/64"]], None), addresses(&["fd00::1", "fd00::2", "fd00::3"]));
    }

    #[test]
    fn loopback_is_for_hosts_that_are_one_machine() {
        let here = HostAddresses { machine: "here".into(), addresses: vec![network("10.0.0.1/8")] };
        assert_eq!(on(&[here.clone(), here.clone()], None), addresses(&["127.0.0.1", "127.0.0.1"]));
        let there = HostAddresses { machine: "there".into(), addresses: vec![network("10.0.0.2/8")] };
        assert_eq!(on(&[here.clone(), here.clone(), there], None), addresses(&["10.0.0.1", "10.0.0.1", "10.0.0.2"]));
        let loopback = ["127.0.0.1/8"];
        assert!(chosen(&[&loopback, &loopback], None).is_err());
    }

    #[test]
    fn what_only_looks_like_a_common_network_is_none() {
        let bridge = "172.17.0.1/16";
        assert_eq!(chosen(&[&[bridge, "10.0.0.1/24"], &[bridge, "10.0.0.2/24"]], None), addresses(&["10.0.0.1", "10.0.0.2"]));
        let local = ["169.254.1.1/16", "fe80::1/64"];
        let error = chosen(&[&local, &["169.254.1.2/16", "fe80::2/64"]], None).unwrap_err();
        assert_eq!(error, "host 0: it has no address that the others could reach; it has 169.254.1.1/16, fe80::1/64");
    }

    #[test]
    fn without_a_common_network_routers_are_trusted() {
        assert_eq!(chosen(&[&["10.1.0.1/16"], &["10.2.0.1/16", "10.3.0.1/16"]], None), addresses(&["10.1.0.1", "10.2.0.1"]));
        let error = chosen(&[&["10.1.0.1/16"], &["fd00::1/64"]], None).unwrap_err();
        assert!(error.starts_with("host 0: it has no address that the others could reach"), "{error}");
    }

    #[test]
    fn a_network_that_is_asked_for_is_taken_or_refused() {
        let hosts: [&[&str]; 2] = [&["10.1.0.1/16", "192.168.0.1/24"], &["10.1.0.2/16", "192.168.0.2/24"]];
        assert_eq!(chosen(&hosts, Some("192.168.0.0/16")), addresses(&["192.168.0.1", "192.168.0.2"]));
        assert_eq!(
            chosen(&hosts, Some("10.1.0.2/32")),
            Err("host 0: it has no address in 10.1.0.2/32; it has 10.1.0.1/16, 192.168.0.1/24".into())
        );
        assert_eq!(
            chosen(&[&["10.1.0.1/16"], &[]], Some("0.0.0.0/0")),
            Err("host 1: it has no address in 0.0.0.0/0; it has none".into())
        );
    }

    #[test]
    fn networks_are_read_or_refused() {
        assert_eq!(network("fd00::/8").to_string(), "fd00::/8");
        for wrong in ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "10.0.0.0/", "/8"] {
            assert_eq!(wrong.parse::<IpNetwork>(), Err(IpNetworkError), "{wrong}");
        }
        // As a faulty host could report.
        let odd = IpNetwork { prefix_bits: 255, ..network("10.0.0.1/8") };
        assert!(odd.contains(odd.address) && !odd.contains(Ipv4Addr::LOCALHOST.into()));
        assert!(network("::/0").contains(Ipv6Addr::LOCALHOST.into()) && network("0.0.0.0/0").contains(odd.address));
    }
}
