//! The only folder that names concrete parts: which transport, clock, waiting and bootstrap a rank gets.

#[cfg(feature = "udp")]
use pelago_platform::Capabilities;

#[cfg(feature = "ofi")]
mod fabric;
#[cfg(feature = "simulation")]
mod files;
#[cfg(feature = "launch")]
pub(crate) mod launched;
#[cfg(feature = "simulation")]
mod monitor;
#[cfg(feature = "udp")]
mod network;
#[cfg(feature = "launch")]
pub(crate) mod recorded;
#[cfg(feature = "simulation")]
pub(crate) mod simulated;

#[cfg(feature = "ofi")]
pub use fabric::{fabric, fabric_library};
#[cfg(feature = "udp")]
pub(crate) use pelago_udp::limits as udp_limits;
/// What the transports of a launched job do by themselves, and what operations cost on them: between ranks of one host, and of several.
#[cfg(feature = "udp")]
pub const fn transports() -> [Capabilities; 2] {
    [pelago_shm::CAPABILITIES, pelago_udp::CAPABILITIES]
}
