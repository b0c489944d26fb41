//! The limits that concern programs and authors of transports, each with its reason. `docs/limits.md` lists all limits.

pub use pelago_base::limits::*;
pub use pelago_platform::limits::*;
pub use pelago_rma::limits::*;

#[cfg(feature = "udp")]
pub use crate::wiring::udp_limits::*;
