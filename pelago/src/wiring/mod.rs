//! The only folder that names concrete parts: which transport, clock, waiting and bootstrap a rank gets.

#[cfg(feature = "launch")]
pub(crate) mod launched;
#[cfg(feature = "udp")]
mod network;
#[cfg(feature = "simulation")]
pub(crate) mod simulated;

#[cfg(feature = "udp")]
pub(crate) use pelago_udp::limits as udp_limits;
