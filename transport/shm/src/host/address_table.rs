//! The addresses at which ranks receive datagrams: one entry per host of the job, of atomics only, valid when zero (invariant H2 of the crate).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::Rank;

use crate::HostAddress;

/// One host. Its words: first rank, port and family from the lowest bit up; scope; the address's upper and lower half.
#[repr(C)]
pub(crate) struct AddressEntry([AtomicU64; 4]);

const PORT_SHIFT: u32 = 32;
const FAMILY_SHIFT: u32 = 48;
const VERSION_4: u64 = 4;
const VERSION_6: u64 = 6;

impl AddressEntry {
    /// Records a host, before other processes see the table.
    pub(crate) fn set(&self, host: &HostAddress) {
        let (family, bits, scope) = match host.address {
            SocketAddr::V4(address) => (VERSION_4, u128::from(address.ip().to_bits()), 0),
            SocketAddr::V6(address) => (VERSION_6, address.ip().to_bits(), address.scope_id()),
        };
        let head = u64::from(host.first) | u64::from(host.address.port()) << PORT_SHIFT | family << FAMILY_SHIFT;
        for (word, value) in self.0.iter().zip([head, scope.into(), (bits >> 64) as u64, bits as u64]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    fn first(&self) -> u32 {
        self.0[0].load(Ordering::Relaxed) as u32
    }

    /// The address of the `local`-th rank of the host.
    fn address(&self, local: u32) -> Option<SocketAddr> {
        let [head, scope, high, low] = [0, 1, 2, 3].map(|word: usize| self.0[word].load(Ordering::Relaxed));
        let port = ((head >> PORT_SHIFT) as u16).checked_add(u16::try_from(local).ok()?)?;
        match head >> FAMILY_SHIFT {
            VERSION_4 => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(low as u32)), port)),
            VERSION_6 => {
                let address = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
                Some(SocketAddrV6::new(address, port, 0, scope as u32).into())
            }
            _ => None,
        }
    }
}

/// The address of `rank`, a rank of the job; `None` if the table is empty.
pub(crate) fn find(table: &[AddressEntry], rank: Rank) -> Option<SocketAddr> {
    let after = table.partition_point(|entry| entry.first() <= rank.number());
    let entry = table.get(after.checked_sub(1)?)?;
    entry.address(rank.number() - entry.first())
}

/// The first rank of each host.
pub(crate) fn first_ranks(table: &[AddressEntry]) -> Vec<Rank> {
    table.iter().map(|entry| Rank::new(entry.first())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(hosts: &[HostAddress]) -> Vec<AddressEntry> {
        let entry = |host| {
            let entry = AddressEntry(Default::default());
            entry.set(host);
            entry
        };
        hosts.iter().map(entry).collect()
    }

    #[test]
    fn a_host_takes_32_bytes() {
        assert_eq!((size_of::<AddressEntry>(), align_of::<AddressEntry>()), (32, 8));
    }

    #[test]
    fn every_rank_is_found_at_its_hosts_address_and_its_own_port() {
        let addresses = ["10.1.2.3:7000", "255.255.255.254:1", "[2001:db8:1:2:3:4:5:6]:65530", "[fe80::1%4294967295]:9"];
        let firsts = [0, 3, 4, 10];
        let host = |(first, address): (u32, &str)| HostAddress { first: Rank::new(first), address: address.parse().unwrap() };
        let hosts: Vec<_> = firsts.into_iter().zip(addresses).map(host).collect();
        let table = table(&hosts);
        for (rank, expected) in [
            (0, "10.1.2.3:7000"),
            (2, "10.1.2.3:7002"),
            (3, "255.255.255.254:1"),
            (4, "[2001:db8:1:2:3:4:5:6]:65530"),
            (9, "[2001:db8:1:2:3:4:5:6]:65535"),
            (10, "[fe80::1%4294967295]:9"),
            (1010, "[fe80::1%4294967295]:1009"),
        ] {
            assert_eq!(find(&table, Rank::new(rank)), Some(expected.parse().unwrap()), "rank {rank}");
        }
    }

    #[test]
    fn what_is_not_in_the_table_has_no_address() {
        assert_eq!(find(&[], Rank::new(0)), None);
        let last = table(&[HostAddress { first: Rank::new(0), address: ([1, 2, 3, 4], 65535).into() }]);
        assert_eq!(find(&last, Rank::new(1)), None);
        assert_eq!(find(&[AddressEntry(Default::default())], Rank::new(0)), None, "zeroes are no address");
    }
}
