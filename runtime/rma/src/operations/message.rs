//! Two-sided messages, where the network has them by itself.

use pelago_base::Rank;

use crate::context::wait::Whom;
use crate::{Context, Error, Handle, Result};

impl Context {
    /// Whether the network has two-sided messages by itself, so that [`send`](Self::send) is possible.
    ///
    /// Nothing of the library is built on them; they are for programs that compare. What becomes of one that finds no room at its
    /// receiver is the network's: it is tried again so many times, waits in the network, or is gone.
    pub fn is_two_sided(&self) -> bool {
        self.engine().borrow_mut().port().with(|transport| transport.two_sided().is_some())
    }

    /// Sends a message that its receiver [takes](Self::take). The bytes may be reused as soon as the call returns.
    ///
    /// The handle is done when the network lets the sender know that the message has come, or, where it does not, when it has left.
    ///
    /// Cost: one message of the network; waits while this rank has too many under way.
    ///
    /// # Errors
    /// The network has none; there is no such rank; the job is at fault. By the handle or `quiet`: the receiver had no room.
    pub fn send(&self, to: Rank, bytes: &[u8]) -> Result<Handle<'_>> {
        if to.number() >= self.size() {
            return Err(Error::Invalid("the receiver must be a rank of the job"));
        }
        self.make_room(0)?;
        self.busy.set(true);
        let posted = || self.engine().borrow_mut().submit_message(self.shared(), to, bytes);
        let id = match posted()? {
            Some(id) => id,
            None => self.block("room for a message", Whom::Rank(to), None, posted)?,
        };
        Ok(Handle::pending(self, id))
    }

    /// The next message that has come, and who sent it. Does not move the library.
    pub fn take(&self) -> Option<(Rank, Box<[u8]>)> {
        self.engine().borrow_mut().port().with(|transport| transport.two_sided()?.take())
    }
}
