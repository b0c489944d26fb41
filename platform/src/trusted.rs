//! A transport on which memory safety may depend.
//!
//! A transport gets memory with a lifetime of `'static` that lives shorter: memory of operations, and registered memory. Safe code could keep it.
//!
//! - **U1** A transport accesses the memory of an operation only until it reports the operation's completion, which it does once at most (T2, T3);
//!   registered memory only until [`deregister`](crate::Registry::deregister) has returned `true`; and none of them after its drop.
#![allow(unsafe_code)]

use crate::Transport;

/// A transport whose author, or the caller of [`new`](Self::new), promises that it accesses no memory for longer than it may.
pub struct TrustedTransport(Box<dyn Transport>);

impl TrustedTransport {
    /// Trusts a transport.
    ///
    /// # Safety
    /// The transport accesses the memory of an operation only until it reports the operation's completion, once at most; registered memory only until
    /// [`deregister`](crate::Registry::deregister) has returned `true`; none of them after its drop. The conformance suite tests a transport for it, but
    /// proves nothing. The transports of Pelago keep it, and its layers do around transports that do.
    pub unsafe fn new(transport: Box<dyn Transport>) -> Self {
        Self(transport)
    }

    /// Returns the transport.
    pub fn into_inner(self) -> Box<dyn Transport> {
        self.0
    }
}

impl AsMut<dyn Transport> for TrustedTransport {
    fn as_mut(&mut self) -> &mut (dyn Transport + 'static) {
        self.0.as_mut()
    }
}

pelago_base::debug! {
    TrustedTransport[][] {}
}
