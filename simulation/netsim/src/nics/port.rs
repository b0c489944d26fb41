//! The ports of a NIC on a rail with several planes.

use crate::events::pool::List;

/// The port of a NIC in a plane.
pub(crate) struct Port {
    /// Number of packets that were or are being read for it, and that its link has not taken.
    pub(crate) buffered: u32,
    /// Operations with packets to send over it, if the packets of an operation keep to a plane.
    pub(crate) sending: List,
}

impl Default for Port {
    fn default() -> Self {
        Self { buffered: 0, sending: List::EMPTY }
    }
}
