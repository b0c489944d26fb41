//! The agreement of the leaders of all hosts on the values that our launcher would choose: addresses and ports, the key, the size of heaps.
//!
//! ```text
//!   leader of each host                       launcher's store                      leader of any other host
//!   put offer: addresses, heap     ----------->
//!   fence                          <--------------------------------------------->  fence
//!                                                                -- all offers -->  the same choice everywhere
//!   put port (rank 0 also: key)    ----------->
//!   fence                          <--------------------------------------------->  fence
//!                                                                -- all ports --->
//! ```
//!
//! Two values per host, whatever the number of its ranks. A leader that cannot continue stores its reason in place of a value.

use std::net::{SocketAddr, UdpSocket};

use pelago_base::{Instant, Rank};
use pelago_shm::{HostAddress, HostMemory};

use crate::adoption::AdoptionError;
use crate::adoption::gathering::message::Secret;
use crate::adoption::hosts::order::HostOrder;
use crate::adoption::hosts::value::{HostOffer, HostValue, offer_text, port_text, refusal_text};
use crate::adoption::launcher_store::{KeyValue, StoreError, fence};
use crate::rank::shared_settings::{SettingDifference, SharedSettings};
use crate::system::network::{HostAddresses, choose};
use crate::system::{job_key, udp_ports};
use crate::{LaunchSettings, OsClock, names};

/// Keys of the values of a host, followed by its index; the key of the job.
const OFFER_KEY: &str = "pelago-offer-";
const PORT_KEY: &str = "pelago-port-";
const JOB_KEY: &str = "pelago-key";

/// Maximum number of addresses that a host offers: as many as fit into a value of the store.
const OFFERED_ADDRESSES_MAX: usize = 16;

/// The values on which the leaders of all hosts have agreed.
pub(crate) struct Agreement {
    pub(crate) key: [u8; 16],
    /// The datagram address of each host.
    pub(crate) hosts: Vec<HostAddress>,
    pub(crate) heap_bytes: u64,
    /// One per rank of this host.
    pub(crate) sockets: Vec<UdpSocket>,
}

/// Number of fences of [`Negotiation::agree`], for ranks that are not leaders.
pub(crate) const FENCES: usize = 2;

/// The leader of this host among those of the others.
pub(crate) struct Negotiation<'a> {
    pub(crate) store: &'a mut dyn KeyValue,
    pub(crate) order: &'a HostOrder,
    pub(crate) settings: &'a LaunchSettings,
    pub(crate) clock: OsClock,
}

impl Negotiation<'_> {
    /// Agrees with the leaders of the other hosts, in two fences of the job. `before_last` stores additional values before the last fence.
    ///
    /// # Errors
    /// A host cannot take part, or there is no network between them: the same error everywhere, unless the store fails.
    pub(crate) fn agree(
        mut self,
        before_last: impl FnOnce(&mut dyn KeyValue, Instant) -> Result<(), StoreError>,
    ) -> Result<Agreement, AdoptionError> {
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let offer = self.offer(&name).map_or_else(|why| refusal_text(&name, &why.to_string()), |offer| offer_text(&offer));
        self.put(OFFER_KEY, &offer)?;
        self.fence()?;
        let offers = self.offers()?;
        let bound = self.bind(&offers);
        let port = bound.as_ref().map_or_else(|why| refusal_text(&name, &why.to_string()), |(_, port, _)| port_text(*port));
        self.put(PORT_KEY, &port)?;
        let until = self.until();
        if self.order.place == 0 {
            let key = Secret(job_key::draw().map_err(AdoptionError::Key)?);
            self.store.put(JOB_KEY, &key.to_string(), until)?;
        }
        before_last(self.store, until)?;
        self.fence()?;
        let (addresses, _, sockets) = bound?;
        let mut hosts = Vec::with_capacity(addresses.len());
        for (place, address) in addresses.into_iter().enumerate() {
            let HostValue::Port(port) = self.get(PORT_KEY, place)? else { return Err(wrong(PORT_KEY)) };
            let first = Rank::new(self.order.hosts[place].first);
            hosts.push(HostAddress { first, address: SocketAddr::new(address, port) });
        }
        let until = self.until();
        let key = self.store.get(self.order.hosts[0].leader, JOB_KEY, until)?;
        let Secret(key) = Secret::parse(&key).ok_or_else(|| wrong(JOB_KEY))?;
        let heap_bytes = offers.iter().map(|offer| offer.heap_bytes).min().unwrap_or(0);
        Ok(Agreement { key, hosts, heap_bytes, sockets })
    }

    fn offer(&self, name: &str) -> Result<HostOffer, AdoptionError> {
        let heap_bytes = self.settings.heap_bytes;
        Ok(HostOffer {
            name: name.into(),
            settings: SharedSettings::of(self.settings),
            network: self.settings.network.map(|network| network.to_string()).unwrap_or_default(),
            heap_bytes: heap_bytes.unwrap_or_else(|| HostMemory::heap_bytes_default(self.order.here().count)),
            reachable: HostAddresses::here(OFFERED_ADDRESSES_MAX).map_err(AdoptionError::Interfaces)?,
        })
    }

    /// Returns the offers of all hosts, after checking that common values are equal.
    fn offers(&mut self) -> Result<Vec<HostOffer>, AdoptionError> {
        let offers = (0..self.order.hosts.len()).map(|place| match self.get(OFFER_KEY, place)? {
            HostValue::Offer(offer) => Ok(offer),
            _ => Err(wrong(OFFER_KEY)),
        });
        let offers: Vec<HostOffer> = offers.collect::<Result<_, _>>()?;
        let first = &offers[0];
        match offers.iter().find_map(|offer| Some((offer, difference(offer, first)?))) {
            Some((other, difference)) => {
                Err(AdoptionError::SettingOfHost { host: other.name.clone(), first: first.name.clone(), difference })
            }
            None => Ok(offers),
        }
    }

    /// Returns the address of each host, and the sockets of this host with their first port.
    #[allow(clippy::type_complexity, reason = "three things that are made together, and parted at once")]
    fn bind(&self, offers: &[HostOffer]) -> Result<(Vec<std::net::IpAddr>, u16, Vec<UdpSocket>), AdoptionError> {
        let reachable: Vec<_> = offers.iter().map(|offer| &offer.reachable).collect();
        let addresses = choose(&reachable, self.settings.network.as_ref())
            .map_err(|error| AdoptionError::HostRefused { host: offers[error.place].name.clone(), why: error.to_string() })?;
        let (ip, count) = (addresses[self.order.place], self.order.here().count);
        let (port, sockets) = udp_ports::bind(ip, count).map_err(|error| AdoptionError::Sockets(count, ip, error))?;
        Ok((addresses, port, sockets))
    }

    fn put(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        let until = self.until();
        self.store.put(&format!("{key}{}", self.order.place), value, until)
    }

    /// Returns the value that the leader of a host has stored.
    fn get(&mut self, key: &str, place: usize) -> Result<HostValue, AdoptionError> {
        let until = self.until();
        let text = self.store.get(self.order.hosts[place].leader, &format!("{key}{place}"), until)?;
        match HostValue::parse(&text) {
            Some(HostValue::Refused { name, why }) => Err(AdoptionError::HostRefused { host: name, why }),
            Some(value) => Ok(value),
            None => Err(StoreError::Answer("get".into(), text).into()),
        }
    }

    fn fence(&mut self) -> Result<(), StoreError> {
        let until = self.until();
        fence(self.store, self.clock, until)
    }

    fn until(&self) -> Instant {
        use pelago_platform::Clock as _;
        self.clock.now() + self.settings.start_limit
    }
}

/// Returns the first setting that differs between two hosts. Hosts with different networks would choose different addresses for each other.
fn difference(host: &HostOffer, first: &HostOffer) -> Option<SettingDifference> {
    let shown = |network: &str| if network.is_empty() { "not set".into() } else { network.into() };
    let network = || SettingDifference { name: names::NETWORK, value: shown(&host.network), expected: shown(&first.network) };
    host.settings.difference(&first.settings).or_else(|| (host.network != first.network).then(network))
}

fn wrong(key: &str) -> AdoptionError {
    StoreError::Answer("get".into(), format!("no value of a host under {key}")).into()
}
