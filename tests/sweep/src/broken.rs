//! Operations that fail because of a broken connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pelago_base::Instant;
use pelago_platform::{Completion, Endpoint, Extensions, Flags, Network, Operation, PostError, Registry, Token, Transport};

/// Counts the operations of a transport that fail.
pub(crate) struct FailureCount<T> {
    pub(crate) inner: T,
    pub(crate) failed: Arc<AtomicU64>,
}

impl<T: Transport> Transport for FailureCount<T> {
    fn network(&mut self) -> &mut dyn Network {
        self.inner.network()
    }

    fn memory(&mut self) -> &mut dyn Registry {
        self.inner.memory()
    }

    fn post(
        &mut self,
        now: Instant,
        to: Endpoint,
        operation: Operation<'_>,
        flags: Flags,
        token: Token,
    ) -> Result<(), PostError> {
        self.inner.post(now, to, operation, flags, token)
    }

    fn flush(&mut self, now: Instant) {
        self.inner.flush(now);
    }

    fn before_sleep(&mut self) {
        self.inner.before_sleep();
    }

    fn progress(&mut self, now: Instant, completed: &mut Vec<Completion>) -> bool {
        let before = completed.len();
        let moved = self.inner.progress(now, completed);
        let failed = completed[before..].iter().filter(|completion| completion.result.is_err()).count();
        self.failed.fetch_add(failed as u64, Ordering::Relaxed);
        moved
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.inner.next_deadline()
    }

    fn extensions(&mut self) -> Option<&mut dyn Extensions> {
        self.inner.extensions()
    }
}
