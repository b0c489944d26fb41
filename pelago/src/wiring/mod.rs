//! The only folder that names concrete parts: the transport, clock, waits and bootstrap of a rank.

#[cfg(feature = "udp")]
use pelago_platform::Capabilities;

#[cfg(feature = "simulation")]
mod departure;
#[cfg(feature = "ofi")]
mod fabric;
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
/// The capabilities of the transports of a launched job, with the cost of their operations: between ranks of one host, and of several.
#[cfg(feature = "udp")]
pub const fn transports() -> [Capabilities; 2] {
    [pelago_shm::CAPABILITIES, pelago_udp::CAPABILITIES]
}
