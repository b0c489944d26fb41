//! Access to a fabric through libfabric: the library, found at run time, and an endpoint.
//!
//! Absent on purpose: ranks, global addresses, and the meaning of messages.

mod abi;
mod device;
#[cfg(test)]
mod layout_tests;
mod library;
#[cfg(test)]
pub(crate) mod mock;
mod port;

use std::fmt;
use std::str::FromStr;

use pelago_platform::{DeviceAccess, KeyMode};

use crate::limits::RAILS_MAX;
pub(crate) use abi::FiAddress;
pub(crate) use device::known_reason;
pub(crate) use port::{Event, Local, Port, Refusal, Registration, Remote, Slot};

/// The fabrics to use. As text: `PROVIDER[:DOMAIN]`, several of them separated by commas, such as `tcp;ofi_rxm:eth0,tcp;ofi_rxm:eth1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricChoice {
    /// One fabric for each rail; if empty, the transport selects them.
    pub domains: Vec<DomainChoice>,
}

/// One fabric to use; the transport selects an absent domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainChoice {
    /// The name of a provider, as `fi_info` shows it.
    pub provider: String,
    /// The name of a domain: a device or an interface.
    pub domain: Option<String>,
}

impl FromStr for FabricChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let domains = text.split(',').map(str::parse).collect::<Result<Vec<DomainChoice>, _>>()?;
        if domains.len() > RAILS_MAX {
            return Err(format!("it names {} fabrics, and {RAILS_MAX} are the most", domains.len()));
        }
        let is_twice = |(at, domain): (usize, &DomainChoice)| domain.domain.is_some() && domains[..at].contains(domain);
        if domains.iter().enumerate().any(is_twice) {
            return Err("it names a domain twice".into());
        }
        Ok(Self { domains })
    }
}

impl FromStr for DomainChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (provider, domain) = text.split_once(':').map_or((text, None), |(provider, domain)| (provider, Some(domain)));
        if provider.is_empty() || domain.is_some_and(str::is_empty) || text.contains('\0') {
            return Err("it is PROVIDER or PROVIDER:DOMAIN, such as tcp;ofi_rxm or tcp;ofi_rxm:eth0, or several of them separated by commas".into());
        }
        Ok(Self { provider: provider.into(), domain: domain.map(str::to_owned) })
    }
}

impl fmt::Display for FabricChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, domain) in self.domains.iter().enumerate() {
            write!(f, "{}{domain}", if at == 0 { "" } else { "," })?;
        }
        if self.domains.is_empty() { f.write_str("any provider") } else { Ok(()) }
    }
}

impl fmt::Display for DomainChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        self.domain.as_ref().map_or(Ok(()), |domain| write!(f, ":{domain}"))
    }
}

/// The fabrics of a transport, for output. As text: `tcp;ofi_rxm:eth0 (libfabric 1.17; keys: segment and offset; device memory: staged by its owner: …)`,
/// with several rails `tcp;ofi_rxm:eth0 + tcp;ofi_rxm:eth1 (…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricName {
    /// The version of the library.
    pub version: (u32, u32),
    /// Provider and domain (device or interface) of each rail: `tcp;ofi_rxm:eth0`.
    pub rails: Vec<String>,
    /// How peers address registered memory by the first rail.
    pub keys: KeyMode,
    /// How the first rail accesses device memory, as far as that is known before any is registered.
    pub device_memory: DeviceAccess,
}

impl fmt::Display for FabricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        let (rails, keys, devices) = (self.rails.join(" + "), self.keys, self.device_memory);
        write!(f, "{rails} (libfabric {major}.{minor}; keys: {keys}; device memory: {devices})")
    }
}

impl FabricName {
    /// Returns the fabrics that a transport would use, with `devices` as in [`Setup`](crate::Setup). The library may search for devices for a second.
    ///
    /// # Errors
    /// As [`Ofi::new`](crate::Ofi::new).
    pub fn selected(choice: &FabricChoice, devices: bool) -> Result<Self, FabricError> {
        Port::selected(choice, devices)
    }

    /// Returns the version of the library, without a search for devices.
    ///
    /// # Errors
    /// The library is missing.
    pub fn library_version() -> Result<(u32, u32), FabricError> {
        library::Library::open().map(|library| library.version())
    }
}

/// Why a fabric cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The library is missing.
    #[error("libfabric cannot be opened: {0}; install it (package libfabric1 of Debian and Ubuntu, libfabric elsewhere)")]
    Missing(String),
    /// No fabric has the required capabilities.
    #[error(
        "libfabric knows no fabric for {0} with reliable messages and remote memory access: {1}; `fi_info -t FI_EP_RDM` lists what there is"
    )]
    None(String, String),
    /// A call failed.
    #[error("{0} of libfabric: {1}")]
    Call(&'static str, String),
    /// The system refuses another resource of the transport.
    #[error("{0}")]
    System(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_provider_and_perhaps_a_domain_for_each_rail() {
        let choice = |text: &str| text.parse::<FabricChoice>();
        let domain = |domain: Option<&str>| DomainChoice { provider: "tcp;ofi_rxm".into(), domain: domain.map(str::to_owned) };
        let [plain, first, second] = [None, Some("eth0"), Some("eth1")].map(domain);
        assert_eq!(choice("tcp;ofi_rxm"), Ok(FabricChoice { domains: vec![plain] }));
        assert_eq!(choice("tcp;ofi_rxm:eth0"), Ok(FabricChoice { domains: vec![first.clone()] }));
        assert_eq!(choice("tcp;ofi_rxm:eth0,tcp;ofi_rxm:eth1"), Ok(FabricChoice { domains: vec![first, second] }));
        for text in ["tcp;ofi_rxm", "tcp;ofi_rxm:eth0", "verbs:mlx5_0:1", "cxi:cxi0,cxi:cxi1,efa", "efa,efa"] {
            assert_eq!(choice(text).unwrap().to_string(), text);
        }
        let wrong = [":eth0", "", "tcp:", "tcp\0", "tcp,", "tcp:a,tcp:a", "a,b,c,d,e"];
        assert!(wrong.into_iter().all(|text| choice(text).is_err()));
    }
}
