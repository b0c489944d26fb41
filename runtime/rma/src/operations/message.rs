//! Two-sided messages, if the network supports them.

use pelago_base::Rank;

use crate::context::wait::Whom;
use crate::{Context, Error, Handle, Result};

impl Context {
    /// Whether the network supports two-sided messages, so that [`send`](Self::send) is possible.
    ///
    /// The library does not use them; they are for comparisons. The network determines what happens to a message for which the receiver has no room:
    /// it is retried a number of times, waits in the network, or is lost.
    pub fn is_two_sided(&self) -> bool {
        self.engine()
            .borrow_mut()
            .port()
            .with(|transport| transport.extensions().is_some_and(|network| network.two_sided().is_some()))
    }

    /// Sends a message that its receiver [takes](Self::take). The bytes may be reused as soon as the call returns.
    ///
    /// The handle completes when the network reports the arrival to the sender, or, if the network does not report arrivals, when the message has left.
    ///
    /// Cost: one message of the network; waits while this rank has too many in flight.
    ///
    /// # Errors
    /// The network does not support messages; there is no such rank; the job has a fault. By the handle or `quiet`: the receiver had no room.
    pub fn send(&self, to: Rank, bytes: &[u8]) -> Result<Handle<'_>> {
        if to.number() >= self.size() {
            return Err(Error::Invalid("the receiver must be a rank of the job"));
        }
        self.busy.set(true);
        let posted = || {
            let mut engine = self.engine().borrow_mut();
            // Background work issues operations while this call waits.
            if engine.has_room(0) { engine.submit_message(self.shared(), to, bytes) } else { Ok(None) }
        };
        let id = match posted()? {
            Some(id) => id,
            None => self.block("room for a message", Whom::Rank(to), None, posted)?,
        };
        Ok(Handle::pending(self, id))
    }

    /// Returns the next message that has arrived, and its sender. Makes no progress.
    pub fn take(&self) -> Option<(Rank, Box<[u8]>)> {
        self.engine().borrow_mut().port().with(|transport| transport.extensions()?.two_sided()?.take())
    }
}
