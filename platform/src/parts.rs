//! What a rank is made of.

use std::sync::Arc;

use pelago_memory::Reach;

use crate::{Bootstrap, Clock, Transport, VirtualTime, Wait};

/// What a rank is made of: one implementation of each part of the platform.
pub struct Parts {
    /// The memory of the ranks that loads and stores reach; at least this rank's own.
    pub reach: Reach,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Waiting.
    pub wait: Arc<dyn Wait>,
    /// What lets time pass, where it is virtual.
    pub virtual_time: Option<Arc<dyn VirtualTime>>,
    /// Who takes part.
    pub bootstrap: Box<dyn Bootstrap>,
    /// The way to all other memory.
    pub transport: Box<dyn Transport>,
}
