//! The platform implementations of which a rank is made.

use std::sync::Arc;

use pelago_memory::Reach;

use crate::{Bootstrap, Clock, TrustedTransport, VirtualTime, Wait};

/// The platform of a rank: one implementation of each of its traits.
pub struct Parts {
    /// Memory of ranks that this process can load and store; at least this rank's own.
    pub reach: Reach,
    /// Source of time.
    pub clock: Arc<dyn Clock>,
    /// Implementation of waiting.
    pub wait: Arc<dyn Wait>,
    /// Control of virtual time, in a simulation.
    pub virtual_time: Option<Arc<dyn VirtualTime>>,
    /// Ranks of the job and their addresses.
    pub bootstrap: Box<dyn Bootstrap>,
    /// Transport to all other memory.
    pub transport: TrustedTransport,
}

pelago_base::debug! {
    Parts[][] {}
}
