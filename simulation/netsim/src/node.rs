//! What a node does without the network.

use crate::network::Medium;

/// A node's own state.
#[derive(Default)]
pub(crate) struct Node {
    /// When it can copy the next bytes within itself.
    copy_free: u64,
    /// When its host can consume the next datagram.
    pub(crate) service_free: u64,
    /// Datagrams that have come and are not consumed.
    pub(crate) slots: u32,
}

impl Node {
    /// Copies bytes, one copy after another; says when they have arrived.
    pub(crate) fn copy(&mut self, now: u64, path: Medium, bytes: u64) -> u64 {
        self.copy_free = self.copy_free.max(now).saturating_add(path.rate.time(bytes));
        self.copy_free.saturating_add(path.cable)
    }
}
