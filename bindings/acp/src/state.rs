//! What the threads of a rank use one at a time.

use pelago::containers::GlobalHeap;
use pelago::{Context, Job, Result, Symmetric};

use crate::handles::Pending;
use crate::links::channel::Channels;
use crate::links::segments::SegmentBuffers;
use crate::links::{Joined, Post};
use crate::memory::Regions;
use crate::refusal::Refusal;
use crate::turns::Waiter;
use crate::workspaces::Workspaces;

/// What threads use one at a time.
pub(crate) struct State {
    pub(crate) context: &'static Context,
    pub(crate) pending: Pending,
    pub(crate) regions: Regions,
    pub(crate) job: &'static Job,
    pub(crate) round: Option<Round>,
}

/// What there is from init to finalize.
pub(crate) struct Round {
    pub(crate) _starter: Symmetric<'static, u64>,
    pub(crate) heap: GlobalHeap<'static>,
    /// Two words for each step of a meeting: of even and of odd meetings.
    pub(crate) lines: Symmetric<'static, u64>,
    pub(crate) meetings: u64,
    pub(crate) links: Links,
    pub(crate) workspaces: Workspaces,
}

/// Channels and segment buffers.
pub(crate) struct Links {
    pub(crate) post: Post,
    pub(crate) channels: Channels,
    pub(crate) segments: SegmentBuffers,
}

impl Waiter for State {
    fn context(&self) -> &'static Context {
        self.context
    }

    fn turn(&mut self) -> Result<()> {
        match &mut self.round {
            Some(Round { links, .. }) if links.channels.is_busy() || links.segments.is_busy() => {
                links.post.collect(self.context)?;
                links.segments.advance(&mut links.post, self.context)?;
                links.channels.advance(&mut links.post, self.context)
            }
            _ => Ok(()),
        }
    }
}

impl State {
    /// Of a rank that has joined a job and not initialized the library.
    pub(crate) fn new(job: &'static Job) -> Self {
        Self { context: job, pending: Pending::default(), regions: Regions::new(), job, round: None }
    }

    /// What there is from init to finalize.
    pub(crate) fn round(&mut self) -> Result<(&mut Round, &'static Context), Refusal> {
        Ok((self.round.as_mut().ok_or(Refusal::NotInitialized)?, self.context))
    }
}

impl Links {
    /// Whether the ends of a segment buffer are joined.
    pub(crate) fn join(&mut self, number: usize, context: &'static Context) -> Result<Joined<()>, Refusal> {
        self.post.collect(context)?;
        Ok(self.segments.get(number)?.join(&mut self.post, context)?)
    }
}
