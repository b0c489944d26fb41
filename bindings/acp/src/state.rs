//! The state of a rank that one thread uses at a time.

use pelago::containers::GlobalHeap;
use pelago::{Context, Job, Result, Symmetric};

use crate::handles::PendingOperations;
use crate::links::channel::Channels;
use crate::links::segments::SegmentBuffers;
use crate::links::{Connection, Connector};
use crate::memory::Registrations;
use crate::refusal::Refusal;
use crate::workspaces::Workspaces;
use pelago_c_support::monitor::Progress;

/// The state that one thread uses at a time.
pub(crate) struct LibraryState {
    pub(crate) context: &'static Context,
    pub(crate) pending: PendingOperations,
    pub(crate) registrations: Registrations,
    pub(crate) job: &'static Job,
    pub(crate) session: Option<Session>,
}

/// State that exists from init to finalize.
pub(crate) struct Session {
    pub(crate) _starter: Symmetric<'static, u64>,
    pub(crate) heap: GlobalHeap<'static>,
    /// Two words for each step of `acp_sync`: one for even calls and one for odd ones.
    pub(crate) sync_words: Symmetric<'static, u64>,
    pub(crate) syncs: u64,
    pub(crate) links: Links,
    pub(crate) workspaces: Workspaces,
}

/// Channels and segment buffers.
pub(crate) struct Links {
    pub(crate) connector: Connector,
    pub(crate) channels: Channels,
    pub(crate) segments: SegmentBuffers,
}

impl Progress for LibraryState {
    fn context(&self) -> &'static Context {
        self.context
    }

    fn progress(&mut self) -> Result<()> {
        // What this rank waits for may depend on an operation that has failed.
        self.pending.have_ended(i64::MAX)?;
        match &mut self.session {
            Some(Session { links, .. }) if links.channels.is_busy() || links.segments.is_busy() => {
                links.connector.collect(self.context)?;
                links.segments.advance(&mut links.connector, self.context)?;
                links.channels.advance(&mut links.connector, self.context)
            }
            _ => Ok(()),
        }
    }
}

impl LibraryState {
    /// Returns the state of a rank that has joined a job and has not initialized the library.
    pub(crate) fn new(job: &'static Job) -> Self {
        Self { context: job, pending: PendingOperations::default(), registrations: Registrations::new(), job, session: None }
    }

    /// Returns the session and the context, if the library is initialized.
    pub(crate) fn session(&mut self) -> Result<(&mut Session, &'static Context), Refusal> {
        Ok((self.session.as_mut().ok_or(Refusal::NotInitialized)?, self.context))
    }
}

impl Links {
    /// Abandons incomplete requests: waits do not advance them any more.
    pub(crate) fn stop(&mut self) {
        self.channels.stop();
        self.segments.stop();
    }

    /// Connects the ends of a segment buffer, if both exist.
    pub(crate) fn connect(&mut self, number: usize, context: &'static Context) -> Result<Connection<()>, Refusal> {
        self.connector.collect(context)?;
        Ok(self.segments.get(number)?.connect(&mut self.connector, context)?)
    }
}
