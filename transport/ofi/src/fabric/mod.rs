//! A fabric as libfabric gives access to it: the library, found at run time, and an endpoint of it.
//!
//! Absent on purpose: ranks, global addresses, and what messages mean.

mod abi;
#[cfg(test)]
mod layout_tests;
mod library;
mod port;

use std::fmt;
use std::str::FromStr;

pub(crate) use abi::FiAddress;
pub(crate) use port::{Event, Port, Refusal, Registration, Remote, Slot};

/// Which fabric is to be used; what is absent is chosen. As text: `PROVIDER[:DOMAIN]`, such as `tcp;ofi_rxm:eth0`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricChoice {
    /// The name of a provider, as `fi_info` shows it.
    pub provider: Option<String>,
    /// The name of a domain: a device or an interface.
    pub domain: Option<String>,
}

impl FromStr for FabricChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (provider, domain) = text.split_once(':').map_or((text, None), |(provider, domain)| (provider, Some(domain)));
        if provider.is_empty() || domain.is_some_and(str::is_empty) || text.contains('\0') {
            return Err("it is PROVIDER or PROVIDER:DOMAIN, such as tcp;ofi_rxm or tcp;ofi_rxm:eth0".into());
        }
        Ok(Self { provider: Some(provider.into()), domain: domain.map(str::to_owned) })
    }
}

impl fmt::Display for FabricChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.provider.as_deref().unwrap_or("any provider"))?;
        self.domain.as_ref().map_or(Ok(()), |domain| write!(f, ":{domain}"))
    }
}

/// A fabric, as it is shown. As text: `tcp;ofi_rxm:eth0 (libfabric 1.17)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricName {
    /// The version of the library.
    pub version: (u32, u32),
    /// The name of the provider.
    pub provider: String,
    /// The device or interface.
    pub domain: String,
}

impl fmt::Display for FabricName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        write!(f, "{}:{} (libfabric {major}.{minor})", self.provider, self.domain)
    }
}

impl FabricName {
    /// The fabric that a transport would take. The library may look for a second which devices there are.
    ///
    /// # Errors
    /// As [`Ofi::new`](crate::Ofi::new).
    pub fn selected(choice: &FabricChoice) -> Result<Self, FabricError> {
        Port::selected(choice)
    }

    /// The version of the library, without a look at devices.
    ///
    /// # Errors
    /// It is not there.
    pub fn library_version() -> Result<(u32, u32), FabricError> {
        library::Library::open().map(|library| library.version())
    }
}

/// A fabric cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The library is not there.
    #[error("libfabric cannot be opened: {0}; install it (package libfabric1 of Debian and Ubuntu, libfabric elsewhere)")]
    Missing(String),
    /// No fabric can do what is needed.
    #[error(
        "libfabric knows no fabric for {0} with reliable messages and remote memory access: {1}; `fi_info -t FI_EP_RDM` lists what there is"
    )]
    None(String, String),
    /// A call failed.
    #[error("{0} of libfabric: {1}")]
    Call(&'static str, String),
    /// The system refuses what the transport needs besides.
    #[error("{0}")]
    System(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_provider_and_perhaps_a_domain() {
        let choice = |text: &str| text.parse::<FabricChoice>();
        let (provider, domain) = (Some("tcp;ofi_rxm".to_owned()), Some("eth0".to_owned()));
        assert_eq!(choice("tcp;ofi_rxm"), Ok(FabricChoice { provider: provider.clone(), domain: None }));
        assert_eq!(choice("tcp;ofi_rxm:eth0"), Ok(FabricChoice { provider, domain }));
        for text in ["tcp;ofi_rxm", "tcp;ofi_rxm:eth0", "verbs:mlx5_0:1"] {
            assert_eq!(choice(text).unwrap().to_string(), text);
        }
        assert!([":eth0", "", "tcp:", "tcp\0"].into_iter().all(|text| choice(text).is_err()));
    }
}
